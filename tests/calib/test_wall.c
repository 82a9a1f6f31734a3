#include "calib/wall.h"

#include "test.h"

static void clocks_go_on_in_small_steps(void **state)
{
    (void)state;
    double (*const clocks[])(void) = {wall_s, wall_thread_s};
    for (int c = 0; c < 2; c++) {
        double tick_s = wall_tick_s(clocks[c]);
        assert_true(tick_s > 0 && tick_s < 1e-3);
        double begin = clocks[c]();
        double last = begin;
        while (last < begin + 5e-3) {
            double now = clocks[c]();
            assert_true(now >= last);
            last = now;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clocks_go_on_in_small_steps)};
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
