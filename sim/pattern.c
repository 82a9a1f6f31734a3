#include "pattern.h"

#include "base/must.h"
#include "net/adaptive.h"

#include <math.h>

/* bundles with bytes this close (relative) are parts of one movement */
#define SAME_BYTES 1e-9

static bool equal_bytes(double a_B, double b_B)
{
    return fabs(a_B - b_B) <= SAME_BYTES * a_B;
}

static int node_of(const struct coll_req *req, int member)
{
    int n_nodes = req->n_ranks / req->ranks_per_node;
    if (member < req->n_ranks) return member / req->ranks_per_node;
    return (member - req->n_ranks) % n_nodes;
}

/* Most flows that leave one node, or one member inside its node, in bundles of phase p with
 * `bytes` per flow. */
static int busiest_port(const struct pattern *pattern, int p, const struct coll_phase *phase,
                        double bytes, struct arena scratch)
{
    const struct coll_algo *algo = pattern->algo;
    const struct coll_req *req = &pattern->req;
    int32_t *inside = arena_new(&scratch, int32_t, coll_members(algo, req));
    int32_t *outside = arena_new(&scratch, int32_t, req->n_ranks);
    int32_t most = 1;
    for (int b = 0; b < phase->n_bundles; b++) {
        struct coll_bundle bundle;
        algo->bundle(req, p, b, &bundle);
        if (!equal_bytes(bytes, bundle.bytes)) continue;
        for (int64_t k = 0; k < bundle.n_flows; k++) {
            struct coll_flow flow = algo->flow(req, p, b, k);
            int node = node_of(req, flow.src);
            bool leaves = node != node_of(req, flow.dst);
            int32_t n = leaves ? ++outside[node] : ++inside[flow.src];
            if (n > most) most = n;
        }
    }
    return most;
}

static bool leaves_node(const struct pattern *pattern, int p, int b, int64_t n_flows)
{
    for (int64_t k = 0; k < n_flows; k++) {
        struct coll_flow flow = pattern->algo->flow(&pattern->req, p, b, k);
        if (node_of(&pattern->req, flow.src) != node_of(&pattern->req, flow.dst)) return true;
    }
    return false;
}

static void share_channels(struct pattern *pattern, int p, const struct coll_phase *phase,
                           struct arena scratch)
{
    double *share = pattern->cap_share + pattern->phase_bundle[p];
    double *bytes = arena_new(&scratch, double, phase->n_bundles);
    for (int b = 0; b < phase->n_bundles; b++) {
        struct coll_bundle bundle;
        pattern->algo->bundle(&pattern->req, p, b, &bundle);
        bytes[b] = bundle.bytes;
        pattern->leaves[pattern->phase_bundle[p] + b] = leaves_node(pattern, p, b, bundle.n_flows);
        int like = 0;
        while (!equal_bytes(bytes[like], bytes[b])) like++;
        share[b] =
            like < b ? share[like] : 1.0 / busiest_port(pattern, p, phase, bytes[b], scratch);
    }
}

struct pattern *pattern_new(const struct coll_algo *algo, const struct coll_req *req,
                            struct arena *perm)
{
    struct pattern *pattern = arena_new(perm, struct pattern, 1);
    *pattern = (struct pattern){.algo = algo, .req = *req};
    struct coll_phase phase;
    while (algo->phase(req, pattern->n_phases, &phase)) pattern->n_phases++;
    pattern->phase_bundle = arena_new(perm, int, pattern->n_phases + 1);
    for (int p = 0; algo->phase(req, p, &phase); p++) {
        pattern->n_bundles += phase.n_bundles;
        pattern->phase_bundle[p + 1] = pattern->n_bundles;
    }
    pattern->leaves = arena_new(perm, bool, pattern->n_bundles);
    pattern->cap_share = arena_new(perm, double, pattern->n_bundles);
    for (int p = 0; algo->phase(req, p, &phase); p++) share_channels(pattern, p, &phase, *perm);
    return pattern;
}

void pattern_open(struct pattern *pattern, int n_groups, int n_epochs, struct arena *perm)
{
    int64_t n_laid = (int64_t)n_groups * n_epochs;
    pattern->n_groups = n_groups;
    pattern->n_epochs = n_epochs;
    pattern->first = arena_new(perm, int64_t, n_laid * pattern->n_bundles + 1);
    int64_t n_wires = n_laid * pattern->n_phases * N_HOP_KINDS;
    pattern->wire_s = arena_new(perm, double, n_wires);
    for (int64_t w = 0; w < n_wires; w++) pattern->wire_s[w] = -1.0;
}

bool pattern_same(const struct pattern *pattern, const struct coll_algo *algo,
                  const struct coll_req *req)
{
    if (pattern->algo != algo || pattern->req.root != req->root) return false;
    struct coll_phase phase;
    for (int p = 0; p < pattern->n_phases; p++) {
        int n = pattern->phase_bundle[p + 1] - pattern->phase_bundle[p];
        if (!algo->phase(req, p, &phase) || phase.n_bundles != n) return false;
        for (int b = 0; b < n; b++) {
            struct coll_bundle ours, theirs;
            algo->bundle(&pattern->req, p, b, &ours);
            algo->bundle(req, p, b, &theirs);
            if (ours.n_flows != theirs.n_flows || ours.channel != theirs.channel) return false;
        }
    }
    return !algo->phase(req, pattern->n_phases, &phase);
}

/* ---- laying ---- */

struct laying {
    struct pattern *pattern;
    const struct place *place;
    struct lay_scratch scratch;
    int n_touched;
    bool count_memory;
    const struct adaptive *adaptive; /* of the present phase, see struct pattern */
};

static void count(struct laying *laying, int thing, double part)
{
    if (laying->scratch.count[thing] <= 0.0) laying->scratch.touched[laying->n_touched++] = thing;
    laying->scratch.count[thing] += part;
}

static void lay_way(struct laying *laying, struct coll_flow flow, int channel, double *wire_s)
{
    const struct topo *topo = laying->place->topo;
    int links[ROUTE_MAX];
    int n = place_route(laying->place, flow, channel, links);
    for (int l = 0; l < n; l++) count(laying, links[l], 1.0);
    enum hop_kind kind = place_hop_kind(topo, links, n);
    wire_s[kind] = fmax(wire_s[kind], topo_path_latency_s(topo, links, n));
}

/* over several links side by side */
static void lay_spread(struct laying *laying, struct coll_flow flow, int channel, double *wire_s)
{
    const struct topo *topo = laying->place->topo;
    struct ways ways = place_spread(laying->place, flow, channel, laying->adaptive);
    enum hop_kind kind = HOP_SCALEUP;
    for (int i = 0; i < ways.n; i++) {
        const struct link_share *share = &ways.shares[i];
        enum hop_kind here = place_hop_kind(topo, (int[]){share->link}, 1);
        count(laying, share->link, share->frac);
        if (here > kind) kind = here;
    }
    wire_s[kind] = fmax(wire_s[kind], ways.latency_s);
}

static void lay_flow(struct laying *laying, struct coll_flow flow, int channel, double *wire_s)
{
    const struct topo *topo = laying->place->topo;
    if (topo_single(topo))
        lay_way(laying, flow, channel, wire_s);
    else
        lay_spread(laying, flow, channel, wire_s);
    bool from_rank = flow.src < laying->place->n_ranks;
    if (laying->count_memory && from_rank)
        count(laying, topo->n_links + laying->place->ranks[flow.src], 1.0);
}

/* The counters of a bundle become tallies, and are zero again. */
static void store(struct laying *laying, int64_t cell, struct arena *perm)
{
    struct pattern *pattern = laying->pattern;
    int64_t at = pattern->first[cell];
    if (at + laying->n_touched > pattern->cap_tallies) {
        int64_t capacity = 2 * (at + laying->n_touched);
        /* a first guess: all bundles of the one group touch as many links as its first */
        if (pattern->n_groups == 1 && at == 0)
            capacity = (int64_t)laying->n_touched * pattern->n_bundles;
        pattern->tallies = arena_grow(perm, struct tally, pattern->tallies, at, capacity);
        pattern->cap_tallies = capacity;
    }
    for (int t = 0; t < laying->n_touched; t++) {
        int thing = laying->scratch.touched[t];
        pattern->tallies[at + t] = (struct tally){thing, laying->scratch.count[thing]};
        laying->scratch.count[thing] = 0.0;
    }
    pattern->first[cell + 1] = at + laying->n_touched;
    laying->n_touched = 0;
}

static void lay_bundle(struct laying *laying, int p, int b, double *wire_s)
{
    const struct pattern *pattern = laying->pattern;
    struct coll_bundle bundle;
    pattern->algo->bundle(&pattern->req, p, b, &bundle);
    for (int64_t k = 0; k < bundle.n_flows; k++) {
        lay_flow(laying, pattern->algo->flow(&pattern->req, p, b, k), bundle.channel, wire_s);
    }
}

/* ---- ways by load ---- */

static void offer_bundle(struct pattern *pattern, int p, int b, const struct place *place,
                         struct adaptive *adaptive, struct arena *perm)
{
    struct coll_bundle bundle;
    pattern->algo->bundle(&pattern->req, p, b, &bundle);
    for (int64_t k = 0; k < bundle.n_flows; k++) {
        struct coll_flow flow = pattern->algo->flow(&pattern->req, p, b, k);
        place_offer(place, flow, bundle.channel, adaptive, perm);
    }
}

void pattern_offer(struct pattern *pattern, int epoch, const struct place *place,
                   struct arena *perm)
{
    if (!topo_by_load(place->topo)) return;
    if (!pattern->adaptive)
        pattern->adaptive =
            arena_new(perm, struct adaptive *, (int64_t)pattern->n_epochs * pattern->n_phases);
    for (int p = 0; p < pattern->n_phases; p++) {
        struct adaptive **adaptive = &pattern->adaptive[epoch * pattern->n_phases + p];
        if (!*adaptive) *adaptive = adaptive_new(place->topo, perm);
        for (int b = 0; b < pattern->phase_bundle[p + 1] - pattern->phase_bundle[p]; b++)
            offer_bundle(pattern, p, b, place, *adaptive, perm);
    }
}

void pattern_settle(struct pattern *pattern, int epoch, struct arena *perm)
{
    for (int p = 0; pattern->adaptive && p < pattern->n_phases; p++)
        adaptive_settle(pattern->adaptive[epoch * pattern->n_phases + p], perm);
}

/* ---- laying it ---- */

void pattern_lay(struct pattern *pattern, int i, const struct place *place, bool count_memory,
                 struct lay_scratch scratch, struct arena *perm)
{
    struct laying laying = {pattern, place, scratch, 0, count_memory, NULL};
    for (int p = 0; p < pattern->n_phases; p++) {
        double *wire_s = pattern->wire_s + ((int64_t)i * pattern->n_phases + p) * N_HOP_KINDS;
        int first = pattern->phase_bundle[p];
        int epoch = i / pattern->n_groups;
        if (pattern->adaptive) laying.adaptive = pattern->adaptive[epoch * pattern->n_phases + p];
        for (int b = 0; b < pattern->phase_bundle[p + 1] - first; b++) {
            lay_bundle(&laying, p, b, wire_s);
            store(&laying, (int64_t)i * pattern->n_bundles + first + b, perm);
        }
    }
}
