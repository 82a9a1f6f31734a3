/* Links that change while the job runs: in fluid and message fidelity, folded or not. */
#include "ideal.h"

/* A ring over 8 hosts on two leaves, without latency: 2 (n - 1) S / n at 10 GB/s. */
static const double SIZE_B = 8e9;
static const double ALONE_S = 2.0 * 7 / 8 * 8e9 / 10e9;

static struct inputs *ring_on(const struct fabric_spec *fabric, struct arena *perm)
{
    struct node_spec node = ideal_node;
    node.nic_latency_s = 0;
    return alone(&node, fabric, 8, coll_op(0, COLL_ALLREDUCE, SIZE_B, "ring"), perm);
}

static double end_s(struct inputs *in, enum fidelity fidelity, bool fold, struct arena scratch)
{
    in->fold = fold;
    const struct plan *plan = plan_build(in, &scratch);
    const struct run *run = fidelity == FIDELITY_FLUID ? engine_run(plan, &scale_none, &scratch)
                                                       : engine_message(plan, &scratch);
    assert_null(run->stuck);
    return run->end_s;
}

static void assert_ends(struct inputs *in, double want_s, struct arena scratch)
{
    assert_close(end_s(in, FIDELITY_FLUID, true, scratch), want_s, 1e-9);
    assert_close(end_s(in, FIDELITY_FLUID, false, scratch), want_s, 1e-9);
    assert_close(end_s(in, FIDELITY_MESSAGE, false, scratch), want_s, 1e-9);
}

static int link_named(const struct topo *topo, const char *name)
{
    int link = topo_find_link(topo, name);
    assert_true(link >= 0);
    return link;
}

/* what it takes to have links failed from a moment on */
static struct route_epoch without(const struct inputs *in, int link, double from_s,
                                  struct arena *perm)
{
    struct topo *topo = arena_new(perm, struct topo, 1);
    struct diag diag = {.perm = perm};
    *topo = *in->topo;
    topo->links = arena_new(perm, struct link, topo->n_links);
    for (int l = 0; l < topo->n_links; l++) topo->links[l] = in->topo->links[l];
    topo->links[link].failed = true;
    topo_reroute(topo, perm, &diag, (struct diag_place){.file = "test"});
    assert_true(diag_ok(&diag));
    return (struct route_epoch){from_s, topo};
}

/* One card at half rate from a fourth of the time on: the rest takes twice as long. */
static void a_link_that_degrades_slows_what_is_left(void **state)
{
    struct arena *perm = *state;
    struct inputs *in = ring_on(&one_switch, perm);
    int link = link_named(in->topo, "node 3 nic 0 -> switch");
    struct link_event event = {ALONE_S / 4, link, 5 * GB, false};
    in->events = &event;
    in->n_events = 1;
    in->fold = true;
    assert_close(end_s(in, FIDELITY_FLUID, true, *perm), ALONE_S * (0.25 + 1.5), 1e-9);
    assert_close(end_s(in, FIDELITY_FLUID, false, *perm), ALONE_S * (0.25 + 1.5), 1e-9);
    /* a step that is under way when the link gets slow ends late at one host alone: its neighbours
     * are a step behind by then, and the ring ends within a step of the fluid time */
    double message_s = end_s(in, FIDELITY_MESSAGE, false, *perm);
    assert_true(message_s >= ALONE_S * 1.5 && message_s <= ALONE_S * (1.75 + 2.0 / 14));
}

/* And comes back: it was slow for a fourth of the time alone, and did half of that. */
static void a_link_that_comes_back_is_as_fast_as_before(void **state)
{
    struct arena *perm = *state;
    struct inputs *in = ring_on(&one_switch, perm);
    int link = link_named(in->topo, "node 3 nic 0 -> switch");
    struct link_event events[] = {{ALONE_S / 4, link, 5 * GB, false},
                                  {ALONE_S / 2, link, 10 * GB, false}};
    in->events = events;
    in->n_events = 2;
    assert_close(end_s(in, FIDELITY_FLUID, true, *perm), ALONE_S * 1.125, 1e-9);
}

/* The ring crosses from leaf to leaf once each way, by spine 0, as destinations 4 and 0 choose. When
 * that cable fails the ring stands still until it is noticed, then goes by spine 1 as fast as before. */
static void flows_on_a_failed_link_stand_still_until_it_is_noticed(void **state)
{
    struct arena *perm = *state;
    struct inputs *in = ring_on(&halved_tree2, perm);
    int link = link_named(in->topo, "leaf 0 -> spine 0");
    struct link_event event = {ALONE_S / 2, link, 10 * GB, true};
    struct route_epoch epoch = without(in, link, ALONE_S / 2 + 0.25, perm);
    in->events = &event;
    in->epochs = &epoch;
    in->n_events = in->n_epochs = 1;
    assert_ends(in, ALONE_S + 0.25, *perm);
}

/* Where it fails under nobody's flows nothing happens; nor after the end. */
static void failures_elsewhere_and_later_change_nothing(void **state)
{
    struct arena *perm = *state;
    struct inputs *in = ring_on(&halved_tree2, perm);
    int link = link_named(in->topo, "leaf 0 -> spine 1");
    struct link_event event = {ALONE_S / 2, link, 10 * GB, true};
    struct route_epoch epoch = without(in, link, ALONE_S / 2, perm);
    in->events = &event;
    in->epochs = &epoch;
    in->n_events = in->n_epochs = 1;
    assert_ends(in, ALONE_S, *perm);
    event.link = link_named(in->topo, "leaf 0 -> spine 0");
    event.at_s = 2 * ALONE_S;
    in->n_epochs = 0;
    assert_ends(in, ALONE_S, *perm);
}

/* Groups of two, host i with host i + 4: after the failure all four of a leaf's flows that go by
 * spine 0 or 1 meet on one uplink of 10 GB/s, so each runs at 2.5 instead of 5 GB/s. */
static void what_one_link_carried_the_others_have_to(void **state)
{
    struct arena *perm = *state;
    struct node_spec node = ideal_node;
    node.nic_latency_s = 0;
    struct topo *topo = build_topo(&node, &halved_tree2, 8, perm);
    struct job *job = new_job((struct mesh){2, {4, 2}, {"tp", "dp"}}, 1, perm);
    job->comms[0] =
        (struct comm){.name = "dp", .first_axis = 1, .last_axis = 1, .from = -1, .to = -1};
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, SIZE_B, "ring"), perm);
    job->n_iterations = 1;
    struct inputs *in = build_inputs(topo, job, perm);
    in->library.rendezvous = true;
    double alone_s = SIZE_B / 5e9; /* two steps of half the size */
    assert_ends(in, alone_s, *perm);
    int link = link_named(in->topo, "leaf 0 -> spine 0");
    struct link_event event = {alone_s / 2, link, 10 * GB, true};
    struct route_epoch epoch = without(in, link, alone_s / 2, perm);
    in->events = &event;
    in->epochs = &epoch;
    in->n_events = in->n_epochs = 1;
    assert_ends(in, alone_s * 1.5, *perm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_degrades_slows_what_is_left),
        cmocka_unit_test(a_link_that_comes_back_is_as_fast_as_before),
        cmocka_unit_test(flows_on_a_failed_link_stand_still_until_it_is_noticed),
        cmocka_unit_test(failures_elsewhere_and_later_change_nothing),
        cmocka_unit_test(what_one_link_carried_the_others_have_to),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
