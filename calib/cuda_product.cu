/* Matrix products, and attention made of two of them with a softmax in between. */
#include "calib/cuda_product.h"

#include "calib/cuda_check.h"

#include <math.h>
#include <string.h>

#define TRY_BLAS(job, call)                                                                            \
    do {                                                                                               \
        cublasStatus_t status_ = (call);                                                               \
        if (status_ != CUBLAS_STATUS_SUCCESS)                                                          \
            return job_fails(job, "%s: %s", #call, cublasGetStatusString(status_));                    \
    } while (0)

/* what NVIDIA's guides ask for on Hopper and later (cuBLAS documentation, cublasSetWorkspace) */
static const size_t workspace_B = (size_t)64 << 20;

static struct {
    cublasLtHandle_t handle;
    void *workspace;
} library;

static struct product under_test, weighing; /* weighing: attention's product of shares and values */

struct blas_types {
    const char *dtype;
    cudaDataType operands, result;
    cublasComputeType_t compute;
};
/* fp32 is asked for so that no setting of the environment turns it into tf32 or an emulation */
static const struct blas_types blas_types[] = {
    {"fp32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC},
    {"tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
    {"fp16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F},
    {"fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F},
};

static const struct blas_types *types_of(const char *dtype)
{
    for (const struct blas_types &types : blas_types)
        if (strcmp(types.dtype, dtype) == 0) return &types;
    return NULL;
}

/* From 8.9 (Ada, Hopper) on there is fp8; before 10.0 (Blackwell) only with the first operand of the
 * column-major call transposed and the second not, sizes in whole 16 bytes (cuBLAS documentation,
 * cublasLtMatmul, table of fp8 kernels). */
static bool fp8_supported(const struct job *job, const struct gemm_args *args)
{
    if (gpu.capability < 89) return job_fails(job, "no fp8 before compute capability 8.9");
    bool as_asked = args->first.transposed && !args->second.transposed;
    if (gpu.capability < 100 && !as_asked) return job_fails(job, "cublasLt multiplies fp8 as nt only");
    if (args->m % 16 != 0 || args->n % 16 != 0 || args->k % 16 != 0)
        return job_fails(job, "cublasLt multiplies fp8 in whole 16s only");
    return true;
}

bool product_supported(const struct job *job)
{
    struct gemm_args args;
    if (!types_of(job->c->dtype)) return job_fails(job, "not a type of products here");
    if (!gemm_args_of(job->c, &args)) return job_fails(job, "not a layout or size of a product");
    return strcmp(job->c->dtype, "fp8") != 0 || fp8_supported(job, &args);
}

static bool open_library(const struct job *job)
{
    if (!library.handle) TRY_BLAS(job, cublasLtCreate(&library.handle));
    if (!library.workspace) TRY_CUDA(job, cudaMalloc(&library.workspace, workspace_B));
    return true;
}

void cuda_products_close(void)
{
    if (library.handle) cublasLtDestroy(library.handle);
    cudaFree(library.workspace);
    library = {};
}

static bool lay_out(const struct job *job, const struct gemm_operand *operand, cudaDataType type, int batch,
                    cublasLtMatrixLayout_t *layout)
{
    int64_t stride = operand->stride;
    TRY_BLAS(job, cublasLtMatrixLayoutCreate(layout, type, (uint64_t)operand->rows, (uint64_t)operand->columns,
                                             operand->leading));
    if (batch == 1) return true;
    TRY_BLAS(job, cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                   sizeof batch));
    TRY_BLAS(job, cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                   sizeof stride));
    return true;
}

static bool describe(const struct job *job, const struct blas_types *types, const struct gemm_args *args,
                     struct product *product)
{
    cublasOperation_t first = args->first.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = args->second.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    int8_t fast = 1; /* fp8 sums as in a forward pass: not promoted to fp32 on the way */
    int batch = (int)args->batch;
    TRY_BLAS(job, cublasLtMatmulDescCreate(&product->how, types->compute, CUDA_R_32F));
    TRY_BLAS(job, cublasLtMatmulDescSetAttribute(product->how, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    TRY_BLAS(job,
             cublasLtMatmulDescSetAttribute(product->how, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
    if (types->operands == CUDA_R_8F_E4M3)
        TRY_BLAS(job, cublasLtMatmulDescSetAttribute(product->how, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast,
                                                     sizeof fast));
    return lay_out(job, &args->first, types->operands, batch, &product->first) &&
           lay_out(job, &args->second, types->operands, batch, &product->second) &&
           lay_out(job, &args->result, types->result, batch, &product->result);
}

static bool choose(const struct job *job, struct product *product)
{
    enum { OFFERS = 8 };
    cublasLtMatmulHeuristicResult_t offers[OFFERS];
    cublasLtMatmulPreference_t wishes = NULL;
    size_t room_B = workspace_B;
    int n = 0;
    TRY_BLAS(job, cublasLtMatmulPreferenceCreate(&wishes));
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(wishes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                                 &room_B, sizeof room_B);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulAlgoGetHeuristic(library.handle, product->how, product->first, product->second,
                                                product->result, product->result, wishes, OFFERS, offers, &n);
    cublasLtMatmulPreferenceDestroy(wishes);
    if (status != CUBLAS_STATUS_SUCCESS)
        return job_fails(job, "cublasLtMatmulAlgoGetHeuristic: %s", cublasGetStatusString(status));
    for (int offer = 0; offer < n; offer++) {
        if (offers[offer].state != CUBLAS_STATUS_SUCCESS) continue;
        product->algorithm = offers[offer].algo;
        return true;
    }
    return job_fails(job, "cublasLtMatmulAlgoGetHeuristic offers no algorithm");
}

bool product_plan(const struct job *job, const struct calib_case *shape, struct product *product)
{
    struct gemm_args args;
    const struct blas_types *types = types_of(shape->dtype);
    *product = {};
    product->scale = 1;
    if (!types || !gemm_args_of(shape, &args) || args.batch > INT32_MAX)
        return job_fails(job, "not a product that cublasLt takes");
    return open_library(job) && describe(job, types, &args, product) && choose(job, product);
}

void product_free(struct product *product)
{
    if (product->result) cublasLtMatrixLayoutDestroy(product->result);
    if (product->second) cublasLtMatrixLayoutDestroy(product->second);
    if (product->first) cublasLtMatrixLayoutDestroy(product->first);
    if (product->how) cublasLtMatmulDescDestroy(product->how);
    *product = {};
}

/* Nothing is added to the result (beta 0), so what it held before is not read. B goes first: gemm_args.h. */
bool product_run(const struct job *job, const struct product *product, const struct operands *abc,
                 cudaStream_t stream)
{
    const float none = 0;
    TRY_BLAS(job, cublasLtMatmul(library.handle, product->how, &product->scale, abc->part[1], product->first,
                                 abc->part[0], product->second, &none, abc->part[2], product->result,
                                 abc->part[2], product->result, &product->algorithm, library.workspace,
                                 workspace_B, stream));
    return true;
}

/* gemm */

static bool prepare_product(const struct job *job)
{
    return product_plan(job, job->c, &under_test);
}

static void release_products(void)
{
    product_free(&under_test);
    product_free(&weighing);
}

static bool launch_product(const struct job *job, const struct operands *operands, cudaStream_t stream)
{
    return product_run(job, &under_test, operands, stream);
}

enum { PLACES = 64 };

/* corners first, then places anywhere: multiples of an odd constant near 2^64 / phi are spread evenly
 * (Knuth, The Art of Computer Programming 3, 6.4) */
static void choose_places(int64_t n, int64_t *at)
{
    for (int p = 0; p < PLACES; p++) at[p] = (int64_t)((uint64_t)p * 0x9e3779b97f4a7c15u % (uint64_t)n);
    at[1] = n - 1;
}

static bool exact_sums(const struct job *job, const struct operands *operands, const int64_t *at,
                       struct gemm_sum *sums)
{
    struct places places = {NULL, PLACES, NULL};
    int64_t *device_at = NULL;
    const size_t at_B = PLACES * sizeof *at;
    const size_t sums_B = PLACES * sizeof *sums;
    TRY_CUDA(job, cudaMalloc(&device_at, at_B + sums_B)); /* one block: places, then sums */
    places.at = device_at;
    places.sums = reinterpret_cast<struct gemm_sum *>(device_at + PLACES);
    cudaError_t status = cudaMemcpy(device_at, at, at_B, cudaMemcpyHostToDevice);
    if (status == cudaSuccess) status = math_product_at(job->c, operands, places, gpu.stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(gpu.stream);
    if (status == cudaSuccess) status = cudaMemcpy(sums, places.sums, sums_B, cudaMemcpyDeviceToHost);
    cudaFree(device_at);
    return status == cudaSuccess || job_fails_cuda(job, "reference of the product", status);
}

static double check_product(const struct job *job)
{
    struct operands operands = gpu_operands(0);
    const struct calib_case *c = job->c;
    const struct gemm_type *type = gemm_type_find(c->dtype);
    int64_t at[PLACES];
    struct gemm_sum sums[PLACES];
    enum number stored = NUMBER_FP32;
    choose_places(c->m * c->n * (c->batch == 0 ? 1 : c->batch), at);
    if (!number_of(c->dtype, &stored) || !launch_product(job, &operands, gpu.stream)) return NAN;
    if (!exact_sums(job, &operands, at, sums)) return NAN;
    if (stored == NUMBER_FP8) stored = NUMBER_BF16; /* of the result */
    double worst = 0;
    for (int p = 0; p < PLACES; p++) {
        std::vector<double> got;
        if (!check_fetch(job, {operands.part[2], stored, at[p], 1}, &got)) return NAN;
        worst = check_one(job, worst, {got[0], sums[p].value, gemm_tolerance(type, c->k, sums[p]), at[p]});
    }
    return worst;
}

/* attention: scores = Q K' / sqrt(k), shares = softmax of each row in place, O = shares V */

static bool attention_supported(const struct job *job)
{
    const struct calib_case *c = job->c;
    if (!types_of(c->dtype) || strcmp(c->dtype, "fp8") == 0) return job_fails(job, "not a type of attention here");
    if (c->m < 1 || c->n < 1 || c->k < 1) return job_fails(job, "not a size of attention");
    return true;
}

static struct calib_case product_like(const struct calib_case *c, const char *layout, int64_t n, int64_t k)
{
    struct calib_case shape = *c;
    shape.layout = layout;
    shape.n = n;
    shape.k = k;
    return shape;
}

static bool prepare_attention(const struct job *job)
{
    struct calib_case scores = product_like(job->c, "nt", job->c->n, job->c->k);
    struct calib_case output = product_like(job->c, "nn", job->c->k, job->c->n);
    if (!product_plan(job, &scores, &under_test) || !product_plan(job, &output, &weighing)) return false;
    under_test.scale = 1 / sqrtf((float)job->c->k);
    return true;
}

static bool launch_attention(const struct job *job, const struct operands *qkvos, cudaStream_t stream)
{
    const struct calib_case *c = job->c;
    struct operands scores = {{qkvos->part[0], qkvos->part[1], qkvos->part[4]}};
    struct operands output = {{qkvos->part[4], qkvos->part[2], qkvos->part[3]}};
    struct rows rows = {NUMBER_FP32, c->m * (c->batch == 0 ? 1 : c->batch), c->n};
    if (!number_of(c->dtype, &rows.number)) return job_fails(job, "not a type of attention here");
    if (!product_run(job, &under_test, &scores, stream)) return false;
    TRY_CUDA(job, math_softmax(rows, qkvos->part[4], qkvos->part[4], stream));
    return product_run(job, &weighing, &output, stream);
}

static double check_attention(const struct job *job)
{
    struct operands operands = gpu_operands(0);
    if (!launch_attention(job, &operands, gpu.stream)) return NAN;
    return check_attended(job, &operands);
}

static const struct cuda_benchmark product_rows[] = {
    {"gemm", product_supported, prepare_product, launch_product, NULL, check_product, release_products},
    {"attention", attention_supported, prepare_attention, launch_attention, NULL, check_attention,
     release_products},
};
const struct cuda_benchmarks cuda_products = {product_rows, 2};
