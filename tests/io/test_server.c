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
        server->nics[i] = (struct server_nic){"mlx5", 50e9, i / 4, true};
    }
    server->nics[8] = (struct server_nic){"eth", 3.125e9, 0, false};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_becomes_a_profile_that_loads),
        cmocka_unit_test(what_it_does_not_say_is_left_to_the_base),
        cmocka_unit_test(servers_without_links_or_switches_have_none),
        cmocka_unit_test(links_of_each_generation_have_their_rate),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
