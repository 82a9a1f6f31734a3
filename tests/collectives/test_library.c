#include "collectives/library.h"

#include "test.h"

static const struct coll_hops equal[4] = {
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
};

static struct lib_choice row(const char *name, const char *protocol)
{
    return (struct lib_choice){.kind = COLL_ALLREDUCE,
                               .algo = coll_find(COLL_ALLREDUCE, name),
                               .protocol = protocol,
                               .max_B = INFINITY};
}

static struct coll_req of_size(double size_B)
{
    return (struct coll_req){.kind = COLL_ALLREDUCE,
                             .n_ranks = 16,
                             .ranks_per_node = 1,
                             .n_channels = 1,
                             .n_servers = 1,
                             .root = -1,
                             .size_B = size_B,
                             .chunk_B = 1e5};
}

/* n = 16: ring 30 alpha + 1.875 S beta, doubling 4 alpha + 4 S beta: equal at 26 us / 2.125 ns
 * = 12,235 B. */
static void fastest_changes_where_the_closed_forms_cross(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "tcp"), row("recursive-doubling", "tcp")};
    struct library lib = {.choices = rows, .n_choices = 2, .selection = "fastest"};
    struct coll_req below = of_size(12234), above = of_size(12237);
    assert_int_equal(library_choose(&lib, &below, equal, 16, NULL, NULL), 1);
    assert_int_equal(library_choose(&lib, &above, equal, 16, NULL, NULL), 0);
    rows[1].base_latency_s = 30e-6; /* now never ahead */
    assert_int_equal(library_choose(&lib, &below, equal, 16, NULL, NULL), 0);
}

static void earlier_row_wins_a_tie(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "LL"), row("ring", "Simple")};
    struct library lib = {.choices = rows, .n_choices = 2, .selection = "fastest"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    struct coll_hops hops[2] = {equal[0], equal[1]};
    hops[1].inter.beta_s_per_B = 0.9e-9; /* a row's own hops count */
    assert_int_equal(library_choose(&lib, &req, hops, 16, NULL, NULL), 1);
}

static void first_takes_the_first_row_allowed(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("recursive-doubling", "tcp"), row("ring", "tcp"),
                                row("halving-doubling", "tcp")};
    rows[0].max_B = 2048;
    rows[1].min_nodes = 32;
    struct library lib = {.choices = rows, .n_choices = 3, .selection = "first"};
    struct coll_req small = of_size(2048), large = of_size(2049);
    assert_int_equal(library_choose(&lib, &small, equal, 16, NULL, NULL), 0);
    assert_int_equal(library_choose(&lib, &large, equal, 16, NULL, NULL), 2);
    assert_int_equal(library_choose(&lib, &large, equal, 32, NULL, NULL), 1);
}

/* Sixteen ranks are more than the first row's 15, and not fewer than the second's. */
static void rows_may_be_for_some_numbers_of_ranks(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "tcp"), row("recursive-doubling", "tcp"),
                                row("halving-doubling", "tcp")};
    rows[0].max_ranks = 15;
    rows[1].min_ranks = 16;
    struct library lib = {.choices = rows, .n_choices = 3, .selection = "first"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 1);
    rows[1].min_ranks = 17;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 2);
    rows[0].max_ranks = 16;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
}

static void rows_may_be_for_few_ranks_of_a_node(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "Simple")};
    struct library lib = {.choices = rows, .n_choices = 1, .selection = "first"};
    struct coll_req req = of_size(1e6);
    rows[0].max_per_node = 1;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    req.ranks_per_node = 2;
    assert_int_equal(library_choose(&lib, &req, equal, 8, NULL, NULL), -1);
}

static void forced_names_leave_only_their_rows(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "LL"), row("ring", "Simple"), row("tree", "LL")};
    struct library lib = {.choices = rows, .n_choices = 3, .selection = "fastest"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "tree", NULL), 2);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, "Simple"), 1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "ring", "Simple"), 1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "tree", "Simple"), -1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "direct", NULL), -1);
}

static void nothing_fits_outside_kind_size_nodes_and_algorithm(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("parameter-server", "tcp")};
    struct library lib = {.choices = rows, .n_choices = 1, .selection = "fastest"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    req.n_servers = 0; /* the algorithm cannot run */
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    req = of_size(1e6);
    req.kind = COLL_REDUCE;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    req = of_size(1e6);
    rows[0].max_nodes = 15;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    rows[0].max_nodes = 16;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    rows[0].min_B = 1e6 + 1;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
}

static struct coll_req of_eight(enum coll_kind kind, double size_B)
{
    struct coll_req req = of_size(size_B);
    req.kind = kind;
    req.n_ranks = req.ranks_per_node = 8;
    return req;
}

/* One channel for each full 8 ranks * 4 kB + 32 kB = 64 kB, at least 1, at most 4; of an all-to-all
 * one for each part of it, of what each of 8 peers gets. */
static void channels_open_with_the_size(void **state)
{
    (void)state;
    struct lib_choice row = {.channel_B = 32e3, .channel_per_rank_B = 4e3};
    struct library lib = {.n_channels = 4};
    struct coll_req tiny = of_eight(COLL_ALLREDUCE, 1), two = of_eight(COLL_ALLREDUCE, 191e3),
                    huge = of_eight(COLL_ALLREDUCE, 1e9), all = of_eight(COLL_ALLTOALL, 8 * 191e3);
    assert_int_equal(library_channels(&lib, &row, &tiny), 1);
    assert_int_equal(library_channels(&lib, &row, &two), 2);
    assert_int_equal(library_channels(&lib, &row, &huge), 4);
    assert_int_equal(library_channels(&lib, &row, &all), 3);
    row.channel_B = row.channel_per_rank_B = 0;
    assert_int_equal(library_channels(&lib, &row, &tiny), 4);
}

/* 2 of 4 channels: 3 us + 2 * 0.5 us, and a copy of 128 kB / 8 at 2 * 8 GB/s = 1 us;
 * half of the cap. */
static void a_row_holds_what_the_request_adds(void **state)
{
    (void)state;
    struct lib_choice choice = row("ring", "Simple");
    choice.base_latency_s = 3e-6;
    choice.channel_B = 64e3;
    choice.channel_cap_Bps = 10e9;
    choice.own_copy_Bps = 8e9;
    struct library lib = {.n_channels = 4, .channel_start_s = 0.5e-6};
    struct coll_req req = of_eight(COLL_ALLREDUCE, 128e3);
    struct lib_choice own = library_row(&lib, &choice, &req);
    assert_close(own.base_latency_s, 5e-6, 1e-12);
    assert_close(own.channel_cap_Bps * lib.n_channels, 20e9, 1e-12);
}

/* 8 ranks of two nodes, 16 channels and 1 MB: a tree 3 + 1 deep cuts 512 KiB down to 32 KiB, a message of which
 * takes as long to start as to send: (1 + 32/512) / 2 of what whole chunks reach; of 1 GB chunks stay whole. */
static void a_card_sends_small_chunks_slower(void **state)
{
    (void)state;
    struct lib_choice choice = row("tree", "Simple");
    choice.efficiency_net = 0.8;
    choice.least_chunk_B = 32768;
    choice.net.half_B = 32768;
    struct library lib = {.n_channels = 16, .chunk_B = 524288};
    struct coll_req cut = of_eight(COLL_ALLREDUCE, 1e6), whole = of_eight(COLL_ALLREDUCE, 1e9);
    cut.ranks_per_node = whole.ranks_per_node = 4;
    assert_close(library_row(&lib, &choice, &cut).efficiency_net, 0.8 * 17 / 32, 1e-12);
    assert_close(library_row(&lib, &choice, &whole).efficiency_net, 0.8, 1e-12);
    cut.ranks_per_node = 8; /* no card is in it */
    assert_close(library_row(&lib, &choice, &cut).efficiency_net, 0.8, 1e-12);
}

/* 2 us, 8 ranks of 1 us, and 0.5 us for each of 4 channels but the first: one for each 64 kB. */
static void a_host_issues_each_open_channel(void **state)
{
    (void)state;
    struct lib_choice choice = row("ring", "Simple");
    choice.channel_B = 64e3;
    struct library lib = {
        .n_channels = 16, .issue_s = 2e-6, .issue_per_rank_s = 1e-6, .channel_start_s = 0.5e-6};
    struct coll_req few = of_eight(COLL_ALLREDUCE, 64e3), more = of_eight(COLL_ALLREDUCE, 256e3);
    assert_close(library_issue_s(&lib, &choice, &few), 10e-6, 1e-12);
    assert_close(library_issue_s(&lib, &choice, &more), 11.5e-6, 1e-12);
    choice.issue_frac = 0.5; /* 5 us of what is issued whatever the channels, and 1.5 us of those */
    assert_close(library_issue_s(&lib, &choice, &more), 6.5e-6, 1e-12);
}

/* 8 ranks together: 7 peers of 3 us are issued, and are no part of what the row takes. */
static void peers_inside_a_node_are_issued_while_data_moves(void **state)
{
    (void)state;
    struct lib_choice choice = row("direct", "Simple");
    choice.kind = COLL_ALLTOALL;
    choice.per_peer_s = 3e-6;
    choice.base_latency_s = 5e-6;
    struct library lib = {.n_channels = 1, .issue_s = 2e-6};
    struct coll_req req = of_eight(COLL_ALLTOALL, 1e6);
    assert_close(library_row(&lib, &choice, &req).base_latency_s, 5e-6, 1e-12);
    assert_close(library_issue_s(&lib, &choice, &req), 23e-6, 1e-12);
    req.ranks_per_node =
        4; /* out of the node they hold up what is sent: 3 peers of its own, 4 others */
    assert_close(library_row(&lib, &choice, &req).base_latency_s, 26e-6, 1e-12);
    assert_close(library_issue_s(&lib, &choice, &req), 2e-6, 1e-12);
}

/* Of 16 MB with 4 MB to fill the stages 20 MB are paid; of 2 MB all twice. */
static void stages_that_fill_are_paid_once_more(void **state)
{
    (void)state;
    struct lib_choice choice = row("ring", "Simple");
    choice.efficiency_scaleup = 0.5;
    choice.fill_B = 4e6;
    struct library lib = {.n_channels = 4};
    struct coll_req large = of_eight(COLL_ALLREDUCE, 16e6), small = of_eight(COLL_ALLREDUCE, 2e6);
    assert_close(library_row(&lib, &choice, &large).efficiency_scaleup, 0.4, 1e-12);
    assert_close(library_row(&lib, &choice, &small).efficiency_scaleup, 0.25, 1e-12);
}

/* n = 8, all-reduce in the switch: 1 + 1/8 buffers on a cable for 2 * 7/8 sent. */
static void a_switch_that_sums_spares_the_cables(void **state)
{
    (void)state;
    struct lib_choice choice = row("nvls", "Simple");
    choice.efficiency_scaleup = 0.5;
    struct library lib = {.n_channels = 1};
    struct coll_req req = of_eight(COLL_ALLREDUCE, 1e6);
    assert_close(library_row(&lib, &choice, &req).efficiency_scaleup, 0.5 * 1.75 / 1.125, 1e-12);
}

/* 4 nodes of 2: by CollNet a card sends S instead of 2 * 3/4 S, and PCIe carries what it sends; in a node
 * of 2 that sums a cable carries S + S / 2 instead of S. */
static void a_network_that_sums_spares_cards_and_their_slots(void **state)
{
    (void)state;
    struct lib_choice choice = row("nvls-collnet", "Simple");
    choice.efficiency_scaleup = choice.efficiency_pcie = choice.efficiency_net = 0.5;
    struct library lib = {.n_channels = 1};
    struct coll_req req = of_eight(COLL_ALLREDUCE, 1e6);
    req.ranks_per_node = 2;
    struct lib_choice got = library_row(&lib, &choice, &req);
    assert_close(got.efficiency_net, 0.5 * 1.5, 1e-12);
    assert_close(got.efficiency_pcie, 0.5 * 1.5, 1e-12);
    assert_close(got.efficiency_scaleup, 0.5 / 1.5, 1e-12);
}

static void a_tuner_may_see_other_costs(void **state)
{
    (void)state;
    const struct library lib = {.n_channels = 1};
    struct lib_choice choice = row("ring", "Simple");
    choice.scaleup_latency_s = 1e-6;
    struct coll_req req = of_eight(COLL_ALLREDUCE, 1e6);
    assert_close(library_tuner_row(&lib, &choice, &req).scaleup_latency_s, 1e-6, 1e-12);
    choice.tuner.scaleup_latency_s = 2e-6;
    choice.has_tuner = true;
    assert_close(library_tuner_row(&lib, &choice, &req).scaleup_latency_s, 2e-6, 1e-12);
    assert_close(library_row(&(struct library){.n_channels = 1}, &choice, &req).scaleup_latency_s,
                 1e-6, 1e-12);
}

/* 4 nodes of 2 ranks, 2 channels, 8 MB. A ring's message is a block of 1 MB, 500 kB a channel: with half
 * of the handshake paid at 500 kB it costs 10 us of 20, and half of that by a protocol that pays half.
 * A tree's is all: 4 MB a channel, 8/9 of it. */
static void what_the_network_adds_depends_on_the_message(void **state)
{
    (void)state;
    const struct library lib = {.n_channels = 1};
    struct coll_req req = {
        .kind = COLL_ALLREDUCE, .n_ranks = 8, .ranks_per_node = 2, .n_channels = 2, .size_B = 8e6};
    struct lib_choice row = {
        .kind = COLL_ALLREDUCE,
        .algo = coll_find(COLL_ALLREDUCE, "ring"),
        .net_latency_s = 5e-6,
        .efficiency_net = 0.9,
        .channel_cap_Bps = 1e12,
        .handshake_frac = 1,
        .net = {.handshake_s = 20e-6, .eager_B = 500e3, .pair_frac = 0.5, .more_frac = 0.7}};
    assert_close(library_row(&lib, &row, &req).net_latency_s, 15e-6, 1e-12);
    assert_close(library_row(&lib, &row, &req).efficiency_net, 0.7, 1e-12);
    row.handshake_frac = 0.5;
    assert_close(library_row(&lib, &row, &req).net_latency_s, 10e-6, 1e-12);
    row.algo = coll_find(COLL_ALLREDUCE, "tree");
    assert_close(library_row(&lib, &row, &req).net_latency_s, 5e-6 + 10e-6 * 8 / 9, 1e-12);
    req.n_ranks = 4;
    assert_close(library_row(&lib, &row, &req).efficiency_net, 0.5, 1e-12);
    req.n_ranks = 2; /* all on one node: the network adds nothing */
    assert_close(library_row(&lib, &row, &req).net_latency_s, 5e-6, 1e-12);
    assert_close(library_row(&lib, &row, &req).efficiency_net, 0.9, 1e-12);
}

/* 6 of 8 ranks stand on other nodes: 6 times what a peer costs, once per all-to-all. */
static void peers_on_other_nodes_cost_an_all_to_all(void **state)
{
    (void)state;
    const struct library lib = {.n_channels = 1};
    struct coll_req req = {
        .kind = COLL_ALLTOALL, .n_ranks = 8, .ranks_per_node = 2, .n_channels = 1, .size_B = 1e3};
    const struct lib_choice row = {.kind = COLL_ALLTOALL,
                                   .algo = coll_find(COLL_ALLTOALL, "direct"),
                                   .efficiency_net = 1,
                                   .channel_cap_Bps = 1e12,
                                   .net = {.peer_s = 3e-6, .eager_B = 1}};
    assert_close(library_row(&lib, &row, &req).base_latency_s, 18e-6, 1e-12);
}

/* 2 of 8 ranks are together: their peer takes 4 us of the kernel while the host serves 6 others, 3 us
 * each. A block of 100 B is injected at 10 us a peer, one of 200 B is not. */
static void peers_on_both_sides_are_served_at_once(void **state)
{
    (void)state;
    const struct library lib = {.n_channels = 1};
    struct lib_choice row = {.kind = COLL_ALLTOALL,
                             .algo = coll_find(COLL_ALLTOALL, "direct"),
                             .efficiency_net = 1,
                             .channel_cap_Bps = 1e12,
                             .per_peer_s = 4e-6,
                             .inject_frac = 1,
                             .net = {.peer_s = 3e-6, .inject_B = 100, .inject_s = 10e-6}};
    struct coll_req req = {
        .kind = COLL_ALLTOALL, .n_ranks = 8, .ranks_per_node = 2, .n_channels = 1, .size_B = 1600};
    assert_close(library_row(&lib, &row, &req).base_latency_s, 18e-6, 1e-12);
    req.size_B = 800;
    assert_close(library_row(&lib, &row, &req).base_latency_s, 78e-6, 1e-12);
    row.inject_frac = 0; /* a library that does not copy */
    assert_close(library_row(&lib, &row, &req).base_latency_s, 18e-6, 1e-12);
    row.per_peer_s = 40e-6; /* the kernel is the slower one */
    assert_close(library_row(&lib, &row, &req).base_latency_s, 40e-6, 1e-12);
}

static struct lib_choice reckoned_row(void)
{
    struct lib_choice choice = row("ring", "Simple");
    choice.has_tuner = true;
    choice.tuner = (struct lib_tuner){.base_latency_s = 10e-6,
                                      .scaleup_latency_s = 1e-6,
                                      .net_latency_s = 5e-6,
                                      .efficiency_net = 1,
                                      .inner_floor_s = 3e-6,
                                      .plateau = 1.5,
                                      .pair_Bps = 40e9,
                                      .more_Bps = 20e9};
    return choice;
}

/* 4 channels that are reckoned with 20 GB/s together: 5 GB/s each; a hop inside a node takes 3 us
 * between nodes, times 1.5 in an all-reduce. */
static void a_tuner_reckons_otherwise_between_nodes(void **state)
{
    (void)state;
    const struct library lib = {.n_channels = 4};
    const struct lib_choice choice = reckoned_row();
    struct coll_req req = of_eight(COLL_ALLREDUCE, 1e6);
    assert_close(library_tuner_row(&lib, &choice, &req).scaleup_latency_s, 1e-6, 1e-12);
    req.ranks_per_node = 4;
    struct lib_choice pair = library_tuner_row(&lib, &choice, &req);
    assert_close(pair.scaleup_latency_s, 4.5e-6, 1e-12);
    assert_close(pair.net_latency_s, 7.5e-6, 1e-12);
    assert_close(pair.base_latency_s, 15e-6, 1e-12);
    assert_close(pair.channel_cap_Bps, 10e9, 1e-12);
    req.ranks_per_node = 2;
    assert_close(library_tuner_row(&lib, &choice, &req).channel_cap_Bps, 5e9, 1e-12);
    req.kind = COLL_ALLGATHER; /* no plateau */
    assert_close(library_tuner_row(&lib, &choice, &req).scaleup_latency_s, 3e-6, 1e-12);
}

/* Shares of 64, 128 and 256 B: 127 B is of the first, 512 B beyond the last. */
static void a_tuner_corrects_by_size(void **state)
{
    (void)state;
    const struct library lib = {.n_channels = 1};
    struct lib_choice choice = reckoned_row();
    choice.tuner.n_shares = 3;
    choice.tuner.share[0] = 0.9;
    choice.tuner.share[1] = 0.8;
    choice.tuner.share[2] = 0.7;
    const double cases[][2] = {{63, 1}, {64, 0.9}, {127, 0.9}, {128, 0.8}, {511, 0.7}, {512, 1}};
    for (int i = 0; i < 6; i++) {
        struct coll_req req = of_eight(COLL_ALLREDUCE, cases[i][0]);
        assert_close(library_tuner_row(&lib, &choice, &req).efficiency_net, cases[i][1], 1e-12);
    }
}

/* Ring of 4 nodes of 4, blocks of 10 kB, 1 us a hop and 1 ns/B between nodes: the busiest port works
 * for 30 * 10 us, in which most latencies pass: 301 us. A tuner reckons 30 us more, which is more than
 * what 15 us of start-up makes of the same. */
static void a_tuner_adds_latencies_and_bytes(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "LL"), row("ring", "LL")};
    rows[0].has_tuner = true;
    rows[1].base_latency_s = 15e-6;
    struct library lib = {.choices = rows, .n_choices = 2, .selection = "fastest"};
    struct coll_req req = of_size(160e3);
    req.ranks_per_node = 4;
    const struct coll_hops hops[2] = {{{1e-6, 0}, {1e-6, 1e-9}}, {{1e-6, 0}, {1e-6, 1e-9}}};
    assert_int_equal(library_choose(&lib, &req, hops, 4, NULL, NULL), 1);
    rows[0].has_tuner = false;
    assert_int_equal(library_choose(&lib, &req, hops, 4, NULL, NULL), 0);
}

/* Sizes of a border belong to the class above; one that leaves its server has a spread of its own. */
static void spreads_stand_by_size_and_reach(void **state)
{
    (void)state;
    struct library lib = {0};
    for (int reach = 0; reach < LIB_N_REACHES; reach++) {
        for (int size = 0; size < LIB_N_SIZES; size++)
            lib.spread[reach][size] = (struct sides){10 * reach + size, 0};
    }
    static const struct {
        double size_B;
        int ranks_per_node, faster;
    } cases[] = {{8, 8, 0},    {63999, 8, 0}, {64e3, 8, 1}, {8e6, 8, 2},
                 {64e6, 8, 3}, {1e12, 8, 3},  {8, 4, 10},   {64e6, 4, 13}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coll_req req = {
            .n_ranks = 8, .ranks_per_node = cases[i].ranks_per_node, .size_B = cases[i].size_B};
        assert_close(library_sides(&lib, &req).faster, cases[i].faster, 1e-12);
    }
}

/* 16 nodes of 8 on 24 channels and 4 patterns, of which a stream stands for 24 / 8 = 3 channels; depth
 * 7 + 4 = 11. Of 24 MiB a channel has 1 MiB: 512, 256 and 128 KiB are fewer than 88 chunks, so is 64 KiB
 * than 44, and 32 KiB is not reached, as 16 chunks of 64 KiB are 11 or more. Of 12 MiB 8 of 64 KiB are
 * fewer than 11, so 32 KiB. Of 24 GiB all of 512 KiB are 2048. */
static void trees_cut_small_buffers_finer(void **state)
{
    (void)state;
    struct lib_choice tree = row("tree", "Simple");
    tree.least_chunk_B = 32768;
    struct library lib = {.choices = &tree, .n_choices = 1, .n_channels = 24, .chunk_B = 524288};
    struct coll_req req = of_size(24 * 1048576.0);
    req.n_ranks = 128;
    req.ranks_per_node = 8;
    req.n_channels = 4;
    assert_close(library_row(&lib, &tree, &req).chunk_B, 3 * 65536, 1e-12);
    req.size_B /= 2;
    assert_close(library_row(&lib, &tree, &req).chunk_B, 3 * 32768, 1e-12);
    req.size_B *= 2048;
    assert_close(library_row(&lib, &tree, &req).chunk_B, 3 * 524288, 1e-12);
    tree.least_chunk_B = 0;
    assert_true(library_row(&lib, &tree, &req).chunk_B <= 0); /* that of the library */
}

/* On three nodes a tree sends 1.5 S and NCCL counts 2 S: three quarters of the rate. */
static void nccl_counts_a_tree_of_three_nodes_as_of_many(void **state)
{
    (void)state;
    struct lib_choice tree = row("tree", "Simple");
    tree.has_tuner = true;
    tree.tuner.efficiency_net = tree.tuner.efficiency_scaleup = tree.tuner.efficiency_pcie = 0.8;
    struct library lib = {.choices = &tree, .n_choices = 1, .n_channels = 24};
    static const double wanted[] = {0, 0, 0.8, 0.6, 0.8, 0.8}; /* by nodes */
    for (int nodes = 2; nodes <= 5; nodes++) {
        struct coll_req req = of_size(1e9);
        req.n_ranks = 8 * nodes;
        req.ranks_per_node = 8;
        assert_close(library_tuner_row(&lib, &tree, &req).efficiency_net, wanted[nodes], 1e-12);
    }
}

/* 8 channels, 16 nodes: 4 MiB for each round trip of 50 ms is 83.9 MB/s a connection; all-to-all has one to
 * each of 15 peers, and 2.5 GB/s is the limit where the window is none. */
static void a_connection_carries_a_window_for_each_round_trip(void **state)
{
    (void)state;
    struct lib_choice row = {.kind = COLL_ALLREDUCE, .channel_cap_Bps = INFINITY};
    struct library lib = {.choices = &row, .n_choices = 1, .n_channels = 8};
    struct coll_req req = of_size(1e9);
    library_limit_connections(&lib, &req, 50e-3, &row);
    assert_true(isinf(library_leaving_Bps(&row)));
    row.net.window_B = 4194304;
    library_limit_connections(&lib, &req, 50e-3, &row);
    assert_close(library_leaving_Bps(&row), 4194304 / 50e-3, 1e-12);
    row.channel_cap_Bps = 1e6; /* of what stays inside too */
    assert_close(library_leaving_Bps(&row), 1e6, 1e-12);
    row.channel_cap_Bps = INFINITY;
    row.net.window_B = 0;
    row.net.connection_Bps = 2.5e9;
    req.kind = COLL_ALLTOALL;
    library_limit_connections(&lib, &req, 50e-3, &row);
    assert_close(library_leaving_Bps(&row), 15 * 2.5e9, 1e-12);
    req.ranks_per_node = 4; /* each of 4 has one to each of the 12 on other nodes */
    library_limit_connections(&lib, &req, 50e-3, &row);
    assert_close(library_leaving_Bps(&row), 4 * 12 * 2.5e9, 1e-12);
    row.net_cap_Bps = 0;
    req.ranks_per_node = 16; /* nothing leaves the node */
    library_limit_connections(&lib, &req, 50e-3, &row);
    assert_true(isinf(library_leaving_Bps(&row)));
}

/* 2.5 GB/s a rank over 8 channels: one rank on a node 0.3125 GB/s a channel, 8 ranks eight times that; the
 * narrower of it and of connections of 1 GB/s counts. */
static void ranks_of_a_node_send_what_each_of_them_may(void **state)
{
    (void)state;
    struct lib_choice row = {
        .kind = COLL_ALLREDUCE, .channel_cap_Bps = INFINITY, .net.rank_Bps = 2.5e9};
    struct library lib = {.choices = &row, .n_choices = 1, .n_channels = 8};
    struct coll_req req = of_size(1e9);
    req.ranks_per_node = 1;
    library_limit_connections(&lib, &req, 50e-6, &row);
    assert_close(library_leaving_Bps(&row), 0.3125e9, 1e-12);
    req.ranks_per_node = 8;
    library_limit_connections(&lib, &req, 50e-6, &row);
    assert_close(library_leaving_Bps(&row), 2.5e9, 1e-12);
    row.net.connection_Bps = 1e9;
    library_limit_connections(&lib, &req, 50e-6, &row);
    assert_close(library_leaving_Bps(&row), 1e9, 1e-12);
}

/* As coll_tuned_allreduce_algorithm and NCCL_ALGO do. */
static void a_forced_algorithm_goes_beyond_its_sizes_and_ranks(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("recursive-doubling", "tcp"), row("ring", "tcp")};
    rows[0].max_B = 8192;
    rows[1].min_ranks = 32;
    struct library lib = {.choices = rows, .n_choices = 2, .selection = "first"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "recursive-doubling", NULL), 0);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "ring", NULL), 1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "tree", NULL), -1);
    rows[1].min_nodes = 17; /* where it cannot run, force does not help */
    assert_int_equal(library_choose(&lib, &req, equal, 16, "ring", NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forced_algorithm_goes_beyond_its_sizes_and_ranks),
        cmocka_unit_test(ranks_of_a_node_send_what_each_of_them_may),
        cmocka_unit_test(a_connection_carries_a_window_for_each_round_trip),
        cmocka_unit_test(fastest_changes_where_the_closed_forms_cross),
        cmocka_unit_test(earlier_row_wins_a_tie),
        cmocka_unit_test(spreads_stand_by_size_and_reach),
        cmocka_unit_test(first_takes_the_first_row_allowed),
        cmocka_unit_test(rows_may_be_for_some_numbers_of_ranks),
        cmocka_unit_test(rows_may_be_for_few_ranks_of_a_node),
        cmocka_unit_test(forced_names_leave_only_their_rows),
        cmocka_unit_test(channels_open_with_the_size),
        cmocka_unit_test(a_row_holds_what_the_request_adds),
        cmocka_unit_test(a_card_sends_small_chunks_slower),
        cmocka_unit_test(a_host_issues_each_open_channel),
        cmocka_unit_test(peers_inside_a_node_are_issued_while_data_moves),
        cmocka_unit_test(stages_that_fill_are_paid_once_more),
        cmocka_unit_test(a_switch_that_sums_spares_the_cables),
        cmocka_unit_test(a_network_that_sums_spares_cards_and_their_slots),
        cmocka_unit_test(a_tuner_may_see_other_costs),
        cmocka_unit_test(nothing_fits_outside_kind_size_nodes_and_algorithm),
        cmocka_unit_test(what_the_network_adds_depends_on_the_message),
        cmocka_unit_test(peers_on_other_nodes_cost_an_all_to_all),
        cmocka_unit_test(peers_on_both_sides_are_served_at_once),
        cmocka_unit_test(a_tuner_reckons_otherwise_between_nodes),
        cmocka_unit_test(a_tuner_corrects_by_size),
        cmocka_unit_test(a_tuner_adds_latencies_and_bytes),
        cmocka_unit_test(trees_cut_small_buffers_finer),
        cmocka_unit_test(nccl_counts_a_tree_of_three_nodes_as_of_many),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
