#include "study/suspicion.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of what is off, by ratio, a suspicion has to explain so much; else nothing that is tried does. */
static const double EXPLAINS_FRAC = 0.5;

static const char *const UNEXPLAINED_SLOW =
                             "none of what was tried: shared, congested or throttled",
                         *const UNEXPLAINED_FAST =
                             "none: not all was moved, or a key of the row is wrong";

/* rows of one series, in order of the table */
struct sheet {
    const int *rows;
    int n;
};

/* what the steps share */
struct hunt {
    const struct study *study;
    struct row_limits limits;
    double *as_stated_s; /* [n_rows] predicted; 0: not */
    double *tried_s;     /* [n_rows] likewise, under the suspicion that is tried */
    int *stretch_of;     /* [n_rows] */
};

static int compare_ids(const void *left, const void *right, void *context)
{
    const struct check *check = context;
    int a = *(const int *)left;
    int b = *(const int *)right;
    const char *column = check->reader->form->group;
    int order = strcmp(row_cell(check->reader, a, column), row_cell(check->reader, b, column));
    return order != 0 ? order : (a > b) - (a < b);
}

static bool judged(const struct hunt *hunt, int row, bool large_only)
{
    const struct check_row *stated = &hunt->study->check->rows[row];
    return hunt->as_stated_s[row] > 0 && (!large_only || stated->size_B >= hunt->limits.large_B);
}

/* judged_rows — those to judge by: the large ones, or all where there are none; their number. */
static int judged_rows(const struct hunt *hunt, struct sheet sheet, int *rows)
{
    int n = 0;
    for (int i = 0; i < sheet.n; i++) {
        if (judged(hunt, sheet.rows[i], true)) rows[n++] = sheet.rows[i];
    }
    for (int i = 0; i < sheet.n && (n == 0 || !judged(hunt, rows[0], true)); i++) {
        if (judged(hunt, sheet.rows[i], false)) rows[n++] = sheet.rows[i];
    }
    return n;
}

/* ratio — median of measured / predicted of rows[n], as logarithms so that it is fair to both sides. */
static double ratio(const struct hunt *hunt, struct sheet sheet, const double *predicted_s,
                    struct arena scratch)
{
    double *x = arena_new(&scratch, double, sheet.n);
    for (int i = 0; i < sheet.n; i++) {
        int r = sheet.rows[i];
        x[i] = log(hunt->study->check->rows[r].measured_s / predicted_s[r]);
    }
    return exp(stats_median(x, sheet.n, scratch));
}

/* misfit — median of |ln(measured / predicted)|: what a suspicion leaves unexplained. */
static double misfit(const struct hunt *hunt, struct sheet sheet, const double *predicted_s,
                     struct arena scratch)
{
    double *x = arena_new(&scratch, double, sheet.n);
    for (int i = 0; i < sheet.n; i++) {
        int r = sheet.rows[i];
        x[i] = fabs(log(hunt->study->check->rows[r].measured_s / predicted_s[r]));
    }
    return stats_median(x, sheet.n, scratch);
}

/* try — predict the rows as if a suspicion were right; false where it cannot be. */
static bool try(const struct hunt *hunt, struct sheet sheet, int suspicion)
{
    struct row_reader reader = *hunt->study->check->reader;
    reader.suspicion = suspicion;
    for (int i = 0; i < sheet.n; i++) hunt->tried_s[sheet.rows[i]] = 0;
    for (int i = 0; i < sheet.n; i++) {
        int r = sheet.rows[i];
        if (hunt->tried_s[r] > 0) continue;
        rows_predict_any(hunt->study, &reader, hunt->study->stretches[hunt->stretch_of[r]],
                         hunt->tried_s);
        if (!(hunt->tried_s[r] > 0)) return false;
    }
    return true;
}

static void find_first(const struct hunt *hunt, struct sheet sheet, struct check_verdict *verdict)
{
    const struct row_reader *reader = hunt->study->check->reader;
    struct arena scratch = *hunt->study->perm;
    double best = (1 - EXPLAINS_FRAC) * misfit(hunt, sheet, hunt->as_stated_s, scratch);
    verdict->first = verdict->ratio > 1 ? UNEXPLAINED_SLOW : UNEXPLAINED_FAST;
    verdict->ratio_with = NAN;
    for (int s = 0; verdict->ratio > 1 && s < row_suspicions(reader); s++) {
        if (!try(hunt, sheet, s)) continue;
        double left = misfit(hunt, sheet, hunt->tried_s, scratch);
        if (left >= best) continue;
        best = left;
        verdict->first = row_suspicion(reader, s);
        verdict->ratio_with = ratio(hunt, sheet, hunt->tried_s, scratch);
    }
}

/* judge — one series; false where nothing of it can be judged. */
static bool judge(const struct hunt *hunt, struct sheet sheet, struct check_verdict *verdict)
{
    const struct check *check = hunt->study->check;
    struct arena scratch = *hunt->study->perm;
    int *rows = arena_new(&scratch, int, sheet.n);
    struct sheet large = {rows, judged_rows(hunt, sheet, rows)};
    int n_suspect = 0;
    if (large.n == 0) return false;
    for (int i = 0; i < sheet.n; i++) n_suspect += check->rows[sheet.rows[i]].suspect;
    *verdict = (struct check_verdict){
        .id = row_cell(check->reader, sheet.rows[0], check->reader->form->group),
        .suspect = 2 * n_suspect > sheet.n,
        .n = large.n,
        .ratio = ratio(hunt, large, hunt->as_stated_s, scratch),
        .ratio_with = NAN,
    };
    verdict->off = verdict->ratio > hunt->limits.slower || verdict->ratio < hunt->limits.faster;
    if (verdict->off) {
        struct study with_scratch = *hunt->study;
        struct hunt inner = *hunt;
        with_scratch.perm = &scratch;
        inner.study = &with_scratch;
        find_first(&inner, large, verdict);
    }
    return true;
}

static int compare_verdicts(const void *left, const void *right)
{
    const struct check_verdict *a = left;
    const struct check_verdict *b = right;
    if (a->off != b->off) return b->off - a->off;
    double far_a = fabs(log(a->ratio));
    double far_b = fabs(log(b->ratio));
    return far_a < far_b ? 1 : far_a > far_b ? -1 : strcmp(a->id, b->id);
}

static void count(struct check_off *off)
{
    for (int i = 0; i < off->n; i++) {
        const struct check_verdict *verdict = &off->verdicts[i];
        off->n_off += verdict->off;
        off->n_suspect += verdict->suspect;
        off->n_suspect_off += verdict->suspect && verdict->off;
        off->n_others += !verdict->suspect;
        off->n_others_off += !verdict->suspect && verdict->off;
    }
}

/* predict_stated — of all rows; those that are scored have been predicted already. */
static void predict_stated(const struct hunt *hunt)
{
    const struct study *study = hunt->study;
    for (int i = 0; i < study->n_stretches; i++) {
        bool missing = false;
        for (int j = study->stretches[i].from; j < study->stretches[i].to; j++) {
            int r = study->order[j];
            hunt->stretch_of[r] = i;
            bool covered = row_is_covered(&study->check->rows[r]);
            hunt->as_stated_s[r] = covered ? study->check->rows[r].predicted_s : 0;
            missing = missing || study->check->rows[r].suspect;
        }
        if (missing)
            rows_predict_any(study, study->check->reader, study->stretches[i], hunt->as_stated_s);
    }
}

static struct hunt open_hunt(const struct study *study, struct arena *perm)
{
    int n = study->check->n_rows;
    struct hunt hunt = {.study = study,
                        .limits = row_limits(study->check->reader),
                        .as_stated_s = arena_new(perm, double, n),
                        .tried_s = arena_new(perm, double, n),
                        .stretch_of = arena_new(perm, int, n)};
    predict_stated(&hunt);
    return hunt;
}

void suspicion_find(const struct study *study)
{
    struct check *check = study->check;
    int n = check->n_rows;
    if (!check->reader->form->collective || row_limits(check->reader).slower <= 0) return;
    struct check_off *off = &check->off;
    off->verdicts = arena_new(study->perm, struct check_verdict, n);
    struct hunt hunt = open_hunt(study, study->perm);
    off->slower = hunt.limits.slower;
    off->faster = hunt.limits.faster;
    int *rows = arena_new(study->perm, int, n);
    for (int r = 0; r < n; r++) rows[r] = r;
    qsort_r(rows, (size_t)n, sizeof *rows, compare_ids, check);
    const char *column = check->reader->form->group;
    for (int from = 0, to = 0; from < n; from = to) {
        const char *id = row_cell(check->reader, rows[from], column);
        while (to < n && strcmp(row_cell(check->reader, rows[to], column), id) == 0) to++;
        off->n += judge(&hunt, (struct sheet){rows + from, to - from}, &off->verdicts[off->n]);
    }
    count(off);
    qsort(off->verdicts, (size_t)off->n, sizeof *off->verdicts, compare_verdicts);
}
