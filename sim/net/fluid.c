/* How a re-solve touches only what changes.
 *
 * Call the level at which a full resource freezes activities its level, and those activities its
 * group. Raise the common level from 0 and compare with the solution before: nothing differs below
 * the first level at which a touched resource fills now, or filled before. So touched resources
 * wait in a heap ordered by that level, and the lowest one is settled first:
 *
 *   it fills lower than before, or for the first time   its activities that are not frozen below
 *                                                       freeze here: on their other resources there
 *                                                       is now more room (freeze)
 *   it fills higher than before                         its group is tried at that level: on the other
 *                                                       resources of the group there is less room,
 *                                                       which is looked at only where they are full,
 *                                                       waiting, or now overloaded (raise_group)
 *   as before                                           nothing
 *
 * The other resources join the heap, with a level that is not below the present one. A key in the
 * heap is a lower bound: room that is won only raises the true level, which is computed when the
 * key comes up; room that is lost is computed at once. Every activity is settled at most once, so
 * the work is that of the activities whose rate changes, and of their resources' neighbours.
 *
 * The level of a resource is summed afresh from its activities each time, so nothing drifts. Levels
 * within SAME are the same: without a margin the ulps by which equal shares differ
 * would spread through the network as changes.
 *
 * All of a group have one level, so the next end is kept per group (per activity when its own cap
 * holds it): the heap of ends is re-keyed once per resource, not once per flow. */
#include "net/fluid.h"

#include "base/idheap.h"
#include "base/must.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Levels: sums of a few thousand shares round by some 1e-14; results must hold to 1e-9. */
#define SAME 1e-12

/* Moves of a running sum before it is summed afresh. */
#define MOVES_MAX 4096

#define NEVER HUGE_VAL /* infinity as a double */

/* Levels of resources that join the heap at a time, highest over lowest: few enough that most never do,
 * enough that it is rarely done. */
#define PENDING_SPAN 1.5

enum { CAPPED = -1, LOOSE = -2, NONE = -1, N_CLASSES = 31 };

/* one activity on one resource */
struct crossing {
    double load; /* per unit of level: n * weight */
    int32_t activity;
    int32_t k; /* loads[k] of the activity */
};

/* one cache line */
struct resource {
    double capacity;
    double level;  /* of its group; NEVER: it has none */
    double load;   /* while it has no group: of its activities; refreshed before it drifts */
    double rising; /* load, per unit of level, of those that are free to rise here */
    struct crossing *crossings;
    int32_t n, n_rising;
    uint32_t settled; /* the solve that settled it last */
    uint32_t raised;  /* the solve that raised its group last */
    uint32_t filled;  /* the solve in which it was last filled: rising and n_rising hold since */
    uint16_t n_moves; /* of its load, since it was summed */
    uint8_t room;     /* for 2^room - 1 crossings */
    bool touched : 1; /* stands in fluid->touched */
    bool tighter : 1; /* may fill lower than before */
    bool held : 1;    /* some activity back, at some time */
    bool in_wave : 1;
    bool pending : 1; /* stands in fluid->pending */
};
_Static_assert(sizeof(struct resource) == 64, "a resource is a cache line");

/* what filling reads of an activity: small, so that thousands stay in the cache */
struct mark {
    double level;     /* loose: its ceiling */
    int32_t neck;     /* the resource that froze it, or CAPPED, or LOOSE */
    uint32_t settled; /* the solve that settled it last */
};

/* the rest: one cache line */
struct activity {
    const struct load *loads;
    double remaining; /* work left at since_s */
    double since_s;   /* when the rate changed last */
    double rate;
    double weight, ceiling; /* ceiling: the level of its own cap */
    uint32_t seq;           /* order of adding; wraps, compared by difference */
    int32_t n_loads, tag;
    int32_t places; /* fluid->places[places + k]: where in its resource's list crossing k stands;
                     * free id: the next free id */
};

/* a resource that may fill at this level or above */
struct pending {
    double level;
    int32_t resource;
};

struct fluid {
    double now_s;
    struct resource *resources;
    struct activity *activities;
    struct mark *marks;
    int32_t n_resources, n_ids, room, free_id;
    int32_t *places; /* blocks of 2^c, free ones chained by their first word */
    int32_t n_places, room_places, free_places[N_CLASSES];
    struct idheap levels; /* resources to settle */
    struct idheap ends;   /* resources by the first end in their group; n_resources + id: capped */
    int32_t *touched, n_touched; /* [n_resources] */
    struct pending *pending;     /* [n_resources] without a group, not yet in `levels` */
    int32_t n_pending;
    int32_t n_free;                   /* loose, without a ceiling */
    int32_t *wave;                    /* [n_resources] scratch of loosen */
    int32_t *capped, n_capped;        /* [room] loose in this solve, with a ceiling */
    int32_t *ended, n_ended, n_taken; /* [room] */
    uint32_t n_added, solve;
    struct fluid_stats stats;
    struct arena *perm;
};

struct fluid *fluid_new(const double *capacity, int n_resources, struct arena *perm)
{
    struct fluid *fluid = arena_new(perm, struct fluid, 1);
    *fluid = (struct fluid){.n_resources = n_resources, .free_id = NONE, .perm = perm};
    fluid->resources = arena_new_lines(perm, struct resource, n_resources);
    for (int l = 0; l < n_resources; l++) {
        must(capacity[l] > 0.0 && capacity[l] < NEVER);
        fluid->resources[l] = (struct resource){.capacity = capacity[l], .level = NEVER};
    }
    for (int c = 0; c < N_CLASSES; c++) fluid->free_places[c] = NONE;
    fluid->levels.perm = perm;
    fluid->ends.perm = perm;
    idheap_reserve(&fluid->levels, n_resources);
    idheap_reserve(&fluid->ends, n_resources);
    fluid->touched = arena_new(perm, int32_t, n_resources);
    fluid->wave = arena_new(perm, int32_t, n_resources);
    fluid->pending = arena_new(perm, struct pending, n_resources);
    return fluid;
}

/* Filling one resource. */

/* A group that this solve has not settled yet counts as free to rise, like loose ones. */
static inline double level_on(const struct fluid *fluid, int l, const struct crossing *crossing)
{
    const struct mark *mark = &fluid->marks[crossing->activity];
    return mark->neck == l && mark->settled != fluid->solve ? NEVER : mark->level;
}

/* What crosses a resource at a level: the load of those that rise on, the use of those that do not. */
struct split {
    double fixed, rising;
};

static struct split split_at(const struct fluid *fluid, int l, double level)
{
    const struct resource *resource = &fluid->resources[l];
    struct split split = {0.0, 0.0};
    for (int32_t i = 0; i < resource->n; i++) {
        const struct crossing *crossing = &resource->crossings[i];
        double at = level_on(fluid, l, crossing);
        if (at > level)
            split.rising += crossing->load;
        else
            split.fixed += crossing->load * at;
    }
    return split;
}

/* Newton's method on the load as a function of the level, which is concave and piecewise linear:
 * from any level each step gives a lower bound of the root, so the steps rise to it, and they
 * end when no activity changes sides. */
static double fill_from(const struct fluid *fluid, int l, double level)
{
    double capacity = fluid->resources[l].capacity;
    for (;;) {
        struct split split = split_at(fluid, l, level);
        double next = split.rising > 0.0 ? (capacity - split.fixed) / split.rising : level;
        if (next <= level * (1.0 + SAME)) return level;
        level = next;
    }
}

/* The level at which resource l fills when the others on it keep their present levels;
 * NEVER when it does not. Its load is summed afresh on the way. */
static double fill(struct fluid *fluid, int l)
{
    struct resource *resource = &fluid->resources[l];
    double fixed = 0.0;
    double load = 0.0;
    double rising = 0.0;
    double highest = 0.0;
    int32_t n_rising = 0;
    for (int32_t i = 0; i < resource->n; i++) { /* no branch: which ones rise cannot be guessed */
        const struct crossing *crossing = &resource->crossings[i];
        const struct mark *mark = &fluid->marks[crossing->activity];
        int grouped = (mark->neck == l) & (mark->settled != fluid->solve);
        int free = grouped | (mark->level >= NEVER);
        double rises = free;
        double held = (mark->level < DBL_MAX ? mark->level : DBL_MAX) * (1.0 - rises);
        n_rising += free;
        load += crossing->load;
        rising += crossing->load * rises;
        fixed += crossing->load * held;
        highest = highest > held ? highest : held;
    }
    resource->filled = fluid->solve;
    resource->rising = rising;
    resource->n_rising = n_rising;
    resource->load = fixed;
    resource->n_moves = 0;
    bool fits = fixed <= resource->capacity * (1.0 + SAME);
    if (fits && n_rising == 0) return NEVER;
    double even = resource->capacity / load; /* it never fills below the even share */
    if (!fits) return fill_from(fluid, l, even);
    double level = fmax(even, (resource->capacity - fixed) / rising);
    return highest <= level * (1.0 + SAME) ? level : fill_from(fluid, l, level);
}

/* Time. */

static double end_s(const struct activity *activity)
{
    return activity->since_s + activity->remaining / activity->rate;
}

static void set_rate(struct fluid *fluid, int32_t id, double rate)
{
    struct activity *activity = &fluid->activities[id];
    double done = activity->rate * (fluid->now_s - activity->since_s);
    activity->remaining = done < activity->remaining ? activity->remaining - done : 0.0;
    activity->since_s = fluid->now_s;
    activity->rate = rate;
    fluid->stats.n_rated++;
}

static void sum_load(const struct fluid *fluid, struct resource *resource)
{
    resource->load = 0.0;
    resource->n_moves = 0;
    for (int32_t i = 0; i < resource->n; i++) {
        double level = fluid->marks[resource->crossings[i].activity].level;
        if (level < NEVER) resource->load += level * resource->crossings[i].load;
    }
}

static void clear_group(struct fluid *fluid, int l)
{
    idheap_remove(&fluid->ends, l);
    fluid->resources[l].level = NEVER;
}

/* Solving. */

static void touch(struct fluid *fluid, int l, bool tighter)
{
    struct resource *resource = &fluid->resources[l];
    if (!resource->touched) fluid->touched[fluid->n_touched++] = l;
    resource->touched = true;
    if (tighter) resource->tighter = true;
}

/* the level of the group that this solve has not settled yet: as before the solve, or where it was
 * raised to */
static double level_before(const struct fluid *fluid, const struct resource *resource)
{
    return resource->settled != fluid->solve ? resource->level : NEVER;
}

/* where a resource that has less room than before is due to be settled */
static double due_if_tighter(struct fluid *fluid, int l)
{
    return fmin(fill(fluid, l), level_before(fluid, &fluid->resources[l]));
}

static void await_filled(struct fluid *fluid, int l)
{
    double level = due_if_tighter(fluid, l);
    if (level < NEVER) idheap_set(&fluid->levels, l, level);
}

static void move_load(const struct fluid *fluid, struct resource *resource, double by)
{
    if (++resource->n_moves < MOVES_MAX) {
        resource->load += by;
    } else {
        sum_load(fluid, resource);
        if (resource->filled == fluid->solve) resource->filled = 0;
    }
}

static bool is_awaited(const struct fluid *fluid, int l)
{
    return fluid->resources[l].pending || idheap_has(&fluid->levels, l);
}

/* The activity has less than it might have had: on its resources beside l there may be more room, at
 * levels above the present one. */
static void await_others(struct fluid *fluid, int32_t id, int l, struct mark before)
{
    const struct activity *activity = &fluid->activities[id];
    double level = fluid->marks[id].level;
    double more = before.level < NEVER ? level - before.level : level;
    for (int k = 0; k < activity->n_loads; k++) {
        int other = activity->loads[k].resource;
        if (other == l) continue;
        struct resource *resource = &fluid->resources[other];
        double load = activity->weight * activity->loads[k].n;
        bool rose = other == before.neck || before.level >= NEVER;
        resource->n_rising -= rose;
        resource->rising -= rose ? load : 0.0;
        move_load(fluid, resource, load * (rose ? level : more));
        if (resource->level >= NEVER || is_awaited(fluid, other)) continue;
        double due = level_before(fluid, resource);
        if (due < NEVER) idheap_set(&fluid->levels, other, due);
    }
}

static void freeze_one(struct fluid *fluid, int l, int32_t id, double level)
{
    struct mark before = fluid->marks[id];
    fluid->n_free -= before.level >= NEVER;
    if (before.neck == CAPPED) idheap_remove(&fluid->ends, fluid->n_resources + id);
    fluid->marks[id] = (struct mark){.level = level, .neck = l, .settled = fluid->solve};
    set_rate(fluid, id, level * fluid->activities[id].weight);
    await_others(fluid, id, l, before);
}

static void settle_one(struct fluid *fluid, int l, int32_t id, double level, bool as_before)
{
    struct mark *mark = &fluid->marks[id];
    if (mark->settled == fluid->solve) return;
    if (mark->neck == l && as_before) {
        mark->settled = fluid->solve;
    } else if (mark->neck == l || mark->level > level * (1.0 + SAME)) {
        freeze_one(fluid, l, id, level);
    }
}

/* Everything on l that would rise above this level freezes here. */
static void freeze(struct fluid *fluid, int l, double level, bool as_before)
{
    struct resource *resource = &fluid->resources[l];
    double first_s = NEVER;
    for (int32_t i = 0; i < resource->n; i++) /* they lie anywhere: all are asked for at once */
        __builtin_prefetch(fluid->activities[resource->crossings[i].activity].loads);
    for (int32_t i = 0; i < resource->n; i++) {
        int32_t id = resource->crossings[i].activity;
        settle_one(fluid, l, id, level, as_before);
        if (fluid->marks[id].neck != l) continue;
        double until_s = end_s(&fluid->activities[id]);
        first_s = first_s < until_s ? first_s : until_s;
    }
    resource->settled = fluid->solve;
    resource->filled = 0;
    resource->level = level;
    if (first_s < NEVER) {
        resource->held = true;
        idheap_set(&fluid->ends, l, first_s);
    } else {
        clear_group(fluid, l);
        sum_load(fluid, resource);
    }
}

static void loosen_one(struct fluid *fluid, int32_t id)
{
    double ceiling = fluid->activities[id].ceiling;
    fluid->marks[id].level = ceiling;
    fluid->marks[id].neck = LOOSE;
    if (ceiling < NEVER) fluid->capped[fluid->n_capped++] = id;
}

/* The resources beside l on which the activity, which takes more, leaves less room: each once, after
 * the first n of the wave. Those that are neither full nor overloaded now need no look. */
static int32_t gather(struct fluid *fluid, int32_t id, int l, double more, int32_t n)
{
    const struct activity *activity = &fluid->activities[id];
    for (int k = 0; k < activity->n_loads; k++) {
        int other = activity->loads[k].resource;
        if (other == l) continue;
        struct resource *resource = &fluid->resources[other];
        move_load(fluid, resource, more * activity->weight * activity->loads[k].n);
        bool room = resource->level >= NEVER &&
                    resource->load <= resource->capacity * (1.0 + SAME) &&
                    !is_awaited(fluid, other);
        if (room || resource->in_wave) continue;
        resource->in_wave = true;
        fluid->wave[n++] = other;
    }
    return n;
}

/* The group of l rises to this level at least, unless something else holds it. */
static void raise_group(struct fluid *fluid, int l, double level)
{
    struct resource *resource = &fluid->resources[l];
    int32_t n = 0;
    for (int32_t i = 0; i < resource->n; i++) {
        int32_t id = resource->crossings[i].activity;
        struct mark *mark = &fluid->marks[id];
        if (mark->neck != l || mark->settled == fluid->solve) continue;
        double before = mark->level;
        mark->level = level;
        if (fluid->activities[id].ceiling <= level) {
            loosen_one(fluid, id);
            resource->filled = 0; /* one less is free to rise */
        }
        n = gather(fluid, id, l, mark->level - before, n);
    }
    resource->level = level;
    resource->raised = fluid->solve;
    idheap_set(&fluid->levels, l, level);
    for (int32_t i = 0; i < n; i++) {
        fluid->resources[fluid->wave[i]].in_wave = false;
        await_filled(fluid, fluid->wave[i]);
    }
}

/* A lower bound of the level at which the resource fills, from what moved since it was last filled;
 * NEVER: nothing on it is free to rise. */
static double fill_at_least(const struct fluid *fluid, const struct resource *resource)
{
    if (resource->filled != fluid->solve) return 0.0;
    double left = resource->capacity - resource->load;
    if (resource->n_rising == 0) return left >= -SAME * resource->capacity ? NEVER : 0.0;
    return left > 0.0 ? left / resource->rising * (1.0 - SAME) : 0.0;
}

static void settle_lowest(struct fluid *fluid)
{
    int l = idheap_first(&fluid->levels);
    const struct resource *resource = &fluid->resources[l];
    double due = idheap_first_key(&fluid->levels) * (1.0 + SAME);
    double before = level_before(fluid, resource);
    double level = fill_at_least(fluid, resource);
    if (fmin(level, before) <= due) level = fill(fluid, l);
    double first = fmin(level, before);
    if (level >= NEVER) { /* so it has no group, unless one was settled a moment ago */
        idheap_pop(&fluid->levels);
        if (resource->settled != fluid->solve) clear_group(fluid, l);
    } else if (first > due) {
        idheap_set(&fluid->levels, l, first);
    } else if (before < NEVER && level > before * (1.0 + SAME)) {
        raise_group(fluid, l, level);
    } else {
        bool same = before < NEVER && level >= before * (1.0 - SAME);
        bool as_before = same && resource->raised != fluid->solve;
        idheap_pop(&fluid->levels);
        freeze(fluid, l, same ? before : level, as_before);
    }
}

static void settle_capped(struct fluid *fluid)
{
    for (int32_t i = 0; i < fluid->n_capped; i++) {
        int32_t id = fluid->capped[i];
        if (fluid->marks[id].neck != LOOSE) continue;
        fluid->marks[id].neck = CAPPED;
        set_rate(fluid, id, fluid->activities[id].ceiling * fluid->activities[id].weight);
        idheap_set(&fluid->ends, fluid->n_resources + id, end_s(&fluid->activities[id]));
    }
    fluid->n_capped = 0;
}

/* When the numbers are used up, old ones must not be taken for the new. */
static void number_solve(struct fluid *fluid)
{
    if (++fluid->solve < UINT32_MAX) return;
    for (int l = 0; l < fluid->n_resources; l++)
        fluid->resources[l].settled = fluid->resources[l].raised = fluid->resources[l].filled = 0;
    for (int32_t id = 0; id < fluid->n_ids; id++) fluid->marks[id].settled = 0;
    fluid->solve = 1;
}

/* The level at which a touched resource is settled, or less. Without a group, all that is free to rise on
 * it was counted when it was added. */
static double due_of(struct fluid *fluid, int l)
{
    const struct resource *resource = &fluid->resources[l];
    if (!resource->tighter) return resource->level;
    if (resource->level < NEVER || resource->filled != fluid->solve)
        return due_if_tighter(fluid, l);
    if (resource->n_rising > 0 && resource->load <= 0.0)
        return resource->capacity / resource->rising;
    return fill_at_least(fluid, resource);
}

/* Of the touched resources those with a group, and those that are overloaded, begin the heap of those to
 * settle. The others wait until their turn comes, which it mostly does not: they fill only if what is
 * free to rise gets that far. */
static void await_touched(struct fluid *fluid)
{
    for (int32_t i = 0; i < fluid->n_touched; i++) {
        int l = fluid->touched[i];
        struct resource *resource = &fluid->resources[l];
        double level = due_of(fluid, l);
        resource->touched = false;
        resource->tighter = false;
        if (level >= NEVER) continue;
        if (resource->level < NEVER || resource->load > resource->capacity) {
            idheap_set(&fluid->levels, l, level);
        } else {
            resource->pending = true;
            fluid->pending[fluid->n_pending++] = (struct pending){level, l};
        }
    }
    fluid->n_touched = 0;
}

/* The lowest of the pending resources join the heap, by what is known of them by now; returns the level
 * up to which they do. */
static double await_pending(struct fluid *fluid)
{
    double lowest = NEVER;
    for (int32_t i = 0; i < fluid->n_pending; i++) {
        struct pending *pending = &fluid->pending[i];
        double level = fill_at_least(fluid, &fluid->resources[pending->resource]);
        if (level > pending->level) pending->level = level;
        if (pending->level < lowest) lowest = pending->level;
    }
    double until = PENDING_SPAN * lowest;
    int32_t n = 0;
    for (int32_t i = 0; i < fluid->n_pending; i++) {
        struct pending pending = fluid->pending[i];
        struct resource *resource = &fluid->resources[pending.resource];
        if (pending.level > until) {
            fluid->pending[n++] = pending;
            continue;
        }
        resource->pending = false;
        if (pending.level < NEVER && resource->settled != fluid->solve &&
            !idheap_has(&fluid->levels, pending.resource))
            idheap_set(&fluid->levels, pending.resource, pending.level);
    }
    fluid->n_pending = n;
    return until;
}

/* When nothing is free to rise any more, they do not fill. What raising a group puts on them since is
 * looked at by itself (gather). */
static void drop_pending(struct fluid *fluid)
{
    for (int32_t i = 0; i < fluid->n_pending; i++)
        fluid->resources[fluid->pending[i].resource].pending = false;
    fluid->n_pending = 0;
}

static void solve(struct fluid *fluid)
{
    if (fluid->n_touched == 0) return;
    number_solve(fluid);
    fluid->stats.n_solves++;
    await_touched(fluid);
    double until = 0.0;
    while (fluid->levels.n > 0 || fluid->n_pending > 0) {
        bool due = fluid->levels.n > 0 && idheap_first_key(&fluid->levels) <= until;
        if (due || fluid->n_pending == 0)
            settle_lowest(fluid);
        else if (fluid->n_free == 0)
            drop_pending(fluid);
        else
            until = await_pending(fluid);
    }
    settle_capped(fluid);
}

/* Adding. */

static int32_t take_id(struct fluid *fluid)
{
    int32_t id = fluid->free_id;
    if (id != NONE) {
        fluid->free_id = fluid->activities[id].places;
        return id;
    }
    if (fluid->n_ids == fluid->room) {
        int32_t room = fluid->room ? 2 * fluid->room : 64;
        struct arena *perm = fluid->perm;
        struct activity *activities = arena_new_lines(perm, struct activity, room);
        if (fluid->n_ids > 0)
            memcpy(activities, fluid->activities, (size_t)fluid->n_ids * sizeof *activities);
        fluid->activities = activities;
        fluid->marks = arena_grow(perm, struct mark, fluid->marks, fluid->n_ids, room);
        fluid->capped = arena_grow(perm, int32_t, fluid->capped, fluid->n_capped, room);
        fluid->ended = arena_grow(perm, int32_t, fluid->ended, fluid->n_ended, room);
        idheap_reserve(&fluid->ends, fluid->n_resources + room);
        fluid->room = room;
    }
    return fluid->n_ids++;
}

static int class_of(int n_loads)
{
    int class = 0;
    while (1 << class < n_loads) class ++;
    return class;
}

static int32_t take_places(struct fluid *fluid, int n_loads)
{
    int class = class_of(n_loads);
    int32_t block = fluid->free_places[class];
    if (block != NONE) {
        fluid->free_places[class] = fluid->places[block];
        return block;
    }
    while (fluid->n_places + (1 << class) > fluid->room_places) {
        must(fluid->room_places < INT32_MAX / 2);
        fluid->room_places = fluid->room_places ? 2 * fluid->room_places : 256;
        fluid->places =
            arena_grow(fluid->perm, int32_t, fluid->places, fluid->n_places, fluid->room_places);
    }
    block = fluid->n_places;
    fluid->n_places += 1 << class;
    return block;
}

static void give_places(struct fluid *fluid, int32_t block, int n_loads)
{
    int class = class_of(n_loads);
    fluid->places[block] = fluid->free_places[class];
    fluid->free_places[class] = block;
}

static void attach(struct fluid *fluid, int32_t id, int k)
{
    struct activity *activity = &fluid->activities[id];
    const struct load *load = &activity->loads[k];
    must(load->resource >= 0 && load->resource < fluid->n_resources && load->n > 0.0);
    struct resource *resource = &fluid->resources[load->resource];
    if (resource->n == (1 << resource->room) - 1) {
        resource->room++;
        resource->crossings = arena_grow(fluid->perm, struct crossing, resource->crossings,
                                         resource->n, (1 << resource->room) - 1);
    }
    fluid->places[activity->places + k] = resource->n;
    resource->crossings[resource->n++] =
        (struct crossing){.load = load->n * activity->weight, .activity = id, .k = k};
}

static void detach(struct fluid *fluid, int32_t id, int k)
{
    struct activity *activity = &fluid->activities[id];
    int l = activity->loads[k].resource;
    struct resource *resource = &fluid->resources[l];
    if (resource->n == 1) {
        resource->n = 0;
        resource->level = NEVER;
        resource->load = 0.0;
        return;
    }
    int32_t place = fluid->places[activity->places + k];
    double moved_load = fluid->marks[id].level * resource->crossings[place].load;
    struct crossing moved = resource->crossings[--resource->n];
    resource->crossings[place] = moved;
    fluid->places[fluid->activities[moved.activity].places + moved.k] = place;
    move_load(fluid, resource, -moved_load);
    touch(fluid, l, false);
}

/* Nothing else on its resources: its rate is known at once, and no other changes. */
static void settle_alone(struct fluid *fluid, int32_t id)
{
    struct activity *activity = &fluid->activities[id];
    struct mark *mark = &fluid->marks[id];
    *mark = (struct mark){.level = activity->ceiling, .neck = CAPPED};
    for (int k = 0; k < activity->n_loads; k++) {
        int l = activity->loads[k].resource;
        double level = fluid->resources[l].capacity / fluid->resources[l].crossings[0].load;
        if (level < mark->level) *mark = (struct mark){.level = level, .neck = l};
    }
    for (int k = 0; k < activity->n_loads; k++) {
        struct resource *resource = &fluid->resources[activity->loads[k].resource];
        resource->load = mark->level * resource->crossings[0].load;
        if (mark->neck != activity->loads[k].resource) continue;
        resource->level = mark->level;
        resource->held = true;
    }
    set_rate(fluid, id, mark->level * activity->weight);
    idheap_set(&fluid->ends, mark->neck >= 0 ? mark->neck : fluid->n_resources + id,
               end_s(activity));
}

/* Between two solves nothing is free to rise on a resource without a group but what is added. */
static void count_rising(const struct fluid *fluid, struct resource *resource, double load)
{
    uint32_t next = fluid->solve + 1;
    if (resource->filled != next) {
        resource->filled = next;
        resource->rising = 0.0;
        resource->n_rising = 0;
    }
    resource->rising += load;
    resource->n_rising++;
}

int fluid_add(struct fluid *fluid, struct activity_spec spec)
{
    must(spec.work > 0.0 && spec.work < NEVER && spec.weight > 0.0 && spec.cap > 0.0);
    must(spec.n_loads > 0 || spec.cap < NEVER);
    int32_t id = take_id(fluid);
    fluid->activities[id] = (struct activity){
        .loads = spec.loads,
        .remaining = spec.work,
        .since_s = fluid->now_s,
        .weight = spec.weight,
        .ceiling = spec.cap / spec.weight,
        .seq = fluid->n_added++,
        .n_loads = spec.n_loads,
        .tag = spec.tag,
        .places = take_places(fluid, spec.n_loads),
    };
    bool alone = true;
    for (int k = 0; k < spec.n_loads; k++) {
        attach(fluid, id, k);
        alone &= fluid->resources[spec.loads[k].resource].n == 1;
    }
    if (alone) {
        settle_alone(fluid, id);
        return id;
    }
    loosen_one(fluid, id);
    double level = fluid->activities[id].ceiling;
    fluid->n_free += level >= NEVER;
    for (int k = 0; k < spec.n_loads; k++) {
        int l = spec.loads[k].resource;
        if (level < NEVER) {
            move_load(fluid, &fluid->resources[l], level * spec.weight * spec.loads[k].n);
        } else {
            count_rising(fluid, &fluid->resources[l], spec.weight * spec.loads[k].n);
        }
        touch(fluid, l, true);
    }
    return id;
}

/* Where it was the first of its group to end, solving looks for the next: its neck is touched. */
double fluid_remove(struct fluid *fluid, int id)
{
    solve(fluid);
    struct activity *activity = &fluid->activities[id];
    int32_t neck = fluid->marks[id].neck;
    set_rate(fluid, id, activity->rate);
    if (neck == CAPPED) idheap_remove(&fluid->ends, fluid->n_resources + id);
    for (int k = 0; k < activity->n_loads; k++) detach(fluid, id, k);
    if (neck >= 0 && fluid->resources[neck].n == 0) idheap_remove(&fluid->ends, neck);
    give_places(fluid, activity->places, activity->n_loads);
    activity->places = fluid->free_id;
    fluid->free_id = id;
    return activity->remaining;
}

void fluid_set_capacity(struct fluid *fluid, int resource, double capacity)
{
    must(resource >= 0 && resource < fluid->n_resources && capacity > 0.0 && capacity < NEVER);
    fluid->resources[resource].capacity = capacity;
    touch(fluid, resource, true);
}

/* Ending. */

double fluid_next_end_s(struct fluid *fluid)
{
    solve(fluid);
    if (fluid->n_taken < fluid->n_ended) return fluid->now_s;
    return fluid->ends.n > 0 ? fmax(idheap_first_key(&fluid->ends), fluid->now_s) : NEVER;
}

void fluid_advance(struct fluid *fluid, double time_s)
{
    must(time_s >= fluid->now_s && time_s <= fluid_next_end_s(fluid) * (1.0 + FLUID_SAME));
    fluid->now_s = time_s;
}

static void collect_group(struct fluid *fluid, int l, double until_s)
{
    const struct resource *resource = &fluid->resources[l];
    int32_t n_before = fluid->n_ended;
    for (int32_t i = 0; i < resource->n; i++) {
        int32_t id = resource->crossings[i].activity;
        if (fluid->marks[id].neck == l && end_s(&fluid->activities[id]) <= until_s) {
            fluid->ended[fluid->n_ended++] = id;
        }
    }
    must(fluid->n_ended > n_before); /* else the rest of the group would never end */
}

struct turn {
    uint32_t age; /* starts since this one */
    int32_t id;
};

static int older_first(const void *a, const void *b)
{
    uint32_t age_a = ((const struct turn *)a)->age;
    uint32_t age_b = ((const struct turn *)b)->age;
    return (age_a < age_b) - (age_a > age_b);
}

/* Lock-step ends mostly come in order already. */
static void order_ended(struct fluid *fluid)
{
    struct arena scratch = *fluid->perm;
    int32_t *ended = fluid->ended;
    struct turn *turns = arena_new(&scratch, struct turn, fluid->n_ended);
    bool ordered = true;
    for (int32_t i = 0; i < fluid->n_ended; i++) {
        uint32_t age = fluid->n_added - fluid->activities[ended[i]].seq;
        turns[i] = (struct turn){.age = age, .id = ended[i]};
        ordered &= i == 0 || turns[i - 1].age > age;
    }
    if (ordered) return;
    qsort(turns, (size_t)fluid->n_ended, sizeof *turns, older_first);
    for (int32_t i = 0; i < fluid->n_ended; i++) ended[i] = turns[i].id;
}

/* Ids stay taken until their tag is handed over. */
static void collect_ended(struct fluid *fluid)
{
    double until_s = fluid->now_s * (1.0 + FLUID_SAME);
    fluid->n_ended = 0;
    fluid->n_taken = 0;
    while (fluid->ends.n > 0 && idheap_first_key(&fluid->ends) <= until_s) {
        int32_t id = idheap_pop(&fluid->ends);
        if (id < fluid->n_resources) {
            collect_group(fluid, id, until_s);
        } else {
            fluid->ended[fluid->n_ended++] = id - fluid->n_resources;
        }
    }
    if (fluid->n_ended > 1) order_ended(fluid);
    for (int32_t i = 0; i < fluid->n_ended; i++) {
        int32_t id = fluid->ended[i];
        for (int k = 0; k < fluid->activities[id].n_loads; k++) detach(fluid, id, k);
        give_places(fluid, fluid->activities[id].places, fluid->activities[id].n_loads);
    }
    fluid->stats.n_ended += fluid->n_ended;
}

bool fluid_take_ended(struct fluid *fluid, int32_t *tag)
{
    if (fluid->n_taken == fluid->n_ended) collect_ended(fluid);
    if (fluid->n_taken == fluid->n_ended) return false;
    int32_t id = fluid->ended[fluid->n_taken++];
    *tag = fluid->activities[id].tag;
    fluid->activities[id].places = fluid->free_id;
    fluid->free_id = id;
    return true;
}

/* Looking. */

double fluid_rate(struct fluid *fluid, int id)
{
    solve(fluid);
    return fluid->activities[id].rate;
}

int fluid_bottleneck(struct fluid *fluid, int id)
{
    solve(fluid);
    return fluid->marks[id].neck;
}

bool fluid_has_held(const struct fluid *fluid, int resource)
{
    return fluid->resources[resource].held;
}

struct fluid_stats fluid_stats(const struct fluid *fluid)
{
    return fluid->stats;
}
