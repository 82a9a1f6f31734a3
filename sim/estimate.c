#include "estimate.h"

#include "base/must.h"

#include <math.h>

/* a moment, and of what the longest path to it consists */
struct moment {
    double s, path_s[N_PATHS];
};

static struct moment later(struct moment a, struct moment b)
{
    return b.s > a.s ? b : a;
}

static struct moment after(struct moment begin, double time_s, enum path path)
{
    begin.s += time_s;
    begin.path_s[path] += time_s;
    return begin;
}

/* what is asked of a program again and again, worked out once */
struct index {
    int32_t *next;     /* [op] the op behind it on its stream; the first again behind the last */
    int32_t *first_op; /* [stream] n_ops = it has none */
    int32_t *place;    /* [op] a collective's number among those of its communicator */
    int32_t **of_comm; /* [comm] the op of each number */
};

/* Evaluated in the order of the data: an op's times are known once those of its stream's last op and of its
 * dependencies are. Classes of which something new may be known stand in a queue. */
struct walk {
    const struct plan *plan;
    const struct job *job;
    struct run *run;
    struct arena *perm;
    struct index *indices; /* [program] */
    int *class_stream, *class_op;
    struct moment *stream_free; /* [streams] end of its last evaluated op */
    int32_t *iteration;         /* [streams] of its next op */
    int32_t *next;              /* [streams] number of its next op; n_ops = it has none */
    struct moment *end;         /* [(class op) * n_iterations + iteration] */
    struct moment *last;        /* [iteration] end of what ends last in it */
    int32_t *done;              /* [class op] iterations evaluated */
    struct rendezvous {         /* [class op] a member that has come to a collective and waits */
        bool waiting;
        struct moment start;
    } * waits;
    int32_t *queue; /* [n_classes] ring */
    bool *queued;   /* [n_classes] */
    int head, n_queued;
};

static void index_streams(const struct program *program, struct index *index, struct arena *perm)
{
    index->next = arena_new(perm, int32_t, program->n_ops);
    index->first_op = arena_new(perm, int32_t, program->n_streams);
    for (int s = 0; s < program->n_streams; s++) index->first_op[s] = program->n_ops;
    int32_t *behind = arena_new(perm, int32_t, program->n_streams);
    for (int o = program->n_ops - 1; o >= 0; o--) {
        int stream = program->ops[o].stream;
        bool last = index->first_op[stream] == program->n_ops;
        index->next[o] = last ? -1 : behind[stream];
        index->first_op[stream] = behind[stream] = o;
    }
    for (int o = 0; o < program->n_ops; o++) {
        if (index->next[o] < 0) index->next[o] = index->first_op[program->ops[o].stream];
    }
}

static void index_comms(const struct program *program, int n_comms, struct index *index,
                        struct arena *perm)
{
    int32_t *n = arena_new(perm, int32_t, n_comms);
    index->place = arena_new(perm, int32_t, program->n_ops);
    index->of_comm = arena_new(perm, int32_t *, n_comms);
    for (int o = 0; o < program->n_ops; o++) {
        if (program->ops[o].kind != OP_COLLECTIVE) continue;
        index->place[o] = n[program->ops[o].comm]++;
    }
    for (int c = 0; c < n_comms; c++) index->of_comm[c] = arena_new(perm, int32_t, n[c]);
    for (int o = 0; o < program->n_ops; o++) {
        if (program->ops[o].kind != OP_COLLECTIVE) continue;
        index->of_comm[program->ops[o].comm][index->place[o]] = o;
    }
}

static const struct index *index_of(const struct walk *walk, int c)
{
    return &walk->indices[walk->plan->classes[c].program];
}

/* wake — the class may have something to evaluate. */
static void wake(struct walk *walk, int c)
{
    if (walk->queued[c]) return;
    walk->queued[c] = true;
    walk->queue[(walk->head + walk->n_queued++) % walk->plan->n_classes] = c;
}

static void open_index(struct walk *walk, struct arena *perm)
{
    walk->indices = arena_new(perm, struct index, walk->job->n_programs);
    for (int p = 0; p < walk->job->n_programs; p++) {
        index_streams(&walk->job->programs[p], &walk->indices[p], perm);
        index_comms(&walk->job->programs[p], walk->job->n_comms, &walk->indices[p], perm);
    }
    walk->queue = arena_new(perm, int32_t, walk->plan->n_classes);
    walk->queued = arena_new(perm, bool, walk->plan->n_classes);
}

static struct walk open_walk(const struct plan *plan, struct arena *perm)
{
    struct walk walk = {.plan = plan, .job = plan->in->job, .perm = perm};
    walk.run = arena_new(perm, struct run, 1);
    walk.run->busy_s = arena_new(perm, double, plan->n_resources + 1);
    walk.run->bottleneck_s = arena_new(perm, double, plan->n_resources + 1);
    walk.class_stream = arena_new(perm, int, plan->n_classes + 1);
    walk.class_op = arena_new(perm, int, plan->n_classes + 1);
    for (int c = 0; c < plan->n_classes; c++) {
        const struct program *program = plan_program(plan, c);
        walk.class_stream[c + 1] = walk.class_stream[c] + program->n_streams;
        walk.class_op[c + 1] = walk.class_op[c] + program->n_ops;
    }
    int n_streams = walk.class_stream[plan->n_classes];
    int n_ops = walk.class_op[plan->n_classes];
    walk.stream_free = arena_new(perm, struct moment, n_streams);
    walk.iteration = arena_new(perm, int32_t, n_streams);
    walk.next = arena_new(perm, int32_t, n_streams);
    walk.end = arena_new(perm, struct moment, (int64_t)n_ops * walk.job->n_iterations);
    walk.last = arena_new(perm, struct moment, walk.job->n_iterations);
    walk.done = arena_new(perm, int32_t, n_ops);
    walk.waits = arena_new(perm, struct rendezvous, n_ops);
    open_index(&walk, perm);
    for (int c = 0; c < plan->n_classes; c++) {
        for (int s = walk.class_stream[c]; s < walk.class_stream[c + 1]; s++) {
            walk.next[s] = index_of(&walk, c)->first_op[s - walk.class_stream[c]];
        }
        wake(&walk, c);
    }
    return walk;
}

/* When all dependencies are done, or HUGE_VAL while one is not yet known. */
static struct moment ready_at(const struct walk *walk, int c, const struct op *op, int iteration)
{
    const struct program *program = plan_program(walk->plan, c);
    struct moment ready = {0};
    for (int d = op->first_dep; d < op->first_dep + op->n_deps; d++) {
        int before = iteration - program->deps[d].distance;
        if (before < 0) continue;
        int at = walk->class_op[c] + program->deps[d].op;
        if (walk->done[at] <= before) return (struct moment){.s = HUGE_VAL};
        ready = later(ready, walk->end[(int64_t)at * walk->job->n_iterations + before]);
    }
    return ready;
}

/* of an op: when its stream reached it, when work began, when it ended */
struct times {
    double start_s, begin_s;
    struct moment end;
};

static void settle(struct walk *walk, int c, int op, struct times times)
{
    const struct program *program = plan_program(walk->plan, c);
    int stream = walk->class_stream[c] + program->ops[op].stream;
    int at = walk->class_op[c] + op;
    int iteration = walk->iteration[stream];
    run_add_span(walk->run,
                 (struct span){.rank_class = c,
                               .op = op,
                               .iteration = iteration,
                               .start_s = times.start_s,
                               .begin_s = times.begin_s,
                               .end_s = times.end.s},
                 walk->perm);
    walk->end[(int64_t)at * walk->job->n_iterations + iteration] = times.end;
    walk->last[iteration] = later(walk->last[iteration], times.end);
    walk->done[at]++;
    walk->stream_free[stream] = times.end;
    walk->next[stream] = index_of(walk, c)->next[op];
    if (walk->next[stream] <= op) walk->iteration[stream]++;
    wake(walk, c);
}

/* The op by which class c takes part in the collective of that number of a communicator. */
static int comm_op(const struct walk *walk, int c, int comm, int number)
{
    return index_of(walk, c)->of_comm[comm][number];
}

/* If every member of the group waits, the collective has a time: all of them are settled. */
static bool try_collective(struct walk *walk, int c, int op)
{
    const struct plan *plan = walk->plan;
    int comm = plan_program(walk->plan, c)->ops[op].comm;
    int number = index_of(walk, c)->place[op];
    const struct plan_group *group = &plan->groups[plan->classes[c].group[comm]];
    struct moment begin = {0};
    for (int m = 0; m < group->n_classes; m++) {
        int other = comm_op(walk, group->classes[m], comm, number);
        const struct rendezvous *wait = &walk->waits[walk->class_op[group->classes[m]] + other];
        if (!wait->waiting) return false;
        begin = later(begin, wait->start);
    }
    double one_s = plan->colls[plan->classes[c].coll[op]].estimate_s;
    double times = op_times(&plan_program(plan, c)->ops[op]);
    struct moment end = after(begin, times * one_s, PATH_NETWORK);
    for (int m = 0; m < group->n_classes; m++) {
        int other = comm_op(walk, group->classes[m], comm, number);
        struct rendezvous *wait = &walk->waits[walk->class_op[group->classes[m]] + other];
        wait->waiting = false;
        settle(walk, group->classes[m], other, (struct times){wait->start.s, begin.s, end});
    }
    return true;
}

static bool try_stream(struct walk *walk, int c, int stream)
{
    const struct program *program = plan_program(walk->plan, c);
    int op = walk->next[stream];
    if (op == program->n_ops || walk->iteration[stream] >= walk->job->n_iterations) return false;
    if (walk->waits[walk->class_op[c] + op].waiting) return false;
    struct moment ready = ready_at(walk, c, &program->ops[op], walk->iteration[stream]);
    if (isinf(ready.s)) return false;
    struct moment start = later(ready, walk->stream_free[stream]);
    if (program->ops[op].kind == OP_COLLECTIVE) {
        walk->waits[walk->class_op[c] + op] = (struct rendezvous){true, start};
        try_collective(walk, c, op);
        return true;
    }
    bool kernel = program->ops[op].kind == OP_KERNEL;
    double slowdown = kernel ? walk->plan->classes[c].slowdown : 1.0;
    struct moment end =
        after(start, program->ops[op].work_s * slowdown, kernel ? PATH_KERNEL : PATH_HOST);
    settle(walk, c, op, (struct times){start.s, start.s, end});
    return true;
}

/* All that can be known of one class by now. What it settles for others wakes them; what one of its
 * streams settles may let another go on, which wakes itself. */
static void try_streams(struct walk *walk, int c)
{
    for (int s = walk->class_stream[c]; s < walk->class_stream[c + 1]; s++) {
        while (try_stream(walk, c, s)) {
        }
    }
}

struct run *estimate_run(const struct plan *plan, struct arena *perm)
{
    struct walk walk = open_walk(plan, perm);
    while (walk.n_queued > 0) {
        int c = walk.queue[walk.head];
        walk.head = (walk.head + 1) % plan->n_classes;
        walk.n_queued--;
        walk.queued[c] = false;
        try_streams(&walk, c);
    }
    int left = 0;
    for (int c = 0; c < plan->n_classes; c++) {
        for (int s = walk.class_stream[c]; s < walk.class_stream[c + 1]; s++) {
            const struct program *program = plan_program(plan, c);
            left += walk.next[s] < program->n_ops && walk.iteration[s] < walk.job->n_iterations;
        }
    }
    if (left > 0) walk.run->stuck = "ranks wait for each other (run --fidelity fluid names them)";
    int last = plan->in->job->n_iterations - 1;
    for (int path = 0; path < N_PATHS; path++) {
        double before_s = last > 0 ? walk.last[last - 1].path_s[path] : 0;
        walk.run->path_s[path] = walk.last[last].path_s[path] - before_s;
    }
    struct arena scratch = *perm;
    run_finish(plan, walk.run, scratch);
    return walk.run;
}
