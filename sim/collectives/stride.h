/* Algorithms of ceil(log2 n) steps or somewhat more, in each of which every rank sends some of the n blocks to one other,
 * equally far round in all ranks. A message is striped over the channels. What differs between such
 * algorithms is a struct stride; the hooks of their rows pass it on. */
#ifndef COLLECTIVES_STRIDE_H
#define COLLECTIVES_STRIDE_H

#include "collectives/coll.h"

struct stride {
    int (*n_steps)(const struct coll_req *req);       /* NULL: ceil(log2 n) */
    int (*way)(const struct coll_req *req, int step); /* ranks further on; below 0: back */
    int (*n_blocks)(const struct coll_req *req, int step);
};

int stride_steps(const struct stride *stride, const struct coll_req *req);

/* the hooks of struct coll_algo, see coll.h; a step's messages raise the slot that is the step's own on
 * their channel, and stride_step tells it back */
double stride_cost_s(const struct stride *stride, const struct coll_req *req,
                     struct coll_hops hops);
bool stride_phase(const struct stride *stride, const struct coll_req *req, int p,
                  struct coll_phase *out);
void stride_bundle(const struct stride *stride, const struct coll_req *req, int p,
                   struct coll_bundle *out); /* its channel is the caller's */
struct coll_flow stride_flow(const struct stride *stride, const struct coll_req *req, int p,
                             int64_t k);
int stride_lanes(const struct coll_req *req);
int stride_slots(const struct stride *stride, const struct coll_req *req);
int stride_step(const struct stride *stride, const struct coll_req *req,
                const struct coll_send *send);
bool stride_next(const struct stride *stride, const struct coll_req *req, int member, int lane,
                 int64_t i, struct coll_send *out);

#endif
