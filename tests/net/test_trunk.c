#include "net/trunk.h"

#include "net/fabric.h"
#include "net/router.h"
#include "net/shapes.h"

static struct fabric_spec spraying(const char *kind, const char *routing)
{
    struct fabric_spec fabric = fabric_of(kind);
    fabric.routing = routing;
    return fabric;
}

/* 8 leaves of 8 hosts and 8 uplinks */
static struct topo *tree64(struct arena *perm)
{
    struct fabric_spec fabric = spraying("fat-tree", "spray");
    fabric.levels = 2;
    fabric.ports_per_leaf = 8;
    return built(one_gpu_node(), fabric, 64, perm);
}

static double spread(const struct topo *topo, int src, int dst, double *load)
{
    struct route_ask ask = {
        .src = {VERTEX_GPU, src}, .dst = {VERTEX_GPU, dst}, .rail = -1, .key = (uint64_t)src};
    struct ways ways = topo_spread(topo, &ask);
    for (int l = 0; l < topo->n_links; l++) load[l] = 0;
    for (int i = 0; i < ways.n; i++) load[ways.shares[i].link] += ways.shares[i].frac;
    return ways.latency_s;
}

static const int *groups_of(const struct topo *topo, struct arena *perm)
{
    int *group = arena_new(perm, int, topo->fabric->n_switches);
    for (int s = 0; s < topo->fabric->n_switches; s++)
        group[s] = topo->fabric->kind->group ? topo->fabric->kind->group(topo, s) : s;
    return group;
}

/* Flow by flow: what is named carries what it carried before, and so does each link of its trunk. */
static void assert_same_loads(const struct topo *topo, const struct trunks *trunks,
                              struct arena scratch)
{
    int n = topo->n_gpus;
    double *all = arena_new(&scratch, double, topo->n_links);
    double *named = arena_new(&scratch, double, topo->n_links);
    for (int i = 0; i < 3 * n; i++) {
        int src = i % n, dst = (i * 7 + 3 + i / n) % n;
        if (src == dst) continue;
        router_bundle(topo, false, scratch);
        double latency_s = spread(topo, src, dst, all);
        router_bundle(topo, true, scratch);
        assert_close(spread(topo, src, dst, named), latency_s, 1e-12);
        for (int l = 0; l < topo->n_links; l++) {
            int first = trunks->first[l];
            assert_true(named[first] >= all[l] * (1 - 1e-12));
            assert_true(named[first] <= all[l] * (1 + 1e-12));
            if (l != first) assert_true(named[l] <= 0);
            assert_int_equal(router_bundled(topo, l), trunks->n_links[l]);
        }
    }
}

static void every_link_of_a_trunk_is_loaded_as_the_one_that_is_named(void **state)
{
    static const char *const fabrics[] = {"switch",      "fat-tree",  "dragonfly-plus", "hyperx",
                                          "multi-plane", "dragonfly", "rail-only"};
    for (size_t k = 0; k < 2 * sizeof fabrics / sizeof fabrics[0]; k++) {
        struct arena scratch = **(struct arena **)state;
        bool detours = k % 2 == 1;
        const char *kind = fabrics[k / 2];
        if (detours && !fabric_find(kind)->group) continue;
        struct topo *topo = built(
            eight_gpu_node(), spraying(kind, detours ? "valiant-spray" : "spray"), 256, &scratch);
        struct trunks trunks = trunks_new(topo, &scratch);
        trunks_find(topo, detours ? groups_of(topo, &scratch) : NULL, true, &trunks, scratch);
        assert_same_loads(topo, &trunks, scratch);
    }
}

/* The 8 uplinks of each leaf, and the 8 down to it. */
static void the_uplinks_of_a_leaf_are_a_trunk(void **state)
{
    struct arena *perm = *state;
    const struct topo *topo = tree64(perm);
    struct trunks trunks = trunks_new(topo, perm);
    trunks_find(topo, NULL, true, &trunks, *perm);
    int n_trunks = 0;
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        if (topo->links[l].tier != TIER_FABRIC) continue;
        assert_int_equal(trunks.n_links[l], 8);
        n_trunks += trunks.first[l] == l;
    }
    assert_int_equal(n_trunks, 16);
    trunks_find(topo, NULL, false, &trunks, *perm);
    for (int l = 0; l < topo->n_links; l++) assert_int_equal(trunks.first[l], l);
}

/* It leads to a spine that is unlike the others: of every leaf and to every leaf, 7 and 1. */
static void a_slow_link_makes_its_spine_another(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = tree64(perm);
    struct trunks trunks = trunks_new(topo, perm);
    int slow = topo_find_link(topo, "leaf 0 -> spine 3");
    assert_true(slow >= 0);
    topo->links[slow].capacity_Bps /= 2;
    trunks_find(topo, NULL, true, &trunks, *perm);
    int n_alone = 0;
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        if (topo->links[l].tier != TIER_FABRIC) continue;
        assert_true(trunks.n_links[l] == 1 || trunks.n_links[l] == 7);
        n_alone += trunks.n_links[l] == 1;
    }
    assert_int_equal(trunks.n_links[slow], 1);
    assert_int_equal(n_alone, 16);
    assert_same_loads(topo, &trunks, *perm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_of_a_trunk_is_loaded_as_the_one_that_is_named),
        cmocka_unit_test(the_uplinks_of_a_leaf_are_a_trunk),
        cmocka_unit_test(a_slow_link_makes_its_spine_another),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
