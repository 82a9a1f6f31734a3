/* The network that a file describes (graph.h): any switches and cables, hosts of the cards named in it.
 * Cards that the job does not use are left out.
 *
 * Routing: a shortest way, a link between groups (tier global) counting as three others: so the way over the
 * direct one is the shortest, as minimal routing of a dragonfly wants. Of several next links a switch takes one by the destination's
 * digits (the first choice on a way by destination modulo ways, the next by what is left after dividing),
 * which in a fat-tree is d-mod-k, or by hash. Distances to a switch are found by a search from it when
 * a route first needs them.
 *
 * Bisection: the largest flow from the first half of the nodes to the rest (Dinic, Algorithm for solution of
 * a problem of maximum flow in networks with power estimation, 1970); in networks of more than
 * FLOW_MAX_CABLES the cut that puts every switch where most of its ports or neighbours are. */
#include "net/graph.h"

#include "base/must.h"
#include "net/fabric.h"

#include <math.h>
#include <stdio.h>

enum {
    FLOW_MAX_CABLES = 1 << 16,
    GLOBAL_LENGTH = 3,
    N_BUCKETS = GLOBAL_LENGTH + 1,
    ENDS = 16 /* links of a route outside the graph */
};

/* no rate is below 1e-3 B/s, so less room than this is what rounding has left */
static const double ROUNDING_BPS = 1e-4;

struct graph {
    const struct net_graph *net;
    const int *host_of;             /* [n_ports] */
    const int32_t *first_out, *out; /* links that leave switch s: out[first_out[s]] .. */
    uint16_t *distance;             /* [to * n_switches + from] 1 + length; 0 = not known yet */
    int32_t *queue;
    double bisection_Bps;
};

/* ---- check ---- */

static bool host_is_used(const struct graph_host *host, const struct fabric_spec *spec, int n_ports)
{
    return host->node < n_ports / spec->nics_per_node && host->nic < spec->nics_per_node;
}

/* The host of each card in the order node * nics + nic, -1 where there is none. */
static int *index_hosts(const struct net_graph *net, const struct fabric_spec *spec, int n_ports,
                        struct arena *perm)
{
    int *host_of = arena_new(perm, int, n_ports);
    for (int c = 0; c < n_ports; c++) host_of[c] = -1;
    for (int h = 0; h < net->n_hosts; h++) {
        const struct graph_host *host = &net->hosts[h];
        if (host_is_used(host, spec, n_ports))
            host_of[host->node * spec->nics_per_node + host->nic] = h;
    }
    return host_of;
}

static void list_out(const struct net_graph *net, int32_t *first, int32_t *out)
{
    for (int c = 0; c < net->n_cables; c++) {
        first[net->cables[c].a + 1]++;
        first[net->cables[c].b + 1]++;
    }
    for (int s = 0; s < net->n_switches; s++) first[s + 1] += first[s];
    /* backwards, so that each switch's links end up in the order of cables */
    for (int c = net->n_cables - 1; c >= 0; c--) {
        out[--first[net->cables[c].a + 1]] = 2 * c;
        out[--first[net->cables[c].b + 1]] = 2 * c + 1;
    }
    for (int s = 0; s < net->n_switches; s++) first[s] = first[s + 1];
    first[net->n_switches] = 2 * net->n_cables;
}

static int end_of(const struct net_graph *net, int link)
{
    const struct graph_cable *cable = &net->cables[link / 2];
    return link % 2 == 0 ? cable->b : cable->a;
}

static int length_of(const struct net_graph *net, int link)
{
    return net->cables[link / 2].global ? GLOBAL_LENGTH : 1;
}

struct reach {
    const struct net_graph *net;
    const int32_t *first, *out;
    uint16_t *distance; /* [n_switches] 1 + length of the shortest way, 0 = none */
    int32_t *queue;     /* [N_BUCKETS * n_switches] */
};

/* The links of switch s, at distance d; n[b] switches wait in bucket b for their distance to come. */
static void relax(const struct reach *reach, int s, int d, int *n)
{
    for (int i = reach->first[s]; i < reach->first[s + 1]; i++) {
        int to = end_of(reach->net, reach->out[i]);
        int longer = d + length_of(reach->net, reach->out[i]);
        if (reach->distance[to] != 0 && reach->distance[to] <= longer) continue;
        reach->distance[to] = (uint16_t)longer;
        int bucket = longer % N_BUCKETS;
        reach->queue[bucket * reach->net->n_switches + n[bucket]++] = to;
    }
}

/* Distances of all switches from one; returns the largest. Cables have both directions, so they are the
 * distances to it as well. Lengths are 1 or GLOBAL_LENGTH, so a ring of buckets, one for each distance that
 * can be waiting, is the whole queue (Dial, Algorithm 360, CACM 12(11), 1969). */
static int search(const struct reach *reach, int from)
{
    int n[N_BUCKETS] = {0}, farthest = 1;
    reach->distance[from] = 1;
    reach->queue[reach->net->n_switches + n[1]++] = from;
    for (int d = 1; n[0] + n[1] + n[2] + n[3] > 0; d++) {
        int bucket = d % N_BUCKETS;
        const int32_t *waiting = reach->queue + (ptrdiff_t)bucket * reach->net->n_switches;
        for (int i = 0; i < n[bucket]; i++) {
            if (reach->distance[waiting[i]] != d) continue; /* it was nearer */
            farthest = d;
            relax(reach, waiting[i], d, n);
        }
        n[bucket] = 0;
    }
    return farthest - 1;
}

static struct reach new_reach(const struct net_graph *net, struct arena *perm)
{
    int32_t *first = arena_new(perm, int32_t, net->n_switches + 2);
    int32_t *out = arena_new(perm, int32_t, 2 * (int64_t)net->n_cables);
    list_out(net, first, out);
    return (struct reach){net, first, out, arena_new(perm, uint16_t, net->n_switches),
                          arena_new(perm, int32_t, N_BUCKETS * (int64_t)net->n_switches)};
}

static bool hosts_are_there(const struct fabric_spec *spec, const int *host_of, int n_ports,
                            struct diag *diag, struct diag_place place)
{
    for (int c = 0; c < n_ports; c++) {
        if (host_of[c] >= 0) continue;
        diag_error(diag, place, "%s has no \"node %d nic %d\": %d servers of %d cards are wanted",
                   spec->graph->file, c / spec->nics_per_node, c % spec->nics_per_node,
                   n_ports / spec->nics_per_node, spec->nics_per_node);
        return false;
    }
    return true;
}

void graph_check(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place)
{
    const struct net_graph *net = spec->graph;
    if (!net) {
        diag_error(diag, place, "a graph needs its \"file\"");
        return;
    }
    struct arena scratch = *diag->perm;
    const int *host_of = index_hosts(net, spec, n_ports, &scratch);
    if (!hosts_are_there(spec, host_of, n_ports, diag, place)) return;
    struct reach reach = new_reach(net, &scratch);
    int farthest = search(&reach, net->hosts[host_of[0]].at);
    for (int c = 0; c < n_ports; c++) {
        if (reach.distance[net->hosts[host_of[c]].at] != 0) continue;
        diag_error(diag, place, "in %s no way leads from node 0 nic 0 to node %d nic %d", net->file,
                   c / spec->nics_per_node, c % spec->nics_per_node);
        return;
    }
    /* no two are farther apart than over that switch */
    fabric_range("length of the longest way through the graph (an upper bound)", 2 * farthest, 0,
                 ROUTE_MAX - ENDS, diag, place);
}

struct fabric_size graph_size(const struct fabric_spec *spec, int n_ports)
{
    return (struct fabric_size){spec->graph->n_switches, (int64_t)n_ports + spec->graph->n_cables};
}

/* ---- the largest flow ---- */

struct flow {
    int n, source, sink;   /* vertices: switches, then these two */
    int32_t *first, *arcs; /* arcs that leave a vertex; arc ^ 1 is its way back */
    int32_t *head;
    double *room_Bps;
    int32_t *level, *next, *queue, *way;
};

static int tail_of(const struct flow *flow, int arc)
{
    return flow->head[arc ^ 1];
}

/* Levels from the source over arcs with room; does the sink have one? */
static bool level_up(struct flow *flow)
{
    int head = 0, tail = 0;
    for (int v = 0; v < flow->n; v++) flow->level[v] = -1;
    flow->level[flow->source] = 0;
    flow->queue[tail++] = flow->source;
    while (head < tail) {
        int v = flow->queue[head++];
        flow->next[v] = flow->first[v];
        for (int i = flow->first[v]; i < flow->first[v + 1]; i++) {
            int arc = flow->arcs[i], to = flow->head[arc];
            if (flow->room_Bps[arc] < ROUNDING_BPS || flow->level[to] >= 0) continue;
            flow->level[to] = flow->level[v] + 1;
            flow->queue[tail++] = to;
        }
    }
    return flow->level[flow->sink] >= 0;
}

/* The next arc of v that leads up a level, -1 when there is none left. */
static int arc_up(struct flow *flow, int v)
{
    for (; flow->next[v] < flow->first[v + 1]; flow->next[v]++) {
        int arc = flow->arcs[flow->next[v]];
        bool up = flow->level[flow->head[arc]] == flow->level[v] + 1;
        if (up && flow->room_Bps[arc] >= ROUNDING_BPS) return arc;
    }
    return -1;
}

static double push(struct flow *flow, int length)
{
    double least_Bps = (double)INFINITY;
    for (int i = 0; i < length; i++) least_Bps = fmin(least_Bps, flow->room_Bps[flow->way[i]]);
    for (int i = 0; i < length; i++) {
        flow->room_Bps[flow->way[i]] -= least_Bps;
        flow->room_Bps[flow->way[i] ^ 1] += least_Bps;
    }
    return least_Bps;
}

/* Ways from source to sink along the levels until none is left. */
static double block(struct flow *flow)
{
    double sum_Bps = 0;
    int length = 0, v = flow->source;
    for (;;) {
        int arc = arc_up(flow, v);
        if (v == flow->sink) {
            sum_Bps += push(flow, length);
            length = 0;
            v = flow->source;
        } else if (arc >= 0) {
            flow->way[length++] = arc;
            v = flow->head[arc];
        } else if (length > 0) {
            v = tail_of(flow, flow->way[--length]);
            flow->next[v]++;
        } else {
            return sum_Bps;
        }
    }
}

static void index_arcs(struct flow *flow, int n_arcs)
{
    for (int arc = 0; arc < n_arcs; arc++) flow->first[tail_of(flow, arc) + 1]++;
    for (int v = 0; v < flow->n; v++) flow->first[v + 1] += flow->first[v];
    for (int v = 0; v < flow->n; v++) flow->next[v] = flow->first[v];
    for (int arc = 0; arc < n_arcs; arc++) flow->arcs[flow->next[tail_of(flow, arc)]++] = arc;
}

static double largest_flow_Bps(const struct topo *topo, struct arena scratch)
{
    const struct topo *t = topo;
    int n_arcs = t->n_links - t->fabric->first_link, first_switch = t->fabric->first_vertex;
    int n = t->fabric->n_switches + 2;
    struct flow flow = {.n = n, .source = n - 2, .sink = n - 1};
    flow.first = arena_new(&scratch, int32_t, n + 1);
    flow.arcs = arena_new(&scratch, int32_t, n_arcs);
    flow.head = arena_new(&scratch, int32_t, n_arcs);
    flow.room_Bps = arena_new(&scratch, double, n_arcs);
    flow.level = arena_new(&scratch, int32_t, n);
    flow.next = arena_new(&scratch, int32_t, n);
    flow.queue = arena_new(&scratch, int32_t, n);
    flow.way = arena_new(&scratch, int32_t, n);
    for (int arc = 0; arc < n_arcs; arc++) {
        const struct link *link = &t->links[t->fabric->first_link + arc];
        int to = link->dst - first_switch, from = link->src - first_switch;
        bool first_half = fabric_port_side(t, arc / 2 < t->n_ports ? arc / 2 : 0);
        int end = first_half ? flow.source : flow.sink;
        flow.head[arc] = to < 0 ? end : to;
        bool useless = arc < 2 * t->n_ports && (first_half ? to < 0 : from < 0);
        flow.room_Bps[arc] = useless ? 0 : link->capacity_Bps;
    }
    index_arcs(&flow, n_arcs);
    double sum_Bps = 0;
    while (level_up(&flow)) sum_Bps += block(&flow);
    return sum_Bps;
}

/* as topo_cut_Bps, between servers only */
static double cut_between_Bps(const struct topo *topo, const bool *side)
{
    double cut_Bps = 0;
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        if (side[link->src] && !side[link->dst]) cut_Bps += link->capacity_Bps;
    }
    return cut_Bps;
}

/* Switches with ports stand where most of their ports are; the others, met from these outwards, with the one
 * they were met from. */
static double majority_cut_Bps(const struct topo *topo, const struct graph *graph,
                               struct arena scratch)
{
    int n = topo->fabric->n_switches, first = topo->fabric->first_vertex, head = 0, tail = 0;
    int *balance = arena_new(&scratch, int, n);
    bool *met = arena_new(&scratch, bool, n);
    bool *side = arena_new(&scratch, bool, topo->n_vertices);
    for (int port = 0; port < topo->n_ports; port++) {
        const struct link *up = &topo->links[fabric_port_up(topo, port)];
        side[up->src] = fabric_port_side(topo, port);
        balance[up->dst - first] += side[up->src] ? 1 : -1;
        if (!met[up->dst - first]) graph->queue[tail++] = up->dst - first;
        met[up->dst - first] = true;
    }
    for (int i = 0; i < tail; i++) side[first + graph->queue[i]] = balance[graph->queue[i]] >= 0;
    while (head < tail) {
        int s = graph->queue[head++];
        for (int i = graph->first_out[s]; i < graph->first_out[s + 1]; i++) {
            int to = end_of(graph->net, graph->out[i]);
            if (met[to]) continue;
            met[to] = true;
            side[first + to] = side[first + s];
            graph->queue[tail++] = to;
        }
    }
    return fmin(cut_between_Bps(topo, side), fabric_ports_bisection_Bps(topo));
}

/* ---- build ---- */

static void set_way(struct link *link, struct graph_way way)
{
    if (way.rate_Bps > 0) link->capacity_Bps = way.rate_Bps;
    if (way.latency_s >= 0) link->latency_s = way.latency_s;
}

static void add_ports(struct topo *topo, const struct net_graph *net, const int *host_of,
                      const int *port_vertex, struct arena *perm)
{
    for (int port = 0; port < topo->n_ports; port++) {
        const struct graph_host *host = &net->hosts[host_of[port]];
        fabric_add_port(topo, port_vertex[port], topo->fabric->first_vertex + host->at, perm);
        set_way(&topo->links[fabric_port_up(topo, port)], host->ways[0]);
        set_way(&topo->links[fabric_port_down(topo, port)], host->ways[1]);
    }
}

static void add_cables(struct topo *topo, const struct net_graph *net, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    for (int c = 0; c < net->n_cables; c++) {
        const struct graph_cable *cable = &net->cables[c];
        struct link link = {.src = topo->fabric->first_vertex + cable->a,
                            .dst = topo->fabric->first_vertex + cable->b,
                            .tier = cable->global ? TIER_GLOBAL : TIER_FABRIC,
                            .capacity_Bps = cable->global ? spec->global_Bps : spec->link_Bps,
                            .latency_s =
                                cable->global ? spec->global_latency_s : spec->link_latency_s};
        int first = topo_add_cable(topo, link, perm);
        set_way(&topo->links[first], cable->ways[0]);
        set_way(&topo->links[first + 1], cable->ways[1]);
    }
}

/* hosts by the fabric's numbers of ports */
static const int *hosts_by_port(const struct topo *topo, struct arena *perm)
{
    int nics = topo->node.nics_per_node;
    const int *by_card =
        index_hosts(topo->fabric_spec.graph, &topo->fabric_spec, topo->n_ports, perm);
    int *by_port = arena_new(perm, int, topo->n_ports);
    for (int c = 0; c < topo->n_ports; c++)
        by_port[topo_port(topo, c / nics, c % nics)] = by_card[c];
    return by_port;
}

void graph_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    const struct net_graph *net = topo->fabric_spec.graph;
    struct graph *graph = arena_new(perm, struct graph, 1);
    must(n_ports == topo->n_ports);
    *graph = (struct graph){.net = net, .host_of = hosts_by_port(topo, perm)};
    topo->fabric->own = graph;
    int first = fabric_add_switches(topo, net->n_switches, STAGE_LEAF, perm);
    for (int s = 0; s < net->n_switches; s++)
        topo->vertices[first + s].owner = (int32_t)(uint8_t)net->stages[s];
    add_ports(topo, net, graph->host_of, port_vertex, perm);
    add_cables(topo, net, perm);
    struct reach reach = new_reach(net, perm);
    graph->first_out = reach.first;
    graph->out = reach.out;
    graph->queue = reach.queue;
    graph->distance = arena_new(perm, uint16_t, (int64_t)net->n_switches * net->n_switches);
    graph->bisection_Bps = net->n_cables <= FLOW_MAX_CABLES ? largest_flow_Bps(topo, *perm)
                                                            : majority_cut_Bps(topo, graph, *perm);
}

/* ---- routes ---- */

static const uint16_t *distances_to(const struct graph *graph, int to)
{
    uint16_t *row = graph->distance + (int64_t)to * graph->net->n_switches;
    if (row[to] == 0)
        search(&(struct reach){graph->net, graph->first_out, graph->out, row, graph->queue}, to);
    return row;
}

/* a way being laid */
struct walk {
    const struct topo *topo;
    const uint16_t *distance;
    int src, dst;
    uint64_t key, digits;
    int n;
};

static bool leads_nearer(const struct walk *walk, const struct net_graph *net, int s, int link)
{
    return walk->distance[end_of(net, link)] + length_of(net, link) == walk->distance[s];
}

/* The link that switch s sends on: of all that lead nearer, one by the digits or by hash. */
static int next_link(struct walk *walk, int s)
{
    const struct graph *graph = walk->topo->fabric->own;
    int n_ways = 0;
    for (int i = graph->first_out[s]; i < graph->first_out[s + 1]; i++)
        n_ways += leads_nearer(walk, graph->net, s, graph->out[i]);
    must(n_ways > 0);
    uint64_t ways = n_ways > 0 ? (uint64_t)n_ways : 1;
    uint64_t turn = walk->digits % ways;
    if (walk->topo->fabric->ecmp)
        turn = fabric_hash(walk->topo, walk->src, walk->dst, walk->key, walk->n) % ways;
    walk->digits /= ways;
    int i = graph->first_out[s];
    for (;; i++) {
        bool nearer = leads_nearer(walk, graph->net, s, graph->out[i]);
        if (nearer && turn-- == 0) return graph->out[i];
    }
}

int graph_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct graph *graph = topo->fabric->own;
    int at = graph->net->hosts[graph->host_of[src]].at;
    int to = graph->net->hosts[graph->host_of[dst]].at;
    struct walk walk = {topo, distances_to(graph, to), src, dst, key, (uint64_t)dst, 0};
    int first_link = topo->fabric->first_link + 2 * topo->n_ports;
    links[walk.n++] = fabric_port_up(topo, src);
    while (at != to) {
        int link = next_link(&walk, at);
        links[walk.n++] = first_link + link;
        at = end_of(graph->net, link);
    }
    links[walk.n++] = fabric_port_down(topo, dst);
    return walk.n;
}

double graph_bisection_Bps(const struct topo *topo)
{
    const struct graph *graph = topo->fabric->own;
    return graph->bisection_Bps;
}

void graph_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    const struct graph *graph = topo->fabric->own;
    snprintf(text, (size_t)size, "%s", graph->net->names[vertex.index]);
}
