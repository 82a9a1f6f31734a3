#include "study/check.h"

#include "test.h"

#define COLUMNS                                                                                    \
    "id,notes,collective,gpu_key,intra_key,nic_key,fabric_key,gpus_per_node,nodes,nics_per_node,"  \
    "nic_gbps,library,lib_version,algo,proto,size_bytes,time_us\n"
#define A100 "allreduce,a100-sxm-80,nvswitch2,none,none,8,1,0,0,NCCL,2.18,auto,auto"

static const struct scenario_options shipped = {.profile_dir = "scenarios"};

static struct check *check_text(const char *rows, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const char *text = arena_text(perm, COLUMNS "%s", rows);
    struct table *table = table_read_text("t.csv", text, strlen(text), perm, &diag);
    struct row_reader *reader = row_open(table, &shipped, perm, &diag);
    assert_true(diag_ok(&diag));
    return check_table(reader, perm);
}

static struct check *check_file(const char *file, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct table *table = table_read(file, perm, &diag);
    struct row_reader *reader = row_open(table, &shipped, perm, &diag);
    assert_true(diag_ok(&diag));
    return check_table(reader, perm);
}

/* What is predicted for 1 MiB does not depend on what was measured, so times can be made whose
 * errors are known: -1/2, +1/12 and +1/5. */
static void errors_are_summed_up_as_defined(void **state)
{
    struct check *one = check_text("s,," A100 ",1048576,1\n", *state);
    double predicted_us = 1e6 * one->rows[0].predicted_s;
    const char *rows =
        arena_text(*state,
                   "a,," A100 ",1048576,%.17g\nb,," A100 ",1048576,%.17g\n"
                   "a,," A100 ",1048576,%.17g\n",
                   predicted_us * 2, predicted_us / (1 + 1.0 / 12), predicted_us / 1.2);
    struct check *check = check_text(rows, *state);
    struct check_score all = check->overall;
    assert_int_equal(all.n, 3);
    assert_close(all.median_abs, 0.2, 1e-9);
    assert_close(all.mean_abs, (0.5 + 1.0 / 12 + 0.2) / 3, 1e-9);
    assert_close(all.max_abs, 0.5, 1e-9);
    assert_close(all.bias, 1.0 / 12, 1e-9);
    assert_close(all.within_10, 1.0 / 3, 1e-9);
    assert_close(all.within_25, 2.0 / 3, 1e-9);
    assert_int_equal(check->groups.n, 2);
    assert_string_equal(check->groups.scores[0].id, "a");
    assert_close(check->groups.scores[0].median_abs, 0.35, 1e-9);
    assert_close(check->median_of_groups, (0.35 + 1.0 / 12) / 2, 1e-9);
}

/* Series a to d are dealt a, b, a, b. Measured p, 1.2 p, 4 p and 4 p where p is predicted, so errors
 * are 0, 1/6, 3/4 and 3/4. Runs are equal: the median of the others is 4 p, 4 p, 1.2 p and 1.2 p, off
 * by 3, 2.33, 0.7 and 0.7. So b is no farther off than equal runs are; c and d are. */
static void a_goal_is_met_by_series_that_are_near_or_as_near_as_equal_runs(void **state)
{
    struct check *one = check_text("s,," A100 ",67108864,1\n", *state);
    double us = 1e6 * one->rows[0].predicted_s;
    const char *rows = arena_text(*state,
                                  "a,," A100 ",67108864,%.17g\nb,," A100 ",67108864,%.17g\n"
                                  "c,," A100 ",67108864,%.17g\nd,," A100 ",67108864,%.17g\n",
                                  us, 1.2 * us, 4 * us, 4 * us);
    const struct check *check = check_text(rows, *state);
    const int per_half = check->n_goals / 2;
    assert_int_equal(check->n_goals, 2 * per_half);
    for (int i = 0; i < check->n_goals; i++) {
        const struct check_goal *goal = &check->goals[i];
        assert_string_equal(goal->half, i < per_half ? "a" : "b");
        assert_int_equal(goal->n, 2);
        assert_int_equal(goal->n_met, 1);
        assert_int_equal(goal->n_floor, i >= per_half && goal->limit_frac < 0.2);
    }
}

/* Sizes below a goal's are not judged by it. */
static void a_goal_looks_at_its_own_sizes_only(void **state)
{
    const struct check *check = check_text("s,," A100 ",1048576,1\n", *state);
    for (int i = 0; i < check->n_goals; i++)
        assert_int_equal(check->goals[i].n, i < check->n_goals / 2 && check->goals[i].from_B <= 0);
}

/* 10 us + S / (10 GB/s): nothing is left over, whatever the prediction. */
static void the_baseline_of_collectives_is_the_best_line(void **state)
{
    struct check *check = check_text("s,," A100 ",1000,10.1\ns,," A100 ",100000,20\n"
                                     "s,," A100 ",10000000,1010\n",
                                     *state);
    assert_int_equal(check->n_covered, 3);
    assert_true(check->overall.baseline_median_abs < 1e-9);
    assert_true(check->overall.max_abs > 1e-3);
}

/* Two runs of 10 and 12 us: each is predicted by the other, 12 / 10 - 1 = 0.2 and 1/6. A run of
 * another size and a suspect one do not count. */
static void equal_runs_give_the_floor(void **state)
{
    struct check *check = check_text("s,," A100 ",4096,10\nt,," A100 ",4096,12\n"
                                     "s,," A100 ",8192,99\nu,suspect=1:x," A100 ",4096,50\n",
                                     *state);
    assert_int_equal(check->floor.n, 2);
    assert_close(check->floor.median_abs, (0.2 + 1.0 / 6) / 2, 1e-9);
    assert_close(check->rows[0].equals_error, 0.2, 1e-9);
    assert_true(isnan(check->rows[2].equals_error));
}

static void every_row_is_covered_suspect_or_has_a_reason(void **state)
{
    static const char *const files[] = {"tests/published/check-collectives.csv",
                                        "tests/published/check-training.csv"};
    int n_reasons = 0;
    for (int f = 0; f < 2; f++) {
        struct check *check = check_file(files[f], *state);
        int n = check->n_covered + check->n_suspect;
        n_reasons += check->n_reasons;
        for (int i = 0; i < check->n_reasons; i++) n += check->reasons[i].n;
        assert_int_equal(n, check->n_rows);
        assert_true(check->n_covered > 0 && check->n_suspect > 0);
        int in_groups = 0;
        for (int g = 0; g < check->groups.n; g++) in_groups += check->groups.scores[g].n;
        assert_int_equal(in_groups, check->n_covered);
    }
    assert_true(n_reasons > 0);
}

static void what_nobody_knows_is_counted_by_its_reason(void **state)
{
    struct check *check =
        check_text("s,,allreduce,gpu-of-tomorrow,nvswitch2,none,none,8,1,0,0,NCCL,"
                   "2.18,auto,auto,4096,10\ns,," A100 ",4096,10\n",
                   *state);
    assert_int_equal(check->n_covered, 1);
    assert_int_equal(check->n_reasons, 1);
    assert_non_null(strstr(check->reasons[0].text, "gpu_key gpu-of-tomorrow"));
    assert_int_equal(check->reasons[0].n, 1);
}

static void bands_part_the_collectives_by_size(void **state)
{
    struct check *check = check_file("tests/published/check-collectives.csv", *state);
    int n = 0;
    for (int b = 0; b < check->bands.n; b++) n += check->bands.scores[b].n;
    assert_int_equal(check->bands.n, 4);
    assert_int_equal(n, check->n_covered);
    check =
        check_text("s,," A100 ",63999,9\ns,," A100 ",64000,9\ns,," A100 ",64000000,9\n", *state);
    assert_int_equal(check->bands.scores[0].n, 1);
    assert_int_equal(check->bands.scores[1].n, 1);
    assert_int_equal(check->bands.scores[2].n, 0);
    assert_int_equal(check->bands.scores[3].n, 1);
}

/* Predictions know neither name nor place in the table. */
static void order_and_names_change_no_prediction(void **state)
{
    struct check *a = check_text("x,," A100 ",4096,10\ny,," A100 ",1048576,10\n", *state);
    struct check *b = check_text("q,," A100 ",1048576,10\nq,," A100 ",4096,10\n", *state);
    assert_close(a->rows[0].predicted_s, b->rows[1].predicted_s, 0);
    assert_close(a->rows[1].predicted_s, b->rows[0].predicted_s, 0);
}

/* what the baseline takes per FLOP for row r; 0 when it is not one of the GPU and precision */
static double baseline_pace(const struct check *check, int r)
{
    const struct check_row *row = &check->rows[r];
    if (strcmp(row_cell(check->reader, r, "gpu_key"), "v100-sxm2-16") != 0) return 0;
    if (strcmp(row_cell(check->reader, r, "precision_key"), "fp32") != 0) return 0;
    bool covered = row->work_flop > 0;
    return covered ? row->measured_s * (1 + row->baseline_error) / row->work_flop : 0;
}

static void the_baseline_of_training_is_one_utilisation(void **state)
{
    struct check *check = check_file("tests/published/check-training.csv", *state);
    double first = 0;
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        double pace = baseline_pace(check, r);
        if (pace <= 0) continue;
        if (n++ == 0) first = pace;
        assert_close(pace, first, 1e-9);
    }
    assert_true(n > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_summed_up_as_defined),
        cmocka_unit_test(a_goal_is_met_by_series_that_are_near_or_as_near_as_equal_runs),
        cmocka_unit_test(a_goal_looks_at_its_own_sizes_only),
        cmocka_unit_test(the_baseline_of_collectives_is_the_best_line),
        cmocka_unit_test(equal_runs_give_the_floor),
        cmocka_unit_test(every_row_is_covered_suspect_or_has_a_reason),
        cmocka_unit_test(what_nobody_knows_is_counted_by_its_reason),
        cmocka_unit_test(bands_part_the_collectives_by_size),
        cmocka_unit_test(order_and_names_change_no_prediction),
        cmocka_unit_test(the_baseline_of_training_is_one_utilisation),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
