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
#include "collectives/stride.h"

bool bruck_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

/* Blocks in a step's message. Of the numbers below n every second run of 2^step has the bit set. */
static int n_blocks(const struct coll_req *req, int step)
{
    int n = req->n_ranks, run = 1 << step, rest = n % (2 * run) - run;
    if (req->kind == COLL_ALLGATHER) return run < n - run ? run : n - run;
    return n / (2 * run) * run + (rest > 0 ? rest : 0);
}

/* An all_gather sends back, an all_to_all on. */
static int ranks_on(const struct coll_req *req, int step)
{
    int further = 1 << step;
    return req->kind == COLL_ALLGATHER ? -further : further;
}

static const struct stride bruck = {.way = ranks_on, .n_blocks = n_blocks};

double bruck_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    return stride_cost_s(&bruck, req, hops);
}

bool bruck_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    return stride_phase(&bruck, req, p, out);
}

void bruck_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    stride_bundle(&bruck, req, p, out);
    out->channel = b;
}

struct coll_flow bruck_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    return stride_flow(&bruck, req, p, k);
}

int bruck_lanes(const struct coll_req *req)
{
    return stride_lanes(req);
}

int bruck_slots(const struct coll_req *req)
{
    return stride_slots(&bruck, req);
}

/* all_to_all: a unit for each origin and destination */
int64_t bruck_units(const struct coll_req *req)
{
    int64_t n = req->n_ranks, blocks = req->kind == COLL_ALLGATHER ? n : n * n;
    return req->n_channels * blocks;
}

int64_t bruck_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j)
{
    int64_t n = req->n_ranks, run = (int64_t)1 << stride_step(&bruck, req, send);
    if (req->kind == COLL_ALLGATHER) return send->channel * n + (member + j) % n;
    int64_t way = j / run * 2 * run + run + j % run, gone = way % run;
    int64_t origin = (member - gone + n) % n;
    return (send->channel * n + origin) * n + (origin + way) % n;
}

bool bruck_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    return stride_next(&bruck, req, member, lane, i, out);
}
