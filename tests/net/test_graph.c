#include "net/fabric.h"
#include "net/graph.h"
#include "net/shapes.h"

static const struct graph_way given = {.latency_s = -1};

static struct topo *of_graph(const struct net_graph *net, int n_nodes, struct arena *perm)
{
    struct fabric_spec fabric = fabric_of("graph");
    fabric.graph = net;
    return built(one_gpu_node(), fabric, n_nodes, perm);
}

/* On a ring of n the way is round the shorter side: min(d, n - d) links, and the two cables of the ports. */
static void ways_are_shortest(void **state)
{
    for (int n = 2; n <= 9; n++) {
        struct arena scratch = *(struct arena *)*state;
        struct topo *topo = of_graph(ring_graph(n, n, &scratch), n, &scratch);
        for (int src = 0; src < n; src++) {
            for (int dst = 0; dst < n; dst++) {
                int links[ROUTE_MAX], d = (dst - src + n) % n;
                if (src == dst) continue;
                int length = topo->fabric->kind->route(topo, src, dst, 0, links);
                assert_int_equal(length, 2 + (d < n - d ? d : n - d));
            }
        }
    }
}

/* Leaf 0 and leaf 1 under two spines: destinations 2 and 3 take spine 0 and 1, as d-mod-k does. */
static void equal_ways_are_taken_in_turn_by_destination(void **state)
{
    static const char *const names[] = {"leaf 0", "leaf 1", "spine 0", "spine 1"};
    static const int8_t stages[] = {0, 0, 1, 1};
    const struct graph_cable cables[] = {{0, 2, {given, given}, false},
                                         {0, 3, {given, given}, false},
                                         {1, 2, {given, given}, false},
                                         {1, 3, {given, given}, false}};
    struct graph_host hosts[4];
    for (int h = 0; h < 4; h++) hosts[h] = (struct graph_host){h, 0, h / 2, {given, given}};
    const struct net_graph net = {"test", names, stages, 4, cables, 4, hosts, 4};
    struct topo *topo = of_graph(&net, 4, *state);
    for (int dst = 2; dst < 4; dst++) {
        const char *way = route_text(topo, gpu_at(0), gpu_at(dst), -1, *state);
        assert_non_null(strstr(way, arena_text(*state, "leaf 0 > spine %d > leaf 1", dst % 2)));
    }
    assert_int_equal(topo_summarise(topo).n_stage_switches[STAGE_SPINE], 2);
}

/* Between switches 0 and 2 two links lead over switch 1, or one global link there: it counts as three, so
 * the two are the shorter way. */
static void a_global_link_counts_as_three(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    static const int8_t stages[] = {0, 0, 0};
    const struct graph_cable cables[] = {
        {0, 1, {given, given}, false}, {0, 2, {given, given}, true}, {1, 2, {given, given}, false}};
    const struct graph_host hosts[] = {{0, 0, 0, {given, given}}, {1, 0, 2, {given, given}}};
    const struct net_graph net = {"test", names, stages, 3, cables, 3, hosts, 2};
    struct topo *topo = of_graph(&net, 2, *state);
    int links[ROUTE_MAX];
    assert_int_equal(topo->fabric->kind->route(topo, 0, 1, 0, links), 4);
    for (int i = 0; i < 4; i++) assert_int_not_equal(topo->links[links[i]].tier, TIER_GLOBAL);
}

static void the_bisection_is_the_largest_flow(void **state)
{
    for (int n = 2; n <= 9; n++) {
        for (int n_hosts = 2; n_hosts <= 3 * n; n_hosts += 5) {
            struct arena scratch = *(struct arena *)*state;
            struct topo *topo = of_graph(ring_graph(n, n_hosts, &scratch), n_hosts, &scratch);
            assert_close(topo->fabric->kind->bisection_Bps(topo), max_flow_Bps(topo, scratch),
                         1e-9);
        }
    }
}

/* Two halves of a thousand leaves each, joined to each other by all the cables of a hub each: more cables than
 * the largest flow is worked out for. One cable joins the hubs. */
static void a_large_network_is_cut_where_its_ports_divide(void **state)
{
    enum { N = 1000, TWINS = 40 };
    struct net_graph net = *ring_graph(2 * N + 2, 2 * N, *state);
    struct graph_cable *cables = arena_new(*state, struct graph_cable, 2 * N * TWINS + 1);
    int n = 0;
    for (int leaf = 0; leaf < 2 * N; leaf++) {
        for (int twin = 0; twin < TWINS; twin++)
            cables[n++] = (struct graph_cable){leaf, 2 * N + leaf / N, {given, given}, false};
    }
    cables[n++] = (struct graph_cable){2 * N, 2 * N + 1, {{7e9, 0}, {7e9, 0}}, false};
    net.cables = cables;
    net.n_cables = n;
    struct topo *topo = of_graph(&net, 2 * N, *state);
    assert_close(topo->fabric->kind->bisection_Bps(topo), 7e9, 1e-12);
}

/* A rate in the file is that of the link in its direction; one not given is the card's. */
static void rates_are_those_of_the_file(void **state)
{
    static const char *const names[] = {"a", "b"};
    static const int8_t stages[] = {0, 0};
    const struct graph_cable cables[] = {{0, 1, {{3e9, 2e-6}, {5e9, 1e-6}}, false}};
    const struct graph_host hosts[] = {{0, 0, 0, {given, given}}, {1, 0, 1, {{7e9, -1}, given}}};
    const struct net_graph net = {"test", names, stages, 2, cables, 1, hosts, 2};
    struct topo *topo = of_graph(&net, 2, *state);
    const struct {
        const char *link;
        double rate_Bps;
    } wanted[] = {{"a -> b", 3e9},
                  {"b -> a", 5e9},
                  {"node 1 nic 0 -> b", 7e9},
                  {"b -> node 1 nic 0", 12.5e9}};
    for (int i = 0; i < 4; i++) {
        int link = topo_find_link(topo, wanted[i].link);
        assert_true(link >= 0);
        assert_close(topo->links[link].capacity_Bps, wanted[i].rate_Bps, 1e-15);
    }
    assert_close(topo->links[topo_find_link(topo, "a -> b")].latency_s, 2e-6, 1e-15);
}

static void hosts_out_of_reach_are_named(void **state)
{
    static const char *const names[] = {"a", "b"};
    static const int8_t stages[] = {0, 0};
    const struct graph_host hosts[] = {
        {0, 0, 0, {given, given}}, {1, 0, 0, {given, given}}, {2, 0, 1, {given, given}}};
    const struct net_graph net = {"net.dot", names, stages, 2, NULL, 0, hosts, 3};
    struct fabric_spec fabric = fabric_of("graph");
    fabric.graph = &net;
    assert_refused(one_gpu_node(), fabric, 3, *state,
                   "in net.dot no way leads from node 0 nic 0 to node 2 nic 0");
    assert_refused(one_gpu_node(), fabric, 4, *state, "net.dot has no \"node 3 nic 0\"");
    assert_string_equal(refusal(one_gpu_node(), fabric, 2, *state), ""); /* node 2 is not used */
    fabric.graph = NULL;
    assert_refused(one_gpu_node(), fabric, 2, *state, "a graph needs its \"file\"");
}

static void ways_longer_than_routes_can_be_are_refused(void **state)
{
    struct fabric_spec fabric = fabric_of("graph");
    fabric.graph = ring_graph(300, 300, *state);
    assert_refused(one_gpu_node(), fabric, 300, *state, "longest way through the graph");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_are_shortest),
        cmocka_unit_test(equal_ways_are_taken_in_turn_by_destination),
        cmocka_unit_test(a_global_link_counts_as_three),
        cmocka_unit_test(the_bisection_is_the_largest_flow),
        cmocka_unit_test(a_large_network_is_cut_where_its_ports_divide),
        cmocka_unit_test(rates_are_those_of_the_file),
        cmocka_unit_test(hosts_out_of_reach_are_named),
        cmocka_unit_test(ways_longer_than_routes_can_be_are_refused),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
