/* The least time any schedule could take on these links: what must cross the cuts around GPUs,
 * around nodes, and through the middle of the network, over their capacity. Latency is not counted. */
#ifndef BOUND_H
#define BOUND_H

#include "inputs.h"

/* who else makes sums, so that a GPU may send its data once only */
enum help {
    HELP_NONE,
    HELP_SERVERS, /* parameter servers, to which data comes by PCIe */
    HELP_SWITCH,  /* the switch between the GPUs of a node */
    HELP_FABRIC,  /* the switches between nodes */
};

/* bound_help — by the algorithm; NULL: none. */
enum help bound_help(const struct coll_algo *algo);

/* bound_collective_s — for a collective over all GPUs.
 * Source: Patarasuk & Yuan, JPDC 69(2), 2009, sec. 3 (all-reduce); the other kinds by the same count
 * of bytes that must leave or enter one side of a cut. What has a root has it at the first rank. */
double bound_collective_s(const struct inputs *in, enum coll_kind kind, double size_B,
                          enum help help, struct arena scratch);

#endif
