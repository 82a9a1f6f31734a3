/* Several jobs on one network: each alone, then all together on one clock, and what that costs each.
 *
 * Jobs have steps of unequal length, so each runs as many as fill about the same time. A job's step
 * together is the mean over the time in which all of them run: from the end of the last first step to
 * the first end of a job. */
#ifndef JOBS_H
#define JOBS_H

#include "predict.h"

/* predict_jobs — of in->jobs. The result's own fields are those of the job that suffers most. */
struct result *predict_jobs(const struct inputs *in, struct arena *perm);

#endif
