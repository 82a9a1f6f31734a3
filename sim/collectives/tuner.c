#include "collectives/tuner.h"

#include <math.h>
#include <string.h>

const char *const tuner_algo_names[N_TUNER_ALGOS + 1] = {
    "tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree", "pat", NULL};
const char *const tuner_protocol_names[N_TUNER_PROTOCOLS + 1] = {"LL", "LL128", "Simple", NULL};

/* constants of the formulas themselves, NVIDIA/nccl src/graph/tuning.cc */
static const double HOPPER = 9.0, AMPERE = 8.0; /* compute capabilities that it tells apart */
static const double COLLNET_RANK_S = 0.4e-6;    /* of a direct CollNet, per GPU of a node */
static const double PAT_RANK_S = 2.8e-6, PAT_HOPS = 3.5; /* hops of a PAT overlap so much */
static const double OLD_PLATEAU = 1.9;                   /* the ring's plateau before Ampere */
static const double COLLNET_HOPPER_FRAC = 0.85;
static const double PLATEAU_B = 64; /* per channel and rank */
static const int SIMPLE_OVERHEADS = 3;

/* a request, the generation and the graph: what all formulas share */
struct ask {
    const struct tuner *tuner;
    const struct tuner_cluster *cluster;
    const struct tuner_arch *arch;
    struct tuner_graph graph;
    enum coll_kind kind;
    enum tuner_algo algo;
    enum tuner_protocol protocol;
    enum tuner_nodes nodes;
    int n_ranks, n_steps;
    double bus_Bps;
};

const struct tuner_arch *tuner_arch_of(const struct tuner *tuner, double capability)
{
    const struct tuner_arch *found = NULL;
    for (int a = 0; a < tuner->n_archs; a++) {
        if (capability >= tuner->archs[a].capability) found = &tuner->archs[a];
    }
    return found;
}

static double inner_Bps(const struct tuner_arch *arch, const struct tuner *tuner,
                        const struct tuner_cluster *cluster)
{
    if (cluster->scaleup_Bps <= 0) return tuner->pcie_frac * cluster->pcie_Bps;
    return cluster->scaleup_Bps / arch->nvlink_line_Bps * arch->nvlink_Bps;
}

/* what channels go through: the links of a GPU, and the cards of a node, 0 where none leaves it */
struct ways {
    double inner_Bps, nic_Bps;
    int n_nics;
};

/* Channels of this speed that they carry. */
static int channels_at(double speed_Bps, struct ways ways)
{
    double inside = floor(ways.inner_Bps / speed_Bps);
    if (ways.n_nics == 0) return (int)inside;
    double through_cards = ways.n_nics * floor(ways.nic_Bps / speed_Bps);
    return (int)fmin(inside, through_cards);
}

enum { MAX_CHANNELS = 64, MANY_CHANNELS = 4 };
static const double WIDE_Bps = 25e9, VERY_WIDE_Bps = 50e9;

/* Of two nodes each sends half as much in a tree as in a ring, so a tree gains when it is wider inside: the
 * search goes up its grid until that is twice what leaves the node, or more than the links carry.
 * Source: NVIDIA/nccl src/graph/search.cc, ncclTopoCompute, second pass. */
static double tree_inner_Bps(const double *speeds_Bps, struct tuner_graph graph, double links_Bps)
{
    int s = 0;
    while (speeds_Bps[s] > graph.outer_Bps) s++;
    while (s > 0 && speeds_Bps[s] < 2 * graph.outer_Bps &&
           graph.n_channels * speeds_Bps[s - 1] <= links_Bps)
        s--;
    return speeds_Bps[s];
}

/* Wide channels are doubled, of newer GPUs only very wide ones or few. What a communicator doubles once more
 * when it connects its rings is not told to the tuner.
 * Source: NVIDIA/nccl src/graph/search.cc, ncclTopoDupChannels; connect.cc, ncclTopoPostset. */
static bool doubles(struct tuner_graph graph, double capability)
{
    if (graph.n_channels == 0 || graph.inner_Bps < WIDE_Bps) return false;
    bool many = graph.n_channels > MANY_CHANNELS && graph.inner_Bps < VERY_WIDE_Bps;
    return !(capability > AMPERE && many);
}

static struct tuner_graph doubled(struct tuner_graph graph)
{
    int n = graph.n_channels * 2 <= MAX_CHANNELS ? graph.n_channels * 2 : MAX_CHANNELS;
    double part = (double)graph.n_channels / n;
    return (struct tuner_graph){n, graph.inner_Bps * part, graph.outer_Bps * part,
                                graph.tree_inner_Bps * part};
}

/* the search ends with channels of less than about half of what it found; search.cc, ncclTopoCompute */
static const double LEAST_OF_FOUND = 0.49;

static struct tuner_graph widest(const double *speeds_Bps, int n_speeds, struct ways ways)
{
    struct tuner_graph best = {0};
    for (int s = 0; s < n_speeds; s++) {
        if (best.n_channels > 0 && speeds_Bps[s] <= LEAST_OF_FOUND * best.inner_Bps) break;
        int n = channels_at(speeds_Bps[s], ways);
        if (n > MAX_CHANNELS) n = MAX_CHANNELS;
        if (n * speeds_Bps[s] > best.n_channels * best.inner_Bps)
            best = (struct tuner_graph){n, speeds_Bps[s], speeds_Bps[s], speeds_Bps[s]};
    }
    return best;
}

struct tuner_graph tuner_graph_of(const struct tuner_arch *arch, const struct tuner *tuner,
                                  const struct tuner_cluster *cluster)
{
    bool leaves = cluster->n_nodes > 1;
    const double *speeds_Bps = leaves ? arch->outer_Bps : arch->inner_Bps;
    /* one GPU a node: nothing moves inside it */
    bool alone = leaves && cluster->ranks_per_node == 1;
    struct ways ways = {.inner_Bps = alone ? HUGE_VAL : inner_Bps(arch, tuner, cluster),
                        .nic_Bps = tuner->nic_frac * cluster->nic_Bps,
                        .n_nics = leaves ? cluster->nics_per_node : 0};
    struct tuner_graph best = widest(speeds_Bps, leaves ? arch->n_outer : arch->n_inner, ways);
    if (leaves && best.n_channels > 0)
        best.tree_inner_Bps = tree_inner_Bps(speeds_Bps, best, ways.inner_Bps);
    return doubles(best, cluster->capability) ? doubled(best) : best;
}

static int steps_of(enum coll_kind kind, int n)
{
    if (kind == COLL_ALLREDUCE) return 2 * (n - 1);
    if (kind == COLL_REDUCE_SCATTER || kind == COLL_ALLGATHER) return n - 1;
    return n;
}

static bool is_block(enum coll_kind kind)
{
    return kind == COLL_REDUCE_SCATTER || kind == COLL_ALLGATHER;
}

static bool ring_does(enum coll_kind kind)
{
    return kind != COLL_ALLTOALL && kind != COLL_SENDRECV;
}

/* LL128 needs memory writes that stay in order all the way. */
static bool keeps_order(const struct ask *ask)
{
    const struct tuner_cluster *cluster = ask->cluster;
    return cluster->scaleup_Bps > 0 && (ask->nodes == TUNER_ONE || cluster->near_nics);
}

static bool offered(const struct ask *ask)
{
    const struct tuner_cluster *cluster = ask->cluster;
    bool simple = ask->protocol == TUNER_SIMPLE;
    bool all_reduce = ask->kind == COLL_ALLREDUCE;
    if (!ask->tuner->algos[ask->algo].known) return false;
    if (ask->protocol == TUNER_LL128 && !keeps_order(ask)) return false;
    switch (ask->algo) {
    case TUNER_TREE:
        return all_reduce;
    case TUNER_RING:
        return ring_does(ask->kind);
    case TUNER_COLLNET_DIRECT:
        return simple && cluster->collnet && cluster->nvswitch &&
               (all_reduce || is_block(ask->kind));
    case TUNER_COLLNET_CHAIN:
        return simple && cluster->collnet && all_reduce;
    case TUNER_NVLS:
        return simple && cluster->nvswitch && ask->arch->nvls_frac > 0 &&
               (all_reduce || is_block(ask->kind)) && (ask->nodes == TUNER_ONE || cluster->collnet);
    case TUNER_NVLS_TREE:
        return simple && cluster->nvswitch && ask->arch->nvls_frac > 0 && all_reduce &&
               ask->nodes != TUNER_ONE;
    case TUNER_PAT:
        return simple && is_block(ask->kind) && cluster->ranks_per_node == 1;
    case N_TUNER_ALGOS:
        break;
    }
    return false;
}

static double log2_floor(int n)
{
    return (double)ilogb((double)n);
}

static double inner_s(const struct ask *ask)
{
    const struct tuner_latency *latency = &ask->tuner->algos[ask->algo];
    bool linked = ask->cluster->scaleup_Bps > 0;
    return linked ? latency->nvlink_s[ask->protocol] : latency->pcie_s[ask->protocol];
}

/* Between nodes; a card whose GPU is alone in its node is driven as in a tree. */
static double outer_s(const struct ask *ask)
{
    enum tuner_algo algo = ask->cluster->ranks_per_node == 1 ? TUNER_TREE : ask->algo;
    double flushes = ask->protocol == TUNER_SIMPLE ? 2 : 1;
    return ask->tuner->algos[algo].net_s[ask->protocol] + flushes * ask->cluster->nic_latency_s;
}

static double ring_latency_s(const struct ask *ask)
{
    double overhead_s = ask->tuner->net_overhead_s[ask->cluster->amd_cpu];
    if (ask->nodes == TUNER_ONE) overhead_s = 0;
    if (ask->protocol == TUNER_SIMPLE) overhead_s *= SIMPLE_OVERHEADS;
    int n_outer = (ask->kind == COLL_ALLREDUCE ? 2 : 1) * (ask->cluster->n_nodes - 1);
    return (ask->n_steps - n_outer) * fmax(inner_s(ask), overhead_s) + n_outer * outer_s(ask);
}

static double latency_s(const struct ask *ask)
{
    int ppn = ask->cluster->ranks_per_node;
    double base_s = ask->tuner->algos[ask->algo].base_s[ask->protocol];
    double rounds = log2_floor(ask->cluster->n_nodes);
    switch (ask->algo) {
    case TUNER_TREE:
        return base_s + 2 * ((ppn - 1) * inner_s(ask) + rounds * outer_s(ask));
    case TUNER_RING:
        return base_s + ring_latency_s(ask);
    case TUNER_COLLNET_DIRECT:
        return base_s + 2 * (fmin(1, ppn - 1) * inner_s(ask) + (ppn - 1) * COLLNET_RANK_S) +
               outer_s(ask);
    case TUNER_COLLNET_CHAIN:
        return base_s + 2 * (ppn - 1) * inner_s(ask) + outer_s(ask);
    case TUNER_NVLS:
        return base_s + inner_s(ask) + (rounds > 0 ? outer_s(ask) : 0);
    case TUNER_NVLS_TREE:
        return base_s + inner_s(ask) + 2 * rounds * outer_s(ask);
    case TUNER_PAT:
        return base_s + rounds * outer_s(ask) / PAT_HOPS + PAT_RANK_S * ask->n_ranks;
    case N_TUNER_ALGOS:
        break;
    }
    return INFINITY;
}

static double at_most(double value, double limit)
{
    return limit > 0 ? fmin(value, limit) : value;
}

static double ll_max_Bps(const struct ask *ask)
{
    return ask->nodes == TUNER_ONE ? ask->arch->ll_max_Bps
                                   : ask->tuner->ll_max_Bps[ask->nodes][ask->cluster->amd_cpu];
}

static double ring_ll_frac(const struct ask *ask)
{
    bool sums_up = ask->kind == COLL_ALLREDUCE || ask->kind == COLL_REDUCE;
    bool moves = ask->nodes == TUNER_ONE && !sums_up;
    return moves ? ask->tuner->ring_ll_one_frac : ask->tuner->ring_ll_frac;
}

static double ring_bus_Bps(const struct ask *ask)
{
    double n = ask->graph.n_channels;
    if (ask->protocol == TUNER_LL) return fmin(ll_max_Bps(ask), ring_ll_frac(ask) * ask->bus_Bps);
    if (ask->protocol == TUNER_LL128)
        return at_most(ask->tuner->ring_ll128_frac * ask->bus_Bps,
                       n * ask->arch->ring_ll128_Bps[ask->nodes]);
    return ask->bus_Bps;
}

static double tree_bus_Bps(const struct ask *ask)
{
    const struct tuner *tuner = ask->tuner;
    double n = ask->graph.n_channels;
    double bus_Bps =
        n * (ask->nodes == TUNER_MORE ? ask->graph.outer_Bps : ask->graph.tree_inner_Bps);
    double Bps = at_most(tuner->tree_frac * bus_Bps, n * ask->arch->tree_Bps[ask->nodes]);
    if (ask->protocol == TUNER_LL) Bps = fmin(tuner->tree_ll_frac * Bps, ll_max_Bps(ask));
    if (ask->protocol == TUNER_LL128) {
        double frac = ask->nodes == TUNER_ONE ? tuner->tree_ll128_one_frac : tuner->tree_ll128_frac;
        Bps = at_most(frac * Bps, n * ask->arch->tree_ll128_Bps[ask->nodes]);
    }
    /* source of the rule: NVIDIA/nccl src/graph/search.cc, which tries a simpler tree there */
    bool plain = ask->cluster->capability >= HOPPER;
    return plain ? tuner->tree_pattern_frac * Bps : Bps;
}

/* In the switch each GPU sends its data once, so an all-reduce counts twice. */
static double nvls_bus_Bps(const struct ask *ask)
{
    int ppn = ask->cluster->ranks_per_node;
    double n = ask->graph.n_channels;
    bool tree = ask->algo == TUNER_NVLS_TREE;
    double inside = ask->graph.inner_Bps * ask->arch->nvls_frac * (n - 1);
    inside *= ask->kind == COLL_ALLREDUCE ? 2 : (double)(ppn - 1) / ppn;
    if (ask->nodes == TUNER_ONE) return inside;
    double outside = n * ask->graph.outer_Bps * (tree && ask->nodes == TUNER_TWO ? 2 : 1);
    double Bps = fmin(inside, outside);
    if (tree && ask->tuner->nvls_tree_frac > 0)
        return fmin(inside, outside * ask->tuner->nvls_tree_frac * ask->cluster->n_nodes /
                                (2.0 * (ask->cluster->n_nodes - 1)));
    return tree ? at_most(Bps, n * ask->arch->nvls_tree_Bps[ask->nodes]) : Bps;
}

static double collnet_bus_Bps(const struct ask *ask)
{
    double ppn = ask->cluster->ranks_per_node;
    if (ask->algo == TUNER_COLLNET_CHAIN) return ask->bus_Bps;
    if (is_block(ask->kind)) return ppn * fmin(ask->graph.inner_Bps, 0.9 * ask->graph.outer_Bps);
    double factor = ppn / ask->graph.n_channels;
    double Bps = ask->bus_Bps / (factor - (factor - 1) / 2);
    return ask->cluster->capability >= HOPPER ? COLLNET_HOPPER_FRAC * Bps : Bps;
}

/* From the bytes that cross each link to those of the buffer. */
static double algorithm_Bps(const struct ask *ask)
{
    double per_step = (double)ask->n_ranks / ask->n_steps;
    switch (ask->algo) {
    case TUNER_TREE:
        return tree_bus_Bps(ask) / 2;
    case TUNER_RING:
        return ring_bus_Bps(ask) * per_step;
    case TUNER_NVLS:
    case TUNER_NVLS_TREE:
        return nvls_bus_Bps(ask) * per_step;
    case TUNER_COLLNET_DIRECT:
    case TUNER_COLLNET_CHAIN:
        return collnet_bus_Bps(ask) / 2;
    case TUNER_PAT:
        return ask->tuner->pat_frac * ask->bus_Bps / 2;
    case N_TUNER_ALGOS:
        break;
    }
    return 0;
}

/* What NCCL corrects when it knows the size. */
static double share_of(const struct ask *ask, double size_B)
{
    if (ask->algo != TUNER_TREE || ask->kind != COLL_ALLREDUCE || size_B < TUNER_FIRST_B) return 1;
    int k = ilogb(size_B / TUNER_FIRST_B);
    return k < ask->tuner->n_tree_shares[ask->protocol] ? ask->tuner->tree_shares[ask->protocol][k]
                                                        : 1;
}

static double plateau_of(const struct ask *ask, double size_B)
{
    bool large = size_B >= PLATEAU_B * ask->graph.n_channels * ask->n_ranks;
    if (ask->algo != TUNER_RING || ask->protocol != TUNER_SIMPLE || ask->nodes == TUNER_ONE ||
        ask->kind != COLL_ALLREDUCE || !large)
        return 1;
    return ask->cluster->capability >= AMPERE ? ask->tuner->ring_plateau : OLD_PLATEAU;
}

double tuner_time_s(const struct tuner *tuner, const struct tuner_cluster *cluster,
                    enum coll_kind kind, double size_B, enum tuner_algo algo,
                    enum tuner_protocol protocol)
{
    struct ask ask = {
        .tuner = tuner,
        .cluster = cluster,
        .arch = tuner_arch_of(tuner, cluster->capability),
        .kind = kind,
        .algo = algo,
        .protocol = protocol,
        .nodes = cluster->n_nodes == 1   ? TUNER_ONE
                 : cluster->n_nodes == 2 ? TUNER_TWO
                                         : TUNER_MORE,
        .n_ranks = cluster->n_nodes * cluster->ranks_per_node,
    };
    if (!ask.arch || ask.n_ranks < 2 || !offered(&ask)) return INFINITY;
    ask.graph = tuner_graph_of(ask.arch, tuner, cluster);
    ask.n_steps = steps_of(kind, ask.n_ranks);
    /* as wide as inside up to two nodes; the search makes both alike */
    ask.bus_Bps = ask.graph.n_channels *
                  (ask.nodes == TUNER_MORE ? ask.graph.outer_Bps : ask.graph.inner_Bps);
    double Bps = algorithm_Bps(&ask) * share_of(&ask, size_B);
    if (!(Bps > 0)) return INFINITY;
    return latency_s(&ask) * plateau_of(&ask, size_B) + size_B / Bps;
}

static bool is_forced(const char *forced, const char *name)
{
    return !forced || strcmp(forced, name) == 0;
}

struct tuner_choice tuner_choose(const struct tuner *tuner, const struct tuner_cluster *cluster,
                                 enum coll_kind kind, double size_B, const char *algorithm,
                                 const char *protocol)
{
    struct tuner_choice best = {TUNER_TREE, TUNER_LL, INFINITY};
    for (int a = 0; a < N_TUNER_ALGOS; a++) {
        for (int p = 0; p < N_TUNER_PROTOCOLS; p++) {
            struct tuner_choice one = {(enum tuner_algo)a, (enum tuner_protocol)p, INFINITY};
            if (!is_forced(algorithm, tuner_algo_names[a]) ||
                !is_forced(protocol, tuner_protocol_names[p]))
                continue;
            one.time_s = tuner_time_s(tuner, cluster, kind, size_B, one.algo, one.protocol);
            if (one.time_s < best.time_s) best = one;
        }
    }
    return best;
}
