/* What a set of timings says: its median, how sure that is, and which timings were disturbed. */
#ifndef CALIB_SAMPLE_H
#define CALIB_SAMPLE_H

#include "base/arena.h"

/* fewer samples than this have no 95 % interval of the median; more are not needed by any rule */
enum { SAMPLE_LEAST = 6, SAMPLE_MOST = 1000 };

struct sample {
    double median, low, high; /* low, high: 95 % interval of the median; 0 = not known */
    int n_kept, n_outliers;
};

/* sample_summarise — x[n] seconds, n in 1 .. SAMPLE_MOST; tick: resolution of one.
 *
 * Outliers are those whose distance from the median is more than 3.5 / 0.6745 median absolute
 * deviations, so 3.5 standard deviations of a normal; they are counted and left out. Timings that
 * differ by no more than the clock's resolution are equal, so the deviation is at least one tick.
 * Source: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 16, 1993.
 *
 * The interval is between order statistics, which asks nothing of the distribution.
 * Source: Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010, theorem 2.1;
 * for timings Hoefler & Belli, Scientific benchmarking of parallel computing systems, SC 2015. */
struct sample sample_summarise(const double *x, int n, double tick, struct arena scratch);

/* sample_rank — the largest r such that the r-th smallest and the r-th largest of n independent
 * samples hold the median between them with at least 95 %; 0: there is none. */
int sample_rank(int n);

/* sample_width — half of the interval over the median; infinity when it is not known. */
double sample_width(const struct sample *sample);

#endif
