/* How near predictions are series by series, beside what is aimed at: the median of rows hides a series
 * that is far off behind many that are near. */
#ifndef STUDY_GOALS_H
#define STUDY_GOALS_H

#include "study/rows.h"

/* goals_find — fills in check->goals; nothing for training. Needs the errors of equal runs
 * (replicates.h). */
void goals_find(const struct study *study);

#endif
