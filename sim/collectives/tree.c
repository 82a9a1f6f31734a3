/* Double binary tree all_reduce: over the nodes stand two trees, each with half the data, built so
 * that who has two children in the one is a leaf in the other. Chunks are summed on their way up
 * and go down again at the same time. Inside a node the data goes along a chain of the members;
 * its head, next to the channel's NIC, is the node's member of the tree.
 *
 *   N = 5        0             N = 4      0              3          node 0, m = 3, channel 0:
 *                 \                        \            /             up, children
 *                  4                        2          1               |
 *                 /                        / \        / \              0 - 2 - 1
 *                2                        1   3      0   2
 *               / \                        first   second: mirrored
 *              1   3   second: every number one higher, modulo N
 *
 * Node v > 0, b its lowest set bit, hangs from v - b with bit 2b set, or, where the last node is
 * before that, from v - b: the tree that finds 1 .. N - 1 in order. The top of it hangs from 0.
 *
 *   T = 2 ((m - 1) alpha_intra + ceil(log2 N) alpha_inter) + (S + fill) max(egress beta_inter,
 *       inside beta_intra)      egress = 1, 1.5, 2 for N = 2, 3, >= 4; inside = 2 for m >= 3
 *
 * since the busiest node sends S / 2 to its parent and both children in one tree and to its parent
 * in the other. NCCL's tuner takes floor(log2 N), which is less than the tree's depth where N is no
 * power of two.
 * Source: Sanders, Speck & Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan, Parallel Computing 35(12), 2009; over nodes with chains inside, NCCL src/graph/trees.cc. */
#include "collectives/algos.h"
#include "collectives/shape.h"

enum { MANY_NODES = 4 }; /* from so many on, a tree's node has a parent and two children */

bool tree_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

/* Streams: one per channel and tree, cut in chunks. */
static double stream_B(const struct coll_req *req)
{
    return req->size_B / (2 * req->n_channels);
}

static int n_chunks(const struct coll_req *req)
{
    return shape_chunks(req, stream_B(req));
}

/* Until the pipeline is full, chunks only go up or only go down and find the ports half free: a
 * hop takes half the time of later ones, or one chunk of all streams at full speed. Two ranks of one
 * node are the exception: each has one direction to serve, and its port to itself from the start. */
static void set_fill(const struct coll_req *req, double chunk_B, struct coll_phase *phase)
{
    bool leaves = shape_nodes(req) > 1;
    int hops = leaves ? phase->hops_inter : phase->hops_intra, waits = hops / 2 - 1;
    if (!leaves && hops == 2) waits = 1;
    phase->fill_B = waits * chunk_B;
    if (leaves) phase->fill_intra_B = phase->hops_intra * chunk_B * 2 * req->n_channels;
}

static struct coll_phase shape_of(const struct coll_req *req)
{
    int intra = 2 * (req->ranks_per_node - 1), inter = 2 * shape_log2(shape_nodes(req));
    int chunks = n_chunks(req);
    struct coll_phase phase = {.n_bundles = 2 * req->n_channels,
                               .steps = intra + inter + chunks - 1,
                               .hops_intra = intra,
                               .hops_inter = inter};
    set_fill(req, stream_B(req) / chunks, &phase);
    if (req->rendezvous) shape_worst_hops(req, chunks - 1, &phase);
    return phase;
}

double tree_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    if (req->n_ranks == 1) return 0;
    struct coll_phase phase = shape_of(req);
    struct tier_load load = {.intra_B = shape_chain_B(req),
                             .inter_B = shape_branch_egress(shape_nodes(req)) * req->size_B};
    return shape_pipeline_s(hops, &phase, load, stream_B(req));
}

/* NCCL counts with all that leaves a node of many: its search looks for a faster tree on two nodes only,
 * so on three it takes rings of large buffers, though trees would send less.
 * Source: NVIDIA/nccl src/graph/tuning.cc, ratio of what is no ring: .5; search.cc on bwIntra. */
double tree_reckoned_frac(const struct coll_req *req)
{
    int nodes = shape_nodes(req);
    return nodes > 2 ? shape_branch_egress(nodes) / shape_branch_egress(MANY_NODES) : 1;
}

bool tree_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p > 0 || req->n_ranks == 1) return false;
    *out = shape_of(req);
    return true;
}

void tree_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    *out = (struct coll_bundle){
        .n_flows = 2 * ((int64_t)req->n_ranks - 1), .channel = b / 2, .bytes = stream_B(req)};
}

/* a member's neighbours in a stream: towards the root, along the chain, heads of the children */
struct station {
    int up, chain, children[2];
    int up_slot; /* which of the upper one's counters its sums raise */
};

/* counters and lanes of a member in a stream */
enum { FROM_CHAIN, FROM_CHILD, FROM_UP = FROM_CHILD + 2, N_FROM };
enum { TO_UP, TO_CHAIN, TO_CHILD, N_TO = TO_CHILD + 2 };

static struct station station_of(const struct coll_req *req, int stream, int member)
{
    int m = req->ranks_per_node, nodes = shape_nodes(req), channel = stream / 2;
    struct way way = shape_way(req, channel);
    int place = shape_position(way, member), node = place / m, j = place % m;
    struct station at = {.up = -1, .chain = -1, .children = {-1, -1}, .up_slot = FROM_CHAIN};
    if (j + 1 < m) at.chain = shape_member(way, place + 1);
    if (j > 0) {
        at.up = shape_member(way, place - 1);
        return at;
    }
    struct branch branch = shape_branch(node, nodes, stream % 2);
    if (branch.parent >= 0) {
        at.up = shape_member(way, branch.parent * m);
        at.up_slot = FROM_CHILD;
        if (shape_branch(branch.parent, nodes, stream % 2).children[1] == node) at.up_slot++;
    }
    for (int i = 0; i < 2; i++)
        if (branch.children[i] >= 0) at.children[i] = shape_member(way, branch.children[i] * m);
    return at;
}

/* All members but the stream's root send up; the same pairs turned round are the way down. */
struct coll_flow tree_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    int last = req->n_ranks - 1, m = req->ranks_per_node;
    int root_node = shape_branch_root(shape_nodes(req), b % 2);
    int root = shape_member(shape_way(req, b / 2), root_node * m);
    int lower = (int)(k < last ? k : k - last);
    if (lower >= root) lower++;
    int upper = station_of(req, b, lower).up;
    return k < last ? (struct coll_flow){lower, upper} : (struct coll_flow){upper, lower};
}

int tree_lanes(const struct coll_req *req)
{
    return 2 * req->n_channels * N_TO;
}

int tree_slots(const struct coll_req *req)
{
    return 2 * req->n_channels * N_FROM;
}

int64_t tree_units(const struct coll_req *req)
{
    return 2 * (int64_t)req->n_channels * n_chunks(req);
}

/* A chunk's sum is complete here when it has come from all below. */
static void wait_for_below(const struct station *at, int first_slot, int count,
                           struct coll_send *send)
{
    const int below[] = {[FROM_CHAIN] = at->chain,
                         [FROM_CHILD] = at->children[0],
                         [FROM_CHILD + 1] = at->children[1]};
    for (int from = 0; from < FROM_UP; from++) {
        if (below[from] < 0) continue;
        send->deps[send->n_deps].slot = first_slot + from;
        send->deps[send->n_deps++].count = count;
    }
}

bool tree_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int stream = lane / N_TO, to = lane % N_TO, chunks = n_chunks(req);
    int first_slot = stream * N_FROM, count = (int)i + 1;
    if (i >= chunks) return false;
    struct station at = station_of(req, stream, member);
    int dst[] = {[TO_UP] = at.up,
                 [TO_CHAIN] = at.chain,
                 [TO_CHILD] = at.children[0],
                 [TO_CHILD + 1] = at.children[1]};
    if (dst[to] < 0) return false;
    *out = (struct coll_send){.dst = dst[to],
                              .channel = stream / 2,
                              .size_B = stream_B(req) / chunks,
                              .slot = first_slot + (to == TO_UP ? at.up_slot : FROM_UP),
                              .first_unit = (int64_t)stream * chunks + i,
                              .n_units = 1,
                              .reduce = to == TO_UP};
    if (to == TO_UP || at.up < 0) {
        wait_for_below(&at, first_slot, count, out);
    } else {
        out->n_deps = 1;
        out->deps[0].slot = first_slot + FROM_UP;
        out->deps[0].count = count;
    }
    return true;
}
