/* Tables of matrix products, as benchmarks of GPUs write them: CSV with columns m, n and k, and the time of a product
 * (its unit in the name: time_us, "Time (ms)", or us alone) or its rate (tflops, gflops). Capitals do not matter.
 * Optional columns: the type (dtype, precision, type), layout, batch, and the GPU. */
#include "io/measured_formats.h"

#include "base/table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const double MOST_SIDE = 1e9;

/* a time and a rate of the same row may differ by what rounding to two digits leaves */
static const double RATE_TOLERANCE = 0.1;
static const double RATE_STEP = 0.01e12;

static const struct {
    const char *name;
    double unit_s;
} times[] = {
    {"us", 1e-6},          {"usec", 1e-6},        {"ms", 1e-3},         {"msec", 1e-3},
    {"time_s", 1},         {"time_ms", 1e-3},     {"time_us", 1e-6},    {"latency_us", 1e-6},
    {"time(us)", 1e-6},    {"time(ms)", 1e-3},    {"time(s)", 1},       {"latency_ms", 1e-3},
    {"duration_us", 1e-6}, {"duration_ms", 1e-3}, {"avg_us", 1e-6},     {"mean_us", 1e-6},
    {"time_ns", 1e-9},     {"elapsed_us", 1e-6},  {"elapsed_ms", 1e-3}, {"elapsed_s", 1}};
static const struct {
    const char *name;
    double unit;
} rates[] = {
    {"tflops", 1e12}, {"tflop/s", 1e12}, {"tflops/s", 1e12}, {"gflops", 1e9}, {"gflop/s", 1e9}};

/* what others call types. Source: PyTorch, cuBLAS, rocBLAS. */
static const char *const type_names[][2] = {
    {"float64", "fp64"}, {"double", "fp64"},  {"f64_r", "fp64"}, {"float32", "fp32"},
    {"float", "fp32"},   {"f32_r", "fp32"},   {"f32", "fp32"},   {"float16", "fp16"},
    {"half", "fp16"},    {"f16_r", "fp16"},   {"f16", "fp16"},   {"bfloat16", "bf16"},
    {"bf16_r", "bf16"},  {"tfloat32", "tf32"}};

struct products {
    const struct table *table;
    int m, n, k, time, rate, type, layout, batch, gpu;
    double time_unit_s, rate_unit;
};

/* a name without blanks and quotes, in small letters */
static void plain_name(const char *name, char *plain, size_t room)
{
    size_t n = 0;
    for (; *name && n + 1 < room; name++) {
        if (!isspace((unsigned char)*name) && *name != '"')
            plain[n++] = (char)tolower((unsigned char)*name);
    }
    plain[n] = '\0';
}

static int column_of(const struct table *table, const char *const *names)
{
    char plain[64];
    for (int i = 0; names[i]; i++) {
        for (int c = 0; c < table->n_columns; c++) {
            plain_name(table->columns[c], plain, sizeof plain);
            if (!strcmp(plain, names[i])) return c;
        }
    }
    return -1;
}

static void find_measures(struct products *products)
{
    char plain[64];
    products->time = products->rate = -1;
    for (int c = 0; c < products->table->n_columns; c++) {
        plain_name(products->table->columns[c], plain, sizeof plain);
        for (size_t i = 0; products->time < 0 && i < sizeof times / sizeof *times; i++) {
            if (strcmp(plain, times[i].name) != 0) continue;
            products->time = c;
            products->time_unit_s = times[i].unit_s;
        }
        for (size_t i = 0; products->rate < 0 && i < sizeof rates / sizeof *rates; i++) {
            if (strcmp(plain, rates[i].name) != 0) continue;
            products->rate = c;
            products->rate_unit = rates[i].unit;
        }
    }
}

bool products_opens(const char *text, size_t length)
{
    static const char *const sides[] = {"m", "n", "k"};
    char line[1024];
    char plain[64];
    int found = 0;
    const char *end = memchr(text, '\n', length);
    size_t n = end ? (size_t)(end - text) : length;
    snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), text);
    if (strstr(line, "benchmark")) return false;
    char *rest = line + strspn(line, "\xef\xbb\xbf");
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        plain_name(name, plain, sizeof plain);
        for (int s = 0; s < 3; s++) found |= !strcmp(plain, sides[s]) << s;
    }
    return found == 7;
}

/* --- rows --------------------------------------------------------------------------------------------- */

static const char *type_of(const struct reading *reading, const char *name)
{
    char plain[64];
    if (!strncmp(name, "torch.", 6)) name += 6;
    plain_name(name, plain, sizeof plain);
    if (!plain[0])
        plain_name(reading->options->dtype ? reading->options->dtype : "", plain, sizeof plain);
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
        if (!strcmp(plain, type_names[i][0])) return type_names[i][1];
    }
    for (int i = 0; raw_dtypes[i]; i++) {
        if (!strcmp(plain, raw_dtypes[i])) return raw_dtypes[i];
    }
    return NULL;
}

static int64_t side_of(const struct table *table, int row, int column)
{
    double value = 0;
    bool good = reading_number(table_cell(table, row, column), &value);
    return good && value >= 1 && value <= MOST_SIDE && !(value > floor(value)) ? (int64_t)value : 0;
}

static const char *layout_of(const char *cell)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(cell, layouts[i])) return layouts[i];
    }
    return "";
}

static void read_row(struct reading *reading, const struct products *products, int r)
{
    const struct table *table = products->table;
    double time = 0;
    double rate = 0;
    bool timed = reading_number(table_cell(table, r, products->time), &time) && time > 0;
    bool rated = reading_number(table_cell(table, r, products->rate), &rate) && rate > 0;
    const char *type = type_of(reading, table_cell(table, r, products->type));
    struct raw_row row = {.benchmark = "gemm",
                          .dtype = type ? type : "",
                          .layout = layout_of(table_cell(table, r, products->layout)),
                          .note = "",
                          .added_to = "",
                          .m = side_of(table, r, products->m),
                          .n = side_of(table, r, products->n),
                          .k = side_of(table, r, products->k),
                          .batch = products->batch < 0 ? 1 : side_of(table, r, products->batch),
                          .n_ranks = 1,
                          .check = -1};
    double flop = 2.0 * (double)row.m * (double)row.n * (double)row.k * (double)row.batch;
    row.time_s = timed   ? time * products->time_unit_s
                 : rated ? flop / (rate * products->rate_unit)
                         : 0;
    if (!(flop > 0))
        reading_skip(reading, "rows whose sides are no whole numbers from 1 on");
    else if (!timed && !rated)
        reading_skip(reading, "rows without a usable time or rate");
    else if (!type)
        reading_skip(reading, "rows of a type that is not known (--dtype tells one)");
    else if (timed && rated &&
             fabs(flop / row.time_s - rate * products->rate_unit) >
                 RATE_TOLERANCE * flop / row.time_s + RATE_STEP)
        reading_skip(reading, "rows whose time and rate contradict each other");
    else
        reading_row(reading, &row);
}

static bool is_one_gpu(struct reading *reading, const struct products *products)
{
    const struct table *table = products->table;
    for (int r = 1; products->gpu >= 0 && r < table->n_rows; r++) {
        if (!strcmp(table_cell(table, 0, products->gpu), table_cell(table, r, products->gpu)))
            continue;
        reading->line = table->lines[r];
        reading_error(reading, "is another GPU (%s) than the rows before (%s): a profile is of one",
                      table_cell(table, r, products->gpu), table_cell(table, 0, products->gpu));
        return false;
    }
    if (products->gpu >= 0 && table->n_rows > 0)
        reading_head(reading, "device", table_cell(table, 0, products->gpu));
    return true;
}

void products_whole(struct reading *reading, const char *text, size_t length)
{
    static const char *const types[] = {"dtype",     "precision", "type", "datatype",
                                        "data_type", "a_type",    NULL};
    const struct table *table =
        table_read_text(reading->file, text, length, reading->perm, reading->diag);
    if (!table) return;
    struct products products = {
        .table = table,
        .m = column_of(table, (const char *[]){"m", NULL}),
        .n = column_of(table, (const char *[]){"n", NULL}),
        .k = column_of(table, (const char *[]){"k", NULL}),
        .type = column_of(table, types),
        .layout = column_of(table, (const char *[]){"layout", "trans", NULL}),
        .batch = column_of(table, (const char *[]){"batch", "batch_count", "batch_size", NULL}),
        .gpu = column_of(table, (const char *[]){"gpu", "device", NULL})};
    find_measures(&products);
    reading->line = 1;
    if (products.m < 0 || products.n < 0 || products.k < 0)
        reading_error(reading, "has no columns m, n and k");
    else if (products.time < 0 && products.rate < 0)
        reading_error(
            reading, "has no column of times with their unit (time_us, \"Time (ms)\", us) and none "
                     "of rates (tflops, gflops)");
    else if (is_one_gpu(reading, &products))
        for (int r = 0; r < table->n_rows; r++) {
            reading->line = table->lines[r];
            read_row(reading, &products, r);
        }
}
