#include "out/options.h"

#include "sample.h"

/* parse("run a.json --json"): words are separated by blanks */
static bool parse_line(const char *line, struct options *options, const char **message,
                       struct arena *perm)
{
    char **argv = arena_new(perm, char *, (int64_t)strlen(line) + 2);
    int argc = 0;
    char name[] = "dpsim";
    argv[argc++] = name;
    char *text = arena_text(perm, "%s", line);
    for (char *word = strtok_r(text, " ", &text); word; word = strtok_r(NULL, " ", &text))
        argv[argc++] = word;
    return options_parse(argc, argv, options, message, perm);
}

static void every_option_is_taken_by_its_commands_and_refused_by_others(void **state)
{
    for (int c = 0; c < N_COMMANDS; c++) {
        for (const struct option_row *row = option_rows; row < option_rows + n_option_rows; row++) {
            const char *choice = row->choices ? "fluid" : "7";
            char *line =
                arena_text(*state, "%s %s %s%s", command_rows[c].name,
                           command_rows[c].min_operands || c == COMMAND_RUN ? "a.json" : "",
                           row->name, row->kind == OPTION_FLAG ? "" : "=");
            if (row->kind != OPTION_FLAG) line = arena_text(*state, "%s%s", line, choice);
            struct options options;
            const char *message;
            bool taken = parse_line(line, &options, &message, *state);
            bool wanted = row->commands & (1U << c);
            /* these exclude each other, which is another test */
            if (wanted && strcmp(row->name, "--list") == 0) continue;
            if (taken != wanted) fail_msg("'%s': %s", line, taken ? "taken" : message);
        }
    }
}

static void help_lists_every_option_of_the_command(void **state)
{
    for (int c = 0; c < COMMAND_HELP; c++) {
        char *text;
        size_t size;
        PRINTED(text, size, options_help((enum command)c, out));
        for (const struct option_row *row = option_rows; row < option_rows + n_option_rows; row++)
            assert_int_equal(strstr(text, arena_text(*state, "%s ", row->name)) != NULL,
                             (row->commands & (1U << c)) != 0);
        free(text);
    }
}

static void usage_errors_say_what_was_meant(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"", "what should it do? 'dpsim help' lists the commands"},
        {"rum a.json", "unknown command 'rum'; did you mean 'run'?"},
        {"xyzzy", "unknown command 'xyzzy'; 'dpsim help' lists them"},
        {"run", "'dpsim run' needs a scenario file: dpsim run SCENARIO..."},
        {"topo", "'dpsim topo' needs a scenario file: dpsim topo SCENARIO"},
        {"run a.json --jsn", "unknown option '--jsn' of 'dpsim run'; did you mean '--json'?"},
        {"run a.json --unheard-of", "unknown option '--unheard-of'; 'dpsim help run' lists them"},
        {"run a.json --dot x", "'dpsim run' takes no --dot; 'dpsim help run' lists its options"},
        {"run a.json --trace", "--trace needs a value: --trace FILE"},
        {"run a.json --json=1", "--json takes no value"},
        {"run a.json --json --csv", "--json and --csv exclude each other"},
        {"run a.json b.json --trace t", "--trace takes one scenario"},
        {"run a.json --fidelity packet",
         "--fidelity: 'packet' is not one of estimate|fluid|message"},
        {"run a.json --fidelity flui", "--fidelity: 'flui' is not one of estimate|fluid|message"},
        {"topo a.json b.json", "'dpsim topo' takes one: SCENARIO; found 'b.json' besides"},
        {"models a.json", "'dpsim models' takes no file: 'a.json'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct options options;
        const char *message;
        assert_false(parse_line(cases[i].line, &options, &message, *state));
        assert_string_equal(message, cases[i].message);
    }
}

static void sets_keep_their_order_in_both_spellings(void **state)
{
    struct options options;
    const char *message;
    assert_true(parse_line("run a.json --set /a=1 b.json --set=/b=2 --set /a=3", &options, &message,
                           *state));
    assert_int_equal(options.sets.n, 3);
    assert_string_equal(options.sets.items[0], "/a=1");
    assert_string_equal(options.sets.items[1], "/b=2");
    assert_string_equal(options.sets.items[2], "/a=3");
    assert_int_equal(options.operands.n, 2);
    assert_string_equal(options.operands.items[1], "b.json");
}

static void after_two_dashes_all_words_are_files(void **state)
{
    struct options options;
    const char *message;
    assert_true(parse_line("run -- --json", &options, &message, *state));
    assert_false(options.json);
    assert_string_equal(options.operands.items[0], "--json");
}

static void short_options_of_nccl_tests_work(void **state)
{
    struct options options;
    const char *message;
    assert_true(parse_line("collective a.json -b 8 -e 128M -f 4", &options, &message, *state));
    assert_string_equal(options.begin, "8");
    assert_string_equal(options.end, "128M");
    assert_string_equal(options.factor, "4");
}

static void help_needs_no_file(void **state)
{
    struct options options;
    const char *message;
    assert_true(parse_line("run --help", &options, &message, *state));
    assert_true(options.help);
    assert_true(parse_line("--version", &options, &message, *state));
    assert_true(options.version);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_taken_by_its_commands_and_refused_by_others),
        cmocka_unit_test(help_lists_every_option_of_the_command),
        cmocka_unit_test(usage_errors_say_what_was_meant),
        cmocka_unit_test(sets_keep_their_order_in_both_spellings),
        cmocka_unit_test(after_two_dashes_all_words_are_files),
        cmocka_unit_test(short_options_of_nccl_tests_work),
        cmocka_unit_test(help_needs_no_file),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
