#include "study/fit.h"

#include "base/minimise.h"
#include "base/stats.h"
#include "study/groups.h"
#include "study/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_FOLDS = 2, MAX_FOLDS = 20 };
/* N_MEMORIES: predictions that a stretch of rows remembers, so that going back costs nothing: where a
 * search stands, and its steps up and down of two constants */
enum { N_MEMORIES = 5, SIMPLEX_MAX = 12, SIMPLEX_TURNS = 15 }; /* evaluations for each constant */

/* share of the mean in the loss: a constant that moves rows beyond the median only is told by it */
static const double MEAN_SHARE = 0.1;
static const double FIRST_STEP = 0.16, LAST_STEP = 0.005;
static const double CANNOT_LOAD = 100; /* of |ln|, more than any real row has */

/* what the constants were when a stretch was predicted, and what came out */
struct memory {
    double *x; /* [n_constants]; only those that touch the stretch count */
    double *log_errors;
    int64_t used; /* when last; 0 = empty */
};

/* one fit: the groups that it is fitted on, and what changes when a constant does */
struct search {
    const struct study *study;
    struct row_reader reader; /* the study's, with edited profiles */
    struct scenario_options how;
    struct free_set *set;
    const struct groups *groups;
    const bool *fitted;      /* [n_groups] */
    bool *touches;           /* [n_stretches * n_constants] */
    struct memory *memories; /* [n_stretches * N_MEMORIES] */
    double *log_errors;      /* [n_rows] now */
    double *own_errors;      /* [n_rows] with the profiles' own values */
    int64_t clock;
};

bool fit_is_part(const char *on)
{
    const char *end = NULL;
    double n = 0;
    if (!strcmp(on, "a") || !strcmp(on, "b") || !strcmp(on, "all")) return true;
    return unit_number(on, &end, &n) && *end == '\0' && n >= MIN_FOLDS && n <= MAX_FOLDS &&
           n - floor(n) <= 0;
}

static bool is_fitted_on(const struct search *search, int row)
{
    int group = search->groups->group_of[row];
    return group >= 0 && search->fitted[group] && row_is_covered(&search->study->check->rows[row]);
}

/* --- which rows a constant touches ------------------------------------------------------------------ */

/* rows of a stretch that are fitted on */
static int count_fitted(const struct search *search, struct stretch stretch)
{
    int n = 0;
    for (int i = stretch.from; i < stretch.to; i++)
        n += is_fitted_on(search, search->study->order[i]);
    return n;
}

static bool *touches_of(const struct search *search, int s)
{
    return search->touches + (int64_t)s * search->set->n;
}

static void find_touched(const struct search *search)
{
    const struct study *study = search->study;
    const struct profile_edits *edits = &search->set->edits;
    for (int s = 0; s < study->n_stretches; s++) {
        struct arena scratch = *study->work;
        memset(edits->read, 0, (size_t)edits->n * sizeof *edits->read);
        row_map(&search->reader, study->order[study->stretches[s].from], &scratch);
        for (int k = 0; k < search->set->n; k++) {
            const struct free_constant *constant = &search->set->constants[k];
            for (int i = 0; i < constant->n_edits; i++)
                touches_of(search, s)[k] |= edits->read[constant->first_edit + i];
        }
    }
}

/* --- the loss ------------------------------------------------------------------------------------- */

static double group_loss(double *x, int n, struct arena scratch)
{
    return (1 - MEAN_SHARE) * stats_median(x, n, scratch) + MEAN_SHARE * stats_mean(x, n);
}

/* loss_of — of the covered rows of the groups that are asked for, by their errors' logarithms. */
static double loss_of(const struct search *search, const double *log_errors, const bool *groups,
                      struct arena scratch)
{
    const struct check *check = search->study->check;
    int n_groups = search->groups->n;
    int *at = arena_new(&scratch, int, n_groups + 1); /* of the next row, by group */
    double *x = arena_new(&scratch, double, check->n_rows);
    for (int r = 0; r < check->n_rows; r++) {
        int g = search->groups->group_of[r];
        if (g >= 0 && groups[g] && row_is_covered(&check->rows[r])) at[g + 1]++;
    }
    for (int g = 0; g < n_groups; g++) at[g + 1] += at[g];
    for (int r = 0; r < check->n_rows; r++) {
        int g = search->groups->group_of[r];
        if (g >= 0 && groups[g] && row_is_covered(&check->rows[r]))
            x[at[g]++] = fabs(log_errors[r]);
    }
    double sum = 0;
    int n = 0;
    for (int g = 0; g < n_groups; g++) {
        int from = g > 0 ? at[g - 1] : 0; /* where the one before ended */
        if (at[g] == from) continue;
        sum += group_loss(x + from, at[g] - from, scratch);
        n++;
    }
    return n > 0 ? sum / n : 0;
}

static bool is_same(const struct search *search, int s, const double *x, const double *y)
{
    const bool *touches = touches_of(search, s);
    for (int k = 0; k < search->set->n; k++) {
        if (touches[k] && fabs(x[k] - y[k]) > 0) return false;
    }
    return true;
}

/* recall — the memory of a stretch at x, or the one to forget, then with used = 0. */
static struct memory *recall(const struct search *search, int s, const double *x)
{
    struct memory *memories = search->memories + (int64_t)s * N_MEMORIES;
    struct memory *oldest = memories;
    for (int m = 0; m < N_MEMORIES; m++) {
        if (memories[m].used > 0 && is_same(search, s, memories[m].x, x)) return &memories[m];
        if (memories[m].used < oldest->used) oldest = &memories[m];
    }
    oldest->used = 0;
    return oldest;
}

static void predict_into(const struct search *search, int s, double *log_errors)
{
    const struct study *study = search->study;
    struct stretch stretch = study->stretches[s];
    struct arena scratch = *study->work;
    double *predicted_s = arena_new(&scratch, double, stretch.to - stretch.from);
    struct study inner = *study;
    inner.work = &scratch;
    bool loads = rows_predict_again(&inner, &search->reader, stretch, predicted_s);
    for (int i = stretch.from; i < stretch.to; i++) {
        const struct check_row *row = &study->check->rows[study->order[i]];
        if (row_is_covered(row))
            log_errors[i - stretch.from] =
                loads ? log(predicted_s[i - stretch.from] / row->measured_s) : CANNOT_LOAD;
    }
}

static double loss_at(void *context, const double *x)
{
    struct search *search = context;
    const struct study *study = search->study;
    search->clock++;
    for (int k = 0; k < search->set->n; k++) free_put(search->set, k, x[k]);
    for (int s = 0; s < study->n_stretches; s++) {
        struct stretch stretch = study->stretches[s];
        if (!search->memories[(int64_t)s * N_MEMORIES].x) continue;
        struct memory *memory = recall(search, s, x);
        if (memory->used == 0) {
            memcpy(memory->x, x, (size_t)search->set->n * sizeof *x);
            predict_into(search, s, memory->log_errors);
        }
        memory->used = search->clock;
        for (int i = stretch.from; i < stretch.to; i++)
            search->log_errors[study->order[i]] = memory->log_errors[i - stretch.from];
    }
    return loss_of(search, search->log_errors, search->fitted, *study->work);
}

/* --- a fit ------------------------------------------------------------------------------------------ */

/* remember — room for the stretches that some constant touches and that are fitted on. */
static void make_memories(struct search *search)
{
    const struct study *study = search->study;
    search->memories =
        arena_new(study->work, struct memory, (int64_t)study->n_stretches * N_MEMORIES);
    for (int s = 0; s < study->n_stretches; s++) {
        struct stretch stretch = study->stretches[s];
        bool touched = false;
        for (int k = 0; k < search->set->n; k++) touched |= touches_of(search, s)[k];
        if (!touched || count_fitted(search, stretch) == 0) continue;
        for (int m = 0; m < N_MEMORIES; m++) {
            struct memory *memory = &search->memories[(int64_t)s * N_MEMORIES + m];
            memory->x = arena_new(study->work, double, search->set->n);
            memory->log_errors = arena_new(study->work, double, stretch.to - stretch.from);
        }
    }
}

/* minimise — x[n]: out. The compass finds the valley; the simplex, where constants are few enough for
 * it, follows it. */
static double minimise(struct search *search, double *x, int max_evaluations, int *n_evaluations)
{
    struct minimise how = {.value = loss_at,
                           .context = search,
                           .n = search->set->n,
                           .first_step = FIRST_STEP,
                           .last_step = LAST_STEP,
                           .max_evaluations = max_evaluations};
    for (int k = 0; k < how.n; k++)
        x[k] = free_place(&search->set->constants[k], search->set->constants[k].start);
    double loss = minimise_compass(&how, x, search->study->work);
    how.first_step = FIRST_STEP / 4;
    int most = how.n_evaluations + SIMPLEX_TURNS * how.n;
    how.max_evaluations = most < max_evaluations ? most : max_evaluations;
    /* a simplex of n + 1 points, its start and its end are evaluated whatever the limit */
    bool room = how.n_evaluations + how.n + 3 <= how.max_evaluations;
    if (room && how.n <= SIMPLEX_MAX) loss = minimise_simplex(&how, x, search->study->work);
    *n_evaluations += how.n_evaluations;
    return loss;
}

/* predict_parts — rows of the groups asked for, with the constants at x. */
static void predict_parts(const struct search *search, const double *x, const bool *groups)
{
    const struct study *study = search->study;
    for (int k = 0; k < search->set->n; k++) free_put(search->set, k, x[k]);
    for (int s = 0; s < study->n_stretches; s++) {
        struct stretch stretch = study->stretches[s];
        struct arena scratch = *study->work;
        double *predicted_s = arena_new(&scratch, double, stretch.to - stretch.from);
        struct study inner = *study;
        inner.work = &scratch;
        if (!rows_predict_again(&inner, &search->reader, stretch, predicted_s)) continue;
        for (int i = stretch.from; i < stretch.to; i++) {
            struct check_row *row = &study->check->rows[study->order[i]];
            int g = search->groups->group_of[study->order[i]];
            if (!row_is_covered(row) || !groups[g]) continue;
            row->predicted_s = predicted_s[i - stretch.from];
            row->error = row->predicted_s / row->measured_s - 1;
        }
    }
}

static void note_constants(const struct search *search, const double *x, bool first,
                           struct check_fit *fit)
{
    for (int k = 0; k < search->set->n; k++) {
        const struct free_constant *constant = &search->set->constants[k];
        struct check_constant *noted = &fit->constants[k];
        double value = free_value(constant, x[k]);
        int n_rows = 0;
        for (int s = 0; s < search->study->n_stretches; s++) {
            if (touches_of(search, s)[k])
                n_rows += count_fitted(search, search->study->stretches[s]);
        }
        if (first)
            *noted = (struct check_constant){.name = constant->name,
                                             .unit = constant->unit,
                                             .lower = constant->lower,
                                             .upper = constant->upper,
                                             .before = constant->start,
                                             .after_min = value,
                                             .after_max = value};
        noted->after = value;
        noted->after_min = fmin(noted->after_min, value);
        noted->after_max = fmax(noted->after_max, value);
        noted->n_rows += n_rows;
    }
}

/* fit_once — on the groups of `fitted`, judged on those of `judged`. */
static void fit_once(struct search *search, const bool *judged, int max_evaluations, bool first,
                     struct check_fit *fit)
{
    struct arena kept = *search->study->work; /* what a fit takes is released after it */
    double *x = arena_new(search->study->work, double, search->set->n);
    make_memories(search);
    memcpy(search->log_errors, search->own_errors,
           (size_t)search->study->check->n_rows * sizeof *search->log_errors);
    double before = loss_of(search, search->log_errors, search->fitted, *search->study->work);
    double after = minimise(search, x, max_evaluations, &fit->n_evaluations);
    predict_parts(search, x, judged);
    note_constants(search, x, first, fit);
    fit->loss_before += before;
    fit->loss_after += after;
    *search->study->work = kept;
}

/* --- parts ------------------------------------------------------------------------------------------ */

static void score_part(const struct study *study, const struct groups *groups, int part,
                       struct check_score *score)
{
    struct arena scratch = *study->work;
    int *rows = arena_new(&scratch, int, study->check->n_rows);
    int n = 0;
    for (int r = 0; r < study->check->n_rows; r++) {
        if (row_is_covered(&study->check->rows[r]) && groups_part(groups, r) == part) rows[n++] = r;
    }
    *score = score_rows(study->check, rows, n, scratch);
}

static void score_parts(const struct study *study, const struct groups *groups, int n_parts,
                        const char *when, struct check_fit *fit)
{
    for (int p = 0; p < n_parts; p++) {
        struct check_score *score = &fit->parts.scores[2 * p + !strcmp(when, "after")];
        score_part(study, groups, p, score);
        score->id = arena_text(study->perm, "%c %s", 'a' + p, when);
    }
}

/* what each fit is on, and what it is judged on: bool [n_groups] */
static void choose_groups(const struct groups *groups, const char *on, int fold, bool *fitted,
                          bool *judged)
{
    bool halves = !strcmp(on, "a") || !strcmp(on, "b");
    for (int g = 0; g < groups->n; g++) {
        int part = groups->part_of[g];
        fitted[g] = !strcmp(on, "all") || (halves ? part == on[0] - 'a' : part != fold);
        judged[g] = halves || !strcmp(on, "all") || part == fold;
    }
}

static struct search *open_search(const struct study *study, struct free_set *set,
                                  const struct groups *groups)
{
    struct search *search = arena_new(study->perm, struct search, 1);
    *search = (struct search){.study = study,
                              .reader = *study->check->reader,
                              .how = *study->check->reader->options,
                              .set = set,
                              .groups = groups};
    search->how.edits = &set->edits;
    search->reader.options = &search->how;
    search->touches = arena_new(study->perm, bool, (int64_t)study->n_stretches * set->n);
    search->log_errors = arena_new(study->perm, double, study->check->n_rows);
    search->own_errors = arena_new(study->perm, double, study->check->n_rows);
    for (int r = 0; r < study->check->n_rows; r++) {
        const struct check_row *row = &study->check->rows[r];
        if (row_is_covered(row)) search->own_errors[r] = log(row->predicted_s / row->measured_s);
    }
    find_touched(search);
    return search;
}

struct check_fit *fit_run(const struct study *study, const struct fit_options *options,
                          struct free_set **set, struct diag *diag)
{
    const struct row_reader *reader = study->check->reader;
    const char *dir = reader->options->profile_dir ? reader->options->profile_dir : "scenarios";
    *set = free_read(options->free_file, dir, study->perm, diag);
    if (!*set) return NULL;
    double n = 0;
    const char *end = NULL;
    bool folds = unit_number(options->on, &end, &n);
    int n_parts = folds ? (int)n : 2;
    struct groups *groups = groups_deal(study, n_parts);
    struct search *search = open_search(study, *set, groups);
    struct check_fit *fit = arena_new(study->perm, struct check_fit, 1);
    bool *fitted = arena_new(study->perm, bool, groups->n);
    bool *judged = arena_new(study->perm, bool, groups->n);
    search->fitted = fitted;
    *fit =
        (struct check_fit){.on = folds ? arena_text(study->perm, "%d folds", n_parts) : options->on,
                           .file = (*set)->file,
                           .constants = arena_new(study->perm, struct check_constant, (*set)->n),
                           .n_constants = (*set)->n,
                           .parts = {"part", NULL, 2 * n_parts}};
    fit->parts.scores = arena_new(study->perm, struct check_score, fit->parts.n);
    score_parts(study, groups, n_parts, "before", fit);
    int n_fits = folds ? n_parts : 1;
    for (int fold = 0; fold < n_fits; fold++) {
        choose_groups(groups, options->on, fold, fitted, judged);
        fit_once(search, judged, options->max_evaluations, fold == 0, fit);
    }
    fit->loss_before /= n_fits;
    fit->loss_after /= n_fits;
    score_parts(study, groups, n_parts, "after", fit);
    return fit;
}
