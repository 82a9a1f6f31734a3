#include "workload/cnn.h"

#include "base/must.h"
#include "workload/resnet.h"

enum { N_CLASSES = 1000 }; /* ImageNet */

static void classifier(struct builder *b, const char *name, int in)
{
    brick_linear(b, name, 1.0, in, N_CLASSES);
    brick_bias(b, N_CLASSES);
}

struct model *cnn_resnet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct resnet net = {.prefix = "",
                         .bottleneck = kind->sizes[4] != 0,
                         .stride_in_3x3 = kind->sizes[5] != 0,
                         .groups = kind->sizes[6] ? kind->sizes[6] : 1,
                         .squeezes = kind->sizes[7] != 0};
    for (int stage = 0; stage < 4; stage++) net.n_blocks[stage] = kind->sizes[stage];
    struct shape at = resnet_stem(b, &net, shape_image(3, 224, 224));
    for (int stage = 0; stage < 4; stage++) at = resnet_stage(b, &net, stage, at);
    at = brick_pool_all(b, "avgpool", at);
    classifier(b, "fc", at.c);
    brick_loss(b, N_CLASSES);
    return builder.model;
}

/* plain networks: convolutions with bias, each followed by a ReLU */
static struct shape conv_bias_relu(struct builder *b, int *index, struct shape in, int channels,
                                   struct window k)
{
    const char *name = arena_text(b->perm, "features.%d", *index);
    struct shape out = brick_conv(b, name, in, channels, k);
    builder_tensor(b, "bias", channels);
    brick_act(b, arena_text(b->perm, "features.%d", *index + 1), out);
    *index += 2;
    return out;
}

static void classifier_linear(struct builder *b, int index, int in, int out)
{
    brick_linear(b, arena_text(b->perm, "classifier.%d", index), 1.0, in, out);
    brick_bias(b, out);
}

static void relu_dropout(struct builder *b, int index, int width)
{
    brick_act(b, arena_text(b->perm, "classifier.%d", index), shape_image(width, 1, 1));
    brick_dropout(b, arena_text(b->perm, "classifier.%d.dropout", index), width);
}

/* Source: Simonyan & Zisserman, 2015, table 1 (D); torchvision/models/vgg.py. */
struct model *cnn_vgg16(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    static const int repeats[] = {2, 2, 3, 3, 3};
    static const int channels[] = {64, 128, 256, 512, 512};
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = shape_image(3, 224, 224);
    int index = 0;
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < repeats[stage]; i++) {
            at = conv_bias_relu(b, &index, at, channels[stage], window_square(3, 1, 1));
        }
        at = brick_pool(b, arena_text(perm, "features.%d", index++), at, window_square(2, 2, 0),
                        true);
    }
    classifier_linear(b, 0, at.c * at.h * at.w, 4096);
    relu_dropout(b, 1, 4096);
    classifier_linear(b, 3, 4096, 4096);
    relu_dropout(b, 4, 4096);
    classifier_linear(b, 6, 4096, N_CLASSES);
    brick_loss(b, N_CLASSES);
    return builder.model;
}

/* Source: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014;
 * torchvision/models/alexnet.py. */
struct model *cnn_alexnet(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape at = shape_image(3, 224, 224);
    int index = 0;
    at = conv_bias_relu(b, &index, at, 64, window_square(11, 4, 2));
    at = brick_pool(b, arena_text(perm, "features.%d", index++), at, window_square(3, 2, 0), true);
    at = conv_bias_relu(b, &index, at, 192, window_square(5, 1, 2));
    at = brick_pool(b, arena_text(perm, "features.%d", index++), at, window_square(3, 2, 0), true);
    at = conv_bias_relu(b, &index, at, 384, window_square(3, 1, 1));
    at = conv_bias_relu(b, &index, at, 256, window_square(3, 1, 1));
    at = conv_bias_relu(b, &index, at, 256, window_square(3, 1, 1));
    at = brick_pool(b, arena_text(perm, "features.%d", index), at, window_square(3, 2, 0), true);
    classifier_linear(b, 1, at.c * at.h * at.w, 4096);
    relu_dropout(b, 2, 4096);
    classifier_linear(b, 4, 4096, 4096);
    relu_dropout(b, 5, 4096);
    classifier_linear(b, 6, 4096, N_CLASSES);
    brick_loss(b, N_CLASSES);
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
        brick_conv(b, arena_text(b->perm, "%s.conv", name), in, step->channels, step->window);
    brick_norm(b, arena_text(b->perm, "%s.bn", name), out);
    brick_act(b, arena_text(b->perm, "%s.relu", name), out);
    return out;
}

static struct shape inception_block(struct builder *b, const char *block, struct shape in,
                                    const struct branch_step *steps, int n_steps)
{
    struct shape out = shape_image(0, 0, 0);
    struct shape last = in;
    struct shape before = in;
    for (int i = 0; i < n_steps; i++) {
        const struct branch_step *step = &steps[i];
        struct shape from = last;
        if (step->from == FROM_INPUT) from = in;
        if (step->from == FROM_FORK) from = before;
        if (step->from == FROM_POOL) {
            from = brick_pool(b, arena_text(b->perm, "%s.pool", block), in, window_square(3, 1, 1),
                              false);
        }
        before = from;
        last = conv_unit(b, block, step, from);
        if (step->ends) out = shape_image(out.c + last.c, last.h, last.w);
    }
    /* the branches side by side: the copy is what the next block keeps */
    brick_concat(b, arena_text(b->perm, "%s.cat", block), out);
    return out;
}

#define N_STEPS(steps) ((int)(sizeof(steps) / sizeof *(steps)))

static struct shape inception_a(struct builder *b, const char *name, struct shape in, int pooled)
{
    const struct branch_step steps[] = {
        {"branch1x1", 64, window_square(1, 1, 0), FROM_INPUT, true},
        {"branch5x5_1", 48, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch5x5_2", 64, window_square(5, 1, 2), FROM_LAST, true},
        {"branch3x3dbl_1", 64, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3dbl_2", 96, window_square(3, 1, 1), FROM_LAST, false},
        {"branch3x3dbl_3", 96, window_square(3, 1, 1), FROM_LAST, true},
        {"branch_pool", pooled, window_square(1, 1, 0), FROM_POOL, true},
    };
    return inception_block(b, name, in, steps, N_STEPS(steps));
}

/* reduce — blocks B and D also pass their input on, pooled with stride 2. */
static struct shape reduce(struct builder *b, const char *name, struct shape in,
                           const struct branch_step *steps, int n_steps)
{
    struct shape out = inception_block(b, name, in, steps, n_steps);
    struct shape pooled =
        brick_pool(b, arena_text(b->perm, "%s.pool", name), in, window_square(3, 2, 0), true);
    out.c += pooled.c;
    return out;
}

static struct shape inception_b(struct builder *b, const char *name, struct shape in)
{
    const struct branch_step steps[] = {
        {"branch3x3", 384, window_square(3, 2, 0), FROM_INPUT, true},
        {"branch3x3dbl_1", 64, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3dbl_2", 96, window_square(3, 1, 1), FROM_LAST, false},
        {"branch3x3dbl_3", 96, window_square(3, 2, 0), FROM_LAST, true},
    };
    return reduce(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_c(struct builder *b, const char *name, struct shape in, int width)
{
    const struct window row = window_rect(1, 7, 0, 3);
    const struct window column = window_rect(7, 1, 3, 0);
    const struct branch_step steps[] = {
        {"branch1x1", 192, window_square(1, 1, 0), FROM_INPUT, true},
        {"branch7x7_1", width, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch7x7_2", width, row, FROM_LAST, false},
        {"branch7x7_3", 192, column, FROM_LAST, true},
        {"branch7x7dbl_1", width, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch7x7dbl_2", width, column, FROM_LAST, false},
        {"branch7x7dbl_3", width, row, FROM_LAST, false},
        {"branch7x7dbl_4", width, column, FROM_LAST, false},
        {"branch7x7dbl_5", 192, row, FROM_LAST, true},
        {"branch_pool", 192, window_square(1, 1, 0), FROM_POOL, true},
    };
    return inception_block(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_d(struct builder *b, const char *name, struct shape in)
{
    const struct branch_step steps[] = {
        {"branch3x3_1", 192, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3_2", 320, window_square(3, 2, 0), FROM_LAST, true},
        {"branch7x7x3_1", 192, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch7x7x3_2", 192, window_rect(1, 7, 0, 3), FROM_LAST, false},
        {"branch7x7x3_3", 192, window_rect(7, 1, 3, 0), FROM_LAST, false},
        {"branch7x7x3_4", 192, window_square(3, 2, 0), FROM_LAST, true},
    };
    return reduce(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_e(struct builder *b, const char *name, struct shape in)
{
    const struct window row = window_rect(1, 3, 0, 1);
    const struct window column = window_rect(3, 1, 1, 0);
    const struct branch_step steps[] = {
        {"branch1x1", 320, window_square(1, 1, 0), FROM_INPUT, true},
        {"branch3x3_1", 384, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3_2a", 384, row, FROM_LAST, true},
        {"branch3x3_2b", 384, column, FROM_FORK, true},
        {"branch3x3dbl_1", 448, window_square(1, 1, 0), FROM_INPUT, false},
        {"branch3x3dbl_2", 384, window_square(3, 1, 1), FROM_LAST, false},
        {"branch3x3dbl_3a", 384, row, FROM_LAST, true},
        {"branch3x3dbl_3b", 384, column, FROM_FORK, true},
        {"branch_pool", 192, window_square(1, 1, 0), FROM_POOL, true},
    };
    return inception_block(b, name, in, steps, N_STEPS(steps));
}

static struct shape inception_stem(struct builder *b)
{
    const struct branch_step steps[] = {
        {"Conv2d_1a_3x3", 32, window_square(3, 2, 0), FROM_LAST, false},
        {"Conv2d_2a_3x3", 32, window_square(3, 1, 0), FROM_LAST, false},
        {"Conv2d_2b_3x3", 64, window_square(3, 1, 1), FROM_LAST, false},
        {"Conv2d_3b_1x1", 80, window_square(1, 1, 0), FROM_LAST, false},
        {"Conv2d_4a_3x3", 192, window_square(3, 1, 0), FROM_LAST, false},
    };
    struct shape at = shape_image(3, 299, 299);
    for (int i = 0; i < 3; i++) at = conv_unit(b, NULL, &steps[i], at);
    at = brick_pool(b, "maxpool1", at, window_square(3, 2, 0), true);
    for (int i = 3; i < 5; i++) at = conv_unit(b, NULL, &steps[i], at);
    return brick_pool(b, "maxpool2", at, window_square(3, 2, 0), true);
}

static void inception_aux(struct builder *b, struct shape in)
{
    const struct branch_step steps[] = {
        {"conv0", 128, window_square(1, 1, 0), FROM_LAST, false},
        {"conv1", 768, window_square(5, 1, 0), FROM_LAST, false},
    };
    struct shape at = brick_pool(b, "AuxLogits.pool", in, window_square(5, 3, 0), false);
    for (int i = 0; i < 2; i++) at = conv_unit(b, "AuxLogits", &steps[i], at);
    classifier(b, "AuxLogits.fc", at.c);
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
    at = brick_pool_all(b, "avgpool", at);
    classifier(b, "fc", at.c);
    brick_loss(b, N_CLASSES);
    return builder.model;
}
