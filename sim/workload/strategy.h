/* The registry of ways to train in parallel: each compiles a model on a GPU type into a job.
 * To add one: one file, one row. */
#ifndef WORKLOAD_STRATEGY_H
#define WORKLOAD_STRATEGY_H

#include "workload/kernel.h"
#include "workload/program.h"

enum recompute {
    RECOMPUTE_NONE,
    RECOMPUTE_SELECTIVE,
    RECOMPUTE_HALF,
    RECOMPUTE_FULL,
    N_RECOMPUTES
};

/* how ranks divide model, data and state ("parallel" strategy); n_ranks = tensor x pipeline x
 * context x replicas, and experts divides tensor x context x replicas */
struct split {
    int tensor, pipeline, virtual_stages, context, experts; /* >= 1 */
    bool sequence;  /* Megatron sequence parallelism: norms and dropout divided over tensor ranks */
    int zero_stage; /* 0 .. 3: optimizer state, gradients, parameters divided over shard_ranks */
    int shard_ranks; /* of context x replicas, see parallel.h; 0 = all */
    enum recompute recompute;
    bool tensor_overlap; /* what tensor ranks exchange travels beside the products that use it */
    int chunk_blocks; /* most blocks of a virtual stage, where virtual_stages is 1; 0 = one chunk */
};
extern const struct split split_none; /* nothing divided, nothing computed twice */

struct train_spec {
    const char *strategy; /* a name in strategies */
    int n_ranks;
    double batch_per_gpu; /* samples per micro-batch and replica of the model, > 0; a replica is one
                              GPU but for the "parallel" strategy */
    int grad_accumulation; /* micro-batches per step, >= 1 */
    enum dtype dtype;      /* of arithmetic */
    double gradient_B;     /* bytes per gradient element on the wire: 4 or 2 */
    const char *optimizer; /* "sgd", "momentum", "adam", "lamb": state and traffic per parameter */
    double bucket_cap_B, first_bucket_B; /* ddp */
    double fusion_B, cycle_s;            /* horovod */
    int n_servers;                       /* parameter-server; 0 = one per node (needs n_nodes) */
    int n_nodes;
    bool overlap;                     /* communication may run during backward */
    const char *algorithm, *protocol; /* forced; NULL = the library chooses */
    double one_gpu_s; /* measured step time of one GPU (all its micro-batches): kernel times are
                         scaled to it; 0 = use the profile alone */
    double input_s;   /* host time per step to feed the batch, 0 = none */
    int n_iterations;
    struct split split;
};

struct strategy {
    const char *name; /* as written in scenarios */
    struct job *(*build)(const struct train_spec *spec, const struct model *model,
                         const struct gpu *gpu, struct arena *perm);
    const char *summary, *source;
};
extern const struct strategy strategies[];
extern const int n_strategies;
const struct strategy *strategy_find(const char *name);

/* ddp_buckets — PyTorch DDP's gradient buckets in the order they are reduced.
 *   first_tensor[n_tensors + 1] out: bucket b reduces tensors first_tensor[b + 1] ..
 *   first_tensor[b] - 1 (tensors in registration order, walked backwards); returns the number of
 *   buckets.
 * A bucket closes once its bytes reach its limit after a tensor was added; tensors are never split.
 * Source: PyTorch torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size. */
struct bucket_rule {
    double gradient_B;     /* bytes per element */
    double first_B, cap_B; /* limits of the first bucket and of the others */
};
int ddp_buckets(const struct model *model, const struct bucket_rule *rule, int *first_tensor);

#endif
