#include "calib/gemm_args.h"

#include "test.h"

/* A BLAS by the book: column-major, element (i, j) of a stored matrix at i + j * leading. */
static double stored(const double *matrix, const struct gemm_operand *operand, int64_t i, int64_t j)
{
    int64_t row = operand->transposed ? j : i;
    int64_t column = operand->transposed ? i : j;
    assert_true(row < operand->rows && column < operand->columns &&
                operand->rows <= operand->leading);
    return matrix[row + column * operand->leading];
}

static void blas_by_columns(const struct gemm_args *args, const double *first, const double *second,
                            double *result)
{
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t at = 0; at < args->m * args->n; at++) {
            int64_t i = at % args->m;
            int64_t j = at / args->m;
            double sum = 0;
            for (int64_t p = 0; p < args->k; p++)
                sum += stored(first + b * args->first.stride, &args->first, i, p) *
                       stored(second + b * args->second.stride, &args->second, p, j);
            result[b * args->result.stride + i + j * args->result.leading] = sum;
        }
}

enum { MOST = 7 * 7 * 3 };

/* whole numbers, so that sums are exact: no two in the same place of another matrix agree by chance */
static void fill(double *numbers, int n, int from)
{
    for (int i = 0; i < n; i++) numbers[i] = (from + i * i * 7 + i * 3) % 101 - 50;
}

/* C[i][j] = sum over p of A(i, p) B(p, j), with A and B read as backend.h says they are stored */
static double by_rows(const struct calib_case *c, const double *a, const double *b, int64_t at)
{
    int64_t batch = at / (c->m * c->n);
    int64_t i = at / c->n % c->m;
    int64_t j = at % c->n;
    double sum = 0;
    for (int64_t p = 0; p < c->k; p++) {
        int64_t left = c->layout[0] == 'n' ? i * c->k + p : p * c->m + i;
        int64_t right = c->layout[1] == 'n' ? p * c->n + j : j * c->k + p;
        sum += a[batch * c->m * c->k + left] * b[batch * c->k * c->n + right];
    }
    return sum;
}

static void every_layout_gives_the_row_major_product(void **state)
{
    (void)state;
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    double a[MOST], b[MOST], got[MOST];
    fill(a, MOST, 5);
    fill(b, MOST, 77);
    for (int l = 0; l < 4; l++)
        for (int shape = 0; shape < 7 * 7 * 7 * 3; shape++) {
            struct calib_case c = {.layout = layouts[l],
                                   .m = shape % 7 + 1,
                                   .n = shape / 7 % 7 + 1,
                                   .k = shape / 49 % 7 + 1,
                                   .batch = shape / 343 + 1};
            struct gemm_args args;
            assert_true(gemm_args_of(&c, &args));
            blas_by_columns(&args, b, a, got);
            for (int64_t at = 0; at < c.m * c.n * c.batch; at++)
                assert_true(fabs(got[at] - by_rows(&c, a, b, at)) < 0.5);
        }
}

static void forward_of_a_layer_is_what_fp8_products_ask_for(void **state)
{
    (void)state;
    /* cublasLt multiplies fp8 only with its first operand transposed and its second not: y = x w' */
    struct calib_case c = {.layout = "nt", .m = 32, .n = 64, .k = 128};
    struct gemm_args args;
    assert_true(gemm_args_of(&c, &args));
    assert_true(args.first.transposed && !args.second.transposed);
    assert_int_equal(args.m, 64);
    assert_int_equal(args.n, 32);
    assert_int_equal(args.first.leading, 128);
    assert_int_equal(args.second.leading, 128);
    assert_int_equal(args.result.leading, 64);
    assert_int_equal(args.batch, 1);
}

static void layouts_and_sizes_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct calib_case bad[] = {
        {.layout = "", .m = 1, .n = 1, .k = 1},
        {.layout = "nnn", .m = 1, .n = 1, .k = 1},
        {.layout = "nx", .m = 1, .n = 1, .k = 1},
        {.layout = NULL, .m = 1, .n = 1, .k = 1},
        {.layout = "nn", .m = 0, .n = 1, .k = 1},
        {.layout = "nn", .m = 1, .n = -1, .k = 1},
        {.layout = "nn", .m = 1, .n = 1, .k = 0},
        {.layout = "nn", .m = 1, .n = 1, .k = 1, .batch = -2},
    };
    struct gemm_args args;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(gemm_args_of(&bad[i], &args));
}

static void work_is_two_per_multiplication_of_the_batch(void **state)
{
    (void)state;
    /* 2 * 8192^3 = 2^40; twelve of them as a batch */
    struct calib_case c = {.layout = "nn", .m = 8192, .n = 8192, .k = 8192, .batch = 1};
    assert_close(gemm_work_flop(&c), 0x1p40, 1e-15);
    c.batch = 12;
    assert_close(gemm_work_flop(&c), 12 * 0x1p40, 1e-15);
    c.batch = 0; /* not told: one */
    assert_close(gemm_work_flop(&c), 0x1p40, 1e-15);
}

/* uniform numbers in [-1, 1) from a 64-bit linear congruence (Knuth, MMIX) */
static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-52 - 1;
}

/* a product summed in float, against one summed in double */
static void sums_in_single_precision_stay_within_the_tolerance(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int64_t k = 1; k <= 16384; k *= 2) {
        float sum = 0;
        struct gemm_sum exact = {0};
        for (int64_t p = 0; p < k; p++) {
            float a = (float)uniform(&seed), b = (float)uniform(&seed);
            sum += a * b;
            exact.value += (double)a * (double)b;
            exact.magnitude += fabs((double)a * (double)b);
        }
        double tolerance = gemm_tolerance(gemm_type_find("fp32"), k, exact);
        assert_true(fabs((double)sum - exact.value) < tolerance);
    }
}

static void a_product_of_wrong_operands_is_outside_every_tolerance(void **state)
{
    (void)state;
    static const char *const names[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
    /* uniform factors in [-1, 1): |a b| is 1/4 on average and a b has deviation 1/3, so a sum that
     * has nothing to do with the right one is off by sqrt(2 k) / 3 */
    for (int t = 0; t < 5; t++)
        for (int64_t k = 64; k <= 16384; k *= 4) {
            double root = sqrt((double)k);
            struct gemm_sum sum = {.value = root / 3, .magnitude = (double)k / 4};
            assert_true(gemm_tolerance(gemm_type_find(names[t]), k, sum) < root * 0.47 / 4);
        }
    assert_null(gemm_type_find("fp64"));
    assert_null(gemm_type_find(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_the_row_major_product),
        cmocka_unit_test(forward_of_a_layer_is_what_fp8_products_ask_for),
        cmocka_unit_test(layouts_and_sizes_that_are_none_are_refused),
        cmocka_unit_test(work_is_two_per_multiplication_of_the_batch),
        cmocka_unit_test(sums_in_single_precision_stay_within_the_tolerance),
        cmocka_unit_test(a_product_of_wrong_operands_is_outside_every_tolerance),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
