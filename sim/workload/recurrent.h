/* Translation by recurrent networks: GNMT. */
#ifndef WORKLOAD_RECURRENT_H
#define WORKLOAD_RECURRENT_H

#include "workload/model.h"

/* sizes: layers of encoder and decoder each, width, words, positions of a sentence. A sample is a
 * pair of sentences as the batch pads them: batches hold sentences of equal length to 10 tokens, so
 * about half of that is added to the mean. The first encoder layer reads both ways; attention works on the first decoder
 * layer's output and feeds all others.
 * Source: Wu et al., Google's neural machine translation system, 2016, sec. 3, as "GNMT v2" of
 * NVIDIA/DeepLearningExamples changes it. */
struct model *recurrent_gnmt(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
