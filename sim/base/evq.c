/* A key is 16 bytes, so that the four children of a node fill one cache line: the time as an integer
 * that sorts alike, then the sequence number above the slot of the payload. One comparison of 128
 * bits orders by (time_s, seq), without a branch.
 *
 *   places   0 1 2 | 3 | 4 5 6 7 | 8 .. 11 | 12 .. 15 | ...     3 is the root, 0 to 2 stay empty
 *   children of i: 4 (i - 2) ... 4 (i - 2) + 3                  parent of i: i / 4 + 2
 *
 * Taking the first moves the hole to a leaf without looking at the last key, which nearly always
 * belongs near the leaves, and then lets that key rise.
 * Source: LaMarca & Ladner, The influence of caches on the performance of heaps, 1996. */
#include "base/evq.h"

#include "base/must.h"

#include <math.h>
#include <string.h>

enum { ROOT = 3, LINE_B = 64, SLOT_BITS = 24 };

__extension__ typedef unsigned __int128 wide;

struct key {
    uint64_t order; /* seq << SLOT_BITS | slot */
    uint64_t time;
};

struct payload {
    int32_t kind, id; /* in a free slot: id = the next free slot, -1: none */
};

struct evq {
    struct key *keys; /* [ROOT + room], keys[4] begins a cache line */
    struct payload *payloads;
    int64_t n, room;
    int64_t seq;
    int32_t free_slot, n_slots;
    struct arena *perm;
};

/* Doubles compare like sign and magnitude: turning over all bits of the negative ones, and the
 * sign of the others, makes them compare like unsigned integers. */
static uint64_t bits_of(double time_s)
{
    double plain_s = time_s + 0.0; /* -0 becomes 0 */
    uint64_t bits;
    memcpy(&bits, &plain_s, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

static double time_of(uint64_t bits)
{
    uint64_t plain = bits >> 63 ? bits & ~(1ULL << 63) : ~bits;
    double time_s;
    memcpy(&time_s, &plain, sizeof time_s);
    return time_s;
}

static wide rank_of(struct key key)
{
    return (wide)key.time << 64 | key.order;
}

static int64_t before(const struct key *keys, int64_t a, int64_t b)
{
    return rank_of(keys[a]) < rank_of(keys[b]);
}

static void grow(struct evq *queue, int64_t room)
{
    char *block = arena_alloc(queue->perm, ROOT + room + LINE_B / (int64_t)sizeof(struct key),
                              sizeof(struct key));
    uintptr_t skew = ((uintptr_t)block + (ROOT + 1) * sizeof(struct key)) % LINE_B;
    void *aligned = block + (skew ? LINE_B - skew : 0);
    if (queue->n) {
        memcpy(aligned, queue->keys, (size_t)(ROOT + queue->n) * sizeof(struct key));
    }
    queue->keys = aligned;
    queue->payloads =
        arena_grow(queue->perm, struct payload, queue->payloads, queue->n_slots, room);
    queue->room = room;
}

struct evq *evq_new(struct arena *perm, int64_t capacity)
{
    struct evq *queue = arena_new(perm, struct evq, 1);
    *queue = (struct evq){.free_slot = -1, .perm = perm};
    grow(queue, capacity > 4 ? capacity : 4);
    return queue;
}

static int32_t take_slot(struct evq *queue)
{
    int32_t slot = queue->free_slot;
    if (slot < 0) return queue->n_slots++;
    queue->free_slot = queue->payloads[slot].id;
    return slot;
}

static void rise(struct key *keys, int64_t hole, struct key key)
{
    while (hole > ROOT) {
        int64_t parent = hole / 4 + 2;
        if (rank_of(keys[parent]) <= rank_of(key)) break;
        keys[hole] = keys[parent];
        hole = parent;
    }
    keys[hole] = key;
}

void evq_push(struct evq *queue, double time_s, int32_t kind, int32_t id)
{
    must(!isnan(time_s));
    if (queue->n == queue->room) grow(queue, 2 * queue->room);
    int32_t slot = take_slot(queue);
    if (slot >> SLOT_BITS) die("more than %d events are waiting", 1 << SLOT_BITS);
    must(queue->seq >> (63 - SLOT_BITS) == 0);
    queue->payloads[slot] = (struct payload){.kind = kind, .id = id};
    struct key key = {.time = bits_of(time_s),
                      .order = (uint64_t)queue->seq << SLOT_BITS | (uint32_t)slot};
    queue->seq++;
    rise(queue->keys, ROOT + queue->n, key);
    queue->n++;
}

bool evq_empty(const struct evq *queue)
{
    return queue->n == 0;
}

int64_t evq_size(const struct evq *queue)
{
    return queue->n;
}

static int32_t slot_of(struct key key)
{
    return (int32_t)(key.order & ((1U << SLOT_BITS) - 1));
}

struct event evq_peek(const struct evq *queue)
{
    must(queue->n > 0);
    struct key key = queue->keys[ROOT];
    struct payload payload = queue->payloads[slot_of(key)];
    return (struct event){.time_s = time_of(key.time),
                          .seq = (int64_t)(key.order >> SLOT_BITS),
                          .kind = payload.kind,
                          .id = payload.id};
}

/* The hole left at the root moves down along the smallest children; returns where it ends. */
static int64_t sink(struct key *keys, int64_t end)
{
    int64_t hole = ROOT;
    int64_t child = ROOT + 1;
    while (child + 3 < end) {
        int64_t low = child + before(keys, child + 1, child);
        int64_t high = child + 2 + before(keys, child + 3, child + 2);
        int64_t least = before(keys, high, low) ? high : low;
        keys[hole] = keys[least];
        hole = least;
        child = 4 * (hole - 2);
    }
    if (child >= end) return hole;
    int64_t least = child;
    for (int64_t c = child + 1; c < end; c++) least = before(keys, c, least) ? c : least;
    keys[hole] = keys[least];
    return least;
}

struct event evq_pop(struct evq *queue)
{
    struct event first = evq_peek(queue);
    int32_t slot = slot_of(queue->keys[ROOT]);
    queue->payloads[slot].id = queue->free_slot;
    queue->free_slot = slot;
    queue->n--;
    int64_t end = ROOT + queue->n;
    struct key last = queue->keys[end];
    if (queue->n > 0) rise(queue->keys, sink(queue->keys, end), last);
    return first;
}
