#include "out/check_page.h"

#include <stdlib.h>
#include <string.h>

enum { WORST_SHOWN = 10, REASONS_SHOWN = 10 };

static const double PERCENT = 100;

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

static void page_constant(const struct page *page, const struct check_constant *constant,
                          bool folds)
{
    const char *unit = constant->unit;
    char bounds[64];
    char over[64] = "";
    snprintf(bounds, sizeof bounds, "%.4g to %.4g%s", constant->lower, constant->upper, unit);
    if (folds)
        snprintf(over, sizeof over, "%.4g to %.4g%s", constant->after_min, constant->after_max,
                 unit);
    fprintf(page->out,
            page->markdown ? "| `%s` | %.4g%s | %.4g%s | %s | %d | %s |\n"
                           : "%-72s %7.4g%-2s %7.4g%-2s  %-18s %5d  %s\n",
            constant->name, constant->before, unit, constant->after, unit, bounds, constant->n_rows,
            over);
}

static void page_constants(const struct page *page, const struct check_fit *fit)
{
    bool folds = strchr(fit->on, ' ') != NULL;
    fprintf(page->out,
            "\nfitted on %s: %d constants of %s, %d evaluations; mean over groups of the median "
            "|ln(predicted / measured)| %.4f before, %.4f after\n",
            fit->on, fit->n_constants, fit->file, fit->n_evaluations, fit->loss_before,
            fit->loss_after);
    if (page->markdown) {
        fputs("\n| constant | before | after | bounds | rows | over the folds |\n"
              "|---|--:|--:|---|--:|---|\n",
              page->out);
    } else {
        fprintf(page->out, "\n%-72s %9s %9s  %-18s %5s%s\n", "constant", "before", "after",
                "bounds", "rows", folds ? "  over the folds" : "");
    }
    for (int k = 0; k < fit->n_constants; k++) page_constant(page, &fit->constants[k], folds);
}

void check_page_print(FILE *out, bool markdown, const struct check *check, struct arena scratch)
{
    const struct page *page = &(struct page){out, markdown};
    page_counts(page, check);
    if (check->fit) {
        page_constants(page, check->fit);
        page_scores(page, &check->fit->parts);
    }
    page_header(page, check->fit ? "overall, fitted" : "overall");
    page_score(page, &check->overall);
    page_scores(page, &check->bands);
    page_scores(page, &check->kinds);
    page_worst(page, check, scratch);
    if (page->markdown) page_scores(page, &check->groups);
    page_reasons(page, check);
}
