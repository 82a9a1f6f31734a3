/* Measured products that contradict each other: one that is at least as large in every side took less than
 * two thirds of the time. No law by which a bigger product is never faster is within 20 % of both
 * (1.2 / 0.8 = 1.5). Layouts, libraries' choices of a kernel and clocks that moved while measuring
 * make them. */
#ifndef STUDY_CONTRADICT_H
#define STUDY_CONTRADICT_H

#include "study/calibrate.h"

enum { CONTRADICT_MOST_ROWS = 2000 }; /* pairs are compared one by one */

/* contradict_find — the fewest rows, nearly, without which none contradicts another: again and again the
 * one with most others against it. out: odd[n]. Returns how many; 0 when n is too large. */
int contradict_find(struct calibrate_row *const *rows, int n, bool *odd, struct arena scratch);

#endif
