#include "study/baseline.h"

#include "base/stats.h"
#include "study/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double OTHER_CLASS = 1000; /* doublings: more than there are */

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

/* --- collectives: alpha + S / bandwidth ------------------------------------------------------------ */

struct line {
    double alpha_s, beta_s_per_B;
    int n; /* rows it is fitted to; 0: there is no line */
};

enum { NO_GROUP = -1, SEVERAL = -2 };

/* fit_line — to the covered rows of a stretch but those of a group (NO_GROUP: to all). */
static struct line fit_line(const struct study *study, struct stretch stretch,
                            const struct groups *groups, int without)
{
    struct fit fit = {0};
    struct line line = {0};
    for (int i = stretch.from; i < stretch.to; i++) {
        const struct check_row *row = &study->check->rows[study->order[i]];
        if (!row_is_covered(row)) continue;
        if (without != NO_GROUP && groups->group_of[study->order[i]] == without) continue;
        double u = 1 / row->measured_s;
        double v = row->size_B / row->measured_s;
        fit.uu += u * u, fit.uv += u * v, fit.vv += v * v, fit.u += u, fit.v += v;
        line.n++;
    }
    if (line.n > 0) solve_fit(&fit, &line.alpha_s, &line.beta_s_per_B);
    return line;
}

/* a set of equal keys */
struct key_set {
    struct stretch stretch;
    int row;   /* one of it */
    int group; /* of its covered rows; NO_GROUP: it has none, SEVERAL: more than one */
    double gpus, nodes;
    double share;    /* bytes that cross a port per byte of the collective's size */
    double line_Bps; /* of a server's cards; 0 = not told */
};

static int group_of_set(const struct study *study, struct stretch stretch,
                        const struct groups *groups)
{
    int group = NO_GROUP;
    for (int i = stretch.from; i < stretch.to && group != SEVERAL; i++) {
        int row = study->order[i];
        if (!row_is_covered(&study->check->rows[row])) continue;
        bool other = group != NO_GROUP && group != groups->group_of[row];
        group = other ? SEVERAL : groups->group_of[row];
    }
    return group;
}

static struct key_set key_set_of(const struct study *study, struct stretch stretch,
                                 const struct groups *groups)
{
    const struct row_reader *reader = study->check->reader;
    int row = study->order[stretch.from];
    struct key_set set = {.stretch = stretch, .row = row};
    set.group = group_of_set(study, stretch, groups);
    set.nodes = fmax(row_number(reader, row, "nodes"), 1);
    set.gpus = fmax(row_number(reader, row, "gpus_per_node"), 1) * set.nodes;
    set.share = row_bus_factor(row_cell(reader, row, "collective"), set.gpus);
    if (set.nodes > 1)
        set.line_Bps =
            row_number(reader, row, "nics_per_node") * row_number(reader, row, "nic_gbps");
    return set;
}

/* has_others — rows of another group. */
static bool has_others(const struct key_set *set, int group)
{
    return set->group == SEVERAL || (set->group != NO_GROUP && set->group != group);
}

/* distance — doublings of GPUs and of servers between two sets of keys; those of another class are
 * further than all of the same, and those of another collective, or on one server where the other is
 * on several, do not count (INFINITY). */
static double distance(const struct study *study, const struct key_set *a, const struct key_set *b)
{
    const struct row_reader *reader = study->check->reader;
    if (strcmp(row_cell(reader, a->row, "collective"), row_cell(reader, b->row, "collective")) != 0)
        return INFINITY;
    if ((a->nodes > 1) != (b->nodes > 1)) return INFINITY;
    double doublings = fabs(log2(a->gpus / b->gpus)) + fabs(log2(a->nodes / b->nodes));
    return doublings + (groups_same_class(reader, a->row, b->row) ? 0 : OTHER_CLASS);
}

/* find_donor — the nearest set that others have measured, the first of equals; NULL if there is none. */
static const struct key_set *find_donor(const struct study *study, const struct key_set *sets,
                                        const struct key_set *set, int group)
{
    const struct key_set *donor = NULL;
    double least = INFINITY;
    if (has_others(set, group)) return set;
    for (const struct key_set *other = sets; other < sets + study->n_stretches; other++) {
        if (!has_others(other, group)) continue;
        double away = distance(study, set, other);
        if (away >= least) continue;
        least = away;
        donor = other;
    }
    return donor;
}

/* moved_line — a donor's, as it would be with the bytes and the line rate of another set. */
static struct line moved_line(const struct line *line, const struct key_set *donor,
                              const struct key_set *set)
{
    struct line moved = *line;
    double faster = set->line_Bps > 0 && donor->line_Bps > 0 ? set->line_Bps / donor->line_Bps : 1;
    moved.beta_s_per_B *= set->share / donor->share / faster;
    return moved;
}

static double line_error(const struct line *line, const struct check_row *row)
{
    return (line->alpha_s + line->beta_s_per_B * row->size_B) / row->measured_s - 1;
}

/* the lines of a set's own rows and of what others measured, for the group that was asked last */
struct lines {
    struct line own, moved;
    int group;
};

static void move_line(const struct study *study, const struct key_set *sets,
                      const struct key_set *set, const struct groups *groups, struct lines *lines)
{
    const struct key_set *donor = find_donor(study, sets, set, lines->group);
    lines->moved = (struct line){0};
    if (!donor) return;
    struct line theirs = fit_line(study, donor->stretch, groups, lines->group);
    lines->moved = moved_line(&theirs, donor, set);
}

static void use_lines(const struct study *study, const struct key_set *sets,
                      const struct key_set *set, const struct groups *groups)
{
    struct lines lines = {.own = fit_line(study, set->stretch, groups, NO_GROUP),
                          .group = NO_GROUP};
    for (int i = set->stretch.from; i < set->stretch.to; i++) {
        struct check_row *row = &study->check->rows[study->order[i]];
        if (!row_is_covered(row)) continue;
        int group = groups->group_of[study->order[i]];
        if (group != lines.group) {
            lines.group = group;
            move_line(study, sets, set, groups, &lines);
        }
        row->baseline_error = line_error(&lines.own, row);
        if (lines.moved.n > 0) row->moved_error = line_error(&lines.moved, row);
    }
}

static void find_lines(const struct study *study)
{
    struct arena scratch = *study->work;
    const struct groups *groups = groups_deal(study, 1);
    struct key_set *sets = arena_new(&scratch, struct key_set, study->n_stretches);
    for (int s = 0; s < study->n_stretches; s++)
        sets[s] = key_set_of(study, study->stretches[s], groups);
    for (int s = 0; s < study->n_stretches; s++) use_lines(study, sets, &sets[s], groups);
}

/* --- training: one utilisation --------------------------------------------------------------------- */

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

/* median over sources, so that the longest table does not decide; without one of them, if asked (NULL:
 * with all). 0 = there is none. */
static double median_of_sources(const struct pace *paces, int n, const char *without,
                                struct arena scratch)
{
    double *medians = arena_new(&scratch, double, n);
    double *x = arena_new(&scratch, double, n);
    int n_medians = 0;
    int to;
    for (int from = 0; from < n; from = to) {
        to = end_of(paces, n, from, true);
        if (without && !strcmp(paces[from].source, without)) continue;
        medians[n_medians++] = median_pace(paces + from, to - from, x, scratch);
    }
    return n_medians > 0 ? stats_median(medians, n_medians, scratch) : 0;
}

/* use_pace — the rows of one GPU and precision. */
static void use_pace(struct check *check, const struct pace *paces, int n, struct arena scratch)
{
    double own = median_of_sources(paces, n, NULL, scratch);
    int to;
    for (int from = 0; from < n; from = to) {
        to = end_of(paces, n, from, true);
        double others = median_of_sources(paces, n, paces[from].source, scratch);
        for (int i = from; i < to; i++) {
            struct check_row *row = &check->rows[paces[i].row];
            row->baseline_error = own / paces[i].s_per_flop - 1;
            if (others > 0) row->moved_error = others / paces[i].s_per_flop - 1;
        }
    }
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
        use_pace(check, paces + from, to - from, scratch);
    }
}

void baseline_find(const struct study *study)
{
    if (study->check->reader->form->collective) {
        find_lines(study);
    } else {
        fit_utilisation(study, *study->work);
    }
}
