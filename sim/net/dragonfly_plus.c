/* Dragonfly+ (Megafly): groups that are two-level trees, joined by links between their spines.
 *
 *   group 0                group 1            a leaves with p ports each, s spines with h global links
 *    s0   s1 ------------- s0   s1            each; in a group every leaf is joined to every spine
 *    | \ / |               | \ / |
 *    l0   l1               l0   l1
 *
 * The s h global links of a group are numbered spine by spine. As many whole rounds of links to all others
 * as there are ports for are laid (or links_per_pair of them): in each round the link to the group o
 * down has the number o - 1, and is the one to the group g - o there. Ports that do not fill a round
 * stay empty.
 *
 * Minimal routing: up to the spine that has the link, over it, down; inside a group over one spine. Spines,
 * and links of a pair, are used in turn by destination, or by hash.
 *
 * Numbers not given: p = a = s = h, the smallest that fits; g as many groups as the ports fill.
 * Source: Shpiner, Haramaty, Eliad, Zdornov, Gafni & Zahavi, Dragonfly+: low cost topology for scaling
 * datacenters, HiPINEB 2017. */
#include "net/fabric.h"

#include <math.h>
#include <stdio.h>

enum { MAX_PART = 65536, MAX_BALANCED = 4096 };

struct flyplus {
    int p, leaves, spines, h, g;
    int per_pair; /* links between two groups */
    int first_local, first_global;
};

static struct flyplus flyplus_shape(const struct fabric_spec *spec)
{
    struct flyplus fly = {.p = spec->ports_per_router,
                          .leaves = spec->routers_per_group,
                          .spines = spec->spines_per_group,
                          .h = spec->global_per_router,
                          .g = spec->n_groups};
    if (fly.g < 2) return fly;
    fly.per_pair = fly.spines * fly.h / (fly.g - 1);
    if (spec->links_per_pair > 0) fly.per_pair = spec->links_per_pair;
    return fly;
}

static bool check_ranges(const struct fabric_spec *spec, struct diag *diag, struct diag_place place)
{
    bool ok = fabric_range("ports per leaf", spec->ports_per_router, 0, MAX_PART, diag, place);
    ok &= fabric_range("leaves per group", spec->routers_per_group, 0, MAX_PART, diag, place);
    ok &= fabric_range("spines per group", spec->spines_per_group, 0, MAX_PART, diag, place);
    ok &= fabric_range("global links per spine", spec->global_per_router, 0, MAX_PART, diag, place);
    ok &= fabric_range("links per pair of groups", spec->links_per_pair, 0, MAX_PART, diag, place);
    return fabric_range("groups", spec->n_groups, 0, MAX_PART, diag, place) && ok;
}

static struct fabric_spec balanced(const struct fabric_spec *spec, int s, int n_ports)
{
    struct fabric_spec shape = *spec;
    if (shape.ports_per_router == 0) shape.ports_per_router = s;
    if (shape.routers_per_group == 0) shape.routers_per_group = s;
    if (shape.spines_per_group == 0) shape.spines_per_group = s;
    if (shape.global_per_router == 0) shape.global_per_router = s;
    if (shape.n_groups == 0) {
        int64_t group = (int64_t)shape.ports_per_router * shape.routers_per_group;
        shape.n_groups = (int)((n_ports + group - 1) / group);
    }
    return shape;
}

static int64_t wanted_links(const struct fabric_spec *shape)
{
    int64_t per_pair = shape->links_per_pair > 0 ? shape->links_per_pair : 1;
    return per_pair * (shape->n_groups - 1);
}

static int64_t global_ports(const struct fabric_spec *shape)
{
    return (int64_t)shape->spines_per_group * shape->global_per_router;
}

static bool fits(const struct fabric_spec *shape, int n_ports)
{
    int64_t held = (int64_t)shape->ports_per_router * shape->routers_per_group * shape->n_groups;
    return wanted_links(shape) <= global_ports(shape) && held >= n_ports;
}

void flyplus_check(struct fabric_spec *spec, int n_ports, struct diag *diag,
                   struct diag_place place)
{
    if (!check_ranges(spec, diag, place)) return;
    struct fabric_spec shape = balanced(spec, 1, n_ports);
    for (int s = 2; s <= MAX_BALANCED && !fits(&shape, n_ports); s++)
        shape = balanced(spec, s, n_ports);
    if (wanted_links(&shape) > global_ports(&shape)) {
        diag_error(diag, place,
                   "%d groups need %lld global links each, but %d spines with %d have only %lld",
                   shape.n_groups, (long long)wanted_links(&shape), shape.spines_per_group,
                   shape.global_per_router, (long long)global_ports(&shape));
        return;
    }
    if (!fabric_groups_hold(&shape, n_ports, diag, place)) return;
    *spec = shape;
}

struct fabric_size flyplus_size(const struct fabric_spec *spec, int n_ports)
{
    struct flyplus fly = flyplus_shape(spec);
    int64_t g = fly.g, local = (int64_t)fly.leaves * fly.spines;
    return (struct fabric_size){
        .n_switches = g * (fly.leaves + fly.spines),
        .n_cables = n_ports + g * local + g * (g - 1) / 2 * fly.per_pair,
    };
}

static int leaf_vertex(const struct topo *topo, int leaf)
{
    return topo->fabric->first_vertex + leaf;
}

static int spine_vertex(const struct topo *topo, const struct flyplus *fly, int spine)
{
    return topo->fabric->first_vertex + fly->g * fly->leaves + spine;
}

/* Cables of a group in the order of (leaf, spine). */
static void add_local(struct topo *topo, const struct flyplus *fly, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct link cable = {
        .tier = TIER_FABRIC, .capacity_Bps = spec->link_Bps, .latency_s = spec->link_latency_s};
    for (int leaf = 0; leaf < fly->g * fly->leaves; leaf++) {
        int group = leaf / fly->leaves;
        for (int s = 0; s < fly->spines; s++) {
            cable.src = leaf_vertex(topo, leaf);
            cable.dst = spine_vertex(topo, fly, group * fly->spines + s);
            topo_add_cable(topo, cable, perm);
        }
    }
}

static int distance_down(const struct flyplus *fly, int from, int to)
{
    return from >= to ? from - to : from - to + fly->g;
}

/* the spine, in its group, of link t to the group `distance` down */
static int gate(const struct flyplus *fly, int distance, int t)
{
    return (t * (fly->g - 1) + distance - 1) / fly->h;
}

static void add_pair(struct topo *topo, const struct flyplus *fly, struct link cable,
                     struct arena *perm)
{
    int i = cable.src, j = cable.dst, down = distance_down(fly, i, j);
    for (int t = 0; t < fly->per_pair; t++) {
        cable.src = spine_vertex(topo, fly, i * fly->spines + gate(fly, down, t));
        cable.dst = spine_vertex(topo, fly, j * fly->spines + gate(fly, fly->g - down, t));
        topo_add_cable(topo, cable, perm);
    }
}

/* In the order of (pair of groups i < j, number of the link). */
static void add_global(struct topo *topo, const struct flyplus *fly, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct link cable = {
        .tier = TIER_GLOBAL, .capacity_Bps = spec->global_Bps, .latency_s = spec->global_latency_s};
    for (int i = 0; i < fly->g; i++) {
        for (int j = i + 1; j < fly->g; j++) {
            cable.src = i;
            cable.dst = j;
            add_pair(topo, fly, cable, perm);
        }
    }
}

void flyplus_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    struct flyplus *fly = arena_new(perm, struct flyplus, 1);
    *fly = flyplus_shape(&topo->fabric_spec);
    topo->fabric->own = fly;
    fabric_add_switches(topo, fly->g * fly->leaves, STAGE_LEAF, perm);
    fabric_add_switches(topo, fly->g * fly->spines, STAGE_SPINE, perm);
    for (int port = 0; port < n_ports; port++)
        fabric_add_port(topo, port_vertex[port], leaf_vertex(topo, port / fly->p), perm);
    fly->first_local = topo->n_links;
    add_local(topo, fly, perm);
    fly->first_global = topo->n_links;
    add_global(topo, fly, perm);
}

static int local_up(const struct flyplus *fly, int leaf, int spine)
{
    return fly->first_local + 2 * (leaf * fly->spines + spine);
}

static int global_link(const struct flyplus *fly, int from, int to, int t)
{
    int i = from < to ? from : to, j = from < to ? to : from;
    int pair = i * (2 * fly->g - i - 1) / 2 + j - i - 1;
    return fly->first_global + 2 * (pair * fly->per_pair + t) + (from > to);
}

int flyplus_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct flyplus *fly = topo->fabric->own;
    int from = src / fly->p, to = dst / fly->p;
    int i = from / fly->leaves, j = to / fly->leaves;
    uint64_t choice =
        topo->fabric->ecmp ? fabric_hash(topo, src, dst, key, 0) : (uint64_t)(uint32_t)dst;
    int n = 0;
    links[n++] = fabric_port_up(topo, src);
    if (i == j && from != to) {
        int spine = (int)(choice % (uint64_t)fly->spines);
        links[n++] = local_up(fly, from, spine);
        links[n++] = local_up(fly, to, spine) + 1;
    } else if (i != j) {
        int down = distance_down(fly, i, j);
        int t = (int)(choice % (uint64_t)fly->per_pair);
        links[n++] = local_up(fly, from, gate(fly, down, t));
        links[n++] = global_link(fly, i, j, t);
        links[n++] = local_up(fly, to, gate(fly, fly->g - down, t)) + 1;
    }
    links[n++] = fabric_port_down(topo, dst);
    return n;
}

int flyplus_group(const struct topo *topo, int at)
{
    const struct flyplus *fly = topo->fabric->own;
    int n_leaves = fly->g * fly->leaves;
    return at < n_leaves ? at / fly->leaves : (at - n_leaves) / fly->spines;
}

/* how many of the ports from `first` on, n of them, are in the first half of the nodes, less those in the
 * second */
static int balance_of(const struct topo *topo, int64_t first, int64_t n)
{
    int balance = 0;
    for (int64_t port = first; port < first + n && port < topo->n_ports; port++)
        balance += fabric_port_side(topo, (int)port) ? 1 : -1;
    return balance;
}

/* What a leaf on that side cuts: its links to the spines of a group on the other, and its ports there. */
static double cut_at_leaf(const struct topo *topo, int leaf, bool stands, bool group_side)
{
    const struct flyplus *fly = topo->fabric->own;
    double cut = stands != group_side ? fly->spines * topo->fabric_spec.link_Bps : 0;
    for (int port = leaf * fly->p; port < (leaf + 1) * fly->p && port < topo->n_ports; port++)
        if (fabric_port_side(topo, port) != stands) cut += topo->node.nic_Bps;
    return cut;
}

/* Each group stands where most of its ports are; leaves with their group, or where most of theirs are. */
static double cut_Bps(const struct topo *topo, bool by_leaf)
{
    const struct flyplus *fly = topo->fabric->own;
    int64_t ports = (int64_t)fly->p * fly->leaves;
    double cut = 0;
    int n_first = 0;
    for (int group = 0; group < fly->g; group++) {
        bool side = balance_of(topo, group * ports, ports) >= 0;
        n_first += side;
        for (int leaf = group * fly->leaves; leaf < (group + 1) * fly->leaves; leaf++) {
            bool own = balance_of(topo, (int64_t)leaf * fly->p, fly->p) >= 0;
            cut += cut_at_leaf(topo, leaf, by_leaf ? own : side, side);
        }
    }
    double global_Bps = fly->per_pair * topo->fabric_spec.global_Bps;
    return cut + (double)n_first * (fly->g - n_first) * global_Bps;
}

double flyplus_bisection_Bps(const struct topo *topo)
{
    double cut = fmin(cut_Bps(topo, false), cut_Bps(topo, true));
    return fmin(cut, fabric_ports_bisection_Bps(topo));
}

void flyplus_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    const struct flyplus *fly = topo->fabric->own;
    bool leaf = vertex.owner == STAGE_LEAF;
    int each = leaf ? fly->leaves : fly->spines;
    snprintf(text, (size_t)size, "%s %d.%d", leaf ? "leaf" : "spine", vertex.index / each,
             vertex.index % each);
}
