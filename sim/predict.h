/* Inputs to result: the one entry that the commands, checks, sweeps and tests use. */
#ifndef PREDICT_H
#define PREDICT_H

#include "engine.h"

struct result {
    const struct inputs *in;
    double iteration_s, interval_s[2]; /* 90 % */
    double compute_s, communication_s, exposed_communication_s, bubble_s, launch_s, input_s, straggler_s; /* of the slowest class, per step */
    double part_s[N_PARTS];
    double throughput; /* samples per second */
    double scaling_efficiency; /* throughput / (n_gpus * throughput of one GPU of the same type, same batch) */
    double one_gpu_s;
    double bytes_sent_B; /* per GPU and step */
    double memory_B; /* peak of the fullest GPU */
    bool fits;
    double mfu;
    const char *limit_kind, *limit_name; /* "compute", "scale-up", "nic", "fabric", "latency", ...; limit_name: a link's name or the GPU */
    double gain_if_doubled;              /* 1 - new time / old time when the limiting resource is twice as fast */
    struct {
        const char *kind;
        double gain;
    } gains[12]; /* all what-ifs tried, best first */
    int n_gains;
    int n_classes;
    int64_t n_events;
    const char *const *warnings;
    int n_warnings;
    struct plan *plan;
    struct run *run;
};

struct result *predict(const struct inputs *in, struct arena *perm);

#endif
