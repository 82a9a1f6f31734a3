/* Raw measurements: what dpsim-calib writes, `import` makes of other tools' output, and `fit` reads. One
 * CSV form for all: a head of lines "# key: value" that describe the machine, then a row of column
 * names, then one row per case. Bare numbers are SI; an empty cell is "not used" or "not known".
 *
 *   # raw: 1
 *   # device: NVIDIA H200
 *   # date: 2026-01-31
 *   benchmark,dtype,layout,m,n,k,batch,size_B,n_ranks,ranks_per_node,time_s,low_s,high_s,repeats,outliers,check,added_to,note
 *   gemm,bf16,nn,8192,8192,8192,1,,1,,0.0014,0.00139,0.00141,40,1,0.02,,
 *
 * Columns may stand in any order and be left out, but for benchmark and time_s; a column that is not
 * in raw_columns, a benchmark that is not in raw_benchmarks and a row that lacks a size which its
 * benchmark counts are errors with their line. */
#ifndef BASE_RAW_H
#define BASE_RAW_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdint.h>
#include <stdio.h>

enum raw_class { RAW_KERNEL, RAW_LAUNCH, RAW_MEMORY, RAW_LINK, RAW_COLLECTIVE, RAW_STEP };
enum { N_RAW_CLASSES = RAW_STEP + 1 };
extern const char *const raw_class_names[N_RAW_CLASSES];

/* which columns a benchmark's size is told in */
enum raw_size {
    RAW_SIZE_NONE,
    RAW_SIZE_MNK,   /* m, n, k > 0; batch 0 is 1 */
    RAW_SIZE_ROWS,  /* m rows of n elements, and size_B */
    RAW_SIZE_N,     /* n > 0 */
    RAW_SIZE_BYTES, /* size_B (0 is allowed: an empty message takes time too) */
    RAW_SIZE_MNK_BYTES,
};

/* one row per benchmark: what it is and how its sizes count */
struct raw_benchmark {
    const char *name;
    enum raw_class class;
    enum raw_size sized;
    double moved;     /* bytes that memory reads and writes per byte of size_B; 0 = does not say */
    const char *size; /* what the sizes count */
    const char *summary; /* for help and docs */
};
extern const struct raw_benchmark raw_benchmarks[];
extern const int n_raw_benchmarks;
const struct raw_benchmark *raw_find(const char *name); /* NULL when there is none */

/* the columns in the order in which they are written */
struct raw_column {
    const char *name, *what;
};
extern const struct raw_column raw_columns[];
extern const int n_raw_columns;

/* names of types as they stand in the column dtype; ends with NULL */
extern const char *const raw_dtypes[];

struct raw_row {
    const char *benchmark, *dtype, *layout, *note; /* "" = none */
    int64_t m, n, k, batch;                        /* 0 = not used */
    double size_B;                                 /* likewise */
    int n_ranks, ranks_per_node;                   /* 0 = not known */
    double time_s, low_s, high_s;                  /* low_s, high_s 0 = not known */
    int repeats, outliers;
    double check;         /* < 0: none */
    const char *added_to; /* NULL or "" = the result is written anew */
    int line;             /* in its file, from 1 */
};

struct raw_head {
    const char *key, *value;
};

struct raw {
    const char *file;
    struct raw_head *heads;
    int n_heads;
    struct raw_row *rows; /* those without an error, in order */
    int n_rows;
};

/* A calibration has a few thousand rows; more than this is an error, not a longer wait. */
enum { RAW_MAX_ROWS = 1 << 16 };

/* raw_read — NULL after an error that leaves nothing to use; every bad row is reported with its line. */
struct raw *raw_read(const char *file, struct arena *perm, struct diag *diag);
struct raw *raw_read_text(const char *file, const char *text, size_t length, struct arena *perm,
                          struct diag *diag);
const char *raw_value(const struct raw *raw, const char *key); /* of the head; "" when absent */

/* raw_write_head — the head's lines ("raw: 1" is written first by itself; line ends inside a value
 * become blanks) and the names of columns. raw_write_row: one row; what it holds is read back equal but
 * for numbers, which keep 9 digits; sizes are whole. */
void raw_write_head(FILE *out, const struct raw_head *heads, int n_heads);
void raw_write_row(FILE *out, const struct raw_row *row);

/* raw_markdown — the columns and the benchmarks as tables, for the docs. */
void raw_markdown(FILE *out);

#endif
