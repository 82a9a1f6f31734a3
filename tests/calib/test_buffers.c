#include "calib/buffers.h"

#include "test.h"

static void operands_of_each_benchmark_are_what_its_kernel_reads_and_writes(void **state)
{
    (void)state;
    static const struct {
        struct calib_case c;
        int n;
        double part_B[BUFFERS_MAX];
    } rows[] = {
        /* 64 x 32 by 32 x 16: 2048, 512 and 1024 numbers of 2 bytes */
        {{"gemm", "bf16", "nn", 64, 16, 32, 1, 0, 1}, 3, {4096, 1024, 2048}},
        {{"gemm", "bf16", "nn", 64, 16, 32, 3, 0, 1}, 3, {3 * 4096, 3 * 1024, 3 * 2048}},
        {{"gemm", "fp8", "nt", 64, 16, 32, 0, 0, 1}, 3, {2048, 512, 2048}},
        {{"gemm_during_copy", "fp32", "nn", 64, 16, 32, 1, 1024, 1},
         5,
         {8192, 2048, 4096, 1024, 1024}},
        {{"elementwise", "fp32", "", 4, 256, 0, 0, 0, 1}, 2, {4096, 4096}},
        {{"reduction", "fp16", "", 128, 256, 0, 0, 0, 1}, 2, {65536, 512}},
        {{"layer_norm", "bf16", "", 4, 256, 0, 0, 0, 1}, 4, {2048, 2048, 512, 512}},
        /* 2 heads of 128 queries and 256 keys of 64 numbers; scores 2 x 128 x 256 */
        {{"attention", "bf16", "", 128, 256, 64, 2, 0, 1}, 5, {32768, 65536, 65536, 32768, 131072}},
        {{"attention_fused", "bf16", "", 128, 256, 64, 2, 0, 1}, 4, {32768, 65536, 65536, 32768}},
        {{"optimizer", "bf16", "", 1, 1024, 0, 0, 0, 1}, 5, {4096, 4096, 4096, 2048, 2048}},
        {{"copy", "", "", 0, 0, 0, 0, 1000, 1}, 2, {1024, 1024}}, /* rounded up to 256 */
        {{"stream", "", "", 0, 0, 0, 0, 3072, 1}, 3, {1024, 1024, 1024}},
        {{"peer", "", "", 0, 0, 0, 0, 1, 2}, 1, {256}},
        {{"launch_graph", "", "", 0, 9, 0, 0, 0, 1}, 0, {0}},
        {{"all_reduce", "fp32", "", 0, 0, 0, 0, 4096, 8}, 0, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buffers buffers;
        double sum_B = 0;
        assert_true(buffers_of(&rows[i].c, &buffers));
        assert_int_equal(buffers.n, rows[i].n);
        for (int part = 0; part < buffers.n; part++) {
            assert_close(buffers.part_B[part], rows[i].part_B[part], 1e-15);
            sum_B += rows[i].part_B[part];
        }
        assert_close(buffers.set_B, sum_B, 1e-15);
    }
}

static void cases_without_a_size_have_no_operands(void **state)
{
    (void)state;
    static const struct calib_case bad[] = {
        {"no such benchmark", "fp32", "", 1, 1, 1, 1, 1, 1},
        {"gemm", "fp64", "nn", 4, 4, 4, 1, 0, 1},
        {"gemm", "fp32", "nn", 4, 0, 4, 1, 0, 1},
        {"copy", "", "", 0, 0, 0, 0, 0, 1},
        {"softmax", "", "", 4, 4, 0, 0, 0, 1},
        {"gemm", "fp32", "nn", -4, 4, -4, 1, 0, 1},
    };
    struct buffers buffers;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(buffers_of(&bad[i], &buffers));
}

static int sets(double set_B, double free_B)
{
    struct buffers buffers = {.set_B = set_B, .n = 1, .part_B = {set_B}};
    return buffers_sets(&buffers, (struct buffers_room){.free_B = free_B, .cache_B = 50e6});
}

static void sets_go_round_through_twice_the_cache_or_as_far_as_memory_goes(void **state)
{
    (void)state;
    assert_int_equal(sets(10e6, 100e9), 10);  /* 10 * 10 MB = 2 * 50 MB */
    assert_int_equal(sets(30e6, 100e9), 4);   /* 3 would be 90 MB */
    assert_int_equal(sets(200e6, 100e9), 1);  /* alone more than twice the cache */
    assert_int_equal(sets(256, 100e9), 4096); /* at most */
    /* of 600 MB, 500 MB are set aside for libraries and 5 % of the rest: 83.6 MB */
    assert_int_equal(sets(30e6, 600e6), 2);
    assert_int_equal(sets(90e6, 600e6), 0);
    assert_int_equal(sets(30e6, 100e6), 0);
    assert_int_equal(sets(0, 100e9), 1);
    assert_int_equal(sets((double)INFINITY, 100e9), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_each_benchmark_are_what_its_kernel_reads_and_writes),
        cmocka_unit_test(cases_without_a_size_have_no_operands),
        cmocka_unit_test(sets_go_round_through_twice_the_cache_or_as_far_as_memory_goes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
