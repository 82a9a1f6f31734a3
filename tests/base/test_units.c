#include "base/units.h"

#include "test.h"

static void bits_and_bytes_powers_of_1000_and_1024_are_told_apart(void **state)
{
    (void)state;
    const struct {
        const char *text;
        enum dim dim;
        double want;
    } cases[] = {
        {"400Gbps", DIM_RATE, 5e10}, /* 400e9 / 8 */
        {"400Gb/s", DIM_RATE, 5e10},
        {"50GB/s", DIM_RATE, 5e10},
        {"1GiB/s", DIM_RATE, 1073741824.0},
        {"10 Mbps", DIM_RATE, 1.25e6},
        {"25MiB", DIM_SIZE, 26214400.0}, /* 25 * 2^20 */
        {"25MB", DIM_SIZE, 25e6},
        {"1kB", DIM_SIZE, 1000.0},
        {"1KB", DIM_SIZE, 1000.0},
        {"1KiB", DIM_SIZE, 1024.0},
        {"80GB", DIM_SIZE, 8e10},
        {"2TiB", DIM_SIZE, 2199023255552.0},
        {"1.2us", DIM_TIME, 1.2e-6},
        {"1.2\xc2\xb5s", DIM_TIME, 1.2e-6},
        {"500ns", DIM_TIME, 5e-7},
        {"3 ms", DIM_TIME, 3e-3},
        {"-1us", DIM_TIME, -1e-6},
        {"1.5h", DIM_TIME, 5400.0},
        {"2d", DIM_TIME, 172800.0},
        {"2min", DIM_TIME, 120.0},
        {"1e-3s", DIM_TIME, 1e-3},
        {"312TFLOPS", DIM_FLOPS, 312e12},
        {"312TFLOP/s", DIM_FLOPS, 312e12},
        {"1PFLOPS", DIM_FLOPS, 1e15},
        {"8.2GFLOP", DIM_FLOP, 8.2e9},
        {"5EFLOP", DIM_FLOP, 5e18}, /* E is no exponent here */
        {"700W", DIM_POWER, 700.0},
        {"10.2kW", DIM_POWER, 10200.0},
        {"30MW", DIM_POWER, 3e7},
        {"0.5", DIM_FRACTION, 0.5},
        {"12", DIM_COUNT, 12.0},
        {"-2.5e3", DIM_NUMBER, -2500.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = -1;
        if (!unit_parse(cases[i].text, cases[i].dim, &got)) fail_msg("refused %s", cases[i].text);
        assert_close(got, cases[i].want, 1e-15);
    }
}

static void what_is_not_exactly_a_number_and_its_unit_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *text;
        enum dim dim;
    } cases[] = {
        {"", DIM_TIME},          {"us", DIM_TIME},      {"1", DIM_TIME},
        {"1 ", DIM_TIME},        {"1us ", DIM_TIME},    {" 1us", DIM_TIME},
        {"1uS", DIM_TIME},       {"1us1", DIM_TIME},    {"1u s", DIM_TIME},
        {"0x10us", DIM_TIME},    {"infs", DIM_TIME},    {"inf", DIM_NUMBER},
        {"nan", DIM_NUMBER},     {"nans", DIM_TIME},    {"1e999s", DIM_TIME},
        {"1e308h", DIM_TIME},    {"-1e308d", DIM_TIME}, {"1..2us", DIM_TIME},
        {".us", DIM_TIME},       {"--1us", DIM_TIME},   {"1,5us", DIM_TIME},
        {"400Gbps", DIM_SIZE},   {"25MiB", DIM_RATE},   {"50GBps", DIM_RATE},
        {"400gbps", DIM_RATE},   {"400Gbs", DIM_RATE},  {"1\tus", DIM_TIME},
        {"5", DIM_SIZE},         {"5B", DIM_COUNT},     {"50%", DIM_FRACTION},
        {"312TFLOPS", DIM_FLOP}, {"8GFLOP", DIM_FLOPS}, {"1e", DIM_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 42;
        if (unit_parse(cases[i].text, cases[i].dim, &value)) fail_msg("took \"%s\"", cases[i].text);
        assert_close(value, 42, 0); /* untouched */
    }
}

static void every_unit_of_the_table_reads_as_its_factor(void **state)
{
    struct arena *perm = *state;
    for (int i = 0; i < n_units; i++) {
        double value = 0;
        const char *text = arena_text(perm, "2.5 %s", units[i].name);
        if (units[i].name[0] == '\0') text = "2.5";
        assert_true(unit_parse(text, units[i].dim, &value));
        assert_close(value, 2.5 * units[i].factor, 1e-15);
        for (int j = 0; j < i; j++) {
            bool same = units[i].dim == units[j].dim && strcmp(units[i].name, units[j].name) == 0;
            assert_false(same);
        }
    }
}

static void values_print_in_the_unit_that_reads_best(void **state)
{
    (void)state;
    const struct {
        double value;
        enum dim dim;
        const char *want;
    } cases[] = {
        {1.2e-6, DIM_TIME, "1.20 us"},
        {0.08333, DIM_TIME, "83.3 ms"},
        {9.9996e-4, DIM_TIME, "1.00 ms"}, /* not "1000 us" */
        {5400, DIM_TIME, "1.50 h"},
        {3e-12, DIM_TIME, "0.003 ns"},
        {0, DIM_TIME, "0"},
        {-1e-6, DIM_TIME, "-1 us"},
        {26214400, DIM_SIZE, "25 MiB"},
        {1023, DIM_SIZE, "1023 B"},
        {1.5 * 1099511627776.0, DIM_SIZE, "1.50 TiB"},
        {5e10, DIM_RATE, "400 Gbps"},
        {48.875e9, DIM_RATE, "391 Gbps"},
        {312e12, DIM_FLOPS, "312 TFLOPS"},
        {8.2e9, DIM_FLOP, "8.20 GFLOP"},
        {10200, DIM_POWER, "10.2 kW"},
        {16384, DIM_COUNT, "16384"},
        {0.9137, DIM_FRACTION, "0.914"},
        {1e18, DIM_COUNT, "1e+18"},
        {(double)INFINITY, DIM_TIME, "inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        unit_print(cases[i].value, cases[i].dim, text, sizeof text);
        assert_string_equal(text, cases[i].want);
    }
}

static void what_is_printed_can_be_read_again(void **state)
{
    (void)state;
    for (int d = 0; d < N_DIMS; d++) {
        for (double value = 1e-7; value < 1e17; value *= 3.7) {
            char text[32];
            double back = 0;
            unit_print(value, (enum dim)d, text, sizeof text);
            assert_true(unit_parse(text, (enum dim)d, &back));
            assert_close(back, value, 0.006);
        }
        assert_non_null(unit_wanted((enum dim)d));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_and_bytes_powers_of_1000_and_1024_are_told_apart),
        cmocka_unit_test(what_is_not_exactly_a_number_and_its_unit_is_refused),
        cmocka_unit_test(every_unit_of_the_table_reads_as_its_factor),
        cmocka_unit_test(values_print_in_the_unit_that_reads_best),
        cmocka_unit_test(what_is_printed_can_be_read_again),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
