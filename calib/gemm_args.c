#include "calib/gemm_args.h"

#include <math.h>
#include <string.h>

/* operand_of — stored rows of `columns` numbers are columns of that length to a BLAS */
static struct gemm_operand operand_of(char letter, int64_t rows, int64_t columns)
{
    bool transposed = letter == 't';
    int64_t leading = transposed ? rows : columns;
    int64_t others = transposed ? columns : rows;
    return (struct gemm_operand){
        .transposed = transposed,
        .rows = leading,
        .columns = others,
        .leading = leading,
        .stride = rows * columns,
    };
}

bool gemm_args_of(const struct calib_case *c, struct gemm_args *args)
{
    const char *layout = c->layout;
    if (!layout || strlen(layout) != 2 || strspn(layout, "nt") != 2) return false;
    int64_t batch = c->batch == 0 ? 1 : c->batch;
    if (c->m < 1 || c->n < 1 || c->k < 1 || batch < 1) return false;
    *args = (struct gemm_args){
        .m = c->n,
        .n = c->m,
        .k = c->k,
        .batch = batch,
        .first = operand_of(layout[1], c->k, c->n),
        .second = operand_of(layout[0], c->m, c->k),
        .result = operand_of('n', c->m, c->n),
    };
    return true;
}

double gemm_work_flop(const struct calib_case *c)
{
    double batch = c->batch == 0 ? 1 : (double)c->batch;
    return 2 * (double)c->m * (double)c->n * (double)c->k * batch;
}

/* Bits of the significand: fp32 24, tf32 11, fp16 11, bf16 8, e4m3 4. Tensor cores add in fp32 and cut
 * instead of rounding, so they lose up to a whole last place; tf32 is cut likewise when it is read. The sum
 * of an fp8 product keeps about 14 bits on Hopper (DeepSeek-V3 technical report, 2024, section
 * 3.3.2), of some 24 products at a time; its result is stored as bf16. */
static const struct gemm_type types[] = {
    {"fp32", 4, 0, 0x1p-24, 0x1p-24},    {"tf32", 4, 0x1p-10, 0x1p-23, 0x1p-24},
    {"fp16", 2, 0, 0x1p-23, 0x1p-11},    {"bf16", 2, 0, 0x1p-23, 0x1p-8},
    {"fp8", 1, 0, 0x1p-13 / 24, 0x1p-8},
};

const struct gemm_type *gemm_type_find(const char *name)
{
    for (size_t t = 0; name && t < sizeof types / sizeof types[0]; t++)
        if (strcmp(types[t].name, name) == 0) return &types[t];
    return NULL;
}

/* Roundings of one sum are independent, so they grow as the root of k; the factors are four deviations
 * for inputs and additions, and two for a result that was stored twice (split sums). A wrong operand is
 * off by about the sum itself, magnitude / sqrt(k): 16-bit results leave a factor of 50 in between.
 * Source: Higham & Mary, A new approach to probabilistic rounding error analysis, SISC 41(5), 2019. */
double gemm_tolerance(const struct gemm_type *type, int64_t k, struct gemm_sum sum)
{
    double root = sqrt((double)k);
    double typical = sum.magnitude / root;
    return 4 * type->sum * root * sum.magnitude + 8 * type->input * typical +
           2 * type->output * (fabs(sum.value) + typical);
}
