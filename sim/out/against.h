/* The commands that put measured files beside a scenario: `check --against`, `collective --compare` and `fit
 * --against`. */
#ifndef OUT_AGAINST_H
#define OUT_AGAINST_H

#include "out/options.h"

/* against_check — the gate of CI: EXIT_FINE when the median error of every series is within the tolerance. */
int against_check(const struct options *options, struct arena *perm);

/* against_compare — measured beside predicted, size by size. */
int against_compare(const struct options *options, struct arena *perm);

/* against_fit_command — constants of the cluster, and the scenario with them. */
int against_fit_command(const struct options *options, struct arena *perm);

#endif
