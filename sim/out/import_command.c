/* dpsim import: what other tools measured, as raw rows; what they know of a server, as its profile. */
#include "out/commands.h"

#include "base/must.h"
#include "base/sink.h"
#include "io/measured.h"
#include "out/told.h"

#include <string.h>

static const char *profile_name(const char *path, struct arena *perm)
{
    if (!path) return "imported";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return arena_text(perm, "%.*s", (int)strcspn(name, "."), name);
}

static void write_rows(FILE *out, struct measured *const *all, int n)
{
    raw_write_head(out, all[0]->raw.heads, all[0]->raw.n_heads);
    for (int f = 0; f < n; f++) {
        for (int r = 0; r < all[f]->raw.n_rows; r++) raw_write_row(out, &all[f]->raw.rows[r]);
    }
}

static void write_all(const struct options *options, struct measured *const *all, int n,
                      struct arena *perm)
{
    must(all[0]); /* nothing was reported, so all files were read */
    const struct server *server = all[0]->server;
    struct sink sink = sink_open(options->out, perm);
    if (server)
        server_profile(server, profile_name(options->out, perm), options->base, sink.out);
    else
        write_rows(sink.out, all, n);
    sink_close(&sink);
}

int import_command(const struct options *options, struct arena *perm)
{
    struct reading_options how;
    const char *wrong = told_read(options, &how, perm);
    if (wrong) {
        fprintf(stderr, "dpsim: %s\n", wrong);
        return EXIT_USAGE;
    }
    struct diag diag = {.perm = perm};
    int n = options->operands.n;
    must(n > 0);
    struct measured **all = arena_new(perm, struct measured *, n);
    for (int f = 0; f < n; f++) {
        const char *file = options->operands.items[f];
        all[f] = measured_read(file, options->as, &how, perm, &diag);
        if (!all[f]) continue;
        told_print(stderr, all[f]);
        if (all[f]->server) server_notes(all[f]->server, file, options->base, stderr);
        if (all[f]->server && n > 1)
            diag_error(&diag, (struct diag_place){.file = file},
                       "is the picture of a server: import it by itself");
    }
    if (!diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    write_all(options, all, n, perm);
    return EXIT_FINE;
}
