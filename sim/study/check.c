#include "study/check.h"

#include "base/stats.h"
#include "estimate.h"
#include "predict.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t WORK_B = (size_t)16 << 30; /* address space, committed when touched */
static const double NEAR_FRAC = 0.10, FAR_FRAC = 0.25, FLOOR_PERCENTILE = 90;

enum { FORWARD_AND_BACKWARD = 3 }; /* FLOPs of a step over those of forward */

static const struct {
    const char *name;
    double below_B;
} band_rows[] = {
    {"< 64 kB", 64e3}, {"64 kB - 8 MB", 8e6}, {"8 - 64 MB", 64e6}, {"> 64 MB", INFINITY}};
enum { N_BANDS = sizeof band_rows / sizeof band_rows[0] };

/* what the steps of a check share; `work` is released at the end */
struct study {
    struct check *check;
    int *order; /* [n_rows] by keys, then size, then place in the table */
    struct arena *perm, *work;
};

static double x_of(const struct row_reader *reader, int row)
{
    return reader->form->collective ? row_number(reader, row, "size_bytes") : 0;
}

static int compare_places(const void *left, const void *right, void *context)
{
    const struct check *check = context;
    int a = *(const int *)left;
    int b = *(const int *)right;
    int order = row_compare(check->reader, a, b);
    if (order != 0) return order;
    double size_a = check->rows[a].size_B;
    double size_b = check->rows[b].size_B;
    if (size_a < size_b || size_a > size_b) return size_a < size_b ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* --- predictions --------------------------------------------------------------------------------- */

static double step_s(const struct inputs *in, struct arena scratch)
{
    const struct plan *plan = plan_build(in, &scratch);
    switch (in->fidelity) {
    case FIDELITY_ESTIMATE:
        return estimate_run(plan, &scratch)->iteration_s;
    case FIDELITY_FLUID:
        return engine_run(plan, &scale_none, &scratch)->iteration_s;
    case FIDELITY_MESSAGE:
        return engine_message(plan, &scratch)->iteration_s;
    case N_FIDELITIES:
        break;
    }
    return 0;
}

static double collective_s(const struct row_job *job, double size_B, struct arena scratch)
{
    const struct inputs *in =
        inputs_collective(job->inputs, job->kind, size_B, job->algorithm, job->protocol, &scratch);
    return predict_collective(in, &scratch).time_s;
}

/* A not-a-number ends the program where it is born: it would be our bug. */
static double predict_s(const struct row_job *job, double size_B, bool collective,
                        struct arena scratch)
{
    feclearexcept(FE_ALL_EXCEPT);
    int before = feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    double time_s = collective ? collective_s(job, size_B, scratch) : step_s(job->inputs, scratch);
    fedisableexcept(FE_ALL_EXCEPT);
    feenableexcept(before);
    return time_s;
}

static const char *refusal(const struct study *study, const struct row_job *job,
                           const struct check_row *row)
{
    bool collective = study->check->reader->form->collective;
    if (job->reason) return job->reason;
    if (row->measured_s <= 0) return "measured time: not stated";
    if (!collective) return NULL;
    if (row->size_B <= 0) return "size_bytes: not stated";
    if (job->inputs->n_gpus < 2) return "gpus 1: nobody to talk to";
    struct arena scratch = *study->work;
    const char *why = row_refusal(job, row->size_B, &scratch);
    return why ? arena_text(study->perm, "%s", why) : NULL;
}

/* predict_equal — the rows order[from .. to - 1], which have equal keys: one cluster serves all. */
static void predict_equal(const struct study *study, int from, int to)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    bool collective = check->reader->form->collective;
    struct row_job job = row_map(check->reader, study->order[from], &scratch);
    if (job.reason) job.reason = arena_text(study->perm, "%s", job.reason);
    struct study inner = {check, study->order, study->perm, &scratch};
    for (int i = from; i < to; i++) {
        struct check_row *row = &check->rows[study->order[i]];
        if (row->suspect) continue;
        row->reason = refusal(&inner, &job, row);
        if (row->reason) continue;
        row->predicted_s = predict_s(&job, row->size_B, collective, scratch);
        row->error = row->predicted_s / row->measured_s - 1;
        if (collective) continue;
        const struct train_spec *train = &job.inputs->train;
        row->work_flop = FORWARD_AND_BACKWARD * model_flop_per_sample(job.inputs->model) *
                         train->batch_per_gpu * train->grad_accumulation;
    }
}

typedef void run_function(const struct study *study, int from, int to);

/* for_equal_keys — each stretch of rows with equal keys, and equal sizes if same_size. */
static void for_equal_keys(const struct study *study, bool same_size, run_function *visit)
{
    const struct check *check = study->check;
    int from = 0;
    for (int i = 1; i <= check->n_rows; i++) {
        bool same = i < check->n_rows &&
                    row_compare(check->reader, study->order[from], study->order[i]) == 0;
        if (same && same_size) {
            double before_B = check->rows[study->order[from]].size_B;
            same = !(check->rows[study->order[i]].size_B > before_B);
        }
        if (same) continue;
        visit(study, from, i);
        from = i;
    }
}

static bool is_covered(const struct check_row *row)
{
    return !row->suspect && !row->reason;
}

/* --- baselines ----------------------------------------------------------------------------------- */

/* sums of a least-squares fit of (alpha + beta S) / t to 1 */
struct fit {
    double uu, uv, vv, u, v; /* u = 1 / t, v = S / t */
};

/* solve_fit — alpha and beta, neither below 0. */
static void solve_fit(const struct fit *fit, double *alpha_s, double *beta_s_per_B)
{
    double det = fit->uu * fit->vv - fit->uv * fit->uv;
    *alpha_s = 0;
    *beta_s_per_B = fit->v / fit->vv;
    if (!(det > 1e-9 * fit->uu * fit->vv)) return; /* one size only: no start-up can be told */
    double alpha = (fit->u * fit->vv - fit->v * fit->uv) / det;
    double beta = (fit->v * fit->uu - fit->u * fit->uv) / det;
    if (beta < 0) {
        *alpha_s = fit->u / fit->uu;
        *beta_s_per_B = 0;
    } else if (alpha >= 0) {
        *alpha_s = alpha;
        *beta_s_per_B = beta;
    }
}

static void fit_line(const struct study *study, int from, int to)
{
    struct fit fit = {0};
    double alpha_s;
    double beta_s_per_B;
    int n = 0;
    for (int i = from; i < to; i++) {
        const struct check_row *row = &study->check->rows[study->order[i]];
        if (!is_covered(row)) continue;
        double u = 1 / row->measured_s;
        double v = row->size_B / row->measured_s;
        fit.uu += u * u, fit.uv += u * v, fit.vv += v * v, fit.u += u, fit.v += v;
        n++;
    }
    if (n == 0) return;
    solve_fit(&fit, &alpha_s, &beta_s_per_B);
    for (int i = from; i < to; i++) {
        struct check_row *row = &study->check->rows[study->order[i]];
        if (!is_covered(row)) continue;
        row->baseline_error = (alpha_s + beta_s_per_B * row->size_B) / row->measured_s - 1;
    }
}

/* a covered training row's seconds per FLOP, with what it is grouped by */
struct pace {
    const char *gpu, *precision, *source;
    double s_per_flop;
    int row;
};

static int compare_paces(const void *left, const void *right)
{
    const struct pace *a = left;
    const struct pace *b = right;
    int order = strcmp(a->gpu, b->gpu);
    if (order == 0) order = strcmp(a->precision, b->precision);
    if (order == 0) order = strcmp(a->source, b->source);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* end_of — where the stretch of equal GPU and precision, and source if asked, ends. */
static int end_of(const struct pace *paces, int n, int from, bool same_source)
{
    int i = from;
    while (i < n && !strcmp(paces[i].gpu, paces[from].gpu) &&
           !strcmp(paces[i].precision, paces[from].precision) &&
           (!same_source || !strcmp(paces[i].source, paces[from].source)))
        i++;
    return i;
}

static double median_pace(const struct pace *paces, int n, double *x, struct arena scratch)
{
    for (int i = 0; i < n; i++) x[i] = paces[i].s_per_flop;
    return stats_median(x, n, scratch);
}

/* median over sources, so that the longest table does not decide */
static double median_of_sources(const struct pace *paces, int n, struct arena scratch)
{
    double *medians = arena_new(&scratch, double, n);
    double *x = arena_new(&scratch, double, n);
    int n_medians = 0;
    int to;
    for (int from = 0; from < n; from = to) {
        to = end_of(paces, n, from, true);
        medians[n_medians++] = median_pace(paces + from, to - from, x, scratch);
    }
    return stats_median(medians, n_medians, scratch);
}

static void fit_utilisation(const struct study *study, struct arena scratch)
{
    struct check *check = study->check;
    struct pace *paces = arena_new(&scratch, struct pace, check->n_covered);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        const struct check_row *row = &check->rows[r];
        if (!is_covered(row)) continue;
        paces[n++] = (struct pace){row_cell(check->reader, r, "gpu_key"),
                                   row_cell(check->reader, r, "precision_key"),
                                   row_cell(check->reader, r, check->reader->form->group),
                                   row->measured_s / row->work_flop, r};
    }
    qsort(paces, (size_t)n, sizeof *paces, compare_paces);
    int to;
    for (int from = 0; from < n; from = to) {
        to = end_of(paces, n, from, false);
        double pace = median_of_sources(paces + from, to - from, scratch);
        for (int i = from; i < to; i++)
            check->rows[paces[i].row].baseline_error = pace / paces[i].s_per_flop - 1;
    }
}

/* --- how far equal runs differ --------------------------------------------------------------------- */

struct timed {
    double time_s;
    int row;
};

static int compare_timed(const void *left, const void *right)
{
    const struct timed *a = left;
    const struct timed *b = right;
    int order = (a->time_s > b->time_s) - (a->time_s < b->time_s);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* the i-th of the sorted times without the one at `left_out` */
static double other_at(const struct timed *timed, int i, int left_out)
{
    return timed[i < left_out ? i : i + 1].time_s;
}

static void compare_equals(const struct study *study, int from, int to)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    struct timed *timed = arena_new(&scratch, struct timed, to - from);
    int n = 0;
    for (int i = from; i < to; i++) {
        const struct check_row *row = &check->rows[study->order[i]];
        if (row->suspect || row->measured_s <= 0) continue;
        timed[n++] = (struct timed){row->measured_s, study->order[i]};
    }
    if (n < 2) return;
    qsort(timed, (size_t)n, sizeof *timed, compare_timed);
    for (int i = 0; i < n; i++) {
        double median = (other_at(timed, (n - 2) / 2, i) + other_at(timed, (n - 1) / 2, i)) / 2;
        check->rows[timed[i].row].equals_error = median / timed[i].time_s - 1;
    }
}

static void find_floor(struct check *check, struct arena scratch)
{
    double *x = arena_new(&scratch, double, check->n_rows);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        if (!isnan(check->rows[r].equals_error)) x[n++] = fabs(check->rows[r].equals_error);
    }
    check->floor.n = n;
    if (n == 0) return;
    check->floor.median_abs = stats_median(x, n, scratch);
    check->floor.p90_abs = stats_percentile(x, n, FLOOR_PERCENTILE, scratch);
}

/* --- scores -------------------------------------------------------------------------------------- */

/* covered rows rows[n] in one score */
static struct check_score score_of(const struct check *check, const int *rows, int n,
                                   struct arena scratch)
{
    struct check_score score = {.n = n};
    if (n == 0) return score;
    double *signed_error = arena_new(&scratch, double, n);
    double *size = arena_new(&scratch, double, n);
    double *baseline = arena_new(&scratch, double, n);
    for (int i = 0; i < n; i++) {
        signed_error[i] = check->rows[rows[i]].error;
        size[i] = fabs(signed_error[i]);
        baseline[i] = fabs(check->rows[rows[i]].baseline_error);
        score.max_abs = fmax(score.max_abs, size[i]);
        score.within_10 += size[i] <= NEAR_FRAC;
        score.within_25 += size[i] <= FAR_FRAC;
    }
    score.within_10 /= n;
    score.within_25 /= n;
    score.mean_abs = stats_mean(size, n);
    score.median_abs = stats_median(size, n, scratch);
    score.bias = stats_median(signed_error, n, scratch);
    score.baseline_median_abs = stats_median(baseline, n, scratch);
    return score;
}

struct named {
    const char *name;
    int row;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left;
    const struct named *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* the covered rows in order of a column; returns their number */
static int list_named(const struct check *check, const char *column, struct named *named)
{
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        if (is_covered(&check->rows[r]))
            named[n++] = (struct named){row_cell(check->reader, r, column), r};
    }
    qsort(named, (size_t)n, sizeof *named, compare_named);
    return n;
}

static struct check_scores score_by(const struct study *study, const char *column)
{
    const struct check *check = study->check;
    struct arena scratch = *study->work;
    struct named *named = arena_new(&scratch, struct named, check->n_covered);
    int *rows = arena_new(&scratch, int, check->n_covered);
    int n = list_named(check, column, named);
    int n_groups = 0;
    for (int i = 0; i < n; i++) n_groups += i == 0 || strcmp(named[i].name, named[i - 1].name) != 0;
    struct check_scores scores = {column, arena_new(study->perm, struct check_score, n_groups), 0};
    for (int from = 0, to; from < n; from = to) {
        for (to = from; to < n && !strcmp(named[to].name, named[from].name); to++)
            rows[to - from] = named[to].row;
        scores.scores[scores.n] = score_of(check, rows, to - from, scratch);
        scores.scores[scores.n++].id = named[from].name;
    }
    return scores;
}

static struct check_scores score_by_size(const struct study *study)
{
    const struct check *check = study->check;
    struct arena scratch = *study->work;
    int *rows = arena_new(&scratch, int, check->n_rows);
    struct check_scores scores = {"size", arena_new(study->perm, struct check_score, N_BANDS),
                                  N_BANDS};
    for (int b = 0; b < N_BANDS; b++) {
        double from_B = b > 0 ? band_rows[b - 1].below_B : 0;
        int n = 0;
        for (int r = 0; r < check->n_rows; r++) {
            double size_B = check->rows[r].size_B;
            if (is_covered(&check->rows[r]) && size_B >= from_B && size_B < band_rows[b].below_B)
                rows[n++] = r;
        }
        scores.scores[b] = score_of(check, rows, n, scratch);
        scores.scores[b].id = band_rows[b].name;
    }
    return scores;
}

static void score_groups_once(struct check *check, struct arena scratch)
{
    int n = check->groups.n;
    double *own = arena_new(&scratch, double, n);
    double *baseline = arena_new(&scratch, double, n);
    if (n == 0) return;
    for (int g = 0; g < n; g++) {
        own[g] = check->groups.scores[g].median_abs;
        baseline[g] = check->groups.scores[g].baseline_median_abs;
    }
    check->median_of_groups = stats_median(own, n, scratch);
    check->baseline_median_of_groups = stats_median(baseline, n, scratch);
}

static void score_all(const struct study *study)
{
    struct check *check = study->check;
    bool collective = check->reader->form->collective;
    struct arena scratch = *study->work;
    int *rows = arena_new(&scratch, int, check->n_rows);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        if (is_covered(&check->rows[r])) rows[n++] = r;
    }
    check->overall = score_of(check, rows, n, scratch);
    check->overall.id = "all";
    check->groups = score_by(study, check->reader->form->group);
    check->kinds = score_by(study, collective ? "collective" : "gpu_key");
    if (collective) check->bands = score_by_size(study);
    score_groups_once(check, scratch);
}

/* --- what is not covered -------------------------------------------------------------------------- */

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int compare_reasons(const void *left, const void *right)
{
    const struct check_reason *a = left;
    const struct check_reason *b = right;
    return a->n != b->n ? (a->n < b->n) - (a->n > b->n) : strcmp(a->text, b->text);
}

static void count_reasons(const struct study *study)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    const char **texts = arena_new(&scratch, const char *, check->n_rows);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        if (check->rows[r].reason) texts[n++] = check->rows[r].reason;
    }
    qsort(texts, (size_t)n, sizeof *texts, compare_texts);
    check->reasons = arena_new(study->perm, struct check_reason, n);
    for (int i = 0; i < n; i++) {
        if (i == 0 || strcmp(texts[i], texts[i - 1]) != 0)
            check->reasons[check->n_reasons++].text = texts[i];
        check->reasons[check->n_reasons - 1].n++;
    }
    qsort(check->reasons, (size_t)check->n_reasons, sizeof *check->reasons, compare_reasons);
}

static void count_rows(struct check *check)
{
    for (int r = 0; r < check->n_rows; r++) {
        check->n_suspect += check->rows[r].suspect;
        check->n_covered += is_covered(&check->rows[r]);
    }
}

/* --- all of it ------------------------------------------------------------------------------------ */

static struct study begin(const struct row_reader *reader, struct arena *perm, struct arena *work)
{
    struct check *check = arena_new(perm, struct check, 1);
    int n = reader->table->n_rows;
    *check =
        (struct check){.reader = reader, .rows = arena_new(perm, struct check_row, n), .n_rows = n};
    int *order = arena_new(perm, int, n);
    for (int r = 0; r < n; r++) {
        check->rows[r] = (struct check_row){.suspect = row_suspect(reader, r),
                                            .measured_s = row_measured_s(reader, r),
                                            .size_B = x_of(reader, r),
                                            .equals_error = NAN};
        order[r] = r;
    }
    qsort_r(order, (size_t)n, sizeof *order, compare_places, check);
    return (struct study){check, order, perm, work};
}

struct check *check_table(const struct row_reader *reader, struct arena *perm)
{
    struct arena *work = arena_open(WORK_B);
    struct study study = begin(reader, perm, work);
    struct check *check = study.check;
    for_equal_keys(&study, false, predict_equal);
    count_rows(check);
    if (reader->form->collective) {
        for_equal_keys(&study, false, fit_line);
    } else {
        fit_utilisation(&study, *work);
    }
    for_equal_keys(&study, true, compare_equals);
    find_floor(check, *work);
    score_all(&study);
    count_reasons(&study);
    arena_close(work);
    return check;
}
