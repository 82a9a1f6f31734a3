/* Work under test while other work goes on beside it without a gap. */
#ifndef CALIB_CUDA_BESIDE_H
#define CALIB_CUDA_BESIDE_H

#include "calib/cuda.h"

struct beside {
    launch_fn *tested;   /* in gpu.stream */
    launch_fn *disturbs; /* in `stream` */
    cudaStream_t stream;
};

/* beside_timed — as gpu_timed, of n runs of `tested` */
double beside_timed(const struct job *job, struct beside beside, int n);

#endif
