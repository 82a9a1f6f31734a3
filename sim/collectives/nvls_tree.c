/* All-reduce by owners and trees: in each node each member owns a part of the buffer. The others send it
 * their shares, it sums them, and over the nodes the owners of the same part stand in the double binary
 * tree of tree.c. Sums go up, results come down and back to the others; chunks follow each other.
 *
 *   N = 2 nodes of m = 3:   0 1 2 | 3 4 5, parts a b c; part a
 *   in the node    1 2 > 0      4 5 > 3
 *   across         3 > 0 up,    0 > 3 down       one tree has its root in 0, the other in 3
 *   in the node    0 > 1 2      3 > 4 5
 *
 *   T = 2 alpha_intra + 2 ceil(log2 N) alpha_inter
 *       + (S + fill) max(e beta_inter, 2 (m - 1) / m beta_intra)      e = 1, 1.5, 2 for N = 2, 3, >= 4
 *
 * The switches of the nodes sum and multiply, so of 2 (m - 1) / m S a cable carries (m + 1) / m S
 * (nvls_wire_frac in inswitch.c).
 *
 * Shares of one chunk come from many members, so counters are kept apart: chunk i uses number i modulo
 * a window, and a member sends its share of it only when it has the result of the chunk a window before.
 * The window is some times the way of a chunk, so that it holds nobody up.
 * Source: NVIDIA/nccl, algorithm NVLSTree (src/transport/nvls.cc, src/graph/connect.cc); trees: Sanders, Speck & Traeff, Parallel Computing 35(12), 2009. */
#include "collectives/algos.h"
#include "collectives/shape.h"

enum { WINDOW_PER_HOP = 4 };

bool nvls_tree_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

/* Streams: one per owner, rail and tree. */
static int n_streams(const struct coll_req *req)
{
    return 2 * req->ranks_per_node * shape_rails(req);
}

static int owner_of(const struct coll_req *req, int stream)
{
    return stream / (2 * shape_rails(req));
}

static int channel_of(const struct coll_req *req, int stream)
{
    int rail = stream / 2 % shape_rails(req);
    return shape_rail_channel(req, owner_of(req, stream), rail);
}

static double stream_B(const struct coll_req *req)
{
    return req->size_B / n_streams(req);
}

static int n_chunks(const struct coll_req *req)
{
    return shape_chunks(req, stream_B(req));
}

static int hops_inside(const struct coll_req *req)
{
    return req->ranks_per_node > 1 ? 2 : 0;
}

static int hops_across(const struct coll_req *req)
{
    return 2 * shape_log2(shape_nodes(req));
}

static int window(const struct coll_req *req)
{
    return WINDOW_PER_HOP * (hops_inside(req) + hops_across(req));
}

/* Between nodes pipelines fill as in tree.c. Inside, the first chunk of all streams comes in and the
 * last goes out while cables to other nodes wait. */
static struct coll_phase shape_of(const struct coll_req *req)
{
    int m = req->ranks_per_node, inside = hops_inside(req), across = hops_across(req);
    int chunks = n_chunks(req);
    double chunk_B = stream_B(req) / chunks;
    struct coll_phase phase = {.n_bundles = n_streams(req),
                               .steps = inside + across + chunks - 1,
                               .hops_intra = inside,
                               .hops_inter = across};
    if (across > 0) {
        int waits = across / 2 - 1, at_once = 2 * (m - 1) * shape_rails(req);
        phase.fill_B = waits * chunk_B;
        phase.fill_intra_B = inside * at_once * chunk_B;
    }
    if (req->rendezvous) shape_worst_hops(req, chunks - 1, &phase);
    return phase;
}

double nvls_tree_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    if (req->n_ranks == 1) return 0;
    double m = req->ranks_per_node;
    struct coll_phase phase = shape_of(req);
    struct tier_load load = {.intra_B = 2 * (m - 1) / m * req->size_B,
                             .inter_B = shape_branch_egress(shape_nodes(req)) * req->size_B};
    return shape_pipeline_s(hops, &phase, load, stream_B(req));
}

bool nvls_tree_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    *out = shape_of(req);
    return true;
}

void nvls_tree_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){.n_flows = 2 * ((int64_t)req->n_ranks - 1),
                                .channel = channel_of(req, b),
                                .bytes = stream_B(req)};
}

/* All members but the stream's root send up; the same pairs turned round are the way down. */
struct coll_flow nvls_tree_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    int last = req->n_ranks - 1, m = req->ranks_per_node, nodes = shape_nodes(req);
    int owner = owner_of(req, b), root = shape_branch_root(nodes, b % 2) * m + owner;
    int lower = (int)(k < last ? k : k - last);
    if (lower >= root) lower++;
    int node = lower / m;
    if (lower % m == owner) node = shape_branch(node, nodes, b % 2).parent;
    int upper = node * m + owner;
    return k < last ? (struct coll_flow){lower, upper} : (struct coll_flow){upper, lower};
}

/* lanes of a member in a stream, TO_INSIDE being the first of m - 1; counters, FROM_INSIDE being the
 * first of a window of them */
enum { TO_UP, TO_CHILD, TO_INSIDE = TO_CHILD + 2 };
enum { FROM_CHILD, FROM_UP = FROM_CHILD + 2, FROM_INSIDE };

int nvls_tree_lanes(const struct coll_req *req)
{
    return n_streams(req) * (TO_INSIDE + req->ranks_per_node - 1);
}

static int slots_each(const struct coll_req *req)
{
    return FROM_INSIDE + window(req);
}

int nvls_tree_slots(const struct coll_req *req)
{
    return n_streams(req) * slots_each(req);
}

int64_t nvls_tree_units(const struct coll_req *req)
{
    return (int64_t)n_streams(req) * n_chunks(req);
}

static void wait_for(struct coll_send *send, int slot, int count)
{
    send->deps[send->n_deps].slot = slot;
    send->deps[send->n_deps++].count = count;
}

/* Where an owner's message of a stream goes: the member, and which of its counters it raises. */
struct target {
    int member; /* -1: there is none */
    int slot;
};

static struct target target_of(const struct coll_req *req, const struct branch *at, int stream,
                               int node, int to)
{
    int m = req->ranks_per_node, owner = owner_of(req, stream), nodes = shape_nodes(req);
    if (to >= TO_INSIDE) {
        int other = to - TO_INSIDE;
        return (struct target){node * m + other + (other >= owner), FROM_UP};
    }
    int next = to == TO_UP ? at->parent : at->children[to - TO_CHILD];
    if (next < 0) return (struct target){-1, 0};
    if (to != TO_UP) return (struct target){next * m + owner, FROM_UP};
    bool second = shape_branch(next, nodes, stream % 2).children[1] == node;
    return (struct target){next * m + owner, FROM_CHILD + second};
}

/* An owner's i-th message of a lane: up when all below have come, down when the result has. */
static bool owner_sends(const struct coll_req *req, int member, int lane, int i,
                        struct coll_send *out)
{
    int m = req->ranks_per_node, each = TO_INSIDE + m - 1;
    int stream = lane / each, to = lane % each, node = member / m;
    struct branch at = shape_branch(node, shape_nodes(req), stream % 2);
    struct target target = target_of(req, &at, stream, node, to);
    int first = stream * slots_each(req);
    if (target.member < 0) return false;
    out->dst = target.member;
    out->slot = first + target.slot;
    out->reduce = to == TO_UP;
    if (to != TO_UP && at.parent >= 0) {
        wait_for(out, first + FROM_UP, i + 1);
        return true;
    }
    for (int child = 0; child < 2; child++)
        if (at.children[child] >= 0) wait_for(out, first + FROM_CHILD + child, i + 1);
    int w = window(req);
    if (m > 1) wait_for(out, first + FROM_INSIDE + i % w, (i / w + 1) * (m - 1));
    return true;
}

/* The i-th share that a member sends to the owner in its node. */
static bool share_goes(const struct coll_req *req, int member, int lane, int i,
                       struct coll_send *out)
{
    int m = req->ranks_per_node, each = TO_INSIDE + m - 1, w = window(req);
    int stream = lane / each, first = stream * slots_each(req);
    if (lane % each != TO_UP) return false;
    out->dst = member - member % m + owner_of(req, stream);
    out->slot = first + FROM_INSIDE + i % w;
    out->reduce = true;
    if (i >= w) wait_for(out, first + FROM_UP, i - w + 1);
    return true;
}

bool nvls_tree_next(const struct coll_req *req, int member, int lane, int64_t i,
                    struct coll_send *out)
{
    int m = req->ranks_per_node, chunks = n_chunks(req), stream = lane / (TO_INSIDE + m - 1);
    if (i >= chunks || req->n_ranks == 1) return false;
    *out = (struct coll_send){.channel = channel_of(req, stream),
                              .size_B = stream_B(req) / chunks,
                              .first_unit = (int64_t)stream * chunks + i,
                              .n_units = 1};
    bool owns = member % m == owner_of(req, stream);
    return (owns ? owner_sends : share_goes)(req, member, lane, (int)i, out);
}
