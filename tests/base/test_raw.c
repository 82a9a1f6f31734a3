#include "base/raw.h"

#include "test.h"

#include <unistd.h>

struct reading {
    struct raw *raw;
    struct diag diag;
};

static struct reading read_text(const char *text, struct arena *perm)
{
    struct reading reading = {.diag = {.perm = perm}};
    reading.raw = raw_read_text("a.csv", text, strlen(text), perm, &reading.diag);
    return reading;
}

static void assert_message(const struct reading *reading, int i, const char *want)
{
    assert_true(reading->diag.n_messages > i);
    assert_string_equal(reading->diag.messages[i], want);
}

static void head_and_rows_are_read_with_their_lines(void **state)
{
    struct reading reading = read_text("# raw: 1\n# device: NVIDIA H200: 141 GB\r\n\n#empty:\n"
                                       "benchmark,dtype,layout,m,n,k,time_s,check\n"
                                       "gemm,bf16,nt,8,16,32,1e-3,0.25\n"
                                       "\n"
                                       "launch,,,,,,2e-6,\n",
                                       *state);
    assert_true(diag_ok(&reading.diag));
    const struct raw *raw = reading.raw;
    assert_string_equal(raw_value(raw, "device"), "NVIDIA H200: 141 GB");
    assert_string_equal(raw_value(raw, "empty"), "");
    assert_string_equal(raw_value(raw, "clock"), "");
    assert_int_equal(raw->n_heads, 3);
    assert_int_equal(raw->n_rows, 2);
    const struct raw_row *row = raw->rows;
    assert_string_equal(row->layout, "nt");
    assert_int_equal(row->k, 32);
    assert_close(row->time_s, 1e-3, 0);
    assert_close(row->check, 0.25, 0);
    assert_int_equal(row->line, 6);
    assert_int_equal(row[1].line, 8);
    assert_true(row[1].check < 0);
    assert_int_equal(row[1].m, 0);
}

static void what_is_written_is_read_back(void **state)
{
    struct arena *perm = *state;
    const struct raw_head heads[] = {{"device", "a, \"b\"\n# raw: 2"}, {"clock", "1980 MHz"}};
    const struct raw_row rows[] = {
        {.benchmark = "gemm_during_copy",
         .dtype = "fp16",
         .layout = "tn",
         .note = "a, \"b\"",
         .m = 1,
         .n = 2,
         .k = 9007199254740992,
         .batch = 4,
         .size_B = 4096,
         .n_ranks = 8,
         .ranks_per_node = 4,
         .time_s = 1.25e-5,
         .low_s = 1e-5,
         .high_s = 2e-5,
         .repeats = 7,
         .outliers = 2,
         .check = 0,
         .added_to = "fp32"},
        {.benchmark = "all_reduce",
         .dtype = "fp32",
         .layout = "",
         .note = " two blanks ",
         .n_ranks = 2,
         .time_s = 3e-6,
         .check = -1,
         .added_to = ""},
    };
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    raw_write_head(out, heads, 2);
    for (int r = 0; r < 2; r++) raw_write_row(out, &rows[r]);
    fclose(out);
    struct reading reading = read_text(text, perm);
    assert_true(diag_ok(&reading.diag));
    assert_string_equal(raw_value(reading.raw, "device"), "a, \"b\" # raw: 2");
    assert_int_equal(reading.raw->n_rows, 2);
    for (int r = 0; r < 2; r++) {
        const struct raw_row *got = &reading.raw->rows[r];
        const struct raw_row *want = &rows[r];
        assert_string_equal(got->benchmark, want->benchmark);
        assert_string_equal(got->dtype, want->dtype);
        assert_string_equal(got->layout, want->layout);
        assert_string_equal(got->added_to, want->added_to);
        assert_string_equal(got->note, want->note);
        assert_true(got->m == want->m && got->n == want->n && got->k == want->k);
        assert_true(got->batch == want->batch && got->n_ranks == want->n_ranks);
        assert_true(got->ranks_per_node == want->ranks_per_node && got->repeats == want->repeats);
        assert_int_equal(got->outliers, want->outliers);
        assert_close(got->size_B, want->size_B, 0);
        assert_close(got->time_s, want->time_s, 1e-9);
        assert_close(got->low_s, want->low_s, 1e-9);
        assert_close(got->high_s, want->high_s, 1e-9);
        assert_close(got->check, want->check, 0);
    }
    free(text);
}

static void files_of_another_kind_are_refused(void **state)
{
    struct reading reading = read_text("benchmark,time_s\nlaunch,1\n", *state);
    assert_null(reading.raw);
    assert_message(&reading, 0,
                   "a.csv:1: is no file of raw measurements (wanted \"# raw: 1\" in its head; "
                   "dpsim import makes one of what other tools print)");
    reading = read_text("# nThread 1 nGpus 8\n#\n# Using devices\n  8  2  float\n", *state);
    assert_null(reading.raw);
    assert_int_equal(reading.diag.n_messages, 1); /* not one for each comment */
    reading = read_text("# raw: 2\nbenchmark,time_s\n", *state);
    assert_null(reading.raw);
    assert_message(&reading, 0, "a.csv:1: is of another version (wanted \"# raw: 1\")");
    assert_null(read_text("", *state).raw);
    assert_null(read_text("# raw: 1", *state).raw);
    assert_null(read_text("# raw: 1\n\n", *state).raw);
}

static void faults_of_the_head_are_reported(void **state)
{
    struct reading reading =
        read_text("# raw: 1\n# nothing\n#: no key\n# a: 1\n# a: 2\nbenchmark,time_s\n", *state);
    assert_message(&reading, 0, "a.csv:2: is no line of the head (wanted \"# key: value\")");
    assert_message(&reading, 1, "a.csv:3: is no line of the head (wanted \"# key: value\")");
    assert_message(&reading, 2, "a.csv:5: \"a\" stands twice in the head");
}

static void columns_are_known_and_two_are_needed(void **state)
{
    struct reading reading = read_text("# raw: 1\nbenchmark,times\n", *state);
    assert_null(reading.raw);
    assert_message(&reading, 0, "a.csv: column: unknown \"times\" (did you mean \"time_s\"?)");
    assert_message(&reading, 1, "a.csv: has no column \"time_s\" (did you mean \"times\"?)");
}

/* each fault with its message; the good row after it is kept */
static void bad_rows_are_reported_and_left_out(void **state)
{
    static const struct {
        const char *row, *message;
    } faults[] = {
        {"gem,,,1,1,1,,1,1,,", "benchmark: unknown \"gem\" (did you mean \"gemm\"?)"},
        {"gemm,float99,,1,1,1,,1,1,,", "dtype: unknown \"float99\""},
        {"gemm,fp32,nm,1,1,1,,1,1,,", "layout: unknown \"nm\" (did you mean \"nn\"?)"},
        {"gemm,,,1,,1,,1,1,,", "gemm: needs m, n and k above 0"},
        {"gemm,,,1,-1,1,,1,1,,", "n: -1 is below the minimum 0"},
        {"gemm,,,1,1.5,1,,1,1,,", "n: \"1.5\" is not a whole number"},
        {"softmax,,,1,1,,,1,1,,", "softmax: needs m, n and size_B above 0"},
        {"launch_stream,,,,,,,1,1,,", "launch_stream: needs n above 0"},
        {"copy,,,,,,,1,1,,", "copy: needs size_B"},
        {"copy_during_gemm,,,1,1,1,,1,1,,",
         "copy_during_gemm: needs size_B, and m, n and k above 0"},
        {"copy,,,,,,4,1,,,", "copy: needs time_s above 0"},
        {"copy,,,,,,4,1,nan,,", "time_s: \"nan\" is not a number"},
        {"copy,,,,,,4,1,0,,", "time_s: 0 is below the minimum 1e-18"},
        {"copy,,,,,,4,1,1e308,,", "time_s: 1e308 is above the maximum 3.2e+09"},
        {"copy,,,,,,4,1,1,2,", "copy: low_s is above time_s"},
        {"copy,,,,,,4,1,3,2,2.5", "copy: high_s is below time_s"},
        {"copy,,,,,,64MiB,1,3,,", "size_B: \"64MiB\" is not a number"},
        {"copy,,,,,", "has 6 cells (wanted 11, as the header)"},
    };
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
        struct arena *perm = *state;
        const char *text =
            arena_text(perm,
                       "# raw: 1\n"
                       "benchmark,dtype,layout,m,n,k,size_B,n_ranks,time_s,low_s,high_s\n"
                       "%s\nlaunch,,,,,,,,1e-6,,\n",
                       faults[f].row);
        struct reading reading = read_text(text, perm);
        assert_int_equal(reading.diag.n_messages, 1);
        assert_message(&reading, 0, arena_text(perm, "a.csv:3: %s", faults[f].message));
        assert_int_equal(reading.raw->n_rows, 1);
        assert_string_equal(reading.raw->rows[0].benchmark, "launch");
    }
}

static void an_empty_message_is_a_row(void **state)
{
    struct reading reading =
        read_text("# raw: 1\nbenchmark,size_B,n_ranks,time_s\nall_reduce,0,2,1e-6\n", *state);
    assert_true(diag_ok(&reading.diag));
    assert_int_equal(reading.raw->n_rows, 1);
}

static void more_rows_than_any_calibration_has_are_refused(void **state)
{
    static const char head[] = "# raw: 1\nbenchmark,size_B,time_s\n", row[] = "copy,8,1\n";
    size_t length = sizeof head - 1 + (RAW_MAX_ROWS + 1) * (sizeof row - 1);
    char *text = arena_new(*state, char, (int64_t)length + 1);
    memcpy(text, head, sizeof head - 1);
    for (int r = 0; r <= RAW_MAX_ROWS; r++)
        memcpy(text + sizeof head - 1 + (size_t)r * (sizeof row - 1), row, sizeof row - 1);
    struct reading reading = read_text(text, *state);
    assert_null(reading.raw);
    assert_non_null(strstr(reading.diag.messages[0], "a.csv:65539: is row 65537 of 65537"));
}

static void benchmarks_are_found_by_name_and_differ(void **state)
{
    (void)state;
    for (int b = 0; b < n_raw_benchmarks; b++) {
        assert_ptr_equal(raw_find(raw_benchmarks[b].name), &raw_benchmarks[b]);
        assert_true(raw_benchmarks[b].summary[0] != '\0');
        assert_true((raw_benchmarks[b].sized == RAW_SIZE_NONE) <= (raw_benchmarks[b].moved <= 0));
    }
    assert_null(raw_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_and_rows_are_read_with_their_lines),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(files_of_another_kind_are_refused),
        cmocka_unit_test(faults_of_the_head_are_reported),
        cmocka_unit_test(columns_are_known_and_two_are_needed),
        cmocka_unit_test(bad_rows_are_reported_and_left_out),
        cmocka_unit_test(an_empty_message_is_a_row),
        cmocka_unit_test(more_rows_than_any_calibration_has_are_refused),
        cmocka_unit_test(benchmarks_are_found_by_name_and_differ),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
