/* Raw measurements: what dpsim-calib writes, `import` makes of other tools' output, and `fit` reads. One
 * CSV form for all: a head of lines "# key: value" that describe the machine, then a row of column
 * names, then one row per case. Bare numbers are SI.
 *
 *   # raw: 1
 *   # device: NVIDIA H200
 *   # date: 2026-01-31
 *   benchmark,dtype,layout,m,n,k,batch,size_B,n_ranks,ranks_per_node,time_s,low_s,high_s,repeats,outliers,check,note
 *   gemm,bf16,nn,8192,8192,8192,1,,1,,0.0014,0.00139,0.00141,40,1,0.02,
 *
 * benchmark  see raw_benchmarks: one list for harness, importers and fit
 * size_B     as each benchmark counts it (raw_benchmarks says how); collectives as nccl-tests do
 * time_s     of one run: the median; low_s, high_s its 95 % interval ("" = not known)
 * check      difference from a reference relative to rounding; "" = nothing to check */
#ifndef BASE_RAW_H
#define BASE_RAW_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdint.h>
#include <stdio.h>

enum raw_class { RAW_KERNEL, RAW_LAUNCH, RAW_MEMORY, RAW_LINK, RAW_COLLECTIVE, RAW_STEP };

/* one row per benchmark: what it is and how its sizes count */
struct raw_benchmark {
    const char *name;
    enum raw_class class;
    const char *size;    /* what size_B counts, "" = not used */
    const char *summary; /* for help and docs */
};
extern const struct raw_benchmark raw_benchmarks[];
extern const int n_raw_benchmarks;
const struct raw_benchmark *raw_find(const char *name); /* NULL when there is none */

struct raw_row {
    const char *benchmark, *dtype, *layout, *note;
    int64_t m, n, k, batch;       /* 0 = not used */
    double size_B;                /* likewise */
    int n_ranks, ranks_per_node;  /* 0 = not known */
    double time_s, low_s, high_s; /* low_s, high_s 0 = not known */
    int repeats, outliers;
    double check; /* < 0: none */
    int line;     /* in its file, from 1 */
};

struct raw_head {
    const char *key, *value;
};

struct raw {
    const char *file;
    struct raw_head *heads;
    int n_heads;
    struct raw_row *rows;
    int n_rows;
};

/* raw_read — NULL after an error that leaves nothing to use; every bad row is reported with its line. */
struct raw *raw_read(const char *file, struct arena *perm, struct diag *diag);
const char *raw_value(const struct raw *raw, const char *key); /* of the head; "" when absent */

/* raw_write_head — the head's lines and the names of columns; raw_write_row a row. */
void raw_write_head(FILE *out, const struct raw_head *heads, int n_heads);
void raw_write_row(FILE *out, const struct raw_row *row);

#endif
