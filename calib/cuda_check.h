/* For checks: numbers from the device as doubles, and the comparison that says where it went wrong. */
#ifndef CALIB_CUDA_CHECK_H
#define CALIB_CUDA_CHECK_H

#include "calib/cuda_math.h"
#include "calib/reference.h"

#include <vector>

/* fetch — n numbers from a place on; waits for the stream under test first */
struct span {
    const void *numbers;
    enum number number;
    int64_t from, n;
};
bool check_fetch(const struct job *job, struct span span, std::vector<double> *out);

/* check_one — |got - want| / tolerance joined to the worst so far; says so when it is out of bounds. */
struct compared {
    double got, want, tolerance;
    int64_t at;
};
double check_one(const struct job *job, double worst, struct compared compared);

/* check_attended — the first query of the first head and the last of the last, of Q, K, V, O */
double check_attended(const struct job *job, const struct operands *qkvo);

#endif
