#include "net/fabric.h"
#include "net/shapes.h"

/* n_nics cards of 12.5 GB/s on servers of 8 GPUs with scale-up links */
static struct topo *of_planes(const char *kind, int planes, int n_nics, int n_nodes,
                              struct arena *perm)
{
    struct node_spec node = eight_gpu_node();
    node.scaleup = SCALEUP_SWITCH;
    node.nics_per_node = n_nics;
    struct fabric_spec fabric = fabric_of(kind);
    fabric.planes = planes;
    fabric.ports_per_leaf = 4;
    return built(node, fabric, 8 * n_nodes, perm);
}

/* Colour the fabric's vertices from each card on: cards of equal colour reach each other. */
static void no_cable_joins_two_planes(void **state)
{
    struct topo *topo = of_planes("rail-only", 0, 4, 10, *state);
    int *plane = arena_new(*state, int, topo->n_vertices); /* 1 + number, 0 = not met */
    for (int node = 0; node < 10; node++) {
        for (int k = 0; k < 4; k++)
            plane[topo->links[fabric_port_up(topo, topo_port(topo, node, k))].src] = k + 1;
    }
    for (bool grows = true; grows;) {
        grows = false;
        for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
            struct link link = topo->links[l];
            if (plane[link.src] == 0 || plane[link.dst] == plane[link.src]) continue;
            assert_int_equal(plane[link.dst], 0);
            plane[link.dst] = plane[link.src];
            grows = true;
        }
    }
    for (int v = topo->fabric->first_vertex; v < topo->n_vertices; v++)
        assert_int_not_equal(plane[v], 0);
}

/* GPU 0's card is nic 0, GPU 7's is nic 3: the source goes over its scale-up switch to GPU 6, which has
 * nic 3 on its PCIe switch, and leaves by rail 3. */
static void rails_are_changed_inside_the_source(void **state)
{
    struct topo *topo = of_planes("rail-only", 0, 4, 2, *state);
    assert_string_equal(route_text(topo, gpu_at(0), gpu_at(15), -1, *state),
                        "node 0 nvswitch > gpu 6 > node 0 pcie 3 > node 0 nic 3 > plane 3 leaf 0 > "
                        "node 1 nic 3 > node 1 pcie 3 > gpu 15");
    assert_string_equal(route_text(topo, gpu_at(0), gpu_at(8), -1, *state),
                        "node 0 pcie 0 > node 0 nic 0 > plane 0 leaf 0 > node 1 nic 0 > node 1 "
                        "pcie 0 > gpu 8");
}

static void every_pair_is_joined_whatever_the_planes(void **state)
{
    for (int planes = 1; planes <= 4; planes *= 2) {
        for (int n_nodes = 2; n_nodes <= 7; n_nodes++) {
            struct arena scratch = *(struct arena *)*state;
            struct topo *topo = of_planes("multi-plane", planes, 4, n_nodes, &scratch);
            for (int src = 0; src < topo->n_gpus; src += 3) {
                for (int dst = 0; dst < topo->n_gpus; dst++)
                    if (src != dst) assert_route(topo, gpu_at(src), gpu_at(dst), -1, 5);
            }
        }
    }
}

/* Ten servers of 4 cards: 5 * 4 * 12.5 GB/s of ports; each plane has 10 ports on 3 leaves of 4. */
static void planes_have_the_counts_and_the_bisection_of_their_parts_together(void **state)
{
    struct topo_summary rails = topo_summarise(of_planes("rail-only", 0, 4, 10, *state));
    assert_int_equal(rails.n_stage_switches[STAGE_LEAF], 4 * 3);
    assert_int_equal(rails.n_nics, 40);
    assert_close(rails.bisection_Bps, 5 * 4 * 12.5e9, 1e-12);
    struct topo *two = of_planes("multi-plane", 2, 4, 10, *state);
    assert_int_equal(topo_summarise(two).n_stage_switches[STAGE_LEAF], 2 * 5);
    assert_close(two->fabric->kind->bisection_Bps(two), max_flow_Bps(two, *(struct arena *)*state),
                 1e-9);
}

static void planes_that_do_not_share_the_cards_are_refused(void **state)
{
    struct node_spec node = eight_gpu_node();
    struct fabric_spec fabric = fabric_of("multi-plane");
    fabric.planes = 3;
    assert_refused(node, fabric, 16, *state, "3 planes do not share the 4 cards");
    fabric.kind = "rail-only";
    assert_refused(node, fabric, 16, *state, "3 planes of rails, but servers have 4 cards");
    fabric.planes = 0;
    fabric.part = "multi-site";
    assert_refused(node, fabric, 16, *state, "cannot be of kind \"multi-site\"");
}

static struct topo *of_sites(int sites, int n_nodes, const char *part, struct arena *perm)
{
    struct fabric_spec fabric = fabric_of("multi-site");
    fabric.part = part;
    fabric.sites = sites;
    fabric.gateways = 2;
    fabric.ports_per_leaf = 4;
    fabric.global_Bps = 5e9;
    fabric.global_latency_s = 10e-3;
    return built(one_gpu_node(), fabric, n_nodes, perm);
}

static void only_ways_between_sites_cross_the_wide_area_and_once(void **state)
{
    static const char *const parts[] = {"switch", "fat-tree", "dragonfly", "torus"};
    for (int p = 0; p < 4; p++) {
        struct arena scratch = *(struct arena *)*state;
        struct topo *topo = of_sites(3, 17, parts[p], &scratch);
        for (int src = 0; src < 17; src++) {
            for (int dst = 0; dst < 17; dst++) {
                int links[ROUTE_MAX], crossed = 0;
                int n = topo_route(topo, gpu_at(src), gpu_at(dst), -1, 0, links);
                for (int i = 0; i < n; i++) crossed += topo->links[links[i]].latency_s > 1e-3;
                /* 17 servers fill the sites from 0, 5 and 11 on */
                int a = (src >= 5) + (src >= 11), b = (dst >= 5) + (dst >= 11);
                assert_int_equal(crossed, a != b);
            }
        }
    }
}

/* Two sites: the one link between them. Four: 2 * 2. Three of 4 servers: the middle one stands with the
 * first or the last, which its other half of 2 cards of 12.5 GB/s leaves: 2 * 5 + 25 GB/s. */
static void the_bisection_of_sites_is_that_of_the_wide_area(void **state)
{
    static const struct {
        int sites, n_nodes;
        double bisection_Bps;
    } cases[] = {{2, 8, 5e9}, {4, 8, 20e9}, {3, 12, 35e9}};
    for (int c = 0; c < 3; c++) {
        struct topo *topo = of_sites(cases[c].sites, cases[c].n_nodes, "switch", *state);
        double bisection_Bps = topo->fabric->kind->bisection_Bps(topo);
        assert_close(bisection_Bps, cases[c].bisection_Bps, 1e-12);
        assert_true(bisection_Bps >= max_flow_Bps(topo, *(struct arena *)*state) * (1 - 1e-12));
    }
}

static void sites_without_servers_are_refused(void **state)
{
    struct fabric_spec fabric = fabric_of("multi-site");
    fabric.sites = 5;
    assert_refused(one_gpu_node(), fabric, 4, *state, "5 sites for 4 servers");
    fabric.sites = 1;
    assert_refused(one_gpu_node(), fabric, 4, *state, "sites is 1");
}

/* Leaves of 4 ports with one way up. In plane 3 leaf 0 is cut off: planes do not help each other. */
static void a_plane_that_is_cut_is_reported(void **state)
{
    struct node_spec node = eight_gpu_node();
    struct fabric_spec fabric = fabric_of("rail-only");
    struct diag diag = {.perm = *state};
    fabric.ports_per_leaf = 4;
    fabric.oversubscription = 4;
    struct topo *topo = built(node, fabric, 80, *state);
    topo_reroute(topo, *state, &diag, (struct diag_place){.file = "test"});
    assert_true(diag_ok(&diag));
    topo->links[topo_find_link(topo, "plane 3 leaf 0 -> plane 3 spine 0")].failed = true;
    topo_reroute(topo, *state, &diag, (struct diag_place){.file = "test"});
    assert_false(diag_ok(&diag));
    assert_non_null(strstr(diag.messages[0], "nic 3"));
}

/* The card of GPU 15 has failed: both servers use the same other rail. */
static void a_card_that_failed_is_gone_round_in_another_plane(void **state)
{
    struct topo *topo = of_planes("rail-only", 0, 4, 2, *state);
    struct diag diag = {.perm = *state};
    topo->links[topo_find_link(topo, "node 1 nic 3 -> plane 3 leaf 0")].failed = true;
    topo_reroute(topo, *state, &diag, (struct diag_place){.file = "test"});
    for (int src = 0; src < 16; src++) {
        for (int dst = 0; dst < 16; dst++) {
            int links[ROUTE_MAX];
            int n = assert_route(topo, gpu_at(src), gpu_at(dst), -1, 0);
            topo_route(topo, gpu_at(src), gpu_at(dst), -1, 0, links);
            for (int i = 0; i < n; i++) assert_false(topo->links[links[i]].failed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cable_joins_two_planes),
        cmocka_unit_test(rails_are_changed_inside_the_source),
        cmocka_unit_test(every_pair_is_joined_whatever_the_planes),
        cmocka_unit_test(planes_have_the_counts_and_the_bisection_of_their_parts_together),
        cmocka_unit_test(planes_that_do_not_share_the_cards_are_refused),
        cmocka_unit_test(only_ways_between_sites_cross_the_wide_area_and_once),
        cmocka_unit_test(the_bisection_of_sites_is_that_of_the_wide_area),
        cmocka_unit_test(sites_without_servers_are_refused),
        cmocka_unit_test(a_plane_that_is_cut_is_reported),
        cmocka_unit_test(a_card_that_failed_is_gone_round_in_another_plane),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
