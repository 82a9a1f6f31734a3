/* The parts of the CPU backend: each benchmark is a row with what prepares its data, runs and checks it.
 * Kernels run on cpu->n_threads threads; one thread is timed by its own processor time, so that other
 * programs on the machine count for little; several threads, and whatever waits, by the wall clock. */
#ifndef CALIB_CPU_H
#define CALIB_CPU_H

#include "base/arena.h"
#include "base/rng.h"
#include "calib/backend.h"
#include "calib/pool.h"

struct cpu {
    int n_threads;
    struct pool *pool;    /* of n_threads that kernels run on, the caller waits */
    struct arena *memory; /* buffers of the case that is prepared; all go with it */
    uint64_t random;      /* state of what fills buffers; not 0 */
    void *x, *y, *z, *w;  /* buffers; what they hold is up to the benchmark */
};
extern struct cpu cpu;

struct cpu_benchmark {
    const char *name;
    const char *dtypes; /* " fp32 fp64 "; "" = any */
    bool waits;         /* timed by the wall clock even on one thread */
    void (*prepare)(const struct calib_case *c);
    void (*run)(const struct calib_case *c, int n);
    double (*check)(const struct calib_case *c); /* after a run of 1; NULL: nothing to check */
    void (*release)(const struct calib_case *c); /* what is not memory; NULL: nothing */
    double share; /* of what run does that counts: a half where it is a round trip */
    double (*timed)(const struct calib_case *c,
                    int n); /* seconds of n runs; NULL: run by the clock */
    bool (*supports)(const struct calib_case *c, char *why,
                     size_t size); /* beyond types; NULL: yes */
};
extern const struct cpu_benchmark cpu_products[], cpu_rows[], cpu_links[], cpu_beside[], cpu_mpi[];
extern const int n_cpu_products, n_cpu_rows, n_cpu_links, n_cpu_beside, n_cpu_mpi;

/* cpu_product — the product of a case of "gemm": what cpu_beside.c runs beside copies. */
extern const struct cpu_benchmark *const cpu_product;

/* Ranks of MPI: mpi_join is called by every process of `mpirun dpsim-calib`. Rank 0 comes back and
 * measures; the others serve it until it calls mpi_leave, and end there. Processes that mpirun did not start
 * are alone. */
struct mpi_ranks {
    int n;
    char library[CALIB_TEXT_MAX]; /* "" when alone */
};
struct mpi_ranks mpi_join(void);
void mpi_leave(void);
int mpi_ranks_per_node(const struct calib_case *c); /* of the case's ranks */

/* cpu_buffer — aligned to a cache line. cpu_random: uniform in [-1, 1). */
void *cpu_buffer(double size_B);
void cpu_fill(float *x, int64_t n);
float *cpu_random(int64_t n);

/* cpu_worse — the larger of `worst` and |got - want| / allowed; what is not finite is infinity. */
double cpu_worse(double worst, double got, double want, double allowed);

/* cpu_slice — [from, to) of n for a part; multiples of 16 but for the end. */
struct cpu_slice {
    int64_t from, to;
};
struct cpu_slice cpu_slice(int64_t n, int part, int n_parts);

/* cpu_parallel — work on all threads, and wait; on one thread it is a plain call. */
void cpu_parallel(pool_work *work, const struct calib_case *c);

/* what is asked of OpenBLAS beside products */
void cpu_blas_threads(int n_threads);
void cpu_blas_name(char *text, size_t size); /* "OpenBLAS 0.3.21 ..., kernels for SkylakeX" */

/* softmax of a row, y may be x */
void cpu_softmax_row(const float *x, float *y, int64_t n);

#endif
