/* What kernels should have computed, in double and by the definition: checks compare with it. */
#ifndef CALIB_REFERENCE_H
#define CALIB_REFERENCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = max(a x + y, 0), with this a everywhere */
#define REFERENCE_SCALE 0.5
double reference_elementwise(double x, double y);

/* a row of n numbers; y[n] out */
double reference_sum(const double *x, int64_t n);
double reference_magnitude(const double *x, int64_t n); /* sum of |x| */
void reference_softmax(const double *x, int64_t n, double *y);

/* (x - mean) / sqrt(variance + 1e-5), before scale and shift */
#define REFERENCE_NORM_EPSILON 1e-5
void reference_norm(const double *x, int64_t n, double *y);

/* One step of Adam with decoupled weight decay. Source: Loshchilov & Hutter, Decoupled Weight Decay
 * Regularization, ICLR 2019, algorithm 2; the first step's corrections 1 - beta. */
#define REFERENCE_ADAM_RATE    1e-3
#define REFERENCE_ADAM_BETA1   0.9
#define REFERENCE_ADAM_BETA2   0.95
#define REFERENCE_ADAM_EPSILON 1e-8
#define REFERENCE_ADAM_DECAY   0.1
struct reference_adam {
    double weight, moment1, moment2;
};
struct reference_adam reference_adam(struct reference_adam before, double gradient);

/* attention of one query of k numbers over n keys and values: out[k], and spread = root of the sum of
 * squared shares, the size of what independent roundings of the shares add up to. share[n] is scratch. */
struct reference_heads {
    const double *query, *keys, *values;
    int64_t n, k;
};
double reference_attention(const struct reference_heads *heads, double *share, double *out);

/* the larger of two differences; NaN when one of them is */
double reference_worse(double worst, double other);

#ifdef __cplusplus
}
#endif
#endif
