#include "base/must.h"

#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* run `crash` in a child; out: what it wrote to stderr; returns its wait status */
static int status_of(void (*crash)(void), char *said, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        crash();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(ends[0], said + n, size - 1 - n)) > 0;) {
        n += (size_t)got;
    }
    said[n] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void break_invariant(void)
{
    signal(SIGABRT, SIG_DFL);
    must(1 + 1 == 3);
}

static void lose_disk(void)
{
    die("cannot write %s: %s", "out.csv", "No space left on device");
}

static void must_names_the_condition_and_aborts(void **state)
{
    (void)state;
    char said[4096];
    int status = status_of(break_invariant, said, sizeof said);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "BUG tests/base/test_must.c:"));
    assert_non_null(strstr(said, ": 1 + 1 == 3\n"));
}

static void die_says_why_and_exits_with_2(void **state)
{
    (void)state;
    char said[4096];
    int status = status_of(lose_disk, said, sizeof said);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_string_equal(said, "dpsim: cannot write out.csv: No space left on device\n");
}

static void must_is_silent_when_the_condition_holds(void **state)
{
    (void)state;
    int n = 0;
    must(++n == 1); /* evaluated once, never compiled out */
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(must_names_the_condition_and_aborts),
        cmocka_unit_test(die_says_why_and_exits_with_2),
        cmocka_unit_test(must_is_silent_when_the_condition_holds),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
