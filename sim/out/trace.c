#include "out/trace.h"

#include "out/writer.h"

#include <math.h>

static const char *const part_names[N_PARTS] = {
    [PART_FORWARD] = "forward",
    [PART_BACKWARD] = "backward",
    [PART_OPTIMIZER] = "optimizer",
    [PART_LAUNCH] = "launch",
    [PART_COMMUNICATION] = "communication",
    [PART_INPUT] = "input",
};

static bool kept(const struct result *result, const struct span *span)
{
    return span->rank_class < TRACE_CLASSES &&
           span->iteration >= result->in->job->n_iterations - TRACE_ITERATIONS;
}

/* "M" events name processes and threads */
static void name_event(struct writer *writer, const char *what, int pid, int tid, const char *name)
{
    writer_flat_object(writer, NULL);
    writer_text(writer, "ph", "M");
    writer_text(writer, "name", what);
    writer_integer(writer, "pid", pid);
    if (tid >= 0) writer_integer(writer, "tid", tid);
    writer_flat_object(writer, "args");
    writer_text(writer, "name", name);
    writer_end(writer);
    writer_end(writer);
}

static void name_class(struct writer *writer, const struct plan *plan, int class)
{
    char name[128];
    const struct plan_class *ranks = &plan->classes[class];
    const struct program *program = plan_program(plan, class);
    snprintf(name, sizeof name, "rank %d, stands for %d rank%s", ranks->rep, ranks->n_ranks,
             ranks->n_ranks == 1 ? "" : "s");
    name_event(writer, "process_name", class, -1, name);
    for (int s = 0; s < program->n_streams; s++)
        name_event(writer, "thread_name", class, s, program->stream_names[s]);
}

/* microseconds, to the nanosecond: %.9g would lose digits late in a long run */
static void time_us(struct writer *writer, const char *key, double time_s)
{
    writer_fixed(writer, key, 1e6 * time_s, 3);
}

static void write_args(struct writer *writer, const struct plan *plan, const struct span *span)
{
    const struct op *op = span_op(plan, span);
    const int *colls = plan->classes[span->rank_class].coll;
    writer_flat_object(writer, "args");
    writer_integer(writer, "iteration", span->iteration);
    if (op->kind == OP_COLLECTIVE && colls && colls[span->op] >= 0) {
        const struct plan_coll *coll = &plan->colls[colls[span->op]];
        writer_text(writer, "collective", coll_kind_names[op->coll]);
        writer_number(writer, "bytes", op->size_B);
        writer_text(writer, "algorithm", coll->algo ? coll->algo->name : NULL);
        writer_text(writer, "protocol", coll->protocol);
        writer_integer(writer, "ranks", coll->req.n_ranks);
        writer_fixed(writer, "alone_us", 1e6 * coll->estimate_s, 3);
    }
    writer_end(writer);
}

static void begin_event(struct writer *writer, const struct op *op, int class, const char *category)
{
    writer_flat_object(writer, NULL);
    writer_text(writer, "ph", "X");
    writer_text(writer, "name", op->name ? op->name : part_names[op->part]);
    writer_text(writer, "cat", category);
    writer_integer(writer, "pid", class);
    writer_integer(writer, "tid", op->stream);
}

static void write_span(struct writer *writer, const struct plan *plan, const struct span *span,
                       double zero_s)
{
    const struct op *op = span_op(plan, span);
    bool waits = op->kind == OP_COLLECTIVE && span->begin_s > span->start_s;
    if (waits) {
        begin_event(writer, op, span->rank_class, "wait for the others");
        time_us(writer, "ts", span->start_s - zero_s);
        time_us(writer, "dur", span->begin_s - span->start_s);
        writer_end(writer);
    }
    double begin_s = waits ? span->begin_s : span->start_s;
    begin_event(writer, op, span->rank_class, part_names[op->part]);
    time_us(writer, "ts", begin_s - zero_s);
    time_us(writer, "dur", span->end_s - begin_s);
    write_args(writer, plan, span);
    writer_end(writer);
}

static double first_start_s(const struct result *result)
{
    double first_s = INFINITY;
    for (int64_t i = 0; i < result->run->n_spans; i++) {
        const struct span *span = &result->run->spans[i];
        if (kept(result, span)) first_s = fmin(first_s, span->start_s);
    }
    return first_s;
}

static void write_heading(struct writer *writer, const struct result *result)
{
    char note[128];
    int n_shown = result->plan->n_classes < TRACE_CLASSES ? result->plan->n_classes : TRACE_CLASSES;
    snprintf(note, sizeof note, "%d of %d classes of ranks, last %d of %d iterations", n_shown,
             result->plan->n_classes, TRACE_ITERATIONS, result->in->job->n_iterations);
    writer_text(writer, "displayTimeUnit", "ms");
    writer_flat_object(writer, "otherData");
    writer_text(writer, "scenario", result->in->scenario);
    writer_text(writer, "fidelity", fidelity_names[result->in->fidelity]);
    writer_text(writer, "shown", note);
    writer_end(writer);
}

void trace_write(FILE *out, const struct result *result)
{
    struct writer writer = {.out = out};
    const struct plan *plan = result->plan;
    writer_object(&writer, NULL);
    write_heading(&writer, result);
    writer_list(&writer, "traceEvents");
    for (int c = 0; c < plan->n_classes && c < TRACE_CLASSES; c++) name_class(&writer, plan, c);
    double zero_s = first_start_s(result);
    for (int64_t i = 0; i < result->run->n_spans; i++) {
        const struct span *span = &result->run->spans[i];
        if (kept(result, span)) write_span(&writer, plan, span, zero_s);
    }
    writer_end(&writer);
    writer_end(&writer);
}
