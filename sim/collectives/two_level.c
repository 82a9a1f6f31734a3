/* All-gather in two levels: each member sends its block to those of its own local index in other nodes,
 * and passes on in its node its own block and what came from other nodes; chunks follow each other. A
 * reduce-scatter goes the same ways backwards: shares of a block are summed in the node by the member of
 * its owner's local index, which sends the sum to the owner.
 *
 *   N = 2 nodes of m = 2:   0 1 | 2 3
 *   across          0 > 2, 1 > 3, 2 > 0, 3 > 1       each its own block
 *   in the node     0 > 1 blocks 0 2, 1 > 0 blocks 1 3, 2 > 3 blocks 2 0, 3 > 2 blocks 3 1
 *
 *   reduce-scatter, in the node   0 > 1 shares of 1 3, 1 > 0 of 0 2, 2 > 3 of 1 3, 3 > 2 of 0 2
 *   across                        0 > 2 sum of 2, 1 > 3 of 3, 2 > 0 of 0, 3 > 1 of 1
 *
 *   T = alpha_inter + alpha_intra + max((N - 1) / N S beta_inter, (m - 1) / m S beta_intra) + fill
 *
 * Of a torus of two axes it is the way along one axis, then along the other. Where switches multiply,
 * cables carry what inswitch.c says: nvls-collnet, collnet-direct.
 * Each member uses the rails next to it (shape.h), each for its part of a block. Shares of one chunk come
 * from many members, so a reduce-scatter has a counter for each chunk, and bounds their number.
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

static bool scatters(const struct coll_req *req)
{
    return req->kind == COLL_REDUCE_SCATTER;
}

enum {
    MOST_COUNTED = 1024
}; /* chunks of a part: a thousandth of it more or less fills pipelines alike */

static int n_chunks(const struct coll_req *req)
{
    int chunks = shape_chunks(req, part_B(req));
    return scatters(req) && chunks > MOST_COUNTED ? MOST_COUNTED : chunks;
}

/* The last chunks of other nodes' blocks go on inside when cables to other nodes are done; the first ones
 * of a reduce-scatter are summed inside before those begin. */
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

/* a counter for each rail and the node that a block is of; of a reduce-scatter, for each of its chunks, and
 * one for what has come to its end */
int two_level_slots(const struct coll_req *req)
{
    int blocks = shape_rails(req) * shape_nodes(req);
    return scatters(req) ? blocks * n_chunks(req) + 1 : blocks;
}

int64_t two_level_units(const struct coll_req *req)
{
    return (int64_t)shape_rails(req) * n_chunks(req) * req->n_ranks;
}

/* what a lane carries and where: a block of the node `of`, to `dst` */
struct leg {
    int rail, dst, of;
    bool inside;
};

static struct leg leg_of(const struct coll_req *req, int member, int lane)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), local = member % m, node = member / m;
    int at = lane % lanes_each(req);
    struct leg leg = {.rail = lane / lanes_each(req), .inside = at >= nodes - 1};
    if (leg.inside) {
        int mate = (at - (nodes - 1)) / nodes;
        leg.of = (at - (nodes - 1)) % nodes;
        leg.dst = node * m + mate + (mate >= local);
    } else {
        int other = at + (at >= node);
        leg.of = scatters(req) ? other : node;
        leg.dst = other * m + local;
    }
    return leg;
}

/* An all-gather passes on what came from other nodes. */
static void gather(const struct coll_req *req, int member, const struct leg *leg, int i,
                   struct coll_send *out)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), node = member / m;
    out->slot = leg->rail * nodes + node;
    out->n_deps = leg->inside && leg->of != node;
    out->deps[0].slot = leg->rail * nodes + leg->of;
    out->deps[0].count = i + 1;
    out->first_unit += leg->of * m + member % m;
}

/* A reduce-scatter sends on what all mates gave a share of. */
static void scatter(const struct coll_req *req, const struct leg *leg, int i, struct coll_send *out)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), chunks = n_chunks(req);
    int shares = (leg->rail * nodes + leg->of) * chunks + i;
    out->slot = leg->inside ? shares : shape_rails(req) * nodes * chunks;
    out->n_deps = !leg->inside && m > 1;
    out->deps[0].slot = shares;
    out->deps[0].count = m - 1;
    out->reduce = true;
    out->first_unit += leg->of * m + leg->dst % m;
}

bool two_level_next(const struct coll_req *req, int member, int lane, int64_t i,
                    struct coll_send *out)
{
    int chunks = n_chunks(req);
    if (i >= chunks || req->n_ranks == 1) return false;
    struct leg leg = leg_of(req, member, lane);
    *out = (struct coll_send){.dst = leg.dst,
                              .channel =
                                  shape_rail_channel(req, member % req->ranks_per_node, leg.rail),
                              .size_B = part_B(req) / chunks,
                              .first_unit = ((int64_t)leg.rail * chunks + i) * req->n_ranks,
                              .n_units = 1};
    if (scatters(req))
        scatter(req, &leg, (int)i, out);
    else
        gather(req, member, &leg, (int)i, out);
    return true;
}
