#include "net/fabric.h"
#include "net/shapes.h"

static const int n_ports[] = {1, 2, 3, 5, 7, 8, 9, 16, 33, 64, 100, 257};
enum { N_PORT_COUNTS = sizeof n_ports / sizeof n_ports[0] };

/* small switches, so that many counts of ports have all levels */
static struct fabric_spec small_fabric(const struct fabric_kind *kind, int variant,
                                       struct arena *perm)
{
    struct fabric_spec fabric = fabric_of(kind->name);
    fabric.levels = variant & 1 ? 3 : 0;
    fabric.radix = variant & 2 ? 0 : 16;
    if (variant & 1) fabric.ports_per_leaf = 3;
    if (variant & 2) fabric.oversubscription = 2;
    if (variant & 2) fabric.core_oversubscription = 1.5;
    fabric.routing = variant & 4 ? "ecmp" : "static";
    fabric.wiring = variant & 1 ? "rail" : "packed";
    fabric.seed = 7;
    fabric.graph = strcmp(kind->name, "graph") == 0 ? ring_graph(9, 300, perm) : NULL;
    fabric.planes = 1; /* one-card servers have no more */
    if (variant & 2) fabric.sites = 2;
    if (variant & 1) fabric.gateways = 3;
    if (variant & 2) fabric.arrangement = "consecutive";
    return fabric;
}

static void check_port_pair(const struct topo *topo, int src, int dst)
{
    int links[ROUTE_MAX];
    int n = topo->fabric->kind->route(topo, src, dst, 3, links);
    assert_in_range(n, 2, topo->fabric->n_switches + 2); /* no switch twice */
    assert_int_equal(links[0], fabric_port_up(topo, src));
    assert_int_equal(links[n - 1], fabric_port_down(topo, dst));
    for (int i = 1; i < n; i++) {
        assert_int_equal(topo->links[links[i]].src, topo->links[links[i - 1]].dst);
        for (int j = 0; j < i; j++) assert_int_not_equal(links[i], links[j]);
    }
}

/* Every row, many counts of ports, all pairs (a third of the sources when there are many). */
static void routes_of_every_fabric_are_whole(void **state)
{
    for (int k = 0; k < n_fabric_kinds; k++) {
        for (int variant = 0; variant < 8; variant++) {
            for (int c = 0; c < N_PORT_COUNTS; c++) {
                struct arena scratch = *(struct arena *)*state;
                struct fabric_spec fabric = small_fabric(&fabric_kinds[k], variant, &scratch);
                int n = n_ports[c];
                struct topo *topo = built(one_gpu_node(), fabric, n, &scratch);
                if (n == 1) assert_null(topo->fabric);
                for (int src = 0; src<n; src += n> 50 ? 3 : 1) {
                    assert_route(topo, gpu_at(src), gpu_at(n - 1 - src), -1, 11);
                    for (int dst = 0; dst < n; dst++) {
                        if (src != dst) check_port_pair(topo, src, dst);
                    }
                }
            }
        }
    }
}

static void every_link_has_capacity_and_a_name_that_finds_it(void **state)
{
    for (int k = 0; k < n_fabric_kinds; k++) {
        for (int variant = 0; variant < 4; variant++) {
            for (int c = 0; c < N_PORT_COUNTS; c++) {
                struct arena scratch = *(struct arena *)*state;
                struct fabric_spec fabric = small_fabric(&fabric_kinds[k], variant, &scratch);
                struct topo *topo = built(one_gpu_node(), fabric, n_ports[c], &scratch);
                for (int l = 0; l < topo->n_links; l++) {
                    assert_true(topo->links[l].capacity_Bps > 0);
                    assert_true(topo->links[l].latency_s >= 0);
                }
                assert_names(topo);
            }
        }
    }
}

static void cables_between_the_same_two_vertices_are_neighbours(void **state)
{
    for (int k = 0; k < n_fabric_kinds; k++) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric = small_fabric(&fabric_kinds[k], 0, &scratch);
        struct topo *topo = built(one_gpu_node(), fabric, 24, &scratch);
        int n = topo->n_vertices;
        int *last = arena_new(&scratch, int, (int64_t)n *n); /* 1 + the latest link of a pair */
        for (int l = 0; l < topo->n_links; l++) {
            int *at = &last[topo->links[l].src * n + topo->links[l].dst];
            if (*at != 0) assert_int_equal(*at - 1, l - 2);
            *at = l + 1;
        }
    }
}

static void the_bisection_is_positive_and_never_above_the_ports(void **state)
{
    for (int k = 0; k < n_fabric_kinds; k++) {
        for (int variant = 0; variant < 4; variant++) {
            for (int c = 1; c < N_PORT_COUNTS; c++) {
                struct arena scratch = *(struct arena *)*state;
                struct fabric_spec fabric = small_fabric(&fabric_kinds[k], variant, &scratch);
                struct topo *topo = built(one_gpu_node(), fabric, n_ports[c], &scratch);
                double bisection_Bps = topo->fabric->kind->bisection_Bps(topo);
                assert_true(bisection_Bps > 0);
                assert_true(bisection_Bps <= fabric_ports_bisection_Bps(topo) * (1 + 1e-12));
            }
        }
    }
}

/* Packed: the NICs of a node hang on one leaf of 8; in rails NIC k of all 8 nodes does. */
static void wiring_says_who_shares_a_leaf(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.nics_per_node = 8;
    struct fabric_spec fabric = fabric_of("fat-tree");
    fabric.levels = 2;
    fabric.ports_per_leaf = 8;
    struct topo *packed = built(node, fabric, 64, *state);
    assert_true(topo_find_link(packed, "node 3 nic 5 -> leaf 3") >= 0);
    fabric.wiring = "rail";
    struct topo *rail = built(node, fabric, 64, *state);
    assert_true(topo_find_link(rail, "node 3 nic 5 -> leaf 5") >= 0);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 8; k++) {
            assert_int_equal(topo_port_node(packed, topo_port(packed, i, k)), i);
            assert_int_equal(topo_port_node(rail, topo_port(rail, i, k)), i);
        }
    }
}

/* 20 nodes of 2 NICs on routers of 16 ports: the first 16 nodes fill router 0 with their NIC 0 and
 * router 1 with their NIC 1; the 8 NICs of the other 4 share router 2. */
static void rails_go_by_as_many_nodes_as_a_switch_has_ports(void **state)
{
    struct node_spec node = one_gpu_node();
    node.nics_per_node = 2;
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = 16;
    fabric.routers_per_group = 4;
    fabric.global_per_router = 4;
    fabric.wiring = "rail";
    struct topo *topo = built(node, fabric, 20, *state);
    assert_true(topo_find_link(topo, "node 0 nic 0 -> router 0.0") >= 0);
    assert_true(topo_find_link(topo, "node 15 nic 0 -> router 0.0") >= 0);
    assert_true(topo_find_link(topo, "node 15 nic 1 -> router 0.1") >= 0);
    assert_true(topo_find_link(topo, "node 16 nic 0 -> router 0.2") >= 0);
    assert_true(topo_find_link(topo, "node 19 nic 1 -> router 0.2") >= 0);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 2; k++)
            assert_int_equal(topo_port_node(topo, topo_port(topo, i, k)), i);
    }
}

static void unknown_words_are_refused_with_the_nearest(void **state)
{
    struct node_spec node = one_gpu_node();
    struct fabric_spec fabric = fabric_of("fat-tre");
    assert_refused(node, fabric, 4, *state, "unknown fabric \"fat-tre\" (did you mean fat-tree)");
    fabric = fabric_of("switch");
    fabric.routing = "statik";
    assert_refused(node, fabric, 4, *state, "unknown routing \"statik\" (did you mean static)");
    fabric = fabric_of("switch");
    fabric.wiring = "?";
    assert_refused(node, fabric, 4, *state, "unknown wiring \"?\"");
    fabric = fabric_of(NULL);
    assert_refused(node, fabric, 4, *state, "no fabric between the nodes");
    assert_string_equal(refusal(node, fabric, 1, *state), "");
}

static void bad_rates_are_refused(void **state)
{
    struct node_spec node = one_gpu_node();
    struct fabric_spec fabric = fabric_of("switch");
    fabric.link_Bps = -5;
    assert_refused(node, fabric, 4, *state, "fabric link rate in B/s is -5");
    fabric.link_Bps = (double)NAN;
    assert_refused(node, fabric, 4, *state, "fabric link rate in B/s is nan");
    fabric = fabric_of("switch");
    fabric.link_latency_s = (double)INFINITY;
    assert_refused(node, fabric, 4, *state, "fabric link latency in seconds is inf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_of_every_fabric_are_whole),
        cmocka_unit_test(every_link_has_capacity_and_a_name_that_finds_it),
        cmocka_unit_test(cables_between_the_same_two_vertices_are_neighbours),
        cmocka_unit_test(the_bisection_is_positive_and_never_above_the_ports),
        cmocka_unit_test(wiring_says_who_shares_a_leaf),
        cmocka_unit_test(rails_go_by_as_many_nodes_as_a_switch_has_ports),
        cmocka_unit_test(unknown_words_are_refused_with_the_nearest),
        cmocka_unit_test(bad_rates_are_refused),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
