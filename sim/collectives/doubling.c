/* Recursive doubling all_reduce: in round j all exchange their whole buffer with the rank whose
 * number differs in bit j; after log2 n rounds all have the sum. Surplus ranks over a power of two
 * hand over first and get the result last (fold in shape.h).
 *
 *   n = 4   round 0   0-1  2-3        n = 5   fold      0 > 1
 *           round 1   0-2  1-3                rounds    1 2 3 4 as 0 1 2 3
 *                                             unfold    1 > 0
 *
 *   T = (log2 p + 2 [n > p]) (alpha + S beta), p the largest power of two <= n
 *
 * A message is striped over the channels.
 * Source: Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005 */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool doubling_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

/* Steps of all ranks: the fold (when there is one), the rounds, the unfold. */
static int n_steps(struct fold fold)
{
    return fold.rounds + (fold.surplus > 0 ? 2 : 0);
}

/* The round of a step; -1 for the fold, `rounds` for the unfold. */
static int round_of(struct fold fold, int step)
{
    return step - (fold.surplus > 0);
}

static int sends_to(const struct coll_req *req, int step, int rank)
{
    struct fold fold = fold_of(req->n_ranks);
    int round = round_of(fold, step), player = fold_player(fold, rank);
    if (round < 0) return player < 0 ? rank + 1 : -1;
    if (round < fold.rounds) return player < 0 ? -1 : fold_rank(fold, player ^ (1 << round));
    return player >= 0 && player < fold.surplus ? rank - 1 : -1;
}

static int gets_from(const struct coll_req *req, int step, int rank)
{
    struct fold fold = fold_of(req->n_ranks);
    int round = round_of(fold, step), player = fold_player(fold, rank);
    if (round < 0) return player >= 0 && player < fold.surplus ? rank - 1 : -1;
    if (round < fold.rounds) return sends_to(req, step, rank);
    return player < 0 ? rank + 1 : -1;
}

static struct tier_load step_load(const struct coll_req *req, int step)
{
    int n = req->n_ranks, m = req->ranks_per_node;
    if ((n & (n - 1)) != 0) /* irregular: count */
        return shape_exchange_load(req, step, (struct exchange){sends_to, gets_from}, req->size_B);
    if (1 << step < m) return (struct tier_load){.intra_B = req->size_B};
    return (struct tier_load){.inter_B = m * req->size_B};
}

double doubling_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    for (int step = 0; step < n_steps(fold_of(req->n_ranks)); step++)
        time_s += shape_step_s(hops, step_load(req, step));
    return time_s;
}

bool doubling_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_steps(fold_of(req->n_ranks))) return false;
    *out = shape_one_step(step_load(req, p), req->n_channels);
    return true;
}

void doubling_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    struct fold fold = fold_of(req->n_ranks);
    int round = round_of(fold, p);
    bool all = round >= 0 && round < fold.rounds;
    *out = (struct coll_bundle){.n_flows = all ? fold.players : fold.surplus,
                                .channel = b,
                                .bytes = req->size_B / req->n_channels};
}

struct coll_flow doubling_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    struct fold fold = fold_of(req->n_ranks);
    int src = round_of(fold, p) < 0 ? 2 * (int)k : fold_rank(fold, (int)k);
    return (struct coll_flow){src, sends_to(req, p, src)};
}

int doubling_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

/* A counter per channel and step: a fast partner of a later round must not be taken for a slow one. */
int doubling_slots(const struct coll_req *req)
{
    return req->n_channels * n_steps(fold_of(req->n_ranks));
}

int64_t doubling_units(const struct coll_req *req)
{
    return req->n_channels;
}

/* Who sits out sends in the fold alone; the players send in all rounds, and after them those with
 * a neighbour to serve. */
bool doubling_next(const struct coll_req *req, int member, int lane, int64_t i,
                   struct coll_send *out)
{
    struct fold fold = fold_of(req->n_ranks);
    int steps = n_steps(fold), first = fold.surplus > 0 && fold_player(fold, member) >= 0;
    if (i >= steps - first) return false;
    int step = first + (int)i, dst = sends_to(req, step, member);
    if (dst < 0) return false;
    bool waits = step > 0 && gets_from(req, step - 1, member) >= 0;
    *out = (struct coll_send){
        .dst = dst,
        .channel = lane,
        .size_B = req->size_B / req->n_channels,
        .slot = lane * steps + step,
        .n_deps = waits,
        .deps = {{lane * steps + step - 1, 1}},
        .first_unit = lane,
        .n_units = 1,
        .reduce = round_of(fold, step) < fold.rounds,
    };
    return true;
}
