/* Series that are off are found, with the first suspicion. Times are made: what is predicted for a
 * cluster that has the fault is "measured" on one that does not state it. */
#include "study/check.h"

#include "test.h"

#define COLUMNS                                                                                    \
    "id,notes,collective,gpu_key,intra_key,nic_key,fabric_key,gpus_per_node,nodes,nics_per_node,"  \
    "nic_gbps,library,lib_version,algo,proto,size_bytes,time_us\n"

static const struct scenario_options shipped = {.profile_dir = "scenarios"};

/* what a row states of its cluster: 4 servers of 8 A100 */
struct cluster {
    const char *intra, *nic;
    int n_nics;
};

static const double sizes_B[] = {1024, 1048576, 16777216, 268435456, 1073741824};
enum { N_SIZES = 5 };

static const char *rows_of(const char *id, struct cluster cluster, const double *time_us,
                           struct arena *perm)
{
    const char *rows = "";
    for (int i = 0; i < N_SIZES; i++)
        rows = arena_text(perm,
                          "%s%s,,allreduce,a100-sxm-80,%s,%s,fat-tree,8,4,%d,200,NCCL,2.18,auto,"
                          "auto,%.0f,%.17g\n",
                          rows, id, cluster.intra, cluster.nic, cluster.n_nics, sizes_B[i],
                          time_us ? time_us[i] : 1);
    return rows;
}

static struct check *check_text(const char *rows, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const char *text = arena_text(perm, COLUMNS "%s", rows);
    struct table *table = table_read_text("t.csv", text, strlen(text), perm, &diag);
    struct row_reader *reader = row_open(table, &shipped, perm, &diag);
    assert_true(diag_ok(&diag));
    return check_table(reader, perm);
}

/* predicted_us — times of a cluster, each times a factor. */
static void predicted_us(struct cluster cluster, double factor, double *time_us, struct arena *perm)
{
    struct check *check = check_text(rows_of("x", cluster, NULL, perm), perm);
    for (int i = 0; i < N_SIZES; i++) time_us[i] = 1e6 * factor * check->rows[i].predicted_s;
}

static const struct cluster healthy = {"nvswitch2", "ib", 8};

static struct check_verdict verdict_of(struct cluster fault, double factor, struct arena *perm)
{
    double time_us[N_SIZES];
    predicted_us(fault, factor, time_us, perm);
    struct check *check = check_text(rows_of("s", healthy, time_us, perm), perm);
    assert_int_equal(check->off.n, 1);
    return check->off.verdicts[0];
}

static void what_is_as_predicted_is_not_off(void **state)
{
    struct check_verdict verdict = verdict_of(healthy, 1.1, *state);
    assert_false(verdict.off);
    assert_close(verdict.ratio, 1.1, 1e-9);
    assert_null(verdict.first);
    assert_int_equal(verdict.n, 3); /* of 8 MB and more */
}

static void one_card_of_eight_is_recognised(void **state)
{
    struct check_verdict verdict = verdict_of((struct cluster){"nvswitch2", "ib", 1}, 1.02, *state);
    assert_true(verdict.off);
    assert_non_null(strstr(verdict.first, "one network card"));
    assert_close(verdict.ratio_with, 1.02, 1e-9);
}

static void sockets_instead_of_rdma_are_recognised(void **state)
{
    struct check_verdict verdict =
        verdict_of((struct cluster){"nvswitch2", "tcp", 8}, 0.97, *state);
    assert_true(verdict.off);
    assert_non_null(strstr(verdict.first, "TCP sockets instead of RDMA"));
}

/* Nothing that is tried makes every size 50 times slower. */
static void what_nothing_explains_is_said_to_be_so(void **state)
{
    struct check_verdict slow = verdict_of(healthy, 500, *state);
    assert_true(slow.off);
    assert_non_null(strstr(slow.first, "none of what was tried"));
    assert_true(isnan(slow.ratio_with));
    struct check_verdict fast = verdict_of(healthy, 0.5, *state);
    assert_true(fast.off);
    assert_non_null(strstr(fast.first, "not all was moved"));
}

/* The public table: of the series that it marks as suspect at least two thirds are off, of the others
 * at most 5 in 100. */
static void the_public_table_is_told_apart(void **state)
{
    struct diag diag = {.perm = *state};
    struct table *table = table_read("tests/published/collectives.csv", *state, &diag);
    struct row_reader *reader = row_open(table, &shipped, *state, &diag);
    assert_true(diag_ok(&diag));
    struct check *check = check_table(reader, *state);
    const struct check_off *off = &check->off;
    assert_true(off->n_suspect >= 40 && off->n_others >= 200);
    assert_true(3 * off->n_suspect_off >= 2 * off->n_suspect);
    assert_true(20 * off->n_others_off <= off->n_others);
    for (int i = 0; i < off->n_off; i++) assert_non_null(off->verdicts[i].first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_as_predicted_is_not_off),
        cmocka_unit_test(one_card_of_eight_is_recognised),
        cmocka_unit_test(sockets_instead_of_rdma_are_recognised),
        cmocka_unit_test(what_nothing_explains_is_said_to_be_so),
        cmocka_unit_test(the_public_table_is_told_apart),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
