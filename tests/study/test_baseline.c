#include "study/baseline.h"

#include "study/check.h"
#include "test.h"

#define COLUMNS                                                                                    \
    "id,notes,collective,gpu_key,intra_key,nic_key,fabric_key,gpus_per_node,nodes,nics_per_node,"  \
    "nic_gbps,library,lib_version,algo,proto,size_bytes,time_us\n"
#define KEYS(nodes, gbps)                                                                          \
    ",,allreduce,a100-sxm-80,nvswitch2,ib,fat-tree,8," nodes ",8," gbps ",NCCL,2.18,auto,auto,"

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

/* Series p takes 10 us + S / (10 GB/s); q, with equal keys, took twice as long: so q is
 * predicted at half of its time, and p at twice. */
static void a_series_is_predicted_by_the_line_of_the_others(void **state)
{
    struct check *check = check_text(
        "p" KEYS("2", "200") "100000,20\n"
                             "p" KEYS("2", "200") "10000000,1010\n"
                                                  "q" KEYS("2",
                                                           "200") "100000,40\n"
                                                                  "q" KEYS("2",
                                                                           "200") "10000000,2020\n",
        *state);
    assert_close(check->rows[0].moved_error, 1, 1e-9);
    assert_close(check->rows[1].moved_error, 1, 1e-9);
    assert_close(check->rows[2].moved_error, -0.5, 1e-9);
    assert_close(check->rows[3].moved_error, -0.5, 1e-9);
    assert_close(check->overall.moved_median_abs, 0.75, 1e-9);
    assert_int_equal(check->overall.n_moved, 4);
}

/* No other run on four servers: q gets the line of p on two, 10 us + S / (10 GB/s), with
 * (2 * 31 / 32) / (2 * 15 / 16) of its time per byte, halved as its cards are twice as fast:
 * 10 MB take 10 + 1000 * 31 / 30 / 2 = 526.67 us. */
static void a_line_moves_to_other_keys_by_bus_factor_and_line_rate(void **state)
{
    struct check *check = check_text(
        "p" KEYS("2", "100") "100000,20\n"
                             "p" KEYS("2", "100") "10000000,1010\n"
                                                  "q" KEYS("4", "200") "10000000,526.666666667\n",
        *state);
    assert_true(fabs(check->rows[2].moved_error) < 1e-9);
    assert_true(isnan(check->rows[0].moved_error) == false);
}

static void what_nobody_else_measured_has_no_moved_baseline(void **state)
{
    struct check *check = check_text("p" KEYS("2", "100") "100000,20\n", *state);
    assert_true(isnan(check->rows[0].moved_error));
    assert_int_equal(check->overall.n_moved, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_series_is_predicted_by_the_line_of_the_others),
        cmocka_unit_test(a_line_moves_to_other_keys_by_bus_factor_and_line_rate),
        cmocka_unit_test(what_nobody_else_measured_has_no_moved_baseline),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
