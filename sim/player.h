/* The part of the engine that both expansions share: streams, dependencies, meetings of ranks in
 * collectives, the clock. What happens between the moment ranks meet and the moment the collective
 * is done belongs to an expander: bundles (engine.c) or sends (message.c). */
#ifndef PLAYER_H
#define PLAYER_H

#include "base/evq.h"
#include "engine.h"

enum event_kind { EVENT_OP_END, EVENT_NOTHING_MOVED, EVENT_EXPANDER, EVENT_LINK, EVENT_REROUTE };

struct stream_state {
    int32_t iteration, position; /* of its head: the op running or next to run */
    double start_s;              /* when the running op started */
    bool running;
};

/* the collectives with one index of one class of groups; at most one runs at a time */
struct meeting {
    int32_t group, index, iteration;
    int32_t coll; /* plan_coll; -1 before the first has joined */
    int32_t n_joined, phase, n_active;
    double begin_s; /* when the last joined; -1 before */
    double times;   /* op_times of its op: latencies and bytes of one collective, as many times */
};

struct player;

struct expander {
    /* a class has joined; it was the last when meeting->n_joined equals the group's n_classes */
    void (*join)(struct player *player, int meeting, int rank_class);
    void (*event)(struct player *player, int id);
    void (*flow_ended)(struct player *player, int tag);
    double (*next_s)(const struct player *player); /* its own next moment; NULL = has none */
    void (*take_due)(struct player *player);
    void (*reroute)(struct player *player); /* player->epoch has changed: what is under way, too */
};

struct player {
    const struct plan *plan;
    const struct job *job;
    struct scale scale;
    struct arena *perm;
    const struct expander *expander;
    void *expansion;               /* the expander's own state */
    const struct load_list *lists; /* the bundles' loads on links that may fill; NULL: all do */
    double now_s;
    int epoch; /* of routes, from 0 */
    struct evq *queue;
    struct fluid *fluid;
    struct run *run;

    struct stream_state *streams; /* [class_stream[c] + stream] */
    int *class_stream;            /* [n_classes + 1] */
    int32_t *stream_class;        /* [all streams] */
    const int32_t **stream_ops;   /* [all streams] op numbers in list order, by program */
    int32_t *n_stream_ops;        /* [all streams] */
    int32_t *done;                /* [class_op[c] + op] iterations finished */
    int *class_op;                /* [n_classes + 1] */

    struct meeting *meetings; /* [group_meeting[g] + index] */
    int *group_meeting;       /* [n_groups + 1] */
    const int32_t **comm_ops; /* [class * n_comms + comm] its op of each index */
    int32_t **op_index;       /* [program][op] and back: the index of a collective op */

    int32_t *active; /* [n_active] fluid id of a bundle whose bottleneck is noted, -1 = not noted */
    int32_t
        *active_meeting; /* [n_active] its meeting; of a free slot: the next free one, -1 = none */
    struct slot_flow {
        int32_t id,
            bundle; /* in the fluid, in the plan; id -1 = the slot is free, or not the bundles' */
    } * flows;      /* [n_active] */
    int n_active, cap_active, first_free;
};

/* player_open — everything at the start of time 0; n_ports more resources of capacity 1, after the
 * plan's, are the expander's. player_run — play to the end; player->expansion must be set by then. */
struct player *player_open(const struct plan *plan, const struct scale *scale,
                           const struct expander *expander, int n_ports, struct arena *perm);
struct run *player_run(struct player *player);

/* player_finish — the collective is over for all members of the meeting, now. */
void player_finish(struct player *player, int meeting);

/* player_take_slot — a free place in active[] for a flow of a meeting; player_free_slot gives it back. */
int player_take_slot(struct player *player, int meeting);
void player_free_slot(struct player *player, int slot);

/* player_op — the op by which a class takes part in a meeting. */
int player_op(const struct player *player, int meeting, int rank_class);

/* player_last_iteration — is it the last of a class's program? */
bool player_last_iteration(const struct player *player, int rank_class, int iteration);

#endif
