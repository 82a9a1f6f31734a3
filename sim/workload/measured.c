#include "workload/measured.h"

#include <math.h>
#include <string.h>

const char *const measured_part_names[N_MEASURED + 1] = {"product", "attention", "memory",  "row",
                                                         "launch",  "host",      "network", NULL};

const struct measured_part *measured_find(const struct measured *measured, enum measured_kind kind,
                                          enum dtype dtype)
{
    const struct measured_part *general = NULL;
    for (int i = 0; measured && i < measured->n_parts; i++) {
        const struct measured_part *part = &measured->parts[i];
        if (strcmp(part->part, measured_part_names[kind]) != 0) continue;
        if (!strcmp(part->dtype, dtype_names[dtype])) return part;
        if (!part->dtype[0]) general = part;
    }
    return general;
}

/* Sizes are those of forward products; backward's have the same FLOP. */
struct measured_range measured_products(const struct measured_part *part, const struct model *model,
                                        double batch)
{
    struct measured_range range = {.least = INFINITY};
    for (int i = 0; i < model->n_layers; i++) {
        const struct layer *l = &model->layers[i];
        if (l->kind != LAYER_LINEAR || l->n_products <= 0.0) continue;
        double flop = 2.0 * batch * l->m * l->n * l->k;
        range.n++;
        range.n_outside += flop < part->least || flop > part->most;
        range.least = fmin(range.least, flop);
        range.most = fmax(range.most, flop);
    }
    return range;
}
