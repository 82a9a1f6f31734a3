#include "cluster.h"

#include "place.h"

#include <string.h>

/* Load of a bundle per link of a tier, where all its links of that tier bear the same; -1 if none. */
static double load_on(const struct plan *plan, const struct plan_bundle *bundle, enum tier tier)
{
    double n = -1;
    for (int l = 0; l < bundle->n_loads; l++) {
        int r = bundle->loads[l].resource;
        if (r >= plan->n_link_classes) continue;
        if (plan->in->topo->links[plan->rep_link[r]].tier != tier) continue;
        if (n >= 0) assert_close(bundle->loads[l].n, n, 1e-15);
        n = bundle->loads[l].n;
    }
    return n;
}

static int count_classes(const struct plan *plan, enum tier tier)
{
    int n = 0;
    for (int r = 0; r < plan->n_link_classes; r++) {
        n += plan->in->topo->links[plan->rep_link[r]].tier == tier;
    }
    return n;
}

/* What the phases of a collective take when nothing else moves. */
static double alone_s(const struct plan *plan, const struct plan_coll *coll, struct arena scratch)
{
    double time_s = coll->launch_s;
    double *used_B = arena_new(&scratch, double, plan->n_resources);
    for (int p = coll->first_phase; p < coll->first_phase + coll->n_phases; p++) {
        const struct plan_phase *phase = &plan->phases[p];
        memset(used_B, 0, (size_t)plan->n_resources * sizeof *used_B);
        double drain_s = 0;
        for (int b = phase->first_bundle; b < phase->first_bundle + phase->n_bundles; b++) {
            const struct plan_bundle *bundle = &plan->bundles[b];
            double bytes = bundle->bytes_per_B * coll->req.size_B + phase->fill_B;
            drain_s = fmax(drain_s, bytes / bundle->cap_Bps);
            for (int l = 0; l < bundle->n_loads; l++) {
                used_B[bundle->loads[l].resource] += bundle->loads[l].n * bytes;
            }
        }
        for (int r = 0; r < plan->n_link_classes; r++) {
            drain_s = fmax(drain_s, used_B[r] / plan->capacity[r]);
        }
        time_s += phase->latency_s + drain_s;
    }
    return time_s;
}

static struct plan *plan_lone(const struct node_spec *node, int n_gpus, struct op op,
                              struct arena *perm)
{
    struct topo *topo = build_topo(node, &one_switch, n_gpus, perm);
    return plan_build(build_inputs(topo, lone_job(n_gpus, op, perm), perm), perm);
}

/* 4 ranks in a ring, each on its own node: one flow out of and one into every NIC; each sends
 * 2 (4 - 1) / 4 of the buffer. All ranks are alike, all NIC links, all PCIe links. */
static void ring_on_a_switch_loads_each_nic_once(void **state)
{
    struct plan *plan = plan_lone(&single_node, 4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), *state);
    assert_int_equal(plan->n_classes, 1);
    assert_int_equal(plan->classes[0].n_ranks, 4);
    assert_int_equal(plan->n_groups, 1);
    assert_int_equal(plan->n_colls, 1);
    assert_int_equal(plan->colls[0].n_phases, 1);
    assert_int_equal(plan->phases[0].n_bundles, 1);
    assert_close(plan->bundles[0].bytes_per_B, 1.5, 1e-15);
    assert_close(load_on(plan, &plan->bundles[0], TIER_NIC), 1, 1e-15);
    assert_int_equal(count_classes(plan, TIER_NIC), 1);
    int r = plan->bundles[0].loads[plan->bundles[0].n_loads - 1].resource;
    assert_true(r < plan->n_link_classes);
    int n_nic_links = 0;
    for (int c = 0; c < plan->n_link_classes; c++) {
        if (plan->in->topo->links[plan->rep_link[c]].tier == TIER_NIC)
            n_nic_links += plan->n_links[c];
    }
    assert_int_equal(n_nic_links, 8);
}

/* Unfolded the same plan has 4 ranks and 8 NIC links, each with one flow. */
static void unfolded_every_rank_and_link_is_its_own(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &one_switch, 4, perm);
    struct job *job = lone_job(4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->fold = false;
    struct plan *plan = plan_build(in, perm);
    assert_int_equal(plan->n_classes, 4);
    assert_int_equal(count_classes(plan, TIER_NIC), 8);
    assert_close(load_on(plan, &plan->bundles[0], TIER_NIC), 1, 1e-15);
    assert_int_equal(plan->groups[0].n_classes, 4);
    for (int r = 0; r < plan->n_link_classes; r++) assert_int_equal(plan->n_links[r], 1);
}

/* Two nodes of 8 GPUs with 8 NICs: 8 rings, each leaving a node by its own NIC, so that every NIC
 * link carries one flow; 7 of the 8 rings leave a GPU by the scale-up switch. */
static void eight_channels_use_eight_nics(void **state)
{
    struct plan *plan = plan_lone(&octo_node, 16, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), *state);
    const struct plan_coll *coll = &plan->colls[0];
    assert_int_equal(coll->req.ranks_per_node, 8);
    assert_int_equal(coll->req.n_channels, 8);
    const struct plan_phase *phase = &plan->phases[coll->first_phase];
    assert_int_equal(phase->n_bundles, 8);
    double *sum = arena_new(*state, double, plan->n_resources);
    for (int b = 0; b < 8; b++) {
        const struct plan_bundle *bundle = &plan->bundles[phase->first_bundle + b];
        for (int l = 0; l < bundle->n_loads; l++)
            sum[bundle->loads[l].resource] += bundle->loads[l].n;
    }
    for (int r = 0; r < plan->n_link_classes; r++) {
        enum tier tier = plan->in->topo->links[plan->rep_link[r]].tier;
        if (tier == TIER_NIC) assert_close(sum[r], 1, 1e-12);
        if (tier == TIER_SCALEUP) assert_close(sum[r], 7, 1e-12);
    }
}

/* Two leaves of four: only the ring's hops from 3 to 4 and from 7 to 0 go up, one on each leaf; the
 * other NICs' links differ from those only in what lies beyond, so they are one class. */
static void only_hops_between_leaves_go_up(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &tree_two_to_one, 8, perm);
    struct job *job = lone_job(8, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct plan *plan = plan_build(build_inputs(topo, job, perm), perm);
    assert_int_equal(count_classes(plan, TIER_NIC), 1);
    assert_int_equal(count_classes(plan, TIER_FABRIC), 1);
    for (int r = 0; r < plan->n_link_classes; r++) {
        if (topo->links[plan->rep_link[r]].tier != TIER_FABRIC) continue;
        assert_int_equal(plan->n_links[r], 4); /* two up, two down */
    }
    assert_close(load_on(plan, &plan->bundles[0], TIER_FABRIC), 1, 1e-15);
}

/* 4 x 4 ranks, a ring in each row and each column, the NIC of rank 0 slow: rows are told apart by
 * whether rank 0 is in them, columns too; ranks by the kinds of their row and column. */
static void one_slow_nic_splits_a_mesh_in_four(void **state)
{
    struct arena *perm = *state;
    struct job *job = new_job((struct mesh){2, {4, 4}, {"x", "y"}}, 2, perm);
    job->comms[0] = (struct comm){.name = "x", .from = -1, .to = -1};
    job->comms[1] =
        (struct comm){.name = "y", .first_axis = 1, .last_axis = 1, .from = -1, .to = -1};
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    program_add_op(&job->programs[0], coll_op(1, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct topo *topo = build_topo(&single_node, &one_switch, 16, perm);
    assert_int_equal(plan_build(build_inputs(topo, job, perm), perm)->n_classes, 1);
    set_link(topo, "node 0 nic 0 -> switch", 0.5);
    struct plan *plan = plan_build(build_inputs(topo, job, perm), perm);
    assert_int_equal(plan->n_classes, 4);
    assert_int_equal(plan->n_groups, 4);
    int sizes[4] = {1, 3, 3, 9}; /* in order of rank: 0; 1..3; 4, 8, 12; the rest */
    for (int c = 0; c < 4; c++) assert_int_equal(plan->classes[c].n_ranks, sizes[c]);
}

static void slow_gpu_is_its_own_class(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &one_switch, 4, perm);
    struct job *job = lone_job(4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->slow = &(struct slow_gpu){2, 1.5};
    in->n_slow = 1;
    struct plan *plan = plan_build(in, perm);
    assert_int_equal(plan->n_classes, 2);
    assert_int_equal(plan->classes[1].rep, 2);
    assert_close(plan->classes[1].slowdown, 1.5, 1e-15);
    assert_close(plan->classes[0].slowdown, 1, 1e-15);
}

/* Payload of 90 % on the net and 50 % on PCIe: a flow takes 1 / 0.9 and 2 of its rate there. */
static void loads_carry_what_the_wire_carries_more(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &one_switch, 4, perm);
    struct job *job = lone_job(4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->library.choices[0].efficiency_net = 0.9;
    in->library.choices[0].efficiency_pcie = 0.5;
    struct plan *plan = plan_build(in, perm);
    assert_close(load_on(plan, &plan->bundles[0], TIER_NIC), 1 / 0.9, 1e-15);
    assert_close(load_on(plan, &plan->bundles[0], TIER_PCIE), 2, 1e-15);
}

/* 4 channels of 3 GB/s: 12 GB/s as a port. A ring through 8 NICs has 8 flows out of a node; a double
 * tree over many single nodes has 4 (an inner node: up and twice down in one tree, up in the other). */
static void channels_limit_a_node_as_a_port_does(void **state)
{
    struct arena *perm = *state;
    const struct node_spec *nodes[2] = {&octo_node, &single_node};
    const char *const algorithms[2] = {"ring", "tree"};
    const int n_flows[2] = {8, 4};
    for (int i = 0; i < 2; i++) {
        int n = nodes[i]->gpus_per_node * 8;
        struct job *job = lone_job(n, coll_op(0, COLL_ALLREDUCE, 1e6, algorithms[i]), perm);
        struct topo *topo = build_topo(nodes[i], &one_switch, n, perm);
        struct inputs *in = build_inputs(topo, job, perm);
        in->library.n_channels = 4;
        for (int r = 0; r < in->library.n_choices; r++) {
            in->library.choices[r].channel_cap_Bps = 3 * GB;
        }
        struct plan *plan = plan_build(in, perm);
        const struct plan_phase *phase = &plan->phases[plan->colls[0].first_phase];
        for (int b = 0; b < phase->n_bundles; b++) {
            assert_close(plan->bundles[phase->first_bundle + b].cap_Bps, 12 * GB / n_flows[i],
                         1e-12);
        }
    }
}

/* An idle uniform network: phases and closed form are the same sum (1e-9), for each registered
 * algorithm that is not pipelined; pipelined ones are exact too, since fill is a number of bytes. */
static void phases_take_as_long_as_the_closed_form(void **state)
{
    const struct node_spec *nodes[2] = {&single_node, &octo_node};
    int n_wanted = 0;
    int n_compared = 0;
    for (int a = 0; a < n_coll_algos; a++) {
        const struct coll_algo *algo = &coll_algos[a];
        if (algo->servers) continue;
        for (int i = 0; i < 2; i++) {
            struct arena scratch = *(struct arena *)*state;
            int n = 4 * nodes[i]->gpus_per_node;
            if (strcmp(algo->name, "nvls") == 0) n = nodes[i]->gpus_per_node; /* of one node */
            if (algo->kind == COLL_SENDRECV && strcmp(algo->name, "direct") == 0) n = 2;
            if (n == 1) continue;
            n_wanted++;
            struct op op = coll_op(0, algo->kind, 64e6, algo->name);
            struct plan *plan = plan_lone(nodes[i], n, op, &scratch);
            const struct plan_coll *coll = &plan->colls[0];
            if (strcmp(coll->algo->name, algo->name) != 0) continue; /* does not fit */
            n_compared++;
            double phases_s = alone_s(plan, coll, scratch);
            if (fabs(phases_s - coll->estimate_s) > 1e-9 * coll->estimate_s) {
                print_error("%s %s on %d GPUs\n", coll_kind_names[algo->kind], algo->name, n);
            }
            assert_close(phases_s, coll->estimate_s, 1e-9);
        }
    }
    assert_int_equal(n_compared, n_wanted);
}

/* One server per node in turn, each with half of the buffer; workers 0 and 1 push both halves, one of
 * them over the net: 1 flow out of and into each NIC, 1 into the host from its own GPU. */
static void servers_stand_in_host_memory_of_the_nodes_in_turn(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &one_switch, 2, perm);
    struct job *job = lone_job(2, coll_op(0, COLL_ALLREDUCE, 1e6, "parameter-server"), perm);
    job->comms[0].n_servers = 2;
    struct plan *plan = plan_build(build_inputs(topo, job, perm), perm);
    const struct plan_coll *coll = &plan->colls[0];
    assert_string_equal(coll->algo->name, "parameter-server");
    assert_int_equal(coll->n_phases, 2);
    const struct plan_phase *push = &plan->phases[coll->first_phase];
    double nic = 0;
    for (int b = push->first_bundle; b < push->first_bundle + push->n_bundles; b++) {
        assert_close(plan->bundles[b].bytes_per_B, 0.5, 1e-15);
        nic += fmax(0, load_on(plan, &plan->bundles[b], TIER_NIC));
    }
    assert_close(nic, 2, 1e-12); /* bundle 0 loads the NIC into node 0, bundle 1 that into node 1 */
    struct place *place = place_group(plan->in, 0, 0, true, perm);
    int links[ROUTE_MAX];
    int n = place_route(place, (struct coll_flow){0, 2}, 0, links);
    assert_int_equal(place_hop_kind(topo, links, n), HOP_PCIE);
    n = place_route(place, (struct coll_flow){0, 3}, 0, links);
    assert_int_equal(place_hop_kind(topo, links, n), HOP_NET);
}

/* Ranks dealt to the nodes in turn (0 2 .. on node 0, 1 3 .. on node 1): members are put in order of
 * GPUs, so the ring crosses each NIC of its rail once and the root is found again. */
static void members_stand_in_order_of_gpus(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&octo_node, &one_switch, 16, perm);
    struct job *job = lone_job(16, coll_op(0, COLL_BROADCAST, 1e6, "ring"), perm);
    job->programs[0].ops[0].root = 1;
    int *gpu_of = arena_new(perm, int, 16);
    for (int r = 0; r < 16; r++) gpu_of[r] = r % 2 * 8 + r / 2;
    struct inputs *in = build_inputs(topo, job, perm);
    in->gpu_of = gpu_of;
    struct place *place = place_group(in, 0, 0, true, perm);
    assert_int_equal(place->ranks_per_node, 8);
    assert_int_equal(place->n_nodes, 2);
    for (int i = 0; i < 16; i++) assert_int_equal(place->gpus[i], i);
    assert_int_equal(place_root(place, 1), 8); /* rank 1 stands on GPU 8 */
    assert_int_equal(plan_build(in, perm)->colls[0].req.root, 8);
    struct place *given = place_group(in, 0, 0, false, perm);
    for (int i = 0; i < 16; i++) assert_int_equal(given->ranks[i], i);
}

/* 12 ranks, 8 on one node and 4 on the other: blocks of 4, said aloud. */
static void unequal_nodes_are_seen_as_blocks(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&octo_node, &one_switch, 16, perm);
    struct job *job = lone_job(12, coll_op(0, COLL_ALLREDUCE, 1e6, "hierarchical"), perm);
    struct plan *plan = plan_build(build_inputs(topo, job, perm), perm);
    assert_int_equal(plan->colls[0].req.ranks_per_node, 4);
    assert_int_equal(plan->n_warnings, 1);
    assert_string_equal(plan->warnings[0],
                        "communicator dp: groups have unequal numbers of ranks on their nodes; "
                        "algorithms see blocks of 4");
}

static void a_group_of_one_has_nothing_to_do(void **state)
{
    struct plan *plan = plan_lone(&single_node, 1, coll_op(0, COLL_ALLREDUCE, 1e6, NULL), *state);
    assert_int_equal(plan->colls[0].n_phases, 0);
    assert_close(plan->colls[0].estimate_s, 0, 1e-15);
    assert_int_equal(plan->n_link_classes, 0);
}

/* Tree wins at 1 MB on 64 nodes with 10 us a hop (2 * 6 hops against 2 * 63); a library does not know
 * that one NIC is at a hundredth, so it takes the tree still. */
static void choice_does_not_see_a_degraded_link(void **state)
{
    struct arena *perm = *state;
    for (int slow = 0; slow < 2; slow++) {
        struct topo *topo = build_topo(&single_node, &one_switch, 64, perm);
        if (slow) set_link(topo, "node 5 nic 0 -> switch", 0.01);
        struct job *job = lone_job(64, coll_op(0, COLL_ALLREDUCE, 1e6, NULL), perm);
        struct inputs *in = build_inputs(topo, job, perm);
        in->library.n_choices = 2; /* ring, tree */
        in->library.selection = "fastest";
        for (int r = 0; r < 2; r++) in->library.choices[r].net_latency_s = 10 * US;
        struct plan *plan = plan_build(in, perm);
        assert_string_equal(plan->colls[0].algo->name, "tree");
        assert_close(plan->colls[0].estimate_s > 5e-3, slow, 1e-15); /* the estimate does know */
    }
}

/* A forced algorithm that cannot run here is given up with a word. */
static void what_does_not_fit_is_replaced_with_a_warning(void **state)
{
    struct op op = coll_op(0, COLL_ALLREDUCE, 1e6, "parameter-server"); /* without servers */
    struct plan *plan = plan_lone(&single_node, 4, op, *state);
    assert_string_equal(plan->colls[0].algo->name, "ring");
    assert_int_equal(plan->n_warnings, 1);
    assert_string_equal(plan->warnings[0],
                        "library bare has no all_reduce by parameter-server over any protocol that "
                        "fits here; ring is used");
}

/* Sizes share what is laid, but not their bytes. */
static void sizes_share_their_loads(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &one_switch, 4, perm);
    struct job *job = lone_job(4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, 3e6, "ring"), perm);
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct plan *plan = plan_build(build_inputs(topo, job, perm), perm);
    assert_int_equal(plan->n_colls, 2);
    assert_int_equal(plan->classes[0].coll[0], plan->classes[0].coll[2]);
    assert_ptr_equal(plan->bundles[0].loads, plan->bundles[1].loads);
    assert_close(plan->colls[1].req.size_B, 3e6, 1e-15);
}

/* 2 bytes of memory traffic per byte sent: a ring rank sends one flow, the memory bears 2. */
static void flows_load_the_memory_of_who_sends(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&single_node, &one_switch, 4, perm);
    struct job *job = lone_job(4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->hbm_per_comm_B = 2;
    in->gpu.hbm_Bps = 1000 * GB;
    in->gpu.hbm_frac = 0.8;
    struct plan *plan = plan_build(in, perm);
    int memory = plan->n_link_classes;
    assert_close(plan->capacity[memory], 800 * GB, 1e-12);
    double n = 0;
    for (int l = 0; l < plan->bundles[0].n_loads; l++) {
        if (plan->bundles[0].loads[l].resource == memory) n = plan->bundles[0].loads[l].n;
    }
    assert_close(n, 2, 1e-12);
}

/* 2 GPUs and 4 NICs: each GPU has two of its own, and the ring leaves by all four. A buffer of 1 MB on
 * 2 nodes: 2 * 3 / 4 of it over 40 GB/s. */
static void a_gpu_uses_all_nics_of_its_own(void **state)
{
    struct node_spec node = octo_node;
    node.gpus_per_node = 2;
    node.nics_per_node = 4;
    struct plan *plan = plan_lone(&node, 4, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), *state);
    struct place *place = place_group(plan->in, 0, 0, true, *state);
    const int members[] = {0, 0, 1, 1};
    assert_int_equal(place->n_channels, 4);
    for (int c = 0; c < 4; c++) {
        assert_int_equal(place->rails[c], c);
        assert_int_equal(place->rail_member[c], members[c]);
    }
    assert_int_equal(plan->colls[0].req.n_channels, 4);
    assert_int_equal(plan->phases[0].n_bundles, 4);
    assert_close(plan->bundles[0].bytes_per_B, 2 * 3.0 / 4 / 4, 1e-12);
}

/* A hop takes what the library says; of the wire only what is longer than the usual one counts. */
static void a_usual_wire_is_in_the_library_s_latency(void **state)
{
    (void)state;
    const struct lib_choice row = {.scaleup_latency_s = 1e-6,
                                   .pcie_latency_s = 2e-6,
                                   .net_latency_s = 5e-6,
                                   .net_wire_s = 3e-6};
    assert_close(place_hop_s(&row, HOP_NET, 2e-6), 5e-6, 1e-12);
    assert_close(place_hop_s(&row, HOP_NET, 1003e-6), 1005e-6, 1e-12);
    assert_close(place_hop_s(&row, HOP_PCIE, 2e-6), 4e-6, 1e-12);
    assert_close(place_hop_s(&row, HOP_SCALEUP, 2e-6), 3e-6, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_on_a_switch_loads_each_nic_once),
        cmocka_unit_test(unfolded_every_rank_and_link_is_its_own),
        cmocka_unit_test(eight_channels_use_eight_nics),
        cmocka_unit_test(only_hops_between_leaves_go_up),
        cmocka_unit_test(one_slow_nic_splits_a_mesh_in_four),
        cmocka_unit_test(slow_gpu_is_its_own_class),
        cmocka_unit_test(loads_carry_what_the_wire_carries_more),
        cmocka_unit_test(channels_limit_a_node_as_a_port_does),
        cmocka_unit_test(phases_take_as_long_as_the_closed_form),
        cmocka_unit_test(servers_stand_in_host_memory_of_the_nodes_in_turn),
        cmocka_unit_test(members_stand_in_order_of_gpus),
        cmocka_unit_test(unequal_nodes_are_seen_as_blocks),
        cmocka_unit_test(a_group_of_one_has_nothing_to_do),
        cmocka_unit_test(choice_does_not_see_a_degraded_link),
        cmocka_unit_test(what_does_not_fit_is_replaced_with_a_warning),
        cmocka_unit_test(sizes_share_their_loads),
        cmocka_unit_test(flows_load_the_memory_of_who_sends),
        cmocka_unit_test(a_gpu_uses_all_nics_of_its_own),
        cmocka_unit_test(a_usual_wire_is_in_the_library_s_latency),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
