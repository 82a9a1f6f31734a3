#include "place.h"

#include "base/must.h"
#include "net/router.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- members ---- */

bool place_ordered(enum coll_kind kind)
{
    return kind != COLL_SENDRECV;
}

struct seat {
    int gpu, rank;
    int node_turn; /* place of its node's first member in the job's order */
};

static int by_node(const void *a, const void *b)
{
    const struct seat *x = a;
    const struct seat *y = b;
    if (x->node_turn != y->node_turn) return x->node_turn > y->node_turn ? 1 : -1;
    return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

/* Nodes in the order in which the job comes to them, as libraries number them: they know of servers,
 * not of the network between. */
static void sort_by_node(const struct place *place, struct seat *seats, struct arena scratch)
{
    const struct topo *topo = place->in->topo;
    int *turn = arena_new(&scratch, int, topo->n_nodes);
    for (int i = place->n_ranks - 1; i >= 0; i--) turn[topo_node_of(topo, seats[i].gpu)] = i;
    for (int i = 0; i < place->n_ranks; i++) {
        seats[i].node_turn = turn[topo_node_of(topo, seats[i].gpu)];
    }
    qsort(seats, (size_t)place->n_ranks, sizeof *seats, by_node);
}

static void seat_members(struct place *place, bool ordered, struct arena scratch)
{
    struct seat *seats = arena_new(&scratch, struct seat, place->n_ranks);
    bool rising = true;
    for (int i = 0; i < place->n_ranks; i++) {
        int rank = job_member(place->in->job, place->comm, place->group, i);
        seats[i] = (struct seat){.gpu = place->in->gpu_of[rank], .rank = rank};
        rising = rising && (i == 0 || seats[i - 1].gpu < seats[i].gpu);
    }
    if (ordered && !rising) sort_by_node(place, seats, scratch);
    for (int i = 0; i < place->n_ranks; i++) {
        place->ranks[i] = seats[i].rank;
        place->gpus[i] = seats[i].gpu;
    }
}

static int gcd(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void count_nodes(struct place *place)
{
    const struct topo *topo = place->in->topo;
    place->even = true;
    int first = 0;
    int members = 0; /* of the node before */
    for (int i = 1; i <= place->n_ranks; i++) {
        int node = topo_node_of(topo, place->gpus[first]);
        if (i < place->n_ranks && topo_node_of(topo, place->gpus[i]) == node) continue;
        place->even = place->even && (members == 0 || members == i - first);
        members = i - first;
        place->ranks_per_node = gcd(place->ranks_per_node, members);
        place->nodes[place->n_nodes++] = node;
        first = i;
    }
}

static void add_rail(struct place *place, int nic, int member)
{
    for (int c = 0; c < place->n_channels; c++) {
        if (place->rails[c] == nic) return;
    }
    place->rails[place->n_channels] = nic;
    place->rail_member[place->n_channels++] = member;
}

/* Channels leave a node by the NICs that its members use, in the members' order. */
static void find_rails(struct place *place)
{
    const struct topo *topo = place->in->topo;
    place->n_channels = 1;
    if (place->n_nodes == 1) return;
    place->n_channels = 0;
    for (int i = 0; i < place->ranks_per_node; i++) {
        for (int nic = 0; nic < topo->node.nics_per_node; nic++) {
            if (topo_uses_nic(topo, place->gpus[i], nic)) add_rail(place, nic, i);
        }
    }
}

struct place *place_group(const struct inputs *in, int comm, int group, bool ordered,
                          struct arena *perm)
{
    struct place *place = arena_new(perm, struct place, 1);
    int n = job_group_size(in->job, comm);
    *place = (struct place){.in = in,
                            .topo = in->topo,
                            .comm = comm,
                            .group = group,
                            .n_ranks = n,
                            .n_servers = in->job->comms[comm].n_servers,
                            .ranks = arena_new(perm, int, n),
                            .gpus = arena_new(perm, int, n),
                            .nodes = arena_new(perm, int, n),
                            .rails = arena_new(perm, int, in->topo->node.nics_per_node),
                            .rail_member = arena_new(perm, int, in->topo->node.nics_per_node)};
    seat_members(place, ordered, *perm);
    count_nodes(place);
    find_rails(place);
    return place;
}

struct place place_at(const struct place *place, int epoch)
{
    struct place at = *place;
    if (epoch > 0) at.topo = place->in->epochs[epoch - 1].topo;
    return at;
}

int place_root(const struct place *place, int root)
{
    if (root < 0 || place->n_servers > 0) return root;
    int rank = job_member(place->in->job, place->comm, place->group, root);
    int member = 0;
    while (place->ranks[member] != rank) member++;
    return member;
}

/* Switches in a grid, along whose axes rings have cables of their own. */
static bool is_grid(const char *kind)
{
    return strcmp(kind, "torus") == 0 || strcmp(kind, "mesh") == 0 || strcmp(kind, "hyperx") == 0;
}

/* Servers fill switches in order, as their cards stand in a row of ports. */
static int nodes_per_switch(const struct topo *topo)
{
    int ports = topo->fabric_spec.ports_per_router, cards = topo->node.nics_per_node;
    return topo->rail_nodes == 1 && cards > 0 && ports % cards == 0 ? ports / cards : 0;
}

/* Do the group's nodes stand in order, from any place of the highest axis on, round about? */
static bool in_order(const struct place *place, int per_place)
{
    if (place->nodes[0] % per_place != 0) return false;
    for (int i = 0; i < place->n_nodes; i++) {
        if (place->nodes[i] != (place->nodes[0] + i) % place->n_nodes) return false;
    }
    return true;
}

void place_axes(const struct place *place, int *axes)
{
    const struct topo *topo = place->topo;
    const struct fabric_spec *spec = &topo->fabric_spec;
    bool all = place->even && place->n_nodes == topo->n_nodes && topo->n_nodes > 1;
    if (!all || !is_grid(spec->kind)) return;
    int n = 0, first = nodes_per_switch(topo), top = spec->side[spec->n_dimensions - 1];
    int64_t held = first;
    for (int d = 0; d < spec->n_dimensions; d++) held *= spec->side[d];
    if (held != topo->n_nodes || !in_order(place, topo->n_nodes / top)) return;
    if (first > 1) axes[n++] = first;
    for (int d = 0; d < spec->n_dimensions && n < COLL_MAX_AXES; d++) {
        if (spec->side[d] > 1) axes[n++] = spec->side[d];
    }
}

/* ---- ways ---- */

static struct endpoint endpoint_of(const struct place *place, int member)
{
    if (member < place->n_ranks) return (struct endpoint){VERTEX_GPU, place->gpus[member]};
    int server = member - place->n_ranks;
    int sockets = place->in->topo->node.sockets;
    int node = place->nodes[server % place->n_nodes];
    int socket = server / place->n_nodes % sockets;
    return (struct endpoint){VERTEX_HOST, node * sockets + socket};
}

/* Finalizer of SplitMix64: every input bit reaches every output bit.
 * Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static uint64_t connection_key(const struct place *place, struct coll_flow flow, int channel)
{
    uint64_t owner = (uint64_t)(uint32_t)place->comm << 32 | (uint32_t)place->group;
    uint64_t ends = (uint64_t)(uint32_t)flow.src << 32 | (uint32_t)flow.dst;
    return mix(mix(mix(owner) ^ (uint32_t)channel) ^ ends);
}

static struct route_ask ask_of(const struct place *place, struct coll_flow flow, int channel)
{
    return (struct route_ask){
        .src = endpoint_of(place, flow.src),
        .dst = endpoint_of(place, flow.dst),
        .rail = place->n_channels > 1 ? place->rails[channel % place->n_channels] : -1,
        .key = connection_key(place, flow, channel)};
}

int place_route(const struct place *place, struct coll_flow flow, int channel, int *links)
{
    struct route_ask ask = ask_of(place, flow, channel);
    return topo_route(place->topo, ask.src, ask.dst, ask.rail, ask.key, links);
}

struct ways place_spread(const struct place *place, struct coll_flow flow, int channel,
                         const struct adaptive *adaptive)
{
    struct route_ask ask = ask_of(place, flow, channel);
    ask.adaptive = adaptive;
    return topo_spread(place->topo, &ask);
}

void place_offer(const struct place *place, struct coll_flow flow, int channel,
                 struct adaptive *adaptive, struct arena *perm)
{
    struct route_ask ask = ask_of(place, flow, channel);
    topo_offer(place->topo, &ask, adaptive, perm);
}

enum hop_kind place_hop_kind(const struct topo *topo, const int *links, int n_links)
{
    enum hop_kind kind = HOP_SCALEUP;
    for (int l = 0; l < n_links; l++) {
        switch (topo->links[links[l]].tier) {
        case TIER_SCALEUP:
            break;
        case TIER_PCIE:
        case TIER_HOST:
            kind = HOP_PCIE;
            break;
        case TIER_NIC:
        case TIER_FABRIC:
        case TIER_GLOBAL:
        case N_TIERS:
            return HOP_NET;
        }
    }
    return kind;
}

double place_hop_s(const struct lib_choice *row, enum hop_kind kind, double wire_s)
{
    switch (kind) {
    case HOP_SCALEUP:
        return row->scaleup_latency_s + fmax(0.0, wire_s - row->scaleup_wire_s);
    case HOP_PCIE:
        return row->pcie_latency_s + fmax(0.0, wire_s - row->pcie_wire_s);
    case HOP_NET:
    case N_HOP_KINDS:
        break;
    }
    return row->net_latency_s + fmax(0.0, wire_s - row->net_wire_s);
}

double place_efficiency(const struct lib_choice *row, enum tier tier)
{
    switch (tier) {
    case TIER_SCALEUP:
        return row->efficiency_scaleup;
    case TIER_PCIE:
    case TIER_HOST:
        return row->efficiency_pcie;
    case TIER_NIC:
    case TIER_FABRIC:
    case TIER_GLOBAL:
    case N_TIERS:
        break;
    }
    return row->efficiency_net;
}

/* ---- what neighbours see ---- */

static struct reach no_reach(void)
{
    struct reach reach = {.kind = HOP_SCALEUP};
    for (int t = 0; t < N_TIERS; t++) reach.slowest_Bps[t] = reach.best_Bps[t] = INFINITY;
    return reach;
}

/* What a flow is held back to by its narrowest link of each tier. Of a link that only a part of it goes by, it
 * is held back to so many times more. */
static void find_narrow(const struct place *place, struct coll_flow flow, int channel,
                        double *narrow_Bps)
{
    const struct topo *topo = place->in->topo;
    for (int t = 0; t < N_TIERS; t++) narrow_Bps[t] = INFINITY;
    if (topo_single(topo)) {
        int links[ROUTE_MAX];
        int n = place_route(place, flow, channel, links);
        for (int l = 0; l < n; l++) {
            const struct link *link = &topo->links[links[l]];
            narrow_Bps[link->tier] = fmin(narrow_Bps[link->tier], link->capacity_Bps);
        }
        return;
    }
    struct ways ways = place_spread(place, flow, channel, NULL);
    for (int i = 0; i < ways.n; i++) {
        const struct link *link = &topo->links[ways.shares[i].link];
        double part_Bps = link->capacity_Bps / ways.shares[i].frac;
        narrow_Bps[link->tier] = fmin(narrow_Bps[link->tier], part_Bps);
    }
}

static void extend_reach(struct reach *reach, const double *narrow_Bps)
{
    double narrowest_Bps = INFINITY;
    for (int t = 0; t < N_TIERS; t++) narrowest_Bps = fmin(narrowest_Bps, narrow_Bps[t]);
    bool best = !reach->used || narrowest_Bps > reach->best_narrowest_Bps;
    if (best) reach->best_narrowest_Bps = narrowest_Bps;
    for (int t = 0; t < N_TIERS; t++) {
        reach->slowest_Bps[t] = fmin(reach->slowest_Bps[t], narrow_Bps[t]);
        if (best) reach->best_Bps[t] = narrow_Bps[t];
    }
}

/* Between two members of one node it extends `inside`, otherwise `outside`. */
static void extend_reaches(struct reach *inside, struct reach *outside, const struct place *place,
                           struct coll_flow flow, int channel)
{
    int links[ROUTE_MAX];
    double narrow_Bps[N_TIERS];
    int n = place_route(place, flow, channel, links);
    const struct topo *topo = place->in->topo;
    enum hop_kind kind = place_hop_kind(topo, links, n);
    struct reach *reach = kind == HOP_NET ? outside : inside;
    if (n == 0) return;
    find_narrow(place, flow, channel, narrow_Bps);
    extend_reach(reach, narrow_Bps);
    if (!reach->used || kind > reach->kind) reach->kind = kind;
    reach->latency_s = fmax(reach->latency_s, topo_path_latency_s(topo, links, n));
    reach->used = true;
}

/* Blocks of ranks_per_node members start at equal places of their nodes, so the owner of a rail in
 * one block stands at the same place in the next. */
static void reach_between_blocks(struct reaches *reaches, const struct place *place)
{
    int step = place->ranks_per_node;
    for (int i = 0; i < place->n_ranks; i += step) {
        int next = (i + step) % place->n_ranks;
        for (int c = 0; c < place->n_channels; c++) {
            int owner = place->rail_member[c];
            extend_reaches(&reaches->intra, &reaches->inter, place,
                           (struct coll_flow){i + owner, next + owner}, c);
        }
    }
}

struct reaches place_reaches(const struct place *place)
{
    struct reaches reaches = {no_reach(), no_reach(), no_reach(), place->n_channels};
    struct reach inside =
        no_reach(); /* a server on the member's own node: not on the slowest way */
    for (int i = 1; i < place->n_ranks; i++) {
        if (i % place->ranks_per_node == 0) continue;
        extend_reaches(&reaches.intra, &reaches.inter, place, (struct coll_flow){i - 1, i}, 0);
    }
    if (place->n_nodes > 1) reach_between_blocks(&reaches, place);
    for (int s = 0; s < place->n_servers && s < place->n_nodes; s++) {
        int server = place->n_ranks + s;
        for (int i = 0; i < place->n_ranks; i += place->ranks_per_node) {
            extend_reaches(&inside, &reaches.server, place, (struct coll_flow){i, server}, 0);
        }
    }
    return reaches;
}

static struct affine hop_of(const struct reach *reach, int n_channels,
                            const struct library *library, const struct lib_choice *row, bool best)
{
    if (!reach->used) return (struct affine){0.0, 0.0};
    double channel_Bps = reach->kind == HOP_NET ? library_leaving_Bps(row) : row->channel_cap_Bps;
    double rate_Bps = channel_Bps * library->n_channels;
    for (int t = 0; t < N_TIERS; t++) {
        double narrow_Bps = best ? reach->best_Bps[t] : reach->slowest_Bps[t];
        rate_Bps = fmin(rate_Bps, n_channels * narrow_Bps * place_efficiency(row, (enum tier)t));
    }
    must(isfinite(rate_Bps));
    return (struct affine){place_hop_s(row, reach->kind, reach->latency_s), 1.0 / rate_Bps};
}

struct coll_hops place_hops(const struct reaches *reaches, const struct library *library,
                            const struct lib_choice *row, bool best)
{
    struct coll_hops hops = {
        .intra = hop_of(&reaches->intra, 1, library, row, best),
        .inter = hop_of(&reaches->inter, reaches->n_channels, library, row, best),
    };
    if (row->algo->servers && reaches->server.used) {
        struct affine server = hop_of(&reaches->server, reaches->n_channels, library, row, best);
        hops.inter.alpha_s = fmax(hops.inter.alpha_s, server.alpha_s);
        hops.inter.beta_s_per_B = fmax(hops.inter.beta_s_per_B, server.beta_s_per_B);
    }
    return hops;
}
