/* The few constants of a cluster (adjust.h) from what was measured on it; see against.h for how. */
#ifndef STUDY_AGAINST_FIT_H
#define STUDY_AGAINST_FIT_H

#include "study/against.h"

enum { AGAINST_CONSTANTS = 5 };

struct against_constant {
    const char *name; /* a key of "adjust" */
    double before, value;
    double sd; /* relative; of the overhead in seconds. 0 = at a bound */
    bool at_bound;
};

struct against_fit {
    struct against_constant constants[AGAINST_CONSTANTS];
    int n_constants;
    double covariance[AGAINST_CONSTANTS * AGAINST_CONSTANTS]; /* of logarithms, and seconds */
    struct adjust adjust;
    double error_before, error_after; /* median of |predicted / measured - 1| */
    double error_left_out;            /* likewise; NAN: one group alone, nothing can be left out */
    double spread;                    /* relative sd of a new measurement about its prediction */
    const char *problem;              /* NULL = none */
};

/* against_fit — the points' predictions are then those of the fit, and left_out_s is set where it can be.
 * Which constants: those that move any point by a thousandth when they move by a twentieth; the
 * overhead of steps from four steps on. Where there are steps and no collectives, one factor stands
 * for all of the network: latencies times it, rates over it. */
struct against_fit *against_fit(struct against *against, struct arena *perm);

#endif
