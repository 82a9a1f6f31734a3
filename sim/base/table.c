#include "base/table.h"

#include "base/file.h"
#include "base/must.h"

#include <csv.h>
#include <string.h>

enum { MAX_COLUMNS = 4096 };

/* what the two callbacks of libcsv build up; arrays were sized by counting separators */
struct reader {
    struct table *table;
    char *pool;         /* texts of the cells, one after the other */
    const char **row;   /* [<= MAX_COLUMNS] cells of the row that is being read */
    int n_row;          /* its cells, counted beyond MAX_COLUMNS too */
    int line, row_line; /* of the reading point, and where the row began */
    struct diag *diag;
};

static struct diag_place at_line(const struct table *table, int line)
{
    return (struct diag_place){.file = table->file, .line = line};
}

static int count_lines(const char *text, size_t length)
{
    int n = 0;
    for (size_t i = 0; i < length; i++) n += text[i] == '\n';
    return n;
}

static void take_cell(void *text, size_t length, void *closure)
{
    struct reader *reader = closure;
    if (reader->n_row == 0) reader->row_line = reader->line;
    reader->line += text ? count_lines(text, length) : 0;
    if (reader->n_row++ >= MAX_COLUMNS) return;
    reader->row[reader->n_row - 1] = reader->pool;
    if (text) memcpy(reader->pool, text, length);
    reader->pool += length + 1; /* zeroed memory ends the text */
}

static void keep_header(struct reader *reader)
{
    struct table *table = reader->table;
    if (reader->n_row > MAX_COLUMNS) {
        diag_error(reader->diag, at_line(table, reader->row_line),
                   "has %d columns (wanted %d at most)", reader->n_row, MAX_COLUMNS);
        reader->n_row = MAX_COLUMNS;
    }
    table->n_columns = reader->n_row;
    for (int c = 0; c < table->n_columns; c++) table->columns[c] = reader->row[c];
}

static void keep_row(struct reader *reader)
{
    struct table *table = reader->table;
    if (reader->n_row != table->n_columns) {
        diag_error(reader->diag, at_line(table, reader->row_line),
                   "has %d cells (wanted %d, as the header)", reader->n_row, table->n_columns);
        return;
    }
    const char **cells = table->cells + (int64_t)table->n_rows * table->n_columns;
    memcpy(cells, reader->row, (size_t)table->n_columns * sizeof *cells);
    table->lines[table->n_rows++] = reader->row_line;
}

/* called at every line end that is not quoted, and once (-1) at the end of a file without one */
static void take_row(int separator, void *closure)
{
    struct reader *reader = closure;
    bool blank = reader->n_row == 0;
    if (!blank && reader->table->n_columns == 0) {
        keep_header(reader);
    } else if (!blank) {
        keep_row(reader);
    }
    reader->n_row = 0;
    reader->line += separator == '\n';
}

/* Room for what the separators could make of the text. */
static struct reader reader_for(const char *file, const char *text, size_t length,
                                struct arena *perm)
{
    int64_t n_rows = 1;
    int64_t n_cells = 1;
    for (size_t i = 0; i < length; i++) {
        n_rows += text[i] == '\n' || text[i] == '\r';
        n_cells += text[i] == '\n' || text[i] == '\r' || text[i] == ',';
    }
    struct table *table = arena_new(perm, struct table, 1);
    table->file = arena_text(perm, "%s", file);
    table->columns = arena_new(perm, const char *, MAX_COLUMNS);
    table->cells = arena_new(perm, const char *, n_cells);
    table->lines = arena_new(perm, int, n_rows);
    return (struct reader){
        .table = table,
        .pool = arena_new(perm, char, (int64_t)length + n_cells + 1),
        .row = arena_new(perm, const char *, MAX_COLUMNS),
        .line = 1,
        .row_line = 1,
    };
}

/* After an error libcsv still hands out a row at the end, so csv_fini is not asked then. */
static bool parse(struct reader *reader, const char *text, size_t length)
{
    struct csv_parser parser;
    must(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) == 0);
    size_t done = csv_parse(&parser, text, length, take_cell, take_row, reader);
    bool good = done == length;
    if (!good) {
        diag_error(reader->diag, at_line(reader->table, 1 + count_lines(text, done)),
                   "a quote stands inside a cell (double it, and quote the cell)");
    } else if (csv_fini(&parser, take_cell, take_row, reader) != 0) {
        diag_error(reader->diag,
                   at_line(reader->table, reader->n_row > 0 ? reader->row_line : reader->line),
                   "a quote that is opened in this row is not closed");
        good = false;
    }
    csv_free(&parser);
    return good;
}

static bool columns_differ(const struct table *table, struct diag *diag)
{
    int n_before = diag->n_messages;
    for (int c = 1; c < table->n_columns; c++) {
        if (table_column(table, table->columns[c]) == c) continue;
        diag_error(diag, at_line(table, 0), "two columns are named \"%s\"", table->columns[c]);
    }
    return diag->n_messages == n_before;
}

struct table *table_read_text(const char *file, const char *text, size_t length, struct arena *perm,
                              struct diag *diag)
{
    text = file_skip_mark(text, &length);
    const char *nul = memchr(text, '\0', length);
    if (nul) {
        int line = 1 + count_lines(text, (size_t)(nul - text));
        diag_error(diag, (struct diag_place){.file = file, .line = line}, "a NUL byte");
        return NULL;
    }
    struct reader reader = reader_for(file, text, length, perm);
    reader.diag = diag;
    if (!parse(&reader, text, length)) return NULL;
    if (reader.table->n_columns == 0) {
        diag_error(diag, at_line(reader.table, 0), "is empty (wanted a header row)");
        return NULL;
    }
    return columns_differ(reader.table, diag) ? reader.table : NULL;
}

struct table *table_read(const char *file, struct arena *perm, struct diag *diag)
{
    size_t length = 0;
    const char *text = file_read(file, TABLE_MAX_B, &length, perm, diag);
    return text ? table_read_text(file, text, length, perm, diag) : NULL;
}

int table_column(const struct table *table, const char *name)
{
    for (int c = 0; c < table->n_columns; c++) {
        if (strcmp(table->columns[c], name) == 0) return c;
    }
    return -1;
}

int table_need(const struct table *table, const char *name, struct diag *diag)
{
    int column = table_column(table, name);
    if (column >= 0) return column;
    const char *near = diag_nearest(name, table->columns, table->n_columns);
    if (near) {
        diag_error(diag, at_line(table, 0), "has no column \"%s\" (did you mean \"%s\"?)", name,
                   near);
    } else {
        diag_error(diag, at_line(table, 0), "has no column \"%s\"", name);
    }
    return -1;
}

/* The three doubles stand in the order of their description.
 * NOLINTNEXTLINE(readability-function-size,bugprone-easily-swappable-parameters) */
double table_number(const struct table *table, int row, int column, double min, double max,
                    double fallback, struct diag *diag)
{
    const char *cell = table_cell(table, row, column);
    if (cell[0] == '\0') return fallback;
    struct diag_place place = at_line(table, table->lines[row]);
    place.pointer = table->columns[column];
    const char *end = NULL;
    double value = 0;
    if (!unit_number(cell, &end, &value) || *end != '\0') {
        diag_error(diag, place, "\"%s\" is not a number", cell);
    } else if (value < min) {
        diag_error(diag, place, "%s is below the minimum %g", cell, min);
    } else if (value > max) {
        diag_error(diag, place, "%s is above the maximum %g", cell, max);
    } else {
        return value;
    }
    return fallback;
}
