/* The CUDA backend: finds a case's row in the tables of the other files, gives it memory and times it. */
#include "calib/cuda.h"

#include "calib/cuda_math.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct gpu gpu;

static const struct cuda_benchmarks *const tables[] = {
    &cuda_products, &cuda_attention, &cuda_rows,        &cuda_transfers,
    &cuda_launches, &cuda_disturbed, &cuda_collectives,
};

static const struct cuda_benchmark *row_of(const struct calib_case *c)
{
    for (const struct cuda_benchmarks *table : tables)
        for (int r = 0; r < table->n; r++)
            if (strcmp(table->rows[r].name, c->benchmark) == 0) return &table->rows[r];
    return NULL;
}

bool job_fails(const struct job *job, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(job->why, job->size, format, args);
    va_end(args);
    return false;
}

/* After an error that leaves the context alive, its mark is taken away, or the next call would find it. */
bool job_fails_cuda(const struct job *job, const char *call, cudaError_t status)
{
    cudaGetLastError();
    return job_fails(job, "%s: %s (%s)", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

struct operands gpu_operands(int64_t turn)
{
    struct operands operands = {};
    if (gpu.n_sets == 0) return operands;
    unsigned char *at = gpu.memory + (size_t)(turn % gpu.n_sets) * (size_t)gpu.buffers.set_B;
    for (int part = 0; part < gpu.buffers.n; part++) {
        operands.part[part] = at;
        at += (size_t)gpu.buffers.part_B[part];
    }
    return operands;
}

/* The host sends a launch in some 5 us; a stream's queue takes about a thousand before the host has to wait
 * anyway, so a longer hold would gain nothing. */
static const double hold_first_s = 20e-6;
static const double hold_launch_s = 5e-6;
enum { HOLD_LAUNCHES = 800 };

bool gpu_hold(const struct job *job, cudaStream_t stream, int n)
{
    TRY_CUDA(job, math_hold(hold_first_s + hold_launch_s * (n < HOLD_LAUNCHES ? n : HOLD_LAUNCHES), stream));
    return true;
}

static bool enqueue(const struct job *job, launch_fn *launch, int n)
{
    if (!gpu_hold(job, gpu.stream, n)) return false;
    TRY_CUDA(job, cudaEventRecord(gpu.start, gpu.stream));
    for (int i = 0; i < n; i++) {
        struct operands operands = gpu_operands(gpu.turn++);
        if (!launch(job, &operands, gpu.stream)) return false;
    }
    TRY_CUDA(job, cudaEventRecord(gpu.stop, gpu.stream));
    TRY_CUDA(job, cudaEventSynchronize(gpu.stop));
    return true;
}

double gpu_timed(const struct job *job, launch_fn *launch, int n)
{
    if (!enqueue(job, launch, n)) return -1;
    float time_ms = 0;
    cudaError_t status = cudaEventElapsedTime(&time_ms, gpu.start, gpu.stop);
    if (status == cudaSuccess) return (double)time_ms * 1e-3;
    job_fails_cuda(job, "cudaEventElapsedTime", status);
    return -1;
}

/* Random data, for power and clocks depend on the bits that toggle. Parts of an optimizer's state are
 * fp32 whatever the case's type; bytes of types without kernels are filled as fp32 too. */
static bool fill_set(const struct job *job, int set)
{
    bool optimizer = strcmp(job->c->benchmark, "optimizer") == 0;
    bool product = strncmp(job->c->benchmark, "gemm", 4) == 0;
    struct operands operands = gpu_operands(set);
    for (int part = 0; part < gpu.buffers.n; part++) {
        enum number number = NUMBER_FP32;
        bool state = optimizer && part < 3;
        bool beside = product && part > 2;
        if (state || beside || !number_of(job->c->dtype, &number)) number = NUMBER_FP32;
        struct fill fill = {
            .numbers = operands.part[part],
            .n = (int64_t)(gpu.buffers.part_B[part] / number_B(number)),
            .number = number,
            .seed = gpu.seed + (uint64_t)(set * BUFFERS_MAX + part),
            .low = optimizer && part == 2 ? 0.0f : -1.0f, /* second moments are squares */
        };
        TRY_CUDA(job, math_fill(fill, gpu.stream));
    }
    return true;
}

static bool sets_that_fit(const struct job *job, struct buffers *buffers, int *n_sets)
{
    size_t free_B = 0, total_B = 0;
    if (!buffers_of(job->c, buffers)) return job_fails(job, "sizes or a type that make no sense here");
    TRY_CUDA(job, cudaMemGetInfo(&free_B, &total_B));
    *n_sets = buffers_sets(buffers, {(double)free_B, gpu.cache_B});
    if (*n_sets == 0)
        return job_fails(job, "needs %.3g GB, %.3g GB of device memory are free", buffers->set_B * 1e-9,
                         (double)free_B * 1e-9);
    return true;
}

static bool cuda_open(struct calib_machine *machine, uint64_t seed, char *why, size_t size)
{
    struct calib_case none = {};
    none.benchmark = "open";
    none.dtype = none.layout = "";
    struct job job = {&none, why, size};
    if (!gpu_device(machine, why, size)) return false;
    gpu.seed = seed;
    TRY_CUDA(&job, cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
    TRY_CUDA(&job, cudaStreamCreateWithFlags(&gpu.beside, cudaStreamNonBlocking));
    TRY_CUDA(&job, cudaEventCreate(&gpu.start));
    TRY_CUDA(&job, cudaEventCreate(&gpu.stop));
    TRY_CUDA(&job, math_nothing(gpu.stream)); /* no kernel for this architecture shows here */
    TRY_CUDA(&job, cudaStreamSynchronize(gpu.stream));
    return true;
}

static bool cuda_supports(const struct calib_case *c, char *why, size_t size)
{
    struct job job = {c, why, size};
    const struct cuda_benchmark *row = row_of(c);
    struct buffers buffers;
    int n_sets = 0;
    if (!row) return job_fails(&job, "the cuda backend has no such benchmark");
    if (row->supports && !row->supports(&job)) return false;
    return sets_that_fit(&job, &buffers, &n_sets);
}

static void cuda_release(const struct calib_case *c)
{
    const struct cuda_benchmark *row = row_of(c);
    if (row && row->release) row->release();
    cudaFree(gpu.memory);
    gpu.memory = NULL;
    gpu.n_sets = 0;
    gpu.turn = 0;
    cudaGetLastError();
}

static bool prepare_sets(const struct job *job)
{
    int n_sets = 0;
    gpu.n_sets = 0;
    gpu.turn = 0;
    if (!sets_that_fit(job, &gpu.buffers, &n_sets)) return false;
    if (gpu.buffers.n == 0) return true;
    TRY_CUDA(job, cudaMalloc(&gpu.memory, (size_t)gpu.buffers.set_B * (size_t)n_sets));
    gpu.n_sets = n_sets;
    for (int set = 0; set < n_sets; set++)
        if (!fill_set(job, set)) return false;
    TRY_CUDA(job, cudaStreamSynchronize(gpu.stream));
    return true;
}

static bool cuda_prepare(const struct calib_case *c, char *why, size_t size)
{
    struct job job = {c, why, size};
    const struct cuda_benchmark *row = row_of(c);
    if (!row) return job_fails(&job, "the cuda backend has no such benchmark");
    if (prepare_sets(&job) && (!row->prepare || row->prepare(&job))) return true;
    cuda_release(c);
    return false;
}

static double cuda_run(const struct calib_case *c, int n, char *why, size_t size)
{
    struct job job = {c, why, size};
    const struct cuda_benchmark *row = row_of(c);
    if (!row) return -1;
    return row->run ? row->run(&job, n) : gpu_timed(&job, row->launch, n);
}

static double cuda_check(const struct calib_case *c, char *why, size_t size)
{
    struct job job = {c, why, size};
    const struct cuda_benchmark *row = row_of(c);
    return row && row->check ? row->check(&job) : -1;
}

static void cuda_close(void)
{
    cuda_collectives_close();
    cuda_attention_close();
    cuda_products_close();
    if (gpu.start) cudaEventDestroy(gpu.start);
    if (gpu.stop) cudaEventDestroy(gpu.stop);
    if (gpu.stream) cudaStreamDestroy(gpu.stream);
    if (gpu.beside) cudaStreamDestroy(gpu.beside);
    gpu = {};
}

const struct calib_backend calib_cuda = {
    .name = "cuda",
    .summary = "an NVIDIA GPU: cuBLAS and kernels of its own; NCCL over all GPUs of the server",
    .open = cuda_open,
    .supports = cuda_supports,
    .prepare = cuda_prepare,
    .run = cuda_run,
    .check = cuda_check,
    .release = cuda_release,
    .close = cuda_close,
    .ranks_per_node = nullptr, /* all */
    .now_s = nullptr, /* the wall clock */
};
