#include "study/against_fit.h"

#include "base/lsq.h"
#include "base/minimise.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* relative standard deviations of what the model cannot follow whatever its constants: of sizes of a
 * collective and of steps; and of the prior, a factor of two either way */
static const double COLLECTIVE_SD = 0.05, STEP_SD = 0.02, PRIOR_SD = 0.7;
static const double OVERHEAD_PRIOR = 0.1; /* of the median step */
static const double PROBE = 0.05, TOUCHED = 1e-3;
static const double HUBER = 3;
enum { STEPS_FOR_OVERHEAD = 4, ITERATIONS = 60, SEARCHES = 200 };

/* a constant: ln of its factor, or seconds */
struct free {
    const char *name;
    size_t offset; /* in struct adjust */
    double lower, upper;
    bool log;
};
static const struct free kinds[AGAINST_CONSTANTS] = {
    {"compute", offsetof(struct adjust, compute), 0.1, 10, true},
    {"latency", offsetof(struct adjust, latency), 0.1, 10, true},
    {"scaleup_rate", offsetof(struct adjust, scaleup_rate), 0.1, 10, true},
    {"network_rate", offsetof(struct adjust, network_rate), 0.1, 10, true},
    {"overhead", offsetof(struct adjust, overhead_s), 0, 0, false},
};
enum { COMPUTE, LATENCY, SCALEUP, NETWORK, OVERHEAD };

struct fitting {
    struct against *against;
    struct adjust start;
    int of[AGAINST_CONSTANTS]; /* kinds of the free constants */
    int n;
    bool tied;    /* one factor for the network: on its latency, its rates follow */
    int left_out; /* group; -1 = none */
    double median_step_s;
    double x[AGAINST_CONSTANTS]; /* where least squares start */
    struct arena *perm;
};

static double *member(struct adjust *adjust, int kind)
{
    return (double *)(void *)((char *)adjust + kinds[kind].offset);
}

/* factor — of one constant, and of those tied to it */
static void multiply(const struct fitting *fitting, int kind, double factor, struct adjust *adjust)
{
    *member(adjust, kind) *= factor;
    if (!fitting->tied || kind != LATENCY) return;
    adjust->scaleup_rate /= factor;
    adjust->network_rate /= factor;
}

static struct adjust adjust_at(const struct fitting *fitting, const double *x)
{
    struct adjust adjust = fitting->start;
    for (int k = 0; k < fitting->n; k++) {
        int kind = fitting->of[k];
        if (kinds[kind].log)
            multiply(fitting, kind, exp(x[k]), &adjust);
        else
            *member(&adjust, kind) = x[k];
    }
    return adjust;
}

static double sd_of(const struct against_point *point)
{
    return point->step ? STEP_SD : COLLECTIVE_SD;
}

static void residuals(void *context, const double *x, double *residual)
{
    const struct fitting *fitting = context;
    struct against *against = fitting->against;
    struct adjust adjust = adjust_at(fitting, x);
    against_predict(against, &adjust, *fitting->perm);
    int n = 0;
    for (int i = 0; i < against->n_points; i++) {
        const struct against_point *point = &against->points[i];
        if (point->group == fitting->left_out) continue;
        residual[n++] = log(point->predicted_s / point->measured_s) / sd_of(point);
    }
    for (int k = 0; k < fitting->n; k++) {
        bool log = kinds[fitting->of[k]].log;
        double prior_s = OVERHEAD_PRIOR * fitting->median_step_s;
        residual[n++] = log ? x[k] / PRIOR_SD : x[k] / prior_s;
    }
}

/* bounds of x: both ways as far */
static void bound(const struct fitting *fitting, double *lower, double *upper)
{
    for (int k = 0; k < fitting->n; k++) {
        const struct free *kind = &kinds[fitting->of[k]];
        lower[k] = kind->log ? log(kind->lower) : 0;
        upper[k] = kind->log ? log(kind->upper) : fitting->median_step_s;
    }
}

/* sum of what residuals count, beyond three by their size alone */
static double loss(void *context, const double *share)
{
    struct fitting *fitting = context;
    struct arena scratch = *fitting->perm;
    double lower[AGAINST_CONSTANTS];
    double upper[AGAINST_CONSTANTS];
    double x[AGAINST_CONSTANTS] = {0};
    bound(fitting, lower, upper);
    for (int k = 0; k < fitting->n; k++) x[k] = lower[k] + share[k] * (upper[k] - lower[k]);
    int n = fitting->against->n_points + fitting->n;
    double *residual = arena_new(&scratch, double, n);
    struct fitting work = *fitting;
    work.perm = &scratch;
    work.left_out = -1;
    residuals(&work, x, residual);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double size = fabs(residual[i]);
        sum += size < HUBER ? size * size : HUBER * (2 * size - HUBER);
    }
    return sum;
}

/* search_from — shares; out: the least found. */
static double search_from(struct fitting *fitting, double *share)
{
    struct minimise search = {.value = loss,
                              .context = fitting,
                              .n = fitting->n,
                              .first_step = 0.1,
                              .last_step = 0.005,
                              .max_evaluations = SEARCHES};
    minimise_simplex(&search, share, fitting->perm);
    search.n_evaluations = 0;
    return minimise_compass(&search, share, fitting->perm);
}

static double worse_by_two(int kind)
{
    if (!kinds[kind].log) return 0;
    return kind == SCALEUP || kind == NETWORK ? -log(2) : log(2);
}

/* find_start — sizes at which a library changes its choice are steps in what is fitted, where least
 * squares get stuck. So a search without derivatives comes first, from constants as they are and from
 * each set of them worse by two: slower latency, lower rates. */
static void find_start(struct fitting *fitting)
{
    double lower[AGAINST_CONSTANTS] = {0};
    double upper[AGAINST_CONSTANTS] = {0};
    double least = INFINITY;
    bound(fitting, lower, upper);
    for (int k = 0; k < fitting->n; k++) {
        bool log = kinds[fitting->of[k]].log;
        fitting->x[k] = log ? 0 : OVERHEAD_PRIOR * OVERHEAD_PRIOR * fitting->median_step_s;
    }
    for (unsigned set = 0; !fitting->tied && set < 1U << fitting->n; set++) {
        double share[AGAINST_CONSTANTS] = {0};
        for (int k = 0; k < fitting->n; k++) {
            double x = set >> k & 1U ? worse_by_two(fitting->of[k]) : 0;
            share[k] = (x - lower[k]) / (upper[k] - lower[k]);
        }
        double found = search_from(fitting, share);
        if (!(found < least)) continue;
        least = found;
        for (int k = 0; k < fitting->n; k++)
            fitting->x[k] = lower[k] + share[k] * (upper[k] - lower[k]);
    }
}

static struct lsq_result solve(struct fitting *fitting, int left_out)
{
    const struct against *against = fitting->against;
    double lower[AGAINST_CONSTANTS];
    double upper[AGAINST_CONSTANTS];
    bound(fitting, lower, upper);
    fitting->left_out = left_out;
    int n_out = left_out >= 0 ? against->groups[left_out].n : 0;
    struct lsq lsq = {.residuals = residuals,
                      .context = fitting,
                      .n = fitting->n,
                      .n_residuals = against->n_points - n_out + fitting->n,
                      .lower = lower,
                      .upper = upper,
                      .huber = HUBER,
                      .max_iterations = ITERATIONS};
    return lsq_fit(&lsq, fitting->x, fitting->perm);
}

/* --- which constants -------------------------------------------------------------------------------- */

static bool touches(const struct fitting *fitting, int kind)
{
    struct against *against = fitting->against;
    struct arena scratch = *fitting->perm;
    double *before_s = arena_new(&scratch, double, against->n_points);
    against_predict(against, &fitting->start, scratch);
    for (int i = 0; i < against->n_points; i++) before_s[i] = against->points[i].predicted_s;
    struct adjust moved = fitting->start;
    multiply(fitting, kind, 1 + PROBE, &moved);
    against_predict(against, &moved, scratch);
    for (int i = 0; i < against->n_points; i++) {
        if (fabs(against->points[i].predicted_s / before_s[i] - 1) > TOUCHED) return true;
    }
    return false;
}

static void choose(struct fitting *fitting)
{
    const struct against *against = fitting->against;
    fitting->tied = against->n_steps == against->n_points;
    for (int kind = COMPUTE; kind <= NETWORK; kind++) {
        if (fitting->tied && (kind == SCALEUP || kind == NETWORK)) continue;
        if (touches(fitting, kind)) fitting->of[fitting->n++] = kind;
    }
    if (against->n_steps >= STEPS_FOR_OVERHEAD) fitting->of[fitting->n++] = OVERHEAD;
}

static double median_step_s(const struct against *against, struct arena scratch)
{
    double *times_s = arena_new(&scratch, double, against->n_points);
    int n = 0;
    for (int i = 0; i < against->n_points; i++) {
        if (against->points[i].step) times_s[n++] = against->points[i].measured_s;
    }
    return n > 0 ? stats_median(times_s, n, scratch) : 0;
}

/* --- what comes of it --------------------------------------------------------------------------------- */

/* spread_of — of a new measurement: what points are off by, and what no constant could follow, as a few
 * points that are met by chance say nothing about the next */
static double spread_of(const struct against *against, bool left_out)
{
    double sum = 0;
    for (int i = 0; i < against->n_points; i++) {
        const struct against_point *point = &against->points[i];
        double off = log((left_out ? point->left_out_s : point->predicted_s) / point->measured_s);
        sum += off * off + sd_of(point) * sd_of(point);
    }
    return sqrt(sum / against->n_points);
}

static void leave_out(struct fitting *fitting, struct against_fit *fit)
{
    struct against *against = fitting->against;
    fit->error_left_out = NAN;
    if (against->n_groups < 2) return;
    for (int g = 0; g < against->n_groups; g++) {
        const struct against_group *group = &against->groups[g];
        struct lsq_result result = solve(fitting, g);
        struct adjust adjust = adjust_at(fitting, result.x);
        against_predict(against, &adjust, *fitting->perm);
        for (int i = group->first; i < group->first + group->n; i++)
            against->points[i].left_out_s = against->points[i].predicted_s;
    }
    struct arena scratch = *fitting->perm;
    double *errors = arena_new(&scratch, double, against->n_points);
    for (int i = 0; i < against->n_points; i++)
        errors[i] = fabs(against->points[i].left_out_s / against->points[i].measured_s - 1);
    fit->error_left_out = stats_median(errors, against->n_points, scratch);
}

static void note_constants(const struct fitting *fitting, const struct lsq_result *result,
                           struct against_fit *fit)
{
    struct adjust start = fitting->start;
    fit->adjust = adjust_at(fitting, result->x);
    fit->n_constants = fitting->n;
    for (int k = 0; k < fitting->n; k++) {
        int kind = fitting->of[k];
        bool network = fitting->tied && kind == LATENCY;
        fit->constants[k] =
            (struct against_constant){.name = network ? "network" : kinds[kind].name,
                                      .before = *member(&start, kind),
                                      .value = *member(&fit->adjust, kind),
                                      .sd = result->sd[k],
                                      .at_bound = result->at_bound[k]};
        for (int j = 0; j < fitting->n; j++)
            fit->covariance[k * fitting->n + j] = result->covariance[k * fitting->n + j];
    }
    fit->problem = result->problem;
}

struct against_fit *against_fit(struct against *against, struct arena *perm)
{
    struct against_fit *fit = arena_new(perm, struct against_fit, 1);
    struct fitting fitting = {.against = against,
                              .start = against->inputs[0]->adjust,
                              .median_step_s = median_step_s(against, *perm),
                              .perm = perm};
    fit->error_before = against_error(against->points, against->n_points, *perm);
    choose(&fitting);
    fit->adjust = fitting.start;
    if (fitting.n == 0) {
        fit->problem = "no constant moves these predictions";
        return fit;
    }
    find_start(&fitting);
    leave_out(&fitting, fit);
    struct lsq_result result = solve(&fitting, -1);
    note_constants(&fitting, &result, fit);
    against_predict(against, &fit->adjust, *perm);
    fit->error_after = against_error(against->points, against->n_points, *perm);
    fit->spread = spread_of(against, against->n_groups > 1);
    fit->adjust.spread = fmin(fit->spread, 1);
    return fit;
}
