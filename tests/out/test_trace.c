#include "out/trace.h"

#include "sample.h"

static const struct json_node *trace_of(const struct result *result, struct arena *perm)
{
    char *text;
    size_t size;
    PRINTED(text, size, trace_write(out, result));
    const struct json_node *root = parse(text, size, perm);
    free(text);
    return root;
}

static const char *phase_of(const struct json_node *event)
{
    return json_text(json_get(event, "ph"));
}

static int count(const struct json_node *events, const char *phase)
{
    int n = 0;
    for (int i = 0; i < json_size(events); i++)
        n += strcmp(phase_of(json_at(events, i)), phase) == 0;
    return n;
}

/* 2 iterations x (kernel + wait + move) spans; names: the process and its 2 threads */
static void the_last_two_iterations_are_shown(void **state)
{
    const struct json_node *root = trace_of(sample_result(1, *state), *state);
    const struct json_node *events = json_get(root, "traceEvents");
    assert_int_equal(count(events, "X"), 2 * 3);
    assert_int_equal(count(events, "M"), 1 + 2);
    for (int i = 0; i < json_size(events); i++) {
        const struct json_node *args = json_get(json_at(events, i), "args");
        const struct json_node *iteration = args ? json_get(args, "iteration") : NULL;
        if (iteration) assert_true(json_number(iteration) >= SAMPLE_ITERATIONS - 2);
    }
}

/* The first shown iteration begins at 0; its collective joins at 20 ms, waits to 30, moves to 90. */
static void times_are_microseconds_from_the_first_event_shown(void **state)
{
    const struct json_node *root = trace_of(sample_result(1, *state), *state);
    const struct json_node *events = json_get(root, "traceEvents");
    const struct json_node *kernel = json_at(events, 3);
    const struct json_node *wait = json_at(events, 4);
    const struct json_node *move = json_at(events, 5);
    assert_close(json_number(json_get(kernel, "ts")), 0, 1e-9);
    assert_close(json_number(json_get(kernel, "dur")), 80000, 1e-9);
    assert_string_equal(json_text(json_get(kernel, "name")), "conv \"1\"");
    assert_close(json_number(json_get(wait, "ts")), 20000, 1e-9);
    assert_close(json_number(json_get(wait, "dur")), 10000, 1e-9);
    assert_close(json_number(json_get(move, "ts")), 30000, 1e-9);
    assert_close(json_number(json_get(move, "dur")), 60000, 1e-9);
    assert_close(json_number(json_get(json_get(move, "args"), "bytes")), 1e8, 1e-9);
    assert_close(json_number(json_get(move, "tid")), 1, 1e-9);
}

static void a_large_run_is_cut_and_says_so(void **state)
{
    const struct json_node *root = trace_of(sample_result(TRACE_CLASSES + 6, *state), *state);
    const struct json_node *events = json_get(root, "traceEvents");
    assert_int_equal(count(events, "X"), TRACE_CLASSES * 2 * 3);
    assert_string_equal(json_text(json_get(json_get(root, "otherData"), "shown")),
                        "64 of 70 classes of ranks, last 2 of 4 iterations");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_two_iterations_are_shown),
        cmocka_unit_test(times_are_microseconds_from_the_first_event_shown),
        cmocka_unit_test(a_large_run_is_cut_and_says_so),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
