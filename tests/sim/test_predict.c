/* From inputs to the result that all commands print. Whole training steps of real models on round
 * numbers. */
#include "../workload/rig.h"
#include "ideal.h"

#include "predict.h"

#include <string.h>

static struct inputs *inputs_of(struct train_spec spec, struct topo *topo, struct arena *perm)
{
    struct model *model = rig_model("resnet50", perm);
    struct gpu gpu = rig_gpu();
    spec.n_ranks = topo->n_gpus;
    spec.n_nodes = topo->n_nodes;
    struct inputs *in = build_inputs(topo, rig_job(&spec, model, &gpu, perm), perm);
    in->model = model;
    in->gpu = gpu;
    in->train = spec;
    in->spread_compute = (struct sides){0.05, 0.08};
    for (int size = 0; size < LIB_N_SIZES; size++)
        in->library.spread[LIB_INSIDE][size] = in->library.spread[LIB_BETWEEN][size] =
            (struct sides){0.1, 0.2};
    return in;
}

/* DDP with kernel times scaled to a measured step of one GPU, which leaves the host out */
static struct train_spec measured_ddp(double one_gpu_s)
{
    struct train_spec spec = rig_spec("ddp");
    spec.one_gpu_s = one_gpu_s;
    return spec;
}

static struct topo *switch_of(int n_gpus, struct arena *perm)
{
    return build_topo(&ideal_node, &one_switch, n_gpus, perm);
}

static struct topo *slow_switch_of(int n_gpus, double nic_Bps, struct arena *perm)
{
    struct node_spec node = ideal_node;
    node.nic_Bps = nic_Bps;
    return build_topo(&node, &one_switch, n_gpus, perm);
}

/* ---- shares ---- */

static void assert_shares_sum(const struct result *result)
{
    double sum_s = 0;
    for (int s = 0; s < N_SHARES; s++) {
        assert_true(result->share_s[s] >= 0);
        sum_s += result->share_s[s];
    }
    assert_close(sum_s, result->iteration_s, 1e-12);
}

static void shares_sum_to_the_iteration(void **state)
{
    for (int s = 0; s < n_strategies; s++) {
        for (int n = 1; n <= 8; n *= 2) {
            for (int variant = 0; variant < 4; variant++) {
                struct arena scratch = *(struct arena *)*state;
                struct train_spec spec = rig_spec(strategies[s].name);
                spec.n_servers = 1;
                spec.overlap = variant % 2;
                spec.one_gpu_s = variant > 1 ? 0.2 : 0;
                spec.input_s = 0.05;
                struct topo *topo = slow_switch_of(n, 1 * GB, &scratch);
                struct inputs *in = inputs_of(spec, topo, &scratch);
                in->jitter = 0.02;
                in->hbm_per_comm_B = variant > 1 ? 2 : 0;
                const struct result *result = predict(in, &scratch);
                assert_null(result->stuck);
                assert_shares_sum(result);
                assert_true(result->interval_s[0] <= result->iteration_s);
                assert_true(result->interval_s[1] >= result->iteration_s);
            }
        }
    }
}

static void one_gpu_is_fully_efficient(void **state)
{
    for (int s = 0; s < n_strategies; s++) {
        struct arena scratch = *(struct arena *)*state;
        struct inputs *in =
            inputs_of(rig_spec(strategies[s].name), switch_of(1, &scratch), &scratch);
        const struct result *result = predict(in, &scratch);
        assert_close(result->scaling_efficiency, 1, 1e-9);
        assert_close(result->bytes_sent_B, 0, 0);
        assert_close(result->exposed_communication_s, 0, 1e-15);
        assert_close(result->throughput, 16 / result->iteration_s, 1e-12);
    }
}

/* ---- DDP in closed form ---- */

static double latest_s(const struct program *program, const struct op *op, const double *end_s)
{
    double ready_s = 0;
    for (int d = op->first_dep; d < op->first_dep + op->n_deps; d++) {
        if (program->deps[d].distance == 0) ready_s = fmax(ready_s, end_s[program->deps[d].op]);
    }
    return ready_s;
}

/* Kernels one after the other; bucket k begins when its gradients are ready and bucket k - 1 is through,
 * so they end at max over k of (ready_k + times of k, k + 1, ...); what is copied out of a bucket waits
 * for it and for backward, the optimizer for all of that. No step begins before the last has ended. */
static double ddp_closed_form_s(const struct plan *plan)
{
    const struct program *program = &plan->in->job->programs[0];
    double end_s[1024] = {0}, compute_s = 0, network_s = 0;
    assert_true(program->n_ops <= 1024);
    for (int o = 0; o < program->n_ops; o++) {
        const struct op *op = &program->ops[o];
        double ready_s = latest_s(program, op, end_s);
        if (op->kind == OP_KERNEL) {
            end_s[o] = compute_s = fmax(compute_s, ready_s) + op->work_s;
        } else if (op->kind == OP_COLLECTIVE) {
            double bucket_s = plan->colls[plan->classes[0].coll[o]].estimate_s;
            end_s[o] = network_s = fmax(network_s, ready_s) + bucket_s;
        }
    }
    return compute_s;
}

static void ddp_ends_with_its_worst_bucket(void **state)
{
    const double rates_GB[] = {100, 10, 2, 0.5, 0.1};
    for (int r = 0; r < 5; r++) {
        for (int n = 2; n <= 16; n *= 2) {
            struct arena scratch = *(struct arena *)*state;
            struct topo *topo = slow_switch_of(n, rates_GB[r] * GB, &scratch);
            const struct result *result =
                predict(inputs_of(measured_ddp(0.2), topo, &scratch), &scratch);
            assert_close(result->iteration_s, ddp_closed_form_s(result->plan), 1e-9);
            assert_close(result->one_gpu_s, 0.2, 1e-9);
            assert_close(result->scaling_efficiency, 0.2 / result->iteration_s, 1e-9);
            /* every gradient but no more: 2 (n - 1) / n x 4 bytes */
            double all_B = 4.0 * (double)model_n_parameters(result->in->model);
            assert_close(result->bytes_sent_B, 2.0 * (n - 1) / n * all_B, 1e-12);
        }
    }
}

/* Nothing under backward: all of communication is exposed, the copies out of the buckets with it (a
 * bucket is copied out while the next one moves). */
static void without_overlap_all_communication_is_exposed(void **state)
{
    struct train_spec spec = measured_ddp(0.2);
    spec.overlap = false;
    const struct result *result = predict(inputs_of(spec, switch_of(4, *state), *state), *state);
    double network_s = 0, copies_s = 0;
    const struct program *program = &result->in->job->programs[0];
    for (int o = 0; o < program->n_ops; o++) {
        const struct op *op = &program->ops[o];
        if (op->kind == OP_COLLECTIVE) {
            network_s += result->plan->colls[result->plan->classes[0].coll[o]].estimate_s;
        } else if (op->part == PART_COMMUNICATION) {
            copies_s += op->work_s;
        }
    }
    assert_true(network_s > 0);
    double kernels_s = rig_sum_s(program, OP_KERNEL);
    assert_close(result->iteration_s, ddp_closed_form_s(result->plan), 1e-9);
    assert_true(result->iteration_s >= kernels_s - copies_s + network_s);
    assert_true(result->iteration_s <= kernels_s + network_s);
    double exposed_s = result->iteration_s - (kernels_s - copies_s);
    assert_close(result->exposed_communication_s, exposed_s, 1e-9);
    assert_close(result->communication_s, exposed_s, 1e-9);
    assert_close(result->compute_s, kernels_s - copies_s, 1e-9);
}

/* ---- what is crossed counts, and nothing else ---- */

static double step_on(const struct node_spec *node, const struct fabric_spec *fabric, int n_gpus,
                      struct arena scratch)
{
    struct topo *topo = build_topo(node, fabric, n_gpus, &scratch);
    struct train_spec spec = measured_ddp(0.05);
    spec.overlap = false;
    return predict(inputs_of(spec, topo, &scratch), &scratch)->iteration_s;
}

static void the_fabric_counts_when_it_is_crossed_and_only_then(void **state)
{
    struct arena scratch = **(struct arena **)state;
    struct fabric_spec slow_up = ideal_tree2; /* leaves of four, one slow way up each */
    slow_up.link_Bps = 2.5 * GB;
    slow_up.oversubscription = 16;
    struct fabric_spec slower_up = slow_up;
    slower_up.link_Bps = 1.25 * GB;
    slower_up.oversubscription = 32;
    double one_leaf_s = step_on(&ideal_node, &slow_up, 4, scratch);
    assert_close(one_leaf_s, step_on(&ideal_node, &one_switch, 4, scratch), 1e-9);
    assert_close(one_leaf_s, step_on(&ideal_node, &slower_up, 4, scratch), 1e-9);
    double two_leaves_s = step_on(&ideal_node, &slow_up, 8, scratch);
    assert_true(two_leaves_s > 1.1 * step_on(&ideal_node, &one_switch, 8, scratch));
    assert_true(step_on(&ideal_node, &slower_up, 8, scratch) > 1.1 * two_leaves_s);
    struct node_spec server = ideal_server(8, 1);
    double one_server_s = step_on(&server, &slow_up, 8, scratch);
    server.nic_Bps = 1 * GB;
    assert_close(one_server_s, step_on(&server, &slower_up, 8, scratch), 1e-9);
}

/* ---- what limits ---- */

static void one_slow_card_is_named(void **state)
{
    for (int message = 0; message < 2; message++) {
        struct arena scratch = **(struct arena **)state;
        struct topo *topo = slow_switch_of(8, 1 * GB, &scratch);
        set_link(topo, "node 5 nic 0 -> switch", 0.5);
        struct inputs *in = inputs_of(measured_ddp(0.05), topo, &scratch);
        in->fold = !message;
        if (message) in->fidelity = FIDELITY_MESSAGE;
        const struct result *result = predict(in, &scratch);
        assert_string_equal(result->limit_kind, "nic");
        assert_string_equal(result->limit_name, "node 5 nic 0 -> switch");
        assert_true(result->gain_if_doubled > 0.3);
    }
}

/* Cards are slow, but all alike: sixteen links, one of them named. */
static void alike_links_are_counted(void **state)
{
    struct topo *topo = slow_switch_of(8, 1 * GB, *state);
    const struct result *result = predict(inputs_of(measured_ddp(0.05), topo, *state), *state);
    assert_string_equal(result->limit_kind, "nic");
    assert_non_null(strstr(result->limit_name, "(and 15 like it)"));
}

static void compute_limits_where_links_are_fast(void **state)
{
    struct topo *topo = slow_switch_of(8, 10000 * GB, *state);
    const struct result *result = predict(inputs_of(measured_ddp(0.2), topo, *state), *state);
    assert_string_equal(result->limit_kind, "compute");
    assert_string_equal(result->limit_name, "rig");
    assert_close(result->gain_if_doubled, 0.5, 0.01);
}

/* A host that takes 1 ms to issue a kernel: everything waits for it. */
static void launch_limits_where_the_host_is_slow(void **state)
{
    struct inputs *in = inputs_of(rig_spec("ddp"), switch_of(1, *state), *state);
    in->gpu.issue_s = 1e-3;
    in->job = rig_job(&in->train, in->model, &in->gpu, *state);
    const struct result *result = predict(in, *state);
    assert_string_equal(result->limit_kind, "launch");
    assert_string_equal(result->limit_name, "kernel launch and input");
    assert_close(result->gain_if_doubled, 0.5, 0.05);
    assert_true(result->share_s[SHARE_LAUNCH] > 0.5 * result->iteration_s);
}

/* Small messages, many steps: latency. */
static void latency_limits_where_messages_are_small(void **state)
{
    struct node_spec node = ideal_node;
    node.nic_latency_s = 1e-3;
    struct topo *topo = build_topo(&node, &one_switch, 16, *state);
    struct inputs *in = inputs_of(measured_ddp(0.01), topo, *state);
    in->library.name = "bare";
    const struct result *result = predict(in, *state);
    assert_string_equal(result->limit_kind, "latency");
    assert_string_equal(result->limit_name, "bare");
}

/* ---- what cannot be ---- */

/* A step of one GPU in a microsecond is beyond any peak; one in 10 s is not. */
static void more_than_the_peak_is_warned_of(void **state)
{
    struct inputs *in = inputs_of(measured_ddp(1e-6), switch_of(1, *state), *state);
    const struct result *result = predict(in, *state);
    assert_true(result->mfu > 1);
    assert_int_equal(result->n_warnings, result->plan->n_warnings + 1);
    assert_non_null(strstr(result->warnings[result->n_warnings - 1], "MFU is"));
    in = inputs_of(measured_ddp(10), switch_of(1, *state), *state);
    result = predict(in, *state);
    assert_true(result->mfu < 1);
    assert_int_equal(result->n_warnings, result->plan->n_warnings);
}

/* ---- a collective alone ---- */

static void a_collective_takes_its_closed_form_in_all_fidelities(void **state)
{
    struct inputs *base = inputs_of(rig_spec("ddp"), switch_of(8, *state), *state);
    base->library.rendezvous = true;
    struct inputs *in = inputs_collective(base, COLL_ALLREDUCE, 8e6, "ring", NULL, *state);
    for (int f = 0; f < N_FIDELITIES; f++) {
        in->fidelity = (enum fidelity)f;
        in->fold = in->fidelity != FIDELITY_MESSAGE;
        struct collective_time time = predict_collective(in, *state);
        assert_close(time.time_s, 14 * (2 * US + 1e6 / (10 * GB)), 1e-9);
        assert_string_equal(time.plan->colls[0].algo->name, "ring");
    }
}

/* Ways from each node to the server of each node are not looked at where nothing would use them. */
static void servers_stand_where_the_library_has_a_use_for_them(void **state)
{
    struct inputs *base = inputs_of(rig_spec("ddp"), switch_of(8, *state), *state);
    static const struct {
        const char *algorithm;
        int n_servers;
    } cases[] = {{"ring", 0}, {"parameter-server", 8}};
    for (int i = 0; i < 2; i++) {
        struct lib_choice choice = {.kind = COLL_ALLREDUCE,
                                    .algo = coll_find(COLL_ALLREDUCE, cases[i].algorithm)};
        base->library.choices = &choice;
        base->library.n_choices = 1;
        const struct inputs *in = inputs_collective(base, COLL_ALLREDUCE, 8e6, NULL, NULL, *state);
        assert_int_equal(in->job->comms[0].n_servers, cases[i].n_servers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_sum_to_the_iteration),
        cmocka_unit_test(one_gpu_is_fully_efficient),
        cmocka_unit_test(ddp_ends_with_its_worst_bucket),
        cmocka_unit_test(without_overlap_all_communication_is_exposed),
        cmocka_unit_test(the_fabric_counts_when_it_is_crossed_and_only_then),
        cmocka_unit_test(one_slow_card_is_named),
        cmocka_unit_test(alike_links_are_counted),
        cmocka_unit_test(compute_limits_where_links_are_fast),
        cmocka_unit_test(launch_limits_where_the_host_is_slow),
        cmocka_unit_test(latency_limits_where_messages_are_small),
        cmocka_unit_test(more_than_the_peak_is_warned_of),
        cmocka_unit_test(a_collective_takes_its_closed_form_in_all_fidelities),
        cmocka_unit_test(servers_stand_where_the_library_has_a_use_for_them),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
