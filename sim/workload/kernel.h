/* How long one layer takes on one GPU: FLOP/(peak e_f) and bytes/(bandwidth e_b), added for unfused
 * kernels, the larger for fused ones, plus a floor per kernel. Efficiencies are smooth and
 * monotone: e(x) = x / (x + x_half) of the peak fraction; a bigger op is never predicted faster.
 *
 * With that e, x / (peak e(x)) = (x + x_half) / peak: a straight line in x, so a half-size acts as
 * a start-up cost of each kernel. The floor per kernel is the other one; a fit that sees whole
 * steps only cannot tell them apart. */
#ifndef WORKLOAD_KERNEL_H
#define WORKLOAD_KERNEL_H

#include "workload/model.h"

enum dtype { DTYPE_FP32, DTYPE_TF32, DTYPE_FP16, DTYPE_BF16, DTYPE_FP8, N_DTYPES };
extern const char *const dtype_names[N_DTYPES]; /* "fp32", ... */
double dtype_B(enum dtype dtype); /* bytes of an activation element in that mode: 4, 4, 2, 2, 1 */

/* a GPU profile from scenarios/hardware */
struct gpu {
    const char *name, *source;
    double peak_flops[N_DTYPES];  /* dense matrix peak; 0 = does not have it */
    double matrix_frac[N_DTYPES]; /* reachable share of the peak for a large op, (0, 1] */
    double vector_flops;          /* fp32 non-matrix peak */
    double half_flop;             /* FLOP at which half of matrix_frac is reached */
    double hbm_Bps, hbm_frac, hbm_half_B;
    double memory_B;
    double kernel_floor_s; /* shortest kernel */
    double issue_s;        /* host time to issue one kernel */
    double power_W;
};

struct kernel_time {
    double time_s; /* GPU time */
    double hbm_B;  /* memory traffic */
};

/* kernel_forward, kernel_backward — a layer at `batch` samples. backward: input and weight
 * gradients. */
struct kernel_time kernel_forward(const struct gpu *gpu, const struct model *model, int layer,
                                  double batch, enum dtype dtype);
struct kernel_time kernel_backward(const struct gpu *gpu, const struct model *model, int layer,
                                   double batch, enum dtype dtype);

/* kernel_optimizer — update of n parameters: reads and writes `bytes_per_parameter`. */
struct kernel_time kernel_optimizer(const struct gpu *gpu, double n_parameters,
                                    double bytes_per_parameter);

/* kernel_copy — n_kernels that copy size_B in all within the GPU's memory. */
struct kernel_time kernel_copy(const struct gpu *gpu, double size_B, int n_kernels);

#endif
