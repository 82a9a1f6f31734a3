#include "net/node.h"
#include "net/shapes.h"

static struct topo *one_node(struct node_spec node, struct arena *perm)
{
    return built(node, fabric_of("switch"), node.gpus_per_node, perm);
}

#define assert_path(topo, src, dst, perm, wanted)                                                  \
    assert_string_equal(route_text(topo, src, dst, -1, perm), wanted)

static void gpus_under_one_switch_do_not_meet_the_host(void **state)
{
    struct topo *topo = one_node(eight_gpu_node(), *state);
    assert_path(topo, gpu_at(0), gpu_at(1), *state, "node 0 pcie 0 > gpu 1");
    assert_path(topo, gpu_at(0), gpu_at(2), *state,
                "node 0 pcie 0 > node 0 host 0 > node 0 pcie 1 > gpu 2");
    assert_path(topo, gpu_at(3), gpu_at(6), *state,
                "node 0 pcie 1 > node 0 host 0 > node 0 host 1 > node 0 pcie 3 > gpu 6");
}

static void without_p2p_neighbours_go_through_host_memory(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.p2p = false;
    struct topo *topo = one_node(node, *state);
    assert_path(topo, gpu_at(0), gpu_at(1), *state,
                "node 0 pcie 0 > node 0 host 0 > node 0 pcie 0 > gpu 1");
}

/* 40 GB/s of memory: what is staged is written and read, so 20 GB/s each way, whoever sends to whom. */
static void staged_data_shares_the_memory_of_its_socket(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.p2p = false;
    node.memory_Bps = 40e9;
    struct topo *topo = one_node(node, *state);
    assert_string_equal(route_text(topo, gpu_at(0), gpu_at(1), -1, *state),
                        "node 0 pcie 0 > node 0 host 0 > node 0 memory 0 > node 0 host 0 > "
                        "node 0 pcie 0 > gpu 1");
    int there[ROUTE_MAX], back[ROUTE_MAX];
    topo_route(topo, gpu_at(0), gpu_at(1), -1, 0, there);
    topo_route(topo, gpu_at(1), gpu_at(0), -1, 0, back);
    assert_int_equal(there[2], back[2]); /* both directions meet */
    assert_close(topo->links[there[2]].capacity_Bps, 20e9, 1e-15);
    assert_names(topo);
    node.p2p = true; /* nothing is laid down on the way */
    topo = one_node(node, *state);
    assert_path(topo, gpu_at(0), gpu_at(1), *state, "node 0 pcie 0 > gpu 1");
    assert_path(topo, gpu_at(0), gpu_at(2), *state,
                "node 0 pcie 0 > node 0 host 0 > node 0 pcie 1 > gpu 2");
}

static void gpus_without_a_pcie_switch_hang_on_the_host_bridge(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.gpus_per_pcie_switch = 1;
    struct topo *topo = one_node(node, *state);
    assert_path(topo, gpu_at(0), gpu_at(1), *state, "node 0 host 0 > gpu 1");
    assert_path(topo, gpu_at(0), gpu_at(7), *state, "node 0 host 0 > node 0 host 1 > gpu 7");
}

static void scale_up_takes_all_traffic_between_gpus(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.scaleup = SCALEUP_SWITCH;
    node.p2p = false;
    struct topo *topo = one_node(node, *state);
    for (int src = 0; src < 8; src++) {
        for (int dst = 0; dst < 8; dst++) {
            int n = assert_route(topo, gpu_at(src), gpu_at(dst), -1, 0);
            assert_int_equal(n, src == dst ? 0 : 2);
        }
    }
    assert_path(topo, gpu_at(5), gpu_at(0), *state, "node 0 nvswitch > gpu 0");
}

static void a_gpu_reaches_the_nic_of_its_switch_directly(void **state)
{
    struct node_spec node = eight_gpu_node();
    struct topo *topo = built(node, fabric_of("switch"), 16, *state);
    assert_path(topo, gpu_at(3), gpu_at(12), *state,
                "node 0 pcie 1 > node 0 nic 1 > switch > node 1 nic 2 > node 1 pcie 2 > gpu 12");
    /* forced on NIC 0 at both ends: over the host, and over the sockets at the far side */
    assert_string_equal(route_text(topo, gpu_at(3), gpu_at(12), 0, *state),
                        "node 0 pcie 1 > node 0 host 0 > node 0 pcie 0 > node 0 nic 0 > switch > "
                        "node 1 nic 0 > node 1 pcie 0 > node 1 host 0 > node 1 host 1 > "
                        "node 1 pcie 2 > gpu 12");
}

/* As above, but the GPUs next to NIC 0 are a switch away: host and sockets are left alone. */
static void a_far_nic_is_reached_by_the_gpu_next_to_it(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.scaleup = SCALEUP_SWITCH;
    struct topo *topo = built(node, fabric_of("switch"), 16, *state);
    assert_string_equal(route_text(topo, gpu_at(3), gpu_at(12), 0, *state),
                        "node 0 nvswitch > gpu 0 > node 0 pcie 0 > node 0 nic 0 > switch > "
                        "node 1 nic 0 > node 1 pcie 0 > gpu 8 > node 1 nvswitch > gpu 12");
}

static void without_gpudirect_data_is_staged_in_host_memory(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.gpudirect = false;
    struct topo *topo = built(node, fabric_of("switch"), 16, *state);
    assert_path(topo, gpu_at(0), gpu_at(8), *state,
                "node 0 pcie 0 > node 0 host 0 > node 0 pcie 0 > node 0 nic 0 > switch > "
                "node 1 nic 0 > node 1 pcie 0 > node 1 host 0 > node 1 pcie 0 > gpu 8");
}

static void host_memory_reaches_gpus_and_nics(void **state)
{
    struct topo *topo = built(eight_gpu_node(), fabric_of("switch"), 16, *state);
    assert_path(topo, host_at(1), gpu_at(0), *state, "node 0 host 0 > node 0 pcie 0 > gpu 0");
    assert_path(topo, gpu_at(7), host_at(1), *state, "node 0 pcie 3 > node 0 host 1");
    assert_path(topo, host_at(0), host_at(3), *state,
                "node 0 pcie 0 > node 0 nic 0 > switch > node 1 nic 2 > node 1 pcie 2 > "
                "node 1 host 1");
}

/* Four sockets in a ring: 0 to 3 is one step down, 0 to 2 two steps up. */
static void sockets_form_a_ring(void **state)
{
    struct node_spec node = eight_gpu_node();
    node.sockets = 4;
    struct topo *topo = one_node(node, *state);
    assert_path(topo, host_at(0), host_at(3), *state, "node 0 host 3");
    assert_path(topo, host_at(3), host_at(0), *state, "node 0 host 0");
    assert_path(topo, host_at(0), host_at(2), *state, "node 0 host 1 > node 0 host 2");
}

/* All flows of one direction between the sockets load one link; those of a switch one uplink. */
static void sharing_comes_out_of_the_graph(void **state)
{
    struct topo *topo = one_node(eight_gpu_node(), *state);
    int links[ROUTE_MAX];
    int *load = arena_new(*state, int, topo->n_links);
    for (int g = 0; g < 4; g++) {
        int n = topo_route(topo, gpu_at(g), gpu_at(g + 4), -1, 0, links);
        for (int i = 0; i < n; i++) load[links[i]]++;
    }
    assert_int_equal(load[topo_find_link(topo, "node 0 host 0 -> node 0 host 1")], 4);
    assert_int_equal(load[topo_find_link(topo, "node 0 host 1 -> node 0 host 0")], 0);
    assert_int_equal(load[topo_find_link(topo, "node 0 pcie 0 -> node 0 host 0")], 2);
    assert_int_equal(load[topo_find_link(topo, "gpu 0 -> node 0 pcie 0")], 1);
}

/* GPUs and NICs are shared out in order: the nearest NIC never lies across a socket when the GPU's
 * own socket has one, and no NIC serves two GPUs more than another of the same socket. */
static void nics_are_shared_out_evenly_and_near(void **state)
{
    for (int gpus = 1; gpus <= 9; gpus++) {
        for (int nics = 1; nics <= 9; nics++) {
            struct node_spec node = eight_gpu_node();
            node.gpus_per_node = gpus;
            node.nics_per_node = nics;
            node.gpus_per_pcie_switch = 1;
            struct topo *topo = built(node, fabric_of("switch"), 2 * gpus, *state);
            const struct node_layout *layout = topo->layout;
            int n_served[9] = {0};
            for (int g = 0; g < gpus; g++) {
                int nic = topo_nic_of(topo, g);
                assert_in_range(nic, 0, nics - 1);
                n_served[nic]++;
                bool has_near = false;
                for (int k = 0; k < nics; k++) {
                    has_near |= layout->nics[k].socket == layout->gpus[g].socket;
                }
                if (has_near) {
                    assert_int_equal(layout->nics[nic].socket, layout->gpus[g].socket);
                }
            }
            for (int k = 0; k < nics; k++) {
                for (int j = 0; j < nics; j++) {
                    bool alike = layout->nics[k].socket == layout->nics[j].socket;
                    bool both = n_served[k] > 0 && n_served[j] > 0;
                    if (alike && both && nics > 1) assert_true(n_served[k] - n_served[j] <= 1);
                }
            }
        }
    }
}

/* Every pair of ends of many odd servers, all rails, staged or not. */
static void routes_of_odd_servers_are_whole(void **state)
{
    static const int counts[][4] = {/* GPUs, NICs, sockets, GPUs per switch */
                                    {1, 1, 2, 2}, {3, 2, 2, 2}, {5, 3, 3, 4}, {8, 1, 8, 1},
                                    {4, 8, 2, 4}, {7, 7, 5, 3}, {2, 1, 8, 2}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int flags = 0; flags < 8; flags++) {
            struct arena scratch = *(struct arena *)*state;
            struct node_spec node = eight_gpu_node();
            node.gpus_per_node = counts[i][0];
            node.nics_per_node = counts[i][1];
            node.sockets = counts[i][2];
            node.gpus_per_pcie_switch = counts[i][3];
            node.p2p = flags & 1;
            node.gpudirect = flags & 2;
            node.scaleup = flags & 4 ? SCALEUP_MESH : SCALEUP_NONE;
            struct topo *topo = built(node, fabric_of("switch"), 2 * counts[i][0], &scratch);
            int n_ends = topo->n_gpus + 2 * node.sockets;
            for (int s = 0; s < n_ends; s++) {
                for (int d = 0; d < n_ends; d++) {
                    struct endpoint src = s < topo->n_gpus ? gpu_at(s) : host_at(s - topo->n_gpus);
                    struct endpoint dst = d < topo->n_gpus ? gpu_at(d) : host_at(d - topo->n_gpus);
                    for (int rail = -1; rail < node.nics_per_node; rail++) {
                        int n = assert_route(topo, src, dst, rail, 0);
                        assert_int_equal(n == 0, s == d);
                    }
                }
            }
            assert_names(topo);
        }
    }
}

/* 8 GPUs on 4 switches and 2 sockets: 2 switch uplinks carry 50 GB/s, the socket link 20. */
static void the_bisection_of_a_server_is_its_narrowest_middle(void **state)
{
    struct node_spec node = eight_gpu_node();
    assert_close(topo_summarise(one_node(node, *state)).bisection_Bps, 20e9, 1e-15);
    node.sockets = 1;
    assert_close(topo_summarise(one_node(node, *state)).bisection_Bps, 50e9, 1e-15);
    node.gpus_per_pcie_switch = 1;
    assert_close(topo_summarise(one_node(node, *state)).bisection_Bps, 100e9, 1e-15);
    node.scaleup = SCALEUP_SWITCH;
    assert_close(topo_summarise(one_node(node, *state)).bisection_Bps, 1200e9, 1e-15);
}

static void impossible_servers_are_refused_with_the_number(void **state)
{
    struct fabric_spec fabric = fabric_of("switch");
    struct node_spec good = eight_gpu_node();
    struct node_spec node = good;
    node.gpus_per_node = 0;
    assert_refused(node, fabric, 8, *state, "GPUs per node is 0");
    node.gpus_per_node = 2147483647;
    assert_refused(node, fabric, 8, *state, "GPUs per node is 2147483647");
    node = good;
    node.nics_per_node = 0;
    assert_refused(node, fabric, 16, *state, "NICs per node is 0");
    assert_string_equal(refusal(node, fabric, 8, *state), "");
    node.nics_per_node = -3;
    assert_refused(node, fabric, 8, *state, "NICs per node is -3");
    node = good;
    node.sockets = 9;
    assert_refused(node, fabric, 8, *state, "sockets is 9");
    node = good;
    node.gpus_per_pcie_switch = -1;
    assert_refused(node, fabric, 8, *state, "GPUs per PCIe switch is -1");
    node = good;
    node.pcie_Bps = (double)NAN;
    assert_refused(node, fabric, 8, *state, "PCIe rate in B/s is nan");
    node = good;
    node.nic_Bps = (double)INFINITY;
    assert_refused(node, fabric, 16, *state, "NIC rate in B/s is inf");
    node = good;
    node.socket_latency_s = -1e-6;
    assert_refused(node, fabric, 8, *state, "inter-socket latency in seconds is -1e-06");
    node = good;
    node.scaleup = SCALEUP_SWITCH;
    node.scaleup_Bps = 0;
    assert_refused(node, fabric, 8, *state, "scale-up rate in B/s is 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_under_one_switch_do_not_meet_the_host),
        cmocka_unit_test(without_p2p_neighbours_go_through_host_memory),
        cmocka_unit_test(gpus_without_a_pcie_switch_hang_on_the_host_bridge),
        cmocka_unit_test(scale_up_takes_all_traffic_between_gpus),
        cmocka_unit_test(a_gpu_reaches_the_nic_of_its_switch_directly),
        cmocka_unit_test(a_far_nic_is_reached_by_the_gpu_next_to_it),
        cmocka_unit_test(staged_data_shares_the_memory_of_its_socket),
        cmocka_unit_test(without_gpudirect_data_is_staged_in_host_memory),
        cmocka_unit_test(host_memory_reaches_gpus_and_nics),
        cmocka_unit_test(sockets_form_a_ring),
        cmocka_unit_test(sharing_comes_out_of_the_graph),
        cmocka_unit_test(nics_are_shared_out_evenly_and_near),
        cmocka_unit_test(routes_of_odd_servers_are_whole),
        cmocka_unit_test(the_bisection_of_a_server_is_its_narrowest_middle),
        cmocka_unit_test(impossible_servers_are_refused_with_the_number),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
