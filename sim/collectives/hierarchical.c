/* Hierarchical all_reduce: reduce-scatter in the node, all-reduce across nodes of what each local
 * index then holds, all-gather in the node. Rings all three, one after the other.
 *
 *   N = 2 nodes of m = 2:   0 1 | 2 3, blocks a b
 *   in the node     1 > 0 a, 0 > 1 b   3 > 2 a, 2 > 3 b      0 and 2 hold a of their node, 1 and 3 b
 *   across          0 - 2 a, 1 - 3 b                         each all-reduces its block (ring of N)
 *   in the node     0 > 1 a, 1 > 0 b   2 > 3 a, 3 > 2 b
 *
 *   T = 2 (m - 1) (alpha_intra + S / m beta_intra) + 2 (N - 1) (alpha_inter + S / N beta_inter)
 *
 * Each local index uses the rails next to it (shape.h); a block is cut in as many parts, which go
 * their way without waiting for each other.
 * Source: Jia et al., Highly scalable deep learning training system with mixed-precision, arXiv
 * 1807.11205, 2018; Horovod's HOROVOD_HIERARCHICAL_ALLREDUCE takes the same three parts. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool hierarchical_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

double hierarchical_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req);
    return 2 * (m - 1) * affine_at(hops.intra, req->size_B / m) +
           2 * (nodes - 1) * affine_at(hops.inter, req->size_B / nodes);
}

enum part { SCATTER, ACROSS, GATHER };

/* The p-th part there is: no rings in nodes of one, none across one node. */
static bool part_at(const struct coll_req *req, int p, enum part *part)
{
    bool inside = req->ranks_per_node > 1, across = shape_nodes(req) > 1;
    if (p >= 2 * inside + across) return false;
    *part = !inside ? ACROSS : p == 0 ? SCATTER : across && p == 1 ? ACROSS : GATHER;
    return true;
}

static bool crosses(const struct coll_req *req, int p)
{
    enum part part;
    return part_at(req, p, &part) && part == ACROSS;
}

bool hierarchical_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    enum part part;
    if (!part_at(req, p, &part)) return false;
    int rails = shape_rails(req), m = req->ranks_per_node;
    if (part == ACROSS) {
        int steps = 2 * (shape_nodes(req) - 1);
        *out = (struct coll_phase){.n_bundles = m * rails, .steps = steps, .hops_inter = steps};
    } else {
        *out = (struct coll_phase){.n_bundles = rails, .steps = m - 1, .hops_intra = m - 1};
    }
    return true;
}

/* what one ring passes on in a step */
static double ring_block_B(const struct coll_req *req, bool across)
{
    double part_B = req->size_B / req->ranks_per_node / shape_rails(req);
    return across ? part_B / shape_nodes(req) : part_B;
}

void hierarchical_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    int rails = shape_rails(req), nodes = shape_nodes(req), m = req->ranks_per_node;
    if (crosses(req, p))
        *out = (struct coll_bundle){.n_flows = nodes,
                                    .channel = shape_rail_channel(req, b / rails, b % rails),
                                    .bytes = 2 * (nodes - 1) * ring_block_B(req, true)};
    else
        *out = (struct coll_bundle){
            .n_flows = req->n_ranks, .channel = b, .bytes = (m - 1) * ring_block_B(req, false)};
}

static int next_node(const struct coll_req *req, int member)
{
    int to = member + req->ranks_per_node;
    return to < req->n_ranks ? to : to - req->n_ranks;
}

static int next_inside(const struct coll_req *req, int member)
{
    int m = req->ranks_per_node;
    return (member + 1) % m != 0 ? member + 1 : member + 1 - m;
}

struct coll_flow hierarchical_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    if (!crosses(req, p)) return (struct coll_flow){(int)k, next_inside(req, (int)k)};
    int src = (int)k * req->ranks_per_node + b / shape_rails(req);
    return (struct coll_flow){src, next_node(req, src)};
}

int hierarchical_lanes(const struct coll_req *req)
{
    return shape_rails(req);
}

/* per rail: arrivals from the node before the ring across, from other nodes, from the node after it */
int hierarchical_slots(const struct coll_req *req)
{
    return 3 * shape_rails(req);
}

/* unit (block rails + rail) N + part, the part being one of the ring across */
int64_t hierarchical_units(const struct coll_req *req)
{
    return (int64_t)req->ranks_per_node * shape_rails(req) * shape_nodes(req);
}

static int wrapped(int x, int n)
{
    return x < 0 ? x + n : x;
}

/* A step of the ring across: block l of local index l, cut in N, as in ring.c. */
static struct coll_send send_across(const struct coll_req *req, int member, int rail, int step)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), rails = shape_rails(req);
    int node = member / m, local = member % m, turn = nodes - 1;
    int part = step < turn ? node - 1 - step : node - (step - turn);
    return (struct coll_send){
        .dst = next_node(req, member),
        .channel = shape_rail_channel(req, local, rail),
        .size_B = ring_block_B(req, true),
        .slot = 3 * rail + ACROSS,
        .n_deps = step > 0 || m > 1,
        .deps = {{3 * rail + (step > 0 ? ACROSS : SCATTER), step > 0 ? step : m - 1}},
        .first_unit = (int64_t)(local * rails + rail) * nodes + wrapped(part, nodes),
        .n_units = 1,
        .reduce = step < turn,
    };
}

/* A step of a ring in the node; `part` is SCATTER or GATHER. The gather's first step waits for the
 * ring across, or for the scatter where there is one node. */
static struct coll_send send_inside(const struct coll_req *req, int member, int rail, int step,
                                    enum part part)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), rails = shape_rails(req);
    int local = member % m, block = part == SCATTER ? local - 1 - step : local - step;
    struct coll_send send = {
        .dst = next_inside(req, member),
        .channel = rail,
        .size_B = ring_block_B(req, false),
        .slot = 3 * rail + (int)part,
        .n_deps = step > 0 || part == GATHER,
        .deps = {{3 * rail + (int)part, step}},
        .first_unit = (int64_t)(wrapped(block, m) * rails + rail) * nodes,
        .n_units = nodes,
        .reduce = part == SCATTER,
    };
    if (step == 0 && part == GATHER) {
        send.deps[0].slot = 3 * rail + (nodes > 1 ? ACROSS : SCATTER);
        send.deps[0].count = nodes > 1 ? 2 * (nodes - 1) : m - 1;
    }
    return send;
}

bool hierarchical_next(const struct coll_req *req, int member, int lane, int64_t i,
                       struct coll_send *out)
{
    int inside = req->ranks_per_node - 1, across = 2 * (shape_nodes(req) - 1);
    if (i >= 2 * (int64_t)inside + across) return false;
    int step = (int)i;
    if (step < inside)
        *out = send_inside(req, member, lane, step, SCATTER);
    else if (step < inside + across)
        *out = send_across(req, member, lane, step - inside);
    else
        *out = send_inside(req, member, lane, step - inside - across, GATHER);
    return true;
}
