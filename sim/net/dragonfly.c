/* Dragonfly: g groups of a routers, each with p ports and h global links. The routers of a group are
 * fully meshed; the a h global links of a group make it look like one big router.
 *
 *   a = 3, h = 1: g = a h + 1 = 4 groups, one link between any two
 *
 *          group 0                 group i: p ports on each router
 *         /   |   \                   r0 --- r1
 *     group 1 | group 3                 \   /        r0, r1, r2 each hold one global link
 *         \   |   /                      r2
 *          group 2
 *
 * Global wiring ("palm tree"): the links of a group are numbered j = r h + k over its routers r and their
 * global ports k. Link j of group i goes to group i - (j + 1), all modulo g; the same cable is link
 * a h - 1 - j there. With fewer groups (g < a h + 1) the g - 1 distances are dealt out in rounds: in
 * each whole round link t (g - 1) + o - 1 goes o groups down and is link t (g - 1) + (g - o) - 1 there.
 * Of the x links left over, the nearest x / 2 distances on either side get one each, and for odd x and
 * even g the group opposite; for odd x and odd g one port per group stays empty, as it must.
 *
 * Or "consecutive": in each whole round the links go to the other groups in the order of their numbers.
 * With links_per_pair there are so many whole rounds and no partial one, and the links are spread
 * evenly over the routers.
 *
 * Minimal routing: local hop to the router with the link, global hop, local hop. Several links between two
 * groups are used in turn by destination, or by hash. Ports fill routers and groups in order; the
 * last group may have empty ports but has all its routers.
 *
 * Numbers not given: a = 2 p = 2 h, the smallest p that fits; g as many groups as the ports fill.
 * Sources: Kim, Dally, Scott & Abts, Technology-driven, highly-scalable dragonfly topology, ISCA 2008;
 * palm tree: Camarero, Vallejo & Beivide, Topological characterization of Hamming and dragonfly
 * networks, ACM TACO 11(4), 2014; its extension to fewer groups is ours. */
#include "net/fabric.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PART = 65536, MAX_BALANCED = 4096 };

struct dragonfly {
    int p, a, h, g;
    int n_slots;      /* global links of a group that are used */
    int whole_rounds; /* each covers all g - 1 distances */
    int left_over;    /* links of the last, partial round */
    bool consecutive;
    bool few; /* links_per_pair leaves ports empty: those in use are spread over the routers */
    int first_local;
    const int *global_out; /* [g * n_slots] link that leads out by a slot */
    double bisection_Bps;
};

static struct dragonfly dragonfly_shape(const struct fabric_spec *spec)
{
    struct dragonfly fly = {
        .p = spec->ports_per_router,
        .a = spec->routers_per_group,
        .h = spec->global_per_router,
        .g = spec->n_groups,
        .consecutive = spec->arrangement && strcmp(spec->arrangement, "consecutive") == 0,
        .few = spec->links_per_pair > 0,
    };
    if (fly.g < 2) return fly;
    int distances = fly.g - 1;
    fly.whole_rounds = fly.a * fly.h / distances;
    fly.left_over = fly.a * fly.h % distances;
    if (fly.few) {
        fly.whole_rounds = spec->links_per_pair;
        fly.left_over = 0;
    }
    /* an odd number of ends in each of an odd number of groups cannot be paired */
    if (fly.left_over % 2 == 1 && fly.g % 2 == 1) fly.left_over--;
    fly.n_slots = fly.whole_rounds * distances + fly.left_over;
    return fly;
}

static bool check_ranges(const struct fabric_spec *spec, struct diag *diag, struct diag_place place)
{
    bool ok = fabric_range("ports per router", spec->ports_per_router, 0, MAX_PART, diag, place);
    ok &= fabric_range("routers per group", spec->routers_per_group, 0, MAX_PART, diag, place);
    ok &=
        fabric_range("global links per router", spec->global_per_router, 0, MAX_PART, diag, place);
    ok &= fabric_range("links per pair of groups", spec->links_per_pair, 0, MAX_PART, diag, place);
    ok &= fabric_range("groups", spec->n_groups, 0, MAX_PART, diag, place);
    return ok;
}

/* The shape with p = h = s and a = 2 s where they are not given. */
static struct fabric_spec balanced(const struct fabric_spec *spec, int s, int n_ports)
{
    struct fabric_spec shape = *spec;
    if (shape.ports_per_router == 0) shape.ports_per_router = s;
    if (shape.routers_per_group == 0) shape.routers_per_group = 2 * s;
    if (shape.global_per_router == 0) shape.global_per_router = s;
    if (shape.n_groups == 0) {
        int64_t group = (int64_t)shape.ports_per_router * shape.routers_per_group;
        shape.n_groups = (int)((n_ports + group - 1) / group);
    }
    return shape;
}

static int64_t max_groups(const struct fabric_spec *shape)
{
    int per_pair = shape->links_per_pair > 0 ? shape->links_per_pair : 1;
    return (int64_t)shape->routers_per_group * shape->global_per_router / per_pair + 1;
}

static int64_t n_places(const struct fabric_spec *shape)
{
    return (int64_t)shape->ports_per_router * shape->routers_per_group * shape->n_groups;
}

static bool fits(const struct fabric_spec *shape, int n_ports)
{
    return shape->n_groups <= max_groups(shape) && n_places(shape) >= n_ports;
}

void dragonfly_check(struct fabric_spec *spec, int n_ports, struct diag *diag,
                     struct diag_place place)
{
    if (!check_ranges(spec, diag, place)) return;
    struct fabric_spec shape = balanced(spec, 1, n_ports);
    for (int s = 2; s <= MAX_BALANCED && !fits(&shape, n_ports); s++) {
        shape = balanced(spec, s, n_ports);
    }
    if (shape.n_groups > max_groups(&shape)) {
        diag_error(diag, place,
                   "%d groups, but %d routers with %d global links reach only %lld others (at most "
                   "%lld groups)",
                   shape.n_groups, shape.routers_per_group, shape.global_per_router,
                   (long long)max_groups(&shape) - 1, (long long)max_groups(&shape));
        return;
    }
    if (!fabric_groups_hold(&shape, n_ports, diag, place)) return;
    *spec = shape;
}

struct fabric_size dragonfly_size(const struct fabric_spec *spec, int n_ports)
{
    /* counted before the shape is known to be small enough for int */
    int64_t g = spec->n_groups;
    int64_t a = spec->routers_per_group;
    int64_t global = g > 1 ? g * a * spec->global_per_router : 0;
    if (global > TOPO_MAX_LINKS || g * a > TOPO_MAX_LINKS || a * a > TOPO_MAX_LINKS) {
        return (struct fabric_size){.n_switches = g * a, .n_cables = global + a * a};
    }
    struct dragonfly fly = dragonfly_shape(spec);
    return (struct fabric_size){
        .n_switches = g * a,
        .n_cables = n_ports + g * (a * (a - 1) / 2) + g * fly.n_slots / 2,
    };
}

/* The distances of the partial round are 1 .. x/2, the opposite group for odd x, g - x/2 .. g - 1.
 * Position of a distance among them, -1 when it is not one. */
static int partial_position(const struct dragonfly *fly, int distance)
{
    int near = fly->left_over / 2;
    if (distance <= near) return distance - 1;
    if (distance >= fly->g - near) return distance - fly->g + fly->left_over;
    bool opposite = fly->left_over % 2 == 1 && 2 * distance == fly->g;
    return opposite ? near : -1;
}

/* links from a group to the one `distance` down */
static int n_parallel(const struct dragonfly *fly, int distance)
{
    return fly->whole_rounds + (partial_position(fly, distance) >= 0);
}

static int distance_down(const struct dragonfly *fly, int from, int to)
{
    return from >= to ? from - to : from - to + fly->g;
}

/* the slot, in group `from`, of the t-th link to group `to` */
static int slot_of(const struct dragonfly *fly, int from, int to, int t)
{
    int distance = distance_down(fly, from, to);
    int in_round = fly->consecutive ? to - (to > from) : distance - 1;
    if (t < fly->whole_rounds) return t * (fly->g - 1) + in_round;
    return fly->whole_rounds * (fly->g - 1) + partial_position(fly, distance);
}

/* the router, in its group, that has a slot */
static int router_of(const struct dragonfly *fly, int slot)
{
    return fly->few ? (int)((int64_t)slot * fly->a / fly->n_slots) : slot / fly->h;
}

/* Cables of each group in the order of router pairs r < s. */
static void add_local(struct topo *topo, const struct dragonfly *fly, int first_router,
                      struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct link cable = {.tier = TIER_FABRIC, .latency_s = spec->link_latency_s};
    cable.capacity_Bps = spec->link_Bps;
    for (int group = 0; group < fly->g; group++) {
        cable.src = first_router + group * fly->a;
        fabric_add_mesh(topo, fly->a, 1, cable, perm);
    }
}

/* All cables between two groups. Slots, so routers, grow with t on both sides: cables between the same
 * routers come one after the other. */
static void add_global_pair(struct topo *topo, const struct dragonfly *fly, int *global_out,
                            struct link cable, struct arena *perm)
{
    int first_router = topo->fabric->first_vertex;
    int i = cable.src;
    int j = cable.dst;
    int down = distance_down(fly, i, j);
    for (int t = 0; t < n_parallel(fly, down); t++) {
        int out = slot_of(fly, i, j, t);
        int in = slot_of(fly, j, i, t);
        cable.src = first_router + i * fly->a + router_of(fly, out);
        cable.dst = first_router + j * fly->a + router_of(fly, in);
        int link = topo_add_cable(topo, cable, perm);
        global_out[i * fly->n_slots + out] = link;
        global_out[j * fly->n_slots + in] = link + 1;
    }
}

static void add_global(struct topo *topo, struct dragonfly *fly, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct link cable = {.tier = TIER_GLOBAL, .latency_s = spec->global_latency_s};
    cable.capacity_Bps = spec->global_Bps;
    int *global_out = arena_new(perm, int, (int64_t)fly->g * fly->n_slots);
    for (int i = 0; i < fly->g; i++) {
        for (int j = i + 1; j < fly->g; j++) {
            cable.src = i;
            cable.dst = j;
            add_global_pair(topo, fly, global_out, cable, perm);
        }
    }
    fly->global_out = global_out;
}

void dragonfly_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    struct dragonfly *fly = arena_new(perm, struct dragonfly, 1);
    *fly = dragonfly_shape(&topo->fabric_spec);
    topo->fabric->own = fly;
    int first_router = fabric_add_switches(topo, fly->g * fly->a, 0, perm);
    for (int p = 0; p < n_ports; p++) {
        fabric_add_port(topo, port_vertex[p], first_router + p / fly->p, perm);
    }
    fly->first_local = topo->n_links;
    add_local(topo, fly, first_router, perm);
    if (fly->g > 1) add_global(topo, fly, perm);
    fly->bisection_Bps = fabric_group_cut_Bps(topo, fly->p, fly->a, *perm);
}

static int add_hop(const struct dragonfly *fly, int group, int src, int dst, int *links)
{
    if (src == dst) return 0;
    int first = fly->first_local + group * fly->a * (fly->a - 1);
    links[0] = fabric_mesh_link(first, fly->a, src, dst);
    return 1;
}

int dragonfly_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct dragonfly *fly = topo->fabric->own;
    int a = fly->a;
    int src_router = src / fly->p;
    int dst_router = dst / fly->p;
    int src_group = src_router / a;
    int dst_group = dst_router / a;
    int n = 0;
    links[n++] = fabric_port_up(topo, src);
    if (src_group == dst_group) {
        n += add_hop(fly, src_group, src_router % a, dst_router % a, links + n);
    } else {
        int down = distance_down(fly, src_group, dst_group);
        int ways = n_parallel(fly, down);
        int t = topo->fabric->ecmp ? (int)(fabric_hash(topo, src, dst, key, 0) % (uint64_t)ways)
                                   : dst % ways;
        int out = slot_of(fly, src_group, dst_group, t);
        int in = slot_of(fly, dst_group, src_group, t);
        n += add_hop(fly, src_group, src_router % a, router_of(fly, out), links + n);
        links[n++] = fly->global_out[src_group * fly->n_slots + out];
        n += add_hop(fly, dst_group, router_of(fly, in), dst_router % a, links + n);
    }
    links[n++] = fabric_port_down(topo, dst);
    return n;
}

int dragonfly_group(const struct topo *topo, int at)
{
    const struct dragonfly *fly = topo->fabric->own;
    return at / fly->a;
}

double dragonfly_bisection_Bps(const struct topo *topo)
{
    const struct dragonfly *fly = topo->fabric->own;
    return fly->bisection_Bps;
}

void dragonfly_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    const struct dragonfly *fly = topo->fabric->own;
    snprintf(text, (size_t)size, "router %d.%d", vertex.index / fly->a, vertex.index % fly->a);
}
