/* Direct: everybody sends to everybody at once, one message per pair.
 *
 *   n = 3    reduce_scatter   r sends block d to d, for all d     0 > 1 2   1 > 2 0   2 > 0 1
 *            all_gather       r sends its block r to all          0 > 1 2   1 > 2 0   2 > 0 1
 *            all_to_all       r sends block d of its own to d
 *   all_reduce = reduce_scatter, then all_gather, when all n - 1 shares of its block are in
 *
 *   T = rounds (alpha + max((m - 1) S / n beta_intra, m (n - m) S / n beta_inter))
 *
 * with m ranks per node, rounds = 2 for all_reduce, else 1. Messages of a rank share its rails
 * (shape.h). sendrecv, at the end of this file, is one message striped over the channels.
 * Source: Patarasuk & Yuan, JPDC 69(2), 2009 (the bound (n - 1) / n S per round, which this meets). */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool direct_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static int rounds(const struct coll_req *req)
{
    return req->n_ranks == 1 ? 0 : req->kind == COLL_ALLREDUCE ? 2 : 1;
}

static struct tier_load round_load(const struct coll_req *req)
{
    int n = req->n_ranks, m = req->ranks_per_node;
    double block_B = req->size_B / n;
    return (struct tier_load){.intra_B = (m - 1) * block_B,
                              .inter_B = (double)m * (n - m) * block_B};
}

double direct_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    return rounds(req) * shape_step_s(hops, round_load(req));
}

/* A bundle is an orbit under rotation of the nodes: all messages from one local index, over one of
 * its rails, to the member `distance` further on. So no bundle mixes the two kinds of hops. */
struct orbit {
    int distance, local, rail;
};

static struct orbit orbit_at(const struct coll_req *req, int b)
{
    int m = req->ranks_per_node, rails = shape_rails(req);
    return (struct orbit){
        .distance = 1 + b / (m * rails), .local = b / rails % m, .rail = b % rails};
}

bool direct_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= rounds(req)) return false;
    *out = shape_one_step(round_load(req),
                          (req->n_ranks - 1) * req->ranks_per_node * shape_rails(req));
    return true;
}

void direct_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    struct orbit orbit = orbit_at(req, b);
    *out = (struct coll_bundle){.n_flows = shape_nodes(req),
                                .channel = shape_rail_channel(req, orbit.local, orbit.rail),
                                .bytes = req->size_B / req->n_ranks / shape_rails(req)};
}

static int ahead(const struct coll_req *req, int member, int distance)
{
    int n = req->n_ranks, to = member + distance;
    return to < n ? to : to - n;
}

struct coll_flow direct_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    struct orbit orbit = orbit_at(req, b);
    int src = (int)k * req->ranks_per_node + orbit.local;
    return (struct coll_flow){src, ahead(req, src, orbit.distance)};
}

/* A lane per peer and rail: all go at once. */
int direct_lanes(const struct coll_req *req)
{
    return (req->n_ranks - 1) * shape_rails(req);
}

int direct_slots(const struct coll_req *req)
{
    return 2 * shape_rails(req);
}

int64_t direct_units(const struct coll_req *req)
{
    return (int64_t)req->n_ranks * shape_rails(req);
}

bool direct_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    if (i >= rounds(req)) return false;
    int n = req->n_ranks, rails = shape_rails(req), rail = lane % rails;
    int dst = ahead(req, member, 1 + lane / rails);
    bool gathers = req->kind == COLL_ALLGATHER || i == 1;
    *out = (struct coll_send){
        .dst = dst,
        .channel = shape_rail_channel(req, member % req->ranks_per_node, rail),
        .size_B = req->size_B / n / rails,
        .slot = (int)i * rails + rail,
        .n_deps = i == 1,
        .deps = {{rail, n - 1}},
        .first_unit = (int64_t)rail * n + (gathers ? member : dst),
        .n_units = 1,
        .reduce = !gathers && req->kind != COLL_ALLTOALL,
    };
    return true;
}

bool sendrecv_fits(const struct coll_req *req)
{
    return req->n_ranks == 1 || req->n_ranks == 2;
}

static struct tier_load message_load(const struct coll_req *req)
{
    if (req->ranks_per_node == 2) return (struct tier_load){.intra_B = req->size_B};
    return (struct tier_load){.inter_B = req->size_B};
}

double sendrecv_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    return req->n_ranks == 1 ? 0 : shape_step_s(hops, message_load(req));
}

bool sendrecv_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    *out = shape_one_step(message_load(req), req->n_channels);
    return true;
}

void sendrecv_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){.n_flows = 1, .channel = b, .bytes = req->size_B / req->n_channels};
}

struct coll_flow sendrecv_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)req, (void)p, (void)b, (void)k;
    return (struct coll_flow){0, 1};
}

int sendrecv_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

int sendrecv_slots(const struct coll_req *req)
{
    (void)req;
    return 1;
}

int64_t sendrecv_units(const struct coll_req *req)
{
    return req->n_channels;
}

bool sendrecv_next(const struct coll_req *req, int member, int lane, int64_t i,
                   struct coll_send *out)
{
    if (member != 0 || i > 0 || req->n_ranks == 1) return false;
    *out = (struct coll_send){.dst = 1,
                              .channel = lane,
                              .size_B = req->size_B / req->n_channels,
                              .first_unit = lane,
                              .n_units = 1};
    return true;
}
