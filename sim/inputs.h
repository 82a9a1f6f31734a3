/* All that a prediction needs, after loading: valid by construction, so nothing below can fail. */
#ifndef INPUTS_H
#define INPUTS_H

#include "adjust.h"
#include "collectives/tuner.h"
#include "net/topo.h"
#include "workload/strategy.h"

enum fidelity { FIDELITY_ESTIMATE, FIDELITY_FLUID, FIDELITY_MESSAGE, N_FIDELITIES };
extern const char *const fidelity_names[N_FIDELITIES];

struct degraded_link {
    const char *link; /* a name of topo_link_name */
    double factor;    /* of its capacity, (0, 1] */
};

/* a link changes while the job runs */
struct link_event {
    double at_s;
    int link;
    double capacity_Bps; /* from then on; > 0 */
    bool failed;         /* it carries nothing any more; the capacity does not matter */
};

/* from then on flows take the ways of this network, in which more links have failed */
struct route_epoch {
    double from_s;
    const struct topo *topo;
};

struct slow_gpu {
    int gpu;
    double factor; /* > 0: kernels take this many times as long */
};

/* what NCCL itself reckons with, where it is asked for */
struct own_estimate {
    const struct tuner *tuner; /* NULL: not asked for, or the library makes none */
    struct tuner_cluster cluster;
};

/* what the parts of the network between servers cost and draw; 0 = not known */
struct prices {
    const char *name;                                            /* NULL = none given */
    const char *currency;                                        /* "" = not said */
    double switch_cost, port_cost;                               /* a port with a cable in it */
    double nic_cable_cost, fabric_cable_cost, global_cable_cost; /* optics at both ends included */
    double switch_W, port_W, cable_W; /* of a cable: optics at both ends */
};

struct inputs {
    const char *scenario; /* its name or file */
    struct model
        *model; /* NULL: the scenario names none, as nothing is trained; then there is no job */
    bool plain_attention; /* a transformer whose scenario does not say how it computes attention */
    bool plain_precision; /* one whose scenario says neither its precision nor its speed */
    struct gpu gpu;
    struct node_spec node;
    struct fabric_spec fabric;
    const char *nic;                     /* the card's name */
    const struct measured *nic_measured; /* messages that it was fitted to; NULL = not known */
    struct library library;
    struct train_spec train;
    struct topo *topo; /* built, degraded links applied */
    const int *gpu_of; /* [n_ranks] placement of ranks on GPUs */
    int n_gpus;
    const struct slow_gpu *slow;
    int n_slow;
    const struct link_event *events; /* in order of time */
    int n_events;
    const struct route_epoch *epochs; /* after the first, which is `topo`; in order of time */
    int n_epochs;
    enum fidelity fidelity;
    bool fold;       /* simulate one of each symmetry class (default) */
    int class_limit; /* of ranks and groups; beyond it they are merged (fold.h), 0 = never */
    double
        jitter; /* relative standard deviation, between ranks and steps, of a rank's time to compute a step; all wait for the slowest */
    double
        hbm_per_comm_B; /* bytes of GPU memory traffic per byte a GPU sends (contention with kernels); 0 = none */
    struct prices prices;
    struct adjust adjust;        /* applied to the library and the job already */
    struct sides spread_compute; /* of kernels and host; the library knows its own */
    struct own_estimate own;
    struct job *job; /* built by the strategy; of several jobs: all of them merged */
    const struct inputs *const
        *jobs; /* [n_jobs] each as if it were alone; none: there is one job */
    int n_jobs;
};

#endif
