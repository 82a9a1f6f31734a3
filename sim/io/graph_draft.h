/* A network being read from a file (JSON or DOT): named vertices and links between them, which
 * graph_draft_finish turns into switches, cables and cards.
 *
 * What a vertex is, its name says: "node 3 nic 0" is a card (so is one with the numbers set), "gpu 5" and
 * "node 3 pcie 1", "host", "nvswitch" are inside servers and are left out, which their profiles describe;
 * all others are switches. */
#ifndef IO_GRAPH_DRAFT_H
#define IO_GRAPH_DRAFT_H

#include "base/arena.h"
#include "base/diag.h"
#include "net/graph.h"

struct draft_vertex {
    const char *id;   /* by which links refer to it */
    const char *name; /* NULL = the id */
    int stage;
    int node, nic; /* of a card; -1 = as the name says */
    struct diag_place place;
};

struct draft_link {
    int32_t src, dst;
    struct graph_way way; /* rate 0, latency below 0: not given */
    bool one_way, global;
    int line;
};

struct graph_draft {
    const char *file;
    struct arena *perm;
    struct diag *diag;
    struct draft_vertex *vertices;
    struct draft_link *links;
    int n_vertices, cap_vertices, n_links, cap_links;
    int32_t *buckets; /* [n_buckets] 1 + vertex, by hash of the id */
    int n_buckets;
};

/* graph_draft_vertex — the vertex of that id, made when there is none; -1 (reported) when there are too many.
 *   made: out, whether it is new. The id is kept, not copied. */
int graph_draft_vertex(struct graph_draft *draft, const char *id, struct diag_place place,
                       bool *made);
int graph_draft_find(const struct graph_draft *draft, const char *id); /* -1 = none */

/* graph_draft_link — false (reported) for a loop, or when there are too many. */
bool graph_draft_link(struct graph_draft *draft, struct draft_link link, struct diag_place place);

/* graph_draft_way — set the rate or latency ("400Gbps", "1us") of a way; false (reported) when it is none. */
bool graph_draft_rate(struct graph_draft *draft, const char *text, struct diag_place place,
                      struct graph_way *way);
bool graph_draft_latency(struct graph_draft *draft, const char *text, struct diag_place place,
                         struct graph_way *way);

/* graph_draft_finish — NULL after an error: names given twice, cards with no cable or several, links one way
 * without the other. */
const struct net_graph *graph_draft_finish(struct graph_draft *draft);

#endif
