/* All-to-all in two levels: what goes to another node goes first to the member of one's own node that has
 * the destination's local index (and its card), and from there in one message with what the others of
 * the node send the same way. A node so sends N - 1 messages per member, not n - m.
 *
 *   N = 2 nodes of m = 2:   0 1 | 2 3
 *   in the node     0 > 1 what 0 has for 1 and 3, 1 > 0 what 1 has for 0 and 2, likewise 2 - 3
 *   across          0 > 2 what 0 and 1 have for 2, 1 > 3, 2 > 0, 3 > 1
 *
 *   T = alpha_intra + (m - 1) / m S beta_intra + alpha_inter + m (N - 1) / N S beta_inter
 *
 * Each member uses the rails next to it (shape.h), each for its part of all blocks.
 * Source: NVIDIA/nccl, PXN (2.12); Tutel's 2DH: Hwang et al., Tutel: adaptive mixture-of-experts at
 * scale, MLSys 2023. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool relay_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static bool inside_at(const struct coll_req *req, int p)
{
    return req->ranks_per_node > 1 && p == 0;
}

static int n_phases(const struct coll_req *req)
{
    return (req->ranks_per_node > 1) + (shape_nodes(req) > 1);
}

/* one message of one rail */
static double message_B(const struct coll_req *req, bool inside)
{
    int parts = inside ? req->ranks_per_node : shape_nodes(req);
    return req->size_B / parts / shape_rails(req);
}

static struct tier_load load_of(const struct coll_req *req, bool inside)
{
    double m = req->ranks_per_node, nodes = shape_nodes(req);
    if (inside) return (struct tier_load){.intra_B = (m - 1) / m * req->size_B};
    return (struct tier_load){.inter_B = m * (nodes - 1) / nodes * req->size_B};
}

double relay_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    for (int p = 0; p < n_phases(req); p++)
        time_s += shape_step_s(hops, load_of(req, inside_at(req, p)));
    return time_s;
}

bool relay_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_phases(req)) return false;
    int n_bundles = req->ranks_per_node * shape_rails(req);
    *out = shape_one_step(load_of(req, inside_at(req, p)), n_bundles);
    return true;
}

/* Bundles: one per local index and rail. */
void relay_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    int rails = shape_rails(req), nodes = shape_nodes(req);
    bool inside = inside_at(req, p);
    int peers = inside ? req->ranks_per_node - 1 : nodes - 1;
    *out = (struct coll_bundle){.n_flows = (int64_t)nodes * peers,
                                .channel = shape_rail_channel(req, b / rails, b % rails),
                                .bytes = message_B(req, inside)};
}

/* The peer-th other member of the node, or the member of the same index in the peer-th other node. */
static int peer_of(const struct coll_req *req, int member, bool inside, int peer)
{
    int m = req->ranks_per_node, local = member % m, node = member / m;
    if (inside) return node * m + peer + (peer >= local);
    return (peer + (peer >= node)) * m + local;
}

struct coll_flow relay_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    int m = req->ranks_per_node;
    bool inside = inside_at(req, p);
    int peers = inside ? m - 1 : shape_nodes(req) - 1;
    int src = (int)(k / peers) * m + b / shape_rails(req);
    return (struct coll_flow){src, peer_of(req, src, inside, (int)(k % peers))};
}

/* Lanes of a rail: to each other member of the node, then to each other node. */
static int lanes_each(const struct coll_req *req)
{
    return req->ranks_per_node - 1 + shape_nodes(req) - 1;
}

int relay_lanes(const struct coll_req *req)
{
    return shape_rails(req) * lanes_each(req);
}

/* per rail: arrivals from the node, from other nodes */
int relay_slots(const struct coll_req *req)
{
    return 2 * shape_rails(req);
}

/* a unit for each rail, origin and destination */
int64_t relay_units(const struct coll_req *req)
{
    return (int64_t)shape_rails(req) * req->n_ranks * req->n_ranks;
}

int64_t relay_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j)
{
    int64_t n = req->n_ranks, m = req->ranks_per_node, rail = send->slot / 2;
    bool inside = send->slot % 2 == 0;
    int64_t origin = inside ? member : member - member % m + j;
    int64_t last = inside ? j * m + send->dst % m : send->dst;
    return (rail * n + origin) * n + last;
}

bool relay_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int m = req->ranks_per_node, rail = lane / lanes_each(req), at = lane % lanes_each(req);
    bool inside = at < m - 1;
    if (i > 0) return false;
    *out = (struct coll_send){
        .dst = peer_of(req, member, inside, inside ? at : at - (m - 1)),
        .channel = shape_rail_channel(req, member % m, rail),
        .size_B = message_B(req, inside),
        .slot = 2 * rail + !inside,
        .n_deps = !inside && m > 1,
        .deps = {{2 * rail, m - 1}},
        .n_units = inside ? shape_nodes(req) : m,
    };
    return true;
}
