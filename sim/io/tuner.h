/* The lists of a profile of NCCL's tuner (collectives/tuner.h): "algorithms", whose latencies are
 * texts of three times by protocol ("6.8us 14us 8.4us"), and "architectures", the generations of
 * GPUs, whose caps are texts of three rates by number of nodes (one, two, more), their grids of
 * speeds texts of rates, largest first. */
#ifndef IO_TUNER_H
#define IO_TUNER_H

#include "base/field.h"
#include "collectives/tuner.h"

/* what a profile of kind "tuner" holds, its texts still unread */
struct tuner_profile {
    struct tuner tuner;
    const char *ll_max_two, *ll_max_more, *net_overhead; /* by CPU: Intel or other, AMD */
    const char *tree_shares[N_TUNER_PROTOCOLS];
};

enum { N_TUNER_FIELDS = 22 };
extern const struct field tuner_fields[N_TUNER_FIELDS];
extern const struct field tuner_latency_fields[], tuner_arch_fields[];
extern const int n_tuner_latency_fields, n_tuner_arch_fields;

/* tuner_read — the texts and lists of an object whose fields are loaded; what it does not give keeps
 * its values. Errors go to diag; the result is then not to be used. */
void tuner_read(const struct json *json, const struct json_node *node,
                struct tuner_profile *profile, struct arena *perm, struct diag *diag);

#endif
