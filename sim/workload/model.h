/* A model is a list of layers in forward order, with its parameter tensors in the order the
 * framework registers them. Built in (model_kinds) or read from a CSV of layers. */
#ifndef WORKLOAD_MODEL_H
#define WORKLOAD_MODEL_H

#include "base/arena.h"

#include <stdint.h>

enum layer_kind { LAYER_CONV, LAYER_LINEAR, LAYER_NORM, LAYER_ELEMENTWISE, LAYER_POOL, LAYER_EMBEDDING, LAYER_ATTENTION, LAYER_LOSS };

struct layer {
    const char *name;
    enum layer_kind kind;
    double flop;          /* forward, per sample (2 per multiply-add), >= 0 */
    double read_elements, written_elements; /* activations moved forward, per sample (parameters not counted) */
    double kept_elements; /* activations kept for backward, per sample */
    int32_t first_tensor, n_tensors; /* its parameters in model.tensors */
    int32_t n_kernels;    /* GPU kernels forward; backward launches twice as many */
    bool fused;           /* memory and arithmetic overlap (max) instead of adding */
};
struct tensor {
    const char *name;
    int64_t n_elements; /* >= 1 */
    int32_t layer;
};
struct model {
    const char *name, *source;
    const char *sample; /* "image", "sequence": what a batch counts */
    double tokens_per_sample; /* 1 for images; sequence length for text */
    struct layer *layers;
    int n_layers;
    struct tensor *tensors; /* in registration order */
    int n_tensors;
};

struct model_kind {
    const char *name; /* "resnet50", "bert-large", ... */
    struct model *(*build)(const struct model_kind *kind, int seq_len, struct arena *perm); /* seq_len 0 = the kind's default */
    int sizes[8];         /* numbers its builder reads (layers, hidden, heads, ...) */
    int64_t n_parameters; /* the published count: tests compare it with the tensors' sum */
    const char *source;
};
extern const struct model_kind model_kinds[];
extern const int n_model_kinds;
const struct model_kind *model_find(const char *name);

int64_t model_n_parameters(const struct model *model);
double model_flop_per_sample(const struct model *model); /* forward */

#endif
