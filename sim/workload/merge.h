/* Several jobs as one: what runs side by side on one network. Ranks, programs and communicators of the
 * parts follow each other; no communicator joins two parts. */
#ifndef WORKLOAD_MERGE_H
#define WORKLOAD_MERGE_H

#include "workload/program.h"

/* job_merge — parts[n] (none of them merged) as one job, in which part i runs n_iterations[i] times. */
struct job *job_merge(const struct job *const *parts, int n, const int *n_iterations,
                      struct arena *perm);

#endif
