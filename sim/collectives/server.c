/* Parameter server: every rank pushes its gradient to the servers, which sum, then every server
 * pushes the sum back. Each of k servers holds 1 / k of the tensor, or server `root` all of it.
 *
 *   n = 3, k = 2 (servers 3 and 4)
 *   push   0 1 2 > 3 first half     0 1 2 > 4 second half
 *   pull   3 > 0 1 2                4 > 0 1 2                when all n have come
 *
 *   T = 2 (alpha + max(m (k - k_min), k_max (n - m)) S / k beta_inter)
 *
 * with m ranks per node and at most k_max, at least k_min servers on a node: a node sends out what
 * it does not serve itself and takes in what it serves. In one node it is max(n, k) S / k
 * beta_intra. A message is striped over the channels.
 * Source: Li et al., Scaling Distributed Machine Learning with the Parameter Server, OSDI 2014. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool server_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1 && req->n_servers >= 1 && req->root < req->n_servers;
}

/* Servers that take part, and the first of them. */
static int n_busy(const struct coll_req *req)
{
    return req->root < 0 ? req->n_servers : 1;
}

static int busy_member(const struct coll_req *req, int s)
{
    return req->n_ranks + (req->root < 0 ? s : req->root);
}

static double shard_B(const struct coll_req *req)
{
    return req->size_B / n_busy(req);
}

/* Push and pull load the same ports, in opposite directions. */
static struct tier_load load(const struct coll_req *req)
{
    int n = req->n_ranks, m = req->ranks_per_node, nodes = shape_nodes(req), k = n_busy(req);
    int most = (k + nodes - 1) / nodes, least = k / nodes;
    double inside = most > m ? most : m, out = (double)m * (k - least), in = (double)most * (n - m);
    return (struct tier_load){.intra_B = inside * shard_B(req),
                              .inter_B = (out > in ? out : in) * shard_B(req)};
}

double server_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    return req->n_ranks == 1 ? 0 : 2 * shape_step_s(hops, load(req));
}

bool server_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 1 || req->n_ranks == 1) return false;
    *out = shape_one_step(load(req), n_busy(req) * req->n_channels);
    return true;
}

void server_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){.n_flows = req->n_ranks,
                                .channel = b % req->n_channels,
                                .bytes = shard_B(req) / req->n_channels};
}

struct coll_flow server_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    int server = busy_member(req, b / req->n_channels);
    return p == 0 ? (struct coll_flow){(int)k, server} : (struct coll_flow){server, (int)k};
}

/* A lane per peer and channel: all go at once. */
int server_lanes(const struct coll_req *req)
{
    int n = req->n_ranks, k = n_busy(req);
    return req->n_channels * (n > k ? n : k);
}

int server_slots(const struct coll_req *req)
{
    return req->n_channels;
}

int64_t server_units(const struct coll_req *req)
{
    return (int64_t)n_busy(req) * req->n_channels;
}

bool server_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int n = req->n_ranks, channel = lane % req->n_channels, peer = lane / req->n_channels;
    bool pulls = member >= n;
    if (i > 0 || n == 1 || peer >= (pulls ? n : n_busy(req))) return false;
    if (pulls && req->root >= 0 && member != busy_member(req, 0)) return false;
    int shard = !pulls ? peer : req->root < 0 ? member - n : 0;
    *out = (struct coll_send){
        .dst = pulls ? peer : busy_member(req, peer),
        .channel = channel,
        .size_B = shard_B(req) / req->n_channels,
        .slot = channel,
        .n_deps = pulls,
        .deps = {{channel, n}},
        .first_unit = (int64_t)shard * req->n_channels + channel,
        .n_units = 1,
        .reduce = !pulls,
    };
    return true;
}
