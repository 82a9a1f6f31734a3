#include "net/fabric.h"
#include "net/shapes.h"

static struct fabric_spec plus(int p, int leaves, int spines, int h, int g)
{
    struct fabric_spec fabric = fabric_of("dragonfly-plus");
    fabric.ports_per_router = p;
    fabric.routers_per_group = leaves;
    fabric.spines_per_group = spines;
    fabric.global_per_router = h;
    fabric.n_groups = g;
    return fabric;
}

/* Radix k = 2 m: m hosts and m spines a leaf, m leaves and m global links a spine; m^2 + 1 groups of m^2
 * hosts, one link between any two. Shpiner et al. 2017, sec. II. */
static void the_largest_balanced_one_has_the_counts_of_the_paper(void **state)
{
    for (int m = 1; m <= 4; m++) {
        struct arena scratch = *(struct arena *)*state;
        int g = m * m + 1;
        struct topo *topo = built(one_gpu_node(), plus(m, m, m, m, g), m * m * g, &scratch);
        struct topo_summary summary = topo_summarise(topo);
        assert_int_equal(summary.n_stage_switches[STAGE_LEAF], m * g);
        assert_int_equal(summary.n_stage_switches[STAGE_SPINE], m * g);
        assert_int_equal(summary.radix, 2 * m);
        assert_int_equal(summary.n_links[TIER_FABRIC], 2 * g * m * m);
        assert_int_equal(summary.n_links[TIER_GLOBAL], g * (g - 1));
        /* GPU, card, leaf, spine, spine, leaf, card, GPU, and the host bridge on both sides */
        assert_int_equal(summary.diameter_hops, 9);
    }
}

static void numbers_not_given_are_the_smallest_that_fit(void **state)
{
    /* m = 3 holds 10 groups of 9, m = 2 only 5 of 4 */
    struct topo *topo = built(one_gpu_node(), plus(0, 0, 0, 0, 0), 40, *state);
    assert_int_equal(topo->fabric_spec.ports_per_router, 3);
    assert_int_equal(topo->fabric_spec.n_groups, 5);
}

/* 4 spines of 3 links for 4 other groups: 3 links to each. Each pair has as many, no spine more than h. */
static void every_pair_of_groups_has_equally_many_links(void **state)
{
    for (int per_pair = 0; per_pair <= 2; per_pair++) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric = plus(2, 3, 4, 3, 5);
        fabric.links_per_pair = per_pair;
        struct topo *topo = built(one_gpu_node(), fabric, 30, &scratch);
        int links[5][5] = {{0}}, of_spine[20] = {0};
        for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
            if (topo->links[l].tier != TIER_GLOBAL) continue;
            int src = topo->links[l].src - topo->fabric->first_vertex - 15;
            int dst = topo->links[l].dst - topo->fabric->first_vertex - 15;
            links[src / 4][dst / 4]++;
            of_spine[src]++;
        }
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 5; j++)
                assert_int_equal(links[i][j], i == j ? 0 : per_pair > 0 ? per_pair : 3);
        }
        for (int s = 0; s < 20; s++) assert_true(of_spine[s] <= 3);
    }
}

/* Routes are shortest: 2 cables at the ports, 2 links inside a group, 3 between groups. */
static void minimal_routes_are_shortest(void **state)
{
    struct topo *topo = built(one_gpu_node(), plus(2, 3, 2, 2, 5), 30, *state);
    for (int src = 0; src < 30; src++) {
        for (int dst = 0; dst < 30; dst++) {
            int links[ROUTE_MAX];
            if (src == dst) continue;
            int n = topo->fabric->kind->route(topo, src, dst, 0, links);
            assert_int_equal(n, src / 2 == dst / 2 ? 2 : src / 6 == dst / 6 ? 4 : 5);
        }
    }
}

/* Even halves along groups: (g / 2)^2 pairs of groups. */
static void the_bisection_is_that_of_the_pairs_of_groups(void **state)
{
    struct topo *topo = built(one_gpu_node(), plus(4, 4, 4, 1, 4), 64, *state);
    double global_Bps = 12.5e9;
    assert_close(topo->fabric->kind->bisection_Bps(topo), 2 * 2 * global_Bps, 1e-12);
    assert_close(topo->fabric->kind->bisection_Bps(topo),
                 max_flow_Bps(topo, *(struct arena *)*state), 1e-9);
}

static void more_groups_than_gateway_links_are_refused_with_the_number(void **state)
{
    assert_refused(one_gpu_node(), plus(2, 2, 2, 2, 6), 24, *state,
                   "6 groups need 5 global links each, but 2 spines with 2 have only 4");
    assert_refused(one_gpu_node(), plus(2, 2, 2, 2, 5), 21, *state, "hold 20 ports: 21");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_balanced_one_has_the_counts_of_the_paper),
        cmocka_unit_test(numbers_not_given_are_the_smallest_that_fit),
        cmocka_unit_test(every_pair_of_groups_has_equally_many_links),
        cmocka_unit_test(minimal_routes_are_shortest),
        cmocka_unit_test(the_bisection_is_that_of_the_pairs_of_groups),
        cmocka_unit_test(more_groups_than_gateway_links_are_refused_with_the_number),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
