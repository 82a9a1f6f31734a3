/* Servers and fabrics for the tests of the network, and what every route must be. */
#ifndef TESTS_NET_SHAPES_H
#define TESTS_NET_SHAPES_H

#include "net/graph.h"
#include "net/topo.h"
#include "test.h"

/* 2 sockets, 4 GPUs and 2 NICs on each, 2 GPUs to a PCIe switch, no scale-up; every rate differs */
static inline struct node_spec eight_gpu_node(void)
{
    return (struct node_spec){
        .gpus_per_node = 8,
        .nics_per_node = 4,
        .sockets = 2,
        .gpus_per_pcie_switch = 2,
        .scaleup_Bps = 300e9,
        .scaleup_latency_s = 0.3e-6,
        .pcie_Bps = 25e9,
        .pcie_latency_s = 0.4e-6,
        .socket_Bps = 20e9,
        .socket_latency_s = 0.2e-6,
        .nic_Bps = 12.5e9,
        .nic_latency_s = 1e-6,
        .gpudirect = true,
        .p2p = true,
    };
}

/* one GPU and one NIC: a node is a port */
static inline struct node_spec one_gpu_node(void)
{
    struct node_spec node = eight_gpu_node();
    node.gpus_per_node = 1;
    node.nics_per_node = 1;
    node.sockets = 1;
    node.gpus_per_pcie_switch = 1;
    return node;
}

static inline struct fabric_spec fabric_of(const char *kind)
{
    return (struct fabric_spec){
        .kind = kind,
        .oversubscription = 1,
        .core_oversubscription = 1,
        .link_latency_s = 0.5e-6,
        .global_latency_s = 2e-6,
    };
}

/* A network as a file may describe it: a ring of n_switches, each two neighbours joined by two cables, and
 * one-card hosts dealt out in turn. */
static inline const struct net_graph *ring_graph(int n_switches, int n_hosts, struct arena *perm)
{
    struct net_graph *net = arena_new(perm, struct net_graph, 1);
    const char **names = arena_new(perm, const char *, n_switches);
    struct graph_cable *cables = arena_new(perm, struct graph_cable, 2 * n_switches);
    struct graph_host *hosts = arena_new(perm, struct graph_host, n_hosts);
    const struct graph_way given = {.latency_s = -1};
    int n = 0;
    for (int s = 0; s < n_switches; s++) {
        names[s] = arena_text(perm, "box %d", s);
        /* in order of ends: switch 0 has its cables to the last one behind those to 1 */
        for (int twin = 0; twin < 2 && s + 1 < n_switches; twin++)
            cables[n++] = (struct graph_cable){s, s + 1, {given, given}, false};
        for (int twin = 0; twin < 2 && s == 0 && n_switches > 2; twin++)
            cables[n++] = (struct graph_cable){0, n_switches - 1, {given, given}, false};
    }
    for (int h = 0; h < n_hosts; h++)
        hosts[h] = (struct graph_host){h, 0, h % n_switches, {given, given}};
    *net = (struct net_graph){
        "test", names, arena_new(perm, int8_t, n_switches), n_switches, cables, n, hosts, n_hosts};
    return net;
}

/* the built graph; the test fails with the messages when there are any */
static inline struct topo *built(struct node_spec node, struct fabric_spec fabric, int n_gpus,
                                 struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct diag_place place = {.file = "test"};
    struct topo *topo = topo_build(&node, &fabric, n_gpus, perm, &diag, place);
    diag_print(&diag, stderr);
    assert_true(diag_ok(&diag));
    return topo;
}

/* the first message of a build that must fail */
static inline const char *refusal(struct node_spec node, struct fabric_spec fabric, int n_gpus,
                                  struct arena *perm)
{
    struct diag *diag = arena_new(perm, struct diag, 1);
    struct diag_place place = {.file = "test"};
    diag->perm = perm;
    topo_build(&node, &fabric, n_gpus, perm, diag, place);
    return diag_ok(diag) ? "" : diag->messages[0];
}

#define assert_refused(node, fabric, n_gpus, perm, wanted)                                         \
    do {                                                                                           \
        const char *said = refusal(node, fabric, n_gpus, perm);                                    \
        if (!strstr(said, wanted)) print_error("said \"%s\", not \"%s\"\n", said, wanted);         \
        assert_non_null(strstr(said, wanted));                                                     \
    } while (0)

/* A route leads from src to dst without a gap, crosses no link twice and is not too long. */
static inline int assert_route(const struct topo *topo, struct endpoint src, struct endpoint dst,
                               int rail, uint64_t key)
{
    int links[ROUTE_MAX];
    int n = topo_route(topo, src, dst, rail, key, links);
    assert_true(n >= 0 && n <= ROUTE_MAX);
    int at = topo_endpoint_vertex(topo, src);
    double latency_s = 0;
    for (int i = 0; i < n; i++) {
        assert_in_range(links[i], 0, topo->n_links - 1);
        assert_int_equal(topo->links[links[i]].src, at);
        at = topo->links[links[i]].dst;
        latency_s += topo->links[links[i]].latency_s;
        for (int j = 0; j < i; j++) assert_int_not_equal(links[i], links[j]);
    }
    assert_int_equal(at, topo_endpoint_vertex(topo, dst));
    assert_close(topo_path_latency_s(topo, links, n), latency_s, 1e-15);
    return n;
}

static inline struct endpoint gpu_at(int gpu)
{
    return (struct endpoint){VERTEX_GPU, gpu};
}

static inline struct endpoint host_at(int index)
{
    return (struct endpoint){VERTEX_HOST, index};
}

/* Name of every link leads back to it. */
static inline void assert_names(const struct topo *topo)
{
    char name[TOPO_NAME_MAX * 2 + 16];
    int step =
        topo->n_links > 400 ? topo->n_links / 400 : 1; /* finding is a search: keep it short */
    for (int l = 0; l < topo->n_links; l += step) {
        topo_link_name(topo, l, name, sizeof name);
        if (topo_find_link(topo, name) != l) print_error("\"%s\" is not link %d\n", name, l);
        assert_int_equal(topo_find_link(topo, name), l);
    }
}

/* the links of a route as one text, " | " between their names */
static inline char *route_text(const struct topo *topo, struct endpoint src, struct endpoint dst,
                               int rail, struct arena *perm)
{
    char name[TOPO_NAME_MAX * 2 + 16];
    int links[ROUTE_MAX];
    int n = topo_route(topo, src, dst, rail, 0, links);
    char *text = arena_text(perm, "%s", "");
    for (int i = 0; i < n; i++) {
        topo_vertex_name(topo, topo->links[links[i]].dst, name, sizeof name);
        text = arena_text(perm, "%s%s%s", text, i > 0 ? " > " : "", name);
    }
    return text;
}

/* Largest flow from the vertices of sources to the sinks, by augmenting along shortest paths over links
 * with room left (Edmonds & Karp, JACM 19(2), 1972). For small graphs. side[v]: 1 source, -1 sink. */
static inline bool augment(const struct topo *topo, const int *side, double *room_Bps,
                           double *flow_Bps, struct arena scratch)
{
    int n = topo->n_vertices;
    int *via = arena_new(&scratch, int, n); /* link + 1 forwards, -(link + 1) backwards */
    int *queue = arena_new(&scratch, int, n);
    bool *seen = arena_new(&scratch, bool, n);
    int head = 0;
    int tail = 0;
    int sink = -1;
    for (int v = 0; v < n; v++) {
        if (side[v] == 1) {
            queue[tail++] = v;
            seen[v] = true;
        }
    }
    while (head < tail && sink < 0) {
        int v = queue[head++];
        for (int l = 0; l < topo->n_links && sink < 0; l++) {
            /* links come in pairs, so flow back over l is flow on its twin */
            if (topo->links[l].src != v || room_Bps[l] <= 1.0 || seen[topo->links[l].dst]) continue;
            int to = topo->links[l].dst;
            seen[to] = true;
            via[to] = l + 1;
            queue[tail++] = to;
            if (side[to] == -1) sink = to;
        }
    }
    if (sink < 0) return false;
    double push_Bps = (double)INFINITY;
    for (int v = sink; via[v] != 0; v = topo->links[via[v] - 1].src) {
        push_Bps = fmin(push_Bps, room_Bps[via[v] - 1]);
    }
    for (int v = sink; via[v] != 0; v = topo->links[via[v] - 1].src) {
        room_Bps[via[v] - 1] -= push_Bps;
        room_Bps[(via[v] - 1) ^ 1] += push_Bps;
    }
    *flow_Bps += push_Bps;
    return true;
}

/* the largest flow from the first half of the nodes' NICs to the others', inside of nodes left out */
static inline double max_flow_Bps(const struct topo *topo, struct arena scratch)
{
    int *side = arena_new(&scratch, int, topo->n_vertices);
    double *room_Bps = arena_new(&scratch, double, topo->n_links);
    for (int v = 0; v < topo->n_vertices; v++) {
        struct vertex vertex = topo->vertices[v];
        if (vertex.kind == VERTEX_NIC) side[v] = vertex.owner < topo->n_nodes / 2 ? 1 : -1;
    }
    for (int l = 0; l < topo->n_links; l++) {
        bool inside = l < topo->n_nodes * topo->links_per_node;
        room_Bps[l] = inside ? 0 : topo->links[l].capacity_Bps;
    }
    double flow_Bps = 0;
    while (augment(topo, side, room_Bps, &flow_Bps, scratch)) continue;
    return flow_Bps;
}

#endif
