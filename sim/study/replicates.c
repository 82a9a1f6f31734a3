#include "study/replicates.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

static const double FLOOR_PERCENTILE = 90;

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

void replicates_compare(const struct study *study)
{
    rows_for_equal(study, true, compare_equals);
    find_floor(study->check, *study->work);
}
