#include "against.h"

static void each_point_is_predicted_with_its_own_gpus_and_batch(void **state)
{
    struct diag diag;
    const struct against *against = open_rows("step,1024,,16,0.08,\n"
                                              "step,1024,,16,0.09,\n"
                                              "step,4096,,32,0.2,\n"
                                              "all_reduce,,1048576,8,1e-4,\n"
                                              "all_reduce,,1048576,8,2e-4,in place\n"
                                              "all_reduce,,1048576,16,1e-4,\n",
                                              *state, &diag);
    assert_non_null(against);
    assert_int_equal(against->n_points, 4);
    assert_int_equal(against->n_steps, 2);
    assert_int_equal(against->n_groups, 4);
    assert_int_equal(against->n_in_place, 1);
    assert_close(against->points[0].measured_s, 0.085, 1e-12); /* the median of two */
    assert_close(against->inputs[against->points[0].place]->train.batch_per_gpu, 64, 0);
    assert_int_equal(against->inputs[against->points[1].place]->n_gpus, 32);
    assert_close(against->inputs[against->points[1].place]->train.batch_per_gpu, 128, 1e-9);
    assert_true(against->points[2].predicted_s < against->points[3].predicted_s);
}

/* A run of 20 steps, each faster than the one before: without the first two, the median of the rest. */
static void the_first_tenth_of_a_run_warms_up(void **state)
{
    struct diag diag;
    const char *rows = "";
    for (int step = 0; step < 20; step++)
        rows = arena_text(*state, "%sstep,1024,,16,%g,\n", rows, 0.4 - 0.01 * step);
    const struct against *against = open_rows(rows, *state, &diag);
    assert_non_null(against);
    assert_int_equal(against->n_points, 1);
    assert_close(against->points[0].measured_s, 0.4 - 0.01 * (2 + 19) / 2, 1e-12);
}

/* of one process that drives 8 GPUs, and of 8 processes, where each issues for itself: 8 bytes cost less */
static void who_drove_the_gpus_is_as_the_file_tells(void **state)
{
    static const char *const per[] = {"server", "gpu"};
    const char *scenario = "tests/study/against.json";
    double predicted_s[2];
    for (int i = 0; i < 2; i++) {
        struct diag diag = {.perm = *state};
        const char *text =
            arena_text(*state, "# raw: 1\n# process_per: %s\nbenchmark,size_B,n_ranks,time_s\n%s",
                       per[i], "all_reduce,8,8,1e-5\n");
        struct measured *measured =
            measured_read_text("rows", text, strlen(text), NULL, *state, &diag);
        struct against_files files = {
            .measured = &measured, .n_measured = 1, .scenarios = &scenario, .n_scenarios = 1};
        const struct against *against = against_open(&files, &against_options, *state, &diag);
        assert_non_null(against);
        predicted_s[i] = against->points[0].predicted_s;
    }
    assert_true(predicted_s[1] < 0.9 * predicted_s[0]);
}

/* 20 GPUs are no whole servers of 8. */
static void what_the_scenario_cannot_be_is_an_error_with_the_line(void **state)
{
    struct diag diag;
    assert_null(open_rows("all_reduce,,1048576,20,1e-4,\n", *state, &diag));
    assert_non_null(strstr(diag.messages[diag.n_messages - 1], "rows:3: measured on 20 GPUs"));
    assert_null(open_rows("ping_pong,,8,2,1e-6,\n", *state, &diag));
    assert_non_null(strstr(diag.messages[0], "neither collectives nor steps"));
}

static void the_median_of_errors_is_that_of_all_points(void **state)
{
    const struct against_point points[] = {{.measured_s = 1, .predicted_s = 1.1},
                                           {.measured_s = 1, .predicted_s = 0.7},
                                           {.measured_s = 2, .predicted_s = 2}};
    assert_close(against_error(points, 3, *(struct arena *)*state), 0.1, 1e-9);
}

/* slow[] — measured over predicted at 1 KiB, 1 MiB and 1 GiB */
static void suspicion_falls_on_where_it_is_slow(void **state)
{
    static const struct {
        double slow[3];
        const char *says;
    } cases[] = {
        {{1, 1, 1}, ""},
        {{0.5, 0.5, 0.5}, ""}, /* faster is no fault of the cluster */
        {{2, 1, 1}, "small messages"},
        {{1, 1, 2}, "links carry 0.50 of what they should"},
        {{1, 2, 1}, "the library's choice"},
        {{2, 2, 2}, "all sizes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct against_point points[3];
        for (int p = 0; p < 3; p++)
            points[p] = (struct against_point){
                .size_B = ldexp(1024, 10 * p), .predicted_s = 1, .measured_s = cases[i].slow[p]};
        const char *says = against_suspicion(points, 3, 0.1, *state);
        assert_true(cases[i].says[0] ? strstr(says, cases[i].says) != NULL : says[0] == '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_point_is_predicted_with_its_own_gpus_and_batch),
        cmocka_unit_test(the_first_tenth_of_a_run_warms_up),
        cmocka_unit_test(who_drove_the_gpus_is_as_the_file_tells),
        cmocka_unit_test(what_the_scenario_cannot_be_is_an_error_with_the_line),
        cmocka_unit_test(the_median_of_errors_is_that_of_all_points),
        cmocka_unit_test(suspicion_falls_on_where_it_is_slow),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
