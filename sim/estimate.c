#include "estimate.h"

#include "base/must.h"

#include <math.h>

/* Evaluated in the order of the data: an op's times are known once those of its stream's last op and of its
 * dependencies are. Round after round over all streams until nothing new can be known. */
struct walk {
    const struct plan *plan;
    const struct job *job;
    struct run *run;
    struct arena *perm;
    int *class_stream, *class_op;
    double *stream_free_s; /* [streams] end of its last evaluated op */
    int32_t *iteration;    /* [streams] of its next op */
    int32_t *next;         /* [streams] number of its next op; n_ops = it has none */
    double *end_s;         /* [(class op) * n_iterations + iteration] */
    int32_t *done;         /* [class op] iterations evaluated */
    struct rendezvous {    /* [class op] a member that has come to a collective and waits */
        bool waiting;
        double start_s;
    } * waits;
};

static int next_op_of_stream(const struct program *program, int stream, int from)
{
    int op = from;
    while (op < program->n_ops && program->ops[op].stream != stream) op++;
    return op;
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
    walk.stream_free_s = arena_new(perm, double, n_streams);
    walk.iteration = arena_new(perm, int32_t, n_streams);
    walk.next = arena_new(perm, int32_t, n_streams);
    walk.end_s = arena_new(perm, double, (int64_t)n_ops *walk.job->n_iterations);
    walk.done = arena_new(perm, int32_t, n_ops);
    walk.waits = arena_new(perm, struct rendezvous, n_ops);
    for (int c = 0; c < plan->n_classes; c++) {
        for (int s = walk.class_stream[c]; s < walk.class_stream[c + 1]; s++) {
            walk.next[s] = next_op_of_stream(plan_program(plan, c), s - walk.class_stream[c], 0);
        }
    }
    return walk;
}

/* When all dependencies are done, or HUGE_VAL while one is not yet known. */
static double ready_s(const struct walk *walk, int c, const struct op *op, int iteration)
{
    const struct program *program = plan_program(walk->plan, c);
    double ready = 0.0;
    for (int d = op->first_dep; d < op->first_dep + op->n_deps; d++) {
        int before = iteration - program->deps[d].distance;
        if (before < 0) continue;
        int at = walk->class_op[c] + program->deps[d].op;
        if (walk->done[at] <= before) return HUGE_VAL;
        ready = fmax(ready, walk->end_s[(int64_t)at * walk->job->n_iterations + before]);
    }
    return ready;
}

static void settle(struct walk *walk, int c, int op, double start_s, double begin_s, double end_s)
{
    const struct program *program = plan_program(walk->plan, c);
    int stream = walk->class_stream[c] + program->ops[op].stream;
    int at = walk->class_op[c] + op;
    int iteration = walk->iteration[stream];
    run_add_span(walk->run,
                 (struct span){.rank_class = c,
                               .op = op,
                               .iteration = iteration,
                               .start_s = start_s,
                               .begin_s = begin_s,
                               .end_s = end_s},
                 walk->perm);
    walk->end_s[(int64_t)at * walk->job->n_iterations + iteration] = end_s;
    walk->done[at]++;
    walk->stream_free_s[stream] = end_s;
    walk->next[stream] = next_op_of_stream(program, program->ops[op].stream, op + 1);
    if (walk->next[stream] == program->n_ops) {
        walk->next[stream] = next_op_of_stream(program, program->ops[op].stream, 0);
        walk->iteration[stream]++;
    }
}

/* The op by which class c takes part in the index-th collective of a communicator, -1 if none. */
static int comm_op(const struct program *program, int comm, int index)
{
    for (int o = 0; o < program->n_ops; o++) {
        if (program->ops[o].kind != OP_COLLECTIVE || program->ops[o].comm != comm) continue;
        if (index-- == 0) return o;
    }
    return -1;
}

static int comm_index(const struct program *program, int op)
{
    int index = 0;
    for (int o = 0; o < op; o++) {
        index +=
            program->ops[o].kind == OP_COLLECTIVE && program->ops[o].comm == program->ops[op].comm;
    }
    return index;
}

/* If every member of the group waits, the collective has a time: all of them are settled. */
static bool try_collective(struct walk *walk, int c, int op)
{
    const struct plan *plan = walk->plan;
    int comm = plan_program(walk->plan, c)->ops[op].comm;
    int index = comm_index(plan_program(walk->plan, c), op);
    const struct plan_group *group = &plan->groups[plan->classes[c].group[comm]];
    double begin_s = 0.0;
    for (int m = 0; m < group->n_classes; m++) {
        int other = comm_op(plan_program(walk->plan, group->classes[m]), comm, index);
        const struct rendezvous *wait = &walk->waits[walk->class_op[group->classes[m]] + other];
        if (!wait->waiting) return false;
        begin_s = fmax(begin_s, wait->start_s);
    }
    double end_s = begin_s + plan->colls[plan->classes[c].coll[op]].estimate_s;
    for (int m = 0; m < group->n_classes; m++) {
        int other = comm_op(plan_program(walk->plan, group->classes[m]), comm, index);
        struct rendezvous *wait = &walk->waits[walk->class_op[group->classes[m]] + other];
        wait->waiting = false;
        settle(walk, group->classes[m], other, wait->start_s, begin_s, end_s);
    }
    return true;
}

static bool try_stream(struct walk *walk, int c, int stream)
{
    const struct program *program = plan_program(walk->plan, c);
    int op = walk->next[stream];
    if (op == program->n_ops || walk->iteration[stream] >= walk->job->n_iterations) return false;
    if (walk->waits[walk->class_op[c] + op].waiting) return false;
    double ready = ready_s(walk, c, &program->ops[op], walk->iteration[stream]);
    if (isinf(ready)) return false;
    double start_s = fmax(ready, walk->stream_free_s[stream]);
    if (program->ops[op].kind == OP_COLLECTIVE) {
        walk->waits[walk->class_op[c] + op] = (struct rendezvous){true, start_s};
        try_collective(walk, c, op);
        return true;
    }
    double slowdown = program->ops[op].kind == OP_KERNEL ? walk->plan->classes[c].slowdown : 1.0;
    settle(walk, c, op, start_s, start_s, start_s + program->ops[op].work_s * slowdown);
    return true;
}

/* One round over all streams; false when nothing new could be known. */
static bool try_streams(struct walk *walk)
{
    bool moved = false;
    for (int c = 0; c < walk->plan->n_classes; c++) {
        for (int s = walk->class_stream[c]; s < walk->class_stream[c + 1]; s++) {
            while (try_stream(walk, c, s)) moved = true;
        }
    }
    return moved;
}

struct run *estimate_run(const struct plan *plan, struct arena *perm)
{
    struct walk walk = open_walk(plan, perm);
    while (try_streams(&walk)) {
    }
    int left = 0;
    for (int c = 0; c < plan->n_classes; c++) {
        for (int s = walk.class_stream[c]; s < walk.class_stream[c + 1]; s++) {
            const struct program *program = plan_program(plan, c);
            left += walk.next[s] < program->n_ops && walk.iteration[s] < walk.job->n_iterations;
        }
    }
    if (left > 0) walk.run->stuck = "ranks wait for each other (run --fidelity fluid names them)";
    struct arena scratch = *perm;
    run_finish(plan, walk.run, scratch);
    return walk.run;
}
