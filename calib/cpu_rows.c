#include "calib/cpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sums are kept in several lanes, which the compiler puts into one vector register. */
enum { LANES = 16 };

/* rounding of single precision, and how many roundings in a row a result may have had beside those of
 * its sum */
static const double EPSILON = FLT_EPSILON;
static const double ROUNDINGS = 16;

static float sum_row(const float *x, int64_t n)
{
    float lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) lanes[l] += x[i + l];
    }
    float sum = 0;
    for (; i < n; i++) sum += x[i];
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    return sum;
}

static float max_row(const float *x, int64_t n)
{
    float lanes[LANES];
    for (int l = 0; l < LANES; l++) lanes[l] = x[0];
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    }
    float most = lanes[0];
    for (; i < n; i++) most = fmaxf(most, x[i]);
    for (int l = 0; l < LANES; l++) most = fmaxf(most, lanes[l]);
    return most;
}

void cpu_softmax_row(const float *x, float *y, int64_t n)
{
    float most = max_row(x, n);
    for (int64_t i = 0; i < n; i++) y[i] = expf(x[i] - most);
    float scale = 1 / sum_row(y, n);
    for (int64_t i = 0; i < n; i++) y[i] *= scale;
}

static void prepare_rows(const struct calib_case *c)
{
    cpu.x = cpu_random(c->m * c->n);
    cpu.y = cpu_random(c->m * c->n);
    cpu.z = cpu_random(2 * c->n); /* scale and shift of a column */
}

/* y = max(a x + y, 0); a below 1 and a shift keep y from growing or dying out over many runs */
static const float FACTOR = 0.5F;
static const float SHIFT = 0.25F;

static void elementwise_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(c->m * c->n, part, n_parts);
    const float *x = cpu.x;
    float *y = cpu.y;
    for (int64_t i = slice.from; i < slice.to; i++) {
        float value = FACTOR * (x[i] + y[i]) + SHIFT;
        y[i] = value > 0 ? value : 0;
    }
}

static void reduction_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(c->m, part, n_parts);
    const float *x = cpu.x;
    float *y = cpu.y;
    for (int64_t r = slice.from; r < slice.to; r++) y[r] = sum_row(x + r * c->n, c->n);
}

static void softmax_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(c->m, part, n_parts);
    const float *x = cpu.x;
    float *y = cpu.y;
    for (int64_t r = slice.from; r < slice.to; r++) {
        cpu_softmax_row(x + r * c->n, y + r * c->n, c->n);
    }
}

static const float VARIANCE_FLOOR = 1e-5F; /* PyTorch's default */

static void normalise_row(const float *x, float *y, const float *scale, int64_t n)
{
    float mean = sum_row(x, n) / (float)n;
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * (x[i] - mean);
    float factor = 1 / sqrtf(sum_row(y, n) / (float)n + VARIANCE_FLOOR);
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * factor * scale[i] + scale[n + i];
}

static void layer_norm_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(c->m, part, n_parts);
    const float *x = cpu.x;
    float *y = cpu.y;
    for (int64_t r = slice.from; r < slice.to; r++) {
        normalise_row(x + r * c->n, y + r * c->n, cpu.z, c->n);
    }
}

static void repeat(pool_work *work, const struct calib_case *c, int n)
{
    for (int i = 0; i < n; i++) cpu_parallel(work, c);
}
static void run_elementwise(const struct calib_case *c, int n)
{
    repeat(elementwise_part, c, n);
}
static void run_reduction(const struct calib_case *c, int n)
{
    repeat(reduction_part, c, n);
}
static void run_softmax(const struct calib_case *c, int n)
{
    repeat(softmax_part, c, n);
}
static void run_layer_norm(const struct calib_case *c, int n)
{
    repeat(layer_norm_part, c, n);
}

static double check_elementwise(const struct calib_case *c)
{
    /* y as it was before the run is drawn again from the same state */
    const float *x = cpu.x;
    const float *y = cpu.y;
    const float *before = cpu.w;
    double worst = 0;
    for (int64_t i = 0; i < c->m * c->n; i++) {
        double want = (double)FACTOR * ((double)x[i] + (double)before[i]) + (double)SHIFT;
        worst = cpu_worse(worst, y[i], want > 0 ? want : 0, ROUNDINGS * EPSILON);
    }
    return worst;
}

static void prepare_elementwise(const struct calib_case *c)
{
    prepare_rows(c);
    float *before = cpu_buffer((double)(c->m * c->n) * sizeof(float));
    memcpy(before, cpu.y, (size_t)(c->m * c->n) * sizeof(float));
    cpu.w = before;
}

/* The row to check after r: all of them where there are few numbers, else some and the last. */
static int64_t next_row(const struct calib_case *c, int64_t r)
{
    enum { CHECKED = 1 << 21 };
    int64_t step = 1 + c->m * c->n / CHECKED;
    return r < c->m - 1 && r + step > c->m - 1 ? c->m - 1 : r + step;
}

static double check_reduction(const struct calib_case *c)
{
    const float *x = cpu.x;
    const float *y = cpu.y;
    double worst = 0;
    for (int64_t r = 0; r < c->m; r = next_row(c, r)) {
        double want = 0;
        double size = 0;
        for (int64_t i = 0; i < c->n; i++) {
            want += (double)x[r * c->n + i];
            size += fabs((double)x[r * c->n + i]);
        }
        /* each lane adds n / LANES numbers */
        double roundings = ROUNDINGS + (double)c->n / LANES;
        worst = cpu_worse(worst, y[r], want, roundings * EPSILON * size);
    }
    return worst;
}

static double check_softmax(const struct calib_case *c)
{
    double worst = 0;
    for (int64_t r = 0; r < c->m; r = next_row(c, r)) {
        const float *x = (const float *)cpu.x + r * c->n;
        const float *y = (const float *)cpu.y + r * c->n;
        double sum = 0;
        for (int64_t i = 0; i < c->n; i++) sum += exp((double)x[i]);
        double roundings = ROUNDINGS + (double)c->n / LANES;
        for (int64_t i = 0; i < c->n; i++) {
            double want = exp((double)x[i]) / sum;
            worst = cpu_worse(worst, y[i], want, roundings * EPSILON * want);
        }
    }
    return worst;
}

static double check_layer_norm(const struct calib_case *c)
{
    const float *scale = cpu.z;
    double worst = 0;
    for (int64_t r = 0; r < c->m; r = next_row(c, r)) {
        const float *x = (const float *)cpu.x + r * c->n;
        const float *y = (const float *)cpu.y + r * c->n;
        double sum = 0;
        double squares = 0;
        for (int64_t i = 0; i < c->n; i++) sum += (double)x[i];
        double mean = sum / (double)c->n;
        for (int64_t i = 0; i < c->n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        double factor = 1 / sqrt(squares / (double)c->n + (double)VARIANCE_FLOOR);
        double roundings = ROUNDINGS + (double)c->n / LANES;
        for (int64_t i = 0; i < c->n; i++) {
            double want =
                ((double)x[i] - mean) * factor * (double)scale[i] + (double)scale[c->n + i];
            worst = cpu_worse(worst, y[i], want, roundings * EPSILON * (1 + factor));
        }
    }
    return worst;
}

/* Adam with its usual constants (Kingma & Ba 2015, algorithm 1), without the correction of the start,
 * which a step folds into its rate. */
static const float RATE = 1e-3F;
static const float BETA1 = 0.9F;
static const float BETA2 = 0.999F;
static const float ADAM_FLOOR = 1e-8F;

/* x: weights; y: gradients; z: first moments; w: second moments, then what weights were before */
static void prepare_optimizer(const struct calib_case *c)
{
    cpu.x = cpu_random(c->n);
    cpu.y = cpu_random(c->n);
    cpu.z = cpu_buffer((double)c->n * sizeof(float));
    float *w = cpu_buffer(2 * (double)c->n * sizeof(float));
    memcpy(w + c->n, cpu.x, (size_t)c->n * sizeof(float));
    cpu.w = w;
}

static void optimizer_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(c->n, part, n_parts);
    float *weight = cpu.x;
    const float *gradient = cpu.y;
    float *first = cpu.z;
    float *second = cpu.w;
    for (int64_t i = slice.from; i < slice.to; i++) {
        first[i] = BETA1 * first[i] + (1 - BETA1) * gradient[i];
        second[i] = BETA2 * second[i] + (1 - BETA2) * gradient[i] * gradient[i];
        weight[i] -= RATE * first[i] / (sqrtf(second[i]) + ADAM_FLOOR);
    }
}
static void run_optimizer(const struct calib_case *c, int n)
{
    repeat(optimizer_part, c, n);
}

static double check_optimizer(const struct calib_case *c)
{
    const float *weight = cpu.x;
    const float *gradient = cpu.y;
    const float *before = (const float *)cpu.w + c->n;
    double worst = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double g = (double)gradient[i];
        double first = (1 - (double)BETA1) * g;
        double second = (1 - (double)BETA2) * g * g;
        double want =
            (double)before[i] - (double)RATE * first / (sqrt(second) + (double)ADAM_FLOOR);
        worst = cpu_worse(worst, weight[i], want, ROUNDINGS * EPSILON);
    }
    return worst;
}

static void prepare_copy(const struct calib_case *c)
{
    int64_t n = (int64_t)c->size_B / (int64_t)sizeof(float);
    cpu.x = cpu_random(n);
    cpu.y = cpu_random(n);
}

static void copy_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice((int64_t)c->size_B, part, n_parts);
    memcpy((char *)cpu.y + slice.from, (const char *)cpu.x + slice.from,
           (size_t)(slice.to - slice.from));
}
static void run_copy(const struct calib_case *c, int n)
{
    repeat(copy_part, c, n);
}

static double check_copy(const struct calib_case *c)
{
    return memcmp(cpu.x, cpu.y, (size_t)c->size_B) == 0 ? 0 : INFINITY;
}

/* STREAM (McCalpin 1995): three arrays of doubles */
static int64_t stream_length(const struct calib_case *c)
{
    return (int64_t)c->size_B / (3 * (int64_t)sizeof(double));
}

static void prepare_stream(const struct calib_case *c)
{
    int64_t n = stream_length(c);
    double *arrays[3];
    for (int a = 0; a < 3; a++) {
        arrays[a] = cpu_buffer((double)n * sizeof(double));
        for (int64_t i = 0; i < n; i++) arrays[a][i] = (double)((i + a) % 1021);
    }
    cpu.x = arrays[0];
    cpu.y = arrays[1];
    cpu.z = arrays[2];
}

static void stream_part(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(stream_length(c), part, n_parts);
    double *a = cpu.x;
    const double *b = cpu.y;
    const double *d = cpu.z;
    for (int64_t i = slice.from; i < slice.to; i++) a[i] = b[i] + 3 * d[i];
}
static void run_stream(const struct calib_case *c, int n)
{
    repeat(stream_part, c, n);
}

/* whole numbers of this size are exact in double */
static double check_stream(const struct calib_case *c)
{
    const double *a = cpu.x;
    double worst = 0;
    for (int64_t i = 0; i < stream_length(c); i++) {
        double want = (double)((i + 1) % 1021) + 3 * (double)((i + 2) % 1021);
        worst = cpu_worse(worst, a[i], want, DBL_EPSILON);
    }
    return worst;
}

const struct cpu_benchmark cpu_rows[] = {
    {"elementwise", " fp32 ", false, prepare_elementwise, run_elementwise, check_elementwise, NULL,
     1, NULL, NULL},
    {"reduction", " fp32 ", false, prepare_rows, run_reduction, check_reduction, NULL, 1, NULL,
     NULL},
    {"softmax", " fp32 ", false, prepare_rows, run_softmax, check_softmax, NULL, 1, NULL, NULL},
    {"layer_norm", " fp32 ", false, prepare_rows, run_layer_norm, check_layer_norm, NULL, 1, NULL,
     NULL},
    {"optimizer", " fp32 ", false, prepare_optimizer, run_optimizer, check_optimizer, NULL, 1, NULL,
     NULL},
    {"copy", "", false, prepare_copy, run_copy, check_copy, NULL, 1, NULL, NULL},
    {"stream", "", false, prepare_stream, run_stream, check_stream, NULL, 1, NULL, NULL},
};
const int n_cpu_rows = sizeof cpu_rows / sizeof cpu_rows[0];
