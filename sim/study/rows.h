/* Rows of a table in stretches of equal keys: each stretch is mapped to a cluster once, and its rows
 * are predicted. */
#ifndef STUDY_ROWS_H
#define STUDY_ROWS_H

#include "study/check.h"
#include "study/ranks.h"

/* rows order[from .. to - 1] */
struct stretch {
    int from, to;
};

/* what the steps of a check share; what is taken from `work` is released at the end */
struct study {
    struct check *check;
    struct ranks keys;         /* rows of equal keys have equal numbers */
    int *order;                /* [n_rows] by keys, then size, then place in the table */
    struct stretch *stretches; /* of equal keys */
    int n_stretches;
    struct arena *perm, *work;
};

/* rows_open — measured values and order of all rows; nothing is predicted yet. */
struct study *rows_open(const struct row_reader *reader, struct arena *perm, struct arena *work);

/* rows_predict — the rows of one stretch, with the reader's options as they are now. */
void rows_predict(const struct study *study, const struct row_reader *reader,
                  struct stretch stretch);

/* rows_predict_again — times of a stretch's covered rows with another reader; the study keeps its own.
 * out: predicted_s[to - from], those of other rows left as they are; false when what the reader's
 * options say cannot be loaded. */
bool rows_predict_again(const struct study *study, const struct row_reader *reader,
                        struct stretch stretch, double *predicted_s);

/* rows_predict_any — times of all rows of a stretch that can be predicted and were measured, suspect ones
 * too. out: predicted_s[n_rows], by place in the table; others are left as they are. */
void rows_predict_any(const struct study *study, const struct row_reader *reader,
                      struct stretch stretch, double *predicted_s);

/* rows_predict_all — all stretches, then the counts of covered and suspect rows. */
void rows_predict_all(const struct study *study);

typedef void stretch_function(const struct study *study, int from, int to);

/* rows_for_equal — each stretch of rows with equal keys, and equal sizes if same_size. */
void rows_for_equal(const struct study *study, bool same_size, stretch_function *visit);

/* rows_by_number — the covered rows, those of equal numbers of[row] together and in their order. out:
 * from[number] .. from[number + 1] are where those of a number stand; n + 1 places, all 0 before. */
int *rows_by_number(const struct check *check, const int *of, int n, int *from, struct arena *perm);

static inline bool row_is_covered(const struct check_row *row)
{
    return !row->suspect && !row->reason;
}

#endif
