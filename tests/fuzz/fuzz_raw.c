/* Any bytes are read as raw measurements: every row that is kept is whole, and without an error what is
 * written from it is read back to as many rows. */
#include "base/must.h"
#include "base/raw.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct raw *raw, struct arena *perm)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    must(out);
    raw_write_head(out, NULL, 0);
    for (int r = 0; r < raw->n_rows; r++) {
        const struct raw_row *row = &raw->rows[r];
        must(raw_find(row->benchmark) && isfinite(row->size_B) && row->time_s > 0);
        must(row->m >= 0 && row->n >= 0 && row->k >= 0 && row->line > 0);
        raw_write_row(out, row);
    }
    fclose(out);
    struct diag diag = {.perm = perm};
    const struct raw *again = raw_read_text("again", text, length, perm, &diag);
    must(again && diag_ok(&diag) && again->n_rows == raw->n_rows);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *perm = arena_open((size_t)64 << 20);
    struct diag diag = {.perm = perm};
    const struct raw *raw = raw_read_text("fuzz", (const char *)data, size, perm, &diag);
    must(raw || !diag_ok(&diag));
    if (raw) check(raw, perm);
    arena_close(perm);
    return 0;
}
