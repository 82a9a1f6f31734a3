#include "collectives/stride.h"

#include "collectives/shape.h"

#include <stdlib.h>

int stride_steps(const struct stride *stride, const struct coll_req *req)
{
    return stride->n_steps ? stride->n_steps(req) : shape_log2(req->n_ranks);
}

static double step_B(const struct stride *stride, const struct coll_req *req, int step)
{
    return req->size_B / req->n_ranks * stride->n_blocks(req, step);
}

static struct tier_load step_load(const struct stride *stride, const struct coll_req *req, int step)
{
    return shape_shift_load(req, abs(stride->way(req, step)), step_B(stride, req, step));
}

static int sends_to(const struct stride *stride, const struct coll_req *req, int step, int rank)
{
    return (rank + req->n_ranks + stride->way(req, step)) % req->n_ranks;
}

double stride_cost_s(const struct stride *stride, const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    int steps = stride_steps(stride, req);
    for (int step = 0; step < steps; step++)
        time_s += shape_step_s(hops, step_load(stride, req, step));
    return time_s;
}

bool stride_phase(const struct stride *stride, const struct coll_req *req, int p,
                  struct coll_phase *out)
{
    if (p >= stride_steps(stride, req)) return false;
    *out = shape_one_step(step_load(stride, req, p), req->n_channels);
    return true;
}

void stride_bundle(const struct stride *stride, const struct coll_req *req, int p,
                   struct coll_bundle *out)
{
    *out = (struct coll_bundle){.n_flows = req->n_ranks,
                                .bytes = step_B(stride, req, p) / req->n_channels};
}

struct coll_flow stride_flow(const struct stride *stride, const struct coll_req *req, int p,
                             int64_t k)
{
    return (struct coll_flow){(int)k, sends_to(stride, req, p, (int)k)};
}

int stride_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

/* A counter per channel and step, as a step's partner may be ahead of the last step's. */
int stride_slots(const struct stride *stride, const struct coll_req *req)
{
    return req->n_channels * stride_steps(stride, req);
}

int stride_step(const struct stride *stride, const struct coll_req *req,
                const struct coll_send *send)
{
    return send->slot % stride_steps(stride, req);
}

/* A step needs what all steps before it brought; the one before it is the last that can be missing, as
 * sends of a lane begin in order. */
bool stride_next(const struct stride *stride, const struct coll_req *req, int member, int lane,
                 int64_t i, struct coll_send *out)
{
    int steps = stride_steps(stride, req), step = (int)i;
    if (i >= steps) return false;
    *out = (struct coll_send){
        .dst = sends_to(stride, req, step, member),
        .channel = lane,
        .size_B = step_B(stride, req, step) / req->n_channels,
        .slot = lane * steps + step,
        .n_deps = step > 0,
        .deps = {{lane * steps + step - 1, 1}},
        .n_units = stride->n_blocks(req, step),
    };
    return true;
}
