#include "io/layers.h"

#include "base/table.h"
#include "workload/builder.h"

#include <string.h>

/* Bounds that no real layer comes near; under them the parameters of LAYERS_MAX layers still fit in
 * 64 bits (100,000 x 64 x 1e12 = 6.4e18). */
static const double MAX_FLOP = 1e18;
static const double MAX_ELEMENTS = 1e15;
static const double MAX_KERNELS = 10000;
static const int64_t MAX_TENSOR = 1000000000000; /* elements: 4 TB in fp32 */

/* in the order of enum layer_kind */
static const char *const kind_names[] = {"conv", "linear",    "norm",      "elementwise",
                                         "pool", "embedding", "attention", "loss"};
enum { N_KINDS = sizeof kind_names / sizeof *kind_names };

enum column { NAME, KIND, PARAMETERS, FLOP, READ, WRITTEN, KEPT, KERNELS, FUSED, N_COLUMNS };
enum { N_NEEDED = FLOP + 1 };
static const char *const column_names[N_COLUMNS] = {
    "name",          "kind",    "parameters", "flop", "read_elements", "written_elements",
    "kept_elements", "kernels", "fused",
};

struct reader {
    const struct table *table;
    int column[N_COLUMNS]; /* -1 = absent */
    struct builder builder;
    struct diag *diag;
};

static struct diag_place place(const struct reader *reader, int row, enum column column)
{
    return (struct diag_place){.file = reader->table->file,
                               .line = reader->table->lines[row],
                               .pointer = column_names[column]};
}

static const char *cell(const struct reader *reader, int row, enum column column)
{
    return table_cell(reader->table, row, reader->column[column]);
}

static double number(const struct reader *reader, int row, enum column column, double max,
                     double fallback)
{
    int at = reader->column[column];
    if (at < 0) return fallback;
    return table_number(reader->table, row, at, 0.0, max, fallback, reader->diag);
}

static enum layer_kind read_kind(const struct reader *reader, int row)
{
    const char *text = cell(reader, row, KIND);
    for (int k = 0; k < N_KINDS; k++) {
        if (strcmp(text, kind_names[k]) == 0) return (enum layer_kind)k;
    }
    const char *near = diag_nearest(text, kind_names, N_KINDS);
    if (near) {
        diag_error(reader->diag, place(reader, row, KIND),
                   "unknown kind \"%.40s\" (did you mean \"%s\"?)", text, near);
    } else {
        diag_error(reader->diag, place(reader, row, KIND),
                   "unknown kind \"%.40s\" (conv, linear, norm, elementwise, pool, embedding, "
                   "attention or loss)",
                   text);
    }
    return LAYER_ELEMENTWISE;
}

static bool read_fused(const struct reader *reader, int row, enum layer_kind kind)
{
    const char *text = cell(reader, row, FUSED);
    if (text[0] == '\0') return !layer_is_matrix(kind);
    if (strcmp(text, "yes") == 0) return true;
    if (strcmp(text, "no") != 0) {
        diag_error(reader->diag, place(reader, row, FUSED), "\"%.40s\" (yes or no)", text);
    }
    return false;
}

static int read_kernels(const struct reader *reader, int row)
{
    double n = number(reader, row, KERNELS, MAX_KERNELS, 1.0);
    int whole = (int)n;
    if (n - whole > 0.0) {
        diag_error(reader->diag, place(reader, row, KERNELS), "%g kernels (a whole number)", n);
    }
    return whole;
}

/* read_size — digits at *text, which is moved behind them; 0 when there are none, or too many for
 * a tensor, or they are 0. */
static int64_t read_size(const char **text)
{
    int64_t size = 0;
    while (**text >= '0' && **text <= '9') {
        size = 10 * size + (**text - '0');
        if (size > MAX_TENSOR) return 0;
        ++*text;
    }
    return size;
}

/* read_shape — "64x3x7x7" as its product; 0 when it is not a shape or larger than MAX_TENSOR. */
static int64_t read_shape(const char **text)
{
    int64_t product = read_size(text);
    while (product > 0 && **text == 'x') {
        ++*text;
        int64_t size = read_size(text);
        product = size > 0 && size <= MAX_TENSOR / product ? product * size : 0;
    }
    return product;
}

static void wrong_shape(const struct reader *reader, int row)
{
    diag_error(reader->diag, place(reader, row, PARAMETERS),
               "\"%.60s\" (shapes such as 64x3x7x7;64, at most %d, each of 1 to 1e12 elements)",
               cell(reader, row, PARAMETERS), LAYERS_MAX_TENSORS);
}

/* add_tensors — the first two are called weight and bias, as most are. */
static void add_tensors(struct reader *reader, int row)
{
    static const char *const usual[] = {"weight", "bias"};
    const char *text = cell(reader, row, PARAMETERS);
    for (int n = 0; *text != '\0'; n++) {
        int64_t size = read_shape(&text);
        bool ends = *text == '\0';
        if (size == 0 || n == LAYERS_MAX_TENSORS || (!ends && (*text != ';' || text[1] == '\0'))) {
            wrong_shape(reader, row);
            return;
        }
        builder_tensor(&reader->builder,
                       n < 2 ? usual[n] : arena_text(reader->builder.perm, "tensor%d", n), size);
        if (!ends) text++;
    }
}

static void read_layer(struct reader *reader, int row)
{
    enum layer_kind kind = read_kind(reader, row);
    double written = number(reader, row, WRITTEN, MAX_ELEMENTS, 0.0);
    if (cell(reader, row, NAME)[0] == '\0') {
        diag_error(reader->diag, place(reader, row, NAME), "a layer without a name");
    }
    builder_layer(&reader->builder,
                  (struct layer){.name = cell(reader, row, NAME),
                                 .kind = kind,
                                 .flop = number(reader, row, FLOP, MAX_FLOP, 0.0),
                                 .read_elements = number(reader, row, READ, MAX_ELEMENTS, 0.0),
                                 .written_elements = written,
                                 .kept_elements = number(reader, row, KEPT, MAX_ELEMENTS, written),
                                 .n_kernels = read_kernels(reader, row),
                                 .fused = read_fused(reader, row, kind)});
    add_tensors(reader, row);
}

static void refuse_unknown_column(const struct reader *reader, const char *name)
{
    for (int k = 0; k < N_COLUMNS; k++) {
        if (strcmp(name, column_names[k]) == 0) return;
    }
    struct diag_place header = {.file = reader->table->file, .line = 1, .pointer = name};
    const char *near = diag_nearest(name, column_names, N_COLUMNS);
    if (near) diag_error(reader->diag, header, "unknown column (did you mean \"%s\"?)", near);
    if (!near) diag_error(reader->diag, header, "unknown column");
}

static void find_columns(struct reader *reader)
{
    const struct table *table = reader->table;
    for (int c = 0; c < N_COLUMNS; c++) {
        reader->column[c] = c < N_NEEDED ? table_need(table, column_names[c], reader->diag)
                                         : table_column(table, column_names[c]);
    }
    for (int c = 0; c < table->n_columns; c++) refuse_unknown_column(reader, table->columns[c]);
}

static struct model *model_of(const struct table *table, struct arena *perm, struct diag *diag)
{
    if (!table) return NULL;
    int n_before = diag->n_messages; /* faults elsewhere in the scenario are not ours */
    struct reader reader = {.table = table, .diag = diag};
    struct diag_place whole = {.file = table->file};
    reader.builder = builder_open(table->file, "sample", "layers of the user", perm);
    find_columns(&reader);
    if (diag->n_messages > n_before) return NULL;
    if (table->n_rows > LAYERS_MAX) {
        diag_error(diag, whole, "%d layers (at most %d)", table->n_rows, LAYERS_MAX);
        return NULL;
    }
    for (int row = 0; row < table->n_rows; row++) read_layer(&reader, row);
    struct model *model = reader.builder.model;
    if (diag->n_messages == n_before && model->n_tensors == 0) {
        diag_error(diag, whole, "no layer has parameters (nothing to train)");
    }
    return diag->n_messages == n_before ? model : NULL;
}

struct model *layers_read(const char *file, struct arena *perm, struct diag *diag)
{
    return model_of(table_read(file, perm, diag), perm, diag);
}

struct model *layers_read_text(const char *file, const char *text, size_t length,
                               struct arena *perm, struct diag *diag)
{
    return model_of(table_read_text(file, text, length, perm, diag), perm, diag);
}
