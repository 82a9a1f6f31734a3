/* How well the constants of a GPU's profile fit what was measured on such a GPU, part by part: what
 * `fit` writes under "calibration", and intervals and warnings read. All errors are relative, of
 * times: ln(predicted / measured). */
#ifndef WORKLOAD_MEASURED_H
#define WORKLOAD_MEASURED_H

#include "workload/kernel.h"

/* One part: kernels of a kind and type, or links. */
struct measured_part {
    const char *part;   /* one of measured_part_names */
    const char *dtype;  /* of products and attention; "" = all types */
    const char *unit;   /* of least and most: "FLOP" or "B" */
    double least, most; /* sizes measured: outside them nothing is known */
    int n_rows,
        n_groups;       /* rows, and the shapes or series that were left out one after the other */
    double fit_sd;      /* of a prediction, from the covariance of the constants: what better
                             constants could still change; the median over rows */
    double left_out_sd; /* of measured about predicted, for shapes that were not fitted: what a new
                           shape is off by; root mean square */
    double left_out_median, left_out_p90; /* of its absolute value */
    double left_out_bias;                 /* its median, with its sign */
};

struct measured {
    const char *device, *date; /* of the machine that was measured */
    const struct measured_part *parts;
    int n_parts;
};

enum measured_kind {
    MEASURED_PRODUCT,   /* matrix products */
    MEASURED_ATTENTION, /* one kernel for all of attention */
    MEASURED_MEMORY,    /* kernels that move memory: copies, elementwise, updates */
    MEASURED_ROW,       /* softmax, layer norm, reductions */
    MEASURED_LAUNCH,    /* empty kernels */
    MEASURED_HOST,      /* copies between host and GPU */
    MEASURED_NETWORK,   /* copies between GPUs, collectives */
    N_MEASURED
};
extern const char *const measured_part_names[N_MEASURED + 1]; /* "product" ...; ends with NULL */

/* measured_find — of a type, else of all types; NULL when `measured` is NULL or says nothing. */
const struct measured_part *measured_find(const struct measured *measured, enum measured_kind kind,
                                          enum dtype dtype);

/* measured_range — the sizes of a part's ops in a model's step: what lies outside of what was
 * measured. n_outside ops of n; the smallest and largest of all, in the part's unit. */
struct measured_range {
    int n, n_outside;
    double least, most;
};
struct measured_range measured_products(const struct measured_part *part, const struct model *model,
                                        double batch);

#endif
