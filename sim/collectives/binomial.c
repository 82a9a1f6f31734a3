/* Binomial tree: broadcast doubles the set of ranks that have the data, far partners first; reduce
 * is the same backwards; reduce-broadcast, the naive all_reduce, is the one after the other (root 0).
 * Ranks count from the root: v = (rank - root) mod n.
 *
 *   n = 5, broadcast   step 0   0 > 4
 *                      step 1   0 > 2
 *                      step 2   0 > 1   2 > 3
 *   reduce             step 0   1 > 0   3 > 2     step 1   2 > 0     step 2   4 > 0
 *
 *   T = ceil(log2 n) (alpha + S beta), twice that for all_reduce
 *
 * In steps; played message by message, a rank at the end of few hops may be done earlier. A message
 * is striped over the channels.
 * Source: Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005 */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool binomial_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1 &&
           (req->kind == COLL_ALLREDUCE || (req->root >= 0 && req->root < req->n_ranks));
}

static int root(const struct coll_req *req)
{
    return req->kind == COLL_ALLREDUCE ? 0 : req->root;
}

static int from_root(const struct coll_req *req, int rank)
{
    int v = rank - root(req);
    return v < 0 ? v + req->n_ranks : v;
}

static int rank_at(const struct coll_req *req, int v)
{
    int rank = v + root(req);
    return rank < req->n_ranks ? rank : rank - req->n_ranks;
}

static int n_steps(const struct coll_req *req)
{
    return shape_log2(req->n_ranks) * (req->kind == COLL_ALLREDUCE ? 2 : 1);
}

/* in a step, v and v + mask meet for all multiples v of 2 mask */
struct step {
    bool reduces;
    int mask;
};

static struct step step_at(const struct coll_req *req, int s)
{
    int rounds = shape_log2(req->n_ranks);
    bool reduces = req->kind == COLL_REDUCE || (req->kind == COLL_ALLREDUCE && s < rounds);
    int spread = req->kind == COLL_ALLREDUCE ? s - rounds : s; /* of a broadcast */
    return (struct step){reduces, 1 << (reduces ? s : rounds - 1 - spread)};
}

/* The other end of v's message in a step, when v is its upper (or lower) end; -1 otherwise. */
static int partner(const struct coll_req *req, int mask, int rank, bool upper)
{
    int v = from_root(req, rank), side = v & (2 * mask - 1);
    if (upper) return side == mask ? rank_at(req, v - mask) : -1;
    return side == 0 && v + mask < req->n_ranks ? rank_at(req, v + mask) : -1;
}

static int sends_to(const struct coll_req *req, int s, int rank)
{
    struct step step = step_at(req, s);
    return partner(req, step.mask, rank, step.reduces);
}

static int gets_from(const struct coll_req *req, int s, int rank)
{
    struct step step = step_at(req, s);
    return partner(req, step.mask, rank, !step.reduces);
}

static struct tier_load step_load(const struct coll_req *req, int s)
{
    int m = req->ranks_per_node;
    bool regular = (m & (m - 1)) == 0 && root(req) % m == 0;
    if (!regular) /* count */
        return shape_exchange_load(req, s, (struct exchange){sends_to, gets_from}, req->size_B);
    if (step_at(req, s).mask < m) return (struct tier_load){.intra_B = req->size_B};
    return (struct tier_load){.inter_B = req->size_B};
}

double binomial_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    for (int s = 0; s < n_steps(req); s++) time_s += shape_step_s(hops, step_load(req, s));
    return time_s;
}

bool binomial_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_steps(req)) return false;
    *out = shape_one_step(step_load(req, p), req->n_channels);
    return true;
}

void binomial_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    int mask = step_at(req, p).mask;
    *out = (struct coll_bundle){.n_flows = (req->n_ranks - mask + 2 * mask - 1) / (2 * mask),
                                .channel = b,
                                .bytes = req->size_B / req->n_channels};
}

struct coll_flow binomial_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    struct step step = step_at(req, p);
    int v = (int)k * 2 * step.mask;
    int lower = rank_at(req, v), upper = rank_at(req, v + step.mask);
    return step.reduces ? (struct coll_flow){upper, lower} : (struct coll_flow){lower, upper};
}

int binomial_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

/* per channel: arrivals of the reduce, of the broadcast */
int binomial_slots(const struct coll_req *req)
{
    return 2 * req->n_channels;
}

int64_t binomial_units(const struct coll_req *req)
{
    return req->n_channels;
}

/* Children of v are v + 1, v + 2, v + 4, ... below v's lowest set bit and below n. */
static int n_children(const struct coll_req *req, int v)
{
    int n = 0;
    while (v + (1 << n) < req->n_ranks && (v & (1 << n)) == 0) n++;
    return n;
}

bool binomial_next(const struct coll_req *req, int member, int lane, int64_t i,
                   struct coll_send *out)
{
    int v = from_root(req, member), children = n_children(req, v), slot = 2 * lane;
    bool reduces = req->kind != COLL_BROADCAST, spreads = req->kind != COLL_REDUCE;
    int n_up = reduces && v > 0, sent = (int)i - n_up;
    if (i >= n_up + (spreads ? children : 0)) return false;
    *out = (struct coll_send){
        .channel = lane, .size_B = req->size_B / req->n_channels, .first_unit = lane, .n_units = 1};
    if (sent < 0) { /* the sum of its branch, when all children have come */
        out->dst = rank_at(req, v & (v - 1));
        out->slot = slot;
        out->reduce = true;
        out->n_deps = children > 0;
        out->deps[0].slot = slot;
        out->deps[0].count = children;
        return true;
    }
    bool is_root = v == 0;
    out->dst = rank_at(req, v + (1 << (children - 1 - sent)));
    out->slot = slot + 1;
    out->n_deps = !is_root || reduces;
    out->deps[0].slot = is_root ? slot : slot + 1;
    out->deps[0].count = is_root ? children : 1;
    return true;
}
