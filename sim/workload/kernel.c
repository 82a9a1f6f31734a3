#include "workload/kernel.h"

#include "base/must.h"

#include <math.h>

const char *const dtype_names[N_DTYPES] = {"fp32", "tf32", "fp16", "bf16", "fp8"};

double dtype_B(enum dtype dtype)
{
    static const double bytes[N_DTYPES] = {4.0, 4.0, 2.0, 2.0, 1.0};
    must(dtype < N_DTYPES);
    return bytes[dtype];
}

/* work of one layer in one direction */
struct work {
    double flop, bytes;
    double n_kernels;
    bool matrix, fused;
};

static double flop_s(const struct gpu *gpu, const struct work *work, enum dtype dtype)
{
    if (work->flop <= 0.0) return 0.0;
    if (!work->matrix) {
        must(gpu->vector_flops > 0.0);
        return work->flop / gpu->vector_flops;
    }
    double peak_flops = gpu->peak_flops[dtype] * gpu->matrix_frac[dtype];
    must(peak_flops > 0.0);
    return (work->flop + work->n_kernels * gpu->half_flop) / peak_flops;
}

static double bytes_s(const struct gpu *gpu, const struct work *work)
{
    if (work->bytes <= 0.0) return 0.0;
    return (work->bytes + work->n_kernels * gpu->hbm_half_B) / (gpu->hbm_Bps * gpu->hbm_frac);
}

static struct kernel_time work_time(const struct gpu *gpu, const struct work *work,
                                    enum dtype dtype)
{
    double arithmetic_s = flop_s(gpu, work, dtype);
    double memory_s = bytes_s(gpu, work);
    double busy_s = work->fused ? fmax(arithmetic_s, memory_s) : arithmetic_s + memory_s;
    return (struct kernel_time){busy_s + work->n_kernels * gpu->kernel_floor_s, work->bytes};
}

/* layer_parameters — trained or not */
static double layer_parameters(const struct model *model, int layer)
{
    const struct layer *l = &model->layers[layer];
    double sum = l->frozen_elements;
    for (int t = 0; t < l->n_tensors; t++) {
        sum += (double)model->tensors[l->first_tensor + t].n_elements;
    }
    return sum;
}

/* Forward reads the parameters once, whatever the batch; a look-up reads only the rows that its
 * activations count. */
struct kernel_time kernel_forward(const struct gpu *gpu, const struct model *model, int layer,
                                  double batch, enum dtype dtype)
{
    const struct layer *l = &model->layers[layer];
    double weights = l->kind == LAYER_EMBEDDING ? 0.0 : layer_parameters(model, layer);
    double moved = batch * (l->read_elements + l->written_elements) + weights;
    struct work work = {.flop = batch * l->flop,
                        .bytes = moved * dtype_B(dtype),
                        .n_kernels = l->n_kernels,
                        .matrix = layer_is_matrix(l->kind),
                        .fused = l->fused};
    return work_time(gpu, &work, dtype);
}

/* Backward of a product is two products of the same size: input gradient (reads output gradient and
 * weights, writes input gradient) and weight gradient (reads output gradient and input, writes
 * weight gradient): twice the FLOP and twice the traffic. Other layers do about twice the
 * arithmetic, read the output gradient and what was kept of the input, and write the input
 * gradient: written + 2 read (ReLU 3 per element, batch norm 5, as their kernels do). A look-up
 * writes a dense gradient. Frozen parameters have no gradient: of a product the input's alone is left,
 * of a look-up nothing. */
struct kernel_time kernel_backward(const struct gpu *gpu, const struct model *model, int layer,
                                   double batch, enum dtype dtype)
{
    const struct layer *l = &model->layers[layer];
    bool matrix = layer_is_matrix(l->kind);
    bool frozen = l->frozen_elements > 0.0 && l->n_tensors == 0;
    if (frozen && l->kind == LAYER_EMBEDDING) return (struct kernel_time){0.0, 0.0};
    double n_products = frozen && matrix ? 1.0 : 2.0;
    double weights = layer_parameters(model, layer);
    double read = n_products * l->read_elements;
    double written = matrix ? n_products * l->written_elements : l->written_elements;
    double moved = batch * (read + written) + (matrix ? n_products * weights : weights);
    struct work work = {.flop = batch * (n_products * l->flop + l->recomputed_flop),
                        .bytes = moved * dtype_B(dtype),
                        .n_kernels = n_products * l->n_kernels,
                        .matrix = matrix,
                        .fused = l->fused};
    return work_time(gpu, &work, dtype);
}

struct kernel_time kernel_optimizer(const struct gpu *gpu, double n_parameters,
                                    double bytes_per_parameter)
{
    struct work work = {
        .bytes = n_parameters * bytes_per_parameter, .n_kernels = 1.0, .fused = true};
    return work_time(gpu, &work, DTYPE_FP32);
}

struct kernel_time kernel_copy(const struct gpu *gpu, double size_B, int n_kernels)
{
    struct work work = {.bytes = 2.0 * size_B, .n_kernels = n_kernels, .fused = true};
    return work_time(gpu, &work, DTYPE_FP32);
}
