/* dpsim check: a table of published measurements, scored. */
#include "out/commands.h"

#include "base/sink.h"
#include "out/against.h"
#include "out/check_json.h"
#include "out/check_page.h"
#include "out/check_plot.h"
#include "out/load.h"
#include "out/writer.h"
#include "study/check.h"
#include "study/fit.h"
#include "study/splice.h"

#include <string.h>
#include <sys/stat.h>

enum { TRIES = 2000 }; /* evaluations of one fit, unless told otherwise */

static const double US = 1e6;

/* --- the table with what was predicted -------------------------------------------------------------- */

static void print_prediction(FILE *out, const struct check *check, int row)
{
    const struct check_row *scored = &check->rows[row];
    double unit = check->reader->form->collective ? US : 1;
    if (scored->suspect || scored->reason) {
        fputs(",,,,,,", out);
        csv_text(out, scored->suspect ? "suspect" : scored->reason);
        fputc('\n', out);
        return;
    }
    fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,\n", scored->predicted_s * unit, scored->error,
            scored->low_s * unit, scored->high_s * unit, scored->bound_s * unit);
}

static void write_rows(const char *path, const struct check *check, struct arena *perm)
{
    const struct table *table = check->reader->table;
    struct sink sink = sink_open(path, perm);
    for (int c = 0; c < table->n_columns; c++) {
        if (c > 0) fputc(',', sink.out);
        csv_text(sink.out, table->columns[c]);
    }
    fputs(",predicted,error,predicted_low,predicted_high,bound,uncovered\n", sink.out);
    for (int r = 0; r < table->n_rows; r++) {
        for (int c = 0; c < table->n_columns; c++) {
            if (c > 0) fputc(',', sink.out);
            csv_text(sink.out, table_cell(table, r, c));
        }
        print_prediction(sink.out, check, r);
    }
    sink_close(&sink);
}

static const struct row_reader *open_rows(const struct options *options,
                                          const struct scenario_options *how, struct arena *perm,
                                          struct diag *diag)
{
    const struct table *table = table_read(options->table, perm, diag);
    return table ? row_open(table, how, perm, diag) : NULL;
}

/* --- fitted profiles --------------------------------------------------------------------------- */

static bool edited_before(const struct profile_edits *edits, int i)
{
    for (int e = 0; e < i; e++) {
        if (!strcmp(edits->edits[e].profile, edits->edits[i].profile)) return true;
    }
    return false;
}

/* make_folders — those of a path; the world's failures show when the file is opened. */
static void make_folders(const char *path, struct arena scratch)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
        mkdir(arena_text(&scratch, "%.*s", (int)(slash - path), path), 0777);
}

static void write_profiles(const char *to, const char *dir, const struct free_set *set,
                           struct arena *perm, struct diag *diag)
{
    for (int i = 0; i < set->edits.n; i++) {
        const char *file = NULL;
        if (edited_before(&set->edits, i)) continue;
        const char *text = splice_profile(set, set->edits.edits[i].profile, dir, &file, perm, diag);
        if (!text) return;
        const char *path = arena_text(perm, "%s/%s", to, file);
        make_folders(path, *perm);
        struct sink sink = sink_open(path, perm);
        fputs(text, sink.out);
        sink_close(&sink);
    }
}

/* --- the command --------------------------------------------------------------------------------- */

static const char *usage_error(const struct options *options)
{
    const char *on = options->fit_on;
    const char *end = NULL;
    double tries = 0;
    if (options->operands.n > 0 || options->against.n > 0)
        return "measured files go with --against SCENARIO, without --table";
    if (!options->table) return "check needs --table FILE, or FILE... --against SCENARIO";
    if (options->tolerance || options->junit) return "--tolerance and --junit go with --against";
    if (on && !fit_is_part(on)) return "--fit-on wants a, b, all or a number of folds (2 to 20)";
    if (options->tries && (!unit_number(options->tries, &end, &tries) || *end || tries < 1))
        return "--tries wants a number";
    if (!on && (options->free || options->write || options->tries))
        return "--free, --write and --tries go with --fit-on";
    if (options->write && strspn(on, "0123456789") > 0)
        return "--write wants one fit: --fit-on a, b or all";
    return NULL;
}

static const struct check *fit_and_score(const struct options *options,
                                         const struct row_reader *reader, struct arena *perm,
                                         struct diag *diag)
{
    const char *dir = reader->options->profile_dir;
    const char *end = NULL;
    double tries = TRIES;
    if (options->tries) unit_number(options->tries, &end, &tries);
    struct fit_options how = {.on = options->fit_on,
                              .free_file = options->free ? options->free
                                                         : arena_text(perm, "%s/rows/free-%s.json",
                                                                      dir, reader->form->name),
                              .max_evaluations = tries < 1e6 ? (int)tries : 1000000};
    struct free_set *set = NULL;
    const struct check *check = check_fitted(reader, &how, &set, perm, diag);
    if (check && options->write) write_profiles(options->write, dir, set, perm, diag);
    return check;
}

int check_command(const struct options *options, struct arena *perm)
{
    if (options->against.n > 0 && options->operands.n > 0 && !options->table)
        return against_check(options, perm);
    const char *wrong = usage_error(options);
    if (wrong) {
        fprintf(stderr, "dpsim: %s\n", wrong);
        return EXIT_USAGE;
    }
    struct diag diag = {.perm = perm};
    struct scenario_options how = {.fidelity = options->fidelity,
                                   .profile_dir = load_profile_dir(perm)};
    const struct row_reader *reader = open_rows(options, &how, perm, &diag);
    const struct check *check = NULL;
    if (reader)
        check = options->fit_on ? fit_and_score(options, reader, perm, &diag)
                                : check_table(reader, perm);
    if (!check || !diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    if (options->out) write_rows(options->out, check, perm);
    if (options->plot) check_plot_draw(options->plot, check, perm);
    if (options->report) {
        struct sink report = sink_open(options->report, perm);
        check_page_print(report.out, true, check, *perm);
        sink_close(&report);
    }
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        check_json_print(sink.out, check);
    else
        check_page_print(sink.out, false, check, *perm);
    sink_close(&sink);
    return EXIT_FINE;
}
