/* Minima of functions of a few numbers, each in [0, 1], without derivatives. Deterministic. */
#ifndef BASE_MINIMISE_H
#define BASE_MINIMISE_H

#include "base/arena.h"

struct minimise {
    double (*value)(void *context, const double *x); /* x[n] within [0, 1] */
    void *context;
    int n;
    double first_step, last_step; /* of [0, 1]; the search ends when steps are shorter */
    int max_evaluations;          /* of `value`, in all */
    int n_evaluations;            /* out */
};

/* minimise_compass — one number at a time: a step up or down that helps is repeated twice as long;
 * when none helps, steps are halved. x[n]: where it starts; out: the best found. Returns its value.
 * Source: Kolda, Lewis & Torczon, SIAM Review 45(3), 2003, sec. 3. */
double minimise_compass(struct minimise *search, double *x, struct arena *perm);

/* minimise_simplex — Nelder and Mead, all numbers at once; for the end of a search, where numbers
 * hang together. Never worse than the start. n > 0. Both keep their arrays in `perm`, as `value` may use
 * what is above. */
double minimise_simplex(struct minimise *search, double *x, struct arena *perm);

#endif
