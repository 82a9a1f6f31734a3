#include "interval.h"

#include "workload/measured.h"

#include <math.h>

/* relative step of the finite difference that gives the elasticity */
static const double STEP = 0.02;

static struct interval around(double time_s, struct sides sides)
{
    double low_s = time_s * exp(-sides.faster);
    double high_s = time_s * exp(sides.slower);
    return (struct interval){low_s, high_s};
}

/* ---- of parts ---- */

/* The network's: the mean over what the ranks send, by its time. */
static struct sides network_sides(const struct plan *plan)
{
    struct sides sum = {0};
    double total_s = 0;
    for (int c = 0; c < plan->n_classes; c++) {
        const struct program *program = plan_program(plan, c);
        for (int o = 0; o < program->n_ops; o++) {
            if (program->ops[o].kind != OP_COLLECTIVE) continue;
            const struct plan_coll *coll = &plan->colls[plan->classes[c].coll[o]];
            double time_s =
                plan->classes[c].n_ranks * op_times(&program->ops[o]) * coll->estimate_s;
            struct sides sides = library_sides(&plan->in->library, &coll->req);
            sum.faster += time_s * sides.faster;
            sum.slower += time_s * sides.slower;
            total_s += time_s;
        }
    }
    return total_s > 0 ? sides_scale(sum, 1 / total_s) : sum;
}

/* What is left of a calibrated GPU's kernels: the part that is known worst, of those a step is made of.
 * A measured throughput of one GPU says more. */
static double calibration_sd(const struct inputs *in)
{
    static const enum measured_kind parts[] = {MEASURED_PRODUCT, MEASURED_MEMORY};
    double sd = 0;
    if (in->train.one_gpu_s > 0) return 0;
    for (int p = 0; p < 2; p++) {
        const struct measured_part *part =
            measured_find(in->gpu.measured, parts[p], in->train.dtype);
        if (part) sd = fmax(sd, hypot(part->fit_sd, part->left_out_sd));
    }
    return sd;
}

/* ---- of the whole ---- */

static double network_share(const struct plan *plan, const struct run *run, struct arena scratch)
{
    enum fidelity fidelity = plan->in->fidelity;
    if (plan->n_colls == 0) return 0;
    if (fidelity == FIDELITY_ESTIMATE) return run->path_s[PATH_NETWORK] / run->iteration_s;
    struct scale slow = scale_none;
    slow.latency = 1 + STEP;
    for (int tier = 0; tier < N_TIERS; tier++) slow.tier[tier] = 1 / (1 + STEP);
    double time_s = run->iteration_s;
    if (fidelity != FIDELITY_FLUID) time_s = engine_run(plan, &scale_none, &scratch)->iteration_s;
    double slow_s = engine_run(plan, &slow, &scratch)->iteration_s;
    return fmin(fmax(log(slow_s / time_s) / log1p(STEP), 0), 1);
}

struct interval interval_step(const struct plan *plan, const struct run *run, struct arena scratch)
{
    const struct inputs *in = plan->in;
    double network = network_share(plan, run, scratch);
    struct sides compute = sides_join(in->spread_compute, sides_of_normal(calibration_sd(in)));
    struct sides sides =
        sides_join(sides_scale(compute, 1 - network), sides_scale(network_sides(plan), network));
    return around(run->iteration_s, sides);
}

struct interval interval_collective(const struct plan *plan, double time_s)
{
    return around(time_s, network_sides(plan));
}
