#include "io/links.h"

#include "io/scenario.h"
#include "test.h"

#include <string.h>

/* four servers of 8 GPUs and one card, two on a leaf with two uplinks */
#define SCENARIO(degraded)                                                                         \
    "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"gpu\": \"v100-sxm2-16\", \"n_gpus\": 32, " \
    "\"nics_per_node\": 1, \"fabric\": {\"kind\": \"fat-tree\", \"levels\": 2, "                   \
    "\"hosts_per_leaf\": 2}, \"degraded\": [" degraded "]}"

static struct inputs *loaded(const char *text, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const struct scenario_options options = {.profile_dir = "scenarios"};
    struct inputs *in = scenario_load_text("test", text, strlen(text), &options, NULL, perm, &diag);
    diag_print(&diag, stderr);
    assert_non_null(in);
    return in;
}

static const struct link *link_of(const struct inputs *in, const char *name)
{
    int link = topo_find_link(in->topo, name);
    assert_true(link >= 0);
    return &in->topo->links[link];
}

static void a_link_may_have_another_rate_and_latency(void **state)
{
    struct inputs *in = loaded(SCENARIO("{\"link\": \"leaf 0 -> spine 1\", \"bandwidth\": "
                                        "\"40Gbps\", \"latency\": \"3us\", \"factor\": 0.5}"),
                               *state);
    assert_close(link_of(in, "leaf 0 -> spine 1")->capacity_Bps, 2.5e9, 1e-12);
    assert_close(link_of(in, "leaf 0 -> spine 1")->latency_s, 3e-6, 1e-12);
    assert_int_equal(in->n_events, 0);
}

static void a_failed_link_is_on_no_route(void **state)
{
    struct inputs *in =
        loaded(SCENARIO("{\"link\": \"leaf 0 <-> spine 0\", \"failed\": true}"), *state);
    assert_int_equal(in->topo->n_failed, 2);
    for (int dst = 16; dst < 32; dst++) {
        int links[ROUTE_MAX];
        int n = topo_route(in->topo, (struct endpoint){VERTEX_GPU, 0},
                           (struct endpoint){VERTEX_GPU, dst}, -1, 0, links);
        for (int i = 0; i < n; i++) assert_false(in->topo->links[links[i]].failed);
    }
}

/* In order of time; routes follow when the change is noticed, here 0.5 s later each. */
static void what_happens_later_is_listed_with_the_routes_after_it(void **state)
{
    struct inputs *in = loaded(
        SCENARIO("{\"link\": \"leaf 0 <-> spine 0\", \"at\": \"4s\", \"detection\": \"500ms\"}, "
                 "{\"link\": \"leaf 1 -> spine 0\", \"factor\": 0.25, \"at\": \"3s\"}, "
                 "{\"link\": \"leaf 0 <-> spine 0\", \"failed\": true, \"at\": \"2s\", "
                 "\"detection\": \"500ms\"}"),
        *state);
    assert_int_equal(in->n_events, 5);
    assert_close(in->events[0].at_s, 2, 1e-12);
    assert_true(in->events[0].failed);
    assert_close(in->events[2].capacity_Bps, link_of(in, "leaf 1 -> spine 0")->capacity_Bps / 4,
                 1e-12);
    assert_false(in->events[4].failed);
    assert_int_equal(in->n_epochs, 2);
    assert_close(in->epochs[0].from_s, 2.5, 1e-12);
    assert_int_equal(in->epochs[0].topo->n_failed, 2);
    assert_close(in->epochs[1].from_s, 4.5, 1e-12);
    assert_int_equal(in->epochs[1].topo->n_failed, 0);
    assert_int_equal(in->topo->n_failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_may_have_another_rate_and_latency),
        cmocka_unit_test(a_failed_link_is_on_no_route),
        cmocka_unit_test(what_happens_later_is_listed_with_the_routes_after_it),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
