#include "bound.h"

#include "ideal.h"

/* Servers of 8 GPUs with 100 GB/s of scale-up and 10 GB/s of PCIe each, and one NIC of 5 GB/s. */
static struct inputs *cluster_on(const struct fabric_spec *fabric, int n_gpus, struct arena *perm)
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
    struct topo *topo = build_topo(&node, fabric, n_gpus, perm);
    return build_inputs(topo, lone_job(n_gpus, coll_op(0, COLL_ALLREDUCE, 1e9, NULL), perm), perm);
}

static struct inputs *cluster(int n_gpus, struct arena *perm)
{
    return cluster_on(&one_switch, n_gpus, perm);
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

/* Two leaves of 4 servers, 10 GB/s between them: of an all-to-all 32 * 32 pairs of S / 64 cross each way, 1.6 s;
 * what leaves a server takes 8 * 56 / 64 / 5 = 1.4 s. */
static void the_middle_of_an_oversubscribed_tree_counts(void **state)
{
    struct arena *perm = *state;
    struct inputs *in = cluster_on(&tree_two_to_one, 64, perm);
    assert_close(bound_collective_s(in, COLL_ALLTOALL, 1e9, HELP_NONE, *perm), 1.6, 1e-9);
}

/* Switches between nodes that sum: a node sends its data once, 1e9 / 5e9. */
static void a_network_that_sums_needs_the_data_once(void **state)
{
    assert_close(bound_s(32, COLL_ALLREDUCE, HELP_FABRIC, *state), 0.2, 1e-9);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "nvls-collnet")), HELP_FABRIC);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "collnet-chain")), HELP_FABRIC);
    assert_int_equal(bound_help(coll_find(COLL_ALLREDUCE, "nvls-tree")), HELP_SWITCH);
}

/* ---- nothing beats its bound ---- */

static const struct fabric_spec *const fabrics[] = {
    &one_switch,  &tree_two_to_one, &ideal_dragonfly, &ideal_dragonfly_plus,
    &ideal_torus, &ideal_hyperx,    &ideal_rails,     &two_sites};

/* four GPUs on a switch share one card of 10 GB/s */
static struct node_spec narrow_server(void)
{
    return ideal_server(4, 1);
}

static bool can_run(const struct coll_algo *algo, int n, int per_node)
{
    struct coll_req req = {.kind = algo->kind,
                           .n_ranks = n,
                           .ranks_per_node = per_node,
                           .n_channels = 1,
                           .root = -1,
                           .size_B = 4e6,
                           .chunk_B = 65536};
    return !algo->servers && algo->kind != COLL_SENDRECV && algo->fits(&req);
}

static void assert_bounded(const struct node_spec *node, const struct fabric_spec *fabric,
                           const struct coll_algo *algo, int n, struct arena perm)
{
    struct inputs *in = alone(node, fabric, n, coll_op(0, algo->kind, 4e6, algo->name), &perm);
    double bound_s = bound_collective_s(in, algo->kind, 4e6, bound_help(algo), perm);
    struct three times = run_three(in, perm);
    double least_s = fmin(fmin(times.estimate_s, times.fluid_s), times.message_s);
    if (least_s < bound_s * (1 - 1e-9))
        print_error("%s, %s %s, %d ranks: bound %g, times %g %g %g\n", fabric->kind,
                    coll_kind_names[algo->kind], algo->name, n, bound_s, times.estimate_s,
                    times.fluid_s, times.message_s);
    assert_true(bound_s > 0);
    assert_true(least_s >= bound_s * (1 - 1e-9));
}

/* on servers of one GPU, and of four that share a card; how many of the four runs there were */
static int assert_algorithm_bounded(const struct fabric_spec *fabric, const struct coll_algo *algo,
                                    struct arena perm)
{
    static const int sizes[] = {8, 12};
    struct node_spec nodes[] = {single_node, narrow_server()};
    int n_runs = 0;
    for (int i = 0; i < 4; i++) {
        const struct node_spec *node = &nodes[i % 2];
        if (!can_run(algo, sizes[i / 2], node->gpus_per_node)) continue;
        assert_bounded(node, fabric, algo, sizes[i / 2], perm);
        n_runs++;
    }
    return n_runs;
}

/* every algorithm, in every fidelity, on every kind of network */
static void nothing_beats_its_bound(void **state)
{
    int n_runs = 0;
    for (int f = 0; f < (int)(sizeof fabrics / sizeof fabrics[0]); f++) {
        for (int a = 0; a < n_coll_algos; a++)
            n_runs +=
                assert_algorithm_bounded(fabrics[f], &coll_algos[a], **(struct arena **)state);
    }
    assert_true(n_runs > 8 * n_coll_algos);
}

/* A card slow in one direction, where data need not go: what leaves the root of a reduce, and of a gather what
 * leaves a node but its own quarter; what goes the other way counts. */
static void only_directions_that_data_must_take_count(void **state)
{
    struct arena *perm = *state;
    struct inputs *in = cluster(32, perm);
    set_link(in->topo, "node 0 nic 0 -> switch", 0.25);
    assert_close(bound_collective_s(in, COLL_REDUCE, 1e9, HELP_NONE, *perm), 0.2, 1e-9);
    assert_close(bound_collective_s(in, COLL_BROADCAST, 1e9, HELP_NONE, *perm), 0.8, 1e-9);
    assert_close(bound_collective_s(in, COLL_ALLGATHER, 1e9, HELP_NONE, *perm), 0.2, 1e-9);
    assert_close(bound_collective_s(in, COLL_REDUCE_SCATTER, 1e9, HELP_NONE, *perm), 0.6, 1e-9);
    int *gpu_of = places_in_order(32, perm);
    gpu_of[0] = 8; /* the root on the next node */
    gpu_of[8] = 0;
    in->gpu_of = gpu_of;
    assert_close(bound_collective_s(in, COLL_REDUCE, 1e9, HELP_NONE, *perm), 0.8, 1e-9);
    assert_close(bound_collective_s(in, COLL_BROADCAST, 1e9, HELP_NONE, *perm), 0.2, 1e-9);
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
        cmocka_unit_test(the_middle_of_an_oversubscribed_tree_counts),
        cmocka_unit_test(only_directions_that_data_must_take_count),
        cmocka_unit_test(nothing_beats_its_bound),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
