#include "out/report.h"

#include "sample.h"

static const char *page_of(const struct result *result, struct arena *perm)
{
    char *text;
    size_t size;
    PRINTED(text, size, report_page(out, result, "Why?"));
    const char *page = arena_text(perm, "%s", text);
    free(text);
    return page;
}

static void the_page_says_what_matters(void **state)
{
    static const char *const wanted[] = {
        "sample, \"quoted\"",
        "Why?",
        "16 x V100",
        "100 ms",
        "90 ms to 120 ms",
        "10240 images/s",
        "85.0 % of 16 times one GPU",
        "10.0 % of the step",
        "exposed communication",
        "nic: node 0 nic 0 -> leaf 0",
        "step 40.0 % shorter",
        "fits",
        "a warning",
        "fluid",
    };
    const char *page = page_of(sample_result(1, *state), *state);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (!strstr(page, wanted[i])) fail_msg("no '%s' in:\n%s", wanted[i], page);
    }
}

static bool says(const struct result *result, const char *words)
{
    struct arena *perm = arena_open((size_t)1 << 20);
    bool found = strstr(page_of(result, perm), words) != NULL;
    arena_close(perm);
    return found;
}

/* efficiency is good above 0.9; exposed communication below a tenth of the step */
static void verdicts_turn_at_the_fields_limits(void **state)
{
    struct result *result = sample_result(1, *state);
    result->scaling_efficiency = 0.899;
    assert_true(says(result, "poor (90 % is good)"));
    result->scaling_efficiency = 0.901;
    assert_true(says(result, "good (above 90 %)"));
    result->exposed_communication_s = 0.101 * result->iteration_s;
    assert_true(says(result, "much (below 10 % is good)"));
    result->exposed_communication_s = 0.099 * result->iteration_s;
    assert_true(says(result, "good (below 10 %)"));
}

static void one_gpu_is_not_compared_with_itself(void **state)
{
    struct result *result = sample_result(1, *state);
    struct inputs *in = sample_inputs(*state);
    in->n_gpus = 1;
    result->in = in;
    assert_false(says(result, "times one GPU"));
}

/* 30 of 100 ms is 12 of 40 characters */
static void bars_are_as_long_as_their_share(void **state)
{
    const char *page = page_of(sample_result(1, *state), *state);
    const char *forward = strstr(page, "  forward");
    assert_non_null(forward);
    const char *bar = strchr(forward, '#');
    assert_int_equal(strspn(bar, "#"), 12);
    assert_null(strstr(page, "straggler")); /* no line for what takes no time */
}

static void what_does_not_fit_is_said_loudly(void **state)
{
    struct result *result = sample_result(1, *state);
    result->fits = false;
    assert_true(says(result, "DOES NOT FIT"));
    assert_true(says(result, "less: batch_per_gpu;")); /* and what would */
    result->held = (struct held){.weights_B = 1073741824.0, .optimizer_B = 2147483648.0};
    result->activations_B = 536870912.0;
    assert_true(says(result, "of it: weights 1 GiB, optimizer state 2 GiB, activations 512 MiB\n"));
}

/* Whether attention is fused matters to long sequences in half precision, and is asked nobody who said it. */
static void attention_that_was_not_spoken_of_is(void **state)
{
    struct result *result = sample_result(1, *state);
    struct inputs *in = sample_inputs(*state);
    in->train.dtype = DTYPE_BF16;
    in->model->tokens_per_sample = 4096;
    result->in = in;
    assert_false(says(result, "fused_attention"));
    in->plain_attention = true;
    assert_true(says(result, "--set /model/fused_attention=true"));
    in->train.dtype = DTYPE_TF32;
    assert_false(says(result, "fused_attention"));
    in->train.dtype = DTYPE_BF16;
    in->model->tokens_per_sample = 512;
    assert_false(says(result, "fused_attention"));
}

/* What is named is not asked for; nor is it where 16 bits are no faster. */
static void precision_that_was_not_spoken_of_is(void **state)
{
    struct result *result = sample_result(1, *state);
    struct inputs *in = sample_inputs(*state);
    result->in = in;
    in->gpu.peak_flops[DTYPE_FP32] = 15.7e12;
    in->plain_precision = true;
    assert_false(says(result, "/precision"));
    in->gpu.peak_flops[DTYPE_FP16] = 125e12;
    assert_true(says(result, "--set /precision=fp16\n"));
    in->gpu.peak_flops[DTYPE_BF16] = 124e12;
    assert_true(says(result, "--set /precision=bf16\n"));
    in->plain_precision = false;
    assert_false(says(result, "/precision"));
}

static void comparison_is_relative_to_the_first(void **state)
{
    struct result *slow = sample_result(1, *state);
    slow->iteration_s = 0.25;
    const struct result *const both[] = {sample_result(1, *state), slow};
    char *text;
    size_t size;
    PRINTED(text, size, report_comparison(out, both, 2));
    assert_non_null(strstr(text, "1.00x"));
    assert_non_null(strstr(text, "2.50x"));
    free(text);
}

static void defaults_are_told_from_what_was_given(void **state)
{
    (void)state;
    struct field_use uses[] = {{"fabric", "kind", "fat-tree", NULL, false},
                               {"fabric", "levels", "0", "the fewest that fit", true}};
    struct field_log log = {uses, 2, 2};
    char *text;
    size_t size;
    PRINTED(text, size, report_values(out, &log));
    assert_non_null(strstr(text, "= fat-tree\n"));
    assert_non_null(strstr(text, "~ the fewest that fit (0)\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_says_what_matters),
        cmocka_unit_test(verdicts_turn_at_the_fields_limits),
        cmocka_unit_test(one_gpu_is_not_compared_with_itself),
        cmocka_unit_test(bars_are_as_long_as_their_share),
        cmocka_unit_test(what_does_not_fit_is_said_loudly),
        cmocka_unit_test(attention_that_was_not_spoken_of_is),
        cmocka_unit_test(precision_that_was_not_spoken_of_is),
        cmocka_unit_test(comparison_is_relative_to_the_first),
        cmocka_unit_test(defaults_are_told_from_what_was_given),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
