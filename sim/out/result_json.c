#include "out/result_json.h"

#include <math.h>
#include <stddef.h>

/* a result with what its columns take from elsewhere */
struct flat {
    struct result result;
    const char *scenario, *fidelity;
    char unit[64];
    const char *unit_text;
    int n_gpus, n_warnings_all;
};

enum column_type { COLUMN_NUMBER, COLUMN_COUNT, COLUMN_BIG, COLUMN_BOOL, COLUMN_TEXT };

struct column {
    const char *name;
    size_t offset; /* in struct flat */
    enum column_type type;
    bool only_csv; /* JSON holds it in a list or an object */
};

#define IN(type, member)  offsetof(struct flat, member), COLUMN_##type, false
#define CSV(type, member) offsetof(struct flat, member), COLUMN_##type, true

static const struct column columns[] = {
    {"scenario", IN(TEXT, scenario)},
    {"fidelity", IN(TEXT, fidelity)},
    {"n_gpus", IN(COUNT, n_gpus)},
    {"iteration_s", IN(NUMBER, result.iteration_s)},
    {"interval_low_s", CSV(NUMBER, result.interval_s[0])},
    {"interval_high_s", CSV(NUMBER, result.interval_s[1])},
    {"compute_s", IN(NUMBER, result.compute_s)},
    {"communication_s", IN(NUMBER, result.communication_s)},
    {"exposed_communication_s", IN(NUMBER, result.exposed_communication_s)},
    {"bubble_s", IN(NUMBER, result.bubble_s)},
    {"launch_s", IN(NUMBER, result.share_s[SHARE_LAUNCH])},
    {"input_s", IN(NUMBER, result.share_s[SHARE_INPUT])},
    {"straggler_s", IN(NUMBER, result.share_s[SHARE_STRAGGLER])},
    {"forward_s", IN(NUMBER, result.share_s[SHARE_FORWARD])},
    {"backward_s", IN(NUMBER, result.share_s[SHARE_BACKWARD])},
    {"optimizer_s", IN(NUMBER, result.share_s[SHARE_OPTIMIZER])},
    {"throughput", IN(NUMBER, result.throughput)},
    {"throughput_unit", IN(TEXT, unit_text)},
    {"scaling_efficiency", IN(NUMBER, result.scaling_efficiency)},
    {"one_gpu_s", IN(NUMBER, result.one_gpu_s)},
    {"bytes_sent_B", IN(NUMBER, result.bytes_sent_B)},
    {"memory_B", IN(NUMBER, result.memory_B)},
    {"fits", IN(BOOL, result.fits)},
    {"mfu", IN(NUMBER, result.mfu)},
    {"limit_kind", CSV(TEXT, result.limit_kind)},
    {"limit_name", CSV(TEXT, result.limit_name)},
    {"gain_if_doubled", CSV(NUMBER, result.gain_if_doubled)},
    {"n_classes", IN(COUNT, result.n_classes)},
    {"n_events", IN(BIG, result.n_events)},
    {"n_warnings", CSV(COUNT, n_warnings_all)},
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

void result_unit(const struct result *result, char *text, int size)
{
    const char *sample = result->in->job->sample;
    snprintf(text, (size_t)size, "%ss/s", sample ? sample : "sample");
}

static void flatten(const struct result *result, struct flat *flat)
{
    *flat = (struct flat){
        .result = *result,
        .scenario = result->in->scenario,
        .fidelity = fidelity_names[result->in->fidelity],
        .n_gpus = result->in->n_gpus,
        .n_warnings_all = result->n_warnings,
    };
    result_unit(result, flat->unit, sizeof flat->unit);
    flat->unit_text = flat->unit;
}

static void json_column(struct writer *writer, const struct column *column, const void *value)
{
    switch (column->type) {
    case COLUMN_NUMBER:
        writer_number(writer, column->name, *(const double *)value);
        break;
    case COLUMN_COUNT:
        writer_integer(writer, column->name, *(const int *)value);
        break;
    case COLUMN_BIG:
        writer_integer(writer, column->name, *(const int64_t *)value);
        break;
    case COLUMN_BOOL:
        writer_bool(writer, column->name, *(const bool *)value);
        break;
    case COLUMN_TEXT:
        writer_text(writer, column->name, *(const char *const *)value);
        break;
    }
}

/* what memory_B is the sum of */
static void json_memory(struct writer *writer, const struct result *result)
{
    writer_flat_object(writer, "memory_parts");
    writer_number(writer, "weights_B", result->held.weights_B);
    writer_number(writer, "gradients_B", result->held.gradients_B);
    writer_number(writer, "optimizer_B", result->held.optimizer_B);
    writer_number(writer, "activations_B", result->activations_B);
    writer_number(writer, "buffers_B", result->held.buffers_B);
    writer_end(writer);
}

static void json_groups(struct writer *writer, const struct result *result)
{
    writer_flat_list(writer, "interval_s");
    for (int side = 0; side < 2; side++) writer_number(writer, NULL, result->interval_s[side]);
    writer_end(writer);
    writer_flat_object(writer, "limit");
    writer_text(writer, "kind", result->limit_kind);
    writer_text(writer, "name", result->limit_name);
    writer_number(writer, "gain_if_doubled", result->gain_if_doubled);
    writer_end(writer);
    json_memory(writer, result);
    writer_list(writer, "gains");
    for (int i = 0; i < result->n_gains; i++) {
        writer_flat_object(writer, NULL);
        writer_text(writer, "kind", result->gains[i].kind);
        writer_number(writer, "gain_if_doubled", result->gains[i].frac);
        writer_end(writer);
    }
    writer_end(writer);
    writer_list(writer, "warnings");
    for (int i = 0; i < result->n_warnings; i++) writer_text(writer, NULL, result->warnings[i]);
    writer_end(writer);
}

/* In a list: each job beside the others, with what it takes alone. */
static void json_jobs(struct writer *writer, const struct result *result)
{
    writer_list(writer, "jobs");
    for (int i = 0; i < result->n_jobs; i++) {
        const struct job_result *job = &result->jobs[i];
        writer_flat_object(writer, NULL);
        writer_text(writer, "name", job->alone->in->scenario);
        writer_integer(writer, "n_gpus", job->alone->in->n_gpus);
        writer_number(writer, "iteration_s", job->together_s);
        writer_number(writer, "alone_s", job->alone_s);
        writer_number(writer, "slowdown", job->together_s / job->alone_s);
        writer_number(writer, "throughput",
                      job->alone->throughput * job->alone_s / job->together_s);
        writer_end(writer);
    }
    writer_end(writer);
}

static void json_of_jobs(struct writer *writer, const char *key, const struct result *result)
{
    writer_object(writer, key);
    writer_text(writer, "scenario", result->in->scenario);
    writer_text(writer, "fidelity", fidelity_names[result->in->fidelity]);
    writer_integer(writer, "n_gpus", result->in->n_gpus);
    json_jobs(writer, result);
    writer_text(writer, "busiest_link", result->limit_name);
    writer_integer(writer, "n_classes", result->n_classes);
    writer_integer(writer, "n_events", result->n_events);
    writer_list(writer, "warnings");
    for (int i = 0; i < result->n_warnings; i++) writer_text(writer, NULL, result->warnings[i]);
    writer_end(writer);
    writer_end(writer);
}

void result_json(struct writer *writer, const char *key, const struct result *result)
{
    if (result->n_jobs > 0) {
        json_of_jobs(writer, key, result);
        return;
    }
    struct flat flat;
    flatten(result, &flat);
    writer_object(writer, key);
    for (const struct column *c = columns; c < columns + N_COLUMNS; c++) {
        if (!c->only_csv) json_column(writer, c, (const char *)&flat + c->offset);
    }
    json_groups(writer, result);
    writer_end(writer);
}

static void csv_column(FILE *out, const struct column *column, const void *value)
{
    switch (column->type) {
    case COLUMN_NUMBER: {
        double number = *(const double *)value;
        if (isfinite(number)) fprintf(out, "%.9g", number);
        break;
    }
    case COLUMN_COUNT:
        fprintf(out, "%d", *(const int *)value);
        break;
    case COLUMN_BIG:
        fprintf(out, "%lld", (long long)*(const int64_t *)value);
        break;
    case COLUMN_BOOL:
        fputs(*(const bool *)value ? "yes" : "no", out);
        break;
    case COLUMN_TEXT: {
        const char *text = *(const char *const *)value;
        csv_text(out, text ? text : "");
        break;
    }
    }
}

void result_csv_header(FILE *out)
{
    for (int i = 0; i < N_COLUMNS; i++) fprintf(out, "%s%s", i > 0 ? "," : "", columns[i].name);
    fputc('\n', out);
}

static void csv_row(FILE *out, const struct result *result, const char *scenario)
{
    struct flat flat;
    flatten(result, &flat);
    flat.scenario = scenario;
    for (int i = 0; i < N_COLUMNS; i++) {
        if (i > 0) fputc(',', out);
        csv_column(out, &columns[i], (const char *)&flat + columns[i].offset);
    }
    fputc('\n', out);
}

void result_csv_row(FILE *out, const struct result *result, struct arena scratch)
{
    if (result->n_jobs == 0) {
        csv_row(out, result, result->in->scenario);
        return;
    }
    for (int i = 0; i < result->n_jobs; i++) {
        const struct job_result *job = &result->jobs[i];
        csv_row(out, job_result_together(job, &scratch),
                arena_text(&scratch, "%s: %s", result->in->scenario, job->alone->in->scenario));
    }
}
