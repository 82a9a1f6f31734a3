/* A network card from lines: which rows tell what, and that its law gives back what made them. */
#include "study/card.h"

#include "test.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 128 };

struct maker {
    struct raw raw;
    struct raw_row rows[MOST_ROWS];
    struct raw_head heads[1];
};

/* messages of 8 B to 2^28 B that take start_s + size / rate; those above 16 KiB more_s longer */
static void add_messages(struct maker *maker, const char *benchmark, double start_s, double more_s,
                         double rate_Bps)
{
    for (double size_B = 8; size_B <= 268435456.0; size_B *= 2) {
        assert_true(maker->raw.n_rows < MOST_ROWS);
        double agreed_s = size_B > 16384 ? more_s : 0;
        maker->rows[maker->raw.n_rows++] =
            (struct raw_row){.benchmark = benchmark,
                             .dtype = "",
                             .layout = "",
                             .note = "",
                             .size_B = size_B,
                             .n_ranks = 2,
                             .check = -1,
                             .time_s = start_s + agreed_s + size_B / rate_Bps};
    }
}

static struct maker *maker_open(struct arena *perm)
{
    struct maker *maker = arena_new(perm, struct maker, 1);
    maker->heads[0] = (struct raw_head){"device", "two servers"};
    maker->raw =
        (struct raw){.file = "raw.csv", .heads = maker->heads, .n_heads = 1, .rows = maker->rows};
    return maker;
}

static struct card fit(struct maker *maker, const struct nic_profile *base, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const struct raw **raws = arena_new(perm, const struct raw *, 1);
    static const struct gpu gpu = {.name = ""};
    raws[0] = &maker->raw;
    struct calibrate_input input = {.raws = raws, .n_raws = 1, .base = &gpu, .based = true};
    const struct calibration *lines = calibrate(&input, perm, &diag);
    assert_non_null(lines);
    return card_fit(lines, base, *perm);
}

static struct nic_profile base_card(void)
{
    return (struct nic_profile){.name = "base",
                                .bandwidth_Bps = 12.5e9,
                                .latency_s = 0.7e-6,
                                .efficiency = 0.9,
                                .eager_B = 8192};
}

/* 4 us and 10 GB/s: of 12.5 GB/s and two links of 0.7 us that is a share of 0.8 and 2.6 us in the hosts */
static void a_line_is_told_by_the_bases_line_rate_and_latency(void **state)
{
    struct maker *maker = maker_open(*state);
    struct nic_profile base = base_card();
    add_messages(maker, "ping_pong", 4e-6, 0, 10e9);
    struct card card = fit(maker, &base, *state);
    assert_close(card.nic.bandwidth_Bps, 12.5e9, 1e-12);
    assert_close(card.nic.efficiency, 0.8, 1e-3);
    assert_close(card.nic.latency_s, 0.7e-6, 1e-12);
    assert_close(card.nic.host_latency_s, 2.6e-6, 1e-3);
    assert_close(card.nic.handshake_s + 1, 1, 1e-12);
    assert_close(card.nic.eager_B, 8192, 1e-12);
    assert_true(card.error.p90 < 1e-3);
    assert_close(card_message_s(&card.nic, 1e6), 4e-6 + 1e6 / 10e9, 1e-3);
}

/* a start-up of 1 us is less than two links of 0.7 us, and 20 GB/s more than 12.5 */
static void what_is_faster_than_the_base_moves_it(void **state)
{
    struct maker *maker = maker_open(*state);
    struct nic_profile base = base_card();
    add_messages(maker, "ping_pong", 1e-6, 0, 20e9);
    struct card card = fit(maker, &base, *state);
    assert_close(card.nic.bandwidth_Bps, 20e9, 1e-3);
    assert_close(card.nic.efficiency, 1, 1e-9);
    assert_close(card.nic.latency_s, 0.5e-6, 1e-3);
    assert_true(card.nic.host_latency_s < 1e-9);
}

static void without_a_base_all_is_what_was_measured(void **state)
{
    struct maker *maker = maker_open(*state);
    add_messages(maker, "socket", 30e-6, 0, 2e9);
    struct card card = fit(maker, NULL, *state);
    assert_close(card.nic.bandwidth_Bps, 2e9, 1e-3);
    assert_close(card.nic.efficiency, 1, 1e-9);
    assert_true(card.nic.latency_s <= 0);
    assert_close(card.nic.host_latency_s, 30e-6, 1e-3);
}

/* the second piece, from 32 KiB, starts 20 us later */
static void a_later_piece_that_starts_later_is_a_handshake(void **state)
{
    struct maker *maker = maker_open(*state);
    struct nic_profile base = base_card();
    add_messages(maker, "ping_pong", 5e-6, 20e-6, 10e9);
    struct card card = fit(maker, &base, *state);
    assert_close(card.nic.handshake_s, 20e-6, 1e-2);
    assert_close(card.nic.eager_B, 32768, 1e-12);
}

/* half round trips at 8 GB/s, windows at 11: links that are kept busy reach 11 of 12.5 */
static void windows_tell_the_rate_and_round_trips_the_start(void **state)
{
    struct maker *maker = maker_open(*state);
    struct nic_profile base = base_card();
    add_messages(maker, "message_stream", 0.5e-6, 0, 11e9);
    add_messages(maker, "ping_pong", 4e-6, 0, 8e9);
    struct card card = fit(maker, &base, *state);
    assert_close(card.nic.efficiency, 11.0 / 12.5, 1e-3);
    assert_close(card.nic.host_latency_s, 2.6e-6, 1e-3);
    assert_string_equal(card.start->rows[0]->row->benchmark, "ping_pong");
    assert_string_equal(card.rate->rows[0]->row->benchmark, "message_stream");
}

static void windows_alone_leave_the_bases_latencies(void **state)
{
    struct maker *maker = maker_open(*state);
    struct nic_profile base = base_card();
    add_messages(maker, "message_stream", 0.5e-6, 0, 10e9);
    struct card card = fit(maker, &base, *state);
    assert_null(card.start);
    assert_close(card.nic.latency_s, 0.7e-6, 1e-12);
    assert_close(card.nic.efficiency, 0.8, 1e-3);
}

static void copies_and_collectives_are_no_messages(void **state)
{
    (void)state;
    assert_true(card_takes("message_both_ways"));
    assert_false(card_takes("host_to_device"));
    assert_false(card_takes("all_reduce"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_told_by_the_bases_line_rate_and_latency),
        cmocka_unit_test(what_is_faster_than_the_base_moves_it),
        cmocka_unit_test(without_a_base_all_is_what_was_measured),
        cmocka_unit_test(a_later_piece_that_starts_later_is_a_handshake),
        cmocka_unit_test(windows_tell_the_rate_and_round_trips_the_start),
        cmocka_unit_test(windows_alone_leave_the_bases_latencies),
        cmocka_unit_test(copies_and_collectives_are_no_messages),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
