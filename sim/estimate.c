/* How a step is walked at little cost.
 *
 * Nothing is shared here: a collective takes what it takes alone. So classes of ranks that differ only
 * in what they load (positions in a tree, say) keep the same times, and the classes are folded once more:
 * those of one program and slowdown, whose collectives take equal times and whose groups hold the same
 * sets of kinds, are one clock. The partition is found by refining until no kind splits.
 *
 * Ops are compiled to what a walk reads of them. Each end keeps the end that it waited for; what the
 * longest path consists of is read off backwards, once. */
#include "estimate.h"

#include "base/must.h"
#include "place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* a moment, and the cell of the end that it waits for; NONE: for nothing */
struct moment {
    double s;
    int32_t cell;
};

static inline struct moment later(struct moment a, struct moment b)
{
    return b.s > a.s ? b : a;
}

/* what a walk reads of an op */
struct step {
    double work_s; /* scaled; collective: times that it runs */
    int32_t kind, stream;
    int32_t first_dep, n_deps;
    int32_t next; /* the op behind it on its stream; the first again behind the last */
    int32_t comm;
    int32_t place; /* a collective's number among those of its communicator */
};

/* a program, compiled */
struct score {
    struct step *steps;
    const struct dep *deps;
    int32_t *first_op; /* [stream] NONE = it has none */
    int32_t **of_comm; /* [comm] the op of each number */
};

/* a class of ranks that stands for all of equal times */
struct clock {
    const struct plan_class *class;
    const struct score *score;
    int number; /* of the class */
    int first_stream, n_streams, first_op;
    bool queued;
};

struct stream_at {
    struct moment free;  /* end of its last evaluated op */
    struct moment start; /* while it waits */
    int32_t op;          /* next; NONE = it has none */
    int32_t iteration;   /* of its next op */
    bool waits;          /* its next op is a collective that it has come to */
};

/* clocks of a group's classes, each once */
struct members {
    const int32_t *clocks;
    int n;
};

/* an op of a clock in its last iteration, and by which turn of the walk it got its times; a collective's
 * members get theirs by one */
struct settled {
    int32_t at;
    int32_t turn;
};

/* Evaluated in the order of the data: an op's times are known once those of its stream's last op and of its
 * dependencies are. Clocks of which something new may be known stand in a queue. */
struct walk {
    const struct plan *plan;
    const struct job *job;
    const struct scale *scale;
    struct run *run;     /* NULL: no spans are asked for */
    struct arena *spans; /* where they go */
    struct score *scores;
    double *coll_s; /* [colls] alone on the network */
    struct clock *clocks;
    int n_clocks;
    int32_t *clock_of;       /* [classes] */
    int32_t *next_twin;      /* [classes] the next of the same clock; NONE */
    struct members *members; /* [groups] of those that some clock is in */
    struct stream_at *streams;
    int n_streams, n_ops;
    int32_t *done;       /* [ops] iterations evaluated */
    double *end_s;       /* [op * n_iterations + iteration]: its cell */
    int32_t *from;       /* [cell] whose end it waited for */
    struct moment *last; /* [iteration] end of what ends last in it */
    int32_t *queue;      /* [n_clocks] ring */
    int head, n_queued;
    struct settled *order; /* [n_ops] of the last iteration; NULL: nobody asks */
    int n_order;
    int32_t turn;
};

/* ---- programs ---- */

static void chain_streams(const struct program *program, struct score *score, struct arena *perm)
{
    score->first_op = arena_new(perm, int32_t, program->n_streams);
    int32_t *behind = arena_new(perm, int32_t, program->n_streams);
    int32_t *last = arena_new(perm, int32_t, program->n_streams);
    for (int s = 0; s < program->n_streams; s++) score->first_op[s] = last[s] = NONE;
    for (int o = program->n_ops - 1; o >= 0; o--) {
        int stream = program->ops[o].stream;
        if (last[stream] == NONE) last[stream] = o;
        score->steps[o].next = behind[stream];
        score->first_op[stream] = behind[stream] = o;
    }
    for (int s = 0; s < program->n_streams; s++)
        if (last[s] != NONE) score->steps[last[s]].next = score->first_op[s];
}

static void number_collectives(const struct program *program, int n_comms, struct score *score,
                               struct arena *perm)
{
    int32_t *n = arena_new(perm, int32_t, n_comms);
    score->of_comm = arena_new(perm, int32_t *, n_comms);
    for (int o = 0; o < program->n_ops; o++) {
        struct step *step = &score->steps[o];
        if (step->kind == OP_COLLECTIVE) step->place = n[step->comm]++;
    }
    for (int c = 0; c < n_comms; c++) score->of_comm[c] = arena_new(perm, int32_t, n[c]);
    for (int o = 0; o < program->n_ops; o++) {
        const struct step *step = &score->steps[o];
        if (step->kind == OP_COLLECTIVE) score->of_comm[step->comm][step->place] = o;
    }
}

static double work_of(const struct op *op, const struct scale *scale)
{
    switch (op->kind) {
    case OP_HOST:
        return op->work_s * scale->host;
    case OP_KERNEL:
        return op->work_s * scale->kernel;
    case OP_COLLECTIVE:
        break;
    }
    return op_times(op);
}

static void compile(struct walk *walk, int p, struct arena *perm)
{
    const struct program *program = &walk->job->programs[p];
    struct score *score = &walk->scores[p];
    score->deps = program->deps;
    score->steps = arena_new(perm, struct step, program->n_ops);
    for (int o = 0; o < program->n_ops; o++) {
        const struct op *op = &program->ops[o];
        score->steps[o] = (struct step){.work_s = work_of(op, walk->scale),
                                        .kind = (int32_t)op->kind,
                                        .stream = op->stream,
                                        .first_dep = op->first_dep,
                                        .n_deps = op->n_deps,
                                        .comm = op->comm};
    }
    chain_streams(program, score, perm);
    number_collectives(program, walk->job->n_comms, score, perm);
}

/* ---- collectives under what-ifs ---- */

static double work_B(const struct plan_coll *coll, const struct plan_phase *phase,
                     const struct plan_bundle *bundle)
{
    return bundle->bytes_per_B * coll->req.size_B + phase->fill_B;
}

static void add_loads(const struct plan_bundle *bundle, double work, double *load)
{
    for (int l = 0; l < bundle->n_loads; l++)
        load[bundle->loads[l].resource] += bundle->loads[l].n * work;
}

/* The longest that a resource of the bundle is at work; their loads are zero behind it. */
static double take_busiest_s(const struct walk *walk, const struct plan_bundle *bundle,
                             double *load)
{
    const struct plan *plan = walk->plan;
    double most_s = 0.0;
    for (int l = 0; l < bundle->n_loads; l++) {
        int r = bundle->loads[l].resource;
        most_s = fmax(most_s, load[r] / (plan->capacity[r] * scale_of(walk->scale, plan, r)));
        load[r] = 0.0;
    }
    return most_s;
}

/* What a phase's busiest resource has to do, and its slowest bundle at the least. */
static double drain_s(const struct walk *walk, const struct plan_coll *coll, int p, double *load)
{
    const struct plan_phase *phase = &walk->plan->phases[p];
    const struct plan_bundle *bundles = &walk->plan->bundles[phase->first_bundle];
    double least_s = 0.0;
    for (int b = 0; b < phase->n_bundles; b++) {
        double work = work_B(coll, phase, &bundles[b]);
        least_s = fmax(least_s, work / bundles[b].cap_Bps);
        add_loads(&bundles[b], work, load);
    }
    for (int b = 0; b < phase->n_bundles; b++)
        least_s = fmax(least_s, take_busiest_s(walk, &bundles[b], load));
    return least_s;
}

static void scale_reach(struct reach *reach, const struct scale *scale)
{
    double narrowest_Bps = HUGE_VAL;
    for (int t = 0; t < N_TIERS; t++) {
        reach->slowest_Bps[t] *= scale->tier[t];
        reach->best_Bps[t] *= scale->tier[t];
        narrowest_Bps = fmin(narrowest_Bps, reach->best_Bps[t]);
    }
    reach->best_narrowest_Bps = narrowest_Bps;
}

/* The closed form with hops of other latency and rate. */
static double closed_s(const struct walk *walk, const struct plan_coll *coll)
{
    const struct scale *scale = walk->scale;
    struct reaches reaches = *coll->reaches;
    scale_reach(&reaches.intra, scale);
    scale_reach(&reaches.inter, scale);
    scale_reach(&reaches.server, scale);
    struct coll_hops hops = place_hops(&reaches, &walk->plan->in->library, coll->row, false);
    hops.intra.alpha_s = coll->hops.intra.alpha_s * scale->latency;
    hops.inter.alpha_s = coll->hops.inter.alpha_s * scale->latency;
    return coll->row->base_latency_s * scale->latency + coll->algo->cost_s(&coll->req, hops);
}

static double scaled_coll_s(const struct walk *walk, const struct plan_coll *coll, double *load)
{
    const struct scale *scale = walk->scale;
    if (coll->n_phases == 0) return coll->estimate_s * scale->latency;
    double phases_s = 0.0;
    for (int p = coll->first_phase; p < coll->first_phase + coll->n_phases; p++) {
        phases_s += walk->plan->phases[p].latency_s * scale->latency;
        phases_s += drain_s(walk, coll, p, load);
    }
    return coll->launch_s * scale->latency + fmax(closed_s(walk, coll), phases_s);
}

static void time_colls(struct walk *walk, struct arena *perm)
{
    const struct plan *plan = walk->plan;
    walk->coll_s = arena_new(perm, double, plan->n_colls);
    struct arena scratch = *perm;
    bool scaled = walk->scale != &scale_none;
    double *load = scaled ? arena_new(&scratch, double, plan->n_resources) : NULL;
    for (int c = 0; c < plan->n_colls; c++) {
        const struct plan_coll *coll = &plan->colls[c];
        walk->coll_s[c] = scaled ? scaled_coll_s(walk, coll, load) : coll->estimate_s;
    }
}

/* ---- clocks ---- */

/* Vigna's splitmix64 (2015) spreads the bits. */
static uint64_t mix(uint64_t seed, uint64_t value)
{
    uint64_t z = seed + value + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* kinds of classes while they are refined */
struct kind {
    uint64_t hash;
    int32_t class;
};
struct kinds {
    uint64_t *hash;    /* [classes] */
    int32_t *number;   /* [classes] */
    struct kind *sort; /* [classes] */
    int32_t *seen;     /* [numbers] the last group in which it was met */
    uint64_t *of_group;
    int n;
};

static int compare_kinds(const void *left, const void *right)
{
    const struct kind *a = left;
    const struct kind *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return (a->class > b->class) - (a->class < b->class);
}

static int number_kinds(struct kinds *kinds, int n_classes)
{
    int n = 0;
    for (int c = 0; c < n_classes; c++) kinds->sort[c] = (struct kind){kinds->hash[c], c};
    qsort(kinds->sort, (size_t)n_classes, sizeof *kinds->sort, compare_kinds);
    for (int i = 0; i < n_classes; i++) {
        if (i == 0 || kinds->sort[i].hash != kinds->sort[i - 1].hash) n++;
        kinds->number[kinds->sort[i].class] = n - 1;
    }
    return n;
}

/* What a class is by itself: its program, its pace, how long its collectives take. */
static void first_kinds(const struct walk *walk, struct kinds *kinds)
{
    const struct plan *plan = walk->plan;
    uint64_t colls = 0;
    for (int c = 0; c < plan->n_classes; c++) {
        const struct plan_class *class = &plan->classes[c];
        const struct program *program = plan_program(plan, c);
        if (c == 0 || class->coll != class[-1].coll) {
            colls = 0;
            for (int o = 0; o < program->n_ops; o++)
                if (class->coll[o] >= 0) colls = mix(colls, bits_of(walk->coll_s[class->coll[o]]));
        }
        kinds->hash[c] = mix(mix(colls, (uint64_t) class->program), bits_of(class->slowdown));
    }
}

/* The set of kinds in each group; a group's begin is a maximum, so how many there are of each is nothing. */
static void sum_groups(const struct plan *plan, struct kinds *kinds)
{
    for (int n = 0; n < kinds->n; n++) kinds->seen[n] = NONE;
    for (int g = 0; g < plan->n_groups; g++) {
        kinds->of_group[g] = 0;
        for (int m = 0; m < plan->groups[g].n_classes; m++) {
            int class = plan->groups[g].classes[m];
            int number = kinds->number[class];
            if (kinds->seen[number] == g) continue;
            kinds->seen[number] = g;
            kinds->of_group[g] += mix(0, kinds->hash[class]);
        }
    }
}

static void split_kinds(const struct walk *walk, struct kinds *kinds)
{
    const struct plan *plan = walk->plan;
    sum_groups(plan, kinds);
    for (int c = 0; c < plan->n_classes; c++) {
        for (int comm = 0; comm < walk->job->n_comms; comm++) {
            int group = plan->classes[c].group[comm];
            kinds->hash[c] = mix(kinds->hash[c], group < 0 ? 0 : kinds->of_group[group]);
        }
    }
}

static const int32_t *refine(const struct walk *walk, struct arena *perm)
{
    int n = walk->plan->n_classes;
    struct kinds kinds = {.hash = arena_new(perm, uint64_t, n),
                          .number = arena_new(perm, int32_t, n),
                          .sort = arena_new(perm, struct kind, n),
                          .seen = arena_new(perm, int32_t, n),
                          .of_group = arena_new(perm, uint64_t, walk->plan->n_groups)};
    first_kinds(walk, &kinds);
    for (int before = 0; (kinds.n = number_kinds(&kinds, n)) > before && kinds.n < n;) {
        before = kinds.n;
        split_kinds(walk, &kinds);
    }
    return kinds.number;
}

static void add_clock(struct walk *walk, int class)
{
    const struct plan *plan = walk->plan;
    const struct program *program = plan_program(plan, class);
    walk->clocks[walk->n_clocks++] =
        (struct clock){.class = &plan->classes[class],
                       .score = &walk->scores[plan->classes[class].program],
                       .number = class,
                       .first_stream = walk->n_streams,
                       .n_streams = program->n_streams,
                       .first_op = walk->n_ops};
    walk->n_streams += program->n_streams;
    walk->n_ops += program->n_ops;
}

/* In the order of the first class of each. */
static void make_clocks(struct walk *walk, struct arena *perm)
{
    int n = walk->plan->n_classes;
    walk->clocks = arena_new(perm, struct clock, n);
    walk->clock_of = arena_new(perm, int32_t, n);
    walk->next_twin = arena_new(perm, int32_t, n);
    const int32_t *number = refine(walk, perm);
    int32_t *clock = arena_new(perm, int32_t, n); /* of a number */
    int32_t *latest = arena_new(perm, int32_t, n);
    for (int i = 0; i < n; i++) clock[i] = NONE;
    for (int c = 0; c < n; c++) {
        walk->next_twin[c] = NONE;
        if (clock[number[c]] == NONE) {
            clock[number[c]] = walk->n_clocks;
            add_clock(walk, c);
        } else {
            walk->next_twin[latest[number[c]]] = c;
        }
        latest[number[c]] = c;
        walk->clock_of[c] = clock[number[c]];
    }
}

static void list_members(struct walk *walk, int g, int32_t *seen, struct arena *perm)
{
    const struct plan_group *group = &walk->plan->groups[g];
    int32_t *clocks = arena_new(perm, int32_t, group->n_classes);
    int n = 0;
    for (int m = 0; m < group->n_classes; m++) {
        int32_t clock = walk->clock_of[group->classes[m]];
        if (seen[clock] == g + 1) continue;
        seen[clock] = g + 1;
        clocks[n++] = clock;
    }
    walk->members[g] = (struct members){clocks, n};
}

static void find_members(struct walk *walk, struct arena *perm)
{
    walk->members = arena_new(perm, struct members, walk->plan->n_groups);
    int32_t *seen = arena_new(perm, int32_t, walk->n_clocks);
    for (int k = 0; k < walk->n_clocks; k++) {
        for (int comm = 0; comm < walk->job->n_comms; comm++) {
            int g = walk->clocks[k].class->group[comm];
            if (g >= 0 && !walk->members[g].clocks) list_members(walk, g, seen, perm);
        }
    }
}

/* ---- the walk ---- */

/* wake — the clock may have something to evaluate. */
static void wake(struct walk *walk, int k)
{
    if (walk->clocks[k].queued) return;
    walk->clocks[k].queued = true;
    int at = walk->head + walk->n_queued++;
    walk->queue[at < walk->n_clocks ? at : at - walk->n_clocks] = k;
}

static void open_cells(struct walk *walk, struct arena *perm)
{
    int64_t n_cells = (int64_t)walk->n_ops * walk->job->n_iterations;
    must(n_cells < INT32_MAX);
    walk->streams = arena_new(perm, struct stream_at, walk->n_streams);
    walk->done = arena_new(perm, int32_t, walk->n_ops);
    walk->end_s = arena_new(perm, double, n_cells);
    walk->from = arena_new(perm, int32_t, n_cells);
    walk->last = arena_new(perm, struct moment, walk->job->n_iterations);
    for (int i = 0; i < walk->job->n_iterations; i++) walk->last[i].cell = NONE;
    walk->queue = arena_new(perm, int32_t, walk->n_clocks);
    for (int k = 0; k < walk->n_clocks; k++) {
        const struct clock *clock = &walk->clocks[k];
        for (int s = 0; s < clock->n_streams; s++) {
            struct stream_at *stream = &walk->streams[clock->first_stream + s];
            stream->op = clock->score->first_op[s];
            stream->free.cell = NONE;
        }
        wake(walk, k);
    }
}

/* Collectives under what-ifs need their hops, which are kept for this fidelity only. */
static struct walk open_walk(const struct plan *plan, const struct scale *scale, struct arena *perm)
{
    struct walk walk = {.plan = plan, .job = plan->in->job, .scale = scale};
    walk.scores = arena_new(perm, struct score, walk.job->n_programs);
    for (int p = 0; p < walk.job->n_programs; p++) compile(&walk, p, perm);
    time_colls(&walk, perm);
    make_clocks(&walk, perm);
    find_members(&walk, perm);
    open_cells(&walk, perm);
    return walk;
}

/* When all dependencies are done, or HUGE_VAL while one is not yet known. */
static struct moment ready_at(const struct walk *walk, const struct clock *clock,
                              const struct step *step, int iteration)
{
    struct moment ready = {0.0, NONE};
    int n_iterations = walk->job->n_iterations;
    const struct dep *dep = &clock->score->deps[step->first_dep];
    for (int d = 0; d < step->n_deps; d++) {
        int before = iteration - dep[d].distance;
        if (before < 0) continue;
        int at = clock->first_op + dep[d].op;
        if (walk->done[at] <= before) return (struct moment){HUGE_VAL, NONE};
        int32_t cell = at * n_iterations + before;
        ready = later(ready, (struct moment){walk->end_s[cell], cell});
    }
    return ready;
}

/* of an op: when its stream reached it, when work began (and after whose end), when it ended */
struct times {
    double start_s;
    struct moment begin;
    double end_s;
};

/* The next op of a stream has these times. */
static void settle(struct walk *walk, int k, struct stream_at *stream, struct times times)
{
    const struct clock *clock = &walk->clocks[k];
    int op = stream->op;
    int iteration = stream->iteration;
    int32_t cell = (clock->first_op + op) * walk->job->n_iterations + iteration;
    struct moment end = {times.end_s, cell};
    if (walk->run)
        run_add_span(walk->run,
                     (struct span){.rank_class = clock->number,
                                   .op = op,
                                   .iteration = iteration,
                                   .start_s = times.start_s,
                                   .begin_s = times.begin.s,
                                   .end_s = times.end_s},
                     walk->spans);
    walk->end_s[cell] = times.end_s;
    walk->from[cell] = times.begin.cell;
    walk->last[iteration] = later(walk->last[iteration], end);
    walk->done[clock->first_op + op]++;
    if (walk->order && iteration == walk->job->n_iterations - 1)
        walk->order[walk->n_order++] = (struct settled){clock->first_op + op, walk->turn};
    stream->free = end;
    stream->waits = false;
    stream->op = clock->score->steps[op].next;
    stream->iteration += stream->op <= op;
    wake(walk, k);
}

/* Where clock k takes part in the collective of that number of a communicator. */
struct seat {
    struct stream_at *stream;
    int32_t op;
};

static struct seat seat_of(const struct walk *walk, int k, const struct step *step)
{
    const struct clock *clock = &walk->clocks[k];
    int32_t op = clock->score->of_comm[step->comm][step->place];
    int stream = clock->first_stream + clock->score->steps[op].stream;
    return (struct seat){&walk->streams[stream], op};
}

/* If every member of the group waits, the collective has a time: all of them are settled. */
static void try_collective(struct walk *walk, const struct clock *clock, int op)
{
    const struct step *step = &clock->score->steps[op];
    struct members members = walk->members[clock->class->group[step->comm]];
    struct moment begin = {0.0, NONE};
    for (int m = 0; m < members.n; m++) {
        struct seat seat = seat_of(walk, members.clocks[m], step);
        if (!seat.stream->waits || seat.stream->op != seat.op) return;
        begin = later(begin, seat.stream->start);
    }
    double end_s = begin.s + step->work_s * walk->coll_s[clock->class->coll[op]];
    walk->turn++;
    for (int m = 0; m < members.n; m++) {
        struct stream_at *stream = seat_of(walk, members.clocks[m], step).stream;
        settle(walk, members.clocks[m], stream, (struct times){stream->start.s, begin, end_s});
    }
}

static bool try_stream(struct walk *walk, int k, struct stream_at *stream)
{
    const struct clock *clock = &walk->clocks[k];
    if (stream->op == NONE || stream->waits) return false;
    if (stream->iteration >= walk->job->n_iterations) return false;
    const struct step *step = &clock->score->steps[stream->op];
    struct moment ready = ready_at(walk, clock, step, stream->iteration);
    if (ready.s >= HUGE_VAL) return false;
    struct moment start = later(ready, stream->free);
    if (step->kind == OP_COLLECTIVE) {
        stream->waits = true;
        stream->start = start;
        try_collective(walk, clock, stream->op);
        return true;
    }
    double slowdown = step->kind == OP_KERNEL ? clock->class->slowdown : 1.0;
    walk->turn++;
    settle(walk, k, stream, (struct times){start.s, start, start.s + step->work_s * slowdown});
    return true;
}

/* All that can be known of one clock by now. What it settles for others wakes them; what one of its streams
 * settles may let another go on, which wakes itself. */
static void try_streams(struct walk *walk, int k)
{
    struct stream_at *streams = &walk->streams[walk->clocks[k].first_stream];
    for (int s = 0; s < walk->clocks[k].n_streams; s++) {
        while (try_stream(walk, k, &streams[s])) {
        }
    }
}

static void walk_all(struct walk *walk)
{
    while (walk->n_queued > 0) {
        int k = walk->queue[walk->head];
        if (++walk->head == walk->n_clocks) walk->head = 0;
        walk->n_queued--;
        walk->clocks[k].queued = false;
        try_streams(walk, k);
    }
}

static const char *explain_stuck(const struct walk *walk)
{
    for (int s = 0; s < walk->n_streams; s++) {
        const struct stream_at *stream = &walk->streams[s];
        if (stream->op != NONE && stream->iteration < walk->job->n_iterations)
            return "ranks wait for each other (run --fidelity fluid names them)";
    }
    return NULL;
}

/* ---- the longest path ---- */

static int clock_at(const struct walk *walk, int at)
{
    int low = 0;
    int high = walk->n_clocks;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(walk->clocks[middle].first_op <= at ? &low : &high) = middle;
    }
    return low;
}

/* What the path to a cell's end consists of, from the start. */
static void add_path(const struct walk *walk, int32_t cell, double sign, double *path_s)
{
    static const enum path path_of[] = {
        [OP_HOST] = PATH_HOST, [OP_KERNEL] = PATH_KERNEL, [OP_COLLECTIVE] = PATH_NETWORK};
    for (; cell != NONE; cell = walk->from[cell]) {
        int at = cell / walk->job->n_iterations;
        const struct clock *clock = &walk->clocks[clock_at(walk, at)];
        int op = at - clock->first_op;
        const struct step *step = &clock->score->steps[op];
        double time_s = step->work_s;
        if (step->kind == OP_KERNEL) time_s *= clock->class->slowdown;
        if (step->kind == OP_COLLECTIVE) time_s *= walk->coll_s[clock->class->coll[op]];
        path_s[path_of[step->kind]] += sign * time_s;
    }
}

static void measure_path(const struct walk *walk, struct run *run)
{
    int last = walk->job->n_iterations - 1;
    add_path(walk, walk->last[last].cell, 1.0, run->path_s);
    if (last > 0) add_path(walk, walk->last[last - 1].cell, -1.0, run->path_s);
}

/* What stands for others is told of them too. */
static void add_twins(struct walk *walk)
{
    int64_t n = walk->run->n_spans;
    for (int64_t s = 0; s < n; s++) {
        struct span span = walk->run->spans[s];
        while ((span.rank_class = walk->next_twin[span.rank_class]) != NONE)
            run_add_span(walk->run, span, walk->spans);
    }
}

struct run *estimate_run(const struct plan *plan, struct arena *perm)
{
    struct run *run = arena_new(perm, struct run, 1);
    run->busy_s = arena_new(perm, double, plan->n_resources + 1);
    run->bottleneck_s = arena_new(perm, double, plan->n_resources + 1);
    struct walk walk = open_walk(plan, &scale_none, perm);
    walk.run = run;
    walk.spans = perm;
    walk_all(&walk);
    run->stuck = explain_stuck(&walk);
    measure_path(&walk, run);
    run_finish(plan, run, *perm); /* of twins it would find the same */
    add_twins(&walk);
    return run;
}

struct run estimate_period(const struct plan *plan, const struct scale *scale, struct arena scratch)
{
    struct run run = {0};
    struct walk walk = open_walk(plan, scale, &scratch);
    walk_all(&walk);
    run.stuck = explain_stuck(&walk);
    int last = plan->in->job->n_iterations - 1;
    for (int i = 0; i <= last; i++) run.end_s = fmax(run.end_s, walk.last[i].s);
    run.period_start_s = last > 0 ? walk.last[last - 1].s : 0.0;
    run.iteration_s = run.stuck ? HUGE_VAL : run.end_s - run.period_start_s;
    measure_path(&walk, &run);
    return run;
}

/* ---- again, at other times ---- */

/* An op of a clock, or a collective with all its members. Nodes are in an order in which each comes behind
 * those of its iteration that it waits for, so that a sweep over them does without asking. */
struct node {
    const struct op *op;
    double slowdown;
    int32_t coll; /* NONE: no collective */
    int32_t n_waits;
};

struct estimate {
    const struct plan *plan;
    struct node *nodes;
    int32_t *waits;       /* end that a node waits for, counted from its own row of ends */
    int n_nodes, depth;   /* depth: rows before an iteration's own that it may look at */
    const double *coll_s; /* as planned */
    const char *stuck;
};

/* The op before it on its stream: of this iteration, or the last one of the iteration before. */
static int32_t *previous_ops(const struct score *score, int n_ops, struct arena *perm)
{
    int32_t *previous = arena_new(perm, int32_t, n_ops);
    for (int o = 0; o < n_ops; o++) previous[score->steps[o].next] = o;
    return previous;
}

static int deepest(const struct job *job)
{
    int most = 1;
    for (int p = 0; p < job->n_programs; p++) {
        const struct program *program = &job->programs[p];
        for (int d = 0; d < program->n_deps; d++)
            if (program->deps[d].distance > most) most = program->deps[d].distance;
    }
    return most;
}

/* Members of a collective are settled one behind the other. */
static int32_t *number_nodes(const struct walk *walk, struct estimate *estimate, struct arena *perm)
{
    int32_t *node_of = arena_new(perm, int32_t, walk->n_ops);
    for (int i = 0; i < walk->n_order; i++) {
        estimate->n_nodes += i == 0 || walk->order[i].turn != walk->order[i - 1].turn;
        node_of[walk->order[i].at] = estimate->n_nodes - 1;
    }
    return node_of;
}

/* The waits of one member, of op o of clock. */
static int add_waits(const struct estimate *estimate, const struct clock *clock, int o,
                     int32_t previous, const int32_t *node_of, int32_t *waits)
{
    const struct step *step = &clock->score->steps[o];
    const struct dep *deps = &clock->score->deps[step->first_dep];
    int before = previous >= o;
    waits[0] = node_of[clock->first_op + previous] - before * estimate->n_nodes;
    for (int d = 0; d < step->n_deps; d++)
        waits[1 + d] = node_of[clock->first_op + deps[d].op] - deps[d].distance * estimate->n_nodes;
    return 1 + step->n_deps;
}

static void link_nodes(const struct walk *walk, struct estimate *estimate, struct arena *perm)
{
    const struct job *job = walk->job;
    const int32_t *node_of = number_nodes(walk, estimate, perm);
    int32_t **previous = arena_new(perm, int32_t *, job->n_programs);
    int n_waits = walk->n_ops;
    for (int p = 0; p < job->n_programs; p++)
        previous[p] = previous_ops(&walk->scores[p], job->programs[p].n_ops, perm);
    for (int k = 0; k < walk->n_clocks; k++)
        n_waits += plan_program(walk->plan, walk->clocks[k].number)->n_deps;
    estimate->nodes = arena_new(perm, struct node, estimate->n_nodes);
    estimate->waits = arena_new(perm, int32_t, n_waits);
    n_waits = 0;
    for (int i = 0; i < walk->n_order; i++) {
        int at = walk->order[i].at;
        const struct clock *clock = &walk->clocks[clock_at(walk, at)];
        int o = at - clock->first_op;
        struct node *node = &estimate->nodes[node_of[at]];
        if (!node->op)
            *node = (struct node){.op = &plan_program(walk->plan, clock->number)->ops[o],
                                  .slowdown = clock->class->slowdown,
                                  .coll = clock->class->coll[o]};
        int n = add_waits(estimate, clock, o, previous[clock->class->program][o], node_of,
                          &estimate->waits[n_waits]);
        node->n_waits += n;
        n_waits += n;
    }
}

struct estimate *estimate_open(const struct plan *plan, struct arena *perm)
{
    struct estimate *estimate = arena_new(perm, struct estimate, 1);
    struct walk walk = open_walk(plan, &scale_none, perm);
    walk.order = arena_new(perm, struct settled, walk.n_ops);
    walk_all(&walk);
    *estimate = (struct estimate){.plan = plan,
                                  .depth = deepest(plan->in->job),
                                  .coll_s = walk.coll_s,
                                  .stuck = explain_stuck(&walk)};
    if (!estimate->stuck) link_nodes(&walk, estimate, perm);
    return estimate;
}

/* Do collectives that take equally long as planned do so at these times too? Else classes of ranks that
 * were one clock are not. */
static bool same_clocks(const struct estimate *estimate, const double *coll_s)
{
    for (int c = 1; c < estimate->plan->n_colls; c++) {
        for (int b = 0; b < c; b++) {
            if (bits_of(estimate->coll_s[b]) == bits_of(estimate->coll_s[c]) &&
                bits_of(coll_s[b]) != bits_of(coll_s[c]))
                return false;
        }
    }
    return true;
}

static double *time_nodes(const struct estimate *estimate, const struct scale *scale,
                          const double *coll_s, struct arena *perm)
{
    double *time_s = arena_new(perm, double, estimate->n_nodes);
    for (int n = 0; n < estimate->n_nodes; n++) {
        const struct node *node = &estimate->nodes[n];
        time_s[n] = work_of(node->op, scale);
        if (node->op->kind == OP_KERNEL) time_s[n] *= node->slowdown;
        if (node->op->kind == OP_COLLECTIVE) time_s[n] *= coll_s[node->coll];
    }
    return time_s;
}

/* The ends of an iteration, behind those of the ones before it; returns the last. */
static double sweep_row(const struct estimate *estimate, const double *time_s, double *end_s)
{
    const int32_t *wait = estimate->waits;
    double last_s = 0.0;
    for (int n = 0; n < estimate->n_nodes; n++) {
        const int32_t *end = wait + estimate->nodes[n].n_waits;
        double begin_s = end_s[*wait++]; /* its stream's */
        for (; wait < end; wait++) begin_s = end_s[*wait] > begin_s ? end_s[*wait] : begin_s;
        end_s[n] = begin_s + time_s[n];
        last_s = end_s[n] > last_s ? end_s[n] : last_s;
    }
    return last_s;
}

double estimate_again(const struct estimate *estimate, const struct scale *scale,
                      struct arena scratch)
{
    if (estimate->stuck) return HUGE_VAL;
    struct walk walk = {.plan = estimate->plan, .job = estimate->plan->in->job, .scale = scale};
    time_colls(&walk, &scratch);
    if (!same_clocks(estimate, walk.coll_s))
        return estimate_period(estimate->plan, scale, scratch).iteration_s;
    const double *time_s = time_nodes(estimate, scale, walk.coll_s, &scratch);
    int n_iterations = walk.job->n_iterations;
    double *end_s =
        arena_new(&scratch, double, (int64_t)(estimate->depth + n_iterations) * estimate->n_nodes);
    double all_s = 0.0;
    double start_s = 0.0;
    for (int i = 0; i < n_iterations; i++) {
        double last_s =
            sweep_row(estimate, time_s, end_s + (int64_t)(estimate->depth + i) * estimate->n_nodes);
        all_s = fmax(all_s, last_s);
        if (i == n_iterations - 2) start_s = last_s;
    }
    return all_s - start_s;
}
