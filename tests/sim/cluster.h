/* Small clusters and jobs built by hand, for the suites of plan and fold. Numbers are round, so that
 * expected values can be worked out in the head. */
#ifndef TESTS_SIM_CLUSTER_H
#define TESTS_SIM_CLUSTER_H

#include "test.h"

#include "base/must.h"
#include "plan.h"

#define GB 1e9
#define US 1e-6

/* one GPU and one NIC per server: 10 GB/s NIC, 100 GB/s PCIe */
static const struct node_spec single_node = {.gpus_per_node = 1,
                                             .nics_per_node = 1,
                                             .sockets = 1,
                                             .gpus_per_pcie_switch = 1,
                                             .pcie_Bps = 100 * GB,
                                             .socket_Bps = 100 * GB,
                                             .nic_Bps = 10 * GB,
                                             .nic_latency_s = 1 * US,
                                             .gpudirect = true,
                                             .p2p = true};

/* eight GPUs on a switch of 200 GB/s each, eight NICs of 10 GB/s */
static const struct node_spec octo_node = {.gpus_per_node = 8,
                                           .nics_per_node = 8,
                                           .sockets = 2,
                                           .gpus_per_pcie_switch = 1,
                                           .scaleup = SCALEUP_SWITCH,
                                           .scaleup_Bps = 200 * GB,
                                           .scaleup_latency_s = 0.5 * US,
                                           .pcie_Bps = 100 * GB,
                                           .socket_Bps = 100 * GB,
                                           .nic_Bps = 10 * GB,
                                           .nic_latency_s = 1 * US,
                                           .gpudirect = true,
                                           .p2p = true};

static const struct fabric_spec one_switch = {
    .kind = "switch", .routing = "static", .wiring = "packed", .oversubscription = 1};

/* leaves of four ports, two ways up */
static const struct fabric_spec tree_two_to_one = {.kind = "fat-tree",
                                                   .levels = 2,
                                                   .ports_per_leaf = 4,
                                                   .oversubscription = 2,
                                                   .core_oversubscription = 1,
                                                   .routing = "static",
                                                   .wiring = "packed"};

static inline struct topo *build_topo(const struct node_spec *node,
                                      const struct fabric_spec *fabric, int n_gpus,
                                      struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct topo *topo =
        topo_build(node, fabric, n_gpus, perm, &diag, (struct diag_place){.file = "test"});
    diag_print(&diag, stdout);
    assert_true(diag_ok(&diag));
    return topo;
}

/* every registered algorithm for all sizes, without overheads; the first row that fits is taken */
static inline struct library bare_library(struct arena *perm)
{
    struct lib_choice *rows = arena_new(perm, struct lib_choice, n_coll_algos);
    for (int a = 0; a < n_coll_algos; a++) {
        rows[a] = (struct lib_choice){.kind = coll_algos[a].kind,
                                      .algo = &coll_algos[a],
                                      .protocol = "Simple",
                                      .efficiency_scaleup = 1,
                                      .efficiency_pcie = 1,
                                      .efficiency_net = 1,
                                      .channel_cap_Bps = INFINITY,
                                      .max_B = INFINITY,
                                      .max_nodes = 1 << 20};
    }
    return (struct library){.name = "bare",
                            .choices = rows,
                            .n_choices = n_coll_algos,
                            .n_channels = 1,
                            .chunk_B = 65536,
                            .selection = "first"};
}

static inline int *places_in_order(int n, struct arena *perm)
{
    int *gpu_of = arena_new(perm, int, n);
    for (int r = 0; r < n; r++) gpu_of[r] = r;
    return gpu_of;
}

/* all ranks on all GPUs of the network in order */
static inline struct inputs *build_inputs(struct topo *topo, struct job *job, struct arena *perm)
{
    struct inputs *in = arena_new(perm, struct inputs, 1);
    *in = (struct inputs){.scenario = "test",
                          .node = topo->node,
                          .fabric = topo->fabric_spec,
                          .library = bare_library(perm),
                          .topo = topo,
                          .gpu_of = places_in_order(job->n_ranks, perm),
                          .n_gpus = topo->n_gpus,
                          .fidelity = FIDELITY_FLUID,
                          .fold = true,
                          .adjust = adjust_none,
                          .job = job};
    return in;
}

static inline void set_link(struct topo *topo, const char *name, double factor)
{
    int link = topo_find_link(topo, name);
    if (link < 0) print_error("no link %s\n", name);
    assert_true(link >= 0);
    topo->links[link].capacity_Bps *= factor;
}

static inline struct job *new_job(struct mesh mesh, int n_comms, struct arena *perm)
{
    static const char *const streams[] = {"compute", "network"};
    struct job *job = arena_new(perm, struct job, 1);
    *job = (struct job){.name = "test",
                        .mesh = mesh,
                        .n_ranks = 1,
                        .role_axis = -1,
                        .programs = arena_new(perm, struct program, 2),
                        .n_programs = 1,
                        .comms = arena_new(perm, struct comm, n_comms),
                        .n_comms = n_comms,
                        .n_iterations = 3,
                        .samples_per_iteration = 1,
                        .sample = "sample"};
    for (int a = 0; a < mesh.n_axes; a++) job->n_ranks *= mesh.size[a];
    for (int p = 0; p < 2; p++) {
        job->programs[p].n_streams = 2;
        job->programs[p].stream_names = streams;
    }
    return job;
}

static inline struct op coll_op(int comm, enum coll_kind kind, double size_B, const char *algorithm)
{
    return (struct op){.kind = OP_COLLECTIVE,
                       .part = PART_COMMUNICATION,
                       .stream = 1,
                       .name = "collective",
                       .comm = comm,
                       .coll = kind,
                       .size_B = size_B,
                       .root = kind == COLL_BROADCAST || kind == COLL_REDUCE ? 0 : -1,
                       .algorithm = algorithm};
}

/* n ranks in one group, one collective per iteration */
static inline struct job *lone_job(int n, struct op op, struct arena *perm)
{
    struct job *job = new_job((struct mesh){1, {n}, {"dp"}}, 1, perm);
    job->comms[0] = (struct comm){.name = "dp", .from = -1, .to = -1};
    program_add_op(&job->programs[0], op, perm);
    return job;
}

#endif
