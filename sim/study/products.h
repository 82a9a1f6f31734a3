/* A table of measured matrix products, CSV with the columns gpu, precision, m, n, k, tflops (and more that
 * are not read), as raw rows of one of its GPUs. */
#ifndef STUDY_PRODUCTS_H
#define STUDY_PRODUCTS_H

#include "base/raw.h"

/* products_read — the rows whose gpu is `device`; every bad one is reported with its line. NULL after an
 * error that leaves nothing to use, and when there are none. */
struct raw *products_read(const char *file, const char *device, struct arena *perm,
                          struct diag *diag);

#endif
