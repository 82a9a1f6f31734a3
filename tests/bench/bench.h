/* What every bench measures: processor time and the peak memory of the process so far. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static inline double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void report(const char *what, double seconds, const char *more)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-44s %10.4f s  %-44s peak %6.1f MB\n", what, seconds, more,
           (double)usage.ru_maxrss * 1024e-6);
    fflush(stdout);
}

#endif
