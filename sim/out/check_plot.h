/* Predicted against measured times of a scored table, a point for each covered row: both axes
 * logarithmic, a colour for each kind (collective, GPU), lines at 10 and 25 %. */
#ifndef OUT_CHECK_PLOT_H
#define OUT_CHECK_PLOT_H

#include "study/check.h"

void check_plot_draw(const char *path, const struct check *check, struct arena *perm);

#endif
