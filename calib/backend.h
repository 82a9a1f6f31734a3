/* What a benchmark runs on: a table of functions over one case at a time. The harness (harness.h)
 * decides what to measure and how often; a backend only prepares data, runs, and says how long it
 * took. Backends: cuda.cu (one GPU; peers and NCCL where there are more), cpu.c, fake.c (a clock that
 * obeys a known law, for tests of the harness). Plain C that C++ can include.
 *
 * The harness calls, for each case: supports, prepare, check (which runs the case once and compares),
 * run (1) a few times to warm up, run (n) for each sample, release. A case of equal shape may come
 * again later; nothing has to be kept between cases. What each benchmark does and how it counts its
 * sizes: raw_benchmarks in base/raw.h; benchmarks.h says how many FLOP and bytes that is. */
#ifndef CALIB_BACKEND_H
#define CALIB_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One case: a benchmark by name and its size. Numbers that a benchmark has no use for are 0, texts "". */
struct calib_case {
    const char *benchmark; /* "gemm", "copy", "all_reduce" ... */
    const char *dtype;     /* "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "" */
    const char *layout;    /* of a product: "nn", "nt", "tn": A and B by rows, t = transposed */
    int64_t m, n, k,
        batch;     /* of a product m x k by k x n; rows m of n elements of row-wise kernels;
                             * n launches of launch_stream and launch_graph */
    double size_B; /* bytes as the benchmark counts them */
    int n_ranks;   /* GPUs or processes that take part; 1 for kernels */
};

enum { CALIB_TEXT_MAX = 128 };

/* what measured, for the head of the raw file; "" = unknown or none */
struct calib_machine {
    char device[CALIB_TEXT_MAX], driver[CALIB_TEXT_MAX], libraries[CALIB_TEXT_MAX];
    char cpu[CALIB_TEXT_MAX], clock[CALIB_TEXT_MAX]; /* clock: what run reads, in words */
    int n_devices;                                   /* that a case's n_ranks can be */
    int n_threads; /* of the host that a kernel uses. In: wanted, 0 = the backend's choice */
    double clock_Hz, memory_clock_Hz, memory_B, power_W; /* 0 = unknown */
    double tick_s;            /* resolution of the clock that run reads; 0 = unknown */
    double most_flop, most_B; /* larger cases are not worth their time here; 0 = no limit */
};

struct calib_backend {
    const char *name;    /* as given to --backend */
    const char *summary; /* one line of help */

    /* open — find the device. false: there is none; why[size] then says so in a sentence. */
    bool (*open)(struct calib_machine *machine, uint64_t seed, char *why, size_t size);

    /* supports — can this case run here (type, number of ranks, memory)? why[size] as in open. */
    bool (*supports)(const struct calib_case *c, char *why, size_t size);

    /* prepare — buffers with random data for the case; release gives them back (also after a prepare
     * that failed half-way). */
    bool (*prepare)(const struct calib_case *c, char *why, size_t size);

    /* run — the case n times back to back; seconds for all n by the device's own clock where it has
     * one. < 0 after an error, why[size] then says which. */
    double (*run)(const struct calib_case *c, int n, char *why, size_t size);

    /* check — runs the case once: the largest difference from a reference, relative to the rounding
     * that is allowed: below 1 is right. < 0: this benchmark computes nothing to check. NaN and what
     * is not finite is wrong. why[size]: where and by how much, when it is wrong. */
    double (*check)(const struct calib_case *c, char *why, size_t size);

    void (*release)(const struct calib_case *c);
    void (*close)(void);

    /* ranks_per_node — of the ranks that take part; NULL: all are in one machine. */
    int (*ranks_per_node)(const struct calib_case *c);

    /* now_s — seconds since some moment, for the budget; NULL: the wall clock. */
    double (*now_s)(void);
};

/* no_fault — the empty reason, from what cannot fail. */
static inline void no_fault(char *why, size_t size)
{
    if (size > 0) why[0] = '\0';
}

extern const struct calib_backend calib_cpu, calib_fake;
extern const struct calib_backend calib_cuda; /* only where it was built (CALIB_CUDA is defined) */

#ifdef __cplusplus
}
#endif
#endif
