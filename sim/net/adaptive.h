/* Ways by load ("ugal"): which part of each flow goes by the shortest ways, and which round by each other
 * group, when all flows of a phase begin at once.
 *
 * Packets draw a group to go round by and take the detour where the fullest link on it is less full than
 * the fullest on the shortest ways. Fullness is flows over capacity, and no link is reckoned less full
 * than the fullest cable of a card: below that no queue grows, whatever way flows take. All choose by
 * what all carry, again and again, each time moving a part of what stays to the less full; so nothing
 * depends on the order of flows or on their names, and equal flows go equal ways.
 *
 * Hops do not weigh: lock step throttles all flows until the fullest link carries just what it can, and a
 * queue stands before each link as full as that. Flows that no queue meets stay on shortest ways.
 * Source: Singh, Load-balanced routing in interconnection networks, Stanford, 2005; Kim, Dally, Scott
 * & Abts, ISCA 2008, sec. 4 (UGAL-G); the state in which no part gains by another way: Wardrop, Some
 * theoretical aspects of road traffic research, 1952. */
#ifndef NET_ADAPTIVE_H
#define NET_ADAPTIVE_H

#include "net/router.h"

/* part of a flow that goes round by a group */
struct detour {
    int32_t group;
    double frac;
};

struct division {
    double direct; /* part that takes the shortest ways */
    const struct detour *detours;
    int n_detours;
    struct ways ways; /* all of them, between the two switches; where nothing goes round, none */
};

struct adaptive;

/* adaptive_new — no flows yet. */
struct adaptive *adaptive_new(const struct topo *topo, struct arena *perm);

/* adaptive_add — one more flow between two ports. */
void adaptive_add(struct adaptive *adaptive, struct port_pair pair, struct arena *perm);

/* adaptive_settle — when all have been added. Cost O(rounds * (pairs of switches with flows that meet
 * full links * groups * way + switches * targets)). */
void adaptive_settle(struct adaptive *adaptive, struct arena *perm);

/* adaptive_join — what several phases have settled, for flows of which it is not known whose they are: of two
 * switches as the first phase has them. Keeps nothing of what is joined but the network. */
struct adaptive *adaptive_join(const struct adaptive *const *phases, int n, struct arena *perm);

/* adaptive_division — of a flow between two ports; all direct where none was added between their switches. */
struct division adaptive_division(const struct adaptive *adaptive, struct port_pair pair);

#endif
