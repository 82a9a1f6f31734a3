#include "net/topo.h"

#include "net/fabric.h"
#include "net/shapes.h"

static void gpus_are_numbered_through_the_nodes(void **state)
{
    struct topo *topo = built(eight_gpu_node(), fabric_of("switch"), 32, *state);
    assert_int_equal(topo->n_nodes, 4);
    assert_int_equal(topo->n_ports, 16);
    assert_int_equal(topo_node_of(topo, 17), 2);
    for (int g = 0; g < 32; g++) {
        struct vertex v = topo->vertices[topo_endpoint_vertex(topo, gpu_at(g))];
        assert_int_equal(v.kind, VERTEX_GPU);
        assert_int_equal(v.index, g);
        assert_int_equal(v.owner, g / 8);
    }
    for (int h = 0; h < 8; h++) {
        struct vertex v = topo->vertices[topo_endpoint_vertex(topo, host_at(h))];
        assert_int_equal(v.kind, VERTEX_HOST);
        assert_int_equal(v.index, h % 2);
        assert_int_equal(v.owner, h / 2);
    }
}

static void a_part_of_a_node_is_one_node(void **state)
{
    struct topo *topo = built(eight_gpu_node(), fabric_of("switch"), 3, *state);
    assert_int_equal(topo->n_nodes, 1);
    assert_int_equal(topo->n_gpus, 3);
    assert_null(topo->fabric);
    assert_route(topo, gpu_at(0), gpu_at(2), -1, 0);
}

static void gpus_that_do_not_fill_nodes_are_refused(void **state)
{
    struct fabric_spec fabric = fabric_of("switch");
    assert_refused(eight_gpu_node(), fabric, 12, *state,
                   "12 GPUs do not fill whole nodes of 8 (8 or 16)");
    assert_refused(eight_gpu_node(), fabric, 0, *state, "GPUs is 0");
    assert_refused(eight_gpu_node(), fabric, -8, *state, "GPUs is -8");
    assert_refused(eight_gpu_node(), fabric, 2147483647, *state, "GPUs is 2147483647");
}

static void names_find_their_links_and_nothing_else_does(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.scaleup = SCALEUP_SWITCH;
    struct topo *topo = built(node, fabric_of("switch"), 32, *state);
    int link = topo_find_link(topo, "gpu 12 -> node 1 nvswitch");
    assert_int_equal(topo->links[link].tier, TIER_SCALEUP);
    link = topo_find_link(topo, "switch -> node 3 nic 0");
    assert_int_equal(topo->links[link].tier, TIER_NIC);
    assert_names(topo);
    static const char *const wrong[] = {"",
                                        " -> ",
                                        "gpu 12",
                                        "gpu 12 -> node 1 nvswitch ",
                                        " gpu 12 -> node 1 nvswitch",
                                        "gpu 012 -> node 1 nvswitch",
                                        "gpu 12 -> node 2 nvswitch",
                                        "gpu 12 -> node 1 nvswitch #2",
                                        "gpu 12 -> node 1 nvswitch #",
                                        "gpu 12 -> node 1 nvswitch #0",
                                        "gpu 99999999999999999999 -> node 1 nvswitch",
                                        "node 4 nic 0 -> switch",
                                        "node 0 nic 4 -> switch",
                                        "node -1 nic 0 -> switch",
                                        "node 0 host 2 -> node 0 host 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(topo_find_link(topo, wrong[i]), -1);
    }
    char *long_name = arena_new(*state, char, 5000);
    memset(long_name, 'x', 4999);
    assert_int_equal(topo_find_link(topo, long_name), -1);
    memcpy(long_name + 20, " -> ", 4);
    assert_int_equal(topo_find_link(topo, long_name), -1);
}

static void a_name_is_cut_to_the_room_it_has(void **state)
{
    struct topo *topo = built(eight_gpu_node(), fabric_of("switch"), 16, *state);
    char text[8];
    topo_link_name(topo, 0, text, sizeof text);
    assert_string_equal(text, "gpu 0 -");
}

static void a_cut_counts_the_links_that_leave(void **state)
{
    struct topo *topo = built(one_gpu_node(), fabric_of("switch"), 4, *state);
    bool *side = arena_new(*state, bool, topo->n_vertices);
    assert_close(topo_cut_Bps(topo, side), 0, 0);
    side[topo_find_vertex(topo, "switch")] = true;
    assert_close(topo_cut_Bps(topo, side), 4 * 12.5e9, 1e-15);
    side[topo_find_vertex(topo, "node 2 nic 0")] =
        true; /* its port is inside, its PCIe slot leaves */
    assert_close(topo_cut_Bps(topo, side), 3 * 12.5e9 + 25e9, 1e-15);
}

/* 4 nodes of 8: 8 GPU, 4 switch, 4 NIC cables and one between sockets in each; longest: GPU, switch,
 * NIC, fabric and back. */
static void the_summary_counts_what_is_there(void **state)
{
    struct topo_summary summary =
        topo_summarise(built(eight_gpu_node(), fabric_of("switch"), 32, *state));
    assert_int_equal(summary.n_gpus, 32);
    assert_int_equal(summary.n_nodes, 4);
    assert_int_equal(summary.n_nics, 16);
    assert_int_equal(summary.n_switches, 1);
    assert_int_equal(summary.radix, 16);
    assert_int_equal(summary.n_links[TIER_PCIE], 4 * 2 * 16);
    assert_int_equal(summary.n_links[TIER_HOST], 4 * 2);
    assert_int_equal(summary.n_links[TIER_NIC], 2 * 16);
    assert_int_equal(summary.n_links[TIER_SCALEUP], 0);
    assert_int_equal(summary.diameter_hops, 6);
    assert_close(summary.max_latency_s, 4 * 0.4e-6 + 2 * 1e-6, 1e-12);
    assert_close(summary.bisection_Bps, 8 * 12.5e9, 1e-15);
    assert_close(summary.oversubscription, 1, 1e-15);
    assert_false(summary.sampled);
}

/* The longest route found from a sample of a large network is that of a smaller one of the same levels. */
static void a_sample_of_pairs_finds_the_diameter(void **state)
{
    static const char *const kinds[] = {"switch", "fat-tree", "dragonfly"};
    for (int k = 0; k < 3; k++) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric = fabric_of(kinds[k]);
        fabric.levels = 3;
        fabric.radix = 32;
        struct node_spec node = one_gpu_node();
        struct topo_summary small = topo_summarise(built(node, fabric, 1024, &scratch));
        struct topo_summary large = topo_summarise(built(node, fabric, 1500, &scratch));
        assert_false(small.sampled);
        assert_true(large.sampled);
        assert_int_equal(small.diameter_hops, large.diameter_hops);
        assert_close(small.max_latency_s, large.max_latency_s, 1e-12);
    }
}

/* One node per vertex, one edge per cable, in braces. */
static void dot_lists_every_vertex_and_cable(void **state)
{
    struct topo *topo = built(one_gpu_node(), fabric_of("switch"), 3, *state);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    topo_write_dot(topo, out);
    fclose(out);
    int n_edges = 0;
    int n_labels = 0;
    for (const char *at = text; (at = strstr(at, " -> v")) != NULL; at++) n_edges++;
    for (const char *at = text; (at = strstr(at, "label=")) != NULL; at++) n_labels++;
    assert_int_equal(n_edges, topo->n_links / 2);
    assert_int_equal(n_labels, topo->n_links / 2 + topo->n_vertices);
    assert_non_null(strstr(text, "label=\"switch\""));
    assert_non_null(strstr(text, "label=\"100 Gbps\"")); /* 12.5 GB/s */
    assert_string_equal(text + length - 2, "}\n");
    free(text);
}

/* 16,384 GPUs in 2,048 nodes on 16,384 ports of a full three-level tree: nothing overflows. */
static void a_large_cluster_is_whole(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct node_spec node = eight_gpu_node();
    node.nics_per_node = 8;
    node.scaleup = SCALEUP_SWITCH;
    struct fabric_spec fabric = fabric_of("fat-tree");
    struct topo *topo = built(node, fabric, 16384, &scratch);
    for (int i = 0; i < 5000; i++) {
        int src = i * 7919 % 16384;
        int dst = i * 104729 % 16384;
        int n = assert_route(topo, gpu_at(src), gpu_at(dst), -1, (uint64_t)i);
        assert_true(n <= 2 * 2 + 6);
    }
    char name[2 * TOPO_NAME_MAX];
    int links[] = {0, topo->n_links - 1, topo->n_links / 2, topo->fabric->first_link};
    for (int i = 0; i < 4; i++) {
        topo_link_name(topo, links[i], name, sizeof name);
        assert_int_equal(topo_find_link(topo, name), links[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_numbered_through_the_nodes),
        cmocka_unit_test(a_part_of_a_node_is_one_node),
        cmocka_unit_test(gpus_that_do_not_fill_nodes_are_refused),
        cmocka_unit_test(names_find_their_links_and_nothing_else_does),
        cmocka_unit_test(a_name_is_cut_to_the_room_it_has),
        cmocka_unit_test(a_cut_counts_the_links_that_leave),
        cmocka_unit_test(the_summary_counts_what_is_there),
        cmocka_unit_test(a_sample_of_pairs_finds_the_diameter),
        cmocka_unit_test(dot_lists_every_vertex_and_cable),
        cmocka_unit_test(a_large_cluster_is_whole),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
