/* Ring: the buffer is cut in n blocks; in each step every rank passes one block to its right.
 * reduce_scatter takes n - 1 steps, all_gather n - 1, all_reduce is the one after the other.
 *
 *   n = 3: the block each rank sends     r0   r1   r2
 *   step 0   position p sends p - 1       2    0    1    one rank's own
 *   step 1   position p sends p - 2       1    2    0    sums of two; block p arrives complete at p
 *   step 2   position p sends p           0    1    2    complete sums go round ...
 *   step 3   position p sends p - 1       2    0    1    ... until all have all
 *
 *   T = steps (alpha + S / n beta), steps = 2 (n - 1) or n - 1
 *
 * Each channel carries its part of every block round a ring of its own (shape.h). With rendezvous
 * all ranks go at the pace of the slowest hop. Without, all blocks are under way at once: the ring
 * takes as long as its busiest port works, or as one block needs for its hops, of which N - 1 of n - 1
 * lead to another node, as NCCL's tuner counts (src/graph/tuning.cc).
 * Source: Patarasuk & Yuan, JPDC 69(2), 2009; alpha-beta per message as Hockney 1994. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool ring_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static int rounds(const struct coll_req *req)
{
    return req->kind == COLL_ALLREDUCE ? 2 : 1;
}

static struct tier_load step_load(const struct coll_req *req)
{
    return shape_ring_load(req, req->size_B / req->n_ranks);
}

bool ring_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    int steps = rounds(req) * (req->n_ranks - 1), inter = rounds(req) * (shape_nodes(req) - 1);
    *out = (struct coll_phase){.n_bundles = req->n_channels, .steps = steps};
    if (req->rendezvous) {
        shape_worst_hops(req, steps, out);
    } else {
        struct tier_load load = step_load(req);
        out->hops_intra = steps - inter;
        out->hops_inter = inter;
        out->step_intra_B = load.intra_B;
        out->step_inter_B = load.inter_B;
    }
    return true;
}

double ring_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    struct coll_phase phase;
    if (!ring_phase(req, 0, &phase)) return 0;
    if (req->rendezvous) return phase.steps * shape_step_s(hops, step_load(req));
    double busy_s = phase.steps * shape_drain_s(hops, step_load(req));
    return busy_s + coll_wait_s(&phase, hops, busy_s);
}

void ring_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    int n = req->n_ranks;
    *out = (struct coll_bundle){.n_flows = n,
                                .channel = b,
                                .bytes = req->size_B / n / req->n_channels * rounds(req) * (n - 1)};
}

struct coll_flow ring_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    struct way way = shape_way(req, b);
    return (struct coll_flow){shape_member(way, (int)k),
                              shape_member(way, shape_right(req, (int)k))};
}

int ring_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

int ring_slots(const struct coll_req *req)
{
    return req->n_channels;
}

int64_t ring_units(const struct coll_req *req)
{
    return (int64_t)req->n_channels * req->n_ranks;
}

/* Step i needs what came in step i - 1: the i-th arrival from the left. */
bool ring_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int n = req->n_ranks;
    if (i >= (int64_t)rounds(req) * (n - 1)) return false;
    struct way way = shape_way(req, lane);
    int step = (int)i, position = shape_position(way, member);
    int scatter_steps = req->kind == COLL_ALLGATHER ? 0 : n - 1;
    int block = step < scatter_steps ? position - 1 - step : position - (step - scatter_steps);
    if (block < 0) block += n;
    *out = (struct coll_send){
        .dst = shape_member(way, position + 1 < n ? position + 1 : 0),
        .channel = lane,
        .size_B = req->size_B / ((double)n * req->n_channels),
        .slot = lane,
        .n_deps = step > 0,
        .deps = {{lane, step}},
        .first_unit = (int64_t)lane * n + shape_member(way, block),
        .n_units = 1,
        .reduce = step < scatter_steps,
    };
    return true;
}
