/* One fit of `calibrate`: rows, the constants that their predictions hang on, and what comes of them.
 * Constants are fitted as logarithms. */
#ifndef STUDY_SOLVE_H
#define STUDY_SOLVE_H

#include "base/lsq.h"
#include "study/calibrate.h"

enum { SOLVE_MAX_CONSTANTS = 24, SOLVE_FOLDS = 10 };

struct solve_constant {
    struct calibrate_constant constant; /* value: where the fit starts */
    double lower, upper;                /* of the value, > 0 */
    size_t offset;                      /* in struct solve */
};

struct solve {
    struct calibrate_row **rows;
    int n_rows;
    struct solve_constant constants[SOLVE_MAX_CONSTANTS];
    int n_constants;
    struct gpu gpu; /* this and the next four: with the constants that were set last */
    double (*predict)(const struct solve *solve, const struct calibrate_row *row);
    double alpha_s, beta_s;     /* of lines */
    double burst_frac, burst_s; /* of short benchmarks: see calibrate.h */
    double huber;
    int n_folds; /* 0 = SOLVE_FOLDS */
    /* out */
    double *covariance; /* [n_constants ^ 2] of logarithms */
    double chi2, fit_sd;
    const char *problem;
};

/* solve_add — a constant; start is moved into its bounds. */
void solve_add(struct solve *solve, struct solve_constant constant);

/* solve_fit — all rows; fills constants' values and errors, rows' fitted_s and left_out_s. false and an
 * error in diag, named by `what`, when there are too few rows. */
bool solve_fit(struct solve *solve, const char *what, struct arena *perm, struct diag *diag);

/* solve_loss — of all rows fitted: the sum of squared residuals, large ones linear. Changes nothing but
 * what the constants are set to. INFINITY when rows are too few. */
double solve_loss(struct solve *solve, struct arena scratch);

/* solve_worth — are n_more constants worth a loss that falls from `less` to `more` over n rows with n_free
 * degrees of freedom left? By an F test at one in a hundred, and by the Bayesian information
 * criterion, as one was chosen among several.
 * Sources: Chow, Tests of equality between sets of coefficients, 1960; Schwarz, Estimating the dimension
 * of a model, 1978. */
struct solve_gain {
    double loss_before, loss_after;
    int n_rows, n_free, n_more;
};
bool solve_worth(const struct solve_gain *gain);

/* solve_group — numbers rows[].group by texts that are equal for rows of one group; returns their number. */
int solve_group(struct calibrate_row **rows, int n,
                const char *(*key)(const struct calibrate_row *, struct arena *),
                struct arena *perm);

/* solve_count_groups — different groups among some rows. */
int solve_count_groups(struct calibrate_row *const *rows, int n, struct arena scratch);

#endif
