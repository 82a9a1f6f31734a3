/* Exit statuses of dpsim-calib, with backends that do what is asked. */
#include "calib/program.h"

#include "base/raw.h"
#include "calib/fake.h"
#include "test.h"

#include <unistd.h>

static bool opens_nothing(struct calib_machine *machine, uint64_t seed, char *why, size_t size)
{
    (void)machine;
    (void)seed;
    snprintf(why, size, "no device was found");
    return false;
}

static const struct calib_backend absent = {.name = "absent", .open = opens_nothing};
static const struct calib_backend *const backends[] = {&calib_fake, &absent, NULL};

static char said[4000];

/* words end with NULL; what goes to standard error meanwhile is in `said` */
static int run(const char *const *words, struct arena *perm)
{
    char *argv[16] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++) argv[argc] = arena_text(perm, "%s", words[argc]);
    fflush(stderr);
    FILE *kept = tmpfile();
    int before = dup(STDERR_FILENO);
    dup2(fileno(kept), STDERR_FILENO);
    int status = calib_program(backends, argc, argv, perm);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(kept);
    size_t n = fread(said, 1, sizeof said - 1, kept);
    said[n] = '\0';
    fclose(kept);
    return status;
}

static struct raw *read_and_unlink(const char *file, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct raw *raw = raw_read(file, perm, &diag);
    assert_true(diag_ok(&diag));
    unlink(file);
    return raw;
}

static void what_is_measured_is_read_back(void **state)
{
    struct arena *perm = *state;
    char *out = arena_text(perm, "/tmp/dpsim-calib-test.%ld.csv", (long)getpid());
    const char *argv[] = {"dpsim-calib", "--backend", "fake", "--quick", "--only", "gemm",
                          "softmax",     "--dtype",   "bf16", "--out",   out,      NULL};
    fake_set(NULL);
    assert_int_equal(run(argv, perm), CALIB_FINE);
    const struct raw *raw = read_and_unlink(out, perm);
    assert_true(raw->n_rows > 50);
    assert_string_equal(raw_value(raw, "backend"), "fake");
    assert_string_equal(raw_value(raw, "wrong"), "0 cases");
    assert_true(raw_value(raw, "date")[0] != '\0');
    for (int r = 0; r < raw->n_rows; r++) assert_string_equal(raw->rows[r].dtype, "bf16");
}

static void a_wrong_result_is_exit_status_1_and_no_row(void **state)
{
    struct arena *perm = *state;
    struct fake_law law = fake_usual;
    law.check = 7;
    fake_set(&law);
    char *out = arena_text(perm, "/tmp/dpsim-calib-test.%ld.csv", (long)getpid());
    const char *argv[] = {"dpsim-calib", "--backend", "fake", "--quick", "--only",
                          "launch",      "--out",     out,    NULL};
    assert_int_equal(run(argv, perm), CALIB_WRONG);
    assert_non_null(strstr(said, "launch: the result is wrong by 7 times"));
    const struct raw *raw = read_and_unlink(out, perm);
    assert_int_equal(raw->n_rows, 0);
    assert_string_equal(raw_value(raw, "wrong"), "1 cases");
}

static void a_failing_device_is_exit_status_2(void **state)
{
    struct arena *perm = *state;
    struct fake_law law = fake_usual;
    law.fails_after = 3;
    fake_set(&law);
    char *out = arena_text(perm, "/tmp/dpsim-calib-test.%ld.csv", (long)getpid());
    const char *argv[] = {"dpsim-calib", "--backend", "fake", "--quick", "--only",
                          "copy",        "--out",     out,    NULL};
    assert_int_equal(run(argv, perm), CALIB_WORLD);
    assert_non_null(strstr(said, "the device is lost"));
    unlink(out);
}

static void no_device_is_exit_status_2_with_its_reason(void **state)
{
    const char *argv[] = {"dpsim-calib", "--backend", "absent", NULL};
    assert_int_equal(run(argv, *state), CALIB_WORLD);
    assert_string_equal(said, "dpsim-calib: absent cannot be measured: no device was found\n");
    const char *unbuilt[] = {"dpsim-calib", NULL};
    assert_int_equal(run(unbuilt, *state), CALIB_WORLD);
    assert_non_null(strstr(said, "no GPU can be measured"));
}

static void slips_on_the_command_line_are_exit_status_64(void **state)
{
    static const struct {
        const char *words[3], *message;
    } slips[] = {
        {{"--quik"}, "unknown option '--quik'; did you mean '--quick'?"},
        {{"gemm"}, "unknown option 'gemm'"},
        {{"--only", "gem"}, "unknown benchmark 'gem'; did you mean 'gemm'?"},
        {{"--only", "--quick"}, "--only needs the name of a benchmark"},
        {{"--only"}, "--only needs NAME..."},
        {{"--backend"}, "--backend needs NAME"},
        {{"--backend", "tpu"}, "unknown backend 'tpu'"},
        {{"--budget", "soon"}, "--budget 'soon' is no number from 0.001 to 1e+07"},
        {{"--budget", "0"}, "--budget '0' is no number"},
        {{"--threads", "1.5"}, "--threads wants a whole number"},
        {{"--seed", "-1"}, "--seed '-1' is no number"},
        {{"--dtype", "fp31"}, "unknown type 'fp31'; did you mean 'fp32'?"},
    };
    for (size_t s = 0; s < sizeof slips / sizeof slips[0]; s++) {
        const char *argv[5] = {"dpsim-calib"};
        for (int w = 0; w < 3 && slips[s].words[w]; w++) argv[w + 1] = slips[s].words[w];
        assert_int_equal(run(argv, *state), CALIB_USAGE);
        if (!strstr(said, slips[s].message)) fail_msg("said %s", said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_measured_is_read_back),
        cmocka_unit_test(a_wrong_result_is_exit_status_1_and_no_row),
        cmocka_unit_test(a_failing_device_is_exit_status_2),
        cmocka_unit_test(no_device_is_exit_status_2_with_its_reason),
        cmocka_unit_test(slips_on_the_command_line_are_exit_status_64),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
