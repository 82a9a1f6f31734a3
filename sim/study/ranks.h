/* Rows numbered by what stands in some columns: equal texts, equal number; numbers in the order of the
 * texts, column by column. Sorting a million rows then compares integers. */
#ifndef STUDY_RANKS_H
#define STUDY_RANKS_H

#include "io/row.h"

struct ranks {
    int *of; /* [n_rows] 0 .. n - 1 */
    int n;
};

/* ranks_of — columns end with NULL; one that the table lacks is empty in every row. */
struct ranks ranks_of(const struct row_reader *reader, const char *const *columns,
                      struct arena *perm);

#endif
