#include "calib/sample.h"

#include "base/rng.h"
#include "test.h"

/* P(binomial(n, 1/2) < r) <= 2.5 %: n = 5: 1/32 = 3.1 % is too much for r = 1; n = 6: 1/64 = 1.6 %;
 * n = 9: (1 + 9) / 512 = 2.0 % for r = 2; n = 20: 2.07 % for r = 6 (a table of Le Boudec's book: 6, 15) */
static void ranks_are_those_of_the_binomial(void **state)
{
    (void)state;
    static const int want[][2] = {{1, 0}, {5, 0},  {6, 1},   {8, 1},
                                  {9, 2}, {20, 6}, {30, 10}, {1000, 469}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_int_equal(sample_rank(want[i][0]), want[i][1]);
    }
}

/* median 5, deviations 0 .. 4, their median 2: 5.19 x 2 = 10.4, so 15 stays and 16 goes */
static void outliers_lie_beyond_three_and_a_half_deviations(void **state)
{
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 15};
    struct sample sample = sample_summarise(x, 9, 0, *(struct arena *)*state);
    assert_int_equal(sample.n_outliers, 0);
    assert_close(sample.median, 5, 0);
    x[8] = 16;
    sample = sample_summarise(x, 9, 0, *(struct arena *)*state);
    assert_int_equal(sample.n_outliers, 1);
    assert_int_equal(sample.n_kept, 8);
    assert_close(sample.median, 4.5, 1e-12);
    /* the smallest and the largest of 8 */
    assert_close(sample.low, 1, 1e-12);
    assert_close(sample.high, 8, 1e-12);
}

static void times_that_differ_by_a_tick_are_no_outliers(void **state)
{
    const double x[] = {10, 10, 10, 10, 10, 10, 11};
    assert_int_equal(sample_summarise(x, 7, 0, *(struct arena *)*state).n_outliers, 1);
    assert_int_equal(sample_summarise(x, 7, 1, *(struct arena *)*state).n_outliers, 0);
}

static void few_samples_have_no_interval(void **state)
{
    const double x[] = {1, 2, 3, 4, 5};
    struct sample sample = sample_summarise(x, 5, 1, *(struct arena *)*state);
    assert_close(sample.median, 3, 1e-12);
    assert_close(sample.high, 0, 0);
    assert_true(isinf(sample_width(&sample)));
    sample = sample_summarise(x, 1, 1, *(struct arena *)*state);
    assert_close(sample.median, 1, 1e-12);
}

/* of 2000 sets of 20 the interval between the 6th and the 15th holds the median with 1 - 2 x 2.07 % =
 * 95.9 %, +- 3 x 0.44 %; without noise about outliers, since a normal has next to none */
static void the_interval_covers_the_median_as_often_as_it_says(void **state)
{
    struct arena *perm = *state;
    struct rng *rng = rng_open(7, "coverage", perm);
    int n_covered = 0;
    for (int s = 0; s < 2000; s++) {
        double x[20];
        for (int i = 0; i < 20; i++) x[i] = rng_normal(rng, 100, 1);
        struct sample sample = sample_summarise(x, 20, 0, *perm);
        n_covered += sample.low <= 100 && sample.high >= 100;
    }
    assert_true(n_covered >= 1890 && n_covered <= 1945);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_those_of_the_binomial),
        cmocka_unit_test(outliers_lie_beyond_three_and_a_half_deviations),
        cmocka_unit_test(times_that_differ_by_a_tick_are_no_outliers),
        cmocka_unit_test(few_samples_have_no_interval),
        cmocka_unit_test(the_interval_covers_the_median_as_often_as_it_says),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
