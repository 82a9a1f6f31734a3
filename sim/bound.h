/* The least time any schedule could take on these links: what must cross the cuts around GPUs,
 * around nodes, and through the middle of the network, over their capacity. Latency is not counted. */
#ifndef BOUND_H
#define BOUND_H

#include "inputs.h"

/* bound_collective_s — for a collective over all GPUs.
 *   servers  sums are made by parameter servers too, so a GPU may send its data once only
 * Source: Patarasuk & Yuan, JPDC 69(2), 2009, sec. 3 (all-reduce); the other kinds by the same count
 * of bytes that must leave or enter one side of a cut. */
double bound_collective_s(const struct inputs *in, enum coll_kind kind, double size_B, bool servers,
                          struct arena scratch);

#endif
