/* All-gather in two levels: each member sends its block to those of its own local index in other nodes,
 * and passes on in its node its own block and what came from other nodes; chunks follow each other.
 *
 *   N = 2 nodes of m = 2:   0 1 | 2 3
 *   across          0 > 2, 1 > 3, 2 > 0, 3 > 1       each its own block
 *   in the node     0 > 1 blocks 0 2, 1 > 0 blocks 1 3, 2 > 3 blocks 2 0, 3 > 2 blocks 3 1
 *
 *   T = alpha_inter + alpha_intra + max((N - 1) / N S beta_inter, (m - 1) / m S beta_intra) + fill
 *
 * Of a torus of two axes it is the way along one axis, then along the other. Where switches multiply,
 * cables carry what inswitch.c says: nvls-collnet, collnet-direct.
 * Each member uses the rails next to it (shape.h), each for its part of a block.
 * Source: NVIDIA/nccl, all-gather by CollNetDirect and NVLS (src/device/all_gather.h); two levels:
 * Traeff & Hunold, Decomposing MPI collectives for exploiting multi-lane communication, CLUSTER 2020. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool two_level_fits(const struct coll_req *req)
{
    return req->n_ranks == 1 || (req->n_ranks > 1 && shape_nodes(req) > 1);
}

/* what goes over one rail of a block */
static double part_B(const struct coll_req *req)
{
    return req->size_B / req->n_ranks / shape_rails(req);
}

static int n_chunks(const struct coll_req *req)
{
    return shape_chunks(req, part_B(req));
}

/* The last chunks of other nodes' blocks go on inside when cables to other nodes are done. */
static struct coll_phase phase_of(const struct coll_req *req)
{
    int m = req->ranks_per_node, chunks = n_chunks(req), rails = shape_rails(req);
    int kinds = 1 + (m > 1), others = shape_nodes(req) - 1;
    double chunk_B = part_B(req) / chunks;
    struct coll_phase phase = {.n_bundles = kinds * m * rails,
                               .steps = kinds + chunks - 1,
                               .hops_intra = m > 1,
                               .hops_inter = 1,
                               .fill_intra_B = (double)others * (m - 1) * rails * chunk_B};
    if (req->rendezvous) shape_worst_hops(req, chunks - 1, &phase);
    return phase;
}

double two_level_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    if (req->n_ranks == 1) return 0;
    double m = req->ranks_per_node, nodes = shape_nodes(req);
    struct coll_phase phase = phase_of(req);
    struct tier_load load = {.intra_B = (m - 1) / m * req->size_B,
                             .inter_B = (nodes - 1) / nodes * req->size_B};
    return shape_pipeline_s(hops, &phase, load, part_B(req));
}

bool two_level_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    *out = phase_of(req);
    return true;
}

/* Bundles: of each local index and rail what leaves nodes, then what stays inside, where any does. */
struct share {
    int local, rail;
    bool inside;
};

static struct share share_of(const struct coll_req *req, int b)
{
    int rails = shape_rails(req);
    bool both = req->ranks_per_node > 1;
    int at = both ? b / 2 : b;
    return (struct share){at / rails, at % rails, both && b % 2 == 1};
}

void two_level_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    struct share share = share_of(req, b);
    int64_t nodes = shape_nodes(req), mates = req->ranks_per_node - 1;
    *out = (struct coll_bundle){.n_flows = nodes * (share.inside ? mates : nodes - 1),
                                .channel = shape_rail_channel(req, share.local, share.rail),
                                .bytes = part_B(req) * (share.inside ? (double)nodes : 1)};
}

struct coll_flow two_level_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    struct share share = share_of(req, b);
    int m = req->ranks_per_node, others = shape_nodes(req) - 1;
    int each = share.inside ? m - 1 : others, node = (int)(k / each), to = (int)(k % each);
    int src = node * m + share.local;
    if (share.inside) return (struct coll_flow){src, node * m + to + (to >= share.local)};
    return (struct coll_flow){src, (to + (to >= node)) * m + share.local};
}

/* Lanes of a rail: to each other node, then to each mate the blocks of each node. */
static int lanes_each(const struct coll_req *req)
{
    int nodes = shape_nodes(req);
    return nodes - 1 + (req->ranks_per_node - 1) * nodes;
}

int two_level_lanes(const struct coll_req *req)
{
    return shape_rails(req) * lanes_each(req);
}

/* a counter for each rail and the node that a block is of */
int two_level_slots(const struct coll_req *req)
{
    return shape_rails(req) * shape_nodes(req);
}

int64_t two_level_units(const struct coll_req *req)
{
    return (int64_t)shape_rails(req) * n_chunks(req) * req->n_ranks;
}

bool two_level_next(const struct coll_req *req, int member, int lane, int64_t i,
                    struct coll_send *out)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), chunks = n_chunks(req);
    if (i >= chunks || req->n_ranks == 1) return false;
    int rail = lane / lanes_each(req), at = lane % lanes_each(req), local = member % m;
    int node = member / m, from = node; /* whose block it is */
    *out = (struct coll_send){.channel = shape_rail_channel(req, local, rail),
                              .size_B = part_B(req) / chunks,
                              .slot = rail * nodes + node,
                              .n_units = 1};
    if (at < nodes - 1) {
        out->dst = (at + (at >= node)) * m + local;
    } else {
        int mate = (at - (nodes - 1)) / nodes;
        from = (at - (nodes - 1)) % nodes;
        out->dst = node * m + mate + (mate >= local);
        out->n_deps = from != node;
        out->deps[0].slot = rail * nodes + from;
        out->deps[0].count = (int)i + 1;
    }
    int owner = from * m + local;
    out->first_unit = ((int64_t)rail * chunks + i) * req->n_ranks + owner;
    return true;
}
