#include "workload/sequence.h"

#include "base/must.h"
#include "workload/brick.h"

/* what every layer needs to know */
struct stack {
    struct builder *b;
    const char *name; /* of the layer */
    double rows;      /* positions of a sample */
    int width, heads, inner;
};

static const char *part(const struct stack *s, const char *name)
{
    return arena_text(s->b->perm, "%s.%s", s->name, name);
}

static struct shape hidden(const struct stack *s, int width)
{
    return (struct shape){width, 1, 1, (int)s->rows};
}

static void add_norm(const struct stack *s, const char *name)
{
    brick_dropout(s->b, part(s, arena_text(s->b->perm, "%s.dropout", name)), s->rows * s->width);
    brick_add(s->b, part(s, arena_text(s->b->perm, "%s.add", name)), hidden(s, s->width));
    brick_layer_norm(s->b, part(s, arena_text(s->b->perm, "%s.norm", name)), s->rows, s->width);
}

static void feed_forward(const struct stack *s)
{
    brick_linear(s->b, part(s, "fc1"), s->rows, s->width, s->inner);
    brick_bias(s->b, s->inner);
    brick_act(s->b, part(s, "relu"), hidden(s, s->inner));
    brick_dropout(s->b, part(s, "relu.dropout"), s->rows * s->inner);
    brick_linear(s->b, part(s, "fc2"), s->rows, s->inner, s->width);
    brick_bias(s->b, s->width);
    add_norm(s, "ff");
}

/* --- Transformer-XL ------------------------------------------------------------------------------ */

/* groups of words by how often they occur, of 267735 in WikiText-103; the rarer ones have narrower
 * rows. Source: kimiyoung/transformer-xl, train.py (cutoffs) */
static const int groups[] = {19997, 20000, 160000, 67738};
enum { N_GROUPS = sizeof groups / sizeof *groups };

/* relative_attention — scores are the sum of two products, by content and by distance; the second is
 * shifted into place. The distances' keys are the same for the whole batch, so their product with
 * weights costs a sample nothing. */
static void relative_attention(const struct stack *s)
{
    struct builder *b = s->b;
    double keys = 2.0 * s->rows; /* the segment and the memory before it */
    double head_width = (double)s->width / s->heads;
    brick_copy(b, part(s, "cat"), keys * s->width);
    brick_linear(b, part(s, "qkv"), keys, s->width, 3 * s->width);
    builder_layer(b, (struct layer){.name = part(s, "r"), .kind = LAYER_LINEAR, .n_kernels = 1});
    builder_tensor(b, "weight", (int64_t)s->width * s->width);
    double scores = s->heads * s->rows * keys;
    builder_layer(b, (struct layer){.name = part(s, "distance"),
                                    .kind = LAYER_ATTENTION,
                                    .m = s->rows,
                                    .n = keys,
                                    .k = head_width,
                                    .n_products = s->heads,
                                    .flop = 2.0 * scores * head_width,
                                    .read_elements = s->rows * s->width,
                                    .written_elements = scores,
                                    .n_kernels = 1});
    brick_copy(b, part(s, "shift"), 2.0 * scores);
    struct attention content = {s->rows, keys, s->width, s->heads};
    brick_attention(b, part(s, "attention"), &content);
    brick_linear(b, part(s, "o"), s->rows, s->width, s->width);
    add_norm(s, "attention");
}

/* tables — the embedding of each group, and its product with a matrix that widens it. */
static void tables(struct builder *b, double rows, int width, int narrower)
{
    int narrow = width;
    for (int g = 0; g < N_GROUPS; g++, narrow /= narrower) {
        double here = g == 0 ? rows : 0.0; /* rare words are rare */
        brick_look_up(b, arena_text(b->perm, "embedding%d", g), here, groups[g], narrow);
        if (narrower > 1) {
            brick_linear(b, arena_text(b->perm, "projection%d", g), here, narrow, width);
        }
    }
}

/* adaptive_softmax — the frequent words and a score for each other group; the groups' own words are
 * left out of the time, since few positions need them. The matrices are the embedding's. */
static void adaptive_softmax(struct builder *b, double rows, int width, int narrower)
{
    int n_scores = groups[0] + N_GROUPS - 1;
    int n_words = 0;
    for (int g = 0; g < N_GROUPS; g++) n_words += groups[g];
    if (narrower > 1) brick_linear(b, "out.projection", rows, width, width);
    brick_product(b, "out", rows, width, n_scores);
    builder_tensor(b, "groups.weight", (int64_t)(N_GROUPS - 1) * width);
    builder_tensor(b, "groups.bias", N_GROUPS - 1);
    brick_bias(b, n_words);
    brick_loss(b, rows * n_scores);
}

struct model *sequence_transformer_xl(const struct model_kind *kind, int seq_len,
                                      struct arena *perm)
{
    const int *sizes = kind->sizes;
    int rows = seq_len > 0 ? seq_len : kind->default_seq_len;
    must(rows <= kind->max_seq_len);
    struct builder builder = builder_open(kind->name, "sequence", kind->source, perm);
    struct builder *b = &builder;
    b->model->tokens_per_sample = rows;
    struct stack s = {b, "", rows, sizes[1], sizes[2], sizes[3]};
    tables(b, rows, s.width, sizes[4]);
    brick_dropout(b, "embedding.dropout", (double)rows * s.width);
    builder_tensor(b, "r_w_bias", s.width);
    builder_tensor(b, "r_r_bias", s.width);
    for (int i = 0; i < sizes[0]; i++) {
        s.name = arena_text(perm, "layers.%d", i);
        relative_attention(&s);
        feed_forward(&s);
    }
    adaptive_softmax(b, rows, s.width, sizes[4]);
    return builder.model;
}

/* --- encoder and decoder ------------------------------------------------------------------------- */

/* attend — every matrix is applied to the one position of the sample; keys are those of a sentence.
 * Query, key and value are one product where the three read the same (self-attention). */
static void attend(const struct stack *s, const char *name, double keys, bool to_itself)
{
    struct builder *b = s->b;
    const char *prefix = part(s, name);
    if (to_itself) {
        brick_linear(b, arena_text(b->perm, "%s.qkv", prefix), s->rows, s->width, 3 * s->width);
        brick_bias(b, 3 * s->width);
    } else {
        brick_linear(b, arena_text(b->perm, "%s.q", prefix), s->rows, s->width, s->width);
        brick_bias(b, s->width);
        brick_linear(b, arena_text(b->perm, "%s.kv", prefix), s->rows, s->width, 2 * s->width);
        brick_bias(b, 2 * s->width);
    }
    struct attention a = {s->rows, keys, s->width, s->heads};
    brick_attention(b, prefix, &a);
    brick_linear(b, arena_text(b->perm, "%s.o", prefix), s->rows, s->width, s->width);
    brick_bias(b, s->width);
    add_norm(s, name);
}

static void embed(const struct stack *s, const char *name)
{
    double n = s->rows * s->width;
    builder_layer(s->b, (struct layer){.name = name,
                                       .kind = LAYER_EMBEDDING,
                                       .read_elements = n,
                                       .written_elements = n,
                                       .n_kernels = 1,
                                       .fused = true});
}

struct model *sequence_translator(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    const int *sizes = kind->sizes;
    struct builder builder = builder_open(kind->name, "token", kind->source, perm);
    struct builder *b = &builder;
    struct stack s = {b, "", 1.0, sizes[1], sizes[2], sizes[3]};
    int n_words = sizes[4];
    int positions = sizes[5];
    brick_look_up(b, "embedding", s.rows, n_words, s.width);
    brick_dropout(b, "encoder.dropout", s.width);
    for (int i = 0; i < sizes[0]; i++) {
        s.name = arena_text(perm, "encoder.%d", i);
        attend(&s, "self", positions, true);
        feed_forward(&s);
    }
    embed(&s, "decoder.embedding"); /* of the same table */
    brick_dropout(b, "decoder.dropout", s.width);
    for (int i = 0; i < sizes[0]; i++) {
        s.name = arena_text(perm, "decoder.%d", i);
        attend(&s, "self", positions, true);
        attend(&s, "cross", positions, false);
        feed_forward(&s);
    }
    brick_product(b, "out", s.rows, s.width, n_words);
    brick_loss(b, n_words);
    return builder.model;
}
