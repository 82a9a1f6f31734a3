/* PyTorch DistributedDataParallel. Gradients become ready from the last layer to the first and fill
 * buckets; a full bucket is reduced while backward goes on; the optimizer waits for all of them.
 *
 *   compute        ... B4 B3 B2 B1            out 0     out 1  optimizer  F1 ...
 *   communication            [ bucket 0 ][    bucket 1 ]
 *
 * Each gradient is copied into its bucket as soon as it is there, and back out when the bucket is
 * reduced and backward is over (the default, gradient_as_bucket_view=False, which keeps the buckets
 * in memory beside the gradients). Under gradient accumulation only the last micro-batch reduces
 * (no_sync). Left out: the broadcast of batch norm's running statistics before each forward
 * (0.2 MB for ResNet-50).
 * Source: Li et al., PyTorch Distributed, VLDB 2020, sec. 3.2; torch/nn/parallel/distributed.py. */
#include "workload/data_parallel.h"
#include "workload/step.h"

enum { STREAM_BUCKETS = STREAM_FIRST_OF_STRATEGY };

int ddp_buckets(const struct model *model, const struct bucket_rule *rule, int *first_tensor)
{
    int n_buckets = 0;
    double held_B = 0.0;
    first_tensor[0] = model->n_tensors;
    for (int t = model->n_tensors - 1; t >= 0; t--) {
        held_B += rule->gradient_B * (double)model->tensors[t].n_elements;
        bool full = held_B >= (n_buckets == 0 ? rule->first_B : rule->cap_B);
        if (!full && t > 0) continue;
        first_tensor[++n_buckets] = t;
        held_B = 0.0;
    }
    return n_buckets;
}

struct bucket {
    const char *name;
    double size_B;
    int n_tensors;
    int layer; /* the last of its layers to run backward */
};

static struct bucket bucket_of(const struct step *step, const int *first_tensor, int b)
{
    struct bucket bucket = {.name = arena_text(step->perm, "bucket %d", b),
                            .layer = step->model->n_layers - 1,
                            .n_tensors = first_tensor[b] - first_tensor[b + 1]};
    for (int t = first_tensor[b + 1]; t < first_tensor[b]; t++) {
        const struct tensor *tensor = &step->model->tensors[t];
        bucket.size_B += step->spec->gradient_B * (double)tensor->n_elements;
        if (tensor->layer < bucket.layer) bucket.layer = tensor->layer;
    }
    return bucket;
}

static void pack_gradients(struct step *step)
{
    for (int t = 0; t < step->model->n_tensors; t++) {
        const struct tensor *tensor = &step->model->tensors[t];
        step_pack(step, tensor->layer, step->spec->gradient_B * (double)tensor->n_elements, 1);
    }
}

struct job *ddp_build(const struct train_spec *spec, const struct model *model,
                      const struct gpu *gpu, struct arena *perm)
{
    static const char *const streams[] = {"communication"};
    struct step step = step_open(spec, model, gpu, streams, 1, perm);
    if (!step_communicates(&step)) return step_close(&step, NULL, 0, 0.0);
    int comm = step_comm(&step, 0);
    int *first_tensor = arena_new(perm, int, model->n_tensors + 1);
    struct bucket_rule rule = {spec->gradient_B, spec->first_bucket_B, spec->bucket_cap_B};
    int n_buckets = ddp_buckets(model, &rule, first_tensor);
    struct bucket *buckets = arena_new(perm, struct bucket, n_buckets);
    int *reductions = arena_new(perm, int, n_buckets);
    pack_gradients(&step);
    for (int b = 0; b < n_buckets; b++) {
        buckets[b] = bucket_of(&step, first_tensor, b);
        reductions[b] = step_reduce(&step, &(struct reduction){.name = buckets[b].name,
                                                               .stream = STREAM_BUCKETS,
                                                               .comm = comm,
                                                               .root = -1,
                                                               .layer = buckets[b].layer,
                                                               .size_B = buckets[b].size_B,
                                                               .after = -1});
    }
    for (int b = 0; b < n_buckets; b++) {
        step_copy(&step, &(struct copy){.name = buckets[b].name,
                                        .stream = STREAM_COMPUTE,
                                        .n_kernels = buckets[b].n_tensors,
                                        .after = reductions[b],
                                        .size_B = buckets[b].size_B});
    }
    double buckets_B = spec->gradient_B * (double)model_n_parameters(model);
    return step_close(&step, reductions, n_buckets, buckets_B);
}
