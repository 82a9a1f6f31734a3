/* Constants of profiles fitted to a part of a table and judged on the rest. What is minimised is the
 * mean over groups of the median of |ln(predicted / measured)|, so that neither a long series nor an
 * odd one decides. Only rows whose profiles a constant stands in are predicted again when it moves.
 * Deterministic. */
#ifndef STUDY_FIT_H
#define STUDY_FIT_H

#include "study/free.h"
#include "study/rows.h"

struct fit_options {
    const char
        *on; /* "a" or "b": that half; "all"; or a number of folds, "2" to "20": each group is
                     * then predicted by constants fitted to the other folds */
    const char *free_file;
    int max_evaluations; /* per fit */
};

/* fit_is_part — whether a text says what to fit on. */
bool fit_is_part(const char *on);

/* fit_run — after rows_predict_all: fits, and leaves the rows predicted with the fitted constants.
 * The profiles' own values are those before. NULL after an error in the file of free constants. */
struct check_fit *fit_run(const struct study *study, const struct fit_options *options,
                          struct free_set **set, struct diag *diag);

#endif
