/* Who stands where, and what a step costs: what all algorithm files share.
 *
 * Channels of ring, chain and tree go through a node so that they enter and leave it next to the
 * NIC of their number. Order of channel c in a node of m members: the entry e = c m / n_channels
 * first, then the others in cyclic order, the exit last. The exit is e's neighbour e ^ 1 (they share
 * a NIC in nodes with a NIC per two GPUs, and stand side by side otherwise), or, where the node has
 * no such member, the last in cyclic order.
 *
 *   m = 4, 4 channels (> to the next member, >> to the next node)
 *   channel 0   >> 0 > 2 > 3 > 1 >>     channel 2   >> 2 > 0 > 1 > 3 >>
 *   channel 1   >> 1 > 2 > 3 > 0 >>     channel 3   >> 3 > 0 > 1 > 2 >>
 *
 * Algorithms in which every member sends to other nodes on its own account (direct, hierarchical)
 * give each member the rails next to it instead: n_rails of them, so that all members of a node
 * together use every channel. */
#ifndef COLLECTIVES_SHAPE_H
#define COLLECTIVES_SHAPE_H

#include "collectives/coll.h"

/* shape_nodes, shape_node — the number of nodes; the node of a member (servers included). */
int shape_nodes(const struct coll_req *req);
int shape_node(const struct coll_req *req, int member);

/* shape_log2 — the number of doublings from 1 to reach at least n: ceil(log2 n). */
int shape_log2(int n);

/* shape_entry, shape_exit — a channel's first and last local index in a node. */
int shape_entry(const struct coll_req *req, int channel);
int shape_exit(const struct coll_req *req, int channel);

/* shape_way, shape_member, shape_position — the ring order of a channel, and members and positions
 * in it, each the inverse of the other. */
struct way {
    int m, entry;
    bool skips; /* the exit follows the entry in cyclic order and is left out until the end */
};
struct way shape_way(const struct coll_req *req, int channel);
int shape_member(struct way way, int position);
int shape_position(struct way way, int member);

/* shape_right — the position (or member) after this one, round. */
static inline int shape_right(const struct coll_req *req, int position)
{
    return position + 1 < req->n_ranks ? position + 1 : 0;
}

/* shape_rails, shape_rail_channel — how many rails each member has; the channel of its rail k. */
int shape_rails(const struct coll_req *req);
int shape_rail_channel(const struct coll_req *req, int local, int k);

/* shape_chunks — messages of at most chunk_B that carry bytes; at most SHAPE_MAX_CHUNKS, so that
 * counters of arrivals stay ints. */
#define SHAPE_MAX_CHUNKS (1 << 28)
int shape_chunks(const struct coll_req *req, double bytes);

/* shape_chain_B — what the busiest member sends inside its node where each channel's part of the buffer
 * goes up and down a chain of the members: inner members pass it both ways, the ends one of the two. */
double shape_chain_B(const struct coll_req *req);

/* bytes through the busiest port of each kind; 0 when no flow is of that kind */
struct tier_load {
    double intra_B, inter_B;
};

/* shape_ring_load — each member passes a block on to its right, in the ring order of each channel. */
struct tier_load shape_ring_load(const struct coll_req *req, double block_B);

/* shape_step_s — one synchronous step: ends when both kinds of messages have arrived. */
double shape_step_s(struct coll_hops hops, struct tier_load load);

/* shape_drain_s — the same without the latencies. */
double shape_drain_s(struct coll_hops hops, struct tier_load load);

/* shape_one_step — a phase of one step with that load: its slower kind of hop is its latency. */
struct coll_phase shape_one_step(struct tier_load load, int n_bundles);

/* shape_worst_hops — the hops of a chain that waits, `hops` times, for the slowest kind there is. */
void shape_worst_hops(const struct coll_req *req, int hops, struct coll_phase *out);

/* shape_pipeline_s — a pipelined phase: latencies, the busiest port at work for `load` (bytes of the
 * whole buffer), and the fill, for flows of flow_B. */
double shape_pipeline_s(struct coll_hops hops, const struct coll_phase *phase,
                        struct tier_load load, double flow_B);

/* a step in which each member sends to at most one other, and receives from at most one */
struct exchange {
    int (*to)(const struct coll_req *req, int step, int member);   /* -1: to none */
    int (*from)(const struct coll_req *req, int step, int member); /* -1: from none */
};

/* shape_exchange_load — counts the step's flows through each node, at `bytes` each. Cost O(n_ranks). */
struct tier_load shape_exchange_load(const struct coll_req *req, int step, struct exchange exchange,
                                     double bytes);

/* shape_branch — a node's neighbours in the first (0) or second (1) of the two trees over the nodes that
 * tree.c draws: who has two children in the one is a leaf in the other. */
struct branch {
    int parent, children[2]; /* -1 = none */
};
struct branch shape_branch(int node, int n_nodes, int tree);
int shape_branch_root(int n_nodes, int tree);

/* shape_branch_egress — what the busiest node sends when both trees carry half a buffer up and down
 * again, in buffers: S / 2 to its parent and both children in one, and to its parent in the other. */
double shape_branch_egress(int n_nodes);

/* shape_shift_load — a step in which each member sends to the one `distance` further on, or back. */
struct tier_load shape_shift_load(const struct coll_req *req, int distance, double bytes);

/* The way from any number of ranks to a power of two: of the first 2 `surplus` ranks the even ones
 * hand their data to their right neighbour and wait for the result; the rest are renumbered.
 *
 *   n = 5, surplus 1: 0 > 1, then 1 2 3 4 play 0 1 2 3, then 1 > 0
 *
 * Source: Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005 */
struct fold {
    int players; /* the largest power of two <= n_ranks */
    int rounds;  /* log2 of it */
    int surplus;
};
struct fold fold_of(int n_ranks);
int fold_player(struct fold fold, int rank); /* -1: sits out */
int fold_rank(struct fold fold, int player);

#endif
