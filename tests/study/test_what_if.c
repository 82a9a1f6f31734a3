/* Times are made: what is predicted with one thing wrong is put to the scenario that knows nothing of it. */
#include "against.h"
#include "study/what_if.h"

static const char *const SCENARIO = "tests/study/against.json";

static struct against *open_with(const char *rows, const char *const *sets, int n_sets,
                                 struct arena *perm)
{
    const char *text =
        arena_text(perm, "# raw: 1\nbenchmark,batch,size_B,n_ranks,time_s,note\n%s", rows);
    struct diag diag = {.perm = perm};
    struct measured *measured = measured_read_text("rows", text, strlen(text), NULL, perm, &diag);
    assert_non_null(measured);
    struct against_files files = {
        .measured = &measured, .n_measured = 1, .scenarios = &SCENARIO, .n_scenarios = 1};
    struct scenario_options *options = arena_new(perm, struct scenario_options, 1);
    *options = against_options;
    options->sets = sets;
    options->n_sets = n_sets;
    struct against *against = against_open(&files, options, perm, &diag);
    assert_non_null(against);
    return against;
}

/* three large sizes, each taking `slower` times what is predicted with the sets */
static const char *suspicion_of(const char *const *sets, int n_sets, double slower,
                                struct arena *perm)
{
    const char *sizes = "all_reduce,,67108864,32,1,\nall_reduce,,268435456,32,1,\n"
                        "all_reduce,,1073741824,32,1,\n";
    const struct against *with = open_with(sizes, sets, n_sets, perm);
    const char *rows = "";
    for (int i = 0; i < with->n_points; i++)
        rows = arena_text(perm, "%sall_reduce,,%.0f,32,%.9g,\n", rows, with->points[i].size_B,
                          slower * with->points[i].predicted_s);
    return what_if_suspicion(open_with(rows, NULL, 0, perm), 0, *perm);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *sets[2];
        int n_sets;
        const char *says;
    } cases[] = {
        {{"/nics_per_node=1"}, 1, "one network card in use instead of all"},
        {{"/node/gpudirect=false"}, 1, "no GPUDirect"},
        {{"/nics_per_node=1", "/node/gpudirect=false"}, 2, "one network card in use, and no GPU"},
        {{"/nic={\"base\": \"eth-100g\", \"bandwidth\": \"400Gbps\"}"}, 1, "TCP sockets"},
        {{"/nic/bandwidth=\"200Gbps\""}, 1, "a card at half its rate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *says = suspicion_of(cases[i].sets, cases[i].n_sets, 1, *state);
        if (!strstr(says, cases[i].says)) print_error("%s: %s\n", cases[i].says, says);
        assert_non_null(strstr(says, cases[i].says));
    }
}

/* A fifth is what healthy clusters differ by, and a hundredfold is more than anything that is tried. */
static void what_is_healthy_or_beyond_all_is_not(void **state)
{
    assert_string_equal(suspicion_of(NULL, 0, 1.2, *state), "");
    assert_string_equal(suspicion_of(NULL, 0, 1e4, *state), "");
}

/* 16 GPUs in 2 servers of 8 cards of 50 GB/s: an all-reduce of 1 GiB must leave each server at
 * (2 - 2 / 2) GiB / 400 GB/s = 2.68 ms, so 2.6 ms are impossible there and 2.8 ms are not. */
static void what_no_link_can_carry_is_blamed_on_the_scenario(void **state)
{
    const char *impossible = "all_reduce,,1073741824,16,2.6e-3,\n";
    const char *possible = "all_reduce,,1073741824,16,2.8e-3,\n";
    struct arena perm = **(struct arena **)state;
    const char *says = what_if_suspicion(open_with(impossible, NULL, 0, *state), 0, perm);
    assert_non_null(strstr(says, "faster than the scenario's links can be"));
    assert_string_equal(what_if_suspicion(open_with(possible, NULL, 0, *state), 0, perm), "");
}

/* 8 GeForce RTX 4090 of one server, whose data goes through host memory: 1 GiB in 100 ms is what they do,
 * 10 ms more than 16 lanes of PCIe 4 carry (1.75 GiB in 31.5 GB/s are 60 ms), 400 ms too little. Where they
 * could read each other their slots are to blame. */
static void inside_one_server_no_card_is_to_blame(void **state)
{
    static const struct {
        const char *time_s, *p2p, *says;
    } cases[] = {{"10e-3", "false", "GPUs read each other"},
                 {"400e-3", "false", "what goes through host memory"},
                 {"400e-3", "true", "one server's PCIe"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *p2p = arena_text(*state, "/node/p2p=%s", cases[i].p2p);
        const char *const sets[] = {"/gpu=rtx4090", p2p};
        const char *rows = arena_text(*state, "all_reduce,,1073741824,8,%s,\n", cases[i].time_s);
        const struct against *against = open_with(rows, sets, 2, *state);
        const char *says = what_if_suspicion(against, 0, **(struct arena **)state);
        if (!strstr(says, cases[i].says)) print_error("%s: %s\n", cases[i].says, says);
        assert_non_null(strstr(says, cases[i].says));
    }
}

/* NVIDIA/nccl issue 1453: 29.5 GB/s at 32 MiB, 5.27 at 64 MiB. */
static void a_collapse_is_no_matter_of_topology(void **state)
{
    const char *rows = "all_reduce,,33554432,16,2.18e-3,\nall_reduce,,67108864,16,24.4e-3,\n"
                       "all_reduce,,134217728,16,49.3e-3,\n";
    const char *says =
        what_if_suspicion(open_with(rows, NULL, 0, *state), 0, **(struct arena **)state);
    assert_non_null(strstr(says, "bandwidth collapses"));
}

/* Below 1 MB a change of algorithm or protocol may cost so much. */
static void a_jump_of_small_messages_is_no_collapse(void **state)
{
    const char *rows = "all_reduce,,65536,16,1e-3,\nall_reduce,,131072,16,2e-2,\n";
    const char *says =
        what_if_suspicion(open_with(rows, NULL, 0, *state), 0, **(struct arena **)state);
    assert_null(strstr(says, "collapses"));
}

/* Half and twice of what is predicted are out of what healthy clusters differ by, a fifth is not. */
static void bandwidth_is_judged_by_what_healthy_clusters_differ_by(void **state)
{
    struct arena perm = **(struct arena **)state;
    const char *row = "all_reduce,,1073741824,16,1,\n";
    double predicted_s = open_with(row, NULL, 0, *state)->points[0].predicted_s;
    static const struct {
        double ratio;
        const char *verdict;
    } cases[] = {{0.5, "faster than they should"},
                 {0.9, "as they should"},
                 {1.2, "as they should"},
                 {2, "slower than they should"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *rows =
            arena_text(&perm, "all_reduce,,8,16,1,\nall_reduce,,1073741824,16,%.9g,\n",
                       cases[i].ratio * predicted_s);
        struct what_if_pace pace = what_if_pace(open_with(rows, NULL, 0, *state), 0, perm);
        assert_true(pace.large);
        assert_close(pace.ratio, cases[i].ratio, 1e-6);
        assert_string_equal(pace.verdict, cases[i].verdict);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(what_is_healthy_or_beyond_all_is_not),
        cmocka_unit_test(what_no_link_can_carry_is_blamed_on_the_scenario),
        cmocka_unit_test(inside_one_server_no_card_is_to_blame),
        cmocka_unit_test(bandwidth_is_judged_by_what_healthy_clusters_differ_by),
        cmocka_unit_test(a_collapse_is_no_matter_of_topology),
        cmocka_unit_test(a_jump_of_small_messages_is_no_collapse),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
