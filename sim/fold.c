#include "fold.h"

#include "base/must.h"
#include "base/stats.h"
#include "net/symmetry.h"

#include <math.h>
#include <string.h>

/* Share of the variance of a rank's time that stays from micro-batch to micro-batch, as GPUs differ; the
 * rest is drawn anew in each. Published runs of half a of the sources (median error 10.3, 10.1, 10.0 and
 * 10.0 % at 1, 1/2, 1/4 and 0) do not tell more than that it is not all of it: half. */
static const double JITTER_STAYS = 0.5;

/* jitter_of — of a whole step: what is drawn anew averages over its micro-batches. */
static double jitter_of(const struct inputs *in)
{
    double n = fmax(1.0, in->train.grad_accumulation);
    return in->jitter * sqrt(JITTER_STAYS + (1.0 - JITTER_STAYS) / n);
}

/* Of several jobs each has micro-batches of its own. */
static double lag_of(const struct inputs *in, const struct job *job)
{
    for (int i = 0; i < in->n_jobs; i++) {
        if (in->jobs[i]->job == job) in = in->jobs[i];
    }
    return 1.0 + jitter_of(in) * stats_expected_max(job->n_ranks);
}

double fold_slowdown(const struct inputs *in, int rank)
{
    double lag = lag_of(in, job_part_of(in->job, rank));
    for (int s = 0; s < in->n_slow; s++) {
        if (in->slow[s].gpu == in->gpu_of[rank]) return in->slow[s].factor * lag;
    }
    return lag;
}

double fold_lag(const struct inputs *in)
{
    return lag_of(in, in->job);
}

/* ---- seeds: triples told apart by numbers in order of first appearance ---- */

struct triple {
    int64_t a, b, c;
};

struct interner {
    struct triple *triples; /* [n] */
    int64_t n, capacity;    /* of slots: a power of two, at least twice n */
    int64_t *slots;         /* number + 1, 0 = free */
    struct arena *perm;
};

static uint64_t hash_of(struct triple t)
{
    uint64_t h = (uint64_t)t.a * 0x9e3779b97f4a7c15U;
    h = (h ^ (h >> 29) ^ (uint64_t)t.b) * 0xbf58476d1ce4e5b9U;
    h = (h ^ (h >> 32) ^ (uint64_t)t.c) * 0x94d049bb133111ebU;
    return h ^ (h >> 31);
}

static int64_t *find_slot(struct interner *interner, struct triple t)
{
    uint64_t at = hash_of(t);
    for (;; at++) {
        int64_t *slot = &interner->slots[at & (uint64_t)(interner->capacity - 1)];
        if (*slot == 0) return slot;
        const struct triple *known = &interner->triples[*slot - 1];
        if (known->a == t.a && known->b == t.b && known->c == t.c) return slot;
    }
}

static void grow(struct interner *interner)
{
    interner->capacity = interner->capacity ? 2 * interner->capacity : 1024;
    interner->triples = arena_grow(interner->perm, struct triple, interner->triples, interner->n,
                                   interner->capacity / 2);
    interner->slots = arena_new(interner->perm, int64_t, interner->capacity);
    for (int64_t i = 0; i < interner->n; i++) *find_slot(interner, interner->triples[i]) = i + 1;
}

static int64_t intern(struct interner *interner, int64_t a, int64_t b, int64_t c)
{
    if (2 * interner->n >= interner->capacity) grow(interner);
    struct triple t = {a, b, c};
    int64_t *slot = find_slot(interner, t);
    if (*slot == 0) {
        interner->triples[interner->n++] = t;
        *slot = interner->n;
    }
    return *slot;
}

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- the graph ---- */

/* the first number of a chain of seeds: no intern() returns these */
enum { SEED_RANK = -1, SEED_LINK = -2, SEED_GROUP = -3, SEED_PART = -4 };

enum { PART_BITS = 31 };

struct graph {
    const struct layout *layout;
    bool with_links; /* else as if every link were like every other */
    int n_ranks;
    int32_t *link_vertex;  /* [topo links] -1 = unused */
    int32_t *group_vertex; /* [groups] -1 = unused, or alone in its communicator */
    int n_vertices;
    int64_t *seed;
    struct sym_edge *edges;
    int64_t n_edges;
    struct interner interner;
};

static int vertex_of_thing(const struct graph *graph, int thing)
{
    int n_links = graph->layout->in->topo->n_links;
    return thing < n_links ? graph->link_vertex[thing] : thing - n_links;
}

static int64_t n_tallies(const struct pattern *pattern)
{
    return pattern->first[(int64_t)pattern->n_epochs * pattern->n_groups * pattern->n_bundles];
}

static bool alone(const struct layout *layout, int comm)
{
    return layout->first_group[comm + 1] - layout->first_group[comm] == 1;
}

static void mark_links(const struct layout *layout, int32_t *used)
{
    int n_links = layout->in->topo->n_links;
    for (int i = 0; i < layout->n_laid; i++) {
        const struct pattern *pattern = layout->laid[i].pattern;
        int64_t n = n_tallies(pattern);
        for (int64_t t = 0; t < n; t++) {
            int thing = pattern->tallies[t].thing;
            if (thing < n_links) used[thing] = 0;
        }
    }
}

static int32_t *all_minus_one(int n, struct arena *perm)
{
    int32_t *values = arena_new(perm, int32_t, n);
    for (int i = 0; i < n; i++) values[i] = -1;
    return values;
}

static void number_vertices(struct graph *graph, struct arena *perm)
{
    const struct layout *layout = graph->layout;
    const struct topo *topo = layout->in->topo;
    graph->link_vertex = all_minus_one(topo->n_links, perm);
    graph->group_vertex = all_minus_one(layout->n_groups, perm);
    graph->n_vertices = graph->n_ranks;
    if (graph->with_links) mark_links(layout, graph->link_vertex);
    for (int l = 0; l < topo->n_links; l++) {
        if (graph->link_vertex[l] == 0) graph->link_vertex[l] = graph->n_vertices++;
    }
    for (int c = 0; c < layout->in->job->n_comms; c++) {
        if (!layout->comm_used[c] || alone(layout, c)) continue;
        for (int g = layout->first_group[c]; g < layout->first_group[c + 1]; g++) {
            graph->group_vertex[g] = graph->n_vertices++;
        }
    }
}

/* Links are equal only if the same happens to them. */
static void seed_events(struct graph *graph)
{
    const struct inputs *in = graph->layout->in;
    for (int e = 0; e < in->n_events; e++) {
        const struct link_event *event = &in->events[e];
        int v = graph->link_vertex[event->link];
        if (v < 0) continue;
        int64_t what = event->failed ? -1 : bits_of(event->capacity_Bps);
        graph->seed[v] = intern(&graph->interner, graph->seed[v], bits_of(event->at_s), what);
    }
}

/* Groups of one class are served alike. */
static int64_t shapes_of(const struct layout *layout, int group)
{
    int64_t n = (int64_t)layout->n_shapes + 1;
    return (layout->shape_of[0][group] + 1) * n + layout->shape_of[1][group] + 1;
}

static void seed_vertices(struct graph *graph, struct arena *perm)
{
    const struct layout *layout = graph->layout;
    const struct inputs *in = layout->in;
    graph->seed = arena_new(perm, int64_t, graph->n_vertices);
    for (int r = 0; r < graph->n_ranks; r++) {
        double slowdown = in->n_slow > 0 ? fold_slowdown(in, r) : 1.0; /* all share the lag */
        graph->seed[r] =
            intern(&graph->interner, SEED_RANK, job_role(in->job, r), bits_of(slowdown));
    }
    for (int l = 0; l < in->topo->n_links; l++) {
        const struct link *link = &in->topo->links[l];
        if (graph->link_vertex[l] < 0) continue;
        graph->seed[graph->link_vertex[l]] =
            intern(&graph->interner, SEED_LINK, (int64_t)link->tier, bits_of(link->capacity_Bps));
    }
    seed_events(graph);
    for (int c = 0; c < in->job->n_comms; c++) {
        for (int g = layout->first_group[c]; g < layout->first_group[c + 1]; g++) {
            int v = graph->group_vertex[g];
            if (v >= 0)
                graph->seed[v] = intern(&graph->interner, SEED_GROUP, c, shapes_of(layout, g));
        }
    }
}

static void join(struct graph *graph, int comm, int group, struct sym_edge edge)
{
    if (!alone(graph->layout, comm)) {
        edge.u = graph->group_vertex[group];
        graph->edges[graph->n_edges++] = edge;
        return;
    }
    graph->seed[edge.v] = intern(&graph->interner, graph->seed[edge.v], edge.label, edge.weight);
}

static void join_ranks(struct graph *graph)
{
    const struct job *job = graph->layout->in->job;
    for (int c = 0; c < job->n_comms; c++) {
        if (!graph->layout->comm_used[c]) continue;
        for (int r = 0; r < graph->n_ranks; r++) {
            int group = job_group(job, c, r);
            if (group < 0) continue;
            join(graph, c, graph->layout->first_group[c] + group,
                 (struct sym_edge){.v = r, .label = c, .weight = 1});
        }
    }
}

static void seed_reach(struct graph *graph, int v, const struct reach *reach, int label)
{
    for (int t = 0; t < N_TIERS; t++) {
        if (isinf(reach->slowest_Bps[t])) continue;
        graph->seed[v] = intern(&graph->interner, graph->seed[v], label * N_TIERS + t,
                                bits_of(reach->slowest_Bps[t]));
    }
}

/* What a group's latencies are worked out from is part of its seed: sums and minima along ways, which
 * counts of flows do not tell. */
static void seed_latencies(struct graph *graph, const struct laid *laid, int turn, int label)
{
    int v = graph->group_vertex[laid->groups[turn]];
    if (v < 0) return;
    bool ordered = graph->layout->shapes[laid->shape].ordered;
    const struct reaches *reaches = &graph->layout->reaches[ordered][laid->groups[turn]];
    seed_reach(graph, v, &reaches->intra, 3 * label);
    seed_reach(graph, v, &reaches->inter, 3 * label + 1);
    seed_reach(graph, v, &reaches->server, 3 * label + 2);
    const struct pattern *pattern = laid->pattern;
    int n = pattern->n_phases * N_HOP_KINDS;
    const double *wire_s = pattern->wire_s + (int64_t)turn * n;
    for (int i = 0; i < n; i++) {
        graph->seed[v] = intern(&graph->interner, graph->seed[v], label, bits_of(wire_s[i]));
    }
}

/* Whole numbers of flows are weights as they are, others get numbers below 0. Nine digits count: sums of
 * equal parts differ in their last bits by the order of summing. */
static int32_t weight_of(struct graph *graph, double n_flows)
{
    int exponent;
    double kept = nearbyint(ldexp(frexp(n_flows, &exponent), PART_BITS));
    double rounded = ldexp(kept, exponent - PART_BITS), whole = nearbyint(rounded);
    if (whole >= rounded && whole <= rounded) return (int32_t)whole;
    return (int32_t)-intern(&graph->interner, SEED_PART, (int64_t)kept, exponent);
}

/* The group's flows in one epoch of routes. */
static void join_group(struct graph *graph, const struct laid *laid, int epoch, int turn, int label)
{
    const struct pattern *pattern = laid->pattern;
    int comm = graph->layout->shapes[laid->shape].comm;
    for (int b = 0; b < pattern->n_bundles; b++) {
        int64_t cell = ((int64_t)epoch * pattern->n_groups + turn) * pattern->n_bundles + b;
        for (int64_t t = pattern->first[cell]; t < pattern->first[cell + 1]; t++) {
            const struct tally *tally = &pattern->tallies[t];
            join(graph, comm, laid->groups[turn],
                 (struct sym_edge){.v = vertex_of_thing(graph, tally->thing),
                                   .label = label + b,
                                   .weight = weight_of(graph, tally->n_flows)});
        }
    }
}

/* Bundles of all patterns and epochs are numbered through, after the communicators: labels of edges. */
static void join_things(struct graph *graph)
{
    int label = graph->layout->in->job->n_comms;
    for (int i = 0; i < graph->layout->n_laid; i++) {
        const struct laid *laid = &graph->layout->laid[i];
        for (int turn = 0; turn < laid->pattern->n_groups; turn++)
            seed_latencies(graph, laid, turn, label);
        for (int epoch = 0; epoch < laid->pattern->n_epochs; epoch++) {
            for (int turn = 0; turn < laid->pattern->n_groups; turn++)
                join_group(graph, laid, epoch, turn, label);
            label += laid->pattern->n_bundles + 1;
        }
    }
}

static int64_t most_edges(const struct graph *graph)
{
    const struct layout *layout = graph->layout;
    const struct job *job = layout->in->job;
    int64_t n = (int64_t)job->n_ranks * job->n_comms;
    if (!graph->with_links) return n;
    for (int i = 0; i < layout->n_laid; i++) {
        const struct pattern *pattern = layout->laid[i].pattern;
        if (alone(layout, layout->shapes[layout->laid[i].shape].comm)) continue;
        n += n_tallies(pattern);
    }
    return n;
}

/* ---- classes ---- */

/* Numbers of one kind of vertex, by first appearance; returns how many. */
static int renumber(const int32_t *class_of, int n_classes, const int32_t *vertex, int n,
                    int32_t *out, struct arena scratch)
{
    int32_t *number = all_minus_one(n_classes, &scratch);
    int n_numbers = 0;
    for (int i = 0; i < n; i++) {
        int v = vertex ? vertex[i] : i;
        out[i] = -1;
        if (v < 0) continue;
        if (number[class_of[v]] < 0) number[class_of[v]] = n_numbers++;
        out[i] = number[class_of[v]];
    }
    return n_numbers;
}

/* Groups alone in their communicator have no vertex; each is a class of its own. */
static void number_lone_groups(struct fold *fold, const struct layout *layout)
{
    for (int c = 0; c < layout->in->job->n_comms; c++) {
        if (!layout->comm_used[c] || !alone(layout, c)) continue;
        fold->group_class[layout->first_group[c]] = fold->n_group_classes++;
    }
}

static struct graph graph_of(const struct layout *layout, bool with_links, struct arena *perm)
{
    struct graph graph = {.layout = layout,
                          .with_links = with_links,
                          .n_ranks = layout->in->job->n_ranks,
                          .interner = {.perm = perm}};
    number_vertices(&graph, perm);
    return graph;
}

static int refine(struct graph *graph, int32_t *class_of, struct arena *perm)
{
    graph->edges = arena_new(perm, struct sym_edge, most_edges(graph));
    seed_vertices(graph, perm);
    join_ranks(graph);
    if (graph->with_links) join_things(graph);
    return symmetry_refine(graph->seed, graph->n_vertices, graph->edges, graph->n_edges, class_of,
                           *perm);
}

static void number_classes(struct fold *fold, const struct graph *graph, const int32_t *class_of,
                           int n_classes, struct arena scratch)
{
    const struct layout *layout = graph->layout;
    fold->n_rank_classes =
        renumber(class_of, n_classes, NULL, graph->n_ranks, fold->rank_class, scratch);
    fold->n_link_classes = renumber(class_of, n_classes, graph->link_vertex,
                                    layout->in->topo->n_links, fold->link_class, scratch);
    fold->n_group_classes = renumber(class_of, n_classes, graph->group_vertex, layout->n_groups,
                                     fold->group_class, scratch);
    number_lone_groups(fold, layout);
}

/* ---- merging ---- */

struct merger {
    const struct layout *layout;
    struct fold *fold;
    double *all;      /* [links] flows of everything */
    double *own;      /* [links] of one bundle of a class; zero between two uses */
    int32_t *touched; /* [links] */
    bool *kept;       /* [links] */
};

/* a bundle in one epoch of routes */
struct row {
    int bundle, epoch;
};

/* Does a flow through link a wait longer than one through b? By the first count, then the second. */
static bool holds_more(const struct topo *topo, const double *first, const double *second, int a,
                       int b)
{
    double a_Bps = topo->links[a].capacity_Bps;
    double b_Bps = topo->links[b].capacity_Bps;
    double by = first[a] / a_Bps - first[b] / b_Bps;
    if (fabs(by) > 0.0) return by > 0.0;
    return second[a] / a_Bps > second[b] / b_Bps;
}

static int count_own(struct merger *merger, const struct laid *laid, struct row row,
                     int group_class)
{
    const struct pattern *pattern = laid->pattern;
    int n_links = merger->layout->in->topo->n_links;
    int n = 0;
    for (int turn = 0; turn < pattern->n_groups; turn++) {
        if (merger->fold->group_class[laid->groups[turn]] != group_class) continue;
        int64_t cell =
            ((int64_t)row.epoch * pattern->n_groups + turn) * pattern->n_bundles + row.bundle;
        for (int64_t t = pattern->first[cell]; t < pattern->first[cell + 1]; t++) {
            int link = pattern->tallies[t].thing;
            if (link >= n_links) continue;
            if (merger->own[link] <= 0.0) merger->touched[n++] = link;
            merger->own[link] += pattern->tallies[t].n_flows;
        }
    }
    return n;
}

/* Of each tier the two links that hold a bundle back most: by its own flows, and by all. */
static void keep_worst(struct merger *merger, const struct laid *laid, struct row row,
                       int group_class)
{
    const struct topo *topo = merger->layout->in->topo;
    int by_own[N_TIERS], by_all[N_TIERS];
    for (int t = 0; t < N_TIERS; t++) by_own[t] = by_all[t] = -1;
    int n = count_own(merger, laid, row, group_class);
    for (int i = 0; i < n; i++) {
        int link = merger->touched[i];
        int *own = &by_own[topo->links[link].tier];
        int *all = &by_all[topo->links[link].tier];
        if (*own < 0 || holds_more(topo, merger->own, merger->all, link, *own)) *own = link;
        if (*all < 0 || holds_more(topo, merger->all, merger->own, link, *all)) *all = link;
    }
    for (int t = 0; t < N_TIERS; t++) {
        if (by_own[t] >= 0) merger->kept[by_own[t]] = merger->kept[by_all[t]] = true;
    }
    for (int i = 0; i < n; i++) merger->own[merger->touched[i]] = 0.0;
}

static void count_all(struct merger *merger)
{
    int n_links = merger->layout->in->topo->n_links;
    for (int i = 0; i < merger->layout->n_laid; i++) {
        const struct pattern *pattern = merger->layout->laid[i].pattern;
        int64_t n = n_tallies(pattern);
        for (int64_t t = 0; t < n; t++) {
            int thing = pattern->tallies[t].thing;
            if (thing < n_links) merger->all[thing] += pattern->tallies[t].n_flows;
        }
    }
}

static void keep_class(struct merger *merger, const struct laid *laid, int group_class)
{
    for (int e = 0; e < laid->pattern->n_epochs; e++) {
        for (int b = 0; b < laid->pattern->n_bundles; b++)
            keep_worst(merger, laid, (struct row){b, e}, group_class);
    }
}

static void keep_links(struct merger *merger)
{
    const struct layout *layout = merger->layout;
    struct fold *fold = merger->fold;
    count_all(merger);
    for (int i = 0; i < layout->n_laid; i++) {
        const struct laid *laid = &layout->laid[i];
        int comm = layout->shapes[laid->shape].comm;
        int32_t last = -1; /* classes of a communicator have numbers in order of first appearance */
        for (int g = layout->first_group[comm]; g < layout->first_group[comm + 1]; g++) {
            if (fold->group_class[g] <= last) continue;
            last = fold->group_class[g];
            keep_class(merger, laid, last);
        }
    }
    for (int e = 0; e < layout->in->n_events; e++) { /* so that what happens to it shows */
        int link = layout->in->events[e].link;
        if (merger->all[link] > 0.0) merger->kept[link] = true;
    }
    for (int l = 0; l < layout->in->topo->n_links; l++) {
        fold->link_class[l] = merger->kept[l] ? fold->n_link_classes++ : -1;
    }
}

/* What holds one of a group's flows back most in a tier, in flows per rate; 0 = it has none there. */
static double worst_wait(const struct merger *merger, const struct laid *laid, int turn,
                         enum tier tier)
{
    const struct pattern *pattern = laid->pattern;
    const struct topo *topo = merger->layout->in->topo;
    int64_t first = pattern->first[(int64_t)turn * pattern->n_bundles];
    int64_t end = pattern->first[((int64_t)turn + 1) * pattern->n_bundles];
    double worst = 0.0;
    for (int64_t t = first; t < end; t++) {
        int link = pattern->tallies[t].thing;
        if (link >= topo->n_links || topo->links[link].tier != tier) continue;
        worst = fmax(worst, merger->all[link] / topo->links[link].capacity_Bps);
    }
    return worst;
}

struct range {
    double least, most;
};

static void widen_spread(const struct merger *merger, const struct laid *laid, enum tier tier,
                         struct range *ranges)
{
    struct fold *fold = merger->fold;
    for (int c = 0; c < fold->n_group_classes; c++) ranges[c] = (struct range){0.0, 0.0};
    for (int turn = 0; turn < laid->pattern->n_groups; turn++) {
        struct range *range = &ranges[fold->group_class[laid->groups[turn]]];
        double wait = worst_wait(merger, laid, turn, tier);
        if (wait <= 0.0) continue;
        range->least = range->least > 0.0 ? fmin(range->least, wait) : wait;
        range->most = fmax(range->most, wait);
        if (range->most <= fold->spread * range->least) continue;
        fold->spread = range->most / range->least;
        fold->spread_group = laid->groups[turn];
    }
}

/* By how much a group's busiest link of some tier is busier than that of another one of its class. */
static void find_spread(const struct merger *merger, struct arena scratch)
{
    struct range *ranges = arena_new(&scratch, struct range, merger->fold->n_group_classes);
    merger->fold->spread = 1.0;
    for (int i = 0; i < merger->layout->n_laid; i++) {
        for (int t = 0; t < N_TIERS; t++) {
            widen_spread(merger, &merger->layout->laid[i], (enum tier)t, ranges);
        }
    }
}

static void merge(struct fold *fold, const struct layout *layout, struct arena *perm)
{
    struct graph graph = graph_of(layout, false, perm);
    int32_t *class_of = arena_new(perm, int32_t, graph.n_vertices);
    fold->merged = true;
    number_classes(fold, &graph, class_of, refine(&graph, class_of, perm), *perm);
    int n_links = layout->in->topo->n_links;
    struct merger merger = {.layout = layout,
                            .fold = fold,
                            .all = arena_new(perm, double, n_links),
                            .own = arena_new(perm, double, n_links),
                            .touched = arena_new(perm, int32_t, n_links),
                            .kept = arena_new(perm, bool, n_links)};
    keep_links(&merger);
    find_spread(&merger, *perm);
}

struct fold *fold_layout(const struct layout *layout, bool together, struct arena *perm)
{
    const struct inputs *in = layout->in;
    struct graph graph = graph_of(layout, true, perm);
    int32_t *class_of = arena_new(perm, int32_t, graph.n_vertices);
    struct fold *fold = arena_new(perm, struct fold, 1);
    fold->rank_class = arena_new(perm, int32_t, graph.n_ranks);
    fold->link_class = arena_new(perm, int32_t, in->topo->n_links);
    fold->group_class = arena_new(perm, int32_t, layout->n_groups);
    int n_classes = graph.n_vertices;
    if (together) {
        n_classes = refine(&graph, class_of, perm);
    } else {
        for (int v = 0; v < n_classes; v++) class_of[v] = v;
    }
    number_classes(fold, &graph, class_of, n_classes, *perm);
    fold->n_exact = fold->n_rank_classes + fold->n_group_classes;
    if (together && in->class_limit > 0 && fold->n_exact > in->class_limit) {
        merge(fold, layout, perm);
    }
    return fold;
}
