/* The hooks of each algorithm file, for the table in coll.c. To add an algorithm: write its file,
 * declare it here, add its row there. Nothing else changes: scenarios, help, library_choose and the
 * tests read the table. */
#ifndef COLLECTIVES_ALGOS_H
#define COLLECTIVES_ALGOS_H

#include "collectives/coll.h"

#define ALGO_DECLARE(stem)                                                                         \
    bool stem##_fits(const struct coll_req *req);                                                  \
    double stem##_cost_s(const struct coll_req *req, struct coll_hops hops);                       \
    bool stem##_phase(const struct coll_req *req, int p, struct coll_phase *out);                  \
    void stem##_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out);         \
    struct coll_flow stem##_flow(const struct coll_req *req, int p, int b, int64_t k);             \
    int stem##_lanes(const struct coll_req *req);                                                  \
    int stem##_slots(const struct coll_req *req);                                                  \
    bool stem##_next(const struct coll_req *req, int member, int lane, int64_t i,                  \
                     struct coll_send *out);                                                       \
    int64_t stem##_units(const struct coll_req *req);

ALGO_DECLARE(ring)
ALGO_DECLARE(segmented)
ALGO_DECLARE(tree)
ALGO_DECLARE(doubling)
ALGO_DECLARE(halving)
ALGO_DECLARE(direct)
ALGO_DECLARE(sendrecv)
ALGO_DECLARE(shift)
ALGO_DECLARE(hierarchical)
ALGO_DECLARE(torus)
ALGO_DECLARE(binomial)
ALGO_DECLARE(chain)
ALGO_DECLARE(server)
ALGO_DECLARE(local_server)
ALGO_DECLARE(nvls_tree)
ALGO_DECLARE(collnet)
ALGO_DECLARE(collnet_chain)
ALGO_DECLARE(two_level)
ALGO_DECLARE(bruck)
ALGO_DECLARE(pat)
ALGO_DECLARE(relay)
int64_t bruck_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j);
int64_t torus_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j);
int64_t pat_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j);
int64_t relay_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j);
bool nvls_fits(const struct coll_req *req);
double tree_reckoned_frac(const struct coll_req *req);
double nvls_wire_frac(const struct coll_req *req);
double collnet_wire_frac(const struct coll_req *req);

#endif
