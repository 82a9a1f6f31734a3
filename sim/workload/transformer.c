#include "workload/transformer.h"

#include "base/must.h"
#include "workload/builder.h"

#include <math.h>
#include <string.h>

/* what every part of a transformer needs to know */
struct form {
    struct builder *b;
    const char *prefix; /* of the names of the present block */
    int block;          /* see struct layer */
    int size[N_TEXT_SIZES];
    int h, d;       /* widths: of the model, of a head's values */
    double s, s_kv; /* positions, and those that attention looks at */
    bool causal;
};

static bool has(const struct form *f, enum text_style style)
{
    return ((unsigned)f->size[TEXT_STYLE] & (unsigned)style) != 0;
}

static bool is_frozen(const struct form *f)
{
    return f->size[TEXT_ADAPTER_RANK] > 0;
}

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

/* move — kernels that only move data: their arithmetic is about one operation per element. */
static void move(const struct form *f, struct layer layer)
{
    layer.fused = true;
    layer.flop = layer.read_elements + layer.written_elements;
    append(f, layer);
}

/* weight — parameters of the layer added last. */
static void weight(const struct form *f, const char *suffix, double n_elements)
{
    struct model *model = f->b->model;
    if (is_frozen(f)) {
        model->layers[model->n_layers - 1].frozen_elements += n_elements;
    } else {
        builder_tensor(f->b, suffix, (int64_t)n_elements);
    }
}

/* a product with weights, applied to `rows` positions; of several kernels each gives its share of
 * the outputs; of several experts each has its rows and its weights */
struct product {
    const char *name;
    double rows;
    int in, out;
    int n_kernels, n_experts; /* 0 = 1 */
    enum layer_split split;
    bool keeps_output; /* for backward, besides its input */
    bool biased, tied; /* tied: the weight is another layer's */
};

/* product — frozen weights need no input in backward, as they have no gradient. */
static void product(const struct form *f, const struct product *p)
{
    int n_kernels = p->n_kernels ? p->n_kernels : 1;
    int n_experts = p->n_experts ? p->n_experts : 1;
    double n_products = (double)n_kernels * n_experts;
    double in = p->rows * n_experts * p->in, out = p->rows * n_experts * p->out;
    double kept = is_frozen(f) ? 0.0 : in;
    append(f, (struct layer){.name = p->name,
                             .kind = LAYER_LINEAR,
                             .split = p->split,
                             .m = p->rows,
                             .n = (double)p->out / n_kernels,
                             .k = p->in,
                             .n_products = n_products,
                             .flop = 2.0 * in * p->out,
                             .read_elements = in * n_kernels,
                             .written_elements = out,
                             .kept_elements = kept + (p->keeps_output ? out : 0.0),
                             .n_kernels = n_kernels});
    if (!p->tied) weight(f, "weight", (double)n_experts * p->in * p->out);
    if (p->biased) weight(f, "bias", (double)n_experts * p->out);
}

/* learned — a product whose weights are trained though the rest is frozen. */
static void learned(const struct form *f, const struct product *p)
{
    struct form trained = *f;
    trained.size[TEXT_ADAPTER_RANK] = 0;
    product(&trained, p);
}

/* adapt — adds x A B to the output of a frozen product; A takes the product's input, so of the two
 * the one on the cut side is cut. */
static void adapt(const struct form *f, const struct product *p)
{
    int rank = f->size[TEXT_ADAPTER_RANK];
    if (rank == 0) return;
    learned(f, &(struct product){.name = arena_text(f->b->perm, "%s.adapter.a", p->name),
                                 .rows = p->rows,
                                 .in = p->in,
                                 .out = rank,
                                 .split = p->split == SPLIT_ROW ? SPLIT_ROW : SPLIT_NONE});
    learned(f, &(struct product){.name = arena_text(f->b->perm, "%s.adapter.b", p->name),
                                 .rows = p->rows,
                                 .in = rank,
                                 .out = p->out,
                                 .split = p->split == SPLIT_ROW ? SPLIT_NONE : SPLIT_COLUMN});
    double out = p->rows * p->out;
    move(f, (struct layer){.name = arena_text(f->b->perm, "%s.adapter.add", p->name),
                           .kind = LAYER_ELEMENTWISE,
                           .split = p->split == SPLIT_ROW ? SPLIT_NONE : SPLIT_HEADS,
                           .read_elements = 2.0 * out,
                           .written_elements = out,
                           .n_kernels = 1});
}

static void norm(const struct form *f, const char *name, double rows)
{
    double elements = rows * f->h;
    move(f, (struct layer){.name = name,
                           .kind = LAYER_NORM,
                           .read_elements = elements,
                           .written_elements = elements,
                           .kept_elements = elements,
                           .n_kernels = 1});
    weight(f, "weight", f->h);
    if (has(f, TEXT_NORM_BIASES)) weight(f, "bias", f->h);
}

/* add — a block's part joins what goes past it, after dropout where there is any. */
static void add(const struct form *f, const char *name)
{
    double sh = f->s * f->h;
    bool drops = has(f, TEXT_DROPOUT);
    move(f, (struct layer){.name = name,
                           .kind = LAYER_ELEMENTWISE,
                           .read_elements = 2.0 * sh,
                           .written_elements = drops ? 2.0 * sh : sh,
                           .kept_elements = drops ? 0.5 * sh : 0.0,
                           .n_kernels = drops ? 2 : 1});
}

static void gelu(const struct form *f, const char *name, double elements)
{
    move(f, (struct layer){.name = name,
                           .kind = LAYER_ELEMENTWISE,
                           .read_elements = elements,
                           .written_elements = elements,
                           .kept_elements = elements,
                           .n_kernels = 1});
}

/* --- attention ----------------------------------------------------------------------------------- */

/* attended — pairs of positions that fused attention works on: under a causal mask row i sees i
 * positions, or the window's. */
static double attended(const struct form *f)
{
    double s = f->s;
    if (!f->causal) return s * f->s_kv;
    double w = f->size[TEXT_WINDOW] > 0 && f->block % 2 == 0 ? fmin(f->size[TEXT_WINDOW], s) : s;
    return s * w - w * w / 2.0;
}

static void fused_core(const struct form *f, int d_qk)
{
    double a = f->size[TEXT_HEADS], kv = f->size[TEXT_KV_HEADS];
    double pairs = attended(f);
    append(f, (struct layer){.name = "attention.core",
                             .kind = LAYER_ATTENTION,
                             .split = SPLIT_HEADS,
                             .m = f->s,
                             .n = f->s_kv,
                             .k = (d_qk + f->d) / 2.0,
                             .n_products = 2.0 * a * pairs / (f->s * f->s_kv),
                             .flop = 2.0 * a * pairs * (d_qk + f->d),
                             .recomputed_flop = 2.0 * a * pairs * d_qk,
                             .read_elements = f->s * a * d_qk + f->s_kv * kv * (d_qk + f->d),
                             .written_elements = f->s * a * f->d,
                             .kept_elements = 2.0 * a * f->s, /* one number in 32 bits per row */
                             .n_kernels = 1,
                             .fused = true});
}

static void scores(const struct form *f, int d_qk)
{
    double a = f->size[TEXT_HEADS], kv = f->size[TEXT_KV_HEADS];
    append(f, (struct layer){.name = "attention.scores",
                             .kind = LAYER_ATTENTION,
                             .split = SPLIT_HEADS,
                             .m = f->s,
                             .n = f->s_kv,
                             .k = d_qk,
                             .n_products = a,
                             .flop = 2.0 * a * f->s * f->s_kv * d_qk,
                             .read_elements = d_qk * (f->s * a + f->s_kv * kv),
                             .written_elements = a * f->s * f->s_kv,
                             .n_kernels = 1});
}

/* softmax — scale, mask, softmax, dropout. Kept: softmax's output and, with dropout, its mask and
 * output. */
static void softmax(const struct form *f)
{
    double square = f->size[TEXT_HEADS] * f->s * f->s_kv;
    bool drops = has(f, TEXT_DROPOUT);
    int n_kernels = drops ? 4 : 3;
    move(f, (struct layer){.name = "attention.softmax",
                           .kind = LAYER_ELEMENTWISE,
                           .split = SPLIT_HEADS,
                           .read_elements = n_kernels * square,
                           .written_elements = n_kernels * square,
                           .kept_elements = drops ? 2.5 * square : square,
                           .n_kernels = n_kernels});
}

static void context(const struct form *f)
{
    double a = f->size[TEXT_HEADS], kv = f->size[TEXT_KV_HEADS];
    append(f, (struct layer){.name = "attention.context",
                             .kind = LAYER_ATTENTION,
                             .split = SPLIT_HEADS,
                             .m = f->s,
                             .n = f->d,
                             .k = f->s_kv,
                             .n_products = a,
                             .flop = 2.0 * a * f->s * f->s_kv * f->d,
                             .read_elements = a * f->s * f->s_kv + f->s_kv * kv * f->d,
                             .written_elements = f->s * a * f->d,
                             .n_kernels = 1});
}

/* latent — queries, keys and values from narrow latents, each normalised.
 * Source: DeepSeek-AI, DeepSeek-V2, 2024, sec. 2.1. Queries without a rank are made at once. */
static void latent(const struct form *f)
{
    int a = f->size[TEXT_HEADS], rope = f->size[TEXT_ROPE_SIZE];
    int q_rank = f->size[TEXT_Q_RANK], kv_rank = f->size[TEXT_KV_RANK];
    struct form narrow = *f;
    struct product down = {.name = "attention.q_down", .rows = f->s, .in = f->h, .out = q_rank};
    struct product up = {.name = "attention.q_up",
                         .rows = f->s,
                         .in = q_rank ? q_rank : f->h,
                         .out = a * (f->d + rope),
                         .split = SPLIT_COLUMN,
                         .keeps_output = true};
    narrow.h = q_rank;
    if (q_rank) {
        product(f, &down);
        norm(&narrow, "attention.q_norm", f->s);
    }
    product(f, &up);
    down.name = "attention.kv_down";
    down.out = kv_rank + rope;
    product(f, &down);
    narrow.h = kv_rank;
    norm(&narrow, "attention.kv_norm", f->s);
    up.name = "attention.kv_up";
    up.in = kv_rank;
    up.out = 2 * a * f->d;
    product(f, &up);
}

/* projections — query, key and value of the block's own positions; keeps input and outputs. */
static void projections(const struct form *f)
{
    int q = f->size[TEXT_HEADS] * f->d, kv = f->size[TEXT_KV_HEADS] * f->d;
    bool biased = has(f, TEXT_BIASES) || has(f, TEXT_QKV_BIASES), apart = has(f, TEXT_APART);
    struct product qkv = {"attention.qkv", f->s, f->h,   q + 2 * kv, apart ? 3 : 1, 0,
                          SPLIT_COLUMN,    true, biased, false};
    product(f, &qkv);
    adapt(f, &qkv);
}

/* cross_projections — queries of the decoder, keys and values of the encoder's output. */
static void cross_projections(const struct form *f)
{
    int q = f->size[TEXT_HEADS] * f->d, kv = f->size[TEXT_KV_HEADS] * f->d;
    bool biased = has(f, TEXT_BIASES);
    product(f, &(struct product){"attention.q", f->s, f->h, q, 0, 0, SPLIT_COLUMN, true, biased,
                                 false});
    product(f, &(struct product){"attention.kv", f->s_kv, f->h, 2 * kv, 0, 0, SPLIT_COLUMN, true,
                                 biased, false});
}

/* turn — what is done to queries and keys: a norm per head, rotation in place. */
static void turn(const struct form *f)
{
    double elements = f->s * (f->size[TEXT_HEADS] + f->size[TEXT_KV_HEADS]) * f->d;
    struct layer layer = {.name = "attention.qk_norm",
                          .kind = LAYER_NORM,
                          .split = SPLIT_HEADS,
                          .read_elements = elements,
                          .written_elements = elements,
                          .kept_elements = elements,
                          .n_kernels = 2};
    if (has(f, TEXT_QK_NORM)) {
        move(f, layer);
        weight(f, "weight", 2.0 * f->d);
    }
    if (!has(f, TEXT_ROTARY)) return;
    layer.name = "attention.rotary";
    layer.kind = LAYER_ELEMENTWISE;
    layer.kept_elements = 0.0;
    move(f, layer);
}

static void attention(const struct form *f, bool cross)
{
    int d_qk = f->d + f->size[TEXT_ROPE_SIZE];
    norm(f, "attention.norm", f->s);
    if (cross) {
        cross_projections(f);
    } else if (f->size[TEXT_KV_RANK] > 0) {
        latent(f);
    } else {
        projections(f);
    }
    if (!cross) turn(f);
    if (has(f, TEXT_FUSED_ATTENTION)) {
        fused_core(f, d_qk);
    } else {
        scores(f, d_qk);
        softmax(f);
        context(f);
    }
    struct product out = {"attention.output", f->s,  f->size[TEXT_HEADS] * f->d, f->h, 0, 0,
                          SPLIT_ROW,          false, has(f, TEXT_BIASES),        false};
    product(f, &out);
    adapt(f, &out);
    add(f, "attention.add");
}

/* --- MLP, dense or of experts -------------------------------------------------------------------- */

/* an MLP of inner width `ffn` at `rows` positions of each expert */
struct mlp {
    const char *name;
    double rows;
    int ffn, n_experts;
    enum layer_split up, inside, down;
};

static void mlp(const struct form *f, const struct mlp *m)
{
    struct arena *perm = f->b->perm;
    bool gated = has(f, TEXT_GATED), biased = has(f, TEXT_BIASES);
    double inner = m->rows * m->n_experts * m->ffn, before = gated ? 2.0 * inner : inner;
    product(f, &(struct product){.name = arena_text(perm, "%s.up", m->name),
                                 .rows = m->rows,
                                 .in = f->h,
                                 .out = gated ? 2 * m->ffn : m->ffn,
                                 .n_experts = m->n_experts,
                                 .split = m->up,
                                 .biased = biased});
    move(f, (struct layer){.name = arena_text(perm, "%s.act", m->name),
                           .kind = LAYER_ELEMENTWISE,
                           .split = m->inside,
                           .read_elements = before,
                           .written_elements = inner,
                           .kept_elements = before,
                           .n_kernels = 1});
    product(f, &(struct product){.name = arena_text(perm, "%s.down", m->name),
                                 .rows = m->rows,
                                 .in = m->ffn,
                                 .out = f->h,
                                 .n_experts = m->n_experts,
                                 .split = m->down,
                                 .biased = biased});
}

/* experts — a router chooses k experts for each position; its position is copied to them in order of
 * experts (permute) and their outputs are summed with the router's weights (unpermute). */
static void experts(const struct form *f)
{
    int n = f->size[TEXT_EXPERTS], shared = f->size[TEXT_SHARED_FFN];
    double chosen = f->s * f->size[TEXT_EXPERTS_PER_TOKEN];
    struct layer permute = {.name = "moe.permute",
                            .kind = LAYER_ELEMENTWISE,
                            .read_elements = chosen * f->h,
                            .written_elements = chosen * f->h,
                            .n_kernels = 1};
    product(f, &(struct product){.name = "moe.router",
                                 .rows = f->s,
                                 .in = f->h,
                                 .out = n,
                                 .biased = has(f, TEXT_BIASES)});
    move(f, (struct layer){.name = "moe.route",
                           .kind = LAYER_ELEMENTWISE,
                           .read_elements = 2.0 * f->s * n,
                           .written_elements = f->s * n + chosen,
                           .kept_elements = f->s * n,
                           .n_kernels = 2});
    move(f, permute);
    mlp(f, &(struct mlp){"moe.experts", chosen / n, f->size[TEXT_EXPERT_FFN], n, SPLIT_EXPERTS,
                         SPLIT_EXPERTS, SPLIT_EXPERTS});
    permute.name = "moe.unpermute";
    permute.kept_elements = chosen * f->h;
    move(f, permute);
    if (shared)
        mlp(f, &(struct mlp){"moe.shared", f->s, shared, 1, SPLIT_COLUMN, SPLIT_HEADS, SPLIT_ROW});
}

static void inner_part(const struct form *f)
{
    norm(f, "mlp.norm", f->s);
    if (f->size[TEXT_EXPERTS] > 0 && f->block >= f->size[TEXT_DENSE_BLOCKS]) {
        experts(f);
    } else {
        mlp(f,
            &(struct mlp){"mlp", f->s, f->size[TEXT_FFN], 1, SPLIT_COLUMN, SPLIT_HEADS, SPLIT_ROW});
    }
    add(f, "mlp.add");
}

/* --- ends ---------------------------------------------------------------------------------------- */

/* embedding — look-ups and their sum, then dropout; the word table comes first. */
static void embedding(const struct form *f, const char *name, bool tied)
{
    int positions = f->size[TEXT_POSITIONS];
    bool drops = has(f, TEXT_DROPOUT);
    int n_kernels = (positions > 0 ? 3 : 1) + (drops ? 1 : 0);
    double sh = f->s * f->h;
    move(f, (struct layer){.name = name,
                           .kind = LAYER_EMBEDDING,
                           .split = SPLIT_COLUMN,
                           .read_elements = n_kernels * sh,
                           .written_elements = n_kernels * sh,
                           .kept_elements = drops ? 0.5 * sh : 0.0,
                           .n_kernels = n_kernels});
    if (tied) return;
    weight(f, "word", (double)f->size[TEXT_VOCABULARY] * f->h);
    if (positions > 0) weight(f, "position", (double)positions * f->h);
}

/* patches — each is multiplied into the width; the class goes before them, positions are added. */
static void patches(const struct form *f)
{
    double sh = f->s * f->h;
    product(f, &(struct product){.name = "patches",
                                 .rows = f->s - 1.0,
                                 .in = f->size[TEXT_VOCABULARY],
                                 .out = f->h,
                                 .biased = true});
    move(f, (struct layer){.name = "positions",
                           .kind = LAYER_EMBEDDING,
                           .read_elements = 2.0 * sh,
                           .written_elements = 2.0 * sh,
                           .n_kernels = 2});
    weight(f, "class", f->h);
    weight(f, "position", sh);
}

static void loss(const struct form *f, double logits)
{
    move(f, (struct layer){.name = "loss",
                           .kind = LAYER_LOSS,
                           .split = SPLIT_HEADS,
                           .read_elements = 2.0 * logits,
                           .written_elements = 2.0 * logits,
                           .kept_elements = logits,
                           .n_kernels = 2});
}

static void word_head(const struct form *f)
{
    int v = f->size[TEXT_VOCABULARY];
    norm(f, "norm", f->s);
    product(f, &(struct product){"head", f->s, f->h, v, 0, 0, SPLIT_COLUMN, true, false,
                                 has(f, TEXT_TIED)});
    loss(f, f->s * v);
}

/* masked_words — the head at the masked positions; returns its logits. Its bias is registered ahead of
 * the layers before it. */
static double masked_words(const struct form *f)
{
    int v = f->size[TEXT_VOCABULARY];
    double masked = ceil(f->s * 20.0 / 128.0);
    int bias = is_frozen(f) ? -1 : builder_early_tensor(f->b, "head.bias", v);
    product(f,
            &(struct product){
                .name = "head.transform", .rows = masked, .in = f->h, .out = f->h, .biased = true});
    gelu(f, "head.gelu", masked * f->h);
    norm(f, "head.norm", masked);
    product(
        f, &(struct product){"head.words", masked, f->h, v, 0, 0, SPLIT_COLUMN, true, false, true});
    if (bias >= 0) builder_claim(f->b, bias);
    return masked * v;
}

/* encoder_head — BERT's two tasks: masked words, and whether two sentences follow each other from
 * the first position; or an answer's start and end. */
static void encoder_head(const struct form *f)
{
    norm(f, "norm", f->s);
    if (has(f, TEXT_CLASSIFIES)) {
        product(f, &(struct product){
                       .name = "head", .rows = f->s, .in = f->h, .out = 2, .biased = true});
        loss(f, 2.0 * f->s);
        return;
    }
    product(f, &(struct product){
                   .name = "pooler", .rows = 1.0, .in = f->h, .out = f->h, .biased = true});
    gelu(f, "pooler.tanh", f->h);
    double logits = masked_words(f);
    product(f,
            &(struct product){
                .name = "head.next_sentence", .rows = 1.0, .in = f->h, .out = 2, .biased = true});
    loss(f, logits);
}

static const int N_CLASSES = 1000; /* of ImageNet */

static void class_head(const struct form *f)
{
    norm(f, "norm", f->s);
    product(f, &(struct product){
                   .name = "head", .rows = 1.0, .in = f->h, .out = N_CLASSES, .biased = true});
    loss(f, N_CLASSES);
}

/* stack — n more blocks; of a decoder behind an encoder with attention to its memory. */
static void stack(struct form *f, int n, double memory)
{
    for (int i = 0; i < n; i++) {
        f->prefix = arena_text(f->b->perm, "block.%d", f->block);
        attention(f, false);
        if (memory > 0.0) {
            struct form cross = *f;
            cross.prefix = arena_text(f->b->perm, "block.%d.cross", f->block);
            cross.s_kv = memory;
            cross.causal = false;
            attention(&cross, true);
        }
        inner_part(f);
        f->block++;
    }
    f->prefix = NULL;
}

static void encoder_decoder(struct form *f)
{
    double memory = f->s;
    int n = f->size[TEXT_BLOCKS];
    f->causal = false;
    stack(f, n / 2, 0.0);
    norm(f, "encoder.norm", f->s);
    f->s = ceil(f->s * f->size[TEXT_TARGET] / 100.0);
    f->s_kv = f->s;
    f->causal = true;
    embedding(f, "decoder.embedding", true);
    stack(f, n - n / 2, memory);
    word_head(f);
}

/* electra — a small generator fills the masked words, the model tells at every position whether the
 * word is its own. The generator reads the model's table through a product and counts as before the
 * first block. Source: Clark et al., ELECTRA, 2020, sec. 3. */
static void electra(struct form *f)
{
    struct form small = *f;
    small.h = f->size[TEXT_GENERATOR];
    small.d = f->d < small.h ? f->d : small.h; /* a narrow generator has one head, as wide as it */
    small.size[TEXT_HEADS] = small.size[TEXT_KV_HEADS] = small.h / small.d;
    small.size[TEXT_FFN] = 4 * small.h;
    small.block = 0;
    product(
        f,
        &(struct product){
            .name = "generator.project", .rows = f->s, .in = f->h, .out = small.h, .biased = true});
    int first = f->b->model->n_layers;
    stack(&small, f->size[TEXT_BLOCKS], 0.0);
    loss(&small, masked_words(&small));
    for (int l = first; l < f->b->model->n_layers; l++) f->b->model->layers[l].block = -1;
    embedding(f, "embedding.replaced", true);
    f->block = 0;
    stack(f, f->size[TEXT_BLOCKS], 0.0);
    norm(f, "norm", f->s);
    product(f,
            &(struct product){
                .name = "head.transform", .rows = f->s, .in = f->h, .out = f->h, .biased = true});
    gelu(f, "head.gelu", f->s * f->h);
    product(f,
            &(struct product){.name = "head", .rows = f->s, .in = f->h, .out = 1, .biased = true});
    loss(f, f->s);
}

static void fill(int *size, int otherwise)
{
    if (*size == 0) *size = otherwise;
}

/* form_of — the kind's sizes with what they leave out. A head is 64 wide in models narrower than
 * 2048 (BERT, GPT-2, T5) and 128 in wider ones (GPT-3, Llama). */
static struct form form_of(const struct model_kind *kind, int seq_len, struct builder *b)
{
    struct form f = {.b = b, .block = -1, .s = seq_len > 0 ? seq_len : kind->default_seq_len};
    must(seq_len <= kind->max_seq_len);
    memcpy(f.size, kind->sizes, sizeof f.size);
    f.h = f.size[TEXT_HIDDEN];
    int width = f.size[TEXT_HEAD_SIZE] ? f.size[TEXT_HEAD_SIZE] : f.h < 2048 ? 64 : 128;
    fill(&f.size[TEXT_HEADS], f.h / width > 0 ? f.h / width : 1);
    fill(&f.size[TEXT_KV_HEADS], f.size[TEXT_HEADS]);
    fill(&f.size[TEXT_HEAD_SIZE], f.h / f.size[TEXT_HEADS]);
    fill(&f.size[TEXT_FFN], 4 * f.h);
    fill(&f.size[TEXT_EXPERT_FFN], f.size[TEXT_FFN]);
    fill(&f.size[TEXT_TARGET], 100);
    f.d = f.size[TEXT_HEAD_SIZE];
    f.s_kv = f.s;
    f.causal = !has(&f, TEXT_ENCODER);
    return f;
}

struct model *transformer(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    bool images = kind->sizes[TEXT_STYLE] & TEXT_IMAGES;
    struct builder builder =
        builder_open(kind->name, images ? "image" : "sequence", kind->source, perm);
    struct form f = form_of(kind, seq_len, &builder);
    must(f.h > 0 && f.size[TEXT_BLOCKS] > 0 && f.size[TEXT_VOCABULARY] > 0 && f.s > 0.0);
    builder.model->tokens_per_sample = f.s;
    builder.model->n_blocks = f.size[TEXT_BLOCKS];
    builder.model->n_experts = f.size[TEXT_EXPERTS];
    builder.model->experts_per_token = f.size[TEXT_EXPERTS_PER_TOKEN];
    if (images) {
        patches(&f);
    } else {
        embedding(&f, "embedding", false);
    }
    if (f.size[TEXT_GENERATOR] > 0) {
        electra(&f);
        return builder.model;
    }
    f.block = 0;
    if (has(&f, TEXT_ENCODER_DECODER)) {
        encoder_decoder(&f);
        return builder.model;
    }
    stack(&f, f.size[TEXT_BLOCKS], 0.0);
    if (images) {
        class_head(&f);
    } else if (has(&f, TEXT_ENCODER)) {
        encoder_head(&f);
    } else {
        word_head(&f);
    }
    return builder.model;
}
