/* A clock that obeys a known law, for tests of the harness and of fits: a case takes
 *
 *   floor + FLOP / rate + bytes / bandwidth
 *
 * times a lognormal noise, now and then many times as long, cut to whole ticks. Its own time is what it
 * gave out. */
#ifndef CALIB_FAKE_H
#define CALIB_FAKE_H

#include "calib/backend.h"

struct fake_law {
    double floor_s, rate_flops, bandwidth_Bps;
    double noise;          /* standard deviation of the logarithm */
    double outlier_share;  /* of the samples */
    double outlier_factor; /* on their time */
    double tick_s;         /* the clock gives whole multiples; 0 = continuous */
    double check;          /* what every check finds; < 1 is right */
    int fails_after;       /* runs until the device gives an error; 0 = never */
};

extern const struct fake_law fake_usual;

/* fake_set — the law from now on; NULL: fake_usual. */
void fake_set(const struct fake_law *wanted);

/* fake_time_s — of a case by the law, without noise. */
double fake_time_s(const struct calib_case *c);

/* fake_runs — run() calls since fake_set. */
int fake_runs(void);

#endif
