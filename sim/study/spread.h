/* What intervals a table asks for: the spread of ln(measured / predicted) by part of the profiles (a
 * GPU; a library with reach and size class), fitted to half a of the table's groups, so that half b
 * can judge it. Rows of a group err together, so that groups count, not rows: each has the weight 1.
 * Parts of few groups lean on all parts of their pool, which weigh as much as PULL groups. The share
 * that is to lie inside is 0.9 (1 + 1/S) for S groups: what a new group, the S + 1st, then has.
 * Sources: Lee, Barber & Willett, Distribution-free inference with hierarchical data, 2023 (groups and
 * the correction); quantiles of both sides: Romano, Patterson & Candes, NeurIPS 2019. */
#ifndef STUDY_SPREAD_H
#define STUDY_SPREAD_H

#include "base/sides.h"
#include "study/rows.h"

struct spread_sample {
    double log_error; /* ln(measured / predicted) */
    int group;
    bool own; /* of the part itself, not only of its pool */
};

/* spread_fit — of samples[n], all of one pool, ordered anyhow; groups are numbered 0 .. n_groups - 1. */
struct sides spread_fit(const struct spread_sample *samples, int n, int n_groups,
                        struct arena scratch);

/* spread_find — fills in check->spreads: each part with rows on half a, and each pool under "". */
void spread_find(const struct study *study);

#endif
