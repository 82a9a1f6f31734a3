/* What the files of the CUDA backend share: one device, its memory for the case under way, errors that
 * name the call, and the table of benchmarks (each file offers its rows). Nothing here is for
 * other backends.
 *
 * What is timed: runs back to back in one stream, between two events of that stream, after a pause on
 * the device that lets the host get ahead; so a kernel's time has no waiting for the host in it. The
 * operands go round over sets that are twice the cache (buffers.h), so data come from memory. */
#ifndef CALIB_CUDA_H
#define CALIB_CUDA_H

#include "calib/backend.h"
#include "calib/buffers.h"
#include "calib/gemm_args.h"

#include <cuda_runtime.h>

/* a case and where its trouble is told */
struct job {
    const struct calib_case *c;
    char *why;
    size_t size;
};

/* job_fails — write what is wrong; the harness puts the case before it, and counts equal reasons, so
 * sizes stay out of it. Always false, so that callers return it. */
__attribute__((format(printf, 2, 3))) bool job_fails(const struct job *job, const char *format,
                                                     ...);
bool job_fails_cuda(const struct job *job, const char *call, cudaError_t status);

#define TRY_CUDA(job, call)                                                                        \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) return job_fails_cuda(job, #call, status_);                    \
    } while (0)

struct gpu {
    int n_devices, capability; /* 90 = 9.0 */
    int n_multiprocessors;
    double cache_B;
    uint64_t seed;
    cudaStream_t stream, beside; /* beside: of what disturbs the one under test */
    cudaEvent_t start, stop;
    unsigned char *memory; /* of the case: n_sets sets */
    struct buffers buffers;
    int n_sets;
    int64_t turn; /* runs so far: the next set is turn % n_sets */
};
extern struct gpu gpu;

/* the operands of one run */
struct operands {
    unsigned char *part[BUFFERS_MAX];
};
struct operands gpu_operands(int64_t turn);

/* gpu_hold — keep a stream's device waiting long enough for the host to send n launches. */
bool gpu_hold(const struct job *job, cudaStream_t stream, int n);

/* gpu_timed — seconds of n runs by `launch` between events; < 0 after an error. */
typedef bool launch_fn(const struct job *job, const struct operands *operands, cudaStream_t stream);
double gpu_timed(const struct job *job, launch_fn *launch, int n);

bool gpu_device(struct calib_machine *machine, char *why, size_t size); /* find and describe */

struct cuda_benchmark {
    const char *name;
    bool (*supports)(const struct job *job); /* beyond memory; NULL: always */
    bool (*prepare)(
        const struct job *job); /* after the sets are allocated and filled; may be NULL */
    launch_fn *launch;          /* one run; NULL where `run` does it all */
    double (*run)(const struct job *job, int n); /* NULL: gpu_timed of launch */
    double (*check)(const struct job *job);      /* as in backend.h; NULL: nothing to check */
    void (*release)(void);                       /* may be NULL */
};

struct cuda_benchmarks {
    const struct cuda_benchmark *rows;
    int n;
};
extern const struct cuda_benchmarks cuda_products, cuda_attention, cuda_rows, cuda_transfers,
    cuda_launches, cuda_disturbed, cuda_collectives;

/* Libraries that may be missing at build time: their version as text for the head, "" where they are. */
const char *cuda_collectives_version(void); /* NCCL */
const char *cuda_attention_version(void);   /* cuDNN */
void cuda_products_close(void);
void cuda_attention_close(void);
void cuda_collectives_close(void);

#endif
