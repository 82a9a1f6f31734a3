#include "against.h"

/* set_measured — the points' times are what these constants give. */
static void set_measured(struct against *against, const struct adjust *truth, struct arena scratch)
{
    against_predict(against, truth, scratch);
    for (int i = 0; i < against->n_points; i++)
        against->points[i].measured_s = against->points[i].predicted_s;
    against_predict(against, NULL, scratch);
}

static const struct against_constant *find(const struct against_fit *fit, const char *name)
{
    for (int k = 0; k < fit->n_constants; k++) {
        if (!strcmp(fit->constants[k].name, name)) return &fit->constants[k];
    }
    static const struct against_constant none = {.name = ""};
    fail_msg("no constant %s", name);
    return &none;
}

static const char *sweep(const char *collective, int n_ranks, struct arena *perm)
{
    const char *rows = "";
    for (int p = 10; p <= 30; p += 2)
        rows = arena_text(perm, "%s%s,,%.0f,%d,1,\n", rows, collective, ldexp(1, p), n_ranks);
    return rows;
}

static void constants_of_collectives_are_found_again(void **state)
{
    struct diag diag;
    struct against *against = open_rows(arena_text(*state, "%s%s", sweep("all_reduce", 16, *state),
                                                   sweep("all_gather", 16, *state)),
                                        *state, &diag);
    struct adjust truth = adjust_none;
    truth.latency = 1.5;
    truth.network_rate = 0.8;
    set_measured(against, &truth, *(struct arena *)*state);
    const struct against_fit *fit = against_fit(against, *state);
    assert_null(fit->problem);
    assert_close(find(fit, "latency")->value, 1.5, 0.01);
    assert_close(find(fit, "network_rate")->value, 0.8, 0.01);
    assert_true(find(fit, "latency")->sd > 0 && find(fit, "latency")->sd < 0.1);
    assert_true(fit->error_before > 0.1);
    assert_true(fit->error_after < 0.005);
    /* one collective, left out, is told by the other */
    assert_true(fit->error_left_out < 0.05);
}

/* Batches from 64 to 1024 on the same GPUs: what grows with them is compute, what does not is fixed. */
static void constants_of_steps_are_found_again(void **state)
{
    struct diag diag;
    struct against *against = open_rows("step,64,,1,1,\nstep,128,,1,1,\nstep,256,,1,1,\n"
                                        "step,512,,1,1,\nstep,1024,,1,1,\n",
                                        *state, &diag);
    struct adjust truth = adjust_none;
    truth.compute = 1.3;
    truth.overhead_s = 5e-3;
    set_measured(against, &truth, *(struct arena *)*state);
    const struct against_fit *fit = against_fit(against, *state);
    assert_null(fit->problem);
    assert_close(find(fit, "compute")->value, 1.3, 0.02);
    assert_close(find(fit, "overhead")->value, 5e-3, 0.1);
    assert_true(fit->error_left_out < 0.02);
    /* no interval is narrower than what steps differ by anyway */
    assert_true(fit->spread >= 0.02);
}

static void one_series_has_nothing_to_leave_out(void **state)
{
    struct diag diag;
    struct against *against = open_rows(sweep("all_reduce", 8, *state), *state, &diag);
    struct adjust truth = adjust_none;
    truth.scaleup_rate = 0.7;
    set_measured(against, &truth, *(struct arena *)*state);
    const struct against_fit *fit = against_fit(against, *state);
    assert_true(isnan(fit->error_left_out));
    assert_close(find(fit, "scaleup_rate")->value, 0.7, 0.02);
    for (int k = 0; k < fit->n_constants; k++)
        assert_string_not_equal(fit->constants[k].name, "network_rate"); /* one server */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_of_collectives_are_found_again),
        cmocka_unit_test(constants_of_steps_are_found_again),
        cmocka_unit_test(one_series_has_nothing_to_leave_out),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
