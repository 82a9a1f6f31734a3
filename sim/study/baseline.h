/* What simple rules would have said, row by row: the skill of a prediction is what it has over them.
 *
 * In sample: fitted to the very rows, so it is hard to beat and predicts nothing. Collectives: the
 * alpha + S / bandwidth, neither below 0, of the least squares of relative errors over the rows with
 * equal keys. Training: one utilisation per GPU and precision (model FLOPs over time, the median over
 * sources of each one's median) and ideal scaling.
 *
 * Moved: what the same rule says about groups that it has not seen, each left out in turn.
 * Collectives: a series is predicted by the line of the other series of the same keys if there are
 * any, else by that of the nearest keys of the same class (collective, GPU, links inside and between servers,
 * fabric), else of the same collective. Nearest: fewest doublings of GPUs plus of servers, first in
 * order of keys among equals; a single server and several are not near each other. The start-up
 * moves as it is; the time per byte is multiplied by the ratio of the bus factors (2 (n - 1) / n for
 * all-reduce, (n - 1) / n for all-gather, reduce-scatter and all-to-all, else 1) and divided by that of
 * the line rates (cards times rate of each, where both are told). Training: each source is predicted
 * by the utilisation of the others on the same GPU and precision. */
#ifndef STUDY_BASELINE_H
#define STUDY_BASELINE_H

#include "study/rows.h"

/* baseline_find — fills in the baseline's errors of all covered rows. */
void baseline_find(const struct study *study);

#endif
