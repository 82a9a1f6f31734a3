/* Products slowed by copies inside the device, and copies slowed by products. */
#include "calib/cuda_beside.h"
#include "calib/cuda_product.h"

/* Pieces of the disturbing work that are sent ahead: enough for the host to come back in time, few enough
 * that little is left to wait for at the end. */
enum { AHEAD = 4 };

struct ring {
    cudaEvent_t done[AHEAD];
    int64_t sent;
};

/* send more until AHEAD pieces are under way */
static bool keep_busy(const struct job *job, const struct beside *beside, struct ring *ring)
{
    for (int piece = 0; piece < AHEAD; piece++) {
        cudaEvent_t oldest = ring->done[ring->sent % AHEAD];
        cudaError_t status = ring->sent < AHEAD ? cudaSuccess : cudaEventQuery(oldest);
        if (status == cudaErrorNotReady) return true;
        TRY_CUDA(job, status);
        struct operands operands = gpu_operands(ring->sent);
        if (!beside->disturbs(job, &operands, beside->stream)) return false;
        TRY_CUDA(job, cudaEventRecord(oldest, beside->stream));
        ring->sent++;
    }
    return true;
}

static bool keep_busy_until_stop(const struct job *job, const struct beside *beside, struct ring *ring)
{
    cudaError_t status = cudaErrorNotReady;
    while (status == cudaErrorNotReady) {
        if (!keep_busy(job, beside, ring)) return false;
        status = cudaEventQuery(gpu.stop);
    }
    TRY_CUDA(job, status);
    return true;
}

static bool run_both(const struct job *job, const struct beside *beside, struct ring *ring, int n)
{
    if (!keep_busy(job, beside, ring) || !gpu_hold(job, gpu.stream, n)) return false;
    TRY_CUDA(job, cudaEventRecord(gpu.start, gpu.stream));
    for (int i = 0; i < n; i++) {
        struct operands operands = gpu_operands(gpu.turn++);
        if (!beside->tested(job, &operands, gpu.stream) || !keep_busy(job, beside, ring)) return false;
    }
    TRY_CUDA(job, cudaEventRecord(gpu.stop, gpu.stream));
    return keep_busy_until_stop(job, beside, ring);
}

double beside_timed(const struct job *job, struct beside beside, int n)
{
    struct ring ring = {};
    float time_ms = 0;
    bool made = true;
    for (cudaEvent_t &event : ring.done)
        made = made && cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
    bool ran = made ? run_both(job, &beside, &ring, n) : job_fails(job, "cudaEventCreateWithFlags");
    cudaStreamSynchronize(beside.stream);
    cudaStreamSynchronize(gpu.stream);
    for (cudaEvent_t event : ring.done)
        if (event) cudaEventDestroy(event);
    if (!ran) return -1;
    cudaError_t status = cudaEventElapsedTime(&time_ms, gpu.start, gpu.stop);
    if (status == cudaSuccess) return (double)time_ms * 1e-3;
    job_fails_cuda(job, "cudaEventElapsedTime", status);
    return -1;
}

static struct product product;

static bool takes_both(const struct job *job)
{
    if (!(job->c->size_B >= 1)) return job_fails(job, "not a size of copies");
    return product_supported(job);
}

static bool prepare(const struct job *job)
{
    return product_plan(job, job->c, &product);
}

static void release(void)
{
    product_free(&product);
}

static bool multiply(const struct job *job, const struct operands *operands, cudaStream_t stream)
{
    return product_run(job, &product, operands, stream);
}

static bool copy(const struct job *job, const struct operands *operands, cudaStream_t stream)
{
    TRY_CUDA(job, cudaMemcpyAsync(operands->part[4], operands->part[3], (size_t)job->c->size_B,
                                  cudaMemcpyDeviceToDevice, stream));
    return true;
}

static double run_product(const struct job *job, int n)
{
    return beside_timed(job, {multiply, copy, gpu.beside}, n);
}

static double run_copy(const struct job *job, int n)
{
    return beside_timed(job, {copy, multiply, gpu.beside}, n);
}

/* what each computes is checked where it runs alone */
static const struct cuda_benchmark rows[] = {
    {"gemm_during_copy", takes_both, prepare, NULL, run_product, NULL, release},
    {"copy_during_gemm", takes_both, prepare, NULL, run_copy, NULL, release},
};
const struct cuda_benchmarks cuda_disturbed = {rows, sizeof rows / sizeof rows[0]};
