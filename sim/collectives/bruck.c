/* Bruck: in step k each rank exchanges with those 2^k away, and blocks travel by the bits of the way they
 * have to go. ceil(log2 n) steps for any n.
 *
 *   n = 5, all_gather: r sends to r - 2^k the blocks it has, r, r + 1, ...
 *   step 0   1 block     r has r, r + 1
 *   step 1   2 blocks    r has r .. r + 3
 *   step 2   1 block     the one that is missing
 *
 *   n = 5, all_to_all: what has to go i ranks further goes 2^k of them in each step k whose bit i has
 *   step 0   i = 1, 3    step 1   i = 2, 3    step 2   i = 4
 *
 *   T = sum over steps (alpha + blocks S / n beta), where ranks are on nodes of their own
 *       all_gather:  ceil(log2 n) alpha + (n - 1) / n S beta
 *       all_to_all:  about ceil(log2 n) (alpha + S / 2 beta): few messages, but blocks cross many links
 *
 * A message is striped over the channels.
 * Source: Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing
 * systems, IEEE TPDS 8(11), 1997. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool bruck_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static int n_steps(const struct coll_req *req)
{
    return shape_log2(req->n_ranks);
}

/* Blocks in a step's message. Of the numbers below n every second run of 2^step has the bit set. */
static int n_blocks(const struct coll_req *req, int step)
{
    int n = req->n_ranks, run = 1 << step, rest = n % (2 * run) - run;
    if (req->kind == COLL_ALLGATHER) return run < n - run ? run : n - run;
    return n / (2 * run) * run + (rest > 0 ? rest : 0);
}

static double step_B(const struct coll_req *req, int step)
{
    return req->size_B / req->n_ranks * n_blocks(req, step);
}

static struct tier_load step_load(const struct coll_req *req, int step)
{
    return shape_shift_load(req, 1 << step, step_B(req, step));
}

static int sends_to(const struct coll_req *req, int step, int rank)
{
    int n = req->n_ranks, further = 1 << step;
    return (rank + (req->kind == COLL_ALLGATHER ? n - further : further)) % n;
}

double bruck_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    for (int step = 0; step < n_steps(req); step++)
        time_s += shape_step_s(hops, step_load(req, step));
    return time_s;
}

bool bruck_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_steps(req)) return false;
    *out = shape_one_step(step_load(req, p), req->n_channels);
    return true;
}

void bruck_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    *out = (struct coll_bundle){
        .n_flows = req->n_ranks, .channel = b, .bytes = step_B(req, p) / req->n_channels};
}

struct coll_flow bruck_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    return (struct coll_flow){(int)k, sends_to(req, p, (int)k)};
}

int bruck_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

/* A counter per channel and step, as a step's partner may be ahead of the last step's. */
int bruck_slots(const struct coll_req *req)
{
    return req->n_channels * n_steps(req);
}

/* all_to_all: a unit for each origin and destination */
int64_t bruck_units(const struct coll_req *req)
{
    int64_t n = req->n_ranks, blocks = req->kind == COLL_ALLGATHER ? n : n * n;
    return req->n_channels * blocks;
}

int64_t bruck_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j)
{
    int64_t n = req->n_ranks, run = (int64_t)1 << send->slot % n_steps(req);
    if (req->kind == COLL_ALLGATHER) return send->channel * n + (member + j) % n;
    int64_t way = j / run * 2 * run + run + j % run, gone = way % run;
    int64_t origin = (member - gone + n) % n;
    return (send->channel * n + origin) * n + (origin + way) % n;
}

/* A step needs what all steps before it brought; the one before it is the last that can be missing, as
 * sends of a lane begin in order. */
bool bruck_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
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
    };
    return true;
}
