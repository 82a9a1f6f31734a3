#include "workload/transformer.h"

#include "base/must.h"
#include "workload/builder.h"

#include <math.h>

/* what every part of a transformer needs to know */
struct form {
    struct builder *b;
    const char *prefix; /* of the names of the present block */
    int block;          /* see struct layer */
    int h, a, s, v;
};

static const char *in_block(const struct form *f, const char *name)
{
    return f->prefix ? arena_text(f->b->perm, "%s.%s", f->prefix, name) : name;
}

static void append(const struct form *f, struct layer layer)
{
    layer.name = in_block(f, layer.name);
    layer.block = f->block;
    builder_layer(f->b, layer);
}

/* divide — how tensor parallelism divides the layer added last. */
static void divide(const struct form *f, enum layer_split split)
{
    struct model *model = f->b->model;
    model->layers[model->n_layers - 1].split = split;
}

/* a product with weights, applied to `rows` positions; of several kernels each gives its share of
 * the outputs */
struct product {
    const char *name;
    double rows;
    int in, out;
    int n_kernels;
    double kept_elements;
    enum layer_split split;
};

static void product_layer(const struct form *f, const struct product *p)
{
    append(f, (struct layer){.name = p->name,
                             .kind = LAYER_LINEAR,
                             .split = p->split,
                             .m = p->rows,
                             .n = (double)p->out / p->n_kernels,
                             .k = p->in,
                             .n_products = p->n_kernels,
                             .flop = 2.0 * p->rows * p->in * p->out,
                             .read_elements = p->rows * p->in * p->n_kernels,
                             .written_elements = p->rows * p->out,
                             .kept_elements = p->kept_elements,
                             .n_kernels = p->n_kernels});
}

static void linear(const struct form *f, const struct product *p)
{
    product_layer(f, p);
    builder_tensor(f->b, "weight", (int64_t)p->in * p->out);
    builder_tensor(f->b, "bias", p->out);
}

/* pass — kernels that only move data: each of n_kernels reads and writes about `elements`. */
static void pass(const struct form *f, const char *name, enum layer_kind kind, double elements,
                 double kept_elements, int n_kernels)
{
    append(f, (struct layer){.name = name,
                             .kind = kind,
                             .flop = 2.0 * elements * n_kernels,
                             .read_elements = elements * n_kernels,
                             .written_elements = elements * n_kernels,
                             .kept_elements = kept_elements,
                             .n_kernels = n_kernels,
                             .fused = true});
}

static void layer_norm(const struct form *f, const char *name, double rows)
{
    pass(f, name, LAYER_NORM, rows * f->h, rows * f->h, 1);
    builder_tensor(f->b, "weight", f->h);
    builder_tensor(f->b, "bias", f->h);
}

/* attention — scores = Q K^T, softmax (scale, mask, softmax, dropout), context = P V.
 * Kept: softmax's output, its dropout mask, dropout's output: 2.5 a s^2. */
static void attention(const struct form *f)
{
    double s = f->s;
    double square = f->a * s * s;
    double flop = 2.0 * s * s * f->h;
    append(f, (struct layer){.name = "attention.scores",
                             .kind = LAYER_ATTENTION,
                             .split = SPLIT_HEADS,
                             .m = s,
                             .n = s,
                             .k = (double)f->h / f->a,
                             .n_products = f->a,
                             .flop = flop,
                             .read_elements = 2.0 * s * f->h,
                             .written_elements = square,
                             .n_kernels = 1});
    pass(f, "attention.softmax", LAYER_ELEMENTWISE, square, 2.5 * square, 4);
    divide(f, SPLIT_HEADS);
    append(f, (struct layer){.name = "attention.context",
                             .kind = LAYER_ATTENTION,
                             .split = SPLIT_HEADS,
                             .m = s,
                             .n = (double)f->h / f->a,
                             .k = s,
                             .n_products = f->a,
                             .flop = flop,
                             .read_elements = square + s * f->h,
                             .written_elements = s * f->h,
                             .n_kernels = 1});
}

static void dropout_add(const struct form *f, const char *name)
{
    double sh = (double)f->s * f->h;
    pass(f, name, LAYER_ELEMENTWISE, sh, 0.5 * sh, 2);
}

static void gelu(const struct form *f, const char *name, double elements)
{
    pass(f, name, LAYER_ELEMENTWISE, elements, elements, 1);
}

/* embedding — `n_tables` look-ups and their sum, then dropout; the word table comes first. */
static void embedding(const struct form *f, const char *name, const int *rows, int n_tables,
                      const char *const *table_names)
{
    double sh = (double)f->s * f->h;
    pass(f, name, LAYER_EMBEDDING, sh, 0.5 * sh, 2 * n_tables);
    divide(f, SPLIT_COLUMN);
    for (int i = 0; i < n_tables; i++) {
        builder_tensor(f->b, table_names[i], (int64_t)rows[i] * f->h);
    }
}

/* the word head: positions against the tied table of words */
static void word_loss(const struct form *f, double rows)
{
    double logits = rows * f->v;
    pass(f, "loss", LAYER_LOSS, logits, logits, 2);
    divide(f, SPLIT_HEADS);
}

static void bert_block(const struct form *f)
{
    double sh = (double)f->s * f->h;
    int h = f->h;
    /* query, key and value are three tensors pairs in registration order; one layer of three
     * kernels keeps its input and the three outputs */
    struct product qkv = {"attention.self", f->s, h, 3 * h, 3, 4.0 * sh, SPLIT_COLUMN};
    product_layer(f, &qkv);
    static const char *const names[] = {"query", "key", "value"};
    for (int i = 0; i < 3; i++) {
        builder_tensor(f->b, arena_text(f->b->perm, "%s.weight", names[i]), (int64_t)h * h);
        builder_tensor(f->b, arena_text(f->b->perm, "%s.bias", names[i]), h);
    }
    attention(f);
    linear(f, &(struct product){"attention.output.dense", f->s, h, h, 1, sh, SPLIT_ROW});
    dropout_add(f, "attention.output.add");
    layer_norm(f, "attention.output.LayerNorm", f->s);
    linear(f, &(struct product){"intermediate.dense", f->s, h, 4 * h, 1, sh, SPLIT_COLUMN});
    gelu(f, "intermediate.gelu", 4.0 * sh);
    divide(f, SPLIT_HEADS);
    linear(f, &(struct product){"output.dense", f->s, 4 * h, h, 1, 4.0 * sh, SPLIT_ROW});
    dropout_add(f, "output.add");
    layer_norm(f, "output.LayerNorm", f->s);
}

/* bert_head — pooler and the two pre-training tasks. The word head's bias is registered before the
 * layers that run ahead of it. */
static void bert_head(const struct form *f)
{
    double masked = ceil(f->s * 20.0 / 128.0);
    double mh = masked * f->h;
    linear(f, &(struct product){"bert.pooler.dense", 1.0, f->h, f->h, 1, f->h, SPLIT_NONE});
    pass(f, "bert.pooler.tanh", LAYER_ELEMENTWISE, f->h, f->h, 1);
    int bias = builder_early_tensor(f->b, "cls.predictions.bias", f->v);
    linear(f, &(struct product){"cls.predictions.transform.dense", masked, f->h, f->h, 1, mh,
                                SPLIT_NONE});
    gelu(f, "cls.predictions.transform.gelu", mh);
    layer_norm(f, "cls.predictions.transform.LayerNorm", masked);
    product_layer(f, &(struct product){"cls.predictions.decoder", masked, f->h, f->v, 1,
                                       mh + masked * f->v, SPLIT_COLUMN});
    builder_claim(f->b, bias);
    linear(f, &(struct product){"cls.seq_relationship", 1.0, f->h, 2, 1, 0.0, SPLIT_NONE});
    word_loss(f, masked);
}

static struct form form_of(const struct model_kind *kind, struct builder *b, int seq_len)
{
    int s = seq_len > 0 ? seq_len : kind->default_seq_len;
    must(s <= kind->max_seq_len);
    b->model->tokens_per_sample = s;
    b->model->n_blocks = kind->sizes[0];
    return (struct form){
        .b = b, .block = -1, .h = kind->sizes[1], .a = kind->sizes[2], .s = s, .v = kind->sizes[3]};
}

struct model *transformer_bert(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    struct builder builder = builder_open(kind->name, "sequence", kind->source, perm);
    struct form f = form_of(kind, &builder, seq_len);
    static const char *const tables[] = {"word", "position", "token_type"};
    embedding(&f, "bert.embeddings", (int[]){f.v, kind->max_seq_len, 2}, 3, tables);
    layer_norm(&f, "bert.embeddings.LayerNorm", f.s);
    for (int i = 0; i < kind->sizes[0]; i++) {
        f.block = i;
        f.prefix = arena_text(perm, "bert.encoder.layer.%d", i);
        bert_block(&f);
    }
    f.block = kind->sizes[0];
    f.prefix = NULL;
    bert_head(&f);
    return builder.model;
}

static void gpt2_block(const struct form *f)
{
    double sh = (double)f->s * f->h;
    int h = f->h;
    layer_norm(f, "ln_1", f->s);
    linear(f, &(struct product){"attn.c_attn", f->s, h, 3 * h, 1, 4.0 * sh, SPLIT_COLUMN});
    attention(f);
    linear(f, &(struct product){"attn.c_proj", f->s, h, h, 1, sh, SPLIT_ROW});
    dropout_add(f, "attn.add");
    layer_norm(f, "ln_2", f->s);
    linear(f, &(struct product){"mlp.c_fc", f->s, h, 4 * h, 1, sh, SPLIT_COLUMN});
    gelu(f, "mlp.act", 4.0 * sh);
    divide(f, SPLIT_HEADS);
    linear(f, &(struct product){"mlp.c_proj", f->s, 4 * h, h, 1, 4.0 * sh, SPLIT_ROW});
    dropout_add(f, "mlp.add");
}

struct model *transformer_gpt2(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    struct builder builder = builder_open(kind->name, "sequence", kind->source, perm);
    struct form f = form_of(kind, &builder, seq_len);
    static const char *const tables[] = {"wte", "wpe"};
    embedding(&f, "transformer", (int[]){f.v, kind->max_seq_len}, 2, tables);
    for (int i = 0; i < kind->sizes[0]; i++) {
        f.block = i;
        f.prefix = arena_text(perm, "transformer.h.%d", i);
        gpt2_block(&f);
    }
    f.block = kind->sizes[0];
    f.prefix = NULL;
    layer_norm(&f, "transformer.ln_f", f.s);
    double sh = (double)f.s * f.h;
    product_layer(
        &f, &(struct product){"lm_head", f.s, f.h, f.v, 1, sh + (double)f.s * f.v, SPLIT_COLUMN});
    word_loss(&f, f.s);
    return builder.model;
}
