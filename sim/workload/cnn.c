#include "workload/cnn.h"

#include "base/must.h"
#include "workload/builder.h"

enum { N_CLASSES = 1000 }; /* ImageNet */

/* activations between layers: channels, height, width */
struct shape {
    int c, h, w;
};

static double elements(struct shape s)
{
    return (double)s.c * s.h * s.w;
}

static int window_out(int in, int kernel, int stride, int pad)
{
    return (in + 2 * pad - kernel) / stride + 1;
}

/* a window that slides over the image: convolution or pooling */
struct window {
    int kh, kw, stride, ph, pw;
};

static struct window square(int kernel, int stride, int pad)
{
    return (struct window){kernel, kernel, stride, pad, pad};
}

static struct shape window_shape(struct shape in, struct window k, int channels)
{
    return (struct shape){channels, window_out(in.h, k.kh, k.stride, k.ph),
                          window_out(in.w, k.kw, k.stride, k.pw)};
}

static struct shape conv(struct builder *b, const char *name, struct shape in, int channels,
                         struct window k)
{
    struct shape out = window_shape(in, k, channels);
    double weights = (double)channels * in.c * k.kh * k.kw;
    bool image = b->model->n_layers == 0;
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_CONV,
                                    .m = (double)out.h * out.w,
                                    .n = channels,
                                    .k = (double)in.c * k.kh * k.kw,
                                    .n_products = 1.0,
                                    .flop = 2.0 * weights * out.h * out.w,
                                    .read_elements = elements(in),
                                    .written_elements = elements(out),
                                    .kept_elements = image ? elements(in) : 0.0,
                                    .n_kernels = 1});
    builder_tensor(b, "weight", (int64_t)channels * in.c * k.kh * k.kw);
    return out;
}

/* batch_norm — training reads its input twice: statistics, then the normalised values. */
static void batch_norm(struct builder *b, const char *name, struct shape s)
{
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_NORM,
                                    .flop = 7.0 * elements(s), /* sum, square, sum; -, *, *, + */
                                    .read_elements = 2.0 * elements(s),
                                    .written_elements = elements(s),
                                    .kept_elements = elements(s),
                                    .n_kernels = 1,
                                    .fused = true});
    builder_tensor(b, "weight", s.c);
    builder_tensor(b, "bias", s.c);
}

static void relu(struct builder *b, const char *name, struct shape s)
{
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_ELEMENTWISE,
                                    .flop = elements(s),
                                    .read_elements = elements(s),
                                    .written_elements = elements(s),
                                    .kept_elements = elements(s),
                                    .n_kernels = 1,
                                    .fused = true});
}

static struct shape pool(struct builder *b, const char *name, struct shape in, struct window k,
                         bool keeps_index)
{
    struct shape out = window_shape(in, k, in.c);
    double kept = keeps_index ? 3.0 * elements(out) : elements(out);
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_POOL,
                                    .flop = elements(out) * k.kh * k.kw,
                                    .read_elements = elements(in),
                                    .written_elements = elements(out),
                                    .kept_elements = kept,
                                    .n_kernels = 1,
                                    .fused = true});
    return out;
}

static void linear(struct builder *b, const char *name, int in, int out)
{
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_LINEAR,
                                    .m = 1.0,
                                    .n = out,
                                    .k = in,
                                    .n_products = 1.0,
                                    .flop = 2.0 * in * out,
                                    .read_elements = in,
                                    .written_elements = out,
                                    .kept_elements = 0.0,
                                    .n_kernels = 1});
    builder_tensor(b, "weight", (int64_t)in * out);
    builder_tensor(b, "bias", out);
}

static void loss(struct builder *b)
{
    builder_layer(b, (struct layer){.name = "loss",
                                    .kind = LAYER_LOSS,
                                    .flop = 4.0 * N_CLASSES,
                                    .read_elements = N_CLASSES,
                                    .written_elements = N_CLASSES,
                                    .kept_elements = 2.0 * N_CLASSES,
                                    .n_kernels = 2,
                                    .fused = true});
}

/* ResNet. A basic block is conv3x3 - conv3x3, a bottleneck conv1x1 - conv3x3 - conv1x1; each is
 * followed by batch norm. The first block of a stage halves the image and widens: its shortcut is a
 * strided 1x1 convolution, registered after the block's own and run after them.
 * Source: He et al., Deep residual learning for image recognition, 2016, table 1; order of
 * parameters: torchvision/models/resnet.py. */
struct block {
    const char *name;
    int width, stride;
    bool bottleneck, stride_in_3x3;
};

static struct shape conv_norm(struct builder *b, const char *block, int i, struct shape in,
                              int channels, struct window k)
{
    const char *name = arena_text(b->perm, "%s.conv%d", block, i);
    struct shape out = conv(b, name, in, channels, k);
    batch_norm(b, arena_text(b->perm, "%s.bn%d", block, i), out);
    return out;
}

static void shortcut(struct builder *b, const struct block *block, struct shape in, int channels)
{
    const char *name = arena_text(b->perm, "%s.downsample.0", block->name);
    struct shape out = conv(b, name, in, channels, square(1, block->stride, 0));
    batch_norm(b, arena_text(b->perm, "%s.downsample.1", block->name), out);
}

static void join(struct builder *b, const char *block, struct shape s)
{
    builder_layer(b, (struct layer){.name = arena_text(b->perm, "%s.add", block),
                                    .kind = LAYER_ELEMENTWISE,
                                    .flop = elements(s),
                                    .read_elements = 2.0 * elements(s),
                                    .written_elements = elements(s),
                                    .n_kernels = 1,
                                    .fused = true});
    relu(b, arena_text(b->perm, "%s.relu", block), s);
}

static struct shape resnet_block(struct builder *b, const struct block *block, struct shape in)
{
    int stride_first = block->bottleneck && block->stride_in_3x3 ? 1 : block->stride;
    int stride_second = block->stride / stride_first;
    int widest = block->bottleneck ? 4 * block->width : block->width;
    struct window first =
        block->bottleneck ? square(1, stride_first, 0) : square(3, block->stride, 1);
    struct shape at = conv_norm(b, block->name, 1, in, block->width, first);
    relu(b, arena_text(b->perm, "%s.relu1", block->name), at);
    at = conv_norm(b, block->name, 2, at, block->width, square(3, stride_second, 1));
    if (block->bottleneck) {
        relu(b, arena_text(b->perm, "%s.relu2", block->name), at);
        at = conv_norm(b, block->name, 3, at, widest, square(1, 1, 0));
    }
    if (block->stride != 1 || in.c != widest) shortcut(b, block, in, widest);
    join(b, block->name, at);
    return at;
}

struct model *cnn_resnet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = {3, 224, 224};
    at = conv(b, "conv1", at, 64, square(7, 2, 3));
    batch_norm(b, "bn1", at);
    relu(b, "relu", at);
    at = pool(b, "maxpool", at, square(3, 2, 1), true);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < kind->sizes[stage]; i++) {
            struct block block = {.name = arena_text(perm, "layer%d.%d", stage + 1, i),
                                  .width = 64 << stage,
                                  .stride = stage > 0 && i == 0 ? 2 : 1,
                                  .bottleneck = kind->sizes[4] != 0,
                                  .stride_in_3x3 = kind->sizes[5] != 0};
            at = resnet_block(b, &block, at);
        }
    }
    at = pool(b, "avgpool", at, square(at.h, 1, 0), false);
    linear(b, "fc", at.c, N_CLASSES);
    loss(b);
    return builder.model;
}

/* plain networks: convolutions with bias, each followed by a ReLU */
static struct shape conv_bias_relu(struct builder *b, int *index, struct shape in, int channels,
                                   struct window k)
{
    const char *name = arena_text(b->perm, "features.%d", *index);
    struct shape out = conv(b, name, in, channels, k);
    builder_tensor(b, "bias", channels);
    relu(b, arena_text(b->perm, "features.%d", *index + 1), out);
    *index += 2;
    return out;
}

static void classifier_linear(struct builder *b, int index, int in, int out)
{
    linear(b, arena_text(b->perm, "classifier.%d", index), in, out);
}

static void relu_dropout(struct builder *b, int index, int width)
{
    relu(b, arena_text(b->perm, "classifier.%d", index), (struct shape){width, 1, 1});
    builder_layer(b, (struct layer){.name = arena_text(b->perm, "classifier.%d.dropout", index),
                                    .kind = LAYER_ELEMENTWISE,
                                    .flop = width,
                                    .read_elements = width,
                                    .written_elements = width,
                                    .kept_elements = 1.25 * width, /* output and a byte of mask */
                                    .n_kernels = 1,
                                    .fused = true});
}

/* Source: Simonyan & Zisserman, 2015, table 1 (D); torchvision/models/vgg.py. */
struct model *cnn_vgg16(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    static const int repeats[] = {2, 2, 3, 3, 3};
    static const int channels[] = {64, 128, 256, 512, 512};
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = {3, 224, 224};
    int index = 0;
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < repeats[stage]; i++) {
            at = conv_bias_relu(b, &index, at, channels[stage], square(3, 1, 1));
        }
        at = pool(b, arena_text(perm, "features.%d", index++), at, square(2, 2, 0), true);
    }
    classifier_linear(b, 0, at.c * at.h * at.w, 4096);
    relu_dropout(b, 1, 4096);
    classifier_linear(b, 3, 4096, 4096);
    relu_dropout(b, 4, 4096);
    classifier_linear(b, 6, 4096, N_CLASSES);
    loss(b);
    return builder.model;
}

/* Source: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014;
 * torchvision/models/alexnet.py. */
struct model *cnn_alexnet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = {3, 224, 224};
    int index = 0;
    at = conv_bias_relu(b, &index, at, 64, square(11, 4, 2));
    at = pool(b, arena_text(perm, "features.%d", index++), at, square(3, 2, 0), true);
    at = conv_bias_relu(b, &index, at, 192, square(5, 1, 2));
    at = pool(b, arena_text(perm, "features.%d", index++), at, square(3, 2, 0), true);
    at = conv_bias_relu(b, &index, at, 384, square(3, 1, 1));
    at = conv_bias_relu(b, &index, at, 256, square(3, 1, 1));
    at = conv_bias_relu(b, &index, at, 256, square(3, 1, 1));
    at = pool(b, arena_text(perm, "features.%d", index), at, square(3, 2, 0), true);
    classifier_linear(b, 1, at.c * at.h * at.w, 4096);
    relu_dropout(b, 2, 4096);
    classifier_linear(b, 4, 4096, 4096);
    relu_dropout(b, 5, 4096);
    classifier_linear(b, 6, 4096, N_CLASSES);
    loss(b);
    return builder.model;
}

/* Inception-v3: blocks of parallel branches whose outputs are concatenated. A branch is a row of
 * steps; a step that starts again from the block's input says so.
 * Source: Szegedy et al., Rethinking the inception architecture, 2016, table 1; order of parameters
 * and channels: torchvision/models/inception.py. */
enum step_from { FROM_LAST, FROM_INPUT, FROM_POOL, FROM_FORK };
struct branch_step {
    const char *name;
    int channels;
    struct window window;
    enum step_from
        from;  /* what it reads: the step before, the block's input, a pooled input, or what
                            the step before read (two branches of one fork) */
    bool ends; /* its output is part of the block's */
};

static struct shape conv_unit(struct builder *b, const char *block, const struct branch_step *step,
                              struct shape in)
{
    const char *name = block ? arena_text(b->perm, "%s.%s", block, step->name) : step->name;
    struct shape out =
        conv(b, arena_text(b->perm, "%s.conv", name), in, step->channels, step->window);
    batch_norm(b, arena_text(b->perm, "%s.bn", name), out);
    relu(b, arena_text(b->perm, "%s.relu", name), out);
    return out;
}

/* concat — copies the branches side by side; the copy is what the next block keeps. */
static void concat(struct builder *b, const char *block, struct shape s)
{
    builder_layer(b, (struct layer){.name = arena_text(b->perm, "%s.cat", block),
                                    .kind = LAYER_ELEMENTWISE,
                                    .read_elements = elements(s),
                                    .written_elements = elements(s),
                                    .kept_elements = elements(s),
                                    .n_kernels = 1,
                                    .fused = true});
}

static struct shape inception_block(struct builder *b, const char *block, struct shape in,
                                    const struct branch_step *steps, int n_steps)
{
    struct shape out = {0, 0, 0};
    struct shape last = in;
    struct shape before = in;
    for (int i = 0; i < n_steps; i++) {
        const struct branch_step *step = &steps[i];
        struct shape from = last;
        if (step->from == FROM_INPUT) from = in;
        if (step->from == FROM_FORK) from = before;
        if (step->from == FROM_POOL) {
            from = pool(b, arena_text(b->perm, "%s.pool", block), in, square(3, 1, 1), false);
        }
        before = from;
        last = conv_unit(b, block, step, from);
        if (step->ends) out = (struct shape){out.c + last.c, last.h, last.w};
    }
    concat(b, block, out);
    return out;
}

#define N_STEPS(steps) ((int)(sizeof(steps) / sizeof *(steps)))

static struct shape inception_a(struct builder *b, const char *name, struct shape in, int pooled)
{
    const struct branch_step steps[] = {
        {"branch1x1", 64, square(1, 1, 0), FROM_INPUT, true},
        {"branch5x5_1", 48, square(1, 1, 0), FROM_INPUT, false},
        {"branch5x5_2", 64, square(5, 1, 2), FROM_LAST, true},
        {"branch3x3dbl_1", 64, square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3dbl_2", 96, square(3, 1, 1), FROM_LAST, false},
        {"branch3x3dbl_3", 96, square(3, 1, 1), FROM_LAST, true},
        {"branch_pool", pooled, square(1, 1, 0), FROM_POOL, true},
    };
    return inception_block(b, name, in, steps, N_STEPS(steps));
}

/* reduce — blocks B and D also pass their input on, pooled with stride 2. */
static struct shape reduce(struct builder *b, const char *name, struct shape in,
                           const struct branch_step *steps, int n_steps)
{
    struct shape out = inception_block(b, name, in, steps, n_steps);
    struct shape pooled = pool(b, arena_text(b->perm, "%s.pool", name), in, square(3, 2, 0), true);
    out.c += pooled.c;
    return out;
}

static struct shape inception_b(struct builder *b, const char *name, struct shape in)
{
    const struct branch_step steps[] = {
        {"branch3x3", 384, square(3, 2, 0), FROM_INPUT, true},
        {"branch3x3dbl_1", 64, square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3dbl_2", 96, square(3, 1, 1), FROM_LAST, false},
        {"branch3x3dbl_3", 96, square(3, 2, 0), FROM_LAST, true},
    };
    return reduce(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_c(struct builder *b, const char *name, struct shape in, int width)
{
    const struct window row = {1, 7, 1, 0, 3};
    const struct window column = {7, 1, 1, 3, 0};
    const struct branch_step steps[] = {
        {"branch1x1", 192, square(1, 1, 0), FROM_INPUT, true},
        {"branch7x7_1", width, square(1, 1, 0), FROM_INPUT, false},
        {"branch7x7_2", width, row, FROM_LAST, false},
        {"branch7x7_3", 192, column, FROM_LAST, true},
        {"branch7x7dbl_1", width, square(1, 1, 0), FROM_INPUT, false},
        {"branch7x7dbl_2", width, column, FROM_LAST, false},
        {"branch7x7dbl_3", width, row, FROM_LAST, false},
        {"branch7x7dbl_4", width, column, FROM_LAST, false},
        {"branch7x7dbl_5", 192, row, FROM_LAST, true},
        {"branch_pool", 192, square(1, 1, 0), FROM_POOL, true},
    };
    return inception_block(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_d(struct builder *b, const char *name, struct shape in)
{
    const struct branch_step steps[] = {
        {"branch3x3_1", 192, square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3_2", 320, square(3, 2, 0), FROM_LAST, true},
        {"branch7x7x3_1", 192, square(1, 1, 0), FROM_INPUT, false},
        {"branch7x7x3_2", 192, {1, 7, 1, 0, 3}, FROM_LAST, false},
        {"branch7x7x3_3", 192, {7, 1, 1, 3, 0}, FROM_LAST, false},
        {"branch7x7x3_4", 192, square(3, 2, 0), FROM_LAST, true},
    };
    return reduce(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_e(struct builder *b, const char *name, struct shape in)
{
    const struct window row = {1, 3, 1, 0, 1};
    const struct window column = {3, 1, 1, 1, 0};
    const struct branch_step steps[] = {
        {"branch1x1", 320, square(1, 1, 0), FROM_INPUT, true},
        {"branch3x3_1", 384, square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3_2a", 384, row, FROM_LAST, true},
        {"branch3x3_2b", 384, column, FROM_FORK, true},
        {"branch3x3dbl_1", 448, square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3dbl_2", 384, square(3, 1, 1), FROM_LAST, false},
        {"branch3x3dbl_3a", 384, row, FROM_LAST, true},
        {"branch3x3dbl_3b", 384, column, FROM_FORK, true},
        {"branch_pool", 192, square(1, 1, 0), FROM_POOL, true},
    };
    return inception_block(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_stem(struct builder *b)
{
    const struct branch_step steps[] = {
        {"Conv2d_1a_3x3", 32, square(3, 2, 0), FROM_LAST, false},
        {"Conv2d_2a_3x3", 32, square(3, 1, 0), FROM_LAST, false},
        {"Conv2d_2b_3x3", 64, square(3, 1, 1), FROM_LAST, false},
        {"Conv2d_3b_1x1", 80, square(1, 1, 0), FROM_LAST, false},
        {"Conv2d_4a_3x3", 192, square(3, 1, 0), FROM_LAST, false},
    };
    struct shape at = {3, 299, 299};
    for (int i = 0; i < 3; i++) at = conv_unit(b, NULL, &steps[i], at);
    at = pool(b, "maxpool1", at, square(3, 2, 0), true);
    for (int i = 3; i < 5; i++) at = conv_unit(b, NULL, &steps[i], at);
    return pool(b, "maxpool2", at, square(3, 2, 0), true);
}

static void inception_aux(struct builder *b, struct shape in)
{
    const struct branch_step steps[] = {
        {"conv0", 128, square(1, 1, 0), FROM_LAST, false},
        {"conv1", 768, square(5, 1, 0), FROM_LAST, false},
    };
    struct shape at = pool(b, "AuxLogits.pool", in, square(5, 3, 0), false);
    for (int i = 0; i < 2; i++) at = conv_unit(b, "AuxLogits", &steps[i], at);
    linear(b, "AuxLogits.fc", at.c, N_CLASSES);
}

struct model *cnn_inception_v3(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = inception_stem(b);
    at = inception_a(b, "Mixed_5b", at, 32);
    at = inception_a(b, "Mixed_5c", at, 64);
    at = inception_a(b, "Mixed_5d", at, 64);
    at = inception_b(b, "Mixed_6a", at);
    at = inception_c(b, "Mixed_6b", at, 128);
    at = inception_c(b, "Mixed_6c", at, 160);
    at = inception_c(b, "Mixed_6d", at, 160);
    at = inception_c(b, "Mixed_6e", at, 192);
    if (kind->sizes[0]) inception_aux(b, at);
    at = inception_d(b, "Mixed_7a", at);
    at = inception_e(b, "Mixed_7b", at);
    at = inception_e(b, "Mixed_7c", at);
    at = pool(b, "avgpool", at, square(at.h, 1, 0), false);
    linear(b, "fc", at.c, N_CLASSES);
    loss(b);
    return builder.model;
}
