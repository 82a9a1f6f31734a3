#include "study/tail.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ln: what stays below is the law's own imprecision and no cache */
static const double FASTER = 0.2;
static const double CHANCE = 1e-2;
static const double NOTHING = 1e-9; /* a loss below it is rounding */
/* rows for each constant before a law is asked about smaller sizes */
enum { MARGIN = 2 };

static int compare_sizes(const void *left, const void *right)
{
    const struct calibrate_row *a = *(struct calibrate_row *const *)left;
    const struct calibrate_row *b = *(struct calibrate_row *const *)right;
    if (a->size < b->size) return -1;
    if (a->size > b->size) return 1;
    /* equal sizes keep the order of their files */
    return (a > b) - (a < b);
}

void tail_sort(struct calibrate_row **rows, int n)
{
    qsort(rows, (size_t)n, sizeof(struct calibrate_row *), compare_sizes);
}

/* Of rows [from, to): a fit of their own. */
static struct solve piece(const struct solve *solve, int from, int to)
{
    struct solve part = *solve;
    part.rows = solve->rows + from;
    part.n_rows = to - from;
    return part;
}

static double loss_of(const struct solve *solve, int from, int to, struct arena scratch)
{
    struct solve part = piece(solve, from, to);
    return solve_loss(&part, scratch);
}

/* The first row of the octave that ends before row i. */
static int octave_below(const struct solve *solve, int i)
{
    double octave = floor(log2(solve->rows[i - 1]->size));
    while (i > 0 && floor(log2(solve->rows[i - 1]->size)) >= octave) i--;
    return i;
}

/* By how much the law of rows from `cut` on gives those of [from, cut) a longer time: the median. */
static double gain_below(const struct solve *solve, int from, int cut, struct arena scratch)
{
    struct solve upper = piece(solve, cut, solve->n_rows);
    solve_loss(&upper, scratch);
    double *faster = arena_new(&scratch, double, cut - from);
    for (int i = from; i < cut; i++)
        faster[i - from] = log(upper.predict(&upper, solve->rows[i]) / solve->rows[i]->measured_s);
    return stats_median(faster, cut - from, scratch);
}

/* Do rows [0, cut) fail the law of those above? The second test of Chow (1960): what they add to the
 * loss, each, over what the others leave, each. */
static bool fails_above(const struct solve *solve, int cut, struct arena scratch)
{
    double above = fmax(loss_of(solve, cut, solve->n_rows, scratch), NOTHING);
    double more = loss_of(solve, 0, solve->n_rows, scratch) - above;
    int n_more = cut;
    int n_free = solve->n_rows - cut - solve->n_constants;
    double f = more / n_more / (above / n_free);
    return f > 0.0 && lsq_f_tail(f, n_more, n_free) < CHANCE;
}

int tail_start(const struct solve *solve, struct arena scratch)
{
    int cut = solve->n_rows;
    while (cut > 0) {
        bool is_enough = solve->n_rows - cut >= MARGIN * solve->n_constants;
        int below = octave_below(solve, cut);
        /* one odd octave is no cache: all that is smaller is faster too */
        if (is_enough && fails_above(solve, cut, scratch) &&
            gain_below(solve, below, cut, scratch) > FASTER &&
            gain_below(solve, 0, cut, scratch) > FASTER)
            return cut;
        cut = below;
    }
    return 0;
}
