#include "base/arena.h"

#include "test.h"

#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static void memory_is_zeroed_and_aligned(void **state)
{
    struct arena *perm = *state;
    for (int n = 0; n < 40; n++) {
        char *bytes = arena_new(perm, char, n);
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (int i = 0; i < n; i++) assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, (size_t)n);
    }
}

static void lines_begin_at_a_cache_line(void **state)
{
    struct arena *perm = *state;
    for (int n = 1; n < 9; n++) {
        arena_new(perm, char, n * 13);
        char *bytes = arena_new_lines(perm, char, n);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        for (int i = 0; i < n; i++) assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, (size_t)n);
    }
}

static void a_scratch_copy_gives_back_on_return(void **state)
{
    struct arena *perm = *state;
    char *top = perm->at;
    struct arena scratch = *perm;
    char *lent = arena_new(&scratch, char, 100);
    memset(lent, 0xff, 100);
    assert_ptr_equal(perm->at, top);
    char *kept = arena_new(perm, char, 200); /* the same bytes again, red zones and all */
    assert_ptr_equal(kept, lent);
    for (int i = 0; i < 200; i++) assert_int_equal(kept[i], 0);
}

static void growing_keeps_what_was_there(void **state)
{
    struct arena *perm = *state;
    int *few = arena_new(perm, int, 3);
    for (int i = 0; i < 3; i++) few[i] = i + 7;
    const int *many = arena_grow(perm, int, few, 3, 8);
    for (int i = 0; i < 8; i++) assert_int_equal(many[i], i < 3 ? i + 7 : 0);
    assert_non_null(arena_grow(perm, int, NULL, 0, 4));
}

static void the_upper_half_is_not_touched_by_what_the_lower_keeps(void **state)
{
    struct arena *perm = *state;
    struct arena upper = arena_upper_half(perm);
    int *not_kept = arena_new(&upper, int, 1000);
    not_kept[999] = 7;
    int *kept = arena_new(perm, int, 1000);
    assert_true(kept + 1000 < not_kept && upper.end == perm->end);
    assert_int_equal(not_kept[999], 7);
}

static void text_is_formatted_to_any_length(void **state)
{
    struct arena *perm = *state;
    assert_string_equal(arena_text(perm, "%s/%d", "link", 12), "link/12");
    const char *wide = arena_text(perm, "%5000d", 1);
    assert_int_equal(strlen(wide), 5000);
}

/* exit status of a child that asks for n objects of size_B in an arena of 1 MiB */
static int status_of_asking(int64_t n, size_t size_B)
{
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        struct arena *small = arena_open(1 << 20);
        arena_alloc(small, n, size_B);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_full_arena_or_an_overflow_ends_the_program_with_2(void **state)
{
    (void)state;
    assert_int_equal(status_of_asking(1000, 1000), 0);
    assert_int_equal(status_of_asking(2000, 1000), 2);
    assert_int_equal(status_of_asking(INT64_MAX, 8), 2); /* 2^66 bytes wrap in size_t */
}

static void the_last_bytes_can_be_used_and_no_more(void **state)
{
    (void)state;
    struct arena *small = arena_open(4096);
    while (small->end - small->at >= 64) arena_alloc(small, 1, 16);
    assert_true(small->at <= small->end);
    arena_close(small);
}

#ifdef __SANITIZE_ADDRESS__
static const bool checked = true;
static bool poisoned(const char *at)
{
    return __asan_address_is_poisoned(at);
}
#else
static const bool checked = false;
static bool poisoned(const char *at)
{
    (void)at;
    return false;
}
#endif

/* Without a red zone an overrun inside one mapping is silent. */
static void an_overrun_is_seen_by_the_address_sanitizer(void **state)
{
    struct arena *perm = *state;
    const char *bytes = arena_new(perm, char, 20);
    const char *next = arena_new(perm, char, 20);
    assert_false(poisoned(bytes + 19));
    for (int i = 20; i < 36; i++) assert_int_equal(poisoned(bytes + i), checked);
    assert_true(next >= bytes + (checked ? 36 : 20));
}

/* What is mapped later may get the same addresses. Red zones stand at both ends and, left by a scratch
 * copy that began halfway, in the middle. */
static void a_closed_arena_leaves_no_red_zone(void **state)
{
    (void)state;
    const size_t reserve_B = (size_t)1 << 30;
    struct arena *closed = arena_open(reserve_B);
    struct arena upper = {closed->at + reserve_B / 2, closed->end};
    struct arena last = {closed->end - 64, closed->end};
    const char *zones[] = {arena_new(closed, char, 1) + 1, arena_new(&upper, char, 1) + 1,
                           arena_new(&last, char, 1) + 1};
    for (int i = 0; i < 3; i++) assert_int_equal(poisoned(zones[i]), checked);
    arena_close(closed);
    for (int i = 0; i < 3; i++) assert_false(poisoned(zones[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(lines_begin_at_a_cache_line),
        cmocka_unit_test(a_scratch_copy_gives_back_on_return),
        cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(the_upper_half_is_not_touched_by_what_the_lower_keeps),
        cmocka_unit_test(text_is_formatted_to_any_length),
        cmocka_unit_test(a_full_arena_or_an_overflow_ends_the_program_with_2),
        cmocka_unit_test(the_last_bytes_can_be_used_and_no_more),
        cmocka_unit_test(an_overrun_is_seen_by_the_address_sanitizer),
        cmocka_unit_test(a_closed_arena_leaves_no_red_zone),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
