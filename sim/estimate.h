/* The third opinion: longest path through the programs with closed-form collectives; no events, no
 * contention. Independent of the engine, cheap enough to search many plans. */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include "engine.h"

/* estimate_run — spans and period as engine_run gives them, by the closed forms; and path_s, what the
 * longest path consists of: as every time is a maximum of sums, the derivative of the period by the
 * logarithm of all kernel, host or network times at once. */
struct run *estimate_run(const struct plan *plan, struct arena *perm);

/* estimate_period — the same without spans and memory, at times and rates scaled: some thousands a second.
 * Rates other than as planned need a plan of fidelity estimate, which keeps how it came to its times. */
struct run estimate_period(const struct plan *plan, const struct scale *scale,
                           struct arena scratch);

struct estimate;

/* estimate_open — what the walk through a plan of fidelity estimate finds that does not depend on times. */
struct estimate *estimate_open(const struct plan *plan, struct arena *perm);

/* estimate_again — the period at times and rates scaled, bit for bit as estimate_period has it: laid once,
 * timed many times. */
double estimate_again(const struct estimate *estimate, const struct scale *scale,
                      struct arena scratch);

#endif
