/* NCCL's own estimate of a collective: what its tuner reckons when it chooses an algorithm and a
 * protocol, and what NCCL_DEBUG_SUBSYS=TUNING and ncclGroupSimulateEnd print. Its constants are data,
 * one profile per version (scenarios/tuners). A time here is no prediction: there is no host, no
 * launch and no contention in it, so it is shown beside the simulated one.
 *
 *   T = latency + size / bandwidth
 *
 * Latency is a base and the hops on the way, one after the other; bandwidth is channels times what a
 * channel gets of the network that NCCL found, times what protocol and algorithm use of it, below
 * caps by generation of GPU.
 * Source: NVIDIA/nccl src/graph/tuning.cc, search.cc (grids of speeds), topo.h (speeds of links). */
#ifndef COLLECTIVES_TUNER_H
#define COLLECTIVES_TUNER_H

#include "collectives/coll.h"

enum tuner_algo {
    TUNER_TREE,
    TUNER_RING,
    TUNER_COLLNET_DIRECT,
    TUNER_COLLNET_CHAIN,
    TUNER_NVLS,
    TUNER_NVLS_TREE,
    TUNER_PAT,
    N_TUNER_ALGOS
};
enum tuner_protocol { TUNER_LL, TUNER_LL128, TUNER_SIMPLE, N_TUNER_PROTOCOLS };
extern const char *const tuner_algo_names[N_TUNER_ALGOS + 1]; /* "tree", ...; end with NULL */
extern const char *const tuner_protocol_names[N_TUNER_PROTOCOLS + 1];

enum tuner_nodes { TUNER_ONE, TUNER_TWO, TUNER_MORE, N_TUNER_NODES };
enum { TUNER_MAX_SPEEDS = 32, TUNER_MAX_SIZES = 32, TUNER_FIRST_B = 64 };

/* latencies of one algorithm, by protocol */
struct tuner_latency {
    bool known; /* false: this version does not have the algorithm */
    double base_s[N_TUNER_PROTOCOLS];
    double nvlink_s[N_TUNER_PROTOCOLS], pcie_s[N_TUNER_PROTOCOLS], net_s[N_TUNER_PROTOCOLS];
};

/* caps and speeds of one generation of GPUs */
struct tuner_arch {
    const char *name;
    double capability; /* the first compute capability it is for, 8.0 */
    double ll_max_Bps; /* LL of all channels together, one node */
    double ring_ll128_Bps[N_TUNER_NODES], tree_ll128_Bps[N_TUNER_NODES], tree_Bps[N_TUNER_NODES],
        nvls_tree_Bps[N_TUNER_NODES];   /* of one channel; 0 = no limit */
    double nvls_frac;                   /* of what links carry, in the switch; 0: no such switch */
    double nvlink_line_Bps, nvlink_Bps; /* line rate of one link, and what NCCL takes for it */
    double inner_Bps[TUNER_MAX_SPEEDS], outer_Bps[TUNER_MAX_SPEEDS]; /* grids, largest first */
    int n_inner, n_outer;
};

struct tuner {
    const char *name, *version, *source;
    struct tuner_latency algos[N_TUNER_ALGOS];
    const struct tuner_arch *archs; /* by rising capability */
    int n_archs;
    double ring_ll_frac, ring_ll128_frac; /* of the bus bandwidth */
    double ring_ll_one_frac; /* the former on one node, of what is neither all-reduce nor reduce */
    double tree_frac, tree_ll_frac, tree_ll128_frac, tree_ll128_one_frac; /* one: on one node */
    double tree_pattern_frac; /* of trees that are not balanced: from Hopper on */
    double
        nvls_tree_frac; /* of a tree of switches over N nodes, times N / (2 (N - 1)); 0: by caps */
    double pat_frac;
    double ring_plateau; /* latency of a large all-reduce by ring between nodes, times so much */
    double nic_frac, pcie_frac;          /* of a card's and a slot's line rate */
    double ll_max_Bps[N_TUNER_NODES][2]; /* between nodes, by CPU: Intel or other, AMD */
    double net_overhead_s[2];            /* of a step, by CPU; three times that for Simple */
    double tree_shares[N_TUNER_PROTOCOLS]
                      [TUNER_MAX_SIZES]; /* of an all-reduce by tree, by size: from
                                                               TUNER_FIRST_B in steps of two */
    int n_tree_shares[N_TUNER_PROTOCOLS];
};

/* where the collective runs, as NCCL sees it */
struct tuner_cluster {
    int n_nodes, ranks_per_node;
    double capability; /* of the GPUs, 9.0 */
    bool amd_cpu;
    double scaleup_Bps; /* line rate of a GPU's links to others, one direction; 0 = PCIe */
    bool nvswitch;      /* through a switch that can sum */
    double pcie_Bps;    /* line rate of a GPU's slot */
    int nics_per_node;
    double nic_Bps, nic_latency_s; /* line rate; latency that a network plugin reports */
    bool collnet;                  /* switches between nodes that sum */
    bool near_nics;                /* GPUs share a PCIe switch with cards */
};

/* channels and the bandwidth of each, inside nodes and between them */
struct tuner_graph {
    int n_channels;
    double inner_Bps, outer_Bps;
    double tree_inner_Bps; /* inside nodes, of a tree: it may be wider than outside */
};

/* tuner_arch_of — the generation of a GPU, NULL when it is older than all. */
const struct tuner_arch *tuner_arch_of(const struct tuner *tuner, double capability);

/* tuner_graph_of — rings (or trees) as NCCL's search finds them: of the speeds of its grid, the one that
 * all channels together make most of, the larger where two do. An approximation of the search where
 * links between GPUs are not alike. */
struct tuner_graph tuner_graph_of(const struct tuner_arch *arch, const struct tuner *tuner,
                                  const struct tuner_cluster *cluster);

/* tuner_time_s — of one collective of size_B (as nccl-tests count it); INFINITY where the algorithm
 * does not do this, or not here. */
double tuner_time_s(const struct tuner *tuner, const struct tuner_cluster *cluster,
                    enum coll_kind kind, double size_B, enum tuner_algo algo,
                    enum tuner_protocol protocol);

/* tuner_choose — the least of all, the first where several are: tree before ring before the rest, LL
 * before LL128 before Simple. A name that is given is forced, NULL is free.
 * Its time is INFINITY where nothing fits. */
struct tuner_choice {
    enum tuner_algo algo;
    enum tuner_protocol protocol;
    double time_s;
};
struct tuner_choice tuner_choose(const struct tuner *tuner, const struct tuner_cluster *cluster,
                                 enum coll_kind kind, double size_B, const char *algorithm,
                                 const char *protocol);

#endif
