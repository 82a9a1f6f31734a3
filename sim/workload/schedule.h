/* In what order a pipeline stage computes: one forward, one backward (1F1B).
 *
 * Stage r of p has v chunks of the model, chunk c being virtual stage c p + r. With v = 1, a stage
 * runs p - r - 1 forwards ahead, then a forward and a backward in turn, then what is left.
 *
 *   p = 3, m = 4      r0  F0 F1 F2 B0 F3 B1 B2 B3
 *                     r1  F0 F1 B0 F2 B1 F3 B2 B3
 *                     r2  F0 B0 F1 B1 F2 B2 F3 B3
 *
 * Interleaved (v > 1), forwards take p micro-batches through the first chunk, the same p through the
 * second, and so on; backwards likewise from the last chunk to the first; a stage runs 2 (p - r - 1)
 * + (v - 1) p forwards ahead. What is left of the micro-batches beyond a multiple of p goes with the
 * first p of them.
 *
 * With equal stages and free transfers a step takes (m + (p - 1) / v) (F + B), F and B being the time
 * of a stage's chunks together.
 * Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021,
 * sec. 2.2. */
#ifndef WORKLOAD_SCHEDULE_H
#define WORKLOAD_SCHEDULE_H

#include "base/arena.h"

#include <stdbool.h>

struct pipeline {
    int n_stages, n_chunks, n_micro_batches; /* each >= 1; one stage has one chunk */
};
struct turn {
    bool backward;
    int micro_batch, chunk;
};

/* schedule_turns — what a stage does, in order.
 *   turns[2 * n_micro_batches * n_chunks]  out */
void schedule_turns(const struct pipeline *pipeline, int stage, struct turn *turns);

#endif
