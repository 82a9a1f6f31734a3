/* What was measured on a cluster beside what its scenario predicts, point by point; and the few constants
 * of the cluster (adjust.h) fitted so that both agree, the simulator itself being the model.
 *
 * A point is one size of a collective, or a step of training: the median of a log's steps, the first
 * tenth left out. A scenario is taken with as many GPUs as took part and the batch that was measured,
 * all else as written. In-place runs are left out: they repeat the others.
 *
 * The fit is weighted least squares of ln(predicted / measured). Each constant is held to its old value by
 * a weak prior (a factor of two either way), so that few points move only what they tell about. Left-out
 * errors: each group, a log or a series of sizes, is predicted by constants fitted to the others. */
#ifndef STUDY_AGAINST_H
#define STUDY_AGAINST_H

#include "io/measured.h"
#include "io/scenario.h"
#include "study/forced.h"

struct against_point {
    const char *file; /* measured there */
    int line;
    int place; /* among against's cases: scenario, GPUs, batch */
    int group; /* its series */
    bool step;
    enum coll_kind kind; /* of a collective */
    double size_B;       /* likewise */
    double measured_s, predicted_s;
    double left_out_s; /* of a fit: predicted without its group; 0 = not known */
};

struct against_case {
    const char *scenario;
    int n_gpus;              /* 0: as written */
    bool step;               /* the scenario names a model */
    double batch;            /* of the whole job; 0: as written */
    const char *process_per; /* as the file tells who drove the GPUs; "": as written */
    const char *const *sets;
    int n_sets;
};

struct against_group {
    const char *name; /* "all_reduce, 16 GPUs, nccl.txt" */
    int first, n;     /* of points, which stand in order of groups */
};

struct against {
    struct against_case *cases;
    int n_cases;
    struct against_point *points;
    int n_points, n_steps; /* n_steps: of them, points that are steps */
    struct against_group *groups;
    int n_groups;
    int n_in_place;               /* rows left out */
    const struct inputs **inputs; /* of each case, as written */
    const struct scenario_options *options;
    struct forced forced; /* of collectives */
};

struct against_files {
    struct measured *const *measured;
    int n_measured;
    const char *const *scenarios; /* one for all, or one for each */
    int n_scenarios;
    struct forced forced; /* what the measured collectives were made to take */
};

/* against_open — points with their predictions. NULL after an error: nothing to compare, a scenario that
 * does not load with so many GPUs. */
struct against *against_open(const struct against_files *files,
                             const struct scenario_options *options, struct arena *perm,
                             struct diag *diag);

/* against_predict — all points, with `adjust` in place of what the scenarios say. */
void against_predict(struct against *against, const struct adjust *adjust, struct arena scratch);

/* against_inputs — what the points of a group are predicted from: its first point's, all of one number of
 * GPUs. */
const struct inputs *against_inputs(const struct against *against, int group);

/* against_as_if — predicted_s[n] of a group of collectives with changes of its scenario, written as for
 * --set; false where it does not load with them. */
bool against_as_if(const struct against *against, int group, const char *const *sets, int n_sets,
                   double *predicted_s, struct arena scratch);

/* against_error — median of |predicted / measured - 1| of n points. */
double against_error(const struct against_point *points, int n, struct arena scratch);

/* against_suspicion — what to look at first where measured times of one group are longer than predicted
 * ones, by where in size they are; "" when they are not by more than `tolerance`. */
const char *against_suspicion(const struct against_point *points, int n, double tolerance,
                              struct arena *perm);

#endif
