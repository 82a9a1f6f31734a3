#include "out/commands.h"

#include "base/table.h"
#include "out/load.h"
#include "out/report.h"
#include "out/result_json.h"
#include "out/sink.h"
#include "out/trace.h"

#include <fenv.h>
#include <string.h>
#include <unistd.h>

struct request {
    const char *file;
    struct text_list sets;
    struct loaded loaded;
    struct result *result;
};

struct requests {
    struct request *items;
    int n;
};

/* "a;b;c" in three; empty parts are left out */
static struct text_list split_sets(const char *text, struct arena *perm)
{
    int n_most = 1;
    for (const char *c = text; *c; c++) n_most += *c == ';';
    struct text_list list = {arena_new(perm, const char *, n_most), 0};
    while (*text) {
        int length = (int)strcspn(text, ";");
        if (length > 0) list.items[list.n++] = arena_text(perm, "%.*s", length, text);
        text += length + (text[length] == ';');
    }
    return list;
}

static struct table *read_list(const struct options *options, struct arena *perm, struct diag *diag)
{
    if (!options->list) return NULL;
    struct table *table = table_read(options->list, perm, diag);
    if (table && table->n_rows == 0)
        diag_error(diag, (struct diag_place){.file = options->list},
                   "no rows (a scenario per row)");
    return table;
}

static struct requests gather(const struct options *options, struct arena *perm, struct diag *diag)
{
    const struct table *table = read_list(options, perm, diag);
    int scenario = table ? table_need(table, "scenario", diag) : -1;
    int set = table ? table_column(table, "set") : -1;
    int n_rows = scenario >= 0 ? table->n_rows : 0;
    struct requests all = {arena_new(perm, struct request, options->operands.n + n_rows), 0};
    for (int i = 0; i < options->operands.n; i++)
        all.items[all.n++].file = options->operands.items[i];
    for (int row = 0; row < n_rows; row++)
        all.items[all.n++] = (struct request){
            .file = table_cell(table, row, scenario),
            .sets = split_sets(table_cell(table, row, set), perm),
        };
    return all;
}

/* Only a person at a terminal sees it, and it is wiped at the end. */
static void progress(int done, int n)
{
    if (n < 2 || !isatty(STDERR_FILENO)) return;
    if (done < n)
        fprintf(stderr, "\rdpsim: scenario %d of %d", done + 1, n);
    else
        fprintf(stderr, "\r%40s\r", "");
    fflush(stderr);
}

/* After loading all inputs are valid, so a number that is none is our bug: it stops where it is born. */
static void predict_all(struct requests *all, struct arena *perm)
{
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    for (int i = 0; i < all->n; i++) {
        progress(i, all->n);
        all->items[i].result = predict(all->items[i].loaded.inputs, perm);
    }
    progress(all->n, all->n);
    fedisableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

static void print_json(FILE *out, const struct requests *all)
{
    struct writer writer = {.out = out};
    if (all->n > 1) writer_list(&writer, NULL);
    for (int i = 0; i < all->n; i++) result_json(&writer, NULL, all->items[i].result);
    if (all->n > 1) writer_end(&writer);
}

static void print_csv(FILE *out, const struct requests *all)
{
    result_csv_header(out);
    for (int i = 0; i < all->n; i++) result_csv_row(out, all->items[i].result);
}

static void print_pages(FILE *out, const struct requests *all, bool explain, struct arena *perm)
{
    const struct result **results = arena_new(perm, const struct result *, all->n);
    for (int i = 0; i < all->n; i++) {
        const struct request *request = &all->items[i];
        results[i] = request->result;
        if (i > 0) fputs("\n--------\n\n", out);
        report_page(out, request->result, request->loaded.question);
        if (explain) {
            fputc('\n', out);
            report_values(out, &request->loaded.log);
        }
    }
    if (all->n < 2) return;
    fputs("\n--------\n\n", out);
    report_comparison(out, results, all->n);
}

static void print_results(const struct options *options, const struct requests *all,
                          struct arena *perm)
{
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        print_json(sink.out, all);
    else if (options->csv)
        print_csv(sink.out, all);
    else
        print_pages(sink.out, all, options->explain, perm);
    sink_close(&sink);
}

/* The trace goes first: when its disk is full, nothing has been said yet. */
static void print_trace(const struct options *options, const struct requests *all,
                        struct arena *perm)
{
    struct sink sink = sink_open(options->trace, perm);
    trace_write(sink.out, all->items[0].result);
    sink_close(&sink);
}

/* A job whose GPUs wait for each other has no step time: it is the answer, so it is said alone. */
static bool say_stuck(const struct requests *all)
{
    bool stuck = false;
    for (int i = 0; i < all->n; i++) {
        const struct result *result = all->items[i].result;
        if (!result->stuck) continue;
        fprintf(stderr, "%s: this job never ends: %s\n", all->items[i].file, result->stuck);
        stuck = true;
    }
    return stuck;
}

int run_command(const struct options *options, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct requests all = gather(options, perm, &diag);
    for (int i = 0; i < all.n; i++) {
        struct request *request = &all.items[i];
        request->loaded = load_scenario(request->file, &request->sets, options, perm, &diag);
    }
    if (!diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    predict_all(&all, perm);
    if (say_stuck(&all)) return EXIT_INPUT;
    if (options->trace) print_trace(options, &all, perm);
    if (!options->trace || strcmp(options->trace, "-") != 0) print_results(options, &all, perm);
    return EXIT_FINE;
}
