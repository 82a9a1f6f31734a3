#include "workload/speech.h"

#include "base/must.h"
#include "workload/brick.h"

enum { FEATURES = 64, FRAMES = 1680, CHARACTERS = 29 /* and a blank */ };

/* what a block repeats: convolution over time, batch norm, ReLU, dropout */
struct unit {
    int channels, kernel;
    bool separable; /* a convolution of each channel alone, then one over channels */
};

static struct shape masked_conv(struct builder *b, const char *name, struct shape in, int channels,
                                struct window k)
{
    brick_copy(b, arena_text(b->perm, "%s.mask", name), shape_elements(in));
    return brick_conv(b, name, in, channels, k);
}

static struct shape conv_norm(struct builder *b, const char *name, struct shape in,
                              const struct unit *unit, struct window k)
{
    struct shape at = in;
    if (unit->separable) {
        at = masked_conv(b, arena_text(b->perm, "%s.depth", name), at, at.c,
                         window_grouped(k, at.c));
        k = window_span(1, 1, 0);
    }
    at = masked_conv(b, name, at, unit->channels, k);
    brick_norm(b, arena_text(b->perm, "%s.bn", name), at);
    return at;
}

static void act_dropout(struct builder *b, const char *name, struct shape s)
{
    brick_act(b, arena_text(b->perm, "%s.relu", name), s);
    brick_dropout(b, arena_text(b->perm, "%s.dropout", name), shape_elements(s));
}

/* plain — a block of one convolution */
static struct shape plain(struct builder *b, const char *name, struct shape in,
                          const struct unit *unit, struct window k)
{
    struct shape out = conv_norm(b, name, in, unit, k);
    act_dropout(b, name, out);
    return out;
}

/* residual — five convolutions; to the last is added what 1x1 convolutions make of the inputs of
 * this block and, where residuals are dense, of all blocks before it. */
static struct shape residual(struct builder *b, const char *name, const struct shape *inputs,
                             int n_inputs, const struct unit *unit)
{
    enum { REPEATS = 5 };
    struct shape at = inputs[n_inputs - 1];
    struct window k = window_span(unit->kernel, 1, unit->kernel / 2);
    for (int i = 0; i < REPEATS; i++) {
        const char *conv = arena_text(b->perm, "%s.conv%d", name, i);
        at = conv_norm(b, conv, at, unit, k);
        if (i < REPEATS - 1) act_dropout(b, conv, at);
    }
    const struct unit point = {.channels = unit->channels, .kernel = 1};
    for (int i = 0; i < n_inputs; i++) {
        const char *res = arena_text(b->perm, "%s.res%d", name, i);
        conv_norm(b, res, inputs[i], &point, window_span(1, 1, 0));
        brick_add(b, arena_text(b->perm, "%s.add", res), at);
    }
    act_dropout(b, name, at);
    return at;
}

static void characters(struct builder *b, struct shape in)
{
    struct shape scores = brick_conv(b, "decoder", in, CHARACTERS, window_span(1, 1, 0));
    brick_bias(b, CHARACTERS);
    brick_loss(b, shape_elements(scores));
}

/* Source: Li et al., Jasper, 2019, table 1 (10x5, dense residual); strides and dilation as NVIDIA's
 * training script has them. */
struct model *speech_jasper(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    static const struct unit units_of_blocks[] = {
        {256, 11, false}, {384, 13, false}, {512, 17, false}, {640, 21, false}, {768, 25, false}};
    enum { N_UNITS = sizeof units_of_blocks / sizeof *units_of_blocks, TIMES = 2 };
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "sequence", kind->source, perm);
    struct builder *b = &builder;
    struct shape inputs[N_UNITS * TIMES + 1];
    inputs[0] = plain(b, "conv1", shape_sound(FEATURES, FRAMES), &(struct unit){256, 11, false},
                      window_span(11, 2, 5));
    int n = 1;
    for (int i = 0; i < N_UNITS * TIMES; i++, n++) {
        const char *name = arena_text(perm, "block%d", n);
        inputs[n] = residual(b, name, inputs, n, &units_of_blocks[i / TIMES]);
    }
    struct shape at = plain(b, "conv2", inputs[n - 1], &(struct unit){896, 29, false},
                            window_dilated(window_span(29, 1, 0), 2));
    at = plain(b, "conv3", at, &(struct unit){1024, 1, false}, window_span(1, 1, 0));
    characters(b, at);
    return builder.model;
}

/* Source: Kriman et al., QuartzNet, 2020, table 1 (15x5). */
struct model *speech_quartznet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    static const struct unit units_of_blocks[] = {
        {256, 33, true}, {256, 39, true}, {512, 51, true}, {512, 63, true}, {512, 75, true}};
    enum { N_UNITS = sizeof units_of_blocks / sizeof *units_of_blocks, TIMES = 3 };
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "sequence", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = plain(b, "conv1", shape_sound(FEATURES, FRAMES),
                            &(struct unit){256, 33, true}, window_span(33, 2, 16));
    for (int i = 0; i < N_UNITS * TIMES; i++) {
        at = residual(b, arena_text(perm, "block%d", i + 1), &at, 1, &units_of_blocks[i / TIMES]);
    }
    at = plain(b, "conv2", at, &(struct unit){512, 87, true},
               window_dilated(window_span(87, 1, 0), 2));
    at = plain(b, "conv3", at, &(struct unit){1024, 1, false}, window_span(1, 1, 0));
    characters(b, at);
    return builder.model;
}

/* --- FastPitch ----------------------------------------------------------------------------------- */

enum {
    CLIP_FRAMES = 870,
    CLIP_SYMBOLS = 154, /* 99.9 characters x 10.1 s / 6.57 s */
    N_SYMBOLS = 148,
    WIDTH = 384,
    HEAD = 64,
    INNER = 1536,
    MELS = 80,
    PREDICTOR = 256,
    FFT_LAYERS = 6
};

static struct shape conv_over_time(struct builder *b, const char *name, struct shape in,
                                   int channels, int kernel)
{
    struct shape out = brick_conv(b, name, in, channels, window_span(kernel, 1, kernel / 2));
    brick_bias(b, channels);
    return out;
}

static void add_norm(struct builder *b, const char *name, struct shape s)
{
    brick_dropout(b, arena_text(b->perm, "%s.dropout", name), shape_elements(s));
    brick_add(b, arena_text(b->perm, "%s.add", name), s);
    brick_norm(b, arena_text(b->perm, "%s.norm", name), s);
    brick_copy(b, arena_text(b->perm, "%s.mask", name), shape_elements(s));
}

/* fft_layer — attention with one head, then two convolutions in place of two matrices. */
static void fft_layer(struct builder *b, const char *name, struct shape s)
{
    double rows = s.w;
    brick_linear(b, arena_text(b->perm, "%s.qkv", name), rows, WIDTH, 3 * HEAD);
    brick_bias(b, 3 * HEAD);
    brick_attention(b, arena_text(b->perm, "%s.attention", name),
                    &(struct attention){rows, rows, HEAD, 1});
    brick_linear(b, arena_text(b->perm, "%s.o", name), rows, HEAD, WIDTH);
    add_norm(b, arena_text(b->perm, "%s.attention", name), s);
    brick_copy(b, arena_text(b->perm, "%s.transpose", name), 2.0 * shape_elements(s));
    struct shape wide = conv_over_time(b, arena_text(b->perm, "%s.conv1", name), s, INNER, 3);
    brick_act(b, arena_text(b->perm, "%s.relu", name), wide);
    conv_over_time(b, arena_text(b->perm, "%s.conv2", name), wide, WIDTH, 3);
    add_norm(b, arena_text(b->perm, "%s.conv", name), s);
}

static void fft(struct builder *b, const char *name, struct shape s)
{
    for (int i = 0; i < FFT_LAYERS; i++) fft_layer(b, arena_text(b->perm, "%s.%d", name, i), s);
}

/* predictor — of a number for each symbol: two convolutions, ReLU and norm. */
static void predictor(struct builder *b, const char *name, struct shape s)
{
    struct shape at = s;
    for (int i = 0; i < 2; i++) {
        const char *conv = arena_text(b->perm, "%s.conv%d", name, i);
        at = conv_over_time(b, conv, at, PREDICTOR, 3);
        brick_act(b, arena_text(b->perm, "%s.relu", conv), at);
        brick_norm(b, arena_text(b->perm, "%s.norm", conv), at);
        brick_dropout(b, arena_text(b->perm, "%s.dropout", conv), shape_elements(at));
    }
    brick_linear(b, arena_text(b->perm, "%s.fc", name), at.w, PREDICTOR, 1);
    brick_bias(b, 1);
}

/* aligner — which symbol each frame belongs to: distances between projections of the two. */
static void aligner(struct builder *b, struct shape symbols, struct shape mels)
{
    struct shape keys = conv_over_time(b, "attention.key1", symbols, 2 * WIDTH, 3);
    brick_act(b, "attention.key1.relu", keys);
    conv_over_time(b, "attention.key2", keys, MELS, 1);
    struct shape queries = conv_over_time(b, "attention.query1", mels, 2 * MELS, 3);
    brick_act(b, "attention.query1.relu", queries);
    queries = conv_over_time(b, "attention.query2", queries, MELS, 1);
    brick_act(b, "attention.query2.relu", queries);
    conv_over_time(b, "attention.query3", queries, MELS, 1);
    brick_attention(b, "attention", &(struct attention){mels.w, symbols.w, MELS, 1});
}

/* Source: Lancucki, FastPitch, 2021, sec. 2, with the aligner and the energy of its version 1.1;
 * widths as NVIDIA's training script has them. */
struct model *speech_fastpitch(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "sequence", kind->source, perm);
    struct builder *b = &builder;
    struct shape symbols = shape_sound(WIDTH, CLIP_SYMBOLS);
    struct shape frames = shape_sound(WIDTH, CLIP_FRAMES);
    brick_look_up(b, "encoder.word_emb", symbols.w, N_SYMBOLS, WIDTH);
    fft(b, "encoder", symbols);
    aligner(b, symbols, shape_sound(MELS, CLIP_FRAMES));
    predictor(b, "duration", symbols);
    static const char *const tracks[] = {"pitch", "energy"};
    for (int i = 0; i < 2; i++) {
        predictor(b, tracks[i], symbols);
        conv_over_time(b, arena_text(perm, "%s_emb", tracks[i]), shape_sound(1, CLIP_SYMBOLS),
                       WIDTH, 3);
        brick_add(b, arena_text(perm, "%s_emb.add", tracks[i]), symbols);
    }
    brick_copy(b, "regulate", shape_elements(frames));
    fft(b, "decoder", frames);
    brick_linear(b, "proj", frames.w, WIDTH, MELS);
    brick_bias(b, MELS);
    brick_loss(b, (double)MELS * frames.w);
    return builder.model;
}
