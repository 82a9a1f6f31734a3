/* A picture drawn by gnuplot: the script goes to its standard input and the picture comes from its
 * standard output, so that no file name is ever part of a command. */
#ifndef OUT_GNUPLOT_H
#define OUT_GNUPLOT_H

#include "base/arena.h"

#include <stdio.h>

struct gnuplot {
    FILE *script; /* to be written to; the terminal is set already */
};

/* gnuplot_open — a PNG of this many pixels. */
struct gnuplot gnuplot_open(int width, int height);

/* gnuplot_text — a quoted string of gnuplot's; control characters become blanks. */
void gnuplot_text(FILE *script, const char *text);

/* gnuplot_draw — run it; the picture replaces what stood at path when all of it is there. A gnuplot
 * that is missing or fails is the world's failure. */
void gnuplot_draw(struct gnuplot *plot, const char *path, struct arena *perm);

#endif
