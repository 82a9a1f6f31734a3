#include "base/idheap.h"

#include "base/must.h"

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

static bool before(struct idheap_entry a, struct idheap_entry b)
{
    return a.key < b.key || (a.key <= b.key && a.stamp < b.stamp);
}

static void put(struct idheap *heap, int32_t at, struct idheap_entry entry)
{
    heap->entries[at] = entry;
    heap->place[entry.id] = at + 1;
}

static void rise(struct idheap *heap, int32_t hole, struct idheap_entry entry)
{
    while (hole > 0) {
        int32_t parent = (hole - 1) / 4;
        if (!before(entry, heap->entries[parent])) break;
        put(heap, hole, heap->entries[parent]);
        hole = parent;
    }
    put(heap, hole, entry);
}

static void sink(struct idheap *heap, int32_t hole, struct idheap_entry entry)
{
    const struct idheap_entry *entries = heap->entries;
    for (int32_t child = 4 * hole + 1; child < heap->n; child = 4 * hole + 1) {
        int32_t end = child + 4 < heap->n ? child + 4 : heap->n;
        int32_t least = child;
        for (int32_t c = child + 1; c < end; c++) {
            if (before(entries[c], entries[least])) least = c;
        }
        if (!before(entries[least], entry)) break;
        put(heap, hole, entries[least]);
        hole = least;
    }
    put(heap, hole, entry);
}

static void settle(struct idheap *heap, int32_t at, struct idheap_entry entry)
{
    if (at > 0 && before(entry, heap->entries[(at - 1) / 4])) {
        rise(heap, at, entry);
    } else {
        sink(heap, at, entry);
    }
}

void idheap_set(struct idheap *heap, int32_t id, double key)
{
    int32_t at = heap->place[id] > 0 ? heap->place[id] - 1 : append(heap);
    settle(heap, at, (struct idheap_entry){.key = key, .stamp = heap->stamp++, .id = id});
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
    int32_t id = heap->entries[0].id;
    idheap_remove(heap, id);
    return id;
}
