#include "study/forced.h"

#include "test.h"

static struct lib_choice row(const char *name, const char *protocol)
{
    return (struct lib_choice){
        .kind = COLL_ALLREDUCE, .algo = coll_find(COLL_ALLREDUCE, name), .protocol = protocol};
}

static struct library sample(struct arena *perm)
{
    struct lib_choice *rows = arena_new(perm, struct lib_choice, 4);
    rows[0] = row("ring", "LL");
    rows[1] = row("tree", "Simple");
    rows[2] = row("ring", "LL128");
    rows[3] = row("ring", "LL"); /* for other sizes */
    return (struct library){.name = "mine", .choices = rows, .n_choices = 4};
}

static void names_are_found_whatever_their_case(void **state)
{
    struct library library = sample(*state);
    struct forced asked = {"Ring", "ll128"};
    assert_true(forced_find(&library, COLL_ALLREDUCE, &asked));
    assert_string_equal(asked.algorithm, "ring");
    assert_string_equal(asked.protocol, "LL128");
}

static void what_is_not_asked_stays_free(void **state)
{
    struct library library = sample(*state);
    struct forced asked = {NULL, "simple"};
    assert_true(forced_find(&library, COLL_ALLREDUCE, &asked));
    assert_null(asked.algorithm);
    assert_string_equal(asked.protocol, "Simple");
}

/* each of both exists, but not together; nor for another kind */
static void only_what_is_offered_together_is_found(void **state)
{
    struct library library = sample(*state);
    struct forced asked = {"tree", "LL"};
    assert_false(forced_find(&library, COLL_ALLREDUCE, &asked));
    struct forced any = {NULL, NULL};
    assert_false(forced_find(&library, COLL_ALLTOALL, &any));
}

static void what_is_lacking_is_said_with_what_there_is(void **state)
{
    struct library library = sample(*state);
    struct forced asked = {"tree", "ll"};
    assert_string_equal(forced_lacking(&library, COLL_ALLREDUCE, &asked, *state),
                        "library mine offers no all_reduce by tree with ll (it has ring with LL, "
                        "LL128; tree with Simple)");
    struct forced any = {NULL, NULL};
    assert_string_equal(forced_lacking(&library, COLL_ALLTOALL, &any, *state),
                        "library mine offers no all_to_all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_whatever_their_case),
        cmocka_unit_test(what_is_not_asked_stays_free),
        cmocka_unit_test(only_what_is_offered_together_is_found),
        cmocka_unit_test(what_is_lacking_is_said_with_what_there_is),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
