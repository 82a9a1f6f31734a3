/* Inputs folded: ranks, groups, flows and links in symmetry classes; collectives as phases of
 * bundles on link classes. Everything that does not depend on time is worked out here, once; the
 * engine only runs it. Without folding every rank, group and link is its own class. Why running
 * classes is exact stands in fold.h; where flows go, in place.h; what a library chooses, in layout.h.
 *
 * Bytes and rates are those of the payload. What the wire carries more is in the loads: one flow at
 * rate x loads a link of its way with x / efficiency of the library's row on the link's tier, so
 * capacities stay line rates. */
#ifndef PLAN_H
#define PLAN_H

#include "inputs.h"
#include "net/fluid.h"

/* what one activity at rate 1 takes of resources */
struct load_list {
    const struct load *loads;
    int n;
};

struct plan_bundle {
    /* On link classes and, with in->hbm_per_comm_B, memory of rank classes; n = load of one link of
     * the class at rate 1 of the bundles of all groups of the class: one activity stands for them. */
    const struct load *loads;
    int n_loads;
    const struct load_list *later; /* [in->n_epochs] the same in later epochs of routes */
    double bytes_per_B;            /* bytes per flow for each byte of the collective's size */
    double cap_Bps;                /* per flow; INFINITY if none */
    /* Bundles of a phase with the same bytes, cap and loads always have the same rate, so one of them
     * stands for all when they are run: the channels of a ring, the servers of a server machine. */
    int first_alike;             /* of its phase, counted from the phase's first; itself if alone */
    int n_alike;                 /* bundles that it stands for, itself included; 0: another does */
    const struct load *together; /* n_alike > 1: their loads in one, in place of `loads` */
};

struct plan_phase {
    double latency_s; /* before its bundles start; base latency of the library's row in the first */
    double fill_B;    /* see coll_phase */
    int first_bundle, n_bundles;
};

/* a collective of one size on the groups of one class */
struct plan_coll {
    int group; /* class of groups */
    const struct coll_algo *algo;
    const char *protocol;
    const struct lib_choice
        *row; /* what the library chose: latencies and efficiencies of every send */
    struct coll_req req;
    int first_phase, n_phases; /* none when the group has one member */
    double launch_s;
    double estimate_s; /* alone on the network: closed form, or its phases one after the other where
                          that takes longer; launch and base latency included */
    struct coll_hops hops;         /* of the closed form */
    const struct reaches *reaches; /* its group's ways; NULL unless in->fidelity is estimate */
    const struct adaptive *const
        *adaptive; /* [1 + in->n_epochs] ways of its sends where they go by load and the plan is not
                      folded, of all phases together; NULL otherwise */
};

struct plan_group { /* a class of groups of one communicator */
    int comm;
    int n_groups;       /* groups in the class */
    int rep;            /* one of them */
    const int *classes; /* rank classes of its members, each once */
    int n_classes;
};

struct plan_class { /* a class of ranks */
    int program;
    int n_ranks, rep;
    double slowdown; /* of kernels, 1 = none */
    const int
        *group; /* [n_comms] class of its group in each communicator, -1 = in none, or unused */
    const int *coll; /* [n_ops of its program] plan_coll of each collective op, -1 otherwise */
};

struct plan {
    const struct inputs *in;
    struct plan_class *classes;
    int n_classes;
    struct plan_group *groups;
    int n_groups;
    struct plan_coll *colls;
    int n_colls;
    struct plan_phase *phases;
    struct plan_bundle *bundles;
    double *capacity; /* [n_resources] link classes, then the memory of each rank class */
    int *rep_link;    /* [n_resources] a link of the class; -1 for memory */
    int *n_links;     /* [n_resources] links in the class */
    int *
        event_resource; /* [in->n_events] the class of the link that changes, -1 = no flow crosses it */
    int n_link_classes, n_resources;
    const char *const *warnings;
    int n_warnings;
};

/* plan_build — fold and place. Pure; cost O(ranks * channels * path length * patterns). */
struct plan *plan_build(const struct inputs *in, struct arena *perm);

/* plan_loads — of a bundle and those it stands for in an epoch of routes, from 0. */
static inline struct load_list plan_loads(const struct plan_bundle *bundle, int epoch)
{
    const struct load *loads = bundle->n_alike > 1 ? bundle->together : bundle->loads;
    if (epoch == 0) return (struct load_list){loads, bundle->n_loads};
    return bundle->later[epoch - 1];
}

/* plan_program — what the ranks of a class run. */
static inline const struct program *plan_program(const struct plan *plan, int rank_class)
{
    return &plan->in->job->programs[plan->classes[rank_class].program];
}

#endif
