#include "out/result_json.h"

#include "base/table.h"
#include "sample.h"

static char *json_of(const struct result *result, size_t *size)
{
    char *text;
    PRINTED(text, *size, {
        struct writer writer = {.out = out};
        result_json(&writer, NULL, result);
    });
    return text;
}

/* The names that scripts rely on; a row here is never taken away. */
static void json_has_every_promised_name(void **state)
{
    static const char *const names[] = {
        "scenario",
        "fidelity",
        "n_gpus",
        "iteration_s",
        "interval_s",
        "compute_s",
        "communication_s",
        "exposed_communication_s",
        "bubble_s",
        "throughput",
        "throughput_unit",
        "scaling_efficiency",
        "bytes_sent_B",
        "memory_B",
        "fits",
        "limit",
        "n_classes",
        "n_events",
        "warnings",
    };
    size_t size;
    char *text = json_of(sample_result(1, *state), &size);
    const struct json_node *root = parse(text, size, *state);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!json_get(root, names[i])) fail_msg("no %s", names[i]);
    }
    const struct json_node *limit = json_get(root, "limit");
    assert_string_equal(json_text(json_get(limit, "kind")), "nic");
    assert_string_equal(json_text(json_get(limit, "name")), "node 0 nic 0 -> leaf 0");
    assert_close(json_number(json_get(limit, "gain_if_doubled")), 0.05, 1e-9);
    free(text);
}

static void json_values_are_those_of_the_result(void **state)
{
    size_t size;
    char *text = json_of(sample_result(1, *state), &size);
    const struct json_node *root = parse(text, size, *state);
    assert_string_equal(json_text(json_get(root, "scenario")), "sample, \"quoted\"");
    assert_string_equal(json_text(json_get(root, "throughput_unit")), "images/s");
    assert_close(json_number(json_get(root, "iteration_s")), 0.1, 1e-9);
    assert_close(json_number(json_at(json_get(root, "interval_s"), 1)), 0.12, 1e-9);
    assert_close(json_number(json_get(root, "n_events")), 12345678901, 1e-15);
    assert_close(json_number(json_get(root, "optimizer_s")), 0.005, 1e-9);
    assert_true(json_bool(json_get(root, "fits")));
    assert_string_equal(json_text(json_at(json_get(root, "warnings"), 0)), "a warning");
    free(text);
}

static void a_number_that_is_none_is_null_and_an_empty_cell(void **state)
{
    struct result *result = sample_result(1, *state);
    result->iteration_s = (double)INFINITY;
    result->mfu = (double)NAN;
    size_t size;
    char *text = json_of(result, &size);
    const struct json_node *root = parse(text, size, *state);
    assert_int_equal(json_kind(json_get(root, "iteration_s")), JSON_NULL);
    assert_int_equal(json_kind(json_get(root, "mfu")), JSON_NULL);
    free(text);
    PRINTED(text, size, result_csv_row(out, result, **(struct arena **)state));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "nan"));
    free(text);
}

static void csv_holds_the_same_values_as_json(void **state)
{
    const struct result *result = sample_result(1, *state);
    size_t json_size_B, csv_size;
    char *json = json_of(result, &json_size_B);
    char *csv;
    PRINTED(csv, csv_size, {
        result_csv_header(out);
        result_csv_row(out, result, **(struct arena **)state);
    });
    struct diag diag = {.perm = *state};
    const struct table *table = table_read_text("printed", csv, csv_size, *state, &diag);
    const struct json_node *root = parse(json, json_size_B, *state);
    assert_true(diag_ok(&diag));
    assert_int_equal(table->n_rows, 1);
    int n_same = 0;
    for (int c = 0; c < table->n_columns; c++) {
        const struct json_node *node = json_get(root, table->columns[c]);
        if (!node || json_kind(node) != JSON_NUMBER) continue;
        assert_close(strtod(table_cell(table, 0, c), NULL), json_number(node), 1e-9);
        n_same++;
    }
    assert_true(n_same >= 18);
    assert_string_equal(table_cell(table, 0, table_column(table, "scenario")),
                        "sample, \"quoted\"");
    assert_string_equal(table_cell(table, 0, table_column(table, "fits")), "yes");
    free(json);
    free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_promised_name),
        cmocka_unit_test(json_values_are_those_of_the_result),
        cmocka_unit_test(a_number_that_is_none_is_null_and_an_empty_cell),
        cmocka_unit_test(csv_holds_the_same_values_as_json),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
