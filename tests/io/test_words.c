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
    static const char *const words[][2] = {{"library", "nccl"},
                                           {"library", "openmpi"},
                                           {"library", "mvapich"},
                                           {"framework", "pytorch"},
                                           {"framework", "torchtitan"},
                                           {"framework", "megatron"},
                                           {"framework", "nemo"},
                                           {"framework", "deepspeed"},
                                           {"framework", "tensorflow"},
                                           {"framework", "tf1"},
                                           {"framework", "PyTorch-DDP"},
                                           {"library", "cray-mpich"},
                                           {"gpu", "H200"},
                                           {"gpu", "H800"},
                                           {"gpu", "B300 SXM6 AC"},
                                           {"gpu", "GH200 480GB"},
                                           {"nic", "HDR"},
                                           {"nic", "XDR"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct stat status;
        const char *folder = words[i][0][0] == 'l'   ? "libraries"
                             : words[i][0][0] == 'g' ? "hardware"
                             : words[i][0][0] == 'n' ? "links"
                                                     : "frameworks";
        const char *profile = words_profile(words[i][0], words[i][1]);
        assert_non_null(profile);
        assert_int_equal(stat(arena_text(*state, "scenarios/%s/%s.json", folder, profile), &status),
                         0);
    }
}

/* as nvidia-smi, rocm-smi and NCCL_DEBUG print them */
static void names_that_drivers_print_are_profiles(void **state)
{
    static const char *const names[][3] = {
        {"gpu", "NVIDIA GeForce RTX 4090", "rtx-4090"},
        {"gpu", "NVIDIA L40S", "l40s"},
        {"gpu", "Tesla T4", "t4"},
        {"library", "NCCL version 2.21.5+cuda12.4", "nccl-2.21.5"},
        {"library", "RCCL 2.20.5", "rccl-2.20.5"},
        {"gpu", "NVIDIA", ""},
    };
    static const char *const known[] = {"rtx3090", "rtx4090", "t4", "l40s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(words_short(names[i][1], *state), names[i][2]);
    assert_string_equal(words_known("rtx-4090", known, 4), "rtx4090");
    assert_null(words_known("rtx-409", known, 4));
    assert_null(words_known("", known, 4));
    assert_string_equal(words_profile("gpu", words_short("NVIDIA A100-SXM4-80GB", *state)),
                        "a100-sxm-80");
    assert_string_equal(words_profile("nic", "10GbE"), "eth-10g");
    assert_string_equal(words_profile("gpu", words_short("NVIDIA H100 80GB HBM3", *state)),
                        "h100-sxm-80");
    assert_null(words_profile("gpu", "h100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_and_dashes_do_not_count),
        cmocka_unit_test(names_that_drivers_print_are_profiles),
        cmocka_unit_test(a_name_that_there_is_is_no_word_from_elsewhere),
        cmocka_unit_test(no_key_of_a_scenario_is_taken_for_another_tool_s),
        cmocka_unit_test(what_a_family_stands_for_is_shipped),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
