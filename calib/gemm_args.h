/* How a product of row-major matrices is put to a BLAS that counts by columns.
 *
 *   C (m x n) = A (m x k) B (k x n), layout = two letters, of A and of B:
 *     n  stored as it stands: A has rows of k numbers, B rows of n
 *     t  stored transposed:   A has k rows of m numbers, B n rows of k
 *
 * Rows of C read by columns are its transpose, and C' = B' A': so B comes first, m and n change places,
 * each operand keeps its letter, and its leading dimension is the length of its stored rows. Forward of
 * a layer y = x w' is "nt", the gradient of its input "nn", that of its weights "tn". */
#ifndef CALIB_GEMM_ARGS_H
#define CALIB_GEMM_ARGS_H

#include "calib/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* one operand as the column-major BLAS sees it, before its letter is applied */
struct gemm_operand {
    bool transposed;
    int64_t rows, columns, leading;
    int64_t stride; /* numbers from one matrix of a batch to the next */
};

struct gemm_args {
    int64_t m, n, k, batch;
    struct gemm_operand first, second, result; /* B, A, C */
};

/* gemm_args_of — false unless the layout is two letters of n and t and all sizes are positive. */
bool gemm_args_of(const struct calib_case *c, struct gemm_args *args);

double gemm_work_flop(const struct calib_case *c); /* 2 m n k per matrix of the batch */

/* types of numbers: bytes of one, and half the distance from 1 to the next (unit roundoff) */
struct gemm_type {
    const char *name;
    int size_B;
    double input;  /* what reading a stored number loses: tf32 alone cuts fp32 when it is read */
    double sum;    /* of one addition */
    double output; /* of the stored result */
};
const struct gemm_type *gemm_type_find(const char *name); /* NULL when there is none */

/* gemm_tolerance — how far an element may be from the exact sum: sum = c, magnitude = sum of |a b|. */
struct gemm_sum {
    double value, magnitude;
};
double gemm_tolerance(const struct gemm_type *type, int64_t k, struct gemm_sum sum);

#ifdef __cplusplus
}
#endif
#endif
