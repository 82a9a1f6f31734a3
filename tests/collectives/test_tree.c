/* The double binary tree's structure, read off its flows. */
#include "play.h"

static const struct coll_algo *tree(void)
{
    return coll_find(COLL_ALLREDUCE, "tree");
}

static struct coll_req over(int n_nodes, int m)
{
    return (struct coll_req){.kind = COLL_ALLREDUCE,
                             .n_ranks = n_nodes * m,
                             .ranks_per_node = m,
                             .n_channels = 1,
                             .root = -1,
                             .size_B = 1,
                             .chunk_B = 1};
}

/* Bytes per byte of the buffer that the busiest node sends to others. */
static double egress(const struct coll_req *req, struct arena scratch)
{
    double *sent_B = arena_new(&scratch, double, shape_nodes(req)), most_B = 0;
    struct coll_phase phase;
    struct coll_bundle bundle;
    assert_true(tree()->phase(req, 0, &phase));
    for (int b = 0; b < phase.n_bundles; b++) {
        tree()->bundle(req, 0, b, &bundle);
        for (int64_t k = 0; k < bundle.n_flows; k++) {
            struct coll_flow flow = tree()->flow(req, 0, b, k);
            int src = shape_node(req, flow.src), dst = shape_node(req, flow.dst);
            if (src != dst) sent_B[src] += bundle.bytes;
            most_B = fmax(most_B, sent_B[src]);
        }
    }
    return most_B;
}

/* N = 2: S / 2 down in one tree, S / 2 up in the other. N = 3: the middle of one tree (parent and
 * one child) has one neighbour in the other. N >= 4: a parent and two children, and a leaf's parent. */
static void busiest_node_sends_1_then_1_5_then_2_times_the_buffer(void **state)
{
    for (int nodes = 2; nodes <= 130; nodes++)
        for (int m = 1; m <= 8; m *= 8) {
            struct coll_req req = over(nodes, m);
            double want = nodes == 2 ? 1.0 : nodes == 3 ? 1.5 : 2.0;
            assert_close(egress(&req, *(struct arena *)*state), want, 1e-12);
        }
}

/* busbw / B on 8 ranks per node: 2 (n - 1) / n over the egress: 1.875, 1.278, 0.969. */
static void busbw_exceeds_the_nic_on_two_and_three_nodes(void **state)
{
    (void)state;
    static const double want[] = {[2] = 1.875, [3] = 1.2777777778, [4] = 0.96875};
    const struct coll_hops hops = {{0, 1e-15}, {0, 1 / 25e9}};
    for (int nodes = 2; nodes <= 4; nodes++) {
        struct coll_req req = over(nodes, 8);
        req.size_B = 1e15; /* fill is nothing beside it */
        req.chunk_B = 1e7;
        double algbw_Bps = req.size_B / tree()->cost_s(&req, hops);
        assert_close(algbw_Bps * coll_busbw_factor(COLL_ALLREDUCE, 8 * nodes) / 25e9, want[nodes],
                     1e-6);
    }
}

/* Hops of a member to its stream's root, by the flows that go up. */
static int depth(const struct coll_req *req, int stream, struct arena scratch)
{
    int n = req->n_ranks, *up = arena_new(&scratch, int, n), deepest = 0;
    for (int r = 0; r < n; r++) up[r] = -1;
    for (int k = 0; k < n - 1; k++) {
        struct coll_flow flow = tree()->flow(req, 0, stream, k);
        assert_int_equal(up[flow.src], -1); /* one parent each */
        up[flow.src] = flow.dst;
    }
    for (int r = 0; r < n; r++) {
        int hops = 0;
        for (int at = r; up[at] >= 0; at = up[at]) assert_true(++hops < n);
        if (hops > deepest) deepest = hops;
    }
    return deepest;
}

static void its_depth_is_the_chain_and_log2_of_the_nodes(void **state)
{
    for (int nodes = 1; nodes <= 130; nodes++) {
        struct coll_req req = over(nodes, 4);
        struct coll_phase phase;
        assert_true(tree()->phase(&req, 0, &phase));
        assert_int_equal(phase.hops_intra, 2 * 3);
        assert_int_equal(phase.hops_inter, 2 * shape_log2(nodes));
        for (int stream = 0; stream < 2; stream++) {
            int deepest = depth(&req, stream, *(struct arena *)*state);
            assert_true(deepest <= 3 + shape_log2(nodes));
            assert_true(deepest >=
                        3 + shape_log2(nodes) - (nodes > 1)); /* a moved leaf may be nearer */
        }
    }
}

/* NCCL's tuner, Tree LL, 8 per node on Hopper: 6.8 + 2 (7 * 0.6 + log2 N * 5.0) us, of which the
 * library row has the 6.8: 18.4, 28.4, 38.4 us for 2, 4, 8 nodes. */
static void latency_is_that_of_the_nccl_tuner_at_powers_of_two(void **state)
{
    (void)state;
    const struct coll_hops hops = {{0.6e-6, 0}, {5e-6, 0}};
    for (int i = 1; i <= 3; i++) {
        struct coll_req req = over(1 << i, 8);
        assert_close(tree()->cost_s(&req, hops), (8.4 + 10 * i) * 1e-6, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busiest_node_sends_1_then_1_5_then_2_times_the_buffer),
        cmocka_unit_test(busbw_exceeds_the_nic_on_two_and_three_nodes),
        cmocka_unit_test(its_depth_is_the_chain_and_log2_of_the_nodes),
        cmocka_unit_test(latency_is_that_of_the_nccl_tuner_at_powers_of_two),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
