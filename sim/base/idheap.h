/* A heap of small ids ordered by (key, when the key was set): each id stands in it at most once and
 * can be re-keyed or removed. For next ends and water levels; for events see evq.h. */
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
    struct idheap_entry *entries; /* [room], 4-ary, entries[0] first */
    int32_t *place;               /* [n_ids] where an id stands, plus 1; 0: not there */
    int32_t n, room, n_ids;
    uint32_t stamp;
    struct arena *perm; /* set by the owner before first use, as the heap grows */
};

/* idheap_reserve — allow ids 0 .. n_ids - 1. */
void idheap_reserve(struct idheap *heap, int32_t n_ids);

/* idheap_set — put id in with this key (>= 0), or give it this key. O(log n). */
void idheap_set(struct idheap *heap, int32_t id, double key);

/* idheap_remove — take id out if it is there. O(log n). */
void idheap_remove(struct idheap *heap, int32_t id);

/* idheap_pop — take out the id with the smallest key; the heap must not be empty. */
int32_t idheap_pop(struct idheap *heap);

/* idheap_first — the id with the smallest key; the heap must not be empty. */
static inline int32_t idheap_first(const struct idheap *heap)
{
    return (int32_t)(uint32_t)heap->entries[0].order;
}
static inline double idheap_first_key(const struct idheap *heap)
{
    return heap->entries[0].key;
}

static inline bool idheap_has(const struct idheap *heap, int32_t id)
{
    return heap->place[id] > 0;
}

#endif
