#include "workload/divide.h"

#include <math.h>

struct division {
    double tensor, context, experts;
    double tokens; /* share of them in layers that are not divided: 1 / tensor ranks or 1 */
};

static void divide_context(struct layer *layer, double share)
{
    layer->m *= share;
    layer->flop *= share;
    layer->recomputed_flop *= share;
    layer->read_elements *= share;
    layer->written_elements *= share;
    layer->kept_elements *= share;
}

/* What is kept of a column layer: its input first, which is as long as the sequence here. */
static double kept_of_column(const struct layer *layer, const struct division *by)
{
    double input = layer->m * layer->k;
    if (layer->kind == LAYER_EMBEDDING) return layer->kept_elements * by->tokens;
    double whole = fmin(layer->kept_elements, input);
    return whole * by->tokens + (layer->kept_elements - whole) / by->tensor;
}

static void divide_column(struct layer *layer, const struct division *by)
{
    layer->kept_elements = kept_of_column(layer, by);
    if (layer->kind == LAYER_EMBEDDING) return;
    layer->n /= by->tensor;
    layer->flop /= by->tensor;
    layer->written_elements /= by->tensor;
}

static void divide_row(struct layer *layer, const struct division *by)
{
    layer->k /= by->tensor;
    layer->flop /= by->tensor;
    layer->read_elements /= by->tensor;
    layer->kept_elements /= by->tensor;
}

static void divide_heads(struct layer *layer, double share)
{
    layer->n_products *= share;
    layer->flop *= share;
    layer->recomputed_flop *= share;
    layer->read_elements *= share;
    layer->written_elements *= share;
    layer->kept_elements *= share;
}

/* Fewer experts, each with the tokens of the whole group; as many tokens in all, less those that
 * another tensor rank has. */
static void divide_experts(struct layer *layer, const struct division *by)
{
    double n_here = fmax(layer->n_products / by->experts, 1.0);
    if (layer->n_products > 0.0) layer->m *= layer->n_products / n_here;
    layer->n_products = layer->n_products > 0.0 ? n_here : 0.0;
    divide_context(layer, 1.0 / by->tensor);
}

static void divide_layer(struct layer *layer, const struct division *by)
{
    divide_context(layer, 1.0 / by->context);
    switch (layer->split) {
    case SPLIT_NONE:
        divide_context(layer, by->tokens);
        break;
    case SPLIT_COLUMN:
        divide_column(layer, by);
        break;
    case SPLIT_ROW:
        divide_row(layer, by);
        break;
    case SPLIT_HEADS:
        divide_heads(layer, 1.0 / by->tensor);
        break;
    case SPLIT_EXPERTS:
        divide_experts(layer, by);
        break;
    }
}

/* The bias of a row layer is added to the sum, so all ranks have it. */
static double tensor_share(const struct layer *layer, double n_elements, const struct division *by)
{
    switch (layer->split) {
    case SPLIT_COLUMN:
    case SPLIT_HEADS:
        return 1.0 / by->tensor;
    case SPLIT_ROW:
        return n_elements <= layer->n * layer->n_products ? 1.0 : 1.0 / by->tensor;
    case SPLIT_EXPERTS:
        return 1.0 / (by->experts > 1.0 ? by->experts : by->tensor);
    case SPLIT_NONE:
        break;
    }
    return 1.0;
}

struct model *divide_model(const struct model *model, const struct split *split, struct arena *perm)
{
    struct division by = {.tensor = split->tensor,
                          .context = split->context,
                          .experts = split->experts,
                          .tokens = split->sequence ? 1.0 / split->tensor : 1.0};
    struct model *own = arena_new(perm, struct model, 1);
    *own = *model;
    own->layers = arena_new(perm, struct layer, model->n_layers);
    own->tensors = arena_new(perm, struct tensor, model->n_tensors);
    for (int t = 0; t < model->n_tensors; t++) {
        const struct layer *layer = &model->layers[model->tensors[t].layer];
        double n = (double)model->tensors[t].n_elements;
        own->tensors[t] = model->tensors[t];
        own->tensors[t].n_elements = (int64_t)ceil(n * tensor_share(layer, n, &by));
    }
    for (int l = 0; l < model->n_layers; l++) {
        own->layers[l] = model->layers[l];
        double frozen = own->layers[l].frozen_elements;
        own->layers[l].frozen_elements *= tensor_share(&model->layers[l], frozen, &by);
        divide_layer(&own->layers[l], &by);
    }
    return own;
}
