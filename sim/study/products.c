#include "study/products.h"

#include "base/table.h"

#include <string.h>

/* sides and rates beyond these are slips of the pen */
static const double MOST_SIDE = 1e9;
static const double LEAST_TFLOPS = 1e-9;
static const double MOST_TFLOPS = 1e9;

struct columns {
    int gpu, precision, m, n, k, tflops, layout, added_to;
};

static bool find_columns(const struct table *table, struct columns *columns, struct diag *diag)
{
    int before = diag->n_messages;
    *columns =
        (struct columns){table_need(table, "gpu", diag), table_need(table, "precision", diag),
                         table_need(table, "m", diag),   table_need(table, "n", diag),
                         table_need(table, "k", diag),   table_need(table, "tflops", diag),
                         table_column(table, "layout"),  table_column(table, "added_to")};
    return diag->n_messages == before;
}

static int64_t side(const struct table *table, int row, int column, struct diag *diag)
{
    return (int64_t)table_number(table, row, column, 1.0, MOST_SIDE, 0.0, diag);
}

static void take_row(const struct table *table, int row, const struct columns *columns,
                     struct raw *raw, struct diag *diag)
{
    struct raw_row product = {.benchmark = "gemm",
                              .dtype = table_cell(table, row, columns->precision),
                              .layout = table_cell(table, row, columns->layout),
                              .note = "",
                              .added_to = table_cell(table, row, columns->added_to),
                              .m = side(table, row, columns->m, diag),
                              .n = side(table, row, columns->n, diag),
                              .k = side(table, row, columns->k, diag),
                              .batch = 1,
                              .n_ranks = 1,
                              .check = -1.0,
                              .line = table->lines[row]};
    double tflops = table_number(table, row, columns->tflops, LEAST_TFLOPS, MOST_TFLOPS, 0.0, diag);
    struct diag_place place = {.file = table->file, .line = product.line};
    if (product.m == 0 || product.n == 0 || product.k == 0 || !(tflops > 0.0)) {
        diag_error(diag, place, "lacks a side or its rate (wanted m, n, k and tflops)");
        return;
    }
    product.time_s =
        2.0 * (double)product.m * (double)product.n * (double)product.k / (tflops * 1e12);
    raw->rows[raw->n_rows++] = product;
}

struct raw *products_read(const char *file, const char *device, struct arena *perm,
                          struct diag *diag)
{
    struct columns columns;
    const struct table *table = table_read(file, perm, diag);
    if (!table || !find_columns(table, &columns, diag)) return NULL;
    struct raw *raw = arena_new(perm, struct raw, 1);
    raw->file = file;
    raw->rows = arena_new(perm, struct raw_row, table->n_rows);
    raw->heads = arena_new(perm, struct raw_head, 1);
    raw->heads[raw->n_heads++] = (struct raw_head){"device", device};
    int before = diag->n_messages;
    for (int r = 0; r < table->n_rows; r++) {
        if (strcmp(table_cell(table, r, columns.gpu), device) == 0)
            take_row(table, r, &columns, raw, diag);
    }
    if (raw->n_rows > 0 || diag->n_messages > before) return raw;
    diag_error(diag, (struct diag_place){.file = file}, "no rows of \"%s\" in the column gpu",
               device);
    return NULL;
}
