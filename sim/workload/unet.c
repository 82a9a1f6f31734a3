#include "workload/unet.h"

#include "base/must.h"
#include "workload/brick.h"

enum { MAX_LEVELS = 8 };

/* what makes one U-Net another */
struct unet {
    struct shape input;
    int n_classes;
    int filters[MAX_LEVELS]; /* of the levels from the full image down; 0 ends */
    bool strides;            /* the first convolution of a level halves the image; else pooling */
    bool norms;              /* instance or batch norm in place of a bias */
    bool valid;              /* convolutions without padding: skips are cropped */
    bool narrows;            /* the second convolution of the decoder halves the channels */
    int up_kernel, out_kernel;
};

/* Isensee et al., nnU-Net, 2018, with patches and classes of the brain tumour task; Ronneberger et
 * al., U-Net, 2015, fig. 1. Channels and kernels as NVIDIA's training scripts have them. */
static const struct unet unets[] = {
    [UNET_NNUNET_2D] = {.input = {4, 1, 192, 160},
                        .n_classes = 4,
                        .filters = {32, 64, 128, 256, 512, 512},
                        .strides = true,
                        .norms = true,
                        .up_kernel = 2,
                        .out_kernel = 1},
    [UNET_NNUNET_3D] = {.input = {4, 128, 128, 128},
                        .n_classes = 4,
                        .filters = {32, 64, 128, 256, 320, 320},
                        .strides = true,
                        .norms = true,
                        .up_kernel = 2,
                        .out_kernel = 1},
    [UNET_3D] = {.input = {4, 128, 128, 128},
                 .n_classes = 4,
                 .filters = {32, 64, 128, 256, 320, 320},
                 .strides = true,
                 .norms = true,
                 .up_kernel = 2,
                 .out_kernel = 3},
    [UNET_MEDICAL] = {.input = {1, 1, 572, 572},
                      .n_classes = 2,
                      .filters = {64, 128, 256, 512, 1024},
                      .valid = true,
                      .up_kernel = 3,
                      .out_kernel = 1},
    [UNET_INDUSTRIAL] = {.input = {1, 1, 512, 512},
                         .n_classes = 1,
                         .filters = {32, 32, 64, 128, 256},
                         .narrows = true,
                         .up_kernel = 2,
                         .out_kernel = 1},
};

/* window — over as many dimensions as the input has */
static struct window window(const struct unet *net, int kernel, int stride, int pad)
{
    return net->input.d > 1 ? window_cube(kernel, stride, pad) : window_square(kernel, stride, pad);
}

struct place {
    struct builder *b;
    const struct unet *net;
    const char *name; /* of the block */
};

static const char *part(const struct place *p, const char *name)
{
    return arena_text(p->b->perm, "%s.%s", p->name, name);
}

/* norm_act — what stands behind a convolution. */
static void norm_act(const struct place *p, const char *name, struct shape s)
{
    if (p->net->norms) {
        brick_norm(p->b, arena_text(p->b->perm, "%s.%s.norm", p->name, name), s);
    } else {
        brick_bias(p->b, s.c);
    }
    brick_act(p->b, arena_text(p->b->perm, "%s.%s.act", p->name, name), s);
}

static struct shape two_convolutions(const struct place *p, struct shape in, int first, int second,
                                     int stride)
{
    int pad = p->net->valid ? 0 : 1;
    struct shape at = brick_conv(p->b, part(p, "conv1"), in, first, window(p->net, 3, stride, pad));
    norm_act(p, "conv1", at);
    at = brick_conv(p->b, part(p, "conv2"), at, second, window(p->net, 3, 1, pad));
    norm_act(p, "conv2", at);
    return at;
}

static struct shape encode(struct builder *b, const struct unet *net, int level, struct shape in)
{
    struct place p = {b, net, arena_text(b->perm, "down%d", level)};
    struct shape at = in;
    bool halves = level > 0;
    if (halves && !net->strides)
        at = brick_pool(b, part(&p, "pool"), at, window(net, 2, 2, 0), true);
    return two_convolutions(&p, at, net->filters[level], net->filters[level],
                            halves && net->strides ? 2 : 1);
}

/* enlarge — a transposed convolution, or interpolation and a convolution of the large image. */
static struct shape enlarge(const struct place *p, struct shape in, int channels)
{
    const struct unet *net = p->net;
    struct shape out = {channels, in.d > 1 ? 2 * in.d : 1, 2 * in.h, 2 * in.w};
    if (net->narrows) {
        struct shape large = brick_resize(p->b, part(p, "resize"), in, out.h, out.w);
        brick_conv(p->b, part(p, "up"), large, channels, window(net, net->up_kernel, 1, 0));
    } else {
        brick_conv_up(p->b, part(p, "up"), in, channels, window(net, net->up_kernel, 2, 0));
    }
    brick_bias(p->b, channels);
    if (!net->norms) brick_act(p->b, part(p, "up.act"), out);
    return out;
}

static struct shape decode(struct builder *b, const struct unet *net, int level, struct shape in,
                           const struct shape *skip)
{
    struct place p = {b, net, arena_text(b->perm, "up%d", level)};
    int filters = net->filters[level];
    struct shape at = enlarge(&p, in, net->narrows ? net->filters[level + 1] / 2 : filters);
    at.c += skip->c; /* a skip that is larger is cropped */
    brick_concat(b, part(&p, "cat"), at);
    return two_convolutions(&p, at, filters, net->narrows && level > 0 ? filters / 2 : filters, 1);
}

struct model *unet_build(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    const struct unet *net = &unets[kind->sizes[0]];
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape skips[MAX_LEVELS];
    struct shape at = net->input;
    int n = 0;
    for (; n < MAX_LEVELS && net->filters[n]; n++) skips[n] = at = encode(b, net, n, at);
    for (int level = n - 2; level >= 0; level--) at = decode(b, net, level, at, &skips[level]);
    at = brick_conv(b, "out", at, net->n_classes,
                    window(net, net->out_kernel, 1, net->out_kernel / 2));
    brick_bias(b, net->n_classes);
    brick_loss(b, shape_elements(at));
    return builder.model;
}

/* --- V-Net --------------------------------------------------------------------------------------- */

enum { VNET_EDGE = 32, VNET_LEVELS = 3, VNET_DEPTH = 3, VNET_CLASSES = 3, VNET_WIDTH = 16 };

static void vnet_norm_act(struct builder *b, const char *name, struct shape s)
{
    brick_bias(b, s.c);
    brick_norm(b, arena_text(b->perm, "%s.bn", name), s);
    brick_act(b, arena_text(b->perm, "%s.relu", name), s);
}

static struct shape vnet_conv(struct builder *b, const char *name, struct shape in, int channels,
                              struct window k)
{
    struct shape out = brick_conv(b, name, in, channels, k);
    vnet_norm_act(b, name, out);
    return out;
}

static struct shape vnet_up(struct builder *b, const char *name, struct shape in, int channels)
{
    struct shape out = brick_conv_up(b, name, in, channels, window_cube(2, 2, 0));
    vnet_norm_act(b, name, out);
    return out;
}

static void vnet_residual(struct builder *b, const char *name, struct shape s)
{
    for (int i = 0; i < VNET_DEPTH; i++) {
        vnet_conv(b, arena_text(b->perm, "%s.conv%d", name, i), s, s.c, window_cube(3, 1, 1));
    }
    brick_add(b, arena_text(b->perm, "%s.add", name), s);
}

struct model *unet_vnet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape skips[VNET_LEVELS + 1];
    struct shape at = {1, VNET_EDGE, VNET_EDGE, VNET_EDGE};
    skips[0] = at = vnet_conv(b, "input", at, VNET_WIDTH, window_cube(3, 1, 1));
    brick_add(b, "input.add", at);
    for (int level = 1; level <= VNET_LEVELS; level++) {
        const char *name = arena_text(perm, "down%d", level);
        at = vnet_conv(b, arena_text(perm, "%s.half", name), at, 2 * at.c, window_cube(2, 2, 0));
        vnet_residual(b, name, at);
        skips[level] = at;
    }
    for (int level = VNET_LEVELS - 1; level > 0; level--) {
        const char *name = arena_text(perm, "up%d", level);
        at = vnet_up(b, arena_text(perm, "%s.double", name), at, skips[level].c);
        at.c += skips[level].c;
        brick_concat(b, arena_text(perm, "%s.cat", name), at);
        vnet_residual(b, name, at);
    }
    at = vnet_up(b, "out.double", at, skips[0].c);
    at = brick_conv(b, "out", at, VNET_CLASSES, window_cube(3, 1, 1));
    brick_bias(b, VNET_CLASSES);
    brick_loss(b, shape_elements(at));
    return builder.model;
}
