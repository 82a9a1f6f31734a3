/* Intervals of whole steps and of collectives: sides of the parts, joined by elasticities. */
#include "../workload/rig.h"
#include "ideal.h"

#include "interval.h"
#include "predict.h"
#include "workload/measured.h"

static const struct sides compute = {0.05, 0.08};
static const struct sides inside = {0.1, 0.2};
static const struct sides between = {0.3, 0.6};

/* Gradients are sent after backward, so that a step is a sum of kernels and collectives. */
static struct inputs *step_of(int n_gpus, double one_gpu_s, struct arena *perm)
{
    struct topo *topo = build_topo(&ideal_node, &one_switch, n_gpus, perm);
    struct train_spec spec = rig_spec("ddp");
    struct gpu gpu = rig_gpu();
    struct model *model = rig_model("resnet50", perm);
    spec.n_ranks = topo->n_gpus;
    spec.n_nodes = topo->n_nodes;
    spec.one_gpu_s = one_gpu_s;
    spec.overlap = false;
    struct inputs *in = build_inputs(topo, rig_job(&spec, model, &gpu, perm), perm);
    in->model = model;
    in->gpu = gpu;
    in->train = spec;
    in->spread_compute = compute;
    for (int size = 0; size < LIB_N_SIZES; size++) {
        in->library.spread[LIB_INSIDE][size] = inside;
        in->library.spread[LIB_BETWEEN][size] = between;
    }
    return in;
}

static struct sides sides_of(const struct result *result)
{
    return (struct sides){log(result->iteration_s / result->interval_s[0]),
                          log(result->interval_s[1] / result->iteration_s)};
}

static void a_step_without_network_is_as_uncertain_as_its_compute(void **state)
{
    struct sides sides = sides_of(predict(step_of(1, 0.2, *state), *state));
    assert_close(sides.faster, compute.faster, 1e-9);
    assert_close(sides.slower, compute.slower, 1e-9);
}

static void profiles_without_spread_leave_no_interval(void **state)
{
    struct inputs *in = step_of(8, 0.2, *state);
    in->spread_compute = (struct sides){0};
    in->library.spread[LIB_BETWEEN][0] = (struct sides){0};
    for (int size = 0; size < LIB_N_SIZES; size++)
        in->library.spread[LIB_INSIDE][size] = in->library.spread[LIB_BETWEEN][size] =
            (struct sides){0};
    const struct result *result = predict(in, *state);
    assert_close(result->interval_s[0], result->iteration_s, 1e-12);
    assert_close(result->interval_s[1], result->iteration_s, 1e-12);
}

/* One GPU a server: all sends leave it. Without overlap the share of network is what is exposed, n;
 * each side is hypot((1 - n) compute, n between). */
static void a_step_inherits_by_its_shares(void **state)
{
    struct inputs *in = step_of(8, 0.2, *state);
    const struct result *result = predict(in, *state);
    double n = result->exposed_communication_s / result->iteration_s;
    assert_true(n > 0.01 && n < 0.99);
    struct sides sides = sides_of(result);
    assert_close(sides.faster, hypot((1 - n) * compute.faster, n * between.faster), 0.02);
    assert_close(sides.slower, hypot((1 - n) * compute.slower, n * between.slower), 0.02);
}

/* estimate differentiates along its longest path, fluid takes a finite difference. */
static void both_ways_to_an_elasticity_agree(void **state)
{
    struct inputs *in = step_of(8, 0.2, *state);
    struct sides fluid = sides_of(predict(in, *state));
    in->fidelity = FIDELITY_ESTIMATE;
    struct sides estimate = sides_of(predict(in, *state));
    assert_close(estimate.faster, fluid.faster, 0.02);
    assert_close(estimate.slower, fluid.slower, 0.02);
}

/* 1.645 hypot(0.03, 0.04) = 0.0822 joins both sides, unless one GPU was measured. */
static void a_calibration_adds_what_it_leaves_open(void **state)
{
    const struct measured_part part = {
        .part = "product", .dtype = "", .unit = "FLOP", .fit_sd = 0.03, .left_out_sd = 0.04};
    const struct measured measured = {.parts = &part, .n_parts = 1};
    struct inputs *in = step_of(1, 0, *state);
    in->gpu.measured = &measured;
    struct sides sides = sides_of(predict(in, *state));
    assert_close(sides.faster, hypot(compute.faster, 1.6448536 * 0.05), 1e-6);
    assert_close(sides.slower, hypot(compute.slower, 1.6448536 * 0.05), 1e-6);
    in = step_of(1, 0.2, *state);
    in->gpu.measured = &measured;
    assert_close(sides_of(predict(in, *state)).faster, compute.faster, 1e-9);
}

static void a_collective_has_the_spread_of_its_size(void **state)
{
    struct inputs *base = step_of(8, 0.2, *state);
    base->library.spread[LIB_BETWEEN][1] = (struct sides){0.7, 0.9};
    static const struct {
        double size_B;
        struct sides sides;
    } cases[] = {{1e3, {0.3, 0.6}}, {64e3, {0.7, 0.9}}, {7e6, {0.7, 0.9}}, {8e6, {0.3, 0.6}}};
    for (int i = 0; i < 4; i++) {
        struct collective_time time = predict_collective(
            inputs_collective(base, COLL_ALLREDUCE, cases[i].size_B, "ring", NULL, *state), *state);
        assert_close(log(time.time_s / time.interval_s[0]), cases[i].sides.faster, 1e-9);
        assert_close(log(time.interval_s[1] / time.time_s), cases[i].sides.slower, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_without_network_is_as_uncertain_as_its_compute),
        cmocka_unit_test(profiles_without_spread_leave_no_interval),
        cmocka_unit_test(a_step_inherits_by_its_shares),
        cmocka_unit_test(both_ways_to_an_elasticity_agree),
        cmocka_unit_test(a_calibration_adds_what_it_leaves_open),
        cmocka_unit_test(a_collective_has_the_spread_of_its_size),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
