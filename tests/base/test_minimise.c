#include "base/minimise.h"

#include "test.h"

/* a narrow valley along x = y with its floor at (0.7, 0.7), and a kink there */
static double valley(void *context, const double *x)
{
    (void)context;
    return 10 * fabs(x[0] - x[1]) + fabs(x[0] + x[1] - 1.4);
}

/* numbers that do not hang together; the least is at (0.3, 1) */
static double bowl(void *context, const double *x)
{
    (*(int *)context)++;
    return fabs(x[0] - 0.3) + (1 - x[1]);
}

static void the_compass_finds_the_least_of_a_bowl_at_its_rim(void **state)
{
    int n_calls = 0;
    double x[] = {0.9, 0.1};
    struct minimise search = {bowl, &n_calls, 2, 0.16, 0.001, 1000, 0};
    double least = minimise_compass(&search, x, *state);
    assert_true(fabs(x[0] - 0.3) < 0.002);
    assert_close(x[1], 1, 0);
    assert_close(least, fabs(x[0] - 0.3), 1e-12);
    assert_int_equal(n_calls, search.n_evaluations);
}

static void the_simplex_follows_a_valley_where_the_compass_stops(void **state)
{
    double x[] = {0.2, 0.2};
    struct minimise search = {valley, NULL, 2, 0.16, 0.001, 2000, 0};
    double stopped = minimise_compass(&search, x, *state);
    double end = minimise_simplex(&search, x, *state);
    assert_true(end <= stopped);
    assert_true(end < 0.02);
}

static void no_more_evaluations_than_asked_for(void **state)
{
    int n_calls = 0;
    double x[] = {0.9, 0.1};
    struct minimise search = {bowl, &n_calls, 2, 0.16, 1e-9, 10, 0};
    minimise_compass(&search, x, *state);
    assert_int_equal(n_calls, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compass_finds_the_least_of_a_bowl_at_its_rim),
        cmocka_unit_test(the_simplex_follows_a_valley_where_the_compass_stops),
        cmocka_unit_test(no_more_evaluations_than_asked_for),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
