/* Chain: broadcast (and, the other way, reduce) passes the buffer from rank to rank along the ring,
 * in chunks, so that all links of the chain work at once.
 *
 *   n = 4, root 0, 3 chunks a b c
 *   time     0 > 1   1 > 2   2 > 3
 *     0        a
 *     1        b       a
 *     2        c       b       a
 *     3                c       b
 *     4                        c         n - 2 + k times for k chunks
 *
 *   T = (n - 1) alpha + (n - 2 + k) S / k beta
 *   with rendezvous, a rank's next chunk waits for the last one's arrival: (n - 2 + k) (alpha + ...)
 *
 * Each channel carries its part along its own ring order (shape.h), begun or ended at the root.
 * Source: Pjesivac-Grbovic et al., Performance analysis of MPI collective operations, Cluster
 * Computing 10(2), 2007 (pipeline). */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool chain_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1 && req->root >= 0 && req->root < req->n_ranks;
}

static double stream_B(const struct coll_req *req)
{
    return req->size_B / req->n_channels;
}

/* The place in the channel's ring where its chain begins. */
static int start(const struct coll_req *req, int channel)
{
    int at = shape_position(shape_way(req, channel), req->root);
    if (req->kind == COLL_REDUCE) at++; /* ends at the root */
    return at < req->n_ranks ? at : 0;
}

/* Hops between nodes on the longest chain: all N of the ring when the root stands inside its
 * node's stretch, so that the chain comes back to the node it left; N - 1 otherwise. */
static int inter_hops(const struct coll_req *req)
{
    int nodes = shape_nodes(req), hops = nodes - 1;
    for (int channel = 0; nodes > 1 && channel < req->n_channels; channel++)
        if (start(req, channel) % req->ranks_per_node != 0) hops = nodes;
    return hops;
}

static struct coll_phase shape_of(const struct coll_req *req)
{
    int n = req->n_ranks, chunks = shape_chunks(req, stream_B(req)), inter = inter_hops(req);
    double chunk_B = stream_B(req) / chunks;
    struct coll_phase phase = {.n_bundles = req->n_channels, .steps = n - 2 + chunks};
    int slow = inter > 0 ? inter : n - 1; /* hops at the rate of the bundle */
    phase.fill_B = (slow - 1) * chunk_B;
    phase.fill_intra_B = (n - 1 - slow) * chunk_B * req->n_channels;
    if (req->rendezvous) {
        shape_worst_hops(req, phase.steps, &phase);
    } else {
        phase.hops_intra = n - 1 - inter;
        phase.hops_inter = inter;
    }
    return phase;
}

double chain_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    if (req->n_ranks == 1) return 0;
    struct coll_phase phase = shape_of(req);
    struct tier_load load = {.intra_B = req->ranks_per_node > 1 ? req->size_B : 0,
                             .inter_B = shape_nodes(req) > 1 ? req->size_B : 0};
    return shape_pipeline_s(hops, &phase, load, stream_B(req));
}

bool chain_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    *out = shape_of(req);
    return true;
}

void chain_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){.n_flows = req->n_ranks - 1, .channel = b, .bytes = stream_B(req)};
}

/* The member at a place of the chain. */
static int member_at(const struct coll_req *req, int channel, int place)
{
    int position = start(req, channel) + place;
    int n = req->n_ranks;
    return shape_member(shape_way(req, channel), position < n ? position : position - n);
}

struct coll_flow chain_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    return (struct coll_flow){member_at(req, b, (int)k), member_at(req, b, (int)k + 1)};
}

int chain_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

int chain_slots(const struct coll_req *req)
{
    return req->n_channels;
}

int64_t chain_units(const struct coll_req *req)
{
    return (int64_t)req->n_channels * shape_chunks(req, stream_B(req));
}

bool chain_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int n = req->n_ranks, chunks = shape_chunks(req, stream_B(req));
    int place = shape_position(shape_way(req, lane), member) - start(req, lane);
    if (place < 0) place += n;
    if (i >= chunks || place == n - 1) return false;
    *out = (struct coll_send){
        .dst = member_at(req, lane, place + 1),
        .channel = lane,
        .size_B = stream_B(req) / chunks,
        .slot = lane,
        .n_deps = place > 0,
        .deps = {{lane, (int)i + 1}},
        .first_unit = (int64_t)lane * chunks + i,
        .n_units = 1,
        .reduce = req->kind == COLL_REDUCE,
    };
    return true;
}
