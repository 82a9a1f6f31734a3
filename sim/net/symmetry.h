/* The coarsest equitable partition of a coloured graph: vertices of one class have the same seed
 * and, for each class and label, the same multiset of edges (weights) into it. What is equal
 * under it behaves equally in every run, so only one of each class need be simulated.
 *
 * Colour refinement (one-dimensional Weisfeiler-Leman). Source: Berkholz, Bonsma & Grohe,
 * Tight lower and upper bounds for the complexity of canonical colour refinement, 2017. */
#ifndef NET_SYMMETRY_H
#define NET_SYMMETRY_H

#include "base/arena.h"

#include <stdint.h>

struct sym_edge {
    int32_t u, v;   /* undirected */
    int32_t label;  /* edges of different labels differ */
    int32_t weight; /* edges of different weights differ */
};

/* symmetry_refine — classes of the coarsest equitable partition that refines `seed`.
 *   seed[n_vertices]   any numbers; equal = may be in one class
 *   edges[n_edges]
 *   class_of[n_vertices] out: 0 .. n_classes - 1, numbered by first appearance
 *   returns n_classes
 * Deterministic. A round costs the edges of the vertices whose class was renamed in the one before:
 * the first O(n_vertices + n_edges), later ones little. Rounds = depth of the refinement. */
int symmetry_refine(const int64_t *seed, int n_vertices, const struct sym_edge *edges,
                    int64_t n_edges, int32_t *class_of, struct arena scratch);

#endif
