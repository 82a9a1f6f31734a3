/* A network between servers as its owner describes it: switches, the cables between them, and which
 * switch each card of each server is plugged into. Read by io/graph_file.c; the fabric "graph" builds it.
 *
 * Cables are in order of their ends (a < b), then of the file. */
#ifndef NET_GRAPH_H
#define NET_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GRAPH_MAX_SWITCHES = 1 << 14, /* the table of distances has a row and a column for each */
    GRAPH_MAX_VERTICES = 1 << 20,
    GRAPH_MAX_CABLES = 1 << 20
};

/* one direction of a cable */
struct graph_way {
    double rate_Bps;  /* 0 = as the scenario's fabric or network card says */
    double latency_s; /* below 0: likewise */
};

struct graph_cable {
    int32_t a, b;             /* switches */
    struct graph_way ways[2]; /* a to b, b to a */
    bool global;
};

struct graph_host {
    int32_t node, nic;
    int32_t at;               /* its switch */
    struct graph_way ways[2]; /* to the switch, back */
};

struct net_graph {
    const char *file;
    const char *const *names; /* [n_switches] */
    const int8_t *stages;     /* [n_switches] as in topo.h */
    int n_switches;
    const struct graph_cable *cables;
    int n_cables;
    const struct graph_host *hosts;
    int n_hosts;
};

#endif
