/* Runs a plan: events, streams, dependencies, contention. The engine owns the clock; fluid is
 * asked when its next activity ends. Two expansions of collectives: bundles (fluid), and single
 * sends on the unfolded network (message). */
#ifndef ENGINE_H
#define ENGINE_H

#include "plan.h"

/* one executed op of one class, for trace and report */
struct span {
    int32_t rank_class, op, iteration;
    double start_s, end_s; /* collective: from when its own rank joined; `begin_s` when it began moving */
    double begin_s;
};

struct run {
    double iteration_s;    /* steady period */
    double end_s;          /* of the last op of the last iteration */
    struct span *spans;    /* in order of their end */
    int64_t n_spans;
    int64_t n_events;
    double *busy_s;        /* [n_resources] link seconds at capacity in the last period (bytes / capacity) */
    double *bottleneck_s;  /* [n_resources] time, in the last period, for which a bundle was frozen by that resource */
    double peak_memory_B;
    int peak_class;
    const char *stuck; /* NULL, or who waits for what when the job cannot finish */
};

/* engine_run — play in->job for its iterations. A job that cannot finish (two ranks wait for each
 * other) returns iteration_s = INFINITY and says who waits for what in run->stuck. */
struct run *engine_run(const struct plan *plan, struct arena *perm);

/* engine_message — the same with every send a flow; the plan must be unfolded. */
struct run *engine_message(const struct plan *plan, struct arena *perm);

/* engine_collective_s — one collective alone, all groups of comm 0, in the given fidelity: what `dpsim collective` prints. */
double engine_collective_s(const struct plan *plan, enum fidelity fidelity, struct arena scratch);

#endif
