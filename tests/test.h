/* What every suite needs: cmocka, an arena as *state, and a comparison of doubles that does not
 * round to float first (cmocka 1.1.5's does).
 *
 *   int main(void)
 *   {
 *       const struct CMUnitTest tests[] = {cmocka_unit_test(claim_that_is_tested)};
 *       return cmocka_run_group_tests(tests, open_arena, close_arena);
 *   }
 *
 * A suite runs in the root of the source tree; the environment's DPSIM names the built program. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include "base/arena.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST_ARENA_B ((size_t)8 << 30)

/* open_arena — group (or test) setup. NaN, x / 0 and overflow trap from here on, so a bad number
 * dies where it is born. */
static inline int open_arena(void **state)
{
    *state = arena_open(TEST_ARENA_B);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    return 0;
}

static inline int close_arena(void **state)
{
    arena_close(*state);
    return 0;
}

/* assert_close — |got - want| <= rel * |want|; absolute where want is 0. NaN is close to nothing. */
#define assert_close(got, want, rel) assert_close_at((got), (want), (rel), __FILE__, __LINE__)

static inline void assert_close_at(double got, double want, double rel, const char *file, int line)
{
    double scale = fpclassify(want) == FP_ZERO ? 1.0 : fabs(want);
    int close = isinf(want) || isinf(got) || isnan(got)
                    ? isinf(want) && isinf(got) && signbit(want) == signbit(got)
                    : fabs(got - want) <= rel * scale;
    if (close) return;
    print_error("%s:%d: got %.17g, want %.17g within %g\n", file, line, got, want, rel);
    _fail(file, line);
}

#endif
