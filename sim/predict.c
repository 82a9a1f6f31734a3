#include "predict.h"

#include "base/must.h"
#include "estimate.h"
#include "fold.h"
#include "interval.h"
#include "jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fidelity_names[N_FIDELITIES] = {"estimate", "fluid", "message"};
const char *const share_names[N_SHARES] = {
    "forward",   "backward", "optimizer", "exposed communication",
    "straggler", "launch",   "input",     "bubble",
};

/* all links together, as a kind of gain; worth a line when it buys this much more than one tier */
static const char LINKS[] = "links";
static const double TIE = 0.01;

static struct run *run_at(const struct inputs *in, const struct plan *plan, struct arena *perm)
{
    switch (in->fidelity) {
    case FIDELITY_ESTIMATE:
        return estimate_run(plan, perm);
    case FIDELITY_MESSAGE:
        return engine_message(plan, perm);
    case FIDELITY_FLUID:
    case N_FIDELITIES:
        break;
    }
    return engine_run(plan, &scale_none, perm);
}

/* ---- where the step goes ---- */

/* What an interval of a class's time is, if no kernel runs: the first that applies. */
static enum share share_of_wait(const struct job *job, const struct op *op, bool moving)
{
    if (op->kind == OP_COLLECTIVE && moving) return SHARE_EXPOSED;
    /* the pipeline has nothing for this stage yet: the others are no stragglers */
    if (op->kind == OP_COLLECTIVE && job->n_programs > 1 && job_joins_roles(job, op->comm))
        return SHARE_BUBBLE;
    if (op->kind == OP_COLLECTIVE) return SHARE_STRAGGLER;
    if (op->part == PART_COMMUNICATION) return SHARE_EXPOSED; /* waits for a cycle of the library */
    return op->part == PART_INPUT ? SHARE_INPUT : SHARE_LAUNCH;
}

static enum share share_of_kernel(const struct op *op)
{
    if (op->part == PART_FORWARD) return SHARE_FORWARD;
    if (op->part == PART_COMMUNICATION) return SHARE_EXPOSED; /* copies into and out of buffers */
    return op->part == PART_OPTIMIZER ? SHARE_OPTIMIZER : SHARE_BACKWARD;
}

/* At `time_s` something of kind `share` begins (+1) or ends (-1). */
struct edge {
    double time_s;
    int32_t share, step;
};

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left;
    const struct edge *b = right;
    if (a->time_s < b->time_s) return -1;
    if (a->time_s > b->time_s) return 1;
    return (a->share > b->share) - (a->share < b->share);
}

static int64_t add_edges(struct edge *edges, int64_t n, double from_s, double to_s,
                         enum share share)
{
    if (to_s <= from_s) return n;
    edges[n] = (struct edge){from_s, (int32_t)share, 1};
    edges[n + 1] = (struct edge){to_s, (int32_t)share, -1};
    return n + 2;
}

/* The edges of one class within the last period. */
static int64_t list_edges(const struct result *result, int rank_class, struct edge *edges)
{
    const struct run *run = result->run;
    const struct job *job = result->in->job;
    double from_s = run->period_start_s;
    int64_t n = 0;
    for (int64_t s = 0; s < run->n_spans; s++) {
        const struct span *span = &run->spans[s];
        if (span->rank_class != rank_class || span->end_s <= from_s) continue;
        const struct op *op = span_op(result->plan, span);
        double start_s = fmax(span->start_s, from_s);
        double begin_s = fmax(span->begin_s, from_s);
        if (op->kind == OP_KERNEL) {
            n = add_edges(edges, n, begin_s, span->end_s, share_of_kernel(op));
        } else {
            n = add_edges(edges, n, start_s, begin_s, share_of_wait(job, op, false));
            n = add_edges(edges, n, begin_s, span->end_s, share_of_wait(job, op, true));
        }
    }
    return n;
}

/* Cut the period at every edge; each piece belongs to the first share that is under way. */
static void divide_period(struct result *result, int rank_class, struct arena scratch)
{
    struct edge *edges = arena_new(&scratch, struct edge, 4 * result->run->n_spans + 2);
    int64_t n = list_edges(result, rank_class, edges);
    qsort(edges, (size_t)n, sizeof *edges, compare_edges);
    int under_way[N_SHARES] = {0};
    double at_s = result->run->period_start_s;
    for (int64_t e = 0; e <= n; e++) {
        double next_s = e < n ? edges[e].time_s : result->run->end_s;
        int share = 0;
        while (share < SHARE_BUBBLE && under_way[share] == 0) share++;
        result->share_s[share] += next_s - at_s;
        if (under_way[SHARE_EXPOSED] > 0) result->communication_s += next_s - at_s;
        at_s = next_s;
        if (e < n) under_way[edges[e].share] += edges[e].step;
    }
}

/* The class whose kernels take longest in the last iteration. */
static int hardest_class(const struct result *result, struct arena scratch)
{
    double *busy_s = arena_new(&scratch, double, result->plan->n_classes);
    int hardest = 0;
    for (int64_t s = 0; s < result->run->n_spans; s++) {
        const struct span *span = &result->run->spans[s];
        if (span->iteration != result->in->job->n_iterations - 1) continue;
        if (span_op(result->plan, span)->kind != OP_KERNEL) continue;
        busy_s[span->rank_class] += span->end_s - span->begin_s;
    }
    for (int c = 1; c < result->plan->n_classes; c++) {
        if (busy_s[c] > busy_s[hardest]) hardest = c;
    }
    return hardest;
}

static void explain_time(struct result *result, struct arena scratch)
{
    int hardest = hardest_class(result, scratch);
    divide_period(result, hardest, scratch);
    double *share_s = result->share_s;
    double lag = fold_lag(result->in); /* a class stands for its slowest rank; the others wait */
    for (int s = SHARE_FORWARD; s <= SHARE_OPTIMIZER; s++) {
        share_s[SHARE_STRAGGLER] += share_s[s] * (1.0 - 1.0 / lag);
        share_s[s] /= lag;
    }
    result->compute_s = share_s[SHARE_FORWARD] + share_s[SHARE_BACKWARD] + share_s[SHARE_OPTIMIZER];
    result->exposed_communication_s = share_s[SHARE_EXPOSED];
    result->bubble_s = share_s[SHARE_BUBBLE];
    const struct program *program = plan_program(result->plan, hardest);
    for (int o = 0; o < program->n_ops; o++) {
        const struct op *op = &program->ops[o];
        if (op->kind != OP_COLLECTIVE) continue;
        int n = job_group_size(result->in->job, op->comm);
        result->bytes_sent_B += op_times(op) * coll_bytes_sent_B(op->coll, n, op->size_B);
    }
}

/* ---- one GPU ---- */

/* The same training on a single GPU: what efficiency is measured against.
 *   samples  out: of a step of it */
static double one_gpu_time(const struct inputs *in, struct arena scratch, double *samples)
{
    struct inputs *one = arena_new(&scratch, struct inputs, 1);
    *one = *in;
    one->train.n_ranks = 1;
    one->train.n_nodes = 1;
    one->train.split = split_none;
    one->train.split.recompute = in->train.split.recompute;
    one->n_gpus = 1;
    one->n_slow = 0;
    one->gpu_of = arena_new(&scratch, int, 1);
    const struct strategy *strategy = strategy_find(in->train.strategy);
    must(strategy);
    one->job = strategy->build(&one->train, in->model, &in->gpu, &scratch);
    adjust_job(&in->adjust, one->job);
    *samples = one->job->samples_per_iteration;
    const struct plan *plan = plan_build(one, &scratch);
    return estimate_period(plan, &scale_none, scratch).iteration_s;
}

/* ---- what limits ---- */

static int compare_gains(const void *left, const void *right)
{
    const struct gain *a = left;
    const struct gain *b = right;
    return (a->frac < b->frac) - (a->frac > b->frac);
}

/* what-ifs are compared with the plan as it is, in the fidelity they are run in */
struct base {
    const struct plan *plan;
    const struct estimate *estimate; /* NULL: by the engine */
    double time_s;
    bool tier_holds[N_TIERS]; /* may a link of it hold something back? */
};

/* Closed forms do not say what holds them back. */
static struct base base_of(const struct result *result, struct arena *perm)
{
    struct arena scratch = *perm;
    struct base base = {.plan = result->plan, .time_s = result->run->iteration_s};
    for (int tier = 0; tier < N_TIERS; tier++) base.tier_holds[tier] = true;
    if (result->in->fidelity == FIDELITY_ESTIMATE) {
        base.estimate = estimate_open(result->plan, perm);
        return base;
    }
    const struct run *run = result->run;
    if (result->in->fidelity != FIDELITY_FLUID)
        run = engine_run(result->plan, &scale_none, &scratch);
    base.time_s = run->iteration_s;
    memcpy(base.tier_holds, run->tier_holds, sizeof base.tier_holds);
    return base;
}

static void add_gain(struct result *result, const char *kind, struct base base, struct scale scale,
                     struct arena scratch)
{
    double faster_s = base.estimate ? estimate_again(base.estimate, &scale, scratch)
                                    : engine_run(base.plan, &scale, &scratch)->iteration_s;
    result->gains[result->n_gains++] = (struct gain){kind, 1.0 - faster_s / base.time_s};
}

/* What held nothing back at any time can be doubled without a change, so it is not played again. */
static void add_no_gain(struct result *result, const char *kind)
{
    result->gains[result->n_gains++] = (struct gain){kind, 0.0};
}

static bool has_host_ops(const struct job *job)
{
    for (int p = 0; p < job->n_programs; p++) {
        for (int o = 0; o < job->programs[p].n_ops; o++) {
            if (job->programs[p].ops[o].kind == OP_HOST) return true;
        }
    }
    return false;
}

/* The tier of that name; N_TIERS when the kind is none. */
static enum tier tier_of(const char *kind)
{
    int tier = 0;
    while (tier < N_TIERS && strcmp(kind, tier_names[tier]) != 0) tier++;
    return (enum tier)tier;
}

static bool uses_tier(const struct plan *plan, enum tier tier)
{
    for (int r = 0; r < plan->n_link_classes; r++) {
        if (plan->in->topo->links[plan->rep_link[r]].tier == tier) return true;
    }
    return false;
}

/* Where tiers are full at the same time (switches as fast as the cards on them, say), doubling one
 * buys nothing and doubling all does: then the links together are one more kind. */
static void add_links_together(struct result *result, struct base base, struct arena scratch)
{
    double best_tier = 0.0;
    bool any_holds = false;
    for (int tier = 0; tier < N_TIERS; tier++) any_holds |= base.tier_holds[tier];
    if (!any_holds) return;
    for (int g = 0; g < result->n_gains; g++) {
        if (tier_of(result->gains[g].kind) == N_TIERS) continue;
        best_tier = fmax(best_tier, result->gains[g].frac);
    }
    struct scale scale = scale_none;
    for (int tier = 0; tier < N_TIERS; tier++) scale.tier[tier] = 2.0;
    add_gain(result, LINKS, base, scale, scratch);
    if (result->gains[result->n_gains - 1].frac <= best_tier + TIE) result->n_gains--;
}

static void try_gains(struct result *result, struct arena scratch)
{
    struct base base = base_of(result, &scratch);
    struct scale scale = scale_none;
    scale.kernel = 0.5;
    add_gain(result, "compute", base, scale, scratch);
    scale = scale_none;
    scale.host = 0.5;
    if (has_host_ops(result->in->job)) {
        add_gain(result, "launch", base, scale, scratch);
    } else {
        add_no_gain(result, "launch");
    }
    scale = scale_none;
    scale.latency = 0.5;
    add_gain(result, "latency", base, scale, scratch);
    for (int tier = 0; tier < N_TIERS; tier++) {
        if (!uses_tier(result->plan, (enum tier)tier)) continue;
        scale = scale_none;
        scale.tier[tier] = 2.0;
        if (base.tier_holds[tier]) {
            add_gain(result, tier_names[tier], base, scale, scratch);
        } else {
            add_no_gain(result, tier_names[tier]);
        }
    }
    add_links_together(result, base, scratch);
    qsort(result->gains, (size_t)result->n_gains, sizeof *result->gains, compare_gains);
}

/* The link of a tier (N_TIERS: of any) that held bundles back for longest; the most loaded one when
 * none did. */
static int worst_link(const struct result *result, enum tier tier)
{
    const struct plan *plan = result->plan;
    const struct run *run = result->run;
    int worst = -1;
    for (int r = 0; r < plan->n_link_classes; r++) {
        if (tier != N_TIERS && plan->in->topo->links[plan->rep_link[r]].tier != tier) continue;
        if (worst < 0 || run->bottleneck_s[r] > run->bottleneck_s[worst] ||
            (run->bottleneck_s[r] >= run->bottleneck_s[worst] &&
             run->busy_s[r] > run->busy_s[worst])) {
            worst = r;
        }
    }
    return worst;
}

static const char *name_links(const struct result *result, enum tier tier, struct arena *perm)
{
    const struct plan *plan = result->plan;
    char name[TOPO_NAME_MAX];
    int r = worst_link(result, tier);
    topo_link_name(plan->in->topo, plan->rep_link[r], name, sizeof name);
    if (plan->n_links[r] == 1) return arena_text(perm, "%s", name);
    return arena_text(perm, "%s (and %d like it)", name, plan->n_links[r] - 1);
}

static const char *name_limit(const struct result *result, const char *kind, struct arena *perm)
{
    if (strcmp(kind, "compute") == 0) return result->in->gpu.name;
    if (strcmp(kind, "launch") == 0) return "kernel launch and input";
    if (strcmp(kind, "latency") == 0) return result->in->library.name;
    return name_links(result, tier_of(kind), perm); /* all links together: of any tier */
}

void result_warn(struct result *result, const char *warning, struct arena *perm)
{
    const char **warnings = arena_new(perm, const char *, result->n_warnings + 1);
    for (int w = 0; w < result->n_warnings; w++) warnings[w] = result->warnings[w];
    warnings[result->n_warnings++] = warning;
    result->warnings = warnings;
}

/* The prediction is the last step; what a failure costs while nobody has noticed it is in another. */
enum { SEEN_PERCENT = 1 };

static void warn_of_steps(struct result *result, struct arena *perm)
{
    const struct run *run = result->run;
    int n = result->in->job->n_iterations;
    double *ends_s = arena_new(perm, double, n);
    for (int64_t s = 0; s < run->n_spans; s++) {
        double *end_s = &ends_s[run->spans[s].iteration];
        *end_s = fmax(*end_s, run->spans[s].end_s);
    }
    double shortest_s = ends_s[0], longest_s = ends_s[0];
    for (int i = 1; i < n; i++) {
        shortest_s = fmin(shortest_s, ends_s[i] - ends_s[i - 1]);
        longest_s = fmax(longest_s, ends_s[i] - ends_s[i - 1]);
    }
    if (longest_s <= shortest_s * (1 + SEEN_PERCENT / 100.0)) return;
    result_warn(result,
                arena_text(perm,
                           "links change while the %d steps are run: they take %.3g s to %.3g s, "
                           "the last, which is reported, %.3g s",
                           n, shortest_s, longest_s, run->iteration_s),
                perm);
}

void result_warn_of_events(struct result *result, struct arena *perm)
{
    const struct inputs *in = result->in;
    if (in->n_events == 0) return;
    double at_s = in->events[in->n_events - 1].at_s;
    if (in->fidelity == FIDELITY_ESTIMATE) {
        result_warn(result, "closed forms know no time: links are as at the start", perm);
    } else if (at_s >= result->run->end_s) {
        result_warn(
            result,
            arena_text(perm,
                       "a link changes at %.6g s, but the %d steps that are run end at %.6g s "
                       "(run/iterations)",
                       at_s, in->job->n_iterations, result->run->end_s),
            perm);
    } else if (in->n_jobs == 0) {
        warn_of_steps(result, perm);
    }
}

/* No GPU does more than its peak: a measured throughput of one GPU, a count of FLOPs or a peak is wrong. */
static void warn_of_impossible(struct result *result, struct arena *perm)
{
    if (!(result->mfu > 1)) return;
    result_warn(
        result,
        arena_text(perm,
                   "MFU is %.0f %%: no GPU does more than its %s peak (is the throughput of one "
                   "GPU, the precision or the batch as stated?)",
                   100 * result->mfu, dtype_names[result->in->train.dtype]),
        perm);
}

const char *result_busiest_link(const struct result *result, struct arena *perm)
{
    return worst_link(result, N_TIERS) < 0 ? NULL : name_links(result, N_TIERS, perm);
}

struct result *predict(const struct inputs *in, struct arena *perm)
{
    if (in->n_jobs > 0) return predict_jobs(in, perm);
    struct result *result = arena_new(perm, struct result, 1);
    result->in = in;
    result->plan = plan_build(in, perm);
    result->run = run_at(in, result->plan, perm);
    result->stuck = result->run->stuck;
    result->n_classes = result->plan->n_classes;
    result->n_events = result->run->n_events;
    result->warnings = result->plan->warnings;
    result->n_warnings = result->plan->n_warnings;
    if (result->stuck) return result;
    result_warn_of_events(result, perm);
    result->iteration_s = result->run->iteration_s;
    explain_time(result, *perm);
    result->throughput = in->job->samples_per_iteration / result->iteration_s;
    double one_gpu_samples;
    result->one_gpu_s = one_gpu_time(in, *perm, &one_gpu_samples);
    double one_gpu_throughput = one_gpu_samples / result->one_gpu_s;
    result->scaling_efficiency = result->throughput / (in->n_gpus * one_gpu_throughput);
    result->memory_B = result->run->peak_memory_B;
    const struct program *fullest = plan_program(result->plan, result->run->peak_class);
    result->held = fullest->held;
    result->activations_B = result->memory_B - fullest->static_B;
    result->fits = result->memory_B <= in->gpu.memory_B;
    double peak_flops = in->gpu.peak_flops[in->train.dtype] * in->n_gpus;
    result->mfu = in->job->flop_per_iteration / (result->iteration_s * peak_flops);
    warn_of_impossible(result, perm);
    try_gains(result, *perm);
    struct interval interval = interval_step(result->plan, result->run, *perm);
    result->interval_s[0] = interval.low_s;
    result->interval_s[1] = interval.high_s;
    result->limit_kind = result->gains[0].kind;
    result->gain_if_doubled = result->gains[0].frac;
    result->limit_name = name_limit(result, result->limit_kind, perm);
    return result;
}

/* ---- a collective alone ---- */

static const char *const collective_streams[] = {"communication"};

/* servers_of — a collective's: those of the job, else one per node; 0 where the library has no use
 * for them, as ways to each would be looked at from each node. */
static int servers_of(const struct inputs *in, enum coll_kind kind)
{
    const struct library *library = &in->library;
    for (int c = 0; c < library->n_choices; c++) {
        const struct coll_algo *algo = library->choices[c].algo;
        if (algo->kind != kind || !algo->servers) continue;
        return in->train.n_servers > 0 ? in->train.n_servers : in->topo->n_nodes;
    }
    return 0;
}

struct inputs *inputs_collective(const struct inputs *base, enum coll_kind kind, double size_B,
                                 const char *algorithm, const char *protocol, struct arena *perm)
{
    struct inputs *in = arena_new(perm, struct inputs, 1);
    *in = *base;
    in->hbm_per_comm_B = 0.0;
    struct job *job = arena_new(perm, struct job, 1);
    struct program *program = arena_new(perm, struct program, 1);
    *program = (struct program){.n_streams = 1, .stream_names = collective_streams};
    program_add_op(program,
                   (struct op){.kind = OP_COLLECTIVE,
                               .part = PART_COMMUNICATION,
                               .name = coll_kind_names[kind],
                               .coll = kind,
                               .size_B = size_B,
                               .root = kind == COLL_BROADCAST || kind == COLL_REDUCE ? 0 : -1,
                               .algorithm = algorithm,
                               .protocol = protocol},
                   perm);
    struct comm *comm = arena_new(perm, struct comm, 1);
    *comm =
        (struct comm){.name = "world", .from = -1, .to = -1, .n_servers = servers_of(base, kind)};
    int n = base->n_gpus;
    *job = (struct job){.name = coll_kind_names[kind],
                        .mesh = {.n_axes = 1, .size = {n}, .name = {"ranks"}},
                        .n_ranks = n,
                        .role_axis = -1,
                        .programs = program,
                        .n_programs = 1,
                        .comms = comm,
                        .n_comms = 1,
                        .n_iterations = 1,
                        .samples_per_iteration = 1,
                        .sample = "collective"};
    in->job = job;
    return in;
}

struct collective_time predict_collective(const struct inputs *in, struct arena *perm)
{
    const struct plan *plan = plan_build(in, perm);
    double time_s = run_at(in, plan, perm)->end_s;
    struct interval interval = interval_collective(plan, time_s);
    return (struct collective_time){time_s, {interval.low_s, interval.high_s}, plan};
}
