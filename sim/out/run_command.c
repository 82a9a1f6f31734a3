#include "out/commands.h"

#include "base/must.h"
#include "base/sink.h"
#include "base/table.h"
#include "base/trap.h"
#include "out/load.h"
#include "out/progress.h"
#include "out/report.h"
#include "out/result_json.h"
#include "out/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* address space for one scenario at a time */
static const size_t RESERVE_B = (size_t)64 << 30;

struct request {
    const char *file;
    struct text_list sets;
};

struct requests {
    struct request *items;
    int n;
};

/* what is printed, collected while scenarios are worked on one after the other: their memory is given
 * back, and nothing has been said when a later one goes wrong */
struct page {
    FILE *out;
    char *text;
    size_t size;
    struct writer writer;
    bool listed;                   /* JSON: a list of several */
    const struct result **results; /* for the comparison: see keep */
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

/* Other columns may be notes of the user's, but not one that is nearly this. */
static int set_column(const struct table *table, struct diag *diag)
{
    int set = table_column(table, "set");
    const char *near = set < 0 ? diag_nearest("set", table->columns, table->n_columns) : NULL;
    if (near)
        diag_error(diag, (struct diag_place){.file = table->file, .line = 1},
                   "column \"%s\" (did you mean \"set\"?)", near);
    return set;
}

static struct requests gather(const struct options *options, struct arena *perm, struct diag *diag)
{
    const struct table *table = read_list(options, perm, diag);
    int scenario = table ? table_need(table, "scenario", diag) : -1;
    int set = table ? set_column(table, diag) : -1;
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

static bool has_message(const struct diag *diag, const char *message)
{
    for (int i = 0; i < diag->n_messages && i < DIAG_MAX; i++) {
        if (strcmp(diag->messages[i], message) == 0) return true;
    }
    return false;
}

/* Rows of one file make the same mistake again and again; it is said once. */
static void add_new(struct diag *all, const struct diag *more)
{
    for (int i = 0; i < more->n_messages && i < DIAG_MAX; i++) {
        if (has_message(all, more->messages[i])) continue;
        if (all->n_messages < DIAG_MAX) all->messages[all->n_messages] = more->messages[i];
        all->n_messages++;
    }
}

static struct loaded load_one(const struct request *request, const struct options *options,
                              struct arena *work, struct diag *diag)
{
    struct diag own = {.perm = diag->perm};
    struct loaded loaded = load_scenario(request->file, &request->sets, options, work, &own);
    add_new(diag, &own);
    return loaded;
}

static void refuse_trace_over_input(const struct requests *all, const struct options *options,
                                    struct diag *diag)
{
    for (int i = 0; options->trace && i < all->n; i++) {
        if (!sink_would_replace(options->trace, all->items[i].file)) continue;
        diag_error(diag, (struct diag_place){.file = all->items[i].file},
                   "--trace would replace this scenario (give it another name)");
    }
}

/* All are loaded once before the first is predicted, so every mistake is found before anything is said. */
static void check_all(const struct requests *all, const struct options *options,
                      const struct arena *work, struct diag *diag)
{
    for (int i = 0; i < all->n; i++) {
        struct arena scratch = *work;
        load_one(&all->items[i], options, &scratch, diag);
    }
}

static struct result *predict_strictly(const struct inputs *in, struct arena *work)
{
    int before = trap_on();
    struct result *result = predict(in, work);
    trap_restore(before);
    return result;
}

/* The trace is written before anything is printed: when its disk is full, nothing has been said yet. */
static void write_trace(const char *file, const struct result *result, struct arena *perm)
{
    struct sink sink = sink_open(file, perm);
    trace_write(sink.out, result);
    sink_close(&sink);
}

/* What the comparison needs of a result lives on after its arena. */
static const struct result *keep(const struct result *result, struct arena *perm)
{
    struct result *kept = arena_new(perm, struct result, 1);
    struct inputs *in = arena_new(perm, struct inputs, 1);
    *in = *result->in;
    in->scenario = arena_text(perm, "%s", result->in->scenario);
    *kept = *result;
    kept->in = in;
    return kept;
}

static void page_open(struct page *page, const struct options *options, int n, struct arena *perm)
{
    *page = (struct page){.results = arena_new(perm, const struct result *, n), .listed = n > 1};
    page->out = open_memstream(&page->text, &page->size);
    if (!page->out) die("no memory for what is printed: %s", strerror(errno));
    page->writer.out = page->out;
    if (options->json && page->listed) writer_list(&page->writer, NULL);
    if (options->csv) result_csv_header(page->out);
}

static void page_add(struct page *page, const struct options *options, const struct loaded *loaded,
                     const struct result *result, struct arena scratch)
{
    if (options->json) {
        result_json(&page->writer, NULL, result);
    } else if (options->csv) {
        result_csv_row(page->out, result, scratch);
    } else {
        if (page->n > 0) fputs("\n--------\n\n", page->out);
        report_page(page->out, result, loaded->question);
        if (options->explain) {
            fputc('\n', page->out);
            report_values(page->out, &loaded->log);
        }
    }
}

static void page_print(struct page *page, const struct options *options, struct arena *perm)
{
    if (options->json && page->listed) writer_end(&page->writer);
    if (!options->json && !options->csv && page->listed) {
        fputs("\n--------\n\n", page->out);
        report_comparison(page->out, page->results, page->n);
    }
    if (fclose(page->out) != 0) die("no memory for what is printed: %s", strerror(errno));
    struct sink sink = sink_open(NULL, perm);
    fwrite(page->text, 1, page->size, sink.out);
    sink_close(&sink);
    free(page->text);
}

static void page_drop(struct page *page)
{
    fclose(page->out);
    free(page->text);
}

/* One scenario, in memory that is given back. False when its GPUs wait for each other: that is the
 * answer, so it is said alone. */
static bool run_one(const struct request *request, const struct options *options, struct page *page,
                    struct arena scratch, struct diag *diag)
{
    struct loaded loaded = load_one(request, options, &scratch, diag);
    if (!loaded.inputs) return false;
    const struct result *result = predict_strictly(loaded.inputs, &scratch);
    if (result->stuck) {
        fprintf(stderr, "%s: this job never ends: %s\n", request->file, result->stuck);
        return false;
    }
    if (options->trace) write_trace(options->trace, result, diag->perm);
    page_add(page, options, &loaded, result, scratch);
    page->results[page->n++] = keep(result, diag->perm);
    return true;
}

static bool run_all(const struct requests *all, const struct options *options, struct page *page,
                    const struct arena *work, struct diag *diag)
{
    bool fine = true;
    for (int i = 0; fine && i < all->n; i++) {
        progress_show("scenario", i, all->n);
        fine = run_one(&all->items[i], options, page, *work, diag);
    }
    progress_show("scenario", all->n, all->n);
    return fine;
}

int run_command(const struct options *options, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct arena *work = arena_open(RESERVE_B);
    struct requests all = gather(options, perm, &diag);
    refuse_trace_over_input(&all, options, &diag);
    struct page page;
    page_open(&page, options, all.n, perm);
    if (all.n > 1) check_all(&all, options, work, &diag);
    bool fine = diag_ok(&diag) && run_all(&all, options, &page, work, &diag);
    bool silent = options->trace && strcmp(options->trace, "-") == 0;
    if (fine && !silent)
        page_print(&page, options, perm);
    else
        page_drop(&page);
    diag_print(&diag, stderr);
    arena_close(work);
    return fine ? EXIT_FINE : EXIT_INPUT;
}
