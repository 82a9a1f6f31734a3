#include "workload/resnet.h"

#include "test.h"

/* Behind the stem a 224 x 224 image has 56 x 56 points, with either stem. */
static void both_stems_leave_a_quarter(void **state)
{
    for (int deep = 0; deep < 2; deep++) {
        struct builder b = builder_open("m", "image", "made up", *state);
        const struct resnet net = {.prefix = "", .deep_stem = deep != 0, .groups = 1};
        struct shape out = resnet_stem(&b, &net, shape_image(3, 224, 224));
        assert_int_equal(out.c, 64);
        assert_int_equal(out.h, 56);
    }
}

/* A stage that keeps its size spreads its windows: 9 points from 5 x 5, the same cost per point. */
static void a_stage_may_spread_its_windows_instead_of_halving(void **state)
{
    struct builder b = builder_open("m", "image", "made up", *state);
    const struct resnet net = {.prefix = "",
                               .n_blocks = {0, 0, 1},
                               .bottleneck = true,
                               .stride_in_3x3 = true,
                               .groups = 1,
                               .strides = {0, 0, 1},
                               .dilations = {1, 1, 2}};
    struct shape out = resnet_stage(&b, &net, 2, shape_image(512, 28, 28));
    assert_int_equal(out.h, 28);
    assert_int_equal(out.c, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_stems_leave_a_quarter),
        cmocka_unit_test(a_stage_may_spread_its_windows_instead_of_halving),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
