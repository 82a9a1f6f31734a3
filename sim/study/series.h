/* Training runs that differ in the number of GPUs only: does the prediction scale as they do? A
 * series is the covered rows of one source whose keys are equal but for GPUs, servers and what
 * follows from them (batch of the job, replicas, accumulation, and the network, which a single server
 * does not state). */
#ifndef STUDY_SERIES_H
#define STUDY_SERIES_H

#include "study/rows.h"

/* series_score — fills in check->scaling; nothing for collectives. */
void series_score(const struct study *study);

#endif
