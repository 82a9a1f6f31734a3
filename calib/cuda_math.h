/* Kernels by name: each call enqueues on a stream and answers with the launch's status. */
#ifndef CALIB_CUDA_MATH_H
#define CALIB_CUDA_MATH_H

#include "calib/cuda.h"

enum number { NUMBER_FP32, NUMBER_FP16, NUMBER_BF16, NUMBER_FP8 };

/* number_of — how a type is stored ("tf32" as fp32); false for types that no kernel here takes */
bool number_of(const char *dtype, enum number *number);
double number_B(enum number number);
double number_read(enum number number, const void *numbers, int64_t at); /* in host memory */

/* math_fill — n uniform numbers in [low, 1) by a hash of seed and index: equal for equal seeds */
struct fill {
    void *numbers;
    int64_t n;
    enum number number;
    uint64_t seed;
    float low;
};
cudaError_t math_fill(struct fill fill, cudaStream_t stream);

cudaError_t math_hold(double time_s, cudaStream_t stream);
cudaError_t math_nothing(cudaStream_t stream);

/* m rows of n numbers; reference.h has the definitions */
struct rows {
    enum number number;
    int64_t m, n;
};
cudaError_t math_elementwise(struct rows rows, const void *x, void *y, cudaStream_t stream);
cudaError_t math_sums(struct rows rows, const void *x, float *sums, cudaStream_t stream);
cudaError_t math_softmax(struct rows rows, const void *x, void *y, cudaStream_t stream);
cudaError_t math_layer_norm(struct rows rows, const struct operands *xy_scale_shift,
                            cudaStream_t stream);

/* gradients and the model's copy in `number`, the rest fp32; for fp32 the copy is not written */
cudaError_t math_adam(enum number number, int64_t n, const struct operands *operands,
                      cudaStream_t stream);

cudaError_t math_copy(const void *source, void *destination, double bytes, cudaStream_t stream);
cudaError_t math_triad(int64_t n, const struct operands *abc,
                       cudaStream_t stream); /* n fp32 in each */

/* math_product_at — elements of C as they should be: for each of n places (in the order they are stored
 * in) the sum and the sum of magnitudes, in double */
struct places {
    const int64_t *at; /* device memory, as sums */
    int n;
    struct gemm_sum *sums;
};
cudaError_t math_product_at(const struct calib_case *c, const struct operands *operands,
                            struct places places, cudaStream_t stream);

#endif
