#include "workload/efficientnet.h"

#include "base/must.h"
#include "workload/brick.h"

/* a stage: n blocks that widen by `expand`; the first has the stride */
struct stage {
    bool fused; /* one convolution in place of 1x1 and depthwise; no squeeze */
    int expand, kernel, stride, channels, n;
};

enum { MAX_STAGES = 8 };
struct network {
    int stem, head;
    struct stage stages[MAX_STAGES]; /* n = 0 ends */
};

/* clang-format off */
static const struct network networks[] = {
    [EFFICIENTNET_B0] = {32, 1280, {{false, 1, 3, 1, 16, 1}, {false, 6, 3, 2, 24, 2}, {false, 6, 5, 2, 40, 2},
        {false, 6, 3, 2, 80, 3}, {false, 6, 5, 1, 112, 3}, {false, 6, 5, 2, 192, 4}, {false, 6, 3, 1, 320, 1}}},
    [EFFICIENTNET_B4] = {48, 1792, {{false, 1, 3, 1, 24, 2}, {false, 6, 3, 2, 32, 4}, {false, 6, 5, 2, 56, 4},
        {false, 6, 3, 2, 112, 6}, {false, 6, 5, 1, 160, 6}, {false, 6, 5, 2, 272, 8}, {false, 6, 3, 1, 448, 2}}},
    [EFFICIENTNET_V2_S] = {24, 1280, {{true, 1, 3, 1, 24, 2}, {true, 4, 3, 2, 48, 4}, {true, 4, 3, 2, 64, 4},
        {false, 4, 3, 2, 128, 6}, {false, 6, 3, 1, 160, 9}, {false, 6, 3, 2, 256, 15}}},
};
/* clang-format on */

static struct shape conv_norm_act(struct builder *b, const char *name, struct shape in,
                                  int channels, struct window k)
{
    struct shape out = brick_conv_norm(b, name, in, channels, k);
    brick_act(b, arena_text(b->perm, "%s.silu", name), out);
    return out;
}

static void squeeze(struct builder *b, const char *name, struct shape s, int squeezed)
{
    brick_pool_all(b, arena_text(b->perm, "%s.pool", name), s);
    brick_linear(b, arena_text(b->perm, "%s.fc1", name), 1.0, s.c, squeezed);
    brick_bias(b, squeezed);
    brick_act(b, arena_text(b->perm, "%s.silu", name), shape_image(squeezed, 1, 1));
    brick_linear(b, arena_text(b->perm, "%s.fc2", name), 1.0, squeezed, s.c);
    brick_bias(b, s.c);
    brick_act(b, arena_text(b->perm, "%s.sigmoid", name), shape_image(s.c, 1, 1));
    brick_scale(b, arena_text(b->perm, "%s.scale", name), s);
}

static struct shape fused_block(struct builder *b, const char *name, struct shape in,
                                const struct stage *stage, int stride)
{
    struct window k = window_square(stage->kernel, stride, stage->kernel / 2);
    int wide = stage->expand * in.c;
    if (stage->expand == 1) return conv_norm_act(b, name, in, stage->channels, k);
    struct shape at = conv_norm_act(b, arena_text(b->perm, "%s.expand", name), in, wide, k);
    return brick_conv_norm(b, arena_text(b->perm, "%s.project", name), at, stage->channels,
                           window_square(1, 1, 0));
}

static struct shape inverted_block(struct builder *b, const char *name, struct shape in,
                                   const struct stage *stage, int stride, bool wide_squeeze)
{
    struct shape at = in;
    int wide = stage->expand * in.c;
    struct window each = window_square(stage->kernel, stride, stage->kernel / 2);
    if (stage->expand > 1) {
        at = conv_norm_act(b, arena_text(b->perm, "%s.expand", name), at, wide,
                           window_square(1, 1, 0));
    }
    at = conv_norm_act(b, arena_text(b->perm, "%s.depth", name), at, wide,
                       window_grouped(each, wide));
    int squeezed = (wide_squeeze ? wide : in.c) / 4;
    squeeze(b, arena_text(b->perm, "%s.se", name), at, squeezed);
    return brick_conv_norm(b, arena_text(b->perm, "%s.project", name), at, stage->channels,
                           window_square(1, 1, 0));
}

static struct shape run_stage(struct builder *b, int index, const struct stage *stage,
                              struct shape in, bool wide_squeeze)
{
    struct shape at = in;
    for (int i = 0; i < stage->n; i++) {
        const char *name = arena_text(b->perm, "features.%d.%d", index, i);
        int stride = i == 0 ? stage->stride : 1;
        struct shape out = stage->fused ? fused_block(b, name, at, stage, stride)
                                        : inverted_block(b, name, at, stage, stride, wide_squeeze);
        if (stride == 1 && out.c == at.c) brick_add(b, arena_text(b->perm, "%s.add", name), out);
        at = out;
    }
    return at;
}

/* backbone — outputs[i] = what stage i leaves, of the stages that are there. */
static int backbone(struct builder *b, const struct network *network, int side, bool wide_squeeze,
                    struct shape *outputs)
{
    int n = 0;
    struct shape at = conv_norm_act(b, "features.0", shape_image(3, side, side), network->stem,
                                    window_square(3, 2, 1));
    for (; n < MAX_STAGES && network->stages[n].n > 0; n++) {
        outputs[n] = at = run_stage(b, n + 1, &network->stages[n], at, wide_squeeze);
    }
    return n;
}

struct model *efficientnet_classifier(const struct model_kind *kind, int seq_len,
                                      struct arena *perm)
{
    enum { N_CLASSES = 1000 };
    must(seq_len == 0);
    const struct network *network = &networks[kind->sizes[0]];
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape outputs[MAX_STAGES] = {{0, 0, 0, 0}};
    int n = backbone(b, network, kind->sizes[1], kind->sizes[2] != 0, outputs);
    struct shape at =
        conv_norm_act(b, "features.last", outputs[n - 1], network->head, window_square(1, 1, 0));
    at = brick_pool_all(b, "avgpool", at);
    brick_dropout(b, "dropout", at.c);
    brick_linear(b, "classifier", 1.0, at.c, N_CLASSES);
    brick_bias(b, N_CLASSES);
    brick_loss(b, N_CLASSES);
    return builder.model;
}

/* --- EfficientDet --------------------------------------------------------------------------------- */

enum { N_LEVELS = 5, FPN_WIDTH = 64, FPN_CELLS = 3, HEAD_DEPTH = 3, BOXES = 9, DET_CLASSES = 90 };

/* bring — to the pyramid's width. */
static struct shape bring(struct builder *b, const char *name, struct shape in)
{
    struct shape out = brick_conv(b, name, in, FPN_WIDTH, window_square(1, 1, 0));
    brick_bias(b, FPN_WIDTH);
    brick_norm(b, arena_text(b->perm, "%s.bn", name), out);
    return out;
}

/* node — a weighted sum of two or three levels, then a separable convolution. */
static void node(struct builder *b, const char *name, struct shape s, int n_inputs)
{
    brick_resize(b, arena_text(b->perm, "%s.resize", name), s, s.h, s.w);
    brick_scale(b, arena_text(b->perm, "%s.weigh", name), s);
    builder_tensor(b, "weights", n_inputs);
    for (int i = 1; i < n_inputs; i++) brick_add(b, arena_text(b->perm, "%s.add%d", name, i), s);
    brick_act(b, arena_text(b->perm, "%s.silu", name), s);
    brick_conv(b, arena_text(b->perm, "%s.depth", name), s, s.c,
               window_grouped(window_square(3, 1, 1), s.c));
    bring(b, arena_text(b->perm, "%s.point", name), s);
}

/* cell — down the pyramid, then up again: every level between the ends is made twice. */
static void cell(struct builder *b, int index, const struct shape *levels)
{
    for (int i = N_LEVELS - 2; i >= 0; i--) {
        node(b, arena_text(b->perm, "fpn.%d.down%d", index, i), levels[i], 2);
    }
    for (int i = 1; i < N_LEVELS; i++) {
        int n_inputs = i < N_LEVELS - 1 ? 3 : 2;
        node(b, arena_text(b->perm, "fpn.%d.up%d", index, i), levels[i], n_inputs);
    }
}

/* again — a convolution whose weights another level has already: they are counted there. */
static void again(struct builder *b, int first, const struct shape *from, const struct shape *to)
{
    struct layer layer = b->model->layers[first];
    double ratio = shape_points(*to) / shape_points(*from);
    layer.name = arena_text(b->perm, "%s.again", layer.name);
    layer.m *= ratio;
    layer.flop *= ratio;
    layer.read_elements *= ratio;
    layer.written_elements *= ratio;
    builder_layer(b, layer);
}

/* separable — one convolution for all levels. */
static void separable(struct builder *b, const char *name, const struct shape *levels, int channels)
{
    int first = b->model->n_layers;
    brick_conv(b, arena_text(b->perm, "%s.depth", name), levels[0], levels[0].c,
               window_grouped(window_square(3, 1, 1), levels[0].c));
    brick_conv(b, arena_text(b->perm, "%s.point", name), levels[0], channels,
               window_square(1, 1, 0));
    brick_bias(b, channels);
    for (int l = 1; l < N_LEVELS; l++) {
        again(b, first, &levels[0], &levels[l]);
        again(b, first + 1, &levels[0], &levels[l]);
    }
}

static void head(struct builder *b, const char *name, const struct shape *levels, int predictions)
{
    for (int i = 0; i < HEAD_DEPTH; i++) {
        const char *conv = arena_text(b->perm, "%s.%d", name, i);
        separable(b, conv, levels, FPN_WIDTH);
        for (int l = 0; l < N_LEVELS; l++) {
            brick_norm(b, arena_text(b->perm, "%s.bn%d", conv, l), levels[l]);
            brick_act(b, arena_text(b->perm, "%s.silu%d", conv, l), levels[l]);
        }
    }
    separable(b, arena_text(b->perm, "%s.predict", name), levels, predictions);
}

struct model *efficientnet_detector(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    enum { SIDE = 512, FINE = 2, MIDDLE = 4, COARSE = 6 /* stages at 1/8, 1/16, 1/32 */ };
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape outputs[MAX_STAGES] = {{0, 0, 0, 0}}, levels[N_LEVELS];
    backbone(b, &networks[EFFICIENTNET_B0], SIDE, false, outputs);
    levels[0] = bring(b, "fpn.in0", outputs[FINE]);
    levels[1] = bring(b, "fpn.in1", outputs[MIDDLE]);
    levels[2] = bring(b, "fpn.in2", outputs[COARSE]);
    bring(b, "fpn.in1.second", outputs[MIDDLE]);
    bring(b, "fpn.in2.second", outputs[COARSE]);
    struct shape at = bring(b, "fpn.in3", outputs[COARSE]);
    for (int l = 3; l < N_LEVELS; l++) {
        at = brick_pool(b, arena_text(perm, "fpn.pool%d", l), at, window_square(3, 2, 1), true);
        levels[l] = at;
    }
    for (int i = 0; i < FPN_CELLS; i++) cell(b, i, levels);
    head(b, "class", levels, BOXES * DET_CLASSES);
    head(b, "box", levels, BOXES * 4);
    double points = 0.0;
    for (int l = 0; l < N_LEVELS; l++) points += shape_points(levels[l]);
    brick_loss(b, points * BOXES * (DET_CLASSES + 4));
    return builder.model;
}
