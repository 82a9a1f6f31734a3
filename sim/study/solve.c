#include "study/solve.h"

#include "base/must.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 200 };

/* in logarithms: far above rounding, far below what a formula bends */
static const double SMALL = 1e-4;

void solve_add(struct solve *solve, struct solve_constant constant)
{
    must(solve->n_constants < SOLVE_MAX_CONSTANTS);
    constant.constant.value = fmin(fmax(constant.constant.value, constant.lower), constant.upper);
    solve->constants[solve->n_constants++] = constant;
}

static void set_logarithms(struct solve *solve, const double *x)
{
    for (int c = 0; c < solve->n_constants; c++) {
        double value = exp(x[c]);
        memcpy((char *)solve + solve->constants[c].offset, &value, sizeof value);
    }
}

/* rows of one fit: all, or those outside of a fold */
struct subset {
    struct solve *solve;
    struct calibrate_row **rows;
    int n;
};

static void residuals(void *context, const double *x, double *residual)
{
    struct subset *subset = context;
    set_logarithms(subset->solve, x);
    for (int i = 0; i < subset->n; i++) {
        const struct calibrate_row *row = subset->rows[i];
        residual[i] = log(subset->solve->predict(subset->solve, row) / row->measured_s) / row->sd;
    }
}

static struct lsq_result fit_subset(struct subset *subset, const double *start, struct arena *perm)
{
    double lower[SOLVE_MAX_CONSTANTS], upper[SOLVE_MAX_CONSTANTS];
    const struct solve *solve = subset->solve;
    for (int c = 0; c < solve->n_constants; c++) {
        lower[c] = log(solve->constants[c].lower);
        upper[c] = log(solve->constants[c].upper);
    }
    struct lsq lsq = {.residuals = residuals,
                      .context = subset,
                      .n = solve->n_constants,
                      .n_residuals = subset->n,
                      .lower = lower,
                      .upper = upper,
                      .huber = solve->huber,
                      .max_iterations = ITERATIONS};
    return lsq_fit(&lsq, start, perm);
}

/* the median over rows of what the constants' errors make of a prediction */
static double median_fit_sd(struct solve *solve, const struct lsq_result *result,
                            struct arena scratch)
{
    int n = solve->n_constants;
    double *sd = arena_new(&scratch, double, solve->n_rows);
    double *slope = arena_new(&scratch, double, (int64_t)solve->n_rows *n);
    for (int c = 0; c < n; c++) {
        double x[SOLVE_MAX_CONSTANTS];
        memcpy(x, result->x, (size_t)n * sizeof *x);
        for (int side = -1; side <= 1; side += 2) {
            x[c] = result->x[c] + side * SMALL;
            set_logarithms(solve, x);
            for (int i = 0; i < solve->n_rows; i++)
                slope[i * n + c] +=
                    side * log(solve->predict(solve, solve->rows[i])) / (2.0 * SMALL);
        }
    }
    for (int i = 0; i < solve->n_rows; i++)
        sd[i] = lsq_predicted_sd(result, slope + (ptrdiff_t)i * n, n);
    return stats_median(sd, solve->n_rows, scratch);
}

int solve_count_groups(struct calibrate_row *const *rows, int n, struct arena scratch)
{
    int most = 0;
    int n_groups = 0;
    for (int i = 0; i < n; i++) most = rows[i]->group > most ? rows[i]->group : most;
    bool *met = arena_new(&scratch, bool, most + 1);
    for (int i = 0; i < n; i++) {
        n_groups += !met[rows[i]->group];
        met[rows[i]->group] = true;
    }
    return n_groups;
}

/* leave_out — predicts a fold's rows by constants fitted to the others; false when those are too few,
 * and the fold stays as fitted. */
static void leave_out(struct solve *solve, int fold, int n_folds, const double *start,
                      struct arena scratch)
{
    struct subset others = {solve, arena_new(&scratch, struct calibrate_row *, solve->n_rows), 0};
    for (int i = 0; i < solve->n_rows; i++) {
        if (solve->rows[i]->group % n_folds != fold) others.rows[others.n++] = solve->rows[i];
    }
    if (others.n <= solve->n_constants) return;
    struct lsq_result result = fit_subset(&others, start, &scratch);
    set_logarithms(solve, result.x);
    for (int i = 0; i < solve->n_rows; i++) {
        if (solve->rows[i]->group % n_folds == fold)
            solve->rows[i]->left_out_s = solve->predict(solve, solve->rows[i]);
    }
}

static void keep(struct solve *solve, const struct lsq_result *result)
{
    for (int c = 0; c < solve->n_constants; c++) {
        struct calibrate_constant *constant = &solve->constants[c].constant;
        constant->value = exp(result->x[c]);
        constant->relative_sd = result->sd[c];
        constant->at_bound = result->at_bound[c];
    }
    solve->covariance = result->covariance;
    solve->chi2 = result->chi2;
    solve->problem = result->problem;
}

static void start_of(const struct solve *solve, double *start)
{
    for (int c = 0; c < solve->n_constants; c++) start[c] = log(solve->constants[c].constant.value);
}

double solve_loss(struct solve *solve, struct arena scratch)
{
    double start[SOLVE_MAX_CONSTANTS];
    if (solve->n_rows <= solve->n_constants) return INFINITY;
    start_of(solve, start);
    struct subset all = {solve, solve->rows, solve->n_rows};
    struct lsq_result result = fit_subset(&all, start, &scratch);
    double *residual = arena_new(&scratch, double, solve->n_rows);
    residuals(&all, result.x, residual);
    double sum = 0.0;
    for (int i = 0; i < solve->n_rows; i++) {
        double r = fabs(residual[i]), h = solve->huber;
        sum += h > 0.0 && r > h ? (2.0 * r - h) * h : r * r;
    }
    return sum;
}

bool solve_worth(const struct solve_gain *gain)
{
    static const double CHANCE = 1e-2;
    static const double NOTHING = 1e-9; /* a loss below it is rounding */
    double after = fmax(gain->loss_after, NOTHING);
    if (gain->n_free < 1 || !(gain->loss_after < gain->loss_before)) return false;
    double bic = gain->n_rows * log(after / gain->loss_before) + gain->n_more * log(gain->n_rows);
    double f = (gain->loss_before - after) / gain->n_more / (after / gain->n_free);
    return bic < 0.0 && f > 0.0 && lsq_f_tail(f, gain->n_more, gain->n_free) < CHANCE;
}

bool solve_fit(struct solve *solve, const char *what, struct arena *perm, struct diag *diag)
{
    int n_groups = solve_count_groups(solve->rows, solve->n_rows, *perm);
    if (solve->n_rows <= solve->n_constants || n_groups < 2) {
        diag_error(diag, (struct diag_place){.file = solve->rows[0]->raw->file},
                   "%d row%s of %s in %d shape%s (wanted at least %d in at least 2, for %d "
                   "constants)",
                   solve->n_rows, solve->n_rows == 1 ? "" : "s", what, n_groups,
                   n_groups == 1 ? "" : "s", solve->n_constants + 1, solve->n_constants);
        return false;
    }
    double start[SOLVE_MAX_CONSTANTS];
    start_of(solve, start);
    struct subset all = {solve, solve->rows, solve->n_rows};
    struct lsq_result result = fit_subset(&all, start, perm);
    keep(solve, &result);
    solve->fit_sd = median_fit_sd(solve, &result, *perm);
    set_logarithms(solve, result.x);
    for (int i = 0; i < solve->n_rows; i++) {
        solve->rows[i]->fitted_s = solve->predict(solve, solve->rows[i]);
        solve->rows[i]->left_out_s = solve->rows[i]->fitted_s;
    }
    int n_folds = solve->n_folds > 0 ? solve->n_folds : SOLVE_FOLDS;
    if (n_folds > n_groups) n_folds = n_groups;
    for (int fold = 0; fold < n_folds; fold++) leave_out(solve, fold, n_folds, result.x, *perm);
    set_logarithms(solve, result.x);
    return true;
}

struct keyed {
    const char *key;
    struct calibrate_row *row;
};

static int compare_keys(const void *left, const void *right)
{
    return strcmp(((const struct keyed *)left)->key, ((const struct keyed *)right)->key);
}

int solve_group(struct calibrate_row **rows, int n,
                const char *(*key)(const struct calibrate_row *, struct arena *),
                struct arena *perm)
{
    struct keyed *keyed = arena_new(perm, struct keyed, n);
    for (int i = 0; i < n; i++) keyed[i] = (struct keyed){key(rows[i], perm), rows[i]};
    qsort(keyed, (size_t)n, sizeof *keyed, compare_keys);
    int group = -1;
    for (int i = 0; i < n; i++) {
        group += i == 0 || strcmp(keyed[i].key, keyed[i - 1].key) != 0;
        keyed[i].row->group = group;
    }
    return group + 1;
}
