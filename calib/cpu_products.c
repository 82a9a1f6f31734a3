#include "calib/cpu.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* entries of a product that are computed again in double, beside one whole row and one whole column */
enum { N_ENTRIES = 256 };

static int64_t batch_of(const struct calib_case *c)
{
    return c->batch > 0 ? c->batch : 1;
}

static bool is_double(const struct calib_case *c)
{
    return strcmp(c->dtype, "fp64") == 0;
}

static void prepare_gemm(const struct calib_case *c)
{
    int64_t n_a = batch_of(c) * c->m * c->k;
    int64_t n_b = batch_of(c) * c->k * c->n;
    int64_t n_c = batch_of(c) * c->m * c->n;
    cpu.x = cpu_random(n_a);
    cpu.y = cpu_random(n_b);
    cpu.z = cpu_random(n_c);
    if (!is_double(c)) return;
    double *wide[3] = {cpu_buffer((double)n_a * sizeof(double)),
                       cpu_buffer((double)n_b * sizeof(double)),
                       cpu_buffer((double)n_c * sizeof(double))};
    for (int64_t i = 0; i < n_a; i++) wide[0][i] = (double)((const float *)cpu.x)[i];
    for (int64_t i = 0; i < n_b; i++) wide[1][i] = (double)((const float *)cpu.y)[i];
    cpu.x = wide[0];
    cpu.y = wide[1];
    cpu.z = wide[2];
}

/* What BLAS wants to know of a product whose matrices stand by rows. */
struct shape {
    enum CBLAS_TRANSPOSE a, b;
    int m, n, k, a_row, b_row;
};

static struct shape shape_of(const struct calib_case *c)
{
    bool a_turned = c->layout[0] == 't';
    bool b_turned = c->layout[0] != '\0' && c->layout[1] == 't';
    return (struct shape){
        .a = a_turned ? CblasTrans : CblasNoTrans,
        .b = b_turned ? CblasTrans : CblasNoTrans,
        .m = (int)c->m,
        .n = (int)c->n,
        .k = (int)c->k,
        .a_row = (int)(a_turned ? c->m : c->k),
        .b_row = (int)(b_turned ? c->k : c->n),
    };
}

static void run_gemm_once(const struct calib_case *c)
{
    struct shape s = shape_of(c);
    for (int64_t b = 0; b < batch_of(c); b++) {
        int64_t a_at = b * c->m * c->k;
        int64_t b_at = b * c->k * c->n;
        int64_t c_at = b * c->m * c->n;
        if (is_double(c)) {
            cblas_dgemm(CblasRowMajor, s.a, s.b, s.m, s.n, s.k, 1, (const double *)cpu.x + a_at,
                        s.a_row, (const double *)cpu.y + b_at, s.b_row, 0, (double *)cpu.z + c_at,
                        s.n);
        } else {
            cblas_sgemm(CblasRowMajor, s.a, s.b, s.m, s.n, s.k, 1, (const float *)cpu.x + a_at,
                        s.a_row, (const float *)cpu.y + b_at, s.b_row, 0, (float *)cpu.z + c_at,
                        s.n);
        }
    }
}

static void run_gemm(const struct calib_case *c, int n)
{
    for (int i = 0; i < n; i++) run_gemm_once(c);
}

static double at(const struct calib_case *c, const void *x, int64_t i)
{
    return is_double(c) ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* An entry of the last product of the batch, against its sum in double. Bound of the rounding of a sum
 * of k products: lambda sqrt(k) units, which holds with a chance of 1 - 2 exp(-lambda^2 / 2) or more
 * (Higham & Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1). */
static const double LAMBDA = 5;

static double worse_entry(double worst, const struct calib_case *c, int64_t i, int64_t j)
{
    struct shape s = shape_of(c);
    int64_t last = batch_of(c) - 1;
    int64_t a_at = last * c->m * c->k;
    int64_t b_at = last * c->k * c->n;
    double want = 0;
    double size = 0;
    for (int64_t l = 0; l < c->k; l++) {
        int64_t a_i = s.a == CblasTrans ? l * s.a_row + i : i * s.a_row + l;
        int64_t b_i = s.b == CblasTrans ? j * s.b_row + l : l * s.b_row + j;
        double term = at(c, cpu.x, a_at + a_i) * at(c, cpu.y, b_at + b_i);
        want += term;
        size += fabs(term);
    }
    double epsilon = is_double(c) ? DBL_EPSILON : (double)FLT_EPSILON;
    double got = at(c, cpu.z, last * c->m * c->n + i * c->n + j);
    return cpu_worse(worst, got, want, LAMBDA * sqrt((double)c->k) * epsilon * size);
}

static double check_gemm(const struct calib_case *c)
{
    double worst = 0;
    for (int64_t j = 0; j < c->n; j++) worst = worse_entry(worst, c, c->m - 1, j);
    for (int64_t i = 0; i < c->m; i++) worst = worse_entry(worst, c, i, c->n - 1);
    for (int e = 0; e < N_ENTRIES; e++) {
        float where[2];
        cpu_fill(where, 2);
        int64_t i = (int64_t)(((double)where[0] + 1) / 2 * (double)c->m);
        int64_t j = (int64_t)(((double)where[1] + 1) / 2 * (double)c->n);
        worst = worse_entry(worst, c, i, j);
    }
    return worst;
}

/* x: queries, keys and values one after the other, of all heads; y: scores of one head; z: results */
static void prepare_attention(const struct calib_case *c)
{
    cpu.x = cpu_random(c->batch * (c->m + 2 * c->n) * c->k);
    cpu.y = cpu_buffer((double)(c->batch * c->m * c->n) * sizeof(float));
    cpu.z = cpu_buffer((double)(c->batch * c->m * c->k) * sizeof(float));
}

struct head {
    const float *queries, *keys, *values;
    float *scores, *out;
};

static struct head head_of(const struct calib_case *c, int64_t b)
{
    const float *x = cpu.x;
    return (struct head){
        .queries = x + b * c->m * c->k,
        .keys = x + c->batch * c->m * c->k + b * c->n * c->k,
        .values = x + c->batch * (c->m + c->n) * c->k + b * c->n * c->k,
        .scores = (float *)cpu.y + b * c->m * c->n,
        .out = (float *)cpu.z + b * c->m * c->k,
    };
}

static void softmax_scores(void *closure, int part, int n_parts)
{
    const struct calib_case *c = closure;
    struct cpu_slice slice = cpu_slice(c->batch * c->m, part, n_parts);
    for (int64_t r = slice.from; r < slice.to; r++) {
        float *row = (float *)cpu.y + r * c->n;
        cpu_softmax_row(row, row, c->n);
    }
}

static void run_attention_once(const struct calib_case *c)
{
    int m = (int)c->m;
    int n = (int)c->n;
    int k = (int)c->k;
    float scale = 1 / sqrtf((float)k);
    for (int64_t b = 0; b < c->batch; b++) {
        struct head head = head_of(c, b);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, scale, head.queries, k,
                    head.keys, k, 0, head.scores, n);
    }
    cpu_parallel(softmax_scores, c);
    for (int64_t b = 0; b < c->batch; b++) {
        struct head head = head_of(c, b);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, k, n, 1, head.scores, n,
                    head.values, k, 0, head.out, k);
    }
}

static void run_attention(const struct calib_case *c, int n)
{
    for (int i = 0; i < n; i++) run_attention_once(c);
}

/* One query of one head in double. Weights are at most 1 and sum to 1, so the result is of the size of
 * the values; each of its three sums rounds. */
static double worse_query(double worst, const struct calib_case *c, const struct head *head,
                          int64_t q)
{
    struct arena scratch = *cpu.memory;
    double *weights = arena_new(&scratch, double, c->n);
    double sum = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double score = 0;
        for (int64_t d = 0; d < c->k; d++) {
            score += (double)head->queries[q * c->k + d] * (double)head->keys[i * c->k + d];
        }
        weights[i] = exp(score / sqrt((double)c->k));
        sum += weights[i];
    }
    double allowed = (double)(c->n + 2 * c->k) * (double)FLT_EPSILON;
    for (int64_t d = 0; d < c->k; d++) {
        double want = 0;
        for (int64_t i = 0; i < c->n; i++) {
            want += weights[i] / sum * (double)head->values[i * c->k + d];
        }
        worst = cpu_worse(worst, head->out[q * c->k + d], want, allowed);
    }
    return worst;
}

static double check_attention(const struct calib_case *c)
{
    double worst = 0;
    for (int64_t b = 0; b<c->batch; b += c->batch> 1 ? c->batch - 1 : 1) {
        struct head head = head_of(c, b);
        worst = worse_query(worst, c, &head, 0);
        worst = worse_query(worst, c, &head, c->m - 1);
    }
    return worst;
}

void cpu_blas_threads(int n_threads)
{
    openblas_set_num_threads(n_threads);
}

void cpu_blas_name(char *text, size_t size)
{
    snprintf(text, size, "%s, kernels for %s", openblas_get_config(), openblas_get_corename());
}

const struct cpu_benchmark cpu_products[] = {
    {"gemm", " fp32 fp64 ", false, prepare_gemm, run_gemm, check_gemm, NULL, 1, NULL, NULL},
    {"attention", " fp32 ", false, prepare_attention, run_attention, check_attention, NULL, 1, NULL,
     NULL},
};
const struct cpu_benchmark *const cpu_product = &cpu_products[0];
const int n_cpu_products = sizeof cpu_products / sizeof cpu_products[0];
