#include "workload/recurrent.h"

#include "base/must.h"
#include "workload/brick.h"

/* lstm — the gates' product with the inputs is one for all positions; that with the state is one
 * for each position, after the one before it. The gates' functions follow each of those.
 * Source: Hochreiter & Schmidhuber, 1997; kernels as cuDNN, Appleyard et al., 2016. */
static void lstm(struct builder *b, const char *name, int positions, int in, int width)
{
    enum { GATES = 4 };
    double rows = positions;
    brick_linear(b, arena_text(b->perm, "%s.input", name), rows, in, GATES * width);
    brick_bias(b, GATES * width);
    builder_layer(b, (struct layer){.name = arena_text(b->perm, "%s.state", name),
                                    .kind = LAYER_LINEAR,
                                    .m = 1.0,
                                    .n = GATES * width,
                                    .k = width,
                                    .n_products = rows,
                                    .flop = 2.0 * rows * GATES * width * width,
                                    .read_elements = rows * width,
                                    .written_elements = rows * GATES * width,
                                    .n_kernels = positions});
    builder_tensor(b, "weight", (int64_t)GATES * width * width);
    brick_bias(b, GATES * width);
    double gates = rows * GATES * width;
    builder_layer(b, (struct layer){.name = arena_text(b->perm, "%s.gates", name),
                                    .kind = LAYER_ELEMENTWISE,
                                    .flop = 5.0 * gates,
                                    .read_elements = 2.0 * gates,
                                    .written_elements = 2.0 * rows * width,
                                    .kept_elements = gates + 2.0 * rows * width,
                                    .n_kernels = positions,
                                    .fused = true});
}

static struct shape hidden(int width, int positions)
{
    return shape_sound(width, positions);
}

static void dropout(struct builder *b, const char *name, struct shape s)
{
    brick_dropout(b, arena_text(b->perm, "%s.dropout", name), shape_elements(s));
}

static void encoder(struct builder *b, int n_layers, int width, int positions)
{
    struct shape s = hidden(width, positions);
    for (int i = 0; i < n_layers; i++) {
        const char *name = arena_text(b->perm, "encoder.%d", i);
        dropout(b, name, i == 1 ? hidden(2 * width, positions) : s);
        lstm(b, name, positions, i == 1 ? 2 * width : width, width);
        if (i == 0) lstm(b, "encoder.0.reverse", positions, width, width);
        if (i > 1) brick_add(b, arena_text(b->perm, "%s.add", name), s);
    }
}

/* sum_attention — scores are a vector's product with tanh(query + key), for all pairs of positions.
 * Source: Bahdanau et al., 2015, eq. 6 and app. A.1.2, normalised as Salimans & Kingma, 2016. */
static void sum_attention(struct builder *b, int width, int positions)
{
    struct shape pairs = {width, positions, 1, positions};
    double square = (double)positions * positions;
    brick_linear(b, "attention.q", positions, width, width);
    brick_linear(b, "attention.k", positions, width, width);
    brick_add(b, "attention.sum", pairs);
    brick_act(b, "attention.tanh", pairs);
    brick_linear(b, "attention.score", square, width, 1);
    brick_bias(b, width);
    builder_tensor(b, "scale", 1);
    brick_copy(b, "attention.softmax", square);
    builder_layer(b, (struct layer){.name = "attention.context",
                                    .kind = LAYER_ATTENTION,
                                    .m = positions,
                                    .n = width,
                                    .k = positions,
                                    .n_products = 1.0,
                                    .flop = 2.0 * square * width,
                                    .read_elements = square + (double)positions * width,
                                    .written_elements = (double)positions * width,
                                    .n_kernels = 1});
}

static void decoder(struct builder *b, int n_layers, int width, int positions)
{
    struct shape s = hidden(width, positions);
    dropout(b, "decoder.0", s);
    lstm(b, "decoder.0", positions, width, width);
    sum_attention(b, width, positions);
    for (int i = 1; i < n_layers; i++) {
        const char *name = arena_text(b->perm, "decoder.%d", i);
        dropout(b, name, s);
        brick_concat(b, arena_text(b->perm, "%s.cat", name), hidden(2 * width, positions));
        lstm(b, name, positions, 2 * width, width);
        if (i > 1) brick_add(b, arena_text(b->perm, "%s.add", name), s);
    }
}

struct model *recurrent_gnmt(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    int n_layers = kind->sizes[0], width = kind->sizes[1], n_words = kind->sizes[2];
    int positions = kind->sizes[3];
    struct builder builder = builder_open(kind->name, "sentence pair", kind->source, perm);
    struct builder *b = &builder;
    b->model->tokens_per_sample = 2.0 * positions;
    /* one table for both languages */
    brick_look_up(b, "embedding", 2.0 * positions, n_words, width);
    encoder(b, n_layers, width, positions);
    decoder(b, n_layers, width, positions);
    brick_linear(b, "classifier", positions, width, n_words);
    brick_bias(b, n_words);
    brick_loss(b, (double)positions * n_words);
    return builder.model;
}
