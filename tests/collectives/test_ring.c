/* What a ring's latency is, and which tier limits it. */
#include "play.h"

static struct coll_req over(enum coll_kind kind, int n_nodes, int m)
{
    return (struct coll_req){.kind = kind,
                             .n_ranks = n_nodes * m,
                             .ranks_per_node = m,
                             .n_channels = 1,
                             .root = -1,
                             .size_B = 24e6,
                             .chunk_B = 1e6};
}

static const struct coll_algo *ring(enum coll_kind kind)
{
    return coll_find(kind, "ring");
}

/* NCCL's tuner: all_reduce has 2 (n - 1) steps of which 2 (N - 1) leave the node; reduce_scatter and
 * all_gather half of each. 3 nodes of 8: 46 and 4. */
static void hops_are_counted_as_nccl_s_tuner_does(void **state)
{
    (void)state;
    struct coll_phase phase;
    struct coll_req req = over(COLL_ALLREDUCE, 3, 8);
    assert_true(ring(req.kind)->phase(&req, 0, &phase));
    assert_int_equal(phase.steps, 46);
    assert_int_equal(phase.hops_intra, 42);
    assert_int_equal(phase.hops_inter, 4);
    req = over(COLL_ALLGATHER, 3, 8);
    assert_true(ring(req.kind)->phase(&req, 0, &phase));
    assert_int_equal(phase.hops_intra, 21);
    assert_int_equal(phase.hops_inter, 2);
}

/* 46 steps of 1 MB: at 100 us between nodes (90 us of it alpha) they take 46 * 100 us. Without
 * rendezvous a block is under way for 42 * (5 + 1) + 4 * (90 + 10) = 652 us, longer than the NICs work
 * (46 * 10 us); of blocks of 2 MB the NICs work for 920 us, and the last is 90 us on its way. */
static void with_rendezvous_all_steps_go_at_the_slowest_hop_s_pace(void **state)
{
    (void)state;
    const struct coll_hops hops = {{5e-6, 1e-12}, {90e-6, 1e-11}};
    struct coll_req req = over(COLL_ALLREDUCE, 3, 8);
    assert_close(ring(req.kind)->cost_s(&req, hops), 652e-6, 1e-12);
    req.size_B = 48e6;
    assert_close(ring(req.kind)->cost_s(&req, hops), (46 * 20 + 90) * 1e-6, 1e-12);
    req.size_B = 24e6;
    req.rendezvous = true;
    assert_close(ring(req.kind)->cost_s(&req, hops), 46 * 100e-6, 1e-12);
}

static void sends_agree_with_the_slowest_hop_s_pace(void **state)
{
    const struct coll_hops hops = {{5e-6, 1e-12}, {90e-6, 1e-11}};
    struct coll_req req = over(COLL_ALLREDUCE, 3, 4);
    req.rendezvous = true;
    struct arena scratch = *(struct arena *)*state;
    double got_s = play_sends_s(ring(req.kind), &req, hops, scratch);
    double want_s = ring(req.kind)->cost_s(&req, hops);
    /* The first steps of ranks far from the slow hop are not held up by it yet: at most m of them. */
    assert_true(got_s <= want_s * (1 + 1e-9));
    assert_true(got_s >= want_s * (1 - 4.0 / 22));
}

/* 8 ranks at 300 GB/s inside, 25 GB/s outside; then the node's inside slower than its NICs. */
static void slower_tier_limits_the_bandwidth(void **state)
{
    (void)state;
    struct coll_req req = over(COLL_ALLREDUCE, 2, 8);
    double sent_B = 2 * 15.0 / 16 * req.size_B;
    const struct coll_hops slow_outside = {{0, 1 / 300e9}, {0, 1 / 25e9}};
    const struct coll_hops slow_inside = {{0, 1 / 12e9}, {0, 1 / 25e9}};
    assert_close(ring(req.kind)->cost_s(&req, slow_outside), sent_B / 25e9, 1e-12);
    assert_close(ring(req.kind)->cost_s(&req, slow_inside), sent_B / 12e9, 1e-12);
    req.ranks_per_node = 16; /* nothing leaves: what is outside does not matter */
    assert_close(ring(req.kind)->cost_s(&req, slow_outside), sent_B / 300e9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hops_are_counted_as_nccl_s_tuner_does),
        cmocka_unit_test(with_rendezvous_all_steps_go_at_the_slowest_hop_s_pace),
        cmocka_unit_test(sends_agree_with_the_slowest_hop_s_pace),
        cmocka_unit_test(slower_tier_limits_the_bandwidth),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
