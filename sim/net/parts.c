/* Fabrics made of parts, each a fabric of another kind.
 *
 *   rail-only, multi-plane: card k of every server is in plane k mod planes, and planes never meet.
 *
 *       plane 0        plane 1           rail-only: as many planes as a server has cards
 *       /     \        /     \
 *     nic0   nic0    nic1   nic1         what has to change planes does so inside a server
 *     node0  node1   node0  node1
 *
 *   A card with two ports to two planes is two cards of half the rate each on one GPU.
 *
 *   multi-site: servers in order fill the sites, as evenly as they can; a site's gateways are further
 *   ports of its fabric, behind them one router, and each two routers are joined by a link.
 *
 *      site 0: fabric ==gateway 0 ------- gateway 1== fabric :site 1
 *                             \            /              == one cable or several: what all links of
 *                              gateway 2==...                 the router carry, in equal shares
 *
 * A part is built and routed by its own kind through a view: the same vertices and links under a
 * numbering of ports of its own. Between sites a flow takes the gateway that its destination says, or
 * the hash, on both sides.
 * Sources: Wang, Ghobadi, Shakeri, Zhang & Hasani, Rail-only: a low-cost high-performance network for
 * training LLMs with trillions of parameters, 2023; Qian et al., Alibaba HPN: a data center network
 * for large language model training, SIGCOMM 2024 (dual plane). */
#include "net/fabric.h"

#include "base/must.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_PARTS = 4096,
    MAX_GATEWAYS = 4096,
    PLANES_OF_A_PORT = 2, /* of a card with two ports */
    MOST_STEPS = 100      /* sum of a site's sides: two sites are crossed by one route */
};

struct part {
    struct topo view;
    int first_node;
};

struct parts {
    struct part *parts;
    int n_parts;
    const int32_t *part_of, *sub_of; /* [n_ports] the part, and the port in it */
    int n_gateways;                  /* of a site, its last ports */
    int first_wan;                   /* link */
};

/* what a part has of the whole: ports, and cards of each server */
struct in_part {
    int n_ports, n_nics;
};

static bool is_rail_only(const struct fabric_spec *spec)
{
    return strcmp(spec->kind, "rail-only") == 0;
}

static bool is_sites(const struct fabric_spec *spec)
{
    return strcmp(spec->kind, "multi-site") == 0;
}

/* Check the fabric of the largest part, in which servers have n_nics cards, and take over what it fills in. */
static void check_part(struct fabric_spec *spec, struct in_part has, struct diag *diag,
                       struct diag_place place)
{
    if (!spec->part) spec->part = "fat-tree";
    const struct fabric_kind *kind = fabric_find(spec->part);
    if (!kind || kind->whole) {
        diag_error(diag, place, "the parts of a %s cannot be of kind \"%s\" (such as \"fat-tree\")",
                   spec->kind, spec->part);
        return;
    }
    struct fabric_spec part = *spec;
    part.kind = kind->name;
    part.nics_per_node = has.n_nics;
    kind->check(&part, has.n_ports, diag, place);
    part.kind = spec->kind;
    part.nics_per_node = spec->nics_per_node;
    *spec = part;
}

void planes_check(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place)
{
    int n_nics = spec->nics_per_node;
    if (!fabric_range("planes", spec->planes, 0, MAX_PARTS, diag, place)) return;
    if (is_rail_only(spec)) {
        if (spec->planes != 0 && spec->planes != n_nics) {
            diag_error(diag, place, "%d planes of rails, but servers have %d cards", spec->planes,
                       n_nics);
            return;
        }
        spec->planes = n_nics;
    }
    if (spec->planes == 0) spec->planes = PLANES_OF_A_PORT;
    if (n_nics % spec->planes != 0) {
        diag_error(diag, place, "%d planes do not share the %d cards of a server evenly",
                   spec->planes, n_nics);
        return;
    }
    struct in_part has = {n_ports / spec->planes, n_nics / spec->planes};
    check_part(spec, has, diag, place);
}

static int64_t first_node(int64_t n_nodes, int site, int n_sites)
{
    return n_nodes * site / n_sites;
}

/* nodes of the largest site */
static int most_nodes(int n_nodes, int n_sites)
{
    return (n_nodes + n_sites - 1) / n_sites;
}

static bool steps_fit(const struct fabric_spec *spec, struct diag *diag, struct diag_place place)
{
    int sum = 0;
    bool steps = strcmp(spec->part, "torus") == 0 || strcmp(spec->part, "mesh") == 0;
    for (int k = 0; k < spec->n_dimensions && steps; k++) sum += spec->side[k];
    return fabric_range("sum of the sides of a site's grid", sum, 0, MOST_STEPS, diag, place);
}

void sites_check(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place)
{
    if (spec->sites == 0) spec->sites = 2;
    if (spec->gateways == 0) spec->gateways = 1;
    int n_nodes = n_ports / spec->nics_per_node;
    bool ok = fabric_range("sites", spec->sites, 2, MAX_PARTS, diag, place);
    ok &= fabric_range("gateways of a site", spec->gateways, 1, MAX_GATEWAYS, diag, place);
    if (!ok) return;
    if (spec->sites > n_nodes) {
        diag_error(diag, place, "%d sites for %d servers", spec->sites, n_nodes);
        return;
    }
    int most = most_nodes(n_nodes, spec->sites) * spec->nics_per_node + spec->gateways;
    int before = diag->n_messages;
    check_part(spec, (struct in_part){most, spec->nics_per_node}, diag, place);
    if (diag->n_messages == before) steps_fit(spec, diag, place);
}

static int64_t pairs(int64_t n)
{
    return n * (n - 1) / 2;
}

static struct fabric_spec spec_of_part(const struct fabric_spec *spec)
{
    struct fabric_spec part = *spec;
    part.kind = spec->part;
    return part;
}

struct fabric_size planes_size(const struct fabric_spec *spec, int n_ports)
{
    struct fabric_spec part = spec_of_part(spec);
    struct fabric_size size = fabric_find(part.kind)->size(&part, n_ports / spec->planes);
    size.n_switches *= spec->planes;
    size.n_cables *= spec->planes;
    return size;
}

struct fabric_size sites_size(const struct fabric_spec *spec, int n_ports)
{
    struct fabric_spec part = spec_of_part(spec);
    int n = spec->sites;
    int n_nodes = n_ports / spec->nics_per_node;
    struct fabric_size sum = {.n_switches = n, .n_cables = pairs(n)};
    for (int s = 0; s < n; s++) {
        int64_t nodes = first_node(n_nodes, s + 1, n) - first_node(n_nodes, s, n);
        struct fabric_size size =
            fabric_find(part.kind)->size(&part, (int)nodes * spec->nics_per_node + spec->gateways);
        sum.n_switches += size.n_switches;
        sum.n_cables += size.n_cables;
    }
    return sum;
}

/* The view of a part with n_nodes servers of n_nics cards each, and further ports. */
static void open_part(const struct topo *topo, struct part *part, int n_nodes, int n_nics)
{
    part->view = *topo;
    part->view.fabric_spec = spec_of_part(&topo->fabric_spec);
    part->view.n_nodes = n_nodes;
    part->view.node.nics_per_node = n_nics;
    part->view.n_ports = n_nodes * n_nics;
}

/* Build it behind what stands already. Its switches' stages are counted on from those of the parts before. */
static void build_part(struct topo *topo, struct part *part, const int *port_vertex,
                       struct arena *perm)
{
    const struct parts *parts = topo->fabric->own;
    struct topo *view = &part->view;
    view->fabric = arena_new(perm, struct fabric, 1);
    *view->fabric = *topo->fabric;
    view->fabric->kind = fabric_find(view->fabric_spec.kind);
    view->fabric->first_vertex = view->n_vertices = topo->n_vertices;
    view->fabric->first_link = view->n_links = topo->n_links;
    view->fabric->n_switches = 0;
    view->fabric->kind->build(view, port_vertex, view->n_ports, perm);
    topo->n_vertices = view->n_vertices;
    topo->n_links = view->n_links;
    topo->fabric->n_switches += view->fabric->n_switches;
    for (int v = view->fabric->first_vertex; v < topo->n_vertices; v++)
        topo->vertices[v].owner += N_STAGES * (int)(part - parts->parts);
}

/* Which part each port is in. view_of tells the part of a card, and its numbers there. */
struct card {
    int part, node, nic;
};
typedef struct card (*card_in_part)(const struct topo *topo, int node, int nic);

static struct card card_in_plane(const struct topo *topo, int node, int nic)
{
    int planes = topo->fabric_spec.planes;
    return (struct card){nic % planes, node, nic / planes};
}

static struct card card_in_site(const struct topo *topo, int node, int nic)
{
    const struct parts *parts = topo->fabric->own;
    int site = (int)((int64_t)node * parts->n_parts / topo->n_nodes);
    while (site + 1 < parts->n_parts && parts->parts[site + 1].first_node <= node) site++;
    while (parts->parts[site].first_node > node) site--;
    return (struct card){site, node - parts->parts[site].first_node, nic};
}

static void place_ports(struct topo *topo, struct parts *parts, card_in_part in_part,
                        struct arena *perm)
{
    int32_t *part_of = arena_new(perm, int32_t, topo->n_ports);
    int32_t *sub_of = arena_new(perm, int32_t, topo->n_ports);
    for (int node = 0; node < topo->n_nodes; node++) {
        for (int nic = 0; nic < topo->node.nics_per_node; nic++) {
            struct card card = in_part(topo, node, nic);
            int port = topo_port(topo, node, nic);
            part_of[port] = card.part;
            sub_of[port] = topo_port(&parts->parts[card.part].view, card.node, card.nic);
        }
    }
    parts->part_of = part_of;
    parts->sub_of = sub_of;
}

/* the vertices of a part's ports */
static int *ports_of(const struct topo *topo, const struct parts *parts, int part,
                     const int *port_vertex, struct arena *perm)
{
    int *vertex = arena_new(perm, int, parts->parts[part].view.n_ports);
    for (int port = 0; port < topo->n_ports; port++) {
        if (parts->part_of[port] == part) vertex[parts->sub_of[port]] = port_vertex[port];
    }
    return vertex;
}

static struct parts *new_parts(struct topo *topo, int n, struct arena *perm)
{
    struct parts *parts = arena_new(perm, struct parts, 1);
    *parts = (struct parts){.parts = arena_new(perm, struct part, n), .n_parts = n};
    topo->fabric->own = parts;
    return parts;
}

/* where the cables of the ports lie, for those that look at the whole */
static void list_ports(struct topo *topo, const struct parts *parts, struct arena *perm)
{
    int *port_up = arena_new(perm, int, topo->n_ports);
    for (int port = 0; port < topo->n_ports; port++) {
        const struct topo *view = &parts->parts[parts->part_of[port]].view;
        port_up[port] = fabric_port_up(view, parts->sub_of[port]);
    }
    topo->fabric->port_up = port_up;
}

void planes_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    int n = topo->fabric_spec.planes;
    struct parts *parts = new_parts(topo, n, perm);
    must(n_ports == topo->n_ports);
    for (int p = 0; p < n; p++)
        open_part(topo, &parts->parts[p], topo->n_nodes, topo->node.nics_per_node / n);
    place_ports(topo, parts, card_in_plane, perm);
    for (int p = 0; p < n; p++)
        build_part(topo, &parts->parts[p], ports_of(topo, parts, p, port_vertex, perm), perm);
    list_ports(topo, parts, perm);
    topo->fabric->n_planes = n;
}

/* The cables of a site's gateways carry together what the router's links do. */
static void scale_gateways(struct topo *topo, const struct topo *view)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    for (int g = 0; g < spec->gateways; g++) {
        int up = fabric_port_up(view, view->n_ports - spec->gateways + g);
        for (int l = up; l < up + 2; l++) {
            topo->links[l].tier = TIER_FABRIC;
            topo->links[l].latency_s = spec->link_latency_s;
            topo->links[l].capacity_Bps = spec->global_Bps * (spec->sites - 1) / spec->gateways;
        }
    }
}

static void build_site(struct topo *topo, const struct parts *parts, int site,
                       const int *port_vertex, struct arena *perm)
{
    struct part *part = &parts->parts[site];
    int n_cards = part->view.n_ports;
    part->view.n_ports += parts->n_gateways;
    int *vertices = ports_of(topo, parts, site, port_vertex, perm);
    for (int g = 0; g < parts->n_gateways; g++)
        vertices[n_cards + g] = topo->fabric->first_vertex + site;
    build_part(topo, part, vertices, perm);
    scale_gateways(topo, &part->view);
}

void sites_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    int n = spec->sites;
    struct parts *parts = new_parts(topo, n, perm);
    must(n_ports == topo->n_ports);
    parts->n_gateways = spec->gateways;
    int first_router = fabric_add_switches(topo, n, STAGE_GATEWAY, perm);
    for (int s = 0; s < n; s++) {
        int first = (int)first_node(topo->n_nodes, s, n);
        int end = (int)first_node(topo->n_nodes, s + 1, n);
        parts->parts[s].first_node = first;
        open_part(topo, &parts->parts[s], end - first, topo->node.nics_per_node);
    }
    place_ports(topo, parts, card_in_site, perm);
    for (int s = 0; s < n; s++) build_site(topo, parts, s, port_vertex, perm);
    list_ports(topo, parts, perm);
    struct link cable = {.src = first_router, .tier = TIER_GLOBAL};
    cable.capacity_Bps = spec->global_Bps;
    cable.latency_s = spec->global_latency_s;
    parts->first_wan = topo->n_links;
    fabric_add_mesh(topo, n, 1, cable, perm);
}

static int route_in_part(const struct parts *parts, int part, int src, int dst, uint64_t key,
                         int *links)
{
    const struct topo *view = &parts->parts[part].view;
    return view->fabric->kind->route(view, src, dst, key, links);
}

int planes_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct parts *parts = topo->fabric->own;
    must(parts->part_of[src] == parts->part_of[dst]);
    return route_in_part(parts, parts->part_of[src], parts->sub_of[src], parts->sub_of[dst], key,
                         links);
}

int sites_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    enum { STAGE_OF_CHOICE = 16 }; /* of the hash; parts use small ones */
    const struct parts *parts = topo->fabric->own;
    int from = parts->part_of[src], to = parts->part_of[dst];
    int src_sub = parts->sub_of[src], dst_sub = parts->sub_of[dst];
    if (from == to) return route_in_part(parts, from, src_sub, dst_sub, key, links);
    uint64_t choice =
        topo->fabric->ecmp ? fabric_hash(topo, src, dst, key, STAGE_OF_CHOICE) : (uint64_t)dst;
    int gateway = (int)(choice % (uint64_t)parts->n_gateways);
    int out = parts->parts[from].view.n_ports - parts->n_gateways + gateway;
    int in = parts->parts[to].view.n_ports - parts->n_gateways + gateway;
    int n = route_in_part(parts, from, src_sub, out, key, links);
    links[n++] = fabric_mesh_link(parts->first_wan, parts->n_parts, from, to);
    return n + route_in_part(parts, to, in, dst_sub, key, links + n);
}

double planes_bisection_Bps(const struct topo *topo)
{
    const struct parts *parts = topo->fabric->own;
    double sum_Bps = 0;
    for (int p = 0; p < parts->n_parts; p++) {
        const struct topo *view = &parts->parts[p].view;
        sum_Bps += view->fabric->kind->bisection_Bps(view);
    }
    return sum_Bps;
}

/* Whole sites stand on one side; so does the one in which the halves of the nodes meet, and its servers
 * of the other half are cut off by their cables. */
double sites_bisection_Bps(const struct topo *topo)
{
    const struct parts *parts = topo->fabric->own;
    double wan_Bps = topo->fabric_spec.global_Bps;
    double node_Bps = topo->node.nics_per_node * topo->node.nic_Bps;
    int half = topo->n_nodes / 2, n = parts->n_parts;
    int before = 0; /* sites that begin in the first half */
    while (before < n && parts->parts[before].first_node < half) before++;
    const struct part *middle = &parts->parts[before - 1];
    int in_first = half - middle->first_node;
    int in_second = middle->view.n_nodes - in_first;
    double with_first_Bps = (double)before * (n - before) * wan_Bps + in_second * node_Bps;
    double with_second_Bps =
        (double)(before - 1) * (n - before + 1) * wan_Bps + in_first * node_Bps;
    return fmin(fmin(with_first_Bps, with_second_Bps), fabric_ports_bisection_Bps(topo));
}

static void name_in_part(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    const struct parts *parts = topo->fabric->own;
    char name[TOPO_NAME_MAX];
    int part = vertex.owner / N_STAGES;
    const struct topo *view = &parts->parts[part].view;
    vertex.owner %= N_STAGES;
    view->fabric->kind->switch_name(view, vertex, name, sizeof name);
    snprintf(text, (size_t)size, "%s %d %s", is_sites(&topo->fabric_spec) ? "site" : "plane", part,
             name);
}

void planes_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    name_in_part(topo, vertex, text, size);
}

void sites_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    if (vertex.owner == STAGE_GATEWAY)
        snprintf(text, (size_t)size, "gateway %d", vertex.index);
    else
        name_in_part(topo, vertex, text, size);
}
