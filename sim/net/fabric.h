/* The registry of fabrics. To add one: write its file, declare its row's functions, add the row.
 * Scenarios, help, topo and the tests read this table. */
#ifndef NET_FABRIC_H
#define NET_FABRIC_H

#include "net/topo.h"

struct fabric_kind {
    const char *name; /* as written in scenarios */
    const char *summary;

    /* check — can this spec carry n_ports? Fills numbers left 0 with the smallest shape that
     * fits; reports impossible shapes (with the bad number) to diag. */
    void (*check)(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place);

    /* build — add switches, links and the cables of ports (the vertices port_vertex[n_ports], NICs)
     * to topo. nic_Bps, nic_latency_s of topo->node are the cables' rate and latency. */
    void (*build)(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm);

    /* route — links from port src to port dst (src != dst), cables included. */
    int (*route)(const struct topo *topo, int src, int dst, uint64_t key, int *links);

    /* bisection — capacity across the worst equal cut, one direction, by formula. */
    double (*bisection_Bps)(const struct topo *topo);

    const char *source;
};

extern const struct fabric_kind fabric_kinds[];
extern const int n_fabric_kinds;

/* fabric_find — the row of that name, NULL when there is none. */
const struct fabric_kind *fabric_find(const char *name);

#endif
