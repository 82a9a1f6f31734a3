/* Segmented ring: the reduce-scatter half of a ring all_reduce goes in phases, each of which takes one segment
 * of every block round, so that no more than a segment waits for its sum; the all-gather half takes whole
 * blocks. Ring order, channels and blocks are those of ring.c.
 *
 *   n = 3, blocks of 2 segments: position 0 sends
 *   step 0, 1   block 2, then 1, segment 0      step 4, 5   block 0, then 2, whole sums
 *   step 2, 3   block 2, then 1, segment 1
 *
 *   T = (n - 1) k (alpha + S / (n k) beta) + (n - 1) (alpha + S / n beta), k segments in a block
 *
 * Source: open-mpi/ompi, ompi/mca/coll/base/coll_base_allreduce.c (segmented ring: "one ring per phase"); the
 * ring itself: Patarasuk & Yuan, JPDC 69(2), 2009. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool segmented_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static double block_B(const struct coll_req *req)
{
    return req->size_B / req->n_ranks / req->n_channels;
}

/* So few that steps can be counted. */
static int n_segments(const struct coll_req *req)
{
    int most = SHAPE_MAX_CHUNKS / req->n_ranks, segments = shape_chunks(req, block_B(req));
    return segments < most ? segments : most;
}

static double sent_B(const struct coll_req *req)
{
    return (req->n_ranks - 1) * req->size_B / req->n_ranks;
}

/* The first phase scatters, the second gathers. Without rendezvous the latency of a segment is that of the hops
 * it makes: of n in the ring, N leave a node. */
bool segmented_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 1 || req->n_ranks == 1) return false;
    int steps = (req->n_ranks - 1) * (p == 0 ? n_segments(req) : 1), nodes = shape_nodes(req);
    *out = (struct coll_phase){.n_bundles = req->n_channels, .steps = steps};
    if (req->rendezvous) {
        shape_worst_hops(req, steps, out);
        return true;
    }
    struct tier_load load = shape_ring_load(req, sent_B(req) / steps);
    out->hops_inter = nodes > 1 ? (int)((int64_t)steps * nodes / req->n_ranks) : 0;
    out->hops_intra = steps - out->hops_inter;
    out->step_intra_B = load.intra_B;
    out->step_inter_B = load.inter_B;
    return true;
}

double segmented_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    struct coll_phase phase;
    double time_s = 0;
    for (int p = 0; segmented_phase(req, p, &phase); p++) {
        double busy_s = shape_drain_s(hops, shape_ring_load(req, sent_B(req)));
        time_s += busy_s + coll_wait_s(&phase, hops, busy_s);
    }
    return time_s;
}

void segmented_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){
        .n_flows = req->n_ranks, .channel = b, .bytes = (req->n_ranks - 1) * block_B(req)};
}

struct coll_flow segmented_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    struct way way = shape_way(req, b);
    return (struct coll_flow){shape_member(way, (int)k),
                              shape_member(way, shape_right(req, (int)k))};
}

int segmented_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

int segmented_slots(const struct coll_req *req)
{
    return req->n_channels;
}

int64_t segmented_units(const struct coll_req *req)
{
    return (int64_t)req->n_channels * req->n_ranks * n_segments(req);
}

/* Step i needs the i-th arrival from the left. */
bool segmented_next(const struct coll_req *req, int member, int lane, int64_t i,
                    struct coll_send *out)
{
    int n = req->n_ranks, segments = n_segments(req);
    int64_t scatter_steps = (int64_t)(n - 1) * segments, step = i - scatter_steps;
    if (n == 1 || step >= n - 1) return false;
    bool scatters = step < 0;
    struct way way = shape_way(req, lane);
    int position = shape_position(way, member);
    int block = scatters ? position - 1 - (int)(i % (n - 1)) : position - (int)step;
    if (block < 0) block += n;
    *out = (struct coll_send){
        .dst = shape_member(way, shape_right(req, position)),
        .channel = lane,
        .size_B = scatters ? block_B(req) / segments : block_B(req),
        .slot = lane,
        .n_deps = i > 0,
        .deps = {{lane, (int)i}},
        .first_unit = ((int64_t)lane * n + block) * segments + (scatters ? i / (n - 1) : 0),
        .n_units = scatters ? 1 : segments,
        .reduce = scatters,
    };
    return true;
}
