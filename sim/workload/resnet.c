#include "workload/resnet.h"

/* A basic block is conv3x3 - conv3x3, a bottleneck conv1x1 - conv3x3 - conv1x1; each is followed by
 * batch norm. The first block of a stage halves the image and widens: its shortcut is a strided 1x1
 * convolution, registered after the block's own and run after them.
 * Source: He et al., Deep residual learning for image recognition, 2016, table 1; Xie et al.,
 * Aggregated residual transformations, 2017, table 1; order of parameters:
 * torchvision/models/resnet.py. */
struct block {
    const char *name;
    int width, stride, dilation;
    const struct resnet *net;
};

static void norm(struct builder *b, const struct resnet *net, const char *name, struct shape s)
{
    if (net->fixed_norm) {
        brick_scale(b, name, s);
    } else {
        brick_norm(b, name, s);
    }
}

static struct shape conv_norm(struct builder *b, const struct block *block, int i, struct shape in,
                              int channels, struct window k)
{
    const char *name = arena_text(b->perm, "%s.conv%d", block->name, i);
    struct shape out = brick_conv(b, name, in, channels, k);
    norm(b, block->net, arena_text(b->perm, "%s.bn%d", block->name, i), out);
    return out;
}

static void shortcut(struct builder *b, const struct block *block, struct shape in, int channels)
{
    const char *name = arena_text(b->perm, "%s.downsample.0", block->name);
    struct shape out = brick_conv(b, name, in, channels, window_square(1, block->stride, 0));
    norm(b, block->net, arena_text(b->perm, "%s.downsample.1", block->name), out);
}

void squeeze_excite(struct builder *b, const char *name, struct shape s, int squeezed)
{
    brick_pool_all(b, arena_text(b->perm, "%s.pool", name), s);
    brick_linear(b, arena_text(b->perm, "%s.fc1", name), 1.0, s.c, squeezed);
    brick_bias(b, squeezed);
    brick_act(b, arena_text(b->perm, "%s.act", name), shape_image(squeezed, 1, 1));
    brick_linear(b, arena_text(b->perm, "%s.fc2", name), 1.0, squeezed, s.c);
    brick_bias(b, s.c);
    brick_act(b, arena_text(b->perm, "%s.gate", name), shape_image(s.c, 1, 1));
    brick_scale(b, arena_text(b->perm, "%s.scale", name), s);
}

static struct shape bottleneck(struct builder *b, const struct block *block, struct shape in)
{
    const struct resnet *net = block->net;
    int stride_first = net->stride_in_3x3 ? 1 : block->stride;
    int inner = net->groups > 1 ? 4 * net->groups * block->width / 64 : block->width;
    struct window middle = window_square(3, block->stride / stride_first, 1);
    if (block->dilation > 1) middle = window_dilated(middle, block->dilation);
    struct shape at = conv_norm(b, block, 1, in, inner, window_square(1, stride_first, 0));
    brick_act(b, arena_text(b->perm, "%s.relu1", block->name), at);
    at = conv_norm(b, block, 2, at, inner, window_grouped(middle, net->groups));
    brick_act(b, arena_text(b->perm, "%s.relu2", block->name), at);
    return conv_norm(b, block, 3, at, 4 * block->width, window_square(1, 1, 0));
}

static struct shape basic(struct builder *b, const struct block *block, struct shape in)
{
    struct window first = window_square(3, block->stride, 1);
    struct shape at = conv_norm(b, block, 1, in, block->width, first);
    brick_act(b, arena_text(b->perm, "%s.relu1", block->name), at);
    return conv_norm(b, block, 2, at, block->width, window_square(3, 1, 1));
}

static struct shape residual(struct builder *b, const struct block *block, struct shape in)
{
    const struct resnet *net = block->net;
    struct shape out = net->bottleneck ? bottleneck(b, block, in) : basic(b, block, in);
    if (net->squeezes) {
        squeeze_excite(b, arena_text(b->perm, "%s.se", block->name), out, out.c / 16);
    }
    if (block->stride != 1 || in.c != out.c) shortcut(b, block, in, out.c);
    brick_add(b, arena_text(b->perm, "%s.add", block->name), out);
    brick_act(b, arena_text(b->perm, "%s.relu", block->name), out);
    return out;
}

/* stem_conv — with batch norm and ReLU; `suffix` tells several apart. */
static struct shape stem_conv(struct builder *b, const struct resnet *net, const char *suffix,
                              struct shape in, int channels, struct window k)
{
    const char *prefix = net->prefix;
    struct shape out =
        brick_conv(b, arena_text(b->perm, "%sconv1%s", prefix, suffix), in, channels, k);
    norm(b, net, arena_text(b->perm, "%sbn1%s", prefix, suffix), out);
    brick_act(b, arena_text(b->perm, "%srelu%s", prefix, suffix), out);
    return out;
}

struct shape resnet_stem(struct builder *b, const struct resnet *net, struct shape image)
{
    struct shape at = image;
    if (net->deep_stem) {
        at = stem_conv(b, net, "_1", at, 32, window_square(3, 2, 1));
        at = stem_conv(b, net, "_2", at, 32, window_square(3, 1, 1));
        at = stem_conv(b, net, "_3", at, 64, window_square(3, 1, 1));
    } else {
        at = stem_conv(b, net, "", at, 64, window_square(7, 2, 3));
    }
    const char *name = arena_text(b->perm, "%smaxpool", net->prefix);
    return brick_pool(b, name, at, window_square(3, 2, 1), true);
}

struct shape resnet_stage(struct builder *b, const struct resnet *net, int stage, struct shape in)
{
    int stride = net->strides[stage];
    if (stride == 0) stride = stage > 0 ? 2 : 1;
    struct shape at = in;
    for (int i = 0; i < net->n_blocks[stage]; i++) {
        struct block block = {.name =
                                  arena_text(b->perm, "%slayer%d.%d", net->prefix, stage + 1, i),
                              .width = 64 << stage,
                              .stride = i == 0 ? stride : 1,
                              .dilation = net->dilations[stage],
                              .net = net};
        at = residual(b, &block, at);
    }
    return at;
}
