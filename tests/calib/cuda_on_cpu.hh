/* CUDA played on a CPU, for tests: included before a .cu file, it makes kernels plain functions that
 * blocks of fibres run, one block after the other, with barriers and shuffles as the device has them. The
 * runtime's calls, cublasLt and NCCL are in cuda_on_cpu.cc: memory is the heap's, so sanitizers watch it;
 * a stream does at once what it is given; products and collectives are by the book. Needs CUDA's headers,
 * no compiler and no driver of NVIDIA's. */
#ifndef TESTS_CALIB_CUDA_ON_CPU_H
#define TESTS_CALIB_CUDA_ON_CPU_H

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

#include <functional>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#define __global__
#define __device__
#define __host__
#define __shared__ static /* blocks run one at a time */

struct played {
    dim3 grid, block;
    uint3 block_at, thread_at;
};
extern struct played played;
#define threadIdx (played.thread_at)
#define blockIdx  (played.block_at)
#define blockDim  (played.block)
#define gridDim   (played.grid)

void play(dim3 grid, dim3 block, const std::function<void()> &kernel);
void play_barrier(); /* of the block */
float play_shuffle(float x, int apart);

#define __syncthreads()                 play_barrier()
#define __shfl_xor_sync(mask, x, apart) play_shuffle(x, apart)
#define __expf                          expf
#define rsqrtf(x)                       (1 / sqrtf(x))
#define CUDA_LAUNCH(kernel, grid, block, stream, ...)                                              \
    ((void)(stream), play(grid, block, [&] { kernel(__VA_ARGS__); }))
#define CUDA_CLOCK(now)                                                                            \
    do {                                                                                           \
        struct timespec clock_;                                                                    \
        clock_gettime(CLOCK_MONOTONIC, &clock_);                                                   \
        (now) = (uint64_t)clock_.tv_sec * 1000000000u + (uint64_t)clock_.tv_nsec;                  \
    } while (0)

#endif
