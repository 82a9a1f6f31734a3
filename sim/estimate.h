/* The third opinion: longest path through the program with closed-form collectives, no events, no
 * contention. Cheap enough for searching millions of plans. */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include "plan.h"
#include "engine.h"

/* estimate_run — spans and period as engine_run gives them, by the closed forms. */
struct run *estimate_run(const struct plan *plan, struct arena *perm);

#endif
