#include "base/field.h"

#include "test.h"

struct link_spec {
    double bandwidth_Bps, latency_s, share_frac;
    int n_ports;
    bool duplex;
    const char *name, *kind;
};

static const char *const kinds[] = {"copper", "fibre", NULL};

/* clang-format off */
static const struct field rows[] = {
    {"bandwidth", FIELD_REAL, DIM_RATE, FIELD_REAL_AT(struct link_spec, bandwidth_Bps), 1, 1e18, NULL, "one direction", NULL},
    {"latency", FIELD_REAL, DIM_TIME, FIELD_REAL_AT(struct link_spec, latency_s), 0, 10, "500ns", "port to port, unloaded", NULL},
    {"share", FIELD_REAL, DIM_FRACTION, FIELD_REAL_AT(struct link_spec, share_frac), 0, 1, "0.25", "of the cable", NULL},
    {"ports", FIELD_INT, DIM_COUNT, FIELD_INT_AT(struct link_spec, n_ports), 1, 128, "4", "at each end", NULL},
    {"duplex", FIELD_BOOL, DIM_NUMBER, FIELD_BOOL_AT(struct link_spec, duplex), 0, 0, "true", "both ways at once", NULL},
    {"name", FIELD_TEXT, DIM_NUMBER, FIELD_TEXT_AT(struct link_spec, name), 0, 0, "link", "in reports", NULL},
    {"kind", FIELD_CHOICE, DIM_NUMBER, FIELD_TEXT_AT(struct link_spec, kind), 0, 0, "fibre", "what it is made of", kinds},
};
/* clang-format on */
enum { N_ROWS = sizeof rows / sizeof rows[0] };

struct loaded {
    struct link_spec link;
    struct diag diag;
    struct field_log log;
};

static struct loaded load(const char *text, struct arena *perm)
{
    static const char *const extra[] = {"comment", NULL};
    struct loaded loaded = {.diag = {.perm = perm}};
    struct json *json = json_read_text("a.json", text, strlen(text), perm, &loaded.diag);
    assert_non_null(json);
    field_load(rows, N_ROWS, extra, json, json_root(json), &loaded.link, "link", &loaded.log, perm,
               &loaded.diag);
    return loaded;
}

static void values_arrive_in_SI(void **state)
{
    struct loaded got =
        load("{\"bandwidth\": \"400Gbps\", \"latency\": \"1.2us\", \"share\": 0.5, \"ports\": 8,"
             " \"duplex\": false, \"name\": \"x\", \"kind\": \"copper\", \"comment\": 1}",
             *state);
    assert_true(diag_ok(&got.diag));
    assert_close(got.link.bandwidth_Bps, 5e10, 1e-15);
    assert_close(got.link.latency_s, 1.2e-6, 1e-15);
    assert_close(got.link.share_frac, 0.5, 0);
    assert_int_equal(got.link.n_ports, 8);
    assert_false(got.link.duplex);
    assert_string_equal(got.link.name, "x");
    assert_ptr_equal(got.link.kind, kinds[0]);
}

static void what_is_not_said_gets_its_default(void **state)
{
    struct loaded got = load("{\"bandwidth\": \"1GB/s\"}", *state);
    assert_true(diag_ok(&got.diag));
    assert_close(got.link.latency_s, 5e-7, 1e-15);
    assert_close(got.link.share_frac, 0.25, 0);
    assert_int_equal(got.link.n_ports, 4);
    assert_true(got.link.duplex);
    assert_string_equal(got.link.name, "link");
    assert_string_equal(got.link.kind, "fibre");
}

static void every_fault_has_its_message(void **state)
{
    /* clang-format off */
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{}", "a.json:1:1: missing key \"bandwidth\" (one direction)"},
        {"{\"bandwidth\": 5}", "a.json:1:15: /bandwidth: is a number (wanted a rate such as 400Gbps or 50GB/s)"},
        {"{\"bandwidth\": \"400Gbs\"}", "a.json:1:15: /bandwidth: \"400Gbs\" cannot be read (wanted a rate such as 400Gbps or 50GB/s)"},
        {"{\"bandwidth\": \"25MiB\"}", "a.json:1:15: /bandwidth: \"25MiB\" cannot be read (wanted a rate such as 400Gbps or 50GB/s)"},
        {"{\"bandwidth\": \"-1Gbps\"}", "a.json:1:15: /bandwidth: -1Gbps is below the minimum 8 bps (one direction)"},
        {"{\"bandwidth\": null}", "a.json:1:15: /bandwidth: is null (wanted a rate such as 400Gbps or 50GB/s)"},
        {"{\"bandwidth\": \"1GB/s\", \"latncy\": \"1us\"}", "a.json:1:24: /latncy: unknown key \"latncy\" (did you mean \"latency\"?)"},
        {"{\"bandwidth\": \"1GB/s\", \"coment\": 1}", "a.json:1:24: /coment: unknown key \"coment\" (did you mean \"comment\"?)"},
        {"{\"bandwidth\": \"1GB/s\", \"zebra\": \"1us\"}", "a.json:1:24: /zebra: unknown key \"zebra\""},
        {"{\"bandwidth\": \"1GB/s\",\n\"latency\": \"-1us\"}", "a.json:2:12: /latency: -1us is below the minimum 0 (port to port, unloaded)"},
        {"{\"bandwidth\": \"1GB/s\", \"latency\": \"1h\"}", "a.json:1:35: /latency: 1h is above the maximum 10 s (port to port, unloaded)"},
        {"{\"bandwidth\": \"1GB/s\", \"share\": \"0.5\"}", "a.json:1:33: /share: is a text (wanted a fraction such as 0.5)"},
        {"{\"bandwidth\": \"1GB/s\", \"share\": 1.5}", "a.json:1:33: /share: 1.5 is above the maximum 1 (of the cable)"},
        {"{\"bandwidth\": \"1GB/s\", \"ports\": 1.5}", "a.json:1:33: /ports: \"1.5\" cannot be read (wanted a whole number)"},
        {"{\"bandwidth\": \"1GB/s\", \"ports\": 1e300}", "a.json:1:33: /ports: 1e+300 is above the maximum 128 (at each end)"},
        {"{\"bandwidth\": \"1GB/s\", \"ports\": 0}", "a.json:1:33: /ports: 0 is below the minimum 1 (at each end)"},
        {"{\"bandwidth\": \"1GB/s\", \"ports\": true}", "a.json:1:33: /ports: is true or false (wanted a whole number)"},
        {"{\"bandwidth\": \"1GB/s\", \"duplex\": 1}", "a.json:1:34: /duplex: is a number (wanted true or false)"},
        {"{\"bandwidth\": \"1GB/s\", \"name\": [1]}", "a.json:1:32: /name: is a list (wanted a text)"},
        {"{\"bandwidth\": \"1GB/s\", \"kind\": \"fiber\"}", "a.json:1:32: /kind: unknown value \"fiber\" (did you mean \"fibre\"?)"},
        {"{\"bandwidth\": \"1GB/s\", \"kind\": \"air\"}", "a.json:1:32: /kind: unknown value \"air\" (wanted one of \"copper\", \"fibre\")"},
        {"{\"bandwidth\": \"1GB/s\", \"kind\": 3}", "a.json:1:32: /kind: is a number (wanted one of \"copper\", \"fibre\")"},
        {"[1]", "a.json:1:1: is a list (wanted an object)"},
        {"3", "a.json:1:1: is a number (wanted an object)"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct loaded got = load(cases[i].text, *state);
        assert_int_equal(got.diag.n_messages, 1);
        assert_string_equal(got.diag.messages[0], cases[i].want);
        assert_true(got.link.bandwidth_Bps >= 1); /* harmless, whatever was wrong */
        assert_true(got.link.n_ports >= 1 && got.link.n_ports <= 128);
        assert_non_null(got.link.kind);
    }
}

static void all_faults_of_an_object_are_reported_at_once(void **state)
{
    struct loaded got = load("{\"latency\": 1, \"ports\": -1, \"knd\": 1}", *state);
    assert_int_equal(got.diag.n_messages, 4);
}

static void the_log_tells_values_from_defaults(void **state)
{
    struct loaded got =
        load("{\"bandwidth\": \"1GB/s\", \"share\": 0.1, \"duplex\": false}", *state);
    assert_int_equal(got.log.n_uses, N_ROWS);
    const struct {
        const char *key, *value;
        bool from_default;
    } want[N_ROWS] = {{"bandwidth", "1GB/s", false}, {"latency", "500ns", true},
                      {"share", "0.1", false},       {"ports", "4", true},
                      {"duplex", "false", false},    {"name", "link", true},
                      {"kind", "fibre", true}};
    for (int i = 0; i < N_ROWS; i++) {
        assert_string_equal(got.log.uses[i].object, "link");
        assert_string_equal(got.log.uses[i].key, want[i].key);
        assert_string_equal(got.log.uses[i].value, want[i].value);
        assert_int_equal(got.log.uses[i].from_default, want[i].from_default);
    }
}

static void an_absent_object_is_all_defaults(void **state)
{
    struct arena *perm = *state;
    struct diag diag = {.perm = perm};
    struct json *json = json_read_text("a.json", "{}", 2, perm, &diag);
    struct link_spec link;
    field_load(rows + 1, N_ROWS - 1, NULL, json, NULL, &link, "link", NULL, perm, &diag);
    assert_true(diag_ok(&diag));
    assert_close(link.latency_s, 5e-7, 1e-15);
    field_load(rows, N_ROWS, NULL, json, NULL, &link, "link", NULL, perm, &diag);
    assert_string_equal(diag.messages[0],
                        "a.json: link: missing key \"bandwidth\" (one direction)");
}

static const char *printed(void (*print)(FILE *, const struct field *, int), struct arena *perm)
{
    char *said = arena_new(perm, char, 8192);
    FILE *out = fmemopen(said, 8191, "w");
    print(out, rows, N_ROWS);
    fclose(out);
    return said;
}

static void the_schema_is_json_with_every_row(void **state)
{
    struct arena *perm = *state;
    struct diag diag = {.perm = perm};
    const char *text = arena_text(perm, "{%s}", printed(field_schema, perm));
    struct json *json = json_read_text("schema", text, strlen(text), perm, &diag);
    assert_non_null(json);
    const struct json_node *root = json_root(json);
    assert_int_equal(json_size(root), N_ROWS);
    assert_string_equal(json_text(json_get(json_get(root, "latency"), "default")), "500ns");
    assert_null(json_get(json_get(root, "bandwidth"), "default"));
    assert_string_equal(json_text(json_get(json_get(root, "ports"), "type")), "integer");
    assert_close(json_number(json_get(json_get(root, "ports"), "maximum")), 128, 0);
    assert_true(json_bool(json_get(json_get(root, "duplex"), "default")));
    assert_int_equal(json_size(json_get(json_get(root, "kind"), "enum")), 2);
}

static void the_manual_has_every_row(void **state)
{
    const char *text = printed(field_markdown, *state);
    assert_non_null(strstr(text, "| `latency` | a time such as 1.2us or 30s | `500ns` | 0 to 10 s "
                                 "| port to port, unloaded |\n"));
    assert_non_null(strstr(text, "| `bandwidth` | a rate such as 400Gbps or 50GB/s | required | "));
    assert_non_null(strstr(
        text, "| `kind` | one of \"copper\", \"fibre\" | `fibre` | | what it is made of |\n"));
}

static void a_value_that_stands_for_something_is_told_in_words(void **state)
{
    static const char help[] = "cards; -1 = as the profile says; 0 = none; more";
    assert_string_equal(field_meaning(help, "-1", *state), "as the profile says");
    assert_string_equal(field_meaning(help, "0GB/s", *state), "none");
    assert_string_equal(field_meaning("0 = no limit", "0s", *state), "no limit");
    assert_null(field_meaning(help, "1", *state));
    assert_null(field_meaning(help, "fp32", *state));
    assert_null(field_meaning("8 = x", "80", *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_arrive_in_SI),
        cmocka_unit_test(what_is_not_said_gets_its_default),
        cmocka_unit_test(every_fault_has_its_message),
        cmocka_unit_test(all_faults_of_an_object_are_reported_at_once),
        cmocka_unit_test(the_log_tells_values_from_defaults),
        cmocka_unit_test(an_absent_object_is_all_defaults),
        cmocka_unit_test(the_schema_is_json_with_every_row),
        cmocka_unit_test(the_manual_has_every_row),
        cmocka_unit_test(a_value_that_stands_for_something_is_told_in_words),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
