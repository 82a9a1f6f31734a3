/* Which ranks, groups and links behave equally, so that one of each need be simulated.
 *
 * The graph: vertices are the ranks, the groups and the links that carry flows. A rank and its group
 * of a communicator are joined by an edge with that communicator's label; a group and a link by one
 * for each bundle of a pattern that crosses it (label: the bundle; weight: its flows on the link).
 * Seeds: a rank's program and slowdown, a group's communicator, patterns and latencies, a link's
 * tier and capacity. Classes are those of the coarsest equitable partition (symmetry.h).
 *
 * Why simulating one of each is exact. Suppose that, up to some moment, ranks of a class have
 * started and ended the same ops at the same times, and groups of a class their collectives.
 *  - A collective starts when the last member has joined. Groups of one class have members in the
 *    same classes, so they start together.
 *  - All flows of a bundle have one rate, so which member stands where in a ring is of no account:
 *    only how many flows of it are on which link. Let x_B be the rate of bundle B of the groups of
 *    class G. A link l of class L has, by the partition, the same number n_LB of flows of B summed
 *    over those groups as any other link of L; if the groups' rates are equal, it carries
 *    sum_B n_LB x_B, the same on all of L, and it has the same capacity. Filling (fluid.h) raises
 *    all rates together; so links of L fill together, and every group of G is stopped by them or
 *    none is, since each has equal numbers of flows on L. Rates stay equal.
 *  - So bundles of a class end together, phases and collectives too, and what follows on a rank
 *    depends on its program alone.
 * The load of the one simulated bundle on the one simulated link is n_LB: the sum over the groups
 * of the class, not the flows of one of them.
 *
 * A communicator of one group has a group that is alone in its class whatever happens. What is
 * joined to it can as well be told apart in its seed, which needs no edges: that makes a ring over
 * 16,384 ranks cheap to fold.
 *
 * Where GPU memory is shared with kernels, a rank's memory is a further thing that flows load, and
 * edges between groups and ranks count the flows of each bundle that leave the rank. */
#ifndef FOLD_H
#define FOLD_H

#include "layout.h"

struct fold {
    int32_t *rank_class;  /* [n_ranks] */
    int32_t *link_class;  /* [topo links] -1: no flow crosses it */
    int32_t *group_class; /* [layout->n_groups] -1: its communicator is not used */
    int n_rank_classes, n_link_classes, n_group_classes;
    int n_exact; /* classes of ranks and groups of the equitable partition */
    bool merged; /* it was too fine, see below */
    double
        spread; /* merged: most that the busiest link of a group of a class is busier than that of
                      another, 1 = not at all */
    int spread_group; /* where that is */
};

/* Merging. Where the network has little symmetry (hashed ways, a ragged dragonfly) the equitable
 * partition may be little coarser than the ranks. Beyond in->class_limit classes of ranks and groups
 * the network is left out of the refinement: classes are what the programs and the groups make them.
 * Groups of a class then run in lock step at the pace of the slowest, as those that wait for each
 * other in the end do. Of the links only those are kept that hold back some bundle of a class most,
 * of each tier the one with most of its own flows and the one with most of all; loads on them are the
 * true ones. The run is an approximation, mostly from above; plans warn and tell the spread. */

/* fold_layout — classes, each kind numbered by first appearance; with `together` false, every rank,
 * link and group is a class of its own. */
struct fold *fold_layout(const struct layout *layout, bool together, struct arena *perm);

/* fold_slowdown — of a rank's kernels: its GPU's own, times what the slowest of all ranks is behind
 * the mean on average (fold_lag). */
double fold_slowdown(const struct inputs *in, int rank);

/* fold_lag — the expected time of the slowest of the job's ranks over the mean, 1 = no jitter. A
 * synchronous step ends with its slowest rank, so that is the one a class stands for. Ranks that differ
 * in each micro-batch anew differ less over a step of many. */
double fold_lag(const struct inputs *in);

#endif
