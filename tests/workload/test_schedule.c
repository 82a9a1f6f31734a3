#include "test.h"

#include "workload/schedule.h"

static const char *text_of(const struct turn *turns, int n, struct arena *perm)
{
    const char *text = "";
    for (int i = 0; i < n; i++) {
        text = arena_text(perm, "%s%s%c%d%s", text, i ? " " : "", turns[i].backward ? 'B' : 'F',
                          turns[i].micro_batch, turns[i].chunk ? "'" : "");
    }
    return text;
}

static const char *stage_text(struct pipeline pipeline, int stage, struct arena *perm)
{
    int n = 2 * pipeline.n_micro_batches * pipeline.n_chunks;
    struct turn *turns = arena_new(perm, struct turn, n);
    schedule_turns(&pipeline, stage, turns);
    return text_of(turns, n, perm);
}

/* Narayanan et al., SC 2021, fig. 4, for 3 stages and 4 micro-batches. */
static void one_forward_one_backward(void **state)
{
    struct pipeline pipeline = {3, 1, 4};
    assert_string_equal(stage_text(pipeline, 0, *state), "F0 F1 F2 B0 F3 B1 B2 B3");
    assert_string_equal(stage_text(pipeline, 1, *state), "F0 F1 B0 F2 B1 F3 B2 B3");
    assert_string_equal(stage_text(pipeline, 2, *state), "F0 B0 F1 B1 F2 B2 F3 B3");
}

/* Two stages of two chunks: 2 (p - r - 1) + (v - 1) p = 4 and 2 forwards ahead; the second chunk's are
 * marked. */
static void chunks_take_turns_of_as_many_micro_batches_as_stages(void **state)
{
    struct pipeline pipeline = {2, 2, 4};
    assert_string_equal(stage_text(pipeline, 0, *state),
                        "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
    assert_string_equal(stage_text(pipeline, 1, *state),
                        "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}

/* Whatever the numbers: each forward and each backward once, backwards of a chunk behind its forward. */
static void every_turn_comes_once_and_in_order(void **state)
{
    for (int i = 0; i < 7 * 4 * 23; i++) {
        struct arena scratch = *(struct arena *)*state;
        struct pipeline pipeline = {1 + i % 7, 1 + i / 7 % 4, 1 + i / 28};
        if (pipeline.n_stages == 1) pipeline.n_chunks = 1;
        int n = 2 * pipeline.n_micro_batches * pipeline.n_chunks;
        for (int s = 0; s < pipeline.n_stages; s++) {
            struct turn *turns = arena_new(&scratch, struct turn, n);
            bool *done = arena_new(&scratch, bool, n);
            schedule_turns(&pipeline, s, turns);
            for (int t = 0; t < n; t++) {
                int at = 2 * (turns[t].micro_batch * pipeline.n_chunks + turns[t].chunk);
                assert_in_range(at, 0, n - 2);
                assert_false(done[at + turns[t].backward]);
                assert_true(!turns[t].backward || done[at]);
                done[at + turns[t].backward] = true;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_forward_one_backward),
        cmocka_unit_test(chunks_take_turns_of_as_many_micro_batches_as_stages),
        cmocka_unit_test(every_turn_comes_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
