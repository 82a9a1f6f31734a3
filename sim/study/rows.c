#include "study/rows.h"

#include "base/trap.h"
#include "bound.h"
#include "estimate.h"
#include "interval.h"
#include "predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD_AND_BACKWARD = 3 }; /* FLOPs of a step over those of forward */

static double x_of(const struct row_reader *reader, int row)
{
    return reader->form->collective ? row_number(reader, row, "size_bytes") : 0;
}

static int compare_places(const void *left, const void *right, void *context)
{
    const struct study *study = context;
    int a = *(const int *)left;
    int b = *(const int *)right;
    int order = study->keys.of[a] - study->keys.of[b];
    if (order != 0) return order;
    double size_a = study->check->rows[a].size_B;
    double size_b = study->check->rows[b].size_B;
    if (size_a < size_b || size_a > size_b) return size_a < size_b ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void find_stretches(struct study *study)
{
    const struct check *check = study->check;
    study->stretches = arena_new(study->perm, struct stretch, check->n_rows);
    for (int i = 0; i < check->n_rows; i++) {
        bool new = i == 0 || study->keys.of[study->order[i - 1]] != study->keys.of[study->order[i]];
        if (new) study->stretches[study->n_stretches++].from = i;
        study->stretches[study->n_stretches - 1].to = i + 1;
    }
}

/* a time and its 90 % interval */
struct guess {
    double time_s;
    struct interval interval;
    const struct coll_algo *algo; /* of a collective, else NULL */
};

static struct run run_step(const struct plan *plan, struct arena scratch)
{
    switch (plan->in->fidelity) {
    case FIDELITY_ESTIMATE:
        return estimate_period(plan, &scale_none, scratch);
    case FIDELITY_FLUID:
        return *engine_run(plan, &scale_none, &scratch);
    case FIDELITY_MESSAGE:
    case N_FIDELITIES:
        break;
    }
    return *engine_message(plan, &scratch);
}

static struct guess guess_step(const struct inputs *in, struct arena scratch)
{
    const struct plan *plan = plan_build(in, &scratch);
    struct run run = run_step(plan, scratch);
    return (struct guess){run.iteration_s, interval_step(plan, &run, scratch), NULL};
}

static struct guess guess_collective(const struct row_job *job, double size_B, struct arena scratch)
{
    const struct inputs *in =
        inputs_collective(job->inputs, job->kind, size_B, job->algorithm, job->protocol, &scratch);
    struct collective_time time = predict_collective(in, &scratch);
    const struct coll_algo *algo = time.plan->n_colls > 0 ? time.plan->colls[0].algo : NULL;
    return (struct guess){time.time_s, {time.interval_s[0], time.interval_s[1]}, algo};
}

static struct guess guess(const struct row_job *job, double size_B, bool collective,
                          struct arena scratch)
{
    int before = trap_on();
    struct guess guess =
        collective ? guess_collective(job, size_B, scratch) : guess_step(job->inputs, scratch);
    trap_restore(before);
    return guess;
}

static const char *refusal(const struct study *study, const struct row_job *job,
                           const struct check_row *row, struct arena scratch)
{
    bool collective = study->check->reader->form->collective;
    if (job->reason) return job->reason;
    if (row->measured_s <= 0) return "measured time: not stated";
    if (!collective) return NULL;
    if (row->size_B <= 0) return "size_bytes: not stated";
    if (job->inputs->n_gpus < 2) return "gpus 1: nobody to talk to";
    const char *why = row_refusal(job, row->size_B, &scratch);
    return why ? arena_text(study->perm, "%s", why) : NULL;
}

/* note_work — the GPUs of a replica share its samples. */
static void note_work(const struct inputs *in, struct check_row *row)
{
    const struct train_spec *train = &in->train;
    const struct split *split = &train->split;
    double gpus = fmax(split->tensor, 1) * fmax(split->pipeline, 1) * fmax(split->context, 1);
    double samples = train->batch_per_gpu * train->grad_accumulation / gpus; /* for each GPU */
    row->work_flop = FORWARD_AND_BACKWARD * model_flop_per_sample(in->model) * samples;
    row->samples = samples * in->n_gpus;
}

/* note_part — whose spread the interval is of; `last` is the row before of equal keys, if any. */
static void note_part(const struct study *study, const struct row_job *job,
                      const struct check_row *last, struct check_row *row)
{
    static const char *const reaches[] = {"in a server", "between servers"};
    const struct inputs *in = job->inputs;
    struct library_class class = library_class(row->size_B, in->topo->n_nodes > 1);
    bool same = row_is_covered(last) && class.size == library_class(last->size_B, false).size;
    row->pool = same ? last->pool : "all";
    row->part = last->part;
    if (!row_is_covered(last)) {
        const char *name = study->check->reader->form->collective ? in->library.name : in->gpu.name;
        row->part = arena_text(study->perm, "%s", name);
    }
    if (same || !study->check->reader->form->collective) return;
    row->pool = arena_text(study->perm, "%s, size class %d", reaches[class.reach], class.size + 1);
}

static void take_times(struct check_row *row, const struct check_row *last)
{
    row->predicted_s = last->predicted_s;
    row->low_s = last->low_s;
    row->high_s = last->high_s;
    row->bound_s = last->bound_s;
}

static void predict_row(struct check_row *row, const struct row_job *job, bool collective,
                        struct arena scratch)
{
    struct guess own = guess(job, row->size_B, collective, scratch);
    row->predicted_s = own.time_s;
    row->low_s = own.interval.low_s;
    row->high_s = own.interval.high_s;
    if (!collective) return;
    row->bound_s =
        bound_collective_s(job->inputs, job->kind, row->size_B, bound_help(own.algo), scratch);
}

void rows_predict(const struct study *study, const struct row_reader *reader,
                  struct stretch stretch)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    bool collective = reader->form->collective;
    struct row_job job = row_map(reader, study->order[stretch.from], &scratch);
    struct check_row last = {.suspect = true};
    if (job.reason) job.reason = arena_text(study->perm, "%s", job.reason);
    for (int i = stretch.from; i < stretch.to; i++) {
        struct check_row *row = &check->rows[study->order[i]];
        if (row->suspect) continue;
        row->reason = refusal(study, &job, row, scratch);
        if (row->reason) continue;
        bool again = row_is_covered(&last) && !(row->size_B > last.size_B);
        if (again)
            take_times(row, &last);
        else
            predict_row(row, &job, collective, scratch);
        row->error = row->predicted_s / row->measured_s - 1;
        note_part(study, &job, &last, row);
        if (!collective) note_work(job.inputs, row);
        last = *row;
    }
}

bool rows_predict_again(const struct study *study, const struct row_reader *reader,
                        struct stretch stretch, double *predicted_s)
{
    struct arena scratch = *study->work;
    struct row_job job = row_map(reader, study->order[stretch.from], &scratch);
    int last = -1; /* predicted; equal sizes follow each other */
    for (int i = stretch.from; i < stretch.to && !job.reason; i++) {
        const struct check_row *row = &study->check->rows[study->order[i]];
        if (!row_is_covered(row)) continue;
        if (last < 0 || row->size_B > study->check->rows[study->order[last]].size_B) {
            predicted_s[i - stretch.from] =
                guess(&job, row->size_B, reader->form->collective, scratch).time_s;
        } else {
            predicted_s[i - stretch.from] = predicted_s[last - stretch.from];
        }
        last = i;
    }
    return !job.reason;
}

void rows_predict_any(const struct study *study, const struct row_reader *reader,
                      struct stretch stretch, double *predicted_s)
{
    struct arena scratch = *study->work;
    struct row_job job = row_map(reader, study->order[stretch.from], &scratch);
    int last = -1;
    for (int i = stretch.from; i < stretch.to && !job.reason; i++) {
        int r = study->order[i];
        const struct check_row *row = &study->check->rows[r];
        if (refusal(study, &job, row, scratch)) continue;
        bool again = last >= 0 && !(row->size_B > study->check->rows[last].size_B);
        predicted_s[r] = again ? predicted_s[last]
                               : guess(&job, row->size_B, reader->form->collective, scratch).time_s;
        last = r;
    }
}

void rows_predict_all(const struct study *study)
{
    struct check *check = study->check;
    for (int i = 0; i < study->n_stretches; i++)
        rows_predict(study, check->reader, study->stretches[i]);
    check->n_suspect = check->n_covered = 0;
    for (int r = 0; r < check->n_rows; r++) {
        check->n_suspect += check->rows[r].suspect;
        check->n_covered += row_is_covered(&check->rows[r]);
    }
}

void rows_for_equal(const struct study *study, bool same_size, stretch_function *visit)
{
    const struct check *check = study->check;
    int from = 0;
    for (int i = 1; i <= check->n_rows; i++) {
        bool same = i < check->n_rows &&
                    study->keys.of[study->order[from]] == study->keys.of[study->order[i]];
        if (same && same_size)
            same = !(check->rows[study->order[i]].size_B > check->rows[study->order[from]].size_B);
        if (same) continue;
        visit(study, from, i);
        from = i;
    }
}

struct study *rows_open(const struct row_reader *reader, struct arena *perm, struct arena *work)
{
    struct check *check = arena_new(perm, struct check, 1);
    int n = reader->table->n_rows;
    *check =
        (struct check){.reader = reader, .rows = arena_new(perm, struct check_row, n), .n_rows = n};
    struct study *study = arena_new(perm, struct study, 1);
    *study = (struct study){.check = check,
                            .keys = ranks_of(reader, reader->form->keys, perm),
                            .order = arena_new(perm, int, n),
                            .perm = perm,
                            .work = work};
    for (int r = 0; r < n; r++) {
        check->rows[r] = (struct check_row){.suspect = row_suspect(reader, r),
                                            .measured_s = row_measured_s(reader, r),
                                            .size_B = x_of(reader, r),
                                            .moved_error = NAN,
                                            .equals_error = NAN};
        study->order[r] = r;
    }
    qsort_r(study->order, (size_t)n, sizeof *study->order, compare_places, study);
    find_stretches(study);
    return study;
}

int *rows_by_number(const struct check *check, const int *of, int n, int *from, struct arena *perm)
{
    int *rows = arena_new(perm, int, check->n_covered);
    for (int r = 0; r < check->n_rows; r++) {
        if (row_is_covered(&check->rows[r])) from[of[r] + 1]++;
    }
    for (int g = 0; g < n; g++) from[g + 1] += from[g];
    int *at = arena_new(perm, int, n);
    if (n > 0) memcpy(at, from, (size_t)n * sizeof *at);
    for (int r = 0; r < check->n_rows; r++) {
        if (row_is_covered(&check->rows[r])) rows[at[of[r]]++] = r;
    }
    return rows;
}
