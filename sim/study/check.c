#include "study/check.h"

#include "study/baseline.h"
#include "study/fit.h"
#include "study/goals.h"
#include "study/replicates.h"
#include "study/rows.h"
#include "study/score.h"
#include "study/series.h"
#include "study/spread.h"
#include "study/suspicion.h"

#include <stdlib.h>
#include <string.h>

static const size_t WORK_B = (size_t)16 << 30; /* address space, committed when touched */

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

static const struct study *open_study(const struct row_reader *reader, struct arena *perm,
                                      struct arena *work)
{
    const struct study *study = rows_open(reader, perm, work);
    rows_predict_all(study);
    baseline_find(study);
    return study;
}

static struct check *score(const struct study *study)
{
    replicates_compare(study);
    score_all(study);
    goals_find(study);
    series_score(study);
    spread_find(study);
    suspicion_find(study);
    count_reasons(study);
    return study->check;
}

struct check *check_table(const struct row_reader *reader, struct arena *perm)
{
    struct arena *work = arena_open(WORK_B);
    struct check *check = score(open_study(reader, perm, work));
    arena_close(work);
    return check;
}

struct check *check_fitted(const struct row_reader *reader, const struct fit_options *options,
                           struct free_set **set, struct arena *perm, struct diag *diag)
{
    struct arena *work = arena_open(WORK_B);
    const struct study *study = open_study(reader, perm, work);
    study->check->fit = fit_run(study, options, set, diag);
    struct check *check = study->check->fit ? score(study) : NULL;
    arena_close(work);
    return check;
}
