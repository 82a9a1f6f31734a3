#include "base/rng.h"

#include "base/stats.h"
#include "test.h"

enum { N_DRAWS = 20000 };

static void equal_seed_and_purpose_draw_equal_numbers(void **state)
{
    struct rng *a = rng_open(7, "jitter", *state);
    struct rng *b = rng_open(7, "jitter", *state);
    for (int i = 0; i < 1000; i++) assert_close(rng_uniform(a), rng_uniform(b), 0);
}

static void another_seed_or_purpose_is_another_stream(void **state)
{
    double first[4] = {
        rng_uniform(rng_open(7, "jitter", *state)),
        rng_uniform(rng_open(8, "jitter", *state)),
        rng_uniform(rng_open(7, "placement", *state)),
        rng_uniform(rng_open(7 + (UINT64_C(1) << 40), "jitter", *state)),
    };
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) assert_true(fabs(first[i] - first[j]) > 1e-9);
    }
}

static void a_draw_in_one_stream_does_not_shift_another(void **state)
{
    struct rng *alone = rng_open(1, "ecmp", *state);
    struct rng *beside = rng_open(1, "ecmp", *state);
    struct rng *other = rng_open(1, "jitter", *state);
    for (int i = 0; i < 100; i++) {
        rng_normal(other, 0, 1);
        assert_close(rng_uniform(alone), rng_uniform(beside), 0);
    }
}

/* Means over n draws lie within 5 sd / sqrt(n) of the truth (5 sigma; the seed is fixed). */
static void draws_follow_their_distributions(void **state)
{
    struct arena *perm = *state;
    struct rng *rng = rng_open(3, "moments", perm);
    double *x = arena_new(perm, double, N_DRAWS);
    double sigmas = 5.0 / sqrt(N_DRAWS);

    for (int i = 0; i < N_DRAWS; i++) {
        x[i] = rng_uniform(rng);
        assert_true(x[i] >= 0 && x[i] < 1);
    }
    assert_true(fabs(stats_mean(x, N_DRAWS) - 0.5) < sigmas * sqrt(1.0 / 12));

    for (int i = 0; i < N_DRAWS; i++) x[i] = rng_normal(rng, 10, 2);
    assert_true(fabs(stats_mean(x, N_DRAWS) - 10) < sigmas * 2);
    assert_close(stats_sd(x, N_DRAWS), 2, 0.03);

    for (int i = 0; i < N_DRAWS; i++) x[i] = rng_exponential(rng, 3);
    assert_true(fabs(stats_mean(x, N_DRAWS) - 3) < sigmas * 3);

    /* median of exp(N(ln 4, 0.5)) is 4; its standard error is 4 * 0.5 * sqrt(pi / 2) / sqrt(n) */
    for (int i = 0; i < N_DRAWS; i++) x[i] = rng_lognormal(rng, 4, 0.5);
    assert_true(fabs(stats_median(x, N_DRAWS, *perm) - 4) < sigmas * 4 * 0.5 * 1.2534);
}

static void integers_cover_their_range_evenly(void **state)
{
    struct rng *rng = rng_open(3, "dice", *state);
    int counts[6] = {0};
    for (int i = 0; i < N_DRAWS; i++) {
        int face = rng_integer(rng, 6);
        assert_true(face >= 0 && face < 6);
        counts[face]++;
    }
    /* sd of a binomial count: sqrt(n p (1 - p)) */
    double sd = sqrt(N_DRAWS * (1.0 / 6) * (5.0 / 6));
    for (int f = 0; f < 6; f++) assert_true(fabs(counts[f] - N_DRAWS / 6.0) < 5 * sd);
    for (int i = 0; i < 10; i++) assert_int_equal(rng_integer(rng, 1), 0);
    for (int i = 0; i < 10; i++) assert_true(rng_integer(rng, INT32_MAX) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seed_and_purpose_draw_equal_numbers),
        cmocka_unit_test(another_seed_or_purpose_is_another_stream),
        cmocka_unit_test(a_draw_in_one_stream_does_not_shift_another),
        cmocka_unit_test(draws_follow_their_distributions),
        cmocka_unit_test(integers_cover_their_range_evenly),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
