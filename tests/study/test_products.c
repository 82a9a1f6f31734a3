/* A table of products becomes the rows of one GPU, each with its time. */
#include "study/products.h"

#include "test.h"

#include <unistd.h>

static const char *write_table(const char *rows, struct arena *perm)
{
    const char *file = arena_text(perm, "build/products-%d.csv", (int)getpid());
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fprintf(out, "gpu,precision,m,n,k,tflops\n%s", rows);
    fclose(out);
    return file;
}

/* 2 x 100 x 200 x 500 = 2e7 FLOP at 2 TFLOP/s take 10 us */
static void rows_of_a_device_have_their_times(void **state)
{
    struct diag diag = {.perm = *state};
    const char *file =
        write_table("a,fp16,100,200,500,2\nb,fp32,1,1,1,1\na,fp32,100,200,500,1\n", *state);
    const struct raw *raw = products_read(file, "a", *state, &diag);
    remove(file);
    assert_non_null(raw);
    assert_true(diag_ok(&diag));
    assert_int_equal(raw->n_rows, 2);
    assert_string_equal(raw->rows[0].dtype, "fp16");
    assert_close(raw->rows[0].time_s, 10e-6, 1e-12);
    assert_close(raw->rows[1].time_s, 20e-6, 1e-12);
    assert_int_equal(raw->rows[1].line, 4);
    assert_string_equal(raw_value(raw, "device"), "a");
}

/* a table of sums: the first is written anew, the second added to what stands there in fp32 */
static void rows_say_what_they_are_added_to(void **state)
{
    struct diag diag = {.perm = *state};
    const char *file = arena_text(*state, "build/products-%d.csv", (int)getpid());
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(
        "gpu,precision,m,n,k,tflops,layout,added_to\na,bf16,1,2,3,1,nn,\na,bf16,1,2,3,1,tn,fp32\n",
        out);
    fclose(out);
    const struct raw *raw = products_read(file, "a", *state, &diag);
    remove(file);
    assert_non_null(raw);
    assert_string_equal(raw->rows[0].added_to, "");
    assert_string_equal(raw->rows[1].added_to, "fp32");
}

static void bad_rows_are_reported_with_their_lines(void **state)
{
    static const char *const rows[] = {"a,fp16,0,200,500,2\n", "a,fp16,100,200,,2\n",
                                       "a,fp16,100,200,500,nan\n", "a,fp16,100,200,500,1e308\n"};
    for (int i = 0; i < 4; i++) {
        struct diag diag = {.perm = *state};
        const char *file = write_table(rows[i], *state);
        products_read(file, "a", *state, &diag);
        remove(file);
        assert_false(diag_ok(&diag));
        assert_non_null(strstr(diag.messages[0], ".csv:2"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_device_have_their_times),
        cmocka_unit_test(rows_say_what_they_are_added_to),
        cmocka_unit_test(bad_rows_are_reported_with_their_lines),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
