/* Grows a model layer by layer: what the built-in models and the CSV reader share. */
#ifndef WORKLOAD_BUILDER_H
#define WORKLOAD_BUILDER_H

#include "workload/model.h"

struct builder {
    struct model *model;
    int cap_layers, cap_tensors;
    bool forward_only; /* of the layers added next; their tensors become frozen elements */
    struct arena *perm;
};

/* builder_open — an empty model; `sample` and `source` are kept by reference. */
struct builder builder_open(const char *name, const char *sample, const char *source,
                            struct arena *perm);

/* builder_layer — append a layer; its tensors are those added next. Returns its index. */
int builder_layer(struct builder *builder, struct layer layer);

/* builder_tensor — append a tensor named "layer.suffix" of n_elements to the layer added last. */
void builder_tensor(struct builder *builder, const char *suffix, int64_t n_elements);

/* builder_early_tensor — append a tensor that belongs to a layer still to come: frameworks register
 * some parameters before those of layers that run earlier. builder_claim gives it to the layer
 * added last, which then may have no tensors of its own. */
int builder_early_tensor(struct builder *builder, const char *name, int64_t n_elements);
void builder_claim(struct builder *builder, int tensor);

#endif
