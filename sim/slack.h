/* Links that never fill, however the job runs: they hold nothing back, so the fluid need not watch them.
 *
 * A bundle is never faster than alone. A stream of a class of ranks has one collective under way at a
 * time, and of that one phase. So a link carries at most, for every stream, the most that one phase of
 * its collectives puts on it with each bundle as fast as alone; where these sum to less than its
 * capacity, no rate depends on it. With parameter servers that is most of a worker's way. */
#ifndef SLACK_H
#define SLACK_H

#include "engine.h"

/* slack_loads — [bundles of the plan] their loads without such links, at these factors on capacities. NULL:
 * all are needed, or looking costs more than it can save (few links per bundle, links that change). */
const struct load_list *slack_loads(const struct plan *plan, const struct scale *scale,
                                    struct arena *perm);

#endif
