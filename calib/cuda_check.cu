#include "calib/cuda_check.h"

#include <math.h>

bool check_fetch(const struct job *job, struct span span, std::vector<double> *out)
{
    size_t each_B = (size_t)number_B(span.number);
    std::vector<unsigned char> bytes((size_t)span.n * each_B);
    const unsigned char *from = static_cast<const unsigned char *>(span.numbers) + (size_t)span.from * each_B;
    TRY_CUDA(job, cudaStreamSynchronize(gpu.stream));
    TRY_CUDA(job, cudaMemcpy(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost));
    out->resize((size_t)span.n);
    for (int64_t i = 0; i < span.n; i++) (*out)[(size_t)i] = number_read(span.number, bytes.data(), i);
    return true;
}

double check_one(const struct job *job, double worst, struct compared compared)
{
    double off = fabs(compared.got - compared.want) / compared.tolerance;
    if (!isless(off, 1.0))
        job_fails(job, "element %lld is %.9g, should be %.9g within %.3g", (long long)compared.at, compared.got,
                  compared.want, compared.tolerance);
    return reference_worse(worst, off);
}

/* Scores and shares are rounded to the type on their way (or in the tensor cores), each on its own; what
 * the exponential of the hardware loses, 2^-20, counts where the type itself is finer. */
static double attended_unit(const char *dtype)
{
    const struct gemm_type *type = gemm_type_find(dtype);
    return fmax(fmax(type->output, type->input), 0x1p-20);
}

static double check_query(const struct job *job, const struct operands *qkvo, enum number number, bool last)
{
    const struct calib_case *c = job->c;
    int64_t head = last ? (c->batch == 0 ? 1 : c->batch) - 1 : 0;
    int64_t query = head * c->m + (last ? c->m - 1 : 0);
    std::vector<double> q, k, v, got, share((size_t)c->n), want((size_t)c->k);
    if (!check_fetch(job, {qkvo->part[0], number, query * c->k, c->k}, &q) ||
        !check_fetch(job, {qkvo->part[1], number, head * c->n * c->k, c->n * c->k}, &k) ||
        !check_fetch(job, {qkvo->part[2], number, head * c->n * c->k, c->n * c->k}, &v) ||
        !check_fetch(job, {qkvo->part[3], number, query * c->k, c->k}, &got))
        return NAN;
    struct reference_heads heads = {q.data(), k.data(), v.data(), c->n, c->k};
    double spread = reference_attention(&heads, share.data(), want.data());
    double unit = attended_unit(c->dtype);
    double worst = 0;
    for (int64_t p = 0; p < c->k; p++) {
        double right = want[(size_t)p];
        worst = check_one(job, worst, {got[(size_t)p], right, 8 * unit * (fabs(right) + spread), query * c->k + p});
    }
    return worst;
}

double check_attended(const struct job *job, const struct operands *qkvo)
{
    enum number number = NUMBER_FP32;
    if (!number_of(job->c->dtype, &number)) return NAN;
    return reference_worse(check_query(job, qkvo, number, false), check_query(job, qkvo, number, true));
}
