/* What a case keeps in device memory: the operands of one run, in the order its kernel takes them, and
 * how many sets of them to go round so that a run does not find its own data in the cache. */
#ifndef CALIB_BUFFERS_H
#define CALIB_BUFFERS_H

#include "calib/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BUFFERS_MAX = 5, BUFFERS_ALIGN_B = 256 };

struct buffers {
    double part_B[BUFFERS_MAX]; /* whole multiples of BUFFERS_ALIGN_B */
    int n;
    double set_B; /* their sum */
};

/* buffers_of — on one device, by benchmark:
 *   gemm, gemm_during_all_reduce         A, B, C (fp8: C in bf16)
 *   gemm_during_copy, copy_during_gemm   A, B, C, source, destination
 *   elementwise        x, y                    reduction       x, sums (fp32)
 *   softmax            x, y                    layer_norm      x, y, scale, shift
 *   attention          Q, K, V, O, scores      attention_fused Q, K, V, O
 *   optimizer          weights, two moments (fp32), gradient, weights as the model uses them
 *   copy, device_to_device   source, destination
 *   stream             a, b, c                 host_to_device, device_to_host, peer   one buffer
 *   launch..., collectives   none (buffers of collectives are on all devices and stay the same)
 * false when it is none of these or its type has no size. */
bool buffers_of(const struct calib_case *c, struct buffers *buffers);

/* Memory of a device, as buffers_sets needs it. */
struct buffers_room {
    double free_B, cache_B;
};

/* buffers_sets — as many sets as together are twice the cache, so that what a run left there has gone when
 * its set's turn comes again; fewer where memory is short, 0 when not even one fits. */
int buffers_sets(const struct buffers *buffers, struct buffers_room room);

#ifdef __cplusplus
}
#endif
#endif
