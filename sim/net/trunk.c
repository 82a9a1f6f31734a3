#include "net/trunk.h"

#include "net/fabric.h"
#include "net/symmetry.h"

#include <string.h>

enum { AT_SOURCE, AT_END }; /* labels: a link leaves its source and comes to its end */

static int n_switches(const struct topo *topo)
{
    return topo->fabric ? topo->fabric->n_switches : 0;
}

static void set_alone(const struct topo *topo, struct trunks *trunks)
{
    for (int l = 0; l < topo->n_links; l++) {
        trunks->first[l] = l;
        trunks->n_links[l] = 1;
    }
    for (int s = 0; s < n_switches(topo); s++) trunks->first_hop[s] = s;
}

struct trunks trunks_new(const struct topo *topo, struct arena *perm)
{
    struct trunks trunks = {.first = arena_new(perm, int32_t, topo->n_links),
                            .n_links = arena_new(perm, int32_t, topo->n_links),
                            .first_hop = arena_new(perm, int32_t, n_switches(topo))};
    set_alone(topo, &trunks);
    return trunks;
}

/* -1: it is no switch, or the link has failed */
static int switch_at(const struct topo *topo, const struct link *link, int vertex)
{
    int s = vertex - topo->fabric->first_vertex;
    return !link->failed && s >= 0 && s < n_switches(topo) ? s : -1;
}

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Links of unequal kind have unequal numbers, but for a chance of 2^-64; a link that does not join two
 * switches has one of its own. */
static int64_t seed_of(const struct topo *topo, int l)
{
    const struct link *link = &topo->links[l];
    if (switch_at(topo, link, link->src) < 0 || switch_at(topo, link, link->dst) < 0) return -1 - l;
    uint64_t seed = (uint64_t)bits_of(link->capacity_Bps) * 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 29) ^ (uint64_t)bits_of(link->latency_s)) * 0xbf58476d1ce4e5b9u;
    return (int64_t)((seed ^ (seed >> 32) ^ (uint64_t)link->tier) >> 1);
}

/* Vertices: the switches, then the fabric's links. Returns the number of classes. */
static int refine(const struct topo *topo, const int *group, int32_t *class_of,
                  struct arena scratch)
{
    int n = n_switches(topo), first = topo->fabric->first_link;
    int n_vertices = n + topo->n_links - first;
    int64_t *seed = arena_new(&scratch, int64_t, n_vertices);
    struct sym_edge *edges = arena_new(&scratch, struct sym_edge, 2 * (int64_t)n_vertices);
    int64_t n_edges = 0;
    for (int s = 0; s < n; s++) seed[s] = group ? group[s] : 0;
    for (int l = first; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        int v = n + l - first;
        int src = switch_at(topo, link, link->src), dst = switch_at(topo, link, link->dst);
        seed[v] = seed_of(topo, l);
        if (src >= 0) edges[n_edges++] = (struct sym_edge){v, src, AT_SOURCE, 1};
        if (dst >= 0) edges[n_edges++] = (struct sym_edge){v, dst, AT_END, 1};
    }
    return symmetry_refine(seed, n_vertices, edges, n_edges, class_of, scratch);
}

void trunks_find(const struct topo *topo, const int *group, bool together, struct trunks *trunks,
                 struct arena scratch)
{
    set_alone(topo, trunks);
    if (!together || n_switches(topo) == 0) return;
    int n = n_switches(topo), first = topo->fabric->first_link;
    int32_t *class_of = arena_new(&scratch, int32_t, n + topo->n_links - first);
    int n_classes = refine(topo, group, class_of, scratch);
    int32_t *first_of = arena_new(&scratch, int32_t, n_classes);
    for (int c = 0; c < n_classes; c++) first_of[c] = -1;
    for (int s = 0; s < n; s++) {
        int c = class_of[s];
        if (first_of[c] < 0) first_of[c] = s;
        trunks->first_hop[s] = first_of[c];
    }
    for (int l = first; l < topo->n_links; l++) {
        int c = class_of[n + l - first];
        if (first_of[c] < 0)
            first_of[c] = l;
        else
            trunks->n_links[first_of[c]]++;
        trunks->first[l] = first_of[c];
    }
    for (int l = first; l < topo->n_links; l++)
        trunks->n_links[l] = trunks->n_links[trunks->first[l]];
}
