#include "base/table.h"

#include "test.h"

#include <unistd.h>

struct reading {
    struct table *table;
    struct diag diag;
};

static struct reading read_bytes(const char *text, size_t length, struct arena *perm)
{
    struct reading reading = {.diag = {.perm = perm}};
    reading.table = table_read_text("a.csv", text, length, perm, &reading.diag);
    return reading;
}

static struct reading read_text(const char *text, struct arena *perm)
{
    return read_bytes(text, strlen(text), perm);
}

static void assert_message(struct reading reading, int i, const char *want)
{
    assert_true(reading.diag.n_messages > i);
    assert_string_equal(reading.diag.messages[i], want);
}

static void cells_are_found_by_row_and_column(void **state)
{
    struct reading reading = read_text("size,time\n1024,3.5\n2048,\"6,25\"\n", *state);
    const struct table *table = reading.table;
    assert_true(diag_ok(&reading.diag));
    assert_int_equal(table->n_columns, 2);
    assert_int_equal(table->n_rows, 2);
    assert_int_equal(table_column(table, "time"), 1);
    assert_int_equal(table_column(table, "Time"), -1);
    assert_string_equal(table_cell(table, 0, 0), "1024");
    assert_string_equal(table_cell(table, 1, 1), "6,25");
    assert_string_equal(table_cell(table, 1, -1), "");
    assert_int_equal(table->lines[1], 3);
}

/* libcsv drops empty lines; its line ends are CR, LF or both */
static void mark_crlf_empty_lines_and_a_missing_last_end_are_accepted(void **state)
{
    struct reading reading = read_text("\xef\xbb\xbf"
                                       "a,b\r\n\r\n1,2\r\n\n\n3,4",
                                       *state);
    const struct table *table = reading.table;
    assert_true(diag_ok(&reading.diag));
    assert_int_equal(table_column(table, "a"), 0);
    assert_int_equal(table->n_rows, 2);
    assert_string_equal(table_cell(table, 0, 1), "2");
    assert_string_equal(table_cell(table, 1, 1), "4");
    assert_int_equal(table->lines[0], 3);
    assert_int_equal(table->lines[1], 6);
}

static void quoted_line_ends_stay_in_the_cell_and_are_counted(void **state)
{
    struct reading reading = read_text("a,b\n\"1\n\n\",\"x\r\ny\"\n5,\"\"\"\"\n", *state);
    const struct table *table = reading.table;
    assert_true(diag_ok(&reading.diag));
    assert_string_equal(table_cell(table, 0, 0), "1\n\n");
    assert_string_equal(table_cell(table, 0, 1), "x\r\ny");
    assert_string_equal(table_cell(table, 1, 1), "\"");
    assert_int_equal(table->lines[0], 2);
    assert_int_equal(table->lines[1], 6); /* three line ends inside the row before */
}

/* libcsv trims blanks around what is not quoted */
static void blanks_are_trimmed_unless_quoted(void **state)
{
    struct reading reading = read_text("a , b\n 1 ,\" 2 \"\n", *state);
    assert_int_equal(table_column(reading.table, "b"), 1);
    assert_string_equal(table_cell(reading.table, 0, 0), "1");
    assert_string_equal(table_cell(reading.table, 0, 1), " 2 ");
}

static void ragged_rows_are_reported_and_left_out(void **state)
{
    struct reading reading = read_text("a,b\n1\n2,3\n4,5,6\n7,8\n", *state);
    assert_int_equal(reading.table->n_rows, 2);
    assert_string_equal(table_cell(reading.table, 1, 0), "7");
    assert_int_equal(reading.table->lines[1], 5);
    assert_int_equal(reading.diag.n_messages, 2);
    assert_message(reading, 0, "a.csv:2: has 1 cells (wanted 2, as the header)");
    assert_message(reading, 1, "a.csv:4: has 3 cells (wanted 2, as the header)");
}

static void faulty_quotes_leave_nothing_to_use(void **state)
{
    struct reading reading = read_text("a,b\n1,\"2\"x\n3,4\n", *state);
    assert_null(reading.table);
    assert_message(reading, 0,
                   "a.csv:2: a quote stands inside a cell (double it, and quote the cell)");
    reading = read_text("a,b\n1,2\n3,a\"b\n", *state);
    assert_null(reading.table);
    assert_message(reading, 0,
                   "a.csv:3: a quote stands inside a cell (double it, and quote the cell)");
    reading = read_text("a,b\n1,2\n3,\"4\n5,6\n", *state);
    assert_null(reading.table);
    assert_message(reading, 0, "a.csv:3: a quote that is opened in this row is not closed");
    assert_int_equal(reading.diag.n_messages, 1);
    assert_null(read_text("\"", *state).table);
}

static void nul_bytes_are_refused(void **state)
{
    static const char text[] = "a,b\n1,\0"
                               "2\n";
    struct reading reading = read_bytes(text, sizeof text - 1, *state);
    assert_null(reading.table);
    assert_message(reading, 0, "a.csv:2: a NUL byte");
}

static void a_table_needs_a_header_of_different_names(void **state)
{
    struct reading reading = read_text("", *state);
    assert_null(reading.table);
    assert_message(reading, 0, "a.csv: is empty (wanted a header row)");
    assert_null(read_text("\n\n", *state).table);
    reading = read_text("a,b,a\n1,2,3\n", *state);
    assert_null(reading.table);
    assert_message(reading, 0, "a.csv: two columns are named \"a\"");
    reading = read_text("a,b\n", *state);
    assert_int_equal(reading.table->n_rows, 0);
}

static void columns_have_a_limit(void **state)
{
    struct arena *perm = *state;
    char *text = arena_new(perm, char, 100001);
    memset(text, ',', 100000);
    struct reading reading = read_text(text, perm);
    assert_null(reading.table);
    assert_message(reading, 0, "a.csv:1: has 100001 columns (wanted 4096 at most)");
}

static void a_missing_column_is_reported_with_the_nearest(void **state)
{
    struct reading reading = read_text("size,algbw\n1,2\n", *state);
    assert_int_equal(table_need(reading.table, "algbw", &reading.diag), 1);
    assert_int_equal(table_need(reading.table, "agbw", &reading.diag), -1);
    assert_int_equal(table_need(reading.table, "protocol", &reading.diag), -1);
    assert_message(reading, 0, "a.csv: has no column \"agbw\" (did you mean \"algbw\"?)");
    assert_message(reading, 1, "a.csv: has no column \"protocol\"");
}

static void numbers_are_finite_and_in_range(void **state)
{
    struct reading reading =
        read_text("x\n2.5e3\n\"\"\nabc\n1e999\n-1\n1000000\n0x10\n1 2\nnan\n", *state);
    const double want[] = {2500, 7, 7, 7, 7, 7, 7, 7, 7};
    for (int r = 0; r < reading.table->n_rows; r++) {
        assert_close(table_number(reading.table, r, 0, 0, 1e5, 7, &reading.diag), want[r], 0);
    }
    assert_int_equal(reading.table->n_rows, 9);
    assert_int_equal(reading.diag.n_messages, 7);
    assert_message(reading, 0, "a.csv:4: x: \"abc\" is not a number");
    assert_message(reading, 1, "a.csv:5: x: \"1e999\" is not a number");
    assert_message(reading, 2, "a.csv:6: x: -1 is below the minimum 0");
    assert_message(reading, 3, "a.csv:7: x: 1000000 is above the maximum 100000");
    assert_close(table_number(reading.table, 0, -1, 0, 1, 3, &reading.diag), 3, 0);
}

static void files_are_read_up_to_their_limit(void **state)
{
    struct arena *perm = *state;
    struct diag diag = {.perm = perm};
    char *name = arena_text(perm, "/tmp/dpsim-test-XXXXXX");
    int file = mkstemp(name);
    assert_int_equal(write(file, "a\n1\n", 4), 4);
    assert_int_equal(table_read(name, perm, &diag)->n_rows, 1);
    assert_int_equal(ftruncate(file, (off_t)1 << 40), 0);
    assert_null(table_read(name, perm, &diag));
    assert_string_equal(diag.messages[0], arena_text(perm, "%s: is larger than 1 GiB", name));
    close(file);
    unlink(name);
    assert_null(table_read(name, perm, &diag));
    assert_non_null(strstr(diag.messages[1], ": cannot be read: No such file or directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_found_by_row_and_column),
        cmocka_unit_test(mark_crlf_empty_lines_and_a_missing_last_end_are_accepted),
        cmocka_unit_test(quoted_line_ends_stay_in_the_cell_and_are_counted),
        cmocka_unit_test(blanks_are_trimmed_unless_quoted),
        cmocka_unit_test(ragged_rows_are_reported_and_left_out),
        cmocka_unit_test(faulty_quotes_leave_nothing_to_use),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(a_table_needs_a_header_of_different_names),
        cmocka_unit_test(columns_have_a_limit),
        cmocka_unit_test(a_missing_column_is_reported_with_the_nearest),
        cmocka_unit_test(numbers_are_finite_and_in_range),
        cmocka_unit_test(files_are_read_up_to_their_limit),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
