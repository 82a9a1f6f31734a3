/* Lines alpha + beta x through measured times, in one piece or in two. The second is there when it is
 * worth its three numbers: by an F test at one in a thousand, and by the Bayesian information
 * criterion, as the place of the break was chosen among all.
 * Sources: Hockney, The communication challenge for MPP, 1994 (the line); Schwarz, Estimating the
 * dimension of a model, 1978; Chow, Tests of equality between sets of coefficients, 1960. */
#ifndef STUDY_LINES_H
#define STUDY_LINES_H

#include "study/solve.h"

/* lines_part — fits the rows of one series (equal benchmark and ranks); NULL after an error in diag. */
struct calibrate_part *lines_part(struct calibrate_row **rows, int n, enum measured_kind kind,
                                  struct arena *perm, struct diag *diag);

#endif
