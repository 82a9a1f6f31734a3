/* Small programs whose times can be worked out by hand. One GPU a server, links without latency, 1 GB/s
 * at the NIC: an all-reduce of S bytes between two ranks takes S nanoseconds. */
#include "ideal.h"

#include "base/rng.h"

#define MS 1e-3

enum { COMPUTE, NETWORK };

static const struct node_spec slow_node = {.gpus_per_node = 1,
                                           .nics_per_node = 1,
                                           .sockets = 1,
                                           .gpus_per_pcie_switch = 1,
                                           .pcie_Bps = FAST,
                                           .socket_Bps = FAST,
                                           .nic_Bps = 1 * GB,
                                           .gpudirect = true,
                                           .p2p = true};

static struct job *job_of(int n_ranks, int n_iterations, struct arena *perm)
{
    struct job *job = new_job((struct mesh){1, {n_ranks}, {"dp"}}, 2, perm);
    for (int c = 0; c < 2; c++) job->comms[c] = (struct comm){.name = "dp", .from = -1, .to = -1};
    job->n_iterations = n_iterations;
    return job;
}

static struct inputs *inputs_of(struct job *job, struct arena *perm)
{
    struct topo *topo = build_topo(&slow_node, &one_switch, job->n_ranks, perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->library.rendezvous = true;
    return in;
}

static struct op work(enum op_kind kind, int stream, double work_s)
{
    return (struct op){
        .kind = kind, .part = PART_FORWARD, .stream = stream, .name = "work", .work_s = work_s};
}

static int add(struct job *job, struct op op, struct arena *perm)
{
    return program_add_op(&job->programs[0], op, perm);
}

static int add_after(struct job *job, struct op op, int on, int distance, struct arena *perm)
{
    int at = add(job, op, perm);
    program_add_dep(&job->programs[0], at, on, distance, perm);
    return at;
}

static struct run *play(const struct inputs *in, struct arena *perm)
{
    return engine_run(plan_build(in, perm), &scale_none, perm);
}

static struct run *play_job(struct job *job, struct arena *perm)
{
    return play(inputs_of(job, perm), perm);
}

/* the span of an op in an iteration, of a class */
static const struct span *span_of(const struct run *run, int rank_class, int op, int iteration)
{
    const struct span *span = run->spans;
    const struct span *end = run->spans + run->n_spans;
    while (span < end &&
           (span->rank_class != rank_class || span->op != op || span->iteration != iteration)) {
        span++;
    }
    must(span < end);
    return span;
}

/* ---- streams and dependencies ---- */

/* 1 ms, then 2 ms, three times: 0-1, 1-3 | 3-4, 4-6 | 6-7, 7-9. */
static void ops_of_a_stream_run_one_after_the_other(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(1, 3, perm);
    add(job, work(OP_KERNEL, COMPUTE, 1 * MS), perm);
    add(job, work(OP_HOST, COMPUTE, 2 * MS), perm);
    const struct run *run = play_job(job, perm);
    assert_null(run->stuck);
    assert_close(span_of(run, 0, 1, 1)->start_s, 4 * MS, 1e-12);
    assert_close(span_of(run, 0, 1, 1)->end_s, 6 * MS, 1e-12);
    assert_close(run->end_s, 9 * MS, 1e-12);
    assert_close(run->iteration_s, 3 * MS, 1e-12);
    assert_int_equal(run->n_spans, 6);
}

/* a takes 1 ms, b 3 ms on another stream, b_k after a_k and a_k after b_(k - distance):
 * distance 1: one after the other, 4 ms a turn; distance 2: two turns overlap, and b is always busy:
 * a 0-1 and 1-2, b 1-4, 4-7, 7-10 ...: 4 ms for the first, 3 ms for each later turn. */
static void dependencies_reach_back_by_iterations(void **state)
{
    const double period_s[] = {0, 4 * MS, 3 * MS};
    for (int distance = 1; distance <= 2; distance++) {
        struct arena *perm = *state;
        struct job *job = job_of(1, 6, perm);
        add(job, work(OP_KERNEL, 0, 1 * MS), perm);
        add_after(job, work(OP_KERNEL, 1, 3 * MS), 0, 0, perm);
        program_add_dep(&job->programs[0], 1, 1, 1, perm); /* itself, which changes nothing */
        struct program *program = &job->programs[0];
        program->ops[0].first_dep = program->n_deps;
        program->ops[0].n_deps = 1;
        program->deps = arena_grow(perm, struct dep, program->deps, program->n_deps, 8);
        program->deps[program->n_deps++] = (struct dep){1, distance};
        const struct run *run = play_job(job, perm);
        assert_null(run->stuck);
        assert_close(run->iteration_s, period_s[distance], 1e-12);
        assert_close(span_of(run, 0, 1, 0)->end_s, 4 * MS, 1e-12);
        assert_close(run->end_s, 4 * MS + 5 * period_s[distance], 1e-12);
        assert_close(estimate_run(plan_build(inputs_of(job, perm), perm), perm)->iteration_s,
                     period_s[distance], 1e-12);
    }
}

static void ops_may_take_no_time(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 4, perm);
    add(job, work(OP_HOST, COMPUTE, 0), perm);
    add(job, work(OP_KERNEL, COMPUTE, 0), perm);
    add_after(job, work(OP_KERNEL, NETWORK, 0), 1, 0, perm);
    const struct run *run = play_job(job, perm);
    assert_null(run->stuck);
    assert_int_equal(run->n_spans, 12);
    assert_close(run->end_s, 0, 1e-15);
    assert_close(run->iteration_s, 0, 1e-15);
}

/* ---- collectives ---- */

/* Rank 1 computes 3 ms instead of 1: both all-reduces (2 MB, 2 ms) begin at 3 and end at 5. */
static void a_collective_waits_for_its_last_member(void **state)
{
    static const struct slow_gpu slow = {1, 3};
    struct arena *perm = *state;
    struct job *job = job_of(2, 2, perm);
    int kernel = add(job, work(OP_KERNEL, COMPUTE, 1 * MS), perm);
    int reduce = add_after(job, coll_op(0, COLL_ALLREDUCE, 2e6, "ring"), kernel, 0, perm);
    struct inputs *in = inputs_of(job, perm);
    in->slow = &slow;
    in->n_slow = 1;
    const struct run *run = play(in, perm);
    for (int c = 0; c < 2; c++) {
        const struct span *span = span_of(run, c, reduce, 0);
        assert_close(span->start_s, (c == 0 ? 1 : 3) * MS, 1e-12);
        assert_close(span->begin_s, 3 * MS, 1e-12);
        assert_close(span->end_s, 5 * MS, 1e-9);
    }
}

/* 2 ms of compute, its gradients (3 ms) under 2 ms more, then 1 ms that waits for both:
 * 0-2, 2-4 over 2-5, 5-6. */
static void communication_runs_under_compute(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 2, perm);
    int first = add(job, work(OP_KERNEL, COMPUTE, 2 * MS), perm);
    int reduce = add_after(job, coll_op(0, COLL_ALLREDUCE, 3e6, "ring"), first, 0, perm);
    add(job, work(OP_KERNEL, COMPUTE, 2 * MS), perm);
    add_after(job, work(OP_KERNEL, COMPUTE, 1 * MS), reduce, 0, perm);
    assert_close(play_job(job, perm)->iteration_s, 6 * MS, 1e-9);
}

/* Two rings on two streams halve each other's rate: 2 MB and 1 MB together end at 3 and 2 ms. */
static void collectives_of_two_streams_share_the_link(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 1, perm);
    struct op other = coll_op(1, COLL_ALLREDUCE, 1e6, "ring");
    other.stream = COMPUTE;
    add(job, coll_op(0, COLL_ALLREDUCE, 2e6, "ring"), perm);
    add(job, other, perm);
    struct inputs *in = inputs_of(job, perm);
    const struct run *run = play(in, perm);
    assert_close(span_of(run, 0, 0, 0)->end_s, 3 * MS, 1e-9);
    assert_close(span_of(run, 0, 1, 0)->end_s, 2 * MS, 1e-9);
    in->fold = false;
    run = engine_message(plan_build(in, perm), perm);
    assert_close(span_of(run, 0, 0, 0)->end_s, 3 * MS, 1e-9);
    assert_close(span_of(run, 1, 1, 0)->end_s, 2 * MS, 1e-9);
}

/* Three all-reduces in a row, nothing between them, four ranks: 3 x 1.5 ms a turn. */
static void a_collective_may_repeat_at_once(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(4, 3, perm);
    for (int i = 0; i < 3; i++) add(job, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct inputs *in = inputs_of(job, perm);
    assert_close(play(in, perm)->iteration_s, 4.5 * MS, 1e-9);
    in->fold = false;
    assert_close(play(in, perm)->iteration_s, 4.5 * MS, 1e-9);
    assert_close(engine_message(plan_build(in, perm), perm)->iteration_s, 4.5 * MS, 1e-9);
}

/* In all fidelities, and so many that calls within calls would show. */
static void groups_of_one_move_nothing(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(1, 2, perm);
    for (int i = 0; i < 20000; i++) add(job, coll_op(0, COLL_ALLREDUCE, 1e6, NULL), perm);
    add(job, work(OP_KERNEL, NETWORK, 1 * MS), perm);
    struct inputs *in = inputs_of(job, perm);
    in->library.launch_s = 1; /* nothing is launched */
    in->fold = false;
    const struct plan *plan = plan_build(in, perm);
    assert_close(engine_run(plan, &scale_none, perm)->iteration_s, 1 * MS, 1e-12);
    assert_close(engine_message(plan, perm)->iteration_s, 1 * MS, 1e-12);
}

/* Launch and base latency come once, before all else. */
static void launch_comes_before_the_first_byte(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 1, perm);
    add(job, coll_op(0, COLL_ALLREDUCE, 1e6, "ring"), perm);
    struct inputs *in = inputs_of(job, perm);
    in->library.launch_s = 0.25 * MS;
    for (int c = 0; c < in->library.n_choices; c++) {
        in->library.choices[c].base_latency_s = 0.5 * MS;
    }
    struct three times = run_three(in, *perm);
    assert_close(times.fluid_s, 1.75 * MS, 1e-9);
    assert_close(times.message_s, 1.75 * MS, 1e-9);
    assert_close(times.estimate_s, 1.75 * MS, 1e-9);
}

/* Chain broadcast of 0 > 1 > 2; rank 2 comes late, at 10 ms, when all has long arrived: then it is
 * over. */
static void who_only_listens_may_come_last(void **state)
{
    static const struct slow_gpu slow = {2, 10};
    struct arena *perm = *state;
    struct job *job = job_of(3, 1, perm);
    int kernel = add(job, work(OP_KERNEL, COMPUTE, 1 * MS), perm);
    add_after(job, coll_op(0, COLL_BROADCAST, 1e6, "ring"), kernel, 0, perm);
    struct inputs *in = inputs_of(job, perm);
    in->slow = &slow;
    in->n_slow = 1;
    in->fold = false;
    const struct run *run = engine_message(plan_build(in, perm), perm);
    assert_null(run->stuck);
    assert_close(run->end_s, 10 * MS, 1e-9);
}

/* ---- DDP: iteration = forward + max over buckets k of (ready_k + times of k, k + 1, ...) + step ---- */

static void ddp_ends_with_its_worst_bucket(void **state)
{
    struct rng *rng = rng_open(7, "ddp", *state);
    for (int turn = 0; turn < 30; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct job *job = job_of(2, 3, &scratch);
        int n = 1 + turn % 8;
        double ready_s[8], bucket_s[8], at_s = 0;
        int last = add(job, work(OP_KERNEL, COMPUTE, 1 * MS), &scratch); /* forward */
        for (int k = 0; k < n; k++) {
            double back_s = 0.1 * MS + 3 * MS * rng_uniform(rng);
            bucket_s[k] = 0.1 * MS + 4 * MS * rng_uniform(rng);
            ready_s[k] = at_s += back_s;
            int back = add(job, work(OP_KERNEL, COMPUTE, back_s), &scratch);
            struct op op = coll_op(0, COLL_ALLREDUCE, bucket_s[k] * GB, "ring");
            last = add_after(job, op, back, 0, &scratch);
        }
        add_after(job, work(OP_KERNEL, COMPUTE, 0.5 * MS), last, 0, &scratch);
        double worst_s = 0;
        for (int k = 0; k < n; k++) {
            double end_s = ready_s[k];
            for (int j = k; j < n; j++) end_s += bucket_s[j];
            worst_s = fmax(worst_s, end_s);
        }
        const struct run *run = play_job(job, &scratch);
        assert_close(run->iteration_s, 1.5 * MS + worst_s, 1e-9);
    }
}

/* ---- pipelines: bubble = (p - 1) / m of the work ---- */

enum { FORTH_IN = 1, FORTH_OUT, BACK_IN, BACK_OUT, N_PIPE_STREAMS };

struct pipe {
    int n_stages, n_micro, stage;
    int forth_in[16], back_in[16]; /* ops that bring a micro-batch */
    struct job *job;
    struct arena *perm;
};

static struct op message_op(int comm, int stream)
{
    struct op op = coll_op(comm, COLL_SENDRECV, 1e-3, NULL);
    op.stream = stream;
    return op;
}

/* Boundaries s to s + 1 forth are communicators 0 .. p - 2, back p - 1 .. 2 p - 3. What a stage
 * receives is listed first: it waits for nothing but its turn. */
static void receive(struct pipe *pipe)
{
    struct program *program = &pipe->job->programs[pipe->stage];
    int p = pipe->n_stages, s = pipe->stage;
    for (int m = 0; m < pipe->n_micro; m++) {
        if (s > 0) {
            pipe->forth_in[m] = program_add_op(program, message_op(s - 1, FORTH_IN), pipe->perm);
        }
        if (s < p - 1) {
            pipe->back_in[m] = program_add_op(program, message_op(p - 1 + s, BACK_IN), pipe->perm);
        }
    }
}

static void compute(struct pipe *pipe, int m, bool forth)
{
    struct program *program = &pipe->job->programs[pipe->stage];
    int p = pipe->n_stages, s = pipe->stage;
    int kernel = program_add_op(program, work(OP_KERNEL, 0, (forth ? 1 : 2) * MS), pipe->perm);
    if (forth ? s > 0 : s < p - 1) {
        int on = forth ? pipe->forth_in[m] : pipe->back_in[m];
        program_add_dep(program, kernel, on, 0, pipe->perm);
    }
    if (forth ? s == p - 1 : s == 0) return;
    struct op out = forth ? message_op(s, FORTH_OUT) : message_op(p - 1 + s - 1, BACK_OUT);
    program_add_dep(program, program_add_op(program, out, pipe->perm), kernel, 0, pipe->perm);
}

/* GPipe: all forth, all back. 1F1B: p - 1 - s forth, then one forth one back, then the rest back. */
static void schedule(struct pipe *pipe, bool one_by_one)
{
    int m = pipe->n_micro;
    int ahead = one_by_one ? pipe->n_stages - 1 - pipe->stage : m;
    if (ahead > m) ahead = m;
    for (int i = 0; i < ahead; i++) compute(pipe, i, true);
    for (int i = 0; i < m; i++) {
        if (ahead + i < m) compute(pipe, ahead + i, true);
        compute(pipe, i, false);
    }
}

static struct job *pipe_job(int n_stages, int n_micro, bool one_by_one, struct arena *perm)
{
    struct job *job = new_job((struct mesh){1, {n_stages}, {"pp"}}, 2 * n_stages, perm);
    job->role_axis = 0;
    job->n_programs = n_stages;
    job->programs = arena_new(perm, struct program, n_stages);
    job->n_comms = 2 * (n_stages - 1);
    for (int s = 0; s < n_stages - 1; s++) {
        job->comms[s] = (struct comm){.name = "forth", .from = s, .to = s + 1};
        job->comms[n_stages - 1 + s] = (struct comm){.name = "back", .from = s + 1, .to = s};
    }
    for (int s = 0; s < n_stages; s++) {
        struct pipe pipe = {.n_stages = n_stages, .n_micro = n_micro, .stage = s};
        pipe.job = job;
        pipe.perm = perm;
        job->programs[s].n_streams = N_PIPE_STREAMS;
        receive(&pipe);
        schedule(&pipe, one_by_one);
    }
    job_check(job, *perm);
    return job;
}

/* 1 ms forth and 2 ms back a micro-batch and stage; messages take no time: m (1 + (p - 1) / m) 3 ms.
 * Source: Narayanan et al., Efficient large-scale language model training, SC 2021, sec. 2.2.1. */
static void pipelines_have_the_bubble_of_the_books(void **state)
{
    for (int p = 2; p <= 4; p++) {
        for (int m = p; m <= 12; m += 4) {
            for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
                struct arena scratch = *(struct arena *)*state;
                struct job *job = pipe_job(p, m, one_by_one, &scratch);
                struct inputs *in = inputs_of(job, &scratch);
                const struct run *run = play(in, &scratch);
                assert_null(run->stuck);
                double want_s = m * 3 * MS * (1 + (p - 1.0) / m);
                assert_close(run->iteration_s, want_s, 1e-9);
                assert_close(estimate_run(plan_build(in, &scratch), &scratch)->iteration_s, want_s,
                             1e-9);
                in->fold = false;
                run = engine_message(plan_build(in, &scratch), &scratch);
                assert_close(run->iteration_s, want_s, 1e-9);
            }
        }
    }
}

/* ---- jobs that cannot finish ---- */

/* Rank 0 goes to a first, rank 1 to b: each waits for the other for ever. */
static void a_job_that_cannot_finish_says_who_waits(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 1, perm);
    job->role_axis = 0;
    job->n_programs = 2;
    for (int p = 0; p < 2; p++) {
        struct op first = coll_op(p, COLL_ALLREDUCE, 1e6, "ring");
        struct op second = coll_op(1 - p, COLL_ALLREDUCE, 1e6, "ring");
        first.name = p == 0 ? "a" : "b";
        second.name = p == 0 ? "b" : "a";
        program_add_op(&job->programs[p], first, perm);
        program_add_op(&job->programs[p], second, perm);
    }
    struct inputs *in = inputs_of(job, perm);
    const char *want = "rank 0 waits in \"a\" of iteration 0 for the other members of its group; "
                       "rank 1 waits in \"b\" of iteration 0 for the other members of its group";
    const struct run *run = play(in, perm);
    assert_string_equal(run->stuck, want);
    assert_true(isinf(run->iteration_s));
    in->fold = false;
    assert_string_equal(engine_message(plan_build(in, perm), perm)->stuck, want);
    assert_non_null(estimate_run(plan_build(in, perm), perm)->stuck);
}

/* ---- memory ---- */

/* 100 held; a takes 10 from 0 to 1 ms and gives 4 back, b takes 7 from 1 to 2 ms, after a's have been
 * given back: 100 + 10 - 4 + 7 = 113. b gives 13 back, so each turn begins with 100. */
static void memory_peaks_where_most_is_held(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 3, perm);
    struct op a = work(OP_KERNEL, COMPUTE, 1 * MS);
    struct op b = work(OP_KERNEL, COMPUTE, 1 * MS);
    a.alloc_B = 10;
    a.free_B = 4;
    b.alloc_B = 7;
    b.free_B = 13;
    add(job, a, perm);
    add(job, b, perm);
    job->programs[0].static_B = 100;
    assert_close(play_job(job, perm)->peak_memory_B, 113, 1e-12);
}

/* ---- contention for GPU memory ---- */

/* Memory of 10 GB/s; a kernel of 10 ms that moves 9 GB/s; a ring between two ranks that sends 1 GB/s and
 * takes 2 bytes of memory per byte sent, for 5 ms. Filling: the ring is held by its NIC at 1 GB/s (2 of
 * memory), the kernel gets the other 8 GB/s, 8/9 of its speed: in 5 ms it does 40/9 ms of its work, and
 * ends at 10 + 5/9 ms. */
static void flows_slow_kernels_that_need_the_memory(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 1, perm);
    struct op kernel = work(OP_KERNEL, COMPUTE, 10 * MS);
    kernel.hbm_B = 9 * GB * 10 * MS;
    add(job, kernel, perm);
    add(job, coll_op(0, COLL_ALLREDUCE, 5e6, "ring"), perm);
    struct inputs *in = inputs_of(job, perm);
    in->hbm_per_comm_B = 2;
    in->gpu.hbm_Bps = 10 * GB;
    in->gpu.hbm_frac = 1;
    const struct run *run = play(in, perm);
    assert_close(span_of(run, 0, 0, 0)->end_s, (10 + 5.0 / 9) * MS, 1e-9);
    assert_close(span_of(run, 0, 1, 0)->end_s, 5 * MS, 1e-9);
    in->fold = false;
    run = engine_message(plan_build(in, perm), perm);
    assert_close(span_of(run, 1, 0, 0)->end_s, (10 + 5.0 / 9) * MS, 1e-9);
    in->hbm_per_comm_B = 0;
    run = play(in, perm);
    assert_close(span_of(run, 0, 0, 0)->end_s, 10 * MS, 1e-12);
}

/* A kernel that is said to move 40 GB/s on a memory of 10 (its time was measured, its traffic was not)
 * takes its own time when nothing else runs, and shares the memory evenly with what wants all of it. */
static void a_lone_kernel_is_never_slowed_by_its_own_traffic(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 1, perm);
    struct op kernel = work(OP_KERNEL, COMPUTE, 10 * MS);
    kernel.hbm_B = 40 * GB * 10 * MS;
    add(job, kernel, perm);
    struct inputs *in = inputs_of(job, perm);
    in->hbm_per_comm_B = 2;
    in->gpu.hbm_Bps = 10 * GB;
    in->gpu.hbm_frac = 1;
    assert_close(span_of(play(in, perm), 0, 0, 0)->end_s, 10 * MS, 1e-12);
}

/* ---- what-ifs ---- */

/* 1 ms host, then 2 ms kernel, then 4 ms of ring with 1 ms of launch. */
static void scales_act_on_their_own_part_alone(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 1, perm);
    add(job, work(OP_HOST, COMPUTE, 1 * MS), perm);
    int kernel = add(job, work(OP_KERNEL, COMPUTE, 2 * MS), perm);
    add_after(job, coll_op(0, COLL_ALLREDUCE, 4e6, "ring"), kernel, 0, perm);
    struct inputs *in = inputs_of(job, perm);
    in->library.launch_s = 1 * MS;
    const struct plan *plan = plan_build(in, perm);
    struct scale host = scale_none, gpu = scale_none, latency = scale_none, nic = scale_none,
                 pcie = scale_none;
    host.host = 3;
    gpu.kernel = 0.5;
    latency.latency = 2;
    nic.tier[TIER_NIC] = 4;
    pcie.tier[TIER_PCIE] = 4;
    assert_close(engine_run(plan, &scale_none, perm)->end_s, 8 * MS, 1e-9);
    assert_close(engine_run(plan, &host, perm)->end_s, 10 * MS, 1e-9);
    assert_close(engine_run(plan, &gpu, perm)->end_s, 7 * MS, 1e-9);
    assert_close(engine_run(plan, &latency, perm)->end_s, 9 * MS, 1e-9);
    assert_close(engine_run(plan, &nic, perm)->end_s, 5 * MS, 1e-9);
    assert_close(engine_run(plan, &pcie, perm)->end_s, 8 * MS, 1e-9);
}

/* The link of the NIC is busy for the whole ring, and it is what holds the ring back. */
static void busy_times_and_bottlenecks_are_of_the_last_iteration(void **state)
{
    struct arena *perm = *state;
    struct job *job = job_of(2, 3, perm);
    add(job, coll_op(0, COLL_ALLREDUCE, 4e6, "ring"), perm);
    struct inputs *in = inputs_of(job, perm);
    in->fold = false;
    const struct plan *plan = plan_build(in, perm);
    const struct run *runs[] = {engine_run(plan, &scale_none, perm), engine_message(plan, perm)};
    for (int r = 0; r < plan->n_link_classes; r++) {
        bool nic = in->topo->links[plan->rep_link[r]].tier == TIER_NIC;
        double busy_s = nic ? 4 * MS : 4e6 / FAST;
        assert_close(runs[0]->busy_s[r], busy_s, 1e-9);
        assert_close(runs[1]->busy_s[r], busy_s, 1e-9);
        if (!nic) assert_close(runs[0]->bottleneck_s[r], 0, 1e-15);
    }
    double held_s = 0;
    for (int r = 0; r < plan->n_link_classes; r++) held_s += runs[0]->bottleneck_s[r];
    assert_close(held_s, 4 * MS, 1e-9);
}

/* Two servers to each of four machines: the flows to both go the same ways, so the bundle of one runs
 * for both. Run one by one they take as long, to the rounding of sums. */
static void alike_bundles_run_as_one(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct topo *topo = build_topo(&single_node, &one_switch, 4, &perm);
    struct job *job = lone_job(4, coll_op(0, COLL_ALLREDUCE, 1e8, "parameter-server"), &perm);
    job->comms[0].n_servers = 8;
    struct inputs *in = build_inputs(topo, job, &perm);
    struct plan *plan = plan_build(in, &perm);
    const struct plan_phase *phase = &plan->phases[0];
    struct plan_bundle *bundles = &plan->bundles[phase->first_bundle];
    assert_int_equal(phase->n_bundles, 8);
    int n_run = 0;
    int n_alike = 0;
    for (int b = 0; b < 8; b++) {
        n_run += bundles[b].n_alike > 0;
        n_alike += bundles[b].n_alike;
    }
    assert_int_equal(n_alike, 8);
    const struct run *together = engine_run(plan, &scale_none, &perm);
    for (int b = 0; b < 8; b++) bundles[b].n_alike = 1;
    const struct run *apart = engine_run(plan, &scale_none, &perm);
    assert_int_equal(n_run, 4);
    assert_true(together->n_events < apart->n_events);
    assert_close(together->end_s, apart->end_s, 1e-12);
    double held_s[2] = {0.0, 0.0}; /* which of two equal links holds a bundle back is left open */
    for (int r = 0; r < plan->n_resources; r++) {
        held_s[0] += together->bottleneck_s[r];
        held_s[1] += apart->bottleneck_s[r];
    }
    assert_close(held_s[0], held_s[1], 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_bundles_run_as_one),
        cmocka_unit_test(ops_of_a_stream_run_one_after_the_other),
        cmocka_unit_test(dependencies_reach_back_by_iterations),
        cmocka_unit_test(ops_may_take_no_time),
        cmocka_unit_test(a_collective_waits_for_its_last_member),
        cmocka_unit_test(communication_runs_under_compute),
        cmocka_unit_test(collectives_of_two_streams_share_the_link),
        cmocka_unit_test(a_collective_may_repeat_at_once),
        cmocka_unit_test(groups_of_one_move_nothing),
        cmocka_unit_test(launch_comes_before_the_first_byte),
        cmocka_unit_test(who_only_listens_may_come_last),
        cmocka_unit_test(ddp_ends_with_its_worst_bucket),
        cmocka_unit_test(pipelines_have_the_bubble_of_the_books),
        cmocka_unit_test(a_job_that_cannot_finish_says_who_waits),
        cmocka_unit_test(memory_peaks_where_most_is_held),
        cmocka_unit_test(flows_slow_kernels_that_need_the_memory),
        cmocka_unit_test(a_lone_kernel_is_never_slowed_by_its_own_traffic),
        cmocka_unit_test(scales_act_on_their_own_part_alone),
        cmocka_unit_test(busy_times_and_bottlenecks_are_of_the_last_iteration),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
