#include "calib/reference.h"

#include "test.h"

static void elementwise_scales_adds_and_cuts_below_nought(void **state)
{
    (void)state;
    assert_close(reference_elementwise(2, 1), 2, 1e-15); /* 0.5 * 2 + 1 */
    assert_close(reference_elementwise(-2, 0.5), 0, 1e-15);
}

static void softmax_of_equal_numbers_is_even_and_of_a_large_one_takes_all(void **state)
{
    (void)state;
    double x[4] = {1000, 1000, 1000, 1000}; /* e^1000 would overflow */
    double y[4];
    reference_softmax(x, 4, y);
    for (int i = 0; i < 4; i++) assert_close(y[i], 0.25, 1e-15);
    x[2] = 1000 + log(3); /* shares 1, 1, 3, 1 of 6 */
    reference_softmax(x, 4, y);
    assert_close(y[2], 0.5, 1e-12);
    assert_close(y[0], 1.0 / 6, 1e-12);
}

static void normed_numbers_have_mean_nought_and_variance_one(void **state)
{
    (void)state;
    /* mean 3, variance (4 + 0 + 4) / 3 = 8/3 */
    double x[3] = {1, 3, 5};
    double y[3];
    reference_norm(x, 3, y);
    double deviation = sqrt(8.0 / 3 + REFERENCE_NORM_EPSILON);
    assert_close(y[0], -2 / deviation, 1e-15);
    assert_close(y[1], 0, 1e-15);
    assert_close(y[2], 2 / deviation, 1e-15);
    assert_close(reference_sum(y, 3), 0, 1e-15);
    assert_close(reference_magnitude(y, 3), 4 / deviation, 1e-15);
}

static void first_step_of_adam_has_the_length_of_its_rate(void **state)
{
    (void)state;
    /* from moments of nought, the corrected moments are g and g^2: the step is the sign of g (less
     * 1e-8 / |g|), and weight decay takes rate * 0.1 of the weight */
    struct reference_adam start = {.weight = 2};
    struct reference_adam after = reference_adam(start, -0.5);
    assert_close(after.weight, 2 - 1e-3 * (-1 + 0.1 * 2), 1e-9);
    assert_close(after.moment1, 0.1 * -0.5, 1e-12);
    assert_close(after.moment2, 0.05 * 0.25, 1e-12);
}

static void attention_weighs_values_by_softmax_of_scaled_scores(void **state)
{
    (void)state;
    /* k = 4, so scores are halved: (2 log 3) / 2 and 0, shares 3/4 and 1/4 */
    const double query[4] = {1, 0, 0, 0};
    const double keys[8] = {2 * log(3), 9, 9, 9, 0, 9, 9, 9};
    const double values[8] = {4, 0, 1, 2, 0, 4, 1, 6};
    struct reference_heads heads = {query, keys, values, 2, 4};
    double share[2], out[4];
    double spread = reference_attention(&heads, share, out);
    assert_close(share[0], 0.75, 1e-12);
    assert_close(out[0], 3, 1e-12);
    assert_close(out[1], 1, 1e-12);
    assert_close(out[2], 1, 1e-12);
    assert_close(out[3], 3, 1e-12);
    assert_close(spread, sqrt(10.0 / 16), 1e-12);
}

static void a_number_that_is_none_stays_the_worst(void **state)
{
    (void)state;
    assert_close(reference_worse(0.5, 0.25), 0.5, 1e-15);
    assert_close(reference_worse(0.5, 2), 2, 1e-15);
    assert_true(isnan(reference_worse((double)NAN, 2)));
    assert_true(isnan(reference_worse(2, (double)NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_scales_adds_and_cuts_below_nought),
        cmocka_unit_test(softmax_of_equal_numbers_is_even_and_of_a_large_one_takes_all),
        cmocka_unit_test(normed_numbers_have_mean_nought_and_variance_one),
        cmocka_unit_test(first_step_of_adam_has_the_length_of_its_rate),
        cmocka_unit_test(attention_weighs_values_by_softmax_of_scaled_scores),
        cmocka_unit_test(a_number_that_is_none_stays_the_worst),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
