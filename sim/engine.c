/* Collectives as bundles: a phase is a latency, then bundles in parallel, ended by the last. */
#include "engine.h"

#include "base/must.h"
#include "player.h"
#include "slack.h"

#include <math.h>

/* What a flow that is rerouted in the moment of its end still has to do: nothing to speak of. */
static const double NEARLY_OVER_B = 1e-9;

static const struct plan_coll *coll_of(const struct player *player, int meeting)
{
    return &player->plan->colls[player->meetings[meeting].coll];
}

/* The links that a bundle loads and that may fill. */
static struct load_list loads_of(const struct player *player, int number)
{
    const struct load_list *lists = player->lists;
    return lists ? lists[number] : plan_loads(&player->plan->bundles[number], player->epoch);
}

/* Let a bundle's flows run in a slot, with what is left of their bytes. */
static void start_flows(struct player *player, int slot, int number, double work_B)
{
    const struct plan_bundle *bundle = &player->plan->bundles[number];
    const struct meeting *m = &player->meetings[player->active_meeting[slot]];
    struct load_list loads = loads_of(player, number);
    int id = fluid_add(player->fluid, (struct activity_spec){.loads = loads.loads,
                                                             .n_loads = loads.n,
                                                             .work = work_B,
                                                             .cap = bundle->cap_Bps,
                                                             .weight = 1.0,
                                                             .tag = slot});
    int rank_class = player->plan->groups[m->group].classes[0];
    bool last = player_last_iteration(player, rank_class, m->iteration);
    player->active[slot] = last ? id : -1;
    player->flows[slot] = (struct slot_flow){id, number};
}

static void start_bundles(struct player *player, int meeting)
{
    struct meeting *m = &player->meetings[meeting];
    const struct plan_coll *coll = coll_of(player, meeting);
    const struct plan_phase *phase = &player->plan->phases[coll->first_phase + m->phase];
    m->n_active = 0;
    for (int b = phase->first_bundle; b < phase->first_bundle + phase->n_bundles; b++) {
        const struct plan_bundle *bundle = &player->plan->bundles[b];
        if (bundle->n_alike == 0) continue;
        double bytes = bundle->bytes_per_B * coll->req.size_B;
        if (bytes <= 0.0 || (bundle->n_loads == 0 && isinf(bundle->cap_Bps))) continue;
        m->n_active++;
        start_flows(player, player_take_slot(player, meeting), b,
                    (bytes + phase->fill_B) * m->times);
    }
}

static bool same_loads(struct load_list a, struct load_list b)
{
    if (a.n != b.n) return false;
    for (int i = 0; i < a.n; i++) {
        bool same = a.loads[i].resource == b.loads[i].resource && a.loads[i].n >= b.loads[i].n &&
                    a.loads[i].n <= b.loads[i].n;
        if (!same) return false;
    }
    return true;
}

/* Bundles under way go on by their new ways. */
static void bundles_reroute(struct player *player)
{
    for (int slot = 0; slot < player->n_active; slot++) {
        struct slot_flow flow = player->flows[slot];
        if (flow.id < 0) continue;
        const struct plan_bundle *bundle = &player->plan->bundles[flow.bundle];
        struct load_list before = plan_loads(bundle, player->epoch - 1);
        if (same_loads(before, plan_loads(bundle, player->epoch))) continue;
        double left_B = fluid_remove(player->fluid, flow.id);
        start_flows(player, slot, flow.bundle, fmax(left_B, NEARLY_OVER_B));
    }
}

/* Begin the next phase; the collective is over when there is none. */
static void next_phase(struct player *player, int meeting)
{
    struct meeting *m = &player->meetings[meeting];
    const struct plan_coll *coll = coll_of(player, meeting);
    if (m->phase == coll->n_phases) {
        player_finish(player, meeting);
        return;
    }
    const struct plan_phase *phase = &player->plan->phases[coll->first_phase + m->phase];
    double latency_s = m->times * (phase->latency_s + (m->phase == 0 ? coll->launch_s : 0.0));
    evq_push(player->queue, player->now_s + latency_s * player->scale.latency, EVENT_EXPANDER,
             meeting);
}

static void bundles_join(struct player *player, int meeting, int rank_class)
{
    (void)rank_class;
    struct meeting *m = &player->meetings[meeting];
    if (m->n_joined < player->plan->groups[m->group].n_classes) return;
    m->phase = 0;
    next_phase(player, meeting);
}

static void bundles_event(struct player *player, int meeting)
{
    struct meeting *m = &player->meetings[meeting];
    start_bundles(player, meeting);
    if (m->n_active > 0) return;
    m->phase++;
    next_phase(player, meeting);
}

static void bundles_flow_ended(struct player *player, int slot)
{
    int meeting = player->active_meeting[slot];
    player_free_slot(player, slot);
    struct meeting *m = &player->meetings[meeting];
    if (--m->n_active > 0) return;
    m->phase++;
    next_phase(player, meeting);
}

static const struct expander bundles = {
    .join = bundles_join,
    .event = bundles_event,
    .flow_ended = bundles_flow_ended,
    .reroute = bundles_reroute,
};

struct run *engine_run(const struct plan *plan, const struct scale *scale, struct arena *perm)
{
    struct player *player = player_open(plan, scale, &bundles, 0, perm);
    player->lists = slack_loads(plan, scale, perm);
    return player_run(player);
}
