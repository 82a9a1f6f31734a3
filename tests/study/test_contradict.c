/* Products that no law of size can fit together are found, and no more than need be. */
#include "study/contradict.h"

#include "test.h"

enum { MOST = 8 };

struct rig {
    struct raw_row raw[MOST];
    struct calibrate_row row[MOST];
    struct calibrate_row *rows[MOST];
    bool odd[MOST];
    int n;
};

static void add(struct rig *rig, int64_t side, double time_s)
{
    int i = rig->n++;
    rig->raw[i] = (struct raw_row){.m = side, .n = side, .k = side, .batch = 1};
    rig->row[i] = (struct calibrate_row){.row = &rig->raw[i], .measured_s = time_s};
    rig->rows[i] = &rig->row[i];
}

/* 128 in 10 us, 256 in 9 us: a tenth off, and within 20 % of a law that says 9.5 us to both */
static void a_small_step_back_is_no_contradiction(void **state)
{
    struct rig rig = {.n = 0};
    add(&rig, 128, 10e-6);
    add(&rig, 256, 9e-6);
    add(&rig, 512, 40e-6);
    assert_int_equal(contradict_find(rig.rows, rig.n, rig.odd, *(struct arena *)*state), 0);
}

/* 128 in 30 us is slower than 256, 512 and 1024: it alone is taken out, not the three. */
static void one_odd_row_is_taken_not_those_against_it(void **state)
{
    struct rig rig = {.n = 0};
    add(&rig, 128, 30e-6);
    add(&rig, 256, 5e-6);
    add(&rig, 512, 6e-6);
    add(&rig, 1024, 8e-6);
    assert_int_equal(contradict_find(rig.rows, rig.n, rig.odd, *(struct arena *)*state), 1);
    assert_true(rig.odd[0]);
    assert_false(rig.odd[1] || rig.odd[2] || rig.odd[3]);
}

/* larger in one side and smaller in another: nothing is said about which takes longer */
static void sides_that_cross_do_not_contradict(void **state)
{
    struct rig rig = {.n = 0};
    add(&rig, 128, 30e-6);
    add(&rig, 256, 5e-6);
    rig.raw[0].k = 4096;
    assert_int_equal(contradict_find(rig.rows, rig.n, rig.odd, *(struct arena *)*state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_step_back_is_no_contradiction),
        cmocka_unit_test(one_odd_row_is_taken_not_those_against_it),
        cmocka_unit_test(sides_that_cross_do_not_contradict),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
