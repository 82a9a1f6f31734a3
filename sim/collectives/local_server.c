/* Parameter server with workers of several GPUs: the members of a node first sum their gradients on
 * the node's first member, which alone talks to the servers and then gives the result to the others.
 *
 *   N = 2 nodes of m = 3, k = 1 (server 6)
 *   sum    1 2 > 0         4 5 > 3
 *   push   0 3 > 6
 *   pull   6 > 0 3
 *   give   0 > 1 2         3 > 4 5
 *
 *   T = 2 (alpha_intra + (m - 1) S beta_intra) + the parameter server of N ranks
 *
 * The servers' part is server.c's over the nodes' first members. On one node only sum and give are
 * left. Source: TensorFlow tf_cnn_benchmarks, variable_mgr.py, distributed_replicated (towers of a
 * worker are added up before the servers see them). */
#include "collectives/algos.h"
#include "collectives/shape.h"

enum part { SUM, PUSH, PULL, GIVE };

/* The request that the first members make among themselves. */
static struct coll_req between_nodes(const struct coll_req *req)
{
    struct coll_req outer = *req;
    outer.n_ranks = shape_nodes(req);
    outer.ranks_per_node = 1;
    return outer;
}

/* A member of the outer request in this one. */
static int from_outer(const struct coll_req *req, int member)
{
    int nodes = shape_nodes(req);
    return member < nodes ? member * req->ranks_per_node : req->n_ranks + member - nodes;
}

static int to_outer(const struct coll_req *req, int member)
{
    int nodes = shape_nodes(req);
    return member < req->n_ranks ? member / req->ranks_per_node : nodes + member - req->n_ranks;
}

static bool is_first(const struct coll_req *req, int member)
{
    return member < req->n_ranks && member % req->ranks_per_node == 0;
}

/* The p-th part there is. */
static bool part_at(const struct coll_req *req, int p, enum part *part)
{
    bool inside = req->ranks_per_node > 1, across = shape_nodes(req) > 1;
    if (p >= 2 * inside + 2 * across) return false;
    if (!inside)
        *part = p == 0 ? PUSH : PULL;
    else
        *part = p == 0 ? SUM : across && p < 3 ? (p == 1 ? PUSH : PULL) : GIVE;
    return true;
}

bool local_server_fits(const struct coll_req *req)
{
    struct coll_req outer = between_nodes(req);
    return server_fits(&outer);
}

static struct tier_load inside_load(const struct coll_req *req)
{
    return (struct tier_load){.intra_B = (req->ranks_per_node - 1) * req->size_B};
}

double local_server_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    struct coll_req outer = between_nodes(req);
    double inside_s = req->ranks_per_node > 1 ? 2 * shape_step_s(hops, inside_load(req)) : 0;
    return inside_s + server_cost_s(&outer, hops);
}

bool local_server_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    enum part part;
    if (!part_at(req, p, &part)) return false;
    if (part == SUM || part == GIVE) {
        *out = shape_one_step(inside_load(req), 1);
        return true;
    }
    struct coll_req outer = between_nodes(req);
    return server_phase(&outer, part == PULL, out);
}

void local_server_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    enum part part;
    if (part_at(req, p, &part) && (part == SUM || part == GIVE)) {
        int inside = req->ranks_per_node - 1;
        *out = (struct coll_bundle){.n_flows = (int64_t)shape_nodes(req) * inside,
                                    .bytes = req->size_B};
        return;
    }
    struct coll_req outer = between_nodes(req);
    server_bundle(&outer, p, b, out);
}

struct coll_flow local_server_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    enum part part = SUM;
    part_at(req, p, &part);
    if (part == SUM || part == GIVE) {
        int inside = req->ranks_per_node - 1, node = (int)(k / inside);
        int first = node * req->ranks_per_node, other = first + 1 + (int)(k % inside);
        return part == SUM ? (struct coll_flow){other, first} : (struct coll_flow){first, other};
    }
    struct coll_req outer = between_nodes(req);
    struct coll_flow flow = server_flow(&outer, part == PULL, b, k);
    return (struct coll_flow){from_outer(req, flow.src), from_outer(req, flow.dst)};
}

/* A first member has the servers' lanes, then one to each other member of its node. */
int local_server_lanes(const struct coll_req *req)
{
    struct coll_req outer = between_nodes(req);
    return server_lanes(&outer) + req->ranks_per_node;
}

/* the servers' slots, then what came from the node's others, then what came from servers */
int local_server_slots(const struct coll_req *req)
{
    return server_slots(req) + 2;
}

int64_t local_server_units(const struct coll_req *req)
{
    struct coll_req outer = between_nodes(req);
    return server_units(&outer);
}

/* How many messages a first member gets from the servers. */
static int n_pulls(const struct coll_req *req)
{
    return (int)local_server_units(req);
}

static struct coll_send send_inside(const struct coll_req *req, int dst)
{
    return (struct coll_send){
        .dst = dst, .size_B = req->size_B, .n_units = local_server_units(req)};
}

/* From a first member to another of its node: once everything has been pulled, or summed where
 * there is no other node. */
static struct coll_send give(const struct coll_req *req, int dst)
{
    struct coll_send send = send_inside(req, dst);
    int slots = server_slots(req);
    send.n_deps = 1;
    send.deps[0].slot = slots + (shape_nodes(req) > 1);
    send.deps[0].count = shape_nodes(req) > 1 ? n_pulls(req) : req->ranks_per_node - 1;
    return send;
}

static bool next_outside(const struct coll_req *req, int member, int lane, int64_t i,
                         struct coll_send *out)
{
    struct coll_req outer = between_nodes(req);
    if (!server_next(&outer, to_outer(req, member), lane, i, out)) return false;
    out->dst = from_outer(req, out->dst);
    int slots = server_slots(req);
    if (member >= req->n_ranks) {
        out->slot = slots + 1;
    } else if (req->ranks_per_node > 1) {
        out->n_deps = 1;
        out->deps[0].slot = slots;
        out->deps[0].count = req->ranks_per_node - 1;
    }
    return true;
}

bool local_server_next(const struct coll_req *req, int member, int lane, int64_t i,
                       struct coll_send *out)
{
    struct coll_req outer = between_nodes(req);
    int outside = server_lanes(&outer);
    if (member < req->n_ranks && !is_first(req, member)) {
        if (i > 0 || lane > 0) return false;
        *out = send_inside(req, member - member % req->ranks_per_node);
        out->slot = server_slots(req);
        out->reduce = true;
        return true;
    }
    if (lane < outside) return next_outside(req, member, lane, i, out);
    int local = lane - outside;
    if (i > 0 || local == 0 || member >= req->n_ranks) return false;
    *out = give(req, member + local);
    return true;
}
