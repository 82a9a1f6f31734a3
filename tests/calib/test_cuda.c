/* The CUDA backend on a device that a CPU plays (cuda_on_cpu.hh): every kernel, product, copy and collective
 * computes what the backend's own checks ask for, in every type, at lengths that are no whole vectors too.
 * What is fast is for a real device to say. */
#include "calib/backend.h"

#include "test.h"

static void assert_computed(const struct calib_case *c, bool has_result)
{
    char why[1024] = "";
    if (!calib_cuda.supports(c, why, sizeof why) || !calib_cuda.prepare(c, why, sizeof why))
        fail_msg("%s", why);
    double off = calib_cuda.check(c, why, sizeof why);
    double time_s = calib_cuda.run(c, 2, why, sizeof why);
    calib_cuda.release(c);
    calib_cuda.release(c); /* a second time is harmless */
    if (has_result && !(off >= 0 && off < 1))
        fail_msg("%s %s: off by %g: %s", c->benchmark, c->dtype, off, why);
    if (!has_result) assert_true(off < 0);
    if (!(time_s > 0)) fail_msg("%s %s: %g s: %s", c->benchmark, c->dtype, time_s, why);
}

static void assert_all_computed(const struct calib_case *cases, size_t n, bool have_results)
{
    for (size_t i = 0; i < n; i++) assert_computed(&cases[i], have_results);
}
#define ASSERT_ALL_COMPUTED(cases, have_results)                                                   \
    assert_all_computed(cases, sizeof(cases) / sizeof(cases)[0], have_results)

static void products_are_right_in_every_type_and_layout(void **state)
{
    (void)state;
    static const struct calib_case cases[] = {
        {"gemm", "fp32", "nn", 33, 17, 65, 1, 0, 1}, {"gemm", "fp32", "tn", 9, 17, 5, 2, 0, 1},
        {"gemm", "bf16", "nt", 64, 48, 32, 3, 0, 1}, {"gemm", "fp16", "tn", 40, 24, 56, 0, 0, 1},
        {"gemm", "tf32", "nt", 16, 24, 8, 1, 0, 1},  {"gemm", "fp8", "nt", 32, 16, 128, 1, 0, 1},
        {"gemm", "bf16", "nn", 1, 1, 1, 1, 0, 1},
    };
    ASSERT_ALL_COMPUTED(cases, true);
}

static void kernels_are_right_at_whole_vectors_and_at_odd_lengths(void **state)
{
    (void)state;
    static const struct calib_case cases[] = {
        {"elementwise", "fp32", "", 7, 33, 0, 0, 0, 1},
        {"elementwise", "bf16", "", 8, 256, 0, 0, 0, 1},
        {"elementwise", "fp16", "", 1, 5, 0, 0, 0, 1},
        {"reduction", "fp32", "", 9, 33, 0, 0, 0, 1},
        {"reduction", "bf16", "", 2, 2048, 0, 0, 0, 1},
        {"reduction", "fp16", "", 1, 1025, 0, 0, 0, 1},
        {"softmax", "fp32", "", 9, 33, 0, 0, 0, 1},
        {"softmax", "bf16", "", 2, 2048, 0, 0, 0, 1},
        {"softmax", "fp16", "", 1, 8192, 0, 0, 0, 1},
        {"softmax", "bf16", "", 13, 256, 0, 0, 0, 1},
        {"layer_norm", "fp32", "", 9, 33, 0, 0, 0, 1},
        {"layer_norm", "bf16", "", 2, 2048, 0, 0, 0, 1},
        {"layer_norm", "fp16", "", 1, 4104, 0, 0, 0, 1},
        {"optimizer", "fp32", "", 1, 1001, 0, 0, 0, 1},
        {"optimizer", "bf16", "", 1, 514, 0, 0, 0, 1},
        {"copy", "", "", 0, 0, 0, 0, 1, 1},
        {"copy", "", "", 0, 0, 0, 0, 16384 + 13, 1},
        {"stream", "", "", 0, 0, 0, 0, 6 * 1024, 1},
        {"stream", "", "", 0, 0, 0, 0, 100, 1},
    };
    ASSERT_ALL_COMPUTED(cases, true);
}

static void attention_is_right_over_heads(void **state)
{
    (void)state;
    static const struct calib_case cases[] = {
        {"attention", "fp32", "", 17, 31, 16, 3, 0, 1},
        {"attention", "bf16", "", 16, 64, 16, 2, 0, 1},
        {"attention", "fp16", "", 4, 1040, 8, 0, 0, 1},
    };
    ASSERT_ALL_COMPUTED(cases, true);
}

static void copies_arrive_whole(void **state)
{
    (void)state;
    static const struct calib_case cases[] = {
        {"host_to_device", "", "", 0, 0, 0, 0, 64, 1},
        {"host_to_device", "", "", 0, 0, 0, 0, 200001, 1},
        {"device_to_host", "", "", 0, 0, 0, 0, 99, 1},
        {"device_to_device", "", "", 0, 0, 0, 0, 4097, 1},
        {"peer", "", "", 0, 0, 0, 0, 4097, 2},
    };
    ASSERT_ALL_COMPUTED(cases, true);
}

static void collectives_leave_with_each_rank_what_is_its_own(void **state)
{
    (void)state;
    static const struct calib_case cases[] = {
        {"all_reduce", "fp32", "", 0, 0, 0, 0, 4100, 4},
        {"all_gather", "fp32", "", 0, 0, 0, 0, 4100, 3},
        {"reduce_scatter", "bf16", "", 0, 0, 0, 0, 4100, 4},
        {"broadcast", "fp16", "", 0, 0, 0, 0, 4100, 2},
        {"reduce", "fp32", "", 0, 0, 0, 0, 4100, 4},
        {"gather", "fp32", "", 0, 0, 0, 0, 4096, 4},
        {"scatter", "fp32", "", 0, 0, 0, 0, 4096, 4},
        {"all_to_all", "fp32", "", 0, 0, 0, 0, 4096, 4},
        {"send_recv", "fp32", "", 0, 0, 0, 0, 4096, 3},
    };
    ASSERT_ALL_COMPUTED(cases, true);
}

static void launches_and_disturbed_work_are_timed_only(void **state)
{
    (void)state;
    static const struct calib_case cases[] = {
        {"launch", "", "", 0, 0, 0, 0, 0, 1},
        {"launch_stream", "", "", 0, 16, 0, 0, 0, 1},
        {"launch_graph", "", "", 0, 16, 0, 0, 0, 1},
        {"gemm_during_copy", "bf16", "nn", 16, 16, 16, 1, 4096, 1},
        {"copy_during_gemm", "tf32", "nn", 16, 16, 16, 1, 4096, 1},
        {"gemm_during_all_reduce", "bf16", "nn", 16, 16, 16, 1, 4096, 4},
    };
    ASSERT_ALL_COMPUTED(cases, false);
}

static void what_cannot_run_says_why(void **state)
{
    (void)state;
    static const struct {
        struct calib_case c;
        const char *why;
    } rows[] = {
        {{"gemm", "fp8", "nn", 32, 64, 128, 1, 0, 1}, "fp8 as nt only"},
        {{"gemm", "fp8", "nt", 24, 64, 128, 1, 0, 1}, "whole 16s"},
        {{"gemm", "fp64", "nn", 24, 64, 128, 1, 0, 1}, "not a type"},
        {{"gemm", "bf16", "", 24, 64, 128, 1, 0, 1}, "not a layout"},
        {{"gemm", "bf16", "nn", 400000, 400000, 16, 1, 0, 1}, "needs 320 GB"},
        {{"softmax", "fp8", "", 4, 4, 0, 0, 0, 1}, "not a type"},
        {{"launch_graph", "", "", 0, 0, 0, 0, 0, 1}, "not a number of launches"},
        {{"all_reduce", "fp32", "", 0, 0, 0, 0, 4, 4}, "less than one number for each rank"},
        {{"all_reduce", "fp32", "", 0, 0, 0, 0, 4096, 5}, "there are 4 GPUs"},
        {{"all_reduce", "fp32", "", 0, 0, 0, 0, 4096, 1}, "needs two GPUs"},
        {{"ping_pong", "", "", 0, 0, 0, 0, 4096, 2}, "no such benchmark"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char why[1024] = "";
        assert_false(calib_cuda.supports(&rows[i].c, why, sizeof why));
        if (!strstr(why, rows[i].why)) fail_msg("\"%s\" lacks \"%s\"", why, rows[i].why);
    }
}

static int open_device(void **state)
{
    struct calib_machine machine;
    char why[256] = "";
    (void)state;
    if (!calib_cuda.open(&machine, 7, why, sizeof why)) return -1;
    return strcmp(machine.device, "played on a CPU") == 0 && machine.n_devices == 4 ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    calib_cuda.close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right_in_every_type_and_layout),
        cmocka_unit_test(kernels_are_right_at_whole_vectors_and_at_odd_lengths),
        cmocka_unit_test(attention_is_right_over_heads),
        cmocka_unit_test(copies_arrive_whole),
        cmocka_unit_test(collectives_leave_with_each_rank_what_is_its_own),
        cmocka_unit_test(launches_and_disturbed_work_are_timed_only),
        cmocka_unit_test(what_cannot_run_says_why),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
