/* The harness on a clock that obeys a known law. */
#include "calib/harness.h"

#include "calib/fake.h"
#include "test.h"

enum { N_CASES = 40 };

/* copies of 1 MiB and more: floor and bandwidth of the law decide */
static void fill(struct calib_case *cases)
{
    for (int i = 0; i < N_CASES; i++) {
        cases[i] = (struct calib_case){.benchmark = "copy",
                                       .dtype = "",
                                       .layout = "",
                                       .size_B = 1048576.0 * (i + 1),
                                       .n_ranks = 1};
    }
}

static struct harness_options usual(void)
{
    static FILE *silent;
    if (!silent) silent = fopen("/dev/null", "w");
    return (struct harness_options){.budget_s = 1e6,
                                    .precision = 0.01,
                                    .batch_s = 1e-3,
                                    .warm_s = 1e-2,
                                    .least_samples = 20,
                                    .seed = 3,
                                    .messages = silent};
}

static struct harness_result run(const struct fake_law *law, const struct harness_options *options,
                                 struct arena *perm)
{
    struct calib_case cases[N_CASES];
    fill(cases);
    fake_set(law);
    struct calib_machine machine = {0};
    char why[100];
    assert_true(calib_fake.open(&machine, options->seed, why, sizeof why));
    struct harness_result result =
        harness_run(&calib_fake, machine.tick_s, cases, N_CASES, options, perm);
    calib_fake.close();
    return result;
}

static double law_s(int i)
{
    return fake_time_s(&(struct calib_case){.benchmark = "copy", .size_B = 1048576.0 * (i + 1)});
}

/* noise of 1 %: the median of 20 is good to 0.3 %, so no time is off by 1.5 % */
static void it_stops_when_the_interval_is_narrow(void **state)
{
    struct harness_options options = usual();
    struct harness_result result = run(&fake_usual, &options, *state);
    assert_int_equal(result.counts[CASE_FINE], N_CASES);
    for (int i = 0; i < N_CASES; i++) {
        const struct raw_row *row = &result.cases[i].row;
        assert_close(row->size_B, 1048576.0 * (i + 1), 0);
        assert_close(row->time_s, law_s(i), 0.015);
        assert_true(row->repeats + row->outliers >= 20 && row->repeats <= 100);
        assert_true((row->high_s - row->low_s) / (2 * row->time_s) <= 0.01);
        assert_close(row->check, 0.1, 0);
    }
    /* 1.96 x 1.25 x noise / sqrt(n) = 1 %: noise of 8 % takes some 380 samples */
    struct fake_law law = fake_usual;
    law.noise = 0.08;
    int few = fake_runs();
    run(&law, &options, *state);
    assert_true(fake_runs() > 4 * few);
}

static void precise_timings_take_no_more_samples_than_the_least(void **state)
{
    struct fake_law law = fake_usual;
    law.noise = 0;
    law.outlier_share = 0;
    struct harness_options options = usual();
    struct harness_result result = run(&law, &options, *state);
    for (int i = 0; i < N_CASES; i++) {
        assert_int_equal(result.cases[i].row.repeats, 20);
        assert_close(result.cases[i].row.time_s, law_s(i), 1e-5);
    }
}

/* half of all timings differ by a factor of 2.7: never narrow, so the budget decides */
static void it_stops_when_the_budget_is_out(void **state)
{
    struct fake_law law = fake_usual;
    law.noise = 0.5;
    law.outlier_share = 0;
    struct harness_options options = usual();
    options.precision = 1e-6;
    options.budget_s = 8;
    struct harness_result result = run(&law, &options, *state);
    assert_true(result.counts[CASE_WIDE] > N_CASES / 2);
    assert_int_equal(result.counts[CASE_WIDE] + result.counts[CASE_LEFT_OUT], N_CASES);
    /* the last case may end its least number of samples */
    assert_true(calib_fake.now_s() < 1.2 * options.budget_s);
    assert_true(calib_fake.now_s() > 0.9 * options.budget_s);
    /* a case that is measured has an interval */
    for (int i = 0; i < N_CASES; i++) {
        if (result.cases[i].status != CASE_WIDE) continue;
        assert_true(result.cases[i].row.high_s > result.cases[i].row.low_s);
    }
}

static void without_a_budget_nothing_begins(void **state)
{
    struct harness_options options = usual();
    options.budget_s = 1e-3;
    struct harness_result result = run(&fake_usual, &options, *state);
    assert_int_equal(result.counts[CASE_LEFT_OUT], N_CASES - 1);
    for (int i = 0; i < N_CASES; i++) {
        if (result.cases[i].status != CASE_LEFT_OUT) continue;
        assert_string_equal(result.cases[i].why, "the budget was out");
    }
}

/* one in ten takes five times as long: about that share is set aside, and the medians stay */
static void outliers_are_counted_and_do_not_move_the_median(void **state)
{
    struct fake_law law = fake_usual;
    law.outlier_share = 0.1;
    struct harness_options options = usual();
    struct harness_result result = run(&law, &options, *state);
    int n_outliers = 0;
    int n = 0;
    for (int i = 0; i < N_CASES; i++) {
        const struct raw_row *row = &result.cases[i].row;
        assert_close(row->time_s, law_s(i), 0.015);
        n_outliers += row->outliers;
        n += row->repeats + row->outliers;
    }
    assert_true(n_outliers > 0.07 * n && n_outliers < 0.15 * n);
}

static void a_row_says_when_the_machine_was_disturbed(void **state)
{
    struct fake_law law = fake_usual;
    law.outlier_share = 0.4;
    struct harness_options options = usual();
    struct harness_result result = run(&law, &options, *state);
    int n_said = 0;
    for (int i = 0; i < N_CASES; i++) {
        const struct raw_row *row = &result.cases[i].row;
        bool many = row->outliers > 0.25 * (row->repeats + row->outliers);
        assert_int_equal(many, strcmp(row->note, "disturbed: many outliers") == 0);
        n_said += many;
    }
    assert_true(n_said > N_CASES / 2);
}

static void a_wrong_result_is_not_measured(void **state)
{
    const double checks[] = {1, 1e9, INFINITY, NAN};
    for (size_t c = 0; c < sizeof checks / sizeof checks[0]; c++) {
        struct fake_law law = fake_usual;
        law.check = checks[c];
        struct harness_options options = usual();
        struct harness_result result = run(&law, &options, *state);
        assert_int_equal(result.counts[CASE_WRONG], N_CASES);
        assert_int_equal(fake_runs(), 0);
        assert_non_null(strstr(result.cases[0].why, "wrong"));
    }
}

static void nothing_to_check_is_no_fault(void **state)
{
    struct fake_law law = fake_usual;
    law.check = -1;
    struct harness_options options = usual();
    struct harness_result result = run(&law, &options, *state);
    assert_int_equal(result.counts[CASE_FINE], N_CASES);
    assert_true(result.cases[0].row.check < 0);
}

static void an_error_of_the_device_is_kept_with_its_reason(void **state)
{
    struct fake_law law = fake_usual;
    law.fails_after = 500;
    struct harness_options options = usual();
    struct harness_result result = run(&law, &options, *state);
    assert_true(result.counts[CASE_FAILED] > 0 && result.counts[CASE_FINE] > 0);
    for (int i = 0; i < N_CASES; i++) {
        if (result.cases[i].status == CASE_FAILED) {
            assert_string_equal(result.cases[i].why, "the device is lost");
        }
    }
}

/* a clock of 100 us steps and runs of some 6 us: batches of 0.1 s give them to 0.1 % */
static void a_coarse_clock_gets_long_batches(void **state)
{
    struct fake_law law = fake_usual;
    law.tick_s = 1e-4;
    law.noise = 0;
    law.outlier_share = 0;
    struct harness_options options = usual();
    struct harness_result result = run(&law, &options, *state);
    for (int i = 0; i < N_CASES; i++) {
        assert_close(result.cases[i].row.time_s, law_s(i), 2e-3);
    }
}

static void equal_seeds_give_equal_rows(void **state)
{
    struct harness_options options = usual();
    struct harness_result first = run(&fake_usual, &options, *state);
    struct harness_result again = run(&fake_usual, &options, *state);
    options.seed++;
    struct harness_result other = run(&fake_usual, &options, *state);
    int n_other = 0;
    for (int i = 0; i < N_CASES; i++) {
        assert_close(again.cases[i].row.time_s, first.cases[i].row.time_s, 0);
        n_other += fabs(other.cases[i].row.time_s / first.cases[i].row.time_s - 1) > 0;
    }
    assert_true(n_other > N_CASES / 2);
}

static int n_asked;

/* the harness asks between batches, at least twenty times a case: some cases are over by then */
static int after_200(void)
{
    return ++n_asked > 200 ? 15 : 0;
}

static void an_interrupt_keeps_what_was_measured(void **state)
{
    struct harness_options options = usual();
    options.interrupt = after_200;
    n_asked = 0;
    struct harness_result result = run(&fake_usual, &options, *state);
    assert_true(result.is_interrupted);
    assert_true(harness_measured(&result) > 2 && harness_measured(&result) < N_CASES / 2);
    assert_int_equal(harness_measured(&result) + result.counts[CASE_LEFT_OUT], N_CASES);
    for (int i = 0; i < N_CASES; i++) {
        const struct harness_case *done = &result.cases[i];
        if (done->status == CASE_LEFT_OUT) {
            assert_string_equal(done->why, "interrupted before it was measured");
        } else {
            assert_close(done->row.time_s, law_s(i), 0.015);
        }
    }
}

static int n_kept;

static void keep(const struct harness_result *result, void *closure)
{
    assert_ptr_equal(closure, &n_kept);
    n_kept++;
    assert_int_equal(harness_measured(result), n_kept);
    int n_rows = 0;
    for (int i = 0; i < result->n; i++) n_rows += result->cases[i].row.time_s > 0;
    assert_int_equal(n_rows, n_kept);
}

/* with no time between two, after each case: always as many rows as were measured by then */
static void what_is_measured_is_kept_on_the_way(void **state)
{
    struct harness_options options = usual();
    options.keep = keep;
    options.keep_closure = &n_kept;
    n_kept = 0;
    run(&fake_usual, &options, *state);
    assert_int_equal(n_kept, N_CASES);
    options.keep_s = 1e6;
    run(&fake_usual, &options, *state);
    assert_int_equal(n_kept, N_CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stops_when_the_interval_is_narrow),
        cmocka_unit_test(precise_timings_take_no_more_samples_than_the_least),
        cmocka_unit_test(it_stops_when_the_budget_is_out),
        cmocka_unit_test(without_a_budget_nothing_begins),
        cmocka_unit_test(outliers_are_counted_and_do_not_move_the_median),
        cmocka_unit_test(a_row_says_when_the_machine_was_disturbed),
        cmocka_unit_test(a_wrong_result_is_not_measured),
        cmocka_unit_test(nothing_to_check_is_no_fault),
        cmocka_unit_test(an_error_of_the_device_is_kept_with_its_reason),
        cmocka_unit_test(a_coarse_clock_gets_long_batches),
        cmocka_unit_test(equal_seeds_give_equal_rows),
        cmocka_unit_test(an_interrupt_keeps_what_was_measured),
        cmocka_unit_test(what_is_measured_is_kept_on_the_way),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
