/* Collectives as bundles: a phase is a latency, then bundles in parallel, ended by the last. */
#include "engine.h"

#include "base/must.h"
#include "player.h"

#include <math.h>

static const struct plan_coll *coll_of(const struct player *player, int meeting)
{
    return &player->plan->colls[player->meetings[meeting].coll];
}

static void start_bundles(struct player *player, int meeting)
{
    struct meeting *m = &player->meetings[meeting];
    const struct plan_coll *coll = coll_of(player, meeting);
    const struct plan_phase *phase = &player->plan->phases[coll->first_phase + m->phase];
    bool last = player_last_iteration(player, m->iteration);
    m->n_active = 0;
    for (int b = phase->first_bundle; b < phase->first_bundle + phase->n_bundles; b++) {
        const struct plan_bundle *bundle = &player->plan->bundles[b];
        double bytes = bundle->bytes_per_B * coll->req.size_B;
        if (bytes <= 0.0 || (bundle->n_loads == 0 && isinf(bundle->cap_Bps))) continue;
        int slot = player_take_slot(player, meeting);
        m->n_active++;
        int id = fluid_add(player->fluid,
                           (struct activity_spec){.loads = bundle->loads,
                                                  .n_loads = bundle->n_loads,
                                                  .work = (bytes + phase->fill_B) * m->times,
                                                  .cap = bundle->cap_Bps,
                                                  .weight = 1.0,
                                                  .tag = slot});
        player->active[slot] = last ? id : -1;
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
};

struct run *engine_run(const struct plan *plan, const struct scale *scale, struct arena *perm)
{
    return player_run(player_open(plan, scale, &bundles, 0, perm));
}
