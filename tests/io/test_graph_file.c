#include "../net/shapes.h"
#include "../test.h"
#include "graph_text.h"
#include "io/graph_file.h"

#include "net/fabric.h"

static void json_says_what_dot_does(void **state)
{
    const struct net_graph *net = graph_of(
        "a.json",
        "{\"$comment\": 1, \"vertices\": [\"core\", {\"name\": \"leaf\", \"stage\": 1}, {\"name\": "
        "\"h\", \"node\": 3, \"nic\": 2}], \"links\": [{\"from\": \"h\", \"to\": \"leaf\"}, "
        "{\"from\": \"leaf\", \"to\": \"core\", \"rate\": \"400Gbps\", \"latency\": \"0.5us\", "
        "\"count\": 2, \"tier\": \"global\"}]}",
        *state);
    assert_int_equal(net->n_switches, 2);
    assert_int_equal(net->stages[1], 1);
    assert_int_equal(net->n_cables, 2);
    assert_true(net->cables[1].global);
    assert_close(net->cables[1].ways[1].rate_Bps, 50e9, 1e-15);
    assert_close(net->cables[1].ways[1].latency_s, 0.5e-6, 1e-15);
    assert_int_equal(net->n_hosts, 1);
    assert_int_equal(net->hosts[0].node, 3);
    assert_int_equal(net->hosts[0].nic, 2);
    assert_int_equal(net->hosts[0].at, 1);
}

static void what_is_wrong_in_json_is_said_with_its_place(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"[]", "is a list"},
        {"{\"links\": []}", "\"vertices\" is wanted, a list"},
        {"{\"vertices\": [], \"links\": 3}", "a.json:1:27: /links: \"links\" is wanted"},
        {"{\"vertices\": [\"a\", \"a\"], \"links\": []}", "/vertices/1: a second vertex"},
        {"{\"vertices\": [\"a\"], \"links\": [{\"from\": \"a\", \"to\": \"b\"}]}",
         "/links/0/to: no vertex is called \"b\""},
        {"{\"vertices\": [\"a\"], \"links\": [{\"from\": \"a\", \"to\": \"a\"}]}",
         "a link from \"a\" to itself"},
        {"{\"vertices\": [\"a\", \"b\"], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"rate\": "
         "\"0GB/s\"}]}",
         "/links/0/rate: rate \"0GB/s\" is out of range"},
        {"{\"vertices\": [\"a\", \"b\"], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"rat\": "
         "1}]}",
         "unknown key"},
        {"{\"vertices\": [{\"node\": 1}], \"links\": []}", "missing key \"name\""},
        {"{\"vertices\": [], \"links\": [], \"extra\": 1}", "unknown key"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_graph_refused("a.json", cases[c].text, cases[c].wanted, *state);
}

static const char *drawn(const struct topo *topo, struct arena *perm)
{
    enum { ROOM = 1 << 20 };
    char *text = arena_new(perm, char, ROOM);
    FILE *out = fmemopen(text, ROOM, "w");
    assert_non_null(out);
    topo_write_dot(topo, out);
    fclose(out);
    return text;
}

/* What topo draws is the same network again: counts, bisection where the kind's own is the largest flow, and
 * the length of the longest way. */
static void what_topo_draws_is_read_again_as_the_same_network(void **state)
{
    static const char *const kinds[] = {"switch",    "fat-tree",       "dragonfly",
                                        "cascade",   "dragonfly-plus", "full-mesh",
                                        "rail-only", "multi-site",     "hyperx"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct arena scratch = *(struct arena *)*state;
        struct fabric_spec fabric = fabric_of(kinds[k]);
        fabric.ports_per_leaf = 4;
        struct topo *topo = built(one_gpu_node(), fabric, 27, &scratch);
        fabric = fabric_of("graph");
        fabric.graph = graph_of("net.dot", drawn(topo, &scratch), &scratch);
        struct topo *again = built(one_gpu_node(), fabric, 27, &scratch);
        struct topo_summary a = topo_summarise(topo), b = topo_summarise(again);
        assert_int_equal(a.n_nics, b.n_nics);
        assert_int_equal(a.radix, b.radix);
        assert_memory_equal(a.n_stage_switches, b.n_stage_switches, sizeof a.n_stage_switches);
        assert_memory_equal(a.n_links, b.n_links, sizeof a.n_links);
        assert_int_equal(a.diameter_hops, b.diameter_hops);
        assert_close(a.max_latency_s, b.max_latency_s, 1e-12);
        assert_close(b.bisection_Bps, max_flow_Bps(topo, scratch), 1e-9);
        assert_true(a.bisection_Bps >= b.bisection_Bps * (1 - 1e-9));
    }
}

static void a_drawing_of_what_was_read_is_the_same_drawing(void **state)
{
    struct topo *topo = built(one_gpu_node(), fabric_of("dragonfly"), 20, *state);
    struct fabric_spec fabric = fabric_of("graph");
    fabric.graph = graph_of("net.dot", drawn(topo, *state), *state);
    const char *first = drawn(built(one_gpu_node(), fabric, 20, *state), *state);
    fabric.graph = graph_of("net.dot", first, *state);
    assert_string_equal(drawn(built(one_gpu_node(), fabric, 20, *state), *state), first);
}

static void a_file_that_is_not_there_is_reported(void **state)
{
    struct diag diag = {.perm = *state};
    assert_null(graph_file_read("no-such.dot", *state, &diag));
    assert_non_null(strstr(diag.messages[0], "no-such.dot"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_says_what_dot_does),
        cmocka_unit_test(what_is_wrong_in_json_is_said_with_its_place),
        cmocka_unit_test(what_topo_draws_is_read_again_as_the_same_network),
        cmocka_unit_test(a_drawing_of_what_was_read_is_the_same_drawing),
        cmocka_unit_test(a_file_that_is_not_there_is_reported),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
