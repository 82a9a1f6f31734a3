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

#endif
