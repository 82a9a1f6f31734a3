#include "workload/parallel.h"

#include "base/must.h"
#include "workload/divide.h"
#include "workload/stage.h"

/* ---- where ranks stand ---- */

/* Ranks of one stage form a line, cut in groups of neighbours: ends of groups on it. Each end divides
 * the next, so that every group is a line of the mesh. */
struct ends {
    int tensor, context, experts, shards, all;
};

static int replica_ranks(const struct split *split)
{
    return split->tensor * split->pipeline * split->context;
}

int parallel_replicas(const struct train_spec *spec)
{
    return spec->n_ranks / replica_ranks(&spec->split);
}

static struct ends ends_of(const struct train_spec *spec)
{
    const struct split *split = &spec->split;
    struct ends ends = {.tensor = split->tensor, .all = spec->n_ranks / split->pipeline};
    ends.context = split->tensor * split->context;
    ends.experts = split->experts;
    bool some = split->shard_ranks > 0 && split->zero_stage > 0;
    ends.shards = some ? split->tensor * split->shard_ranks : ends.all;
    return ends;
}

enum { N_ENDS = 5, MAX_PIECES = 131072 };

/* sorted_ends — in rising order, equal ones as often as they are there. */
static void sorted_ends(const struct ends *ends, int *sorted)
{
    const int all[N_ENDS] = {ends->tensor, ends->context, ends->experts, ends->shards, ends->all};
    for (int i = 0; i < N_ENDS; i++) {
        int place = 0; /* how many come before it: smaller ones, and equal ones ahead of it */
        for (int j = 0; j < N_ENDS; j++) place += j < i ? all[j] <= all[i] : all[j] < all[i];
        sorted[place] = all[i];
    }
}

/* Axes between one end and the next, then the pipeline. */
static struct mesh mesh_of(const struct train_spec *spec)
{
    static const char *const names[N_ENDS] = {"inner", "second", "third", "fourth", "outer"};
    struct mesh mesh = {.n_axes = 0};
    struct ends ends = ends_of(spec);
    int sorted[N_ENDS];
    int below = 1;
    sorted_ends(&ends, sorted);
    for (int i = 0; i < N_ENDS; i++) {
        if (sorted[i] == below) continue;
        mesh.name[mesh.n_axes] = names[mesh.n_axes];
        mesh.size[mesh.n_axes++] = sorted[i] / below;
        below = sorted[i];
    }
    mesh.name[mesh.n_axes] = "pipeline";
    mesh.size[mesh.n_axes++] = spec->split.pipeline;
    return mesh;
}

/* comm_between — the axes from one end to another; one of a single member stays unused. */
static struct comm comm_between(const struct mesh *mesh, const char *name, int from, int to)
{
    struct comm comm = {.name = name, .from = -1, .to = -1};
    int below = 1;
    for (int axis = 0; axis < mesh->n_axes - 1; axis++) {
        if (below == from) comm.first_axis = axis;
        below *= mesh->size[axis];
        if (below == to) comm.last_axis = axis;
    }
    if (from == to) comm.last_axis = comm.first_axis;
    return comm;
}

static struct comm comm_pair(const struct mesh *mesh, const char *name, int from, int to)
{
    int axis = mesh->n_axes - 1;
    return (struct comm){
        .name = name, .first_axis = axis, .last_axis = axis, .from = from, .to = to};
}

static void make_comms(struct job *job, const struct train_spec *spec, struct arena *perm)
{
    struct ends ends = ends_of(spec);
    const struct mesh *mesh = &job->mesh;
    int n = spec->split.pipeline;
    struct comm *comms = arena_new(perm, struct comm, COMM_FIRST_PAIR + 2 * n);
    comms[COMM_TENSOR] = comm_between(mesh, "tensor", 1, ends.tensor);
    comms[COMM_CONTEXT] = comm_between(mesh, "context", ends.tensor, ends.context);
    comms[COMM_EXPERTS] = comm_between(mesh, "experts", 1, ends.experts);
    comms[COMM_SAME] = comm_between(mesh, "data parallel", ends.tensor, ends.all);
    comms[COMM_SHARDS] = comm_between(mesh, "shards", ends.tensor, ends.shards);
    comms[COMM_COPIES] = comm_between(mesh, "copies of shards", ends.shards, ends.all);
    comms[COMM_EXPERT_SAME] = comm_between(mesh, "data parallel experts", ends.experts, ends.all);
    job->comms = comms;
    job->n_comms = COMM_TIED;
    if (n == 1) return;
    comms[COMM_TIED] = comm_pair(mesh, "tied", 0, n - 1);
    for (int i = 0; i < n; i++) {
        comms[COMM_FIRST_PAIR + i] = comm_pair(mesh, "forward", i, (i + 1) % n);
        comms[COMM_FIRST_PAIR + n + i] = comm_pair(mesh, "backward", i, (i + n - 1) % n);
    }
    job->n_comms = COMM_FIRST_PAIR + 2 * n;
}

/* ---- what is refused ---- */

/* heads_of — products of attention; 0 when there are none or no whole number of them (fused attention
 * that sees a part of the positions). */
static int heads_of(const struct model *model)
{
    for (int l = 0; l < model->n_layers; l++) {
        if (model->layers[l].kind != LAYER_ATTENTION) continue;
        double n = model->layers[l].n_products;
        return n > (double)(int)n ? 0 : (int)n;
    }
    return 0;
}

static const char *refuse_ranks(const struct train_spec *spec, const char **key, struct arena *perm)
{
    const struct split *split = &spec->split;
    int replica = replica_ranks(split);
    *key = split->pipeline > 1 ? "pipeline_parallel" : "tensor_parallel";
    if (spec->n_ranks % replica != 0) {
        return arena_text(
            perm,
            "%d GPUs are no multiple of the %d of one replica (%d tensor x %d pipeline "
            "x %d context)",
            spec->n_ranks, replica, split->tensor, split->pipeline, split->context);
    }
    int same = spec->n_ranks / (split->tensor * split->pipeline);
    *key = "shard_ranks";
    if (split->shard_ranks > 0 && same % split->shard_ranks != 0)
        return arena_text(perm, "%d does not divide the %d ranks that hold the same parameters",
                          split->shard_ranks, same);
    int sorted[N_ENDS];
    struct ends ends = ends_of(spec);
    sorted_ends(&ends, sorted);
    *key = split->experts > 1 ? "expert_parallel" : "shard_ranks";
    if (split->experts > ends.all)
        return arena_text(perm, "%d is more than the %d GPUs of a stage", split->experts, ends.all);
    for (int i = 1; i < N_ENDS; i++) {
        if (sorted[i] % sorted[i - 1] == 0) continue;
        return arena_text(perm,
                          "groups of %d and of %d neighbouring ranks cross (one must divide the "
                          "other)",
                          sorted[i - 1], sorted[i]);
    }
    return NULL;
}

static const char *refuse_blocks(const struct split *split, const struct model *model,
                                 const char **key, struct arena *perm)
{
    bool whole = split->tensor == 1 && split->pipeline == 1 && split->context == 1 &&
                 split->virtual_stages == 1;
    *key = "tensor_parallel";
    if (model->n_blocks == 0) {
        if (whole && split->recompute == RECOMPUTE_NONE) return NULL;
        return arena_text(
            perm, "%s is not made of equal blocks (only zero_stage and shard_ranks divide it)",
            model->name);
    }
    if (heads_of(model) % split->tensor != 0)
        return arena_text(perm, "%d does not divide the %d attention heads of %s", split->tensor,
                          heads_of(model), model->name);
    *key = split->virtual_stages > 1 ? "virtual_stages" : "pipeline_parallel";
    if (split->virtual_stages > 1 && split->pipeline == 1) return "needs pipeline_parallel above 1";
    if (split->pipeline * split->virtual_stages > model->n_blocks)
        return arena_text(perm, "%d stages of %d, but %s has %d blocks", split->pipeline,
                          split->virtual_stages, model->name, model->n_blocks);
    return NULL;
}

/* A schedule is laid out piece by piece; more than MAX_PIECES is minutes of work and gigabytes, and
 * published runs stay below a quarter of it (64 stages of 512 micro-batches). */
static const char *refuse_pieces(const struct train_spec *spec, const char **key,
                                 struct arena *perm)
{
    const struct split *split = &spec->split;
    double pieces = (double)split->pipeline * split->virtual_stages * spec->grad_accumulation;
    *key = "pipeline_parallel";
    if (split->pipeline == 1 || pieces <= MAX_PIECES) return NULL;
    return arena_text(perm, "%d stages of %d in %d micro-batches are more than %d pieces",
                      split->pipeline, split->virtual_stages, spec->grad_accumulation, MAX_PIECES);
}

static const char *refuse_experts(const struct split *split, const struct model *model,
                                  const char **key, struct arena *perm)
{
    *key = "expert_parallel";
    if (split->experts == 1) return NULL;
    if (model->n_experts == 0) return arena_text(perm, "%s has no experts", model->name);
    if (model->n_experts % split->experts == 0) return NULL;
    return arena_text(perm, "%d does not divide the %d experts of %s", split->experts,
                      model->n_experts, model->name);
}

const char *parallel_refusal(const struct train_spec *spec, const struct model *model,
                             const char **key, struct arena *perm)
{
    const char *why = refuse_ranks(spec, key, perm);
    if (!why) why = refuse_blocks(&spec->split, model, key, perm);
    if (!why) why = refuse_pieces(spec, key, perm);
    if (!why) why = refuse_experts(&spec->split, model, key, perm);
    return why;
}

/* ---- the job ---- */

/* tied_parameters — of a head that has no weights of its own: the word table, divided like it. */
static double tied_parameters(const struct model *own)
{
    for (int l = own->n_layers - 1; l >= 0 && own->layers[l].block == own->n_blocks; l--) {
        const struct layer *layer = &own->layers[l];
        if (layer->split != SPLIT_COLUMN || layer->kind != LAYER_LINEAR) continue;
        double weights = layer->n * layer->n_products * layer->k;
        double held = 0.0;
        for (int t = layer->first_tensor; t < layer->first_tensor + layer->n_tensors; t++) {
            held += (double)own->tensors[t].n_elements;
        }
        return held < weights ? weights : 0.0;
    }
    return 0.0;
}

/* n_chunks — virtual stages of a stage, told as such or by the most blocks that one has: as many as
 * divide the blocks of the longest stage, as far as there are blocks for each. */
static int n_chunks(const struct split *split, const struct model *model)
{
    if (split->virtual_stages > 1 || split->chunk_blocks == 0 || split->pipeline == 1)
        return split->virtual_stages;
    int of_stage = (model->n_blocks + split->pipeline - 1) / split->pipeline;
    int of_chunk = split->chunk_blocks < of_stage ? split->chunk_blocks : of_stage;
    while (of_stage % of_chunk != 0) of_chunk--;
    int most = model->n_blocks / split->pipeline;
    return of_stage / of_chunk < most ? of_stage / of_chunk : most;
}

static struct parallel open_parallel(const struct train_spec *spec, const struct model *model,
                                     const struct gpu *gpu, struct arena *perm)
{
    const struct split *split = &spec->split;
    const struct model *own = divide_model(model, split, perm);
    struct ends ends = ends_of(spec);
    struct parallel parallel = {
        .spec = spec,
        .gpu = gpu,
        .perm = perm,
        .pipeline = {split->pipeline, n_chunks(split, model), spec->grad_accumulation},
        .border_B = piece_border_B(spec, own),
        .scale = step_scale(spec, model, gpu),
        .n_same = ends.all / ends.tensor,
        .n_shards = ends.shards / ends.tensor,
        .n_expert_same = ends.experts > 1 ? ends.all / ends.experts : 1,
    };
    struct piece *pieces =
        pieces_of_model(spec, own, gpu, parallel.scale, &parallel.n_pieces, perm);
    if (split->pipeline > 1) {
        parallel.tied_parameters = tied_parameters(own);
        pieces[parallel.n_pieces - 1].n_parameters += parallel.tied_parameters;
    }
    parallel.pieces = pieces;
    return parallel;
}

struct job *parallel_build(const struct train_spec *spec, const struct model *model,
                           const struct gpu *gpu, struct arena *perm)
{
    const char *key;
    must(!parallel_refusal(spec, model, &key, perm));
    must(spec->grad_accumulation >= 1 && spec->batch_per_gpu > 0.0);
    int n_stages = spec->split.pipeline;
    double samples = parallel_replicas(spec) * spec->batch_per_gpu * spec->grad_accumulation;
    struct job *job = arena_new(perm, struct job, 1);
    *job = (struct job){
        .name = model->name,
        .mesh = mesh_of(spec),
        .n_ranks = spec->n_ranks,
        .programs = arena_new(perm, struct program, n_stages),
        .n_programs = n_stages,
        .n_iterations = spec->n_iterations,
        .samples_per_iteration = samples,
        .sample = model->sample,
        /* backward does two products for each one of forward */
        .flop_per_iteration = 3.0 * model_flop_per_sample(model) * samples,
    };
    job->role_axis = job->mesh.n_axes - 1;
    if (spec->n_ranks > 1) make_comms(job, spec, perm);
    struct parallel *parallel = arena_new(perm, struct parallel, 1);
    *parallel = open_parallel(spec, model, gpu, perm);
    for (int s = 0; s < n_stages; s++) stage_build(parallel, s, &job->programs[s]);
    return job;
}
