/* A picture of a network: switches in layers by stage, servers below; networks of one stage in a circle, with
 * the servers outside. Cables are lines, one colour for each kind. */
#ifndef OUT_TOPO_PLOT_H
#define OUT_TOPO_PLOT_H

#include "base/arena.h"
#include "net/topo.h"

enum { TOPO_PLOT_MAX_LINKS = 1 << 18 }; /* more lines than that are one blot */

/* topo_plot_draw — a PNG at path, by gnuplot. `title` stands above it. */
void topo_plot_draw(const char *path, const struct topo *topo, const char *title,
                    struct arena *perm);

#endif
