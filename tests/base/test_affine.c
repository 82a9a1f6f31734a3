#include "base/affine.h"

#include "test.h"

static void costs_of_two_hops_compose(void **state)
{
    (void)state;
    struct affine near = {1e-6, 2e-11};
    struct affine far = {3e-6, 8e-11};
    struct affine both = affine_add(near, affine_scale(far, 2));
    /* alpha 1 + 2 * 3 us; beta 2 + 2 * 8 = 18e-11 s/B; 1 MB costs 7 us + 180 us */
    assert_close(affine_at(both, 1e6), 187e-6, 1e-15);
    assert_close(affine_at(both, 0), 7e-6, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_of_two_hops_compose)};
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
