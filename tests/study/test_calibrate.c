/* Raw measurements made from known constants give those constants back, within their errors; what is
 * missing stays; what is too little is refused. */
#include "study/calibrate.h"

#include "base/rng.h"
#include "test.h"

enum { N_SEEDS = 200, MOST_ROWS = 400 };

static const double NOISE = 0.04; /* relative, of made measurements */

static struct gpu true_gpu(void)
{
    return (struct gpu){.name = "made up",
                        .source = "made up",
                        .peak_flops = {10e12, 0, 100e12, 0, 0, 0, 0},
                        .matrix_frac = {0.8, 0.7, 0.6, 0.7, 0.7, 0.7, 0.7},
                        .tile_edge = 40.0,
                        .product_floor_s = 12e-6,
                        .vector_flops = 10e12,
                        .hbm_Bps = 1e12,
                        .hbm_frac = 0.8,
                        .hbm_half_B = 2e6,
                        .memory_B = 32e9,
                        .kernel_floor_s = 3e-6,
                        .issue_s = 5e-6,
                        .attention_frac = 0.4};
}

/* another GPU of the same data sheet: where fits start */
static struct gpu base_gpu(void)
{
    struct gpu gpu = true_gpu();
    gpu.matrix_frac[DTYPE_FP32] = gpu.matrix_frac[DTYPE_FP16] = 0.5;
    gpu.tile_edge = 10.0;
    gpu.product_floor_s = 5e-6;
    gpu.hbm_frac = 0.6;
    gpu.hbm_half_B = 1e6;
    gpu.kernel_floor_s = 3e-6;
    gpu.attention_frac = 0.2;
    return gpu;
}

struct maker {
    struct raw raw;
    struct raw_row rows[MOST_ROWS];
    struct raw_head heads[2];
    struct rng *rng; /* NULL = no noise */
};

static void maker_open(struct maker *maker, uint64_t seed, struct arena *perm)
{
    *maker = (struct maker){.heads = {{"device", "made up"}, {"date", "2026-01-31"}}};
    maker->raw = (struct raw){"raw.csv", maker->heads, 2, maker->rows, 0};
    if (seed > 0) maker->rng = rng_open(seed, "calibrate", perm);
}

static void add(struct maker *maker, struct raw_row row)
{
    assert_true(maker->raw.n_rows < MOST_ROWS);
    if (maker->rng) row.time_s = rng_lognormal(maker->rng, row.time_s, NOISE);
    row.note = "";
    if (!row.layout) row.layout = "";
    if (!row.dtype) row.dtype = "";
    row.check = -1.0;
    row.line = 5 + maker->raw.n_rows;
    maker->rows[maker->raw.n_rows++] = row;
}

/* sides from 128 to 4096 */
static void add_products(struct maker *maker, enum dtype dtype)
{
    struct gpu gpu = true_gpu();
    for (int m = 128; m <= 4096; m *= 2) {
        for (int n = 128; n <= m; n *= 2) {
            for (int k = 256; k <= 2048; k *= 8) {
                struct kernel_shape shape = {m, n, k, 1, PRODUCT_NN, 0};
                add(maker, (struct raw_row){.benchmark = "gemm",
                                            .dtype = dtype_names[dtype],
                                            .m = m,
                                            .n = n,
                                            .k = k,
                                            .batch = 1,
                                            .time_s = kernel_product(&gpu, &shape, dtype).time_s});
            }
        }
    }
}

static void add_copies(struct maker *maker)
{
    struct gpu gpu = true_gpu();
    for (double size_B = 1024.0; size_B < 1e9; size_B *= 1.25)
        add(maker, (struct raw_row){.benchmark = "copy",
                                    .size_B = size_B,
                                    .time_s = kernel_stream(&gpu, 2.0 * size_B).time_s});
}

static const struct calibration *fit_on(const struct gpu *base, struct maker *maker,
                                        struct arena *perm, struct diag *diag)
{
    const struct raw **raws = arena_new(perm, const struct raw *, 1);
    struct gpu *kept = arena_new(perm, struct gpu, 1);
    raws[0] = &maker->raw;
    *kept = *base;
    struct calibrate_input input = {.raws = raws,
                                    .n_raws = 1,
                                    .base = kept,
                                    .based = base->peak_flops[DTYPE_FP32] > 0.0,
                                    .options = {.n_folds = 2}};
    return calibrate(&input, perm, diag);
}

static const struct calibration *fit(struct maker *maker, bool based, struct arena *perm,
                                     struct diag *diag)
{
    struct gpu base = base_gpu();
    if (!based) memset(base.peak_flops, 0, sizeof base.peak_flops);
    return fit_on(&base, maker, perm, diag);
}

static const struct calibrate_constant *constant(const struct calibration *fit, const char *key)
{
    for (int p = 0; p < fit->n_parts; p++) {
        for (int c = 0; c < fit->parts[p].n_constants; c++) {
            if (!strcmp(fit->parts[p].constants[c].key, key)) return &fit->parts[p].constants[c];
        }
    }
    fail_msg("no constant %s", key);
    return fit->launch;
}

static void constants_come_back_from_times_without_noise(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 0, *state);
    add_copies(&maker);
    add_products(&maker, DTYPE_FP32);
    add_products(&maker, DTYPE_FP16);
    const struct calibration *out = fit(&maker, true, *state, &diag);
    assert_non_null(out);
    assert_close(out->gpu.hbm_frac, 0.8, 1e-4);
    assert_close(out->gpu.hbm_half_B, 2e6, 1e-3);
    assert_close(out->gpu.matrix_frac[DTYPE_FP32], 0.8, 1e-4);
    assert_close(out->gpu.matrix_frac[DTYPE_FP16], 0.6, 1e-4);
    assert_close(out->gpu.tile_edge, 40.0, 1e-3);
    assert_close(out->gpu.product_floor_s, 12e-6, 1e-3);
    for (int p = 0; p < out->n_parts; p++) {
        assert_true(out->parts[p].left_out.p90 < 1e-3);
        assert_null(out->parts[p].problem);
    }
}

/* Below 2^25 bytes a cache is three times as fast, below 2^20 another one nine times: the law is that of what is
 * larger, its range says so, and how much was left out stands in a note. */
static void caches_are_no_part_of_the_memory_law(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        static struct maker maker;
        struct diag diag = {.perm = *state};
        maker_open(&maker, 0, *state);
        add_copies(&maker);
        struct rng *rng = rng_open(seed + 1, "caches", *state);
        for (int r = 0; r < maker.raw.n_rows; r++) {
            struct raw_row *row = &maker.rows[r];
            double moved_B = 2.0 * row->size_B;
            row->time_s /= moved_B < 0x1p20 ? 9.0 : moved_B < 0x1p25 ? 3.0 : 1.0;
            row->time_s = rng_lognormal(rng, row->time_s, NOISE);
        }
        const struct calibration *out = fit(&maker, true, *state, &diag);
        assert_non_null(out);
        assert_close(out->gpu.hbm_frac, 0.8, 0.05);
        assert_true(out->parts[0].left_out.median < 0.06);
        assert_true(out->parts[0].measured.least >= 0x1p25 &&
                    out->parts[0].measured.least < 0x1p27);
        bool is_said = false;
        for (int i = 0; i < out->n_notes; i++)
            is_said = is_said || strstr(out->notes[i], "caches make them faster");
        assert_true(is_said);
    }
}

/* A GPU that is as its law says keeps every row, but for chance: noise of 4 % never looks like a cache. */
static void one_law_for_all_sizes_keeps_them(void **state)
{
    for (uint64_t seed = 1; seed <= 25; seed++) {
        static struct maker maker;
        struct diag diag = {.perm = *state};
        maker_open(&maker, seed, *state);
        add_copies(&maker);
        const struct calibration *out = fit(&maker, true, *state, &diag);
        assert_non_null(out);
        assert_int_equal(out->parts[0].n_rows, maker.raw.n_rows);
    }
}

/* Each constant's 90 % interval, value times exp(+- 1.645 standard errors), holds the truth in 85 to
 * 95 % of 200 seeds. */
static void intervals_hold_the_truth_as_often_as_they_say(void **state)
{
    static const struct {
        const char *key;
        double truth;
    } claims[] = {{"memory_reach", 0.8},
                  {"memory_half", 2e6},
                  {"reach_fp16", 0.6},
                  {"tile_edge", 40.0},
                  {"product_floor", 12e-6}};
    enum { N_CLAIMS = sizeof claims / sizeof claims[0] };
    static struct maker maker;
    int covered[N_CLAIMS] = {0};
    for (int seed = 1; seed <= N_SEEDS; seed++) {
        struct arena scratch = *(struct arena *)*state;
        struct diag diag = {.perm = &scratch};
        maker_open(&maker, (uint64_t)seed, &scratch);
        add_copies(&maker);
        add_products(&maker, DTYPE_FP16);
        const struct calibration *out = fit(&maker, true, &scratch, &diag);
        assert_non_null(out);
        for (int c = 0; c < N_CLAIMS; c++) {
            const struct calibrate_constant *found = constant(out, claims[c].key);
            double off = fabs(log(found->value / claims[c].truth));
            covered[c] += off < 1.645 * found->relative_sd;
        }
    }
    for (int c = 0; c < N_CLAIMS; c++) {
        if (covered[c] < 0.85 * N_SEEDS || covered[c] > 0.95 * N_SEEDS)
            fail_msg("%s: covered in %d of %d seeds", claims[c].key, covered[c], N_SEEDS);
    }
}

/* Copies of one size tell nothing of the half-size; products of one shape nothing of the edge. */
static void too_few_rows_are_refused_with_their_file(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 0, *state);
    add(&maker, (struct raw_row){.benchmark = "copy", .size_B = 1e6, .time_s = 1e-5});
    add(&maker,
        (struct raw_row){
            .benchmark = "gemm", .dtype = "fp16", .m = 64, .n = 64, .k = 64, .time_s = 1e-5});
    assert_null(fit(&maker, true, *state, &diag));
    assert_int_equal(diag.n_messages, 2);
    assert_non_null(strstr(diag.messages[0], "raw.csv: 1 row of copies"));
    assert_non_null(strstr(diag.messages[1], "raw.csv: 1 row of gemm"));
}

static bool noted(const struct calibration *fit, const char *words)
{
    for (int i = 0; i < fit->n_notes; i++) {
        if (strstr(fit->notes[i], words)) return true;
    }
    return false;
}

static void what_was_not_measured_stays_and_is_named(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 0, *state);
    add_copies(&maker);
    const struct calibration *out = fit(&maker, true, *state, &diag);
    assert_non_null(out);
    assert_close(out->gpu.matrix_frac[DTYPE_FP16], 0.5, 0);
    assert_close(out->gpu.tile_edge, 10.0, 0);
    assert_true(noted(out, "no rows of gemm"));
    assert_true(noted(out, "kernel_floor"));
}

/* a product that was computed wrongly, and a type that no GPU here has */
static void rows_that_cannot_be_used_are_named(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 0, *state);
    add_copies(&maker);
    add_products(&maker, DTYPE_FP16);
    int n = maker.raw.n_rows;
    maker.rows[n - 1].check = 40.0;
    maker.rows[n - 1].time_s = 1.0;
    maker.rows[n - 2].dtype = "int8";
    const struct calibration *out = fit(&maker, true, *state, &diag);
    assert_non_null(out);
    assert_close(out->gpu.matrix_frac[DTYPE_FP16], 0.6, 1e-4);
    assert_true(noted(out, "its result was wrong"));
    assert_true(noted(out, "gemm in int8"));
}

/* Without a base peaks are five quarters of the best rate; what counts is peak times reach, 8 and 60
 * TFLOP/s. */
static void without_a_base_peaks_come_from_the_best_rate(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 0, *state);
    add_copies(&maker);
    add_products(&maker, DTYPE_FP32);
    add_products(&maker, DTYPE_FP16);
    const struct calibration *out = fit(&maker, false, *state, &diag);
    assert_non_null(out);
    assert_close(out->gpu.matrix_frac[DTYPE_FP32] * out->gpu.peak_flops[DTYPE_FP32], 8e12, 1e-3);
    assert_close(out->gpu.matrix_frac[DTYPE_FP16] * out->gpu.peak_flops[DTYPE_FP16], 60e12, 1e-3);
    assert_close(out->gpu.hbm_Bps * out->gpu.hbm_frac, 0.8e12, 1e-3);
}

/* latency_s + size / rate, another of each from size_B on */
static void add_link(struct maker *maker, bool two)
{
    for (double size_B = 1024.0; size_B < 1e9; size_B *= 2.0) {
        bool second = two && size_B > 1e5;
        add(maker,
            (struct raw_row){.benchmark = "host_to_device",
                             .size_B = size_B,
                             .time_s = second ? 30e-6 + size_B / 20e9 : 5e-6 + size_B / 4e9});
    }
}

static const struct calibrate_part *link_part(const struct calibration *fit)
{
    for (int p = 0; p < fit->n_parts; p++) {
        if (!strcmp(fit->parts[p].name, "host_to_device")) return &fit->parts[p];
    }
    fail_msg("no part for the link");
    return fit->parts;
}

static void a_link_gets_a_second_piece_only_where_the_data_say_so(void **state)
{
    static struct maker maker;
    int n_two = 0;
    for (int seed = 1; seed <= 20; seed++) {
        struct diag diag = {.perm = *state};
        maker_open(&maker, (uint64_t)seed, *state);
        add_copies(&maker);
        add_link(&maker, false);
        const struct calibration *out = fit(&maker, true, *state, &diag);
        assert_non_null(out);
        n_two += link_part(out)->n_constants > 2;
    }
    assert_true(n_two <= 1);
    struct diag diag = {.perm = *state};
    maker_open(&maker, 1, *state);
    add_copies(&maker);
    add_link(&maker, true);
    const struct calibration *out = fit(&maker, true, *state, &diag);
    assert_non_null(out);
    assert_close(constant(out, "alpha")->value, 5e-6, 0.1);
    assert_close(constant(out, "beta_second")->value, 1.0 / 20e9, 0.1);
    assert_close(constant(out, "second_from")->value, 131072.0, 1e-9);
}

/* n launches in a stream take 10 us and 4 us each, in a graph 8 us and 1.5 us each */
static void launches_give_the_floor_and_the_time_to_issue(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 0, *state);
    for (int n = 1; n <= 1024; n *= 4) {
        add(&maker,
            (struct raw_row){.benchmark = "launch_stream", .n = n, .time_s = 10e-6 + 4e-6 * n});
        add(&maker,
            (struct raw_row){.benchmark = "launch_graph", .n = n, .time_s = 8e-6 + 1.5e-6 * n});
    }
    const struct calibration *out = fit(&maker, true, *state, &diag);
    assert_non_null(out);
    assert_close(out->gpu.issue_s, 4e-6, 1e-3);
    assert_close(out->gpu.kernel_floor_s, 1.5e-6, 1e-3);
}

/* Times at most 40 % shorter where they are short, as before a limit of power: the fit sees it and the
 * reach is that of long runs. */
static void a_burst_of_short_runs_is_not_taken_for_the_rate(void **state)
{
    static struct maker maker;
    struct diag diag = {.perm = *state};
    maker_open(&maker, 3, *state);
    add_products(&maker, DTYPE_FP16);
    add_products(&maker, DTYPE_FP32);
    for (int r = 0; r < maker.raw.n_rows; r++) {
        double t = maker.rows[r].time_s;
        maker.rows[r].time_s = t * (1.0 - 0.4 * 300e-6 / (300e-6 + t));
    }
    const struct calibration *out = fit(&maker, true, *state, &diag);
    assert_non_null(out);
    assert_close(constant(out, "burst")->value, 0.4, 0.2);
    assert_close(constant(out, "reach_fp32")->value, 0.8, 0.1);
    assert_false(constant(out, "burst")->in_profile);
}

static void tile(struct gpu *gpu)
{
    gpu->hbm_frac = 0.8;
    gpu->multiprocessors = 40;
    gpu->cache_B = 4e6;
}

/* thin and wide, nn and nt */
static void add_tiled_products(struct maker *maker, const struct gpu *gpu)
{
    static const double widths[] = {16, 128, 8000, 48000};
    for (int i = 0; i < 80; i++) {
        enum product_layout layout = i % 2 ? PRODUCT_NT : PRODUCT_NN;
        struct kernel_shape shape = {
            512 << i / 16, widths[i / 4 % 4], i / 2 % 2 ? 4096 : 1024, 1, layout, 0};
        add(maker, (struct raw_row){.benchmark = "gemm",
                                    .dtype = "fp32",
                                    .layout = product_layout_names[layout],
                                    .m = (int64_t)shape.m,
                                    .n = (int64_t)shape.n,
                                    .k = (int64_t)shape.k,
                                    .batch = 1,
                                    .time_s = kernel_product(gpu, &shape, DTYPE_FP32).time_s});
    }
}

static const struct calibration *fit_tiled(const struct gpu *truth, struct arena *perm)
{
    static struct maker maker;
    struct diag diag = {.perm = perm};
    struct gpu base = base_gpu();
    tile(&base);
    maker_open(&maker, 0, perm);
    add_tiled_products(&maker, truth);
    const struct calibration *out = fit_on(&base, &maker, perm, &diag);
    assert_non_null(out);
    assert_close(constant(out, "reach_fp32")->value, 0.8, 1e-3);
    assert_close(constant(out, "tile_load")->value, 10.0, 1e-2);
    return out;
}

/* Long and slow for their operands, not for a burst that is over. */
static void operands_that_are_read_again_are_found(void **state)
{
    struct gpu gpu = true_gpu();
    tile(&gpu);
    gpu.tile_load = 10.0;
    gpu.product_reread = 2.0;
    const struct calibration *out = fit_tiled(&gpu, *state);
    assert_close(constant(out, "product_reread")->value, 2.0, 1e-2);
    assert_true(constant(out, "product_reread")->in_profile);
}

/* nn at 1.4 of the memory's share, nt at 0.7 */
static void layouts_memory_is_found_beside_that_of_all(void **state)
{
    struct gpu gpu = true_gpu();
    tile(&gpu);
    gpu.tile_load = 10.0;
    gpu.product_memory = 1.4;
    gpu.layout_memory[PRODUCT_NT] = 0.5;
    const struct calibration *out = fit_tiled(&gpu, *state);
    assert_close(constant(out, "product_memory")->value, 1.4, 1e-2);
    assert_close(constant(out, "product_nt_memory")->value, 0.5, 1e-2);
}

/* A product of 12 us floor gets no further term: what is not there is not found. */
static void terms_that_are_not_there_are_not_found(void **state)
{
    static struct maker maker;
    int n_terms = 0;
    for (int seed = 1; seed <= 20; seed++) {
        struct diag diag = {.perm = *state};
        maker_open(&maker, (uint64_t)seed, *state);
        add_copies(&maker);
        add_products(&maker, DTYPE_FP16);
        const struct calibration *out = fit(&maker, true, *state, &diag);
        assert_non_null(out);
        assert_string_equal(out->parts[1].name, "product fp16");
        n_terms += out->parts[1].n_constants > 3;
    }
    assert_true(n_terms <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_come_back_from_times_without_noise),
        cmocka_unit_test(caches_are_no_part_of_the_memory_law),
        cmocka_unit_test(one_law_for_all_sizes_keeps_them),
        cmocka_unit_test(intervals_hold_the_truth_as_often_as_they_say),
        cmocka_unit_test(too_few_rows_are_refused_with_their_file),
        cmocka_unit_test(what_was_not_measured_stays_and_is_named),
        cmocka_unit_test(rows_that_cannot_be_used_are_named),
        cmocka_unit_test(without_a_base_peaks_come_from_the_best_rate),
        cmocka_unit_test(a_link_gets_a_second_piece_only_where_the_data_say_so),
        cmocka_unit_test(a_burst_of_short_runs_is_not_taken_for_the_rate),
        cmocka_unit_test(operands_that_are_read_again_are_found),
        cmocka_unit_test(layouts_memory_is_found_beside_that_of_all),
        cmocka_unit_test(terms_that_are_not_there_are_not_found),
        cmocka_unit_test(launches_give_the_floor_and_the_time_to_issue),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
