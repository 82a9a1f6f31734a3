#include "calib/wall.h"

#include "base/must.h"

#include <math.h>
#include <time.h>

static double read_s(clockid_t id)
{
    struct timespec at;
    must(clock_gettime(id, &at) == 0);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

double wall_s(void)
{
    return read_s(CLOCK_MONOTONIC);
}

double wall_thread_s(void)
{
    return read_s(CLOCK_THREAD_CPUTIME_ID);
}

double wall_tick_s(double (*clock_s)(void))
{
    enum { TRIES = 100 };
    double least = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double begin = clock_s();
        double end = begin;
        while (!(end > begin)) end = clock_s();
        least = fmin(least, end - begin);
    }
    return least;
}
