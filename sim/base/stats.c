#include "base/stats.h"

#include "base/must.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

double stats_mean(const double *x, int n)
{
    must(n > 0);
    return gsl_stats_mean(x, 1, (size_t)n);
}

double stats_sd(const double *x, int n)
{
    must(n > 0);
    return n == 1 ? 0.0 : gsl_stats_sd(x, 1, (size_t)n);
}

double stats_median(const double *x, int n, struct arena scratch)
{
    return stats_percentile(x, n, 50, scratch);
}

double stats_percentile(const double *x, int n, double p, struct arena scratch)
{
    must(n > 0 && p >= 0 && p <= 100);
    double *sorted = arena_new(&scratch, double, n);
    memcpy(sorted, x, (size_t)n * sizeof *x);
    gsl_sort(sorted, 1, (size_t)n);
    return gsl_stats_quantile_from_sorted_data(sorted, 1, (size_t)n, p / 100);
}

static bool all_equal(const double *x, int n)
{
    int i = 1;
    while (i < n && !(x[i] > x[0]) && !(x[i] < x[0])) i++;
    return i == n;
}

double stats_rank_correlation(const double *x, const double *y, int n, struct arena scratch)
{
    must(n > 1);
    if (all_equal(x, n) || all_equal(y, n)) return NAN;
    double *work = arena_new(&scratch, double, 2 * (int64_t)n);
    return gsl_stats_spearman(x, 1, y, 1, (size_t)n, work);
}

double stats_expected_max(int n)
{
    must(n > 0);
    return gsl_cdf_ugaussian_Pinv((n - 0.375) / (n + 0.25));
}
