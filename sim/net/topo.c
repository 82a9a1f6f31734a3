#include "net/topo.h"

#include "base/must.h"
#include "net/adaptive.h"
#include "net/fabric.h"
#include "net/node.h"
#include "net/router.h"
#include "net/routing.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const tier_names[N_TIERS] = {"scale-up", "pcie", "host", "nic", "fabric", "global"};

int topo_add_vertex(struct topo *topo, struct vertex vertex, struct arena *perm)
{
    if (topo->n_vertices == topo->cap_vertices) {
        topo->cap_vertices = topo->cap_vertices > 0 ? 2 * topo->cap_vertices : 64;
        topo->vertices =
            arena_grow(perm, struct vertex, topo->vertices, topo->n_vertices, topo->cap_vertices);
    }
    topo->vertices[topo->n_vertices] = vertex;
    return topo->n_vertices++;
}

int topo_add_link(struct topo *topo, struct link link, struct arena *perm)
{
    must(link.src >= 0 && link.src < topo->n_vertices);
    must(link.dst >= 0 && link.dst < topo->n_vertices && link.dst != link.src);
    must(link.capacity_Bps > 0 && link.latency_s >= 0);
    if (topo->n_links == topo->cap_links) {
        topo->cap_links = topo->cap_links > 0 ? 2 * topo->cap_links : 64;
        topo->links = arena_grow(perm, struct link, topo->links, topo->n_links, topo->cap_links);
    }
    topo->links[topo->n_links] = link;
    return topo->n_links++;
}

int topo_add_cable(struct topo *topo, struct link link, struct arena *perm)
{
    int first = topo_add_link(topo, link, perm);
    int32_t src = link.src;
    link.src = link.dst;
    link.dst = src;
    topo_add_link(topo, link, perm);
    return first;
}

/* nodes that n_gpus need, 0 after an error */
static int count_nodes(const struct node_spec *node, int n_gpus, struct diag *diag,
                       struct diag_place place)
{
    if (!fabric_range("GPUs", n_gpus, 1, TOPO_MAX_GPUS, diag, place)) return 0;
    int per_node = node->gpus_per_node;
    if (!fabric_range("GPUs per node", per_node, 1, NODE_MAX_GPUS, diag, place)) return 0;
    if (n_gpus <= per_node) return 1;
    if (n_gpus % per_node == 0) return n_gpus / per_node;
    diag_error(diag, place, "%d GPUs do not fill whole nodes of %d (%d or %d)", n_gpus, per_node,
               n_gpus / per_node * per_node, (n_gpus / per_node + 1) * per_node);
    return 0;
}

/* Allocate what the shape needs at once; false when that is more than can be meant. */
static bool reserve(struct topo *topo, const struct fabric_kind *kind, struct arena *perm,
                    struct diag *diag, struct diag_place place)
{
    struct fabric_size size = {0, 0};
    if (kind) size = kind->size(&topo->fabric_spec, topo->n_ports);
    int64_t n_links = 2 * size.n_cables + (int64_t)topo->n_nodes * topo->links_per_node;
    int64_t n_vertices = size.n_switches + (int64_t)topo->n_nodes * topo->vertices_per_node;
    if (n_links > TOPO_MAX_LINKS || n_vertices > TOPO_MAX_LINKS) {
        diag_error(diag, place, "this network has %lld links and %lld vertices (at most %d)",
                   (long long)n_links, (long long)n_vertices, (int)TOPO_MAX_LINKS);
        return false;
    }
    topo->cap_links = (int)n_links;
    topo->cap_vertices = (int)n_vertices;
    topo->links = arena_new(perm, struct link, n_links);
    topo->vertices = arena_new(perm, struct vertex, n_vertices);
    return true;
}

/* Rails go by blocks of as many neighbouring servers as a leaf has ports: card k of all of a block on
 * one leaf. The last block may be smaller. */
struct block {
    int first_port, first_node, n_nodes;
};

static struct block block_at(const struct topo *topo, int node)
{
    int first = node / topo->rail_nodes * topo->rail_nodes;
    int left = topo->n_nodes - first;
    return (struct block){first * topo->node.nics_per_node, first,
                          left < topo->rail_nodes ? left : topo->rail_nodes};
}

static int find_rail_nodes(const struct topo *topo)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    if (strcmp(spec->wiring, "rail") != 0) return 1; /* packed: each server is its own block */
    int ports = spec->ports_per_leaf > 0 ? spec->ports_per_leaf : spec->ports_per_router;
    return ports > 0 ? ports : topo->n_nodes;
}

int topo_port(const struct topo *topo, int node, int nic)
{
    struct block block = block_at(topo, node);
    return block.first_port + nic * block.n_nodes + node - block.first_node;
}

int topo_port_node(const struct topo *topo, int port)
{
    struct block block = block_at(topo, port / topo->node.nics_per_node);
    return block.first_node + (port - block.first_port) % block.n_nodes;
}

/* the cables of the switch that has most */
static int count_radix(const struct topo *topo, struct arena scratch)
{
    int *n_cables = arena_new(&scratch, int, topo->fabric->n_switches);
    int most = 0;
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        int v = topo->links[l].src - topo->fabric->first_vertex;
        if (v >= 0 && ++n_cables[v] > most) most = n_cables[v];
    }
    return most;
}

static void build_fabric(struct topo *topo, const struct fabric_kind *kind, struct arena *perm)
{
    topo->fabric = arena_new(perm, struct fabric, 1);
    *topo->fabric = (struct fabric){.kind = kind,
                                    .first_vertex = topo->n_vertices,
                                    .first_link = topo->n_links,
                                    .n_planes = 1,
                                    .routing = routing_find(topo->fabric_spec.routing)};
    topo->fabric->ecmp = topo->fabric->routing->hashed;
    topo->rail_nodes = find_rail_nodes(topo);
    int *port_vertex = arena_new(perm, int, topo->n_ports);
    for (int node = 0; node < topo->n_nodes; node++) {
        int first_nic = node * topo->vertices_per_node + topo->layout->first_nic;
        for (int k = 0; k < topo->node.nics_per_node; k++) {
            port_vertex[topo_port(topo, node, k)] = first_nic + k;
        }
    }
    kind->build(topo, port_vertex, topo->n_ports, perm);
    must(topo->n_links == topo->cap_links && topo->n_vertices == topo->cap_vertices);
    topo->fabric->radix = count_radix(topo, *perm);
}

struct topo *topo_build(const struct node_spec *node, const struct fabric_spec *fabric, int n_gpus,
                        struct arena *perm, struct diag *diag, struct diag_place place)
{
    struct topo *topo = arena_new(perm, struct topo, 1);
    int before = diag->n_messages;
    int n_nodes = count_nodes(node, n_gpus, diag, place);
    if (n_nodes == 0) return topo;
    node_check(node, n_nodes, diag, place);
    if (diag->n_messages != before) return topo;

    topo->node = *node;
    topo->n_gpus = n_gpus;
    topo->n_nodes = n_nodes;
    topo->layout = node_layout(node, perm);
    topo->vertices_per_node = topo->layout->n_vertices;
    topo->links_per_node = 2 * topo->layout->n_cables;

    const struct fabric_kind *kind = NULL;
    if (n_nodes > 1) {
        topo->n_ports = n_nodes * node->nics_per_node;
        topo->fabric_spec = *fabric;
        topo->fabric_spec.port_Bps = node->nic_Bps;
        topo->fabric_spec.nics_per_node = node->nics_per_node;
        kind = fabric_check(&topo->fabric_spec, topo->n_ports, diag, place);
        if (!kind) return topo;
    }
    if (!reserve(topo, kind, perm, diag, place)) return topo;
    for (int i = 0; i < n_nodes; i++) node_build(topo, i, perm);
    if (kind) build_fabric(topo, kind, perm);
    if (router_fits(topo, diag, place)) topo->router = router_new(topo, perm);
    return topo;
}

static int node_of_endpoint(const struct topo *topo, struct endpoint end)
{
    bool is_gpu = end.kind == VERTEX_GPU;
    must(is_gpu || end.kind == VERTEX_HOST);
    int node = end.index / (is_gpu ? topo->node.gpus_per_node : topo->node.sockets);
    must(end.index >= 0 && node < topo->n_nodes);
    return node;
}

static struct node_end end_in_node(const struct topo *topo, struct endpoint end)
{
    int per_node = end.kind == VERTEX_GPU ? topo->node.gpus_per_node : topo->node.sockets;
    return (struct node_end){.kind = end.kind, .index = end.index % per_node};
}

int topo_endpoint_vertex(const struct topo *topo, struct endpoint end)
{
    int first = node_of_endpoint(topo, end) * topo->vertices_per_node;
    struct node_end inside = end_in_node(topo, end);
    if (end.kind == VERTEX_HOST) first += topo->layout->first_host;
    return first + inside.index;
}

static int nearest_nic(const struct topo *topo, struct node_end end)
{
    if (end.kind == VERTEX_GPU) return topo->layout->nic_of_gpu[end.index];
    return topo->layout->nic_of_socket[end.index];
}

int topo_nic_of(const struct topo *topo, int gpu)
{
    return topo->layout->nic_of_gpu[gpu % topo->node.gpus_per_node];
}

bool topo_uses_nic(const struct topo *topo, int gpu, int nic)
{
    int local = gpu % topo->node.gpus_per_node;
    return topo->layout->nic_of_gpu[local] == nic || topo->layout->gpu_of_nic[nic] == local;
}

/* where a flow leaves its node and enters the other's */
struct passage {
    int src_node, dst_node;
    struct node_end from, to;
    int out, in; /* NICs */
};

static bool works(const struct topo *topo, int node, int nic)
{
    int up = fabric_port_up(topo, topo_port(topo, node, nic));
    return !topo->links[up].failed && !topo->links[up + 1].failed;
}

/* The NIC, or when its cable has failed the next one of the node that still has one. */
static int working_nic(const struct topo *topo, int node, int nic)
{
    for (int k = 0; topo->n_failed > 0 && k < topo->node.nics_per_node; k++) {
        int other = (nic + k) % topo->node.nics_per_node;
        if (works(topo, node, other)) return other;
    }
    return nic;
}

/* Where the two cards are in planes that do not meet, data changes planes inside the source, over the
 * scale-up links to the GPU of its card that can (NCCL's PXN): the one of the destination's number, or
 * any that works on both sides. */
static void meet(const struct topo *topo, struct passage *passage)
{
    int n = topo->fabric->n_planes;
    int n_nics = topo->node.nics_per_node;
    for (int k = 0; passage->out % n != passage->in % n && k < n_nics; k++) {
        int nic = (passage->in + k) % n_nics;
        if (works(topo, passage->src_node, nic) && works(topo, passage->dst_node, nic))
            passage->out = passage->in = nic;
    }
}

static struct passage find_passage(const struct topo *topo, const struct route_ask *ask)
{
    struct passage passage = {.src_node = node_of_endpoint(topo, ask->src),
                              .dst_node = node_of_endpoint(topo, ask->dst),
                              .from = end_in_node(topo, ask->src),
                              .to = end_in_node(topo, ask->dst)};
    if (passage.src_node == passage.dst_node) return passage;
    int rail = ask->rail;
    must(rail < topo->node.nics_per_node);
    int out = rail < 0 ? nearest_nic(topo, passage.from) : rail;
    int in = rail < 0 ? nearest_nic(topo, passage.to) : rail;
    passage.out = working_nic(topo, passage.src_node, out);
    passage.in = working_nic(topo, passage.dst_node, in);
    meet(topo, &passage);
    return passage;
}

static int route_out(const struct topo *topo, const struct passage *passage, int *links)
{
    struct node_end nic = {VERTEX_NIC, passage->out};
    return node_route(topo, passage->src_node, passage->from, nic, links);
}

static int route_in(const struct topo *topo, const struct passage *passage, int *links)
{
    struct node_end nic = {VERTEX_NIC, passage->in};
    return node_route(topo, passage->dst_node, nic, passage->to, links);
}

int topo_route(const struct topo *topo, struct endpoint src, struct endpoint dst, int rail,
               uint64_t key, int *links)
{
    struct passage passage = find_passage(topo, &(struct route_ask){src, dst, rail, key, NULL});
    if (passage.src_node == passage.dst_node)
        return node_route(topo, passage.src_node, passage.from, passage.to, links);
    int n = route_out(topo, &passage, links);
    n += router_route(topo, topo_port(topo, passage.src_node, passage.out),
                      topo_port(topo, passage.dst_node, passage.in), key, links + n);
    return n + route_in(topo, &passage, links + n);
}

struct ways topo_spread(const struct topo *topo, const struct route_ask *ask)
{
    int links[ROUTE_MAX];
    struct passage passage = find_passage(topo, ask);
    router_begin(topo);
    if (passage.src_node == passage.dst_node) {
        int n = node_route(topo, passage.src_node, passage.from, passage.to, links);
        router_add_links(topo, links, n);
        return router_end(topo);
    }
    router_add_links(topo, links, route_out(topo, &passage, links));
    struct port_pair pair = {topo_port(topo, passage.src_node, passage.out),
                             topo_port(topo, passage.dst_node, passage.in), ask->key};
    router_add(topo, pair, ask->adaptive);
    router_add_links(topo, links, route_in(topo, &passage, links));
    return router_end(topo);
}

void topo_offer(const struct topo *topo, const struct route_ask *ask, struct adaptive *adaptive,
                struct arena *perm)
{
    struct passage passage = find_passage(topo, ask);
    if (passage.src_node == passage.dst_node) return;
    struct port_pair pair = {topo_port(topo, passage.src_node, passage.out),
                             topo_port(topo, passage.dst_node, passage.in), ask->key};
    adaptive_add(adaptive, pair, perm);
}

bool topo_single(const struct topo *topo)
{
    return router_single(topo);
}

bool topo_by_load(const struct topo *topo)
{
    return topo->fabric && topo->fabric->routing->mode == ROUTING_UGAL;
}

void topo_reroute(struct topo *topo, struct arena *perm, struct diag *diag, struct diag_place place)
{
    topo->n_failed = 0;
    for (int l = 0; l < topo->n_links; l++) topo->n_failed += topo->links[l].failed;
    if (!router_report_cut(topo, diag, place, *perm)) return;
    if (!router_fits(topo, diag, place)) return;
    topo->router = router_new(topo, perm);
    router_shun(topo, *perm);
}

double topo_path_latency_s(const struct topo *topo, const int *links, int n_links)
{
    double latency_s = 0;
    for (int i = 0; i < n_links; i++) latency_s += topo->links[links[i]].latency_s;
    return latency_s;
}

void topo_vertex_name(const struct topo *topo, int vertex, char *text, int size)
{
    struct vertex v = topo->vertices[vertex];
    size_t room = (size_t)size;
    switch (v.kind) {
    case VERTEX_GPU:
        snprintf(text, room, "gpu %d", v.index);
        break;
    case VERTEX_HOST:
        snprintf(text, room, "node %d host %d", v.owner, v.index);
        break;
    case VERTEX_PCIE_SWITCH:
        snprintf(text, room, "node %d pcie %d", v.owner, v.index);
        break;
    case VERTEX_MEMORY:
        snprintf(text, room, "node %d memory %d", v.owner, v.index);
        break;
    case VERTEX_NVSWITCH:
        snprintf(text, room, "node %d nvswitch", v.owner);
        break;
    case VERTEX_NIC:
        snprintf(text, room, "node %d nic %d", v.owner, v.index);
        break;
    case VERTEX_SWITCH:
        if (topo->fabric)
            topo->fabric->kind->switch_name(topo, v, text, size);
        else
            snprintf(text, room, "switch %d.%d", v.owner, v.index); /* of a graph built by hand */
        break;
    }
}

static bool same_ends(const struct topo *topo, int a, int b)
{
    return topo->links[a].src == topo->links[b].src && topo->links[a].dst == topo->links[b].dst;
}

void topo_link_name(const struct topo *topo, int link, char *text, int size)
{
    char src[TOPO_NAME_MAX];
    char dst[TOPO_NAME_MAX];
    topo_vertex_name(topo, topo->links[link].src, src, sizeof src);
    topo_vertex_name(topo, topo->links[link].dst, dst, sizeof dst);
    int number = 1;
    for (int l = link - 2; l >= 0 && same_ends(topo, l, link); l -= 2) number++;
    if (number == 1)
        snprintf(text, (size_t)size, "%s -> %s", src, dst);
    else
        snprintf(text, (size_t)size, "%s -> %s #%d", src, dst, number);
}

/* Step over a word; false (and no step) when something else stands there. */
static bool skip_word(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    return true;
}

/* Read a number below `limit` without sign, -1 when there is none. */
static int read_number(const char **at, int limit)
{
    int64_t number = 0;
    const char *start = *at;
    while (**at >= '0' && **at <= '9' && number < limit) number = 10 * number + (*(*at)++ - '0');
    return *at == start || number >= limit ? -1 : (int)number;
}

/* the vertex that a name of a thing inside a node would have if it is written well, else -1 */
static int find_in_node(const struct topo *topo, const char *name)
{
    static const char *const words[] = {" host ", " pcie ", " nic ", " memory "};
    if (skip_word(&name, "gpu ")) {
        int gpu = read_number(&name, topo->n_nodes * topo->node.gpus_per_node);
        if (gpu < 0) return -1;
        return topo_endpoint_vertex(topo, (struct endpoint){VERTEX_GPU, gpu});
    }
    if (!skip_word(&name, "node ")) return -1;
    int node = read_number(&name, topo->n_nodes);
    if (node < 0) return -1;
    int first = node * topo->vertices_per_node;
    if (skip_word(&name, " nvswitch")) return first + topo->layout->nvswitch;
    const int starts[] = {topo->layout->first_host, topo->layout->first_switch,
                          topo->layout->first_nic, topo->layout->first_memory};
    for (int i = 0; i < 4; i++) {
        if (!skip_word(&name, words[i])) continue;
        int number = read_number(&name, topo->vertices_per_node);
        return number < 0 ? -1 : first + starts[i] + number;
    }
    return -1;
}

static bool is_named(const struct topo *topo, int vertex, const char *name)
{
    char text[TOPO_NAME_MAX];
    if (vertex < 0 || vertex >= topo->n_vertices) return false;
    topo_vertex_name(topo, vertex, text, sizeof text);
    return strcmp(text, name) == 0;
}

int topo_find_vertex(const struct topo *topo, const char *name)
{
    if (topo->layout) {
        int vertex = find_in_node(topo, name);
        if (is_named(topo, vertex, name)) return vertex;
    }
    int first = topo->n_nodes * topo->vertices_per_node;
    for (int v = first; v < topo->n_vertices; v++) {
        if (is_named(topo, v, name)) return v;
    }
    return -1;
}

/* Cut "a -> b #2" in its parts; false when it has none. */
static bool split_name(const char *name, char *src, char *dst, int *number)
{
    const char *arrow = strstr(name, " -> ");
    if (!arrow || arrow - name >= TOPO_NAME_MAX) return false;
    snprintf(src, TOPO_NAME_MAX, "%.*s", (int)(arrow - name), name);
    const char *end = arrow + 4;
    const char *mark = strstr(end, " #");
    size_t length = mark ? (size_t)(mark - end) : strlen(end);
    if (length >= TOPO_NAME_MAX) return false;
    snprintf(dst, TOPO_NAME_MAX, "%.*s", (int)length, end);
    *number = 1;
    if (!mark) return true;
    mark += 2;
    if (*mark == '0') return false;
    *number = read_number(&mark, INT_MAX);
    return *number >= 2 && *mark == '\0';
}

int topo_find_link(const struct topo *topo, const char *name)
{
    char src_name[TOPO_NAME_MAX];
    char dst_name[TOPO_NAME_MAX];
    int number;
    if (!split_name(name, src_name, dst_name, &number)) return -1;
    int src = topo_find_vertex(topo, src_name);
    int dst = topo_find_vertex(topo, dst_name);
    if (src < 0 || dst < 0) return -1;
    for (int l = 0; l < topo->n_links; l++) {
        bool found = topo->links[l].src == src && topo->links[l].dst == dst;
        if (found && --number == 0) return l;
    }
    return -1;
}

double topo_cut_Bps(const struct topo *topo, const bool *side)
{
    double cut_Bps = 0;
    for (int l = 0; l < topo->n_links; l++) {
        struct link link = topo->links[l];
        if (side[link.src] && !side[link.dst]) cut_Bps += link.capacity_Bps;
    }
    return cut_Bps;
}

static void count_parts(const struct topo *topo, struct topo_summary *summary)
{
    const struct fabric *fabric = topo->fabric;
    for (int l = 0; l < topo->n_links; l++) summary->n_links[topo->links[l].tier]++;
    if (!fabric) return;
    summary->n_switches = fabric->n_switches;
    summary->n_nics = topo->n_ports;
    for (int v = fabric->first_vertex; v < topo->n_vertices; v++) {
        summary->n_stage_switches[topo->vertices[v].owner % N_STAGES]++;
    }
}

enum { ALL_PAIRS_GPUS = 1024, MAX_PAIRS = 1 << 20 };

static void try_pair(const struct topo *topo, int src, int dst, struct topo_summary *summary)
{
    int links[ROUTE_MAX];
    struct endpoint from = {VERTEX_GPU, src};
    struct endpoint to = {VERTEX_GPU, dst};
    int n = topo_route(topo, from, to, -1, 0, links);
    double latency_s = topo_path_latency_s(topo, links, n);
    if (n > summary->diameter_hops) summary->diameter_hops = n;
    if (latency_s > summary->max_latency_s) summary->max_latency_s = latency_s;
}

/* Sources are spread evenly: source i is GPU i * n / n_sources. */
static void find_longest(const struct topo *topo, struct topo_summary *summary)
{
    int n = topo->n_gpus;
    summary->sampled = n > ALL_PAIRS_GPUS;
    int n_sources = summary->sampled ? MAX_PAIRS / n : n;
    for (int i = 0; i < n_sources; i++) {
        int src = (int)((int64_t)i * n / n_sources);
        for (int dst = 0; dst < n; dst++) try_pair(topo, src, dst, summary);
    }
}

struct topo_summary topo_summarise(const struct topo *topo)
{
    struct topo_summary summary = {.n_gpus = topo->n_gpus, .n_nodes = topo->n_nodes};
    count_parts(topo, &summary);
    summary.oversubscription = 1;
    if (topo->fabric) {
        summary.radix = topo->fabric->radix;
        summary.bisection_Bps = topo->fabric->kind->bisection_Bps(topo);
        summary.oversubscription = fabric_ports_bisection_Bps(topo) / summary.bisection_Bps;
    } else {
        summary.bisection_Bps = node_bisection_Bps(topo);
    }
    find_longest(topo, &summary);
    return summary;
}

static bool is_cable(const struct topo *topo, int link)
{
    if (link + 1 >= topo->n_links) return false;
    struct link there = topo->links[link];
    struct link back = topo->links[link + 1];
    return there.src == back.dst && there.dst == back.src;
}

/* Rates and latencies stand with all digits beside the label for people: what is written can be read
 * again as a graph. */
static void write_edge(const struct topo *topo, int l, bool both, FILE *out)
{
    const struct link *link = &topo->links[l];
    fprintf(out, "  v%d -> v%d [label=\"%.4g Gbps\" rate=\"%.17gB/s\" latency=\"%.17gs\"%s%s];\n",
            link->src, link->dst, link->capacity_Bps * 8e-9, link->capacity_Bps, link->latency_s,
            link->tier == TIER_GLOBAL ? " tier=global" : "", both ? "" : " dir=forward");
}

/* a cable of which both directions are alike */
static bool is_alike(const struct topo *topo, int l)
{
    const struct link *there = &topo->links[l], *back = &topo->links[l + 1];
    bool rates =
        !(there->capacity_Bps < back->capacity_Bps) && !(there->capacity_Bps > back->capacity_Bps);
    return rates && !(there->latency_s < back->latency_s) && !(there->latency_s > back->latency_s);
}

void topo_write_dot(const struct topo *topo, FILE *out)
{
    char name[TOPO_NAME_MAX];
    fprintf(out, "digraph topo {\n  edge [dir=both];\n");
    for (int v = 0; v < topo->n_vertices; v++) {
        topo_vertex_name(topo, v, name, sizeof name);
        bool is_switch = topo->vertices[v].kind == VERTEX_SWITCH;
        fprintf(out, "  v%d [label=\"%s\"", v, name);
        if (is_switch) fprintf(out, " shape=box stage=%d", topo->vertices[v].owner % N_STAGES);
        fprintf(out, "];\n");
    }
    for (int l = 0; l < topo->n_links; l++) {
        bool both = is_cable(topo, l) && is_alike(topo, l);
        write_edge(topo, l, both, out);
        l += both;
    }
    fprintf(out, "}\n");
}
