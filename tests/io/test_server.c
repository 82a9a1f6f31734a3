#include "io/server.h"

#include "io/scenario.h"
#include "test.h"

/* profile_text — the profile of a server as text. */
static const char *profile_text(const struct server *server, const char *base, struct arena *perm)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    server_profile(server, "imported", base, out);
    fclose(out);
    const char *kept = arena_text(perm, "%s", text);
    free(text);
    return kept;
}

static const struct inputs *load(const char *profile, int n_gpus, struct arena *perm)
{
    const char *text = arena_text(perm,
                                  "{\"model\": \"resnet50\", \"batch_per_gpu\": 1, \"n_gpus\": %d, "
                                  "\"gpu\": \"h100-sxm-80\", \"nic\": \"ib-ndr\", \"node\": %s}",
                                  n_gpus, profile);
    struct diag diag = {.perm = perm};
    struct scenario_options options = {.profile_dir = "scenarios"};
    const struct inputs *in =
        scenario_load_text("t", text, strlen(text), &options, NULL, perm, &diag);
    if (!in) diag_print(&diag, stderr);
    assert_non_null(in);
    return in;
}

/* 8 GPUs of sm 90 in pairs under switches of two sockets, 8 cards of 400 Gb/s beside them and one of 25 */
static struct server *eight_gpus(struct arena *perm)
{
    struct server *server = arena_new(perm, struct server, 1);
    server->source = "by hand";
    server->n_gpus = 8;
    server->n_nics = 9;
    server->through_switch = true;
    server->pcie_Bps = 63e9;
    for (int i = 0; i < 8; i++) {
        server->gpus[i] = (struct server_gpu){i / 4, i / 2, 18, 90};
        server->nics[i] = (struct server_nic){"mlx5", 50e9, i / 4, true, true};
    }
    server->nics[8] = (struct server_nic){"eth", 3.125e9, 0, false, false};
    return server;
}

/* 18 links of 25 GB/s are 450 GB/s; the slow card is not one that carries GPUs' traffic. */
static void a_picture_becomes_a_profile_that_loads(void **state)
{
    const struct inputs *in = load(profile_text(eight_gpus(*state), NULL, *state), 16, *state);
    assert_int_equal(in->node.gpus_per_node, 8);
    assert_int_equal(in->node.nics_per_node, 8);
    assert_int_equal(in->node.sockets, 2);
    assert_int_equal(in->node.gpus_per_pcie_switch, 2);
    assert_int_equal(in->node.scaleup, SCALEUP_SWITCH);
    assert_close(in->node.scaleup_Bps, 450e9, 1e-9);
    assert_close(in->node.pcie_Bps, 63e9, 1e-9);
}

static void what_it_does_not_say_is_left_to_the_base(void **state)
{
    struct server *server = eight_gpus(*state);
    for (int i = 0; i < 8; i++) server->gpus[i].sm = 0;
    server->pcie_Bps = 0;
    const char *text = profile_text(server, "dgx-b200", *state);
    const struct inputs *in = load(text, 8, *state);
    const struct inputs *base = load("\"dgx-b200\"", 8, *state);
    assert_null(strstr(text, "\"scaleup_bandwidth\""));
    assert_close(in->node.scaleup_Bps, base->node.scaleup_Bps, 0);
    assert_close(in->node.pcie_Bps, base->node.pcie_Bps, 0);
}

static void servers_without_links_or_switches_have_none(void **state)
{
    struct server *server = eight_gpus(*state);
    for (int i = 0; i < 8; i++) server->gpus[i] = (struct server_gpu){0, -1, 0, 0};
    server->gpus[0].n_links = 4; /* a bridge between some is not between all */
    const struct inputs *in = load(profile_text(server, NULL, *state), 8, *state);
    assert_int_equal(in->node.scaleup, SCALEUP_NONE);
    assert_int_equal(in->node.gpus_per_pcie_switch, 1);
    assert_int_equal(in->node.sockets, 1);
}

static void links_of_each_generation_have_their_rate(void **state)
{
    (void)state;
    assert_close(server_link_Bps(60), 20e9, 0); /* P100: 80 GB/s of 4 */
    assert_close(server_link_Bps(70), 25e9, 0); /* V100: 150 of 6 */
    assert_close(server_link_Bps(86), 25e9, 0);
    assert_close(server_link_Bps(100), 50e9, 0); /* B200: 900 of 18 */
    assert_close(server_link_Bps(120), 50e9, 0);
}

static void links_of_amd_have_the_rate_of_their_architecture(void **state)
{
    (void)state;
    assert_close(server_xgmi("942").Bps, 64e9, 0); /* MI300X: 448 GB/s of 7 */
    assert_close(server_xgmi("gfx90a:sramecc+").Bps, 50e9, 0);
    assert_close(server_xgmi("910").Bps, 50e9, 0);
    assert_false(server_xgmi("908").assumed);
    assert_true(server_xgmi("").assumed);
}

/* no links and no cards are told: both stay the base's */
static void what_is_not_in_the_picture_stays_the_bases(void **state)
{
    struct server *server = eight_gpus(*state);
    server->n_nics = 0;
    server->links_untold = true;
    for (int i = 0; i < 8; i++) server->gpus[i].n_links = 0;
    const struct inputs *in = load(profile_text(server, "dgx-h100", *state), 16, *state);
    assert_int_equal(in->node.nics_per_node, 8);
    assert_int_equal(in->node.scaleup, SCALEUP_SWITCH);
}

/* 400 Gb/s of InfiniBand are NDR and 800 XDR; the same of Ethernet is RoCE, and of 300 Gb/s no card is shipped */
static void the_card_is_told_by_kind_and_rate(void **state)
{
    struct server *server = eight_gpus(*state);
    assert_non_null(strstr(profile_text(server, NULL, *state), "\"nic\": \"ib-ndr\""));
    for (int i = 0; i < 8; i++) server->nics[i].rate_Bps = 800e9 / 8;
    assert_non_null(strstr(profile_text(server, NULL, *state), "\"nic\": \"ib-xdr\""));
    for (int i = 0; i < 8; i++) server->nics[i].infiniband = false;
    assert_non_null(strstr(profile_text(server, NULL, *state), "\"nic\": \"roce-800\""));
    for (int i = 0; i < 8; i++) server->nics[i].rate_Bps = 400e9 / 8;
    assert_non_null(strstr(profile_text(server, NULL, *state), "\"nic\": \"roce-400\""));
    for (int i = 0; i < 8; i++) server->nics[i].name = "rdmap1s0";
    assert_non_null(strstr(profile_text(server, NULL, *state), "\"nic\": \"efa-400\""));
    for (int i = 0; i < 8; i++) server->nics[i].rate_Bps = 300e9 / 8;
    assert_null(strstr(profile_text(server, NULL, *state), "\"nic\":"));
    for (int i = 0; i < 8; i++) server->nics[i].rate_Bps = 0;
    assert_null(strstr(profile_text(server, NULL, *state), "\"nic\":"));
}

static void links_that_do_not_join_all_are_none(void **state)
{
    struct server *server = eight_gpus(*state);
    server->apart = true;
    const struct inputs *in = load(profile_text(server, "dgx-h100", *state), 8, *state);
    assert_int_equal(in->node.scaleup, SCALEUP_NONE);
}

static const char *notes_of(const struct server *server, const char *base, struct arena *perm)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    server_notes(server, "f", base, out);
    fclose(out);
    const char *kept = arena_text(perm, "%s", text);
    free(text);
    return kept;
}

static void what_was_assumed_or_left_out_is_said(void **state)
{
    struct server *server = eight_gpus(*state);
    assert_string_equal(notes_of(server, NULL, *state), "");
    for (int i = 0; i < 8; i++) server->nics[i].rate_Bps = 300e9 / 8;
    assert_non_null(
        strstr(notes_of(server, NULL, *state), "no shipped card is known to be mlx5 of 300"));
    for (int i = 0; i < 8; i++) server->nics[i].rate_Bps = 50e9;
    server->gpus[5].n_links = 17;
    assert_string_equal(notes_of(server, NULL, *state),
                        "f: GPU 5 has 17 links, GPU 0 has 18: the fewest count\n");
    server->gpus[5].n_links = 0;
    assert_non_null(strstr(notes_of(server, NULL, *state), "GPU 5 has no link to others"));
    for (int i = 0; i < 8; i++) server->gpus[i] = (struct server_gpu){i, -1, 18, 0};
    server->n_nics = 0;
    assert_non_null(strstr(notes_of(server, NULL, *state), "which GPUs these are is not told"));
    assert_null(strstr(notes_of(server, "dgx-h100", *state), "which GPUs these are"));
    assert_non_null(strstr(notes_of(server, "dgx-h100", *state), "those of the base stay"));
    assert_non_null(strstr(notes_of(server, NULL, *state), "8 NUMA nodes are taken for"));
    server->apart = true;
    assert_non_null(strstr(notes_of(server, NULL, *state), "links join some GPUs, but not all"));
}

/* of eight NUMA nodes four are of each socket; up to four nodes are as many sockets */
static void numa_nodes_beyond_four_are_parts_of_two_sockets(void **state)
{
    (void)state;
    assert_int_equal(server_socket(3, 4), 3);
    assert_int_equal(server_socket(3, 8), 0);
    assert_int_equal(server_socket(4, 8), 1);
    assert_int_equal(server_socket(8, 9), 1); /* POWER9 numbers its two 0 and 8 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_becomes_a_profile_that_loads),
        cmocka_unit_test(what_it_does_not_say_is_left_to_the_base),
        cmocka_unit_test(servers_without_links_or_switches_have_none),
        cmocka_unit_test(links_of_each_generation_have_their_rate),
        cmocka_unit_test(links_of_amd_have_the_rate_of_their_architecture),
        cmocka_unit_test(what_is_not_in_the_picture_stays_the_bases),
        cmocka_unit_test(the_card_is_told_by_kind_and_rate),
        cmocka_unit_test(links_that_do_not_join_all_are_none),
        cmocka_unit_test(what_was_assumed_or_left_out_is_said),
        cmocka_unit_test(numa_nodes_beyond_four_are_parts_of_two_sockets),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
