/* Which profile stands for a version that has none. */
#include "io/version.h"
#include "test.h"

static const char *const known[] = {"gloo",     "nccl-2.12", "nccl-2.27",
                                    "nccl-2.4", "nccl-2.8",  "open-mpi"};
enum { N_KNOWN = sizeof known / sizeof known[0] };

static void assert_stands_for(const char *name, const char *wanted)
{
    const char *found = version_nearest(name, known, N_KNOWN);
    if (!wanted) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, wanted);
}

static void the_nearest_version_before_stands_for_one_between(void **state)
{
    (void)state;
    assert_stands_for("nccl-2.21.5", "nccl-2.12");
    assert_stands_for("nccl-2.12.7-1", NULL); /* ends with no version */
    assert_stands_for("nccl-2.12", "nccl-2.12");
    assert_stands_for("nccl-2.11.4", "nccl-2.8"); /* numbers, not letters: 8 < 11 < 12 */
    assert_stands_for("nccl-2.7", "nccl-2.4");
    assert_stands_for("nccl-2.30.1", "nccl-2.27");
}

static void a_library_without_versions_stands_for_all_of_them(void **state)
{
    (void)state;
    assert_stands_for("open-mpi-4", "open-mpi");
    assert_stands_for("open-mpi-5.0.3", "open-mpi");
}

static void nothing_stands_for_what_is_older_or_of_another_name(void **state)
{
    (void)state;
    assert_stands_for("nccl-2.3", NULL);
    assert_stands_for("nccl", NULL);
    assert_stands_for("rccl-2.18", NULL);
    assert_stands_for("nccl-2.18.x", NULL);
    assert_stands_for("nccl-2.1.2.3.4", NULL);
    assert_stands_for("", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_version_before_stands_for_one_between),
        cmocka_unit_test(a_library_without_versions_stands_for_all_of_them),
        cmocka_unit_test(nothing_stands_for_what_is_older_or_of_another_name),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
