/* A product by cublasLt, planned once and run often: what a benchmark of products and those that need one
 * beside them share. The plan is the first that cublasLt's heuristic offers, as frameworks take it. */
#ifndef CALIB_CUDA_PRODUCT_H
#define CALIB_CUDA_PRODUCT_H

#include "calib/cuda.h"

#include <cublasLt.h>

struct product {
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t first, second, result;
    cublasLtMatmulAlgo_t algorithm;
    float scale; /* result = scale * product */
};

bool product_supported(const struct job *job); /* this type and layout, on this GPU */

/* product_plan — for a shape that may differ from the job's own. Call product_free also after a failure. */
bool product_plan(const struct job *job, const struct calib_case *shape, struct product *product);
void product_free(struct product *product);

/* product_run — C = scale A B with A, B, C as parts 0, 1, 2 */
bool product_run(const struct job *job, const struct product *product, const struct operands *abc,
                 cudaStream_t stream);

#endif
