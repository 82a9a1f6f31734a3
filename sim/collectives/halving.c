/* Recursive halving and doubling of the vector. reduce_scatter: in each round partners split the
 * blocks both still hold a share of, and each sends the half that the other keeps. all_gather is
 * the same backwards. all_reduce (Rabenseifner) is the one after the other, near partners first,
 * where the halves are largest; surplus ranks fold as in doubling.c.
 *
 *   n = 4, all_reduce of blocks 0 1 2 3
 *   round 0   0-1, 2-3 swap 2 blocks     even ranks keep 0 1, odd ones 2 3
 *   round 1   0-2, 1-3 swap 1 block      0 keeps 0, 2 keeps 1, 1 keeps 2, 3 keeps 3
 *   round 2   0-2, 1-3 swap 1 block      back up
 *   round 3   0-1, 2-3 swap 2 blocks
 *   n = 5: 0 > 1 first and 1 > 0 last, whole buffers; 1 2 3 4 play
 *
 *   T = rounds alpha + 2 (p - 1) / p S beta + 2 [n > p] (alpha + S beta), rounds = 2 log2 p
 *
 * Its kept block lies at the rank's player number with the bits turned round; reduce_scatter and
 * all_gather take far partners first (last), so rank r holds block r, and need a power of two.
 * A message is striped over the channels.
 * Source: Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005 */
#include "collectives/algos.h"
#include "collectives/shape.h"

#include "base/must.h"

bool halving_fits(const struct coll_req *req)
{
    int n = req->n_ranks;
    return n >= 1 && (req->kind == COLL_ALLREDUCE || (n & (n - 1)) == 0);
}

/* what happens in a step */
struct step {
    enum { FOLD, HALVE, DOUBLE, UNFOLD } kind;
    int bit;  /* partners differ in this bit of their player numbers */
    int half; /* blocks a player sends */
};

static struct fold plan(const struct coll_req *req)
{
    return fold_of(req->n_ranks);
}

static int n_steps(const struct coll_req *req)
{
    struct fold fold = plan(req);
    if (req->kind != COLL_ALLREDUCE) return fold.rounds;
    return 2 * fold.rounds + (fold.surplus > 0 ? 2 : 0);
}

static struct step step_at(const struct coll_req *req, int s)
{
    struct fold fold = plan(req);
    int rounds = fold.rounds, round = s - (fold.surplus > 0);
    must(s >= 0 && s < n_steps(req));
    if (round < 0) return (struct step){.kind = FOLD, .half = fold.players};
    if (req->kind == COLL_REDUCE_SCATTER)
        return (struct step){HALVE, rounds - 1 - s, 1 << (rounds - 1 - s)};
    if (req->kind == COLL_ALLGATHER) return (struct step){DOUBLE, s, 1 << s};
    if (round < rounds) return (struct step){HALVE, round, 1 << (rounds - 1 - round)};
    if (round == 2 * rounds) return (struct step){.kind = UNFOLD, .half = fold.players};
    return (struct step){DOUBLE, 2 * rounds - 1 - round, 1 << (round - rounds)};
}

static int sends_to(const struct coll_req *req, int s, int rank)
{
    struct fold fold = plan(req);
    struct step step = step_at(req, s);
    int player = fold_player(fold, rank);
    if (step.kind == FOLD) return player < 0 ? rank + 1 : -1;
    if (step.kind == UNFOLD) return player >= 0 && player < fold.surplus ? rank - 1 : -1;
    return player < 0 ? -1 : fold_rank(fold, player ^ (1 << step.bit));
}

static int gets_from(const struct coll_req *req, int s, int rank)
{
    struct fold fold = plan(req);
    struct step step = step_at(req, s);
    int player = fold_player(fold, rank);
    if (step.kind == FOLD) return player >= 0 && player < fold.surplus ? rank - 1 : -1;
    if (step.kind == UNFOLD) return player < 0 ? rank + 1 : -1;
    return sends_to(req, s, rank);
}

static double step_bytes(const struct coll_req *req, int s)
{
    return req->size_B * step_at(req, s).half / plan(req).players;
}

static struct tier_load step_load(const struct coll_req *req, int s)
{
    int n = req->n_ranks, m = req->ranks_per_node;
    double bytes = step_bytes(req, s);
    if ((n & (n - 1)) != 0) /* irregular: count */
        return shape_exchange_load(req, s, (struct exchange){sends_to, gets_from}, bytes);
    if (1 << step_at(req, s).bit < m) return (struct tier_load){.intra_B = bytes};
    return (struct tier_load){.inter_B = m * bytes};
}

double halving_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    double time_s = 0;
    for (int s = 0; s < n_steps(req); s++) time_s += shape_step_s(hops, step_load(req, s));
    return time_s;
}

bool halving_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_steps(req)) return false;
    *out = shape_one_step(step_load(req, p), req->n_channels);
    return true;
}

void halving_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    struct step step = step_at(req, p);
    bool all = step.kind == HALVE || step.kind == DOUBLE;
    *out = (struct coll_bundle){.n_flows = all ? plan(req).players : plan(req).surplus,
                                .channel = b,
                                .bytes = step_bytes(req, p) / req->n_channels};
}

struct coll_flow halving_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)b;
    int src = step_at(req, p).kind == FOLD ? 2 * (int)k : fold_rank(plan(req), (int)k);
    return (struct coll_flow){src, sends_to(req, p, src)};
}

int halving_lanes(const struct coll_req *req)
{
    return req->n_channels;
}

int halving_slots(const struct coll_req *req)
{
    return req->n_channels * n_steps(req);
}

int64_t halving_units(const struct coll_req *req)
{
    return (int64_t)req->n_channels * plan(req).players;
}

static int reversed_bits(int x, int n_bits)
{
    int reversed = 0;
    for (int bit = 0; bit < n_bits; bit++) reversed |= (x >> bit & 1) << (n_bits - 1 - bit);
    return reversed;
}

/* The first block that goes over: of the window of 2 `half` blocks that holds `kept`, halving
 * sends the half without it, doubling the half with it. */
static int first_block(struct step step, int kept)
{
    int sent = step.kind == HALVE ? kept ^ step.half : kept;
    return sent & ~(step.half - 1);
}

bool halving_next(const struct coll_req *req, int member, int lane, int64_t i,
                  struct coll_send *out)
{
    struct fold fold = plan(req);
    int steps = n_steps(req), player = fold_player(fold, member);
    int first = fold.surplus > 0 && player >= 0;
    if (i >= steps - first) return false;
    int s = first + (int)i, dst = sends_to(req, s, member);
    if (dst < 0) return false;
    struct step step = step_at(req, s);
    int kept = req->kind == COLL_ALLREDUCE ? reversed_bits(player, fold.rounds) : player;
    bool part = step.kind == HALVE || step.kind == DOUBLE;
    *out = (struct coll_send){
        .dst = dst,
        .channel = lane,
        .size_B = step_bytes(req, s) / req->n_channels,
        .slot = lane * steps + s,
        .n_deps = s > 0 && gets_from(req, s - 1, member) >= 0,
        .deps = {{lane * steps + s - 1, 1}},
        .first_unit = (int64_t)lane * fold.players + (part ? first_block(step, kept) : 0),
        .n_units = step.half,
        .reduce = step.kind == FOLD || step.kind == HALVE,
    };
    return true;
}
