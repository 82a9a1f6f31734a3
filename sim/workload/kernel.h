/* How long one layer takes on one GPU, under the framework that drives it. Smooth and monotone: a
 * bigger op is never predicted faster.
 *
 * Matrix products whose m, n, k are known (see struct layer): of count products (m x k) by (k x n),
 *
 *   T = hypot(2 count (m + edge) (n + edge) k / (peak reach), operands / B) + result / B + floor
 *       + step k / (1 + k / 1024)
 *
 * A product is cut in tiles of the result; where m or n are no multiples of the tile, parts of
 * tiles compute nothing, on average `edge` rows and columns in all. Operands are read while tiles
 * are computed, partly hidden; results are written when a tile is done. B is the reachable memory
 * bandwidth, times product_memory: thin products keep fewer loads under way than a copy, and others find
 * part of their operands in a cache. A tile's sum is a chain of loads and multiply-adds; its latency,
 * `step` for each element, shows where tiles are few. Libraries divide long sums over idle
 * multiprocessors (split-k), so beyond about 1024 elements it grows no more. Both are 1 and 0 unless
 * measured. Backward takes two products of the same m, n, k with other roles: the input's gradient
 * (m x k), summed over n, and the weight's (k x n), summed over m.
 *
 * Where a GPU was measured so (tile_load > 0), its tiles are counted instead of an edge: the result is cut
 * in tiles of a x b, the sum in s parts, and multiprocessors take them in waves, the last of which is part
 * empty. A wave takes a b k / s (1 + tile_load (1/a + 1/b)) over the same factor of the largest tile, as
 * small tiles load more for what they compute; parts of a sum are written apart and added. The best of a few a, b, s counts, as libraries
 * choose among kernels. A step in m or n is never down: each choice has more tiles or as many.
 * Source: NVIDIA, Matrix multiplication background user's guide, "Tile and wave quantization"; Osama et
 * al., Stream-K, 2023, sec. 3.
 *
 * A wave of w tiles goes along the shorter side first. Each pass reads its tiles' operands over the
 * whole sum; what the pass before has read of the shorter side is still in the cache as far as that holds
 * it, and is read again otherwise:
 *
 *   again = count k (m (passes - 1) + n (ceil(m / a) / w - 1)) (1 - cache / (min(m, w a) k)),
 *   passes = ceil(n / b) min(ceil(m / a), w) / w, each bracket at least 0, m and n in the better order
 *
 * elements, at the reachable memory bandwidth over product_reread, where that was measured. Arithmetic does
 * not hide it: all tiles of a wave wait for the same operands, and a GPU at its limit of power pays for
 * the traffic with its clock. Each term grows with m, n and k.
 * Sources: Lam, Rothberg & Wolf, The cache performance and optimizations of blocked algorithms, 1991;
 * Goto & van de Geijn, Anatomy of high-performance matrix multiplication, 2008, sec. 4; NVIDIA CUTLASS,
 * Efficient GEMM in CUDA, "Threadblock rasterization".
 *
 * Operands lie in memory along their sum or across it. A layer's output is nt by rows (activations and
 * transposed weights), its input's gradient nn, its weight's tn. Where measured, rate and memory share of
 * nt and tn are so many times those of nn.
 *
 * A convolution is a product of m output pixels, n output channels, k inputs of a window; the input's
 * gradient has the input's channels for n and a window of output channels for k. Tiles go to
 * multiprocessors in waves, the last of which is part empty: half a wave (conv_wave elements) is
 * computed in vain. A weight's gradient has few tiles and is divided along its sum instead. The first
 * layer's input needs no gradient.
 *
 * Convolutions by 3 x 3 and 5 x 5 take fewer multiplications where arithmetic is not on matrix
 * units, by transforms of small tiles; on matrix units they want channels last, and a framework that
 * keeps them first has each operand read and written once more.
 * Sources: Lavin & Gray, Fast algorithms for convolutional neural networks, 2016, sec. 4; NVIDIA,
 * Convolutional layers user's guide, "Tensor layouts".
 *
 * Products of unknown shape: with e(x) = x / (x + x_half) of the peak fraction, x / (peak e(x)) =
 * (x + x_half) / peak, a straight line: a half-size acts as a start-up cost of each kernel.
 * Arithmetic and memory add for unfused kernels, the larger counts for fused ones.
 *
 * Under 8 and 4 bits operands are cast first: an op of its own that moves memory. One kernel for all of
 * attention has a rate of its own: its softmax stands between its products.
 *
 * Other layers move memory: traffic that the framework's fusion saves does not count. */
#ifndef WORKLOAD_KERNEL_H
#define WORKLOAD_KERNEL_H

#include "workload/model.h"

enum dtype {
    DTYPE_FP32,
    DTYPE_TF32,
    DTYPE_FP16,
    DTYPE_BF16,
    DTYPE_FP8,
    DTYPE_MXFP8,
    DTYPE_NVFP4,
    N_DTYPES
};
extern const char *const dtype_names[N_DTYPES]; /* "fp32", ... */
/* dtype_B — bytes of an activation element in that mode: 4 or 2. Under 8 and 4 bits only the
 * operands of linear layers are that narrow; what lies between them stays bf16.
 * Source: NVIDIA TransformerEngine, Linear and LayerNormLinear. */
double dtype_B(enum dtype dtype);

/* What a framework makes of a GPU; all zero = nothing lost, nothing saved. */
struct framework {
    const char *name, *source;
    double issue_s;         /* host time to issue one kernel */
    double saved_frac;      /* share of the memory traffic of layers that are no products that its
                               fused kernels save; < 0: that much more than the layers say */
    double saved_text_frac; /* the same in models of sequences, whose kernels are its own instead of
                               a vendor library's */
    bool wide_text;         /* in those models such layers move 32 bits where products have 16, in
                               others those marked so (struct layer, wide) */
    double conv_lost_frac;  /* share of a GPU's convolution rate that its kernels and layout lose */
    double half_lost_frac;  /* the same for convolutions in 16 bits */
    double winograd; /* of convolutions by 3 x 3 and 5 x 5 in fp32, multiplications per one that is
                        left; 0 = 1 */
    double transposed_frac;      /* of the activations of convolutions on matrix units, which want
                               channels last, the share that is transposed on its way in and out */
    double half_transposed_frac; /* the same in 16 bits */
    double depthwise_frac;       /* share of a GPU's vector peak that convolutions of each channel
                                    alone reach; 0 = as other convolutions */
    bool vendor_attention;       /* its attention is the vendor's kernel, not the portable one */
    double cast_extra;      /* traffic of casts to 8 and 4 bits beyond that of one fused pass, as a
                               share; < 0: casts fused with the layers before */
    double optimizer_extra; /* traffic of the update beyond that of one fused pass, as a share */
};

/* how the operands of a product lie in memory by rows: as they stand (n) or transposed (t) */
enum product_layout { PRODUCT_NN, PRODUCT_NT, PRODUCT_TN, N_PRODUCT_LAYOUTS };
extern const char *const product_layout_names[N_PRODUCT_LAYOUTS]; /* "nn", ... */

struct measured;

/* a GPU profile from scenarios/hardware */
struct gpu {
    const char *name, *source;
    const struct measured *measured; /* how well it fits what was measured; NULL = not known */
    double peak_flops[N_DTYPES];     /* dense matrix peak; 0 = does not have it */
    double matrix_frac[N_DTYPES];    /* reachable share of the peak for a large op, (0, 1] */
    double conv_frac[N_DTYPES];      /* the same for convolutions; 0 = as matrix_frac */
    double
        sustained_frac; /* share of matrix_frac that products on matrix units hold through a step,
                              where power limits the clock; 0 = all */
    double conv_wave;   /* of a convolution's result, elements computed in vain where the last tiles
                           do not fill all multiprocessors */
    double attention_frac,
        vendor_attention_frac; /* share of the peak in 16 bits that kernels for all of attention
                                  reach, forward and backward; 0 = as products, and the portable
                                  kernel's for the vendor's */
    double product_memory; /* operands and results of products: share of hbm_frac that their traffic
                              gets, above 1 where caches help; 0 = 1 */
    double product_step_s; /* latency of a product by each element of its sum, which waits for
                              memory; long sums are divided, see kernel.c */
    double tile_edge;      /* rows and columns of a product computed in vain */
    double tile_load;      /* of a product in tiles: the side of a tile that loads for as long as it
                              computes; 0 = by tile_edge */
    double multiprocessors; /* that tiles are dealt to; 0 = not known, and no tiles are counted */
    double cache_B;         /* of the last level, which all multiprocessors share */
    double
        product_reread; /* of a product in tiles: time of operands that waves read again, times that
                               of a large kernel's traffic; 0 = none */
    double layout_rate[N_PRODUCT_LAYOUTS],
        layout_memory
            [N_PRODUCT_LAYOUTS]; /* of products: rate and product_memory, times those of nn;
                                             0 = 1 */
    double product_floor_s;      /* shortest matrix product; at least kernel_floor_s counts */
    double vector_flops;         /* fp32 non-matrix peak */
    double half_flop; /* of products of unknown shape: FLOP that reaches half of matrix_frac */
    double hbm_Bps, hbm_frac, hbm_half_B;
    double memory_B;
    double kernel_floor_s; /* shortest kernel */
    double issue_s;        /* host time to issue one kernel */
    double power_W;
    struct framework framework;
};

struct kernel_time {
    double time_s; /* GPU time */
    double hbm_B;  /* memory traffic */
};

/* kernel_forward, kernel_backward — a layer at `batch` samples. backward: input and weight
 * gradients. */
struct kernel_time kernel_forward(const struct gpu *gpu, const struct model *model, int layer,
                                  double batch, enum dtype dtype);
struct kernel_time kernel_backward(const struct gpu *gpu, const struct model *model, int layer,
                                   double batch, enum dtype dtype);

/* kernel_optimizer — update of n parameters: reads and writes `bytes_per_parameter`. */
struct kernel_time kernel_optimizer(const struct gpu *gpu, double n_parameters,
                                    double bytes_per_parameter);

/* What benchmarks measure: one kernel alone, in the same terms.
 *
 * kernel_product — count products (m x k) by (k x n). kernel_attention — m queries, n keys of k
 * elements, count heads; fused or as product, softmax, product. kernel_stream — a kernel that reads
 * and writes size_B in all. */
struct kernel_shape {
    double m, n, k, count;
    enum product_layout layout;
    double result_B; /* moved for each element of the result; 0 = it is written in the type */
};
struct kernel_time kernel_product(const struct gpu *gpu, const struct kernel_shape *shape,
                                  enum dtype dtype);
struct kernel_time kernel_attention(const struct gpu *gpu, const struct kernel_shape *shape,
                                    enum dtype dtype, bool fused);
struct kernel_time kernel_stream(const struct gpu *gpu, double size_B);

/* kernel_copy — n_kernels that copy size_B in all within the GPU's memory. */
struct kernel_time kernel_copy(const struct gpu *gpu, double size_B, int n_kernels);

#endif
