/* Attention in one kernel, by cuDNN: O = softmax(Q K' / sqrt(k)) V without a mask, forward. Heads and
 * samples are one dimension, rows of a head lie one after the other. Without cuDNN at build time (or with
 * one that lacks the operation) the table is empty and the benchmark is not measured.
 * Source of the calls: NVIDIA cuDNN backend API, "Graph API". */
#include "calib/cuda.h"

#ifdef CALIB_CUDNN
#include <cudnn.h>
#endif

/* the first version whose headers this was built against */
#if defined CALIB_CUDNN && CUDNN_VERSION >= 91900

#include "calib/cuda_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRY_DNN(job, call)                                                                             \
    do {                                                                                               \
        cudnnStatus_t status_ = (call);                                                                \
        if (status_ != CUDNN_STATUS_SUCCESS)                                                           \
            return job_fails(job, "%s: %s", #call, cudnnGetErrorString(status_));                      \
    } while (0)

typedef cudnnBackendDescriptor_t descriptor;

/* Names of the tensors in the graph; the first four are the parts of the operands in their order. */
enum { Q, K, V, O, SCALE, N_TENSORS };
static const int64_t names[N_TENSORS] = {1, 2, 3, 4, 5};

/* Descriptors may refer to each other as long as the plan lives, so all are kept until its end. */
enum { HELD_MAX = 48, OFFERS = 16 };
static struct {
    cudnnHandle_t handle;
    descriptor held[HELD_MAX];
    int n_held;
    descriptor plan; /* one of those held */
    void *workspace;
    float scale;
} fused;

static bool create(const struct job *job, cudnnBackendDescriptorType_t type, descriptor *made)
{
    if (fused.n_held == HELD_MAX) return job_fails(job, "too many descriptors");
    TRY_DNN(job, cudnnBackendCreateDescriptor(type, made));
    fused.held[fused.n_held++] = *made;
    return true;
}

static bool set(const struct job *job, descriptor of, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, const void *value)
{
    TRY_DNN(job, cudnnBackendSetAttribute(of, name, type, 1, value));
    return true;
}

static bool link(const struct job *job, descriptor of, cudnnBackendAttributeName_t name, descriptor part)
{
    return set(job, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &part);
}

static bool finish(const struct job *job, descriptor made)
{
    TRY_DNN(job, cudnnBackendFinalize(made));
    return true;
}

/* a tensor of 1 x heads x rows x columns, rows one after the other; a scalar is 1 x 1 x 1 x 1 */
struct extent {
    int64_t heads, rows, columns;
};

static bool add_tensor(const struct job *job, int name, struct extent extent, descriptor *tensor)
{
    int64_t sizes[4] = {1, extent.heads, extent.rows, extent.columns};
    int64_t strides[4] = {extent.heads * extent.rows * extent.columns, extent.rows * extent.columns,
                          extent.columns, 1};
    int64_t aligned_B = 16;
    bool by_value = name == SCALE;
    cudnnDataType_t type = strcmp(job->c->dtype, "fp16") == 0 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
    if (by_value) type = CUDNN_DATA_FLOAT;
    if (!create(job, CUDNN_BACKEND_TENSOR_DESCRIPTOR, tensor)) return false;
    TRY_DNN(job, cudnnBackendSetAttribute(*tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes));
    TRY_DNN(job, cudnnBackendSetAttribute(*tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides));
    return set(job, *tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &names[name]) &&
           set(job, *tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type) &&
           set(job, *tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &aligned_B) &&
           set(job, *tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &by_value) &&
           finish(job, *tensor);
}

static bool add_operation(const struct job *job, descriptor *operation)
{
    const struct calib_case *c = job->c;
    static const cudnnBackendAttributeName_t roles[N_TENSORS] = {
        CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
        CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
        CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC};
    int64_t heads = c->batch == 0 ? 1 : c->batch;
    const struct extent extents[N_TENSORS] = {
        {heads, c->m, c->k}, {heads, c->n, c->k}, {heads, c->n, c->k}, {heads, c->m, c->k}, {1, 1, 1}};
    descriptor tensors[N_TENSORS];
    for (int t = 0; t < N_TENSORS; t++)
        if (!add_tensor(job, t, extents[t], &tensors[t])) return false;
    if (!create(job, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, operation)) return false;
    for (int t = 0; t < N_TENSORS; t++)
        if (!link(job, *operation, roles[t], tensors[t])) return false;
    return finish(job, *operation);
}

static bool add_graph(const struct job *job, descriptor *graph)
{
    descriptor operation = NULL;
    return add_operation(job, &operation) &&
           create(job, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, graph) &&
           link(job, *graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation) &&
           set(job, *graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &fused.handle) &&
           finish(job, *graph);
}

/* engines in the order of cuDNN's own guess at their speed */
static bool ask_engines(const struct job *job, descriptor graph, descriptor *engines, int64_t *n)
{
    descriptor heuristic = NULL;
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    if (!create(job, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic) ||
        !link(job, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph) ||
        !set(job, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode) || !finish(job, heuristic))
        return false;
    for (int e = 0; e < OFFERS; e++)
        if (!create(job, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &engines[e])) return false;
    TRY_DNN(job, cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                          OFFERS, n, engines));
    if (*n > OFFERS) *n = OFFERS;
    return true;
}

/* Engines that the guess offers may still turn a shape down; the first that takes it is used. */
static bool add_plan(const struct job *job, descriptor graph)
{
    descriptor engines[OFFERS] = {};
    int64_t n = 0;
    if (!ask_engines(job, graph, engines, &n)) return false;
    for (int64_t e = 0; e < n; e++) {
        descriptor plan = NULL;
        if (!create(job, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) ||
            !set(job, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &fused.handle) ||
            !link(job, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engines[e]))
            return false;
        if (cudnnBackendFinalize(plan) != CUDNN_STATUS_SUCCESS) continue;
        fused.plan = plan;
        return true;
    }
    return job_fails(job, "cuDNN has no engine for it (%lld offered)", (long long)n);
}

static bool prepare_fused(const struct job *job)
{
    descriptor graph = NULL;
    int64_t workspace_B = 0, n = 0;
    if (!fused.handle) TRY_DNN(job, cudnnCreate(&fused.handle));
    TRY_DNN(job, cudnnSetStream(fused.handle, gpu.stream));
    if (!add_graph(job, &graph) || !add_plan(job, graph)) return false;
    TRY_DNN(job, cudnnBackendGetAttribute(fused.plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                          &n, &workspace_B));
    if (workspace_B > 0) TRY_CUDA(job, cudaMalloc(&fused.workspace, (size_t)workspace_B));
    fused.scale = 1 / sqrtf((float)job->c->k);
    return true;
}

static void release_fused(void)
{
    while (fused.n_held > 0) cudnnBackendDestroyDescriptor(fused.held[--fused.n_held]);
    cudaFree(fused.workspace);
    fused.workspace = NULL;
    fused.plan = NULL;
}

void cuda_attention_close(void)
{
    if (fused.handle) cudnnDestroy(fused.handle);
    fused.handle = NULL;
}

static bool execute(const struct job *job, const struct operands *qkvo, descriptor pack)
{
    void *data[N_TENSORS] = {qkvo->part[0], qkvo->part[1], qkvo->part[2], qkvo->part[3], &fused.scale};
    TRY_DNN(job, cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                          N_TENSORS, data));
    TRY_DNN(job, cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, N_TENSORS,
                                          names));
    TRY_DNN(job, cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                          &fused.workspace));
    TRY_DNN(job, cudnnBackendFinalize(pack));
    TRY_DNN(job, cudnnBackendExecute(fused.handle, fused.plan, pack));
    return true;
}

static bool launch_fused(const struct job *job, const struct operands *qkvo, cudaStream_t)
{
    descriptor pack = NULL;
    TRY_DNN(job, cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
    bool executed = execute(job, qkvo, pack);
    cudnnBackendDestroyDescriptor(pack);
    return executed;
}

static double check_fused(const struct job *job)
{
    struct operands operands = gpu_operands(0);
    if (!launch_fused(job, &operands, gpu.stream)) return NAN;
    return check_attended(job, &operands);
}

static bool takes_fused(const struct job *job)
{
    const struct calib_case *c = job->c;
    bool half = strcmp(c->dtype, "fp16") == 0 || strcmp(c->dtype, "bf16") == 0;
    if (!half) return job_fails(job, "cuDNN fuses attention in fp16 and bf16 only");
    if (gpu.capability < 80) return job_fails(job, "cuDNN fuses attention from compute capability 8.0 on");
    if (c->m < 1 || c->n < 1 || c->k < 8 || c->k % 8 != 0) return job_fails(job, "heads have to be whole 8s");
    return true;
}

static const struct cuda_benchmark rows[] = {
    {"attention_fused", takes_fused, prepare_fused, launch_fused, NULL, check_fused, release_fused},
};
const struct cuda_benchmarks cuda_attention = {rows, sizeof rows / sizeof rows[0]};

const char *cuda_attention_version(void)
{
    static char text[32];
    size_t version = cudnnGetVersion(); /* 91900 = 9.19.0 */
    snprintf(text, sizeof text, " cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    return text;
}

#else

const struct cuda_benchmarks cuda_attention = {NULL, 0};

const char *cuda_attention_version(void)
{
    return "";
}

void cuda_attention_close(void) {}

#endif
