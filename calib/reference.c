#include "calib/reference.h"

#include <math.h>

double reference_elementwise(double x, double y)
{
    return fmax(REFERENCE_SCALE * x + y, 0);
}

double reference_sum(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

double reference_magnitude(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(x[i]);
    return sum;
}

void reference_softmax(const double *x, int64_t n, double *y)
{
    double most = x[0];
    for (int64_t i = 1; i < n; i++) most = fmax(most, x[i]);
    for (int64_t i = 0; i < n; i++) y[i] = exp(x[i] - most);
    double sum = reference_sum(y, n);
    for (int64_t i = 0; i < n; i++) y[i] /= sum;
}

void reference_norm(const double *x, int64_t n, double *y)
{
    double mean = reference_sum(x, n) / (double)n;
    double variance = 0;
    for (int64_t i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean);
    double deviation = sqrt(variance / (double)n + REFERENCE_NORM_EPSILON);
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) / deviation;
}

struct reference_adam reference_adam(struct reference_adam before, double gradient)
{
    const double beta1 = REFERENCE_ADAM_BETA1;
    const double beta2 = REFERENCE_ADAM_BETA2;
    struct reference_adam after = {
        .moment1 = beta1 * before.moment1 + (1 - beta1) * gradient,
        .moment2 = beta2 * before.moment2 + (1 - beta2) * gradient * gradient,
    };
    double step =
        after.moment1 / (1 - beta1) / (sqrt(after.moment2 / (1 - beta2)) + REFERENCE_ADAM_EPSILON);
    after.weight =
        before.weight - REFERENCE_ADAM_RATE * (step + REFERENCE_ADAM_DECAY * before.weight);
    return after;
}

/* out = softmax(q k' / sqrt(k)) v. Source: Vaswani et al., Attention is all you need, 2017, eq. 1. */
double reference_attention(const struct reference_heads *heads, double *share, double *out)
{
    int64_t n = heads->n;
    int64_t k = heads->k;
    for (int64_t j = 0; j < n; j++) {
        share[j] = 0;
        for (int64_t p = 0; p < k; p++) share[j] += heads->query[p] * heads->keys[j * k + p];
        share[j] /= sqrt((double)k);
    }
    reference_softmax(share, n, share);
    double squares = 0;
    for (int64_t p = 0; p < k; p++) out[p] = 0;
    for (int64_t j = 0; j < n; j++) {
        squares += share[j] * share[j];
        for (int64_t p = 0; p < k; p++) out[p] += share[j] * heads->values[j * k + p];
    }
    return sqrt(squares);
}

double reference_worse(double worst, double other)
{
    if (isnan(worst) || isnan(other)) return NAN;
    return worst > other ? worst : other;
}
