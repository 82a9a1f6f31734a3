/* One fit of `calibrate`: rows, the constants that their predictions hang on, and what comes of them.
 * Constants are fitted as logarithms. */
#ifndef STUDY_SOLVE_H
#define STUDY_SOLVE_H

#include "base/lsq.h"
#include "study/calibrate.h"

enum { SOLVE_MAX_CONSTANTS = 16, SOLVE_FOLDS = 10 };

struct solve_constant {
    struct calibrate_constant constant; /* value: where the fit starts */
    double lower, upper;                /* of the value, > 0 */
    size_t offset;                      /* in struct gpu; of a line's unused */
};

struct solve {
    struct calibrate_row **rows;
    int n_rows;
    struct solve_constant constants[SOLVE_MAX_CONSTANTS];
    int n_constants;
    struct gpu gpu; /* with the constants that were set last */
    /* predict — a row, with value[n_constants] */
    void (*set)(struct solve *solve, const double *value);
    double (*predict)(const struct solve *solve, const struct calibrate_row *row);
    double line[SOLVE_MAX_CONSTANTS]; /* of lines: as set last */
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

/* solve_gpu_set — the set of kernels' constants: into solve->gpu. */
void solve_gpu_set(struct solve *solve, const double *value);

/* solve_group — numbers rows[].group by texts that are equal for rows of one group; returns their number. */
int solve_group(struct calibrate_row **rows, int n,
                const char *(*key)(const struct calibrate_row *, struct arena *),
                struct arena *perm);

#endif
