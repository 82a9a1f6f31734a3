/* Lines alpha + beta x through measured times, in one piece or in two. The second is there when it is
 * worth its three numbers (solve_worth).
 * Source: Hockney, The communication challenge for MPP, 1994. */
#ifndef STUDY_LINES_H
#define STUDY_LINES_H

#include "study/solve.h"

/* lines_part — fits the rows of one series (equal benchmark and ranks); NULL after an error in diag. */
struct calibrate_part *lines_part(struct calibrate_row **rows, int n, enum measured_kind kind,
                                  struct arena *perm, struct diag *diag);

#endif
