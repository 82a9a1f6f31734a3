/* What a job asks of the network, by which algorithm of the library, and where its flows go:
 *
 *   use      what some op asks: communicator, kind, size, root, forced names
 *   shape    groups of one communicator that look the same to an algorithm
 *   choice   a use on a shape: the library's row, the request, the pattern
 *   pattern  see pattern.h, laid for every group of the shape that uses it */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "pattern.h"

struct use {
    int comm;
    enum coll_kind kind;
    const char *algorithm, *protocol; /* forced, or NULL */
    int root;
    double size_B;
};

struct shape {
    int comm;
    bool ordered; /* see place.h */
    int n_ranks, ranks_per_node, n_nodes, n_channels;
    uint64_t order; /* of members against the job's, where roots make it matter; else 0 */
    int first_group;
};

struct choice {
    const struct lib_choice *row; /* for this request, see library_row */
    const struct coll_algo *algo;
    struct coll_req req;
    int pattern; /* -1: nothing moves */
};

struct laid {
    struct pattern *pattern;
    int shape;
    int *groups; /* [pattern->n_groups] */
    int *turn;   /* [groups of the communicator] place of a group in `groups`, -1 = not there */
};

struct layout {
    const struct inputs *in;
    struct use *uses;
    int n_uses;
    int **use_of;     /* [program][op] -1 for ops that are no collectives */
    int *first_group; /* [n_comms + 1]: groups of all communicators are numbered through */
    bool *comm_used;  /* [n_comms] */
    int n_groups;
    const struct place *const *places[2]; /* [ordered][n_groups], NULL where no use wants it */
    int *shape_of[2];                     /* the same, -1 */
    struct reaches *reaches[2];           /* the same */
    struct shape *shapes;
    int n_shapes;
    struct choice
        *choices; /* [n_uses * n_shapes]; row NULL where the use does not meet the shape */
    struct laid *laid;
    int n_laid;
    const char **warnings;
    int n_warnings, cap_warnings;
};

/* layout_build — cost O(flows * path) of all patterns. */
struct layout *layout_build(const struct inputs *in, struct arena *perm);

/* layout_choice — how a group serves a use. */
const struct choice *layout_choice(const struct layout *layout, int use, int group);

void layout_warn(struct layout *layout, const char *warning, struct arena *perm);

#endif
