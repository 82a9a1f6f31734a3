/* Two of the three words for trouble: must() for our own bugs, die() for the world (disk,
 * memory). The third, diag_error(), is for what the user wrote. There is no fourth. */
#ifndef BASE_MUST_H
#define BASE_MUST_H

/* must — crash on a broken invariant: prints "BUG file:line: condition" and aborts. Never
 * compiled out. */
#define must(cond) ((cond) ? (void)0 : must_fail(__FILE__, __LINE__, #cond))

/* must_not_reach — what no valid state leads to: a value that is none of its enum's. */
#define must_not_reach(what) must_fail(__FILE__, __LINE__, "reached: " what)

_Noreturn void must_fail(const char *file, int line, const char *cond);

/* die — the world failed: prints "dpsim: message" and exits with status 2. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
