#include "base/idheap.h"

#include "base/must.h"

#include <string.h>

void idheap_reserve(struct idheap *heap, int32_t n_ids)
{
    if (n_ids <= heap->n_ids) return;
    heap->place = arena_grow(heap->perm, int32_t, heap->place, heap->n_ids, n_ids);
    heap->n_ids = n_ids;
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

static bool is_first(const struct idheap_entry *a, const struct idheap_entry *b)
{
    return rank_of(*a) < rank_of(*b);
}

/* ---- the heap ---- */

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
    for (; child + 3 < heap->n_entries; child = 4 * hole + 1) {
        int32_t least = least_of_four(entries, child);
        put(heap, hole, entries[least]);
        hole = least;
    }
    if (child < heap->n_entries) {
        int32_t least = least_of_few(entries, child, heap->n_entries);
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

static void put_in_heap(struct idheap *heap, struct idheap_entry entry)
{
    if (heap->n_entries == heap->room) {
        heap->room = heap->room ? 2 * heap->room : 16;
        heap->entries =
            arena_grow(heap->perm, struct idheap_entry, heap->entries, heap->n_entries, heap->room);
    }
    settle(heap, heap->n_entries++, entry);
}

static void take_from_heap(struct idheap *heap, int32_t at)
{
    heap->n_entries--;
    if (at < heap->n_entries) settle(heap, at, heap->entries[heap->n_entries]);
}

/* ---- the line ---- */

/* where the i-th of the line stands in the ring */
static int32_t in_ring(const struct idheap *heap, int32_t i)
{
    return (heap->head + i) & (heap->line_room - 1);
}

static struct idheap_entry *in_line(const struct idheap *heap, int32_t i)
{
    return &heap->line[in_ring(heap, i)];
}

/* An id that was taken out or put elsewhere leaves its entry behind. */
static bool is_gap(const struct idheap *heap, int32_t i)
{
    return heap->place[(uint32_t)in_line(heap, i)->order] != ~in_ring(heap, i);
}

static void grow_line(struct idheap *heap)
{
    int32_t room = heap->line_room ? 2 * heap->line_room : 16;
    struct idheap_entry *line = arena_new(heap->perm, struct idheap_entry, room);
    int32_t n = 0;
    for (int32_t i = 0; i < heap->n_line; i++) {
        if (is_gap(heap, i)) continue;
        line[n] = *in_line(heap, i);
        heap->place[(uint32_t)line[n].order] = ~n;
        n++;
    }
    heap->line = line;
    heap->line_room = room;
    heap->head = 0;
    heap->n_line = n;
}

static bool put_in_line(struct idheap *heap, struct idheap_entry entry)
{
    if (heap->n_line > 0 && is_first(&entry, in_line(heap, heap->n_line - 1))) return false;
    if (heap->n_line == heap->line_room) grow_line(heap);
    *in_line(heap, heap->n_line) = entry;
    heap->place[(uint32_t)entry.order] = ~in_ring(heap, heap->n_line);
    heap->n_line++;
    return true;
}

static void trim_line(struct idheap *heap)
{
    while (heap->n_line > 0 && is_gap(heap, 0)) {
        heap->head = in_ring(heap, 1);
        heap->n_line--;
    }
    while (heap->n_line > 0 && is_gap(heap, heap->n_line - 1)) heap->n_line--;
}

/* ---- both ---- */

static void find_first(struct idheap *heap)
{
    if (heap->n_line == 0) {
        heap->first = heap->entries;
    } else {
        const struct idheap_entry *front = in_line(heap, 0);
        bool in_heap = heap->n_entries > 0 && is_first(heap->entries, front);
        heap->first = in_heap ? heap->entries : front;
    }
}

void idheap_set(struct idheap *heap, int32_t id, double key)
{
    must(key >= 0.0);
    double plain = key + 0.0; /* -0 becomes 0 */
    uint64_t order = (uint64_t)heap->stamp++ << 32 | (uint32_t)id;
    struct idheap_entry entry = {.order = order, .key = plain};
    int32_t place = heap->place[id];
    heap->n += place == 0;
    if (place > 0) {
        settle(heap, place - 1, entry);
    } else {
        heap->place[id] = 0;
        if (place < 0) trim_line(heap);
        if (!put_in_line(heap, entry)) put_in_heap(heap, entry);
    }
    find_first(heap);
}

void idheap_remove(struct idheap *heap, int32_t id)
{
    int32_t place = heap->place[id];
    if (place == 0) return;
    heap->place[id] = 0;
    heap->n--;
    if (place > 0) {
        take_from_heap(heap, place - 1);
    } else {
        trim_line(heap);
    }
    find_first(heap);
}

int32_t idheap_pop(struct idheap *heap)
{
    must(heap->n > 0);
    int32_t id = idheap_first(heap);
    idheap_remove(heap, id);
    return id;
}
