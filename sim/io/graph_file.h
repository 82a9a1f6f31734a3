/* The user's own network, from a file: DOT when its name ends in .dot or .gv (see dot.h), else JSON:
 *
 *   {"vertices": ["core", {"name": "leaf 0", "stage": 0}, {"name": "h0", "node": 0, "nic": 0}],
 *    "links": [{"from": "h0", "to": "leaf 0"},
 *              {"from": "leaf 0", "to": "core", "rate": "400Gbps", "latency": "0.5us", "count": 2}]}
 *
 * A vertex is a name or an object. A link is a cable (both directions) unless "one_way" is true; "tier"
 * is "fabric" or "global". What vertices are: graph_draft.h. */
#ifndef IO_GRAPH_FILE_H
#define IO_GRAPH_FILE_H

#include "base/arena.h"
#include "base/diag.h"
#include "net/graph.h"

#include <stddef.h>

/* graph_file_read — NULL after an error; what can be said is in diag. */
const struct net_graph *graph_file_read(const char *file, struct arena *perm, struct diag *diag);
const struct net_graph *graph_file_read_text(const char *file, const char *text, size_t length,
                                             struct arena *perm, struct diag *diag);

#endif
