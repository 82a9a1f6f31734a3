#include "net/fabric.h"

#include "base/must.h"
#include "net/routing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FABRIC_KIND_HOOKS(kind)                                                                    \
    .check = kind##_check, .size = kind##_size, .build = kind##_build, .route = kind##_route,      \
    .bisection_Bps = kind##_bisection_Bps, .switch_name = kind##_switch_name

enum { MAX_QPS = 1024 };

const struct fabric_kind fabric_kinds[] = {
    {
        .name = "switch",
        .summary = "one non-blocking switch; with rail wiring all rails share it",
        FABRIC_KIND_HOOKS(star),
        .source = "the ideal crossbar that every fabric is compared with",
    },
    {
        .name = "fat-tree",
        .summary = "folded Clos network of 2 or 3 levels, oversubscribed per level",
        FABRIC_KIND_HOOKS(clos),
        .source = "Al-Fares, Loukissas & Vahdat, SIGCOMM 2008; routing: Petrini & Vanneschi, IPPS "
                  "1997; Zahavi, CCIT report 776, 2010",
    },
    {
        .name = "dragonfly",
        .summary = "groups of fully meshed routers, joined by global links",
        FABRIC_KIND_HOOKS(dragonfly),
        .group = dragonfly_group,
        .source = "Kim, Dally, Scott & Abts, ISCA 2008; arrangement: Camarero, Vallejo & Beivide, "
                  "TACO 11(4), 2014",
    },
    {
        .name = "cascade",
        .summary = "dragonfly with groups that are grids of chassis, one cable of each kind",
        FABRIC_KIND_HOOKS(cascade),
        .group = cascade_group,
        .source = "Faanes et al., Cray Cascade, SC 2012",
    },
    {
        .name = "torus",
        .summary = "switches in a grid, rings along its dimensions",
        FABRIC_KIND_HOOKS(grid),
        .group = grid_group,
        .source = "Dally & Towles, Principles and practices of interconnection networks, 2004",
    },
    {
        .name = "mesh",
        .summary = "switches in a grid, rows along its dimensions",
        FABRIC_KIND_HOOKS(grid),
        .group = grid_group,
        .source = "Dally & Towles, Principles and practices of interconnection networks, 2004",
    },
    {
        .name = "hyperx",
        .summary = "switches in a grid, fully meshed along its dimensions",
        FABRIC_KIND_HOOKS(grid),
        .group = grid_group,
        .source = "Ahn, Binkert, Davis, McLaren & Schreiber, SC 2009",
    },
    {
        .name = "full-mesh",
        .summary = "every switch joined to every other",
        FABRIC_KIND_HOOKS(grid),
        .group = grid_group,
        .source = "a hyperx of one dimension",
    },
    {
        .name = "dragonfly-plus",
        .summary = "groups of leaves and spines, joined by links between spines",
        FABRIC_KIND_HOOKS(flyplus),
        .group = flyplus_group,
        .source = "Shpiner, Haramaty, Eliad, Zdornov, Gafni & Zahavi, HiPINEB 2017",
    },
    {
        .name = "graph",
        .summary = "the network that a file describes, by shortest ways",
        .whole = true,
        FABRIC_KIND_HOOKS(graph),
        .source = "the file's owner; routing: breadth-first search, Moore, 1959",
    },
    {
        .name = "rail-only",
        .summary = "a plane of its own for each card of a server; rails meet inside servers alone",
        .whole = true,
        FABRIC_KIND_HOOKS(planes),
        .source = "Wang, Ghobadi, Shakeri, Zhang & Hasani, Rail-only, 2023",
    },
    {
        .name = "multi-plane",
        .summary = "planes that do not meet; card k of a server is in plane k mod planes",
        .whole = true,
        FABRIC_KIND_HOOKS(planes),
        .source = "Qian et al., Alibaba HPN, SIGCOMM 2024",
    },
    {
        .name = "multi-site",
        .summary = "sites of equal kind, each two joined by a link between their gateways",
        .whole = true,
        FABRIC_KIND_HOOKS(sites),
        .source = "graph: a full mesh of gateways; each site as its own kind",
    },
};
const int n_fabric_kinds = sizeof fabric_kinds / sizeof fabric_kinds[0];

const struct fabric_kind *fabric_find(const char *name)
{
    for (int i = 0; i < n_fabric_kinds; i++) {
        if (strcmp(fabric_kinds[i].name, name) == 0) return &fabric_kinds[i];
    }
    return NULL;
}

bool fabric_range(const char *name, double value, double min, double max, struct diag *diag,
                  struct diag_place place)
{
    /* isnan first: comparing a NaN raises a trap */
    if (!isnan(value) && value >= min && value <= max) return true;
    diag_error(diag, place, "%s is %.10g (%.10g to %.10g)", name, value, min, max);
    return false;
}

bool fabric_groups_hold(const struct fabric_spec *spec, int n_ports, struct diag *diag,
                        struct diag_place place)
{
    int64_t held = (int64_t)spec->ports_per_router * spec->routers_per_group * spec->n_groups;
    if (held >= n_ports) return true;
    diag_error(diag, place, "%d groups of %d routers with %d ports hold %lld ports: %d are wanted",
               spec->n_groups, spec->routers_per_group, spec->ports_per_router, (long long)held,
               n_ports);
    return false;
}

bool fabric_check_link(const char *name, double rate_Bps, double latency_s, struct diag *diag,
                       struct diag_place place)
{
    char text[TOPO_NAME_MAX];
    snprintf(text, sizeof text, "%s rate in B/s", name);
    bool ok = fabric_range(text, rate_Bps, 1e-3, 1e18, diag, place);
    snprintf(text, sizeof text, "%s latency in seconds", name);
    return fabric_range(text, latency_s, 0, 1e6, diag, place) && ok;
}

/* Leaves *text as one of the words; the first is the default. */
static bool check_word(const char **text, const char *const *words, int n, const char *name,
                       struct diag *diag, struct diag_place place)
{
    if (*text == NULL) *text = words[0];
    for (int i = 0; i < n; i++) {
        if (strcmp(*text, words[i]) == 0) return true;
    }
    const char *nearest = diag_nearest(*text, words, n);
    diag_error(diag, place, "unknown %s \"%s\" (%s%s)", name, *text,
               nearest ? "did you mean " : "such as ", nearest ? nearest : words[0]);
    return false;
}

static const struct fabric_kind *check_kind(const char *name, struct diag *diag,
                                            struct diag_place place)
{
    const char *names[32];
    must(n_fabric_kinds <= (int)(sizeof names / sizeof names[0]));
    for (int i = 0; i < n_fabric_kinds; i++) names[i] = fabric_kinds[i].name;
    if (!name) {
        diag_error(diag, place, "no fabric between the nodes (such as \"%s\")", names[0]);
        return NULL;
    }
    if (!check_word(&name, names, n_fabric_kinds, "fabric", diag, place)) return NULL;
    return fabric_find(name);
}

const struct fabric_kind *fabric_check(struct fabric_spec *spec, int n_ports, struct diag *diag,
                                       struct diag_place place)
{
    static const char *const wirings[] = {"packed", "rail"};
    static const char *const arrangements[] = {"palmtree", "consecutive"};
    const struct fabric_kind *kind = check_kind(spec->kind, diag, place);
    if (!kind) return NULL;
    if (fpclassify(spec->link_Bps) == FP_ZERO) spec->link_Bps = spec->port_Bps;
    if (fpclassify(spec->global_Bps) == FP_ZERO) spec->global_Bps = spec->link_Bps;
    bool ok = fabric_check_link("fabric link", spec->link_Bps, spec->link_latency_s, diag, place);
    ok &= fabric_check_link("global link", spec->global_Bps, spec->global_latency_s, diag, place);
    ok &= check_word(&spec->routing, routing_names, n_routings, "routing", diag, place);
    ok &= check_word(&spec->wiring, wirings, 2, "wiring", diag, place);
    ok &= fabric_range("queue pairs", spec->qps, 0, MAX_QPS, diag, place);
    ok &= check_word(&spec->arrangement, arrangements, 2, "arrangement", diag, place);
    if (!ok) return NULL;
    if (routing_find(spec->routing)->detours && !kind->group) {
        diag_error(diag, place, "routing \"%s\" goes round by other groups: a %s has none",
                   spec->routing, kind->name);
        return NULL;
    }
    int before = diag->n_messages;
    kind->check(spec, n_ports, diag, place);
    return diag->n_messages == before ? kind : NULL;
}

/* One step of a mixer whose every output bit depends on every input bit.
 * Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t fabric_hash(const struct topo *topo, int src, int dst, uint64_t key, int stage)
{
    uint64_t pair = (uint64_t)(uint32_t)src << 32 | (uint32_t)dst;
    uint64_t h = mix(topo->fabric_spec.seed ^ mix((uint64_t)stage));
    return mix(mix(h ^ pair) ^ key);
}

int fabric_add_switches(struct topo *topo, int n, int stage, struct arena *perm)
{
    int first = topo->n_vertices;
    for (int i = 0; i < n; i++) {
        topo_add_vertex(topo, (struct vertex){VERTEX_SWITCH, i, stage}, perm);
    }
    topo->fabric->n_switches += n;
    return first;
}

void fabric_add_port(struct topo *topo, int nic_vertex, int switch_vertex, struct arena *perm)
{
    struct link cable = {.src = nic_vertex, .dst = switch_vertex, .tier = TIER_NIC};
    cable.capacity_Bps = topo->node.nic_Bps;
    cable.latency_s = topo->node.nic_latency_s;
    topo_add_cable(topo, cable, perm);
}

void fabric_add_mesh(struct topo *topo, int n, int stride, struct link cable, struct arena *perm)
{
    int first = cable.src;
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            cable.src = first + a * stride;
            cable.dst = first + b * stride;
            topo_add_cable(topo, cable, perm);
        }
    }
}

int fabric_mesh_link(int first, int n, int src, int dst)
{
    int a = src < dst ? src : dst;
    int b = src < dst ? dst : src;
    int pair = a * (2 * n - a - 1) / 2 + b - a - 1; /* rows of n - 1, n - 2, ... before */
    return first + 2 * pair + (src > dst);
}

bool fabric_port_side(const struct topo *topo, int port)
{
    if (port >= topo->n_nodes * topo->node.nics_per_node) return false; /* a site's gateway */
    return topo_port_node(topo, port) < topo->n_nodes / 2;
}

double fabric_ports_bisection_Bps(const struct topo *topo)
{
    int half_nodes = topo->n_nodes / 2;
    return (double)half_nodes * topo->node.nics_per_node * topo->node.nic_Bps;
}

static void take_sides(const struct topo *topo, int p, int block, bool *side)
{
    int n_switches = topo->fabric->n_switches;
    for (int first = 0; first < n_switches; first += block) {
        int balance = 0;
        int64_t end = ((int64_t)first + block) * p;
        for (int64_t port = (int64_t)first * p; port < end && port < topo->n_ports; port++)
            balance += fabric_port_side(topo, (int)port) ? 1 : -1;
        for (int s = first; s < first + block && s < n_switches; s++) side[s] = balance >= 0;
    }
}

double fabric_majority_cut_Bps(const struct topo *topo, int p, int block, struct arena scratch)
{
    int first_switch = topo->fabric->first_vertex;
    bool *side = arena_new(&scratch, bool, topo->fabric->n_switches);
    take_sides(topo, p, block, side);
    double cut_Bps = 0;
    for (int l = topo->fabric->first_link + 2 * topo->n_ports; l < topo->n_links; l++) {
        struct link link = topo->links[l];
        bool leaves = side[link.src - first_switch] && !side[link.dst - first_switch];
        if (leaves) cut_Bps += link.capacity_Bps;
    }
    for (int port = 0; port < topo->n_ports; port++) {
        bool astray = fabric_port_side(topo, port) != side[port / p];
        if (astray) cut_Bps += topo->node.nic_Bps;
    }
    return fmin(cut_Bps, fabric_ports_bisection_Bps(topo));
}

double fabric_group_cut_Bps(const struct topo *topo, int p, int a, struct arena scratch)
{
    return fmin(fabric_majority_cut_Bps(topo, p, 1, scratch),
                fabric_majority_cut_Bps(topo, p, a, scratch));
}
