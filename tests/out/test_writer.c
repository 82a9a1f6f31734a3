#include "out/writer.h"

#include "sample.h"

static void nested_values_come_back_as_written(void **state)
{
    char *text;
    size_t size;
    PRINTED(text, size, {
        struct writer writer = {.out = out};
        writer_object(&writer, NULL);
        writer_number(&writer, "third", 1.0 / 3);
        writer_text(&writer, "quoted \"key\"", "tab\t, \\ and \x01");
        writer_flat_list(&writer, "flat");
        writer_flat_object(&writer, NULL);
        writer_bool(&writer, "yes", true);
        writer_end(&writer);
        writer_integer(&writer, NULL, -9007199254740993);
        writer_end(&writer);
        writer_list(&writer, "empty");
        writer_end(&writer);
        writer_end(&writer);
    });
    const struct json_node *root = parse(text, size, *state);
    assert_close(json_number(json_get(root, "third")), 1.0 / 3, 1e-9);
    assert_string_equal(json_text(json_get(root, "quoted \"key\"")), "tab\t, \\ and \x01");
    assert_int_equal(json_size(json_get(root, "flat")), 2);
    assert_true(json_bool(json_get(json_at(json_get(root, "flat"), 0), "yes")));
    assert_int_equal(json_size(json_get(root, "empty")), 0);
    assert_non_null(strstr(text, "\"flat\": [{\"yes\": true}, -9007199254740993]"));
    free(text);
}

static void what_is_no_number_is_null(void **state)
{
    char *text;
    size_t size;
    PRINTED(text, size, {
        struct writer writer = {.out = out};
        writer_list(&writer, NULL);
        writer_number(&writer, NULL, (double)INFINITY);
        writer_number(&writer, NULL, (double)NAN);
        writer_fixed(&writer, NULL, -(double)INFINITY, 3);
        writer_text(&writer, NULL, NULL);
        writer_end(&writer);
    });
    const struct json_node *root = parse(text, size, *state);
    assert_int_equal(json_size(root), 4);
    for (int i = 0; i < 4; i++) assert_int_equal(json_kind(json_at(root, i)), JSON_NULL);
    free(text);
}

static void a_csv_cell_is_quoted_only_when_it_must_be(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"plain", "plain"}, {"a,b", "\"a,b\""}, {"say \"x\"", "\"say \"\"x\"\"\""}, {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text;
        size_t size;
        PRINTED(text, size, csv_text(out, cases[i].text));
        assert_string_equal(text, cases[i].want);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_values_come_back_as_written),
        cmocka_unit_test(what_is_no_number_is_null),
        cmocka_unit_test(a_csv_cell_is_quoted_only_when_it_must_be),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
