/* An algorithm and a protocol that collectives are forced to take, as a person names them. */
#ifndef STUDY_FORCED_H
#define STUDY_FORCED_H

#include "base/arena.h"
#include "collectives/library.h"

struct forced {
    const char *algorithm, *protocol; /* NULL: the library chooses */
};

/* forced_find — does the library offer them together for this kind? If so, they are spelled as it does:
 * "ring" of "Ring", "LL128" of "ll128". */
bool forced_find(const struct library *library, enum coll_kind kind, struct forced *asked);

/* forced_lacking — what to say where it does not, with what it offers:
 * "library nccl-2.18 offers no all_reduce by ring with XX (it has ring with LL, LL128, Simple; ...)". */
const char *forced_lacking(const struct library *library, enum coll_kind kind,
                           const struct forced *asked, struct arena *perm);

#endif
