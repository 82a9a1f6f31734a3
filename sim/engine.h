/* Runs a plan: events, streams, dependencies, contention. The engine owns the clock; fluid is
 * asked when its next activity ends. Collectives expand in two ways: bundles in lock step (fluid
 * fidelity, on folded classes) or single sends (message fidelity, every rank its own class).
 *
 * Rules. Ops of a stream run in list order, one at a time, iteration after iteration. An op starts
 * when it heads its stream and its dependencies are done. Fluid collectives start when every
 * member has joined; in message fidelity each member starts sending when it joins. */
#ifndef ENGINE_H
#define ENGINE_H

#include "plan.h"

/* one executed op of one class, for trace and report */
struct span {
    int32_t rank_class, op, iteration;
    double start_s; /* when its stream reached it (collective: when this class joined) */
    double begin_s; /* when work began (collective: when all had joined); start_s for other ops */
    double end_s;
};

/* span_op — the op that a span of a run of this plan executed. */
static inline const struct op *span_op(const struct plan *plan, const struct span *span)
{
    return &plan_program(plan, span->rank_class)->ops[span->op];
}

/* what the times along the longest path through a step are of */
enum path { PATH_KERNEL, PATH_HOST, PATH_NETWORK, N_PATHS };

struct run {
    double iteration_s;    /* steady period: between the ends of the last two iterations */
    double end_s;          /* of the last op of the last iteration */
    double period_start_s; /* end_s - iteration_s */
    struct span *spans;    /* in order of their end */
    int64_t n_spans, cap_spans;
    int64_t n_events;
    double *busy_s; /* [n_resources] bytes of the last iteration / capacity */
    double *
        bottleneck_s; /* [n_resources] time in the last iteration for which it held back a bundle */
    bool tier_holds[N_TIERS]; /* some link of it held a bundle back, at some time of the run */
    double peak_memory_B;
    int peak_class;
    double path_s[N_PATHS]; /* of iteration_s on the longest path; only estimate_run knows */
    const char *stuck;      /* NULL, or who waits for what when the job cannot finish */
};

/* what-ifs: times and rates scaled without planning again; 1 = as planned */
struct scale {
    double kernel, host;  /* factors on times */
    double latency;       /* factor on latencies and launch of collectives */
    double tier[N_TIERS]; /* factors on link capacities */
    double hbm;           /* factor on memory bandwidth shared with communication */
};
extern const struct scale scale_none;

/* scale_of — the factor on the capacity of a resource of the plan. */
static inline double scale_of(const struct scale *scale, const struct plan *plan, int resource)
{
    if (resource >= plan->n_link_classes) return scale->hbm;
    return scale->tier[plan->in->topo->links[plan->rep_link[resource]].tier];
}

/* engine_run — play in->job for its iterations in fluid fidelity. A job that cannot finish (ranks
 * wait for each other) has iteration_s = INFINITY and says why in run->stuck. */
struct run *engine_run(const struct plan *plan, const struct scale *scale, struct arena *perm);

/* engine_message — the same with every send a flow; the plan must be unfolded (in->fold false). */
struct run *engine_message(const struct plan *plan, struct arena *perm);

/* run_finish — fills iteration_s, end_s, period_start_s and the memory peak from the spans: memory
 * over time is a pure function of the op times. */
void run_finish(const struct plan *plan, struct run *run, struct arena scratch);

/* run_add_span — append, growing the list in perm. */
void run_add_span(struct run *run, struct span span, struct arena *perm);

#endif
