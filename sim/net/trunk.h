/* Trunks: links between switches that packets spread over all shortest ways load alike, whoever sends to
 * whom. In a fat-tree those are the uplinks of a leaf, all uplinks of a pod, and so on; one link of each
 * tells the load of all, and one switch of those that it leads to the way on.
 *
 * They are classes of the coarsest equitable partition (symmetry.h) of switches and links in which every
 * cable to a server, and so every switch with one, is told apart. Then distances to such a switch are equal
 * in a class; so are the numbers of links on shortest ways, and by induction along the way the parts of a flow
 * that come to the switches of a class. */
#ifndef NET_TRUNK_H
#define NET_TRUNK_H

#include "net/topo.h"

struct trunks {
    int32_t *first;     /* [links] of its trunk; itself when it is alone */
    int32_t *n_links;   /* [links] in its trunk */
    int32_t *first_hop; /* [switches] of those that are alike */
};

/* trunks_new — every link and switch alone. */
struct trunks trunks_new(const struct topo *topo, struct arena *perm);

/* trunks_find — from what links are at present.
 *   group     [switches] those of unequal numbers are not alike; NULL: all may be
 *   together  false: every link and switch alone again */
void trunks_find(const struct topo *topo, const int *group, bool together, struct trunks *trunks,
                 struct arena scratch);

#endif
