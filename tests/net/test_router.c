#include "net/router.h"

#include "base/rng.h"
#include "net/adaptive.h"
#include "net/fabric.h"
#include "net/routing.h"
#include "net/shapes.h"

#include <math.h>
#include <string.h>

static struct fabric_spec dragonfly72(const char *routing)
{
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = fabric.global_per_router = 2;
    fabric.routers_per_group = 4;
    fabric.n_groups = 9;
    fabric.routing = routing;
    return fabric;
}

/* 8 leaves of 8 hosts and 8 uplinks */
static struct fabric_spec tree64(const char *routing)
{
    struct fabric_spec fabric = fabric_of("fat-tree");
    fabric.levels = 2;
    fabric.ports_per_leaf = 8;
    fabric.routing = routing;
    return fabric;
}

static struct ways ask(const struct topo *topo, int src, int dst, const struct adaptive *adaptive)
{
    struct route_ask question = {.src = {VERTEX_GPU, src},
                                 .dst = {VERTEX_GPU, dst},
                                 .rail = -1,
                                 .key = (uint64_t)src,
                                 .adaptive = adaptive};
    return topo_spread(topo, &question);
}

/* the ways of all flows from GPU i to to[i] at once, where they go by load */
static const struct adaptive *settled(const struct topo *topo, const int *to, struct arena *perm)
{
    if (!topo_by_load(topo)) return NULL;
    struct adaptive *adaptive = adaptive_new(topo, perm);
    for (int i = 0; i < topo->n_gpus; i++) {
        struct route_ask flow = {.src = {VERTEX_GPU, i}, .dst = {VERTEX_GPU, to[i]}, .rail = -1};
        topo_offer(topo, &flow, adaptive, perm);
    }
    adaptive_settle(adaptive, perm);
    return adaptive;
}

/* What each link carries when GPU i sends to to[i], in flows. */
static double *loads_of(const struct topo *topo, const int *to, struct arena *perm)
{
    double *load = arena_new(perm, double, topo->n_links);
    const struct adaptive *adaptive = settled(topo, to, perm);
    for (int i = 0; i < topo->n_gpus; i++) {
        struct ways ways = ask(topo, i, to[i], adaptive);
        for (int k = 0; k < ways.n; k++) load[ways.shares[k].link] += ways.shares[k].frac;
    }
    return load;
}

static double fullest(const struct topo *topo, const double *load, enum tier tier)
{
    double most = 0;
    for (int l = 0; l < topo->n_links; l++)
        if (topo->links[l].tier == tier) most = fmax(most, load[l]);
    return most;
}

static const char *const fabrics[] = {"switch", "fat-tree", "dragonfly", "cascade",
                                      "torus",  "mesh",     "hyperx",    "full-mesh"};

/* What enters a vertex leaves it, but for one flow that begins at the source and ends at the
 * destination. */
static void assert_conserved(const struct topo *topo, int src, int dst, struct ways ways,
                             struct arena scratch)
{
    double *surplus = arena_new(&scratch, double, topo->n_vertices);
    surplus[topo_endpoint_vertex(topo, (struct endpoint){VERTEX_GPU, src})] = 1;
    surplus[topo_endpoint_vertex(topo, (struct endpoint){VERTEX_GPU, dst})] = -1;
    for (int i = 0; i < ways.n; i++) {
        const struct link *link = &topo->links[ways.shares[i].link];
        assert_false(link->failed);
        surplus[link->src] -= ways.shares[i].frac;
        surplus[link->dst] += ways.shares[i].frac;
        for (int j = 0; j < i; j++) assert_int_not_equal(ways.shares[i].link, ways.shares[j].link);
    }
    for (int v = 0; v < topo->n_vertices; v++) assert_true(fabs(surplus[v]) < 1e-12);
}

static void assert_all_conserved(const struct topo *topo, struct arena scratch)
{
    for (int src = 0; src < topo->n_gpus; src += 5) {
        for (int dst = 0; dst < topo->n_gpus; dst++) {
            if (src != dst) assert_conserved(topo, src, dst, ask(topo, src, dst, NULL), scratch);
        }
    }
}

static void every_routing_carries_whole_flows_over_every_fabric(void **state)
{
    for (int r = 0; r < n_routings; r++) {
        for (size_t k = 0; k < sizeof fabrics / sizeof fabrics[0]; k++) {
            struct arena scratch = **(struct arena **)state;
            struct fabric_spec fabric = fabric_of(fabrics[k]);
            fabric.routing = routings[r].name;
            fabric.qps = 3;
            if (routings[r].detours && !fabric_find(fabrics[k])->group) continue;
            assert_all_conserved(built(one_gpu_node(), fabric, 37, &scratch), scratch);
        }
    }
}

/* Cards in several planes, sites, groups under spines, a ring of switches from a file: servers of 4 cards. */
static void every_routing_carries_whole_flows_through_parts(void **state)
{
    static const char *const whole[] = {"dragonfly-plus", "rail-only", "multi-plane", "multi-site",
                                        "graph"};
    for (int r = 0; r < n_routings; r++) {
        for (size_t k = 0; k < sizeof whole / sizeof whole[0]; k++) {
            struct arena scratch = **(struct arena **)state;
            struct fabric_spec fabric = fabric_of(whole[k]);
            bool graph = strcmp(whole[k], "graph") == 0;
            fabric.routing = routings[r].name;
            fabric.qps = 3;
            fabric.gateways = 2;
            fabric.ports_per_leaf = 3;
            if (graph) fabric.graph = ring_graph(7, 37, &scratch);
            if (routings[r].detours && !fabric_find(whole[k])->group) continue;
            struct node_spec node = graph ? one_gpu_node() : eight_gpu_node();
            assert_all_conserved(built(node, fabric, graph ? 37 : 56, &scratch), scratch);
        }
    }
}

static void fail_link(struct topo *topo, const char *name)
{
    int link = topo_find_link(topo, name);
    assert_true(link >= 0);
    topo->links[link].failed = true;
}

/* The first links between switches and every ninth after them fail: none of the fabrics is cut. */
static void routes_go_round_failed_links(void **state)
{
    static const char *const richer[] = {"fat-tree", "dragonfly", "torus",
                                         "hyperx",   "full-mesh", "dragonfly-plus"};
    for (int r = 0; r < n_routings; r++) {
        for (size_t k = 0; k < sizeof richer / sizeof richer[0]; k++) {
            struct arena scratch = **(struct arena **)state;
            struct fabric_spec fabric = fabric_of(richer[k]);
            fabric.routing = routings[r].name;
            if (k == 0) fabric.ports_per_leaf = 4;
            if (routings[r].detours && !fabric_find(richer[k])->group) continue;
            struct topo *topo = built(one_gpu_node(), fabric, 37, &scratch);
            for (int l = topo->fabric->first_link + 2 * 37; l < topo->n_links; l += 9)
                topo->links[l].failed = true;
            struct diag diag = {.perm = &scratch};
            topo_reroute(topo, &scratch, &diag, (struct diag_place){.file = "test"});
            diag_print(&diag, stderr);
            assert_true(diag_ok(&diag));
            assert_all_conserved(topo, scratch);
        }
    }
}

/* 37 hosts fill the first five of nine groups; nothing leads away from the sixth any more. */
static void a_group_that_is_cut_off_is_no_detour(void **state)
{
    for (int r = 0; r < n_routings; r++) {
        struct arena scratch = **(struct arena **)state;
        if (!routings[r].detours) continue;
        struct topo *topo = built(one_gpu_node(), dragonfly72(routings[r].name), 37, &scratch);
        for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
            int src = topo->links[l].src - topo->fabric->first_vertex;
            bool away = src >= 0 && topo->links[l].tier == TIER_GLOBAL;
            topo->links[l].failed = away && topo->fabric->kind->group(topo, src) == 5;
        }
        struct diag diag = {.perm = &scratch};
        topo_reroute(topo, &scratch, &diag, (struct diag_place){.file = "test"});
        assert_true(diag_ok(&diag));
        assert_all_conserved(topo, scratch);
    }
}

static void a_flow_that_meets_no_failure_keeps_its_way(void **state)
{
    struct arena *perm = *state;
    struct topo *whole = built(one_gpu_node(), tree64("ecmp"), 64, perm);
    struct topo *hurt = built(one_gpu_node(), tree64("ecmp"), 64, perm);
    fail_link(hurt, "leaf 0 -> spine 3");
    struct diag diag = {.perm = perm};
    topo_reroute(hurt, perm, &diag, (struct diag_place){.file = "test"});
    int n_same = 0, n_moved = 0;
    for (int dst = 8; dst < 64; dst++) {
        int before[ROUTE_MAX], after[ROUTE_MAX];
        struct endpoint from = {VERTEX_GPU, 0}, to = {VERTEX_GPU, dst};
        int n = topo_route(whole, from, to, -1, 1, before);
        assert_int_equal(topo_route(hurt, from, to, -1, 1, after), n);
        bool met = false;
        for (int i = 0; i < n; i++) met |= hurt->links[before[i]].failed;
        bool same = memcmp(before, after, (size_t)n * sizeof *after) == 0;
        assert_true(met != same);
        n_same += same;
        n_moved += !same;
    }
    assert_true(n_same > 30 && n_moved > 0);
}

static void assert_cut(struct topo *topo, const char *message, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    topo_reroute(topo, perm, &diag, (struct diag_place){.file = "test"});
    assert_int_equal(diag.n_messages, 1);
    if (!strstr(diag.messages[0], message)) fail_msg("%s", diag.messages[0]);
}

static void a_cut_network_is_named(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = built(one_gpu_node(), fabric_of("switch"), 4, perm);
    fail_link(topo, "switch -> node 2 nic 0");
    assert_cut(topo, "no way from node 0 nic 0 to node 2 nic 0 without switch -> node 2 nic 0",
               perm);
    struct fabric_spec two_leaves = tree64("static");
    two_leaves.oversubscription = 8; /* one uplink a leaf */
    topo = built(one_gpu_node(), two_leaves, 16, perm);
    fail_link(topo, "leaf 1 -> spine 0");
    assert_cut(topo, "no way from node 8 nic 0 to node 0 nic 0 without leaf 1 -> spine 0", perm);
    topo = built(eight_gpu_node(), fabric_of("switch"), 16, perm);
    fail_link(topo, "gpu 0 -> node 0 pcie 0");
    assert_cut(topo, "inside a server there is no way round gpu 0 -> node 0 pcie 0", perm);
}

/* Four cards a server: what card 1 carried goes by card 2. */
static void a_card_without_its_cable_is_stood_in_for_by_the_next(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = built(eight_gpu_node(), fabric_of("switch"), 16, perm);
    fail_link(topo, "node 0 nic 1 -> switch");
    struct diag diag = {.perm = perm};
    topo_reroute(topo, perm, &diag, (struct diag_place){.file = "test"});
    assert_true(diag_ok(&diag));
    int links[ROUTE_MAX];
    int n = topo_route(topo, (struct endpoint){VERTEX_GPU, 0}, (struct endpoint){VERTEX_GPU, 8}, 1,
                       0, links);
    int other = topo_find_link(topo, "node 0 nic 2 -> switch");
    bool found = false;
    for (int i = 0; i < n; i++) found |= links[i] == other;
    assert_true(found);
}

static void shift(int *to, int n, int by)
{
    for (int i = 0; i < n; i++) to[i] = (i + by) % n;
}

/* All of a group send to the next group. Minimal: the a p = 8 flows of a group share the one cable
 * between the two, so 1/8 of the ports' rate goes through: 1 / (a h) in a balanced dragonfly.
 * Detours: the cable from i to m carries what group i sends by way of m, 8 / 7, and what the group before
 * m sends by way of i, 8 / 7: 7/16 goes through, which tends to 1/2 for large dragonflies.
 * Source: Kim et al., ISCA 2008, sec. 4.1 and fig. 8(b). */
static void a_dragonfly_under_adversarial_traffic_needs_detours(void **state)
{
    struct arena *perm = *state;
    int to[72];
    shift(to, 72, 8);
    struct topo *topo = built(one_gpu_node(), dragonfly72("minimal"), 72, perm);
    double minimal = fullest(topo, loads_of(topo, to, perm), TIER_GLOBAL);
    assert_close(minimal, 8, 1e-12);
    topo = built(one_gpu_node(), dragonfly72("valiant-spray"), 72, perm);
    double *load = loads_of(topo, to, perm);
    assert_close(fullest(topo, load, TIER_GLOBAL), 16.0 / 7, 1e-12);
    assert_true(fullest(topo, load, TIER_FABRIC) < 16.0 / 7);
    /* one detour a flow is a draw: fuller than the mean, far from the minimal way's queue */
    topo = built(one_gpu_node(), dragonfly72("valiant"), 72, perm);
    double drawn = fullest(topo, loads_of(topo, to, perm), TIER_GLOBAL);
    assert_true(drawn >= 3 && drawn <= 6);
    topo = built(one_gpu_node(), dragonfly72("ugal"), 72, perm);
    double chosen = fullest(topo, loads_of(topo, to, perm), TIER_GLOBAL);
    /* by load: f of the 8 flows on the cable, 16 / 7 (1 - f) on the detours', as full at f = 2 / 9, and less
     * than 16 / 9 no cable has, however the flows are split: 9/16 goes through */
    assert_true(chosen >= 16.0 / 9 * (1 - 1e-9) && chosen <= 16.0 / 9 * 1.01);
}

/* Uniform traffic, all pairs: minimal ways balance the global links exactly (8 x 8 flows on the cable
 * between any two groups), so saturation is at the ports' 71 flows: full throughput. Detours take
 * two global hops each and halve it. */
static void uniform_traffic_saturates_the_ports_under_minimal_ways(void **state)
{
    struct arena *perm = *state;
    double minimal = 0, detours = 0;
    for (int by = 1; by < 72; by++) {
        struct arena scratch = *perm;
        int to[72];
        shift(to, 72, by);
        struct topo *topo = built(one_gpu_node(), dragonfly72("minimal"), 72, &scratch);
        int cable = topo_find_link(topo, "router 1.3 -> router 0.0");
        for (int l = 0; cable < 0 && l < topo->n_links; l++)
            if (topo->links[l].tier == TIER_GLOBAL) cable = l;
        minimal += loads_of(topo, to, &scratch)[cable];
        topo = built(one_gpu_node(), dragonfly72("valiant-spray"), 72, &scratch);
        detours += loads_of(topo, to, &scratch)[cable];
    }
    assert_close(minimal, 64, 1e-12);
    /* pairs in different groups go by 2 global links each, those inside a group too: 72 x 71 flows
     * on 72 links */
    assert_close(detours, 2.0 * 71, 1e-12);
}

/* The largest of the numbers of balls in n bins, n balls, on average: by counting the ways to put them
 * with at most m in a bin, n! [x^n] (sum_{k <= m} x^k / k!)^n / n^n. */
static double expected_fullest_bin(int n)
{
    double mean = 0, below = 0;
    for (int m = 1; m <= n; m++) {
        double poly[32] = {1}; /* coefficients so far, one factor a bin, x scaled by n */
        for (int bin = 0; bin < n; bin++) {
            double next[32] = {0};
            for (int i = 0; i <= n; i++) {
                double term = 1;
                for (int k = 0; k <= m && i + k <= n; k++) {
                    next[i + k] += poly[i] * term;
                    term /= k + 1;
                }
            }
            memcpy(poly, next, sizeof poly);
        }
        double at_most = poly[n];
        for (int i = 1; i <= n; i++) at_most *= (double)i / n;
        mean += m * (at_most - below);
        below = at_most;
    }
    return mean;
}

/* Permutations that leave every leaf: 8 flows of a leaf on its 8 uplinks. Spread packets load each with
 * one flow's worth; ECMP throws balls into bins. */
static void ecmp_is_balls_in_bins_and_spray_is_even(void **state)
{
    struct arena *perm = *state;
    double sum = 0;
    int n_leaves = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct arena scratch = *perm;
        struct fabric_spec fabric = tree64("ecmp");
        fabric.seed = seed;
        struct topo *topo = built(one_gpu_node(), fabric, 64, &scratch);
        int to[64];
        shift(to, 64, 8 * (1 + (int)(seed % 7)));
        double *load = loads_of(topo, to, &scratch);
        double most[8] = {0};
        for (int l = 0; l < topo->n_links; l++) {
            int leaf = topo->links[l].src - topo->fabric->first_vertex;
            bool up = topo->links[l].tier == TIER_FABRIC && leaf < 8;
            if (up) most[leaf] = fmax(most[leaf], load[l]);
        }
        for (int leaf = 0; leaf < 8; leaf++) sum += most[leaf];
        n_leaves += 8;
    }
    assert_close(expected_fullest_bin(2), 1.5, 1e-12);
    assert_close(sum / n_leaves, expected_fullest_bin(8), 0.03);
    struct topo *topo = built(one_gpu_node(), tree64("spray"), 64, perm);
    int to[64];
    shift(to, 64, 8);
    assert_close(fullest(topo, loads_of(topo, to, perm), TIER_FABRIC), 1, 1e-12);
}

/* More queue pairs even out: each is a ball of 1 / q. */
static void queue_pairs_even_out_collisions(void **state)
{
    double before = 9;
    for (int qps = 1; qps <= 64; qps *= 8) {
        struct arena scratch = **(struct arena **)state;
        struct fabric_spec fabric = tree64("ecmp");
        fabric.qps = qps;
        struct topo *topo = built(one_gpu_node(), fabric, 64, &scratch);
        int to[64];
        shift(to, 64, 8);
        double most = fullest(topo, loads_of(topo, to, &scratch), TIER_FABRIC);
        assert_true(most < before && most >= 1);
        before = most;
    }
    assert_true(before < 1.4);
}

/* Two ways of two links from a to b, one of them over a cable of 7 us where others have 0.5: packets of both
 * are there after the longer, whichever cable is named first. */
static double sprayed_s(int slow_cable, struct arena *perm)
{
    static const char *const names[] = {"a", "b", "m", "n"};
    static const int8_t stages[] = {0, 0, 0, 0};
    const struct graph_way given = {.latency_s = -1}, slow = {.latency_s = 7e-6};
    struct graph_cable cables[] = {{0, 2, {given, given}, false},
                                   {0, 3, {given, given}, false},
                                   {1, 2, {given, given}, false},
                                   {1, 3, {given, given}, false}};
    const struct graph_host hosts[] = {{0, 0, 0, {given, given}}, {1, 0, 1, {given, given}}};
    const struct net_graph net = {"test", names, stages, 4, cables, 4, hosts, 2};
    if (slow_cable >= 0) cables[slow_cable].ways[0] = cables[slow_cable].ways[1] = slow;
    struct fabric_spec fabric = fabric_of("graph");
    fabric.graph = &net;
    fabric.routing = "spray";
    return ask(built(one_gpu_node(), fabric, 2, perm), 0, 1, NULL).latency_s;
}

static void what_is_spread_is_there_with_its_last_packet(void **state)
{
    double even_s = sprayed_s(-1, *state);
    for (int cable = 0; cable < 4; cable++)
        assert_close(sprayed_s(cable, *state), even_s + 7e-6 - 0.5e-6, 1e-12);
}

static void a_tree_has_no_detours(void **state)
{
    struct arena *perm = *state;
    struct node_spec node = one_gpu_node();
    struct fabric_spec fabric = tree64("valiant");
    struct diag diag = {.perm = perm};
    topo_build(&node, &fabric, 64, perm, &diag, (struct diag_place){.file = "test"});
    assert_int_equal(diag.n_messages, 1);
    assert_non_null(strstr(diag.messages[0], "routing \"valiant\" goes round by other groups"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_routing_carries_whole_flows_over_every_fabric),
        cmocka_unit_test(every_routing_carries_whole_flows_through_parts),
        cmocka_unit_test(routes_go_round_failed_links),
        cmocka_unit_test(a_group_that_is_cut_off_is_no_detour),
        cmocka_unit_test(a_flow_that_meets_no_failure_keeps_its_way),
        cmocka_unit_test(a_cut_network_is_named),
        cmocka_unit_test(a_card_without_its_cable_is_stood_in_for_by_the_next),
        cmocka_unit_test(a_dragonfly_under_adversarial_traffic_needs_detours),
        cmocka_unit_test(uniform_traffic_saturates_the_ports_under_minimal_ways),
        cmocka_unit_test(ecmp_is_balls_in_bins_and_spray_is_even),
        cmocka_unit_test(queue_pairs_even_out_collisions),
        cmocka_unit_test(what_is_spread_is_there_with_its_last_packet),
        cmocka_unit_test(a_tree_has_no_detours),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
