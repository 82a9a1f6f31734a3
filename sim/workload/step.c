#include "workload/step.h"

#include "base/must.h"

#include <string.h>

/* In fp32 words: SGD reads w, g, writes w; momentum reads w, g, m, writes w, m; Adam has two
 * moments; LAMB is Adam that writes its update, reads w and the update for their norms, then
 * applies it (reads both, writes w), and reads g once more for the global norm. */
const struct optimizer optimizers[] = {
    {"sgd", 0.0, 12.0, "w -= lr g"},
    {"momentum", 4.0, 20.0, "Sutskever et al., 2013, as torch.optim.SGD"},
    {"adam", 8.0, 28.0, "Kingma & Ba, 2015"},
    {"lamb", 8.0, 52.0, "You et al., 2020, as NVIDIA Apex FusedLAMB"},
};
const int n_optimizers = (int)(sizeof optimizers / sizeof *optimizers);

const struct optimizer *optimizer_find(const char *name)
{
    for (int i = 0; i < n_optimizers; i++) {
        if (strcmp(optimizers[i].name, name) == 0) return &optimizers[i];
    }
    return NULL;
}

static const struct optimizer *optimizer_of(const struct train_spec *spec)
{
    const struct optimizer *optimizer = optimizer_find(spec->optimizer);
    must(optimizer);
    return optimizer;
}

/* bytes per parameter of the low-precision copy that matrix kernels read; 0 when they read fp32 */
static double copy_B(const struct train_spec *spec)
{
    double size_B = dtype_B(spec->dtype);
    return size_B < 4.0 ? size_B : 0.0;
}

struct state_bytes step_state(const struct train_spec *spec)
{
    return (struct state_bytes){.weight = 4.0,
                                .copy = copy_B(spec),
                                .gradient = spec->gradient_B,
                                .optimizer = optimizer_of(spec)->state_B};
}

struct kernel_time step_update(const struct train_spec *spec, const struct gpu *gpu,
                               double n_parameters)
{
    const struct optimizer *optimizer = optimizer_of(spec);
    /* the table has a 4-byte gradient */
    double moved_B = optimizer->moved_B - 4.0 + spec->gradient_B + copy_B(spec);
    return kernel_optimizer(gpu, n_parameters, moved_B);
}

static struct kernel_time optimizer_time(const struct train_spec *spec, const struct model *model,
                                         const struct gpu *gpu)
{
    return step_update(spec, gpu, (double)model_n_parameters(model));
}

double step_scale(const struct train_spec *spec, const struct model *model, const struct gpu *gpu)
{
    if (spec->one_gpu_s <= 0.0) return 1.0;
    double micro_batch_s = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        micro_batch_s += kernel_forward(gpu, model, l, spec->batch_per_gpu, spec->dtype).time_s;
        micro_batch_s += kernel_backward(gpu, model, l, spec->batch_per_gpu, spec->dtype).time_s;
    }
    double step_s =
        spec->grad_accumulation * micro_batch_s + optimizer_time(spec, model, gpu).time_s;
    must(step_s > 0.0);
    return spec->one_gpu_s / step_s;
}

static bool issues(const struct step *step)
{
    return step->spec->one_gpu_s <= 0.0 && step->gpu->issue_s > 0.0;
}

/* a kernel op and, before it, the host's time to issue it */
struct launch {
    const char *name;
    enum op_part part;
    struct kernel_time time;
    int n_kernels;
    double alloc_B, free_B;
};

static int add_host(struct step *step, const struct launch *launch)
{
    return program_add_op(step->program,
                          (struct op){.kind = OP_HOST,
                                      .part = PART_LAUNCH,
                                      .stream = STREAM_HOST,
                                      .name = launch->name,
                                      .work_s = launch->n_kernels * step->gpu->issue_s,
                                      .root = -1},
                          step->perm);
}

static int add_kernel(struct step *step, const struct launch *launch, int host)
{
    int op = program_add_op(step->program,
                            (struct op){.kind = OP_KERNEL,
                                        .part = launch->part,
                                        .stream = STREAM_COMPUTE,
                                        .name = launch->name,
                                        .work_s = launch->time.time_s * step->scale,
                                        .hbm_B = launch->time.hbm_B,
                                        .root = -1,
                                        .alloc_B = launch->alloc_B,
                                        .free_B = launch->free_B},
                            step->perm);
    if (host >= 0) program_add_dep(step->program, op, host, 0, step->perm);
    return op;
}

static int add_launch(struct step *step, const struct launch *launch)
{
    return add_kernel(step, launch, issues(step) ? add_host(step, launch) : -1);
}

static double kept_B(const struct step *step, int layer)
{
    double elements = step->model->layers[layer].kept_elements * step->spec->batch_per_gpu;
    return elements * dtype_B(step->spec->dtype);
}

/* add_input — the batch of this step; returns its op, -1 when feeding costs nothing. The pipeline
 * starts on the next batch when the first kernel has taken this one. */
static int add_input(struct step *step)
{
    if (step->spec->input_s <= 0.0) return -1;
    int op = program_add_op(step->program,
                            (struct op){.kind = OP_HOST,
                                        .part = PART_INPUT,
                                        .stream = STREAM_INPUT,
                                        .name = "input",
                                        .work_s = step->spec->input_s,
                                        .root = -1},
                            step->perm);
    int first_kernel = issues(step) ? op + 2 : op + 1;
    program_add_dep(step->program, op, first_kernel, 1, step->perm);
    return op;
}

static struct launch forward_of(const struct step *step, int layer)
{
    const struct train_spec *spec = step->spec;
    return (struct launch){
        .name = step->model->layers[layer].name,
        .part = PART_FORWARD,
        .time = kernel_forward(step->gpu, step->model, layer, spec->batch_per_gpu, spec->dtype),
        .n_kernels = step->model->layers[layer].n_kernels,
        .alloc_B = kept_B(step, layer)};
}

static struct launch backward_of(const struct step *step, int layer)
{
    const struct train_spec *spec = step->spec;
    const struct layer *l = &step->model->layers[layer];
    return (struct launch){
        .name = l->name,
        .part = PART_BACKWARD,
        .time = kernel_backward(step->gpu, step->model, layer, spec->batch_per_gpu, spec->dtype),
        .n_kernels = l->forward_only ? 0 : 2 * l->n_kernels,
        .free_B = kept_B(step, layer)};
}

static void add_backward(struct step *step, int *backward_op, double *backward_s)
{
    double at_s = 0.0;
    for (int l = step->model->n_layers - 1; l >= 0; l--) {
        struct launch launch = backward_of(step, l);
        backward_op[l] = add_launch(step, &launch);
        at_s += launch.time.time_s * step->scale;
        backward_s[l] = at_s;
    }
}

/* add_first_forward — the first kernel of a step waits for its batch. */
static void add_first_forward(struct step *step, int input)
{
    struct launch launch = forward_of(step, 0);
    int host = issues(step) ? add_host(step, &launch) : -1;
    int op = add_kernel(step, &launch, host);
    if (input >= 0) program_add_dep(step->program, op, input, 0, step->perm);
}

static void add_micro_batch(struct step *step, int input, int *backward_op, double *backward_s)
{
    add_first_forward(step, input);
    for (int l = 1; l < step->model->n_layers; l++) {
        struct launch launch = forward_of(step, l);
        add_launch(step, &launch);
    }
    add_backward(step, backward_op, backward_s);
}

/* add_earlier — the micro-batches before the last, which reduce nothing, as one op each of their
 * forwards and backwards: a thousand cost as much to simulate as one. The kernels do not wait for
 * the host here; those of the last micro-batch do, and the host has issued all earlier ones before
 * them, so the slower of the two still sets the pace. */
static void add_earlier(struct step *step, int n, int input)
{
    struct launch forward = {.name = "earlier forwards", .part = PART_FORWARD};
    struct launch backward = {.name = "earlier backwards", .part = PART_BACKWARD};
    for (int l = 0; l < step->model->n_layers; l++) {
        struct launch f = forward_of(step, l), b = backward_of(step, l);
        forward.time.time_s += n * f.time.time_s;
        forward.time.hbm_B += n * f.time.hbm_B;
        forward.n_kernels += f.n_kernels + b.n_kernels;
        forward.alloc_B += f.alloc_B;
        backward.time.time_s += n * b.time.time_s;
        backward.time.hbm_B += n * b.time.hbm_B;
        backward.free_B += b.free_B;
    }
    if (issues(step)) {
        int host = add_host(step, &forward);
        step->program->ops[host].work_s *= n;
    }
    int op = add_kernel(step, &forward, -1);
    if (input >= 0) program_add_dep(step->program, op, input, 0, step->perm);
    add_kernel(step, &backward, -1);
}

static struct job *open_job(const struct step *step)
{
    const struct train_spec *spec = step->spec;
    struct job *job = arena_new(step->perm, struct job, 1);
    double samples = spec->n_ranks * spec->batch_per_gpu * spec->grad_accumulation;
    *job = (struct job){
        .name = step->model->name,
        .mesh = {.n_axes = 1, .size = {spec->n_ranks}, .name = {"dp"}},
        .n_ranks = spec->n_ranks,
        .role_axis = -1,
        .programs = step->program,
        .n_programs = 1,
        .comms = arena_new(step->perm, struct comm, 1),
        .n_iterations = spec->n_iterations,
        .samples_per_iteration = samples,
        .sample = step->model->sample,
        /* backward does two products for each one of forward */
        .flop_per_iteration = 3.0 * model_flop_per_sample(step->model) * samples,
    };
    return job;
}

static const char *const *stream_names(const char *const *own, int n_own, struct arena *perm)
{
    const char **names = arena_new(perm, const char *, STREAM_FIRST_OF_STRATEGY + n_own);
    names[STREAM_HOST] = "host";
    names[STREAM_COMPUTE] = "compute";
    names[STREAM_INPUT] = "input";
    for (int i = 0; i < n_own; i++) names[STREAM_FIRST_OF_STRATEGY + i] = own[i];
    return names;
}

struct step step_open(const struct train_spec *spec, const struct model *model,
                      const struct gpu *gpu, const char *const *streams, int n_streams,
                      struct arena *perm)
{
    must(spec->n_ranks >= 1 && spec->grad_accumulation >= 1 && spec->batch_per_gpu > 0.0);
    struct step step = {.spec = spec, .model = model, .gpu = gpu, .perm = perm};
    int *backward_op = arena_new(perm, int, model->n_layers);
    double *backward_s = arena_new(perm, double, model->n_layers);
    step.program = arena_new(perm, struct program, 1);
    step.program->n_streams = STREAM_FIRST_OF_STRATEGY + n_streams;
    step.program->stream_names = stream_names(streams, n_streams, perm);
    step.job = open_job(&step);
    step.scale = step_scale(spec, model, gpu);
    step.backward_op = backward_op;
    step.backward_s = backward_s;
    int input = add_input(&step);
    int earlier = spec->grad_accumulation - 1;
    if (earlier > 0) add_earlier(&step, earlier, input);
    add_micro_batch(&step, earlier > 0 ? -1 : input, backward_op, backward_s);
    return step;
}

int step_comm(struct step *step, int n_servers)
{
    must(step->job->n_comms == 0);
    step->job->comms[0] =
        (struct comm){.name = "data parallel", .from = -1, .to = -1, .n_servers = n_servers};
    return step->job->n_comms++;
}

int step_last_backward(const struct step *step, int layer)
{
    return step->backward_op[step->spec->overlap ? layer : 0];
}

int step_reduce(struct step *step, const struct reduction *r)
{
    const struct train_spec *spec = step->spec;
    int op = program_add_op(step->program,
                            (struct op){.kind = OP_COLLECTIVE,
                                        .part = PART_COMMUNICATION,
                                        .stream = r->stream,
                                        .name = r->name,
                                        .comm = r->comm,
                                        .coll = COLL_ALLREDUCE,
                                        .size_B = r->size_B,
                                        .root = r->root,
                                        .algorithm = r->algorithm ? r->algorithm : spec->algorithm,
                                        .protocol = spec->protocol},
                            step->perm);
    program_add_dep(step->program, op, step_last_backward(step, r->layer), 0, step->perm);
    if (r->after >= 0) program_add_dep(step->program, op, r->after, 0, step->perm);
    return op;
}

int step_copy(struct step *step, const struct copy *copy)
{
    struct kernel_time time = kernel_copy(step->gpu, copy->size_B, copy->n_kernels);
    int op = program_add_op(step->program,
                            (struct op){.kind = OP_KERNEL,
                                        .part = PART_COMMUNICATION,
                                        .stream = copy->stream,
                                        .name = copy->name,
                                        .work_s = time.time_s,
                                        .hbm_B = time.hbm_B,
                                        .root = -1},
                            step->perm);
    if (copy->after >= 0) program_add_dep(step->program, op, copy->after, 0, step->perm);
    return op;
}

void step_pack(struct step *step, int layer, double size_B, int n_tensors)
{
    struct kernel_time time = kernel_copy(step->gpu, size_B, n_tensors);
    struct op *op = &step->program->ops[step->backward_op[layer]];
    op->work_s += time.time_s;
    op->hbm_B += time.hbm_B;
}

struct held step_held(const struct state_bytes *state)
{
    bool copied = state->copy > 0.0;
    return (struct held){.weights_B = copied ? state->copy : state->weight,
                         .gradients_B = state->gradient,
                         .optimizer_B = state->optimizer + (copied ? state->weight : 0.0)};
}

double step_sum_B(const struct held *held)
{
    return held->weights_B + held->gradients_B + held->optimizer_B + held->buffers_B;
}

static struct held held_of(const struct step *step, double buffers_B)
{
    struct state_bytes state = step_state(step->spec);
    struct held each = step_held(&state);
    double n = (double)model_n_parameters(step->model);
    return (struct held){n * each.weights_B, n * each.gradients_B, n * each.optimizer_B, buffers_B};
}

struct job *step_close(struct step *step, const int *after, int n_after, double buffers_B)
{
    struct launch launch = {.name = "optimizer",
                            .part = PART_OPTIMIZER,
                            .time = optimizer_time(step->spec, step->model, step->gpu),
                            .n_kernels = 1};
    int host = issues(step) ? add_host(step, &launch) : -1;
    /* the update of the step before, whose index is that of the op about to be added */
    if (host >= 0) program_add_dep(step->program, host, step->program->n_ops, 1, step->perm);
    int op = add_kernel(step, &launch, host);
    for (int i = 0; i < n_after; i++) {
        program_add_dep(step->program, op, after[i], 0, step->perm);
    }
    step->program->held = held_of(step, buffers_B);
    step->program->static_B = step_sum_B(&step->program->held);
    return step->job;
}
