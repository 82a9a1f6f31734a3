/* What a cluster's own measurements make of a model's constants: factors on compute, on what libraries
 * take, and on the rates of the links, and a fixed time per step. `fit --against` finds them, a scenario
 * holds them under "adjust". All 1 and 0: nothing is changed, to the bit. */
#ifndef ADJUST_H
#define ADJUST_H

#include "collectives/library.h"
#include "workload/program.h"

struct adjust {
    double compute;      /* kernels take so many times as long */
    double latency;      /* what a library takes per collective, hop and peer, times this */
    double scaleup_rate; /* what links inside servers carry, times this */
    double network_rate; /* the same between servers */
    double overhead_s;   /* of each step, with its update */
    double spread; /* relative standard deviation of what is then predicted; 0: as profiles say */
    const char *source;
};

extern const struct adjust adjust_none;

/* adjust_library — its rows; spread: the job has more than one server. What it reckons with when it
 * chooses stays. */
void adjust_library(const struct adjust *adjust, bool spread, struct library *library);

/* adjust_job — kernels of a job that a strategy just built. */
void adjust_job(const struct adjust *adjust, struct job *job);

#endif
