/* A model is a list of layers in forward order, with its parameter tensors in the order the
 * framework registers them. Built in (model_kinds) or read from a CSV of layers.
 *
 * Names follow torchvision and HuggingFace, with two notes: torchvision's resnet50 is
 * "resnet50-v1.5" here ("resnet50" is the paper's, with the stride in the first 1x1 convolution,
 * as TensorFlow's benchmarks have it), and "inception-v3" has no auxiliary head, since TensorFlow's
 * benchmarks train without it ("inception-v3-aux" is torchvision's default). */
#ifndef WORKLOAD_MODEL_H
#define WORKLOAD_MODEL_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum layer_kind {
    LAYER_CONV,
    LAYER_LINEAR,
    LAYER_NORM,
    LAYER_ELEMENTWISE,
    LAYER_POOL,
    LAYER_EMBEDDING,
    LAYER_ATTENTION,
    LAYER_LOSS
};

/* how tensor and expert parallelism divide a layer, see Shoeybi et al., Megatron-LM, 2019, sec. 3:
 * a column layer holds a share of its outputs (backward sums the input's gradient over the group),
 * a row layer a share of its inputs (forward sums its output), heads lie between the two. */
enum layer_split { SPLIT_NONE, SPLIT_COLUMN, SPLIT_ROW, SPLIT_HEADS, SPLIT_EXPERTS };

struct layer {
    const char *name;
    enum layer_kind kind;
    enum layer_split split;
    int32_t block; /* the repeated block of a transformer it is in: 0 .. n_blocks - 1; -1 before the
                      first, n_blocks behind the last (embedding, head). Pipeline stages are cut
                      between blocks. */
    /* Its matrix products, forward, per sample: n_products of (m x k) by (k x n), convolutions as
     * implicit products (m = output pixels, k = input channels x window); batching makes m longer,
     * or n_products where the weights are no weights (attention). 0 = not known: flop alone. */
    double m, n, k, n_products;
    double flop; /* forward, per sample (2 per multiply-add), >= 0 */
    double read_elements,
        written_elements;   /* activations moved forward, per sample (parameters not counted) */
    double kept_elements;   /* activations kept for backward, per sample */
    double recomputed_flop; /* of flop, what backward does once more (fused attention's scores) */
    double
        frozen_elements; /* parameters that are not trained: read by both directions, and gathered
                               where parameters are sharded, but without gradient or state; a product
                               that has no others has no weight gradient product */
    int32_t first_tensor, n_tensors; /* its parameters in model.tensors */
    int32_t n_kernels;               /* GPU kernels forward; backward launches twice as many */
    double window;                   /* points of a convolution's window; 0 = 1 */
    bool
        short_window; /* a dense convolution by 3 x 3 or 5 x 5 at each pixel: fewer multiplications do */
    bool fused;       /* memory and arithmetic overlap (max) instead of adding */
    bool wide;        /* no product, but kept in 32 bits where mixed precision makes others 16 */
    bool forward_only; /* no gradient passes it: a frozen network in front of the trained one */
};
struct tensor {
    const char *name;
    int64_t n_elements; /* >= 1 */
    int32_t layer;
};
struct model {
    const char *name, *source;
    const char *sample;       /* "image", "sequence": what a batch counts */
    double tokens_per_sample; /* 1 for images; sequence length for text */
    struct layer *layers;
    int n_layers;
    int n_blocks;                     /* see layer.block; 0 = not made of blocks */
    int n_experts, experts_per_token; /* of a mixture; 0, 0 = dense */
    struct tensor *tensors;           /* in registration order */
    int n_tensors;
};

struct model_kind {
    const char *name; /* "resnet50", "bert-large", ... */
    struct model *(*build)(const struct model_kind *kind, int seq_len,
                           struct arena *perm); /* seq_len 0 = the kind's default */
    int sizes[24];        /* numbers its builder reads (blocks of a stage, enum text_size, ...) */
    int64_t n_parameters; /* the published count: tests compare it with the tensors' sum */
    double gmac; /* published forward multiply-adds of one sample, 1e9; 0 = none published */
    int default_seq_len, max_seq_len; /* 0 = samples have no length (images) */
    const char *source;
};
extern const struct model_kind model_kinds[];
extern const int n_model_kinds;

/* model_find — by its name, however "-", "_" and capitals are written, or another that it has. */
const struct model_kind *model_find(const char *name);

int64_t model_n_parameters(const struct model *model);

/* layer_is_matrix — its arithmetic runs on the matrix units: convolution, linear, attention
 * product. */
bool layer_is_matrix(enum layer_kind kind);

/* model_flop_per_sample — forward FLOP of the matrix layers alone: what published counts, and so
 * MFU, are made of (additions, normalisation and activation functions are left out). */
double model_flop_per_sample(const struct model *model);

/* model_kept_elements — activations of one sample that forward keeps for backward. */
double model_kept_elements(const struct model *model);

/* model_check — crash (must) when the tensors are not each in exactly one layer. */
void model_check(const struct model *model);

#endif
