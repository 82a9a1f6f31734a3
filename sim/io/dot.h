/* A subset of Graphviz' DOT into a graph_draft: graph or digraph, node and edge statements (chains of edges
 * too), default attributes, subgraphs (their statements count as if they stood outside), comments, quoted
 * names. Edges to subgraphs, ports and HTML names are refused.
 *
 *   edges      "a -- b" and "a -> b [dir=both]" are cables; "a -> b" is one way, the way back another edge
 *              rate="400Gbps" latency="0.5us" tier=global count=4; label="400 Gbps" where rate is not given
 *   vertices   name or label = the name (else the id); stage=1; node=3 nic=0 make it a card
 *
 * Other attributes are ignored. Reference: graphviz.org/doc/info/lang.html. Graphviz' own library was
 * weighed: it prints its errors itself and bounds neither depth nor size. */
#ifndef IO_DOT_H
#define IO_DOT_H

#include "io/graph_draft.h"

#include <stddef.h>

/* dot_read — errors go to the draft's diag with line and column. */
void dot_read(struct graph_draft *draft, const char *text, size_t length);

#endif
