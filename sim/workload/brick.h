/* The bricks that networks are built of which are not plain transformers: each appends one layer
 * with what it computes, moves and keeps, for one sample. Sizes are those of a volume, of which an
 * image is one slice and sound one row.
 *
 * What is kept for backward follows PyTorch: a normalisation keeps its input, an activation its
 * output, and so a convolution or linear layer behind one of them keeps nothing of its own. */
#ifndef WORKLOAD_BRICK_H
#define WORKLOAD_BRICK_H

#include "workload/builder.h"

/* activations between layers: channels, depth, height, width */
struct shape {
    int c, d, h, w;
};
struct shape shape_image(int c, int h, int w);
struct shape shape_sound(int c, int frames);
double shape_points(struct shape s);   /* positions of one channel */
double shape_elements(struct shape s); /* of all channels */

/* a window that slides over the volume: convolution or pooling; by depth, height, width */
struct window {
    int kernel[3], stride[3], pad[3], dilation, groups;
};
struct window window_square(int kernel, int stride, int pad);
struct window window_rect(int kh, int kw, int ph, int pw);
struct window window_cube(int kernel, int stride, int pad);
struct window window_span(int kernel, int stride, int pad); /* of sound */
struct window window_grouped(struct window k, int groups);
struct window window_dilated(struct window k, int dilation); /* and padded to keep the size */
struct shape window_shape(struct shape in, struct window k, int channels);

/* brick_short_window — libraries have transforms of small tiles for it: flat, dense, 3 x 3 or 5 x 5,
 * at each pixel. */
bool brick_short_window(const struct window *k);

/* brick_conv — a convolution as the implicit product of (output points) x (window of a group's
 * input channels) by the group's output channels. Without bias. */
struct shape brick_conv(struct builder *b, const char *name, struct shape in, int channels,
                        struct window k);

/* brick_conv_up — a transposed convolution that makes the volume `stride` times as large: each
 * input point is multiplied into a window of the output. */
struct shape brick_conv_up(struct builder *b, const char *name, struct shape in, int channels,
                           struct window k);

/* brick_bias — a bias of n elements for the layer added last. */
void brick_bias(struct builder *b, int n);

/* brick_conv_norm — a convolution and the normalisation of its output; brick_conv_norm_relu — and the
 * activation of that. */
struct shape brick_conv_norm(struct builder *b, const char *name, struct shape in, int channels,
                             struct window k);
struct shape brick_conv_norm_relu(struct builder *b, const char *name, struct shape in,
                                  int channels, struct window k);

/* brick_norm — batch, instance, group or layer normalisation with scale and shift per channel:
 * training reads its input twice, for the statistics and for the values. */
void brick_norm(struct builder *b, const char *name, struct shape s);

/* brick_wide — automatic mixed precision leaves the layer added last in 32 bits: group and layer
 * normalisation and what is done to their output before the next product.
 * Source: PyTorch, Automatic Mixed Precision, op reference. */
void brick_wide(struct builder *b);

/* brick_act — an activation function, one kernel. */
void brick_act(struct builder *b, const char *name, struct shape s);

/* brick_dropout — with the mask of a byte per element. */
void brick_dropout(struct builder *b, const char *name, double elements);

/* brick_add — the sum of two; brick_scale — one times another that is broadcast to it. */
void brick_add(struct builder *b, const char *name, struct shape s);
void brick_scale(struct builder *b, const char *name, struct shape s);

/* brick_copy — kernels that move `elements` and keep none: concatenation, transposition, padding.
 * brick_concat keeps its copy, since what follows reads it. */
void brick_copy(struct builder *b, const char *name, double elements);
void brick_concat(struct builder *b, const char *name, struct shape s);

struct shape brick_pool(struct builder *b, const char *name, struct shape in, struct window k,
                        bool keeps_index);
struct shape brick_pool_all(struct builder *b, const char *name, struct shape in); /* to a point */

/* brick_resize — interpolation of the image to h x w. */
struct shape brick_resize(struct builder *b, const char *name, struct shape in, int h, int w);

/* brick_product — `rows` positions of a sample through one matrix, whose weights stand elsewhere;
 * brick_linear — with weights of its own. Without bias. */
void brick_product(struct builder *b, const char *name, double rows, int in, int out);
void brick_linear(struct builder *b, const char *name, double rows, int in, int out);

/* brick_layer_norm — over `width` of each of `rows` positions. */
void brick_layer_norm(struct builder *b, const char *name, double rows, int width);

/* brick_attention — scores, softmax and context of `queries` x `keys` positions; no parameters. */
struct attention {
    double queries, keys;
    int width, heads;
};
void brick_attention(struct builder *b, const char *name, const struct attention *a);

/* brick_fused_attention — the same in one kernel that keeps no square and computes the scores once
 * more in backward. Source: Dao et al., FlashAttention, 2022, algorithms 1 and 4. */
void brick_fused_attention(struct builder *b, const char *name, const struct attention *a);

/* brick_look_up — rows of a table of n_rows x width. */
void brick_look_up(struct builder *b, const char *name, double rows, int n_rows, int width);

/* brick_loss — of `elements` scores. */
void brick_loss(struct builder *b, double elements);

#endif
