/* Refinement by sums of hashes. Each vertex keeps the sum, over its edges, of a hash of (class of the
 * other end, label, weight): equal multisets of edges give equal sums whatever their order, and
 * unequal ones different sums but for a chance of 2^-64 a pair. No sorting is needed.
 *
 *   round 0: all sums from the seeds' classes; vertices of equal (class, sum) form the new classes
 *   round i: vertices whose class was renamed update their neighbours' sums; only those are looked at
 *            again. The part of a class that nothing touched keeps its name, else the first part does.
 *
 * So a ring in which one edge is odd costs a few vertices per round, not the whole ring. */
#include "net/symmetry.h"

#include "base/must.h"

#include <stdbool.h>

/* the far end of an edge, seen from a vertex */
struct arc {
    int32_t to, label, weight;
};

/* a slot of the table of (class, sum) pairs of one round */
struct slot {
    uint64_t sum;
    int32_t part;  /* part_class tells the class */
    int32_t round; /* slots of earlier rounds are free */
};

struct refiner {
    int n_vertices, n_classes;
    const struct sym_edge *edges;
    int64_t n_edges;
    int32_t *class_of;
    uint64_t *sum;  /* [n_vertices] */
    int64_t *first; /* [n_vertices + 1] of arcs, by vertex; NULL before it is needed */
    struct arc *arcs;
    struct slot *slots;
    int32_t round;
    /* by class */
    int32_t *size;
    uint64_t *class_sum;              /* of the members that keep the name */
    int32_t *touched, *touched_round; /* members touched in the round */
    /* by vertex */
    int32_t *touch_round, *list, *part_of, *old_class;
    int32_t n_list;
    /* by part of a round */
    int32_t *part_class, *part_size;
};

/* Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t arc_hash(int32_t class, int32_t label, int32_t weight)
{
    uint64_t kind = (uint64_t)(uint32_t)label << 32 | (uint32_t)weight;
    return mix(mix((uint64_t) class) ^ kind * 0xd6e8feb86659fd93u);
}

/* Number the values of `seed` by first appearance. */
static void start_classes(struct refiner *r, const int64_t *seed, uint64_t mask)
{
    for (int v = 0; v < r->n_vertices; v++) {
        uint64_t value = (uint64_t)seed[v];
        uint64_t at = mix(value) & mask;
        while (r->slots[at].round == 1 && r->slots[at].sum != value) at = (at + 1) & mask;
        if (r->slots[at].round != 1) {
            r->slots[at] = (struct slot){.sum = value, .part = r->n_classes++, .round = 1};
        }
        r->class_of[v] = r->slots[at].part;
        r->size[r->class_of[v]]++;
    }
    r->round = 1;
}

static void sum_all_edges(struct refiner *r)
{
    for (int64_t e = 0; e < r->n_edges; e++) {
        struct sym_edge edge = r->edges[e];
        must(edge.u >= 0 && edge.u < r->n_vertices && edge.v >= 0 && edge.v < r->n_vertices);
        r->sum[edge.u] += arc_hash(r->class_of[edge.v], edge.label, edge.weight);
        if (edge.u == edge.v) continue;
        r->sum[edge.v] += arc_hash(r->class_of[edge.u], edge.label, edge.weight);
    }
}

/* Arcs by vertex, by counting. */
static void build_arcs(struct refiner *r, struct arena *scratch)
{
    r->first = arena_new(scratch, int64_t, (int64_t)r->n_vertices + 2);
    int64_t *next = r->first + 1; /* next[v + 1] counts v's arcs, then becomes where they begin */
    for (int64_t e = 0; e < r->n_edges; e++) {
        next[r->edges[e].u + 1]++;
        if (r->edges[e].u != r->edges[e].v) next[r->edges[e].v + 1]++;
    }
    for (int v = 0; v < r->n_vertices; v++) next[v + 1] += next[v];
    r->arcs = arena_new(scratch, struct arc, next[r->n_vertices]);
    for (int64_t e = 0; e < r->n_edges; e++) {
        struct sym_edge edge = r->edges[e];
        r->arcs[next[edge.u]++] = (struct arc){edge.v, edge.label, edge.weight};
        if (edge.u == edge.v) continue;
        r->arcs[next[edge.v]++] = (struct arc){edge.u, edge.label, edge.weight};
    }
}

/* the part of this round for a class and a sum, made when it is new */
static int32_t find_part(struct refiner *r, int32_t class, uint64_t sum, uint64_t mask,
                         int *n_parts)
{
    uint64_t at = (sum ^ mix((uint64_t) class)) & mask;
    for (;;) {
        struct slot *slot = &r->slots[at];
        if (slot->round != r->round) {
            *slot = (struct slot){.sum = sum, .part = *n_parts, .round = r->round};
            r->part_class[*n_parts] = class;
            r->part_size[*n_parts] = 0;
            return (*n_parts)++;
        }
        if (slot->sum == sum && r->part_class[slot->part] == class) return slot->part;
        at = (at + 1) & mask;
    }
}

/* a power of two with room for n entries and as many again, less one */
static uint64_t table_mask(int n)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)n + 2) size *= 2;
    return size - 1;
}

/* Put the vertices of the list in parts by (class, sum). What a class has beside them is its first part. */
static int make_parts(struct refiner *r)
{
    int n_parts = 0;
    /* at most a part for each in the list and for the rest of its class, and none is empty */
    int most = r->n_list < r->n_vertices / 2 ? 2 * r->n_list : r->n_vertices;
    uint64_t mask = table_mask(most);
    for (int i = 0; i < r->n_list; i++) {
        int32_t class = r->class_of[r->list[i]];
        if (r->touched_round[class] != r->round) {
            r->touched_round[class] = r->round;
            r->touched[class] = 0;
        }
        r->touched[class]++;
    }
    for (int i = 0; i < r->n_list; i++) {
        int32_t v = r->list[i];
        int32_t class = r->class_of[v];
        int32_t rest = r->size[class] - r->touched[class];
        if (rest > 0) {
            int32_t kept = find_part(r, class, r->class_sum[class], mask, &n_parts);
            if (r->part_size[kept] == 0) r->part_size[kept] = rest;
        }
        r->part_of[v] = find_part(r, class, r->sum[v], mask, &n_parts);
        r->part_size[r->part_of[v]]++;
    }
    return n_parts;
}

/* The first part of each class keeps its number, the others get new ones, which replace part_class. */
static void name_parts(struct refiner *r, int n_parts)
{
    for (int p = 0; p < n_parts; p++) {
        int32_t class = r->part_class[p];
        bool keeps = r->touched_round[class] == r->round;
        r->touched_round[class] = 0; /* taken */
        if (!keeps) r->part_class[p] = r->n_classes++;
        r->size[r->part_class[p]] = r->part_size[p];
    }
}

/* Give the vertices their new classes; leaves in the list those whose class was renamed. */
static void rename_vertices(struct refiner *r)
{
    int n_changed = 0;
    for (int i = 0; i < r->n_list; i++) {
        int32_t v = r->list[i];
        int32_t class = r->part_class[r->part_of[v]];
        r->class_sum[class] = r->sum[v];
        if (class == r->class_of[v]) continue;
        r->old_class[v] = r->class_of[v];
        r->class_of[v] = class;
        r->list[n_changed++] = v;
    }
    r->n_list = n_changed;
}

/* Correct the sums around the renamed vertices of `changed`; the list becomes what was touched. */
static void update_sums(struct refiner *r, const int32_t *changed, int n_changed)
{
    r->n_list = 0;
    for (int i = 0; i < n_changed; i++) {
        int32_t u = changed[i];
        for (int64_t a = r->first[u]; a < r->first[u + 1]; a++) {
            struct arc arc = r->arcs[a];
            r->sum[arc.to] += arc_hash(r->class_of[u], arc.label, arc.weight) -
                              arc_hash(r->old_class[u], arc.label, arc.weight);
            if (r->touch_round[arc.to] == r->round) continue;
            r->touch_round[arc.to] = r->round;
            r->list[r->n_list++] = arc.to;
        }
    }
}

static void renumber(struct refiner *r)
{
    int32_t *number = r->touched; /* by class, 1 + its final number */
    for (int c = 0; c < r->n_classes; c++) number[c] = 0;
    int32_t n = 0;
    for (int v = 0; v < r->n_vertices; v++) {
        int32_t class = r->class_of[v];
        if (number[class] == 0) number[class] = ++n;
        r->class_of[v] = number[class] - 1;
    }
    must(n == r->n_classes);
}

static void allocate(struct refiner *r, struct arena *scratch)
{
    int n = r->n_vertices;
    r->sum = arena_new(scratch, uint64_t, n);
    r->class_sum = arena_new(scratch, uint64_t, n);
    r->slots = arena_new(scratch, struct slot, (int64_t)table_mask(n) + 1);
    int32_t **arrays[] = {&r->size,    &r->touched,   &r->touched_round, &r->touch_round, &r->list,
                          &r->part_of, &r->old_class, &r->part_class,    &r->part_size};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = arena_new(scratch, int32_t, n);
    }
}

int symmetry_refine(const int64_t *seed, int n_vertices, const struct sym_edge *edges,
                    int64_t n_edges, int32_t *class_of, struct arena scratch)
{
    struct refiner r = {.n_vertices = n_vertices, .edges = edges, .n_edges = n_edges};
    r.class_of = class_of;
    allocate(&r, &scratch);
    start_classes(&r, seed, table_mask(n_vertices));
    sum_all_edges(&r);
    int32_t *changed = arena_new(&scratch, int32_t, n_vertices);
    for (int v = 0; v < n_vertices; v++) r.list[v] = v;
    r.n_list = n_vertices;
    for (;;) {
        r.round++;
        name_parts(&r, make_parts(&r));
        rename_vertices(&r);
        if (r.n_list == 0 || r.n_classes == n_vertices) break;
        if (!r.first) build_arcs(&r, &scratch);
        int n_changed = r.n_list;
        for (int i = 0; i < n_changed; i++) changed[i] = r.list[i];
        update_sums(&r, changed, n_changed);
    }
    renumber(&r);
    return r.n_classes;
}
