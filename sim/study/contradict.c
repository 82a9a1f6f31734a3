#include "study/contradict.h"

static const double FASTER = 1.5;

static bool is_larger(const struct raw_row *a, const struct raw_row *b)
{
    return a->m >= b->m && a->n >= b->n && a->k >= b->k && a->batch >= b->batch;
}

static bool contradict(const struct calibrate_row *a, const struct calibrate_row *b)
{
    if (is_larger(a->row, b->row) && b->measured_s > FASTER * a->measured_s) return true;
    return is_larger(b->row, a->row) && a->measured_s > FASTER * b->measured_s;
}

static int most_against(const int *against, int n)
{
    int worst = 0;
    for (int i = 1; i < n; i++) {
        if (against[i] > against[worst]) worst = i;
    }
    return worst;
}

int contradict_find(struct calibrate_row *const *rows, int n, bool *odd, struct arena scratch)
{
    if (n == 0 || n > CONTRADICT_MOST_ROWS) return 0;
    int *against = arena_new(&scratch, int, n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) against[i] += contradict(rows[i], rows[j]);
    }
    int n_odd = 0;
    int worst = most_against(against, n);
    for (; against[worst] > 0; worst = most_against(against, n)) {
        odd[worst] = true;
        n_odd++;
        against[worst] = 0;
        for (int i = 0; i < n; i++) {
            if (!odd[i]) against[i] -= contradict(rows[i], rows[worst]);
        }
    }
    return n_odd;
}
