#include "workload/brick.h"

#include "base/must.h"

struct shape shape_image(int c, int h, int w)
{
    return (struct shape){c, 1, h, w};
}

struct shape shape_sound(int c, int frames)
{
    return (struct shape){c, 1, 1, frames};
}

double shape_points(struct shape s)
{
    return (double)s.d * s.h * s.w;
}

double shape_elements(struct shape s)
{
    return s.c * shape_points(s);
}

struct window window_square(int kernel, int stride, int pad)
{
    return (struct window){{1, kernel, kernel}, {1, stride, stride}, {0, pad, pad}, 1, 1};
}

struct window window_rect(int kh, int kw, int ph, int pw)
{
    return (struct window){{1, kh, kw}, {1, 1, 1}, {0, ph, pw}, 1, 1};
}

struct window window_cube(int kernel, int stride, int pad)
{
    return (struct window){
        {kernel, kernel, kernel}, {stride, stride, stride}, {pad, pad, pad}, 1, 1};
}

struct window window_span(int kernel, int stride, int pad)
{
    return (struct window){{1, 1, kernel}, {1, 1, stride}, {0, 0, pad}, 1, 1};
}

struct window window_grouped(struct window k, int groups)
{
    k.groups = groups;
    return k;
}

struct window window_dilated(struct window k, int dilation)
{
    k.dilation = dilation;
    for (int i = 0; i < 3; i++) k.pad[i] = dilation * (k.kernel[i] - 1) / 2;
    return k;
}

static int out_size(int in, const struct window *k, int i)
{
    return (in + 2 * k->pad[i] - k->dilation * (k->kernel[i] - 1) - 1) / k->stride[i] + 1;
}

struct shape window_shape(struct shape in, struct window k, int channels)
{
    return (struct shape){channels, out_size(in.d, &k, 0), out_size(in.h, &k, 1),
                          out_size(in.w, &k, 2)};
}

static int window_points(const struct window *k)
{
    return k->kernel[0] * k->kernel[1] * k->kernel[2];
}

/* conv_layer — its FLOP are those of its products. */
static void conv_layer(struct builder *b, struct layer layer, struct shape in, struct shape out)
{
    layer.kind = LAYER_CONV;
    layer.flop = 2.0 * layer.m * layer.n * layer.k * layer.n_products;
    layer.read_elements = shape_elements(in);
    layer.written_elements = shape_elements(out);
    layer.kept_elements = b->model->n_layers == 0 ? shape_elements(in) : 0.0; /* the image */
    layer.n_kernels = 1;
    builder_layer(b, layer);
}

bool brick_short_window(const struct window *k)
{
    bool square = k->kernel[0] == 1 && k->kernel[1] == k->kernel[2];
    bool each = k->stride[1] == 1 && k->stride[2] == 1 && k->dilation == 1 && k->groups == 1;
    return square && each && (k->kernel[1] == 3 || k->kernel[1] == 5);
}

struct shape brick_conv(struct builder *b, const char *name, struct shape in, int channels,
                        struct window k)
{
    struct shape out = window_shape(in, k, channels);
    int of_window = in.c / k.groups * window_points(&k);
    conv_layer(b,
               (struct layer){.name = name,
                              .m = shape_points(out),
                              .n = channels / (double)k.groups,
                              .k = of_window,
                              .n_products = k.groups,
                              .window = window_points(&k),
                              .short_window = brick_short_window(&k)},
               in, out);
    builder_tensor(b, "weight", (int64_t)channels * of_window);
    return out;
}

struct shape brick_conv_up(struct builder *b, const char *name, struct shape in, int channels,
                           struct window k)
{
    struct shape out = {channels, in.d * k.stride[0], in.h * k.stride[1], in.w * k.stride[2]};
    int to_window = channels / k.groups * window_points(&k);
    conv_layer(b,
               (struct layer){.name = name,
                              .m = shape_points(in),
                              .n = to_window,
                              .k = in.c / (double)k.groups,
                              .n_products = k.groups},
               in, out);
    builder_tensor(b, "weight", (int64_t)in.c * to_window);
    return out;
}

void brick_bias(struct builder *b, int n)
{
    builder_tensor(b, "bias", n);
}

/* what a kernel that runs over elements does with them */
struct pass {
    enum layer_kind kind;
    double flop, read, written, kept;
    int n_kernels;
};

static void pass_layer(struct builder *b, const char *name, const struct pass *p)
{
    builder_layer(b, (struct layer){.name = name,
                                    .kind = p->kind,
                                    .flop = p->flop,
                                    .read_elements = p->read,
                                    .written_elements = p->written,
                                    .kept_elements = p->kept,
                                    .n_kernels = p->n_kernels,
                                    .fused = true});
}

static void norm_layer(struct builder *b, const char *name, double n, int width)
{
    /* sum, square, sum; -, *, *, + */
    pass_layer(b, name, &(struct pass){LAYER_NORM, 7.0 * n, 2.0 * n, n, n, 1});
    builder_tensor(b, "weight", width);
    builder_tensor(b, "bias", width);
}

void brick_norm(struct builder *b, const char *name, struct shape s)
{
    norm_layer(b, name, shape_elements(s), s.c);
}

void brick_layer_norm(struct builder *b, const char *name, double rows, int width)
{
    norm_layer(b, name, rows * width, width);
}

void brick_wide(struct builder *b)
{
    must(b->model->n_layers > 0);
    b->model->layers[b->model->n_layers - 1].wide = true;
}

void brick_act(struct builder *b, const char *name, struct shape s)
{
    double n = shape_elements(s);
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, n, n, n, n, 1});
}

void brick_dropout(struct builder *b, const char *name, double elements)
{
    double n = elements;
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, n, n, n, 1.25 * n, 1});
}

void brick_add(struct builder *b, const char *name, struct shape s)
{
    double n = shape_elements(s);
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, n, 2.0 * n, n, 0.0, 1});
}

void brick_scale(struct builder *b, const char *name, struct shape s)
{
    double n = shape_elements(s);
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, n, n, n, n, 1});
}

void brick_copy(struct builder *b, const char *name, double elements)
{
    double n = elements;
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, 0.0, n, n, 0.0, 1});
}

void brick_concat(struct builder *b, const char *name, struct shape s)
{
    double n = shape_elements(s);
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, 0.0, n, n, n, 1});
}

struct shape brick_pool(struct builder *b, const char *name, struct shape in, struct window k,
                        bool keeps_index)
{
    struct shape out = window_shape(in, k, in.c);
    double n = shape_elements(out);
    pass_layer(b, name,
               &(struct pass){LAYER_POOL, n * window_points(&k), shape_elements(in), n,
                              keeps_index ? 3.0 * n : n, 1});
    return out;
}

struct shape brick_pool_all(struct builder *b, const char *name, struct shape in)
{
    return brick_pool(b, name, in, (struct window){{in.d, in.h, in.w}, {1, 1, 1}, {0}, 1, 1},
                      false);
}

struct shape brick_resize(struct builder *b, const char *name, struct shape in, int h, int w)
{
    struct shape out = {in.c, in.d, h, w};
    double n = shape_elements(out);
    /* bilinear: four neighbours, three products and sums in each direction */
    pass_layer(b, name, &(struct pass){LAYER_ELEMENTWISE, 8.0 * n, shape_elements(in), n, 0.0, 1});
    return out;
}

void brick_product(struct builder *b, const char *name, double rows, int in, int out)
{
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_LINEAR,
                                    .m = rows,
                                    .n = out,
                                    .k = in,
                                    .n_products = 1.0,
                                    .flop = 2.0 * rows * in * out,
                                    .read_elements = rows * in,
                                    .written_elements = rows * out,
                                    .n_kernels = 1});
}

void brick_linear(struct builder *b, const char *name, double rows, int in, int out)
{
    brick_product(b, name, rows, in, out);
    builder_tensor(b, "weight", (int64_t)in * out);
}

static void attention_product(struct builder *b, const char *name, struct layer layer)
{
    layer.name = name;
    layer.kind = LAYER_ATTENTION;
    layer.flop = 2.0 * layer.m * layer.n * layer.k * layer.n_products;
    layer.read_elements = layer.n_products * layer.k * (layer.m + layer.n);
    layer.written_elements = layer.n_products * layer.m * layer.n;
    layer.n_kernels = 1;
    builder_layer(b, layer);
}

void brick_attention(struct builder *b, const char *name, const struct attention *a)
{
    double square = a->heads * a->queries * a->keys;
    double head_width = (double)a->width / a->heads;
    attention_product(b, arena_text(b->perm, "%s.scores", name),
                      (struct layer){.m = a->queries,
                                     .n = a->keys,
                                     .k = head_width,
                                     .n_products = a->heads,
                                     .kept_elements = (a->queries + 2.0 * a->keys) * a->width});
    /* scale, mask, softmax, dropout; kept: softmax's output, the mask and dropout's output */
    pass_layer(b, arena_text(b->perm, "%s.softmax", name),
               &(struct pass){LAYER_ELEMENTWISE, 8.0 * square, 4.0 * square, 4.0 * square,
                              2.5 * square, 4});
    attention_product(
        b, arena_text(b->perm, "%s.context", name),
        (struct layer){.m = a->queries, .n = head_width, .k = a->keys, .n_products = a->heads});
}

void brick_fused_attention(struct builder *b, const char *name, const struct attention *a)
{
    double pairs = a->queries * a->keys;
    builder_layer(b, (struct layer){.name = name,
                                    .kind = LAYER_ATTENTION,
                                    .m = a->queries,
                                    .n = a->keys,
                                    .k = (double)a->width / a->heads,
                                    .n_products = 2.0 * a->heads, /* scores and context */
                                    .flop = 4.0 * pairs * a->width,
                                    .read_elements = (a->queries + 2.0 * a->keys) * a->width,
                                    .written_elements = a->queries * a->width,
                                    .kept_elements = 2.0 * (a->queries + a->keys) * a->width,
                                    .recomputed_flop = 2.0 * pairs * a->width,
                                    .n_kernels = 1,
                                    .fused = true});
}

void brick_look_up(struct builder *b, const char *name, double rows, int n_rows, int width)
{
    double n = rows * width;
    pass_layer(b, name, &(struct pass){LAYER_EMBEDDING, 0.0, n, n, rows, 1});
    builder_tensor(b, "weight", (int64_t)n_rows * width);
}

void brick_loss(struct builder *b, double elements)
{
    double n = elements;
    pass_layer(b, "loss", &(struct pass){LAYER_LOSS, 4.0 * n, n, n, 2.0 * n, 2});
}

struct shape brick_conv_norm(struct builder *b, const char *name, struct shape in, int channels,
                             struct window k)
{
    struct shape out = brick_conv(b, name, in, channels, k);
    brick_norm(b, arena_text(b->perm, "%s.bn", name), out);
    return out;
}

struct shape brick_conv_norm_relu(struct builder *b, const char *name, struct shape in,
                                  int channels, struct window k)
{
    struct shape out = brick_conv_norm(b, name, in, channels, k);
    brick_act(b, arena_text(b->perm, "%s.relu", name), out);
    return out;
}
