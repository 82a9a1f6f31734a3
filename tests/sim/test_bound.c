#include "bound.h"

#include "cluster.h"

/* Servers of 8 GPUs with 100 GB/s of scale-up and 10 GB/s of PCIe each, and one NIC of 5 GB/s, on one
 * switch. */
static struct inputs *cluster(int n_gpus, struct arena *perm)
{
    struct node_spec node = {.gpus_per_node = 8,
                             .nics_per_node = n_gpus > 8 ? 1 : 0,
                             .sockets = 1,
                             .gpus_per_pcie_switch = 1,
                             .scaleup = SCALEUP_SWITCH,
                             .scaleup_Bps = 100e9,
                             .pcie_Bps = 10e9,
                             .socket_Bps = 20e9,
                             .nic_Bps = 5e9,
                             .gpudirect = true,
                             .p2p = true};
    struct topo *topo = build_topo(&node, &one_switch, n_gpus, perm);
    return build_inputs(topo, lone_job(n_gpus, coll_op(0, COLL_ALLREDUCE, 1e9, NULL), perm), perm);
}

static double bound_s(int n_gpus, enum coll_kind kind, enum help help, struct arena *perm)
{
    return bound_collective_s(cluster(n_gpus, perm), kind, 1e9, help, *perm);
}

/* 2 (n - 1) / n S / B: 1.75 x 1e9 / 100e9 */
static void one_server_is_bound_by_scaleup(void **state)
{
    assert_close(bound_s(8, COLL_ALLREDUCE, HELP_NONE, *state), 0.0175, 1e-9);
}

/* around a node: 2 x 3/4 x 1e9 / 5e9; around a GPU 2 x 31/32 x 1e9 / 110e9 is less */
static void four_servers_are_bound_by_their_cards(void **state)
{
    assert_close(bound_s(32, COLL_ALLREDUCE, HELP_NONE, *state), 0.3, 1e-9);
    assert_close(bound_s(32, COLL_ALLREDUCE, HELP_SERVERS, *state), 0.3, 1e-9);
}

/* all_gather, reduce_scatter: 3/4 S leaves or enters a node; all_to_all: 8 ranks x 3/4 S; a broadcast: S */
static void other_kinds_by_what_leaves_a_node(void **state)
{
    assert_close(bound_s(32, COLL_ALLGATHER, HELP_NONE, *state), 0.15, 1e-9);
    assert_close(bound_s(32, COLL_REDUCE_SCATTER, HELP_NONE, *state), 0.15, 1e-9);
    assert_close(bound_s(32, COLL_ALLTOALL, HELP_NONE, *state), 1.2, 1e-9);
    assert_close(bound_s(32, COLL_BROADCAST, HELP_NONE, *state), 0.2, 1e-9);
}

/* One card of four at half rate: it must still pass S both ways (1e9 / 2.5e9 = 0.4 s), more than
 * 2 x 3 S over what all send together (6e9 / 17.5e9). */
static void a_slow_card_counts_by_what_must_pass_it(void **state)
{
    struct inputs *in = cluster(32, *state);
    struct topo *topo = in->topo;
    for (int l = 0; l < topo->n_links; l++) {
        if (topo->vertices[topo->links[l].src].kind != VERTEX_NIC) continue;
        if (topo->links[l].tier != TIER_NIC) continue;
        topo->links[l].capacity_Bps /= 2;
        break;
    }
    assert_close(bound_collective_s(in, COLL_ALLREDUCE, 1e9, HELP_NONE, **(struct arena **)state),
                 0.4, 1e-9);
}

/* S / B: a switch that sums lets a GPU send its data once, 1e9 / 100e9. */
static void a_switch_that_sums_needs_the_data_once(void **state)
{
    assert_close(bound_s(8, COLL_ALLREDUCE, HELP_SWITCH, *state), 0.01, 1e-9);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "nvls")), HELP_SWITCH);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "ring")), HELP_NONE);
}

/* Sums on host memory come and go by PCIe as well: 1e9 / (100e9 + 10e9). */
static void servers_of_one_node_are_reached_by_pcie_too(void **state)
{
    assert_close(bound_s(8, COLL_ALLREDUCE, HELP_SERVERS, *state), 1.0 / 110, 1e-9);
}

/* Three nodes: 16 ranks on one side, 8 on the other, 16 * 8 pairs of S / 24 each way over one card;
 * what leaves one node is as much. */
static void an_odd_number_of_nodes_has_unequal_halves(void **state)
{
    assert_close(bound_s(24, COLL_ALLTOALL, HELP_NONE, *state), 16.0 * 8 / 24 / 5, 1e-9);
}

/* Switches between nodes that sum: a node sends its data once, 1e9 / 5e9. */
static void a_network_that_sums_needs_the_data_once(void **state)
{
    assert_close(bound_s(32, COLL_ALLREDUCE, HELP_FABRIC, *state), 0.2, 1e-9);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "nvls-collnet")), HELP_FABRIC);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "collnet-chain")), HELP_FABRIC);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "nvls-tree")), HELP_SWITCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_is_bound_by_scaleup),
        cmocka_unit_test(four_servers_are_bound_by_their_cards),
        cmocka_unit_test(other_kinds_by_what_leaves_a_node),
        cmocka_unit_test(a_slow_card_counts_by_what_must_pass_it),
        cmocka_unit_test(a_switch_that_sums_needs_the_data_once),
        cmocka_unit_test(a_network_that_sums_needs_the_data_once),
        cmocka_unit_test(servers_of_one_node_are_reached_by_pcie_too),
        cmocka_unit_test(an_odd_number_of_nodes_has_unequal_halves),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
