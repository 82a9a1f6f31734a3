/* Fluid network: activities drain their work at max-min fair rates over shared resources.
 *
 * An activity is a bundle of flows in lock step (or a kernel): one rate x, which loads resource l
 * with n_l * x. All activities rise on a common level (x = weight * level); when a resource is
 * full, every activity on it is frozen; the rest rise on. A cap is a private resource.
 *
 * The evaluator pulls: it adds activities at the present time, asks when the next one ends, moves
 * the clock there, and takes the ended ones. Rates are re-solved lazily, from the first level that
 * changes, and only in the connected part that a start or an end touches:
 * flows frozen below the first level at which a touched resource can fill keep their rates.
 *
 * Ends within FLUID_SAME (relative) of each other are one event.
 * Sources: Bertsekas & Gallager, Data Networks, 2nd ed., sec. 6.5.2 (progressive filling). */
#ifndef NET_FLUID_H
#define NET_FLUID_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define FLUID_SAME 1e-12

struct load {
    int32_t resource;
    double n; /* > 0: x times n flows through the resource */
};

struct fluid;

/* fluid_new — resources with their capacities (units per second, > 0), at time 0. */
struct fluid *fluid_new(const double *capacity, int n_resources, struct arena *perm);

struct activity_spec {
    const struct load *loads; /* kept by reference: must outlive the activity; no resource twice */
    int n_loads;              /* 0: only the cap limits it */
    double work;              /* > 0, in the unit of its rate (bytes per flow; seconds of kernel) */
    double cap;               /* largest rate, > 0; INFINITY if none (then n_loads > 0) */
    double weight;            /* > 0; 1 for flows of bytes */
    int32_t tag;              /* returned when it ends */
};

/* fluid_add — start an activity at the present time; returns its id (ids are reused after the end). */
int fluid_add(struct fluid *fluid, struct activity_spec spec);

/* fluid_remove — take an active activity out before its end (a flow gets another way, say); returns the
 * work that is left. Its id is free. */
double fluid_remove(struct fluid *fluid, int id);

/* fluid_next_end_s — when the next activity ends at the present rates; INFINITY when none is active. */
double fluid_next_end_s(struct fluid *fluid);

/* fluid_advance — move the clock to time_s (>= now, <= fluid_next_end_s). */
void fluid_advance(struct fluid *fluid, double time_s);

/* fluid_take_ended — the tag of one activity that has ended by now, in order of adding among equals;
 * returns false when there is none (left). */
bool fluid_take_ended(struct fluid *fluid, int32_t *tag);

/* fluid_rate — the present rate of an active activity. */
double fluid_rate(struct fluid *fluid, int id);

/* fluid_set_capacity — from now on (a link degrades, fails or comes back); > 0. */
void fluid_set_capacity(struct fluid *fluid, int resource, double capacity);

/* fluid_bottleneck — the resource that froze an active activity; -1: its own cap. */
int fluid_bottleneck(struct fluid *fluid, int id);

/* fluid_has_held — was the resource ever what held an activity back? If not, more of it changes nothing. */
bool fluid_has_held(const struct fluid *fluid, int resource);

/* counters for the bench and the report */
struct fluid_stats {
    int64_t n_solves, n_rated, n_ended;
};
struct fluid_stats fluid_stats(const struct fluid *fluid);

#endif
