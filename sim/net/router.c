#include "net/router.h"

#include "base/must.h"
#include "net/adaptive.h"
#include "net/fabric.h"
#include "net/routing.h"
#include "net/trunk.h"

#include <math.h>
#include <stdio.h>

/* a distance for each pair of them is kept: 512 MB */
enum { MAX_SWITCHES = 1 << 14 };

/* hops that a link between groups counts for, see the header */
enum { GLOBAL_HOPS = 3, FAR = UINT16_MAX };

/* links between switches by the switch at one end */
struct ends {
    int32_t *first; /* [n_switches + 1] */
    int32_t *links;
    int32_t *there; /* [links] the switch at the other end, and the hops there, kept here because */
    int32_t *hops;  /* looking into every link of a switch is what takes the time of spreading */
};

/* a target of ways: a switch, or n_switches + g for any switch of group g */
struct router {
    const struct routing *routing;
    int n_switches, n_groups;
    int *group;          /* [n_switches] */
    bool *shunned;       /* [n_groups] see router_shun */
    struct ends out, in; /* of links that have not failed */
    int32_t *ways;       /* [most links of a switch] those of `out` that a flow is split over */
    uint16_t *distance;  /* [targets * n_switches], the target's rows when known */
    bool *known;         /* [targets] */
    int32_t *queue;      /* [n_switches + 1] ring of switches to look at */
    bool *queued;

    struct trunks trunks; /* a spread names the first of each */

    /* the spread being made */
    double *frac; /* [links] zero between two spreads */
    struct link_share *shares;
    int n_shares;
    double common_s, longest_s; /* latency of what all ways share; of the longest of the rest */

    /* the flow while it is pushed through the switches: parts and latencies there, lists by distance */
    double *part, *late_s;
    int32_t *next, *head;
};

/* ---- the graph ---- */

static int switch_of(const struct topo *topo, int vertex)
{
    int s = vertex - topo->fabric->first_vertex;
    return s >= 0 && s < topo->fabric->n_switches ? s : -1;
}

/* between switches, and there */
static bool carries(const struct topo *topo, int link)
{
    const struct link *l = &topo->links[link];
    return !l->failed && switch_of(topo, l->src) >= 0 && switch_of(topo, l->dst) >= 0;
}

static int hops_of(const struct topo *topo, int link)
{
    return topo->links[link].tier == TIER_GLOBAL ? GLOBAL_HOPS : 1;
}

static struct ends list_ends(const struct topo *topo, bool by_src, struct arena *perm)
{
    int n = topo->fabric->n_switches, first = topo->fabric->first_link;
    struct ends ends = {.first = arena_new(perm, int32_t, n + 2)};
    ends.links = arena_new(perm, int32_t, topo->n_links - first);
    ends.there = arena_new(perm, int32_t, topo->n_links - first);
    ends.hops = arena_new(perm, int32_t, topo->n_links - first);
    int32_t *at =
        ends.first + 1; /* counts, then places, then ends that are the next one's starts */
    for (int l = first; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        if (carries(topo, l)) at[1 + switch_of(topo, by_src ? link->src : link->dst)]++;
    }
    for (int s = 0; s < n; s++) at[s + 1] += at[s];
    for (int l = first; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        if (!carries(topo, l)) continue;
        int i = at[switch_of(topo, by_src ? link->src : link->dst)]++;
        ends.links[i] = l;
        ends.there[i] = switch_of(topo, by_src ? link->dst : link->src);
        ends.hops[i] = hops_of(topo, l);
    }
    return ends;
}

static void number_groups(const struct topo *topo, struct router *router, struct arena *perm)
{
    router->group = arena_new(perm, int, router->n_switches);
    for (int s = 0; s < router->n_switches; s++) {
        router->group[s] = topo->fabric->kind->group ? topo->fabric->kind->group(topo, s) : s;
        if (router->group[s] >= router->n_groups) router->n_groups = router->group[s] + 1;
    }
}

static bool wants_graph(const struct topo *topo)
{
    enum routing_mode mode = topo->fabric->routing->mode;
    return topo->n_failed > 0 || (mode != ROUTING_STATIC && mode != ROUTING_ECMP);
}

static void open_graph(const struct topo *topo, struct router *router, struct arena *perm)
{
    int n = router->n_switches = topo->fabric->n_switches;
    number_groups(topo, router, perm);
    router->shunned = arena_new(perm, bool, router->n_groups);
    int64_t n_targets = (int64_t)n + router->n_groups;
    router->out = list_ends(topo, true, perm);
    router->in = list_ends(topo, false, perm);
    int most = 0;
    for (int s = 0; s < n; s++) {
        int links = router->out.first[s + 1] - router->out.first[s];
        if (links > most) most = links;
    }
    router->ways = arena_new(perm, int32_t, most);
    router->distance = arena_new(perm, uint16_t, n_targets * n);
    router->known = arena_new(perm, bool, n_targets);
    router->queue = arena_new(perm, int32_t, n + 1);
    router->queued = arena_new(perm, bool, n);
    router->part = arena_new(perm, double, n);
    router->late_s = arena_new(perm, double, n);
    router->next = arena_new(perm, int32_t, n);
    router->head = arena_new(perm, int32_t, GLOBAL_HOPS * n + 1);
    for (int d = 0; d <= GLOBAL_HOPS * n; d++) router->head[d] = -1;
}

struct router *router_new(const struct topo *topo, struct arena *perm)
{
    struct router *router = arena_new(perm, struct router, 1);
    router->frac = arena_new(perm, double, topo->n_links);
    router->shares = arena_new(perm, struct link_share, topo->n_links);
    router->trunks = trunks_new(topo, perm);
    if (!topo->fabric) return router;
    router->routing = topo->fabric->routing;
    if (wants_graph(topo)) open_graph(topo, router, perm);
    return router;
}

/* Ends are the first switches of those that are alike, so that only these are looked at. */
static void name_first_hops(const struct topo *topo, struct router *router)
{
    const int32_t *first_hop = router->trunks.first_hop;
    for (int i = 0; i < router->out.first[router->n_switches]; i++) {
        router->out.there[i] = first_hop[switch_of(topo, topo->links[router->out.links[i]].dst)];
        router->in.there[i] = first_hop[switch_of(topo, topo->links[router->in.links[i]].src)];
    }
    for (int t = 0; t < router->n_switches + router->n_groups; t++) router->known[t] = false;
}

void router_bundle(const struct topo *topo, bool together, struct arena scratch)
{
    struct router *router = topo->router;
    if (!topo->fabric) return;
    enum routing_mode mode = router->routing->mode;
    bool detours = mode == ROUTING_VALIANT_SPRAY;
    bool spread = mode == ROUTING_SPRAY || detours;
    trunks_find(topo, detours ? router->group : NULL, together && spread, &router->trunks, scratch);
    /* single ways, which others than spreads take, need every switch */
    if (mode == ROUTING_SPRAY && topo->n_failed == 0) name_first_hops(topo, router);
}

int router_bundled(const struct topo *topo, int link)
{
    return topo->router->trunks.n_links[link];
}

bool router_fits(const struct topo *topo, struct diag *diag, struct diag_place place)
{
    if (!topo->fabric || !wants_graph(topo)) return true;
    int n = topo->fabric->n_switches;
    if (n <= MAX_SWITCHES) return true;
    diag_error(diag, place, "%d switches (at most %d with %s)", n, (int)MAX_SWITCHES,
               topo->n_failed > 0 ? "failed links" : "this routing");
    return false;
}

/* ---- distances ---- */

struct queue {
    int head, n;
};

static void put(struct router *router, struct queue *queue, int s)
{
    if (router->queued[s]) return;
    router->queued[s] = true;
    router->queue[(queue->head + queue->n++) % (router->n_switches + 1)] = s;
}

static int take(struct router *router, struct queue *queue)
{
    int s = router->queue[queue->head];
    queue->head = (queue->head + 1) % (router->n_switches + 1);
    queue->n--;
    router->queued[s] = false;
    return s;
}

static void start_search(struct router *router, struct queue *queue, int target, uint16_t *row)
{
    for (int s = 0; s < router->n_switches; s++) {
        bool here = target < router->n_switches ? s == target
                                                : router->group[s] == target - router->n_switches;
        row[s] = here ? 0 : FAR;
        if (here) put(router, queue, s);
    }
}

/* Distances of all switches to the target. Label-correcting search from it (Bellman-Ford with a queue):
 * links count one or a few, so hardly a switch is looked at twice. */
static const uint16_t *distances(const struct topo *topo, int target)
{
    struct router *router = topo->router;
    uint16_t *row = router->distance + (int64_t)target * router->n_switches;
    if (router->known[target]) return row;
    router->known[target] = true;
    struct queue queue = {0, 0};
    start_search(router, &queue, target, row);
    while (queue.n > 0) {
        int s = take(router, &queue);
        for (int i = router->in.first[s]; i < router->in.first[s + 1]; i++) {
            int from = router->in.there[i];
            int through = row[s] + router->in.hops[i];
            if (through >= row[from]) continue;
            must(through < FAR);
            row[from] = (uint16_t)through;
            put(router, &queue, from);
        }
    }
    return row;
}

/* The links of switch s, a target's distance away, that are on a shortest way: router->ways. */
static int ways_on(struct router *router, const uint16_t *row, int s)
{
    const struct ends *out = &router->out;
    int here = row[s], n = 0;
    for (int i = out->first[s]; i < out->first[s + 1]; i++) {
        router->ways[n] = i;
        n += row[out->there[i]] + out->hops[i] == here;
    }
    return n;
}

/* ---- one way ---- */

/* what chooses among equal ways: bits of a hash, or digits of the destination */
struct chooser {
    const struct port_pair *pair;
    uint64_t digits;
    int stage;
};
enum { STAGE_GROUP = 100, STAGE_WALK = 101 }; /* beyond those of the fabrics' own formulas */

static int choose(const struct topo *topo, struct chooser *chooser, int n)
{
    if (topo->fabric->routing->hashed) {
        uint64_t hash = fabric_hash(topo, chooser->pair->src, chooser->pair->dst,
                                    chooser->pair->key, chooser->stage++);
        return (int)(hash % (uint64_t)n);
    }
    int at = (int)(chooser->digits % (uint64_t)n);
    chooser->digits /= (uint64_t)n;
    return at;
}

/* On from *at to the target; moves *at. Returns how many links. */
static int walk(const struct topo *topo, int *at, int target, struct chooser *chooser, int *links)
{
    struct router *router = topo->router;
    const uint16_t *row = distances(topo, target);
    int n = 0;
    must(row[*at] < FAR);
    while (row[*at] > 0) {
        int n_ways = ways_on(router, row, *at);
        int i = router->ways[choose(topo, chooser, n_ways)];
        must(n < ROUTE_MAX / 2 - 2);
        links[n++] = router->out.links[i];
        *at = router->out.there[i];
    }
    return n;
}

int router_port_switch(const struct topo *topo, int port)
{
    return switch_of(topo, topo->links[fabric_port_up(topo, port)].dst);
}

static bool may_detour(const struct router *router, int here, int there, int via)
{
    return router->group[here] != via && router->group[there] != via && !router->shunned[via];
}

/* The group to go round by: one of those that neither end is in, and when that is shunned the next that is
 * not; -1 when there is none. */
static int draw_detour(const struct topo *topo, const struct port_pair *pair)
{
    const struct router *router = topo->router;
    int src = router_port_switch(topo, pair->src), dst = router_port_switch(topo, pair->dst);
    int here = router->group[src], there = router->group[dst];
    int n = router->n_groups - 1 - (here != there);
    if (n < 1) return -1;
    uint64_t hash = fabric_hash(topo, pair->src, pair->dst, pair->key, STAGE_GROUP);
    int via = (int)(hash % (uint64_t)n);
    int low = here < there ? here : there, high = here < there ? there : here;
    via += via >= low; /* step over both */
    via += high != low && via >= high;
    for (int tried = 0; tried < router->n_groups; tried++, via = (via + 1) % router->n_groups) {
        if (may_detour(router, src, dst, via)) return via;
    }
    return -1;
}

static int route_walked(const struct topo *topo, struct port_pair pair, int via, int *links)
{
    struct chooser chooser = {&pair, (uint64_t)pair.dst, STAGE_WALK};
    int at = router_port_switch(topo, pair.src);
    int n = 0;
    links[n++] = fabric_port_up(topo, pair.src);
    if (via >= 0) n += walk(topo, &at, topo->router->n_switches + via, &chooser, links + n);
    n += walk(topo, &at, router_port_switch(topo, pair.dst), &chooser, links + n);
    links[n++] = fabric_port_down(topo, pair.dst);
    return n;
}

static bool has_failed(const struct topo *topo, const int *links, int n)
{
    for (int i = 0; topo->n_failed > 0 && i < n; i++) {
        if (topo->links[links[i]].failed) return true;
    }
    return false;
}

static int route_shortest(const struct topo *topo, struct port_pair pair, int *links)
{
    int n = topo->fabric->kind->route(topo, pair.src, pair.dst, pair.key, links);
    return has_failed(topo, links, n) ? route_walked(topo, pair, -1, links) : n;
}

static int route_detour(const struct topo *topo, struct port_pair pair, int *links)
{
    int via = draw_detour(topo, &pair);
    return via < 0 ? route_shortest(topo, pair, links) : route_walked(topo, pair, via, links);
}

int router_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    struct port_pair pair = {src, dst, key};
    enum routing_mode mode = topo->fabric->routing->mode;
    bool detours = mode == ROUTING_VALIANT || mode == ROUTING_VALIANT_SPRAY;
    return detours ? route_detour(topo, pair, links) : route_shortest(topo, pair, links);
}

/* ---- several ways ---- */

bool router_single(const struct topo *topo)
{
    if (!topo->fabric) return true;
    switch (topo->fabric->routing->mode) {
    case ROUTING_STATIC:
        return true;
    case ROUTING_ECMP:
    case ROUTING_VALIANT:
        return topo->fabric_spec.qps <= 1;
    case ROUTING_SPRAY:
    case ROUTING_VALIANT_SPRAY:
    case ROUTING_UGAL:
        break;
    }
    return false;
}

static void add_share(struct router *router, int link, double frac)
{
    if (router->frac[link] <= 0.0) router->shares[router->n_shares++].link = link;
    router->frac[link] += frac;
}

static void add_way(const struct topo *topo, const int *links, int n, double frac)
{
    struct router *router = topo->router;
    for (int i = 0; i < n; i++) add_share(router, links[i], frac);
    router->longest_s = fmax(router->longest_s, topo_path_latency_s(topo, links, n));
}

/* A part of the flow, and when it comes to a switch. */
struct arrival {
    double part, late_s;
};

static void bring(struct router *router, const uint16_t *row, int s, struct arrival arrival)
{
    if (router->part[s] <= 0.0) {
        router->next[s] = router->head[row[s]];
        router->head[row[s]] = s;
        router->late_s[s] = 0.0;
    }
    router->part[s] += arrival.part;
    router->late_s[s] = fmax(router->late_s[s], arrival.late_s);
}

/* What stands at a switch is that of all that are like it. */
static void split(const struct topo *topo, const uint16_t *row, int s)
{
    struct router *router = topo->router;
    const struct trunks *trunks = &router->trunks;
    int n_ways = ways_on(router, row, s);
    struct arrival on = {.part = router->part[s] / n_ways};
    router->part[s] = 0.0;
    for (int w = 0; w < n_ways; w++) {
        int i = router->ways[w], link = trunks->first[router->out.links[i]];
        add_share(router, link, on.part / trunks->n_links[link]);
        on.late_s = router->late_s[s] + topo->links[link].latency_s;
        bring(router, row, trunks->first_hop[router->out.there[i]], on);
    }
}

/* All that stands at switches, listed by their distance, goes on to the target, split evenly at each
 * switch; it then stands in the list of distance 0. `farthest` is the largest distance in use. */
static void push_on(const struct topo *topo, const uint16_t *row, int farthest)
{
    struct router *router = topo->router;
    for (int d = farthest; d > 0; d--) {
        while (router->head[d] >= 0) {
            int s = router->head[d];
            router->head[d] = router->next[s];
            split(topo, row, s);
        }
    }
}

/* What has come to a first target is listed anew for the second; returns the largest distance. */
static int turn_to(struct router *router, const uint16_t *row)
{
    int farthest = 0;
    int s = router->head[0];
    router->head[0] = -1;
    while (s >= 0) {
        int next = router->next[s];
        struct arrival here = {router->part[s], router->late_s[s]};
        router->part[s] = 0.0;
        must(row[s] < FAR);
        bring(router, row, s, here);
        if (row[s] > farthest) farthest = row[s];
        s = next;
    }
    return farthest;
}

static void spray(const struct topo *topo, const struct port_pair *pair, int via, double frac)
{
    struct router *router = topo->router;
    int up = fabric_port_up(topo, pair->src), down = fabric_port_down(topo, pair->dst);
    int at = router_port_switch(topo, pair->src), to = router_port_switch(topo, pair->dst);
    const uint16_t *row = distances(topo, via < 0 ? to : router->n_switches + via);
    add_share(router, up, frac);
    must(row[at] < FAR);
    bring(router, row, at, (struct arrival){frac, topo->links[up].latency_s});
    push_on(topo, row, row[at]);
    if (via >= 0) {
        row = distances(topo, to);
        push_on(topo, row, turn_to(router, row));
    }
    router->head[0] = -1;
    router->part[to] = 0.0;
    add_share(router, down, frac);
    router->longest_s = fmax(router->longest_s, router->late_s[to] + topo->links[down].latency_s);
}

static void spray_detours(const struct topo *topo, const struct port_pair *pair)
{
    struct router *router = topo->router;
    int here = router_port_switch(topo, pair->src), there = router_port_switch(topo, pair->dst);
    int n = 0;
    for (int via = 0; via < router->n_groups; via++) n += may_detour(router, here, there, via);
    for (int via = 0; via < router->n_groups; via++) {
        if (may_detour(router, here, there, via)) spray(topo, pair, via, 1.0 / n);
    }
    if (n == 0) spray(topo, pair, -1, 1.0);
}

/* The shortest ways and those round by groups, each as much as was settled. */
static void spray_split(const struct topo *topo, const struct port_pair *pair,
                        struct division split)
{
    struct router *router = topo->router;
    if (split.n_detours == 0) {
        spray(topo, pair, -1, split.direct);
        return;
    }
    int up = fabric_port_up(topo, pair->src), down = fabric_port_down(topo, pair->dst);
    double whole = split.direct;
    for (int i = 0; i < split.n_detours; i++) whole += split.detours[i].frac;
    add_share(router, up, whole);
    for (int i = 0; i < split.ways.n; i++)
        add_share(router, split.ways.shares[i].link, split.ways.shares[i].frac);
    add_share(router, down, whole);
    router->longest_s = fmax(router->longest_s, topo->links[up].latency_s + split.ways.latency_s +
                                                    topo->links[down].latency_s);
}

/* Queue pairs after the first have keys of their own. */
static void add_queue_pairs(const struct topo *topo, struct port_pair pair)
{
    int n_qps = topo->fabric_spec.qps > 1 ? topo->fabric_spec.qps : 1;
    int links[ROUTE_MAX];
    uint64_t key = pair.key;
    for (int q = 0; q < n_qps; q++) {
        pair.key = key + (uint64_t)q * 0x9e3779b97f4a7c15u; /* the hash mixes; distinct is enough */
        int n = router_route(topo, pair.src, pair.dst, pair.key, links);
        add_way(topo, links, n, 1.0 / n_qps);
    }
}

void router_add(const struct topo *topo, struct port_pair pair, const struct adaptive *adaptive)
{
    switch (topo->fabric->routing->mode) {
    case ROUTING_SPRAY:
        spray(topo, &pair, -1, 1.0);
        break;
    case ROUTING_VALIANT_SPRAY:
        spray_detours(topo, &pair);
        break;
    case ROUTING_UGAL:
        spray_split(topo, &pair,
                    adaptive ? adaptive_division(adaptive, pair)
                             : (struct division){.direct = 1.0});
        break;
    case ROUTING_STATIC:
    case ROUTING_ECMP:
    case ROUTING_VALIANT:
        add_queue_pairs(topo, pair);
        break;
    }
}

/* ---- many flows at once ---- */

int router_n_groups(const struct topo *topo)
{
    return topo->router->n_groups;
}

bool router_may_detour(const struct topo *topo, int src, int dst, int group)
{
    return may_detour(topo->router, src, dst, group);
}

struct ways router_leg(const struct topo *topo, int src, int target, struct landing *landings,
                       int *n_landings)
{
    struct router *router = topo->router;
    const uint16_t *row = distances(topo, target);
    must(row[src] < FAR);
    router_begin(topo);
    bring(router, row, src, (struct arrival){1.0, 0.0});
    push_on(topo, row, row[src]);
    *n_landings = 0;
    for (int s = router->head[0]; s >= 0; s = router->next[s]) {
        landings[(*n_landings)++] = (struct landing){s, router->part[s], router->late_s[s]};
        router->part[s] = 0.0;
    }
    router->head[0] = -1;
    return router_end(topo);
}

void router_begin(const struct topo *topo)
{
    struct router *router = topo->router;
    router->n_shares = 0;
    router->common_s = router->longest_s = 0.0;
}

void router_add_links(const struct topo *topo, const int *links, int n)
{
    struct router *router = topo->router;
    for (int i = 0; i < n; i++) add_share(router, links[i], 1.0);
    router->common_s += topo_path_latency_s(topo, links, n);
}

struct ways router_end(const struct topo *topo)
{
    struct router *router = topo->router;
    for (int i = 0; i < router->n_shares; i++) {
        struct link_share *share = &router->shares[i];
        share->frac = router->frac[share->link];
        router->frac[share->link] = 0.0;
    }
    return (struct ways){router->shares, router->n_shares, router->common_s + router->longest_s};
}

/* ---- cuts ---- */

/* A search through the ports' cards and the switches from the first port, along links or against them.
 * Before: as if no link had failed. */
struct search {
    const struct topo *topo;
    bool before, against;
    bool *seen; /* [vertices] */
};

/* the far ends of the links of each vertex, as the search sees them: to[first[v]] .. to[first[v + 1] - 1] */
struct far_ends {
    int32_t *first, *to;
};

/* next_way — of the links from l on, the first that the search may take. */
static int next_way(const struct search *search, int l)
{
    const struct topo *topo = search->topo;
    while (l < topo->n_links && topo->links[l].failed && !search->before) l++;
    return l;
}

static int near_end(const struct search *search, int l)
{
    const struct link *link = &search->topo->links[l];
    return search->against ? link->dst : link->src;
}

static int far_end(const struct search *search, int l)
{
    const struct link *link = &search->topo->links[l];
    return search->against ? link->src : link->dst;
}

static struct far_ends list_far_ends(const struct search *search, struct arena *perm)
{
    const struct topo *topo = search->topo;
    struct far_ends far = {arena_new(perm, int32_t, topo->n_vertices + 2),
                           arena_new(perm, int32_t, topo->n_links)};
    int32_t *at = far.first + 1;
    int first = next_way(search, topo->fabric->first_link);
    for (int l = first; l < topo->n_links; l = next_way(search, l + 1))
        at[near_end(search, l) + 1]++;
    for (int v = 0; v < topo->n_vertices; v++) at[v + 1] += at[v];
    for (int l = first; l < topo->n_links; l = next_way(search, l + 1))
        far.to[at[near_end(search, l)]++] = far_end(search, l);
    return far;
}

static void search_from(const struct search *search, int start, struct arena scratch)
{
    struct far_ends far = list_far_ends(search, &scratch);
    int32_t *queue = arena_new(&scratch, int32_t, search->topo->n_vertices);
    int n = 0;
    queue[n++] = start;
    search->seen[start] = true;
    for (int i = 0; i < n; i++) {
        for (int k = far.first[queue[i]]; k < far.first[queue[i] + 1]; k++) {
            if (search->seen[far.to[k]]) continue;
            search->seen[far.to[k]] = true;
            queue[n++] = far.to[k];
        }
    }
}

static int port_vertex(const struct topo *topo, int port)
{
    return topo->links[fabric_port_up(topo, port)].src;
}

/* does a node's card still have its cable, both ways? */
static bool is_plugged(const struct topo *topo, int port)
{
    return !topo->links[fabric_port_up(topo, port)].failed &&
           !topo->links[fabric_port_down(topo, port)].failed;
}

static void name_cut(const struct topo *topo, int here, int there, bool against, struct diag *diag,
                     struct diag_place place)
{
    char from[TOPO_NAME_MAX], to[TOPO_NAME_MAX], link[TOPO_NAME_MAX];
    topo_vertex_name(topo, port_vertex(topo, against ? there : here), from, sizeof from);
    topo_vertex_name(topo, port_vertex(topo, against ? here : there), to, sizeof to);
    int l = topo->fabric->first_link;
    while (!topo->links[l].failed) l++;
    topo_link_name(topo, l, link, sizeof link);
    if (topo->n_failed == 1)
        diag_error(diag, place, "the network is cut: no way from %s to %s without %s", from, to,
                   link);
    else
        diag_error(diag, place,
                   "the network is cut: no way from %s to %s without %s and %d more that failed",
                   from, to, link, topo->n_failed - 1);
}

/* Ports that `start` reached before and does not now; -1 = none. Cards whose cable has failed do not
 * count where their node has another. */
static int find_lost(const struct topo *topo, int start, bool against, struct arena scratch)
{
    struct search now = {topo, false, against, arena_new(&scratch, bool, topo->n_vertices)};
    struct search before = {topo, true, against, arena_new(&scratch, bool, topo->n_vertices)};
    search_from(&now, port_vertex(topo, start), scratch);
    search_from(&before, port_vertex(topo, start), scratch);
    for (int port = 0; port < topo->n_ports; port++) {
        int v = port_vertex(topo, port);
        if (is_plugged(topo, port) && before.seen[v] && !now.seen[v]) return port;
    }
    return -1;
}

/* a node none of whose cards is plugged in any more; -1 = none */
static int find_lone_node(const struct topo *topo)
{
    for (int node = 0; node < topo->n_nodes; node++) {
        int k = 0;
        while (k < topo->node.nics_per_node && !is_plugged(topo, topo_port(topo, node, k))) k++;
        if (k == topo->node.nics_per_node) return node;
    }
    return -1;
}

/* Inside a server there is one way only. */
static bool report_inside(const struct topo *topo, struct diag *diag, struct diag_place place)
{
    char name[TOPO_NAME_MAX];
    int end = topo->fabric ? topo->fabric->first_link : topo->n_links;
    for (int l = 0; l < end; l++) {
        if (!topo->links[l].failed) continue;
        topo_link_name(topo, l, name, sizeof name);
        diag_error(diag, place, "inside a server there is no way round %s", name);
        return false;
    }
    return true;
}

/* a port of the plane that is plugged in; -1 = none */
static int plugged_port(const struct topo *topo, int plane)
{
    for (int node = 0; node < topo->n_nodes; node++) {
        for (int nic = plane; nic < topo->node.nics_per_node; nic += topo->fabric->n_planes) {
            int port = topo_port(topo, node, nic);
            if (is_plugged(topo, port)) return port;
        }
    }
    return -1;
}

bool router_report_cut(const struct topo *topo, struct diag *diag, struct diag_place place,
                       struct arena scratch)
{
    if (topo->n_failed == 0) return true;
    if (!report_inside(topo, diag, place)) return false;
    if (!topo->fabric) return true;
    int lone = find_lone_node(topo);
    if (lone >= 0) {
        name_cut(topo, topo_port(topo, lone == 0, 0), topo_port(topo, lone, 0), false, diag, place);
        return false;
    }
    for (int i = 0; i < 2 * topo->fabric->n_planes; i++) {
        int against = i % 2, start = plugged_port(topo, i / 2);
        int lost = start < 0 ? -1 : find_lost(topo, start, against, scratch);
        if (lost < 0) continue;
        name_cut(topo, start, lost, against, diag, place);
        return false;
    }
    return true;
}

void router_shun(const struct topo *topo, struct arena scratch)
{
    if (topo->n_failed == 0 || !topo->fabric || !topo->fabric->routing->detours) return;
    struct router *router = topo->router;
    int start = port_vertex(topo, plugged_port(topo, 0));
    struct search there = {topo, false, false, arena_new(&scratch, bool, topo->n_vertices)};
    struct search back = {topo, false, true, arena_new(&scratch, bool, topo->n_vertices)};
    search_from(&there, start, scratch);
    search_from(&back, start, scratch);
    for (int g = 0; g < router->n_groups; g++) router->shunned[g] = true;
    for (int s = 0; s < router->n_switches; s++) {
        if (there.seen[topo->fabric->first_vertex + s]) router->shunned[router->group[s]] = false;
    }
    for (int s = 0; s < router->n_switches; s++) {
        int v = topo->fabric->first_vertex + s;
        if (there.seen[v] && !back.seen[v]) router->shunned[router->group[s]] = true;
    }
}
