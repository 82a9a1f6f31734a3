/* The key "placement": on which GPU each rank stands.
 *
 * By name over the GPUs that no earlier job has: packed (in order), spread (one on each server, then the
 * second of each ...), random (seeded). By list, {"ranks": [GPU of rank 0, ...]}; by a rank file,
 * {"file": "ranks.txt"}, a line per rank: RANK GPU or RANK NODE:SLOT, # begins a comment. */
#ifndef IO_SEATS_H
#define IO_SEATS_H

#include "base/json.h"
#include "net/topo.h"

struct seating {
    const struct json *json;
    const struct json_node *node;  /* the placement; NULL = packed */
    const struct json_node *owner; /* the object that it belongs to */
    const struct topo *topo;
    int n_ranks;
    uint64_t seed;
    int job;     /* number of the job, from 0 */
    bool *taken; /* [GPUs] by earlier jobs; its own are added */
    struct arena *perm;
    struct diag *diag;
};

/* seats_load — [n_ranks] GPU of each rank; not to be used after an error. */
const int *seats_load(const struct seating *seating);

#endif
