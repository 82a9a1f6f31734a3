/* What a stretch of a model costs one GPU for one micro-batch, with what its ranks exchange on the
 * way: pieces add up to units of sharding, and those to pipeline stages.
 *
 *   exchange  equal collectives in a row; only their number and their bytes in all count
 *   reduce    tensor parallel all-reduce: forward behind each row layer and the embedding, backward
 *             behind each column layer (column layers side by side have one input, and so one)
 *   gather, scatter  the same with sequence parallelism: all-gather before a column layer and
 *             reduce-scatter behind a row layer, backward the other way round. (Backward gathers a
 *             column layer's input once more, under its other product: left out.)
 *   ring      context parallel: keys and values go round while attention computes; backward twice
 *             the bytes (their gradients travel along)
 *   route     expert parallel all-to-all, there and back, each direction
 *
 * Sources: Shoeybi et al., 2019, sec. 3; Korthikanti et al., 2023, sec. 4.2; Liu et al., Ring
 * Attention, 2023, sec. 3; Lepikhin et al., GShard, 2021, sec. 3.2. */
#ifndef WORKLOAD_PIECE_H
#define WORKLOAD_PIECE_H

#include "workload/strategy.h"

enum exchange_kind {
    EXCHANGE_REDUCE,
    EXCHANGE_GATHER,
    EXCHANGE_SCATTER,
    EXCHANGE_RING,
    EXCHANGE_ROUTE,
    N_EXCHANGES
};
struct exchange {
    int n; /* 0 = none */
    double size_B;
};

struct direction {               /* forward or backward */
    double kernel_s, kernel_B;   /* all kernels but those of attention's core */
    double core_s, core_B;       /* these: scores to context, which ring exchanges run beside */
    double product_s, product_B; /* of kernel_s: products of column and row layers */
    int n_kernels;
    struct exchange exchange[N_EXCHANGES];
};

struct piece {
    struct direction forward, backward; /* backward with what is computed once more */
    double n_parameters,
        n_expert_parameters; /* trained, on this rank; first without the experts' */
    double n_frozen;         /* on this rank: no gradient, no state */
    double kept_B;           /* from forward to backward */
    double again_B; /* held during backward alone: one block's activations, computed once more */
    int n_blocks;   /* at least 1 */
};

/* piece_add — first, then second. */
void piece_add(struct piece *sum, const struct piece *more);

/* pieces_of_model — one piece for what lies before the blocks, one for each block, one for what lies
 * behind; a model that has no blocks is a piece per layer between two empty ones.
 *
 *   own        the model as one rank has it (divide.h)
 *   scale      factor on kernel times
 *   n_pieces   out: n_blocks + 2
 *
 * Recomputation adds forward to backward: all of a block (full), half of it (half: every second product
 * of each block, or every second block), or the core of attention (selective). Kept of a block is then
 * its input, the mean of that and all, or all but the core. Sources: Korthikanti et al., 2023, sec. 5;
 * Liang et al., TorchTitan, 2024, sec. 2.2 (selective activation checkpointing per layer and per
 * operation). */
struct piece *pieces_of_model(const struct train_spec *spec, const struct model *own,
                              const struct gpu *gpu, double scale, int *n_pieces,
                              struct arena *perm);

/* piece_wire_B — bytes of an activation or parameter that travels: what is computed in 8 bits is
 * sent in 16. */
double piece_wire_B(enum dtype dtype);

/* piece_border_B — what one micro-batch passes from block to block. */
double piece_border_B(const struct train_spec *spec, const struct model *own);

#endif
