/* Least squares: known numbers are found again, with standard errors that hold what they promise. */
#include "base/lsq.h"

#include "base/rng.h"
#include "test.h"

enum { N_POINTS = 40, N_SEEDS = 200 };

/* y = a exp(-b t), t = 0, 0.1, ... */
struct decay {
    double y[N_POINTS], sd;
    int n;
};

static void decay_residuals(void *context, const double *x, double *residual)
{
    const struct decay *decay = context;
    for (int i = 0; i < decay->n; i++)
        residual[i] = (x[0] * exp(-x[1] * 0.1 * i) - decay->y[i]) / decay->sd;
}

static struct decay make_decay(double a, double b, double sd, struct rng *rng)
{
    struct decay decay = {.sd = sd, .n = N_POINTS};
    for (int i = 0; i < N_POINTS; i++)
        decay.y[i] = a * exp(-b * 0.1 * i) + (rng ? rng_normal(rng, 0.0, sd) : 0.0);
    return decay;
}

static const double lower[] = {0.1, 0.01}, upper[] = {10.0, 5.0};

static struct lsq lsq_of(struct decay *decay)
{
    return (struct lsq){.residuals = decay_residuals,
                        .context = decay,
                        .n = 2,
                        .n_residuals = decay->n,
                        .lower = lower,
                        .upper = upper,
                        .max_iterations = 100};
}

static void known_numbers_are_found(void **state)
{
    struct decay decay = make_decay(3.0, 0.7, 1e-3, NULL);
    struct lsq lsq = lsq_of(&decay);
    struct lsq_result result = lsq_fit(&lsq, (double[]){1.0, 1.0}, *state);
    assert_null(result.problem);
    assert_close(result.x[0], 3.0, 1e-6);
    assert_close(result.x[1], 0.7, 1e-6);
    assert_false(result.at_bound[0]);
}

/* A 90 % interval is x +- 1.645 standard errors. Of 200 seeds a true 90 % lies, with three standard
 * deviations of 2.1 points, between 83.6 and 96.4 %; what is asked is 85 to 95 %. */
static void intervals_hold_the_truth_as_often_as_they_say(void **state)
{
    int covered[2] = {0, 0};
    for (int seed = 1; seed <= N_SEEDS; seed++) {
        struct arena scratch = *(struct arena *)*state;
        struct rng *rng = rng_open((uint64_t)seed, "lsq", &scratch);
        struct decay decay = make_decay(3.0, 0.7, 0.05, rng);
        struct lsq lsq = lsq_of(&decay);
        struct lsq_result result = lsq_fit(&lsq, (double[]){1.0, 1.0}, &scratch);
        covered[0] += fabs(result.x[0] - 3.0) < 1.645 * result.sd[0];
        covered[1] += fabs(result.x[1] - 0.7) < 1.645 * result.sd[1];
    }
    for (int k = 0; k < 2; k++) {
        assert_true(covered[k] >= 0.85 * N_SEEDS);
        assert_true(covered[k] <= 0.95 * N_SEEDS);
    }
}

/* The truth, 3, lies above the bound, 2: the fit stays on it and says so. */
static void a_number_beyond_its_bound_stays_on_it(void **state)
{
    static const double tight[] = {2.0, 5.0};
    struct decay decay = make_decay(3.0, 0.7, 1e-2, NULL);
    struct lsq lsq = lsq_of(&decay);
    lsq.upper = tight;
    struct lsq_result result = lsq_fit(&lsq, (double[]){1.0, 1.0}, *state);
    assert_true(result.at_bound[0]);
    assert_close(result.x[0], 2.0, 1e-12);
    assert_close(result.sd[0], 0.0, 0);
    assert_false(result.at_bound[1]);
    assert_true(result.x[1] > 0.01 && result.x[1] < 0.7);
}

static void sum_residuals(void *context, const double *x, double *residual)
{
    const struct decay *decay = context;
    for (int i = 0; i < decay->n; i++) residual[i] = (x[0] + x[1] - 4.0) / decay->sd;
}

/* only x + y is known */
static void numbers_that_cannot_be_told_apart_are_reported(void **state)
{
    struct decay decay = {.sd = 0.1, .n = N_POINTS};
    struct lsq lsq = lsq_of(&decay);
    lsq.residuals = sum_residuals;
    struct lsq_result result = lsq_fit(&lsq, (double[]){1.0, 1.0}, *state);
    assert_close(result.x[0] + result.x[1], 4.0, 1e-6);
    assert_non_null(result.problem);
    assert_non_null(strstr(result.problem, "tell"));
    assert_true(result.sd[0] > 100.0 * 0.1 / sqrt(N_POINTS));
}

/* One of 40 points is off by a hundred standard deviations. */
static void an_odd_point_is_held_down(void **state)
{
    struct decay decay = make_decay(3.0, 0.7, 0.01, NULL);
    decay.y[5] += 1.0;
    struct lsq lsq = lsq_of(&decay);
    double plain = lsq_fit(&lsq, (double[]){1.0, 1.0}, *state).x[0];
    lsq.huber = 1.5;
    double held = lsq_fit(&lsq, (double[]){1.0, 1.0}, *state).x[0];
    assert_true(fabs(plain - 3.0) > 0.02);
    assert_true(fabs(held - 3.0) < 0.005);
}

/* Fisher's table: F(3, 20) above 4.94 has a chance of 1 %. */
static void chances_are_those_of_the_f_table(void **state)
{
    (void)state;
    assert_close(lsq_f_tail(4.94, 3, 20), 0.01, 0.01);
}

/* a gradient of (1, 1) over a covariance of [[4, -1], [-1, 1]] gives sqrt(4 - 2 + 1) */
static void errors_of_predictions_follow_the_covariance(void **state)
{
    (void)state;
    double covariance[] = {4.0, -1.0, -1.0, 1.0};
    struct lsq_result result = {.covariance = covariance};
    assert_close(lsq_predicted_sd(&result, (double[]){1.0, 1.0}, 2), sqrt(3.0), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers_are_found),
        cmocka_unit_test(intervals_hold_the_truth_as_often_as_they_say),
        cmocka_unit_test(a_number_beyond_its_bound_stays_on_it),
        cmocka_unit_test(numbers_that_cannot_be_told_apart_are_reported),
        cmocka_unit_test(an_odd_point_is_held_down),
        cmocka_unit_test(chances_are_those_of_the_f_table),
        cmocka_unit_test(errors_of_predictions_follow_the_covariance),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
