#include "out/report.h"

#include "out/result_json.h"

#include <math.h>
#include <string.h>

enum { LABEL_WIDTH = 16, BAR_WIDTH = 40 };

/* The field's verdicts: scaling efficiency above 0.9 is good; communication that is not hidden
 * should stay below a tenth of the step. */
static const double GOOD_EFFICIENCY = 0.9;
static const double GOOD_EXPOSED = 0.1;

/* A part of the step smaller than this share of it is not worth a line. */
static const double WORTH_A_LINE = 5e-4;

static void label(FILE *out, const char *text)
{
    fprintf(out, "%-*s", LABEL_WIDTH, text);
}

static const char *print_unit(double value, enum dim dim, char *text, int size)
{
    if (isfinite(value))
        unit_print(value, dim, text, size);
    else
        snprintf(text, (size_t)size, "never");
    return text;
}

/* four digits for small numbers, all digits for large ones: 30.12, 3010 */
static const char *print_plain(double value, char *text, int size)
{
    snprintf(text, (size_t)size, fabs(value) >= 1000 ? "%.0f" : "%.4g", value);
    return text;
}

static void bar(FILE *out, double frac)
{
    int n = (int)lround(fmin(fmax(frac, 0), 1) * BAR_WIDTH);
    if (n > 0) fputs("  ", out);
    for (int i = 0; i < n; i++) fputc('#', out);
}

static void print_cluster(FILE *out, const struct inputs *in)
{
    const struct node_spec *node = &in->node;
    int n_nodes = in->topo ? in->topo->n_nodes : 1;
    label(out, "cluster");
    fprintf(out, "%d x %s", in->n_gpus, in->gpu.name);
    if (n_nodes > 1) {
        char rate[32];
        fprintf(out, ", %d nodes of %d, %d NIC%s of %s each, %s", n_nodes, node->gpus_per_node,
                node->nics_per_node, node->nics_per_node == 1 ? "" : "s",
                print_unit(node->nic_Bps, DIM_RATE, rate, sizeof rate), in->fabric.kind);
        if (in->fabric.oversubscription > 1) fprintf(out, " %.3g:1", in->fabric.oversubscription);
    } else {
        fprintf(out, ", one node");
    }
    if (node->scaleup != SCALEUP_NONE && node->gpus_per_node > 1)
        fprintf(out, "; inside a node %.4g GB/s per GPU", 1e-9 * node->scaleup_Bps);
    fputc('\n', out);
}

static void print_training(FILE *out, const struct inputs *in)
{
    label(out, "training");
    double samples = in->train.batch_per_gpu * in->train.grad_accumulation;
    bool spans = in->job->samples_per_iteration < samples * in->n_gpus;
    fprintf(out, "%s, %s, %s, %.6g %ss a %s", in->model->name, in->train.strategy,
            dtype_names[in->train.dtype], samples, in->model->sample, spans ? "replica" : "GPU");
    if (in->train.grad_accumulation > 1)
        fprintf(out, " in %d micro-batches", in->train.grad_accumulation);
    fprintf(out, ", %.6g in all; %s\n", in->job->samples_per_iteration, in->library.name);
}

/* Whether attention is fused may be a third of the step of a long sequence. From here on, and in half
 * precision, most frameworks have a kernel for it. */
static const double LONG_TOKENS = 1024;

/* faster_half — 16 bits that the GPU computes in faster than in 32; NULL: none. */
static const char *faster_half(const struct gpu *gpu)
{
    double full_flops = gpu->peak_flops[DTYPE_FP32];
    if (gpu->peak_flops[DTYPE_BF16] > full_flops) return dtype_names[DTYPE_BF16];
    return gpu->peak_flops[DTYPE_FP16] > full_flops ? dtype_names[DTYPE_FP16] : NULL;
}

static void note_precision(FILE *out, const struct inputs *in)
{
    const char *half = faster_half(&in->gpu);
    if (!in->plain_precision || !half) return;
    label(out, "note");
    fprintf(out,
            "the scenario names no precision, so arithmetic is taken to be %s; where it is of 16 "
            "bits: --set /precision=%s\n",
            dtype_names[in->train.dtype], half);
}

static void note_attention(FILE *out, const struct inputs *in)
{
    bool half = in->train.dtype != DTYPE_FP32 && in->train.dtype != DTYPE_TF32;
    if (!in->plain_attention || !half || in->model->tokens_per_sample < LONG_TOKENS) return;
    label(out, "note");
    fputs("attention is taken to write its scores to memory; where it does not (FlashAttention, "
          "SDPA): --set /model/fused_attention=true\n",
          out);
}

static void print_speed(FILE *out, const struct result *result)
{
    char text[3][32];
    char unit[64];
    label(out, "iteration");
    fprintf(out, "%s   (90 %%: %s to %s)\n",
            print_unit(result->iteration_s, DIM_TIME, text[0], sizeof text[0]),
            print_unit(result->interval_s[0], DIM_TIME, text[1], sizeof text[1]),
            print_unit(result->interval_s[1], DIM_TIME, text[2], sizeof text[2]));
    result_unit(result, unit, sizeof unit);
    label(out, "throughput");
    fprintf(out, "%s %s", print_plain(result->throughput, text[0], sizeof text[0]), unit);
    double tokens = result->in->model->tokens_per_sample;
    if (tokens > 1)
        fprintf(out, ", %s tokens/s",
                print_plain(result->throughput * tokens, text[1], sizeof text[1]));
    fputc('\n', out);
}

static void print_verdicts(FILE *out, const struct result *result)
{
    double exposed = result->exposed_communication_s / result->iteration_s;
    if (result->in->n_gpus < 2) return;
    label(out, "efficiency");
    fprintf(out, "%.1f %% of %d times one GPU: %s\n", 100 * result->scaling_efficiency,
            result->in->n_gpus,
            result->scaling_efficiency > GOOD_EFFICIENCY ? "good (above 90 %)"
                                                         : "poor (90 % is good)");
    label(out, "communication");
    fprintf(out, "%.1f %% of the step is exposed: %s\n", 100 * exposed,
            exposed < GOOD_EXPOSED ? "good (below 10 %)" : "much (below 10 % is good)");
}

static void print_part(FILE *out, const char *name, double time_s, double step_s)
{
    char text[32];
    if (!(time_s > WORTH_A_LINE * step_s)) return;
    fprintf(out, "  %-21s  %9s  %5.1f %%", name, print_unit(time_s, DIM_TIME, text, sizeof text),
            100 * time_s / step_s);
    bar(out, time_s / step_s);
    fputc('\n', out);
}

static void print_parts(FILE *out, const struct result *result)
{
    double step_s = result->iteration_s;
    fputs("\nwhere the step goes (the GPU that works hardest)\n", out);
    for (int share = 0; share < N_SHARES; share++)
        print_part(out, share_names[share], result->share_s[share], step_s);
    double hidden_s = result->communication_s - result->share_s[SHARE_EXPOSED];
    if (hidden_s > WORTH_A_LINE * step_s) {
        char text[32];
        fprintf(out, "  %-21s  %9s           runs behind kernels\n", "hidden communication",
                print_unit(hidden_s, DIM_TIME, text, sizeof text));
    }
}

static void print_limit(FILE *out, const struct result *result)
{
    fputc('\n', out);
    label(out, "limited by");
    fprintf(out, "%s", result->limit_kind ? result->limit_kind : "nothing known");
    if (result->limit_name) fprintf(out, ": %s", result->limit_name);
    fputc('\n', out);
    int n_shown = 0;
    for (int i = 0; i < result->n_gains; i++) {
        const struct gain *gain = &result->gains[i];
        if (gain->frac < WORTH_A_LINE) continue;
        label(out, n_shown++ == 0 ? "if doubled" : "");
        fprintf(out, "%-10s step %4.1f %% shorter\n", gain->kind, 100 * gain->frac);
    }
}

/* What to save on; the largest part is not always the one that was thought of. */
static void print_memory_parts(FILE *out, const struct result *result)
{
    const struct {
        const char *name;
        double size_B;
    } parts[] = {{"weights", result->held.weights_B},
                 {"gradients", result->held.gradients_B},
                 {"optimizer state", result->held.optimizer_B},
                 {"activations", result->activations_B},
                 {"buffers", result->held.buffers_B}};
    const char *before = "of it: ";
    label(out, "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char text[32];
        if (parts[i].size_B <= 0.0) continue;
        fprintf(out, "%s%s %s", before, parts[i].name,
                print_unit(parts[i].size_B, DIM_SIZE, text, sizeof text));
        before = ", ";
    }
    fputc('\n', out);
}

static void print_memory(FILE *out, const struct result *result)
{
    char text[2][32];
    label(out, "memory");
    fprintf(out, "%s of %s: %s\n", print_unit(result->memory_B, DIM_SIZE, text[0], sizeof text[0]),
            print_unit(result->in->gpu.memory_B, DIM_SIZE, text[1], sizeof text[1]),
            result->fits ? "fits" : "DOES NOT FIT");
    if (!result->fits) {
        print_memory_parts(out, result);
        label(out, "");
        fputs("less: batch_per_gpu; strategy \"parallel\" with zero_stage (over more shard_ranks), "
              "recompute or tensor_parallel\n",
              out);
    }
    label(out, "sent");
    fprintf(out, "%s by each GPU in a step\n",
            print_unit(result->bytes_sent_B, DIM_SIZE, text[0], sizeof text[0]));
    label(out, "MFU");
    fprintf(out, "%.1f %% of the %s peak (model FLOP, forward and backward)\n", 100 * result->mfu,
            dtype_names[result->in->train.dtype]);
}

static void print_method(FILE *out, const struct result *result)
{
    label(out, "method");
    fprintf(out, "%s, %d class%s of GPUs, %lld events\n", fidelity_names[result->in->fidelity],
            result->n_classes, result->n_classes == 1 ? "" : "es", (long long)result->n_events);
    for (int i = 0; i < result->n_warnings; i++) {
        label(out, "warning");
        fprintf(out, "%s\n", result->warnings[i]);
    }
}

/* Each job alone and beside the others. */
static void print_jobs(FILE *out, const struct result *result)
{
    int width = (int)strlen("job");
    for (int i = 0; i < result->n_jobs; i++) {
        int length = (int)strlen(result->jobs[i].alone->in->scenario);
        if (length > width) width = length;
    }
    fprintf(out, "%-*s  %6s  %9s  %9s  %8s\n", width, "job", "GPUs", "together", "alone", "slower");
    for (int i = 0; i < result->n_jobs; i++) {
        const struct job_result *job = &result->jobs[i];
        char text[2][32];
        fprintf(out, "%-*s  %6d  %9s  %9s  %7.3fx\n", width, job->alone->in->scenario,
                job->alone->in->n_gpus,
                print_unit(job->together_s, DIM_TIME, text[0], sizeof text[0]),
                print_unit(job->alone_s, DIM_TIME, text[1], sizeof text[1]),
                job->together_s / job->alone_s);
    }
    fputc('\n', out);
}

static void report_jobs(FILE *out, const struct result *result)
{
    print_jobs(out, result);
    for (int i = 0; i < result->n_jobs; i++) print_training(out, result->jobs[i].alone->in);
    if (result->limit_name) {
        label(out, "busiest link");
        fprintf(out, "%s\n", result->limit_name);
    }
    print_method(out, result);
}

void report_page(FILE *out, const struct result *result, const char *question)
{
    fprintf(out, "%s\n", result->in->scenario);
    if (question && question[0]) fprintf(out, "%s\n", question);
    fputc('\n', out);
    print_cluster(out, result->in);
    if (result->n_jobs > 0) {
        fputc('\n', out);
        report_jobs(out, result);
        return;
    }
    print_training(out, result->in);
    note_precision(out, result->in);
    note_attention(out, result->in);
    fputc('\n', out);
    print_speed(out, result);
    print_verdicts(out, result);
    print_parts(out, result);
    print_limit(out, result);
    fputc('\n', out);
    print_memory(out, result);
    print_method(out, result);
}

static void comparison_row(FILE *out, const struct result *result, const struct result *first,
                           int name_width)
{
    char text[3][32];
    fprintf(out, "%-*s  %6d  %9s %6.2fx  %11s  %7.1f %%  %7.1f %%  %8s  %s\n", name_width,
            result->in->scenario, result->in->n_gpus,
            print_unit(result->iteration_s, DIM_TIME, text[0], sizeof text[0]),
            result->iteration_s / first->iteration_s,
            print_plain(result->throughput, text[1], sizeof text[1]),
            100 * result->scaling_efficiency,
            100 * result->exposed_communication_s / result->iteration_s,
            print_unit(result->memory_B, DIM_SIZE, text[2], sizeof text[2]),
            result->limit_kind ? result->limit_kind : "");
}

void report_comparison(FILE *out, const struct result *const *results, int n)
{
    int width = (int)strlen("scenario");
    for (int i = 0; i < n; i++) {
        int length = (int)strlen(results[i]->in->scenario);
        if (length > width) width = length;
    }
    fprintf(out, "%-*s  %6s  %9s %7s  %11s  %9s  %9s  %8s  %s\n", width, "scenario", "GPUs",
            "iteration", "", "samples/s", "efficient", "exposed", "memory", "limited by");
    for (int i = 0; i < n; i++) comparison_row(out, results[i], results[0], width);
}

void report_values(FILE *out, const struct field_log *log)
{
    const char *object = "";
    fputs("values used (= as given, ~ default)\n", out);
    for (int i = 0; i < log->n_uses; i++) {
        const struct field_use *use = &log->uses[i];
        if (strcmp(use->object, object) != 0) fprintf(out, "  %s\n", use->object);
        object = use->object;
        fprintf(out, "    %-24s %c ", use->key, use->from_default ? '~' : '=');
        if (use->means)
            fprintf(out, "%s (%s)\n", use->means, use->value);
        else
            fprintf(out, "%s\n", use->value[0] ? use->value : "(none)");
    }
}
