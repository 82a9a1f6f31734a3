#include "calib/sample.h"

#include "base/must.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* normal quantile of 75 %: a median absolute deviation in standard deviations of a normal */
static const double MAD_PER_SD = 0.6745;
static const double MOST_SD = 3.5;
/* what lies outside the interval on each side */
static const double TAIL = 0.025;

int sample_rank(int n)
{
    must(n <= SAMPLE_MOST);
    /* of the binomial(n, 1/2): the chance that exactly i samples lie below the median */
    double chance = ldexp(1, -n);
    double below = 0;
    int rank = 0;
    while (rank < n / 2) {
        below += chance;
        if (below > TAIL) break;
        chance *= (double)(n - rank) / (rank + 1);
        rank++;
    }
    return rank;
}

static double spread(const double *x, int n, double median, struct arena scratch)
{
    double *distances = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) distances[i] = fabs(x[i] - median);
    return stats_median(distances, n, scratch);
}

/* The i-th smallest, from 1. */
static double ordered(const double *x, int n, int i, struct arena scratch)
{
    return n == 1 ? x[0] : stats_percentile(x, n, 100.0 * (i - 1) / (n - 1), scratch);
}

struct sample sample_summarise(const double *x, int n, double tick, struct arena scratch)
{
    must(n > 0 && n <= SAMPLE_MOST);
    double middle = stats_median(x, n, scratch);
    double far = fmax(spread(x, n, middle, scratch), tick) * MOST_SD / MAD_PER_SD;
    double *kept = arena_new(&scratch, double, n);
    struct sample sample = {0};
    for (int i = 0; i < n; i++) {
        if (fabs(x[i] - middle) <= far) kept[sample.n_kept++] = x[i];
    }
    sample.n_outliers = n - sample.n_kept;
    sample.median = stats_median(kept, sample.n_kept, scratch);
    int rank = sample_rank(sample.n_kept);
    if (rank == 0) return sample;
    sample.low = ordered(kept, sample.n_kept, rank, scratch);
    sample.high = ordered(kept, sample.n_kept, sample.n_kept + 1 - rank, scratch);
    /* interpolation rounds: the median of equal samples is to lie inside */
    sample.low = fmin(sample.low, sample.median);
    sample.high = fmax(sample.high, sample.median);
    return sample;
}

double sample_width(const struct sample *sample)
{
    return sample->high > 0 ? (sample->high - sample->low) / (2 * sample->median)
                            : (double)INFINITY;
}
