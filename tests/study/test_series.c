#include "study/series.h"

#include "study/check.h"
#include "test.h"

#define COLUMNS                                                                                    \
    "source,model,gpu_key,intra_key,nic_key,gpus,gpus_per_node,nodes,framework,precision_key,"     \
    "micro_batch,tp,pp,zero_stage,sync_key,tune_key,iter_time_s\n"
#define RUN(gpus)                                                                                  \
    "s,resnet50,v100-sxm2-16,nvlink2-mesh,none," gpus                                              \
    ",8,1,PyTorch DDP,fp32,64,1,1,0,allreduce,full,"

static const struct scenario_options shipped = {.profile_dir = "scenarios"};

static struct check *check_text(const char *rows, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const char *text = arena_text(perm, COLUMNS "%s", rows);
    struct table *table = table_read_text("t.csv", text, strlen(text), perm, &diag);
    struct row_reader *reader = row_open(table, &shipped, perm, &diag);
    assert_true(diag_ok(&diag));
    struct check *check = check_table(reader, perm);
    assert_int_equal(check->n_covered, check->n_rows);
    return check;
}

/* Measured steps of 0.2 s on one GPU and 0.25 s on eight: 80 %. Predicted P1 and P8: 100 P1 / P8. */
static void efficiency_is_compared_in_points(void **state)
{
    struct check *check = check_text(RUN("1") "0.2\n" RUN("8") "0.25\n", *state);
    double predicted = check->rows[0].predicted_s / check->rows[1].predicted_s;
    assert_int_equal(check->scaling.n_series, 1);
    assert_int_equal(check->scaling.n, 1);
    assert_close(check->scaling.series[0].worst_points, 100 * (predicted - 0.8), 1e-9);
    assert_close(check->scaling.median_points, fabs(100 * (predicted - 0.8)), 1e-9);
    assert_true(isnan(check->scaling.series[0].rank_correlation));
}

/* Three runs on one GPU: the median of 0.2, 0.21 and 0.3 s is what eight are compared with, and none of the three
 * is a run on more GPUs. */
static void the_median_run_on_the_fewest_gpus_is_the_base(void **state)
{
    struct check *check =
        check_text(RUN("1") "0.3\n" RUN("1") "0.2\n" RUN("8") "0.25\n" RUN("1") "0.21\n", *state);
    double predicted = check->rows[0].predicted_s / check->rows[2].predicted_s;
    assert_int_equal(check->scaling.n_series, 1);
    assert_int_equal(check->scaling.n, 1);
    assert_close(check->scaling.series[0].worst_points, 100 * (predicted - 0.21 / 0.25), 1e-9);
}

/* Predicted steps get longer with the GPUs; the measured ones do so too, then the other way round. */
static void ranks_are_of_step_times(void **state)
{
    struct check *check = check_text(RUN("1") "0.2\n" RUN("4") "0.21\n" RUN("8") "0.22\n", *state);
    assert_close(check->scaling.series[0].rank_correlation, 1, 1e-9);
    check = check_text(RUN("1") "0.22\n" RUN("4") "0.21\n" RUN("8") "0.2\n", *state);
    assert_close(check->scaling.median_rank_correlation, -1, 1e-9);
}

static void another_batch_is_another_series(void **state)
{
    struct check *check =
        check_text(RUN("1") "0.2\n"
                            "s,resnet50,v100-sxm2-16,nvlink2-mesh,none,8,8,1,PyTorch DDP,fp32,"
                            "128,1,1,0,allreduce,full,0.5\n",
                   *state);
    assert_int_equal(check->scaling.n_series, 0);
    assert_int_equal(check->scaling.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(efficiency_is_compared_in_points),
        cmocka_unit_test(the_median_run_on_the_fewest_gpus_is_the_base),
        cmocka_unit_test(ranks_are_of_step_times),
        cmocka_unit_test(another_batch_is_another_series),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
