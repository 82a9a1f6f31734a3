#include "adjust.h"

#include "io/scenario.h"
#include "predict.h"
#include "test.h"

static const struct inputs *load(const char *adjust, int n_gpus, struct arena *perm)
{
    const char *text =
        arena_text(perm,
                   "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"n_gpus\": %d, "
                   "\"gpu\": \"h100-sxm-80\", \"run\": {\"fidelity\": \"estimate\"}, "
                   "\"adjust\": %s}",
                   n_gpus, adjust);
    struct diag diag = {.perm = perm};
    struct scenario_options options = {.profile_dir = "scenarios"};
    const struct inputs *in =
        scenario_load_text("t", text, strlen(text), &options, NULL, perm, &diag);
    if (!in) diag_print(&diag, stderr);
    assert_non_null(in);
    return in;
}

static double step_s(const char *adjust, int n_gpus, struct arena *perm)
{
    return predict(load(adjust, n_gpus, perm), perm)->iteration_s;
}

static double all_reduce_s(const char *adjust, int n_gpus, double size_B, struct arena *perm)
{
    const struct inputs *in =
        inputs_collective(load(adjust, n_gpus, perm), COLL_ALLREDUCE, size_B, NULL, NULL, perm);
    return predict_collective(in, perm).time_s;
}

static void ones_change_nothing_to_the_bit(void **state)
{
    const char *ones = "{\"compute\": 1, \"latency\": 1, \"scaleup_rate\": 1, \"network_rate\": 1}";
    assert_close(step_s(ones, 16, *state), step_s("{}", 16, *state), 0);
}

/* One GPU only computes: twice the kernels' time is twice the step, but for the host; 5 ms come on top. */
static void kernels_and_overhead_add_up(void **state)
{
    double alone_s = step_s("{}", 1, *state);
    double twice_s = step_s("{\"compute\": 2}", 1, *state);
    assert_close(twice_s, 2 * alone_s, 0.01);
    assert_close(step_s("{\"compute\": 2, \"overhead\": \"5ms\"}", 1, *state), twice_s + 5e-3,
                 0.01);
}

/* 1 KB takes latency alone, 1 GiB rate alone, within a few per cent; four servers, as two are held back by
 * their switches as well. */
static void each_factor_moves_its_end_of_the_sizes(void **state)
{
    double small_s = all_reduce_s("{}", 32, 1024, *state);
    double large_s = all_reduce_s("{}", 32, 1 << 30, *state);
    assert_close(all_reduce_s("{\"latency\": 2}", 32, 1024, *state), 2 * small_s, 0.02);
    assert_close(all_reduce_s("{\"latency\": 2}", 32, 1 << 30, *state), large_s, 0.05);
    assert_close(all_reduce_s("{\"network_rate\": 0.5}", 32, 1024, *state), small_s, 0.02);
    assert_close(all_reduce_s("{\"network_rate\": 0.5}", 32, 1 << 30, *state), 2 * large_s, 0.05);
    assert_close(all_reduce_s("{\"network_rate\": 0.5}", 8, 1 << 30, *state),
                 all_reduce_s("{}", 8, 1 << 30, *state), 0);
}

static void no_factor_lifts_a_link_above_its_line_rate(void **state)
{
    const struct inputs *in = load("{\"network_rate\": 100, \"scaleup_rate\": 100}", 16, *state);
    for (int c = 0; c < in->library.n_choices; c++) {
        assert_true(in->library.choices[c].efficiency_net <= 1);
        assert_true(in->library.choices[c].efficiency_scaleup <= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ones_change_nothing_to_the_bit),
        cmocka_unit_test(kernels_and_overhead_add_up),
        cmocka_unit_test(each_factor_moves_its_end_of_the_sizes),
        cmocka_unit_test(no_factor_lifts_a_link_above_its_line_rate),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
