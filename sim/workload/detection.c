#include "workload/detection.h"

#include "base/must.h"
#include "workload/resnet.h"

static struct shape conv_bias(struct builder *b, const char *name, struct shape in, int channels,
                              struct window k)
{
    struct shape out = brick_conv(b, name, in, channels, k);
    brick_bias(b, channels);
    return out;
}

/* --- SSD ------------------------------------------------------------------------------------------ */

enum { SSD_CLASSES = 81, SSD_SCALES = 6 };

/* shrink — from one scale to the next: half the size, near the end what a window leaves. */
static struct shape shrink(struct builder *b, int i, struct shape in)
{
    static const int narrow[] = {256, 256, 128, 128, 128};
    static const int wide[] = {512, 512, 256, 256, 256};
    const char *name = arena_text(b->perm, "additional.%d", i);
    struct window k = i < 3 ? window_square(3, 2, 1) : window_square(3, 1, 0);
    struct shape at = brick_conv_norm_relu(b, arena_text(b->perm, "%s.1x1", name), in, narrow[i],
                                           window_square(1, 1, 0));
    return brick_conv_norm_relu(b, arena_text(b->perm, "%s.3x3", name), at, wide[i], k);
}

struct model *detection_ssd300(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    static const int n_boxes[SSD_SCALES] = {4, 6, 6, 6, 4, 4};
    const struct resnet net = {.prefix = "feature_extractor.",
                               .n_blocks = {3, 4, 6},
                               .bottleneck = true,
                               .stride_in_3x3 = true,
                               .groups = 1,
                               .strides = {1, 2, 1}};
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape scales[SSD_SCALES];
    struct shape at = resnet_stem(b, &net, shape_image(3, 300, 300));
    for (int stage = 0; stage < 3; stage++) at = resnet_stage(b, &net, stage, at);
    scales[0] = at;
    for (int i = 1; i < SSD_SCALES; i++) scales[i] = shrink(b, i - 1, scales[i - 1]);
    double scores = 0.0;
    for (int i = 0; i < SSD_SCALES; i++) {
        struct window k = window_square(3, 1, 1);
        conv_bias(b, arena_text(perm, "loc.%d", i), scales[i], 4 * n_boxes[i], k);
        at = conv_bias(b, arena_text(perm, "conf.%d", i), scales[i], SSD_CLASSES * n_boxes[i], k);
        scores += shape_elements(at) * (SSD_CLASSES + 4) / SSD_CLASSES;
    }
    brick_copy(b, "views", 2.0 * scores);
    brick_loss(b, scores);
    return builder.model;
}

/* --- feature pyramid ----------------------------------------------------------------------------- */

enum { PYRAMID_WIDTH = 256, MAX_LEVELS = 8 };

/* pyramid — each stage's output is brought to one width and the coarser level, enlarged, added to
 * it; levels[0] is the finest. */
static void pyramid(struct builder *b, const struct shape *stages, int n, struct shape *levels)
{
    for (int i = n - 1; i >= 0; i--) {
        struct shape at = conv_bias(b, arena_text(b->perm, "fpn.inner%d", i), stages[i],
                                    PYRAMID_WIDTH, window_square(1, 1, 0));
        if (i < n - 1) {
            brick_resize(b, arena_text(b->perm, "fpn.up%d", i), levels[i + 1], at.h, at.w);
            brick_add(b, arena_text(b->perm, "fpn.add%d", i), at);
        }
        levels[i] = at;
    }
    for (int i = 0; i < n; i++) {
        conv_bias(b, arena_text(b->perm, "fpn.layer%d", i), levels[i], PYRAMID_WIDTH,
                  window_square(3, 1, 1));
    }
}

/* shared_conv — one convolution applied to several levels; its weights belong to the first. */
static void shared_conv(struct builder *b, const char *name, const struct shape *levels, int n,
                        int channels, struct window k)
{
    for (int i = 0; i < n; i++) {
        if (i == 0) {
            conv_bias(b, name, levels[0], channels, k);
            continue;
        }
        struct shape out = window_shape(levels[i], k, channels);
        double of_window = (double)levels[i].c * k.kernel[1] * k.kernel[2];
        builder_layer(b, (struct layer){.name = arena_text(b->perm, "%s.%d", name, i),
                                        .kind = LAYER_CONV,
                                        .m = shape_points(out),
                                        .n = channels,
                                        .k = of_window,
                                        .n_products = 1.0,
                                        .flop = 2.0 * shape_elements(out) * of_window,
                                        .read_elements = shape_elements(levels[i]),
                                        .written_elements = shape_elements(out),
                                        .n_kernels = 1,
                                        .window = k.kernel[1] * k.kernel[2],
                                        .short_window = brick_short_window(&k)});
    }
}

static double all_points(const struct shape *levels, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += shape_points(levels[i]);
    return sum;
}

/* tower — four shared convolutions, each level with a batch norm of its own, and a prediction. */
static void tower(struct builder *b, const char *name, const struct shape *levels, int n,
                  int predictions)
{
    for (int i = 0; i < 4; i++) {
        const char *conv = arena_text(b->perm, "%s.conv%d", name, i);
        shared_conv(b, conv, levels, n, PYRAMID_WIDTH, window_square(3, 1, 1));
        for (int l = 0; l < n; l++) {
            brick_norm(b, arena_text(b->perm, "%s.bn%d", conv, l), levels[l]);
            brick_act(b, arena_text(b->perm, "%s.relu%d", conv, l), levels[l]);
        }
    }
    shared_conv(b, arena_text(b->perm, "%s.predict", name), levels, n, predictions,
                window_square(3, 1, 1));
}

struct model *detection_ssd_fpn(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    enum { CLASSES = 91, BOXES = 6, N_LEVELS = 5 };
    const struct resnet net = {
        .prefix = "backbone.", .n_blocks = {3, 4, 6, 3}, .bottleneck = true, .groups = 1};
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape stages[4], levels[N_LEVELS];
    struct shape at = resnet_stem(b, &net, shape_image(3, 320, 320));
    for (int i = 0; i < 4; i++) stages[i] = at = resnet_stage(b, &net, i, at);
    pyramid(b, stages + 1, 3, levels);
    for (int i = 3; i < N_LEVELS; i++) {
        levels[i] = brick_conv_norm_relu(b, arena_text(perm, "fpn.down%d", i), levels[i - 1],
                                         PYRAMID_WIDTH, window_square(3, 2, 1));
    }
    tower(b, "box", levels, N_LEVELS, 4 * BOXES);
    tower(b, "class", levels, N_LEVELS, CLASSES * BOXES);
    brick_loss(b, all_points(levels, N_LEVELS) * BOXES * (CLASSES + 4));
    return builder.model;
}

/* --- Mask R-CNN ---------------------------------------------------------------------------------- */

enum { RCNN_CLASSES = 91, ANCHORS = 3, REGIONS = 512, MASKED = 128, N_RPN_LEVELS = 5 };

/* proposals — a score and a box for each anchor, then the best that do not overlap. */
static void proposals(struct builder *b, const struct shape *levels)
{
    double anchors = ANCHORS * all_points(levels, N_RPN_LEVELS);
    shared_conv(b, "rpn.conv", levels, N_RPN_LEVELS, PYRAMID_WIDTH, window_square(3, 1, 1));
    for (int i = 0; i < N_RPN_LEVELS; i++) {
        brick_act(b, arena_text(b->perm, "rpn.relu%d", i), levels[i]);
    }
    shared_conv(b, "rpn.cls_logits", levels, N_RPN_LEVELS, ANCHORS, window_square(1, 1, 0));
    shared_conv(b, "rpn.bbox_pred", levels, N_RPN_LEVELS, 4 * ANCHORS, window_square(1, 1, 0));
    brick_copy(b, "rpn.boxes", 5.0 * anchors);
    brick_loss(b, 5.0 * anchors);
}

/* align — interpolates a region of the pyramid to points x points, four samples each. */
static struct shape align(struct builder *b, const char *name, int n, int points)
{
    struct shape out = {PYRAMID_WIDTH, n, points, points};
    double elements = shape_elements(out);
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_POOL,
                                    .flop = 32.0 * elements,
                                    .read_elements = 4.0 * elements,
                                    .written_elements = elements,
                                    .kept_elements = elements,
                                    .n_kernels = 1,
                                    .fused = true});
    return out;
}

static void box_head(struct builder *b)
{
    enum { POINTS = 7, HIDDEN = 1024 };
    align(b, "roi_heads.box_align", REGIONS, POINTS);
    int in = PYRAMID_WIDTH * POINTS * POINTS;
    for (int i = 0; i < 2; i++, in = HIDDEN) {
        brick_linear(b, arena_text(b->perm, "roi_heads.box_head.fc%d", i), REGIONS, in, HIDDEN);
        brick_bias(b, HIDDEN);
        brick_act(b, arena_text(b->perm, "roi_heads.box_head.relu%d", i),
                  shape_sound(HIDDEN, REGIONS));
    }
    brick_linear(b, "roi_heads.box_predictor.cls", REGIONS, HIDDEN, RCNN_CLASSES);
    brick_bias(b, RCNN_CLASSES);
    brick_linear(b, "roi_heads.box_predictor.box", REGIONS, HIDDEN, 4 * RCNN_CLASSES);
    brick_bias(b, 4 * RCNN_CLASSES);
    brick_loss(b, 5.0 * REGIONS * RCNN_CLASSES);
}

static void mask_head(struct builder *b)
{
    struct shape at = align(b, "roi_heads.mask_align", MASKED, 14);
    for (int i = 0; i < 4; i++) {
        const char *name = arena_text(b->perm, "roi_heads.mask_head.fcn%d", i);
        at = conv_bias(b, name, at, PYRAMID_WIDTH, window_square(3, 1, 1));
        brick_act(b, arena_text(b->perm, "%s.relu", name), at);
    }
    at = brick_conv_up(b, "roi_heads.mask_predictor.up", at, PYRAMID_WIDTH, window_square(2, 2, 0));
    brick_bias(b, PYRAMID_WIDTH);
    brick_act(b, "roi_heads.mask_predictor.relu", at);
    at = conv_bias(b, "roi_heads.mask_predictor.logits", at, RCNN_CLASSES, window_square(1, 1, 0));
    brick_loss(b, shape_points(at)); /* of the true class alone */
}

struct model *detection_mask_rcnn(const struct model_kind *kind, int seq_len, struct arena *perm)
{
    const struct resnet net = {.prefix = "backbone.",
                               .n_blocks = {3, 4, 6, 3},
                               .bottleneck = true,
                               .stride_in_3x3 = true,
                               .fixed_norm = true,
                               .groups = 1};
    must(seq_len == 0);
    struct builder builder = builder_open(kind->name, "image", kind->source, perm);
    struct builder *b = &builder;
    struct shape stages[4], levels[N_RPN_LEVELS];
    b->forward_only = true;
    struct shape at = resnet_stem(b, &net, shape_image(3, 800, 1344));
    stages[0] = at = resnet_stage(b, &net, 0, at);
    b->forward_only = false;
    for (int i = 1; i < 4; i++) stages[i] = at = resnet_stage(b, &net, i, at);
    pyramid(b, stages, 4, levels);
    levels[4] = brick_pool(b, "fpn.pool", levels[3], window_square(1, 2, 0), false);
    proposals(b, levels);
    box_head(b);
    mask_head(b);
    return builder.model;
}
