/* Any bytes are read as output of other tools, in the format that they look like and as each of the line
 * formats: every row that is kept is one that raw rows allow, and is read back from what is written. */
#include "base/must.h"
#include "io/measured.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct measured *measured, struct arena *perm)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    must(out);
    raw_write_head(out, measured->raw.heads, measured->raw.n_heads);
    for (int r = 0; r < measured->raw.n_rows; r++) {
        const struct raw_row *row = &measured->raw.rows[r];
        must(raw_find(row->benchmark) && isfinite(row->size_B) && row->time_s > 0);
        must(isfinite(row->time_s) && row->line > 0 && row->n_ranks >= 0);
        raw_write_row(out, row);
    }
    fclose(out);
    struct diag diag = {.perm = perm};
    const struct raw *again = raw_read_text("again", text, length, perm, &diag);
    must(again && diag_ok(&diag) && again->n_rows == measured->raw.n_rows);
    free(text);
}

static void read_as(const char *as, const uint8_t *data, size_t size)
{
    struct arena *perm = arena_open((size_t)256 << 20);
    struct diag diag = {.perm = perm};
    const struct measured *measured =
        measured_read_text("fuzz", (const char *)data, size, as, perm, &diag);
    must((measured != NULL) == diag_ok(&diag));
    if (measured) {
        must(measured->raw.n_rows > 0 || measured->server);
        for (int s = 0; s < measured->n_skips; s++) must(measured->skips[s].n > 0);
        check_rows(measured, perm);
    }
    arena_close(perm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(NULL, data, size);
    for (int f = 0; f < n_measured_formats; f++) {
        if (measured_formats[f].claims) read_as(measured_formats[f].name, data, size);
    }
    return 0;
}
