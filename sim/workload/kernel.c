#include "workload/kernel.h"

#include "base/must.h"

#include <math.h>

const char *const dtype_names[N_DTYPES] = {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"};

const char *const product_layout_names[N_PRODUCT_LAYOUTS] = {"nn", "nt", "tn"};

double dtype_B(enum dtype dtype)
{
    static const double bytes[N_DTYPES] = {4.0, 4.0, 2.0, 2.0, 2.0, 2.0, 2.0};
    must(dtype < N_DTYPES);
    return bytes[dtype];
}

/* operand_B — bytes of what a product reads; blocks of the microscaling types share a scale of one
 * byte (32 elements of mxfp8, 16 of nvfp4).
 * Source: OCP Microscaling Formats 1.0; NVIDIA, Introducing NVFP4, 2025. */
static double operand_B(enum dtype dtype)
{
    static const double bytes[N_DTYPES] = {
        4.0, 4.0, 2.0, 2.0, 1.0, 1.0 + 1.0 / 32.0, 0.5 + 1.0 / 16.0};
    must(dtype < N_DTYPES);
    return bytes[dtype];
}

/* product_dtype — attention stays in 16 bits where linear layers are narrower. */
static enum dtype product_dtype(const struct gpu *gpu, enum layer_kind kind, enum dtype dtype)
{
    if (kind != LAYER_ATTENTION || dtype < DTYPE_FP8) return dtype;
    return gpu->peak_flops[DTYPE_BF16] > 0.0 ? DTYPE_BF16 : DTYPE_FP16;
}

static bool is_half(enum dtype dtype)
{
    return dtype == DTYPE_FP16 || dtype == DTYPE_BF16;
}

/* matrix_flops — what a large product or convolution reaches. */
static double matrix_flops(const struct gpu *gpu, enum layer_kind kind, enum dtype dtype)
{
    double frac = gpu->matrix_frac[dtype];
    if (kind == LAYER_CONV) {
        const struct framework *framework = &gpu->framework;
        if (gpu->conv_frac[dtype] > 0.0) frac = gpu->conv_frac[dtype];
        frac *= 1.0 - (is_half(dtype) ? framework->half_lost_frac : framework->conv_lost_frac);
    } else if (dtype != DTYPE_FP32 && gpu->sustained_frac > 0.0) {
        frac *= gpu->sustained_frac;
    }
    double flops = gpu->peak_flops[dtype] * frac;
    must(flops > 0.0);
    return flops;
}

/* attention_flops — what one kernel for all of attention reaches; it makes its softmax meanwhile. */
static double attention_flops(const struct gpu *gpu, enum dtype dtype)
{
    bool vendor = gpu->framework.vendor_attention && gpu->vendor_attention_frac > 0.0;
    double frac = vendor ? gpu->vendor_attention_frac : gpu->attention_frac;
    if (frac > 0.0 && is_half(dtype)) return gpu->peak_flops[dtype] * frac;
    return matrix_flops(gpu, LAYER_ATTENTION, dtype);
}

static double memory_Bps(const struct gpu *gpu)
{
    return gpu->hbm_Bps * gpu->hbm_frac;
}

/* work of one layer in one direction */
struct work {
    enum layer_kind kind;
    double flop, bytes;
    double n_kernels;
    bool fused;
};

static double flop_s(const struct gpu *gpu, const struct work *work, enum dtype dtype)
{
    if (work->flop <= 0.0) return 0.0;
    if (!layer_is_matrix(work->kind)) {
        must(gpu->vector_flops > 0.0);
        return work->flop / gpu->vector_flops;
    }
    return (work->flop + work->n_kernels * gpu->half_flop) / matrix_flops(gpu, work->kind, dtype);
}

static double bytes_s(const struct gpu *gpu, const struct work *work)
{
    if (work->bytes <= 0.0) return 0.0;
    return (work->bytes + work->n_kernels * gpu->hbm_half_B) / memory_Bps(gpu);
}

static struct kernel_time work_time(const struct gpu *gpu, const struct work *work,
                                    enum dtype dtype)
{
    double arithmetic_s = flop_s(gpu, work, dtype);
    double memory_s = bytes_s(gpu, work);
    double busy_s = work->fused ? fmax(arithmetic_s, memory_s) : arithmetic_s + memory_s;
    return (struct kernel_time){busy_s + work->n_kernels * gpu->kernel_floor_s, work->bytes};
}

/* `count` products of (m x k) by (k x n) in one kernel */
struct product {
    enum layer_kind kind;
    double m, n, k, count, n_kernels;
    double read_elements, written_elements; /* of all */
    double window;
    bool short_window;
    bool depthwise; /* each channel alone */
    bool by_tiles;  /* its result is cut in tiles, not its sum */
    bool fused;     /* all of attention */
    enum product_layout layout;
    double result_B; /* of each written element; 0 = by its type */
};

static double times(double factor)
{
    return factor > 0.0 ? factor : 1.0;
}

/* product_flop — with what a product computes in vain and without what transforms save. */
static double product_flop(const struct gpu *gpu, const struct product *p, enum dtype dtype)
{
    double edge = gpu->tile_edge;
    double wave = p->kind == LAYER_CONV && p->by_tiles ? gpu->conv_wave : 0.0;
    double flop = 2.0 * (p->count * (p->m + edge) * (p->n + edge) + wave) * p->k;
    bool transforms = p->short_window && dtype == DTYPE_FP32 && gpu->framework.winograd > 0.0;
    return transforms ? flop / gpu->framework.winograd : flop;
}

/* transposed_B — read and written once more, in kernels of their own. */
static double transposed_B(const struct gpu *gpu, const struct product *p, enum dtype dtype)
{
    const struct framework *framework = &gpu->framework;
    if (p->kind != LAYER_CONV || dtype == DTYPE_FP32) return 0.0;
    double share = is_half(dtype) ? framework->half_transposed_frac : framework->transposed_frac;
    return 2.0 * share * (p->read_elements + p->written_elements) * dtype_B(dtype);
}

/* product_s — arithmetic alone. A convolution of each channel alone has no product to give to matrix
 * units. */
static double product_s(const struct gpu *gpu, const struct product *p, enum dtype dtype)
{
    double share = gpu->framework.depthwise_frac;
    if (!p->depthwise || share <= 0.0) {
        double flops = p->fused ? attention_flops(gpu, dtype) : matrix_flops(gpu, p->kind, dtype);
        return product_flop(gpu, p, dtype) / (flops * times(gpu->layout_rate[p->layout]));
    }
    must(gpu->vector_flops > 0.0);
    return 2.0 * p->count * p->m * p->n * p->k / (gpu->vector_flops * share);
}

/* latency_s — of a chain of k loads and multiply-adds, divided in parts where it is long. */
static double latency_s(const struct gpu *gpu, double k)
{
    static const double DIVIDED = 1024.0; /* elements; fits to eight GPUs came to 750 to 2000 */
    return gpu->product_step_s * k / (1.0 + k / DIVIDED);
}

/* one way to cut a product: tiles of a x b, its sum in s parts */
struct cut {
    double a, b, parts;
};

/* sides of tiles as libraries have them; more than MOST_OF_TILE elements fit no registers */
static const double tile_sides[] = {32.0, 64.0, 128.0, 256.0};
enum { N_TILE_SIDES = sizeof tile_sides / sizeof *tile_sides };
static const double MOST_OF_TILE = 32768.0;

/* load_of — what loading adds to a tile's arithmetic, times that of the largest tile, whose rate is what
 * a large product reaches. */
static double load_of(const struct gpu *gpu, double a, double b)
{
    static const double LARGEST = 1.0 / 256.0 + 1.0 / 128.0;
    return (1.0 + gpu->tile_load * (1.0 / a + 1.0 / b)) / (1.0 + gpu->tile_load * LARGEST);
}

static double n_tiles(const struct product *p, const struct cut *cut)
{
    return p->count * ceil(p->m / cut->a) * ceil(p->n / cut->b) * cut->parts;
}

/* cut_flop — what all multiprocessors could compute while the waves last. A part of a sum is at least
 * CHAIN long: loads run that far ahead. */
static double cut_flop(const struct gpu *gpu, const struct product *p, const struct cut *cut)
{
    static const double CHAIN = 64.0;
    double waves = ceil(n_tiles(p, cut) / gpu->multiprocessors);
    return 2.0 * waves * gpu->multiprocessors * cut->a * cut->b * fmax(p->k / cut->parts, CHAIN) *
           load_of(gpu, cut->a, cut->b);
}

/* rates that a product is computed and its memory moved at, and what it moves */
struct pace {
    double flops, Bps, read_B, written_B, operand_B;
};

/* a product's tiles in waves, along one side first */
struct sweep {
    struct {
        double length, tile;
    } along, across;
    double wave;       /* tiles */
    double cache_rows; /* as long as the sum, that the cache holds */
};

/* rows_again — as long as the sum, that are not read for the first time. Each pass reads the rows along, and
 * each column of more tiles than a wave reads those across as often as waves it takes. */
static double rows_again(const struct sweep *s)
{
    double column = ceil(s->along.length / s->along.tile);
    double passes = ceil(s->across.length / s->across.tile) * fmin(column, s->wave) / s->wave;
    double held = fmin(s->along.length, s->wave * s->along.tile);
    double again = s->along.length * fmax(passes - 1.0, 0.0) +
                   s->across.length * fmax(column / s->wave - 1.0, 0.0);
    return again * fmax(1.0 - s->cache_rows / held, 0.0);
}

/* again_s — parts of a sum are a wave's too, so the fewer tiles it has. */
static double again_s(const struct gpu *gpu, const struct product *p, const struct cut *cut,
                      const struct pace *pace)
{
    if (gpu->product_reread <= 0.0) return 0.0;
    double row_B = p->k * pace->operand_B;
    struct sweep by_m = {.along = {p->m, cut->a},
                         .across = {p->n, cut->b},
                         .wave = fmax(gpu->multiprocessors / cut->parts, 1.0),
                         .cache_rows = gpu->cache_B / row_B};
    struct sweep by_n = {.along = {p->n, cut->b},
                         .across = {p->m, cut->a},
                         .wave = by_m.wave,
                         .cache_rows = by_m.cache_rows};
    double rows = p->count * fmin(rows_again(&by_m), rows_again(&by_n));
    return gpu->product_reread * rows * row_B / memory_Bps(gpu);
}

/* cut_s — parts of a sum in fp32 are written, and found in a cache when they are added. INFINITY when
 * its arithmetic alone is no better than `best_s`. */
static double cut_s(const struct gpu *gpu, const struct product *p, const struct cut *cut,
                    const struct pace *pace, double best_s)
{
    double arithmetic_s = cut_flop(gpu, p, cut) / pace->flops;
    if (arithmetic_s >= best_s) return INFINITY;
    double parts_B =
        cut->parts > 1.0 ? cut->parts * p->count * p->m * p->n * dtype_B(DTYPE_FP32) : 0.0;
    return hypot(arithmetic_s, pace->read_B / pace->Bps) + again_s(gpu, p, cut, pace) +
           (pace->written_B + parts_B) / pace->Bps;
}

/* tiled_s — by the best cut. Sums are divided while that fills multiprocessors, and not when there are
 * MANY waves; as more tiles allow less, a larger product still never has a choice that a smaller one has
 * not. */
static double tiled_s(const struct gpu *gpu, const struct product *p, const struct pace *pace)
{
    static const double MOST_PARTS = 128.0, MANY = 4.0;
    double best_s = INFINITY;
    for (int t = 0; t < N_TILE_SIDES * N_TILE_SIDES; t++) {
        struct cut cut = {tile_sides[N_TILE_SIDES - 1 - t / N_TILE_SIDES],
                          tile_sides[t % N_TILE_SIDES], 1.0};
        if (cut.a * cut.b > MOST_OF_TILE) continue;
        do {
            best_s = fmin(best_s, cut_s(gpu, p, &cut, pace, best_s));
            cut.parts *= 2.0;
        } while (cut.parts <= MOST_PARTS && n_tiles(p, &cut) < MANY * gpu->multiprocessors);
    }
    return best_s;
}

static bool is_tiled(const struct gpu *gpu, const struct product *p)
{
    return gpu->tile_load > 0.0 && gpu->multiprocessors > 0.0 && p->kind == LAYER_LINEAR;
}

static struct kernel_time product_time(const struct gpu *gpu, const struct product *p,
                                       enum dtype layer_dtype)
{
    enum dtype dtype = product_dtype(gpu, p->kind, layer_dtype);
    struct pace pace = {
        .Bps = memory_Bps(gpu) * times(gpu->product_memory) * times(gpu->layout_memory[p->layout]),
        .read_B = p->read_elements * operand_B(dtype),
        .written_B = p->written_elements * (p->result_B > 0.0 ? p->result_B : dtype_B(dtype)),
        .operand_B = operand_B(dtype)};
    double moved_B = transposed_B(gpu, p, dtype);
    double busy_s;
    if (is_tiled(gpu, p)) {
        pace.flops = matrix_flops(gpu, p->kind, dtype) * times(gpu->layout_rate[p->layout]);
        busy_s = tiled_s(gpu, p, &pace);
    } else {
        busy_s = hypot(product_s(gpu, p, dtype), pace.read_B / pace.Bps) +
                 (pace.written_B + moved_B) / pace.Bps;
    }
    double floor_s = fmax(gpu->product_floor_s, gpu->kernel_floor_s) + latency_s(gpu, p->k);
    return (struct kernel_time){busy_s + p->n_kernels * floor_s,
                                pace.read_B + pace.written_B + moved_B};
}

/* cast_time — operands of narrow products are made from 16 bits: read once, written in both orders, as
 * the gradient's products sum over the other side.
 * Source: NVIDIA TransformerEngine, fused cast and transpose; Micikevicius et al., FP8 formats for deep
 * learning, 2022, sec. 3. Weights are cast once a step and left out. */
static struct kernel_time cast_time(const struct gpu *gpu, const struct layer *l, double elements,
                                    enum dtype dtype)
{
    if (l->kind != LAYER_LINEAR || dtype < DTYPE_FP8) return (struct kernel_time){0.0, 0.0};
    double moved_B = dtype_B(dtype) + 2.0 * operand_B(dtype);
    struct work work = {.kind = LAYER_ELEMENTWISE,
                        .bytes = elements * moved_B * (1.0 + gpu->framework.cast_extra),
                        .n_kernels = l->n_kernels,
                        .fused = true};
    return work_time(gpu, &work, dtype);
}

static struct kernel_time together(struct kernel_time a, struct kernel_time b)
{
    return (struct kernel_time){a.time_s + b.time_s, a.hbm_B + b.hbm_B};
}

/* layer_parameters — trained or not */
static double layer_parameters(const struct model *model, int layer)
{
    const struct layer *l = &model->layers[layer];
    double sum = l->frozen_elements;
    for (int t = 0; t < l->n_tensors; t++) {
        sum += (double)model->tensors[l->first_tensor + t].n_elements;
    }
    return sum;
}

/* is_depthwise — a channel in, a channel out. */
static bool is_depthwise(const struct layer *l)
{
    return l->kind == LAYER_CONV && l->n_products > 1.0 && l->n <= 1.0 && l->k <= l->window;
}

/* product_of — a layer's forward product: weights are shared by all samples, so those make m longer;
 * attention has products of its own for each sample. */
static struct product product_of(const struct layer *l, double batch, double weights)
{
    bool attention = l->kind == LAYER_ATTENTION;
    return (struct product){.kind = l->kind,
                            .m = attention ? l->m : batch * l->m,
                            .n = l->n,
                            .k = l->k,
                            .count = attention ? batch * l->n_products : l->n_products,
                            .n_kernels = l->n_kernels,
                            .read_elements = batch * l->read_elements + weights,
                            .written_elements = batch * l->written_elements,
                            .window = fmax(l->window, 1.0),
                            .short_window = l->short_window,
                            .depthwise = is_depthwise(l),
                            .by_tiles = true,
                            .fused = attention && l->fused,
                            .layout = l->kind == LAYER_LINEAR ? PRODUCT_NT : PRODUCT_NN,
                            0};
}

static bool is_frozen(const struct layer *l)
{
    return l->frozen_elements > 0.0 && l->n_tensors == 0;
}

/* element_B — bytes that a layer without products moves per element, under the framework. */
static double element_B(const struct gpu *gpu, const struct model *model, const struct layer *l,
                        enum dtype dtype)
{
    const struct framework *framework = &gpu->framework;
    if (layer_is_matrix(l->kind) || l->kind == LAYER_EMBEDDING) return dtype_B(dtype);
    bool text = model->tokens_per_sample > 1.0;
    bool wide = (text || l->wide) && framework->wide_text;
    double saved = text ? framework->saved_text_frac : framework->saved_frac;
    return dtype_B(wide ? DTYPE_FP32 : dtype) * (1.0 - saved);
}

/* Forward reads the parameters once, whatever the batch; a look-up reads only the rows that its
 * activations count. */
struct kernel_time kernel_forward(const struct gpu *gpu, const struct model *model, int layer,
                                  double batch, enum dtype dtype)
{
    const struct layer *l = &model->layers[layer];
    double weights = l->kind == LAYER_EMBEDDING ? 0.0 : layer_parameters(model, layer);
    if (layer_is_matrix(l->kind) && l->n_products > 0.0) {
        struct product product = product_of(l, batch, weights);
        return together(product_time(gpu, &product, dtype),
                        cast_time(gpu, l, batch * l->read_elements, dtype));
    }
    double moved = batch * (l->read_elements + l->written_elements) + weights;
    struct work work = {.kind = l->kind,
                        .flop = batch * l->flop,
                        .bytes = moved * element_B(gpu, model, l, dtype),
                        .n_kernels = l->n_kernels,
                        .fused = l->fused};
    return work_time(gpu, &work, dtype);
}

/* product_backward — the input's gradient is (m x n) by (n x k), from the output's gradient and the
 * weights; the weight's is (k x m) by (m x n), from the input and the output's gradient. Frozen
 * weights have none. */
static struct kernel_time product_backward(const struct gpu *gpu, const struct product *forward,
                                           double weights, const struct layer *l, enum dtype dtype,
                                           bool of_input)
{
    double output = forward->written_elements;
    double input = forward->read_elements - weights;
    struct product to_input = *forward, to_weight = *forward;
    to_input.n = forward->k / forward->window;
    to_input.k = forward->n * forward->window;
    to_input.layout = PRODUCT_NN;
    if (l->recomputed_flop > 0.0) to_input.count *= 1.0 + l->recomputed_flop / l->flop;
    to_input.read_elements = output + weights;
    to_input.written_elements = input;
    to_weight.m = forward->k;
    to_weight.k = forward->m;
    to_weight.by_tiles = false;
    if (l->kind == LAYER_LINEAR) to_weight.layout = PRODUCT_TN;
    to_weight.read_elements = output + input;
    to_weight.written_elements = weights;
    struct kernel_time a = {0.0, 0.0};
    if (of_input) a = product_time(gpu, &to_input, dtype);
    a = together(a, cast_time(gpu, l, output, dtype));
    return is_frozen(l) ? a : together(a, product_time(gpu, &to_weight, dtype));
}

/* Backward of a product is two products of the same size: twice the FLOP and twice the traffic.
 * Other layers do about twice the arithmetic, read the output gradient and what was kept of the
 * input, and write the input gradient: written + 2 read (ReLU 3 per element, batch norm 5, as their
 * kernels do). A look-up writes a dense gradient. Frozen parameters have no gradient: of a product the
 * input's alone is left, of a look-up nothing. */
struct kernel_time kernel_backward(const struct gpu *gpu, const struct model *model, int layer,
                                   double batch, enum dtype dtype)
{
    const struct layer *l = &model->layers[layer];
    bool matrix = layer_is_matrix(l->kind);
    bool frozen = is_frozen(l);
    if (l->forward_only) return (struct kernel_time){0.0, 0.0};
    if (frozen && l->kind == LAYER_EMBEDDING) return (struct kernel_time){0.0, 0.0};
    double n_products = frozen && matrix ? 1.0 : 2.0;
    double weights = layer_parameters(model, layer);
    if (matrix && l->n_products > 0.0) {
        struct product forward = product_of(l, batch, weights);
        bool of_data = layer == 0 && l->kind == LAYER_CONV && !frozen;
        return product_backward(gpu, &forward, weights, l, dtype, !of_data);
    }
    double read = n_products * l->read_elements;
    double written = matrix ? n_products * l->written_elements : l->written_elements;
    double moved = batch * (read + written) + (matrix ? n_products * weights : weights);
    struct work work = {.kind = l->kind,
                        .flop = batch * (n_products * l->flop + l->recomputed_flop),
                        .bytes = moved * element_B(gpu, model, l, dtype),
                        .n_kernels = n_products * l->n_kernels,
                        .fused = l->fused};
    return work_time(gpu, &work, dtype);
}

struct kernel_time kernel_optimizer(const struct gpu *gpu, double n_parameters,
                                    double bytes_per_parameter)
{
    struct work work = {.kind = LAYER_ELEMENTWISE,
                        .bytes = n_parameters * bytes_per_parameter *
                                 (1.0 + gpu->framework.optimizer_extra),
                        .n_kernels = 1.0,
                        .fused = true};
    return work_time(gpu, &work, DTYPE_FP32);
}

struct kernel_time kernel_product(const struct gpu *gpu, const struct kernel_shape *shape,
                                  enum dtype dtype)
{
    struct product product = {.kind = LAYER_LINEAR,
                              .m = shape->m,
                              .n = shape->n,
                              .k = shape->k,
                              .count = shape->count,
                              .n_kernels = 1.0,
                              .read_elements = shape->count * (shape->m + shape->n) * shape->k,
                              .written_elements = shape->count * shape->m * shape->n,
                              .window = 1.0,
                              .by_tiles = true,
                              .layout = shape->layout,
                              .result_B = shape->result_B};
    return product_time(gpu, &product, dtype);
}

/* Scores and their softmax are written and read once each between the products. */
struct kernel_time kernel_attention(const struct gpu *gpu, const struct kernel_shape *shape,
                                    enum dtype dtype, bool fused)
{
    if (fused) {
        struct product product = {
            .kind = LAYER_ATTENTION,
            .m = shape->m,
            .n = shape->n,
            .k = shape->k,
            .count = 2.0 * shape->count, /* scores, and their product with the values */
            .n_kernels = 1.0,
            .read_elements = shape->count * (shape->m + 2.0 * shape->n) * shape->k,
            .written_elements = shape->count * shape->m * shape->k,
            .window = 1.0,
            .by_tiles = true,
            .fused = true};
        return product_time(gpu, &product, dtype);
    }
    struct kernel_shape scores = *shape;
    struct kernel_shape values = {.m = shape->m,
                                  .n = shape->k,
                                  .k = shape->n,
                                  .count = shape->count,
                                  .layout = PRODUCT_NN,
                                  0};
    scores.layout = PRODUCT_NT;
    double scores_B = 2.0 * shape->count * shape->m * shape->n * dtype_B(dtype);
    return together(together(kernel_product(gpu, &scores, dtype), kernel_stream(gpu, scores_B)),
                    kernel_product(gpu, &values, dtype));
}

struct kernel_time kernel_stream(const struct gpu *gpu, double size_B)
{
    struct work work = {
        .kind = LAYER_ELEMENTWISE, .bytes = size_B, .n_kernels = 1.0, .fused = true};
    return work_time(gpu, &work, DTYPE_FP32);
}

struct kernel_time kernel_copy(const struct gpu *gpu, double size_B, int n_kernels)
{
    struct work work = {
        .kind = LAYER_ELEMENTWISE, .bytes = 2.0 * size_B, .n_kernels = n_kernels, .fused = true};
    return work_time(gpu, &work, DTYPE_FP32);
}
