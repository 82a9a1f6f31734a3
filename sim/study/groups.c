#include "study/groups.h"

#include <stdlib.h>
#include <string.h>

static int compare_classes(const struct row_reader *reader, int a, int b)
{
    int order = 0;
    for (const char *const *column = reader->form->classes; *column && order == 0; column++)
        order = strcmp(row_cell(reader, a, *column), row_cell(reader, b, *column));
    return order;
}

bool groups_same_class(const struct row_reader *reader, int a, int b)
{
    return compare_classes(reader, a, b) == 0;
}

static int compare_groups(const struct row_reader *reader, int a, int b)
{
    const char *group = reader->form->group;
    int order = compare_classes(reader, a, b);
    return order != 0 ? order : strcmp(row_cell(reader, a, group), row_cell(reader, b, group));
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct check *check = context;
    int a = *(const int *)left;
    int b = *(const int *)right;
    int order = compare_groups(check->reader, a, b);
    return order != 0 ? order : (a > b) - (a < b);
}

struct groups *groups_deal(const struct study *study, int n_parts)
{
    const struct check *check = study->check;
    const struct row_reader *reader = check->reader;
    struct groups *groups = arena_new(study->perm, struct groups, 1);
    groups->group_of = arena_new(study->perm, int, check->n_rows);
    groups->part_of = arena_new(study->perm, int, check->n_rows);
    int *rows = arena_new(study->perm, int, check->n_rows);
    int n = 0;
    int turn = 0; /* of the last group in its class */
    for (int r = 0; r < check->n_rows; r++) {
        groups->group_of[r] = -1;
        if (!check->rows[r].suspect) rows[n++] = r;
    }
    qsort_r(rows, (size_t)n, sizeof *rows, compare_rows, study->check);
    for (int i = 0; i < n; i++) {
        if (i == 0 || compare_classes(reader, rows[i - 1], rows[i]) != 0) turn = -1;
        if (turn < 0 || compare_groups(reader, rows[i - 1], rows[i]) != 0)
            groups->part_of[groups->n++] = ++turn % n_parts;
        groups->group_of[rows[i]] = groups->n - 1;
    }
    return groups;
}
