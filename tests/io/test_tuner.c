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
        cmocka_unit_test(what_does_not_fit_is_not_offered),
        cmocka_unit_test(times_rise_with_bytes),
        cmocka_unit_test(wrong_profiles_are_said),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
