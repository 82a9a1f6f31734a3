#include "jobs.h"

#include "base/must.h"
#include "workload/merge.h"

#include <math.h>

/* A job's mean is taken over this many steps at least; runs are made longer a few times for it. */
enum { LEAST_STEPS = 3, MAX_LONGER = 4, MAX_STEPS = 4096 };

/* When each step of each part ends: ends[part][step]. */
static double **step_ends(const struct plan *plan, const struct run *run, struct arena *perm)
{
    const struct job *job = plan->in->job;
    double **ends = arena_new(perm, double *, job->n_parts);
    for (int i = 0; i < job->n_parts; i++) ends[i] = arena_new(perm, double, job->n_iterations);
    for (int64_t s = 0; s < run->n_spans; s++) {
        const struct span *span = &run->spans[s];
        int program = plan->classes[span->rank_class].program;
        int i = job->n_parts - 1;
        while (job->parts[i].first_program > program) i--;
        ends[i][span->iteration] = fmax(ends[i][span->iteration], span->end_s);
    }
    return ends;
}

struct window {
    double from_s, to_s; /* all jobs run */
};

static struct window common_window(double *const *ends, const int *n_steps, int n)
{
    struct window window = {0, HUGE_VAL};
    for (int i = 0; i < n; i++) {
        window.from_s = fmax(window.from_s, ends[i][0]);
        window.to_s = fmin(window.to_s, ends[i][n_steps[i] - 1]);
    }
    return window;
}

/* The mean step of one job in the window; n_mean out: of how many. */
static double mean_step_s(const double *ends, int n_steps, struct window window, int *n_mean)
{
    int first = 0;
    while (first < n_steps - 1 && ends[first] < window.from_s) first++;
    *n_mean = 0;
    for (int i = first + 1; i < n_steps && ends[i] <= window.to_s; i++) *n_mean = i - first;
    return *n_mean > 0 ? (ends[first + *n_mean] - ends[first]) / *n_mean : HUGE_VAL;
}

/* As many steps of each as take about as long as in->train.n_iterations of the slowest. */
static void share_steps(const struct inputs *in, const struct result *result, int longer,
                        int *n_steps)
{
    double slowest_s = 0;
    for (int i = 0; i < in->n_jobs; i++) slowest_s = fmax(slowest_s, result->jobs[i].alone_s);
    for (int i = 0; i < in->n_jobs; i++) {
        double of = slowest_s / result->jobs[i].alone_s * in->jobs[0]->train.n_iterations;
        double wanted = ceil((of + 1) * longer);
        n_steps[i] = wanted > MAX_STEPS ? MAX_STEPS : (int)wanted;
    }
}

/* One run of all jobs; false when some job has too few steps in the common time. */
static bool run_together(const struct inputs *in, int longer, struct result *result,
                         struct arena *perm)
{
    int *n_steps = arena_new(perm, int, in->n_jobs);
    const struct job **parts = arena_new(perm, const struct job *, in->n_jobs);
    struct inputs *together = arena_new(perm, struct inputs, 1);
    share_steps(in, result, longer, n_steps);
    for (int i = 0; i < in->n_jobs; i++) parts[i] = in->jobs[i]->job;
    *together = *in;
    together->job = job_merge(parts, in->n_jobs, n_steps, perm);
    result->in = together;
    result->plan = plan_build(together, perm);
    result->run = in->fidelity == FIDELITY_MESSAGE ? engine_message(result->plan, perm)
                                                   : engine_run(result->plan, &scale_none, perm);
    result->stuck = result->run->stuck;
    if (result->stuck) return true;
    double **ends = step_ends(result->plan, result->run, perm);
    struct window window = common_window(ends, n_steps, in->n_jobs);
    bool enough = true;
    for (int i = 0; i < in->n_jobs; i++) {
        int n_mean;
        result->jobs[i].together_s = mean_step_s(ends[i], n_steps[i], window, &n_mean);
        enough = enough && n_mean >= LEAST_STEPS;
    }
    return enough;
}

static void play_alone(const struct inputs *in, struct result *result, struct arena *perm)
{
    result->jobs = arena_new(perm, struct job_result, in->n_jobs);
    result->n_jobs = in->n_jobs;
    for (int i = 0; i < in->n_jobs; i++) {
        const struct result *alone = predict(in->jobs[i], perm);
        if (alone->stuck) result->stuck = alone->stuck;
        result->jobs[i] = (struct job_result){alone, alone->iteration_s, alone->iteration_s};
    }
}

/* Its own result as it is beside the others. */
struct result *job_result_together(const struct job_result *job, struct arena *perm)
{
    struct result *result = arena_new(perm, struct result, 1);
    double slowdown = job->together_s / job->alone_s;
    double more_s = job->together_s - job->alone_s;
    *result = *job->alone;
    result->iteration_s = job->together_s;
    for (int side = 0; side < 2; side++) result->interval_s[side] *= slowdown;
    result->throughput /= slowdown;
    result->scaling_efficiency /= slowdown;
    result->mfu /= slowdown;
    result->share_s[SHARE_EXPOSED] += more_s; /* others hold up the network, nothing else */
    result->exposed_communication_s += more_s;
    result->communication_s += more_s;
    return result;
}

struct result *predict_jobs(const struct inputs *in, struct arena *perm)
{
    struct result *result = arena_new(perm, struct result, 1);
    result->in = in;
    play_alone(in, result, perm);
    if (result->stuck) return result;
    bool closed = in->fidelity == FIDELITY_ESTIMATE;
    bool enough = closed;
    for (int longer = 1; !enough && longer <= MAX_LONGER && !result->stuck; longer++)
        enough = run_together(in, longer * longer, result, perm);
    if (result->stuck) return result;
    struct job_result *jobs = result->jobs;
    int worst = 0;
    for (int i = 1; i < in->n_jobs; i++) {
        double here = jobs[i].together_s / jobs[i].alone_s;
        if (here > jobs[worst].together_s / jobs[worst].alone_s) worst = i;
    }
    struct result *own = job_result_together(&jobs[worst], perm);
    own->in = result->in;
    own->plan = closed ? own->plan : result->plan;
    own->run = closed ? own->run : result->run;
    own->n_classes = own->plan->n_classes;
    own->n_events = own->run->n_events;
    own->warnings = own->plan->warnings;
    own->n_warnings = own->plan->n_warnings;
    own->limit_name = closed ? NULL : result_busiest_link(own, perm);
    own->jobs = jobs;
    own->n_jobs = in->n_jobs;
    result_warn_of_events(own, perm);
    if (closed) result_warn(own, "closed forms: jobs do not feel each other", perm);
    if (!enough) result_warn(own, "a job has few steps beside the others: run/iterations", perm);
    return own;
}
