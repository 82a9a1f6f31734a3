#include "base/json.h"

#include "test.h"

#include <unistd.h>

struct reading {
    struct json *json;
    struct diag diag;
};

static struct reading read_bytes(const char *text, size_t length, struct arena *perm)
{
    struct reading reading = {.diag = {.perm = perm}};
    reading.json = json_read_text("a.json", text, length, perm, &reading.diag);
    return reading;
}

static struct reading read_text(const char *text, struct arena *perm)
{
    return read_bytes(text, strlen(text), perm);
}

static struct json *must_read(const char *text, struct arena *perm)
{
    struct reading reading = read_text(text, perm);
    if (!reading.json) fail_msg("%s", reading.diag.messages[0]);
    return reading.json;
}

static const char *repeat(const char *text, int n, struct arena *perm)
{
    size_t length = strlen(text);
    char *all = arena_new(perm, char, (int64_t)length *n + 1);
    for (int i = 0; i < n; i++) memcpy(all + (size_t)i * length, text, length);
    return all;
}

static void every_kind_of_value_is_read(void **state)
{
    struct json *json = must_read(" {\"n\": null, \"b\": true, \"x\": -1.5e2, \"t\": "
                                  "\"a\\u00e9\\n\\ud83d\\ude00\", \"l\": [1, [], {}]} \n",
                                  *state);
    const struct json_node *root = json_root(json);
    assert_int_equal(json_kind(root), JSON_OBJECT);
    assert_int_equal(json_size(root), 5);
    assert_int_equal(json_kind(json_get(root, "n")), JSON_NULL);
    assert_true(json_bool(json_get(root, "b")));
    assert_close(json_number(json_get(root, "x")), -150, 0);
    assert_string_equal(json_text(json_get(root, "t")), "a\xc3\xa9\n\xf0\x9f\x98\x80");
    const struct json_node *list = json_get(root, "l");
    assert_int_equal(json_size(list), 3);
    assert_int_equal(json_kind(json_at(list, 2)), JSON_OBJECT);
    assert_string_equal(json_key(list), "l");
    assert_string_equal(json_key(json_at(list, 0)), "");
    assert_null(json_get(list, "l"));
    assert_string_equal(json_file(json), "a.json");
}

static void keys_differ_by_case(void **state)
{
    struct json *json = must_read("{\"Rate\": 1, \"rate\": 2}", *state);
    assert_close(json_number(json_get(json_root(json), "rate")), 2, 0);
    assert_null(json_get(json_root(json), "RATE"));
}

/* each with the message; most are taken by cJSON */
static void what_the_grammar_forbids_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "a.json:1:1: wanted a value"},
        {"  \n ", "a.json:2:2: wanted a value"},
        {"{} x", "a.json:1:4: text after the end of the document"},
        {"{}\n{}", "a.json:2:1: text after the end of the document"},
        {"{\"a\": 01}", "a.json:1:7: a number may not begin with 0"},
        {"{\"a\": -}", "a.json:1:7: a number needs a digit here"},
        {"[1.]", "a.json:1:2: a number needs a digit after the point"},
        {"[1e]", "a.json:1:2: a number needs a digit after the e"},
        {"[+1]", "a.json:1:2: is no JSON value (text stands in double quotes)"},
        {"[.5]", "a.json:1:2: is no JSON value (text stands in double quotes)"},
        {"[1e999]", "a.json:1:2: a number is too large"},
        {"[-1e999]", "a.json:1:2: a number is too large"},
        {"[nan]", "a.json:1:2: is no JSON value (text stands in double quotes)"},
        {"[Infinity]", "a.json:1:2: is no JSON value (text stands in double quotes)"},
        {"[0x10]", "a.json:1:3: wanted ',' or ']'"},
        {"[400Gbps]", "a.json:1:5: wanted ',' or ']'"},
        {"[1,]", "a.json:1:4: wanted a value"},
        {"[1", "a.json:1:3: wanted ',' or ']'"},
        {"{\"a\" 1}", "a.json:1:6: wanted ':' after a key"},
        {"{\"a\": 1,}", "a.json:1:9: wanted a key in double quotes"},
        {"{a: 1}", "a.json:1:2: wanted a key in double quotes"},
        {"{'a': 1}", "a.json:1:2: wanted a key in double quotes"},
        {"{\"a\": 1 \"b\": 2}", "a.json:1:9: wanted ',' or '}'"},
        {"{\"a\":}", "a.json:1:6: wanted a value"},
        {"[\"a\nb\"]", "a.json:1:4: a text holds a control byte or a line end"},
        {"[\"a\xff\"]", "a.json:1:4: a text holds bytes that are no UTF-8"},
        {"[\"ab", "a.json:1:2: a text has no closing quote"},
        {"[\"ab\\", "a.json:1:2: a text has no closing quote"},
        {"[\"\\x41\"]", "a.json:1:3: unknown escape in a text"},
        {"[\"\\u12g4\"]", "a.json:1:3: \\u needs four hexadecimal digits"},
        {"[\"\\u12", "a.json:1:3: \\u needs four hexadecimal digits"},
        {"[\"a\\u0000b\"]", "a.json:1:4: NUL in a text"},
        {"[\x01"
         "1]",
         "a.json:1:2: is no JSON value (text stands in double quotes)"},
        {"[1\x0b]", "a.json:1:3: wanted ',' or ']'"},
        {"[tru]", "a.json:1:2: is no JSON value (text stands in double quotes)"},
        {"// no\n[1]", "a.json:1:1: is no JSON value (text stands in double quotes)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading reading = read_text(cases[i].text, *state);
        assert_null(reading.json);
        assert_int_equal(reading.diag.n_messages, 1);
        assert_string_equal(reading.diag.messages[0], cases[i].want);
    }
}

/* cJSON's own finding: half of a surrogate pair is no character */
static void half_a_surrogate_pair_is_refused(void **state)
{
    struct reading reading = read_text("[\n \"\\ud83d\"]", *state);
    assert_null(reading.json);
    assert_non_null(strstr(reading.diag.messages[0], "a.json:2:"));
    assert_non_null(strstr(reading.diag.messages[0], "a \\u escape is no character"));
    assert_null(read_text("[\"\\ude00\"]", *state).json);
}

/* Found in cJSON: it reads the first 63 characters of a number and then stumbles over the rest. */
static void a_number_too_long_for_cjson_is_refused(void **state)
{
    struct arena *perm = *state;
    const char *fits = arena_text(perm, "[0.%s]", repeat("1", 58, perm));
    assert_close(json_number(json_at(json_root(must_read(fits, perm)), 0)), 1.0 / 9, 1e-15);
    struct reading reading = read_text(arena_text(perm, "[0.%s]", repeat("1", 59, perm)), perm);
    assert_string_equal(reading.diag.messages[0],
                        "a.json:1:2: a number has more than 60 characters");
}

static void nul_bytes_are_refused(void **state)
{
    static const char in_blanks[] = "[1,\0 2]";
    struct reading reading = read_bytes(in_blanks, sizeof in_blanks - 1, *state);
    assert_string_equal(reading.diag.messages[0], "a.json:1:4: a NUL byte");
    static const char in_text[] = "[\"a\0b\"]";
    reading = read_bytes(in_text, sizeof in_text - 1, *state);
    assert_string_equal(reading.diag.messages[0],
                        "a.json:1:4: a text holds a control byte or a line end");
    static const char after[] = "[1]\0";
    reading = read_bytes(after, sizeof after - 1, *state);
    assert_string_equal(reading.diag.messages[0], "a.json:1:4: text after the end of the document");
}

static void nesting_ends_at_its_limit_and_never_with_the_stack(void **state)
{
    struct arena *perm = *state;
    const char *deepest =
        arena_text(perm, "%s%s", repeat("[", JSON_DEPTH, perm), repeat("]", JSON_DEPTH, perm));
    must_read(deepest, perm);
    struct reading reading = read_text(arena_text(perm, "[%s]", deepest), perm);
    assert_string_equal(reading.diag.messages[0], "a.json:1:65: is nested too deeply");
    reading = read_text(repeat("[", 100000, perm), perm);
    assert_string_equal(reading.diag.messages[0], "a.json:1:65: is nested too deeply");
    reading = read_text(repeat("{\"a\":", 100000, perm), perm);
    assert_string_equal(reading.diag.messages[0],
                        "a.json:1:321: is nested too deeply"); /* 64 * 5 + 1 */
}

static void a_key_given_twice_is_refused_where_it_stands_again(void **state)
{
    struct reading reading =
        read_text("{\"x\": {\"a\": 1, \"b\": 2,\n \"a\": 3},\n \"y\": 1, \"\\u0079\": 2}", *state);
    assert_null(reading.json);
    assert_int_equal(reading.diag.n_messages, 2);
    assert_string_equal(reading.diag.messages[0],
                        "a.json:2:2: /x/a: the key \"a\" stands here a second time");
    assert_string_equal(reading.diag.messages[1],
                        "a.json:3:10: /y: the key \"y\" stands here a second time");
}

static void many_keys_are_compared_in_reasonable_time(void **state)
{
    struct arena *perm = *state;
    enum { N = 100000 };
    char *text = arena_new(perm, char, 16 * N);
    char *to = text + sprintf(text, "{");
    for (int i = 0; i < N; i++) to += sprintf(to, "\"k%d\":1,", i);
    sprintf(to, "\"last\":1}");
    assert_int_equal(json_size(json_root(must_read(text, perm))), N + 1);
}

static void byte_order_mark_and_crlf_are_accepted(void **state)
{
    struct json *json = must_read("\xef\xbb\xbf{\r\n\t\"a\": 1\r\n}\r\n", *state);
    struct diag_place place = json_place(json, json_get(json_root(json), "a"), *state);
    assert_int_equal(place.line, 2);
    assert_int_equal(place.column, 7); /* the tab counts as one */
}

static void every_node_knows_line_column_and_pointer(void **state)
{
    struct arena *perm = *state;
    struct json *json =
        must_read("{\"a\\\"}\": [1,\n  {\"b/c\": {\"~\": [true , \"\xc3\xa9\", 7]}}]}", perm);
    const struct json_node *list = json_at(json_root(json), 0);
    const struct json_node *inner = json_get(json_at(list, 1), "b/c");
    const struct json_node *last = json_at(json_get(inner, "~"), 2);
    const struct {
        const struct json_node *node;
        int line, column;
        const char *pointer;
    } cases[] = {
        {json_root(json), 1, 1, ""},
        {list, 1, 10, "/a\"}"},
        {json_at(list, 0), 1, 11, "/a\"}/0"},
        {json_at(list, 1), 2, 3, "/a\"}/1"},
        {inner, 2, 11, "/a\"}/1/b~1c"},
        {last, 2, 30, "/a\"}/1/b~1c/~0/2"}, /* the accented letter is one column */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diag_place place = json_place(json, cases[i].node, perm);
        assert_string_equal(place.file, "a.json");
        assert_int_equal(place.line, cases[i].line);
        assert_int_equal(place.column, cases[i].column);
        assert_string_equal(place.pointer, cases[i].pointer);
    }
    assert_int_equal(json_key_place(json, inner, perm).column, 4);
    assert_int_equal(json_key_place(json, last, perm).column, 30);
}

static const char *set(struct json *json, const char *pointer, const char *text, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    json_set(json, pointer, text, &diag);
    return diag.n_messages > 0 ? diag.messages[0] : "";
}

static void set_replaces_and_adds(void **state)
{
    struct arena *perm = *state;
    struct json *json =
        must_read("{\"nic\": {\"rate\": \"1Gbps\"}, \"l\": [1, 2], \"a/b~\": 0}", perm);
    const struct json_node *root = json_root(json);
    assert_string_equal(set(json, "/nic/rate", "25GB/s", perm), ""); /* not JSON: a bare text */
    assert_string_equal(json_text(json_get(json_get(root, "nic"), "rate")), "25GB/s");
    assert_string_equal(set(json, "/nic/new", "{\"x\": [1]}", perm), "");
    assert_int_equal(json_kind(json_get(json_get(root, "nic"), "new")), JSON_OBJECT);
    assert_string_equal(set(json, "/nic/new/x/0", "false", perm), "");
    assert_string_equal(set(json, "/l/1", "7", perm), "");
    assert_string_equal(set(json, "/l/2", "8", perm), "");
    assert_string_equal(set(json, "/l/-", "9", perm), "");
    assert_int_equal(json_size(json_get(root, "l")), 4);
    assert_close(json_number(json_at(json_get(root, "l"), 3)), 9, 0);
    assert_string_equal(set(json, "/a~1b~0", "\"quoted\"", perm), "");
    assert_string_equal(json_text(json_get(root, "a/b~")), "quoted");
    assert_string_equal(set(json, "/e", "", perm), "");
    assert_string_equal(json_text(json_get(root, "e")), "");
    for (int i = 0; i < 100; i++) {
        assert_string_equal(set(json, arena_text(perm, "/k%d", i), "1", perm), "");
    }
    assert_int_equal(json_size(root), 104);
    const struct json_node *deep =
        json_at(json_get(json_get(json_get(root, "nic"), "new"), "x"), 0);
    struct diag_place place = json_place(json, deep, perm);
    assert_string_equal(place.file, "--set");
    assert_int_equal(place.line, 0);
    assert_string_equal(place.pointer, "/nic/new/x/0");
    assert_string_equal(set(json, "", "[5]", perm), "");
    assert_int_equal(json_kind(json_root(json)), JSON_LIST);
}

static void set_makes_the_objects_around_a_new_value(void **state)
{
    struct arena *perm = *state;
    struct json *json = must_read("{\"l\": [{}]}", perm);
    assert_string_equal(set(json, "/run/deep/seed", "3", perm), "");
    assert_string_equal(set(json, "/run/deep/on", "true", perm), "");
    assert_string_equal(set(json, "/l/0/new/x", "4", perm), "");
    const struct json_node *deep = json_get(json_get(json_root(json), "run"), "deep");
    assert_int_equal(json_size(deep), 2);
    assert_close(json_number(json_get(deep, "seed")), 3, 0);
    struct diag_place place = json_place(json, deep, perm);
    assert_string_equal(place.file, "--set");
    assert_string_equal(place.pointer, "/run/deep");
    const struct json_node *first = json_at(json_get(json_root(json), "l"), 0);
    assert_close(json_number(json_get(json_get(first, "new"), "x")), 4, 0);
}

static void set_reports_pointers_that_lead_nowhere(void **state)
{
    struct arena *perm = *state;
    struct json *json = must_read("{\"nic\": {\"rate\": 1}, \"l\": [1, 2]}", perm);
    const struct {
        const char *pointer, *want;
    } cases[] = {
        {"nic/rate", "--set: nic/rate: wanted a JSON pointer such as /key/0/key"},
        {"/nic/rate/x", "--set: /nic/rate/x: there is no \"x\" in a number there"},
        {"/l/3", "--set: /l/3: there is no \"3\" in a list there"},
        {"/l/2/x", "--set: /l/2/x: there is no \"2\" in a list there"},
        {"/l/x", "--set: /l/x: there is no \"x\" in a list there"},
        {"/l/1e0", "--set: /l/1e0: there is no \"1e0\" in a list there"},
        {"/l/99999999999999999999",
         "--set: /l/99999999999999999999: there is no \"99999999999999999999\" in a list there"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(set(json, cases[i].pointer, "1", perm), cases[i].want);
    }
    assert_int_equal(json_size(json_root(json)), 2);
    assert_int_equal(json_size(json_get(json_root(json), "l")), 2);
}

static const char *temporary_file(struct arena *perm)
{
    char *name = arena_text(perm, "/tmp/dpsim-test-XXXXXX");
    int file = mkstemp(name);
    assert_true(file >= 0);
    close(file);
    return name;
}

static void files_that_cannot_be_read_are_reported(void **state)
{
    struct arena *perm = *state;
    struct diag diag = {.perm = perm};
    assert_null(json_read_file("/nowhere/x.json", perm, &diag));
    assert_string_equal(diag.messages[0],
                        "/nowhere/x.json: cannot be read: No such file or directory");
    assert_null(json_read_file("/tmp", perm, &diag));
    assert_string_equal(diag.messages[1], "/tmp: cannot be read: Is a directory");
}

static void a_huge_file_is_refused_without_reading_it(void **state)
{
    struct arena *perm = *state;
    const char *name = temporary_file(perm);
    assert_int_equal(truncate(name, (off_t)1 << 40), 0); /* sparse: 1 TiB that no one could read */
    const char *top = perm->at;
    struct diag diag = {.perm = perm};
    assert_null(json_read_file(name, perm, &diag));
    assert_string_equal(diag.messages[0], arena_text(perm, "%s: is larger than 16 MiB", name));
    assert_true(perm->at - top < 4096);
    unlink(name);
    assert_null(json_read_file("/dev/zero", perm, &diag)); /* endless, and its size is not known */
    assert_string_equal(diag.messages[1], "/dev/zero: is larger than 16 MiB");
}

static void a_file_reads_as_its_text(void **state)
{
    struct arena *perm = *state;
    const char *name = temporary_file(perm);
    FILE *out = fopen(name, "w");
    fputs("{\"a\": [1, 2]}\n", out);
    fclose(out);
    struct diag diag = {.perm = perm};
    struct json *json = json_read_file(name, perm, &diag);
    unlink(name);
    assert_non_null(json);
    assert_int_equal(json_size(json_get(json_root(json), "a")), 2);
    json_close(json);
}

static void written_text_reads_back(void **state)
{
    struct arena *perm = *state;
    const char *text = "a\"b\\c\n\t\x1f/\xc3\xa9";
    char said[128] = {0};
    FILE *out = fmemopen(said, sizeof said, "w");
    fputc('[', out);
    json_write_text(out, text);
    fputc(']', out);
    fclose(out);
    assert_string_equal(json_text(json_at(json_root(must_read(said, perm)), 0)), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_read),
        cmocka_unit_test(keys_differ_by_case),
        cmocka_unit_test(what_the_grammar_forbids_is_refused_with_its_place),
        cmocka_unit_test(half_a_surrogate_pair_is_refused),
        cmocka_unit_test(a_number_too_long_for_cjson_is_refused),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(nesting_ends_at_its_limit_and_never_with_the_stack),
        cmocka_unit_test(a_key_given_twice_is_refused_where_it_stands_again),
        cmocka_unit_test(many_keys_are_compared_in_reasonable_time),
        cmocka_unit_test(byte_order_mark_and_crlf_are_accepted),
        cmocka_unit_test(every_node_knows_line_column_and_pointer),
        cmocka_unit_test(set_replaces_and_adds),
        cmocka_unit_test(set_makes_the_objects_around_a_new_value),
        cmocka_unit_test(set_reports_pointers_that_lead_nowhere),
        cmocka_unit_test(files_that_cannot_be_read_are_reported),
        cmocka_unit_test(a_huge_file_is_refused_without_reading_it),
        cmocka_unit_test(a_file_reads_as_its_text),
        cmocka_unit_test(written_text_reads_back),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
