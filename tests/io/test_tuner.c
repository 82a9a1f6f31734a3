/* NCCL's own estimates with the shipped constants: times that NCCL printed, latencies of its
 * formulas worked out by hand, and profiles that are wrong. */
#include "io/profile.h"

#include "test.h"

/* servers of 8 H100 and 8 cards of 400 Gb/s, Intel processors */
static struct tuner_cluster h100(int n_nodes)
{
    return (struct tuner_cluster){.n_nodes = n_nodes,
                                  .ranks_per_node = 8,
                                  .capability = 9.0,
                                  .scaleup_Bps = 450e9,
                                  .nvswitch = true,
                                  .pcie_Bps = 63e9,
                                  .nics_per_node = 8,
                                  .nic_Bps = 50e9,
                                  .near_nics = true};
}

static struct json *reference(const char *text, struct arena *perm, struct diag *diag)
{
    struct json *json = json_read_text("test", text, strlen(text), perm, diag);
    assert_non_null(json);
    return json;
}

/* read — a profile by the JSON that refers to it. */
static struct tuner_profile read(const char *text, struct arena *perm, struct diag *diag)
{
    struct json *json = reference(text, perm, diag);
    struct profile_reader reader = {.dir = "scenarios", .perm = perm, .diag = diag};
    struct tuner_profile profile;
    profile_read_tuner(&reader, (struct profile_ref){json, json_root(json), NULL}, &profile);
    return profile;
}

static struct tuner shipped(const char *version, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct tuner_profile profile =
        read(arena_text(perm, "\"nccl-tuner-%s\"", version), perm, &diag);
    if (!diag_ok(&diag)) diag_print(&diag, stderr);
    assert_true(diag_ok(&diag));
    return profile.tuner;
}

/* NVIDIA/nccl issue 1453: "128 Bytes -> Algo 0 proto 0 time 25.214764" on 3 servers of 8 H100 under
 * 2.22.3. 6.8 + 2 ((8 - 1) 0.6 + log2(3) 5.0) = 25.2 us, log2 rounded down, and 128 B at
 * 20.4 GB/s x 0.85 x 0.5, the 8.67 GB/s that are left of LL's limit. */
static void the_time_that_nccl_printed(void **state)
{
    struct tuner tuner = shipped("2.22", *state);
    struct tuner_cluster cluster = h100(3);
    struct tuner_choice choice = tuner_choose(&tuner, &cluster, COLL_ALLREDUCE, 128, NULL, NULL);
    assert_int_equal(choice.algo, TUNER_TREE);
    assert_int_equal(choice.protocol, TUNER_LL);
    assert_close(choice.time_s, 25.2147635e-6, 1e-8);
}

/* Latencies alone, at almost no bytes. Tree LL: 6.8 + 2 (7 x 0.6 + log2(N) 5). Ring Simple:
 * 8.4 + (2 (8 N - 1) - 2 (N - 1)) 3.4 + 2 (N - 1) 14. Ring LL128 likewise with 14, 1.9 and 4. */
static void latencies_grow_with_servers_as_the_formulas_say(void **state)
{
    static const int n_nodes[] = {2, 4, 8, 16, 64, 128};
    static const double tree_us[] = {25.2, 35.2, 45.2, 55.2, 75.2, 85.2};
    static const double ring_us[] = {131.6, 282.8, 585.2, 1190.0, 4818.8, 9657.2};
    static const double ll128_us[] = {75.2, 144.4, 282.8, 559.6, 2220.4, 4434.8};
    struct tuner tuner = shipped("2.22", *state);
    for (int i = 0; i < 6; i++) {
        struct tuner_cluster cluster = h100(n_nodes[i]);
        double tree_s = tuner_time_s(&tuner, &cluster, COLL_ALLREDUCE, 1e-6, TUNER_TREE, TUNER_LL);
        double ring_s =
            tuner_time_s(&tuner, &cluster, COLL_ALLREDUCE, 1e-6, TUNER_RING, TUNER_SIMPLE);
        double ll128_s =
            tuner_time_s(&tuner, &cluster, COLL_ALLREDUCE, 1e-6, TUNER_RING, TUNER_LL128);
        assert_close(tree_s, 1e-6 * tree_us[i], 1e-6);
        assert_close(ring_s, 1e-6 * ring_us[i], 1e-6);
        assert_close(ll128_s, 1e-6 * ll128_us[i], 1e-6);
    }
}

/* NVIDIA/nccl issue 1368: 5 servers of 8 H100 with 4 cards of 400 Gb/s. Four channels of 48 GB/s
 * give a ring 192 GB/s of bus bandwidth, a tree 192 x 0.92 x 0.85 / 2 x 2 (n - 1) / n = 146.4;
 * measured about 190 and 150. From 1 GiB latencies take a share, so the sizes here are larger. */
static void rings_and_trees_through_four_cards(void **state)
{
    struct tuner tuner = shipped("2.22", *state);
    struct tuner_cluster cluster = h100(5);
    cluster.nics_per_node = 4;
    double factor = 2.0 * 39 / 40, size_B = 1e15;
    double ring_s =
        tuner_time_s(&tuner, &cluster, COLL_ALLREDUCE, size_B, TUNER_RING, TUNER_SIMPLE);
    double tree_s =
        tuner_time_s(&tuner, &cluster, COLL_ALLREDUCE, size_B, TUNER_TREE, TUNER_SIMPLE);
    assert_close(size_B / ring_s * factor, 192e9, 1e-4);
    assert_close(size_B / tree_s * factor, 146.4e9, 1e-3);
}

/* Versions differ where their source does: up to 2.12 a hop of a tree over NVLink is 28 us, so on one
 * server 2 x 7 x 24 us more; Blackwell is known from 2.27 on, before that taken for a Hopper. */
static void versions_differ_as_their_sources_do(void **state)
{
    struct tuner older = shipped("2.12", *state);
    struct tuner newer = shipped("2.22", *state);
    struct tuner newest = shipped("2.27", *state);
    struct tuner_cluster cluster = h100(1);
    double more_s = tuner_time_s(&older, &cluster, COLL_ALLREDUCE, 1e-6, TUNER_TREE, TUNER_SIMPLE) -
                    tuner_time_s(&newer, &cluster, COLL_ALLREDUCE, 1e-6, TUNER_TREE, TUNER_SIMPLE);
    assert_close(more_s, 2 * 7 * 24e-6, 1e-6);
    assert_true(
        isinf(tuner_time_s(&older, &cluster, COLL_ALLREDUCE, 1e6, TUNER_NVLS, TUNER_SIMPLE)));
    assert_string_equal(tuner_arch_of(&newer, 10.0)->name, "Hopper");
    assert_string_equal(tuner_arch_of(&newest, 10.0)->name, "Blackwell");
    assert_null(tuner_arch_of(&newest, 3.7));
}

/* NVIDIA/nccl issue 1221, 2.19: NVLS helps on one and two servers (330 to 430 GB/s), not on more. */
static void trees_of_switches_end_at_two_servers_in_2_19(void **state)
{
    struct tuner tuner = shipped("2.18", *state);
    struct tuner_cluster two = h100(2), four = h100(4);
    double size_B = 8.0 * (1 << 30);
    assert_int_equal(tuner_choose(&tuner, &two, COLL_ALLREDUCE, size_B, NULL, NULL).algo,
                     TUNER_NVLS_TREE);
    assert_int_equal(tuner_choose(&tuner, &four, COLL_ALLREDUCE, size_B, NULL, NULL).algo,
                     TUNER_RING);
}

/* servers of A100; NCCL counts 20 GB/s of each NVLink, 12 GB/s of 100 Gb/s, 24 GB/s of 200 Gb/s */
static struct tuner_cluster a100(int n_nodes, int n_gpus, int n_cards, double card_Bps)
{
    return (struct tuner_cluster){.n_nodes = n_nodes,
                                  .ranks_per_node = n_gpus,
                                  .capability = 8.0,
                                  .scaleup_Bps = 300e9,
                                  .pcie_Bps = 31.5e9,
                                  .nics_per_node = n_cards,
                                  .nic_Bps = card_Bps};
}

/* Two Amazon p4d: cards carry four channels of 12 GB/s; inside, a tree's go up the grid, 15, 18, 20, to
 * 24 GB/s, twice that. So 4 x 24 x 0.92 / 2 = 44.2 GB/s against 48 x 16 / 30 = 25.6 of the ring. Two public
 * runs there reach a bus bandwidth of 75 GB/s, which 50 GB/s of cards carry for no ring. Of three servers
 * what leaves counts: 4 x 12 x 0.92 / 2 = 22.1 against 48 x 24 / 46 = 25.0. */
static void trees_are_wider_inside_two_nodes(void **state)
{
    struct tuner tuner = shipped("2.22", *state);
    struct tuner_cluster two = a100(2, 8, 4, 12.5e9), three = a100(3, 8, 4, 12.5e9);
    struct tuner_graph graph = tuner_graph_of(tuner_arch_of(&tuner, 8.0), &tuner, &two);
    assert_int_equal(graph.n_channels, 4);
    assert_close(graph.inner_Bps, 12e9, 1e-9);
    assert_close(graph.tree_inner_Bps, 24e9, 1e-9);
    double size_B = 1e15;
    struct tuner_choice choice = tuner_choose(&tuner, &two, COLL_ALLREDUCE, size_B, NULL, NULL);
    assert_int_equal(choice.algo, TUNER_TREE);
    assert_close(size_B / choice.time_s, 4 * 24e9 * 0.92 / 2, 1e-6);
    choice = tuner_choose(&tuner, &three, COLL_ALLREDUCE, size_B, NULL, NULL);
    assert_int_equal(choice.algo, TUNER_RING);
    assert_close(size_B / choice.time_s, 48e9 * 24 / 46, 1e-6);
}

/* 2.5 NVLinks are counted as 50 GB/s: they carry two channels of 24 GB/s, not of 28. */
static void trees_are_no_wider_than_links(void **state)
{
    struct tuner tuner = shipped("2.22", *state);
    struct tuner_cluster thin = a100(2, 4, 2, 25e9);
    thin.scaleup_Bps = 62.5e9;
    struct tuner_graph graph = tuner_graph_of(tuner_arch_of(&tuner, 8.0), &tuner, &thin);
    assert_int_equal(graph.n_channels, 2);
    assert_close(graph.tree_inner_Bps, 24e9, 1e-9);
}

/* A channel's cap holds few wide ones back: two of 48 GB/s may send 23.6 each under a tree, 23.6 in all
 * against 48 x 8 / 14 = 27.4 of the ring, which two servers of Polaris (2 cards) take. */
static void few_wide_channels_leave_two_nodes_to_the_ring(void **state)
{
    struct tuner tuner = shipped("2.21", *state);
    struct tuner_cluster polaris = a100(2, 4, 2, 25e9);
    assert_int_equal(tuner_choose(&tuner, &polaris, COLL_ALLREDUCE, 1e9, NULL, NULL).algo,
                     TUNER_RING);
    double size_B = 1e15;
    assert_close(
        size_B / tuner_time_s(&tuner, &polaris, COLL_ALLREDUCE, size_B, TUNER_TREE, TUNER_SIMPLE),
        23.6e9, 1e-6);
}

/* search.cc: not below 25 GB/s; after Ampere not below 50 GB/s where there are more than four. Of 18 x 20.6 =
 * 370.8 GB/s of an H100, 7 x 48 = 336 leave less than 8 x 45 = 360, and 22, which 16 could have, is below
 * 0.49 of 45. Inside one server 6 of 60 become 12 of 30: 24 when rings are doubled once more, as NCCL logs. */
static void wide_channels_are_doubled(void **state)
{
    struct tuner tuner = shipped("2.22", *state);
    struct tuner_cluster eight = h100(2), four = h100(2), one = h100(1),
                         narrow = a100(2, 8, 8, 25e9);
    four.nics_per_node = 4;
    const struct {
        const struct tuner_cluster *cluster;
        int n;
        double Bps;
    } cases[] = {{&eight, 8, 45e9}, {&four, 8, 24e9}, {&one, 12, 30e9}, {&narrow, 8, 24e9}};
    for (int c = 0; c < 4; c++) {
        struct tuner_graph graph = tuner_graph_of(
            tuner_arch_of(&tuner, cases[c].cluster->capability), &tuner, cases[c].cluster);
        assert_int_equal(graph.n_channels, cases[c].n);
        assert_close(graph.inner_Bps, cases[c].Bps, 1e-9);
    }
}

/* tuning.cc up to 2.22: LL on a ring uses 1/4 of the 240 GB/s of an A100, of what does not sum up 1/3, on
 * one server; from 2.23 on 1/2, here at most the 87.7 GB/s of LL. Broadcasts pass S over each link. */
static void rings_under_ll_use_a_third_where_nothing_is_summed(void **state)
{
    static const char *const versions[] = {"2.8", "2.22", "2.23"};
    static const double summed_Bps[] = {60e9, 60e9, 87.7e9}, moved_Bps[] = {80e9, 80e9, 87.7e9};
    struct tuner_cluster one = a100(1, 8, 8, 25e9);
    double size_B = 1e15;
    for (int v = 0; v < 3; v++) {
        struct tuner tuner = shipped(versions[v], *state);
        double reduce_s = tuner_time_s(&tuner, &one, COLL_REDUCE, size_B, TUNER_RING, TUNER_LL);
        double bcast_s = tuner_time_s(&tuner, &one, COLL_BROADCAST, size_B, TUNER_RING, TUNER_LL);
        assert_close(size_B / reduce_s, summed_Bps[v], 1e-6);
        assert_close(size_B / bcast_s, moved_Bps[v], 1e-6);
    }
}

static void what_does_not_fit_is_not_offered(void **state)
{
    struct tuner tuner = shipped("2.23", *state);
    struct tuner_cluster cluster = h100(2);
    struct tuner_choice none = tuner_choose(&tuner, &cluster, COLL_ALLTOALL, 1e6, NULL, NULL);
    assert_true(isinf(none.time_s));
    assert_true(
        isinf(tuner_time_s(&tuner, &cluster, COLL_ALLGATHER, 1e6, TUNER_PAT, TUNER_SIMPLE)));
    cluster.ranks_per_node = 1;
    assert_true(
        isfinite(tuner_time_s(&tuner, &cluster, COLL_ALLGATHER, 1e6, TUNER_PAT, TUNER_SIMPLE)));
    cluster.n_nodes = 1;
    assert_true(isinf(tuner_choose(&tuner, &cluster, COLL_ALLREDUCE, 1e6, NULL, NULL).time_s));
}

/* Every shipped version, every collective: times are positive and never fall with the size by more
 * than a step of the table that corrects trees allows. */
static void times_rise_with_bytes(void **state)
{
    static const char *const versions[] = {"2.12", "2.18", "2.22", "2.23", "2.27"};
    for (int v = 0; v < 5; v++) {
        struct tuner tuner = shipped(versions[v], *state);
        for (int kind = 0; kind < N_COLL_KINDS; kind++) {
            struct tuner_cluster cluster = h100(4);
            double last_s = 0;
            for (double size_B = 8; size_B < 1e11; size_B *= 4) {
                double time_s = tuner_time_s(&tuner, &cluster, (enum coll_kind)kind, size_B,
                                             TUNER_RING, TUNER_LL);
                assert_true(time_s > last_s || isinf(time_s));
                last_s = time_s;
            }
        }
    }
}

static void wrong_profiles_are_said(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{\"base\": \"nccl-tuner-2.22\", \"net_overhead\": \"1us\"}", "2 to 2"},
        {"{\"base\": \"nccl-tuner-2.22\", \"net_overhead\": \"1us 2GB/s\"}", "a time"},
        {"{\"base\": \"nccl-tuner-2.22\", \"net_overhead\": \"1us -2us\"}", "a time"},
        {"{\"base\": \"nccl-tuner-2.22\", \"tree_shares_LL\": \"1 nan\"}", "with a blank between"},
        {"{\"base\": \"nccl-tuner-2.22\", \"architectures\": 3}", "wanted a list"},
        {"{\"base\": \"nccl-tuner-2.22\", \"algorithms\": [{\"algorithm\": \"rng\"}]}", "ring"},
        {"{\"base\": \"nccl-tuner-2.22\", \"choices\": []}", "only a library has"},
        {"{\"base\": \"nccl-2.18\"}", "nccl-tuner"},
    };
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
        struct diag diag = {.perm = *state};
        read(cases[c].text, *state, &diag);
        assert_false(diag_ok(&diag));
        bool said = false;
        for (int m = 0; m < diag.n_messages; m++)
            said = said || strstr(diag.messages[m], cases[c].wanted);
        if (!said) diag_print(&diag, stderr);
        assert_true(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_that_nccl_printed),
        cmocka_unit_test(latencies_grow_with_servers_as_the_formulas_say),
        cmocka_unit_test(rings_and_trees_through_four_cards),
        cmocka_unit_test(versions_differ_as_their_sources_do),
        cmocka_unit_test(trees_of_switches_end_at_two_servers_in_2_19),
        cmocka_unit_test(trees_are_wider_inside_two_nodes),
        cmocka_unit_test(trees_are_no_wider_than_links),
        cmocka_unit_test(few_wide_channels_leave_two_nodes_to_the_ring),
        cmocka_unit_test(wide_channels_are_doubled),
        cmocka_unit_test(rings_under_ll_use_a_third_where_nothing_is_summed),
        cmocka_unit_test(what_does_not_fit_is_not_offered),
        cmocka_unit_test(times_rise_with_bytes),
        cmocka_unit_test(wrong_profiles_are_said),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
