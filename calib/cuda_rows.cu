/* Kernels bound by memory: element by element, row by row, an optimizer's step, copy and triad. All are
 * our own (cuda_math.cu), so what is measured is what the device's memory gives to a plain kernel. */
#include "calib/cuda_check.h"

#include <math.h>
#include <string.h>

static bool takes_rows(const struct job *job)
{
    enum number number = NUMBER_FP32;
    const struct calib_case *c = job->c;
    if (!number_of(c->dtype, &number) || number == NUMBER_FP8) return job_fails(job, "not a type of kernels here");
    if (c->m < 1 || c->n < 1 || c->m > INT32_MAX) return job_fails(job, "not a size of rows");
    return true;
}

static bool takes_bytes(const struct job *job)
{
    return job->c->size_B >= 1 || job_fails(job, "not a size");
}

static bool takes_triad(const struct job *job)
{
    const char *dtype = job->c->dtype;
    if (dtype[0] && strcmp(dtype, "fp32") != 0) return job_fails(job, "the triad here is of fp32");
    return job->c->size_B >= 3 * sizeof(float) || job_fails(job, "not a size of three arrays");
}

static struct rows rows_of(const struct calib_case *c)
{
    struct rows rows = {NUMBER_FP32, c->m, c->n};
    number_of(c->dtype, &rows.number);
    return rows;
}

static bool launch_elementwise(const struct job *job, const struct operands *xy, cudaStream_t stream)
{
    TRY_CUDA(job, math_elementwise(rows_of(job->c), xy->part[0], xy->part[1], stream));
    return true;
}

static bool launch_reduction(const struct job *job, const struct operands *xs, cudaStream_t stream)
{
    TRY_CUDA(job, math_sums(rows_of(job->c), xs->part[0], reinterpret_cast<float *>(xs->part[1]), stream));
    return true;
}

static bool launch_softmax(const struct job *job, const struct operands *xy, cudaStream_t stream)
{
    TRY_CUDA(job, math_softmax(rows_of(job->c), xy->part[0], xy->part[1], stream));
    return true;
}

static bool launch_layer_norm(const struct job *job, const struct operands *operands, cudaStream_t stream)
{
    TRY_CUDA(job, math_layer_norm(rows_of(job->c), operands, stream));
    return true;
}

static bool launch_optimizer(const struct job *job, const struct operands *operands, cudaStream_t stream)
{
    struct rows rows = rows_of(job->c);
    TRY_CUDA(job, math_adam(rows.number, rows.n, operands, stream));
    return true;
}

static bool launch_copy(const struct job *job, const struct operands *sd, cudaStream_t stream)
{
    TRY_CUDA(job, math_copy(sd->part[0], sd->part[1], job->c->size_B, stream));
    return true;
}

static int64_t triad_length(const struct calib_case *c)
{
    return (int64_t)(c->size_B / (3 * sizeof(float)));
}

static bool launch_triad(const struct job *job, const struct operands *abc, cudaStream_t stream)
{
    TRY_CUDA(job, math_triad(triad_length(job->c), abc, stream));
    return true;
}

/* checks look at both ends of an array: the end is where vectors give way to single numbers */
static const int64_t looked_at = 4096;

static double unit_of(const struct calib_case *c)
{
    const struct gemm_type *type = gemm_type_find(c->dtype);
    return type ? type->output : 0x1p-24;
}

/* the first (last = 0) or last numbers of an array of n */
static struct span end_of(const void *numbers, enum number number, int64_t n, int last)
{
    int64_t length = n < looked_at ? n : looked_at;
    return {numbers, number, last ? n - length : 0, length};
}

static double check_elementwise_end(const struct job *job, int last)
{
    struct operands xy = gpu_operands(0);
    struct rows rows = rows_of(job->c);
    int64_t n = rows.m * rows.n;
    std::vector<double> x, before, after;
    if (!check_fetch(job, end_of(xy.part[0], rows.number, n, last), &x) ||
        !check_fetch(job, end_of(xy.part[1], rows.number, n, last), &before) ||
        !launch_elementwise(job, &xy, gpu.stream) ||
        !check_fetch(job, end_of(xy.part[1], rows.number, n, last), &after))
        return NAN;
    double worst = 0;
    for (size_t i = 0; i < x.size(); i++) {
        double want = reference_elementwise(x[i], before[i]);
        double allowed = 2 * unit_of(job->c) * (fabs(x[i]) + fabs(before[i])) + 0x1p-24;
        worst = check_one(job, worst, {after[i], want, allowed, (int64_t)i});
    }
    return worst;
}

static double check_elementwise(const struct job *job)
{
    return reference_worse(check_elementwise_end(job, 0), check_elementwise_end(job, 1));
}

static struct span row_at(const void *numbers, const struct rows *rows, int64_t row)
{
    return {numbers, rows->number, row * rows->n, rows->n};
}

static double check_sum_at(const struct job *job, int64_t row)
{
    struct operands xs = gpu_operands(0);
    struct rows rows = rows_of(job->c);
    std::vector<double> x, got;
    if (!check_fetch(job, row_at(xs.part[0], &rows, row), &x) ||
        !check_fetch(job, {xs.part[1], NUMBER_FP32, row, 1}, &got))
        return NAN;
    double want = reference_sum(x.data(), rows.n);
    double allowed = 4 * 0x1p-24 * sqrt((double)rows.n) * reference_magnitude(x.data(), rows.n) + 0x1p-100;
    return check_one(job, 0, {got[0], want, allowed, row});
}

static double check_reduction(const struct job *job)
{
    struct operands xs = gpu_operands(0);
    if (!launch_reduction(job, &xs, gpu.stream)) return NAN;
    return reference_worse(check_sum_at(job, 0), check_sum_at(job, job->c->m - 1));
}

/* 2^-18 of the result: the hardware's exponential and reciprocal, and a sum of fp32; 2^-24: the smallest
 * fp16 */
static double check_softmax_at(const struct job *job, int64_t row)
{
    struct operands xy = gpu_operands(0);
    struct rows rows = rows_of(job->c);
    std::vector<double> x, got, want((size_t)rows.n);
    if (!check_fetch(job, row_at(xy.part[0], &rows, row), &x) ||
        !check_fetch(job, row_at(xy.part[1], &rows, row), &got))
        return NAN;
    reference_softmax(x.data(), rows.n, want.data());
    double worst = 0;
    double least = rows.number == NUMBER_FP16 ? 0x1p-24 : 0x1p-100;
    for (int64_t i = 0; i < rows.n; i++) {
        double right = want[(size_t)i];
        double allowed = (2 * unit_of(job->c) + 0x1p-18) * right + least;
        worst = check_one(job, worst, {got[(size_t)i], right, allowed, row * rows.n + i});
    }
    return worst;
}

static double check_softmax(const struct job *job)
{
    struct operands xy = gpu_operands(0);
    if (!launch_softmax(job, &xy, gpu.stream)) return NAN;
    return reference_worse(check_softmax_at(job, 0), check_softmax_at(job, job->c->m - 1));
}

static double check_norm_at(const struct job *job, int64_t row)
{
    struct operands operands = gpu_operands(0);
    struct rows rows = rows_of(job->c);
    std::vector<double> x, got, scale, shift, normed((size_t)rows.n);
    if (!check_fetch(job, row_at(operands.part[0], &rows, row), &x) ||
        !check_fetch(job, row_at(operands.part[1], &rows, row), &got) ||
        !check_fetch(job, row_at(operands.part[2], &rows, 0), &scale) ||
        !check_fetch(job, row_at(operands.part[3], &rows, 0), &shift))
        return NAN;
    reference_norm(x.data(), rows.n, normed.data());
    double worst = 0;
    for (size_t i = 0; i < x.size(); i++) {
        double right = normed[i] * scale[i] + shift[i];
        double magnitude = fabs(normed[i] * scale[i]) + fabs(shift[i]) + fabs(scale[i]);
        double allowed = (2 * unit_of(job->c) + 0x1p-18) * magnitude + 0x1p-24;
        worst = check_one(job, worst, {got[i], right, allowed, row * rows.n + (int64_t)i});
    }
    return worst;
}

static double check_layer_norm(const struct job *job)
{
    struct operands operands = gpu_operands(0);
    if (!launch_layer_norm(job, &operands, gpu.stream)) return NAN;
    return reference_worse(check_norm_at(job, 0), check_norm_at(job, job->c->m - 1));
}

struct optimizer_end {
    std::vector<double> weight, moment1, moment2, gradient;
};

static bool fetch_optimizer(const struct job *job, int last, struct optimizer_end *end)
{
    struct operands of = gpu_operands(0);
    struct rows rows = rows_of(job->c);
    return check_fetch(job, end_of(of.part[0], NUMBER_FP32, rows.n, last), &end->weight) &&
           check_fetch(job, end_of(of.part[1], NUMBER_FP32, rows.n, last), &end->moment1) &&
           check_fetch(job, end_of(of.part[2], NUMBER_FP32, rows.n, last), &end->moment2) &&
           check_fetch(job, end_of(of.part[3], rows.number, rows.n, last), &end->gradient);
}

/* A step is a ratio of moments, so errors of 2^-20 are relative to it, not to the weight. */
static double check_optimizer_end(const struct job *job, int last)
{
    struct operands operands = gpu_operands(0);
    struct optimizer_end before, after;
    if (!fetch_optimizer(job, last, &before) || !launch_optimizer(job, &operands, gpu.stream) ||
        !fetch_optimizer(job, last, &after))
        return NAN;
    double worst = 0;
    for (size_t i = 0; i < before.weight.size(); i++) {
        struct reference_adam start = {before.weight[i], before.moment1[i], before.moment2[i]};
        struct reference_adam want = reference_adam(start, before.gradient[i]);
        double moved = fabs(want.weight - start.weight);
        double wide = fabs(start.moment1) + fabs(before.gradient[i]);
        double allowed = 0x1p-22 * fabs(start.weight) + 0x1p-18 * moved +
                         0x1p-20 * REFERENCE_ADAM_RATE * wide / (sqrt(want.moment2) + 1e-8) + 0x1p-100;
        worst = check_one(job, worst, {after.weight[i], want.weight, allowed, (int64_t)i});
        worst = check_one(job, worst, {after.moment2[i], want.moment2, 0x1p-20 * want.moment2 + 0x1p-100, (int64_t)i});
    }
    return worst;
}

static double check_optimizer(const struct job *job)
{
    return reference_worse(check_optimizer_end(job, 0), check_optimizer_end(job, 1));
}

/* the last byte too, which is no part of a whole vector */
static double check_copy(const struct job *job)
{
    struct operands sd = gpu_operands(0);
    size_t size_B = (size_t)job->c->size_B;
    size_t ends_B = size_B < (size_t)looked_at ? size_B : (size_t)looked_at;
    std::vector<unsigned char> source(ends_B), copied(ends_B);
    if (!launch_copy(job, &sd, gpu.stream)) return NAN;
    for (int last = 0; last < 2; last++) {
        size_t from = last ? size_B - ends_B : 0;
        cudaError_t status = cudaStreamSynchronize(gpu.stream);
        if (status == cudaSuccess)
            status = cudaMemcpy(source.data(), sd.part[0] + from, ends_B, cudaMemcpyDeviceToHost);
        if (status == cudaSuccess)
            status = cudaMemcpy(copied.data(), sd.part[1] + from, ends_B, cudaMemcpyDeviceToHost);
        if (status != cudaSuccess) job_fails_cuda(job, "cudaMemcpy", status);
        if (status != cudaSuccess) return NAN;
        if (source == copied) continue;
        job_fails(job, "what was copied differs near byte %zu", from);
        return HUGE_VAL;
    }
    return 0;
}

static double check_triad_end(const struct job *job, int last)
{
    struct operands abc = gpu_operands(0);
    int64_t n = triad_length(job->c);
    std::vector<double> a, b, c;
    if (!check_fetch(job, end_of(abc.part[0], NUMBER_FP32, n, last), &a) ||
        !check_fetch(job, end_of(abc.part[1], NUMBER_FP32, n, last), &b) ||
        !check_fetch(job, end_of(abc.part[2], NUMBER_FP32, n, last), &c))
        return NAN;
    double worst = 0;
    for (size_t i = 0; i < a.size(); i++) {
        double allowed = 0x1p-22 * (fabs(b[i]) + fabs(c[i])) + 0x1p-100;
        worst = check_one(job, worst, {a[i], b[i] + REFERENCE_SCALE * c[i], allowed, (int64_t)i});
    }
    return worst;
}

static double check_triad(const struct job *job)
{
    struct operands abc = gpu_operands(0);
    if (!launch_triad(job, &abc, gpu.stream)) return NAN;
    return reference_worse(check_triad_end(job, 0), check_triad_end(job, 1));
}

static const struct cuda_benchmark rows[] = {
    {"elementwise", takes_rows, NULL, launch_elementwise, NULL, check_elementwise, NULL},
    {"reduction", takes_rows, NULL, launch_reduction, NULL, check_reduction, NULL},
    {"softmax", takes_rows, NULL, launch_softmax, NULL, check_softmax, NULL},
    {"layer_norm", takes_rows, NULL, launch_layer_norm, NULL, check_layer_norm, NULL},
    {"optimizer", takes_rows, NULL, launch_optimizer, NULL, check_optimizer, NULL},
    {"copy", takes_bytes, NULL, launch_copy, NULL, check_copy, NULL},
    {"stream", takes_triad, NULL, launch_triad, NULL, check_triad, NULL},
};
const struct cuda_benchmarks cuda_rows = {rows, sizeof rows / sizeof rows[0]};
