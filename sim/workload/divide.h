/* A model as one rank of a tensor, a context and an expert group has it: layers with their share of
 * the work, tensors with their share of the elements. What kernels, gradients and memory are worked
 * out from; what ranks exchange stands in piece.h.
 *
 *   context  every layer has its share of the tokens; in attention, of the queries
 *   column   a share of the outputs and of the weights; the whole input
 *   row      a share of the inputs and of the weights; the whole output
 *   heads    a share of everything (attention, what lies between column and row, the loss of a
 *            divided vocabulary)
 *   none     all of it on every tensor rank; with sequence parallelism a share of the tokens
 *   experts  with expert parallelism whole experts, 1 / experts of them, and the tokens of the tensor
 *            rank's share of the sequence, times those that other ranks send (Megatron-Core's
 *            expert tensor parallelism of 1: an expert group goes over tensor ranks first); without,
 *            each expert is divided like a column and a row
 *
 * Kept for backward: the input of a column layer is whole unless the sequence is divided, the rest
 * of it is the rank's own. Embeddings are divided by words: each rank looks up all tokens and has
 * zeros for the words of others.
 * Source: Shoeybi et al., Megatron-LM, 2019, sec. 3; Korthikanti et al., Reducing Activation
 * Recomputation in Large Transformer Models, MLSys 2023, sec. 4 (their equations 2 and 4 are what
 * this gives for GPT). */
#ifndef WORKLOAD_DIVIDE_H
#define WORKLOAD_DIVIDE_H

#include "workload/strategy.h"

struct model *divide_model(const struct model *model, const struct split *split,
                           struct arena *perm);

#endif
