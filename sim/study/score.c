#include "study/score.h"

#include "base/stats.h"
#include "study/groups.h"

#include <math.h>

static const double NEAR_FRAC = 0.10, FAR_FRAC = 0.25;

/* of lib_size_below_B */
static const char *const band_names[] = {"< 64 kB", "64 kB - 8 MB", "8 - 64 MB", "> 64 MB"};
enum { N_BANDS = LIB_N_SIZES };

static const double INTERVAL_MISSES =
    0.1; /* share of the measured that lies outside, if all is well */

static void score_moved(const struct check *check, const int *rows, int n,
                        struct check_score *score, struct arena scratch)
{
    double *moved = arena_new(&scratch, double, n);
    double *own = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) {
        const struct check_row *row = &check->rows[rows[i]];
        if (isnan(row->moved_error)) continue;
        own[score->n_moved] = fabs(row->error);
        moved[score->n_moved++] = fabs(row->moved_error);
    }
    if (score->n_moved == 0) return;
    score->moved_median_abs = stats_median(moved, score->n_moved, scratch);
    score->own_median_abs_moved = stats_median(own, score->n_moved, scratch);
}

static void score_intervals(const struct check *check, const int *rows, int n,
                            struct check_score *score, struct arena scratch)
{
    double *width = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) {
        const struct check_row *row = &check->rows[rows[i]];
        double below = log(row->low_s / row->measured_s);
        double above = log(row->measured_s / row->high_s);
        width[i] = log(row->high_s / row->low_s) / 2;
        score->coverage += below <= 0 && above <= 0;
        score->interval_score += 2 * width[i] + 2 / INTERVAL_MISSES * fmax(fmax(below, above), 0);
    }
    score->coverage /= n;
    score->interval_score /= n;
    score->width = stats_median(width, n, scratch);
}

struct check_score score_rows(const struct check *check, const int *rows, int n,
                              struct arena scratch)
{
    struct check_score score = {.n = n};
    if (n == 0) return score;
    double *signed_error = arena_new(&scratch, double, n);
    double *size = arena_new(&scratch, double, n);
    double *baseline = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) {
        signed_error[i] = check->rows[rows[i]].error;
        size[i] = fabs(signed_error[i]);
        baseline[i] = fabs(check->rows[rows[i]].baseline_error);
        score.max_abs = fmax(score.max_abs, size[i]);
        score.within_10 += size[i] <= NEAR_FRAC;
        score.within_25 += size[i] <= FAR_FRAC;
    }
    score.within_10 /= n;
    score.within_25 /= n;
    score.mean_abs = stats_mean(size, n);
    score.median_abs = stats_median(size, n, scratch);
    score.bias = stats_median(signed_error, n, scratch);
    score.baseline_median_abs = stats_median(baseline, n, scratch);
    score_intervals(check, rows, n, &score, scratch);
    score_moved(check, rows, n, &score, scratch);
    return score;
}

static struct check_scores score_by(const struct study *study, const char *column)
{
    const struct check *check = study->check;
    struct arena scratch = *study->work;
    struct ranks ranks = ranks_of(check->reader, (const char *const[]){column, NULL}, &scratch);
    int *from = arena_new(&scratch, int, ranks.n + 1);
    const int *rows = rows_by_number(check, ranks.of, ranks.n, from, &scratch);
    struct check_scores scores = {column, arena_new(study->perm, struct check_score, ranks.n), 0};
    for (int g = 0; g < ranks.n; g++) {
        if (from[g] == from[g + 1]) continue;
        struct check_score *score = &scores.scores[scores.n++];
        *score = score_rows(check, rows + from[g], from[g + 1] - from[g], scratch);
        score->id = row_cell(check->reader, rows[from[g]], column);
    }
    return scores;
}

static struct check_scores score_by_size(const struct study *study)
{
    const struct check *check = study->check;
    struct arena scratch = *study->work;
    int *rows = arena_new(&scratch, int, check->n_rows);
    struct check_scores scores = {"size", arena_new(study->perm, struct check_score, N_BANDS),
                                  N_BANDS};
    for (int b = 0; b < N_BANDS; b++) {
        double from_B = b > 0 ? lib_size_below_B[b - 1] : 0;
        int n = 0;
        for (int r = 0; r < check->n_rows; r++) {
            double size_B = check->rows[r].size_B;
            if (row_is_covered(&check->rows[r]) && size_B >= from_B && size_B < lib_size_below_B[b])
                rows[n++] = r;
        }
        scores.scores[b] = score_rows(check, rows, n, scratch);
        scores.scores[b].id = band_names[b];
    }
    return scores;
}

static void score_groups_once(struct check *check, struct arena scratch)
{
    int n = check->groups.n;
    double *own = arena_new(&scratch, double, n);
    double *baseline = arena_new(&scratch, double, n);
    if (n == 0) return;
    for (int g = 0; g < n; g++) {
        own[g] = check->groups.scores[g].median_abs;
        baseline[g] = check->groups.scores[g].baseline_median_abs;
        if (check->groups.scores[g].n_moved == 0) continue;
        check->n_groups_moved++;
        check->n_groups_better +=
            check->groups.scores[g].own_median_abs_moved < check->groups.scores[g].moved_median_abs;
    }
    check->median_of_groups = stats_median(own, n, scratch);
    check->baseline_median_of_groups = stats_median(baseline, n, scratch);
}

static struct check_scores score_halves(const struct study *study)
{
    const struct check *check = study->check;
    struct arena scratch = *study->work;
    static const char *const names[] = {"a", "b"};
    const struct groups *groups = groups_deal(study, 2);
    struct check_scores scores = {"half", arena_new(study->perm, struct check_score, 2), 2};
    int *rows = arena_new(&scratch, int, check->n_rows);
    for (int half = 0; half < 2; half++) {
        int n = 0;
        for (int r = 0; r < check->n_rows; r++) {
            if (row_is_covered(&check->rows[r]) && groups_part(groups, r) == half) rows[n++] = r;
        }
        scores.scores[half] = score_rows(check, rows, n, scratch);
        scores.scores[half].id = names[half];
    }
    return scores;
}

void score_all(const struct study *study)
{
    struct check *check = study->check;
    bool collective = check->reader->form->collective;
    struct arena scratch = *study->work;
    int *rows = arena_new(&scratch, int, check->n_rows);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        if (row_is_covered(&check->rows[r])) rows[n++] = r;
    }
    check->overall = score_rows(check, rows, n, scratch);
    check->overall.id = "all";
    check->groups = score_by(study, check->reader->form->group);
    check->kinds = score_by(study, collective ? "collective" : "gpu_key");
    check->halves = score_halves(study);
    if (collective) check->bands = score_by_size(study);
    score_groups_once(check, scratch);
}
