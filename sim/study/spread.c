#include "study/spread.h"

#include "study/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double INSIDE = 0.9;
static const double PULL = 2; /* least interval score on half b, of 0.5, 1, 2 and 4 */

struct weighted {
    double x, weight;
};

static int compare_weighted(const void *left, const void *right)
{
    const struct weighted *a = left;
    const struct weighted *b = right;
    return (a->x > b->x) - (a->x < b->x);
}

/* weigh — each group is worth 1 in the part, and PULL over all groups in the pool. */
static double weigh(const struct spread_sample *samples, int n, int n_groups,
                    struct weighted *points, struct arena scratch)
{
    int *own = arena_new(&scratch, int, n_groups);
    int *all = arena_new(&scratch, int, n_groups);
    int n_seen = 0;
    double total = 0;
    for (int i = 0; i < n; i++) {
        n_seen += all[samples[i].group]++ == 0;
        own[samples[i].group] += samples[i].own;
    }
    for (int i = 0; i < n; i++) {
        int group = samples[i].group;
        double weight = PULL / n_seen / all[group];
        if (samples[i].own) weight += 1.0 / own[group];
        points[i] = (struct weighted){samples[i].log_error, weight};
        total += weight;
    }
    return total;
}

/* quantile — the first point below and at which lies the share p of all weight. */
static double quantile(const struct weighted *points, int n, double target)
{
    double sum = 0;
    int i = 0;
    while (i < n - 1 && (sum += points[i].weight) < target) i++;
    return points[i].x;
}

static int count_groups(const struct spread_sample *samples, int n, int n_groups,
                        struct arena scratch)
{
    bool *seen = arena_new(&scratch, bool, n_groups);
    int n_seen = 0;
    for (int i = 0; i < n; i++) {
        n_seen += !seen[samples[i].group];
        seen[samples[i].group] = true;
    }
    return n_seen;
}

struct sides spread_fit(const struct spread_sample *samples, int n, int n_groups,
                        struct arena scratch)
{
    struct weighted *points = arena_new(&scratch, struct weighted, n);
    double total = weigh(samples, n, n_groups, points, scratch);
    qsort(points, (size_t)n, sizeof *points, compare_weighted);
    double inside = fmin(INSIDE * (1 + 1.0 / count_groups(samples, n, n_groups, scratch)), 1);
    double tail = (1 - inside) / 2;
    return (struct sides){.faster = fmax(-quantile(points, n, tail * total), 0),
                          .slower = fmax(quantile(points, n, (1 - tail) * total), 0)};
}

/* ---- of a table ---- */

struct place {
    const char *pool, *part;
    int row;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    int order = strcmp(a->pool, b->pool);
    if (order == 0) order = strcmp(a->part, b->part);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* fit_part — places[from .. to - 1] of the pool's samples are its own. */
static struct check_spread fit_part(const struct place *places, struct stretch own,
                                    struct stretch pool, struct spread_sample *samples,
                                    int n_groups, struct arena scratch)
{
    for (int i = pool.from; i < pool.to; i++) samples[i].own = i >= own.from && i < own.to;
    return (struct check_spread){
        .pool = places[pool.from].pool,
        .part = own.to > own.from ? places[own.from].part : "",
        .n = own.to - own.from,
        .n_groups = count_groups(samples + own.from, own.to - own.from, n_groups, scratch),
        .sides = spread_fit(samples + pool.from, pool.to - pool.from, n_groups, scratch)};
}

static int end_of(const struct place *places, int from, int to, bool part)
{
    int end = from;
    while (end < to && !strcmp(places[end].pool, places[from].pool) &&
           (!part || !strcmp(places[end].part, places[from].part)))
        end++;
    return end;
}

static void fit_pools(struct check *check, const struct place *places, int n,
                      struct spread_sample *samples, int n_groups, struct arena scratch)
{
    for (int from = 0; from < n;) {
        struct stretch pool = {from, end_of(places, from, n, false)};
        struct stretch own = {from, from};
        check->spreads[check->n_spreads++] =
            fit_part(places, own, pool, samples, n_groups, scratch);
        for (; own.from < pool.to; own.from = own.to) {
            own.to = end_of(places, own.from, pool.to, true);
            check->spreads[check->n_spreads++] =
                fit_part(places, own, pool, samples, n_groups, scratch);
        }
        from = pool.to;
    }
}

void spread_find(const struct study *study)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    const struct groups *groups = groups_deal(study, 2);
    struct place *places = arena_new(&scratch, struct place, check->n_rows);
    int n = 0;
    for (int r = 0; r < check->n_rows; r++) {
        const struct check_row *row = &check->rows[r];
        if (!row_is_covered(row) || groups_part(groups, r) != 0) continue;
        places[n++] = (struct place){row->pool, row->part, r};
    }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    struct spread_sample *samples = arena_new(&scratch, struct spread_sample, n);
    for (int i = 0; i < n; i++) {
        samples[i].group = groups->group_of[places[i].row];
        samples[i].log_error = -log1p(check->rows[places[i].row].error);
    }
    int n_parts = 0; /* and a pool is counted with its first part */
    for (int i = 0; i < n; i++) {
        n_parts += i == 0 || strcmp(places[i].part, places[i - 1].part) != 0 ||
                   strcmp(places[i].pool, places[i - 1].pool) != 0;
    }
    check->spreads = arena_new(study->perm, struct check_spread, (int64_t)2 * n_parts);
    fit_pools(check, places, n, samples, groups->n, scratch);
}
