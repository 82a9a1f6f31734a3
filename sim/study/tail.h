/* Where the sizes begin that one law is for. Small arrays stay in caches, level after level, and are faster
 * than the memory's law says; what lies below the last cache's edge is no part of the fit then. */
#ifndef STUDY_TAIL_H
#define STUDY_TAIL_H

#include "study/solve.h"

/* tail_sort — rows by size, smallest first. */
void tail_sort(struct calibrate_row **rows, int n);

/* tail_start — the first of solve's rows, which are sorted, that the law is for; 0 where one law does for all.
 * From the largest sizes down, octave by octave: the cut is where all that is smaller fails the law of
 * what is larger, by an F test at one in a hundred, and both the next octave and the rest are faster by a fifth or
 * more in the median.
 * Source: Chow, Tests of equality between sets of coefficients, Econometrica 28(3), 1960. */
int tail_start(const struct solve *solve, struct arena scratch);

#endif
