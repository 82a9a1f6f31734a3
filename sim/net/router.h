/* Ways through a fabric where the fabric's own formula is not enough: packets spread over all shortest
 * ways, detours, and what is left when links have failed. It works on the graph of switches, so for
 * every fabric; built anew when links fail (topo_reroute).
 *
 * Shortest: a link between groups counts as three others, so that the way over the direct global link,
 * local - global - local, is shorter than one over two global links, as minimal routing of a
 * dragonfly wants.
 *
 * When the fabric's own way has a failed link: by the surviving shortest ways, at each switch the one
 * that the digits of the destination choose (static), or the hash. All other flows keep their way. */
#ifndef NET_ROUTER_H
#define NET_ROUTER_H

#include "net/topo.h"

/* part of a flow on a link */
struct link_share {
    int32_t link;
    double frac; /* > 0, of the flow's bytes */
};

struct ways {
    const struct link_share *shares; /* each link once; valid until the next call */
    int n;
    double latency_s; /* of the longest way */
};

/* router_new — the graph of the links that have not failed, and room for distances. */
struct router *router_new(const struct topo *topo, struct arena *perm);

/* router_bundle — from now on, spreads of packets over all shortest ways name one link of each trunk only
 * (trunk.h), as links are at present; with `together` false, or other routings, each link that is used. */
void router_bundle(const struct topo *topo, bool together, struct arena scratch);

/* router_bundled — how many links the one that is named stands for, itself included. */
int router_bundled(const struct topo *topo, int link);

/* router_fits — report a fabric with too many switches for the distances between all. */
bool router_fits(const struct topo *topo, struct diag *diag, struct diag_place place);

/* router_route — one way from port to port (src != dst), cables included. */
int router_route(const struct topo *topo, int src, int dst, uint64_t key, int *links);

/* router_single — does each flow take one way, that of router_route? */
bool router_single(const struct topo *topo);

/* a connection between two ports */
struct port_pair {
    int src, dst;
    uint64_t key;
};

/* router_add — the way of a flow, or its ways, added to the present spread.
 *   adaptive   what has settled, for ugal; NULL: no other flows */
struct adaptive;
void router_add(const struct topo *topo, struct port_pair pair, const struct adaptive *adaptive);

/* router_begin — a new, empty spread; router_add_links adds one way inside a node; router_end hands
 * it over. */
void router_begin(const struct topo *topo);
void router_add_links(const struct topo *topo, const int *links, int n);
struct ways router_end(const struct topo *topo);

/* For ways by load (adaptive.h). Targets of ways are switches and, numbered behind them, groups: any
 * switch of the group will do.
 *
 * router_leg — the ways of a flow from switch src to a target; ways.latency_s is not theirs.
 *   landings[switches]   out: the switches where it ends, each once, and the part there; *n_landings of them */
struct landing {
    int32_t at;
    double frac;
    double late_s; /* latency of the longest way there */
};
int router_port_switch(const struct topo *topo, int port);
int router_n_groups(const struct topo *topo);
bool router_may_detour(const struct topo *topo, int src, int dst, int group);
struct ways router_leg(const struct topo *topo, int src, int target, struct landing *landings,
                       int *n_landings);

/* router_report_cut — report, once, ports that could reach each other before links failed and cannot
 * any more. Returns whether all still can. */
bool router_report_cut(const struct topo *topo, struct diag *diag, struct diag_place place,
                       struct arena scratch);

/* router_shun — no detours, from now on, by groups that failed links have cut off, to or from them. Where ports
 * are not cut off from each other it is the same for all. */
void router_shun(const struct topo *topo, struct arena scratch);

#endif
