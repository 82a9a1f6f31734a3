#include "study/against.h"

#include "base/stats.h"
#include "base/trap.h"
#include "estimate.h"
#include "predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 1000 };

/* of a log, the first of ten steps warm up */
static const int WARM_UP = 10;

struct opening {
    struct against *against;
    const struct measured *measured; /* the file at hand */
    const char *scenario;
    struct arena *perm;
    struct diag *diag;
};

/* --- cases ---------------------------------------------------------------------------------------- */

static const struct inputs *load(const struct against_case *this,
                                 const struct scenario_options *options, struct arena *perm,
                                 struct diag *diag)
{
    struct scenario_options how = *options;
    how.sets = this->sets;
    how.n_sets = this->n_sets;
    how.no_step = !this->step;
    return scenario_load(this->scenario, &how, NULL, perm, diag);
}

/* with_set — the case with one more change of its scenario. */
static void with_set(struct against_case *this, const char *set, struct arena *perm)
{
    const char **sets = arena_new(perm, const char *, this->n_sets + 1);
    for (int i = 0; i < this->n_sets; i++) sets[i] = this->sets[i];
    sets[this->n_sets++] = set;
    this->sets = sets;
}

/* fit_batch — the measured batch: more micro-batches where the model is divided, larger ones elsewhere. */
static bool fit_batch(struct against_case *this, const struct inputs *in, struct arena *perm)
{
    double ratio = this->batch / in->job->samples_per_iteration;
    double micro = in->train.grad_accumulation * ratio;
    if (fabs(ratio - 1) < 1e-6) return false;
    bool divided = !strcmp(in->train.strategy, "parallel");
    if (divided && fabs(micro - rint(micro)) < 1e-6)
        with_set(this, arena_text(perm, "/grad_accumulation=%.0f", micro), perm);
    else
        with_set(this, arena_text(perm, "/batch_per_gpu=%.9g", in->train.batch_per_gpu * ratio),
                 perm);
    return true;
}

static void as_measured(struct opening *opening, struct against_case *this)
{
    if (this->n_gpus > 0)
        with_set(this, arena_text(opening->perm, "/n_gpus=%d", this->n_gpus), opening->perm);
    if (this->process_per[0])
        with_set(this, arena_text(opening->perm, "/library/process_per=%s", this->process_per),
                 opening->perm);
}

static int open_case(struct opening *opening, const struct raw_row *row)
{
    struct against *against = opening->against;
    const struct scenario_options *options = against->options;
    bool step = raw_find(row->benchmark)->class == RAW_STEP;
    double batch = step ? (double)row->batch : 0;
    const char *drivers = step ? "" : raw_value(&opening->measured->raw, "process_per");
    for (int c = 0; c < against->n_cases; c++) {
        const struct against_case *known = &against->cases[c];
        if (known->scenario == opening->scenario && known->n_gpus == row->n_ranks &&
            known->step == step && fabs(known->batch - batch) < 0.5 &&
            !strcmp(known->process_per, drivers))
            return c;
    }
    struct diag_place place = {.file = opening->measured->raw.file, .line = row->line};
    if (against->n_cases == MAX_CASES) {
        diag_error(opening->diag, place, "more than %d numbers of GPUs and batches", MAX_CASES);
        return -1;
    }
    struct against_case this = {opening->scenario, row->n_ranks,  step,           batch,
                                drivers,           options->sets, options->n_sets};
    as_measured(opening, &this);
    const struct inputs *in = load(&this, options, opening->perm, opening->diag);
    if (in && batch > 0 && fit_batch(&this, in, opening->perm))
        in = load(&this, options, opening->perm, opening->diag);
    if (!in) {
        diag_error(opening->diag, place, "measured on %d GPUs: %s does not load so", row->n_ranks,
                   opening->scenario);
        return -1;
    }
    against->inputs[against->n_cases] = in;
    against->cases[against->n_cases] = this;
    return against->n_cases++;
}

/* --- points ---------------------------------------------------------------------------------------- */

static int kind_of(const char *benchmark)
{
    for (int k = 0; k < N_COLL_KINDS; k++) {
        if (!strcmp(coll_kind_names[k], benchmark)) return k;
    }
    return strcmp(benchmark, "send_recv") != 0 ? -1 : COLL_SENDRECV;
}

static int group_of(struct opening *opening, const struct raw_row *row)
{
    struct against *against = opening->against;
    const char *file = opening->measured->raw.file;
    const char *name = row->n_ranks > 0 ? arena_text(opening->perm, "%s, %d GPUs, %s",
                                                     row->benchmark, row->n_ranks, file)
                                        : arena_text(opening->perm, "%s, %s", row->benchmark, file);
    for (int g = against->n_groups - 1; g >= 0; g--) {
        if (!strcmp(against->groups[g].name, name)) return g;
    }
    against->groups[against->n_groups].name = name;
    return against->n_groups++;
}

static bool has_rows_for(struct opening *opening, const struct raw_row *row, int kind, int c)
{
    const struct library *library = &opening->against->inputs[c]->library;
    struct diag_place place = {.file = opening->measured->raw.file, .line = row->line};
    if (opening->against->inputs[c]->n_gpus < 2) {
        diag_error(opening->diag, place, "a collective needs at least 2 GPUs");
        return false;
    }
    struct forced *forced = &opening->against->forced;
    if (forced_find(library, (enum coll_kind)kind, forced)) return true;
    diag_error(opening->diag, place, "%s",
               forced_lacking(library, (enum coll_kind)kind, forced, opening->perm));
    return false;
}

static void add_collective(struct opening *opening, const struct raw_row *row)
{
    struct against *against = opening->against;
    int kind = kind_of(row->benchmark);
    if (kind < 0 || !(row->size_B > 0)) return;
    if (!strcmp(row->note, "in place")) {
        against->n_in_place++;
        return;
    }
    int c = open_case(opening, row);
    if (c < 0 || !has_rows_for(opening, row, kind, c)) return;
    against->points[against->n_points++] =
        (struct against_point){.file = opening->measured->raw.file,
                               .line = row->line,
                               .place = c,
                               .group = group_of(opening, row),
                               .kind = (enum coll_kind)kind,
                               .size_B = row->size_B,
                               .measured_s = row->time_s};
}

static bool same_run(const struct raw_row *a, const struct raw_row *b)
{
    return !strcmp(b->benchmark, "step") && a->n_ranks == b->n_ranks && a->batch == b->batch;
}

/* add_step — the run of equal rows that begins at `first`; returns where it ends. */
static int add_step(struct opening *opening, int first)
{
    struct against *against = opening->against;
    const struct raw *raw = &opening->measured->raw;
    int end = first;
    while (end < raw->n_rows && same_run(&raw->rows[first], &raw->rows[end])) end++;
    int warm = (end - first) / WARM_UP;
    int n = end - first - warm;
    struct arena scratch = *opening->perm;
    double *times_s = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) times_s[i] = raw->rows[first + warm + i].time_s;
    double median_s = stats_median(times_s, n, scratch);
    int c = open_case(opening, &raw->rows[first]);
    if (c < 0) return end;
    struct against_point *point = &against->points[against->n_points++];
    *point = (struct against_point){.file = raw->file,
                                    .line = raw->rows[first].line,
                                    .place = c,
                                    .group = against->n_groups,
                                    .step = true,
                                    .measured_s = median_s};
    against->groups[against->n_groups++].name = arena_text(
        opening->perm, "step, %d GPUs, %s:%d", against->inputs[c]->n_gpus, raw->file, point->line);
    against->n_steps++;
    return end;
}

static void add_points(struct opening *opening)
{
    const struct raw *raw = &opening->measured->raw;
    for (int r = 0; r < raw->n_rows && diag_ok(opening->diag);) {
        if (!strcmp(raw->rows[r].benchmark, "step"))
            r = add_step(opening, r);
        else
            add_collective(opening, &raw->rows[r++]);
    }
}

static int compare_points(const void *left, const void *right)
{
    const struct against_point *a = left;
    const struct against_point *b = right;
    if (a->group != b->group) return a->group - b->group;
    if (a->size_B < b->size_B || a->size_B > b->size_B) return a->size_B < b->size_B ? -1 : 1;
    return a->line - b->line;
}

static void order_points(struct against *against)
{
    qsort(against->points, (size_t)against->n_points, sizeof *against->points, compare_points);
    for (int i = against->n_points - 1; i >= 0; i--) {
        against->groups[against->points[i].group].first = i;
        against->groups[against->points[i].group].n++;
    }
}

struct against *against_open(const struct against_files *files,
                             const struct scenario_options *options, struct arena *perm,
                             struct diag *diag)
{
    int n = 0;
    for (int f = 0; f < files->n_measured; f++) n += files->measured[f]->raw.n_rows;
    struct against *against = arena_new(perm, struct against, 1);
    *against = (struct against){.cases = arena_new(perm, struct against_case, MAX_CASES),
                                .points = arena_new(perm, struct against_point, n),
                                .groups = arena_new(perm, struct against_group, n),
                                .inputs = arena_new(perm, const struct inputs *, MAX_CASES),
                                .options = options,
                                .forced = files->forced};
    for (int f = 0; f < files->n_measured && diag_ok(diag); f++) {
        const char *scenario = files->scenarios[files->n_scenarios > 1 ? f : 0];
        struct opening opening = {against, files->measured[f], scenario, perm, diag};
        add_points(&opening);
    }
    if (diag_ok(diag) && against->n_points == 0)
        diag_error(diag, (struct diag_place){.file = files->measured[0]->raw.file},
                   "holds neither collectives nor steps to compare");
    if (!diag_ok(diag)) return NULL;
    order_points(against);
    against_predict(against, NULL, *perm);
    return against;
}

/* --- predictions ------------------------------------------------------------------------------------- */

static double step_s(const struct inputs *in, struct arena scratch)
{
    const struct plan *plan = plan_build(in, &scratch);
    if (in->fidelity == FIDELITY_ESTIMATE)
        return estimate_period(plan, &scale_none, scratch).iteration_s;
    if (in->fidelity == FIDELITY_MESSAGE) return engine_message(plan, &scratch)->iteration_s;
    return engine_run(plan, &scale_none, &scratch)->iteration_s;
}

static void predict_case(struct against *against, int c, const struct inputs *in,
                         struct arena scratch)
{
    for (int i = 0; i < against->n_points; i++) {
        struct against_point *point = &against->points[i];
        if (point->place != c) continue;
        struct arena work = scratch;
        if (point->step) {
            point->predicted_s = step_s(in, work);
            continue;
        }
        const struct inputs *one =
            inputs_collective(in, point->kind, point->size_B, against->forced.algorithm,
                              against->forced.protocol, &work);
        point->predicted_s = predict_collective(one, &work).time_s;
    }
}

void against_predict(struct against *against, const struct adjust *adjust, struct arena scratch)
{
    for (int c = 0; c < against->n_cases; c++) {
        struct arena work = scratch;
        struct diag diag = {.perm = &work};
        const struct inputs *in = against->inputs[c];
        if (adjust) {
            struct against_case this = against->cases[c];
            with_set(&this,
                     arena_text(&work,
                                "/adjust={\"compute\": %.12g, \"latency\": %.12g, "
                                "\"scaleup_rate\": %.12g, \"network_rate\": %.12g, "
                                "\"overhead\": \"%.12gs\"}",
                                adjust->compute, adjust->latency, adjust->scaleup_rate,
                                adjust->network_rate, adjust->overhead_s),
                     &work);
            in = load(&this, against->options, &work, &diag);
        }
        int before = trap_on();
        if (in) predict_case(against, c, in, work);
        trap_restore(before);
    }
}

const struct inputs *against_inputs(const struct against *against, int group)
{
    return against->inputs[against->points[against->groups[group].first].place];
}

bool against_as_if(const struct against *against, int group, const char *const *sets, int n_sets,
                   double *predicted_s, struct arena scratch)
{
    const struct against_group *of = &against->groups[group];
    struct against_case this = against->cases[against->points[of->first].place];
    struct diag diag = {.perm = &scratch};
    for (int i = 0; i < n_sets; i++) with_set(&this, sets[i], &scratch);
    const struct inputs *in = load(&this, against->options, &scratch, &diag);
    if (!in) return false;
    int before = trap_on();
    for (int i = 0; i < of->n; i++) {
        const struct against_point *point = &against->points[of->first + i];
        struct arena work = scratch;
        const struct inputs *one =
            inputs_collective(in, point->kind, point->size_B, against->forced.algorithm,
                              against->forced.protocol, &work);
        predicted_s[i] = predict_collective(one, &work).time_s;
    }
    trap_restore(before);
    return true;
}

double against_error(const struct against_point *points, int n, struct arena scratch)
{
    double *errors = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) errors[i] = fabs(points[i].predicted_s / points[i].measured_s - 1);
    return n > 0 ? stats_median(errors, n, scratch) : 0;
}

/* --- suspicion ---------------------------------------------------------------------------------------- */

/* below it times are latency, above it bandwidth, on links of 1 to 100 GB/s and 10 us */
static const double SMALL_B = 65536, LARGE_B = 16777216;

/* slower_by — median of measured / predicted - 1 of the points from one size to another; 0 without any. */
static double slower_by(const struct against_point *points, int n, const double range_B[2],
                        struct arena scratch)
{
    double *ratios = arena_new(&scratch, double, n);
    int n_in = 0;
    for (int i = 0; i < n; i++) {
        if (points[i].size_B < range_B[0] || points[i].size_B > range_B[1]) continue;
        ratios[n_in++] = points[i].measured_s / points[i].predicted_s - 1;
    }
    return n_in > 0 ? stats_median(ratios, n_in, scratch) : 0;
}

const char *against_suspicion(const struct against_point *points, int n, double tolerance,
                              struct arena *perm)
{
    double small = slower_by(points, n, (double[]){0, SMALL_B}, *perm);
    double large = slower_by(points, n, (double[]){LARGE_B, INFINITY}, *perm);
    double middle = slower_by(points, n, (double[]){SMALL_B, LARGE_B}, *perm);
    if (n > 0 && points[0].step)
        return slower_by(points, n, (double[]){0, INFINITY}, *perm) > tolerance
                   ? "the step as a whole: run nccl-tests on the same servers to tell network from "
                     "compute"
                   : "";
    if (small > tolerance && large > tolerance)
        return "all sizes: another library version, transport (TCP, no GPUDirect) or route than "
               "the scenario says";
    if (small > tolerance) return "small messages: latency of hops, library or host";
    if (large > tolerance)
        return arena_text(perm,
                          "large messages: links carry %.2f of what they should: cards in use and "
                          "their rate, GPUDirect, oversubscription, one slow link",
                          1 / (1 + large));
    if (middle > tolerance) return "middle sizes: the library's choice of algorithm and protocol";
    return "";
}
