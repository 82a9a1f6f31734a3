/* How far runs with equal keys (and size) differ: the error of predicting each by the median of the
 * others. No prediction can be better than that. */
#ifndef STUDY_REPLICATES_H
#define STUDY_REPLICATES_H

#include "study/rows.h"

void replicates_compare(const struct study *study);

#endif
