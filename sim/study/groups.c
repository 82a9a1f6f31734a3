#include "study/groups.h"

#include "base/must.h"

#include <string.h>

enum { MAX_CLASSES = 8 };

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

/* rank_groups — class columns, then the group's own. */
static struct ranks rank_groups(const struct row_reader *reader, struct arena *perm)
{
    const char *columns[MAX_CLASSES + 2] = {NULL};
    int n = 0;
    for (; reader->form->classes[n]; n++) columns[n] = reader->form->classes[n];
    must(n <= MAX_CLASSES);
    columns[n] = reader->form->group;
    return ranks_of(reader, columns, perm);
}

struct groups *groups_deal(const struct study *study, int n_parts)
{
    const struct check *check = study->check;
    struct ranks ranks = rank_groups(check->reader, study->perm);
    struct groups *groups = arena_new(study->perm, struct groups, 1);
    *groups = (struct groups){ranks.of, arena_new(study->perm, int, ranks.n), ranks.n};
    int *row_of = arena_new(study->perm, int, ranks.n); /* one that is not suspect, or -1 */
    for (int g = 0; g < ranks.n; g++) row_of[g] = -1;
    for (int r = 0; r < check->n_rows; r++) {
        if (check->rows[r].suspect) {
            groups->group_of[r] = -1;
        } else {
            row_of[groups->group_of[r]] = r;
        }
    }
    int last = -1; /* row of the group before */
    int turn = 0;  /* of the group in its class */
    for (int g = 0; g < ranks.n; g++) {
        if (row_of[g] < 0) continue;
        turn = last >= 0 && groups_same_class(check->reader, last, row_of[g]) ? turn + 1 : 0;
        groups->part_of[g] = turn % n_parts;
        last = row_of[g];
    }
    return groups;
}
