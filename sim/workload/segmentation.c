#include "workload/segmentation.h"

#include "base/must.h"
#include "workload/resnet.h"

enum { CLASSES = 19, HEIGHT = 512, WIDTH = 1024 };

/* classify — a score for each class and point, enlarged to the whole image. */
static void classify(struct builder *b, struct shape in)
{
    struct shape scores = brick_conv(b, "classifier", in, CLASSES, window_square(1, 1, 0));
    brick_bias(b, CLASSES);
    scores = brick_resize(b, "classifier.resize", scores, HEIGHT, WIDTH);
    brick_loss(b, shape_elements(scores));
}

/* --- DeepLabV3+ ---------------------------------------------------------------------------------- */

/* separable — each channel alone, then over channels. */
static struct shape separable(struct builder *b, const char *name, struct shape in, int channels,
                              int dilation)
{
    struct window each = window_grouped(window_dilated(window_square(3, 1, 1), dilation), in.c);
    struct shape at = brick_conv_norm(b, arena_text(b->perm, "%s.depth", name), in, in.c, each);
    return brick_conv_norm_relu(b, name, at, channels, window_square(1, 1, 0));
}

/* spatial_pyramid — five views of one image: a point, three spread windows, the mean. */
static struct shape spatial_pyramid(struct builder *b, struct shape in)
{
    static const int dilations[] = {12, 24, 36};
    enum { OUT = 256, N_VIEWS = 5 };
    struct window point = window_square(1, 1, 0);
    struct shape out = brick_conv_norm_relu(b, "aspp.point", in, OUT, point);
    for (int i = 0; i < 3; i++) {
        separable(b, arena_text(b->perm, "aspp.atrous%d", i), in, OUT, dilations[i]);
    }
    struct shape mean = brick_pool_all(b, "aspp.pool", in);
    mean = brick_conv_norm_relu(b, "aspp.mean", mean, OUT, point);
    brick_resize(b, "aspp.mean.resize", mean, out.h, out.w);
    out.c = OUT * N_VIEWS;
    brick_concat(b, "aspp.cat", out);
    out = brick_conv_norm_relu(b, "aspp.project", out, OUT, point);
    brick_dropout(b, "aspp.dropout", shape_elements(out));
    return out;
}

struct model *segmentation_deeplab(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    enum { FINE = 48, OUT = 256 };
    const struct resnet net = {.prefix = "backbone.",
                               .n_blocks = {3, 4, 6, 3},
                               .bottleneck = true,
                               .stride_in_3x3 = true,
                               .deep_stem = true,
                               .groups = 1,
                               .strides = {1, 2, 1, 1},
                               .dilations = {1, 1, 2, 4}};
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = resnet_stem(b, &net, shape_image(3, HEIGHT, WIDTH));
    struct shape fine = at = resnet_stage(b, &net, 0, at);
    for (int stage = 1; stage < 4; stage++) at = resnet_stage(b, &net, stage, at);
    at = spatial_pyramid(b, at);
    fine = brick_conv_norm_relu(b, "decoder.fine", fine, FINE, window_square(1, 1, 0));
    at = brick_resize(b, "decoder.resize", at, fine.h, fine.w);
    at.c += fine.c;
    brick_concat(b, "decoder.cat", at);
    at = separable(b, "decoder.0", at, OUT, 1);
    at = separable(b, "decoder.1", at, OUT, 1);
    classify(b, at);
    return builder.model;
}

/* --- HRNet ---------------------------------------------------------------------------------------- */

enum { MAX_BRANCHES = 4, BASIC_BLOCKS = 4 };

static void basic_blocks(struct builder *b, const char *name, struct shape s)
{
    for (int i = 0; i < BASIC_BLOCKS; i++) {
        const char *block = arena_text(b->perm, "%s.%d", name, i);
        brick_conv_norm_relu(b, arena_text(b->perm, "%s.conv1", block), s, s.c,
                             window_square(3, 1, 1));
        brick_conv_norm(b, arena_text(b->perm, "%s.conv2", block), s, s.c, window_square(3, 1, 1));
        brick_add(b, arena_text(b->perm, "%s.add", block), s);
        brick_act(b, arena_text(b->perm, "%s.relu", block), s);
    }
}

/* bring — branch `from` to the size of branch `to`: enlarged, or halved step by step. */
static void bring(struct builder *b, const char *name, const struct shape *branches, int from,
                  int to)
{
    struct shape at = branches[from];
    if (from > to) {
        at = brick_conv_norm(b, name, at, branches[to].c, window_square(1, 1, 0));
        brick_resize(b, arena_text(b->perm, "%s.resize", name), at, branches[to].h, branches[to].w);
        return;
    }
    for (int i = from + 1; i < to; i++) {
        at = brick_conv_norm_relu(b, arena_text(b->perm, "%s.half%d", name, i), at, at.c,
                                  window_square(3, 2, 1));
    }
    brick_conv_norm(b, name, at, branches[to].c, window_square(3, 2, 1));
}

/* module — the branches by themselves, then each becomes the sum of all. */
static void module(struct builder *b, const char *name, const struct shape *branches, int n)
{
    for (int i = 0; i < n; i++) {
        basic_blocks(b, arena_text(b->perm, "%s.branch%d", name, i), branches[i]);
    }
    for (int to = 0; to < n; to++) {
        for (int from = 0; from < n; from++) {
            const char *way = arena_text(b->perm, "%s.fuse%d.%d", name, to, from);
            if (from != to) bring(b, way, branches, from, to);
            if (from > 0) brick_add(b, arena_text(b->perm, "%s.add", way), branches[to]);
        }
        brick_act(b, arena_text(b->perm, "%s.fuse%d.relu", name, to), branches[to]);
    }
}

/* new_branch — of half the size of the last. */
static void new_branch(struct builder *b, struct shape *branches, int n)
{
    branches[n] = brick_conv_norm_relu(b, arena_text(b->perm, "transition%d", n), branches[n - 1],
                                       2 * branches[n - 1].c, window_square(3, 2, 1));
}

struct model *segmentation_hrnet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    static const int n_modules[] = {1, 4, 3}; /* with two, three and four branches */
    const struct resnet first = {.prefix = "stage1.",
                                 .n_blocks = {4},
                                 .bottleneck = true,
                                 .stride_in_3x3 = true,
                                 .groups = 1};
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape branches[MAX_BRANCHES];
    struct shape at =
        brick_conv_norm_relu(b, "stem1", shape_image(3, HEIGHT, WIDTH), 64, window_square(3, 2, 1));
    at = brick_conv_norm_relu(b, "stem2", at, 64, window_square(3, 2, 1));
    at = resnet_stage(b, &first, 0, at);
    branches[0] =
        brick_conv_norm_relu(b, "transition0", at, kind->sizes[0], window_square(3, 1, 1));
    branches[1] =
        brick_conv_norm_relu(b, "transition1", at, 2 * kind->sizes[0], window_square(3, 2, 1));
    for (int n = 2; n <= MAX_BRANCHES; n++) {
        if (n > 2) new_branch(b, branches, n - 1);
        for (int m = 0; m < n_modules[n - 2]; m++) {
            module(b, arena_text(perm, "stage%d.%d", n, m), branches, n);
        }
    }
    struct shape all = branches[0];
    for (int i = 1; i < MAX_BRANCHES; i++) {
        brick_resize(b, arena_text(perm, "head.resize%d", i), branches[i], all.h, all.w);
        all.c += branches[i].c;
    }
    brick_concat(b, "head.cat", all);
    all = brick_conv_norm_relu(b, "head.mix", all, all.c, window_square(1, 1, 0));
    classify(b, all);
    return builder.model;
}
