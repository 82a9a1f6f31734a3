/* Weighted non-linear least squares with bounds: numbers x[n] such that sum r_i(x)^2 is least, where a
 * residual is what is off in units of its standard deviation. GSL's trust region method underneath;
 * bounds are kept by x = lower + (upper - lower) (1 + sin z) / 2, which GSL solves for z.
 * Derivatives are differences. Deterministic.
 * Source: Moré, The Levenberg-Marquardt algorithm, 1978; James & Roos, MINUIT, 1975 (the transform). */
#ifndef BASE_LSQ_H
#define BASE_LSQ_H

#include "base/arena.h"

#include <stdbool.h>

struct lsq {
    void (*residuals)(void *context, const double *x, double *residual);
    void *context;
    int n, n_residuals;
    const double *lower, *upper; /* [n], finite, lower < upper */
    double
        huber; /* residuals beyond it count linearly, so that odd ones do not decide (Huber, Robust
                     estimation of a location parameter, 1964); 0 = all count squared */
    int max_iterations;
};

struct lsq_result {
    double *x;  /* [n] */
    double *sd; /* [n] standard errors; 0 where x stands at a bound */
    double *
        covariance; /* [n * n] of x, scaled by the residuals' own spread where that is more than 1 */
    bool *at_bound;      /* [n] */
    double chi2;         /* weighted, per degree of freedom */
    int n_free;          /* residuals less numbers that are not at a bound; >= 1 */
    double condition;    /* of the scaled normal matrix, largest over smallest eigenvalue */
    const char *problem; /* NULL: fine; else a sentence's end, such as "did not converge" */
};

/* lsq_fit — x[n]: where it starts. n_residuals > n. Numbers that the data cannot tell apart give
 * `problem` "...", large standard errors and a result all the same. */
struct lsq_result lsq_fit(const struct lsq *lsq, const double *x, struct arena *perm);

/* lsq_predicted_sd — standard deviation of a value whose derivatives by x are gradient[n]. */
double lsq_predicted_sd(const struct lsq_result *result, const double *gradient, int n);

/* lsq_f_tail — the chance that a variable of Fisher's F distribution is above f. */
double lsq_f_tail(double f, int n_more, int n_free);

#endif
