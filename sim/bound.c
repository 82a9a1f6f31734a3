#include "bound.h"

#include "net/fabric.h"

#include <math.h>

/* n equal parts of the ranks (GPUs, or nodes), each behind links of its own */
struct cuts {
    int n;
    double ranks_each;
    double least_Bps, sum_Bps; /* what leaves a part: the slowest, and all together */
};

/* Bytes that must leave a part (or enter it, as many). Parts make their sums inside first, so they
 * act as one rank, except where each pair of ranks moves data of its own. */
static double cut_B(enum coll_kind kind, const struct cuts *cuts, double size_B)
{
    double outside_frac = (cuts->n - 1.0) / cuts->n;
    switch (kind) {
    case COLL_ALLTOALL:
        return size_B * cuts->ranks_each * outside_frac;
    case COLL_REDUCE_SCATTER:
    case COLL_ALLGATHER:
        return size_B * outside_frac;
    case COLL_SENDRECV:
        return cuts->ranks_each <= 1 ? size_B : 0;
    case COLL_ALLREDUCE:
    case COLL_BROADCAST:
    case COLL_REDUCE:
    case N_COLL_KINDS:
        break;
    }
    return size_B;
}

/* An all-reduce without help from outside sends 2 (n - 1) buffers in all, however it shares them out. */
static double cuts_s(enum coll_kind kind, const struct cuts *cuts, double size_B, bool helped)
{
    if (cuts->n < 2) return 0;
    double one_s = cut_B(kind, cuts, size_B) / cuts->least_Bps;
    if (kind != COLL_ALLREDUCE || helped) return one_s;
    return fmax(one_s, 2.0 * (cuts->n - 1) * size_B / cuts->sum_Bps);
}

static struct cuts sum_up(const double *leaving_Bps, int n, int ranks_each)
{
    struct cuts cuts = {.n = n, .ranks_each = ranks_each, .least_Bps = INFINITY};
    for (int i = 0; i < n; i++) {
        cuts.least_Bps = fmin(cuts.least_Bps, leaving_Bps[i]);
        cuts.sum_Bps += leaving_Bps[i];
    }
    return cuts;
}

/* Within one node GPUs use the scale-up links where there are any; data of other nodes and of servers
 * comes by PCIe as well. */
static struct cuts gpu_cuts(const struct topo *topo, bool servers, struct arena scratch)
{
    double *leaving_Bps = arena_new(&scratch, double, topo->n_gpus);
    bool only_scaleup = topo->n_nodes == 1 && topo->node.scaleup != SCALEUP_NONE && !servers;
    for (int l = 0; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        const struct vertex *src = &topo->vertices[link->src];
        if (src->kind != VERTEX_GPU || src->index >= topo->n_gpus) continue;
        if (!only_scaleup || link->tier == TIER_SCALEUP)
            leaving_Bps[src->index] += link->capacity_Bps;
    }
    return sum_up(leaving_Bps, topo->n_gpus, 1);
}

static struct cuts node_cuts(const struct topo *topo, struct arena scratch)
{
    double *leaving_Bps = arena_new(&scratch, double, topo->n_nodes);
    for (int l = 0; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        const struct vertex *src = &topo->vertices[link->src];
        if (src->kind == VERTEX_NIC && link->tier == TIER_NIC)
            leaving_Bps[src->owner] += link->capacity_Bps;
    }
    return sum_up(leaving_Bps, topo->n_nodes, topo->n_gpus / topo->n_nodes);
}

/* An odd number of nodes has unequal halves a and b, where pairs of ranks move 2 a b / n each way: as
 * much as halves of 2 a b / n ranks would. */
static struct cuts middle_cut(const struct topo *topo)
{
    const struct fabric_kind *kind = fabric_find(topo->fabric_spec.kind);
    double half_Bps = (double)INFINITY;
    if (kind) half_Bps = kind->bisection_Bps(topo);
    int per_node = topo->n_gpus / topo->n_nodes;
    int half_nodes = topo->n_nodes / 2;
    double first = (double)half_nodes * per_node;
    double ranks_each = 2.0 * first * (topo->n_gpus - first) / topo->n_gpus;
    return (struct cuts){2, ranks_each, half_Bps, 2 * half_Bps};
}

enum help bound_help(const struct coll_algo *algo)
{
    if (algo && algo->servers) return HELP_SERVERS;
    if (algo && algo->net_wire_frac) return HELP_FABRIC;
    return algo && algo->wire_frac ? HELP_SWITCH : HELP_NONE;
}

double bound_collective_s(const struct inputs *in, enum coll_kind kind, double size_B,
                          enum help help, struct arena scratch)
{
    struct cuts gpus = gpu_cuts(in->topo, help == HELP_SERVERS, scratch);
    double bound_s = cuts_s(kind, &gpus, size_B, help != HELP_NONE);
    if (in->topo->n_nodes > 1) {
        struct cuts nodes = node_cuts(in->topo, scratch);
        struct cuts middle = middle_cut(in->topo);
        bool helped = help == HELP_FABRIC;
        bound_s = fmax(bound_s, cuts_s(kind, &nodes, size_B, helped));
        bound_s = fmax(bound_s, cuts_s(kind, &middle, size_B, helped));
    }
    return bound_s;
}
