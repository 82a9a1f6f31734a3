#include "cuda_on_cpu.hh"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <vector>

/* fibres of a block: each runs until its next barrier, then the next one does */

struct played played;

static const size_t stack_B = 64 << 10;
static struct {
    ucontext_t home;
    std::vector<ucontext_t> fibre;
    std::vector<std::vector<char>> stack;
    std::vector<bool> done;
    std::vector<float> offered;
    const std::function<void()> *kernel;
    size_t now;
} block;

static void fibre_main()
{
    (*block.kernel)();
    block.done[block.now] = true;
    swapcontext(&block.fibre[block.now], &block.home);
}

void play_barrier()
{
    swapcontext(&block.fibre[block.now], &block.home);
}

/* offered by all of a warp, then read, then free for the next offer: all of a block must take part here, as
 * teams do; what has returned before has no say */
float play_shuffle(float x, int apart)
{
    block.offered[block.now] = x;
    play_barrier();
    float theirs = block.offered[block.now ^ (size_t)apart];
    play_barrier();
    return theirs;
}

static void start_fibres(size_t n)
{
    block.fibre.resize(n);
    block.stack.resize(n, std::vector<char>(stack_B));
    block.done.assign(n, false);
    block.offered.assign(n, 0);
    for (size_t t = 0; t < n; t++) {
        getcontext(&block.fibre[t]);
        block.fibre[t].uc_stack.ss_sp = block.stack[t].data();
        block.fibre[t].uc_stack.ss_size = stack_B;
        block.fibre[t].uc_link = &block.home;
        makecontext(&block.fibre[t], fibre_main, 0);
    }
}

static bool one_turn(size_t n)
{
    bool any = false;
    for (size_t t = 0; t < n; t++) {
        if (block.done[t]) continue;
        block.now = t;
        unsigned x = (unsigned)t % played.block.x;
        unsigned y = (unsigned)t / played.block.x;
        played.thread_at = {x, y, 0};
        swapcontext(&block.home, &block.fibre[t]);
        any = true;
    }
    return any;
}

void play(dim3 grid, dim3 of, const std::function<void()> &kernel)
{
    played.grid = grid;
    played.block = of;
    block.kernel = &kernel;
    for (unsigned b = 0; b < grid.x; b++) {
        played.block_at = {b, 0, 0};
        size_t n = (size_t)of.x * of.y;
        start_fibres(n);
        while (one_turn(n)) {
        }
    }
}

/* the runtime */

static const int n_devices = 4;
static int current;
static double recorded_s[1 << 16];
static size_t n_events;

static double now_s()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

extern "C" {

cudaError_t cudaGetDeviceCount(int *n) { return *n = n_devices, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return current = device, device < n_devices ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *of, int)
{
    memset(of, 0, sizeof *of);
    snprintf(of->name, sizeof of->name, "played on a CPU");
    of->major = 9;
    of->multiProcessorCount = 2;
    of->l2CacheSize = 4096;
    of->totalGlobalMem = (size_t)8 << 30;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr, int) { return *value = 1000000, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int) { return snprintf(text, (size_t)size, "0"), cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free_B, size_t *total_B) { return *free_B = *total_B = (size_t)8 << 30, cudaSuccess; }
cudaError_t cudaMalloc(void **at, size_t size_B) { return *at = aligned_alloc(256, (size_B + 255) / 256 * 256), cudaSuccess; }
cudaError_t cudaFree(void *at) { return free(at), cudaSuccess; }
cudaError_t cudaHostAlloc(void **at, size_t size_B, unsigned) { return *at = malloc(size_B), cudaSuccess; }
cudaError_t cudaFreeHost(void *at) { return free(at), cudaSuccess; }
cudaError_t cudaMemcpy(void *to, const void *from, size_t size_B, enum cudaMemcpyKind) { return memmove(to, from, size_B), cudaSuccess; }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_B, enum cudaMemcpyKind, cudaStream_t)
{
    return memmove(to, from, size_B), cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t size_B, cudaStream_t)
{
    return memmove(to, from, size_B), cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int *reaches, int, int) { return *reaches = 1, cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return *stream = (cudaStream_t)(uintptr_t)(current + 1), cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *event) { return *event = (cudaEvent_t)(uintptr_t)(++n_events), cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) { return recorded_s[(uintptr_t)event] = now_s(), cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *time_ms, cudaEvent_t start, cudaEvent_t stop)
{
    return *time_ms = (float)((recorded_s[(uintptr_t)stop] - recorded_s[(uintptr_t)start]) * 1e3), cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, enum cudaStreamCaptureMode) { return cudaSuccess; }
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) { return *graph = (cudaGraph_t)1, cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *graph, cudaGraph_t, unsigned long long) { return *graph = (cudaGraphExec_t)1, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "played error"; }
const char *cudaGetErrorName(cudaError_t) { return "played"; }

/* cublasLt: layouts and operations keep what they are told; a product is three loops over columns */

struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading, stride;
    int batch;
};
struct how {
    cublasOperation_t first, second;
};

const char *cublasGetStatusString(cublasStatus_t) { return "played status"; }
cublasStatus_t cublasGetProperty(libraryPropertyType, int *value) { return *value = 13, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) { return *handle = (cublasLtHandle_t)1, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading)
{
    *made = (cublasLtMatrixLayout_t) new layout{type, rows, columns, leading, 0, 1};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(const cublasLtMatrixLayout_t of) { return delete (layout *)of, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t of, cublasLtMatrixLayoutAttribute_t name, const void *value, size_t size)
{
    layout *to = (layout *)of;
    if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof to->batch) memcpy(&to->batch, value, size);
    else if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof to->stride) memcpy(&to->stride, value, size);
    else return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t, cudaDataType_t)
{
    *made = (cublasLtMatmulDesc_t) new how{CUBLAS_OP_N, CUBLAS_OP_N};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(const cublasLtMatmulDesc_t of) { return delete (how *)of, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t name, const void *value, size_t size)
{
    how *to = (how *)of;
    if (name == CUBLASLT_MATMUL_DESC_FAST_ACCUM) return size == 1 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    if (size != sizeof to->first) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(name == CUBLASLT_MATMUL_DESC_TRANSA ? &to->first : &to->second, value, size);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) { return *made = (cublasLtMatmulPreference_t)1, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceDestroy(const cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t size)
{
    return size == sizeof(size_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t offers[], int *n)
{
    memset(offers, 0, 2 * sizeof offers[0]);
    offers[0].state = CUBLAS_STATUS_NOT_SUPPORTED; /* the first is not always the one */
    offers[1].state = CUBLAS_STATUS_SUCCESS;
    return *n = 2, CUBLAS_STATUS_SUCCESS;
}

static double number_at(cudaDataType type, const void *numbers, int64_t at)
{
    if (type == CUDA_R_32F) return (double)((const float *)numbers)[at];
    if (type == CUDA_R_16F) return (double)(float)((const half *)numbers)[at];
    if (type == CUDA_R_16BF) return (double)(float)((const __nv_bfloat16 *)numbers)[at];
    return (double)(float)((const __nv_fp8_e4m3 *)numbers)[at];
}
static void put_number(cudaDataType type, void *numbers, int64_t at, double value)
{
    if (type == CUDA_R_32F) ((float *)numbers)[at] = (float)value;
    else if (type == CUDA_R_16F) ((half *)numbers)[at] = (half)(float)value;
    else ((__nv_bfloat16 *)numbers)[at] = (__nv_bfloat16)(float)value;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t of, const void *alpha, const void *a, cublasLtMatrixLayout_t first,
                              const void *b, cublasLtMatrixLayout_t second, const void *, const void *, cublasLtMatrixLayout_t,
                              void *d, cublasLtMatrixLayout_t result, const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t)
{
    const layout *la = (layout *)first, *lb = (layout *)second, *ld = (layout *)result;
    const how *op = (how *)of;
    bool ta = op->first == CUBLAS_OP_T, tb = op->second == CUBLAS_OP_T;
    uint64_t k = ta ? la->rows : la->columns;
    if ((ta ? la->columns : la->rows) != ld->rows || (tb ? lb->rows : lb->columns) != ld->columns) return CUBLAS_STATUS_INVALID_VALUE;
    if ((tb ? lb->columns : lb->rows) != k || (int64_t)la->rows > la->leading || la->batch != ld->batch) return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t at = 0; at < (int64_t)(ld->rows * ld->columns) * ld->batch; at++) {
        int64_t in = at % (int64_t)(ld->rows * ld->columns), batch = at / (int64_t)(ld->rows * ld->columns);
        int64_t i = in % (int64_t)ld->rows, j = in / (int64_t)ld->rows;
        double sum = 0;
        for (int64_t p = 0; p < (int64_t)k; p++)
            sum += number_at(la->type, a, batch * la->stride + (ta ? p + i * la->leading : i + p * la->leading)) *
                   number_at(lb->type, b, batch * lb->stride + (tb ? j + p * lb->leading : p + j * lb->leading));
        put_number(ld->type, d, batch * ld->stride + i + j * ld->leading, (double)*(const float *)alpha * sum);
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* NCCL: calls of a group are kept and matched at its end */

enum kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SEND, RECV };
struct call {
    enum kind kind;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    int rank, peer;
};
static std::vector<call> calls;
static int ranks;

const char *ncclGetErrorString(ncclResult_t) { return "played result"; }
ncclResult_t ncclGetVersion(int *version) { return *version = 22809, ncclSuccess; }
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *)
{
    for (int r = 0; r < n; r++) comms[r] = (ncclComm_t)(uintptr_t)(r + 1);
    return ranks = n, ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclGroupStart(void) { return calls.clear(), ncclSuccess; }
static ncclResult_t keep(struct call call, ncclComm_t comm, cudaStream_t stream)
{
    call.rank = (int)(uintptr_t)comm - 1;
    if ((int)(uintptr_t)stream - 1 != call.rank) return ncclInvalidArgument; /* a stream of another device */
    return calls.push_back(call), ncclSuccess;
}
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t comm, cudaStream_t stream)
{
    return keep({ALL_REDUCE, send, recv, count, type, 0, 0}, comm, stream);
}
ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
    return keep({ALL_GATHER, send, recv, count, type, 0, 0}, comm, stream);
}
ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t comm, cudaStream_t stream)
{
    return keep({REDUCE_SCATTER, send, recv, count, type, 0, 0}, comm, stream);
}
ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    return keep({BROADCAST, send, recv, count, type, 0, root}, comm, stream);
}
ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t, int root, ncclComm_t comm, cudaStream_t stream)
{
    return keep({REDUCE, send, recv, count, type, 0, root}, comm, stream);
}
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return keep({SEND, send, NULL, count, type, 0, peer}, comm, stream);
}
ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return keep({RECV, NULL, recv, count, type, 0, peer}, comm, stream);
}

static cudaDataType data_type(ncclDataType_t type)
{
    return type == ncclFloat ? CUDA_R_32F : type == ncclHalf ? CUDA_R_16F : CUDA_R_16BF;
}
static size_t bytes_of(ncclDataType_t type) { return type == ncclFloat ? 4 : 2; }

/* sums of what the ranks have from a number on, into a rank's result */
static void sum_into(const struct call &to, size_t from)
{
    for (size_t i = 0; i < to.count; i++) {
        double sum = 0;
        for (const call &of : calls) sum += number_at(data_type(to.type), of.send, (int64_t)(from + i));
        put_number(data_type(to.type), to.recv, (int64_t)i, sum);
    }
}

static bool finish(const struct call &call)
{
    size_t size_B = call.count * bytes_of(call.type);
    if (call.kind == ALL_REDUCE || (call.kind == REDUCE && call.rank == call.peer)) sum_into(call, 0);
    if (call.kind == REDUCE_SCATTER) sum_into(call, (size_t)call.rank * call.count);
    for (const struct call &of : calls) {
        if (call.kind == ALL_GATHER) memcpy((char *)call.recv + (size_t)of.rank * size_B, of.send, size_B);
        if (call.kind == BROADCAST && of.rank == call.peer) memcpy(call.recv, of.send, size_B);
    }
    return true;
}

ncclResult_t ncclGroupEnd(void)
{
    std::vector<bool> sent(calls.size());
    for (const call &call : calls) {
        finish(call);
        if (call.kind != RECV) continue;
        size_t s = 0; /* sends between two ranks are received in their order */
        while (s < calls.size() && (sent[s] || calls[s].kind != SEND || calls[s].rank != call.peer || calls[s].peer != call.rank)) s++;
        if (s == calls.size() || calls[s].count != call.count) return ncclInvalidUsage;
        memcpy(call.recv, calls[s].send, call.count * bytes_of(call.type));
        sent[s] = true;
    }
    for (size_t s = 0; s < calls.size(); s++)
        if (calls[s].kind == SEND && !sent[s]) return ncclInvalidUsage;
    return ncclSuccess;
}
}
