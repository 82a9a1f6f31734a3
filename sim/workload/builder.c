#include "workload/builder.h"

#include "base/must.h"

struct builder builder_open(const char *name, const char *sample, const char *source,
                            struct arena *perm)
{
    struct model *model = arena_new(perm, struct model, 1);
    *model =
        (struct model){.name = name, .sample = sample, .source = source, .tokens_per_sample = 1.0};
    return (struct builder){.model = model, .perm = perm};
}

int builder_layer(struct builder *builder, struct layer layer)
{
    struct model *model = builder->model;
    if (model->n_layers == builder->cap_layers) {
        builder->cap_layers = builder->cap_layers ? 2 * builder->cap_layers : 64;
        model->layers = arena_grow(builder->perm, struct layer, model->layers, model->n_layers,
                                   builder->cap_layers);
    }
    layer.first_tensor = model->n_tensors;
    layer.n_tensors = 0;
    layer.forward_only = builder->forward_only;
    if (builder->forward_only) layer.kept_elements = 0.0;
    model->layers[model->n_layers] = layer;
    return model->n_layers++;
}

static int append_tensor(struct builder *builder, const char *name, int64_t n_elements, int layer)
{
    struct model *model = builder->model;
    must(n_elements >= 1);
    if (model->n_tensors == builder->cap_tensors) {
        builder->cap_tensors = builder->cap_tensors ? 2 * builder->cap_tensors : 64;
        model->tensors = arena_grow(builder->perm, struct tensor, model->tensors, model->n_tensors,
                                    builder->cap_tensors);
    }
    model->tensors[model->n_tensors] = (struct tensor){name, n_elements, layer};
    return model->n_tensors++;
}

void builder_tensor(struct builder *builder, const char *suffix, int64_t n_elements)
{
    struct model *model = builder->model;
    must(model->n_layers > 0);
    struct layer *layer = &model->layers[model->n_layers - 1];
    must(layer->first_tensor + layer->n_tensors == model->n_tensors);
    if (layer->forward_only) {
        layer->frozen_elements += (double)n_elements;
        return;
    }
    const char *name = arena_text(builder->perm, "%s.%s", layer->name, suffix);
    append_tensor(builder, name, n_elements, model->n_layers - 1);
    layer->n_tensors++;
}

int builder_early_tensor(struct builder *builder, const char *name, int64_t n_elements)
{
    return append_tensor(builder, name, n_elements, -1);
}

void builder_claim(struct builder *builder, int tensor)
{
    struct model *model = builder->model;
    struct layer *layer = &model->layers[model->n_layers - 1];
    must(layer->n_tensors == 0 && model->tensors[tensor].layer == -1);
    layer->first_tensor = tensor;
    layer->n_tensors = 1;
    model->tensors[tensor].layer = model->n_layers - 1;
}
