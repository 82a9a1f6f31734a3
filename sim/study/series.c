#include "study/series.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double POINTS = 100, NEAR_POINTS = 3;

enum { RANKED_MIN = 3 }; /* runs; two are always in order or in reverse */

static bool follows_from_scale(const char *column)
{
    static const char *const columns[] = {"gpus",         "gpus_per_node", "nodes",
                                          "global_batch", "grad_accum",    "dp",
                                          "nic_key",      "fabric_key",    "nic_gbps_per_gpu"};
    size_t i = 0;
    while (i < sizeof columns / sizeof columns[0] && strcmp(columns[i], column) != 0) i++;
    return i < sizeof columns / sizeof columns[0];
}

static int compare_series(const struct row_reader *reader, int a, int b)
{
    int order =
        strcmp(row_cell(reader, a, reader->form->group), row_cell(reader, b, reader->form->group));
    for (const char *const *key = reader->form->keys; *key && order == 0; key++) {
        if (!follows_from_scale(*key))
            order = strcmp(row_cell(reader, a, *key), row_cell(reader, b, *key));
    }
    return order;
}

static int compare_members(const void *left, const void *right, void *context)
{
    const struct check *check = context;
    int a = *(const int *)left;
    int b = *(const int *)right;
    int order = compare_series(check->reader, a, b);
    double gpus_a = row_number(check->reader, a, "gpus");
    double gpus_b = row_number(check->reader, b, "gpus");
    if (order == 0) order = (gpus_a > gpus_b) - (gpus_a < gpus_b);
    return order != 0 ? order : (a > b) - (a < b);
}

/* rows[n] of one series, by GPUs */
struct members {
    const struct check *check;
    const int *rows;
    int n, n_first; /* n_first: runs on the fewest GPUs */
};

/* pace — GPU-seconds per sample, measured or predicted. */
static double pace(const struct members *members, int i, bool predicted)
{
    const struct check_row *row = &members->check->rows[members->rows[i]];
    double time_s = predicted ? row->predicted_s : row->measured_s;
    return time_s * row_number(members->check->reader, members->rows[i], "gpus") / row->samples;
}

static double first_pace(const struct members *members, bool predicted, struct arena scratch)
{
    double *x = arena_new(&scratch, double, members->n_first);
    for (int i = 0; i < members->n_first; i++) x[i] = pace(members, i, predicted);
    return stats_median(x, members->n_first, scratch);
}

/* efficiency_points — predicted less measured scaling efficiency of each run on more than the fewest
 * GPUs, against the median run on these. */
static void efficiency_points(const struct members *members, double *points, struct arena scratch)
{
    double measured = first_pace(members, false, scratch);
    double predicted = first_pace(members, true, scratch);
    for (int i = members->n_first; i < members->n; i++)
        points[i - members->n_first] =
            POINTS * (predicted / pace(members, i, true) - measured / pace(members, i, false));
}

static double rank_correlation(const struct members *members, struct arena scratch)
{
    double *measured = arena_new(&scratch, double, members->n);
    double *predicted = arena_new(&scratch, double, members->n);
    for (int i = 0; i < members->n; i++) {
        measured[i] = members->check->rows[members->rows[i]].measured_s;
        predicted[i] = members->check->rows[members->rows[i]].predicted_s;
    }
    if (members->n < RANKED_MIN) return NAN;
    return stats_rank_correlation(measured, predicted, members->n, scratch);
}

static const char *name_of(const struct members *members, struct arena *perm)
{
    const struct row_reader *reader = members->check->reader;
    int row = members->rows[0];
    return arena_text(perm, "%s: %s, %s, %s, %s", row_cell(reader, row, reader->form->group),
                      row_cell(reader, row, "model"), row_cell(reader, row, "gpu_key"),
                      row_cell(reader, row, "precision_key"), row_cell(reader, row, "framework"));
}

/* score_series — one series; its points go to the end of all[]. */
static void score_series(const struct study *study, const struct members *members, double *all)
{
    struct check_scaling *scaling = &study->check->scaling;
    const struct row_reader *reader = study->check->reader;
    struct arena scratch = *study->work;
    int n = members->n - members->n_first;
    double *size = arena_new(&scratch, double, n);
    efficiency_points(members, all + scaling->n, scratch);
    struct check_series *series = &scaling->series[scaling->n_series++];
    *series = (struct check_series){
        .id = name_of(members, study->perm),
        .n = members->n,
        .gpus_from = (int)row_number(reader, members->rows[0], "gpus"),
        .gpus_to = (int)row_number(reader, members->rows[members->n - 1], "gpus"),
        .rank_correlation = rank_correlation(members, scratch)};
    for (int i = 0; i < n; i++) {
        double points = all[scaling->n + i];
        size[i] = fabs(points);
        if (size[i] > fabs(series->worst_points)) series->worst_points = points;
    }
    series->median_points = stats_median(size, n, scratch);
    scaling->n += n;
}

static void sum_up(struct check_scaling *scaling, const double *all, struct arena scratch)
{
    double *size = arena_new(&scratch, double, scaling->n);
    double *ranks = arena_new(&scratch, double, scaling->n_series);
    if (scaling->n == 0) return;
    for (int i = 0; i < scaling->n; i++) {
        size[i] = fabs(all[i]);
        scaling->within_3 += size[i] <= NEAR_POINTS;
        scaling->max_points = fmax(scaling->max_points, size[i]);
    }
    scaling->within_3 /= scaling->n;
    scaling->median_points = stats_median(size, scaling->n, scratch);
    scaling->mean_points = stats_mean(size, scaling->n);
    scaling->bias_points = stats_median(all, scaling->n, scratch);
    for (int s = 0; s < scaling->n_series; s++) {
        double rank = scaling->series[s].rank_correlation;
        if (!isnan(rank)) ranks[scaling->n_ranked++] = rank;
    }
    if (scaling->n_ranked > 0)
        scaling->median_rank_correlation = stats_median(ranks, scaling->n_ranked, scratch);
}

/* members_at — the series that begins at rows[from]. */
static struct members members_at(const struct check *check, const int *rows, int n, int from)
{
    struct members members = {check, rows + from, 1, 1};
    while (from + members.n < n &&
           compare_series(check->reader, rows[from], rows[from + members.n]) == 0)
        members.n++;
    double fewest = row_number(check->reader, rows[from], "gpus");
    while (members.n_first < members.n &&
           row_number(check->reader, rows[from + members.n_first], "gpus") <= fewest)
        members.n_first++;
    return members;
}

void series_score(const struct study *study)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    if (check->reader->form->collective) return;
    int *rows = arena_new(&scratch, int, check->n_rows);
    double *all = arena_new(&scratch, double, check->n_rows);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        bool told = row_is_covered(&check->rows[r]) && row_number(check->reader, r, "gpus") > 0;
        if (told) rows[n++] = r;
    }
    qsort_r(rows, (size_t)n, sizeof *rows, compare_members, check);
    check->scaling.series = arena_new(study->perm, struct check_series, n);
    struct study inner = *study;
    inner.work = &scratch;
    struct members members;
    for (int from = 0; from < n; from += members.n) {
        members = members_at(check, rows, n, from);
        if (members.n_first < members.n) score_series(&inner, &members, all);
    }
    sum_up(&check->scaling, all, scratch);
}
