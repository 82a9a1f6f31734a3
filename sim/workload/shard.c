#include "workload/shard.h"

#include <math.h>

static const struct split *split_of(const struct stage *stage)
{
    return &stage->parallel->spec->split;
}

/* Are there ranks with the same parameters (or experts) at all? */
static bool has_same(const struct parallel *parallel)
{
    return parallel->n_same > 1 || parallel->n_expert_same > 1;
}

/* divides_gradients — not under a pipeline in stage 2, which keeps whole sums until its last micro-batch */
static bool divides_gradients(const struct parallel *parallel)
{
    int zero_stage = parallel->spec->split.zero_stage;
    return zero_stage == 3 || (zero_stage == 2 && parallel->pipeline.n_stages == 1);
}

bool shard_in_each(const struct parallel *parallel)
{
    return divides_gradients(parallel) && has_same(parallel);
}

bool shard_by_unit(const struct parallel *parallel, const struct turn *turn)
{
    int zero_stage = parallel->spec->split.zero_stage;
    if (!has_same(parallel)) return false;
    if (zero_stage == 3) return true;
    if (!parallel->spec->overlap) return false;
    if (!turn->backward) return zero_stage > 0 && turn->micro_batch == 0;
    return shard_in_each(parallel) || turn->micro_batch == parallel->pipeline.n_micro_batches - 1;
}

/* ---- what travels ---- */

/* what kernels read, and so what is gathered */
static double model_B(const struct stage *stage)
{
    struct state_bytes B = step_state(stage->parallel->spec);
    return B.copy > 0.0 ? fmax(B.copy, piece_wire_B(stage->parallel->spec->dtype)) : B.weight;
}

static int add_transfer(struct stage *stage, const struct transfer *transfer)
{
    int op = stage_add(stage, stage_transfer(stage->parallel, transfer));
    if (stage->fresh) stage_add_update_dep(stage);
    stage->fresh = false;
    *(transfer->stream == STREAM_COPIES ? &stage->last_copies : &stage->last_gradients) = op;
    return op;
}

/* Blocks of a unit that is fetched or reduced one by one. */
static int n_parts(const struct stage *stage, const struct piece *unit)
{
    return split_of(stage)->zero_stage == 3 ? unit->n_blocks : 1;
}

/* gather — a unit's parameters; returns the last of its collectives, -1 if there is none. */
static int gather(struct stage *stage, const struct piece *unit)
{
    const struct parallel *parallel = stage->parallel;
    int n = n_parts(stage, unit);
    int op = -1;
    double n_read = unit->n_parameters + unit->n_frozen;
    if (split_of(stage)->zero_stage < 3) n_read = unit->n_parameters;
    if (parallel->n_shards > 1 && n_read > 0.0) {
        op =
            add_transfer(stage, &(struct transfer){"gather", STREAM_GRADIENTS, COMM_SHARDS,
                                                   COLL_ALLGATHER, n_read * model_B(stage) / n, n});
    }
    if (parallel->n_expert_same > 1 && unit->n_expert_parameters > 0.0) {
        double size_B = unit->n_expert_parameters * model_B(stage) / n;
        op = add_transfer(stage, &(struct transfer){"gather experts", STREAM_GRADIENTS,
                                                    COMM_EXPERT_SAME, COLL_ALLGATHER, size_B, n});
    }
    return op;
}

/* reduce_shards — each rank gets the sum of its shard; copies of shards add theirs to it. */
static int reduce_shards(struct stage *stage, double size_B, int n)
{
    const struct parallel *parallel = stage->parallel;
    int op = -1;
    if (parallel->n_shards > 1) {
        op = add_transfer(stage, &(struct transfer){"reduce", STREAM_GRADIENTS, COMM_SHARDS,
                                                    COLL_REDUCE_SCATTER, size_B, n});
    }
    if (parallel->n_shards == parallel->n_same) return op;
    if (op >= 0) stage_wait_only(stage, op);
    return add_transfer(stage, &(struct transfer){"reduce copies", STREAM_COPIES, COMM_COPIES,
                                                  COLL_ALLREDUCE, size_B / parallel->n_shards, n});
}

static int reduce_same(struct stage *stage, double size_B, int n)
{
    if (split_of(stage)->zero_stage > 0) return reduce_shards(stage, size_B, n);
    return add_transfer(stage, &(struct transfer){"reduce", STREAM_GRADIENTS, COMM_SAME,
                                                  COLL_ALLREDUCE, size_B, n});
}

static int reduce_experts(struct stage *stage, double size_B, int n)
{
    enum coll_kind kind = split_of(stage)->zero_stage > 0 ? COLL_REDUCE_SCATTER : COLL_ALLREDUCE;
    return add_transfer(stage, &(struct transfer){"reduce experts", STREAM_GRADIENTS,
                                                  COMM_EXPERT_SAME, kind, size_B, n});
}

/* reduce — a unit's gradients, after what the stage waits for; the path of data goes on without
 * waiting for them. Returns the last collective, -1 if there is none. */
static int reduce(struct stage *stage, const struct piece *unit)
{
    const struct parallel *parallel = stage->parallel;
    struct waits before = stage->waits;
    double gradient_B = parallel->spec->gradient_B;
    int n = n_parts(stage, unit);
    int op = -1;
    if (parallel->n_expert_same > 1 && unit->n_expert_parameters > 0.0)
        op = reduce_experts(stage, unit->n_expert_parameters * gradient_B / n, n);
    if (parallel->n_same > 1 && unit->n_parameters > 0.0)
        op = reduce_same(stage, unit->n_parameters * gradient_B / n, n);
    stage->waits = before;
    return op;
}

/* ---- around a unit ---- */

static void reduce_late(struct stage *stage)
{
    if (!stage->late.unit) return;
    struct waits before = stage->waits;
    stage_wait_only(stage, stage->late.after);
    reduce(stage, stage->late.unit);
    stage->late.unit = NULL;
    stage->waits = before;
}

/* A unit is fetched while the one before computes, once that before has let go of its room. */
static int gather_ahead(struct stage *stage, const struct piece *unit)
{
    struct waits before = stage->waits;
    stage->waits.n = 0;
    stage->fresh = stage->last_unit[1] < 0;
    if (!stage->fresh) stage_wait(stage, stage->last_unit[1]);
    int op = gather(stage, unit);
    stage->waits = before;
    return op;
}

void shard_before(struct stage *stage, const struct piece *unit)
{
    if (split_of(stage)->zero_stage < 3) return;
    bool ahead = stage->parallel->spec->overlap;
    int op = ahead ? gather_ahead(stage, unit) : gather(stage, unit);
    if (op >= 0) stage_wait(stage, op);
    reduce_late(stage);
}

void shard_after(struct stage *stage, const struct piece *unit, const struct turn *turn)
{
    const struct parallel *parallel = stage->parallel;
    bool overlap = parallel->spec->overlap;
    stage->last_unit[1] = stage->last_unit[0];
    stage->last_unit[0] = stage->waits.ops[0];
    if (!turn->backward || !has_same(parallel)) return;
    bool last = turn->micro_batch == parallel->pipeline.n_micro_batches - 1;
    if (!shard_in_each(parallel) && !(last && overlap)) return;
    if (overlap && parallel->spec->split.zero_stage == 3) {
        reduce_late(stage);
        stage->late.unit = unit;
        stage->late.after = stage->waits.ops[0];
        return;
    }
    int op = reduce(stage, unit);
    if (!overlap && op >= 0) stage_wait_only(stage, op);
}

/* ---- around a step ---- */

static struct piece all_of(const struct stage *stage)
{
    struct piece all = {0};
    for (int c = 0; c < stage->parallel->pipeline.n_chunks; c++) {
        piece_add(&all, &stage->chunks[c].whole);
    }
    return all;
}

void shard_open(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    int zero_stage = split_of(stage)->zero_stage;
    struct waits before = stage->waits;
    if (zero_stage == 0 || zero_stage == 3) return;
    stage->waits.n = 0;
    stage->fresh = true;
    if (!parallel->spec->overlap) {
        struct piece all = all_of(stage);
        int op = gather(stage, &all);
        if (op >= 0) before.ops[before.n++] = op;
    }
    for (int c = 0; parallel->spec->overlap && c < parallel->pipeline.n_chunks; c++) {
        struct chunk *chunk = &stage->chunks[c];
        for (int u = 0; u < chunk->n_units; u++) chunk->gather[u] = gather(stage, &chunk->units[u]);
    }
    stage->fresh = false;
    stage->waits = before;
}

/* The word table that first and last stage both use has two gradients. */
static void reduce_tied(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    int n_stages = parallel->pipeline.n_stages;
    if (parallel->tied_parameters <= 0.0 || n_stages == 1) return;
    if (stage->number > 0 && stage->number < n_stages - 1) return;
    double size_B = parallel->tied_parameters * parallel->spec->gradient_B;
    int op = add_transfer(stage, &(struct transfer){"reduce tied", STREAM_COPIES, COMM_TIED,
                                                    COLL_ALLREDUCE, size_B, 1});
    stage_wait_only(stage, op);
}

/* 1 / the ranks that divide what is divided from this stage of ZeRO on */
static double share(const struct stage *stage, int from_stage, int n_ranks)
{
    if (from_stage == 2 && !divides_gradients(stage->parallel)) return 1.0;
    return split_of(stage)->zero_stage >= from_stage ? 1.0 / n_ranks : 1.0;
}

static void add_update(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    struct piece all = all_of(stage);
    double n = all.n_parameters * share(stage, 1, parallel->n_shards) +
               all.n_expert_parameters * share(stage, 1, parallel->n_expert_same);
    struct kernel_time time = step_update(parallel->spec, parallel->gpu, n);
    int op = stage_add(stage, (struct op){.kind = OP_KERNEL,
                                          .part = PART_OPTIMIZER,
                                          .stream = STREAM_COMPUTE,
                                          .name = "optimizer",
                                          .work_s = time.time_s * parallel->scale,
                                          .hbm_B = time.hbm_B,
                                          .root = -1});
    for (int i = 0; i < stage->n_update_deps; i++) {
        stage->program->deps[stage->update_deps[i]].op = op;
    }
}

void shard_close(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    reduce_late(stage);
    if (!parallel->spec->overlap && !shard_in_each(parallel) && has_same(parallel)) {
        struct piece all = all_of(stage);
        reduce(stage, &all);
    }
    if (stage->last_gradients >= 0) stage_wait(stage, stage->last_gradients);
    if (stage->last_copies >= 0) stage_wait(stage, stage->last_copies);
    reduce_tied(stage);
    add_update(stage);
}

/* ---- memory ---- */

/* add_state — of n parameters whose state is divided over n_ranks */
static void add_state(const struct stage *stage, double n, int n_ranks, struct held *held)
{
    struct state_bytes state = step_state(stage->parallel->spec);
    struct held each = step_held(&state);
    held->weights_B += n * each.weights_B * share(stage, 3, n_ranks);
    held->gradients_B += n * each.gradients_B * share(stage, 2, n_ranks);
    held->optimizer_B += n * each.optimizer_B * share(stage, 1, n_ranks);
}

/* Two gathered units and the gradients of one, whole blocks each, while stage 3 divides them. */
static double gathered_B(const struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    struct state_bytes B = step_state(parallel->spec);
    double largest = 0.0;
    if (split_of(stage)->zero_stage < 3 || !has_same(parallel)) return 0.0;
    for (int p = 0; p < parallel->n_pieces; p++) {
        const struct piece *piece = &parallel->pieces[p];
        double n = piece->n_parameters + piece->n_expert_parameters + piece->n_frozen;
        largest = fmax(largest, n);
    }
    return largest * (2.0 * (B.copy > 0.0 ? B.copy : B.weight) + B.gradient);
}

struct held shard_held(const struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    struct piece all = all_of(stage);
    struct state_bytes state = step_state(parallel->spec);
    double frozen_B = all.n_frozen * step_held(&state).weights_B;
    struct held held = {.weights_B = frozen_B * share(stage, 3, parallel->n_shards),
                        .buffers_B = gathered_B(stage)};
    add_state(stage, all.n_parameters, parallel->n_shards, &held);
    add_state(stage, all.n_expert_parameters, parallel->n_expert_same, &held);
    return held;
}
