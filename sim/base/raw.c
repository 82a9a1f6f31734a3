#include "base/raw.h"

#include "base/file.h"
#include "base/must.h"
#include "base/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const raw_class_names[N_RAW_CLASSES] = {
    [RAW_KERNEL] = "kernel", [RAW_LAUNCH] = "launch",         [RAW_MEMORY] = "memory",
    [RAW_LINK] = "link",     [RAW_COLLECTIVE] = "collective", [RAW_STEP] = "step",
};

static const char product[] = "m x k by k x n, batch products";
static const char rows[] = "m rows of n; size_B: bytes read and written";
static const char attended[] = "m queries, n keys, heads of k, batch x heads in batch";
static const char total[] = "size_B: the whole result, as nccl-tests count";
static const char each[] = "size_B: what each rank holds, as nccl-tests count";
static const char message[] = "size_B: one message";

/* To add a benchmark: a row here, its cases in calib/benchmarks.c, and its run in a backend. */
const struct raw_benchmark raw_benchmarks[] = {
    {"gemm", RAW_KERNEL, RAW_SIZE_MNK, 0, product, "matrix product, accumulated in fp32 or wider"},
    {"elementwise", RAW_KERNEL, RAW_SIZE_ROWS, 1, rows, "y = max(a x + y, 0) over vectors"},
    {"reduction", RAW_KERNEL, RAW_SIZE_ROWS, 1, rows, "sum of each row"},
    {"softmax", RAW_KERNEL, RAW_SIZE_ROWS, 1, rows, "softmax of each row"},
    {"layer_norm", RAW_KERNEL, RAW_SIZE_ROWS, 1, rows,
     "layer norm of each row, scaled and shifted"},
    {"attention", RAW_KERNEL, RAW_SIZE_MNK, 0, attended, "attention as product, softmax, product"},
    {"attention_fused", RAW_KERNEL, RAW_SIZE_MNK, 0, attended, "attention in one kernel"},
    {"optimizer", RAW_KERNEL, RAW_SIZE_ROWS, 1,
     "n parameters (m 1); size_B: bytes read and written", "a step of Adam"},
    {"copy", RAW_MEMORY, RAW_SIZE_BYTES, 2, "size_B: bytes copied; each is read and written",
     "copy inside the device's memory"},
    {"stream", RAW_MEMORY, RAW_SIZE_BYTES, 1, "size_B: three arrays, as STREAM counts",
     "STREAM triad, a = b + s c"},
    {"launch", RAW_LAUNCH, RAW_SIZE_NONE, 0, "", "an empty kernel and the wait for its end"},
    {"launch_stream", RAW_LAUNCH, RAW_SIZE_N, 0, "n launches; time of all",
     "empty kernels back to back in a stream"},
    {"launch_graph", RAW_LAUNCH, RAW_SIZE_N, 0, "n nodes; time of all",
     "a graph of empty kernels, one after the other"},
    {"host_to_device", RAW_LINK, RAW_SIZE_BYTES, 1, message,
     "from pinned host memory to the device"},
    {"device_to_host", RAW_LINK, RAW_SIZE_BYTES, 1, message,
     "from the device to pinned host memory"},
    {"device_to_device", RAW_LINK, RAW_SIZE_BYTES, 2, message,
     "between two buffers of one device by its copy engine"},
    {"peer", RAW_LINK, RAW_SIZE_BYTES, 1, message, "from a device's memory to a peer's"},
    {"socket", RAW_LINK, RAW_SIZE_BYTES, 0, message,
     "TCP between two processes or threads, half a round trip"},
    {"ping_pong", RAW_LINK, RAW_SIZE_BYTES, 0, message, "MPI or RDMA, half a round trip"},
    {"message_stream", RAW_LINK, RAW_SIZE_BYTES, 0, message,
     "one way with a window of messages under way; time per message"},
    {"message_both_ways", RAW_LINK, RAW_SIZE_BYTES, 0, message,
     "both ways at once with windows; time per message of one way"},
    {"all_reduce", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, each, "sum, everywhere"},
    {"all_gather", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, total, "every rank's part, everywhere"},
    {"reduce_scatter", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, each, "sum, a part to each rank"},
    {"broadcast", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, each, "from a root to all"},
    {"reduce", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, each, "sum, at a root"},
    {"gather", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, total, "every rank's part, at a root"},
    {"scatter", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, total, "a part from a root to each rank"},
    {"all_to_all", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, each, "a part from each rank to each other"},
    {"send_recv", RAW_COLLECTIVE, RAW_SIZE_BYTES, 0, each, "each rank to its neighbour in a ring"},
    {"gemm_during_copy", RAW_KERNEL, RAW_SIZE_MNK_BYTES, 0,
     "as gemm; size_B: of each copy that runs beside it", "matrix product slowed by copies"},
    {"copy_during_gemm", RAW_MEMORY, RAW_SIZE_MNK_BYTES, 2,
     "as gemm beside it; size_B: bytes copied", "copy slowed by matrix products"},
    {"gemm_during_all_reduce", RAW_KERNEL, RAW_SIZE_MNK_BYTES, 0,
     "as gemm; size_B: of the all-reduce beside it", "matrix product slowed by a collective"},
    {"step", RAW_STEP, RAW_SIZE_NONE, 0, "batch: samples of the whole job in one step",
     "a measured training step"},
};
const int n_raw_benchmarks = sizeof raw_benchmarks / sizeof raw_benchmarks[0];

const char *const raw_dtypes[] = {"fp64", "fp32",  "tf32",  "fp16",   "bf16",  "fp8",    "fp4",
                                  "int8", "uint8", "int32", "uint32", "int64", "uint64", NULL};
static const char *const layouts[] = {"nn", "nt", "tn", "tt", NULL};

/* what a cell is: texts checked against a list, whole numbers, numbers */
enum cell_kind {
    CELL_BENCHMARK,
    CELL_DTYPE,
    CELL_LAYOUT,
    CELL_TEXT,
    CELL_LONG,
    CELL_INT,
    CELL_REAL
};

struct cell {
    enum cell_kind kind;
    size_t offset;
    double min, max;
    double none; /* of a CELL_REAL that is empty */
};

/* whole numbers that a double holds; no time is shorter than light needs for an atom, none longer than a
 * century; no memory or check is larger than these */
#define MOST_WHOLE 9007199254740992.0
#define MOST_INT   2147483647.0
#define LEAST_S    1e-18
#define MOST_S     3.2e9
#define MOST_B     1e18
#define MOST_CHECK 1e300

const struct raw_column raw_columns[] = {
    {"benchmark", "name, one of the table below"},
    {"dtype", "type of the elements"},
    {"layout", "of a product: nn, nt, tn (n as it stands in memory by rows, t transposed)"},
    {"m", "size, as the benchmark counts"},
    {"n", "size, as the benchmark counts"},
    {"k", "size, as the benchmark counts"},
    {"batch", "products in one call; samples in one step"},
    {"size_B", "bytes, as the benchmark counts"},
    {"n_ranks", "GPUs or processes that take part"},
    {"ranks_per_node", "of them on one server"},
    {"time_s", "seconds of one run: the median"},
    {"low_s", "lower end of the median's 95 % interval"},
    {"high_s", "upper end of it"},
    {"repeats", "samples kept"},
    {"outliers", "samples set aside as disturbed"},
    {"check",
     "largest difference from a reference in units of the rounding that is allowed (below 1)"},
    {"added_to", "of a product: type of the sum that it is added to; empty: it is written anew"},
    {"note", "free text"},
};
const int n_raw_columns = sizeof raw_columns / sizeof raw_columns[0];
enum {
    COLUMN_BENCHMARK = 0,
    COLUMN_SIZE = 7,
    COLUMN_TIME = 10,
    N_COLUMNS = sizeof raw_columns / sizeof raw_columns[0]
};

#define AT(member) offsetof(struct raw_row, member)
static const struct cell cells[N_COLUMNS] = {
    {CELL_BENCHMARK, AT(benchmark), 0, 0, 0},    {CELL_DTYPE, AT(dtype), 0, 0, 0},
    {CELL_LAYOUT, AT(layout), 0, 0, 0},          {CELL_LONG, AT(m), 0, MOST_WHOLE, 0},
    {CELL_LONG, AT(n), 0, MOST_WHOLE, 0},        {CELL_LONG, AT(k), 0, MOST_WHOLE, 0},
    {CELL_LONG, AT(batch), 0, MOST_WHOLE, 0},    {CELL_REAL, AT(size_B), 0, MOST_B, 0},
    {CELL_INT, AT(n_ranks), 0, MOST_INT, 0},     {CELL_INT, AT(ranks_per_node), 0, MOST_INT, 0},
    {CELL_REAL, AT(time_s), LEAST_S, MOST_S, 0}, {CELL_REAL, AT(low_s), 0, MOST_S, 0},
    {CELL_REAL, AT(high_s), 0, MOST_S, 0},       {CELL_INT, AT(repeats), 0, MOST_INT, 0},
    {CELL_INT, AT(outliers), 0, MOST_INT, 0},    {CELL_REAL, AT(check), 0, MOST_CHECK, -1},
    {CELL_DTYPE, AT(added_to), 0, 0, 0},         {CELL_TEXT, AT(note), 0, 0, 0},
};
#undef AT

const struct raw_benchmark *raw_find(const char *name)
{
    for (int b = 0; b < n_raw_benchmarks; b++) {
        if (strcmp(raw_benchmarks[b].name, name) == 0) return &raw_benchmarks[b];
    }
    return NULL;
}

const char *raw_value(const struct raw *raw, const char *key)
{
    for (int h = 0; h < raw->n_heads; h++) {
        if (strcmp(raw->heads[h].key, key) == 0) return raw->heads[h].value;
    }
    return "";
}

struct raw_reader {
    struct raw *raw;
    const struct table *table;
    int column[N_COLUMNS]; /* of the table, -1: not there */
    struct arena *perm;
    struct diag *diag;
};

static struct diag_place place_at(const struct raw *raw, int line, const char *column)
{
    return (struct diag_place){.file = raw->file, .line = line, .pointer = column};
}

static int count(const char *const *list)
{
    int n = 0;
    while (list[n]) n++;
    return n;
}

static bool is_among(const char *word, const char *const *list)
{
    while (*list && strcmp(*list, word) != 0) list++;
    return *list;
}

/* "unknown X "word" (did you mean "near"?)" */
static void unknown(const struct diag_place place, const char *word, const char *const *list,
                    struct diag *diag)
{
    const char *near = diag_nearest(word, list, count(list));
    if (near) {
        diag_error(diag, place, "unknown \"%s\" (did you mean \"%s\"?)", word, near);
    } else {
        diag_error(diag, place, "unknown \"%s\"", word);
    }
}

static const char *const *benchmark_names(struct arena *perm)
{
    const char **names = arena_new(perm, const char *, n_raw_benchmarks + 1);
    for (int b = 0; b < n_raw_benchmarks; b++) names[b] = raw_benchmarks[b].name;
    return names;
}

static const char *trimmed(const char *from, const char *to, struct arena *perm)
{
    while (from < to && strchr(" \t\r", *from)) from++;
    while (to > from && strchr(" \t\r", to[-1])) to--;
    return arena_text(perm, "%.*s", (int)(to - from), from);
}

/* One line of the head, without its '#'. */
static void take_head(struct raw_reader *reader, const char *text, size_t length, int line)
{
    struct raw *raw = reader->raw;
    const char *colon = memchr(text, ':', length);
    const char *key = trimmed(text, colon ? colon : text, reader->perm);
    if (!colon || key[0] == '\0') {
        diag_error(reader->diag, place_at(raw, line, NULL),
                   "is no line of the head (wanted \"# key: value\")");
    } else if (raw_value(raw, key)[0] != '\0') {
        diag_error(reader->diag, place_at(raw, line, NULL), "\"%s\" stands twice in the head", key);
    } else {
        raw->heads[raw->n_heads++] =
            (struct raw_head){.key = key, .value = trimmed(colon + 1, text + length, reader->perm)};
    }
}

/* a head has few lines; more than this is another kind of file */
enum { MOST_HEADS = 1000 };

/* Lines that begin with '#' before the first that does not; they become blank lines of a copy, which
 * the reader of tables passes over and counts. */
static const char *take_heads(struct raw_reader *reader, const char *text, size_t length)
{
    char *rest = arena_new(reader->perm, char, (int64_t)length + 1);
    memcpy(rest, text, length);
    reader->raw->heads = arena_new(reader->perm, struct raw_head, MOST_HEADS);
    char *at = rest;
    for (int line = 1; line <= MOST_HEADS && at < rest + length; line++) {
        const char *stop = memchr(at, '\n', (size_t)(rest + length - at));
        size_t n = stop ? (size_t)(stop - at) : (size_t)(rest + length - at);
        bool blank = n == 0 || (n == 1 && at[0] == '\r');
        if (at[0] != '#' && !blank) break;
        if (!blank) {
            take_head(reader, at + 1, n - 1, line);
            if (!memchr(at, '\0', n)) memset(at, ' ', n); /* else the reader of tables refuses it */
        }
        at += n + 1;
    }
    return rest;
}

static bool head_fits(const struct raw_reader *reader)
{
    const char *version = raw_value(reader->raw, "raw");
    if (strcmp(version, "1") == 0) return true;
    diag_error(reader->diag, place_at(reader->raw, 1, NULL),
               version[0] == '\0'
                   ? "is no file of raw measurements (wanted \"# raw: 1\" in its head; dpsim "
                     "import makes one of what other tools print)"
                   : "is of another version (wanted \"# raw: 1\")");
    return false;
}

static bool columns_fit(struct raw_reader *reader)
{
    const struct table *table = reader->table;
    const char *names[N_COLUMNS + 1] = {0};
    for (int c = 0; c < N_COLUMNS; c++) {
        names[c] = raw_columns[c].name;
        reader->column[c] = table_column(table, names[c]);
    }
    int n_before = reader->diag->n_messages;
    for (int c = 0; c < table->n_columns; c++) {
        if (is_among(table->columns[c], names)) continue;
        unknown(place_at(reader->raw, 0, "column"), table->columns[c], names, reader->diag);
    }
    table_need(table, names[COLUMN_BENCHMARK], reader->diag);
    table_need(table, names[COLUMN_TIME], reader->diag);
    return reader->diag->n_messages == n_before;
}

static void read_number(const struct raw_reader *reader, int row, int c, struct raw_row *out)
{
    struct cell cell = cells[c];
    double value = table_number(reader->table, row, reader->column[c], cell.min, cell.max,
                                cell.none, reader->diag);
    char *at = (char *)out + cell.offset;
    if (cell.kind == CELL_REAL) {
        memcpy(at, &value, sizeof value);
        return;
    }
    int64_t whole = (int64_t)value;
    if (value > (double)whole) {
        diag_error(reader->diag, place_at(reader->raw, out->line, raw_columns[c].name),
                   "\"%s\" is not a whole number",
                   table_cell(reader->table, row, reader->column[c]));
    }
    int narrow = cell.kind == CELL_INT ? (int)whole : 0;
    if (cell.kind == CELL_INT) {
        memcpy(at, &narrow, sizeof narrow);
    } else {
        memcpy(at, &whole, sizeof whole);
    }
}

static void read_text(const struct raw_reader *reader, int row, int c, struct raw_row *out)
{
    struct cell cell = cells[c];
    const char *text = table_cell(reader->table, row, reader->column[c]);
    memcpy((char *)out + cell.offset, &text, sizeof text);
    struct diag_place place = place_at(reader->raw, out->line, raw_columns[c].name);
    if (cell.kind == CELL_BENCHMARK && !raw_find(text)) {
        struct arena scratch = *reader->perm;
        unknown(place, text, benchmark_names(&scratch), reader->diag);
    } else if (cell.kind == CELL_DTYPE && text[0] != '\0' && !is_among(text, raw_dtypes)) {
        unknown(place, text, raw_dtypes, reader->diag);
    } else if (cell.kind == CELL_LAYOUT && text[0] != '\0' && !is_among(text, layouts)) {
        unknown(place, text, layouts, reader->diag);
    }
}

/* What is wrong with the sizes of a row whose cells are each right; NULL = nothing. */
static const char *size_fault(const struct raw_row *row, enum raw_size sized, bool has_bytes)
{
    bool has_mnk = row->m > 0 && row->n > 0 && row->k > 0;
    switch (sized) {
    case RAW_SIZE_MNK:
        return has_mnk ? NULL : "needs m, n and k above 0";
    case RAW_SIZE_MNK_BYTES:
        return has_mnk && has_bytes ? NULL : "needs size_B, and m, n and k above 0";
    case RAW_SIZE_ROWS:
        return row->m > 0 && row->n > 0 && row->size_B > 0 ? NULL : "needs m, n and size_B above 0";
    case RAW_SIZE_N:
        return row->n > 0 ? NULL : "needs n above 0";
    case RAW_SIZE_BYTES:
        return has_bytes ? NULL : "needs size_B";
    case RAW_SIZE_NONE:
        return NULL;
    }
    must_not_reach("way of counting sizes");
}

static const char *time_fault(const struct raw_row *row)
{
    if (!(row->time_s > 0)) return "needs time_s above 0";
    if (row->low_s > row->time_s) return "low_s is above time_s";
    if (row->high_s > 0 && row->high_s < row->time_s) return "high_s is below time_s";
    if (row->ranks_per_node > row->n_ranks) return "ranks_per_node is above n_ranks";
    return NULL;
}

static void take_row(struct raw_reader *reader, int r)
{
    struct raw *raw = reader->raw;
    struct raw_row row = {.line = reader->table->lines[r]};
    int n_before = reader->diag->n_messages;
    for (int c = 0; c < N_COLUMNS; c++) {
        if (cells[c].kind >= CELL_LONG) {
            read_number(reader, r, c, &row);
        } else {
            read_text(reader, r, c, &row);
        }
    }
    if (reader->diag->n_messages > n_before) return;
    int size_column = reader->column[COLUMN_SIZE];
    const struct raw_benchmark *benchmark = raw_find(row.benchmark);
    must(benchmark);
    bool has_bytes = table_cell(reader->table, r, size_column)[0] != '\0';
    const char *why = size_fault(&row, benchmark->sized, has_bytes);
    if (!why) why = time_fault(&row);
    if (why) {
        diag_error(reader->diag, place_at(raw, row.line, NULL), "%s: %s", row.benchmark, why);
    } else {
        raw->rows[raw->n_rows++] = row;
    }
}

/* Who wrote the mark ends every line: a number that a full disk cut in two may still be a number. */
static bool ends_well(const struct raw_reader *reader, const char *text, size_t length)
{
    const struct table *table = reader->table;
    if (table->n_rows == 0 || text[length - 1] == '\n' || text[length - 1] == '\r') return true;
    struct diag_place last = {.file = table->file, .line = table->lines[table->n_rows - 1]};
    diag_error(reader->diag, last, "the last line has no end: cut off?");
    return false;
}

struct raw *raw_read_text(const char *file, const char *text, size_t length, struct arena *perm,
                          struct diag *diag)
{
    struct raw *raw = arena_new(perm, struct raw, 1);
    raw->file = arena_text(perm, "%s", file);
    struct raw_reader reader = {.raw = raw, .perm = perm, .diag = diag};
    text = file_skip_mark(text, &length);
    /* without its mark a file is another tool's: one message then, not one for each of its comments */
    bool marked = memmem(text, length, "raw:", strlen("raw:")) != NULL;
    const char *rest = marked ? take_heads(&reader, text, length) : text;
    if (!head_fits(&reader)) return NULL;
    reader.table = table_read_text(file, rest, length, perm, diag);
    if (!reader.table || !columns_fit(&reader)) return NULL;
    if (reader.table->n_rows > RAW_MAX_ROWS) {
        diag_error(diag,
                   (struct diag_place){.file = file, .line = reader.table->lines[RAW_MAX_ROWS]},
                   "is row %d of %d (at most %d are read)", RAW_MAX_ROWS + 1, reader.table->n_rows,
                   RAW_MAX_ROWS);
        return NULL;
    }
    if (!ends_well(&reader, text, length)) return NULL;
    raw->rows = arena_new(perm, struct raw_row, reader.table->n_rows);
    for (int r = 0; r < reader.table->n_rows; r++) take_row(&reader, r);
    return raw;
}

struct raw *raw_read(const char *file, struct arena *perm, struct diag *diag)
{
    size_t length = 0;
    const char *text = file_read(file, TABLE_MAX_B, &length, perm, diag);
    return text ? raw_read_text(file, text, length, perm, diag) : NULL;
}

static void write_plain(FILE *out, const char *text)
{
    for (; *text; text++) fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
}

void raw_write_head(FILE *out, const struct raw_head *heads, int n_heads)
{
    fputs("# raw: 1\n", out);
    for (int h = 0; h < n_heads; h++) {
        if (strcmp(heads[h].key, "raw") == 0) continue; /* the line above */
        fputs("# ", out);
        write_plain(out, heads[h].key);
        fputs(": ", out);
        write_plain(out, heads[h].value);
        fputc('\n', out);
    }
    for (int c = 0; c < N_COLUMNS; c++) fprintf(out, c ? ",%s" : "%s", raw_columns[c].name);
    fputc('\n', out);
}

/* Blanks at the ends are quoted too: readers trim them elsewhere. */
static void write_text(FILE *out, const char *text)
{
    size_t length = strlen(text);
    bool plain = strpbrk(text, ",\"\n\r") == NULL &&
                 (length == 0 || (!strchr(" \t", text[0]) && !strchr(" \t", text[length - 1])));
    if (plain) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_cell(FILE *out, const struct raw_row *row, int c, bool zero_counts)
{
    struct cell cell = cells[c];
    const char *at = (const char *)row + cell.offset;
    const char *text = NULL;
    int64_t whole = 0;
    int narrow = 0;
    double value = 0;
    switch (cell.kind) {
    case CELL_BENCHMARK:
    case CELL_DTYPE:
    case CELL_LAYOUT:
    case CELL_TEXT:
        memcpy(&text, at, sizeof text);
        if (text) write_text(out, text);
        return;
    case CELL_LONG:
        memcpy(&whole, at, sizeof whole);
        if (whole != 0) fprintf(out, "%" PRId64, whole);
        return;
    case CELL_INT:
        memcpy(&narrow, at, sizeof narrow);
        if (narrow != 0 || zero_counts) fprintf(out, "%d", narrow);
        return;
    case CELL_REAL:
        memcpy(&value, at, sizeof value);
        if (value > 0 || (zero_counts && value >= 0))
            fprintf(out, c == COLUMN_SIZE ? "%.15g" : "%.9g", value);
        return;
    }
    must_not_reach("kind of cell");
}

void raw_write_row(FILE *out, const struct raw_row *row)
{
    const struct raw_benchmark *benchmark = raw_find(row->benchmark);
    must(benchmark);
    bool has_bytes = benchmark->sized == RAW_SIZE_BYTES || benchmark->sized == RAW_SIZE_MNK_BYTES;
    for (int c = 0; c < N_COLUMNS; c++) {
        if (c > 0) fputc(',', out);
        const char *name = raw_columns[c].name;
        bool counts = strcmp(name, "check") == 0 || (has_bytes && strcmp(name, "size_B") == 0) ||
                      (row->repeats > 0 && strcmp(name, "outliers") == 0);
        write_cell(out, row, c, counts);
    }
    fputc('\n', out);
}

void raw_markdown(FILE *out)
{
    fputs("| column | what |\n|---|---|\n", out);
    for (int c = 0; c < N_COLUMNS; c++) {
        fprintf(out, "| `%s` | %s |\n", raw_columns[c].name, raw_columns[c].what);
    }
    fputs("\n| benchmark | class | what runs | sizes |\n|---|---|---|---|\n", out);
    for (int b = 0; b < n_raw_benchmarks; b++) {
        const struct raw_benchmark *benchmark = &raw_benchmarks[b];
        fprintf(out, "| `%s` | %s | %s | %s |\n", benchmark->name,
                raw_class_names[benchmark->class], benchmark->summary, benchmark->size);
    }
}
