/* The network as a graph: vertices (GPUs, host memories, NICs, switches) and directed links.
 * Built once at load time by node.c (inside a server) and a fabric (between servers); after that
 * it is only read. A full-duplex cable is two links.
 *
 * Numbering: GPU g sits on node g / gpus_per_node. NIC k of node i is the fabric's port
 * wire(i, k). Routes are computed, never stored: no table of all pairs exists. */
#ifndef NET_TOPO_H
#define NET_TOPO_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum vertex_kind {
    VERTEX_GPU,
    VERTEX_HOST,
    VERTEX_PCIE_SWITCH,
    VERTEX_NVSWITCH,
    VERTEX_NIC,
    VERTEX_SWITCH,
    VERTEX_MEMORY /* of a socket, where its rate is told */
};

/* the tier a link belongs to: what the report names, what --set and what-ifs scale together */
enum tier { TIER_SCALEUP, TIER_PCIE, TIER_HOST, TIER_NIC, TIER_FABRIC, TIER_GLOBAL, N_TIERS };
extern const char
    *const tier_names[N_TIERS]; /* "scale-up", "pcie", "host", "nic", "fabric", "global" */

/* of a switch; a multi-site fabric's gateways are beside them */
enum stage { STAGE_LEAF, STAGE_SPINE, STAGE_CORE, STAGE_GATEWAY, N_STAGES };

struct vertex {
    enum vertex_kind kind;
    int32_t
        index; /* GPU: rank-independent GPU number; host, NIC: number in its node; switch: number in its stage */
    int32_t
        owner; /* node number; for switches the stage (routers are leaves), in part k of a fabric made
                  of parts plus k times N_STAGES */
};

struct link {
    int32_t src, dst; /* vertices */
    enum tier tier;
    double capacity_Bps; /* > 0 payload-independent line rate, one direction */
    double latency_s;    /* >= 0 */
    bool failed;         /* carries nothing: routes go round it */
};

/* what a server looks like inside; a profile from scenarios/hardware, see docs/scenario.md */
enum scaleup_kind {
    SCALEUP_NONE,   /* GPUs talk over PCIe */
    SCALEUP_SWITCH, /* each GPU has scaleup_Bps up to and down from a non-blocking switch */
    SCALEUP_MESH /* direct links; modelled as a switch of the same capacity per GPU, see docs/model.md */
};
struct node_spec {
    int gpus_per_node;        /* >= 1 */
    int nics_per_node;        /* >= 0; 0 only when there is one node */
    int sockets;              /* >= 1; GPUs and NICs are spread over the sockets in order */
    int gpus_per_pcie_switch; /* >= 1; 1 = each GPU has its own port of the host bridge */
    enum scaleup_kind scaleup;
    double scaleup_Bps, scaleup_latency_s; /* per GPU and direction */
    double pcie_Bps, pcie_latency_s;       /* per x16 slot and direction */
    double memory_Bps; /* of a socket's memory, reads and writes together; 0 = never in the way */
    double socket_Bps, socket_latency_s; /* between neighbouring sockets, per direction */
    double nic_Bps,
        nic_latency_s; /* NIC port, per direction: the link between NIC and its switch */
    bool gpudirect;    /* NIC reads GPU memory; otherwise data is staged through host memory */
    bool p2p;          /* GPUs read each other over PCIe; otherwise staged through host memory */
};

enum { FABRIC_MAX_DIMENSIONS = 6 };

/* the network between servers; which numbers count depends on the kind (fabric registry) */
struct fabric_spec {
    const char *kind; /* a name in fabric_kinds */
    int levels;       /* fat-tree: 2 or 3, 0 = 2 if that fits, else 3 */
    int radix;        /* fat-tree: ports per switch, 0 = chosen to fit (see clos.c) */
    int ports_per_leaf, leaves_per_pod, n_pods; /* fat-tree given outright, 0 = from radix */
    int hosts_per_leaf; /* servers instead of ports_per_leaf: all cards of each, with rail wiring one */
    double oversubscription;      /* leaf down/up capacity, >= 1 */
    double core_oversubscription; /* pod down/up capacity, >= 1 (3 levels) */
    int ports_per_router, routers_per_group, global_per_router,
        n_groups;         /* dragonfly p, a, h, g; 0 = balanced to fit */
    int spines_per_group; /* dragonfly-plus */
    int links_per_pair;   /* of groups, at most; 0 = as many as there are ports for */
    const char
        *arrangement; /* dragonfly: "palmtree" or "consecutive", see there. NULL = "palmtree" */
    const char *part; /* rail-only, multi-plane, multi-site: the kind of each. NULL = "fat-tree" */
    int planes, sites, gateways;
    const struct net_graph *graph; /* graph: what its file says */
    int n_chassis; /* cascade: rows of the grid that a group is; 0 = 6 of 16 routers */
    int n_dimensions, side[FABRIC_MAX_DIMENSIONS]; /* torus, mesh, hyperx; 0 = chosen to fit */
    double link_Bps;   /* switch-to-switch links, one direction; 0 = as the NIC */
    double global_Bps; /* dragonfly global links; 0 = as link_Bps */
    double link_latency_s, global_latency_s;
    const char *routing; /* a name in routings; NULL = "static" */
    int qps; /* queue pairs a connection is spread over, each with its own hash; 0 = 1 */
    const char
        *wiring;     /* "packed": a node's NICs on one leaf; "rail": NIC k of neighbouring nodes, as
                            many as a leaf has ports, on one leaf. NULL = "packed" */
    uint64_t seed;   /* of the ECMP hash */
    double port_Bps; /* rate of the ports' cables; topo_build copies it from the node */
    int nics_per_node; /* likewise */
};

enum { ROUTE_MAX = 256 };    /* links of the longest route, with room to spare */
enum { TOPO_NAME_MAX = 96 }; /* characters of the longest name, with room to spare */

/* Larger shapes are refused: they are slips of the finger, and would eat the memory. */
enum { TOPO_MAX_GPUS = 1 << 20, TOPO_MAX_LINKS = 1 << 24 };

struct router;
struct ways;
struct net_graph;   /* a network that a file describes, see graph.h */
struct fabric;      /* the fabric's own numbering of its links, see fabric.h */
struct node_layout; /* what is plugged in where inside a server, see node.h */

/* Invariants: vertices and links of node i start at i times vertices_per_node and links_per_node,
 * the fabric's follow; a cable is two links with neighbouring numbers; cables between the same
 * two vertices have neighbouring numbers. */
struct topo {
    struct vertex *vertices;
    struct link *links;
    int n_vertices, n_links;
    int cap_vertices, cap_links;
    int n_nodes, n_gpus, n_ports;
    int rail_nodes; /* nodes whose NICs of equal number share a leaf; 1 = packed */
    struct node_spec node;
    int vertices_per_node, links_per_node; /* inside a server */
    const struct node_layout *layout;
    struct fabric_spec fabric_spec;
    struct fabric *fabric; /* NULL when there is one node */
    int n_failed;          /* links that have failed */
    struct router *router; /* distances and the spread being made, see router.h */
};

/* topo_build — the graph of n_gpus / gpus_per_node equal servers on a fabric. n_gpus may be
 * less than a full node (then there is one node with n_gpus GPUs used).
 * Errors (impossible shapes, each with the bad number) go to diag with `place`; the result is
 * then not to be used. Cost O(vertices + links). */
struct topo *topo_build(const struct node_spec *node, const struct fabric_spec *fabric, int n_gpus,
                        struct arena *perm, struct diag *diag, struct diag_place place);

int topo_add_vertex(struct topo *topo, struct vertex vertex, struct arena *perm);
/* topo_add_link — one direction; returns its number. topo_add_cable adds src->dst, then dst->src. */
int topo_add_link(struct topo *topo, struct link link, struct arena *perm);
int topo_add_cable(struct topo *topo, struct link link, struct arena *perm);

/* endpoints of a route: a GPU, or the host memory of a socket of a node */
struct endpoint {
    enum vertex_kind kind; /* VERTEX_GPU or VERTEX_HOST */
    int32_t index;         /* GPU number, or node * sockets + socket */
};

/* topo_route — the links from src to dst in order.
 *   rail  NIC of the node used on both sides; -1 = the NIC nearest to each endpoint
 *   key   distinguishes connections for ECMP (equal keys take equal paths)
 *   links[ROUTE_MAX] out; returns their number (0 when src is dst)
 * Pure. Cost O(length). */
int topo_route(const struct topo *topo, struct endpoint src, struct endpoint dst, int rail,
               uint64_t key, int *links);

/* topo_spread — the same as parts of the flow on links, each link once: packets may be spread over
 * many ways, and queue pairs take each their own. Overwritten by the next call.
 *   adaptive   what "ugal" goes by, settled; NULL = no other flows */
struct adaptive;
struct route_ask {
    struct endpoint src, dst;
    int rail;
    uint64_t key;
    const struct adaptive *adaptive;
};
struct ways topo_spread(const struct topo *topo, const struct route_ask *ask);

/* topo_offer — the flow is one of those that choose their ways together; nothing where it stays in a node. */
void topo_offer(const struct topo *topo, const struct route_ask *ask, struct adaptive *adaptive,
                struct arena *perm);

/* topo_single — does every flow take one way, that of topo_route? */
bool topo_single(const struct topo *topo);
/* topo_by_load — does route_ask.adaptive matter? */
bool topo_by_load(const struct topo *topo);

/* topo_reroute — routes as they are after links have failed (link.failed set or taken back). Reports a
 * network that is cut, and which ends cannot reach each other, to diag with `place`. */
void topo_reroute(struct topo *topo, struct arena *perm, struct diag *diag,
                  struct diag_place place);

/* topo_nic_of — the NIC (number in its node) nearest to a GPU. */
int topo_nic_of(const struct topo *topo, int gpu);
/* topo_uses_nic — is it the GPU's nearest NIC, or one of several that are its own? */
bool topo_uses_nic(const struct topo *topo, int gpu, int nic);
static inline int topo_node_of(const struct topo *topo, int gpu)
{
    return gpu / topo->node.gpus_per_node;
}

/* topo_path_latency_s — sum over the links. */
double topo_path_latency_s(const struct topo *topo, const int *links, int n_links);

/* topo_endpoint_vertex — the vertex of an endpoint. */
int topo_endpoint_vertex(const struct topo *topo, struct endpoint end);

/* topo_port — the fabric's port that NIC `nic` of a node is wired to. */
int topo_port(const struct topo *topo, int node, int nic);
int topo_port_node(const struct topo *topo, int port); /* and back: the node */

/* topo_link_name — "node 3 nic 0 -> leaf 1"; written into text[size]. The same names select links
 * in scenarios ("degraded"). The second, third ... cable between the same two vertices is
 * "leaf 3 -> spine 1 #2", "#3" ... topo_vertex_name likewise: "gpu 12" (numbered through all nodes),
 * "node 1 nvswitch", "node 1 pcie 0", "node 1 host 0", "node 3 nic 0", and switches as their fabric
 * calls them: "switch", "leaf 1", "spine 2", "core 3", "router 2.5" (group 2, its router 5). */
void topo_link_name(const struct topo *topo, int link, char *text, int size);
void topo_vertex_name(const struct topo *topo, int vertex, char *text, int size);

/* topo_find_link — the link of that name, -1 when there is none. O(n_links). */
int topo_find_link(const struct topo *topo, const char *name);
int topo_find_vertex(const struct topo *topo, const char *name);

/* what `topo` reports about a network */
struct topo_summary {
    int n_gpus, n_nodes, n_nics; /* n_nics: wired to the fabric */
    int n_switches;              /* of the fabric, n_stage_switches by stage */
    int n_stage_switches[N_STAGES];
    int radix;            /* cables of the switch that has most */
    int n_links[N_TIERS]; /* one direction each: a cable counts twice */
    double
        bisection_Bps; /* across the worst equal cut of the fabric, or of the node if there is one */
    double oversubscription; /* what the ports of half the nodes could send / bisection */
    int diameter_hops;       /* links of the longest route between two GPUs */
    double max_latency_s;    /* of the route with the largest, links only */
    bool sampled;            /* the last two are over a sample of the pairs */
};

/* topo_summarise — counts, formulas and the longest routes. Routes between all pairs are tried up to
 * 1,024 GPUs; beyond, from evenly spaced GPUs to all, at most about a million. */
struct topo_summary topo_summarise(const struct topo *topo);

/* topo_cut_Bps — capacity of all links that lead from a vertex with side[v] true to one without. */
double topo_cut_Bps(const struct topo *topo, const bool *side);

/* topo_write_dot — the graph for Graphviz: one edge per cable, labelled with its rate. */
void topo_write_dot(const struct topo *topo, FILE *out);

#endif
