#include "base/idheap.h"

#include "base/must.h"

#include <string.h>

void idheap_reserve(struct idheap *heap, int32_t n_ids)
{
    if (n_ids <= heap->n_ids) return;
    heap->place = arena_grow(heap->perm, int32_t, heap->place, heap->n_ids, n_ids);
    heap->n_ids = n_ids;
}

static int32_t append(struct idheap *heap)
{
    if (heap->n == heap->room) {
        heap->room = heap->room ? 2 * heap->room : 16;
        heap->entries =
            arena_grow(heap->perm, struct idheap_entry, heap->entries, heap->n, heap->room);
    }
    return heap->n++;
}

__extension__ typedef unsigned __int128 wide;

/* Doubles that are not negative compare like their bits, so one number orders by (key, when set) and
 * is compared without a branch. */
static wide rank_of(struct idheap_entry entry)
{
    uint64_t bits;
    memcpy(&bits, &entry.key, sizeof bits);
    return (wide)bits << 64 | entry.order;
}

static int32_t before(const struct idheap_entry *entries, int32_t a, int32_t b)
{
    return rank_of(entries[a]) < rank_of(entries[b]);
}

static void put(struct idheap *heap, int32_t at, struct idheap_entry entry)
{
    heap->entries[at] = entry;
    heap->place[(uint32_t)entry.order] = at + 1;
}

static void rise(struct idheap *heap, int32_t hole, struct idheap_entry entry)
{
    while (hole > 0) {
        int32_t parent = (hole - 1) / 4;
        if (rank_of(heap->entries[parent]) <= rank_of(entry)) break;
        put(heap, hole, heap->entries[parent]);
        hole = parent;
    }
    put(heap, hole, entry);
}

static int32_t least_of_four(const struct idheap_entry *entries, int32_t child)
{
    int32_t low = child + before(entries, child + 1, child);
    int32_t high = child + 2 + before(entries, child + 3, child + 2);
    return before(entries, high, low) ? high : low;
}

static int32_t least_of_few(const struct idheap_entry *entries, int32_t child, int32_t end)
{
    int32_t least = child;
    for (int32_t c = child + 1; c < end; c++) least = before(entries, c, least) ? c : least;
    return least;
}

/* The hole moves down to a leaf without looking at the entry, which mostly belongs near the leaves,
 * and then the entry rises. Source: LaMarca & Ladner, The influence of caches on the performance of
 * heaps, 1996. */
static void sink(struct idheap *heap, int32_t hole, struct idheap_entry entry)
{
    const struct idheap_entry *entries = heap->entries;
    int32_t child = 4 * hole + 1;
    for (; child + 3 < heap->n; child = 4 * hole + 1) {
        int32_t least = least_of_four(entries, child);
        put(heap, hole, entries[least]);
        hole = least;
    }
    if (child < heap->n) {
        int32_t least = least_of_few(entries, child, heap->n);
        put(heap, hole, entries[least]);
        hole = least;
    }
    rise(heap, hole, entry);
}

static void settle(struct idheap *heap, int32_t at, struct idheap_entry entry)
{
    if (at > 0 && rank_of(entry) < rank_of(heap->entries[(at - 1) / 4])) {
        rise(heap, at, entry);
    } else {
        sink(heap, at, entry);
    }
}

void idheap_set(struct idheap *heap, int32_t id, double key)
{
    must(key >= 0.0);
    int32_t at = heap->place[id] > 0 ? heap->place[id] - 1 : append(heap);
    double plain = key + 0.0; /* -0 becomes 0 */
    uint64_t order = (uint64_t)heap->stamp++ << 32 | (uint32_t)id;
    settle(heap, at, (struct idheap_entry){.order = order, .key = plain});
}

void idheap_remove(struct idheap *heap, int32_t id)
{
    int32_t at = heap->place[id] - 1;
    if (at < 0) return;
    heap->place[id] = 0;
    heap->n--;
    if (at < heap->n) settle(heap, at, heap->entries[heap->n]);
}

int32_t idheap_pop(struct idheap *heap)
{
    must(heap->n > 0);
    int32_t id = idheap_first(heap);
    idheap_remove(heap, id);
    return id;
}
