#include "study/calibrate.h"

#include "base/must.h"
#include "base/stats.h"
#include "study/contradict.h"
#include "study/lines.h"
#include "study/solve.h"
#include "study/tail.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Relative spread that a formula of few constants leaves even where the clock is perfect: steps of tiles
 * and waves, choices of a library. Rows that were measured better do not count more than by this. */
static const double MODEL_SD = 0.03;
static const double HUBER =
    1.5; /* standard deviations; 1.345 is 95 % efficient for normal errors */
static const double Z_95 = 1.96;
static const double WRONG = 1.0; /* of a row's check */
static const double ROOM = 1.25; /* without a data sheet, of the best that was measured: a peak */
enum { MAX_PARTS = 256, MAX_NOTES = 256 };

/* --- rows as kernels -------------------------------------------------------------------------------- */

static double size_bytes(const struct raw_row *row)
{
    const struct raw_benchmark *benchmark = raw_find(row->benchmark);
    must(benchmark);
    return row->size_B * (benchmark->moved > 0.0 ? benchmark->moved : 1.0);
}

static double size_products(const struct raw_row *row)
{
    double count = row->batch > 0 ? (double)row->batch : 1.0;
    return 2.0 * (double)row->m * (double)row->n * (double)row->k * count;
}

static double size_attention(const struct raw_row *row)
{
    return 2.0 * size_products(row); /* scores, and their product with the values */
}

static double size_launches(const struct raw_row *row)
{
    return row->n > 0 ? (double)row->n : 1.0;
}

/* both transposed is the transposed product of operands as they stand; what no file says is taken so too */
static enum product_layout layout_of(const struct raw_row *row)
{
    for (int l = 0; l < N_PRODUCT_LAYOUTS; l++) {
        if (strcmp(row->layout, product_layout_names[l]) == 0) return (enum product_layout)l;
    }
    return PRODUCT_NN;
}

static bool find_dtype(const char *name, enum dtype *dtype)
{
    for (int t = 0; t < N_DTYPES; t++) {
        *dtype = (enum dtype)t;
        if (strcmp(dtype_names[t], name) == 0) return true;
    }
    return false;
}

/* A sum that a product is added to is read and written. */
static double result_B(const struct raw_row *row)
{
    enum dtype dtype;
    if (!row->added_to || !find_dtype(row->added_to, &dtype)) return 0.0;
    return 2.0 * dtype_B(dtype);
}

static struct kernel_shape shape_of(const struct raw_row *row)
{
    return (struct kernel_shape){(double)row->m, (double)row->n,
                                 (double)row->k, row->batch > 0 ? (double)row->batch : 1.0,
                                 layout_of(row), result_B(row)};
}

static enum dtype dtype_of(const struct raw_row *row)
{
    enum dtype dtype;
    bool found = find_dtype(row->dtype, &dtype);
    must(found);
    return dtype;
}

/* A short run is over before the limit of power or heat takes the clock down: a share burst_frac of its
 * time is saved, less the longer it takes. */
static double with_burst(const struct solve *solve, double time_s)
{
    if (solve->burst_frac <= 0.0) return time_s;
    return time_s * (1.0 - solve->burst_frac * solve->burst_s / (solve->burst_s + time_s));
}

static double predict_product(const struct solve *solve, const struct calibrate_row *row)
{
    struct kernel_shape shape = shape_of(row->row);
    return with_burst(solve, kernel_product(&solve->gpu, &shape, dtype_of(row->row)).time_s);
}

static double predict_attention(const struct solve *solve, const struct calibrate_row *row)
{
    struct kernel_shape shape = shape_of(row->row);
    bool fused = strcmp(row->row->benchmark, "attention_fused") == 0;
    return kernel_attention(&solve->gpu, &shape, dtype_of(row->row), fused).time_s;
}

static double predict_stream(const struct solve *solve, const struct calibrate_row *row)
{
    return kernel_stream(&solve->gpu, row->size).time_s;
}

/* one row per benchmark that is used: the part it is in and how its size counts */
struct use {
    const char *benchmark;
    enum measured_kind kind;
    double (*size_of)(const struct raw_row *row);
};
static const struct use uses[] = {
    {"gemm", MEASURED_PRODUCT, size_products},
    {"attention", MEASURED_ATTENTION, size_attention},
    {"attention_fused", MEASURED_ATTENTION, size_attention},
    {"copy", MEASURED_MEMORY, size_bytes},
    {"stream", MEASURED_MEMORY, size_bytes},
    {"elementwise", MEASURED_MEMORY, size_bytes},
    {"optimizer", MEASURED_MEMORY, size_bytes},
    {"reduction", MEASURED_ROW, size_bytes},
    {"softmax", MEASURED_ROW, size_bytes},
    {"layer_norm", MEASURED_ROW, size_bytes},
    {"launch_graph", MEASURED_LAUNCH, size_launches},
    {"launch_stream", MEASURED_LAUNCH, size_launches},
    {"host_to_device", MEASURED_HOST, size_bytes},
    {"device_to_host", MEASURED_HOST, size_bytes},
    {"device_to_device", MEASURED_HOST, size_bytes},
};
enum { N_USES = sizeof uses / sizeof uses[0] };

/* links and collectives of any name are lines; NULL: nothing is made of this benchmark */
static const struct use *use_of(const char *benchmark)
{
    static const struct use network = {"", MEASURED_NETWORK, size_bytes};
    for (int u = 0; u < N_USES; u++) {
        if (strcmp(uses[u].benchmark, benchmark) == 0) return &uses[u];
    }
    const struct raw_benchmark *known = raw_find(benchmark);
    must(known);
    return known->class == RAW_LINK || known->class == RAW_COLLECTIVE ? &network : NULL;
}

/* --- what is at hand -------------------------------------------------------------------------------- */

struct calibrating {
    struct calibration *out;
    struct calibrate_row *rows; /* all that are used */
    int n_rows;
    int n_folds;
    double memory_least; /* bytes from which the law of memory holds */
    const char *dtype;   /* NULL = all */
    struct arena *perm;
    struct diag *diag;
};

void calibrate_note(struct calibration *calibration, struct arena *perm, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (int i = 0; i < calibration->n_notes; i++) {
        if (strcmp(calibration->notes[i], text) == 0) return;
    }
    if (calibration->n_notes < MAX_NOTES)
        calibration->notes[calibration->n_notes++] = arena_text(perm, "%s", text);
}

/* is_usable — what cannot be used is noted, never silently passed over. */
static bool is_usable(struct calibrating *at, const struct raw *raw, const struct raw_row *row)
{
    enum dtype dtype;
    const struct use *use = use_of(row->benchmark);
    if (!use) {
        calibrate_note(at->out, at->perm, "%s: rows of %s say nothing about these constants",
                       raw->file, row->benchmark);
        return false;
    }
    if (row->check > WRONG) {
        calibrate_note(at->out, at->perm,
                       "%s:%d: left out: its result was wrong (check %.3g, wanted below %g)",
                       raw->file, row->line, row->check, WRONG);
        return false;
    }
    bool typed = use->kind == MEASURED_PRODUCT || use->kind == MEASURED_ATTENTION;
    if (typed && at->dtype && strcmp(row->dtype, at->dtype) != 0) return false; /* as was asked */
    if (typed && !find_dtype(row->dtype, &dtype)) {
        calibrate_note(at->out, at->perm, "%s: rows of %s in %s are left out: no such type here",
                       raw->file, row->benchmark, row->dtype[0] ? row->dtype : "no type");
        return false;
    }
    return true;
}

static double relative_sd(const struct raw_row *row)
{
    double measured =
        row->high_s > 0.0 ? (row->high_s - row->low_s) / (2.0 * Z_95 * row->time_s) : 0.0;
    return hypot(measured, MODEL_SD);
}

static void gather(struct calibrating *at)
{
    int n = 0;
    for (int f = 0; f < at->out->n_raws; f++) n += at->out->raws[f]->n_rows;
    at->rows = arena_new(at->perm, struct calibrate_row, n);
    for (int f = 0; f < at->out->n_raws; f++) {
        const struct raw *raw = at->out->raws[f];
        for (int r = 0; r < raw->n_rows; r++) {
            const struct raw_row *row = &raw->rows[r];
            if (!is_usable(at, raw, row)) continue;
            const struct use *use = use_of(row->benchmark);
            at->rows[at->n_rows++] = (struct calibrate_row){.raw = raw,
                                                            .row = row,
                                                            .size = use->size_of(row),
                                                            .measured_s = row->time_s,
                                                            .sd = relative_sd(row)};
        }
    }
}

struct rows {
    struct calibrate_row **items;
    int n;
};

static struct rows rows_of(const struct calibrating *at, enum measured_kind kind)
{
    struct rows rows = {arena_new(at->perm, struct calibrate_row *, at->n_rows), 0};
    for (int r = 0; r < at->n_rows; r++) {
        if (use_of(at->rows[r].row->benchmark)->kind == kind) rows.items[rows.n++] = &at->rows[r];
    }
    return rows;
}

static struct rows rows_where(struct rows all, const char *benchmark, const char *dtype,
                              struct arena *perm)
{
    struct rows rows = {arena_new(perm, struct calibrate_row *, all.n), 0};
    for (int r = 0; r < all.n; r++) {
        const struct raw_row *row = all.items[r]->row;
        if (benchmark && strcmp(row->benchmark, benchmark) != 0) continue;
        if (dtype && strcmp(row->dtype, dtype) != 0) continue;
        rows.items[rows.n++] = all.items[r];
    }
    return rows;
}

/* --- groups ----------------------------------------------------------------------------------------- */

static const char *octave_key(const struct calibrate_row *row, struct arena *perm)
{
    return arena_text(perm, "%04d", 100 + (int)floor(log2(fmax(row->size, 1.0))));
}

static int compare_sides(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* a product and those that its gradients take: the same three numbers in another order */
static const char *shape_key(const struct calibrate_row *row, struct arena *perm)
{
    int64_t side[3] = {row->row->m, row->row->n, row->row->k};
    qsort(side, 3, sizeof side[0], compare_sides);
    return arena_text(perm, "%lld-%lld-%lld-%lld", (long long)side[0], (long long)side[1],
                      (long long)side[2], (long long)row->row->batch);
}

/* --- errors ----------------------------------------------------------------------------------------- */

struct calibrate_error calibrate_errors(struct calibrate_row *const *rows, int n, bool left_out,
                                        struct arena scratch)
{
    struct calibrate_error error = {0};
    if (n == 0) return error;
    double *off = arena_new(&scratch, double, n);
    double *size = arena_new(&scratch, double, n);
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        off[i] = log((left_out ? rows[i]->left_out_s : rows[i]->fitted_s) / rows[i]->measured_s);
        size[i] = fabs(off[i]);
        sum += off[i] * off[i];
    }
    error.rms = sqrt(sum / n);
    error.median = stats_median(size, n, scratch);
    error.p90 = stats_percentile(size, n, 90.0, scratch);
    error.bias = stats_median(off, n, scratch);
    return error;
}

static void fill_part(struct calibrate_part *part, struct arena *perm)
{
    struct measured_part *measured = &part->measured;
    part->fitted = calibrate_errors(part->rows, part->n_rows, false, *perm);
    part->left_out = calibrate_errors(part->rows, part->n_rows, true, *perm);
    measured->n_rows = part->n_rows;
    measured->left_out_sd = part->left_out.rms;
    measured->left_out_median = part->left_out.median;
    measured->left_out_p90 = part->left_out.p90;
    measured->left_out_bias = part->left_out.bias;
    measured->least = INFINITY;
    for (int i = 0; i < part->n_rows; i++) {
        measured->least = fmin(measured->least, part->rows[i]->size);
        measured->most = fmax(measured->most, part->rows[i]->size);
    }
    measured->n_groups = solve_count_groups(part->rows, part->n_rows, *perm);
}

/* fill_odd — clean shapes are those without a row that contradicts others. */
static void fill_odd(struct calibrate_part *part, struct arena *perm)
{
    bool *odd = arena_new(perm, bool, part->n_rows);
    part->n_odd = contradict_find(part->rows, part->n_rows, odd, *perm);
    struct calibrate_row **rest = arena_new(perm, struct calibrate_row *, part->n_rows);
    int n = 0;
    for (int i = 0; i < part->n_rows; i++) {
        bool clean = true;
        for (int o = 0; o < part->n_rows; o++)
            clean = clean && !(odd[o] && part->rows[o]->group == part->rows[i]->group);
        if (clean) rest[n++] = part->rows[i];
    }
    part->n_clean = solve_count_groups(rest, n, *perm);
    part->left_out_clean = calibrate_errors(rest, n, true, *perm);
}

static struct calibrate_part *add_part(struct calibrating *at, struct calibrate_part part)
{
    must(at->out->n_parts < MAX_PARTS);
    struct calibrate_part *kept = &at->out->parts[at->out->n_parts++];
    *kept = part;
    fill_part(kept, at->perm);
    return kept;
}

/* concerns — a solve's constant is one of a part's: all but the reaches of other types. */
static bool concerns(const struct calibrate_constant *constant, const char *reach)
{
    return !reach || strncmp(constant->key, "reach_", 6) != 0 || strcmp(constant->key, reach) == 0;
}

/* take_solve — a part's share of what a solve found. */
static void take_solve(struct calibrate_part *part, const struct solve *solve, const char *reach,
                       struct arena *perm)
{
    int index[SOLVE_MAX_CONSTANTS];
    int n = 0;
    for (int c = 0; c < solve->n_constants; c++) {
        if (concerns(&solve->constants[c].constant, reach)) index[n++] = c;
    }
    part->constants = arena_new(perm, struct calibrate_constant, n);
    part->covariance = arena_new(perm, double, (int64_t)n *n);
    part->n_constants = n;
    for (int a = 0; a < n; a++) {
        part->constants[a] = solve->constants[index[a]].constant;
        for (int b = 0; b < n; b++)
            part->covariance[a * n + b] =
                solve->covariance[index[a] * solve->n_constants + index[b]];
    }
    part->chi2 = solve->chi2;
    part->problem = solve->problem;
    part->measured.fit_sd = solve->fit_sd;
    part->in_profile = true;
}

/* --- kernels' constants ----------------------------------------------------------------------------- */

#define CONSTANT(k, d, member, lo, hi)                                                             \
    {                                                                                              \
        .constant = {.key = k, .dim = d, .in_profile = true}, .lower = lo, .upper = hi,            \
        .offset = offsetof(struct solve, gpu.member)                                               \
    }

/* bounds: what a formula could still mean */
static const struct solve_constant memory_constants[] = {
    CONSTANT("memory_reach", DIM_FRACTION, hbm_frac, 0.05, 1.0),
    CONSTANT("memory_half", DIM_SIZE, hbm_half_B, 1.0, 1e9),
};
static const struct solve_constant edge_constant =
    CONSTANT("tile_edge", DIM_NUMBER, tile_edge, 0.05, 512.0);
static const struct solve_constant load_constant =
    CONSTANT("tile_load", DIM_NUMBER, tile_load, 0.05, 512.0);
static const struct solve_constant floor_constant =
    CONSTANT("product_floor", DIM_TIME, product_floor_s, 1e-8, 1e-2);
static const double LOAD_START = 20.0; /* rows; the few GPUs that were fitted have 0 to 50 */

/* Terms that not all machines show; each is there where it is worth its constants. The burst is one of
 * the benchmark, not of a training step, so it stands in no profile. It tells most of what operands read again
 * would on GPUs without them, so those come after it. */
#define LAYOUT(k, member) CONSTANT(k, DIM_NUMBER, member, 0.2, 3.0)
struct term {
    int n;
    struct solve_constant constants[2];
    double start[2], off[2]; /* where a fit starts, and what is as if the term were not there */
};
#define MEMORY CONSTANT("product_memory", DIM_NUMBER, product_memory, 0.1, 10.0)
static const struct term terms[] = {
    {1, {MEMORY}, {0.8}, {1.0}},
    {1, {CONSTANT("product_step", DIM_TIME, product_step_s, 1e-11, 1e-6)}, {5e-9}, {0.0}},
    {1, {LAYOUT("product_nt_memory", layout_memory[PRODUCT_NT])}, {0.8}, {1.0}},
    {1, {LAYOUT("product_tn_memory", layout_memory[PRODUCT_TN])}, {0.8}, {1.0}},
    {1, {LAYOUT("product_nt_rate", layout_rate[PRODUCT_NT])}, {0.95}, {1.0}},
    {1, {LAYOUT("product_tn_rate", layout_rate[PRODUCT_TN])}, {0.95}, {1.0}},
    {2,
     {{{.key = "burst", .dim = DIM_FRACTION}, 0.01, 0.6, offsetof(struct solve, burst_frac)},
      {{.key = "burst_time", .dim = DIM_TIME}, 1e-6, 1.0, offsetof(struct solve, burst_s)}},
     {0.2, 3e-4},
     {0.0, 0.0}},
    {1, {CONSTANT("product_reread", DIM_NUMBER, product_reread, 0.01, 10.0)}, {0.8}, {0.0}},
};
enum { N_TERMS = sizeof terms / sizeof terms[0] };

/* What one layout gains of a cache and another loses shows only when both may move. */
static const struct term pairs[] = {
    {2, {MEMORY, LAYOUT("product_nt_memory", layout_memory[PRODUCT_NT])}, {1.2, 0.8}, {1.0, 1.0}},
    {2, {MEMORY, LAYOUT("product_tn_memory", layout_memory[PRODUCT_TN])}, {1.2, 0.8}, {1.0, 1.0}},
};
enum { N_PAIRS = sizeof pairs / sizeof pairs[0] };

static const struct solve_constant attention_constants[] = {
    CONSTANT("reach_attention", DIM_FRACTION, attention_frac, 0.01, 1.0),
};
static const struct solve_constant reach = CONSTANT("", DIM_FRACTION, matrix_frac, 0.01, 1.0);

static void add_constant(struct solve *solve, struct solve_constant constant)
{
    double before;
    memcpy(&before, (const char *)solve + constant.offset, sizeof before);
    constant.constant.before = before;
    constant.constant.value = before;
    solve_add(solve, constant);
}

static struct solve solve_of(const struct calibrating *at, struct rows rows,
                             double (*predict)(const struct solve *, const struct calibrate_row *))
{
    return (struct solve){.rows = rows.items,
                          .n_rows = rows.n,
                          .gpu = at->out->gpu,
                          .predict = predict,
                          .n_folds = at->n_folds,
                          .huber = HUBER};
}

/* judge — rows that nothing is fitted to: predicted as the GPU is by now. */
static void judge(const struct calibrating *at, struct rows rows,
                  double (*predict)(const struct solve *, const struct calibrate_row *))
{
    struct solve solve = solve_of(at, rows, predict);
    for (int i = 0; i < rows.n; i++) {
        rows.items[i]->fitted_s = predict(&solve, rows.items[i]);
        rows.items[i]->left_out_s = rows.items[i]->fitted_s;
    }
}

static bool fit(struct calibrating *at, struct solve *solve, const char *what)
{
    if (!solve_fit(solve, what, at->perm, at->diag)) return false;
    at->out->gpu = solve->gpu;
    return true;
}

static void stays(const struct calibrating *at, const char *benchmark, const char *keys)
{
    calibrate_note(at->out, at->perm, "no rows of %s: %s %s as %s", benchmark, keys,
                   strchr(keys, ',') || strstr(keys, " and ") ? "stay" : "stays",
                   at->out->based ? "in the base" : "they are by default");
}

/* Rows from a size on; those below are told, with what they are in the docs. */
static struct rows rows_from(struct calibrating *at, struct rows all, const char *what)
{
    struct rows rows = {arena_new(at->perm, struct calibrate_row *, all.n), 0};
    for (int r = 0; r < all.n; r++) {
        if (all.items[r]->size >= at->memory_least) rows.items[rows.n++] = all.items[r];
    }
    if (rows.n == all.n) return rows;
    char least[32];
    unit_print(at->memory_least, DIM_SIZE, least, sizeof least);
    calibrate_note(at->out, at->perm,
                   "%d of %d %s move less than %s and are left out: caches make them faster than "
                   "memory's law, which then gives them too much time",
                   all.n - rows.n, all.n, what, least);
    return rows;
}

static void fit_memory(struct calibrating *at)
{
    struct rows rows = rows_of(at, MEASURED_MEMORY);
    if (rows.n == 0) {
        stays(at, "copy, stream, elementwise or optimizer", "memory_reach and memory_half");
        return;
    }
    solve_group(rows.items, rows.n, octave_key, at->perm);
    tail_sort(rows.items, rows.n);
    struct solve solve = solve_of(at, rows, predict_stream);
    for (int c = 0; c < 2; c++) add_constant(&solve, memory_constants[c]);
    int start = tail_start(&solve, *at->perm);
    if (start > 0) at->memory_least = rows.items[start]->size;
    rows = rows_from(at, rows, "copies and elementwise kernels");
    solve_group(rows.items, rows.n, octave_key, at->perm);
    solve.rows = rows.items;
    solve.n_rows = rows.n;
    if (!fit(at, &solve, "copies and elementwise kernels")) return;
    struct calibrate_part part = {.name = "memory", .rows = rows.items, .n_rows = rows.n};
    part.measured = (struct measured_part){
        .part = measured_part_names[MEASURED_MEMORY], .dtype = "", .unit = "B"};
    take_solve(&part, &solve, NULL, at->perm);
    add_part(at, part);
}

static void judge_rows(struct calibrating *at)
{
    struct rows rows =
        rows_from(at, rows_of(at, MEASURED_ROW), "reductions, softmaxes and layer norms");
    if (rows.n == 0) return;
    solve_group(rows.items, rows.n, octave_key, at->perm);
    judge(at, rows, predict_stream);
    struct calibrate_part part = {
        .name = "row-wise", .rows = rows.items, .n_rows = rows.n, .in_profile = true};
    part.measured =
        (struct measured_part){.part = measured_part_names[MEASURED_ROW], .dtype = "", .unit = "B"};
    add_part(at, part);
}

static void add_reaches(struct calibrating *at, struct solve *solve, struct rows rows)
{
    for (int t = 0; t < N_DTYPES; t++) {
        struct rows typed = rows_where(rows, NULL, dtype_names[t], at->perm);
        if (typed.n == 0) continue;
        struct solve_constant constant = reach;
        constant.constant.key = arena_text(at->perm, "reach_%s", dtype_names[t]);
        constant.offset += (size_t)t * sizeof(double);
        add_constant(solve, constant);
    }
}

static void add_typed_parts(struct calibrating *at, const struct solve *solve, struct rows rows,
                            enum measured_kind kind)
{
    for (int t = 0; t < N_DTYPES; t++) {
        struct rows typed = rows_where(rows, NULL, dtype_names[t], at->perm);
        if (typed.n == 0) continue;
        struct calibrate_part part = {
            .name = arena_text(at->perm, "%s %s", measured_part_names[kind], dtype_names[t]),
            .rows = typed.items,
            .n_rows = typed.n,
            .in_profile = true};
        part.measured = (struct measured_part){
            .part = measured_part_names[kind], .dtype = dtype_names[t], .unit = "FLOP"};
        const char *key = arena_text(at->perm, "reach_%s", dtype_names[t]);
        if (solve) take_solve(&part, solve, kind == MEASURED_PRODUCT ? key : NULL, at->perm);
        if (kind == MEASURED_PRODUCT) fill_odd(&part, at->perm);
        add_part(at, part);
    }
}

static bool has_peaks(struct calibrating *at, struct rows rows)
{
    bool fine = true;
    for (int i = 0; i < rows.n; i++) {
        const struct raw_row *row = rows.items[i]->row;
        if (at->out->gpu.peak_flops[dtype_of(row)] > 0.0) continue;
        diag_error(
            at->diag, (struct diag_place){.file = rows.items[i]->raw->file, .line = row->line},
            "the base has no peak_%s (wanted one for rows of %s)", row->dtype, row->benchmark);
        fine = false;
        break;
    }
    return fine;
}

static void add_term(struct solve *solve, const struct term *term)
{
    for (int c = 0; c < term->n; c++) {
        struct solve_constant constant = term->constants[c];
        memcpy(&constant.constant.before, (const char *)solve + constant.offset, sizeof(double));
        constant.constant.value = term->start[c];
        solve_add(solve, constant);
    }
}

static void set_term(struct solve *solve, const struct term *term, const double *values)
{
    for (int c = 0; c < term->n; c++)
        memcpy((char *)solve + term->constants[c].offset, &values[c], sizeof(double));
}

static void drop_term(struct solve *solve, const struct term *term)
{
    solve->n_constants -= term->n;
    set_term(solve, term, term->off);
}

/* concerns_rows — moves the prediction of any. A layout that was not measured moves none. */
static bool concerns_rows(const struct solve *solve, const struct term *term)
{
    struct solve with = *solve;
    set_term(&with, term, term->start);
    for (int i = 0; i < solve->n_rows; i++) {
        double without_s = solve->predict(solve, solve->rows[i]);
        if (fabs(solve->predict(&with, solve->rows[i]) - without_s) > 0.0) return true;
    }
    return false;
}

static bool has_some(const struct solve *solve, const struct term *term)
{
    for (int c = 0; c < solve->n_constants; c++) {
        for (int i = 0; i < term->n; i++) {
            if (solve->constants[c].offset == term->constants[i].offset) return true;
        }
    }
    return false;
}

/* try_term — keeps it in the solve when it is worth its constants; then *loss is what it came to. */
static void try_term(struct solve *solve, const struct term *term, double *loss,
                     const struct arena *perm)
{
    if (has_some(solve, term) || !concerns_rows(solve, term)) return;
    add_term(solve, term);
    struct solve_gain gain = {.loss_before = *loss,
                              .loss_after = solve_loss(solve, *perm),
                              .n_rows = solve->n_rows,
                              .n_free = solve->n_rows - solve->n_constants,
                              .n_more = term->n};
    if (!solve_worth(&gain)) {
        drop_term(solve, term);
        return;
    }
    *loss = gain.loss_after;
}

/* choose_terms — one after another; some show only beside others, so those left out have a second chance, and
 * a few are tried two at a time. Returns the loss. */
static double choose_terms(struct solve *solve, const struct arena *perm)
{
    double loss = solve_loss(solve, *perm);
    for (int chance = 0; chance < 2; chance++) {
        for (int t = 0; t < N_TERMS; t++) try_term(solve, &terms[t], &loss, perm);
    }
    for (int p = 0; p < N_PAIRS; p++) try_term(solve, &pairs[p], &loss, perm);
    return loss;
}

static void add_tiles(struct solve *solve, bool tiled)
{
    double before = solve->gpu.tile_load;
    solve->gpu.tile_load = 0.0;
    if (!tiled) {
        add_constant(solve, edge_constant);
        return;
    }
    struct solve_constant constant = load_constant;
    constant.constant.before = before;
    constant.constant.value = before > 0.0 ? before : LOAD_START;
    solve_add(solve, constant);
}

/* products_solve — with the terms that are worth it; tiles counted or an edge. Bayesian information
 * criterion in *score: the lower the better. */
static struct solve products_solve(struct calibrating *at, struct rows rows, bool tiled,
                                   double *score)
{
    struct solve solve = solve_of(at, rows, predict_product);
    solve.gpu.sustained_frac = 0.0; /* a benchmark does not hold through a step */
    for (int t = 0; t < N_TERMS; t++) set_term(&solve, &terms[t], terms[t].off);
    add_reaches(at, &solve, rows);
    add_tiles(&solve, tiled);
    struct solve_constant floor = floor_constant;
    /* below the floor of all kernels it changes nothing */
    floor.lower = fmax(floor.lower, solve.gpu.kernel_floor_s);
    add_constant(&solve, floor);
    double loss = choose_terms(&solve, at->perm);
    *score = rows.n * log(loss) + solve.n_constants * log(rows.n);
    return solve;
}

/* reset — a term of the base that is not in the solve must not stay in a profile that stands on that base. */
static void reset(struct calibrating *at, const struct solve *base, const struct solve *solve,
                  const struct solve_constant *key)
{
    double before, value;
    memcpy(&before, (const char *)base + key->offset, sizeof before);
    memcpy(&value, (const char *)solve + key->offset, sizeof value);
    if (!key->constant.in_profile || !(fabs(value - before) > 0.0)) return;
    must(at->out->n_reset < CALIBRATE_MAX_RESET);
    struct calibrate_constant *constant = &at->out->reset[at->out->n_reset++];
    *constant = key->constant;
    constant->before = before;
    constant->value = value;
}

static void reset_others(struct calibrating *at, const struct gpu *base, const struct solve *solve)
{
    struct solve before = {.gpu = *base};
    if (!at->out->based) return;
    reset(at, &before, solve, &load_constant);
    for (int t = 0; t < N_TERMS; t++) {
        for (int c = 0; c < terms[t].n; c++) reset(at, &before, solve, &terms[t].constants[c]);
    }
}

static void fit_products(struct calibrating *at)
{
    struct rows rows = rows_of(at, MEASURED_PRODUCT);
    if (rows.n == 0) {
        stays(at, "gemm", "reach of all types, tile_edge and product_floor");
        return;
    }
    if (!has_peaks(at, rows)) return;
    solve_group(rows.items, rows.n, shape_key, at->perm);
    double by_edge, by_tiles;
    struct solve solve = products_solve(at, rows, false, &by_edge);
    if (at->out->gpu.multiprocessors > 0.0) {
        struct solve tiled = products_solve(at, rows, true, &by_tiles);
        if (by_tiles < by_edge) solve = tiled;
    }
    struct gpu base = at->out->gpu;
    bool fine = fit(at, &solve, "gemm");
    at->out->gpu.sustained_frac = base.sustained_frac;
    if (!fine) return;
    reset_others(at, &base, &solve);
    add_typed_parts(at, &solve, rows, MEASURED_PRODUCT);
}

static void fit_attention(struct calibrating *at)
{
    struct rows all = rows_of(at, MEASURED_ATTENTION);
    struct rows fused = rows_where(all, "attention_fused", NULL, at->perm);
    struct solve solve;
    if (fused.n == 0) stays(at, "attention_fused", "reach_attention");
    if (all.n == 0 || !has_peaks(at, all)) return;
    solve_group(all.items, all.n, shape_key, at->perm);
    judge(at, all, predict_attention);
    if (fused.n > 0) {
        solve = solve_of(at, fused, predict_attention);
        add_constant(&solve, attention_constants[0]);
        if (!fit(at, &solve, "attention_fused")) return;
        add_typed_parts(at, &solve, fused, MEASURED_ATTENTION);
        return;
    }
    add_typed_parts(at, NULL, all, MEASURED_ATTENTION);
}

/* --- lines ------------------------------------------------------------------------------------------ */

static bool same_series(const struct raw_row *a, const struct raw_row *b)
{
    return strcmp(a->benchmark, b->benchmark) == 0 && a->n_ranks == b->n_ranks &&
           a->ranks_per_node == b->ranks_per_node;
}

static struct rows take_series(struct rows *left, struct arena *perm)
{
    struct rows series = {arena_new(perm, struct calibrate_row *, left->n), 0};
    const struct raw_row *first = left->items[0]->row;
    int n_left = 0;
    for (int i = 0; i < left->n; i++) {
        if (same_series(first, left->items[i]->row)) {
            series.items[series.n++] = left->items[i];
        } else {
            left->items[n_left++] = left->items[i];
        }
    }
    left->n = n_left;
    return series;
}

static void fit_lines(struct calibrating *at, enum measured_kind kind)
{
    struct rows left = rows_of(at, kind);
    while (left.n > 0) {
        struct rows series = take_series(&left, at->perm);
        struct calibrate_part *part = lines_part(series.items, series.n, kind, at->perm, at->diag);
        if (!part) continue;
        part->measured.dtype = "";
        part->measured.unit = kind == MEASURED_LAUNCH ? "kernels" : "B";
        part->in_profile = true;
        add_part(at, *part);
    }
}

static bool has_sizes(struct rows rows)
{
    for (int i = 1; i < rows.n; i++) {
        if (fabs(rows.items[i]->size - rows.items[0]->size) > 0.0) return true;
    }
    return false;
}

static struct calibrate_constant one_launch(struct rows rows, struct arena scratch)
{
    double *each = arena_new(&scratch, double, rows.n);
    double *off = arena_new(&scratch, double, rows.n);
    for (int i = 0; i < rows.n; i++) each[i] = rows.items[i]->measured_s / rows.items[i]->size;
    double median = stats_median(each, rows.n, scratch);
    for (int i = 0; i < rows.n; i++) off[i] = rows.items[i]->sd;
    return (struct calibrate_constant){
        .value = median, .relative_sd = stats_median(off, rows.n, scratch) / sqrt(rows.n)};
}

/* launch_of — what one more launch takes: the slope over numbers of launches where there are several
 * numbers, the time of each otherwise. */
static struct calibrate_constant launch_of(struct calibrating *at, struct rows rows)
{
    struct calibrate_constant launch = one_launch(rows, *at->perm);
    if (!has_sizes(rows) || rows.n < 3) return launch;
    struct calibrate_part *part =
        lines_part(rows.items, rows.n, MEASURED_LAUNCH, at->perm, at->diag);
    if (!part) return launch;
    part->measured.dtype = "";
    part->measured.unit = "kernels";
    part->in_profile = true;
    add_part(at, *part);
    for (int c = 0; c < part->n_constants; c++) {
        if (strncmp(part->constants[c].key, "beta", 4) == 0) launch = part->constants[c];
    }
    return launch;
}

static void set_launch(struct calibrating *at, const char *key, double *value,
                       struct calibrate_constant launch)
{
    launch.key = key;
    launch.dim = DIM_TIME;
    launch.before = at->out->based ? *value : 0.0;
    launch.in_profile = true;
    at->out->launch[at->out->n_launch++] = launch;
    *value = launch.value;
}

/* One kernel in a graph is the shortest that the GPU itself takes, in a stream the shortest that the
 * host issues. Without graphs the stream's stands for both. */
static void fit_launch(struct calibrating *at)
{
    struct rows rows = rows_of(at, MEASURED_LAUNCH);
    struct rows graph = rows_where(rows, "launch_graph", NULL, at->perm);
    struct rows stream = rows_where(rows, "launch_stream", NULL, at->perm);
    if (rows.n == 0) {
        stays(at, "launch_graph or launch_stream", "kernel_floor and issue");
        return;
    }
    struct calibrate_constant issue = {0};
    if (stream.n > 0) {
        issue = launch_of(at, stream);
        set_launch(at, "issue", &at->out->gpu.issue_s, issue);
    }
    set_launch(at, "kernel_floor", &at->out->gpu.kernel_floor_s,
               graph.n > 0 ? launch_of(at, graph) : issue);
}

/* --- without a base --------------------------------------------------------------------------------- */

/* peaks are what a data sheet says; without one, a little more than the best that was measured */
static void peaks_from_rows(struct calibrating *at)
{
    struct gpu *gpu = &at->out->gpu;
    for (int r = 0; r < at->n_rows; r++) {
        const struct calibrate_row *row = &at->rows[r];
        enum measured_kind kind = use_of(row->row->benchmark)->kind;
        double rate = ROOM * row->size / row->measured_s;
        if (kind == MEASURED_MEMORY) gpu->hbm_Bps = fmax(gpu->hbm_Bps, rate);
        if (kind != MEASURED_PRODUCT) continue;
        double *peak = &gpu->peak_flops[dtype_of(row->row)];
        *peak = fmax(*peak, rate);
    }
    if (gpu->hbm_Bps <= 0.0) {
        diag_error(at->diag, (struct diag_place){.file = at->out->raws[0]->file},
                   "no rows of copy, stream or elementwise (wanted some, or --base PROFILE)");
        gpu->hbm_Bps = 1.0;
    }
    gpu->vector_flops = fmax(gpu->peak_flops[DTYPE_FP32], 1.0);
}

struct calibration *calibrate(const struct calibrate_input *input, struct arena *perm,
                              struct diag *diag)
{
    must(input->n_raws > 0);
    struct calibration *out = arena_new(perm, struct calibration, 1);
    *out = (struct calibration){.gpu = *input->base,
                                .device = raw_value(input->raws[0], "device"),
                                .date = raw_value(input->raws[0], "date"),
                                .raws = input->raws,
                                .n_raws = input->n_raws,
                                .parts = arena_new(perm, struct calibrate_part, MAX_PARTS),
                                .notes = arena_new(perm, const char *, MAX_NOTES),
                                .based = input->based};
    struct calibrating at = {.out = out,
                             .n_folds = input->options.n_folds,
                             .dtype = input->options.dtype,
                             .perm = perm,
                             .diag = diag};
    int before = diag->n_messages;
    gather(&at);
    if (at.n_rows == 0) {
        diag_error(diag, (struct diag_place){.file = input->raws[0]->file},
                   "no row that could be fitted");
        return NULL;
    }
    if (!input->based) peaks_from_rows(&at);
    fit_launch(&at);
    fit_memory(&at);
    judge_rows(&at);
    fit_products(&at);
    fit_attention(&at);
    fit_lines(&at, MEASURED_HOST);
    fit_lines(&at, MEASURED_NETWORK);
    return diag_quiet_since(diag, before) ? out : NULL;
}
