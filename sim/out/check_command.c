/* dpsim check: a table of published measurements, scored. */
#include "out/commands.h"

#include "out/load.h"
#include "out/sink.h"
#include "out/writer.h"
#include "study/check.h"

#include <stdlib.h>
#include <string.h>

enum { WORST_SHOWN = 10, REASONS_SHOWN = 10 };

static const double US = 1e6, PERCENT = 100;

static void json_score(struct writer *writer, const char *key, const struct check_score *score)
{
    writer_flat_object(writer, key);
    writer_text(writer, "id", score->id);
    writer_integer(writer, "n", score->n);
    writer_number(writer, "median_abs_err", score->median_abs);
    writer_number(writer, "mean_abs_err", score->mean_abs);
    writer_number(writer, "max_abs_err", score->max_abs);
    writer_number(writer, "bias", score->bias);
    writer_number(writer, "within_10", score->within_10);
    writer_number(writer, "within_25", score->within_25);
    writer_number(writer, "baseline_median_abs_err", score->baseline_median_abs);
    writer_end(writer);
}

static void json_scores(struct writer *writer, const char *key, const struct check_scores *scores)
{
    writer_list(writer, key);
    for (int i = 0; i < scores->n; i++) json_score(writer, NULL, &scores->scores[i]);
    writer_end(writer);
}

static void print_json(FILE *out, const struct check *check)
{
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_text(&writer, "table", check->reader->table->file);
    writer_text(&writer, "form", check->reader->form->name);
    writer_integer(&writer, "rows", check->n_rows);
    writer_integer(&writer, "covered", check->n_covered);
    writer_integer(&writer, "suspect", check->n_suspect);
    writer_object(&writer, "uncovered");
    for (int i = 0; i < check->n_reasons; i++)
        writer_integer(&writer, check->reasons[i].text, check->reasons[i].n);
    writer_end(&writer);
    json_score(&writer, "overall", &check->overall);
    writer_number(&writer, "median_of_groups", check->median_of_groups);
    writer_number(&writer, "baseline_median_of_groups", check->baseline_median_of_groups);
    writer_flat_object(&writer, "replicates");
    writer_integer(&writer, "n", check->floor.n);
    writer_number(&writer, "median_abs_err", check->floor.median_abs);
    writer_number(&writer, "p90_abs_err", check->floor.p90_abs);
    writer_end(&writer);
    json_scores(&writer, "bands", &check->bands);
    json_scores(&writer, "kinds", &check->kinds);
    json_scores(&writer, "groups", &check->groups);
    writer_end(&writer);
}

/* --- for a person: the same tables as text and as Markdown ---------------------------------------- */

struct page {
    FILE *out;
    bool markdown;
};

static void page_header(const struct page *page, const char *what)
{
    if (page->markdown) {
        fprintf(
            page->out,
            "\n| %s | rows | median | mean | worst | bias | within 10 %% | within 25 %% | baseline "
            "|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            what);
        return;
    }
    fprintf(page->out, "\n%-44s %6s %8s %8s %9s %8s %6s %6s %9s\n", what, "rows", "median", "mean",
            "worst", "bias", "<=10%", "<=25%", "baseline");
}

static void page_score(const struct page *page, const struct check_score *score)
{
    const char *percent = page->markdown ? " %" : "%";
    const char *next = page->markdown ? " | " : " ";
    const double errors[] = {score->median_abs, score->mean_abs, score->max_abs, score->bias};
    const double shares[] = {score->within_10, score->within_25};
    static const int widths[] = {7, 7, 8, 7};
    fprintf(page->out, page->markdown ? "| %s | %d" : "%-44s %6d", score->id, score->n);
    for (int i = 0; i < 4; i++)
        fprintf(page->out, i == 3 ? "%s%+*.1f%s" : "%s%*.1f%s", next,
                page->markdown ? 0 : widths[i], PERCENT * errors[i], percent);
    for (int i = 0; i < 2; i++)
        fprintf(page->out, "%s%*.0f%s", next, page->markdown ? 0 : 5, PERCENT * shares[i], percent);
    fprintf(page->out, "%s%*.1f%s%s\n", next, page->markdown ? 0 : 8,
            PERCENT * score->baseline_median_abs, percent, page->markdown ? " |" : "");
}

static void page_scores(const struct page *page, const struct check_scores *scores)
{
    if (scores->n == 0) return;
    page_header(page, scores->by);
    for (int i = 0; i < scores->n; i++) page_score(page, &scores->scores[i]);
}

static int compare_worst(const void *left, const void *right)
{
    const struct check_score *a = left;
    const struct check_score *b = right;
    int order = (a->median_abs < b->median_abs) - (a->median_abs > b->median_abs);
    return order != 0 ? order : strcmp(a->id, b->id);
}

static void page_worst(const struct page *page, const struct check *check, struct arena scratch)
{
    struct check_scores worst = {arena_text(&scratch, "worst by %s", check->groups.by),
                                 arena_new(&scratch, struct check_score, check->groups.n),
                                 check->groups.n};
    for (int i = 0; i < worst.n; i++) worst.scores[i] = check->groups.scores[i];
    qsort(worst.scores, (size_t)worst.n, sizeof *worst.scores, compare_worst);
    if (worst.n > WORST_SHOWN) worst.n = WORST_SHOWN;
    page_scores(page, &worst);
}

static void page_counts(const struct page *page, const struct check *check)
{
    FILE *out = page->out;
    int n_uncovered = check->n_rows - check->n_covered - check->n_suspect;
    fprintf(out, "%s%s: %s\n%s", page->markdown ? "# " : "", check->reader->table->file,
            check->reader->form->name, page->markdown ? "\n" : "");
    fprintf(out, "%d rows: %d covered, %d suspect and left out, %d not covered\n", check->n_rows,
            check->n_covered, check->n_suspect, n_uncovered);
    if (check->floor.n == 0) return;
    fprintf(out,
            "%s%d runs have others with equal keys%s: a run differs from the median of the others "
            "by %.1f %% (median), %.1f %% (90th percentile)\n",
            page->markdown ? "\n" : "", check->floor.n,
            check->reader->form->collective ? " and size" : "", PERCENT * check->floor.median_abs,
            PERCENT * check->floor.p90_abs);
}

static void page_reasons(const struct page *page, const struct check *check)
{
    int shown = page->markdown ? check->n_reasons : REASONS_SHOWN;
    if (check->n_reasons == 0) return;
    fprintf(page->out,
            page->markdown ? "\n| not covered | rows |\n|---|--:|\n" : "\nnot covered\n");
    for (int i = 0; i < check->n_reasons && i < shown; i++)
        fprintf(page->out, page->markdown ? "| %s | %d |\n" : "  %-60s %6d\n",
                check->reasons[i].text, check->reasons[i].n);
    if (check->n_reasons > shown)
        fprintf(page->out, "  and %d more reasons (--json or --report has all)\n",
                check->n_reasons - shown);
}

static void print_page(const struct page *page, const struct check *check, struct arena scratch)
{
    page_counts(page, check);
    page_header(page, "overall");
    page_score(page, &check->overall);
    page_scores(page, &check->bands);
    page_scores(page, &check->kinds);
    page_worst(page, check, scratch);
    if (page->markdown) page_scores(page, &check->groups);
    page_reasons(page, check);
}

/* --- the table with what was predicted -------------------------------------------------------------- */

static void print_prediction(FILE *out, const struct check *check, int row)
{
    const struct check_row *scored = &check->rows[row];
    double unit = check->reader->form->collective ? US : 1;
    if (scored->suspect || scored->reason) {
        fputs(",,,", out);
        csv_text(out, scored->suspect ? "suspect" : scored->reason);
        fputc('\n', out);
        return;
    }
    fprintf(out, ",%.9g,%.9g,\n", scored->predicted_s * unit, scored->error);
}

static void write_rows(const char *path, const struct check *check, struct arena *perm)
{
    const struct table *table = check->reader->table;
    struct sink sink = sink_open(path, perm);
    for (int c = 0; c < table->n_columns; c++) {
        if (c > 0) fputc(',', sink.out);
        csv_text(sink.out, table->columns[c]);
    }
    fputs(",predicted,error,uncovered\n", sink.out);
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

int check_command(const struct options *options, struct arena *perm)
{
    if (!options->table) {
        fputs("dpsim: check needs --table FILE\n", stderr);
        return EXIT_USAGE;
    }
    struct diag diag = {.perm = perm};
    struct scenario_options how = {.fidelity = options->fidelity,
                                   .profile_dir = load_profile_dir(perm)};
    const struct row_reader *reader = open_rows(options, &how, perm, &diag);
    if (!reader || !diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    const struct check *check = check_table(reader, perm);
    if (options->out) write_rows(options->out, check, perm);
    if (options->report) {
        struct sink report = sink_open(options->report, perm);
        print_page(&(struct page){report.out, true}, check, *perm);
        sink_close(&report);
    }
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        print_json(sink.out, check);
    else
        print_page(&(struct page){sink.out, false}, check, *perm);
    sink_close(&sink);
    return EXIT_FINE;
}
