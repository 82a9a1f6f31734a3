/* Hybrid parallelism as Megatron-LM, DeepSpeed, NeMo and PyTorch FSDP train: a replica of the model
 * spans tensor x context x pipeline ranks; the replicas share the batch, and the state of training
 * is divided over some of them.
 *
 * Ranks stand as in Megatron-LM: tensor ranks are neighbours, then context, then replicas, then
 * pipeline stages. Ranks of one stage and one tensor place hold the same parameters: context x
 * replicas of them, over which gradients are summed and state is divided (shard_ranks neighbours
 * each; what is left over are copies of the shards: HSDP). Expert groups are neighbours too, tensor
 * ranks included.
 *
 *   stage.h     what a stage does; piece.h  what its layers cost; schedule.h  in what order
 *   shard.h     gradients, gathered parameters, the optimizer and their memory
 *
 * With nothing divided it is ddp without buckets: gradients are reduced block by block where ddp
 * fills 25 MiB, are not copied into and out of buckets, and the kernels of a pass are one op, so that
 * the host holds them back as a whole, not one by one.
 * Source: Narayanan et al., SC 2021, sec. 2 and 3. */
#ifndef WORKLOAD_PARALLEL_H
#define WORKLOAD_PARALLEL_H

#include "workload/strategy.h"

struct job *parallel_build(const struct train_spec *spec, const struct model *model,
                           const struct gpu *gpu, struct arena *perm);

/* parallel_refusal — NULL, or why spec->split does not go with the ranks or the model; *key then
 * names the key of the scenario's strategy that it is about. parallel_build takes only what is not
 * refused. */
const char *parallel_refusal(const struct train_spec *spec, const struct model *model,
                             const char **key, struct arena *perm);

/* parallel_replicas — how many replicas share the batch. */
int parallel_replicas(const struct train_spec *spec);

#endif
