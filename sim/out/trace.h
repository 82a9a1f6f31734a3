/* The timeline of a run as Chrome trace events (JSON), for ui.perfetto.dev: a process per class of
 * GPUs, a thread per stream. The last two iterations of at most TRACE_CLASSES classes; an event
 * says so when there are more.
 * Format: "Trace Event Format", Google, JSON object form. */
#ifndef OUT_TRACE_H
#define OUT_TRACE_H

#include "predict.h"

#include <stdio.h>

enum { TRACE_CLASSES = 64, TRACE_ITERATIONS = 2 };

void trace_write(FILE *out, const struct result *result);

#endif
