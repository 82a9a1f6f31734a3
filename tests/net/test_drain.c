/* Golden drains: the end of the last of n random flows on a fat-tree, see fat_tree.h. */
#include "fat_tree.h"

#include "test.h"

/* The printed figures carry 1e-6 ms: half of the last digit is what they can tell apart. */
static void assert_golden(const struct golden *golden, struct arena scratch)
{
    const struct path *paths = read_flows(golden, &scratch);
    struct fluid *fluid = fat_tree_fluid(50e9, &scratch);
    double end_ms = 1e3 * drain(fluid, paths, golden->n_flows, &scratch);
    print_message("%s: %.6f ms, golden %.6f, relative difference %.1e\n", golden->file, end_ms,
                  golden->end_ms, end_ms / golden->end_ms - 1.0);
    assert_true(fabs(end_ms - golden->end_ms) <= 0.5000001e-6);
}

static void drain_of_1024_equal_flows_ends_as_published(void **state)
{
    assert_golden(&goldens[0], *(struct arena *)*state);
}

static void drain_of_1024_exponential_flows_ends_as_published(void **state)
{
    assert_golden(&goldens[1], *(struct arena *)*state);
}

static void drain_of_4096_equal_flows_ends_as_published(void **state)
{
    assert_golden(&goldens[2], *(struct arena *)*state);
}

static void drain_of_4096_exponential_flows_ends_as_published(void **state)
{
    assert_golden(&goldens[3], *(struct arena *)*state);
}

static void drain_of_16384_equal_flows_ends_as_published(void **state)
{
    assert_golden(&goldens[4], *(struct arena *)*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drain_of_1024_equal_flows_ends_as_published),
        cmocka_unit_test(drain_of_1024_exponential_flows_ends_as_published),
        cmocka_unit_test(drain_of_4096_equal_flows_ends_as_published),
        cmocka_unit_test(drain_of_4096_exponential_flows_ends_as_published),
        cmocka_unit_test(drain_of_16384_equal_flows_ends_as_published),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
