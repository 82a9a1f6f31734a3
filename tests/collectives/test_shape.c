#include "collectives/shape.h"

#include "test.h"

static void each_channel_orders_all_members_and_turns_by_its_entry(void **state)
{
    (void)state;
    for (int m = 1; m <= 16; m++)
        for (int channels = 1; channels <= 16; channels++)
            for (int c = 0; c < channels; c++) {
                struct coll_req req = {
                    .n_ranks = 3 * m, .ranks_per_node = m, .n_channels = channels};
                struct way way = shape_way(&req, c);
                bool seen[48] = {false};
                for (int position = 0; position < 3 * m; position++) {
                    int member = shape_member(way, position);
                    assert_int_equal(member / m, position / m); /* node by node */
                    assert_false(seen[member]);
                    seen[member] = true;
                    assert_int_equal(shape_position(way, member), position);
                }
                assert_int_equal(shape_member(way, 0), c * m / channels);
                assert_int_equal(shape_member(way, m - 1), shape_exit(&req, c));
                assert_true(m == 1 || shape_exit(&req, c) != shape_entry(&req, c));
            }
}

/* The picture of shape.h. */
static void four_channels_of_four_members_enter_and_leave_side_by_side(void **state)
{
    (void)state;
    static const int want[4][4] = {{0, 2, 3, 1}, {1, 2, 3, 0}, {2, 0, 1, 3}, {3, 0, 1, 2}};
    struct coll_req req = {.n_ranks = 4, .ranks_per_node = 4, .n_channels = 4};
    for (int c = 0; c < 4; c++)
        for (int position = 0; position < 4; position++)
            assert_int_equal(shape_member(shape_way(&req, c), position), want[c][position]);
}

static void rails_of_a_node_cover_every_channel(void **state)
{
    (void)state;
    for (int m = 1; m <= 12; m++)
        for (int channels = 1; channels <= 12; channels++) {
            struct coll_req req = {.n_ranks = m, .ranks_per_node = m, .n_channels = channels};
            bool used[12] = {false};
            int last = 0;
            for (int local = 0; local < m; local++)
                for (int k = 0; k < shape_rails(&req); k++) {
                    int channel = shape_rail_channel(&req, local, k);
                    assert_true(channel >= last && channel < channels); /* neighbours are near */
                    used[last = channel] = true;
                }
            for (int c = 0; c < channels; c++) assert_true(used[c]);
        }
}

static void logarithm_is_rounded_up(void **state)
{
    (void)state;
    static const int want[] = {0, 0, 1, 2, 2, 3, 3, 3, 3, 4};
    for (int n = 1; n <= 9; n++) assert_int_equal(shape_log2(n), want[n]);
    assert_int_equal(shape_log2(1 << 20), 20);
}

static void fold_numbers_its_players_in_order(void **state)
{
    (void)state;
    for (int n = 1; n <= 40; n++) {
        struct fold fold = fold_of(n);
        int player = 0;
        assert_true(fold.players <= n && 2 * fold.players > n);
        assert_int_equal(1 << fold.rounds, fold.players);
        for (int rank = 0; rank < n; rank++) {
            if (fold_player(fold, rank) < 0) continue;
            assert_int_equal(fold_player(fold, rank), player);
            assert_int_equal(fold_rank(fold, player++), rank);
        }
        assert_int_equal(player, fold.players);
    }
}

static void chunks_are_whole_and_bounded(void **state)
{
    (void)state;
    struct coll_req req = {.chunk_B = 10};
    assert_int_equal(shape_chunks(&req, 1), 1);
    assert_int_equal(shape_chunks(&req, 10), 1);
    assert_int_equal(shape_chunks(&req, 10.5), 2);
    assert_int_equal(shape_chunks(&req, 1e300), SHAPE_MAX_CHUNKS);
}

/* Servers 4, 5, 6 of two nodes of two: nodes 0, 1, 0. */
static void servers_stand_on_the_first_nodes(void **state)
{
    (void)state;
    struct coll_req req = {.n_ranks = 4, .ranks_per_node = 2, .n_servers = 3};
    static const int want[] = {0, 0, 1, 1, 0, 1, 0};
    for (int member = 0; member < 7; member++)
        assert_int_equal(shape_node(&req, member), want[member]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_channel_orders_all_members_and_turns_by_its_entry),
        cmocka_unit_test(four_channels_of_four_members_enter_and_leave_side_by_side),
        cmocka_unit_test(rails_of_a_node_cover_every_channel),
        cmocka_unit_test(logarithm_is_rounded_up),
        cmocka_unit_test(fold_numbers_its_players_in_order),
        cmocka_unit_test(chunks_are_whole_and_bounded),
        cmocka_unit_test(servers_stand_on_the_first_nodes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
