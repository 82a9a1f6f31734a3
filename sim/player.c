#include "player.h"

#include "base/must.h"

#include <math.h>
#include <stdio.h>

const struct scale scale_none = {1, 1, 1, {1, 1, 1, 1, 1, 1}, 1};

enum {
    KERNEL_TAG = INT32_MIN
}; /* kernels that share memory bandwidth: tag = KERNEL_TAG + stream */

/* ---- set-up ---- */

/* Op numbers of each stream of a program, in list order: list[stream_start[s] ..]. */
static void list_stream_ops(const struct program *program, const int32_t **ops, int32_t *n_ops,
                            struct arena *perm)
{
    int32_t **lists = arena_new(perm, int32_t *, program->n_streams + 1);
    for (int o = 0; o < program->n_ops; o++) n_ops[program->ops[o].stream]++;
    for (int s = 0; s < program->n_streams; s++) {
        lists[s] = arena_new(perm, int32_t, n_ops[s] + 1);
        ops[s] = lists[s];
        n_ops[s] = 0;
    }
    for (int o = 0; o < program->n_ops; o++) {
        int s = program->ops[o].stream;
        lists[s][n_ops[s]++] = o;
    }
}

/* The ops of a communicator; index[op] says where in the list an op stands. */
static const int32_t *list_comm_ops(const struct program *program, int comm, int *n, int32_t *index,
                                    struct arena *perm)
{
    *n = 0;
    for (int o = 0; o < program->n_ops; o++) {
        const struct op *op = &program->ops[o];
        if (op->kind == OP_COLLECTIVE && op->comm == comm) index[o] = (*n)++;
    }
    int32_t *list = arena_new(perm, int32_t, *n);
    for (int o = 0; o < program->n_ops; o++) {
        const struct op *op = &program->ops[o];
        if (op->kind == OP_COLLECTIVE && op->comm == comm) list[index[o]] = o;
    }
    return list;
}

static void open_streams(struct player *player, struct arena *perm)
{
    const struct plan *plan = player->plan;
    player->class_stream = arena_new(perm, int, plan->n_classes + 1);
    player->class_op = arena_new(perm, int, plan->n_classes + 1);
    for (int c = 0; c < plan->n_classes; c++) {
        const struct program *program = plan_program(player->plan, c);
        player->class_stream[c + 1] = player->class_stream[c] + program->n_streams;
        player->class_op[c + 1] = player->class_op[c] + program->n_ops;
    }
    int n_streams = player->class_stream[plan->n_classes];
    player->streams = arena_new(perm, struct stream_state, n_streams);
    player->stream_class = arena_new(perm, int32_t, n_streams);
    player->stream_ops = arena_new(perm, const int32_t *, n_streams);
    player->n_stream_ops = arena_new(perm, int32_t, n_streams);
    player->done = arena_new(perm, int32_t, player->class_op[plan->n_classes]);
    const int32_t ***ops = arena_new(perm, const int32_t **, player->job->n_programs);
    int32_t **n_ops = arena_new(perm, int32_t *, player->job->n_programs);
    for (int p = 0; p < player->job->n_programs; p++) {
        const struct program *program = &player->job->programs[p];
        ops[p] = arena_new(perm, const int32_t *, program->n_streams + 1);
        n_ops[p] = arena_new(perm, int32_t, program->n_streams + 1);
        list_stream_ops(program, ops[p], n_ops[p], perm);
    }
    for (int c = 0; c < plan->n_classes; c++) {
        int p = plan->classes[c].program;
        for (int s = player->class_stream[c]; s < player->class_stream[c + 1]; s++) {
            player->stream_class[s] = c;
            player->stream_ops[s] = ops[p][s - player->class_stream[c]];
            player->n_stream_ops[s] = n_ops[p][s - player->class_stream[c]];
        }
    }
}

static void open_meetings(struct player *player, struct arena *perm)
{
    const struct plan *plan = player->plan;
    int n_comms = player->job->n_comms;
    const int32_t **lists = arena_new(perm, const int32_t *, player->job->n_programs *n_comms + 1);
    int *n_listed = arena_new(perm, int, player->job->n_programs *n_comms + 1);
    player->op_index = arena_new(perm, int32_t *, player->job->n_programs);
    for (int p = 0; p < player->job->n_programs; p++) {
        const struct program *program = &player->job->programs[p];
        player->op_index[p] = arena_new(perm, int32_t, program->n_ops);
        for (int comm = 0; comm < n_comms; comm++) {
            int at = p * n_comms + comm;
            lists[at] = list_comm_ops(program, comm, &n_listed[at], player->op_index[p], perm);
        }
    }
    player->comm_ops = arena_new(perm, const int32_t *, (int64_t)plan->n_classes *n_comms + 1);
    for (int c = 0; c < plan->n_classes; c++) {
        for (int comm = 0; comm < n_comms; comm++) {
            player->comm_ops[c * n_comms + comm] = lists[plan->classes[c].program * n_comms + comm];
        }
    }
    player->group_meeting = arena_new(perm, int, plan->n_groups + 1);
    for (int g = 0; g < plan->n_groups; g++) {
        const struct plan_group *group = &plan->groups[g];
        int p = plan->classes[group->classes[0]].program;
        player->group_meeting[g + 1] =
            player->group_meeting[g] + n_listed[p * n_comms + group->comm];
    }
    player->meetings = arena_new(perm, struct meeting, player->group_meeting[plan->n_groups] + 1);
    for (int g = 0; g < plan->n_groups; g++) {
        for (int m = player->group_meeting[g]; m < player->group_meeting[g + 1]; m++) {
            player->meetings[m] =
                (struct meeting){.group = g, .index = m - player->group_meeting[g], .coll = -1};
        }
    }
}

static double *scaled_capacity(const struct plan *plan, const struct scale *scale, int n_ports,
                               struct arena *perm)
{
    double *capacity = arena_new(perm, double, plan->n_resources + n_ports);
    for (int r = 0; r < plan->n_resources; r++)
        capacity[r] = plan->capacity[r] * scale_of(scale, plan, r);
    for (int p = 0; p < n_ports; p++) capacity[plan->n_resources + p] = 1.0;
    return capacity;
}

/* What happens to links while the job runs. */
static void await_links(struct player *player)
{
    const struct inputs *in = player->plan->in;
    for (int e = 0; e < in->n_events; e++)
        evq_push(player->queue, in->events[e].at_s, EVENT_LINK, e);
    for (int e = 0; e < in->n_epochs; e++)
        evq_push(player->queue, in->epochs[e].from_s, EVENT_REROUTE, e + 1);
}

struct player *player_open(const struct plan *plan, const struct scale *scale,
                           const struct expander *expander, int n_ports, struct arena *perm)
{
    struct player *player = arena_new(perm, struct player, 1);
    player->plan = plan;
    player->job = plan->in->job;
    player->scale = *scale;
    player->perm = perm;
    player->expander = expander;
    player->first_free = -1;
    player->queue = evq_new(perm, 1024);
    player->fluid =
        fluid_new(scaled_capacity(plan, scale, n_ports, perm), plan->n_resources + n_ports, perm);
    player->run = arena_new(perm, struct run, 1);
    player->run->busy_s = arena_new(perm, double, plan->n_resources + 1);
    player->run->bottleneck_s = arena_new(perm, double, plan->n_resources + 1);
    open_streams(player, perm);
    open_meetings(player, perm);
    await_links(player);
    return player;
}

/* ---- ops ---- */

static int n_iterations_of(const struct player *player, int rank_class)
{
    return job_iterations(player->job, plan_program(player->plan, rank_class));
}

bool player_last_iteration(const struct player *player, int rank_class, int iteration)
{
    return iteration == n_iterations_of(player, rank_class) - 1;
}

int player_op(const struct player *player, int meeting, int rank_class)
{
    const struct meeting *m = &player->meetings[meeting];
    int comm = player->plan->groups[m->group].comm;
    return player->comm_ops[rank_class * player->job->n_comms + comm][m->index];
}

static int meeting_of(const struct player *player, int rank_class, int op)
{
    int comm = plan_program(player->plan, rank_class)->ops[op].comm;
    int first = player->group_meeting[player->plan->classes[rank_class].group[comm]];
    return first + player->op_index[player->plan->classes[rank_class].program][op];
}

static bool deps_done(const struct player *player, int rank_class, const struct op *op,
                      int iteration)
{
    const struct program *program = plan_program(player->plan, rank_class);
    const int32_t *done = player->done + player->class_op[rank_class];
    for (int d = op->first_dep; d < op->first_dep + op->n_deps; d++) {
        if (done[program->deps[d].op] <= iteration - program->deps[d].distance) return false;
    }
    return true;
}

/* A kernel that moves memory shares its GPU's bandwidth with communication: its level is its memory
 * traffic, so that it and the flows get equal shares of the bytes. */
static bool start_shared_kernel(struct player *player, int stream, const struct op *op,
                                double work_s)
{
    const struct plan *plan = player->plan;
    if (plan->in->hbm_per_comm_B <= 0.0 || op->hbm_B <= 0.0 || work_s <= 0.0) return false;
    int memory = plan->n_link_classes + player->stream_class[stream];
    /* A kernel cannot move more than its memory can, whatever a measured time would make of it. */
    double demand_Bps = fmin(op->hbm_B / work_s, plan->capacity[memory] * player->scale.hbm);
    struct load *load = arena_new(player->perm, struct load, 1);
    *load = (struct load){memory, demand_Bps};
    fluid_add(player->fluid, (struct activity_spec){.loads = load,
                                                    .n_loads = 1,
                                                    .work = work_s,
                                                    .cap = 1.0,
                                                    .weight = 1.0 / demand_Bps,
                                                    .tag = KERNEL_TAG + stream});
    return true;
}

static void count_bundle(struct player *player, const struct plan_bundle *bundle, double size_B)
{
    double bytes = bundle->bytes_per_B * size_B;
    for (int l = 0; l < bundle->n_loads; l++) {
        int r = bundle->loads[l].resource;
        player->run->busy_s[r] += bundle->loads[l].n * bytes / player->plan->capacity[r];
    }
}

/* What the bundles of a collective keep the links busy for. */
static void count_busy(struct player *player, const struct plan_coll *coll, double times)
{
    const struct plan *plan = player->plan;
    for (int p = coll->first_phase; p < coll->first_phase + coll->n_phases; p++) {
        const struct plan_phase *phase = &plan->phases[p];
        for (int b = phase->first_bundle; b < phase->first_bundle + phase->n_bundles; b++) {
            count_bundle(player, &plan->bundles[b], coll->req.size_B * times);
        }
    }
}

/* Where nothing has to move (a group of one) the op ends in the course of events, not at once: else
 * such ops in a row would call each other. */
static void join_meeting(struct player *player, int rank_class, int op, int iteration)
{
    int at = meeting_of(player, rank_class, op);
    struct meeting *meeting = &player->meetings[at];
    if (meeting->n_joined == 0) meeting->begin_s = -1.0;
    meeting->iteration = iteration;
    meeting->coll = player->plan->classes[rank_class].coll[op];
    meeting->times = op_times(&plan_program(player->plan, rank_class)->ops[op]);
    meeting->n_joined++;
    const struct plan_coll *coll = &player->plan->colls[meeting->coll];
    bool all_here = meeting->n_joined == player->plan->groups[meeting->group].n_classes;
    if (all_here) {
        meeting->begin_s = player->now_s;
        if (player_last_iteration(player, rank_class, iteration))
            count_busy(player, coll, meeting->times);
    }
    if (coll->n_phases > 0) {
        player->expander->join(player, at, rank_class);
    } else if (all_here) {
        double end_s = player->now_s + coll->estimate_s * meeting->times * player->scale.latency;
        evq_push(player->queue, end_s, EVENT_NOTHING_MOVED, at);
    }
}

static void start_op(struct player *player, int stream)
{
    struct stream_state *state = &player->streams[stream];
    int rank_class = player->stream_class[stream];
    int number = player->stream_ops[stream][state->position];
    const struct op *op = &plan_program(player->plan, rank_class)->ops[number];
    state->running = true;
    state->start_s = player->now_s;
    switch (op->kind) {
    case OP_HOST:
        evq_push(player->queue, player->now_s + op->work_s * player->scale.host, EVENT_OP_END,
                 stream);
        break;
    case OP_KERNEL: {
        double work_s =
            op->work_s * player->scale.kernel * player->plan->classes[rank_class].slowdown;
        if (start_shared_kernel(player, stream, op, work_s)) break;
        evq_push(player->queue, player->now_s + work_s, EVENT_OP_END, stream);
        break;
    }
    case OP_COLLECTIVE:
        join_meeting(player, rank_class, number, state->iteration);
        break;
    }
}

static void try_streams(struct player *player, int rank_class)
{
    for (int s = player->class_stream[rank_class]; s < player->class_stream[rank_class + 1]; s++) {
        struct stream_state *state = &player->streams[s];
        if (state->running || state->iteration >= n_iterations_of(player, rank_class)) continue;
        if (player->n_stream_ops[s] == 0) continue;
        const struct op *op =
            &plan_program(player->plan, rank_class)->ops[player->stream_ops[s][state->position]];
        if (deps_done(player, rank_class, op, state->iteration)) start_op(player, s);
    }
}

static void end_op(struct player *player, int stream, double begin_s)
{
    struct stream_state *state = &player->streams[stream];
    int rank_class = player->stream_class[stream];
    int op = player->stream_ops[stream][state->position];
    run_add_span(player->run,
                 (struct span){.rank_class = rank_class,
                               .op = op,
                               .iteration = state->iteration,
                               .start_s = state->start_s,
                               .begin_s = begin_s,
                               .end_s = player->now_s},
                 player->perm);
    player->done[player->class_op[rank_class] + op]++;
    state->running = false;
    if (++state->position == player->n_stream_ops[stream]) {
        state->position = 0;
        state->iteration++;
    }
    try_streams(player, rank_class);
}

/* A member may join the next round of the same meeting while the others are still being told, so
 * the meeting is cleared first. */
void player_finish(struct player *player, int meeting)
{
    struct meeting *m = &player->meetings[meeting];
    const struct plan_group *group = &player->plan->groups[m->group];
    double begin_s = m->begin_s;
    m->n_joined = 0;
    for (int i = 0; i < group->n_classes; i++) {
        int rank_class = group->classes[i];
        int op = player_op(player, meeting, rank_class);
        int stream = plan_program(player->plan, rank_class)->ops[op].stream;
        end_op(player, player->class_stream[rank_class] + stream, begin_s);
    }
}

int player_take_slot(struct player *player, int meeting)
{
    int slot = player->first_free;
    if (slot >= 0) {
        player->first_free = player->active_meeting[slot];
    } else {
        if (player->n_active == player->cap_active) {
            int n = player->n_active;
            int capacity = n ? 2 * n : 64;
            player->active = arena_grow(player->perm, int32_t, player->active, n, capacity);
            player->active_meeting =
                arena_grow(player->perm, int32_t, player->active_meeting, n, capacity);
            player->flows = arena_grow(player->perm, struct slot_flow, player->flows, n, capacity);
            player->cap_active = capacity;
        }
        slot = player->n_active++;
    }
    player->active[slot] = -1;
    player->flows[slot] = (struct slot_flow){-1, -1};
    player->active_meeting[slot] = meeting;
    return slot;
}

void player_free_slot(struct player *player, int slot)
{
    player->active[slot] = -1;
    player->flows[slot].id = -1;
    player->active_meeting[slot] = player->first_free;
    player->first_free = slot;
}

/* ---- the clock ---- */

static void attribute(struct player *player, double elapsed_s)
{
    if (elapsed_s <= 0.0) return;
    for (int a = 0; a < player->n_active; a++) {
        if (player->active[a] < 0) continue;
        int resource = fluid_bottleneck(player->fluid, player->active[a]);
        if (resource < 0) continue;
        int n = player->plan->bundles[player->flows[a].bundle].n_alike;
        player->run->bottleneck_s[resource] += n * elapsed_s;
    }
}

static void take_flows(struct player *player)
{
    int32_t tag;
    while (fluid_take_ended(player->fluid, &tag)) {
        player->run->n_events++;
        if (tag < 0) {
            int stream = tag - KERNEL_TAG;
            end_op(player, stream, player->streams[stream].start_s);
        } else {
            player->expander->flow_ended(player, tag);
        }
    }
}

/* What is left of a failed link: flows on it stand still until they are rerouted, but have a rate. */
static const double STALLED = 1e-12;

static void change_link(struct player *player, int number)
{
    const struct plan *plan = player->plan;
    const struct link_event *event = &plan->in->events[number];
    int resource = plan->event_resource[number];
    if (resource < 0) return;
    double factor = player->scale.tier[plan->in->topo->links[event->link].tier];
    double capacity_Bps = event->failed ? plan->capacity[resource] * STALLED : event->capacity_Bps;
    fluid_set_capacity(player->fluid, resource, capacity_Bps * factor);
}

static void take_event(struct player *player, struct event event)
{
    switch ((enum event_kind)event.kind) {
    case EVENT_OP_END:
        end_op(player, event.id, player->streams[event.id].start_s);
        break;
    case EVENT_NOTHING_MOVED:
        player_finish(player, event.id);
        break;
    case EVENT_EXPANDER:
        player->expander->event(player, event.id);
        break;
    case EVENT_LINK:
        change_link(player, event.id);
        break;
    case EVENT_REROUTE:
        player->epoch = event.id;
        player->expander->reroute(player);
        break;
    }
}

static void take_events(struct player *player)
{
    while (!evq_empty(player->queue) && evq_peek(player->queue).time_s <= player->now_s) {
        struct event event = evq_pop(player->queue);
        player->run->n_events++;
        take_event(player, event);
    }
}

/* Names up to three streams that cannot go on, and what they wait for. */
static const char *explain_stuck(const struct player *player, struct arena *perm)
{
    const char *text = NULL;
    int shown = 0;
    int n_streams = player->class_stream[player->plan->n_classes];
    for (int s = 0; s < n_streams && shown < 3; s++) {
        const struct stream_state *state = &player->streams[s];
        int c = player->stream_class[s];
        if (player->n_stream_ops[s] == 0 || state->iteration >= n_iterations_of(player, c))
            continue;
        const struct op *op =
            &plan_program(player->plan, c)->ops[player->stream_ops[s][state->position]];
        const char *why =
            state->running ? "for the other members of its group" : "for its dependencies";
        text = arena_text(perm, "%s%srank %d waits in \"%s\" of iteration %d %s", text ? text : "",
                          text ? "; " : "", player->plan->classes[c].rep, op->name,
                          state->iteration, why);
        shown++;
    }
    return text;
}

static void note_tiers(struct player *player)
{
    const struct plan *plan = player->plan;
    for (int r = 0; r < plan->n_link_classes; r++) {
        if (!fluid_has_held(player->fluid, r)) continue;
        player->run->tier_holds[plan->in->topo->links[plan->rep_link[r]].tier] = true;
    }
}

struct run *player_run(struct player *player)
{
    for (int c = 0; c < player->plan->n_classes; c++) try_streams(player, c);
    for (;;) {
        double event_s = evq_empty(player->queue) ? HUGE_VAL : evq_peek(player->queue).time_s;
        double next_s = fmin(event_s, fluid_next_end_s(player->fluid));
        if (player->expander->next_s) next_s = fmin(next_s, player->expander->next_s(player));
        if (isinf(next_s)) break;
        attribute(player, next_s - player->now_s);
        player->now_s = next_s;
        fluid_advance(player->fluid, next_s);
        take_flows(player);
        take_events(player);
        if (player->expander->take_due) player->expander->take_due(player);
    }
    note_tiers(player);
    player->run->stuck = explain_stuck(player, player->perm);
    struct arena scratch = *player->perm;
    run_finish(player->plan, player->run, scratch);
    return player->run;
}
