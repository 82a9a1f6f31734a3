/* Fat-tree: a folded Clos network of two or three levels.
 *
 *   2 levels, 3 hosts and 2 uplinks a leaf (1.5:1):      3 levels, 2 pods, 1:1:
 *
 *        spine0      spine1                        core0  core1     core2  core3
 *         / | \      / | \                           |\    /|         |\    /|     plane 0: core 0, 1
 *        one cable to each leaf                      | \  / |         | \  / |     plane 1: core 2, 3
 *       /   |   \  /   |   \                       spine0  spine2   spine1  spine3
 *     leaf0    leaf1    leaf2                        pod 0   pod 1    pod 0   pod 1
 *     /|\      /|\      /|\                         leaf0 leaf1      leaf2 leaf3
 *    0 1 2    3 4 5    6 7 8                        0 1   2 3        4 5   6 7
 *
 * Hosts are the ports of network cards. m hosts and U uplinks a leaf; A pod switches ("spines"), leaf up-port p going to spine p mod A, so
 * U / A cables lie between each pair. With three levels a spine has V up-ports; spine a of every pod
 * belongs to plane a, whose C cores it reaches by up-port q mod C.
 *
 * Oversubscription is capacity down over capacity up. U = m * port rate / (ratio * link rate) up-ports
 * are used, rounded down (at least one); where that does not come out even, the rate of the up-links
 * is scaled so that the ratio is exact. Rounding down keeps a link no slower than it was said to be.
 *
 * Numbers not given are chosen so: from a radix, the most hosts a leaf can have, preferring counts that
 * divide evenly; radix 0 with no shape given = 64 ports, doubled until the ports fit; levels 0 = two
 * if they hold the ports, else three. A shape given outright with radix 0 takes whatever switches it
 * needs. With a radix, 2-level spines and cores are as few as the radix allows, the cables between
 * being doubled. Leaves and pods that would have no port are not built; the last leaf may be partly
 * filled.
 *
 * Routing up by destination d (d-mod-k): leaf up-port d mod U, spine up-port (d div A) mod V; down there
 * is one way. Destinations of a leaf so use different up-ports, and all traffic for d comes down by
 * the same links. Sources: Petrini & Vanneschi, k-ary n-trees, IPPS 1997; Zahavi, D-Mod-K routing
 * providing non-blocking traffic for shift permutations, CCIT report 776, Technion, 2010.
 * Or by hash of (source, destination, key, stage): ECMP. */
#include "net/fabric.h"

#include "base/must.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RADIX = 65536, FIRST_RADIX = 64, MAX_PARTS = 1 << 20 };
static const double MAX_OVERSUBSCRIPTION = 1e6;
/* counts of ports are quotients of rates: this much rounding does not make one uneven */
static const double EVEN = 1e-9;

struct clos {
    int hosts, uplinks; /* of a leaf */
    int n_leaves, leaves_per_pod, n_pods;
    int spines;              /* of a pod; 0 with a single leaf */
    int core_uplinks, cores; /* of a spine; of a plane. 0 with a single pod */
    double leaf_link_Bps, core_link_Bps;
    int first_leaf_link, first_core_link;
};

/* why a shape does not fit */
struct misfit {
    char text[240];
};
#define MISFIT(misfit, ...) (snprintf((misfit)->text, sizeof(misfit)->text, __VA_ARGS__), false)

/* up-ports for `down` ports, given how many up-ports one of them is worth */
static int up_ports(int down, double worth)
{
    double wanted = floor(down * worth * (1 + EVEN));
    if (wanted < 1) return 1;
    return wanted > INT_MAX / 2 ? INT_MAX / 2 : (int)wanted;
}

static bool is_even(int down, double worth)
{
    double exact = down * worth;
    return fabs(exact - up_ports(down, worth)) <= EVEN * exact;
}

/* The most down-ports a switch of this radix can have; a count that divides evenly is preferred
 * unless it wastes half of them. */
static int most_down_ports(int radix, double worth)
{
    int most = 0;
    for (int down = radix - 1; down > 0 && 2 * down >= most; down--) {
        if (down + up_ports(down, worth) > radix) continue;
        if (is_even(down, worth)) return down;
        if (most == 0) most = down;
    }
    return most;
}

static int ceil_div(int64_t a, int64_t b)
{
    int64_t quotient = (a + b - 1) / b;
    return quotient > INT_MAX ? INT_MAX : (int)quotient;
}

/* up-ports that a leaf's host port, and a spine's leaf port, are worth */
static double leaf_worth(const struct fabric_spec *spec)
{
    return spec->port_Bps / (spec->oversubscription * spec->link_Bps);
}

static double spine_worth(const struct fabric_spec *spec)
{
    return 1 / spec->core_oversubscription;
}

/* Fill in ports_per_leaf; 0 when nothing says how many. */
static void choose_hosts(struct fabric_spec *spec, int n_ports)
{
    if (spec->ports_per_leaf > 0) return;
    int n_pods = spec->levels == 2 ? 1 : spec->n_pods;
    int64_t n_leaves = (int64_t)spec->leaves_per_pod * n_pods;
    if (n_leaves > 0)
        spec->ports_per_leaf = ceil_div(n_ports, n_leaves);
    else if (spec->radix > 0)
        spec->ports_per_leaf = most_down_ports(spec->radix, leaf_worth(spec));
}

static bool fit_leaf(struct fabric_spec *spec, int n_ports, struct misfit *why)
{
    choose_hosts(spec, n_ports);
    int hosts = spec->ports_per_leaf;
    if (hosts == 0) {
        return MISFIT(why, "a switch of %d ports has none left for cards at %g:1", spec->radix,
                      spec->oversubscription);
    }
    int uplinks = up_ports(hosts, leaf_worth(spec));
    if (spec->radix > 0 && n_ports > hosts && uplinks > spec->radix - hosts) {
        return MISFIT(why, "%d cards per leaf need %d uplinks: more than %d ports per switch",
                      hosts, uplinks, spec->radix);
    }
    return true;
}

static bool fit_two_levels(struct fabric_spec *spec, int n_ports, struct misfit *why)
{
    int hosts = spec->ports_per_leaf;
    int n_leaves = ceil_div(n_ports, hosts);
    if (spec->leaves_per_pod == 0) spec->leaves_per_pod = n_leaves;
    if (spec->n_pods > 1) return MISFIT(why, "%d pods need 3 levels", spec->n_pods);
    spec->n_pods = 1;
    int64_t most = (int64_t)spec->leaves_per_pod * hosts;
    if (most < n_ports) {
        return MISFIT(why, "%d leaves of %d cards hold %lld ports: %d are wanted",
                      spec->leaves_per_pod, hosts, (long long)most, n_ports);
    }
    if (spec->radix > 0 && spec->leaves_per_pod > spec->radix) {
        return MISFIT(why,
                      "2 levels of switches with %d ports hold %lld ports (%d leaves of %d cards): "
                      "%d are wanted",
                      spec->radix, (long long)spec->radix * hosts, spec->radix, hosts, n_ports);
    }
    return true;
}

/* Fill in leaves_per_pod: an even share of the pods asked for, else all that the radix allows,
 * else as many as a leaf has hosts. */
static void choose_leaves(struct fabric_spec *spec, int n_leaves)
{
    if (spec->leaves_per_pod > 0) return;
    if (spec->n_pods > 0)
        spec->leaves_per_pod = ceil_div(n_leaves, spec->n_pods);
    else if (spec->radix > 0)
        spec->leaves_per_pod = most_down_ports(spec->radix, spine_worth(spec));
    else
        spec->leaves_per_pod = spec->ports_per_leaf;
}

static bool fit_three_levels(struct fabric_spec *spec, int n_ports, struct misfit *why)
{
    int hosts = spec->ports_per_leaf;
    int n_leaves = ceil_div(n_ports, hosts);
    int radix = spec->radix;
    choose_leaves(spec, n_leaves);
    int leaves = spec->leaves_per_pod;
    if (leaves == 0) {
        return MISFIT(why, "a switch of %d ports has none left for leaves at %g:1", radix,
                      spec->core_oversubscription);
    }
    if (spec->n_pods == 0) spec->n_pods = ceil_div(n_leaves, leaves);
    int uplinks = n_leaves > leaves ? up_ports(leaves, spine_worth(spec)) : 0;
    if (radix > 0 && (leaves > radix || uplinks > radix - leaves)) {
        return MISFIT(why, "%d leaves per pod need %d uplinks: more than %d ports per switch",
                      leaves, uplinks, radix);
    }
    int64_t most = (int64_t)leaves * hosts;
    if (most * spec->n_pods < n_ports) {
        return MISFIT(why, "%d pods of %d leaves of %d cards hold %lld ports: %d are wanted",
                      spec->n_pods, leaves, hosts, (long long)(most * spec->n_pods), n_ports);
    }
    if (radix > 0 && spec->n_pods > radix) {
        return MISFIT(why,
                      "3 levels of switches with %d ports hold %lld ports (%d pods of %lld): %d "
                      "are wanted",
                      radix, (long long)(most * radix), radix, (long long)most, n_ports);
    }
    return true;
}

/* Try a copy of the spec with these levels and this radix. */
static bool try_shape(struct fabric_spec *spec, int levels, int radix, int n_ports,
                      struct misfit *why)
{
    struct fabric_spec shape = *spec;
    shape.levels = levels;
    shape.radix = radix;
    if (!fit_leaf(&shape, n_ports, why)) return false;
    bool fits =
        levels == 2 ? fit_two_levels(&shape, n_ports, why) : fit_three_levels(&shape, n_ports, why);
    if (fits) *spec = shape;
    return fits;
}

/* Two levels before three, unless one is asked for. */
static bool try_levels(struct fabric_spec *spec, int radix, int n_ports, struct misfit *why)
{
    if (spec->levels != 0) return try_shape(spec, spec->levels, radix, n_ports, why);
    return try_shape(spec, 2, radix, n_ports, why) || try_shape(spec, 3, radix, n_ports, why);
}

static bool is_outright(const struct fabric_spec *spec)
{
    bool has_leaves = spec->leaves_per_pod > 0 && (spec->levels == 2 || spec->n_pods > 0);
    return spec->ports_per_leaf > 0 || has_leaves;
}

static bool check_ranges(struct fabric_spec *spec, struct diag *diag, struct diag_place place)
{
    /* left out altogether = nothing is held back */
    if (fpclassify(spec->oversubscription) == FP_ZERO) spec->oversubscription = 1;
    if (fpclassify(spec->core_oversubscription) == FP_ZERO) spec->core_oversubscription = 1;
    bool ok = fabric_range("oversubscription", spec->oversubscription, 1, MAX_OVERSUBSCRIPTION,
                           diag, place);
    ok &= fabric_range("core oversubscription", spec->core_oversubscription, 1,
                       MAX_OVERSUBSCRIPTION, diag, place);
    ok &= fabric_range("ports per switch", spec->radix, 0, MAX_RADIX, diag, place);
    ok &= fabric_range("ports per leaf", spec->ports_per_leaf, 0, MAX_PARTS, diag, place);
    ok &= fabric_range("leaves per pod", spec->leaves_per_pod, 0, MAX_PARTS, diag, place);
    ok &= fabric_range("pods", spec->n_pods, 0, MAX_PARTS, diag, place);
    if (spec->levels != 0 && spec->levels != 2 && spec->levels != 3) {
        diag_error(diag, place, "a fat-tree of %d levels (2 or 3)", spec->levels);
        ok = false;
    }
    return ok;
}

/* A server takes a port of the leaf for each of its cards here; with rail wiring for one of them. */
static bool count_ports(struct fabric_spec *spec, struct diag *diag, struct diag_place place)
{
    if (spec->hosts_per_leaf == 0) return true;
    if (spec->ports_per_leaf > 0) {
        diag_error(diag, place, "both hosts_per_leaf and ports_per_leaf (one of them)");
        return false;
    }
    bool rail = strcmp(spec->wiring, "rail") == 0;
    int64_t ports = (int64_t)spec->hosts_per_leaf * (rail ? 1 : spec->nics_per_node);
    if (!fabric_range("cards of the servers of a leaf", (double)ports, 1, MAX_PARTS, diag, place))
        return false;
    spec->ports_per_leaf = (int)ports;
    return true;
}

void clos_check(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place)
{
    struct misfit why = {""};
    if (!count_ports(spec, diag, place) || !check_ranges(spec, diag, place)) return;
    if (spec->radix > 0 || is_outright(spec)) {
        if (!try_levels(spec, spec->radix, n_ports, &why)) diag_error(diag, place, "%s", why.text);
        return;
    }
    for (int radix = FIRST_RADIX; radix <= MAX_RADIX; radix *= 2) {
        if (try_levels(spec, radix, n_ports, &why)) return;
    }
    diag_error(diag, place, "%s", why.text);
}

/* The fewest switches that can take `ports` up-ports of each of n_below switches: a divisor of
 * `ports`, so that all pairs have equally many cables. */
static int fewest_above(int ports, int n_below, int radix)
{
    if (radix == 0) return ports;
    for (int n = 1; n < ports; n++) {
        bool divides = ports % n == 0;
        if (divides && (int64_t)n_below * (ports / n) <= radix) return n;
    }
    return ports;
}

/* The shape that a checked spec stands for. */
static struct clos clos_shape(const struct fabric_spec *spec, int n_ports)
{
    struct clos clos = {.hosts = spec->ports_per_leaf, .leaves_per_pod = spec->leaves_per_pod};
    clos.n_leaves = ceil_div(n_ports, clos.hosts);
    clos.n_pods = ceil_div(clos.n_leaves, clos.leaves_per_pod);
    if (clos.n_leaves == 1) return clos;
    clos.uplinks = up_ports(clos.hosts, leaf_worth(spec));
    clos.leaf_link_Bps = clos.hosts * spec->port_Bps / (spec->oversubscription * clos.uplinks);
    bool two_levels = spec->levels == 2;
    clos.spines =
        two_levels ? fewest_above(clos.uplinks, clos.leaves_per_pod, spec->radix) : clos.uplinks;
    if (clos.n_pods == 1) return clos;
    int down = clos.leaves_per_pod;
    clos.core_uplinks = up_ports(down, spine_worth(spec));
    clos.core_link_Bps =
        down * clos.leaf_link_Bps / (spec->core_oversubscription * clos.core_uplinks);
    clos.cores = fewest_above(clos.core_uplinks, spec->n_pods, spec->radix);
    return clos;
}

struct fabric_size clos_size(const struct fabric_spec *spec, int n_ports)
{
    struct clos clos = clos_shape(spec, n_ports);
    int64_t n_spines = (int64_t)clos.n_pods * clos.spines;
    return (struct fabric_size){
        .n_switches = clos.n_leaves + n_spines + (int64_t)clos.spines * clos.cores,
        .n_cables = n_ports + (int64_t)clos.n_leaves * clos.uplinks + n_spines * clos.core_uplinks,
    };
}

/* Cables lie in the order of (lower switch, upper switch, number among the parallel ones). */
static void add_cables(struct topo *topo, const struct clos *clos, int first_leaf,
                       struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    int first_spine = first_leaf + clos->n_leaves;
    int first_core = first_spine + clos->n_pods * clos->spines;
    struct link cable = {.tier = TIER_FABRIC, .latency_s = spec->link_latency_s};
    cable.capacity_Bps = clos->leaf_link_Bps;
    for (int leaf = 0; leaf < clos->n_leaves; leaf++) {
        int pod = leaf / clos->leaves_per_pod;
        for (int i = 0; i < clos->uplinks; i++) {
            int parallel = clos->uplinks / clos->spines;
            cable.src = first_leaf + leaf;
            cable.dst = first_spine + pod * clos->spines + i / parallel;
            topo_add_cable(topo, cable, perm);
        }
    }
    cable.capacity_Bps = clos->core_link_Bps;
    for (int spine = 0; spine < clos->n_pods * clos->spines; spine++) {
        int plane = spine % clos->spines;
        for (int i = 0; i < clos->core_uplinks; i++) {
            int parallel = clos->core_uplinks / clos->cores;
            cable.src = first_spine + spine;
            cable.dst = first_core + plane * clos->cores + i / parallel;
            topo_add_cable(topo, cable, perm);
        }
    }
}

void clos_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    struct clos *clos = arena_new(perm, struct clos, 1);
    *clos = clos_shape(&topo->fabric_spec, n_ports);
    topo->fabric->own = clos;
    int first_leaf = fabric_add_switches(topo, clos->n_leaves, 0, perm);
    fabric_add_switches(topo, clos->n_pods * clos->spines, 1, perm);
    fabric_add_switches(topo, clos->spines * clos->cores, 2, perm);
    for (int p = 0; p < n_ports; p++) {
        fabric_add_port(topo, port_vertex[p], first_leaf + p / clos->hosts, perm);
    }
    clos->first_leaf_link = topo->n_links;
    clos->first_core_link = topo->n_links + 2 * clos->n_leaves * clos->uplinks;
    add_cables(topo, clos, first_leaf, perm);
}

/* A choice among n ways at a stage of the route: by hash, or by the destination. */
struct turn {
    int src, dst;
    uint64_t key;
};

static int choose(const struct topo *topo, struct turn turn, int stage, int by_dst, int n)
{
    if (!topo->fabric->ecmp) return by_dst % n;
    return (int)(fabric_hash(topo, turn.src, turn.dst, turn.key, stage) % (uint64_t)n);
}

/* the up-link of a cable between a leaf and a spine of its pod, or between a spine and a core of its plane */
static int leaf_link(const struct clos *clos, int leaf, int spine, int parallel)
{
    int cable = leaf * clos->uplinks + spine * (clos->uplinks / clos->spines) + parallel;
    return clos->first_leaf_link + 2 * cable;
}

static int core_link(const struct clos *clos, int pod, int plane, int core, int parallel)
{
    int spine = pod * clos->spines + plane;
    int cable = spine * clos->core_uplinks + core * (clos->core_uplinks / clos->cores) + parallel;
    return clos->first_core_link + 2 * cable;
}

/* Over the core: up from the source's pod and down into the destination's, in one plane. */
static int route_pods(const struct topo *topo, struct turn turn, int plane, int *links)
{
    const struct clos *clos = topo->fabric->own;
    int by_dst = turn.dst / clos->spines;
    int up = choose(topo, turn, 1, by_dst, clos->core_uplinks);
    int core = up % clos->cores;
    int n_parallel = clos->core_uplinks / clos->cores;
    int down = choose(topo, turn, 2, by_dst / clos->cores, n_parallel);
    int pod_hosts = clos->hosts * clos->leaves_per_pod;
    links[0] = core_link(clos, turn.src / pod_hosts, plane, core, up / clos->cores);
    links[1] = core_link(clos, turn.dst / pod_hosts, plane, core, down) + 1;
    return 2;
}

int clos_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct clos *clos = topo->fabric->own;
    struct turn turn = {src, dst, key};
    int src_leaf = src / clos->hosts;
    int dst_leaf = dst / clos->hosts;
    int n = 0;
    links[n++] = fabric_port_up(topo, src);
    if (src_leaf != dst_leaf) {
        int up = choose(topo, turn, 0, dst, clos->uplinks);
        int spine = up % clos->spines;
        int n_parallel = clos->uplinks / clos->spines;
        int down = choose(topo, turn, 3, dst / clos->spines, n_parallel);
        links[n++] = leaf_link(clos, src_leaf, spine, up / clos->spines);
        bool crosses = src_leaf / clos->leaves_per_pod != dst_leaf / clos->leaves_per_pod;
        if (crosses) n += route_pods(topo, turn, spine, links + n);
        links[n++] = leaf_link(clos, dst_leaf, spine, down) + 1;
    }
    links[n++] = fabric_port_down(topo, dst);
    return n;
}

/* The least that must be cut below a switch that stands on either side: its parts on the other side
 * are cut off by their up-links, or change sides themselves. */
struct cut {
    double first_Bps, second_Bps; /* the switch stands with the first half, with the second */
};

static void add_part(struct cut *cut, struct cut part, double uplink_Bps)
{
    cut->first_Bps += fmin(part.first_Bps, part.second_Bps + uplink_Bps);
    cut->second_Bps += fmin(part.second_Bps, part.first_Bps + uplink_Bps);
}

static struct cut cut_leaf(const struct topo *topo, int leaf)
{
    const struct clos *clos = topo->fabric->own;
    struct cut cut = {0, 0};
    int end = (leaf + 1) * clos->hosts;
    if (end > topo->n_ports) end = topo->n_ports;
    for (int port = leaf * clos->hosts; port < end; port++) {
        if (fabric_port_side(topo, port))
            cut.second_Bps += topo->node.nic_Bps;
        else
            cut.first_Bps += topo->node.nic_Bps;
    }
    return cut;
}

static struct cut cut_pod(const struct topo *topo, int pod)
{
    const struct clos *clos = topo->fabric->own;
    struct cut cut = {0, 0};
    for (int i = 0; i < clos->leaves_per_pod; i++) {
        int leaf = pod * clos->leaves_per_pod + i;
        if (leaf >= clos->n_leaves) break;
        add_part(&cut, cut_leaf(topo, leaf), clos->uplinks * clos->leaf_link_Bps);
    }
    return cut;
}

/* All spines of a pod, and all cores, have equal cables, so in the least cut they stand together and the
 * fabric is a tree: leaves under pods under the core. */
double clos_bisection_Bps(const struct topo *topo)
{
    const struct clos *clos = topo->fabric->own;
    struct cut cut = {0, 0};
    double pod_uplink_Bps = (double)clos->spines * clos->core_uplinks * clos->core_link_Bps;
    if (clos->n_leaves == 1)
        cut = cut_leaf(topo, 0);
    else if (clos->n_pods == 1)
        cut = cut_pod(topo, 0);
    for (int pod = 0; pod < clos->n_pods && clos->n_pods > 1; pod++) {
        add_part(&cut, cut_pod(topo, pod), pod_uplink_Bps);
    }
    return fmin(cut.first_Bps, cut.second_Bps);
}

void clos_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    static const char *const stages[] = {"leaf", "spine", "core"};
    (void)topo;
    must(vertex.owner >= 0 && vertex.owner < 3);
    snprintf(text, (size_t)size, "%s %d", stages[vertex.owner], vertex.index);
}
