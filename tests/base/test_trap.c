#include "base/trap.h"

#include "test.h"

#include <fenv.h>

static void what_trapped_before_traps_again_afterwards(void **state)
{
    (void)state;
    fedisableexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO);
    int before = trap_on();
    assert_int_equal(before, FE_DIVBYZERO);
    assert_int_equal(fegetexcept(), FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    trap_restore(before);
    assert_int_equal(fegetexcept(), FE_DIVBYZERO);
    fedisableexcept(FE_ALL_EXCEPT);
}

/* An exception that was raised while nothing trapped must not strike when trapping begins. */
static void old_exceptions_are_forgotten(void **state)
{
    (void)state;
    fedisableexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_INVALID);
    int before = trap_on();
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    trap_restore(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_trapped_before_traps_again_afterwards),
        cmocka_unit_test(old_exceptions_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
