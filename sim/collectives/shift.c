/* Shift: every member sends S to the next one, all at once, as the sendrecv of nccl-tests does.
 *
 *   n = 4    0 > 1   1 > 2   2 > 3   3 > 0
 *
 *   T = alpha + S beta, of the slower kind of hop
 *
 * Each channel carries its part of every message. Two members are left to `direct`, where only the
 * first one sends: with full duplex the way back takes no longer.
 * Source: nccl-tests, src/sendrecv.cu; Hockney, Parallel Computing 20(3), 1994. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool shift_fits(const struct coll_req *req)
{
    return req->n_ranks != 2;
}

static struct tier_load load_of(const struct coll_req *req)
{
    if (req->n_ranks == 1) return (struct tier_load){0, 0};
    return (struct tier_load){.intra_B = req->ranks_per_node > 1 ? req->size_B : 0,
                              .inter_B = shape_nodes(req) > 1 ? req->size_B : 0};
}

double shift_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    return shape_step_s(hops, load_of(req));
}

bool shift_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    *out = shape_one_step(load_of(req), req->n_channels);
    return true;
}

void shift_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){
        .n_flows = req->n_ranks, .channel = b, .bytes = req->size_B / req->n_channels};
}

struct coll_flow shift_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p, (void)b;
    return (struct coll_flow){(int)k, shape_right(req, (int)k)};
}

int shift_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

int shift_slots(const struct coll_req *req)
{
    (void)req;
    return 1;
}

int64_t shift_units(const struct coll_req *req)
{
    return req->n_channels;
}

bool shift_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    if (i > 0 || req->n_ranks == 1) return false;
    *out = (struct coll_send){.dst = shape_right(req, member),
                              .channel = lane,
                              .size_B = req->size_B / req->n_channels,
                              .first_unit = lane,
                              .n_units = 1};
    return true;
}
