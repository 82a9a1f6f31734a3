/* Why measured collectives of one's own cluster take longer than its scenario says: what often is wrong
 * with clusters is tried on the scenario, one at a time (one card in use, TCP, no GPUDirect ...), and
 * what comes nearest to the measured times is the suspicion, if it explains most of what is off. Where
 * they take less than the links allow, the scenario is what is wrong. */
#ifndef STUDY_WHAT_IF_H
#define STUDY_WHAT_IF_H

#include "study/against.h"

/* what_if_suspicion — of one group of collectives; "" where it is not slow enough to tell, where nothing
 * that is tried explains it (on one server without links: what is to blame there), and of steps. */
const char *what_if_suspicion(const struct against *against, int group, struct arena scratch);

/* what_if_pace — are a group's bandwidths right for its hardware? By measured / predicted, the median over
 * large sizes, which tell bandwidth; over all where there are none. */
struct what_if_pace {
    double ratio;
    bool large;
    const char *verdict; /* "as they should", "slower than they should" ... */
};
struct what_if_pace what_if_pace(const struct against *against, int group, struct arena scratch);

/* within these a healthy cluster is, by measured / predicted at 8 MB and more */
extern const double what_if_slow, what_if_fast;

#endif
