/* Groups of a table's rows (series of collectives, sources of training runs) and their parts, for
 * fitting on some and judging on others. Groups are taken within sets of equal class columns, sorted
 * by name, and dealt to the parts in turn: with two parts a, b, a, b. So a part never depends on the
 * order of the table, on what is covered, or on how well anything is predicted. */
#ifndef STUDY_GROUPS_H
#define STUDY_GROUPS_H

#include "study/rows.h"

struct groups {
    int *group_of; /* [n_rows] -1: a suspect row */
    int *part_of;  /* [n] 0 = a, 1 = b ... (of one with suspect rows only: 0) */
    int n;
};

struct groups *groups_deal(const struct study *study, int n_parts);

/* groups_same_class — two rows have equal class columns. */
bool groups_same_class(const struct row_reader *reader, int a, int b);

/* groups_part — of a row, -1 when it is suspect. */
static inline int groups_part(const struct groups *groups, int row)
{
    return groups->group_of[row] < 0 ? -1 : groups->part_of[groups->group_of[row]];
}

#endif
