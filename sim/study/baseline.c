#include "study/baseline.h"

#include "base/stats.h"

#include <stdlib.h>
#include <string.h>

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
        if (!row_is_covered(row)) continue;
        double u = 1 / row->measured_s;
        double v = row->size_B / row->measured_s;
        fit.uu += u * u, fit.uv += u * v, fit.vv += v * v, fit.u += u, fit.v += v;
        n++;
    }
    if (n == 0) return;
    solve_fit(&fit, &alpha_s, &beta_s_per_B);
    for (int i = from; i < to; i++) {
        struct check_row *row = &study->check->rows[study->order[i]];
        if (!row_is_covered(row)) continue;
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
        if (!row_is_covered(row)) continue;
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

void baseline_find(const struct study *study)
{
    if (study->check->reader->form->collective) {
        rows_for_equal(study, false, fit_line);
    } else {
        fit_utilisation(study, *study->work);
    }
}
