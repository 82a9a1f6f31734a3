/* Any bytes are read as CSV: what is accepted is a full rectangle, with rows in order of their
 * lines, and each cell is or is not a number without a crash. */
#include "base/must.h"
#include "base/table.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct table *table, struct diag *diag)
{
    must(table->n_columns > 0);
    for (int r = 0; r < table->n_rows; r++) {
        must(table->lines[r] >= 1 && (r == 0 || table->lines[r] >= table->lines[r - 1]));
        for (int c = 0; c < table->n_columns; c++) {
            must(isfinite(table_number(table, r, c, -1e9, 1e9, 0, diag)));
        }
    }
    for (int c = 0; c < table->n_columns; c++) must(table_column(table, table->columns[c]) == c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *perm = arena_open((size_t)64 << 20);
    struct diag diag = {.perm = perm};
    struct table *table = table_read_text("fuzz", (const char *)data, size, perm, &diag);
    must(table || !diag_ok(&diag));
    if (table) check(table, &diag);
    arena_close(perm);
    return 0;
}
