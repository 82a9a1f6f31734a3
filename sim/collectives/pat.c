/* PAT (parallel aggregated trees): each block has a binomial tree of its own, all trees alike but for
 * their roots, and what a rank has to send to the same peer in one step goes as one message. all_gather
 * sends far first, so that blocks spread over all ranks early; reduce_scatter is the same backwards.
 *
 *   n = 5, all_gather; block b at ranks b + p, p being
 *   step 0   r > r + 4   1 block: its own           p = 0 4
 *   step 1   r > r + 2   1 block: its own           p = 0 2 4
 *   step 2   r > r + 1   2 blocks: r, r - 2         p = 0 1 2 3 4
 *
 *   T = steps alpha + (n - 1) / n S beta, where ranks are on nodes of their own
 *
 * A message carries no more blocks than a buffer (the library's chunk) holds, one at least: where a
 * distance has more, it takes several steps. So there are ceil(log2 n) of them for small blocks and n - 1
 * for large ones, as in a ring. A message is striped over the channels.
 * Source: Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, arXiv
 * 2506.20252, 2025. */
#include "collectives/algos.h"
#include "collectives/shape.h"
#include "collectives/stride.h"

bool pat_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

/* Trees in which a rank sends over a distance: it is an even (gather) or odd (scatter) number of distances
 * from their roots, and its peer is not beyond the end. */
static int trees_at(const struct coll_req *req, int d)
{
    return (req->n_ranks - 1 - d) / (2 * d) + 1;
}

/* Blocks of which a buffer holds each channel's part. */
static int most_blocks(const struct coll_req *req)
{
    double blocks = req->chunk_B * req->n_channels * req->n_ranks / req->size_B;
    return blocks < 1 ? 1 : blocks < req->n_ranks ? (int)blocks : req->n_ranks;
}

/* a step: so far, and of the trees at that distance those from the `first` on */
struct hop {
    int distance, first, n_blocks;
};

static struct hop hop_at(const struct coll_req *req, int step)
{
    int rounds = shape_log2(req->n_ranks), most = most_blocks(req);
    for (int round = 0; round < rounds; round++) {
        int d = 1 << (req->kind == COLL_ALLGATHER ? rounds - 1 - round : round);
        int trees = trees_at(req, d), cut = (trees + most - 1) / most;
        if (step >= cut) {
            step -= cut;
            continue;
        }
        int rest = trees - step * most;
        return (struct hop){d, step * most, rest < most ? rest : most};
    }
    return (struct hop){0, 0, 0}; /* beyond the last step */
}

static int n_steps(const struct coll_req *req)
{
    int steps = 0, most = most_blocks(req);
    for (int d = 1; d < req->n_ranks; d *= 2) steps += (trees_at(req, d) + most - 1) / most;
    return steps;
}

static int n_blocks(const struct coll_req *req, int step)
{
    return hop_at(req, step).n_blocks;
}

static int ranks_on(const struct coll_req *req, int step)
{
    int d = hop_at(req, step).distance;
    return req->kind == COLL_ALLGATHER ? d : -d;
}

static const struct stride pat = {n_steps, ranks_on, n_blocks};

double pat_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    return stride_cost_s(&pat, req, hops);
}

bool pat_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    return stride_phase(&pat, req, p, out);
}

void pat_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    stride_bundle(&pat, req, p, out);
    out->channel = b;
}

struct coll_flow pat_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    return stride_flow(&pat, req, p, k);
}

int pat_lanes(const struct coll_req *req)
{
    return stride_lanes(req);
}

int pat_slots(const struct coll_req *req)
{
    return stride_slots(&pat, req);
}

int64_t pat_units(const struct coll_req *req)
{
    return (int64_t)req->n_channels * req->n_ranks;
}

int64_t pat_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j)
{
    struct hop hop = hop_at(req, stride_step(&pat, req, send));
    int64_t n = req->n_ranks, d = hop.distance;
    int64_t from_root = 2 * d * (hop.first + j) + (req->kind == COLL_ALLGATHER ? 0 : d);
    return send->channel * n + (member - from_root + n) % n;
}

bool pat_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    if (!stride_next(&pat, req, member, lane, i, out)) return false;
    out->reduce = req->kind == COLL_REDUCE_SCATTER;
    return true;
}
