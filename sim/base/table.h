/* CSV files with a header row: libcsv does the parsing; this adapter keeps line numbers and refuses
 * what libcsv lets by (ragged rows, text after a closing quote, an unclosed quote, NUL bytes). CRLF
 * and a byte order mark are accepted. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/units.h"

enum { TABLE_MAX_B = 1 << 30 };

struct table {
    const char *file;
    const char **columns;
    int n_columns, n_rows;
    const char **cells; /* [n_rows * n_columns], "" when empty */
    int *lines;         /* [n_rows] where a row begins, from 1 */
};

/* table_read — NULL after an error that leaves nothing to use; ragged rows are reported and left out. */
struct table *table_read(const char *file, struct arena *perm, struct diag *diag);
struct table *table_read_text(const char *file, const char *text, size_t length, struct arena *perm,
                              struct diag *diag);

/* table_column — index, -1 when absent (not an error). table_need reports the nearest column and returns -1. */
int table_column(const struct table *table, const char *name);
int table_need(const struct table *table, const char *name, struct diag *diag);

static inline const char *table_cell(const struct table *table, int row, int column)
{
    return column < 0 ? "" : table->cells[(int64_t)row * table->n_columns + column];
}

/* table_number — a finite number >= min and <= max; reports and returns `fallback` otherwise.
 * An empty cell is `fallback` without a word. */
double table_number(const struct table *table, int row, int column, double min, double max,
                    double fallback, struct diag *diag);

#endif
