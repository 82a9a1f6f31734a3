/* What a simple rule would have said, row by row: the skill of a prediction is what it has over this. */
#ifndef STUDY_BASELINE_H
#define STUDY_BASELINE_H

#include "study/rows.h"

/* baseline_find — fills in the baseline's errors of all covered rows. */
void baseline_find(const struct study *study);

#endif
