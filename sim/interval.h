/* The 90 % interval of a prediction. What profiles know of their errors is the spread of measured
 * about predicted times over sources (systems, series) that were left out of every fit, on two
 * sides (base/sides.h); the step inherits it by its elasticities, to first order:
 *
 *   s = hypot((1 - n) c, n w)        n = d ln T / d ln (all network times)
 *
 * c of the GPU's profile (or of the measurement of one GPU, where it is given), joined with the
 * errors of its calibration, if it has one: 1.645 hypot(fit_sd, left_out_sd); w of the library's
 * profile, the mean over the step's collectives by their time, each by its size class and by whether
 * it leaves a server: errors of one library go together. As all times scale together (Euler), what is
 * not network has the rest of the elasticity. Closed form: nothing is drawn. */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "engine.h"

struct interval {
    double low_s, high_s;
};

/* interval_step — of the period of a run in plan->in->fidelity. The elasticity is the share of
 * network in estimate's longest path, else a finite difference in fluid. */
struct interval interval_step(const struct plan *plan, const struct run *run, struct arena scratch);

/* interval_collective — of one collective alone, whose time is time_s. */
struct interval interval_collective(const struct plan *plan, double time_s);

#endif
