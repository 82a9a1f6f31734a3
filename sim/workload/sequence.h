/* Transformers that are not a plain stack: Transformer-XL, which also attends to the segment before,
 * and the encoder-decoder of Vaswani et al. */
#ifndef WORKLOAD_SEQUENCE_H
#define WORKLOAD_SEQUENCE_H

#include "workload/model.h"

/* sizes: layers, width, heads, inner width, how many times narrower the embedding of each
 * rarer group of words is. A sample is a segment; the memory is as long.
 * Source: Dai et al., Transformer-XL, 2019. */
struct model *sequence_transformer_xl(const struct model_kind *kind, int seq_len,
                                      struct arena *perm);

/* sizes: layers of encoder and decoder each, width, heads, inner width, words, positions. Batches of
 * translation are filled with sentences up to a number of tokens, so a sample is one token of the
 * source and one of the target, at the mean place of a sentence of `positions`.
 * Source: Vaswani et al., Attention is all you need, 2017, table 3. */
struct model *sequence_translator(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
