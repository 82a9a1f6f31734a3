#include "workload/piece.h"

#include <math.h>

double piece_wire_B(enum dtype dtype)
{
    return fmax(dtype_B(dtype), 2.0);
}

/* Equal collectives: of unequal ones the mean, as their times are straight lines in their size. */
static void add_exchange(struct exchange *sum, int n, double size_B)
{
    if (n == 0) return;
    double all_B = sum->n * sum->size_B + n * size_B;
    sum->n += n;
    sum->size_B = all_B / sum->n;
}

static void add_direction(struct direction *sum, const struct direction *more)
{
    sum->kernel_s += more->kernel_s;
    sum->kernel_B += more->kernel_B;
    sum->core_s += more->core_s;
    sum->core_B += more->core_B;
    sum->product_s += more->product_s;
    sum->product_B += more->product_B;
    sum->n_kernels += more->n_kernels;
    for (int e = 0; e < N_EXCHANGES; e++) {
        add_exchange(&sum->exchange[e], more->exchange[e].n, more->exchange[e].size_B);
    }
}

void piece_add(struct piece *sum, const struct piece *more)
{
    add_direction(&sum->forward, &more->forward);
    add_direction(&sum->backward, &more->backward);
    sum->n_parameters += more->n_parameters;
    sum->n_expert_parameters += more->n_expert_parameters;
    sum->n_frozen += more->n_frozen;
    sum->kept_B += more->kept_B;
    sum->again_B = fmax(sum->again_B, more->again_B);
    sum->n_blocks += more->n_blocks;
}

/* ---- layers ---- */

/* what is known while walking along the layers */
struct walk {
    const struct train_spec *spec;
    const struct model *own;
    const struct gpu *gpu;
    double scale;           /* of kernel times */
    double hidden_elements; /* of a sample, as they pass from block to block */
    bool in_core;           /* the layer before was of attention's core */
    bool in_experts;        /* the layers before are of a mixture's experts */
    double column_width;    /* outputs of the column layers before: queries, keys and values */
    double core_kept;       /* elements of the present piece that selective recomputation drops */
    struct direction core;  /* and what it costs to make them again */
};

/* hidden_of — the output of the first row layer, or what the first layer reads. */
static double hidden_of(const struct model *own)
{
    for (int l = 0; l < own->n_layers; l++) {
        if (own->layers[l].split == SPLIT_ROW) return own->layers[l].m * own->layers[l].n;
    }
    return own->layers[0].read_elements;
}

double piece_border_B(const struct train_spec *spec, const struct model *own)
{
    double share = spec->split.sequence ? 1.0 / spec->split.tensor : 1.0;
    return hidden_of(own) * share * spec->batch_per_gpu * piece_wire_B(spec->dtype);
}

static double sent_B(const struct walk *walk, double elements)
{
    return elements * walk->spec->batch_per_gpu * piece_wire_B(walk->spec->dtype);
}

/* A tensor-parallel sum of `elements`, n_forward times behind a row layer and n_backward times behind
 * a column layer. */
static void add_sums(const struct walk *walk, struct piece *piece, int n_forward, int n_backward,
                     double elements)
{
    if (walk->spec->split.tensor == 1) return;
    double size_B = sent_B(walk, elements);
    struct exchange *forward = piece->forward.exchange;
    struct exchange *backward = piece->backward.exchange;
    if (!walk->spec->split.sequence) {
        add_exchange(&forward[EXCHANGE_REDUCE], n_forward, size_B);
        add_exchange(&backward[EXCHANGE_REDUCE], n_backward, size_B);
        return;
    }
    add_exchange(&forward[EXCHANGE_SCATTER], n_forward, size_B);
    add_exchange(&backward[EXCHANGE_GATHER], n_forward, size_B);
    add_exchange(&forward[EXCHANGE_GATHER], n_backward, size_B);
    add_exchange(&backward[EXCHANGE_SCATTER], n_backward, size_B);
}

static void add_columns(struct walk *walk, struct piece *piece, int l)
{
    const struct layer *layer = &walk->own->layers[l];
    if (layer->kind == LAYER_EMBEDDING) {
        add_sums(walk, piece, 1, 0, walk->hidden_elements);
        return;
    }
    bool same_input = l > 0 && layer[-1].split == SPLIT_COLUMN &&
                      layer[-1].kind != LAYER_EMBEDDING && layer[-1].block == layer->block &&
                      fabs(layer[-1].k - layer->k) <= 0.0;
    if (!same_input) add_sums(walk, piece, 0, 1, layer->m * layer->k);
    walk->column_width = (same_input ? walk->column_width : 0.0) + layer->n * layer->n_products;
}

/* Keys and values of this rank, as wide as its columns are beyond the queries, which are as wide as
 * what attention puts out; all ranks' go round. */
static void add_ring(const struct walk *walk, struct piece *piece, const struct layer *layer)
{
    int n_ranks = walk->spec->split.context;
    if (n_ranks == 1) return;
    const struct layer *output = layer;
    while (output->split != SPLIT_ROW && output < walk->own->layers + walk->own->n_layers - 1)
        output++;
    double width = walk->column_width - output->k;
    if (width <= 0.0) width = 2.0 * output->k;
    double size_B = n_ranks * sent_B(walk, layer->m * width);
    add_exchange(&piece->forward.exchange[EXCHANGE_RING], 1, size_B);
    add_exchange(&piece->backward.exchange[EXCHANGE_RING], 2, size_B);
}

/* Without expert parallelism the experts are divided as a column and a row layer. */
static void add_routes(const struct walk *walk, struct piece *piece, const struct layer *layer)
{
    if (walk->in_experts) return;
    if (walk->spec->split.experts == 1) {
        add_sums(walk, piece, 1, 1, walk->hidden_elements);
        return;
    }
    double size_B = sent_B(walk, layer->m * layer->k * layer->n_products);
    add_exchange(&piece->forward.exchange[EXCHANGE_ROUTE], 2, size_B);
    add_exchange(&piece->backward.exchange[EXCHANGE_ROUTE], 2, size_B);
}

static bool is_core(const struct walk *walk, const struct layer *layer)
{
    if (layer->kind == LAYER_ATTENTION) return true;
    return walk->in_core && layer->kind == LAYER_ELEMENTWISE && layer->split == SPLIT_HEADS;
}

static void add_exchanges(struct walk *walk, struct piece *piece, int l)
{
    const struct layer *layer = &walk->own->layers[l];
    bool experts = layer->split == SPLIT_EXPERTS;
    bool core = is_core(walk, layer);
    if (layer->split == SPLIT_COLUMN) add_columns(walk, piece, l);
    if (layer->split == SPLIT_ROW) add_sums(walk, piece, 1, 0, layer->m * layer->n);
    if (experts) add_routes(walk, piece, layer);
    if (core && !walk->in_core) add_ring(walk, piece, layer);
    walk->in_core = core;
    walk->in_experts = experts || (walk->in_experts && layer->split == SPLIT_HEADS);
}

static struct direction kernels(const struct walk *walk, const struct layer *layer,
                                struct kernel_time time, int n_kernels)
{
    double time_s = time.time_s * walk->scale;
    if (is_core(walk, layer)) {
        return (struct direction){.core_s = time_s, .core_B = time.hbm_B, .n_kernels = n_kernels};
    }
    struct direction sum = {.kernel_s = time_s, .kernel_B = time.hbm_B, .n_kernels = n_kernels};
    bool cut = layer->split == SPLIT_COLUMN || layer->split == SPLIT_ROW;
    if (cut && layer->kind == LAYER_LINEAR) {
        sum.product_s = time_s;
        sum.product_B = time.hbm_B;
    }
    return sum;
}

static void add_parameters(const struct walk *walk, struct piece *piece, const struct layer *layer)
{
    bool apart = layer->split == SPLIT_EXPERTS && walk->spec->split.experts > 1;
    piece->n_frozen += layer->frozen_elements;
    double *sum = apart ? &piece->n_expert_parameters : &piece->n_parameters;
    for (int t = layer->first_tensor; t < layer->first_tensor + layer->n_tensors; t++) {
        *sum += (double)walk->own->tensors[t].n_elements;
    }
}

static void add_layer(struct walk *walk, struct piece *piece, int l)
{
    const struct train_spec *spec = walk->spec;
    const struct layer *layer = &walk->own->layers[l];
    bool core = is_core(walk, layer);
    struct direction forward = kernels(
        walk, layer, kernel_forward(walk->gpu, walk->own, l, spec->batch_per_gpu, spec->dtype),
        layer->n_kernels);
    struct direction backward = kernels(
        walk, layer, kernel_backward(walk->gpu, walk->own, l, spec->batch_per_gpu, spec->dtype),
        2 * layer->n_kernels);
    add_direction(&piece->forward, &forward);
    add_direction(&piece->backward, &backward);
    if (core) {
        add_direction(&walk->core, &forward);
        walk->core_kept += layer->kept_elements;
    }
    piece->kept_B += layer->kept_elements;
    add_parameters(walk, piece, layer);
    add_exchanges(walk, piece, l);
}

/* ---- pieces ---- */

static struct direction half_of(const struct direction *whole)
{
    struct direction half = *whole;
    half.kernel_s /= 2.0;
    half.kernel_B /= 2.0;
    half.core_s /= 2.0;
    half.core_B /= 2.0;
    half.product_s /= 2.0;
    half.product_B /= 2.0;
    half.n_kernels /= 2;
    for (int e = 0; e < N_EXCHANGES; e++) half.exchange[e].size_B /= 2.0;
    return half;
}

/* finish — elements to bytes, and what is computed once more. */
static void finish(struct walk *walk, struct piece *piece, bool block)
{
    const struct train_spec *spec = walk->spec;
    double element_B = dtype_B(spec->dtype) * spec->batch_per_gpu;
    double hidden = walk->hidden_elements * (spec->split.sequence ? 1.0 / spec->split.tensor : 1.0);
    if (block && spec->split.recompute == RECOMPUTE_FULL) {
        piece->again_B = piece->kept_B * element_B;
        piece->kept_B = hidden;
        struct direction once_more = piece->forward;
        add_direction(&piece->backward, &once_more);
    } else if (block && spec->split.recompute == RECOMPUTE_HALF) {
        piece->again_B = piece->kept_B * element_B;
        piece->kept_B = (piece->kept_B + hidden) / 2.0;
        struct direction once_more = half_of(&piece->forward);
        add_direction(&piece->backward, &once_more);
    } else if (block && spec->split.recompute == RECOMPUTE_SELECTIVE) {
        piece->again_B = walk->core_kept * element_B;
        piece->kept_B -= walk->core_kept;
        walk->core.exchange[EXCHANGE_RING] = piece->forward.exchange[EXCHANGE_RING];
        add_direction(&piece->backward, &walk->core);
    }
    piece->kept_B *= element_B;
    piece->n_blocks = 1;
    walk->core = (struct direction){0};
    walk->core_kept = 0.0;
    walk->in_core = walk->in_experts = false;
}

static bool is_block(const struct model *own, int piece)
{
    return piece >= 1 && piece <= own->n_blocks;
}

struct piece *pieces_of_model(const struct train_spec *spec, const struct model *own,
                              const struct gpu *gpu, double scale, int *n_pieces,
                              struct arena *perm)
{
    struct walk walk = {.spec = spec, .own = own, .gpu = gpu, .scale = scale};
    walk.hidden_elements = hidden_of(own);
    int n = own->n_blocks > 0 ? own->n_blocks : own->n_layers;
    struct piece *pieces = arena_new(perm, struct piece, n + 2);
    int at = 0;
    for (int l = 0; l < own->n_layers; l++) {
        int next = 1 + (own->n_blocks > 0 ? own->layers[l].block : l);
        for (; at < next; at++) finish(&walk, &pieces[at], is_block(own, at));
        add_layer(&walk, &pieces[at], l);
    }
    for (; at < n + 2; at++) finish(&walk, &pieces[at], is_block(own, at));
    *n_pieces = n + 2;
    return pieces;
}
