/* Training state over the ranks that hold the same parameters: ZeRO, FSDP, HSDP, Megatron's
 * distributed optimizer (which is ZeRO-1).
 *
 *   zero_stage   divided                  travels per step and parameter (gradient g, parameter w)
 *   0            nothing                  all-reduce of g
 *   1            optimizer, master        reduce-scatter of g, all-gather of w
 *   2            + gradients              the same; gradients in each micro-batch
 *   3            + parameters             per micro-batch: all-gather of w forward and backward, and
 *                                         reduce-scatter of g
 *
 * Under a pipeline stage 2 is as stage 1: its micro-batches are many and small, and gradients are summed
 * whole until the last one (PyTorch, torch/distributed/pipelining/stage.py, which synchronises in the
 * last backward only; DeepSpeed refuses the two together).
 * The unit is a block. With overlap a unit's gradients travel while backward goes on, in the last
 * micro-batch (stage 2 and 3: in each); gathered parameters of stage 1 and 2 are waited for unit by
 * unit in the next step's first forward; those of stage 3 are fetched one unit ahead, on one stream
 * with the gradients: the next unit's parameters go first. Without, the path of data waits for each.
 * Copies of shards (HSDP) then sum theirs.
 *
 *   compute      F1 F2 F3 | B3  B2  B1 |          stage 3: W = all-gather, G = reduce-scatter
 *   gradients W1 W2 W3    W3 W2 G3 W1 G2 G1
 *
 * Memory per parameter: weights, gradients, optimizer state as in step.h, each divided or not; stage
 * 3 has two gathered units, and gradients of one, on top of its shards.
 * Sources: Rajbhandari et al., ZeRO, SC 2020, sec. 5 and 7; Zhao et al., PyTorch FSDP, VLDB 2023,
 * sec. 3 and 4. */
#ifndef WORKLOAD_SHARD_H
#define WORKLOAD_SHARD_H

#include "workload/stage.h"

/* shard_in_each — must gradients travel in every micro-batch? */
bool shard_in_each(const struct parallel *parallel);

/* shard_by_unit — is a pass cut into units: backward of the last micro-batch (or of each), forward of
 * the first (or of each)? */
bool shard_by_unit(const struct parallel *parallel, const struct turn *turn);

/* shard_open — the gathers at the start of a step. */
void shard_open(struct stage *stage);

/* shard_before, shard_after — around a unit (or a whole chunk): its parameters come, its gradients
 * go. */
void shard_before(struct stage *stage, const struct piece *unit);
void shard_after(struct stage *stage, const struct piece *unit, const struct turn *turn);

/* shard_close — what gradients are left, then the update; what depends on it is told. */
void shard_close(struct stage *stage);

/* shard_held — state held all the time by a stage. */
struct held shard_held(const struct stage *stage);

#endif
