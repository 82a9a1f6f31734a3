#include "net/fabric.h"
#include "net/shapes.h"

static struct fabric_spec dragonfly(int p, int a, int h, int g)
{
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = p;
    fabric.routers_per_group = a;
    fabric.global_per_router = h;
    fabric.n_groups = g;
    return fabric;
}

/* Kim et al. 2008, sec. 3.1, fig. 5: p = h = 2, a = 4: 9 groups, 72 terminals, 36 routers of radix
 * p + a + h - 1 = 7. Cables: 72 + 9 * 6 local + 9 * 8 / 2 global. */
static void the_published_example_has_its_counts(void **state)
{
    struct topo *topo = built(one_gpu_node(), dragonfly(2, 4, 2, 9), 72, *state);
    struct topo_summary summary = topo_summarise(topo);
    assert_int_equal(summary.n_switches, 36);
    assert_int_equal(summary.radix, 7);
    assert_int_equal(summary.n_links[TIER_NIC], 2 * 72);
    assert_int_equal(summary.n_links[TIER_FABRIC], 2 * 54);
    assert_int_equal(summary.n_links[TIER_GLOBAL], 2 * 36);
    /* gpu - host - nic - local - global - local - nic - host - gpu: 2 + 1 + 3 + 1 + 2 links */
    assert_int_equal(summary.diameter_hops, 9);
}

/* Palm tree: global port k of router r of group i leads to group i - (r h + k + 1). */
static void the_whole_dragonfly_is_a_palm_tree(void **state)
{
    struct topo *topo = built(one_gpu_node(), dragonfly(1, 4, 2, 9), 36, *state);
    int first = topo->fabric->first_vertex;
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 8; j++) {
            int to_group = (i - (j + 1) + 9) % 9;
            int to_router = (8 - 1 - j) / 2;
            int n_found = 0;
            for (int l = 0; l < topo->n_links; l++) {
                struct link link = topo->links[l];
                n_found += link.tier == TIER_GLOBAL && link.src == first + i * 4 + j / 2 &&
                           link.dst == first + to_group * 4 + to_router;
            }
            assert_int_equal(n_found, 1);
        }
    }
}

/* Any number of groups: pairs of groups have equally many links but for one, no router more than its h
 * global ports, and at most one port of a group is empty unless the numbers are odd. */
static void fewer_groups_share_the_links_evenly(void **state)
{
    for (int g = 2; g <= 13; g++) {
        for (int h = 1; h <= 3; h++) {
            struct arena scratch = *(struct arena *)*state;
            int a = 4;
            if (g > a * h + 1) continue;
            struct topo *topo = built(one_gpu_node(), dragonfly(1, a, h, g), a * g, &scratch);
            int *n_of_pair = arena_new(&scratch, int, g *g);
            int *n_of_router = arena_new(&scratch, int, a *g);
            for (int l = 0; l < topo->n_links; l++) {
                if (topo->links[l].tier != TIER_GLOBAL) continue;
                int src = topo->links[l].src - topo->fabric->first_vertex;
                int dst = topo->links[l].dst - topo->fabric->first_vertex;
                n_of_pair[src / a * g + dst / a]++;
                n_of_router[src]++;
            }
            int even = a * h / (g - 1);
            int n_used = 0;
            for (int i = 0; i < g * g; i++) {
                if (i / g == i % g)
                    assert_int_equal(n_of_pair[i], 0);
                else
                    assert_in_range(n_of_pair[i], even, even + 1);
                assert_int_equal(n_of_pair[i], n_of_pair[i % g * g + i / g]);
                n_used += n_of_pair[i];
            }
            for (int r = 0; r < a * g; r++) assert_in_range(n_of_router[r], 0, h);
            bool odd = a * h % (g - 1) % 2 == 1 && g % 2 == 1;
            assert_int_equal(n_used, g * (a * h - odd));
        }
    }
}

/* Two groups of 4 routers with one global link each: destinations 4 .. 7 take the 4 links in turn. */
static void several_links_are_used_in_turn_by_destination(void **state)
{
    struct topo *topo = built(one_gpu_node(), dragonfly(1, 4, 1, 2), 8, *state);
    int *load = arena_new(*state, int, topo->n_links);
    for (int dst = 4; dst < 8; dst++) {
        int links[ROUTE_MAX];
        int n = topo->fabric->kind->route(topo, 0, dst, 0, links);
        for (int i = 0; i < n; i++) load[links[i]]++;
    }
    int n_used = 0;
    for (int l = 0; l < topo->n_links; l++) {
        if (topo->links[l].tier != TIER_GLOBAL || load[l] == 0) continue;
        assert_int_equal(load[l], 1);
        n_used++;
    }
    assert_int_equal(n_used, 4);
}

static void hashed_choice_spreads_over_the_links_of_a_pair(void **state)
{
    struct fabric_spec fabric = dragonfly(1, 4, 2, 3); /* 4 links between two groups */
    fabric.routing = "ecmp";
    struct topo *topo = built(one_gpu_node(), fabric, 12, *state);
    int *load = arena_new(*state, int, topo->n_links);
    for (uint64_t key = 0; key < 4000; key++) {
        int links[ROUTE_MAX];
        int n = topo->fabric->kind->route(topo, 1, 10, key, links);
        for (int i = 0; i < n; i++) load[links[i]]++;
    }
    int n_used = 0;
    for (int l = 0; l < topo->n_links; l++) {
        if (topo->links[l].tier != TIER_GLOBAL || load[l] == 0) continue;
        assert_in_range(load[l], 880, 1120); /* 1,000 with standard deviation 27 */
        n_used++;
    }
    assert_int_equal(n_used, 4);
}

/* Local hops only where the router is not the gateway itself: 72 terminals, group 0 router 0 has slots 0, 1, so
 * groups 8 and 7 are one global hop away. */
static void minimal_routes_take_at_most_local_global_local(void **state)
{
    struct topo *topo = built(one_gpu_node(), dragonfly(2, 4, 2, 9), 72, *state);
    for (int s = 0; s < 72; s++) {
        for (int d = 0; d < 72; d++) {
            if (s == d) continue;
            int links[ROUTE_MAX];
            int n = topo->fabric->kind->route(topo, s, d, 0, links);
            int n_global = 0;
            for (int i = 0; i < n; i++) n_global += topo->links[links[i]].tier == TIER_GLOBAL;
            assert_int_equal(n_global, s / 8 != d / 8);
            if (s / 2 == d / 2)
                assert_int_equal(n, 2);
            else if (s / 8 == d / 8)
                assert_int_equal(n, 3);
            else
                assert_in_range(n, 3, 5);
        }
    }
    assert_string_equal(route_text(topo, gpu_at(0), gpu_at(63), -1, *state),
                        "node 0 host 0 > node 0 nic 0 > router 0.0 > router 7.3 > node 63 nic 0 > "
                        "node 63 host 0 > gpu 63");
}

/* g even, full, packed: (g / 2)^2 pairs of groups, each with its links. 10 groups of 3 routers with 3: one
 * link a pair, 25 of 25 GB/s; 15 ports of 12.5 GB/s a side could send less, so they count. */
static void the_bisection_is_a_quarter_of_the_groups_squared(void **state)
{
    struct fabric_spec fabric = dragonfly(4, 3, 3, 10);
    fabric.global_Bps = 25e9;
    struct topo *topo = built(one_gpu_node(), fabric, 120, *state);
    assert_close(topo_summarise(topo).bisection_Bps, 25 * 25e9, 1e-12);
    assert_close(topo_summarise(topo).oversubscription, 60 * 12.5 / 625, 1e-12);
    topo = built(one_gpu_node(), dragonfly(1, 3, 3, 10), 30, *state);
    assert_close(topo_summarise(topo).bisection_Bps, 15 * 12.5e9, 1e-12);
}

/* Whatever the shape, the stated bisection is a cut: no flow is larger. */
static void no_flow_is_larger_than_the_bisection(void **state)
{
    static const int shapes[][5] = {
        {2, 3, 1, 4, 24}, {2, 3, 1, 3, 17}, {3, 2, 2, 5, 29}, {4, 3, 1, 1, 11}, {2, 2, 1, 2, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct arena scratch = *(struct arena *)*state;
        const int *s = shapes[i];
        struct topo *topo =
            built(one_gpu_node(), dragonfly(s[0], s[1], s[2], s[3]), s[4], &scratch);
        double bisection_Bps = topo_summarise(topo).bisection_Bps;
        assert_true(max_flow_Bps(topo, scratch) <= bisection_Bps * (1 + 1e-9));
    }
}

static void a_balanced_shape_is_chosen_that_fits(void **state)
{
    /* a = 2 p = 2 h holds 2 p^2 (2 p^2 + 1): 6, 72, 342, 1056 */
    static const int counts[][2] = {{2, 1},  {6, 1},   {7, 2},   {72, 2},
                                    {73, 3}, {342, 3}, {343, 4}, {1056, 4}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct arena scratch = *(struct arena *)*state;
        struct topo *topo = built(one_gpu_node(), dragonfly(0, 0, 0, 0), counts[i][0], &scratch);
        int p = counts[i][1];
        assert_int_equal(topo->fabric_spec.ports_per_router, p);
        assert_int_equal(topo->fabric_spec.routers_per_group, 2 * p);
        assert_int_equal(topo->fabric_spec.global_per_router, p);
        assert_int_equal(topo->fabric_spec.n_groups, (counts[i][0] + 2 * p * p - 1) / (2 * p * p));
    }
}

static void impossible_dragonflies_are_refused_with_the_number(void **state)
{
    struct node_spec node = one_gpu_node();
    assert_refused(node, dragonfly(1, 2, 1, 4), 8, *state,
                   "4 groups, but 2 routers with 1 global links reach only 2 others");
    assert_refused(node, dragonfly(2, 4, 2, 9), 73, *state,
                   "9 groups of 4 routers with 2 ports hold 72 ports: 73");
    assert_refused(node, dragonfly(-1, 4, 2, 9), 72, *state, "ports per router is -1");
    assert_refused(node, dragonfly(2, 2147483647, 2, 9), 72, *state,
                   "routers per group is 2147483647");
    assert_refused(node, dragonfly(2, 4, -7, 9), 72, *state, "global links per router is -7");
    assert_refused(node, dragonfly(2, 4, 2, 100000), 72, *state, "groups is 100000");
    assert_refused(node, dragonfly(1, 65536, 1, 0), 16, *state, "links and");
    assert_refused(node, dragonfly(1, 65536, 65536, 65536), 16, *state, "links and");
    assert_refused(node, dragonfly(1, 1, 65536, 65536), 16, *state, "links and");
    struct fabric_spec fabric = dragonfly(2, 4, 2, 9);
    fabric.global_Bps = -1;
    assert_refused(node, fabric, 72, *state, "global link rate in B/s is -1");
    fabric.global_Bps = (double)NAN;
    assert_refused(node, fabric, 72, *state, "global link rate in B/s is nan");
    fabric = dragonfly(2, 4, 2, 9);
    fabric.global_latency_s = (double)NAN;
    assert_refused(node, fabric, 72, *state, "global link latency in seconds is nan");
}

/* a = 2, h = 2, g = 5. Consecutive: group 0's links go to groups 1, 2 (router 0), 3, 4 (router 1), and group
 * 4's to 0, 1, 2, 3. Palm tree: link j goes to group -(j + 1): 4, 3, 2, 1. */
static void consecutive_links_go_to_groups_in_order(void **state)
{
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = fabric.routers_per_group = fabric.global_per_router = 2;
    fabric.n_groups = 5;
    struct topo *palm = built(one_gpu_node(), fabric, 20, *state);
    fabric.arrangement = "consecutive";
    struct topo *topo = built(one_gpu_node(), fabric, 20, *state);
    assert_true(topo_find_link(topo, "router 0.0 -> router 1.0") >= 0);
    assert_true(topo_find_link(topo, "router 0.1 -> router 4.0") >= 0);
    assert_true(topo_find_link(topo, "router 1.1 -> router 4.0") >= 0);
    assert_true(topo_find_link(palm, "router 0.0 -> router 4.1") >= 0);
    assert_int_equal(topo->n_links, palm->n_links);
}

/* 4 links for each of 6 other groups, on 8 routers with 6 ports each: 3 a router. */
static void links_per_pair_leave_ports_empty_on_all_routers_alike(void **state)
{
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = 2;
    fabric.routers_per_group = 8;
    fabric.global_per_router = 6;
    fabric.n_groups = 7;
    fabric.links_per_pair = 4;
    struct topo *topo = built(one_gpu_node(), fabric, 112, *state);
    int of_router[56] = {0}, n_global = 0;
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        if (topo->links[l].tier != TIER_GLOBAL) continue;
        of_router[topo->links[l].src - topo->fabric->first_vertex]++;
        n_global++;
    }
    assert_int_equal(n_global, 7 * 6 * 4);
    for (int r = 0; r < 56; r++) assert_int_equal(of_router[r], 3);
    fabric.links_per_pair = 9;
    assert_refused(one_gpu_node(), fabric, 112, *state, "at most 6 groups");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_example_has_its_counts),
        cmocka_unit_test(the_whole_dragonfly_is_a_palm_tree),
        cmocka_unit_test(fewer_groups_share_the_links_evenly),
        cmocka_unit_test(several_links_are_used_in_turn_by_destination),
        cmocka_unit_test(hashed_choice_spreads_over_the_links_of_a_pair),
        cmocka_unit_test(minimal_routes_take_at_most_local_global_local),
        cmocka_unit_test(the_bisection_is_a_quarter_of_the_groups_squared),
        cmocka_unit_test(no_flow_is_larger_than_the_bisection),
        cmocka_unit_test(a_balanced_shape_is_chosen_that_fits),
        cmocka_unit_test(impossible_dragonflies_are_refused_with_the_number),
        cmocka_unit_test(consecutive_links_go_to_groups_in_order),
        cmocka_unit_test(links_per_pair_leave_ports_empty_on_all_routers_alike),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
