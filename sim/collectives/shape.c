#include "collectives/shape.h"

#include "base/must.h"

#include <math.h>

int shape_nodes(const struct coll_req *req)
{
    return req->n_ranks / req->ranks_per_node;
}

int shape_node(const struct coll_req *req, int member)
{
    if (member < req->n_ranks) return member / req->ranks_per_node;
    return (member - req->n_ranks) % shape_nodes(req);
}

int shape_log2(int n)
{
    return n <= 1 ? 0 : 32 - __builtin_clz((unsigned)n - 1);
}

int shape_entry(const struct coll_req *req, int channel)
{
    return channel * req->ranks_per_node / req->n_channels;
}

int shape_exit(const struct coll_req *req, int channel)
{
    int m = req->ranks_per_node, entry = shape_entry(req, channel), beside = entry ^ 1;
    if (beside < m) return beside;
    return entry == 0 ? m - 1 : entry - 1;
}

struct way shape_way(const struct coll_req *req, int channel)
{
    int m = req->ranks_per_node, entry = shape_entry(req, channel);
    return (struct way){m, entry, (entry & 1) == 0 && entry + 1 < m};
}

int shape_member(struct way way, int position)
{
    int m = way.m, j = position % m, local = way.entry + j;
    if (way.skips && j > 0) local = j == m - 1 ? way.entry + 1 : local + 1;
    return position - j + (local < m ? local : local - m);
}

int shape_position(struct way way, int member)
{
    int m = way.m, local = member % m, j = local - way.entry;
    if (j < 0) j += m;
    if (way.skips && j > 0) j = j == 1 ? m - 1 : j - 1;
    return member - local + j;
}

int shape_rails(const struct coll_req *req)
{
    return (req->n_channels + req->ranks_per_node - 1) / req->ranks_per_node;
}

int shape_rail_channel(const struct coll_req *req, int local, int k)
{
    int rails = shape_rails(req);
    return (local * rails + k) * req->n_channels / (req->ranks_per_node * rails);
}

int shape_chunks(const struct coll_req *req, double bytes)
{
    double chunks = ceil(bytes / req->chunk_B);
    return chunks < 1 ? 1 : chunks < SHAPE_MAX_CHUNKS ? (int)chunks : SHAPE_MAX_CHUNKS;
}

double shape_chain_B(const struct coll_req *req)
{
    int m = req->ranks_per_node, most = 0;
    for (int local = 0; m > 1 && local < m; local++) {
        int sends = 0;
        for (int channel = 0; channel < req->n_channels; channel++) {
            bool end = local == shape_entry(req, channel) || local == shape_exit(req, channel);
            sends += end ? 1 : 2;
        }
        if (sends > most) most = sends;
    }
    return most * req->size_B / req->n_channels;
}

/* Which part of its block the busiest member passes on inside its node: a channel that leaves the
 * node by a member does not go on inside from there. */
static double inside_frac(const struct coll_req *req)
{
    int m = req->ranks_per_node, least = req->n_channels;
    if (m == req->n_ranks) return 1;
    for (int local = 0; local < m && least > 0; local++) {
        int exits = 0;
        for (int c = 0; c < req->n_channels; c++) exits += shape_exit(req, c) == local;
        if (exits < least) least = exits;
    }
    return 1 - (double)least / req->n_channels;
}

struct tier_load shape_ring_load(const struct coll_req *req, double block_B)
{
    return (struct tier_load){.intra_B = req->ranks_per_node > 1 ? inside_frac(req) * block_B : 0,
                              .inter_B = shape_nodes(req) > 1 ? block_B : 0};
}

double shape_step_s(struct coll_hops hops, struct tier_load load)
{
    double intra_s = load.intra_B > 0 ? affine_at(hops.intra, load.intra_B) : 0;
    double inter_s = load.inter_B > 0 ? affine_at(hops.inter, load.inter_B) : 0;
    return fmax(intra_s, inter_s);
}

double shape_drain_s(struct coll_hops hops, struct tier_load load)
{
    return fmax(hops.intra.beta_s_per_B * load.intra_B, hops.inter.beta_s_per_B * load.inter_B);
}

struct coll_phase shape_one_step(struct tier_load load, int n_bundles)
{
    bool leaves = load.inter_B > 0;
    return (struct coll_phase){
        .n_bundles = n_bundles, .steps = 1, .hops_intra = !leaves, .hops_inter = leaves};
}

void shape_worst_hops(const struct coll_req *req, int hops, struct coll_phase *out)
{
    if (shape_nodes(req) > 1)
        out->hops_inter += hops;
    else
        out->hops_intra += hops;
}

double shape_pipeline_s(struct coll_hops hops, const struct coll_phase *phase,
                        struct tier_load load, double flow_B)
{
    return phase->hops_intra * hops.intra.alpha_s + phase->hops_inter * hops.inter.alpha_s +
           (1 + phase->fill_B / flow_B) * shape_drain_s(hops, load) +
           phase->fill_intra_B * hops.intra.beta_s_per_B;
}

struct tier_load shape_shift_load(const struct coll_req *req, int distance, double bytes)
{
    int n = req->n_ranks, m = req->ranks_per_node;
    if (m == n) return (struct tier_load){.intra_B = bytes};
    int leaving = distance < n - distance ? distance : n - distance;
    if (leaving > m) leaving = m;
    return (struct tier_load){.intra_B = leaving < m ? bytes : 0, .inter_B = leaving * bytes};
}

struct tier_load shape_exchange_load(const struct coll_req *req, int step, struct exchange exchange,
                                     double bytes)
{
    int m = req->ranks_per_node, busiest = 0;
    bool stays = false;
    for (int first = 0; first < req->n_ranks; first += m) {
        int out = 0, in = 0;
        for (int member = first; member < first + m; member++) {
            int to = exchange.to(req, step, member), from = exchange.from(req, step, member);
            bool to_other = to >= 0 && (to < first || to >= first + m);
            out += to_other;
            in += from >= 0 && (from < first || from >= first + m);
            stays |= to >= 0 && !to_other;
        }
        if (out > busiest) busiest = out;
        if (in > busiest) busiest = in;
    }
    return (struct tier_load){.intra_B = stays ? bytes : 0, .inter_B = busiest * bytes};
}

/* In the first tree. */
static struct branch first_tree(int v, int n_nodes)
{
    struct branch at = {-1, {-1, -1}};
    int bit = v & -v;
    if (v == 0) {
        if (n_nodes > 1) at.children[0] = 1 << (shape_log2(n_nodes) - 1);
        return at;
    }
    at.parent = (v - bit) | (2 * bit);
    if (at.parent >= n_nodes) at.parent = v - bit;
    int below = bit / 2, above = below;
    while (above > 0 && v + above >= n_nodes) above /= 2;
    if (below > 0) at.children[0] = v - below;
    if (above > 0) at.children[1] = v + above;
    return at;
}

/* The second tree is the first with nodes renamed; mirrored when N is even, moved by one when odd,
 * so that inner nodes (even numbers) become leaves (odd ones). */
static int renamed(int v, int n_nodes, int shift)
{
    if (n_nodes % 2 == 0) return n_nodes - 1 - v;
    int moved = v + shift;
    return moved < 0 ? moved + n_nodes : moved < n_nodes ? moved : moved - n_nodes;
}

struct branch shape_branch(int node, int n_nodes, int tree)
{
    if (tree == 0) return first_tree(node, n_nodes);
    struct branch at = first_tree(renamed(node, n_nodes, -1), n_nodes);
    if (at.parent >= 0) at.parent = renamed(at.parent, n_nodes, 1);
    for (int i = 0; i < 2; i++)
        if (at.children[i] >= 0) at.children[i] = renamed(at.children[i], n_nodes, 1);
    return at;
}

int shape_branch_root(int n_nodes, int tree)
{
    return tree == 0 ? 0 : renamed(0, n_nodes, 1);
}

double shape_branch_egress(int n_nodes)
{
    static const double egress[] = {0, 0, 1, 1.5, 2}; /* by nodes */
    return egress[n_nodes < 4 ? n_nodes : 4];
}

struct fold fold_of(int n_ranks)
{
    int rounds = 31 - __builtin_clz((unsigned)n_ranks), players = 1 << rounds;
    return (struct fold){players, rounds, n_ranks - players};
}

int fold_player(struct fold fold, int rank)
{
    if (rank >= 2 * fold.surplus) return rank - fold.surplus;
    return rank % 2 == 1 ? rank / 2 : -1;
}

int fold_rank(struct fold fold, int player)
{
    return player < fold.surplus ? 2 * player + 1 : player + fold.surplus;
}
