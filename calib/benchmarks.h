/* Which cases of each benchmark are measured: one table, whose rows make the cases. What a benchmark is
 * and how its sizes count stands in raw_benchmarks (base/raw.h). */
#ifndef CALIB_BENCHMARKS_H
#define CALIB_BENCHMARKS_H

#include "base/arena.h"
#include "calib/backend.h"

/* what the cases are for */
struct calib_request {
    const char *const *only;  /* names of benchmarks, ends with NULL; NULL = all */
    const char *dtype;        /* NULL = all */
    bool quick;               /* a subset that still spans all sizes */
    double most_flop, most_B; /* larger cases are left out; 0 = none are */
    int n_devices;
};

struct calib_cases {
    struct calib_case *cases;
    int n, capacity;
    int n_larger; /* left out as larger than the limits */
    const struct calib_request *request;
    struct arena *perm;
};

struct calib_benchmark {
    const char *name;          /* a row of raw_benchmarks */
    const char *const *dtypes; /* ends with NULL; "" where the type does not matter */
    void (*cases)(struct calib_cases *cases, const struct calib_case *of); /* of: name and type */
    double (*flop)(const struct calib_case *c);
    const char *sizes; /* in words, for help and docs */
};
extern const struct calib_benchmark calib_benchmarks[];
extern const int n_calib_benchmarks;

/* benchmark_find — NULL: it is not measured here. */
const struct calib_benchmark *benchmark_find(const char *name);

/* benchmark_cases — all cases of a request, each once, in order of the table. */
struct calib_cases benchmark_cases(const struct calib_request *request, struct arena *perm);

/* benchmark_flop, benchmark_bytes — work of a case; bytes that memory has to move at least. */
double benchmark_flop(const struct calib_case *c);
double benchmark_bytes(const struct calib_case *c);

/* benchmark_text — "gemm fp32 nn 64 x 64 x 64", for messages. */
const char *benchmark_text(const struct calib_case *c, struct arena *perm);

/* dtype_size — bytes of an element; 1 where the type does not matter. */
int dtype_size(const char *dtype);

#endif
