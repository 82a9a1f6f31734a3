#include "../test.h"
#include "graph_text.h"
#include "io/dot.h"

static void cables_chains_and_defaults_are_read(void **state)
{
    const struct net_graph *net =
        graph_of("a.dot",
                 "// a comment\n# another\nstrict graph \"my net\" {\n"
                 "  rankdir = LR; node [stage=1]; edge [rate=\"100Gbps\"] /* for all */\n"
                 "  a -- b -- c [latency=\"2us\"]\n"
                 "  subgraph cluster_x { edge [rate=\"1GB/s\"]; a -- d [count=2]; }\n"
                 "  d -- c [label=\"400 Gbps\", rate=\"8Gb/s\"]; c [label=\"the C\" stage=2]\n"
                 "}\n",
                 *state);
    /* a, b, c and d; cables a-b, a-d twice, b-c and c-d in the order of their ends */
    assert_int_equal(net->n_switches, 4);
    assert_int_equal(net->n_cables, 5);
    assert_string_equal(net->names[2], "the C");
    assert_int_equal(net->stages[0], 1);
    assert_int_equal(net->stages[2], 2);
    const double rates_Bps[] = {12.5e9, 1e9, 1e9, 12.5e9, 1e9};
    for (int c = 0; c < 5; c++) {
        assert_close(net->cables[c].ways[0].rate_Bps, rates_Bps[c], 1e-15);
        assert_close(net->cables[c].ways[1].rate_Bps, rates_Bps[c], 1e-15);
    }
    assert_close(net->cables[0].ways[0].latency_s, 2e-6, 1e-15);
    assert_true(net->cables[1].ways[0].latency_s < 0);
}

static void labels_give_names_and_rates(void **state)
{
    const struct net_graph *net = graph_of("a.gv",
                                           "graph { v1 [label=\"leaf 7\"] v2 [name=top "
                                           "label=ignored] v1 -- v2 [label=\"400 Gbps\"] "
                                           "v1 -- v2 [label=\"to the moon\"] }",
                                           *state);
    assert_int_equal(net->n_switches, 2);
    assert_string_equal(net->names[0], "leaf 7");
    assert_string_equal(net->names[1], "top");
    assert_int_equal(net->n_cables, 2);
    assert_close(net->cables[0].ways[0].rate_Bps, 50e9, 1e-15);
    assert_close(net->cables[1].ways[0].rate_Bps, 0, 0);
}

static void cards_are_known_by_name_or_by_number(void **state)
{
    const struct net_graph *net =
        graph_of("a.dot",
                 "graph { \"node 1 nic 0\" -- s; h [node=0 nic=1]; h -- s; gpu0 [label=\"gpu 0\"] "
                 "gpu0 -- \"node 1 nic 0\" }",
                 *state);
    assert_int_equal(net->n_hosts, 2);
    assert_int_equal(net->hosts[0].node, 0);
    assert_int_equal(net->hosts[0].nic, 1);
    assert_int_equal(net->hosts[1].node, 1);
    assert_int_equal(net->n_switches, 1); /* gpu 0 is inside its server */
}

static void one_way_edges_are_paired(void **state)
{
    const struct net_graph *net = graph_of("a.dot",
                                           "digraph { a -> b [rate=\"1GB/s\"] b -> a "
                                           "[rate=\"2GB/s\"] a -> b [dir=both rate=\"3GB/s\"] }",
                                           *state);
    assert_int_equal(net->n_cables, 2);
    assert_close(net->cables[0].ways[0].rate_Bps, 1e9, 1e-15);
    assert_close(net->cables[0].ways[1].rate_Bps, 2e9, 1e-15);
    assert_close(net->cables[1].ways[0].rate_Bps, 3e9, 1e-15);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", "a.dot:1:1: no graph"},
        {"graph { a -- b", "a.dot:1:15: the file ends inside a graph"},
        {"graph {\n a -> b }", "a.dot:2:4: -- is wanted in a graph"},
        {"digraph {\n a -- b }", "a.dot:2:4: -> is wanted in a digraph"},
        {"graph { a -- {b c} }", "an edge to a subgraph"},
        {"graph {\n\n  a -- a }", "a.dot:3:3: a link from \"a\" to itself"},
        {"graph { a -- b [rate=\"0Gbps\"] }", "a.dot:1:22: rate \"0Gbps\" is out of range"},
        {"graph { a -- b [rate=\"fast\"] }", "\"fast\" is not a rate"},
        {"graph { a -- b [latency=\"-1us\"] }", "latency \"-1us\" is out of range"},
        {"graph { a -- b [count=1.5] }", "\"1.5\" is no whole number from 0 to 4096"},
        {"graph { a [label=x]\n b [label=x] }", "a.dot:2:2: a second vertex is called \"x\""},
        {"graph { a:1 -- b }", "a.dot:1:10: not understood here"},
        {"graph { \"a }", "a.dot:1:9: a text that does not end"},
        {"graph { /* a }", "a comment that does not end"},
        {"graph { a } graph", "text after the graph"},
        {"digraph {\n a -> b }", "a.dot:2: a link one way without one back"},
        {"graph { \"node 0 nic 0\" }", "\"node 0 nic 0\" has no cable"},
        {"graph { \"node 0 nic 0\" -- \"node 1 nic 0\" }", "a link joins two cards"},
        {"graph { a -- \"node 0 nic 0\" -- b }", "has two cables"},
        {"graph { a -- h; a -- i; h [node=1]; i [node=1] }", "two vertices are node 1 nic 0"},
        {"graph { \"a -> b\" }", "is no name"},
        {"graph { a [stage=9] }", "\"9\" is no whole number from 0 to 3"},
        {"graph { a [stage] }", "= is wanted"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_graph_refused("a.dot", cases[c].text, cases[c].wanted, *state);
}

static void blocks_too_deep_are_refused(void **state)
{
    char text[512] = "graph ";
    memset(text + 6, '{', 100);
    text[106] = '\0';
    assert_graph_refused("a.dot", text, "more than 63 deep", *state);
}

/* 4096 cables an edge: 256 edges are 2^20, one more is too many. */
static void a_million_links_are_the_most(void **state)
{
    char *text = arena_new(*state, char, 16384);
    size_t n = (size_t)sprintf(text, "graph { edge [count=4096] ");
    for (int i = 0; i < 257; i++) n += (size_t)sprintf(text + n, "a -- b%d; ", i);
    sprintf(text + n, "}");
    assert_graph_refused("a.dot", text, "more than 1048576 links", *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cables_chains_and_defaults_are_read),
        cmocka_unit_test(labels_give_names_and_rates),
        cmocka_unit_test(cards_are_known_by_name_or_by_number),
        cmocka_unit_test(one_way_edges_are_paired),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(blocks_too_deep_are_refused),
        cmocka_unit_test(a_million_links_are_the_most),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
