#include "base/diag.h"

#include "test.h"

static const char *message(struct arena *perm, struct diag_place place, const char *text)
{
    struct diag diag = {.perm = perm};
    diag_error(&diag, place, "%s", text);
    return diag.messages[0];
}

static void unknown_parts_of_the_place_are_left_out(void **state)
{
    struct arena *perm = *state;
    const struct {
        struct diag_place place;
        const char *want;
    } cases[] = {
        {{"a.json", 4, 34, "/links/1"}, "a.json:4:34: /links/1: bad"},
        {{"a.json", 4, 34, ""}, "a.json:4:34: bad"}, /* "" points to the whole document */
        {{"a.json", 4, 34, NULL}, "a.json:4:34: bad"},
        {{"a.csv", 4, 0, "algbw"}, "a.csv:4: algbw: bad"},
        {{"a.csv", 0, 7, NULL}, "a.csv: bad"},
        {{"--set", 0, 0, "/n"}, "--set: /n: bad"},
        {{NULL, 0, 0, "/n"}, "/n: bad"},
        {{NULL, 3, 4, NULL}, "bad"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(message(perm, cases[i].place, "bad"), cases[i].want);
    }
}

static void messages_keep_their_order_and_the_rest_is_counted(void **state)
{
    struct diag diag = {.perm = *state};
    assert_true(diag_ok(&diag));
    for (int i = 0; i < 23; i++) diag_error(&diag, (struct diag_place){0}, "number %d", i);
    assert_false(diag_ok(&diag));
    assert_int_equal(diag.n_messages, 23);
    char said[4096] = {0};
    FILE *out = fmemopen(said, sizeof said, "w");
    diag_print(&diag, out);
    fclose(out);
    assert_int_equal(strncmp(said, "number 0\nnumber 1\n", 18), 0);
    assert_non_null(strstr(said, "number 19\n... and 3 more\n"));
    assert_null(strstr(said, "number 20"));
}

static void hostile_text_neither_fills_the_screen_nor_steers_the_terminal(void **state)
{
    struct arena *perm = *state;
    assert_string_equal(message(perm, (struct diag_place){0}, "a\x1b[2Jb\nc"), "a?[2Jb?c");
    char *endless = arena_new(perm, char, 100001);
    memset(endless, 'x', 100000);
    const char *cut = message(perm, (struct diag_place){.file = "f"}, endless);
    assert_true(strlen(cut) <= 600);
    assert_string_equal(cut + strlen(cut) - 4, "x...");
}

static void nearest_finds_slips_of_the_finger_and_no_more(void **state)
{
    (void)state;
    static const char *const keys[] = {"latency", "bandwidth", "n_gpus", "fabric", "x"};
    const struct {
        const char *word, *want;
    } cases[] = {
        {"latncy", "latency"},   /* one lost */
        {"latenncy", "latency"}, /* one too many */
        {"latecny", "latency"},  /* two swapped: one slip */
        {"lotency", "latency"},  /* one wrong */
        {"Bandwidth", "bandwidth"},
        {"N_GPUS", "n_gpus"}, /* case costs nothing */
        {"bandwith", "bandwidth"},
        {"gpus", "n_gpus"}, /* two lost of four: (4 + 2) / 3 = 2 slips allowed */
        {"color", NULL},
        {"", NULL},
        {"q", NULL}, /* one letter is not near another */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = diag_nearest(cases[i].word, keys, 5);
        if (!cases[i].want) assert_null(got);
        if (cases[i].want) assert_non_null(got);
        if (cases[i].want) assert_string_equal(got, cases[i].want);
    }
    assert_null(diag_nearest("latency", keys, 0));
}

static void nearest_completes_a_name_before_it_guesses(void **state)
{
    (void)state;
    static const char *const names[] = {"a10", "rccl", "h100-nvl-94", "h100-sxm-80", "h10"};
    assert_string_equal(diag_nearest("h100", names, 4), "h100-nvl-94"); /* a10 takes two slips */
    assert_string_equal(diag_nearest("H100-S", names, 4), "h100-sxm-80");
    assert_string_equal(diag_nearest("h100", names, 5), "h10"); /* one slip */
    assert_null(diag_nearest("h", names, 5)); /* begins too much to mean anything */
    assert_true(diag_begins("nccl", "NCCL-2.18") && !diag_begins("nccl", "rccl"));
}

static void nearest_takes_the_first_of_equals_and_skips_endless_words(void **state)
{
    struct arena *perm = *state;
    static const char *const keys[] = {"size_b", "size_a"};
    assert_string_equal(diag_nearest("size_c", keys, 2), "size_b");
    static const char *const models[] = {"llama-7b", "llama2-70b", "llama3-70b"};
    assert_string_equal(diag_nearest("llama-70b", models, 3), "llama2-70b"); /* one lost, not won */
    char *endless = arena_new(perm, char, 1000001);
    memset(endless, 'x', 1000000);
    assert_null(diag_nearest(endless, keys, 2));
    const char *const long_keys[] = {endless, "size_a"};
    assert_string_equal(diag_nearest("siz_a", long_keys, 2), "size_a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_parts_of_the_place_are_left_out),
        cmocka_unit_test(messages_keep_their_order_and_the_rest_is_counted),
        cmocka_unit_test(hostile_text_neither_fills_the_screen_nor_steers_the_terminal),
        cmocka_unit_test(nearest_finds_slips_of_the_finger_and_no_more),
        cmocka_unit_test(nearest_completes_a_name_before_it_guesses),
        cmocka_unit_test(nearest_takes_the_first_of_equals_and_skips_endless_words),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
