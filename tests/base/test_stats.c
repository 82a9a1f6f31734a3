#include "base/stats.h"

#include "test.h"

static void a_median_halves_the_sample(void **state)
{
    struct arena *perm = *state;
    assert_close(stats_median((double[]){3, 1, 2}, 3, *perm), 2, 0);
    assert_close(stats_median((double[]){4, 1, 2, 3}, 4, *perm), 2.5, 0);
    assert_close(stats_median((double[]){-5}, 1, *perm), -5, 0);
}

/* Definition 7: p lies at position (n - 1) p / 100, so of 10, 20, 30, 40 the 90th is 10 + 27. */
static void percentiles_are_linear_between_neighbours(void **state)
{
    struct arena *perm = *state;
    const double x[] = {40, 10, 30, 20};
    assert_close(stats_percentile(x, 4, 0, *perm), 10, 0);
    assert_close(stats_percentile(x, 4, 90, *perm), 37, 1e-15);
    assert_close(stats_percentile(x, 4, 100, *perm), 40, 0);
    assert_close(stats_percentile(x, 1, 90, *perm), 40, 0);
}

static void the_sample_is_left_as_it_was(void **state)
{
    struct arena *perm = *state;
    double x[] = {3, 1, 2};
    stats_median(x, 3, *perm);
    assert_close(x[0], 3, 0);
    assert_close(x[1], 1, 0);
    assert_close(x[2], 2, 0);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations sum to 32, 32 / 7 */
static void mean_and_spread(void **state)
{
    (void)state;
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_close(stats_mean(x, 8), 5, 1e-15);
    assert_close(stats_sd(x, 8), sqrt(32.0 / 7), 1e-15);
    assert_close(stats_sd(x, 1), 0, 0);
}

/* Exact expectations of the largest of n standard normals (Harter, Biometrika 48, 1961): 0.56419 for
 * 2, 1.42360 for 8, 2.50759 for 100. The approximation is within 5 %. */
static void the_largest_of_more_is_larger(void **state)
{
    (void)state;
    assert_close(1 + stats_expected_max(1), 1, 1e-15);
    assert_close(stats_expected_max(2), 0.56419, 0.05);
    assert_close(stats_expected_max(8), 1.42360, 0.01);
    assert_close(stats_expected_max(100), 2.50759, 0.01);
}

/* Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 (1 + 1) / (4 * 15) = 0.8. */
static void ranks_correlate_whatever_the_distances(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    const double x[] = {1, 2, 3, 100};
    const double y[] = {0.1, 0.3, 0.2, 0.4};
    const double same[] = {2, 2, 2, 2};
    assert_close(stats_rank_correlation(x, y, 4, scratch), 0.8, 1e-12);
    assert_close(stats_rank_correlation(x, x, 4, scratch), 1, 1e-12);
    assert_true(isnan(stats_rank_correlation(x, same, 4, scratch)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_halves_the_sample),
        cmocka_unit_test(percentiles_are_linear_between_neighbours),
        cmocka_unit_test(the_sample_is_left_as_it_was),
        cmocka_unit_test(mean_and_spread),
        cmocka_unit_test(ranks_correlate_whatever_the_distances),
        cmocka_unit_test(the_largest_of_more_is_larger),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
