/* Inputs to result: the one entry that the commands, checks, sweeps and tests use. */
#ifndef PREDICT_H
#define PREDICT_H

#include "engine.h"

/* what the GPU that works hardest does with one step; the parts sum to iteration_s */
enum share {
    SHARE_FORWARD,
    SHARE_BACKWARD,
    SHARE_OPTIMIZER,
    SHARE_EXPOSED,   /* compute waits while a collective of its own moves */
    SHARE_STRAGGLER, /* compute waits for others to come to a collective */
    SHARE_LAUNCH,    /* compute waits for the host to issue kernels */
    SHARE_INPUT,     /* compute waits for the next batch */
    SHARE_BUBBLE,    /* nothing to do */
    N_SHARES
};
extern const char *const share_names[N_SHARES];

/* one what-if: everything of this kind twice as fast */
struct gain {
    const char *kind; /* "compute", "launch", "latency", a name of tier_names, or "links": all tiers
                         at once, where that buys clearly more than any one */
    double frac;      /* 1 - new time / old time */
};
enum { N_GAINS_MAX = 4 + N_TIERS };

/* one of several jobs on one network */
struct job_result {
    const struct result *alone; /* as if the others were not there */
    double alone_s, together_s; /* of a step */
};

struct result {
    const struct inputs *in;
    double iteration_s, interval_s[2]; /* 90 % */
    double share_s[N_SHARES];
    double compute_s;       /* kernels of one step */
    double communication_s; /* time for which any collective of the GPU moves */
    double
        exposed_communication_s; /* of it, what compute waits for; waiting for stragglers is apart */
    double bubble_s;             /* compute has nothing to do, for no reason above */
    double throughput;           /* samples per second, all GPUs */
    double one_gpu_s;            /* the same step on one GPU, no communication */
    double scaling_efficiency;   /* throughput / (n_gpus * throughput of one GPU) */
    double bytes_sent_B;         /* per GPU and step, at least */
    double memory_B;             /* peak of the fullest GPU */
    struct held held;            /* of it, all the time; the rest are activations */
    double activations_B;
    bool fits;
    double mfu; /* model FLOPs (forward + backward, no recompute) / peak of the precision */
    const char *limit_kind, *limit_name;
    double gain_if_doubled;         /* of limit_kind: 1 - new time / old time */
    struct gain gains[N_GAINS_MAX]; /* best first */
    int n_gains;
    int n_classes;
    int64_t n_events;
    const char *const *warnings;
    int n_warnings;
    const char *stuck; /* NULL, or why the job can never finish; nothing above but in is set then */
    struct plan *plan;
    struct run *run;
    struct job_result *jobs; /* [n_jobs] 0: there is one job */
    int n_jobs;
};

/* predict — plan, run in in->fidelity, and what-ifs on the same plan: by closed forms under estimate, else in
 * fluid. */
struct result *predict(const struct inputs *in, struct arena *perm);

/* result_warn — add a warning. */
void result_warn(struct result *result, const char *warning, struct arena *perm);

/* result_warn_of_events — of changes of links that the run does not show. */
void result_warn_of_events(struct result *result, struct arena *perm);

/* job_result_together — a job's own result beside the others: what they cost it is exposed
 * communication. */
struct result *job_result_together(const struct job_result *job, struct arena *perm);

/* result_busiest_link — the link that held back flows for longest, by name. */
const char *result_busiest_link(const struct result *result, struct arena *perm);

/* inputs_collective — the same cluster running one collective over all ranks, once.
 *   algorithm, protocol  NULL = the library chooses */
struct inputs *inputs_collective(const struct inputs *base, enum coll_kind kind, double size_B,
                                 const char *algorithm, const char *protocol, struct arena *perm);

/* predict_collective — its time in in->fidelity, and the plan that was run (plan->colls[0] says
 * which algorithm and protocol). */
struct collective_time {
    double time_s, interval_s[2];
    const struct plan *plan;
};
struct collective_time predict_collective(const struct inputs *in, struct arena *perm);

#endif
