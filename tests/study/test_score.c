/* Scores of rows written down by hand. */
#include "../test.h"

#include "study/score.h"

#include <math.h>

/* Three rows predicted 1 within 0.5 to 2, measured 1, 2 and 4: the last lies outside by ln 2. Widths
 * are ln 4, half of it is ln 2; the interval score is (3 ln 4 + 2 / 0.1 ln 2) / 3. */
static void intervals_are_scored_by_coverage_width_and_misses(void **state)
{
    struct check_row rows[3] = {{.measured_s = 1}, {.measured_s = 2}, {.measured_s = 4}};
    for (int i = 0; i < 3; i++) {
        rows[i].predicted_s = 1;
        rows[i].low_s = 0.5;
        rows[i].high_s = 2;
        rows[i].error = 1 / rows[i].measured_s - 1;
        rows[i].moved_error = NAN;
    }
    const struct check check = {.rows = rows, .n_rows = 3, .n_covered = 3};
    static const int all[] = {0, 1, 2};
    struct check_score score = score_rows(&check, all, 3, **(struct arena **)state);
    assert_close(score.coverage, 2.0 / 3, 1e-12);
    assert_close(score.width, log(2), 1e-12);
    assert_close(score.interval_score, (3 * log(4) + 20 * log(2)) / 3, 1e-12);
}

/* Endless intervals hold everything and score worse than those that miss one row in ten narrowly. */
static void coverage_cannot_be_bought_with_width(void **state)
{
    struct check_row rows[20] = {{0}};
    int all[20];
    for (int i = 0; i < 20; i++) {
        bool narrow = i < 10;
        rows[i] = (struct check_row){.measured_s = i % 10 == 9 ? 1.3 : 1,
                                     .predicted_s = 1,
                                     .low_s = narrow ? 0.9 : 0.01,
                                     .high_s = narrow ? 1.1 : 100,
                                     .moved_error = NAN};
        all[i] = i;
    }
    const struct check check = {.rows = rows, .n_rows = 20, .n_covered = 20};
    struct arena scratch = **(struct arena **)state;
    struct check_score narrow = score_rows(&check, all, 10, scratch);
    struct check_score wide = score_rows(&check, all + 10, 10, scratch);
    assert_close(narrow.coverage, 0.9, 1e-12);
    assert_close(wide.coverage, 1, 1e-12);
    assert_true(narrow.interval_score < wide.interval_score);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_scored_by_coverage_width_and_misses),
        cmocka_unit_test(coverage_cannot_be_bought_with_width),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
