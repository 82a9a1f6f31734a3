/* BERT (for pre-training) and GPT-2 as HuggingFace registers them, kernel by kernel without fused
 * attention.
 *
 * One layer of width h at sequence length s, a heads: 24 s h^2 + 4 s^2 h FLOP forward and
 * 17 s h + 2.5 a s^2 elements kept (dropout masks are bytes: half an element of 16 bits).
 * Source: Korthikanti et al., Reducing activation recomputation in large transformer models, 2022,
 * eq. 1 (bytes s b h (34 + 5 a s / h)) and appendix A (72 B L s h^2 (1 + s / 6h), forward and
 * backward).
 *
 * BERT's masked-word head runs on the masked positions only, 20 of 128 (the same share of other
 * lengths, rounded up), as Google's and NVIDIA's pre-training scripts gather them
 * (max_predictions_per_seq 20 at 128, 80 at 512). */
#ifndef WORKLOAD_TRANSFORMER_H
#define WORKLOAD_TRANSFORMER_H

#include "workload/model.h"

/* sizes: layers, hidden, heads, vocabulary */
struct model *transformer_bert(const struct model_kind *kind, int seq_len, struct arena *perm);
struct model *transformer_gpt2(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
