/* Collectives: the registry of algorithms, each in three forms that must agree:
 *   cost    a closed form (estimate, choice of algorithm)
 *   phases  bundles of flows in lock step (fluid)
 *   sends   a generator of single messages (message, packet); no array of all sends exists
 *
 * Members of a group are 0 .. n_ranks - 1 in order of nodes: `ranks_per_node` neighbours share a
 * node (1 = every member on its own node; n_ranks = all on one). Servers of a parameter server are
 * members n_ranks .. n_ranks + n_servers - 1; server s stands in node s modulo the number of nodes.
 *
 * The network of the closed forms: a member has one full-duplex port of bandwidth 1 / intra.beta to
 * the other members of its node, a node one of 1 / inter.beta to the other nodes, shared by its
 * members; a message takes alpha and shares the ports it crosses with others under way. Phases and
 * sends played on that network take cost_s, to rounding for synchronous algorithms. */
#ifndef COLLECTIVES_COLL_H
#define COLLECTIVES_COLL_H

#include "base/affine.h"
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum coll_kind {
    COLL_ALLREDUCE,
    COLL_REDUCE_SCATTER,
    COLL_ALLGATHER,
    COLL_BROADCAST,
    COLL_REDUCE,
    COLL_ALLTOALL,
    COLL_SENDRECV, /* member 0 sends S to member 1; of more than two, each to the next */
    N_COLL_KINDS
};
extern const char *const coll_kind_names[N_COLL_KINDS]; /* "all_reduce", "reduce_scatter", ... */

enum { COLL_MAX_AXES = 6 };

/* size_B follows nccl-tests: all_reduce, broadcast, reduce: the buffer; reduce_scatter: the whole
 * input; all_gather: the whole output; all_to_all: one rank's send buffer; sendrecv: the message. */
struct coll_req {
    enum coll_kind kind;
    int n_ranks;        /* >= 1 */
    int ranks_per_node; /* divides n_ranks */
    int n_channels; /* >= 1: disjoint parts of the buffer that go their own way round (ring order is turned per channel so
                           that each NIC of a node serves one) */
    int n_servers;  /* parameter server only */
    int root; /* broadcast, reduce: member; parameter server: the server that holds an unsplit tensor, -1 = split over all */
    int axes
        [COLL_MAX_AXES]; /* sides of the torus that the nodes stand in, lowest first, in order of its lowest axis first;
                                the rest 0. Those of anything else than all nodes: the nodes are one axis */
    double size_B;  /* > 0 */
    double chunk_B; /* pipelining grain of tree, hierarchical and chain; > 0 */
    bool
        rendezvous; /* a rank's next send on a lane waits until its last one is delivered (true) or only injected (false) */
};

/* one flow of a bundle; all flows of a bundle carry the same bytes */
struct coll_flow {
    int src, dst; /* members */
};

/* A phase begins when the one before has ended everywhere: first its latency, which is not shared,
 * then all bundles in parallel until the last has drained. */
struct coll_phase {
    int n_bundles;
    int steps; /* messages one after the other on the critical path (lock-step sends of a rank) */
    int hops_intra,
        hops_inter; /* hops on the longest dependency chain, within and between nodes; their sum may be
                                   less than or equal to steps (ring: equal) */
    double
        fill_B; /* bytes that must pass before the pipeline is full, per flow rate: adds fill_B / rate; 0 = not pipelined */
    double
        fill_intra_B; /* likewise inside nodes, where flows between nodes set the rate: bytes of all channels together, each
                                   at full speed; adds fill_intra_B * intra.beta to the latency; 0 when all are on one node */
    double step_intra_B,
        step_inter_B; /* > 0: the steps follow each other through every port without a pause: bytes
                                          of one through the busiest port of each kind, see coll_wait_s */
};
struct coll_bundle {
    int64_t n_flows;
    int channel;  /* which NIC of a node (rail) its flows use: channel modulo NICs */
    double bytes; /* per flow */
};

/* one message: lane is a FIFO of its source; data is the range [first_unit, first_unit + n_units) of
 * the algorithm's units(). Of all_gather and reduce_scatter, unit u is part of block u modulo n_ranks
 * (block r belongs to member r); of all_to_all, it is sent to member u modulo n_ranks, where members
 * pass on what is not theirs (relays) it comes from member u / n_ranks modulo n_ranks. An algorithm
 * whose messages carry units that are not neighbours says which (unit). What arrives
 * waits in a buffer of its own until a send that waits for it begins (or the end), so a message never
 * changes data that an earlier send still has to carry. */
enum { COLL_MAX_DEPS = 3 };
struct coll_send {
    int dst;
    int channel;
    double size_B;
    int slot;   /* counter at dst that its arrival raises by one */
    int n_deps; /* waits until counters at its source have reached: */
    struct {
        int slot, count;
    } deps[COLL_MAX_DEPS];
    int64_t first_unit, n_units; /* part of the buffer carried (for playing on numbers) */
    bool reduce;                 /* receiver adds (true) or overwrites (false) */
};

/* cost of a hop of each kind on an idle network, as the closed forms want it */
struct coll_hops {
    struct affine intra,
        inter; /* per message between members of one node / of different nodes; beta = 1 / bandwidth of one flow
                                   alone (all channels together) */
};

/* coll_wait_s — what a phase takes beyond the time its busiest port is at work: the latencies of its
 * hops. Where steps follow each other without a pause, messages are under way on all hops at once. The
 * phase then takes the longer of two: the port at work and the last message's latency, or the way of
 * one message over all hops, each with its own transfer. Slack of fast hops so hides latencies.
 * Source: the pace of a cyclic system is that of its slowest circuit (here: the port, or the ring),
 * Baccelli, Cohen, Olsder & Quadrat, Synchronization and Linearity, Wiley 1992, ch. 3. */
double coll_wait_s(const struct coll_phase *phase, struct coll_hops hops, double busy_s);

struct coll_algo {
    const char *name; /* as written in scenarios */
    enum coll_kind kind;
    bool in_blocks; /* a message carries one of n_ranks blocks of the buffer, not all of it */
    bool servers;   /* has the n_servers further members */
    bool relays;    /* all_to_all: members pass on what is not theirs */
    bool (*fits)(const struct coll_req *req); /* can run this request at all */
    double (*cost_s)(const struct coll_req *req,
                     struct coll_hops hops); /* closed form on an idle uniform network */
    bool (*phase)(const struct coll_req *req, int p,
                  struct coll_phase *out); /* false: no p-th phase */
    void (*bundle)(const struct coll_req *req, int p, int b, struct coll_bundle *out);
    struct coll_flow (*flow)(const struct coll_req *req, int p, int b, int64_t k);
    int (*n_lanes)(const struct coll_req *req); /* per member */
    int (*n_slots)(const struct coll_req *req); /* counters per member */
    bool (*next)(const struct coll_req *req, int member, int lane, int64_t i,
                 struct coll_send *out);          /* false: lane is done */
    int64_t (*units)(const struct coll_req *req); /* parts the buffer is cut in */
    int64_t (*unit)(
        const struct coll_req *req, int member, const struct coll_send *send,
        int64_t j); /* the j-th that a send of the member carries; NULL: first_unit + j */
    double (*wire_frac)(
        const struct coll_req *req); /* scale-up bytes of the busier direction of a cable
                                                        over those of the sends, where the switch sums
                                                        and multiplies; NULL: the sends themselves cross */
    double (*net_wire_frac)(
        const struct coll_req
            *req); /* the same of cables between nodes, where the switches there do */
    double (*reckoned_frac)(
        const struct coll_req
            *req); /* of the rate between nodes, what a library counts with that does
                                        not tell some shapes apart; NULL: all of it */
    const char *source;
};

extern const struct coll_algo coll_algos[];
extern const int n_coll_algos;

/* coll_find — the row for that kind and name, NULL when there is none. */
const struct coll_algo *coll_find(enum coll_kind kind, const char *name);

/* coll_members — ranks plus servers. */
int coll_members(const struct coll_algo *algo, const struct coll_req *req);

/* coll_busbw_factor — busbw = algbw * factor. Source: nccl-tests PERFORMANCE.md. */
double coll_busbw_factor(enum coll_kind kind, int n_ranks);

/* coll_bytes_sent_B — what the busiest rank must send at least, without servers: S 2(n-1)/n for
 * all_reduce, S (n-1)/n for reduce_scatter, all_gather and all_to_all, S for the others; 0 for n = 1.
 * Source: nccl-tests PERFORMANCE.md, whose busbw is this over the time. */
double coll_bytes_sent_B(enum coll_kind kind, int n_ranks, double size_B);

#endif
