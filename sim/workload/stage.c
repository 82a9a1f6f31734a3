#include "workload/stage.h"

#include "base/must.h"
#include "workload/shard.h"

#include <math.h>

/* Passes are cut no finer than this many ops in all; many micro-batches have fewer, longer units. */
enum { MOST_UNITS = 2048 };

/* ---- ops ---- */

void stage_wait(struct stage *stage, int op)
{
    for (int i = 0; i < stage->waits.n; i++) {
        if (stage->waits.ops[i] == op) return;
    }
    must(stage->waits.n < MAX_WAITS);
    stage->waits.ops[stage->waits.n++] = op;
}

void stage_wait_only(struct stage *stage, int op)
{
    stage->waits.ops[0] = op;
    stage->waits.n = 1;
}

int stage_add(struct stage *stage, struct op op)
{
    struct arena *perm = stage->parallel->perm;
    int at = program_add_op(stage->program, op, perm);
    for (int i = 0; i < stage->waits.n; i++) {
        program_add_dep(stage->program, at, stage->waits.ops[i], 0, perm);
    }
    return at;
}

void stage_add_update_dep(struct stage *stage)
{
    must(stage->n_update_deps < MAX_WAITS);
    stage->update_deps[stage->n_update_deps++] = stage->program->n_deps;
    program_add_dep(stage->program, stage->program->n_ops - 1, 0, 1, stage->parallel->perm);
}

struct op stage_transfer(const struct parallel *parallel, const struct transfer *transfer)
{
    return (struct op){.kind = OP_COLLECTIVE,
                       .part = PART_COMMUNICATION,
                       .stream = transfer->stream,
                       .name = transfer->name,
                       .comm = transfer->comm,
                       .coll = transfer->kind,
                       .size_B = transfer->size_B,
                       .repeats = transfer->n - 1,
                       .root = -1,
                       .algorithm = parallel->spec->algorithm,
                       .protocol = parallel->spec->protocol};
}

/* a pass of a unit, `times` over */
struct pass {
    const struct direction *direction;
    enum op_part part;
    int times;
    double alloc_B, free_B;
};

struct kernels {
    double work_s, hbm_B, alloc_B, free_B;
};

static int add_kernels(struct stage *stage, const struct pass *pass, struct kernels kernels)
{
    int op =
        stage_add(stage, (struct op){.kind = OP_KERNEL,
                                     .part = pass->part,
                                     .stream = STREAM_COMPUTE,
                                     .name = pass->part == PART_FORWARD ? "forward" : "backward",
                                     .work_s = kernels.work_s * pass->times,
                                     .hbm_B = kernels.hbm_B * pass->times,
                                     .root = -1,
                                     .alloc_B = kernels.alloc_B,
                                     .free_B = kernels.free_B});
    return op;
}

/* What comes behind the pass waits until its kernels have been issued. The host itself is ahead
 * wherever it can be, up to the update of the step before, whose loss it reads. */
static void add_host(struct stage *stage, const struct pass *pass)
{
    if (!stage->issues) return;
    double work_s = pass->times * pass->direction->n_kernels * stage->parallel->gpu->issue_s;
    int op = program_add_op(stage->program,
                            (struct op){.kind = OP_HOST,
                                        .part = PART_LAUNCH,
                                        .stream = STREAM_HOST,
                                        .name = "issue",
                                        .work_s = work_s,
                                        .root = -1},
                            stage->parallel->perm);
    if (!stage->host_runs) stage_add_update_dep(stage);
    stage->host_runs = true;
    stage_wait(stage, op);
}

static void add_exchange(struct stage *stage, const struct pass *pass, enum exchange_kind kind)
{
    static const struct transfer forms[N_EXCHANGES] = {
        [EXCHANGE_REDUCE] = {"tensor sum", STREAM_LAYERS, COMM_TENSOR, COLL_ALLREDUCE, 0.0, 0},
        [EXCHANGE_GATHER] = {"tensor gather", STREAM_LAYERS, COMM_TENSOR, COLL_ALLGATHER, 0.0, 0},
        [EXCHANGE_SCATTER] = {"tensor scatter", STREAM_LAYERS, COMM_TENSOR, COLL_REDUCE_SCATTER,
                              0.0, 0},
        [EXCHANGE_RING] = {"ring", STREAM_RING, COMM_CONTEXT, COLL_ALLGATHER, 0.0, 0},
        [EXCHANGE_ROUTE] = {"route", STREAM_LAYERS, COMM_EXPERTS, COLL_ALLTOALL, 0.0, 0},
    };
    const struct exchange *exchange = &pass->direction->exchange[kind];
    if (exchange->n == 0) return;
    struct transfer transfer = forms[kind];
    transfer.size_B = exchange->size_B;
    transfer.n = exchange->n * pass->times;
    int op = stage_add(stage, stage_transfer(stage->parallel, &transfer));
    if (kind != EXCHANGE_RING) stage_wait_only(stage, op);
}

/* Do gathers and scatters of tensor ranks run beside the products? */
static bool beside_products(const struct stage *stage, const struct pass *pass)
{
    const struct exchange *exchange = pass->direction->exchange;
    return stage->parallel->spec->split.tensor_overlap &&
           exchange[EXCHANGE_GATHER].n + exchange[EXCHANGE_SCATTER].n > 0;
}

/* add_products — a product starts on the part of its operand that is here while the others' parts come,
 * or sends parts of its sum while it makes the next. */
static void add_products(struct stage *stage, const struct pass *pass)
{
    const struct direction *d = pass->direction;
    int op = add_kernels(stage, pass, (struct kernels){d->product_s, d->product_B, 0.0, 0.0});
    add_exchange(stage, pass, EXCHANGE_GATHER);
    add_exchange(stage, pass, EXCHANGE_SCATTER);
    stage_wait(stage, op);
}

/* The kernels ahead of attention's core, then the core beside the ring. Without a ring all kernels
 * are one op. */
static void add_compute(struct stage *stage, const struct pass *pass)
{
    const struct direction *d = pass->direction;
    bool beside = beside_products(stage, pass);
    double kernel_s = d->kernel_s - (beside ? d->product_s : 0.0);
    double kernel_B = d->kernel_B - (beside ? d->product_B : 0.0);
    if (d->exchange[EXCHANGE_RING].n == 0) {
        int op = add_kernels(stage, pass,
                             (struct kernels){kernel_s + d->core_s, kernel_B + d->core_B,
                                              pass->alloc_B, pass->free_B});
        stage_wait_only(stage, op);
        return;
    }
    int op = add_kernels(stage, pass, (struct kernels){kernel_s, kernel_B, pass->alloc_B, 0.0});
    stage_wait_only(stage, op);
    add_exchange(stage, pass, EXCHANGE_RING);
    int ring = stage->program->n_ops - 1;
    op = add_kernels(stage, pass, (struct kernels){d->core_s, d->core_B, 0.0, pass->free_B});
    stage_wait_only(stage, op);
    stage_wait(stage, ring);
}

static void add_pass(struct stage *stage, const struct pass *pass)
{
    bool beside = beside_products(stage, pass);
    add_compute(stage, pass);
    if (beside) add_products(stage, pass);
    add_host(stage, pass);
    add_exchange(stage, pass, EXCHANGE_REDUCE);
    if (!beside) {
        add_exchange(stage, pass, EXCHANGE_GATHER);
        add_exchange(stage, pass, EXCHANGE_SCATTER);
    }
    add_exchange(stage, pass, EXCHANGE_ROUTE);
}

/* ---- turns ---- */

static bool is_first(const struct stage *stage, int chunk)
{
    return stage->number == 0 && chunk == 0;
}

static bool is_last(const struct stage *stage, int chunk)
{
    const struct pipeline *pipeline = &stage->parallel->pipeline;
    return stage->number == pipeline->n_stages - 1 && chunk == pipeline->n_chunks - 1;
}

/* The pair whose sender is stage i of n, forward or backward. */
static int pair_comm(int n, int i, bool backward)
{
    return COMM_FIRST_PAIR + (backward ? n : 0) + (i + n) % n;
}

static void add_receive(struct stage *stage, const struct turn *turn)
{
    const struct parallel *parallel = stage->parallel;
    int n = parallel->pipeline.n_stages;
    bool back = turn->backward;
    if (back ? is_last(stage, turn->chunk) : is_first(stage, turn->chunk)) return;
    struct transfer transfer = {
        .name = back ? "receive gradient" : "receive",
        .stream = back ? STREAM_BACKWARD_IN : STREAM_FORWARD_IN,
        .comm = pair_comm(n, back ? stage->number + 1 : stage->number - 1, back),
        .kind = COLL_SENDRECV,
        .size_B = parallel->border_B,
        .n = 1};
    /* posted ahead: it waits for nothing */
    int op = program_add_op(stage->program, stage_transfer(parallel, &transfer), parallel->perm);
    stage_wait(stage, op);
}

static void add_send(struct stage *stage, const struct turn *turn)
{
    const struct parallel *parallel = stage->parallel;
    bool back = turn->backward;
    if (back ? is_first(stage, turn->chunk) : is_last(stage, turn->chunk)) return;
    struct transfer transfer = {.name = back ? "send gradient" : "send",
                                .stream = back ? STREAM_BACKWARD_OUT : STREAM_FORWARD_OUT,
                                .comm = pair_comm(parallel->pipeline.n_stages, stage->number, back),
                                .kind = COLL_SENDRECV,
                                .size_B = parallel->border_B,
                                .n = 1};
    int op = stage_add(stage, stage_transfer(parallel, &transfer));
    bool ahead = parallel->pipeline.n_chunks > 1 && parallel->spec->overlap;
    if (!ahead) stage_wait_only(stage, op);
}

/* Activations are held from the start of a chunk's forward to the end of its backward. */
static struct pass pass_of(const struct piece *piece, const struct piece *whole,
                           const struct turn *turn, bool first, bool last)
{
    double kept_B = whole->kept_B;
    struct pass pass = {.times = 1};
    if (!turn->backward) {
        pass.direction = &piece->forward;
        pass.part = PART_FORWARD;
        pass.alloc_B = first ? kept_B : 0.0;
        return pass;
    }
    pass.direction = &piece->backward;
    pass.part = PART_BACKWARD;
    pass.alloc_B = piece->again_B;
    pass.free_B = piece->again_B + (last ? kept_B : 0.0);
    return pass;
}

static void add_unit(struct stage *stage, const struct turn *turn, int unit)
{
    const struct chunk *chunk = &stage->chunks[turn->chunk];
    const struct piece *piece = &chunk->units[unit];
    bool lowest = unit == 0;
    struct pass pass = pass_of(piece, &chunk->whole, turn, lowest, lowest);
    bool opening = !turn->backward && turn->micro_batch == 0;
    if (opening && chunk->gather[unit] >= 0) stage_wait(stage, chunk->gather[unit]);
    shard_before(stage, piece);
    add_pass(stage, &pass);
    shard_after(stage, piece, turn);
}

static void add_turn(struct stage *stage, const struct turn *turn)
{
    struct chunk *chunk = &stage->chunks[turn->chunk];
    add_receive(stage, turn);
    if (shard_by_unit(stage->parallel, turn)) {
        for (int u = 0; u < chunk->n_units; u++) {
            add_unit(stage, turn, turn->backward ? chunk->n_units - 1 - u : u);
        }
    } else {
        struct pass pass = pass_of(&chunk->whole, &chunk->whole, turn, true, true);
        add_pass(stage, &pass);
        shard_after(stage, &chunk->whole, turn);
    }
    add_send(stage, turn);
}

/* add_equal — n micro-batches between the first and the last of a lone stage. */
static void add_equal(struct stage *stage, int n)
{
    const struct piece *whole = &stage->chunks[0].whole;
    struct pass pass = pass_of(whole, whole, &(struct turn){false, 1, 0}, true, true);
    pass.times = n;
    add_pass(stage, &pass);
    pass = pass_of(whole, whole, &(struct turn){true, 1, 0}, true, true);
    pass.times = n;
    add_pass(stage, &pass);
}

static void add_turns(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    const struct pipeline *pipeline = &parallel->pipeline;
    int n = 2 * pipeline->n_micro_batches * pipeline->n_chunks;
    struct turn *turns = arena_new(parallel->perm, struct turn, n);
    schedule_turns(pipeline, stage->number, turns);
    bool alone = pipeline->n_stages == 1 && !shard_in_each(parallel);
    int n_equal = pipeline->n_micro_batches - 2;
    for (int t = 0; t < n; t++) {
        if (alone && n_equal > 0 && t == 2) {
            add_equal(stage, n_equal);
            t += 2 * n_equal;
        }
        add_turn(stage, &turns[t]);
    }
}

/* ---- the whole ---- */

/* add_units — pieces [first, end) as at most n units of about equal numbers of blocks. */
static void add_units(struct stage *stage, struct chunk *chunk, int first, int end)
{
    const struct parallel *parallel = stage->parallel;
    const struct pipeline *pipeline = &parallel->pipeline;
    int n_passes = 2 * pipeline->n_chunks;
    if (shard_in_each(parallel)) n_passes *= pipeline->n_micro_batches;
    int most = n_passes < MOST_UNITS ? MOST_UNITS / n_passes : 1;
    chunk->units = arena_new(parallel->perm, struct piece, end - first);
    chunk->gather = arena_new(parallel->perm, int, end - first);
    for (int p = first; p < end; p++) {
        const struct piece *piece = &parallel->pieces[p];
        if (piece->forward.n_kernels == 0 && piece->n_parameters <= 0.0) continue;
        int unit = (int)((int64_t)(p - first) * most / (end - first));
        if (end - first <= most || chunk->n_units <= unit) chunk->n_units++;
        piece_add(&chunk->units[chunk->n_units - 1], piece);
        piece_add(&chunk->whole, piece);
    }
    for (int u = 0; u < chunk->n_units; u++) chunk->gather[u] = -1;
}

/* spread — things of part i, where n are dealt over so many parts as evenly as their number allows */
static int spread(int n, int n_parts, int i)
{
    return (int)((int64_t)n * (i + 1) / n_parts - (int64_t)n * i / n_parts);
}

/* Blocks of virtual stage j: stages get as many as each other first, as the longest holds up all,
 * then the chunks of a stage. */
static int n_blocks_of(const struct pipeline *pipeline, int n_blocks, int j)
{
    int of_stage = spread(n_blocks, pipeline->n_stages, j % pipeline->n_stages);
    return spread(of_stage, pipeline->n_chunks, j / pipeline->n_stages);
}

/* cut — what lies before the blocks goes with the first virtual stage, what lies behind with the last. */
static void cut(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    const struct pipeline *pipeline = &parallel->pipeline;
    int n_blocks = parallel->n_pieces - 2;
    int n = pipeline->n_stages * pipeline->n_chunks;
    stage->chunks = arena_new(parallel->perm, struct chunk, pipeline->n_chunks);
    for (int j = 0, end = 1, first; j < n; j++) {
        first = end;
        end += n_blocks_of(pipeline, n_blocks, j);
        if (j % pipeline->n_stages != stage->number) continue;
        struct chunk *chunk = &stage->chunks[j / pipeline->n_stages];
        add_units(stage, chunk, j == 0 ? 0 : first, j == n - 1 ? n_blocks + 2 : end);
    }
}

static bool host_is_slower(const struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    if (parallel->spec->one_gpu_s > 0.0) return false;
    double issue_s = parallel->gpu->issue_s;
    for (int c = 0; c < parallel->pipeline.n_chunks; c++) {
        const struct piece *whole = &stage->chunks[c].whole;
        const struct direction *f = &whole->forward, *b = &whole->backward;
        if (f->n_kernels * issue_s > f->kernel_s + f->core_s) return true;
        if (b->n_kernels * issue_s > b->kernel_s + b->core_s) return true;
    }
    return false;
}

/* The pipeline of batches starts on the next when the first kernel has taken this one. */
static void add_input(struct stage *stage)
{
    const struct parallel *parallel = stage->parallel;
    if (parallel->spec->input_s <= 0.0 || stage->number > 0) return;
    int op = stage_add(stage, (struct op){.kind = OP_HOST,
                                          .part = PART_INPUT,
                                          .stream = STREAM_INPUT,
                                          .name = "input",
                                          .work_s = parallel->spec->input_s,
                                          .root = -1});
    program_add_dep(stage->program, op, 0, 1, parallel->perm); /* told by tell_input */
    stage_wait(stage, op);
}

static void tell_input(struct stage *stage)
{
    struct program *program = stage->program;
    int input = 0;
    while (input < program->n_ops && program->ops[input].part != PART_INPUT) input++;
    if (input == program->n_ops) return;
    int first = input;
    while (program->ops[first].kind != OP_KERNEL) first++;
    program->deps[program->ops[input].first_dep].op = first;
}

void stage_build(const struct parallel *parallel, int number, struct program *program)
{
    static const char *const names[N_PARALLEL_STREAMS] = {
        "host",        "compute",     "input",        "layers",    "ring",  "forward in",
        "forward out", "backward in", "backward out", "gradients", "copies"};
    *program = (struct program){.n_streams = N_PARALLEL_STREAMS, .stream_names = names};
    struct stage stage = {.parallel = parallel,
                          .program = program,
                          .number = number,
                          .last_unit = {-1, -1},
                          .last_gradients = -1,
                          .last_copies = -1};
    cut(&stage);
    stage.issues = host_is_slower(&stage);
    add_input(&stage);
    shard_open(&stage);
    add_turns(&stage);
    shard_close(&stage);
    tell_input(&stage);
    program->held = shard_held(&stage);
    program->static_B = step_sum_B(&program->held);
}
