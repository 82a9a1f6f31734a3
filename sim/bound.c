#include "bound.h"

#include "net/fabric.h"

#include <math.h>

/* both ways of a cut around a part, in bytes or in rates */
struct both_ways {
    double out, in;
};

/* n equal parts of the ranks (GPUs, or nodes), each behind links of its own */
struct cuts {
    int n, root; /* root: the part of the first rank */
    double ranks_each;
    const struct both_ways *Bps; /* [n] */
};

/* Bytes that must leave a part and enter it. Parts make their sums inside first, so they act as one rank,
 * except where each pair of ranks moves data of its own. What has a root begins or ends at the first rank. */
static struct both_ways cut_B(enum coll_kind kind, const struct cuts *cuts, int part, double size_B)
{
    double share_B = size_B / cuts->n, others_B = size_B * (cuts->n - 1.0) / cuts->n;
    bool root = part == cuts->root;
    switch (kind) {
    case COLL_ALLTOALL:
        return (struct both_ways){cuts->ranks_each * others_B, cuts->ranks_each * others_B};
    case COLL_REDUCE_SCATTER:
        return (struct both_ways){others_B, share_B};
    case COLL_ALLGATHER:
        return (struct both_ways){share_B, others_B};
    case COLL_SENDRECV:
        if (cuts->ranks_each > 1) return (struct both_ways){0, 0};
        if (cuts->n > 2) return (struct both_ways){size_B, size_B};
        return root ? (struct both_ways){size_B, 0} : (struct both_ways){0, size_B};
    case COLL_BROADCAST:
        return root ? (struct both_ways){size_B, 0} : (struct both_ways){0, size_B};
    case COLL_REDUCE:
        return root ? (struct both_ways){0, size_B} : (struct both_ways){size_B, 0};
    case COLL_ALLREDUCE:
    case N_COLL_KINDS:
        break;
    }
    return (struct both_ways){size_B, size_B};
}

/* An all-reduce without help from outside sends 2 (n - 1) buffers in all, however it shares them out. */
static double cuts_s(enum coll_kind kind, const struct cuts *cuts, double size_B, bool helped)
{
    struct both_ways sum_Bps = {0, 0};
    double one_s = 0;
    for (int i = 0; cuts->n > 1 && i < cuts->n; i++) {
        struct both_ways must_B = cut_B(kind, cuts, i, size_B), Bps = cuts->Bps[i];
        if (must_B.out > 0) one_s = fmax(one_s, must_B.out / Bps.out);
        if (must_B.in > 0) one_s = fmax(one_s, must_B.in / Bps.in);
        sum_Bps.out += Bps.out;
        sum_Bps.in += Bps.in;
    }
    if (cuts->n < 2 || kind != COLL_ALLREDUCE || helped) return one_s;
    return fmax(one_s, 2.0 * (cuts->n - 1) * size_B / fmin(sum_Bps.out, sum_Bps.in));
}

/* Within one node GPUs use the scale-up links where there are any; data of other nodes and of servers
 * comes by PCIe as well. */
static struct cuts gpu_cuts(const struct inputs *in, bool servers, struct arena *scratch)
{
    const struct topo *topo = in->topo;
    struct both_ways *Bps = arena_new(scratch, struct both_ways, topo->n_gpus);
    bool only_scaleup = topo->n_nodes == 1 && topo->node.scaleup != SCALEUP_NONE && !servers;
    for (int l = 0; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        const struct vertex *src = &topo->vertices[link->src], *dst = &topo->vertices[link->dst];
        if (only_scaleup && link->tier != TIER_SCALEUP) continue;
        if (src->kind == VERTEX_GPU && src->index < topo->n_gpus)
            Bps[src->index].out += link->capacity_Bps;
        if (dst->kind == VERTEX_GPU && dst->index < topo->n_gpus)
            Bps[dst->index].in += link->capacity_Bps;
    }
    return (struct cuts){topo->n_gpus, in->gpu_of[0], 1, Bps};
}

static struct cuts node_cuts(const struct inputs *in, struct arena *scratch)
{
    const struct topo *topo = in->topo;
    int per_node = topo->n_gpus / topo->n_nodes;
    struct both_ways *Bps = arena_new(scratch, struct both_ways, topo->n_nodes);
    for (int l = 0; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        const struct vertex *src = &topo->vertices[link->src], *dst = &topo->vertices[link->dst];
        if (link->tier != TIER_NIC) continue;
        if (src->kind == VERTEX_NIC) Bps[src->owner].out += link->capacity_Bps;
        if (dst->kind == VERTEX_NIC) Bps[dst->owner].in += link->capacity_Bps;
    }
    return (struct cuts){topo->n_nodes, in->gpu_of[0] / per_node, per_node, Bps};
}

/* An odd number of nodes has unequal halves a and b, where pairs of ranks move 2 a b / n each way: as
 * much as halves of 2 a b / n ranks would. */
static struct cuts middle_cut(const struct topo *topo, struct arena *scratch)
{
    const struct fabric_kind *kind = fabric_find(topo->fabric_spec.kind);
    double half_Bps = (double)INFINITY;
    if (kind) half_Bps = kind->bisection_Bps(topo);
    int per_node = topo->n_gpus / topo->n_nodes;
    int half_nodes = topo->n_nodes / 2;
    double first = (double)half_nodes * per_node;
    double ranks_each = 2.0 * first * (topo->n_gpus - first) / topo->n_gpus;
    struct both_ways *Bps = arena_new(scratch, struct both_ways, 2);
    for (int half = 0; half < 2; half++) Bps[half] = (struct both_ways){half_Bps, half_Bps};
    return (struct cuts){2, 0, ranks_each, Bps};
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
    struct cuts gpus = gpu_cuts(in, help == HELP_SERVERS, &scratch);
    double bound_s = cuts_s(kind, &gpus, size_B, help != HELP_NONE);
    if (in->topo->n_nodes > 1) {
        struct cuts nodes = node_cuts(in, &scratch);
        struct cuts middle = middle_cut(in->topo, &scratch);
        bool helped = help == HELP_FABRIC;
        bound_s = fmax(bound_s, cuts_s(kind, &nodes, size_B, helped));
        bound_s = fmax(bound_s, cuts_s(kind, &middle, size_B, helped));
    }
    return bound_s;
}
