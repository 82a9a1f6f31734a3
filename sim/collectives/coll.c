#include "collectives/algos.h"

#include <math.h>
#include <string.h>

const char *const coll_kind_names[N_COLL_KINDS] = {
    [COLL_ALLREDUCE] = "all_reduce", [COLL_REDUCE_SCATTER] = "reduce_scatter",
    [COLL_ALLGATHER] = "all_gather", [COLL_BROADCAST] = "broadcast",
    [COLL_REDUCE] = "reduce",        [COLL_ALLTOALL] = "all_to_all",
    [COLL_SENDRECV] = "sendrecv",
};

#define MOVES(stem)                                                                                \
    .cost_s = stem##_cost_s, .phase = stem##_phase, .bundle = stem##_bundle, .flow = stem##_flow,  \
    .n_lanes = stem##_lanes, .n_slots = stem##_slots, .next = stem##_next, .units = stem##_units
#define HOOKS(stem) .fits = stem##_fits, MOVES(stem)
#define IN_SWITCH   .fits = nvls_fits, MOVES(direct), .wire_frac = nvls_wire_frac

#define COLLNET(stem) HOOKS(stem), .net_wire_frac = collnet_wire_frac

#define RING   "Patarasuk & Yuan, JPDC 69(2), 2009"
#define TREE   "Sanders, Speck & Traeff, Parallel Computing 35(12), 2009"
#define THAKUR "Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005"
#define CHAIN  "Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007"
#define SERVER "Li et al., OSDI 2014"
#define KLENK  "Klenk et al., ISCA 2020"
#define GRAHAM "Graham et al., Scalable hierarchical aggregation protocol (SHArP), COMHPC 2016"
#define TRAEFF                                                                                     \
    "Traeff & Hunold, Decomposing MPI collectives for exploiting multi-lane communication, "       \
    "CLUSTER 2020"
#define TORUS  "Barnett et al., Global combine on mesh architectures, IPPS 1993"
#define BRUCK  "Bruck et al., IEEE TPDS 8(11), 1997"
#define PAT    "Jeaugey, arXiv 2506.20252, 2025"
#define TUTEL  "Hwang et al., Tutel, MLSys 2023"
#define TOWERS "TensorFlow tf_cnn_benchmarks, variable_mgr.py, distributed_replicated"

const struct coll_algo coll_algos[] = {
    {"ring", COLL_ALLREDUCE, HOOKS(ring), .in_blocks = true, .source = RING},
    {"tree", COLL_ALLREDUCE, HOOKS(tree), .reckoned_frac = tree_reckoned_frac, .source = TREE},
    {"recursive-doubling", COLL_ALLREDUCE, HOOKS(doubling), .source = THAKUR},
    {"halving-doubling", COLL_ALLREDUCE, HOOKS(halving), .source = THAKUR},
    {"direct", COLL_ALLREDUCE, HOOKS(direct), .in_blocks = true, .source = RING},
    {"nvls", COLL_ALLREDUCE, IN_SWITCH, .source = KLENK},
    {"nvls-tree", COLL_ALLREDUCE, HOOKS(nvls_tree), .wire_frac = nvls_wire_frac, .source = KLENK},
    {"nvls-collnet", COLL_ALLREDUCE, COLLNET(collnet), .wire_frac = nvls_wire_frac,
     .source = GRAHAM},
    {"collnet-direct", COLL_ALLREDUCE, COLLNET(collnet), .source = GRAHAM},
    {"collnet-chain", COLL_ALLREDUCE, COLLNET(collnet_chain), .source = GRAHAM},
    {"hierarchical", COLL_ALLREDUCE, HOOKS(hierarchical), .in_blocks = true,
     .source = "Jia et al., arXiv 1807.11205"},
    {"segmented-ring", COLL_ALLREDUCE, HOOKS(segmented), .in_blocks = true, .source = RING},
    {"torus", COLL_ALLREDUCE, HOOKS(torus), .unit = torus_unit, .in_blocks = true, .source = TORUS},
    {"reduce-broadcast", COLL_ALLREDUCE, HOOKS(binomial), .source = THAKUR},
    {"parameter-server", COLL_ALLREDUCE, HOOKS(server), .servers = true, .source = SERVER},
    {"local-parameter-server", COLL_ALLREDUCE, HOOKS(local_server), .servers = true,
     .source = TOWERS},
    {"ring", COLL_REDUCE_SCATTER, HOOKS(ring), .in_blocks = true, .source = RING},
    {"direct", COLL_REDUCE_SCATTER, HOOKS(direct), .in_blocks = true, .source = RING},
    {"nvls", COLL_REDUCE_SCATTER, IN_SWITCH, .source = KLENK},
    {"pat", COLL_REDUCE_SCATTER, HOOKS(pat), .unit = pat_unit, .in_blocks = true, .source = PAT},
    {"hierarchical", COLL_REDUCE_SCATTER, HOOKS(two_level), .in_blocks = true, .source = TRAEFF},
    {"nvls-collnet", COLL_REDUCE_SCATTER, COLLNET(two_level), .wire_frac = nvls_wire_frac,
     .in_blocks = true, .source = GRAHAM},
    {"collnet-direct", COLL_REDUCE_SCATTER, COLLNET(two_level), .in_blocks = true,
     .source = GRAHAM},
    {"torus", COLL_REDUCE_SCATTER, HOOKS(torus), .unit = torus_unit, .in_blocks = true,
     .source = TORUS},
    {"recursive-halving", COLL_REDUCE_SCATTER, HOOKS(halving), .source = THAKUR},
    {"ring", COLL_ALLGATHER, HOOKS(ring), .in_blocks = true, .source = RING},
    {"direct", COLL_ALLGATHER, HOOKS(direct), .in_blocks = true, .source = RING},
    {"nvls", COLL_ALLGATHER, IN_SWITCH, .source = KLENK},
    {"hierarchical", COLL_ALLGATHER, HOOKS(two_level), .in_blocks = true, .source = TRAEFF},
    {"nvls-collnet", COLL_ALLGATHER, COLLNET(two_level), .wire_frac = nvls_wire_frac,
     .in_blocks = true, .source = GRAHAM},
    {"collnet-direct", COLL_ALLGATHER, COLLNET(two_level), .in_blocks = true, .source = GRAHAM},
    {"pat", COLL_ALLGATHER, HOOKS(pat), .unit = pat_unit, .in_blocks = true, .source = PAT},
    {"bruck", COLL_ALLGATHER, HOOKS(bruck), .unit = bruck_unit, .in_blocks = true, .source = BRUCK},
    {"torus", COLL_ALLGATHER, HOOKS(torus), .unit = torus_unit, .in_blocks = true, .source = TORUS},
    {"recursive-doubling", COLL_ALLGATHER, HOOKS(halving), .source = THAKUR},
    {"ring", COLL_BROADCAST, HOOKS(chain), .source = CHAIN},
    {"binomial", COLL_BROADCAST, HOOKS(binomial), .source = THAKUR},
    {"ring", COLL_REDUCE, HOOKS(chain), .source = CHAIN},
    {"binomial", COLL_REDUCE, HOOKS(binomial), .source = THAKUR},
    {"direct", COLL_ALLTOALL, HOOKS(direct), .in_blocks = true, .source = RING},
    {"bruck", COLL_ALLTOALL, HOOKS(bruck), .unit = bruck_unit, .relays = true, .in_blocks = true,
     .source = BRUCK},
    {"hierarchical", COLL_ALLTOALL, HOOKS(relay), .unit = relay_unit, .relays = true,
     .in_blocks = true, .source = TUTEL},
    {"direct", COLL_SENDRECV, HOOKS(sendrecv), .source = "Hockney, Parallel Computing 20(3), 1994"},
    {"shift", COLL_SENDRECV, HOOKS(shift), .source = "nccl-tests, src/sendrecv.cu"},
};
const int n_coll_algos = sizeof coll_algos / sizeof coll_algos[0];

const struct coll_algo *coll_find(enum coll_kind kind, const char *name)
{
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++)
        if (algo->kind == kind && strcmp(algo->name, name) == 0) return algo;
    return NULL;
}

int coll_members(const struct coll_algo *algo, const struct coll_req *req)
{
    return req->n_ranks + (algo->servers ? req->n_servers : 0);
}

double coll_busbw_factor(enum coll_kind kind, int n_ranks)
{
    double share = (n_ranks - 1.0) / n_ranks;
    switch (kind) {
    case COLL_ALLREDUCE:
        return 2 * share;
    case COLL_REDUCE_SCATTER:
    case COLL_ALLGATHER:
    case COLL_ALLTOALL:
        return share;
    case COLL_BROADCAST:
    case COLL_REDUCE:
    case COLL_SENDRECV:
    case N_COLL_KINDS:
        break;
    }
    return 1;
}

double coll_bytes_sent_B(enum coll_kind kind, int n_ranks, double size_B)
{
    return n_ranks == 1 ? 0 : coll_busbw_factor(kind, n_ranks) * size_B;
}

double coll_wait_s(const struct coll_phase *phase, struct coll_hops hops, double busy_s)
{
    double latency_s =
        phase->hops_intra * hops.intra.alpha_s + phase->hops_inter * hops.inter.alpha_s;
    if (phase->step_intra_B <= 0 && phase->step_inter_B <= 0) return latency_s;
    double last_s = phase->hops_inter > 0 ? hops.inter.alpha_s : hops.intra.alpha_s;
    double way_s = latency_s + phase->hops_intra * phase->step_intra_B * hops.intra.beta_s_per_B +
                   phase->hops_inter * phase->step_inter_B * hops.inter.beta_s_per_B;
    return fmax(last_s, way_s - busy_s);
}
