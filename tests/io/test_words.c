/* Words from elsewhere lead to what there is. */
#include "io/keys.h"
#include "io/words.h"
#include "test.h"
#include "workload/strategy.h"

#include <string.h>
#include <sys/stat.h>

static void case_and_dashes_do_not_count(void **state)
{
    (void)state;
    assert_true(words_alike("ZeRO-3", "zero3"));
    assert_true(words_alike("Zero 3", "zero_3"));
    assert_false(words_alike("zero", "zero3"));
    assert_false(words_alike("zero3", "zero"));
    assert_string_equal(words_strategy("Megatron-LM"), words_strategy("megatron"));
}

static void a_name_that_there_is_is_no_word_from_elsewhere(void **state)
{
    (void)state;
    for (int i = 0; i < n_strategies; i++) assert_null(words_strategy(strategies[i].name));
    assert_null(words_strategy("dpd"));
    assert_null(words_profile("library", "nccl-2.18"));
    assert_null(words_profile("framework", "nccl"));
    assert_null(words_profile("library", ""));
}

static void no_key_of_a_scenario_is_taken_for_another_tool_s(void **state)
{
    (void)state;
    for (int i = 0; i < n_top_fields; i++) assert_null(words_key(top_fields[i].key));
    for (int i = 0; top_other_keys[i]; i++) assert_null(words_key(top_other_keys[i]));
    assert_non_null(strstr(words_key("Batch_Size"), "batch_per_gpu"));
    assert_non_null(strstr(words_key("num_nodes"), "n_gpus"));
}

static void what_a_family_stands_for_is_shipped(void **state)
{
    static const char *const words[][2] = {
        {"library", "nccl"},      {"library", "openmpi"},      {"library", "mvapich"},
        {"framework", "pytorch"}, {"framework", "torchtitan"}, {"framework", "megatron"},
        {"framework", "nemo"},    {"framework", "deepspeed"},  {"framework", "tensorflow"},
        {"framework", "tf1"},     {"framework", "PyTorch-DDP"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct stat status;
        const char *folder = words[i][0][0] == 'l' ? "libraries" : "frameworks";
        const char *profile = words_profile(words[i][0], words[i][1]);
        assert_non_null(profile);
        assert_int_equal(stat(arena_text(*state, "scenarios/%s/%s.json", folder, profile), &status),
                         0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_and_dashes_do_not_count),
        cmocka_unit_test(a_name_that_there_is_is_no_word_from_elsewhere),
        cmocka_unit_test(no_key_of_a_scenario_is_taken_for_another_tool_s),
        cmocka_unit_test(what_a_family_stands_for_is_shipped),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
