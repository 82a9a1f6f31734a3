/* What the command line tells of measured files, and what is told of them: which format was taken, how
 * many rows it gave, and what was left out. */
#ifndef OUT_TOLD_H
#define OUT_TOLD_H

#include "io/measured.h"
#include "out/options.h"

/* told_read — a usage error as text, NULL when there is none. */
const char *told_read(const struct options *options, struct reading_options *how,
                      struct arena *perm);

/* told_print — "nccl.txt: nccl-tests, 54 rows" and a line for each reason of what was left out. */
void told_print(FILE *out, const struct measured *measured);

#endif
