/* A communication library is data: what it picks for a size and shape, its latencies, channels,
 * chunks. Profiles are JSON in scenarios/libraries; versions are rows there, not code. */
#ifndef COLLECTIVES_LIBRARY_H
#define COLLECTIVES_LIBRARY_H

#include "base/sides.h"
#include "collectives/coll.h"

/* classes of size, and reaches: errors of predicted times differ by them */
enum { LIB_N_SIZES = 4 };
extern const double lib_size_below_B[LIB_N_SIZES]; /* 64 kB, 8 MB, 64 MB, INFINITY */
enum { LIB_INSIDE, LIB_BETWEEN, LIB_N_REACHES };   /* a server; servers */

/* sizes of buffers that a library tells apart when it corrects what it reckons */
enum { LIB_MAX_SHARES = 32, LIB_FIRST_SHARE_B = 64 };

/* What a library reckons with when it chooses, where that is not what its rows cost. */
struct lib_tuner {
    double base_latency_s;
    double scaleup_latency_s, pcie_latency_s, net_latency_s;
    double efficiency_scaleup, efficiency_pcie, efficiency_net;
    double
        inner_floor_s; /* least latency of a hop inside a node, of what leaves the node: cards are
                             driven in every step */
    double plateau;    /* its latencies times that much for an all-reduce between nodes; 0: 1 */
    double pair_Bps, more_Bps; /* most that it expects of all channels together on two nodes, and on
                                  more; 0: no limit */
    double share[LIB_MAX_SHARES]; /* its efficiencies times share[k] where the buffer has
                                     LIB_FIRST_SHARE_B 2^k bytes or more; beyond n_shares 1 */
    int n_shares;
};

/* What the transport between nodes adds to a row. */
struct lib_net {
    double handshake_s; /* per hop of a message that is not sent eagerly: both ends first agree */
    double connection_Bps; /* most that one connection carries; 0: no limit */
    double rank_Bps;       /* most that one rank sends to other servers; 0: no limit */
    double window_B;       /* bytes in flight on one connection; 0: no limit */
    double eager_B; /* size at which half of it is paid; larger ones pay it all, in the limit */
    double peer_s; /* per peer on another node that a rank has in an all-to-all; 0: as per_peer_s */
    double inject_B,
        inject_s; /* messages of an all-to-all that the host copies out of GPU memory, up
                                  to this size, take so much more each */
    double
        half_B; /* message of which a card sends half as fast as it sends large ones; 0: all alike */
    double pair_frac,
        more_frac; /* most of the line rate that the row reaches on two nodes, and on more;
                                    0: no limit */
    bool unseen;   /* the library chooses as if there were no such limit */
};

/* one (algorithm, protocol) a library may choose for a kind of collective */
struct lib_choice {
    enum coll_kind kind;
    const struct coll_algo *algo;
    const char *protocol; /* "LL", "LL128", "Simple", "tcp", ... */
    double base_latency_s;
    double scaleup_latency_s, pcie_latency_s, net_latency_s; /* per hop */
    double scaleup_wire_s, pcie_wire_s,
        net_wire_s; /* the part of them that a usual wire takes; of a longer one the rest comes on top */
    double efficiency_scaleup, efficiency_pcie,
        efficiency_net;     /* payload / line rate, 0 < e <= 1 */
    double channel_cap_Bps; /* per library channel, INFINITY if none */
    double
        net_cap_Bps; /* likewise, of what leaves a node, see library_limit_connections; 0 if none */
    double channel_B,
        channel_per_rank_B; /* a channel is opened for each channel_B + n channel_per_rank_B
                                             bytes of the buffer; both 0: all are always open */
    double per_peer_s;      /* all-to-all: start-up for each of the n - 1 peers */
    double
        own_copy_Bps; /* per channel: a rank's own block, copied while it sends nothing; 0: not paid */
    double
        fill_B; /* so much of the buffer passes links between GPUs before all stages of the pipeline work at
                   once, and takes twice the time; 0: none */
    double chunk_B; /* pipelining grain; 0: the library's */
    double
        least_chunk_B; /* it is halved down to this where the pipeline would be short; 0: it is not */
    struct lib_net net;
    double issue_frac;        /* of issue_s and issue_per_rank_s that it pays; 0: all */
    double handshake_frac;    /* of net.handshake_s that the protocol pays */
    double inject_frac;       /* likewise of net.inject_s */
    double min_B, max_B;      /* sizes it is allowed for; 0 .. INFINITY */
    int max_nodes, min_nodes; /* max_nodes 0: no limit */
    int max_per_node;         /* most ranks of a node; 0: no limit */
    int max_ranks, min_ranks; /* likewise in ranks */
    bool needs_card;          /* between nodes only where GPUs share a PCIe switch with
                                 cards that keep order */
    bool needs_scaleup;       /* only where GPUs have links of their own */
    bool offered;             /* false: this version has no such choice (profiles drop it) */
    bool has_tuner;           /* false: the library reckons with the row itself */
    struct lib_tuner tuner;
    const char *tuner_shares; /* as the profile writes tuner.share */
};

struct library {
    const char *name, *version, *source;
    struct lib_choice *choices; /* earlier rows win ties */
    int n_choices;
    int n_channels; /* library channels; the cap of a bundle is channel_cap_Bps * n_channels / distinct patterns */
    double chunk_B;         /* pipelining grain */
    double launch_s;        /* host and kernel launch before anything moves, per collective */
    double channel_start_s; /* the same, for each open channel */
    double issue_s,
        issue_per_rank_s; /* host time from one collective to the next: what its members' moves do
                                         not hide, it waits for; the second for each rank of a node */
    bool rendezvous;      /* see coll_req */
    const char *
        selection; /* "fastest" (closed-form minimum, as NCCL's tuner) or "first" (first row that fits) */
    struct sides spread[LIB_N_REACHES][LIB_N_SIZES]; /* of measured about predicted times */
};

/* library_channels — open for this request: all-to-all opens them for each peer by what it gets. */
int library_channels(const struct library *lib, const struct lib_choice *choice,
                     const struct coll_req *req);

/* library_row — what a choice costs for one request: start-up of channels, of peers on other nodes
 * and the copy of a rank's own block join the base latency, the handshake of its messages the latency
 * between nodes, the cap is that of the open channels, what a switch that sums spares the cables
 * raises the efficiency, and stages that fill lower it. Everything that is timed is timed by this row. */
struct lib_choice library_row(const struct library *lib, const struct lib_choice *choice,
                              const struct coll_req *req);

/* library_limit_connections — a channel sends to a peer on another node over a connection of its own, which
 * carries no more than it may, nor more than a window for each round trip; the ranks of a node together no
 * more than each of them may. Sets net_cap_Bps of a request's
 * row. Source: bandwidth-delay product, Jacobson & Braden, RFC 1072, 1988. */
void library_limit_connections(const struct library *lib, const struct coll_req *req,
                               double round_trip_s, struct lib_choice *row);

/* library_leaving_Bps — most that a library channel carries out of a node; INFINITY if there is no limit. */
double library_leaving_Bps(const struct lib_choice *row);

/* library_issue_s — the least time from one collective of this kind to the next: the host writes what a
 * channel has to do for each that is open, the first of which is counted in issue_s. */
double library_issue_s(const struct library *lib, const struct lib_choice *choice,
                       const struct coll_req *req);

/* library_tuner_row — the same choice as the library reckons with it. */
struct lib_choice library_tuner_row(const struct library *lib, const struct lib_choice *choice,
                                    const struct coll_req *req);

/* library_class — where the spread of a time stands: by size, and by whether it leaves a server. */
struct library_class {
    int reach, size;
};
struct library_class library_class(double size_B, bool leaves);

/* library_sides — the spread of a request's time. */
struct sides library_sides(const struct library *lib, const struct coll_req *req);

/* library_same_way — do two rows load the network alike? */
bool library_same_way(const struct lib_choice *a, const struct lib_choice *b);

/* library_choose — the row a library takes.
 *   hops[n_choices]    what a hop costs under each row (the caller knows the network)
 *   algorithm, protocol  forced names, NULL = free. An algorithm that is forced is taken for sizes and
 *                        ranks for which the library would not take it by itself, too
 *   returns the index, -1 when nothing fits. */
int library_choose(const struct library *lib, const struct coll_req *req,
                   const struct coll_hops *hops, int n_nodes, const char *algorithm,
                   const char *protocol);

#endif
