/* PAT (parallel aggregated trees): each block has a binomial tree of its own, all trees alike but for
 * their roots, and what a rank has to send to the same peer in one step goes as one message. all_gather
 * sends far first, so that blocks spread over all ranks early; reduce_scatter is the same backwards.
 *
 *   n = 5, all_gather; block b at ranks b + p, p being
 *   step 0   r > r + 4   1 block: its own           p = 0 4
 *   step 1   r > r + 2   1 block: its own           p = 0 2 4
 *   step 2   r > r + 1   2 blocks: r, r - 2         p = 0 1 2 3 4
 *
 *   T = ceil(log2 n) alpha + (n - 1) / n S beta, where ranks are on nodes of their own
 *
 * NCCL cuts large steps to what its buffers hold, and then takes more of them; here a step's message is
 * sent whole. A message is striped over the channels.
 * Source: Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, arXiv
 * 2506.20252, 2025. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool pat_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static int n_steps(const struct coll_req *req)
{
    return shape_log2(req->n_ranks);
}

/* How far a step's messages go. */
static int distance(const struct coll_req *req, int step)
{
    return 1 << (req->kind == COLL_ALLGATHER ? n_steps(req) - 1 - step : step);
}

/* Trees in which a rank sends: it is an even (gather) or odd (scatter) number of distances from their
 * roots, and its peer is not beyond the end. */
static int n_blocks(const struct coll_req *req, int step)
{
    int d = distance(req, step);
    return (req->n_ranks - 1 - d) / (2 * d) + 1;
}

static double step_B(const struct coll_req *req, int step)
{
    return req->size_B / req->n_ranks * n_blocks(req, step);
}

static struct tier_load step_load(const struct coll_req *req, int step)
{
    return shape_shift_load(req, distance(req, step), step_B(req, step));
}

static int sends_to(const struct coll_req *req, int step, int rank)
{
    int n = req->n_ranks, d = distance(req, step);
    return (rank + (req->kind == COLL_ALLGATHER ? d : n - d)) % n;
}

double pat_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    for (int step = 0; step < n_steps(req); step++)
        time_s += shape_step_s(hops, step_load(req, step));
    return time_s;
}

bool pat_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_steps(req)) return false;
    *out = shape_one_step(step_load(req, p), req->n_channels);
    return true;
}

void pat_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    *out = (struct coll_bundle){
        .n_flows = req->n_ranks, .channel = b, .bytes = step_B(req, p) / req->n_channels};
}

struct coll_flow pat_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    return (struct coll_flow){(int)k, sends_to(req, p, (int)k)};
}

int pat_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

/* A counter per channel and step, as a step's partner may be ahead of the last step's. */
int pat_slots(const struct coll_req *req)
{
    return req->n_channels * n_steps(req);
}

int64_t pat_units(const struct coll_req *req)
{
    return (int64_t)req->n_channels * req->n_ranks;
}

int64_t pat_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j)
{
    int64_t n = req->n_ranks, d = distance(req, send->slot % n_steps(req));
    int64_t from_root = 2 * d * j + (req->kind == COLL_ALLGATHER ? 0 : d);
    return send->channel * n + (member - from_root + n) % n;
}

/* A step needs what all steps before it brought; the one before it is the last that can be missing, as
 * sends of a lane begin in order. */
bool pat_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int steps = n_steps(req), step = (int)i;
    if (i >= steps) return false;
    *out = (struct coll_send){
        .dst = sends_to(req, step, member),
        .channel = lane,
        .size_B = step_B(req, step) / req->n_channels,
        .slot = lane * steps + step,
        .n_deps = step > 0,
        .deps = {{lane * steps + step - 1, 1}},
        .n_units = n_blocks(req, step),
        .reduce = req->kind == COLL_REDUCE_SCATTER,
    };
    return true;
}
