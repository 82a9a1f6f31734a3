/* A communication library is data: what it picks for a size and shape, its latencies, channels,
 * chunks. Profiles are JSON in scenarios/libraries; versions are rows there, not code. */
#ifndef COLLECTIVES_LIBRARY_H
#define COLLECTIVES_LIBRARY_H

#include "collectives/coll.h"

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
        efficiency_net;       /* payload / line rate, 0 < e <= 1 */
    double channel_cap_Bps;   /* per library channel, INFINITY if none */
    double min_B, max_B;      /* sizes it is allowed for; 0 .. INFINITY */
    int max_nodes, min_nodes; /* max_nodes 0: no limit */
};

struct library {
    const char *name, *version, *source;
    struct lib_choice *choices; /* earlier rows win ties */
    int n_choices;
    int n_channels; /* library channels; the cap of a bundle is channel_cap_Bps * n_channels / distinct patterns */
    double chunk_B;  /* pipelining grain */
    double launch_s; /* host and kernel launch before anything moves, per collective */
    bool rendezvous; /* see coll_req */
    const char *
        selection; /* "fastest" (closed-form minimum, as NCCL's tuner) or "first" (first row that fits) */
};

/* library_choose — the row a library takes.
 *   hops[n_choices]    what a hop costs under each row (the caller knows the network)
 *   algorithm, protocol  forced names, NULL = free
 *   returns the index, -1 when nothing fits. */
int library_choose(const struct library *lib, const struct coll_req *req,
                   const struct coll_hops *hops, int n_nodes, const char *algorithm,
                   const char *protocol);

#endif
