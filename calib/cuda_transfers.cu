/* Copies that cross a link: host to device and back from pinned memory, inside a device by its copy
 * engine, and to a peer. Back to back, so the time of a small one is what a queue of them costs each. */
#include "calib/cuda_check.h"

#include <math.h>
#include <string.h>

static struct {
    unsigned char *host; /* pinned */
    unsigned char *peer; /* on device 1 */
} far;

static bool takes_bytes(const struct job *job)
{
    return job->c->size_B >= 1 || job_fails(job, "not a size");
}

static size_t bytes_of(const struct job *job)
{
    return (size_t)job->c->size_B;
}

/* A pattern of prime length, repeated: places that differ by a power of two hold different bytes. */
static bool prepare_host(const struct job *job)
{
    const size_t period_B = 65521;
    size_t size_B = bytes_of(job);
    size_t filled_B = size_B < period_B ? size_B : period_B;
    TRY_CUDA(job, cudaMallocHost(&far.host, size_B));
    for (size_t i = 0; i < filled_B; i++) far.host[i] = (unsigned char)(i * 167 + (i >> 8) * 13 + gpu.seed);
    for (size_t next_B; filled_B < size_B; filled_B += next_B) {
        next_B = size_B - filled_B < period_B ? size_B - filled_B : period_B;
        memcpy(far.host + filled_B, far.host, next_B);
    }
    return true;
}

static void release_far(void)
{
    if (far.host) cudaFreeHost(far.host);
    if (far.peer) {
        cudaSetDevice(1);
        cudaFree(far.peer);
        cudaSetDevice(0);
    }
    far = {};
}

static bool launch_to_device(const struct job *job, const struct operands *of, cudaStream_t stream)
{
    TRY_CUDA(job, cudaMemcpyAsync(of->part[0], far.host, bytes_of(job), cudaMemcpyHostToDevice, stream));
    return true;
}

static bool launch_to_host(const struct job *job, const struct operands *of, cudaStream_t stream)
{
    TRY_CUDA(job, cudaMemcpyAsync(far.host, of->part[0], bytes_of(job), cudaMemcpyDeviceToHost, stream));
    return true;
}

static bool launch_inside(const struct job *job, const struct operands *of, cudaStream_t stream)
{
    TRY_CUDA(job,
             cudaMemcpyAsync(of->part[1], of->part[0], bytes_of(job), cudaMemcpyDeviceToDevice, stream));
    return true;
}

static bool takes_peer(const struct job *job)
{
    int reaches = 0;
    if (gpu.n_devices < 2) return job_fails(job, "one device has no peer");
    TRY_CUDA(job, cudaDeviceCanAccessPeer(&reaches, 0, 1));
    if (!reaches) return job_fails(job, "devices 0 and 1 do not reach each other's memory");
    return takes_bytes(job);
}

static bool prepare_peer(const struct job *job)
{
    cudaError_t status = cudaDeviceEnablePeerAccess(1, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError(); /* from an earlier case */
    else
        TRY_CUDA(job, status);
    TRY_CUDA(job, cudaSetDevice(1));
    status = cudaMalloc(&far.peer, bytes_of(job));
    TRY_CUDA(job, cudaSetDevice(0));
    TRY_CUDA(job, status);
    return true;
}

static bool launch_peer(const struct job *job, const struct operands *of, cudaStream_t stream)
{
    TRY_CUDA(job, cudaMemcpyPeerAsync(far.peer, 1, of->part[0], 0, bytes_of(job), stream));
    return true;
}

/* both ends of what was sent and of what came */
static bool arrived(const struct job *job, const unsigned char *sent, const unsigned char *came)
{
    const size_t looked_at = 4096;
    size_t size_B = bytes_of(job);
    size_t ends_B = size_B < (size_t)looked_at ? size_B : (size_t)looked_at;
    std::vector<unsigned char> a(ends_B), b(ends_B);
    TRY_CUDA(job, cudaStreamSynchronize(gpu.stream));
    for (int last = 0; last < 2; last++) {
        size_t from = last ? size_B - ends_B : 0;
        TRY_CUDA(job, cudaMemcpy(a.data(), sent + from, ends_B, cudaMemcpyDefault));
        TRY_CUDA(job, cudaMemcpy(b.data(), came + from, ends_B, cudaMemcpyDefault));
        if (a != b) return job_fails(job, "what arrived differs near byte %zu", from);
    }
    return true;
}

static double check_to_device(const struct job *job)
{
    struct operands of = gpu_operands(0);
    return launch_to_device(job, &of, gpu.stream) && arrived(job, far.host, of.part[0]) ? 0 : NAN;
}

static double check_to_host(const struct job *job)
{
    struct operands of = gpu_operands(0);
    return launch_to_host(job, &of, gpu.stream) && arrived(job, of.part[0], far.host) ? 0 : NAN;
}

static double check_inside(const struct job *job)
{
    struct operands of = gpu_operands(0);
    return launch_inside(job, &of, gpu.stream) && arrived(job, of.part[0], of.part[1]) ? 0 : NAN;
}

static double check_peer(const struct job *job)
{
    struct operands of = gpu_operands(0);
    return launch_peer(job, &of, gpu.stream) && arrived(job, of.part[0], far.peer) ? 0 : NAN;
}

static const struct cuda_benchmark rows[] = {
    {"host_to_device", takes_bytes, prepare_host, launch_to_device, NULL, check_to_device, release_far},
    {"device_to_host", takes_bytes, prepare_host, launch_to_host, NULL, check_to_host, release_far},
    {"device_to_device", takes_bytes, NULL, launch_inside, NULL, check_inside, NULL},
    {"peer", takes_peer, prepare_peer, launch_peer, NULL, check_peer, release_far},
};
const struct cuda_benchmarks cuda_transfers = {rows, sizeof rows / sizeof rows[0]};
