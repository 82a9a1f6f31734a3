#include "slack.h"

#include "cluster.h"

enum { N_NODES = 48 };

/* A parameter server on each of 48 machines, a stream and a tensor for each, all tensors of other sizes. */
static const struct plan *served_on(const struct node_spec *node, bool fold, struct arena *perm)
{
    struct topo *topo = build_topo(node, &one_switch, N_NODES, perm);
    struct job *job = new_job((struct mesh){1, {N_NODES}, {"dp"}}, 1, perm);
    job->comms[0] = (struct comm){.name = "dp", .from = -1, .to = -1, .n_servers = N_NODES};
    struct program *program = &job->programs[0];
    program->n_streams = N_NODES;
    for (int s = 0; s < N_NODES; s++) {
        struct op op = coll_op(0, COLL_ALLREDUCE, 1e6 * (1 + s % 7), "parameter-server");
        op.stream = s;
        op.root = s;
        program_add_op(program, op, perm);
    }
    struct inputs *in = build_inputs(topo, job, perm);
    in->fold = fold;
    return plan_build(in, perm);
}

static const struct plan *served(bool fold, struct arena *perm)
{
    return served_on(&single_node, fold, perm);
}

/* The same with all loads: links that change are all watched, and this one changes long after the end. */
static const struct plan *watched(const struct plan *plan, struct arena *perm)
{
    struct inputs *in = arena_new(perm, struct inputs, 1);
    struct link_event *event = arena_new(perm, struct link_event, 1);
    int *resource = arena_new(perm, int, 1);
    struct plan *all = arena_new(perm, struct plan, 1);
    *in = *plan->in;
    *all = *plan;
    *event = (struct link_event){.at_s = 1e6, .capacity_Bps = 1};
    *resource = -1;
    in->events = event;
    in->n_events = 1;
    all->in = in;
    all->event_resource = resource;
    return all;
}

/* Between a worker's GPU and its card there is room for more than the card takes. */
static void links_that_never_fill_are_dropped_and_nothing_else_changes(void **state)
{
    struct arena perm = *(struct arena *)*state;
    const struct plan *plan = served(true, &perm);
    const struct plan *all = watched(plan, &perm);
    const struct load_list *lists = slack_loads(plan, &scale_none, &perm);
    assert_non_null(lists);
    assert_null(slack_loads(all, &scale_none, &perm));
    assert_true(lists[0].n < plan->bundles[0].n_loads);
    const struct run *few = engine_run(plan, &scale_none, &perm);
    const struct run *many = engine_run(all, &scale_none, &perm);
    assert_close(few->end_s, many->end_s, 1e-12);
    assert_close(few->iteration_s, many->iteration_s, 1e-12);
    for (int r = 0; r < plan->n_resources; r++)
        assert_close(few->busy_s[r], many->busy_s[r], 1e-12);
}

/* Slots of 0.7 cards hold what a server takes of 47 workers. Each worker's GPU sends to 47 of them at 1/47 of a slot
 * and its card carries that and what its own server sends, 1.4 times its rate: all may fill, hardly. */
static void links_that_just_may_fill_are_kept(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct node_spec node = single_node;
    node.pcie_Bps = 0.7 * node.nic_Bps;
    const struct plan *plan = served_on(&node, true, &perm);
    const struct load_list *lists = slack_loads(plan, &scale_none, &perm);
    assert_non_null(lists);
    assert_int_equal(lists[0].n, plan->bundles[0].n_loads);
}

/* A link is kept where some bundle is held by it, whatever the factors on capacities make of the others. */
static void what_holds_a_bundle_alone_is_kept(void **state)
{
    struct arena perm = *(struct arena *)*state;
    const struct plan *plan = served(true, &perm);
    struct scale scale = scale_none;
    for (int t = 0; t < N_TIERS; t++) {
        scale.tier[t] = 4.0;
        const struct load_list *lists = slack_loads(plan, &scale, &perm);
        const struct plan_bundle *bundle = &plan->bundles[0];
        double all_Bps = HUGE_VAL;
        double kept_Bps = HUGE_VAL;
        for (int l = 0; l < bundle->n_loads; l++) {
            int r = bundle->loads[l].resource;
            double Bps = plan->capacity[r] * scale_of(&scale, plan, r) / bundle->loads[l].n;
            all_Bps = fmin(all_Bps, Bps);
        }
        for (int l = 0; l < lists[0].n; l++) {
            int r = lists[0].loads[l].resource;
            double Bps = plan->capacity[r] * scale_of(&scale, plan, r) / lists[0].loads[l].n;
            kept_Bps = fmin(kept_Bps, Bps);
        }
        assert_close(kept_Bps, all_Bps, 1e-15);
    }
}

static void folded_servers_take_as_long_as_unfolded(void **state)
{
    struct arena perm = *(struct arena *)*state;
    const struct run *folded = engine_run(served(true, &perm), &scale_none, &perm);
    const struct plan *all = watched(served(false, &perm), &perm);
    assert_int_equal(all->n_classes, N_NODES);
    assert_close(folded->iteration_s, engine_run(all, &scale_none, &perm)->iteration_s, 1e-9);
}

/* Looking would cost more than it saves. */
static void plans_of_few_loads_are_left_alone(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct topo *topo = build_topo(&single_node, &one_switch, 8, &perm);
    struct job *job = lone_job(8, coll_op(0, COLL_ALLREDUCE, 1e8, "ring"), &perm);
    const struct plan *plan = plan_build(build_inputs(topo, job, &perm), &perm);
    assert_null(slack_loads(plan, &scale_none, &perm));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_that_never_fill_are_dropped_and_nothing_else_changes),
        cmocka_unit_test(links_that_just_may_fill_are_kept),
        cmocka_unit_test(what_holds_a_bundle_alone_is_kept),
        cmocka_unit_test(folded_servers_take_as_long_as_unfolded),
        cmocka_unit_test(plans_of_few_loads_are_left_alone),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
