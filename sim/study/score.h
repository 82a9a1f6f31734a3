/* Errors of covered rows summed up: all of them, by group, by kind, by band of size. */
#ifndef STUDY_SCORE_H
#define STUDY_SCORE_H

#include "study/rows.h"

/* score_all — fills in every score of the check. */
void score_all(const struct study *study);

/* score_rows — of the covered rows rows[n]. */
struct check_score score_rows(const struct check *check, const int *rows, int n,
                              struct arena scratch);

#endif
