#include "net/fabric.h"
#include "net/shapes.h"
#include "net/survey.h"

static struct survey survey_of(struct fabric_spec fabric, int n, struct arena *perm)
{
    return survey_network(built(one_gpu_node(), fabric, n, perm), *perm);
}

/* Al-Fares et al.: a 3-level tree of radix k has (k / 2)^2 shortest ways between pods, k / 2 of them disjoint
 * at a leaf with k / 2 up-ports. */
static void a_fat_tree_has_the_ways_of_its_radix(void **state)
{
    for (int k = 4; k <= 12; k += 4) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric = fabric_of("fat-tree");
        fabric.radix = k;
        fabric.levels = 3;
        struct survey survey = survey_of(fabric, k * k * k / 4, &scratch);
        assert_close(survey.shortest_ways, k * k / 4, 0);
        assert_int_equal(survey.disjoint_ways, k / 2);
        assert_int_equal(survey.shortest_links, 4);
    }
}

/* Opposite corners of an n x n mesh: (2 n - 2 over n - 1) shortest ways, two disjoint; a torus has four. */
static void corners_of_a_mesh_have_binomially_many_ways(void **state)
{
    static const double ways[] = {2, 6, 20, 70};
    for (int n = 2; n <= 5; n++) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric = fabric_of("mesh");
        fabric.n_dimensions = 2;
        fabric.side[0] = fabric.side[1] = n;
        struct survey survey = survey_of(fabric, n * n, &scratch);
        assert_close(survey.shortest_ways, ways[n - 2], 0);
        assert_int_equal(survey.disjoint_ways, 2);
        fabric.kind = "torus";
        if (n > 2) assert_int_equal(survey_of(fabric, n * n, &scratch).disjoint_ways, 4);
    }
}

/* Two to one at the leaves, three to one above: 16 hosts of 12.5 GB/s on 4 leaves of 4 in 2 pods. */
static void levels_say_how_capacity_shrinks(void **state)
{
    struct fabric_spec fabric = fabric_of("fat-tree");
    fabric.levels = 3;
    fabric.ports_per_leaf = 4;
    fabric.leaves_per_pod = 2;
    fabric.n_pods = 2;
    fabric.oversubscription = 2;
    fabric.core_oversubscription = 3;
    struct survey survey = survey_of(fabric, 16, *state);
    assert_close(survey.levels[STAGE_LEAF].down_Bps, 16 * 12.5e9, 1e-12);
    assert_close(survey.levels[STAGE_LEAF].up_Bps, 16 * 12.5e9 / 2, 1e-12);
    assert_close(survey.levels[STAGE_SPINE].down_Bps / survey.levels[STAGE_SPINE].up_Bps, 3, 1e-12);
    assert_int_equal(survey.n_cables[TIER_NIC], 16);
}

/* A link that failed carries nothing; the other direction of its cable still does. */
static void failed_links_are_no_capacity(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fabric_spec fabric = fabric_of("fat-tree");
    fabric.levels = 2;
    fabric.ports_per_leaf = 4;
    struct topo *topo = built(one_gpu_node(), fabric, 16, &scratch);
    topo->links[topo_find_link(topo, "leaf 1 -> spine 0")].failed = true;
    struct survey survey = survey_network(topo, scratch);
    assert_close(survey.levels[STAGE_LEAF].up_Bps, 15 * 12.5e9, 1e-12);
    assert_close(survey.levels[STAGE_SPINE].down_Bps, 16 * 12.5e9, 1e-12);
}

/* 5 groups of 2 routers with 2 ports and 2 global links: 20 global link ends of 12.5 GB/s. */
static void global_links_of_a_dragonfly_are_counted(void **state)
{
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = fabric.routers_per_group = fabric.global_per_router = 2;
    fabric.n_groups = 5;
    struct survey survey = survey_of(fabric, 20, *state);
    assert_close(survey.levels[STAGE_LEAF].global_Bps, 20 * 12.5e9, 1e-12);
    assert_int_equal(survey.n_cables[TIER_GLOBAL], 10);
    assert_int_equal(survey.n_cables[TIER_FABRIC], 5);
}

static void one_switch_has_no_ways_to_choose_from(void **state)
{
    struct survey survey = survey_of(fabric_of("switch"), 8, *state);
    assert_int_equal(survey.disjoint_ways, 0);
    assert_int_equal(survey.n_cables[TIER_NIC], 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fat_tree_has_the_ways_of_its_radix),
        cmocka_unit_test(corners_of_a_mesh_have_binomially_many_ways),
        cmocka_unit_test(levels_say_how_capacity_shrinks),
        cmocka_unit_test(failed_links_are_no_capacity),
        cmocka_unit_test(global_links_of_a_dragonfly_are_counted),
        cmocka_unit_test(one_switch_has_no_ways_to_choose_from),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
