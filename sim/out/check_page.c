#include "out/check_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORST_SHOWN = 10, OFF_SHOWN = 10, REASONS_SHOWN = 10, SERIES_SHOWN = 10, NAME_WIDTH = 44 };

static const double PERCENT = 100, MEGA = 1e6;

struct page {
    FILE *out;
    bool markdown;
};

static void page_header(const struct page *page, const char *what)
{
    if (page->markdown) {
        fprintf(page->out,
                "\n| %s | rows | median | mean | worst | bias | within 10 %% | within 25 %% | "
                "in interval | width | baseline | moved |\n"
                "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
                what);
        return;
    }
    fprintf(page->out, "\n%-44s %6s %8s %8s %9s %8s %6s %6s %7s %6s %9s %8s\n", what, "rows",
            "median", "mean", "worst", "bias", "<=10%", "<=25%", "in 90%", "+-", "baseline",
            "moved");
}

/* page_name — the first column of a row; in Markdown a bar would end it. */
static void page_name(const struct page *page, const char *name, int width)
{
    if (!page->markdown) {
        fprintf(page->out, "%-*s", width, name);
        return;
    }
    fputs("| ", page->out);
    for (; *name; name++) fprintf(page->out, *name == '|' ? "\\%c" : "%c", *name);
    fputs(" |", page->out);
}

static void page_errors(const struct page *page, const struct check_score *score)
{
    bool md = page->markdown;
    const double errors[] = {score->median_abs, score->mean_abs, score->max_abs};
    static const int widths[] = {7, 7, 8};
    for (int i = 0; i < 3; i++)
        fprintf(page->out, md ? " %*.1f %% |" : " %*.1f%%", md ? 0 : widths[i],
                PERCENT * errors[i]);
    fprintf(page->out, md ? " %+.1f %% |" : " %+7.1f%%", PERCENT * score->bias);
    fprintf(page->out, md ? " %.0f %% | %.0f %% |" : " %5.0f%% %5.0f%%", PERCENT * score->within_10,
            PERCENT * score->within_25);
}

static void page_score(const struct page *page, const struct check_score *score)
{
    bool md = page->markdown;
    page_name(page, score->id, NAME_WIDTH);
    fprintf(page->out, md ? " %d |" : " %6d", score->n);
    page_errors(page, score);
    fprintf(page->out, md ? " %.0f %% | %.0f %% |" : " %6.0f%% %5.0f%%", PERCENT * score->coverage,
            PERCENT * expm1(score->width));
    fprintf(page->out, md ? " %.1f %% |" : " %8.1f%%", PERCENT * score->baseline_median_abs);
    if (score->n_moved > 0) {
        fprintf(page->out, md ? " %.1f %% |\n" : " %7.1f%%\n", PERCENT * score->moved_median_abs);
    } else {
        fputs(md ? " |\n" : "        -\n", page->out);
    }
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

static int compare_series(const void *left, const void *right)
{
    const struct check_series *a = left;
    const struct check_series *b = right;
    int order = (a->median_points < b->median_points) - (a->median_points > b->median_points);
    return order != 0 ? order : strcmp(a->id, b->id);
}

static void page_series(const struct page *page, const struct check_series *series)
{
    bool md = page->markdown;
    page_name(page, series->id, 2 * NAME_WIDTH);
    fprintf(page->out, md ? " %d | %d to %d | %.1f | %+.1f |" : " %4d %6d - %-6d %7.1f %+7.1f",
            series->n, series->gpus_from, series->gpus_to, series->median_points,
            series->worst_points);
    if (isnan(series->rank_correlation)) {
        fputs(md ? " |\n" : "       -\n", page->out);
    } else {
        fprintf(page->out, md ? " %+.2f |\n" : " %+7.2f\n", series->rank_correlation);
    }
}

/* page_scaling — how predictions scale with the number of GPUs; the worst series first. */
static void page_scaling(const struct page *page, const struct check_scaling *scaling,
                         struct arena scratch)
{
    if (scaling->n == 0) return;
    fprintf(
        page->out,
        "\nscaling efficiency, predicted less measured, in points: median %.1f, mean %.1f, worst "
        "%.1f, bias %+.1f, within 3 points %.0f %% (%d runs of %d series against their fewest "
        "GPUs); rank correlation of step times within a series: median %.2f (%d series)\n",
        scaling->median_points, scaling->mean_points, scaling->max_points, scaling->bias_points,
        PERCENT * scaling->within_3, scaling->n, scaling->n_series,
        scaling->median_rank_correlation, scaling->n_ranked);
    struct check_series *worst = arena_new(&scratch, struct check_series, scaling->n_series);
    memcpy(worst, scaling->series, (size_t)scaling->n_series * sizeof *worst);
    qsort(worst, (size_t)scaling->n_series, sizeof *worst, compare_series);
    fputs(page->markdown ? "\n| worst series by points | runs | GPUs | median | worst | rank |\n"
                           "|---|--:|---|--:|--:|--:|\n"
                         : "\nworst series by points\n",
          page->out);
    for (int s = 0; s < scaling->n_series && s < SERIES_SHOWN; s++) page_series(page, &worst[s]);
}

static void page_groups_better(const struct page *page, const struct check *check)
{
    if (check->n_groups_moved == 0) return;
    fprintf(page->out, "%sbetter than the moved baseline in %d of %d groups\n",
            page->markdown ? "\n" : "", check->n_groups_better, check->n_groups_moved);
}

static bool is_key(const struct check *check, const char *column)
{
    const char *const *key = check->reader->form->keys;
    while (*key && strcmp(*key, column) != 0) key++;
    return *key != NULL;
}

/* page_missing — key columns that the table lacks; a slip of the finger would be silent otherwise. */
static void page_missing(const struct page *page, const struct check *check)
{
    const struct table *table = check->reader->table;
    int n = 0;
    for (const char *const *key = check->reader->form->keys; *key; key++) {
        if (table_column(table, *key) >= 0) continue;
        const char *near = diag_nearest(*key, table->columns, table->n_columns);
        fprintf(page->out, "%s%s",
                n++ == 0 ? "\nnot in the table, so not stated in any row: " : ", ", *key);
        if (near && table_column(table, near) >= 0 && !is_key(check, near))
            fprintf(page->out, " (did you mean \"%s\"?)", near);
    }
    if (n > 0) fputc('\n', page->out);
}

/* page_goals — of the halves beside each other. */
static void page_goals(const struct page *page, const struct check *check)
{
    bool md = page->markdown;
    int n = check->n_goals / 2;
    if (n == 0) return;
    fputs(md ? "\n| series whose median error is at most this, or that of equal runs | half a | "
               "half b |\n|---|--:|--:|\n"
             : "\nseries whose median error is at most this, or that of equal runs        half a   "
               "      half b\n",
          page->out);
    for (int k = 0; k < n; k++) {
        const struct check_goal *goal = &check->goals[k];
        char what[64];
        snprintf(what, sizeof what,
                 goal->from_B > 0 ? "%.0f %%, from %.0f MB on" : "%.0f %%, all sizes",
                 PERCENT * goal->limit_frac, goal->from_B / MEGA);
        page_name(page, what, 62);
        for (int half = 0; half < 2; half++, goal += n)
            fprintf(page->out, md ? " %d of %d |" : "  %5d of %5d", goal->n_met, goal->n);
        fputc('\n', page->out);
    }
}

static void page_verdict(const struct page *page, const struct check_verdict *verdict)
{
    char with[32] = "";
    if (isfinite(verdict->ratio_with)) snprintf(with, sizeof with, "%.2f", verdict->ratio_with);
    fprintf(page->out,
            page->markdown ? "| %s | %s | %.2f | %s | %s |\n" : "%-34s %-7s %8.2f %6s  %s\n",
            verdict->id, verdict->suspect ? "yes" : "", verdict->ratio, with, verdict->first);
}

static void page_off(const struct page *page, const struct check_off *off)
{
    if (off->n == 0) return;
    fprintf(page->out,
            "\noff: %d of %d series take more than %.2f or less than %.2f times what is predicted "
            "at large sizes: %d of %d that the table marks as suspect, %d of %d others\n",
            off->n_off, off->n, off->slower, off->faster, off->n_suspect_off, off->n_suspect,
            off->n_others_off, off->n_others);
    if (off->n_off == 0) return;
    if (page->markdown) {
        fputs(
            "\n| series | marked | measured / predicted | with the suspicion | first suspicion |\n"
            "|---|---|--:|--:|---|\n",
            page->out);
    } else {
        fprintf(page->out, "%-34s %-7s %8s %6s  %s\n", "series", "marked", "ratio", "with",
                "first suspicion");
    }
    int shown = page->markdown || off->n_off < OFF_SHOWN ? off->n_off : OFF_SHOWN;
    for (int i = 0; i < shown; i++) page_verdict(page, &off->verdicts[i]);
    if (shown < off->n_off)
        fprintf(page->out, "  and %d more (--json or --report has all)\n", off->n_off - shown);
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
    page_groups_better(page, check);
    page_scores(page, &check->halves);
    page_scores(page, &check->bands);
    page_scores(page, &check->kinds);
    page_goals(page, check);
    page_worst(page, check, scratch);
    page_scaling(page, &check->scaling, scratch);
    if (page->markdown) page_scores(page, &check->groups);
    page_off(page, &check->off);
    page_missing(page, check);
    page_reasons(page, check);
}
