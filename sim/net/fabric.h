/* The registry of fabrics. To add one: write its file, declare its row's functions, add the row.
 * Scenarios, help, topo and the tests read this table. */
#ifndef NET_FABRIC_H
#define NET_FABRIC_H

#include "net/topo.h"

/* a built fabric. Its links begin with the cables of the ports: port p sends on link
 * first_link + 2 p and receives on the next. */
struct fabric {
    const struct fabric_kind *kind;
    int first_vertex, first_link;
    int n_switches;
    int radix; /* cables of the switch that has most */
    bool ecmp; /* routes by hash, else by destination */
    const struct routing *routing;
    int n_planes; /* cards j and k of servers reach each other where j = k modulo it; 1: all do */
    const int *port_up; /* [n_ports] of a fabric made of parts; NULL: as above */
    const void *own;    /* the shape, private to the kind's file */
};

struct fabric_size {
    int64_t n_switches, n_cables;
};

struct fabric_kind {
    const char *name; /* as written in scenarios */
    bool whole;       /* cannot be a part of another fabric */
    const char *summary;

    /* check — can this spec carry n_ports? Fills numbers left 0 with the smallest shape that
     * fits; reports impossible shapes (with the bad number) to diag. */
    void (*check)(struct fabric_spec *spec, int n_ports, struct diag *diag,
                  struct diag_place place);

    /* size — what build will add, cables of ports included; spec as filled in by check. */
    struct fabric_size (*size)(const struct fabric_spec *spec, int n_ports);

    /* build — add switches, links and the cables of ports (the vertices port_vertex[n_ports], NICs)
     * to topo. nic_Bps, nic_latency_s of topo->node are the cables' rate and latency. */
    void (*build)(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm);

    /* route — links from port src to port dst (src != dst), cables included. */
    int (*route)(const struct topo *topo, int src, int dst, uint64_t key, int *links);

    /* bisection — capacity between the first half of the nodes and the rest, one direction, switches
     * being on the side that is best: nothing can send more across. The worst equal cut where the
     * fabric can be halved along its leaves, pods or groups. */
    double (*bisection_Bps)(const struct topo *topo);

    /* group — which group a switch (numbered from first_vertex) belongs to, from 0: what detours go round
     * by. NULL: none, as in trees. */
    int (*group)(const struct topo *topo, int at);

    /* switch_name — as in topo_vertex_name. */
    void (*switch_name)(const struct topo *topo, struct vertex vertex, char *text, int size);

    const char *source;
};

extern const struct fabric_kind fabric_kinds[];
extern const int n_fabric_kinds;

/* fabric_find — the row of that name, NULL when there is none. */
const struct fabric_kind *fabric_find(const char *name);

/* fabric_check — defaults and ranges common to all kinds, then the kind's own check. Returns the row,
 * NULL after an error. */
const struct fabric_kind *fabric_check(struct fabric_spec *spec, int n_ports, struct diag *diag,
                                       struct diag_place place);

/* fabric_range — report `value` of the named number unless it is in [min, max]. */
bool fabric_range(const char *name, double value, double min, double max, struct diag *diag,
                  struct diag_place place);

/* fabric_groups_hold — report groups of routers that have too few ports. */
bool fabric_groups_hold(const struct fabric_spec *spec, int n_ports, struct diag *diag,
                        struct diag_place place);

/* fabric_check_link — report a rate or latency that no link has. The limits keep every quotient of two
 * rates, and every sum of latencies, a finite number. */
bool fabric_check_link(const char *name, double rate_Bps, double latency_s, struct diag *diag,
                       struct diag_place place);

/* fabric_hash — 64 well-mixed bits for an ECMP choice at one stage of a route. */
uint64_t fabric_hash(const struct topo *topo, int src, int dst, uint64_t key, int stage);

/* fabric_add_switches — n switches of a stage, numbered from 0; returns the first vertex. */
int fabric_add_switches(struct topo *topo, int n, int stage, struct arena *perm);

/* links of a port's cable */
static inline int fabric_port_up(const struct topo *topo, int port)
{
    const struct fabric *fabric = topo->fabric;
    return fabric->port_up ? fabric->port_up[port] : fabric->first_link + 2 * port;
}
static inline int fabric_port_down(const struct topo *topo, int port)
{
    return fabric_port_up(topo, port) + 1;
}

/* fabric_add_port — the cable of the next port. */
void fabric_add_port(struct topo *topo, int nic_vertex, int switch_vertex, struct arena *perm);

/* fabric_add_mesh — cables between all pairs of the n switches cable.src, cable.src + stride, ..., in the
 * order of pairs a < b. */
void fabric_add_mesh(struct topo *topo, int n, int stride, struct link cable, struct arena *perm);

/* fabric_mesh_link — the link from the src-th to the dst-th switch of a mesh of n, src != dst, whose
 * first link is `first`. */
int fabric_mesh_link(int first, int n, int src, int dst);

/* fabric_port_side — is the port in the first half of the nodes? */
bool fabric_port_side(const struct topo *topo, int port);

/* fabric_ports_bisection_Bps — what the ports of half the nodes can send: no fabric has more. */
double fabric_ports_bisection_Bps(const struct topo *topo);

/* fabric_majority_cut_Bps — capacity of a cut that parts the nodes in halves: each block of `block`
 * switches, p ports on each in order, stands where most of its ports belong, without a majority with
 * the first half; ports on the wrong side are cut as well. All links behind the ports' cables join
 * switches. Never more than the ports have. */
double fabric_majority_cut_Bps(const struct topo *topo, int p, int block, struct arena scratch);

/* fabric_group_cut_Bps — the least of the cuts by switches and by whole groups of a switches. For nodes
 * packed over an even number g of full groups that is g^2 / 4 bundles of the links between groups. */
double fabric_group_cut_Bps(const struct topo *topo, int p, int a, struct arena scratch);

/* grid_read_sides — "8x8x4" to spec's dimensions; false when it is no such text (1 to
 * FABRIC_MAX_DIMENSIONS sides of 1 to 65536). */
bool grid_read_sides(const char *text, struct fabric_spec *spec);

/* the rows' functions, each in its kind's file: star.c, clos.c, dragonfly.c, cascade.c, grid.c,
 * dragonfly_plus.c, parts.c, graph.c */
#define FABRIC_KIND_FUNCTIONS(kind)                                                                \
    void kind##_check(struct fabric_spec *spec, int n_ports, struct diag *diag,                    \
                      struct diag_place place);                                                    \
    struct fabric_size kind##_size(const struct fabric_spec *spec, int n_ports);                   \
    void kind##_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm); \
    int kind##_route(const struct topo *topo, int src, int dst, uint64_t key, int *links);         \
    double kind##_bisection_Bps(const struct topo *topo);                                          \
    void kind##_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)

int dragonfly_group(const struct topo *topo, int at);
int cascade_group(const struct topo *topo, int at);
int flyplus_group(const struct topo *topo, int at);
int grid_group(const struct topo *topo, int at);

FABRIC_KIND_FUNCTIONS(star);
FABRIC_KIND_FUNCTIONS(clos);
FABRIC_KIND_FUNCTIONS(dragonfly);
FABRIC_KIND_FUNCTIONS(cascade);
FABRIC_KIND_FUNCTIONS(grid);
FABRIC_KIND_FUNCTIONS(flyplus);
FABRIC_KIND_FUNCTIONS(graph);
FABRIC_KIND_FUNCTIONS(planes);
FABRIC_KIND_FUNCTIONS(sites);

#endif
