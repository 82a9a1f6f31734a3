/* Networks on which nothing but the wire counts: servers inside which data moves in no time, fabrics
 * without latency of their own, so that every message between servers takes the same. */
#ifndef TESTS_SIM_IDEAL_H
#define TESTS_SIM_IDEAL_H

#include "cluster.h"

#include "engine.h"
#include "estimate.h"

#define FAST (1e6 * GB) /* never holds anything back here */

/* one GPU and one NIC of 10 GB/s and 1 us */
static const struct node_spec ideal_node = {.gpus_per_node = 1,
                                            .nics_per_node = 1,
                                            .sockets = 1,
                                            .gpus_per_pcie_switch = 1,
                                            .pcie_Bps = FAST,
                                            .socket_Bps = FAST,
                                            .nic_Bps = 10 * GB,
                                            .nic_latency_s = 1 * US,
                                            .gpudirect = true,
                                            .p2p = true};

/* GPUs of 100 GB/s each on a switch inside, one or more NICs */
static inline struct node_spec ideal_server(int n_gpus, int n_nics)
{
    struct node_spec node = ideal_node;
    node.gpus_per_node = n_gpus;
    node.nics_per_node = n_nics;
    node.scaleup = SCALEUP_SWITCH;
    node.scaleup_Bps = 100 * GB;
    node.scaleup_latency_s = 1 * US; /* as between servers: one alpha for all */
    return node;
}

static const struct fabric_spec ideal_tree2 = {.kind = "fat-tree",
                                               .levels = 2,
                                               .ports_per_leaf = 4,
                                               .oversubscription = 1,
                                               .core_oversubscription = 1};
static const struct fabric_spec ideal_tree3 = {.kind = "fat-tree",
                                               .levels = 3,
                                               .ports_per_leaf = 4,
                                               .leaves_per_pod = 4,
                                               .n_pods = 5,
                                               .oversubscription = 1,
                                               .core_oversubscription = 1};
static const struct fabric_spec halved_tree2 = {.kind = "fat-tree",
                                                .levels = 2,
                                                .ports_per_leaf = 4,
                                                .oversubscription = 2,
                                                .core_oversubscription = 1};
static const struct fabric_spec ideal_dragonfly = {
    .kind = "dragonfly", .oversubscription = 1, .core_oversubscription = 1};
static const struct fabric_spec sprayed_tree3 = {.kind = "fat-tree",
                                                 .levels = 3,
                                                 .ports_per_leaf = 4,
                                                 .leaves_per_pod = 4,
                                                 .n_pods = 5,
                                                 .oversubscription = 1,
                                                 .core_oversubscription = 1,
                                                 .routing = "spray"};
static const struct fabric_spec hashed_tree2 = {.kind = "fat-tree",
                                                .levels = 2,
                                                .ports_per_leaf = 4,
                                                .oversubscription = 1,
                                                .core_oversubscription = 1,
                                                .routing = "ecmp",
                                                .qps = 2,
                                                .seed = 5};
static const struct fabric_spec detours_dragonfly = {.kind = "dragonfly",
                                                     .oversubscription = 1,
                                                     .core_oversubscription = 1,
                                                     .routing = "valiant-spray"};
static const struct fabric_spec adaptive_dragonfly = {.kind = "dragonfly",
                                                      .oversubscription = 1,
                                                      .core_oversubscription = 1,
                                                      .routing = "ugal",
                                                      .seed = 5};
static const struct fabric_spec ideal_torus = {
    .kind = "torus", .oversubscription = 1, .core_oversubscription = 1};
static const struct fabric_spec ideal_cascade = {.kind = "cascade",
                                                 .ports_per_router = 2,
                                                 .routers_per_group = 6,
                                                 .n_chassis = 2,
                                                 .oversubscription = 1,
                                                 .core_oversubscription = 1};
static const struct fabric_spec ideal_hyperx = {
    .kind = "hyperx", .oversubscription = 1, .core_oversubscription = 1};

static const struct fabric_spec ideal_dragonfly_plus = {
    .kind = "dragonfly-plus", .oversubscription = 1, .core_oversubscription = 1};
static const struct fabric_spec ideal_rails = {
    .kind = "rail-only", .ports_per_leaf = 4, .oversubscription = 1, .core_oversubscription = 1};
static const struct fabric_spec two_sites = {.kind = "multi-site",
                                             .sites = 2,
                                             .gateways = 2,
                                             .ports_per_leaf = 4,
                                             .global_Bps = 4 * GB,
                                             .oversubscription = 1,
                                             .core_oversubscription = 1};

/* one all-alone collective over n GPUs */
static inline struct inputs *alone(const struct node_spec *node, const struct fabric_spec *fabric,
                                   int n, struct op op, struct arena *perm)
{
    struct topo *topo = build_topo(node, fabric, n, perm);
    struct job *job = lone_job(n, op, perm);
    job->n_iterations = 1;
    struct inputs *in = build_inputs(topo, job, perm);
    in->library.rendezvous = true;
    return in;
}

/* its end in the three fidelities */
struct three {
    double estimate_s, fluid_s, message_s;
};
static inline struct three run_three(struct inputs *in, struct arena scratch)
{
    in->fold = true;
    const struct plan *folded = plan_build(in, &scratch);
    struct three times = {.estimate_s = estimate_run(folded, &scratch)->end_s,
                          .fluid_s = engine_run(folded, &scale_none, &scratch)->end_s};
    in->fold = false;
    times.message_s = engine_message(plan_build(in, &scratch), &scratch)->end_s;
    return times;
}

#endif
