/* A model from the user's own table: a CSV file with a header row and one row per layer, in the
 * order of forward. Columns (any order; others are an error):
 *
 *   name              any text; needed
 *   kind              conv, linear, norm, elementwise, pool, embedding, attention or loss; needed
 *   parameters        tensors in registration order, "64x3x7x7;64", or a count; empty = none;
 *                     needed
 *   flop              forward, per sample, 2 per multiply-add; empty = 0; needed
 *   read_elements     activations read forward, per sample; default 0
 *   written_elements  activations written; default 0
 *   kept_elements     activations kept for backward; default written_elements
 *   kernels           GPU kernels forward; default 1
 *   fused             yes: arithmetic and memory traffic overlap, no: they add; default no for
 *                     conv, linear and attention, yes for the rest */
#ifndef IO_LAYERS_H
#define IO_LAYERS_H

#include "base/diag.h"
#include "workload/model.h"

enum { LAYERS_MAX = 100000, LAYERS_MAX_TENSORS = 64 /* of one layer */ };

/* layers_read — the model, named as the file; NULL after an error (all are in diag, with file, line
 * and column name). layers_read_text reads `text` instead, called `file` in messages. */
struct model *layers_read(const char *file, struct arena *perm, struct diag *diag);
struct model *layers_read_text(const char *file, const char *text, size_t length,
                               struct arena *perm, struct diag *diag);

#endif
