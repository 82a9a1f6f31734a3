/* Summaries of samples: x[n], n > 0, left as they are. */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include "base/arena.h"

double stats_mean(const double *x, int n);

/* stats_sd — standard deviation with n - 1 below; 0 when n is 1. */
double stats_sd(const double *x, int n);

double stats_median(const double *x, int n, struct arena scratch);

/* stats_percentile — p in [0, 100], linear between neighbours (definition 7 of Hyndman & Fan,
 * The American Statistician 50(4), 1996). O(n log n). */
double stats_percentile(const double *x, int n, double p, struct arena scratch);

/* stats_rank_correlation — Spearman's, n > 1; NAN when all of x or all of y are equal. */
double stats_rank_correlation(const double *x, const double *y, int n, struct arena scratch);

/* stats_expected_max — of n independent standard normal variables; 0 for n = 1.
 * Source: Blom, Statistical estimates and transformed beta-variables, 1958 (alpha = 3/8). */
double stats_expected_max(int n);

#endif
