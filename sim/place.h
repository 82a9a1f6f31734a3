/* Where the members of a group stand, and the way between two of them. The algorithms of
 * collectives/ know members only, the network knows endpoints only; this is the one place that
 * knows both.
 *
 * Members of a node are neighbours, in order of GPUs; nodes come in the order of their first ranks, as
 * the job is placed. Only in a sendrecv, where member 0 sends to member 1, do members keep the order
 * that the job gives them.
 *
 * Nodes with unequal numbers of members: ranks_per_node is the greatest common divisor of the
 * numbers. The blocks of neighbours that an algorithm sees then never straddle two nodes; a node
 * may hold several. Closed forms count hops between the blocks of a node as hops between nodes;
 * flows take their true way. */
#ifndef PLACE_H
#define PLACE_H

#include "inputs.h"

struct place {
    const struct inputs *in;
    const struct topo *topo; /* whose ways flows take: in->topo, or that of a later epoch */
    int comm, group;
    int n_ranks, n_servers;
    int n_nodes;        /* that hold members */
    int ranks_per_node; /* see above */
    int n_channels;     /* NICs per node that some member uses; 1 on a single node */
    bool even;          /* all nodes hold equal numbers of members */
    int *ranks;         /* [n_ranks] of the job, in order of members */
    int *gpus;          /* [n_ranks] */
    int *nodes;         /* [n_nodes] in order */
    int *rails; /* [n_channels] NIC of a channel; with one channel each endpoint's nearest serves */
    int *rail_member; /* [n_channels] first member that uses it */
};

/* place_group — cost O(n log n) of its ranks, O(n) when they already stand in order of GPUs. */
struct place *place_group(const struct inputs *in, int comm, int group, bool ordered,
                          struct arena *perm);

/* place_axes — out: coll_req.axes of a group that has all nodes of a grid, each holding equally many of its
 * members, in order; untouched otherwise. */
void place_axes(const struct place *place, int *axes);

/* place_at — the same group with the ways of an epoch (0: the first). */
struct place place_at(const struct place *place, int epoch);

/* place_ordered — may the members of this kind of collective be put in order of GPUs? */
bool place_ordered(enum coll_kind kind);

/* place_root — coll_req.root of an op: ranks are renumbered with the members, servers are not. */
int place_root(const struct place *place, int root);

/* place_route — the links of a flow between two members; servers (n_ranks, ...) stand in the host
 * memories of the group's nodes in turn. Flows of equal ends and channel share a connection. */
int place_route(const struct place *place, struct coll_flow flow, int channel, int *links);

/* place_spread — the same as parts of the flow on links (topo_spread); adaptive as there. */
struct ways place_spread(const struct place *place, struct coll_flow flow, int channel,
                         const struct adaptive *adaptive);

/* place_offer — see topo_offer. */
void place_offer(const struct place *place, struct coll_flow flow, int channel,
                 struct adaptive *adaptive, struct arena *perm);

/* what a message pays per hop, by the slowest kind of link on its way */
enum hop_kind { HOP_SCALEUP, HOP_PCIE, HOP_NET, N_HOP_KINDS };
enum hop_kind place_hop_kind(const struct topo *topo, const int *links, int n_links);

/* place_hop_s — alpha of a hop whose wire takes wire_s: what the row says, and of the wire what goes
 * beyond the usual one, which the row's figure holds. */
double place_hop_s(const struct lib_choice *row, enum hop_kind kind, double wire_s);

/* place_efficiency — payload per byte on a link of that tier. */
double place_efficiency(const struct lib_choice *row, enum tier tier);

/* what neighbours of a group see of an idle network, before any library's overheads */
struct reach {
    bool used;
    enum hop_kind kind;
    double latency_s;            /* longest */
    double slowest_Bps[N_TIERS]; /* narrowest link of each tier on any way; INFINITY if none */
    double best_Bps[N_TIERS];    /* the same on the one best way */
    double best_narrowest_Bps;
};
struct reaches {
    struct reach intra, inter; /* inter: one channel */
    struct reach server;       /* between members and servers on other nodes */
    int n_channels;
};

/* place_reaches — from each member to the next, from each node to the next over each rail, and
 * between each node and each server. Servers count only for algorithms that have them. */
struct reaches place_reaches(const struct place *place);

/* place_hops — coll_hops under a row of the library. `best` takes the fastest way instead of the
 * slowest: what a library, which does not know of a link that got slow, reckons with. */
struct coll_hops place_hops(const struct reaches *reaches, const struct library *library,
                            const struct lib_choice *row, bool best);

#endif
