/* "calibration" of a profile: read as written, refused where it makes no sense. */
#include "io/calibration.h"

#include "test.h"

static const struct measured *read(const char *text, struct diag *diag)
{
    struct json *json = json_read_text("c.json", text, strlen(text), diag->perm, diag);
    assert_non_null(json);
    return calibration_read(json, json_root(json), diag->perm, diag);
}

static void parts_are_read_as_written(void **state)
{
    struct diag diag = {.perm = *state};
    const struct measured *measured = read(
        "{\"device\": \"rig\", \"date\": \"2026-01-31\", \"files\": [\"raw.csv\"], \"parts\": ["
        "{\"part\": \"product\", \"dtype\": \"fp16\", \"unit\": \"FLOP\", \"least\": 1e6, "
        "\"most\": 1e12, \"rows\": 40, \"groups\": 8, \"fit_sd\": 0.01, \"left_out_sd\": 0.07, "
        "\"left_out_median\": 0.04, \"left_out_p90\": 0.1, \"left_out_bias\": -0.02, "
        "\"constants\": [], \"covariance\": [], \"worst\": []}]}",
        &diag);
    assert_true(diag_ok(&diag));
    assert_string_equal(measured->device, "rig");
    const struct measured_part *part = measured_find(measured, MEASURED_PRODUCT, DTYPE_FP16);
    assert_non_null(part);
    assert_close(part->least, 1e6, 0);
    assert_close(part->most, 1e12, 0);
    assert_int_equal(part->n_rows, 40);
    assert_close(part->fit_sd, 0.01, 0);
    assert_close(part->left_out_sd, 0.07, 0);
    assert_close(part->left_out_bias, -0.02, 0);
}

/* each is refused, and the message holds the words beside it */
static void nonsense_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[]", "is a list (wanted an object)"},
        {"{\"parts\": 3}", "c.json:1:11: /parts: is a number (wanted a list of parts)"},
        {"{\"parts\": [{\"part\": \"products\"}]}", "/parts/0/part"},
        {"{\"parts\": [{\"part\": \"product\", \"fit_sd\": -1}]}", "/parts/0/fit_sd"},
        {"{\"parts\": [{\"part\": \"memory\", \"least\": 2, \"most\": 1}]}", "\"most\" is below"},
        {"{\"parts\": [{\"part\": \"memory\", \"speed\": 2}]}", "unknown key \"speed\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag = {.perm = *state};
        read(cases[i].text, &diag);
        assert_false(diag_ok(&diag));
        if (!strstr(diag.messages[0], cases[i].says))
            fail_msg("%s: wanted \"%s\"", diag.messages[0], cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_read_as_written),
        cmocka_unit_test(nonsense_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
