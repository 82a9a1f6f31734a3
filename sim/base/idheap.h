/* A heap of small ids ordered by (key, when the key was set): each id stands in it at most once and
 * can be re-keyed or removed. For next ends and water levels; for events see evq.h.
 *
 * Keys that are set in rising order, as the ends of flows that take equally long, need no heap: they
 * stand in a line beside it, in which to set and to pop costs the same however many there are. */
#ifndef BASE_IDHEAP_H
#define BASE_IDHEAP_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct idheap_entry {
    uint64_t order; /* when it was set << 32 | id: ties leave in the order in which they were set */
    double key;
};

struct idheap {
    const struct idheap_entry *first; /* of all; holds while n > 0 */
    int32_t n;                        /* ids in it */
    struct idheap_entry *entries;     /* [room], 4-ary */
    struct idheap_entry *line;        /* [line_room] a ring, rising; its ends are no gaps */
    int32_t *place; /* [n_ids] > 0: in entries, plus 1; < 0: in line, ~place; 0: not there */
    int32_t n_entries, room, n_ids;
    int32_t head, n_line, line_room; /* line_room: a power of two; n_line counts gaps */
    uint32_t stamp;
    struct arena *perm; /* set by the owner before first use, as the heap grows */
};

/* idheap_reserve — allow ids 0 .. n_ids - 1. */
void idheap_reserve(struct idheap *heap, int32_t n_ids);

/* idheap_set — put id in with this key (>= 0), or give it this key. O(log n); O(1) for the largest. */
void idheap_set(struct idheap *heap, int32_t id, double key);

/* idheap_remove — take id out if it is there. O(log n). */
void idheap_remove(struct idheap *heap, int32_t id);

/* idheap_pop — take out the id with the smallest key; the heap must not be empty. */
int32_t idheap_pop(struct idheap *heap);

/* idheap_first — the id with the smallest key; the heap must not be empty. */
static inline int32_t idheap_first(const struct idheap *heap)
{
    return (int32_t)(uint32_t)heap->first->order;
}
static inline double idheap_first_key(const struct idheap *heap)
{
    return heap->first->key;
}

static inline bool idheap_has(const struct idheap *heap, int32_t id)
{
    return heap->place[id] != 0;
}

#endif
