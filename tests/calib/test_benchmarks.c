#include "calib/benchmarks.h"

#include "base/raw.h"
#include "test.h"

static struct calib_cases cases_of(const char *name, bool quick, struct arena *perm)
{
    struct calib_request *request = arena_new(perm, struct calib_request, 1);
    const char **only = arena_new(perm, const char *, 2);
    only[0] = name;
    *request = (struct calib_request){.only = only, .quick = quick, .n_devices = 6};
    return benchmark_cases(request, perm);
}

/* what a backend is asked for can be written as a row and read again */
static void every_case_is_a_whole_row(void **state)
{
    struct arena *perm = *state;
    struct calib_request request = {.n_devices = 4};
    struct calib_cases all = benchmark_cases(&request, perm);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    raw_write_head(out, NULL, 0);
    for (int i = 0; i < all.n; i++) {
        const struct calib_case *c = &all.cases[i];
        struct raw_row row = {.benchmark = c->benchmark,
                              .dtype = c->dtype,
                              .layout = c->layout,
                              .m = c->m,
                              .n = c->n,
                              .k = c->k,
                              .batch = c->batch,
                              .size_B = c->size_B,
                              .n_ranks = c->n_ranks,
                              .time_s = 1,
                              .check = -1};
        raw_write_row(out, &row);
    }
    fclose(out);
    struct diag diag = {.perm = perm};
    const struct raw *raw = raw_read_text("cases", text, length, perm, &diag);
    assert_true(diag_ok(&diag));
    assert_int_equal(raw->n_rows, all.n);
    free(text);
}

static void each_benchmark_has_cases_quick_ones_fewer_over_the_same_range(void **state)
{
    struct arena *perm = *state;
    for (int b = 0; b < n_calib_benchmarks; b++) {
        const char *name = calib_benchmarks[b].name;
        struct calib_cases full = cases_of(name, false, perm);
        struct calib_cases quick = cases_of(name, true, perm);
        assert_true(quick.n > 0 && quick.n <= full.n);
        double most[2] = {0};
        for (int i = 0; i < full.n; i++) most[0] = fmax(most[0], benchmark_bytes(&full.cases[i]));
        for (int i = 0; i < quick.n; i++) most[1] = fmax(most[1], benchmark_bytes(&quick.cases[i]));
        assert_true(most[1] >= most[0] / 16);
        assert_non_null(raw_find(name));
    }
}

static void no_case_stands_twice(void **state)
{
    struct arena *perm = *state;
    struct calib_cases all = cases_of("gemm", false, perm);
    const char **texts = arena_new(perm, const char *, all.n);
    for (int i = 0; i < all.n; i++) {
        texts[i] = benchmark_text(&all.cases[i], perm);
        for (int j = 0; j < i; j++) assert_string_not_equal(texts[i], texts[j]);
    }
}

/* each octant of (log m, log n, log k) about their middle of 512 has shapes, in every layout */
static void shapes_of_products_fill_the_space(void **state)
{
    struct calib_cases all = cases_of("gemm", false, *state);
    int octants[8] = {0};
    int layouts[3] = {0};
    for (int i = 0; i < all.n; i++) {
        const struct calib_case *c = &all.cases[i];
        if (strcmp(c->dtype, "bf16") != 0) continue;
        octants[(c->m > 512) + 2 * (c->n > 512) + 4 * (c->k > 512)]++;
        layouts[c->layout[0] == 't' ? 2 : c->layout[1] == 't']++;
    }
    for (int o = 0; o < 8; o++) assert_true(octants[o] >= 8);
    for (int l = 0; l < 3; l++) assert_true(layouts[l] >= 50);
}

/* 2 m n k; two products of 2 m n k over the heads; 7 numbers of 4 bytes each; m n read, m sums written */
static void work_is_counted_as_everybody_does(void **state)
{
    (void)state;
    struct calib_case gemm = {
        .benchmark = "gemm", .dtype = "bf16", .m = 10, .n = 20, .k = 30, .batch = 2};
    assert_close(benchmark_flop(&gemm), 24000, 0);
    assert_close(benchmark_bytes(&gemm), 2 * 2 * (300 + 600 + 200), 0);
    struct calib_case attention = {
        .benchmark = "attention", .dtype = "fp16", .m = 128, .n = 128, .k = 64, .batch = 16};
    assert_close(benchmark_flop(&attention), 4.0 * 128 * 128 * 64 * 16, 0);
    struct calib_case copy = {.benchmark = "copy", .dtype = "", .size_B = 100};
    assert_close(benchmark_bytes(&copy), 200, 0);
}

static void sizes_of_rows_are_the_bytes_that_move(void **state)
{
    static const struct {
        const char *name;
        double bytes; /* of m = 16, n = 1024, fp32 */
    } want[] = {{"elementwise", 3 * 65536.0},
                {"reduction", 65536 + 64},
                {"softmax", 2 * 65536.0},
                {"layer_norm", 2 * 65536.0 + 2 * 4096}};
    for (size_t w = 0; w < sizeof want / sizeof want[0]; w++) {
        struct calib_cases cases = cases_of(want[w].name, true, *state);
        assert_int_equal(cases.cases[0].m, 16);
        assert_int_equal(cases.cases[0].n, 1024);
        assert_close(cases.cases[0].size_B, want[w].bytes, 0);
    }
}

static void collectives_run_on_powers_of_two_and_all(void **state)
{
    struct calib_cases cases = cases_of("all_reduce", true, *state);
    int seen[7] = {0};
    for (int i = 0; i < cases.n; i++) seen[cases.cases[i].n_ranks]++;
    assert_true(seen[2] > 0 && seen[4] > 0 && seen[6] > 0);
    assert_true(seen[1] == 0 && seen[3] == 0 && seen[5] == 0);
}

static void limits_leave_out_what_is_larger_and_count_it(void **state)
{
    const char *const only[] = {"gemm", "copy", NULL};
    struct calib_request request = {
        .only = only, .dtype = "fp32", .most_flop = 1e9, .most_B = 1e8, .n_devices = 1};
    struct calib_cases cases = benchmark_cases(&request, *state);
    assert_true(cases.n > 50 && cases.n_larger > 20);
    for (int i = 0; i < cases.n; i++) {
        assert_true(benchmark_flop(&cases.cases[i]) <= 1e9);
        assert_true(benchmark_bytes(&cases.cases[i]) <= 1e8);
        assert_true(cases.cases[i].dtype[0] == '\0' || strcmp(cases.cases[i].dtype, "fp32") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_a_whole_row),
        cmocka_unit_test(each_benchmark_has_cases_quick_ones_fewer_over_the_same_range),
        cmocka_unit_test(no_case_stands_twice),
        cmocka_unit_test(shapes_of_products_fill_the_space),
        cmocka_unit_test(work_is_counted_as_everybody_does),
        cmocka_unit_test(sizes_of_rows_are_the_bytes_that_move),
        cmocka_unit_test(collectives_run_on_powers_of_two_and_all),
        cmocka_unit_test(limits_leave_out_what_is_larger_and_count_it),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
