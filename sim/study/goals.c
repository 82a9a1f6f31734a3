#include "study/goals.h"

#include "base/stats.h"
#include "study/groups.h"

#include <math.h>

/* Goals for systems that constants were fitted on, then for others. */
static const struct {
    double from_B, limit_frac;
} goals[] = {{0, 0.12}, {0, 0.20}, {64e6, 0.05}, {64e6, 0.08}, {64e6, 0.12}};
enum { N_GOALS = (int)(sizeof goals / sizeof *goals), N_HALVES = 2 };
static const char *const half_names[N_HALVES] = {"a", "b"};

/* judge — rows[n] are the covered ones of a series. */
static void judge(const struct check *check, const int *rows, int n, struct check_goal *goal,
                  struct arena scratch)
{
    double *own = arena_new(&scratch, double, n);
    double *equals = arena_new(&scratch, double, n);
    int n_own = 0;
    int n_equals = 0;
    for (int i = 0; i < n; i++) {
        const struct check_row *row = &check->rows[rows[i]];
        if (row->size_B < goal->from_B) continue;
        own[n_own++] = fabs(row->error);
        if (!isnan(row->equals_error)) equals[n_equals++] = fabs(row->equals_error);
    }
    if (n_own == 0) return;
    double median = stats_median(own, n_own, scratch);
    bool near = median <= goal->limit_frac;
    bool floor = !near && n_equals > 0 && median <= stats_median(equals, n_equals, scratch);
    goal->n++;
    goal->n_met += near || floor;
    goal->n_floor += floor;
}

void goals_find(const struct study *study)
{
    struct check *check = study->check;
    struct arena scratch = *study->work;
    if (!check->reader->form->collective) return;
    const struct groups *groups = groups_deal(study, N_HALVES);
    int *from = arena_new(&scratch, int, groups->n + 1);
    const int *rows = rows_by_number(check, groups->group_of, groups->n, from, &scratch);
    check->n_goals = N_HALVES * N_GOALS;
    check->goals = arena_new(study->perm, struct check_goal, check->n_goals);
    for (int i = 0; i < check->n_goals; i++)
        check->goals[i] = (struct check_goal){.half = half_names[i / N_GOALS],
                                              .from_B = goals[i % N_GOALS].from_B,
                                              .limit_frac = goals[i % N_GOALS].limit_frac};
    for (int g = 0; g < groups->n; g++) {
        struct check_goal *half = check->goals + (ptrdiff_t)groups->part_of[g] * N_GOALS;
        for (int k = 0; k < N_GOALS; k++)
            judge(check, rows + from[g], from[g + 1] - from[g], &half[k], scratch);
    }
}
