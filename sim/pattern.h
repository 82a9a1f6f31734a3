/* One algorithm of one communicator laid on the network: how many flows of each bundle cross each
 * link, group by group. Sizes, libraries and time do not matter here, so a pattern is laid once
 * for all collectives that move in the same way. */
#ifndef PATTERN_H
#define PATTERN_H

#include "place.h"

/* flows of one bundle of one group through one thing: link l is number l, the memory of rank r
 * number n_links + r (flows that leave it; counted on demand) */
struct tally {
    int32_t thing;
    double n_flows; /* packets and queue pairs of a flow may be spread: then parts of flows */
};

struct pattern {
    const struct coll_algo *algo;
    struct coll_req req; /* of the first use; later ones have the same phases and bundles */
    int n_phases, n_bundles;
    int *phase_bundle; /* [n_phases + 1] first bundle of each phase */
    bool *leaves;      /* [n_bundles] has flows between nodes */
    double *cap_share; /* [n_bundles] share of a member's channels that one flow gets, see below */
    int n_groups, n_epochs;
    int64_t *first; /* [n_epochs * n_groups * n_bundles + 1] into tallies */
    struct tally *tallies;
    int64_t cap_tallies;
    double *
        wire_s; /* [n_epochs * n_groups * n_phases * N_HOP_KINDS] longest way of that kind, -1 = none */
    struct adaptive *
        *adaptive; /* [n_epochs * n_phases] ways of all groups' flows, for routings that go by load:
                      those of a phase start together. NULL otherwise */
};

/* pattern_new — the phases and bundles of an algorithm, nothing laid yet.
 *
 * A library's channels go through each node side by side, and their limit acts as a port of that
 * rate: for what leaves a node, and for what a member sends inside its node. So the share of a flow
 * is 1 / the most flows, of its phase and with its bytes, that leave one node, or one member for its
 * own node, whichever is more: 1 / k in a ring of k channels, 1 / 4 in a double tree of many nodes
 * with one channel. The closed forms, which limit both kinds of hops by that rate, say the same. */
struct pattern *pattern_new(const struct coll_algo *algo, const struct coll_req *req,
                            struct arena *perm);

/* pattern_open — room for the groups that will be laid, once for each epoch of routes. */
void pattern_open(struct pattern *pattern, int n_groups, int n_epochs, struct arena *perm);

/* pattern_same — would this request move as the pattern's first one (same phases and bundles)? */
bool pattern_same(const struct pattern *pattern, const struct coll_algo *algo,
                  const struct coll_req *req);

/* pattern_offer — where routes go by load, the flows of a group in an epoch of routes, before any is laid;
 * pattern_settle when all groups' have been offered. */
void pattern_offer(struct pattern *pattern, int epoch, const struct place *place,
                   struct arena *perm);
void pattern_settle(struct pattern *pattern, int epoch, struct arena *perm);

/* counters shared by all layings; zero between two calls */
struct lay_scratch {
    double *count;    /* [n_links + n_ranks] */
    int32_t *touched; /* [n_links + n_ranks] */
};

/* pattern_lay — the i-th group (in turn, from 0; those of epoch e are e * n_groups and on). Cost
 * O(flows * path). */
void pattern_lay(struct pattern *pattern, int i, const struct place *place, bool count_memory,
                 struct lay_scratch scratch, struct arena *perm);

#endif
