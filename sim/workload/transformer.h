/* Transformers, kernel by kernel, from a list of numbers: decoders (GPT, Llama), encoders (BERT),
 * encoder-decoders (T5), mixtures of experts (Mixtral, DeepSeek). A kind of model is its sizes.
 *
 * A plain block of width h at sequence length s with a heads: 24 s h^2 + 4 s^2 h FLOP forward and
 * 17 s h + 2.5 a s^2 elements kept (dropout masks are bytes: half an element of 16 bits).
 * Source: Korthikanti et al., Reducing activation recomputation in large transformer models, 2022,
 * eq. 1 (bytes s b h (34 + 5 a s / h)) and appendix A (72 B L s h^2 (1 + s / 6h), forward and
 * backward).
 *
 * Fused attention keeps its inputs, its output and a number per row, moves nothing of size s^2,
 * skips what a causal mask or a window hides, and computes the scores anew in backward.
 * Source: Dao, FlashAttention-2, 2023, sec. 3.1 (causal: half; backward: 5 products to forward's 2).
 *
 * Masked words (BERT) are predicted at 20 of 128 positions (the same share of other lengths, rounded
 * up), as Google's and NVIDIA's pre-training scripts gather them (max_predictions_per_seq 20 at 128,
 * 80 at 512).
 *
 * Experts are taken to be chosen evenly: each sees s k / E positions of a sample. */
#ifndef WORKLOAD_TRANSFORMER_H
#define WORKLOAD_TRANSFORMER_H

#include "workload/model.h"

/* model_kind.sizes of a transformer; what is not said is 0 */
enum text_size {
    TEXT_BLOCKS, /* of encoder and decoder together */
    TEXT_HIDDEN,
    TEXT_HEADS,     /* 0 = of 128 each, of 64 below a width of 2048 */
    TEXT_KV_HEADS,  /* 0 = as heads (grouped-query attention: fewer) */
    TEXT_HEAD_SIZE, /* 0 = hidden / heads */
    TEXT_FFN,       /* inner width of the dense MLP; 0 = 4 x hidden */
    TEXT_VOCABULARY,
    TEXT_POSITIONS, /* rows of learned tables of positions and token types; 0 = none (rotary, ALiBi) */
    TEXT_STYLE,     /* enum text_style, or-ed */
    TEXT_EXPERTS, /* 0 = dense */
    TEXT_EXPERTS_PER_TOKEN,
    TEXT_EXPERT_FFN,   /* inner width of an expert; 0 = as ffn */
    TEXT_SHARED_FFN,   /* inner width of experts that see all tokens; 0 = none */
    TEXT_DENSE_BLOCKS, /* first blocks without experts */
    TEXT_Q_RANK,       /* latent attention: width that queries are squeezed to; 0 = not */
    TEXT_KV_RANK,      /* the same of keys and values; 0 = no latent attention */
    TEXT_ROPE_SIZE,    /* latent attention: further width of a head, for positions */
    TEXT_WINDOW,       /* positions that every second block attends to; 0 = all */
    TEXT_TARGET,       /* encoder-decoder: decoder positions per 100 of the encoder; 0 = 100 */
    TEXT_ADAPTER_RANK, /* of low-rank adapters at the attention's products, all else frozen; 0 = full
                           training. Source: Hu et al., LoRA, 2021 */
    TEXT_GENERATOR,    /* hidden of ELECTRA's generator, which runs before the model; 0 = none */
    N_TEXT_SIZES
};

enum text_style {
    TEXT_ENCODER = 1,         /* sees all positions; predicts masked words */
    TEXT_ENCODER_DECODER = 2, /* first half of the blocks encoder, second half decoder */
    TEXT_CLASSIFIES = 4,      /* an encoder with a two-way head instead (question answering) */
    TEXT_GATED = 8,           /* MLP of three products (SwiGLU, GeGLU) */
    TEXT_TIED = 16,           /* the head is the table of words */
    TEXT_ROTARY = 32,         /* queries and keys are rotated */
    TEXT_BIASES = 64,         /* products have biases */
    TEXT_QKV_BIASES = 128,    /* those of query, key and value do */
    TEXT_NORM_BIASES = 256,   /* LayerNorm rather than RMSNorm */
    TEXT_QK_NORM = 512,       /* queries and keys are normalised per head */
    TEXT_DROPOUT = 1024,
    TEXT_APART = 2048, /* query, key and value are three products */
    TEXT_FUSED_ATTENTION = 4096,
    TEXT_IMAGES =
        8192 /* an encoder of patches, whose values the vocabulary counts, and a class; it tells
                          1000 classes. Source: Dosovitskiy et al., ViT, 2021, sec. 3.1 */
};

/* transformer — of the kind's sizes; seq_len 0 = the kind's default, <= max_seq_len. */
struct model *transformer(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
