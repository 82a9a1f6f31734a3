#include "study/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 64, EMPTY = -1 };

/* Fowler, Noll & Vo, FNV-1a, 64 bits */
static const uint64_t FNV_START = 14695981039346656037U, FNV_PRIME = 1099511628211U;

struct sorter {
    const struct table *table;
    int columns[MAX_COLUMNS], n_columns;
    int *first; /* [n_distinct] the row where each was met */
    int *slots; /* [n_slots] of the hash table: indices of first[], or EMPTY */
    int n_slots, n_distinct;
};

static int compare_rows(const struct sorter *sorter, int a, int b)
{
    int order = 0;
    for (int c = 0; c < sorter->n_columns && order == 0; c++)
        order = strcmp(table_cell(sorter->table, a, sorter->columns[c]),
                       table_cell(sorter->table, b, sorter->columns[c]));
    return order;
}

static uint64_t hash_row(const struct sorter *sorter, int row)
{
    uint64_t hash = FNV_START;
    for (int c = 0; c < sorter->n_columns; c++) {
        const char *text = table_cell(sorter->table, row, sorter->columns[c]);
        do {
            hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
        } while (*text++); /* with its end, so that "a", "bc" is not "ab", "c" */
    }
    return hash;
}

/* meet — which of the distinct ones a row is; a new one where it is none. */
static int meet(struct sorter *sorter, int row)
{
    int at = (int)(hash_row(sorter, row) % (uint64_t)sorter->n_slots);
    while (sorter->slots[at] != EMPTY) {
        if (compare_rows(sorter, sorter->first[sorter->slots[at]], row) == 0)
            return sorter->slots[at];
        at = at + 1 < sorter->n_slots ? at + 1 : 0;
    }
    sorter->slots[at] = sorter->n_distinct;
    sorter->first[sorter->n_distinct] = row;
    return sorter->n_distinct++;
}

static int compare_distinct(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    return compare_rows(sorter, sorter->first[*(const int *)left],
                        sorter->first[*(const int *)right]);
}

struct ranks ranks_of(const struct row_reader *reader, const char *const *columns,
                      struct arena *perm)
{
    int n = reader->table->n_rows;
    struct ranks ranks = {arena_new(perm, int, n), 0};
    struct arena scratch = *perm;
    struct sorter sorter = {.table = reader->table, .n_slots = 2 * n + 1};
    for (; columns[sorter.n_columns] && sorter.n_columns < MAX_COLUMNS; sorter.n_columns++)
        sorter.columns[sorter.n_columns] = table_column(reader->table, columns[sorter.n_columns]);
    sorter.first = arena_new(&scratch, int, n);
    sorter.slots = arena_new(&scratch, int, sorter.n_slots);
    memset(sorter.slots, EMPTY, (size_t)sorter.n_slots * sizeof *sorter.slots);
    for (int r = 0; r < n; r++) ranks.of[r] = meet(&sorter, r);
    ranks.n = sorter.n_distinct;
    int *sorted = arena_new(&scratch, int, ranks.n);
    int *rank = arena_new(&scratch, int, ranks.n);
    for (int d = 0; d < ranks.n; d++) sorted[d] = d;
    qsort_r(sorted, (size_t)ranks.n, sizeof *sorted, compare_distinct, &sorter);
    for (int d = 0; d < ranks.n; d++) rank[sorted[d]] = d;
    for (int r = 0; r < n; r++) ranks.of[r] = rank[ranks.of[r]];
    return ranks;
}
