/* What a library's own estimate says of a collective, size by size, beside the prediction. */
#ifndef OUT_TUNER_PAGE_H
#define OUT_TUNER_PAGE_H

#include "inputs.h"
#include "out/writer.h"

#include <stdio.h>

/* one size: what is predicted, and with what */
struct tuner_line {
    double size_B, predicted_s;
    const char *algorithm, *protocol; /* NULL: none */
    struct tuner_choice own;          /* time INFINITY: the library has no way */
};

/* tuner_page_print — times in us of every algorithm and protocol that is offered here, what the
 * library takes, and the prediction. in->own.tuner is not NULL. */
void tuner_page_print(FILE *out, const struct inputs *in, enum coll_kind kind,
                      const struct tuner_line *lines, int n);

/* tuner_page_json — the same times of one size in s, with all their digits: {"ring/LL": 5.9e-05, ...}. */
void tuner_page_json(struct writer *writer, const struct own_estimate *own, enum coll_kind kind,
                     double size_B);

#endif
