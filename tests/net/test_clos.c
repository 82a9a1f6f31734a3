#include "net/fabric.h"
#include "net/shapes.h"

static struct fabric_spec fat_tree(int levels, int radix)
{
    struct fabric_spec fabric = fabric_of("fat-tree");
    fabric.levels = levels;
    fabric.radix = radix;
    return fabric;
}

/* given outright: hosts a leaf, leaves a pod, pods */
static struct fabric_spec shaped(int levels, int hosts, int leaves, int pods)
{
    struct fabric_spec fabric = fat_tree(levels, 0);
    fabric.ports_per_leaf = hosts;
    fabric.leaves_per_pod = leaves;
    fabric.n_pods = pods;
    return fabric;
}

static struct topo_summary summary_of(struct fabric_spec fabric, int n, struct arena *perm)
{
    return topo_summarise(built(one_gpu_node(), fabric, n, perm));
}

/* Al-Fares, Loukissas & Vahdat 2008, sec. 2.2: k-port switches, k pods, k^3/4 hosts, k^2/2 edge and as many
 * aggregation switches, k^2/4 core: k = 4 gives 16 hosts, 8 + 8 + 4 switches. Two levels: k^2/2 hosts. */
static void full_trees_have_the_published_counts(void **state)
{
    struct topo_summary three = summary_of(fat_tree(3, 4), 16, *state);
    assert_int_equal(three.n_stage_switches[0], 8);
    assert_int_equal(three.n_stage_switches[1], 8);
    assert_int_equal(three.n_stage_switches[2], 4);
    assert_int_equal(three.radix, 4);
    assert_int_equal(three.n_links[TIER_NIC], 2 * 16);
    assert_int_equal(three.n_links[TIER_FABRIC], 2 * (16 + 16));
    struct topo_summary two = summary_of(fat_tree(2, 8), 32, *state);
    assert_int_equal(two.n_stage_switches[0], 8);
    assert_int_equal(two.n_stage_switches[1], 4);
    assert_int_equal(two.radix, 8);
    assert_close(two.bisection_Bps, 16 * 12.5e9, 1e-12);
}

static void what_the_radix_cannot_hold_is_refused_with_numbers(void **state)
{
    struct node_spec node = one_gpu_node();
    assert_refused(node, fat_tree(2, 4), 9, *state,
                   "2 levels of switches with 4 ports hold 8 ports (4 leaves of 2 cards): 9");
    assert_refused(node, fat_tree(3, 4), 17, *state,
                   "3 levels of switches with 4 ports hold 16 ports (4 pods of 4): 17");
    assert_refused(node, shaped(2, 4, 2, 0), 9, *state, "2 leaves of 4 cards hold 8 ports: 9");
    assert_refused(node, shaped(3, 4, 2, 2), 17, *state,
                   "2 pods of 2 leaves of 4 cards hold 16 ports: 17");
    assert_refused(node, shaped(2, 4, 2, 2), 16, *state, "2 pods need 3 levels");
    struct fabric_spec tight = shaped(2, 6, 2, 0);
    tight.radix = 8;
    assert_refused(node, tight, 12, *state, "6 cards per leaf need 6 uplinks: more than 8 ports");
    assert_refused(node, fat_tree(2, 1), 2, *state, "a switch of 1 ports has none left for cards");
}

/* 16 servers of 4 cards, 4 of them a leaf: 16 ports a leaf and 4 leaves; by rails a leaf has a card of each of
 * 4 servers, so 16 leaves. Two planes with 2 cards of a server each: 8 ports and 4 leaves a plane. */
static void servers_of_a_leaf_bring_their_cards(void **state)
{
    struct node_spec node = eight_gpu_node();
    struct fabric_spec fabric = fabric_of("fat-tree");
    fabric.hosts_per_leaf = 4;
    struct topo *packed = built(node, fabric, 128, *state);
    assert_int_equal(packed->fabric_spec.ports_per_leaf, 16);
    assert_int_equal(topo_summarise(packed).n_stage_switches[STAGE_LEAF], 4);
    fabric.wiring = "rail";
    struct topo *rails = built(node, fabric, 128, *state);
    assert_int_equal(rails->fabric_spec.ports_per_leaf, 4);
    assert_int_equal(topo_summarise(rails).n_stage_switches[STAGE_LEAF], 16);
    fabric.wiring = "packed";
    fabric.kind = "multi-plane";
    struct topo *planes = built(node, fabric, 128, *state);
    assert_int_equal(planes->fabric_spec.ports_per_leaf, 8);
    assert_int_equal(topo_summarise(planes).n_stage_switches[STAGE_LEAF], 2 * 4);
    fabric.ports_per_leaf = 8;
    fabric.kind = "fat-tree";
    assert_refused(node, fabric, 128, *state, "both hosts_per_leaf and ports_per_leaf");
    fabric.ports_per_leaf = 0;
    fabric.hosts_per_leaf = -1;
    assert_refused(node, fabric, 128, *state, "cards of the servers of a leaf is -4");
}

static void hostile_numbers_are_refused(void **state)
{
    struct node_spec node = one_gpu_node();
    assert_refused(node, fat_tree(4, 0), 16, *state, "a fat-tree of 4 levels");
    assert_refused(node, fat_tree(-1, 0), 16, *state, "a fat-tree of -1 levels");
    assert_refused(node, fat_tree(2, -64), 16, *state, "ports per switch is -64");
    assert_refused(node, fat_tree(2, 2147483647), 16, *state, "ports per switch is 2147483647");
    assert_refused(node, shaped(2, -1, 0, 0), 16, *state, "ports per leaf is -1");
    assert_refused(node, shaped(3, 2147483647, 2147483647, 2147483647), 16, *state,
                   "ports per leaf is 2147483647");
    struct fabric_spec fabric = fat_tree(2, 0);
    static const double bad[] = {0.5, -1, 1e9};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fabric.oversubscription = bad[i];
        assert_refused(node, fabric, 16, *state, "oversubscription is ");
    }
    fabric.oversubscription = (double)NAN;
    assert_refused(node, fabric, 16, *state, "oversubscription is nan");
    fabric = fat_tree(3, 0);
    fabric.core_oversubscription = (double)INFINITY;
    assert_refused(node, fabric, 16, *state, "core oversubscription is inf");
}

/* The largest numbers in range make a network that is too large or one that is small: never a crash. */
static void large_numbers_in_range_do_no_harm(void **state)
{
    struct node_spec node = one_gpu_node();
    int most = 1 << 20;
    assert_string_equal(refusal(node, shaped(3, most, most, most), 16, *state), "");
    assert_string_equal(refusal(node, fat_tree(3, 65536), 16, *state), "");
    struct fabric_spec thin = shaped(2, 1, 0, 0);
    thin.link_Bps = 1e-3; /* 1e13 up-ports a leaf */
    assert_refused(node, thin, 16, *state, "links and");
    node.nics_per_node = 1024;
    assert_refused(node, fat_tree(0, 0), most, *state, "links and");
}

static void a_shape_is_chosen_that_fits(void **state)
{
    static const int counts[][3] = {/* ports, levels, radix */
                                    {2, 2, 64},
                                    {2048, 2, 64},
                                    {2049, 3, 64},
                                    {65536, 3, 64}};
    struct arena scratch = *(struct arena *)*state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct topo *topo = built(one_gpu_node(), fat_tree(0, 0), counts[i][0], &scratch);
        assert_int_equal(topo->fabric_spec.levels, counts[i][1]);
        assert_int_equal(topo->fabric_spec.radix, counts[i][2]);
        assert_true(topo->fabric->radix <= counts[i][2]);
    }
    struct topo *topo = built(one_gpu_node(), fat_tree(2, 0), 2049, &scratch);
    assert_int_equal(topo->fabric_spec.radix, 128);
}

/* The rule the golden flows were made with: p = d mod 8, q = (d div 8) mod 8, core (p, q) = 8 p + q,
 * pod switch p of a pod = 8 pod + p; 8 hosts a leaf, 8 leaves a pod, 16 pods: 6,144 links. */
static void static_routes_follow_d_mod_k(void **state)
{
    struct topo *topo = built(one_gpu_node(), shaped(3, 8, 8, 16), 1024, *state);
    assert_int_equal(topo->n_links - 1024 * topo->links_per_node, 6144);
    for (int s = 0; s < 1024; s += 37) {
        for (int d = 0; d < 1024; d++) {
            if (s == d) continue;
            int p = d % 8;
            int q = d / 8 % 8;
            int links[ROUTE_MAX];
            int n = topo->fabric->kind->route(topo, s, d, 0, links);
            int want = s / 8 == d / 8 ? 2 : s / 64 == d / 64 ? 4 : 6;
            assert_int_equal(n, want);
            char name[TOPO_NAME_MAX];
            if (n >= 4) {
                topo_vertex_name(topo, topo->links[links[1]].dst, name, sizeof name);
                assert_string_equal(name, arena_text(*state, "spine %d", s / 64 * 8 + p));
            }
            if (n == 6) {
                topo_vertex_name(topo, topo->links[links[2]].dst, name, sizeof name);
                assert_string_equal(name, arena_text(*state, "core %d", 8 * p + q));
                topo_vertex_name(topo, topo->links[links[3]].dst, name, sizeof name);
                assert_string_equal(name, arena_text(*state, "spine %d", d / 64 * 8 + p));
            }
        }
    }
}

/* Zahavi 2010: with d-mod-k no link carries more than one flow of a shift permutation, on a full tree
 * without oversubscription. At 2:1 an up-link carries at most two. */
static void shifts_meet_nowhere(void **state)
{
    static const struct {
        int levels, hosts, leaves, pods;
        double oversubscription;
        int most;
    } cases[] = {{3, 4, 4, 8, 1, 1}, {2, 8, 16, 1, 1, 1}, {2, 8, 16, 1, 2, 2}, {3, 4, 4, 8, 2, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric =
            shaped(cases[c].levels, cases[c].hosts, cases[c].leaves, cases[c].pods);
        fabric.oversubscription = cases[c].oversubscription;
        struct topo *topo = built(one_gpu_node(), fabric, 128, &scratch);
        for (int shift = 1; shift < 128; shift++) {
            struct arena turn = scratch;
            int *load = arena_new(&turn, int, topo->n_links);
            for (int s = 0; s < 128; s++) {
                int links[ROUTE_MAX];
                int n = topo->fabric->kind->route(topo, s, (s + shift) % 128, 0, links);
                for (int i = 0; i < n; i++) {
                    assert_true(++load[links[i]] <= cases[c].most);
                }
            }
        }
    }
}

/* From a leaf up-port's capacity: m ports in, U links out. */
static double leaf_ratio(const struct topo *topo)
{
    int leaf = topo->fabric->first_vertex;
    double up_Bps = 0;
    double down_Bps = 0;
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        struct link link = topo->links[l];
        if (link.src == leaf && link.tier == TIER_FABRIC) up_Bps += link.capacity_Bps;
        if (link.src == leaf && link.tier == TIER_NIC) down_Bps += link.capacity_Bps;
    }
    return down_Bps / up_Bps;
}

static void oversubscription_is_exact_whatever_divides(void **state)
{
    static const double ratios[] = {1, 1.5, 2, 3, 3.7, 4, 7, 16};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        for (int hosts = 2; hosts <= 9; hosts++) {
            struct arena scratch = *(struct arena *)*state;
            struct fabric_spec fabric = shaped(2, hosts, 4, 0);
            fabric.oversubscription = ratios[i];
            struct topo *topo = built(one_gpu_node(), fabric, 4 * hosts, &scratch);
            assert_close(leaf_ratio(topo), ratios[i], 1e-12);
            assert_close(topo_summarise(topo).oversubscription, ratios[i], 1e-12);
            assert_close(topo_summarise(topo).bisection_Bps, 2 * hosts * 12.5e9 / ratios[i], 1e-12);
        }
    }
}

/* 8 hosts of 12.5 GB/s, 50 GB/s links: two up-links at 1:1, each at its full rate. At 3:1 of 8 hosts on equal
 * links, 2.67 up-links are wanted: two of 16.7 GB/s, not three that would slow a lone flow. */
static void uplinks_are_counted_by_capacity(void **state)
{
    struct fabric_spec fabric = shaped(2, 8, 4, 0);
    fabric.link_Bps = 50e9;
    struct topo *topo = built(one_gpu_node(), fabric, 32, *state);
    int up = topo_find_link(topo, "leaf 1 -> spine 1");
    assert_close(topo->links[up].capacity_Bps, 50e9, 1e-12);
    assert_int_equal(topo_find_link(topo, "leaf 1 -> spine 2"), -1);
    fabric = shaped(2, 8, 4, 0);
    fabric.oversubscription = 3;
    topo = built(one_gpu_node(), fabric, 32, *state);
    up = topo_find_link(topo, "leaf 1 -> spine 1");
    assert_close(topo->links[up].capacity_Bps, 8 * 12.5e9 / 3 / 2, 1e-12);
    assert_int_equal(topo_find_link(topo, "leaf 1 -> spine 2"), -1);
}

/* 32-port leaves: 16 up-links each; 4 leaves need only two 32-port spines, so eight cables to each. */
static void few_leaves_share_few_spines_over_parallel_cables(void **state)
{
    struct topo *topo = built(one_gpu_node(), fat_tree(2, 32), 64, *state);
    struct topo_summary summary = topo_summarise(topo);
    assert_int_equal(summary.n_stage_switches[0], 4);
    assert_int_equal(summary.n_stage_switches[1], 2);
    assert_int_equal(summary.radix, 32);
    assert_true(topo_find_link(topo, "leaf 3 -> spine 1 #8") >= 0);
    assert_int_equal(topo_find_link(topo, "leaf 3 -> spine 1 #9"), -1);
    assert_int_equal(topo_find_link(topo, "leaf 3 -> spine 1 #1"), -1);
    assert_names(topo);
}

static void a_single_leaf_has_nothing_above_it(void **state)
{
    struct topo_summary summary = summary_of(fat_tree(0, 0), 32, *state);
    assert_int_equal(summary.n_switches, 1);
    assert_int_equal(summary.n_links[TIER_FABRIC], 0);
    assert_close(summary.oversubscription, 1, 1e-15);
}

/* Full trees that can be halved: the bisection is half the ports over both ratios. */
static void the_bisection_of_full_trees_is_the_formula(void **state)
{
    struct fabric_spec fabric = shaped(3, 4, 4, 4);
    fabric.oversubscription = 2;
    fabric.core_oversubscription = 4;
    struct topo_summary summary = summary_of(fabric, 64, *state);
    assert_close(summary.bisection_Bps, 32 * 12.5e9 / 8, 1e-12);
    assert_close(summary.oversubscription, 8, 1e-12);
}

/* Max-flow min-cut: ragged or not, packed or in rails, the cut is what can flow. */
static void the_bisection_is_the_largest_flow(void **state)
{
    static const int shapes[][5] = {/* levels, hosts, leaves, pods, nodes */
                                    {2, 4, 0, 0, 7}, {2, 4, 0, 0, 8},  {2, 3, 0, 0, 10},
                                    {3, 2, 2, 0, 9}, {3, 2, 3, 0, 14}, {3, 2, 2, 0, 12}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int variant = 0; variant < 8; variant++) {
            struct arena scratch = *(struct arena *)*state;
            struct fabric_spec fabric = shaped(shapes[i][0], shapes[i][1], shapes[i][2], 0);
            struct node_spec node = one_gpu_node();
            fabric.oversubscription = variant & 1 ? 3 : 1;
            fabric.core_oversubscription = variant & 2 ? 2.5 : 1;
            fabric.wiring = variant & 4 ? "rail" : "packed";
            node.nics_per_node = 2;
            struct topo *topo = built(node, fabric, shapes[i][4], &scratch);
            double bisection_Bps = topo_summarise(topo).bisection_Bps;
            assert_close(max_flow_Bps(topo, scratch), bisection_Bps, 1e-9);
        }
    }
}

static void ecmp_is_fixed_by_seed_and_key_and_spreads(void **state)
{
    struct fabric_spec fabric = shaped(3, 8, 8, 16);
    fabric.routing = "ecmp";
    fabric.seed = 1;
    struct topo *topo = built(one_gpu_node(), fabric, 1024, *state);
    fabric.seed = 2;
    struct topo *other = built(one_gpu_node(), fabric, 1024, *state);
    int n_up[8] = {0};
    int n_core[64] = {0};
    int n_moved = 0;
    for (uint64_t key = 0; key < 8000; key++) {
        int links[ROUTE_MAX];
        int again[ROUTE_MAX];
        assert_int_equal(topo->fabric->kind->route(topo, 5, 1000, key, links), 6);
        topo->fabric->kind->route(topo, 5, 1000, key, again);
        assert_memory_equal(links, again, 6 * sizeof(int));
        other->fabric->kind->route(other, 5, 1000, key, again);
        n_moved += links[1] != again[1];
        n_up[topo->vertices[topo->links[links[1]].dst].index % 8]++;
        n_core[topo->vertices[topo->links[links[2]].dst].index]++;
    }
    /* 8,000 draws: 1,000 a spine with standard deviation 30, 125 a core with 11 */
    for (int i = 0; i < 8; i++) assert_in_range(n_up[i], 850, 1150);
    for (int i = 0; i < 64; i++) assert_in_range(n_core[i], 70, 180);
    assert_in_range(n_moved, 6800, 7200); /* 7/8 of them */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_trees_have_the_published_counts),
        cmocka_unit_test(what_the_radix_cannot_hold_is_refused_with_numbers),
        cmocka_unit_test(servers_of_a_leaf_bring_their_cards),
        cmocka_unit_test(hostile_numbers_are_refused),
        cmocka_unit_test(large_numbers_in_range_do_no_harm),
        cmocka_unit_test(a_shape_is_chosen_that_fits),
        cmocka_unit_test(static_routes_follow_d_mod_k),
        cmocka_unit_test(shifts_meet_nowhere),
        cmocka_unit_test(oversubscription_is_exact_whatever_divides),
        cmocka_unit_test(uplinks_are_counted_by_capacity),
        cmocka_unit_test(few_leaves_share_few_spines_over_parallel_cables),
        cmocka_unit_test(a_single_leaf_has_nothing_above_it),
        cmocka_unit_test(the_bisection_of_full_trees_is_the_formula),
        cmocka_unit_test(the_bisection_is_the_largest_flow),
        cmocka_unit_test(ecmp_is_fixed_by_seed_and_key_and_spreads),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
