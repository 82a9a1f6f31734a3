#include "study/check.h"
#include "study/fit.h"
#include "study/splice.h"

#include "test.h"

#include <unistd.h>

#define COLUMNS                                                                                    \
    "id,notes,collective,gpu_key,intra_key,nic_key,fabric_key,gpus_per_node,nodes,nics_per_node,"  \
    "nic_gbps,library,lib_version,algo,proto,size_bytes,time_us\n"
#define TWO_NODES "allreduce,a100-sxm-80,nvswitch2,ib,none,8,2,8,200,NCCL,2.18,Ring,Simple"
#define FREE                                                                                       \
    "{\"constants\": [{\"profile\": \"ib-hdr\", \"pointer\": \"/efficiency\", \"lower\": 0.5, "    \
    "\"upper\": 1}]}"

static const struct scenario_options shipped = {.profile_dir = "scenarios"};

static const char *file_of(const char *text, struct arena *perm)
{
    char *path = arena_text(perm, "/tmp/dpsim-fit-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static const struct row_reader *reader_of(const char *rows, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const char *text = arena_text(perm, COLUMNS "%s", rows);
    struct table *table = table_read_text("t.csv", text, strlen(text), perm, &diag);
    struct row_reader *reader = row_open(table, &shipped, perm, &diag);
    assert_true(diag_ok(&diag));
    return reader;
}

static struct check *fit_text(const char *rows, const char *on, struct free_set **set,
                              struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const char *file = file_of(FREE, perm);
    struct fit_options options = {on, file, 500};
    struct check *check = check_fitted(reader_of(rows, perm), &options, set, perm, &diag);
    unlink(file);
    assert_true(diag_ok(&diag));
    return check;
}

/* The time that the model gives with the card's efficiency at 0.8: a fit must find 0.8 again. */
static double true_us(double size_B, struct arena *perm)
{
    struct profile_edit edit = {"ib-hdr", "/efficiency", "0.8"};
    bool read = false;
    struct profile_edits edits = {&edit, &read, 1};
    struct scenario_options how = {.profile_dir = "scenarios", .edits = &edits};
    struct row_reader reader =
        *reader_of(arena_text(perm, "s,," TWO_NODES ",%.0f,1\n", size_B), perm);
    reader.options = &how;
    const struct check *check = check_table(&reader, perm);
    assert_true(read);
    return 1e6 * check->rows[0].predicted_s;
}

static const char *true_rows(struct arena *perm)
{
    const char *rows = "";
    for (double size_B = 1 << 26; size_B <= 1 << 30; size_B *= 4)
        for (const char *id = "pqrs"; *id; id++)
            rows = arena_text(perm, "%s%c,," TWO_NODES ",%.0f,%.9g\n", rows, *id, size_B,
                              true_us(size_B, perm));
    return rows;
}

static void a_constant_is_found_again_and_judged_on_the_other_half(void **state)
{
    struct free_set *set = NULL;
    const struct check *check = fit_text(true_rows(*state), "a", &set, *state);
    const struct check_fit *fit = check->fit;
    assert_true(fabs(fit->constants[0].after - 0.8) < 0.01);
    assert_int_equal(fit->constants[0].n_rows, 6); /* p and r; three sizes */
    assert_string_equal(fit->parts.scores[3].id, "b after");
    assert_int_equal(fit->parts.scores[3].n, 6);
    assert_true(fit->parts.scores[2].median_abs > 0.05);
    assert_true(fit->parts.scores[3].median_abs < 0.01);
    assert_true(fit->loss_after < fit->loss_before);
}

static void folds_predict_each_group_by_the_others(void **state)
{
    struct free_set *set = NULL;
    const struct check *check = fit_text(true_rows(*state), "4", &set, *state);
    assert_int_equal(check->fit->parts.n, 8);
    assert_true(check->overall.max_abs < 0.02);
    assert_int_equal(check->fit->constants[0].n_rows, 4 * 9); /* each time three of four groups */
}

static void fits_are_the_same_twice(void **state)
{
    struct free_set *set = NULL;
    const char *rows = true_rows(*state);
    const struct check *a = fit_text(rows, "a", &set, *state);
    const struct check *b = fit_text(rows, "a", &set, *state);
    assert_close(a->fit->constants[0].after, b->fit->constants[0].after, 0);
    assert_int_equal(a->fit->n_evaluations, b->fit->n_evaluations);
}

static void a_fitted_profile_differs_in_the_value_only(void **state)
{
    struct free_set *set = NULL;
    struct diag diag = {.perm = *state};
    fit_text(true_rows(*state), "a", &set, *state);
    const char *file = NULL;
    const char *text = splice_profile(set, "ib-hdr", "scenarios", &file, *state, &diag);
    assert_string_equal(file, "links/ib-hdr.json");
    struct json *json = json_read_text(file, text, strlen(text), *state, &diag);
    assert_true(diag_ok(&diag));
    double value = json_number(json_get(json_root(json), "efficiency"));
    assert_true(fabs(value - 0.8) < 0.01);
    assert_non_null(strstr(text, "\"bandwidth\": \"200Gbps\",\n"));
}

static void free_constants_that_make_no_sense_are_named_with_their_place(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{}", "wants a list of constants"},
        {"{\"constants\": [{\"profile\": \"ib-hd\", \"pointer\": \"/efficiency\", \"lower\": 0, "
         "\"upper\": 1}]}",
         ":1:28: /constants/0/profile: no such profile \"ib-hd\""},
        {"{\"constants\": [{\"profile\": \"ib-hdr\", \"pointer\": \"/a/b\", \"lower\": 0, "
         "\"upper\": 1}]}",
         "/constants/0/pointer: leads nowhere in \"ib-hdr\""},
        {"{\"constants\": [{\"profile\": \"ib-hdr\", \"pointer\": \"/latency\", \"lower\": 0, "
         "\"upper\": \"1us\"}]}",
         "equal units"},
        {"{\"constants\": [{\"profile\": \"ib-hdr\", \"pointer\": \"/efficiency\", \"lower\": 0, "
         "\"upper\": 1, \"scale\": \"log\"}]}",
         "0 < lower for a log scale"},
        {"{\"constants\": [{\"profile\": \"ib-hdr\", \"pointer\": \"/none\", \"lower\": 0, "
         "\"upper\": 1}]}",
         "wants a start"},
        {"{\"constants\": [{\"profil\": \"ib-hdr\"}]}", "unknown key \"profil\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diag diag = {.perm = *state};
        const char *file = file_of(cases[i].text, *state);
        assert_null(free_read(file, "scenarios", *state, &diag));
        unlink(file);
        assert_true(diag.n_messages > 0);
        assert_non_null(strstr(diag.messages[0], cases[i].said));
    }
}

static void pointers_name_elements_by_what_they_hold(void **state)
{
    struct diag diag = {.perm = *state};
    const char *file = file_of("{\"constants\": [{\"profile\": \"nccl-2.18\", \"pointer\": "
                               "\"/choices/collectives=all_reduce,protocol=LL/base_latency\", "
                               "\"lower\": \"1us\", \"upper\": \"9us\"}]}",
                               *state);
    const struct free_set *set = free_read(file, "scenarios", *state, &diag);
    unlink(file);
    assert_true(diag_ok(&diag));
    assert_true(set->edits.n >= 2); /* tree and ring */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_is_found_again_and_judged_on_the_other_half),
        cmocka_unit_test(folds_predict_each_group_by_the_others),
        cmocka_unit_test(fits_are_the_same_twice),
        cmocka_unit_test(a_fitted_profile_differs_in_the_value_only),
        cmocka_unit_test(free_constants_that_make_no_sense_are_named_with_their_place),
        cmocka_unit_test(pointers_name_elements_by_what_they_hold),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
