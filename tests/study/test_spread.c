/* Spreads fitted to groups, and whether they hold what they promise of groups never seen. */
#include "../test.h"

#include "base/rng.h"
#include "study/spread.h"

#include <math.h>

enum { N_GROUPS = 40, N_ROWS = 15, N_SEEDS = 200 };

static const double BETWEEN = 0.15,
                    WITHIN = 0.1; /* standard deviations of ln(measured / predicted) */

/* All rows of a group are off together, and each by itself; half of the groups are the part's own. */
static void draw(struct rng *rng, struct spread_sample *samples, bool heavy)
{
    for (int g = 0; g < N_GROUPS; g++) {
        double common = rng_normal(rng, 0, BETWEEN);
        if (heavy) common /= fmax(fabs(rng_normal(rng, 0, 1)), 0.1);
        for (int r = 0; r < N_ROWS; r++)
            samples[g * N_ROWS + r] =
                (struct spread_sample){common + rng_normal(rng, 0, WITHIN), g, g % 2 == 0};
    }
}

static double coverage(bool heavy, struct arena *perm)
{
    struct spread_sample fitted[N_GROUPS * N_ROWS];
    struct spread_sample unseen[N_GROUPS * N_ROWS];
    int inside = 0;
    for (int seed = 0; seed < N_SEEDS; seed++) {
        struct arena scratch = *perm;
        struct rng *rng = rng_open((uint64_t)seed, "groups", &scratch);
        draw(rng, fitted, heavy);
        draw(rng, unseen, heavy);
        struct sides sides = spread_fit(fitted, N_GROUPS * N_ROWS, N_GROUPS, scratch);
        for (int i = 0; i < N_GROUPS * N_ROWS; i++)
            inside += unseen[i].log_error >= -sides.faster && unseen[i].log_error <= sides.slower;
    }
    return (double)inside / (N_SEEDS * N_GROUPS * N_ROWS);
}

static void nine_in_ten_rows_of_groups_never_seen_lie_inside(void **state)
{
    double share = coverage(false, *state);
    assert_true(share > 0.85 && share < 0.95);
}

/* A normal quantile of the standard deviation would not know such tails. */
static void nor_do_heavy_tails_between_groups_escape(void **state)
{
    double share = coverage(true, *state);
    assert_true(share > 0.85 && share < 0.95);
}

/* The other way to take it, by rows as if they were independent of each other, and by the covariance
 * of the mean: what is known of the mean error shrinks with the rows, the error of a new group does
 * not, so that 1.645 sd / sqrt(n) holds next to nothing. */
static void the_error_of_a_mean_would_not_cover_groups(void **state)
{
    double half_width = 1.645 * hypot(BETWEEN, WITHIN) / sqrt(N_GROUPS * N_ROWS);
    struct spread_sample unseen[N_GROUPS * N_ROWS];
    draw(rng_open(1, "groups", *state), unseen, false);
    int inside = 0;
    for (int i = 0; i < N_GROUPS * N_ROWS; i++) inside += fabs(unseen[i].log_error) < half_width;
    assert_true(inside < 0.2 * N_GROUPS * N_ROWS);
}

/* 19 groups of one row at -9 .. 9 hundredths, one of a thousand rows at 0.5: with S = 20 groups, 0.945
 * are to lie inside, 0.0275 of the weight may lie out on each side. Every group weighs 0.05: the least
 * group is the lower quantile; the heavy one, the largest, the upper. */
static void a_long_group_counts_once(void **state)
{
    enum { LONG = 1000 };
    struct spread_sample samples[19 + LONG];
    for (int i = 0; i < 19; i++) samples[i] = (struct spread_sample){0.01 * (i - 9), i, true};
    for (int i = 19; i < 19 + LONG; i++) samples[i] = (struct spread_sample){0.5, 19, true};
    struct sides sides = spread_fit(samples, 19 + LONG, 20, **(struct arena **)state);
    assert_close(sides.faster, 0.09, 1e-12);
    assert_close(sides.slower, 0.5, 1e-12);
    for (int i = 19; i < 19 + LONG; i++) samples[i].log_error = 0;
    sides = spread_fit(samples, 19 + LONG, 20, **(struct arena **)state);
    assert_close(sides.faster, 0.09, 1e-12); /* a thousand rows at 0 do not hide the others */
    assert_close(sides.slower, 0.09, 1e-12);
}

/* A part whose one group never errs leans on the pool: its spread is not 0. */
static void a_part_of_one_group_leans_on_its_pool(void **state)
{
    struct spread_sample samples[N_GROUPS];
    for (int g = 0; g < N_GROUPS; g++)
        samples[g] = (struct spread_sample){g == 0 ? 0 : 0.01 * (g - N_GROUPS / 2), g, g == 0};
    struct sides sides = spread_fit(samples, N_GROUPS, N_GROUPS, **(struct arena **)state);
    assert_true(sides.faster > 0.1 && sides.slower > 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_in_ten_rows_of_groups_never_seen_lie_inside),
        cmocka_unit_test(nor_do_heavy_tails_between_groups_escape),
        cmocka_unit_test(the_error_of_a_mean_would_not_cover_groups),
        cmocka_unit_test(a_long_group_counts_once),
        cmocka_unit_test(a_part_of_one_group_leans_on_its_pool),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
