#include "workload/diffusion.h"

#include "base/must.h"
#include "workload/brick.h"

enum {
    N_LEVELS = 4,
    UNITS = 2,   /* of a level going down; one more going up */
    LATENT = 4,  /* channels of the latent image */
    REDUCES = 8, /* pixels along a side of the image per latent point */
    TIME_WIDTH = 1280,
    HEAD = 64, /* width of an attention head */
    TEXT_WIDTH = 1024,
    TEXT_TOKENS = 77,
    TEXT_WORDS = 49408,
    TEXT_LAYERS = 23 /* of 24: the last is not used */
};

static struct shape conv(struct builder *b, const char *name, struct shape in, int channels,
                         struct window k)
{
    struct shape out = brick_conv(b, name, in, channels, k);
    brick_bias(b, channels);
    return out;
}

static void linear(struct builder *b, const char *name, double rows, int in, int out)
{
    brick_linear(b, name, rows, in, out);
    brick_bias(b, out);
}

static void group_norm(struct builder *b, const char *name, struct shape s)
{
    brick_norm(b, name, s);
    brick_wide(b);
}

static void layer_norm(struct builder *b, const char *name, double rows, int width)
{
    brick_layer_norm(b, name, rows, width);
    brick_wide(b);
}

static void norm_silu(struct builder *b, const char *name, struct shape s)
{
    group_norm(b, name, s);
    brick_act(b, arena_text(b->perm, "%s.silu", name), s);
    brick_wide(b);
}

/* residual — two convolutions; `timed` ones add what the time of the diffusion makes of it. */
static struct shape residual(struct builder *b, const char *name, struct shape in, int channels,
                             bool timed)
{
    norm_silu(b, arena_text(b->perm, "%s.norm1", name), in);
    struct shape out =
        conv(b, arena_text(b->perm, "%s.conv1", name), in, channels, window_square(3, 1, 1));
    if (timed) {
        linear(b, arena_text(b->perm, "%s.time", name), 1.0, TIME_WIDTH, channels);
        brick_add(b, arena_text(b->perm, "%s.time.add", name), out);
    }
    norm_silu(b, arena_text(b->perm, "%s.norm2", name), out);
    conv(b, arena_text(b->perm, "%s.conv2", name), out, channels, window_square(3, 1, 1));
    if (in.c != channels) {
        conv(b, arena_text(b->perm, "%s.shortcut", name), in, channels, window_square(1, 1, 0));
    }
    brick_add(b, arena_text(b->perm, "%s.add", name), out);
    return out;
}

/* --- the U-Net ----------------------------------------------------------------------------------- */

/* attend — to the image itself, or to the text (whose width and length differ). */
static void attend(struct builder *b, const char *name, struct shape s, bool to_text)
{
    double rows = shape_points(s);
    double keys = to_text ? TEXT_TOKENS : rows;
    int width = to_text ? TEXT_WIDTH : s.c;
    layer_norm(b, arena_text(b->perm, "%s.norm", name), rows, s.c);
    brick_linear(b, arena_text(b->perm, "%s.q", name), rows, s.c, s.c);
    brick_linear(b, arena_text(b->perm, "%s.k", name), keys, width, s.c);
    brick_linear(b, arena_text(b->perm, "%s.v", name), keys, width, s.c);
    brick_fused_attention(b, name, &(struct attention){rows, keys, s.c, s.c / HEAD});
    linear(b, arena_text(b->perm, "%s.out", name), rows, s.c, s.c);
    brick_add(b, arena_text(b->perm, "%s.add", name), s);
}

/* transform — attention to image and text and a gated MLP, between two projections. */
static void transform(struct builder *b, const char *name, struct shape s)
{
    double rows = shape_points(s);
    struct shape inner = s;
    inner.c = 4 * s.c;
    group_norm(b, arena_text(b->perm, "%s.norm", name), s);
    brick_copy(b, arena_text(b->perm, "%s.transpose", name), 2.0 * shape_elements(s));
    linear(b, arena_text(b->perm, "%s.in", name), rows, s.c, s.c);
    attend(b, arena_text(b->perm, "%s.self", name), s, false);
    attend(b, arena_text(b->perm, "%s.text", name), s, true);
    layer_norm(b, arena_text(b->perm, "%s.ff.norm", name), rows, s.c);
    linear(b, arena_text(b->perm, "%s.ff.up", name), rows, s.c, 2 * inner.c);
    brick_act(b, arena_text(b->perm, "%s.ff.gelu", name), inner);
    brick_scale(b, arena_text(b->perm, "%s.ff.gate", name), inner);
    linear(b, arena_text(b->perm, "%s.ff.down", name), rows, inner.c, s.c);
    brick_add(b, arena_text(b->perm, "%s.ff.add", name), s);
    linear(b, arena_text(b->perm, "%s.proj", name), rows, s.c, s.c);
    brick_add(b, arena_text(b->perm, "%s.add", name), s);
}

static const int widths[N_LEVELS] = {320, 640, 1280, 1280};

/* down — the deepest level has no attention and does not shrink; every output is kept as a skip. */
static struct shape down(struct builder *b, int level, struct shape in, struct shape *skips,
                         int *n_skips)
{
    struct shape at = in;
    for (int i = 0; i < UNITS; i++) {
        const char *name = arena_text(b->perm, "down.%d.%d", level, i);
        at = residual(b, name, at, widths[level], true);
        if (level < N_LEVELS - 1) transform(b, arena_text(b->perm, "%s.attention", name), at);
        skips[(*n_skips)++] = at;
    }
    if (level == N_LEVELS - 1) return at;
    at = conv(b, arena_text(b->perm, "down.%d.half", level), at, at.c, window_square(3, 2, 1));
    skips[(*n_skips)++] = at;
    return at;
}

static struct shape up(struct builder *b, int level, struct shape in, const struct shape *skips,
                       int *n_skips)
{
    struct shape at = in;
    for (int i = 0; i < UNITS + 1; i++) {
        const char *name = arena_text(b->perm, "up.%d.%d", level, i);
        at.c += skips[--*n_skips].c;
        brick_concat(b, arena_text(b->perm, "%s.cat", name), at);
        at = residual(b, name, at, widths[level], true);
        if (level < N_LEVELS - 1) transform(b, arena_text(b->perm, "%s.attention", name), at);
    }
    if (level == 0) return at;
    at = brick_resize(b, arena_text(b->perm, "up.%d.resize", level), at, 2 * at.h, 2 * at.w);
    return conv(b, arena_text(b->perm, "up.%d.conv", level), at, at.c, window_square(3, 1, 1));
}

static void unet(struct builder *b, int side)
{
    struct shape skips[N_LEVELS * (UNITS + 1)];
    int n_skips = 0;
    struct shape latent = shape_image(LATENT, side, side);
    brick_add(b, "noise", latent);
    linear(b, "time.1", 1.0, widths[0], TIME_WIDTH);
    linear(b, "time.2", 1.0, TIME_WIDTH, TIME_WIDTH);
    struct shape at = conv(b, "in", latent, widths[0], window_square(3, 1, 1));
    skips[n_skips++] = at;
    for (int level = 0; level < N_LEVELS; level++) at = down(b, level, at, skips, &n_skips);
    at = residual(b, "mid.0", at, at.c, true);
    transform(b, "mid.attention", at);
    at = residual(b, "mid.1", at, at.c, true);
    for (int level = N_LEVELS - 1; level >= 0; level--) at = up(b, level, at, skips, &n_skips);
    norm_silu(b, "out.norm", at);
    conv(b, "out", at, LATENT, window_square(3, 1, 1));
    brick_loss(b, shape_elements(latent));
}

/* --- the frozen encoders -------------------------------------------------------------------------- */

static void image_encoder(struct builder *b, int side)
{
    static const int channels[] = {128, 256, 512, 512};
    struct shape at =
        conv(b, "vae.in", shape_image(3, side, side), channels[0], window_square(3, 1, 1));
    for (int level = 0; level < N_LEVELS; level++) {
        for (int i = 0; i < UNITS; i++) {
            const char *name = arena_text(b->perm, "vae.%d.%d", level, i);
            at = residual(b, name, at, channels[level], false);
        }
        if (level == N_LEVELS - 1) continue;
        at = conv(b, arena_text(b->perm, "vae.%d.half", level), at, at.c, window_square(3, 2, 1));
    }
    double rows = shape_points(at);
    at = residual(b, "vae.mid.0", at, at.c, false);
    group_norm(b, "vae.mid.norm", at);
    linear(b, "vae.mid.qkv", rows, at.c, 3 * at.c);
    brick_fused_attention(b, "vae.mid.attention", &(struct attention){rows, rows, at.c, 1});
    linear(b, "vae.mid.o", rows, at.c, at.c);
    brick_add(b, "vae.mid.add", at);
    at = residual(b, "vae.mid.1", at, at.c, false);
    norm_silu(b, "vae.out.norm", at);
    at = conv(b, "vae.out", at, 2 * LATENT, window_square(3, 1, 1));
    conv(b, "vae.quant", at, 2 * LATENT, window_square(1, 1, 0));
}

/* text_encoder — the text half of CLIP. Source: Radford et al., CLIP, 2021, sec. 2.4. */
static void text_encoder(struct builder *b)
{
    enum { INNER = 4 * TEXT_WIDTH, HEADS = 16 };
    double rows = TEXT_TOKENS;
    struct shape s = shape_sound(TEXT_WIDTH, TEXT_TOKENS), inner = shape_sound(INNER, TEXT_TOKENS);
    brick_look_up(b, "text.tokens", rows, TEXT_WORDS, TEXT_WIDTH);
    brick_look_up(b, "text.positions", rows, TEXT_TOKENS, TEXT_WIDTH);
    for (int i = 0; i < TEXT_LAYERS; i++) {
        const char *name = arena_text(b->perm, "text.%d", i);
        layer_norm(b, arena_text(b->perm, "%s.norm1", name), rows, TEXT_WIDTH);
        linear(b, arena_text(b->perm, "%s.qkv", name), rows, TEXT_WIDTH, 3 * TEXT_WIDTH);
        brick_attention(b, name, &(struct attention){rows, rows, TEXT_WIDTH, HEADS});
        linear(b, arena_text(b->perm, "%s.o", name), rows, TEXT_WIDTH, TEXT_WIDTH);
        brick_add(b, arena_text(b->perm, "%s.add1", name), s);
        layer_norm(b, arena_text(b->perm, "%s.norm2", name), rows, TEXT_WIDTH);
        linear(b, arena_text(b->perm, "%s.up", name), rows, TEXT_WIDTH, INNER);
        brick_act(b, arena_text(b->perm, "%s.gelu", name), inner);
        linear(b, arena_text(b->perm, "%s.down", name), rows, INNER, TEXT_WIDTH);
        brick_add(b, arena_text(b->perm, "%s.add2", name), s);
    }
    layer_norm(b, "text.norm", rows, TEXT_WIDTH);
}

struct model *diffusion_stable_2(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    if (kind->sizes[1]) {
        b->forward_only = true;
        image_encoder(b, kind->sizes[0]);
        text_encoder(b);
        b->forward_only = false;
    }
    unet(b, kind->sizes[0] / REDUCES);
    return builder.model;
}
