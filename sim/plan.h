/* Inputs folded: ranks, groups, flows and links in symmetry classes; collectives as phases of
 * bundles on link classes. Everything that does not depend on time is worked out here, once; the
 * engine only runs it. Without folding every rank, group and link is its own class.
 *
 * A pattern (communicator, kind, algorithm) is placed once, whatever the sizes of the collectives
 * that use it: loads are flows per bundle, sizes scale. */
#ifndef PLAN_H
#define PLAN_H

#include "inputs.h"
#include "net/fluid.h"

struct plan_bundle {
    const struct load *loads; /* on link classes; n = flows of this bundle on one link of the class */
    int n_loads;
    double bytes_per_B; /* bytes per flow on the wire for each byte of the collective's size (payload efficiency included) */
    double cap_Bps;     /* per flow, on the wire */
};

struct plan_phase {
    double latency_s;   /* before its bundles start */
    double fill_B;      /* see coll_phase; on the wire */
    int first_bundle, n_bundles;
};

/* a collective of one size on the groups of one class */
struct plan_coll {
    const struct coll_algo *algo;
    const struct lib_choice *row; /* what the library chose: latencies and efficiencies of every send */
    const char *protocol;
    struct coll_req req;
    int first_phase, n_phases;
    double launch_s;
    double estimate_s;   /* closed form, no contention */
};

struct plan_group { /* a class of groups of one communicator */
    int comm;
    int n_groups;          /* groups in the class */
    int rep;               /* one of them */
    const int *classes;    /* rank classes of its members, each once */
    int n_classes;
};

struct plan_class { /* a class of ranks */
    int program;
    int n_ranks, rep;
    double slowdown;       /* of kernels, 1 = none */
    const int *group;      /* [n_comms] class of its group in each communicator, -1 = in none */
    const int *coll;       /* [n_ops of its program] plan_coll of each collective op, -1 otherwise */
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
    double *capacity;   /* [n_resources] link classes, then one HBM per rank class */
    int *rep_link;      /* [n_resources] a link of the class; -1 for HBM */
    int *n_links;       /* [n_resources] links in the class */
    int n_link_classes, n_resources;
    const char *const *warnings;
    int n_warnings;
};

/* plan_build — fold and place. Pure; cost O(ranks * channels * path length * patterns). */
struct plan *plan_build(const struct inputs *in, struct arena *perm);

#endif
