/* The estimate walks programs as the engine does, but a collective takes what it would take alone. */
#include "ideal.h"

#include "base/rng.h"

#define MS 1e-3

static struct job *job_of(int n_ranks, struct arena *perm)
{
    struct job *job = new_job((struct mesh){1, {n_ranks}, {"dp"}}, 2, perm);
    for (int c = 0; c < 2; c++) job->comms[c] = (struct comm){.name = "dp", .from = -1, .to = -1};
    return job;
}

static struct inputs *inputs_of(struct job *job, const struct fabric_spec *fabric,
                                struct arena *perm)
{
    struct topo *topo = build_topo(&ideal_node, fabric, job->n_ranks, perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->library.rendezvous = true;
    return in;
}

static struct op kernel(double work_s)
{
    return (struct op){.kind = OP_KERNEL, .part = PART_FORWARD, .name = "kernel", .work_s = work_s};
}

/* Kernels in a row, some with a collective behind them that some later kernel waits for, in this
 * iteration or the next. */
static struct job *random_job(struct rng *rng, struct arena *perm)
{
    static const char *const algorithms[] = {"ring", "tree", "halving-doubling", "direct"};
    struct job *job = job_of(2 + rng_integer(rng, 7), perm);
    struct program *program = &job->programs[0];
    job->n_iterations = 4;
    int last = -1;
    for (int i = 0; i < 12; i++) {
        int at = program_add_op(program, kernel(rng_uniform(rng) * MS), perm);
        if (last >= 0 && rng_integer(rng, 3) == 0) {
            program_add_dep(program, at, last, rng_integer(rng, 2), perm);
        }
        if (rng_integer(rng, 2) == 0) continue;
        double size_B = 1e3 + 1e7 * rng_uniform(rng);
        struct op op = coll_op(0, COLL_ALLREDUCE, size_B, algorithms[rng_integer(rng, 4)]);
        last = program_add_op(program, op, perm);
        program_add_dep(program, last, at, 0, perm);
    }
    job_check(job, *perm);
    return job;
}

static const struct span *find_span(const struct run *run, const struct span *like)
{
    const struct span *span = run->spans;
    while (span->rank_class != like->rank_class || span->op != like->op ||
           span->iteration != like->iteration) {
        must(++span < run->spans + run->n_spans);
    }
    return span;
}

/* Collectives of one stream never meet: then the estimate is what the engine finds, op by op. */
static void without_contention_it_is_the_engine_op_by_op(void **state)
{
    static const struct slow_gpu slow = {0, 1.5};
    struct rng *rng = rng_open(11, "estimate", *state);
    for (int turn = 0; turn < 40; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct inputs *in = inputs_of(random_job(rng, &scratch), &one_switch, &scratch);
        if (turn % 2 == 1) {
            in->slow = &slow;
            in->n_slow = 1;
        }
        const struct plan *plan = plan_build(in, &scratch);
        const struct run *estimate = estimate_run(plan, &scratch);
        const struct run *fluid = engine_run(plan, &scale_none, &scratch);
        assert_null(estimate->stuck);
        assert_int_equal(estimate->n_spans, fluid->n_spans);
        assert_close(estimate->iteration_s, fluid->iteration_s, 1e-9);
        double path_s = 0; /* all of the period is on the longest path */
        for (int path = 0; path < N_PATHS; path++) path_s += estimate->path_s[path];
        assert_close(path_s, estimate->iteration_s, 1e-9);
        for (int64_t s = 0; s < fluid->n_spans; s++) {
            const struct span *span = find_span(estimate, &fluid->spans[s]);
            assert_close(span->start_s, fluid->spans[s].start_s, 1e-9);
            assert_close(span->begin_s, fluid->spans[s].begin_s, 1e-9);
            assert_close(span->end_s, fluid->spans[s].end_s, 1e-9);
        }
    }
}

/* The period alone is that of the run, to the bit; path by path as well. */
static void a_period_is_that_of_the_whole_run(void **state)
{
    struct rng *rng = rng_open(12, "estimate", *state);
    for (int turn = 0; turn < 40; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct inputs *in = inputs_of(random_job(rng, &scratch), &ideal_tree2, &scratch);
        const struct plan *plan = plan_build(in, &scratch);
        const struct run *run = estimate_run(plan, &scratch);
        struct run period = estimate_period(plan, &scale_none, scratch);
        assert_memory_equal(&period.iteration_s, &run->iteration_s, sizeof period.iteration_s);
        assert_memory_equal(period.path_s, run->path_s, sizeof period.path_s);
    }
}

/* What-ifs, where nothing meets, are those of the engine: each kind alone, then all at once. */
static void a_scaled_period_is_that_of_the_scaled_engine(void **state)
{
    struct rng *rng = rng_open(13, "estimate", *state);
    for (int turn = 0; turn < 40; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct inputs *in = inputs_of(random_job(rng, &scratch), &one_switch, &scratch);
        struct scale scale = scale_none;
        int kind = turn % 4;
        if (kind == 0 || kind == 3) scale.kernel = 0.5;
        if (kind == 1 || kind == 3) scale.latency = 0.25;
        for (int tier = 0; tier < N_TIERS; tier++)
            if (kind >= 2) scale.tier[tier] = 3.0;
        in->fidelity = FIDELITY_ESTIMATE;
        const struct plan *plan = plan_build(in, &scratch);
        double fluid_s = engine_run(plan, &scale, &scratch)->iteration_s;
        assert_close(estimate_period(plan, &scale, scratch).iteration_s, fluid_s, 1e-9);
    }
}

static struct scale random_scale(struct rng *rng)
{
    struct scale scale = {.kernel = 0.5 + rng_uniform(rng),
                          .host = 0.5 + rng_uniform(rng),
                          .latency = 0.5 + rng_uniform(rng),
                          .hbm = 1.0};
    for (int tier = 0; tier < N_TIERS; tier++) scale.tier[tier] = 0.5 + rng_uniform(rng);
    return scale;
}

/* Laid once, timed at ten scales: to the bit what each takes when walked anew, with one rank slower in every
 * other job. */
static void timed_again_a_plan_takes_what_it_takes_anew(void **state)
{
    static const struct slow_gpu slow = {0, 1.5};
    struct rng *rng = rng_open(14, "estimate", *state);
    for (int turn = 0; turn < 40; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct inputs *in = inputs_of(random_job(rng, &scratch), &ideal_tree2, &scratch);
        in->slow = &slow;
        in->n_slow = turn % 2;
        in->fidelity = FIDELITY_ESTIMATE;
        const struct plan *plan = plan_build(in, &scratch);
        const struct estimate *estimate = estimate_open(plan, &scratch);
        for (int i = 0; i < 10; i++) {
            struct scale scale = i == 0 ? scale_none : random_scale(rng);
            double anew_s = estimate_period(plan, &scale, scratch).iteration_s;
            double again_s = estimate_again(estimate, &scale, scratch);
            assert_memory_equal(&again_s, &anew_s, sizeof anew_s);
        }
    }
}

/* A ring inside a server and one across two are made to take equally long, so that their ranks share a clock.
 * When links between servers are slower they do not. */
static void
collectives_that_happen_to_take_equally_long_are_told_apart_when_timed_again(void **state)
{
    struct arena *perm = *state;
    struct topo *topo = build_topo(&octo_node, &one_switch, 16, perm);
    struct job *job = new_job((struct mesh){2, {6, 2}, {"tp", "dp"}}, 1, perm);
    job->comms[0] = (struct comm){.name = "tp", .from = -1, .to = -1};
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, 10e6, "ring"), perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->fidelity = FIDELITY_ESTIMATE;
    const struct plan *plan = plan_build(in, perm);
    assert_int_equal(plan->n_colls, 2);
    plan->colls[0].estimate_s = plan->colls[1].estimate_s;
    struct scale scale = scale_none;
    scale.tier[TIER_NIC] = 0.5;
    double anew_s = estimate_period(plan, &scale, *perm).iteration_s;
    double again_s = estimate_again(estimate_open(plan, perm), &scale, *perm);
    assert_true(anew_s > 1.5 * plan->colls[1].estimate_s);
    assert_memory_equal(&again_s, &anew_s, sizeof anew_s);
}

/* Two rings of two ranks side by side, 10 MB each at 10 GB/s, alpha 2 us, 2 steps: alone 1.004 ms; in the
 * engine, together, twice the bytes. */
static void others_on_the_link_are_not_seen(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, perm);
    struct op other = coll_op(1, COLL_ALLREDUCE, 10e6, "ring");
    job->n_iterations = 1;
    other.stream = 0;
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, 10e6, "ring"), perm);
    program_add_op(&job->programs[0], other, perm);
    const struct plan *plan = plan_build(inputs_of(job, &one_switch, perm), perm);
    assert_close(estimate_run(plan, perm)->end_s, 1.004 * MS, 1e-9);
    assert_close(engine_run(plan, &scale_none, perm)->end_s, 2.004 * MS, 1e-9);
}

/* But its own flows are: an all-to-all of 8 ranks over two leaves of four with two ways up each. The
 * 16 flows that go up share 2 links: 16 x 1 MB / 8 / 20 GB/s = 0.1 ms; the closed form knows of NICs
 * only: 7 x 1 MB / 8 / 10 GB/s = 0.0875 ms. */
static void its_own_flows_on_a_link_are_seen(void **state)
{
    struct arena *perm = *state;
    struct op op = coll_op(0, COLL_ALLTOALL, 1e6, "direct");
    struct inputs *in = alone(&ideal_node, &halved_tree2, 8, op, perm);
    assert_close(estimate_run(plan_build(in, perm), perm)->end_s, 0.1 * MS + 2 * US, 1e-9);
    in = alone(&ideal_node, &ideal_tree2, 8, op, perm);
    assert_close(estimate_run(plan_build(in, perm), perm)->end_s, 0.0875 * MS + 2 * US, 1e-9);
}

static struct three times_of(const struct coll_algo *algo, int repeats, struct arena scratch)
{
    int n_ranks = algo->kind == COLL_SENDRECV ? 2 : 8;
    struct op op = coll_op(0, algo->kind, 3e6, algo->name);
    op.repeats = repeats;
    return run_three(alone(&ideal_node, &one_switch, n_ranks, op, &scratch), scratch);
}

/* Latencies and bytes are all that takes time on an idle network: five times each, five times the
 * time, whatever the algorithm and however fine the model. */
static void a_repeated_collective_takes_as_many_times_as_long(void **state)
{
    for (int a = 0; a < n_coll_algos; a++) {
        if (coll_algos[a].servers) continue;
        struct three one = times_of(&coll_algos[a], 0, *(struct arena *)*state);
        struct three five = times_of(&coll_algos[a], 4, *(struct arena *)*state);
        assert_close(five.estimate_s, 5 * one.estimate_s, 1e-9);
        assert_close(five.fluid_s, 5 * one.fluid_s, 1e-9);
        assert_close(five.message_s, 5 * one.message_s, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_contention_it_is_the_engine_op_by_op),
        cmocka_unit_test(a_period_is_that_of_the_whole_run),
        cmocka_unit_test(a_scaled_period_is_that_of_the_scaled_engine),
        cmocka_unit_test(timed_again_a_plan_takes_what_it_takes_anew),
        cmocka_unit_test(
            collectives_that_happen_to_take_equally_long_are_told_apart_when_timed_again),
        cmocka_unit_test(others_on_the_link_are_not_seen),
        cmocka_unit_test(its_own_flows_on_a_link_are_seen),
        cmocka_unit_test(a_repeated_collective_takes_as_many_times_as_long),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
