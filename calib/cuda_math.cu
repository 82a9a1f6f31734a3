/* Kernels of our own: plain and bound by memory, each number read and written 16 bytes at a time. */
#include "calib/cuda_math.h"

#include "calib/reference.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <string.h>

/* Every launch goes through here, and the clock is read here: tests play kernels on a CPU. */
#ifndef CUDA_LAUNCH
#define CUDA_LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#define CUDA_CLOCK(now) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now))
#endif

enum { BLOCK = 256, WARP = 32, ROWS_PER_BLOCK = BLOCK / WARP, BLOCK_MAX = 1024, COPY_UNROLL = 4 };

typedef __nv_fp8_e4m3 fp8;
typedef __nv_bfloat16 bf16;

template <typename T, int V> struct alignas(sizeof(T) * V) pack {
    T v[V];
};

template <typename T> __host__ __device__ inline float widen(T x)
{
    return static_cast<float>(x);
}
template <typename T> __device__ inline T narrow(float x)
{
    return static_cast<T>(x);
}

/* one call with the type that a number stands for; fp8 only where `call` can take it */
#define WITH_NUMBER(number, call)                                                                      \
    switch (number) {                                                                                  \
    case NUMBER_FP32: call(float); break;                                                              \
    case NUMBER_FP16: call(half); break;                                                               \
    case NUMBER_BF16: call(bf16); break;                                                               \
    case NUMBER_FP8: call(fp8); break;                                                                 \
    }

bool number_of(const char *dtype, enum number *number)
{
    static const struct {
        const char *dtype;
        enum number number;
    } names[] = {{"fp32", NUMBER_FP32}, {"tf32", NUMBER_FP32}, {"fp16", NUMBER_FP16},
                 {"bf16", NUMBER_BF16}, {"fp8", NUMBER_FP8}};
    for (const auto &name : names) {
        if (strcmp(name.dtype, dtype) != 0) continue;
        *number = name.number;
        return true;
    }
    return false;
}

double number_B(enum number number)
{
    return number == NUMBER_FP32 ? 4 : number == NUMBER_FP8 ? 1 : 2;
}

double number_read(enum number number, const void *numbers, int64_t at)
{
#define READ(T) return (double)widen(static_cast<const T *>(numbers)[at])
    WITH_NUMBER(number, READ)
#undef READ
    return 0;
}

static unsigned blocks_of(int64_t n, int per_block)
{
    return (unsigned)((n + per_block - 1) / per_block);
}

/* filling, waiting, nothing */

/* Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014, mix13. */
static __device__ uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <typename T> __global__ void fill_kernel(T *numbers, int64_t n, uint64_t seed, float low)
{
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    uint64_t start = mixed(seed + 0x9e3779b97f4a7c15u);
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float unit = (float)(mixed(start + (uint64_t)i) >> 40) * 0x1p-24f;
        numbers[i] = narrow<T>(low + unit * (1 - low));
    }
}

cudaError_t math_fill(struct fill fill, cudaStream_t stream)
{
    int64_t wanted = (fill.n + BLOCK - 1) / BLOCK;
    unsigned grid = (unsigned)(wanted < 65536 ? wanted : 65536); /* then each thread takes several */
    if (grid == 0) return cudaSuccess;
#define FILL(T)                                                                                        \
    CUDA_LAUNCH(fill_kernel<T>, grid, BLOCK, stream, static_cast<T *>(fill.numbers), fill.n, fill.seed, \
                fill.low)
    WITH_NUMBER(fill.number, FILL)
#undef FILL
    return cudaGetLastError();
}

static __device__ uint64_t device_clock_ns()
{
    uint64_t now;
    CUDA_CLOCK(now);
    return now;
}

static __global__ void hold_kernel(uint64_t time_ns)
{
    uint64_t start = device_clock_ns();
    while (device_clock_ns() - start < time_ns) {
    }
}

cudaError_t math_hold(double time_s, cudaStream_t stream)
{
    CUDA_LAUNCH(hold_kernel, 1, 1, stream, (uint64_t)(time_s * 1e9));
    return cudaGetLastError();
}

static __global__ void nothing_kernel() {}

cudaError_t math_nothing(cudaStream_t stream)
{
    CUDA_LAUNCH(nothing_kernel, 1, 1, stream);
    return cudaGetLastError();
}

/* element by element: a thread takes V numbers, the first n % V threads after those one each */

template <typename T> static __device__ T elementwise_one(T x, T y)
{
    return narrow<T>(fmaxf((float)REFERENCE_SCALE * widen(x) + widen(y), 0.0f));
}

template <typename T, int V> __global__ void elementwise_kernel(const T *x, T *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t whole = n / V;
    if (i < whole) {
        pack<T, V> a = reinterpret_cast<const pack<T, V> *>(x)[i];
        pack<T, V> b = reinterpret_cast<pack<T, V> *>(y)[i];
        for (int v = 0; v < V; v++) b.v[v] = elementwise_one(a.v[v], b.v[v]);
        reinterpret_cast<pack<T, V> *>(y)[i] = b;
    } else if (i < whole + n % V) {
        int64_t at = whole * V + (i - whole);
        y[at] = elementwise_one(x[at], y[at]);
    }
}

cudaError_t math_elementwise(struct rows rows, const void *x, void *y, cudaStream_t stream)
{
    int64_t n = rows.m * rows.n;
#define ELEMENTWISE(T)                                                                                 \
    CUDA_LAUNCH((elementwise_kernel<T, 16 / sizeof(T)>),                                               \
                blocks_of(n / (16 / (int)sizeof(T)) + 16 / (int)sizeof(T), BLOCK), BLOCK, stream,      \
                static_cast<const T *>(x), static_cast<T *>(y), n)
    WITH_NUMBER(rows.number, ELEMENTWISE)
#undef ELEMENTWISE
    return cudaGetLastError();
}

static __global__ void triad_kernel(float *a, const float *b, const float *c, int64_t n)
{
    const int V = 4;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t whole = n / V;
    const float scale = (float)REFERENCE_SCALE;
    if (i < whole) {
        pack<float, V> left = reinterpret_cast<const pack<float, V> *>(b)[i];
        pack<float, V> right = reinterpret_cast<const pack<float, V> *>(c)[i];
        for (int v = 0; v < V; v++) left.v[v] += scale * right.v[v];
        reinterpret_cast<pack<float, V> *>(a)[i] = left;
    } else if (i < whole + n % V) {
        int64_t at = whole * V + (i - whole);
        a[at] = b[at] + scale * c[at];
    }
}

cudaError_t math_triad(int64_t n, const struct operands *abc, cudaStream_t stream)
{
    CUDA_LAUNCH(triad_kernel, blocks_of(n / 4 + 4, BLOCK), BLOCK, stream,
                reinterpret_cast<float *>(abc->part[0]), reinterpret_cast<const float *>(abc->part[1]),
                reinterpret_cast<const float *>(abc->part[2]), n);
    return cudaGetLastError();
}

/* a thread has COPY_UNROLL vectors under way at a time */
static __global__ void copy_kernel(const uint4 *source, uint4 *destination, int64_t n, int tail_B)
{
    int64_t first = (int64_t)blockIdx.x * blockDim.x * COPY_UNROLL + threadIdx.x;
    uint4 held[COPY_UNROLL];
#pragma unroll
    for (int u = 0; u < COPY_UNROLL; u++) {
        int64_t i = first + (int64_t)u * blockDim.x;
        if (i < n) held[u] = source[i];
    }
#pragma unroll
    for (int u = 0; u < COPY_UNROLL; u++) {
        int64_t i = first + (int64_t)u * blockDim.x;
        if (i < n) destination[i] = held[u];
    }
    if (first < tail_B) /* of what is less than a vector, at the end */
        reinterpret_cast<char *>(destination + n)[first] = reinterpret_cast<const char *>(source + n)[first];
}

cudaError_t math_copy(const void *source, void *destination, double bytes, cudaStream_t stream)
{
    int64_t whole = (int64_t)bytes / (int64_t)sizeof(uint4);
    int tail_B = (int)((int64_t)bytes % (int64_t)sizeof(uint4));
    CUDA_LAUNCH(copy_kernel, blocks_of(whole > 0 ? whole : 1, BLOCK * COPY_UNROLL), BLOCK, stream,
                static_cast<const uint4 *>(source), static_cast<uint4 *>(destination), whole, tail_B);
    return cudaGetLastError();
}

struct adam_state {
    float weight, moment1, moment2;
};

static __device__ struct adam_state adam_one(struct adam_state s, float gradient)
{
    const float beta1 = (float)REFERENCE_ADAM_BETA1, beta2 = (float)REFERENCE_ADAM_BETA2;
    const float left1 = (float)(1 - REFERENCE_ADAM_BETA1), left2 = (float)(1 - REFERENCE_ADAM_BETA2);
    s.moment1 = beta1 * s.moment1 + left1 * gradient;
    s.moment2 = beta2 * s.moment2 + left2 * gradient * gradient;
    float step = s.moment1 / left1 / (sqrtf(s.moment2 / left2) + (float)REFERENCE_ADAM_EPSILON);
    s.weight -= (float)REFERENCE_ADAM_RATE * (step + (float)REFERENCE_ADAM_DECAY * s.weight);
    return s;
}

template <typename T> struct adam_arrays {
    float *weight, *moment1, *moment2;
    const T *gradient;
    T *copy; /* NULL: the model uses the fp32 weights themselves */
};

template <typename T, int V> static __device__ void adam_pack(struct adam_arrays<T> of, int64_t i)
{
    auto *weight = reinterpret_cast<pack<float, V> *>(of.weight) + i;
    auto *moment1 = reinterpret_cast<pack<float, V> *>(of.moment1) + i;
    auto *moment2 = reinterpret_cast<pack<float, V> *>(of.moment2) + i;
    pack<float, V> w = *weight, m1 = *moment1, m2 = *moment2;
    pack<T, V> g = reinterpret_cast<const pack<T, V> *>(of.gradient)[i], copy;
    for (int v = 0; v < V; v++) {
        struct adam_state s = adam_one({w.v[v], m1.v[v], m2.v[v]}, widen(g.v[v]));
        w.v[v] = s.weight;
        m1.v[v] = s.moment1;
        m2.v[v] = s.moment2;
        copy.v[v] = narrow<T>(s.weight);
    }
    *weight = w;
    *moment1 = m1;
    *moment2 = m2;
    if (of.copy) reinterpret_cast<pack<T, V> *>(of.copy)[i] = copy;
}

template <typename T> __global__ void adam_kernel(struct adam_arrays<T> of, int64_t n)
{
    const int V = 4;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t whole = n / V;
    if (i < whole)
        adam_pack<T, V>(of, i);
    else if (i < whole + n % V)
        adam_pack<T, 1>(of, whole * V + (i - whole));
}

cudaError_t math_adam(enum number number, int64_t n, const struct operands *operands, cudaStream_t stream)
{
    unsigned char *const *part = operands->part;
#define ADAM(T)                                                                                        \
    CUDA_LAUNCH(adam_kernel<T>, blocks_of(n / 4 + 4, BLOCK), BLOCK, stream,                            \
                adam_arrays<T>{reinterpret_cast<float *>(part[0]), reinterpret_cast<float *>(part[1]), \
                               reinterpret_cast<float *>(part[2]), reinterpret_cast<const T *>(part[3]), \
                               number == NUMBER_FP32 ? NULL : reinterpret_cast<T *>(part[4])},          \
                n)
    WITH_NUMBER(number, ADAM)
#undef ADAM
    return cudaGetLastError();
}

/* ---- row by row: a team of blockDim.x threads has a row; a team of one warp shares its block with
 * others (blockDim.y of them), a larger team is a whole block ---- */

struct sum_of {
    static __device__ float join(float a, float b) { return a + b; }
    static __device__ float none() { return 0; }
};
struct most_of {
    static __device__ float join(float a, float b) { return fmaxf(a, b); }
    static __device__ float none() { return -INFINITY; }
};

/* every thread of the team gets the result; all threads of the block have to come here if the team is
 * larger than a warp */
template <typename Of> static __device__ float team(float x)
{
    __shared__ float warps[WARP];
    for (int apart = WARP / 2; apart > 0; apart /= 2) x = Of::join(x, __shfl_xor_sync(0xffffffffu, x, apart));
    if (blockDim.x == WARP) return x;
    int lane = (int)threadIdx.x % WARP;
    __syncthreads(); /* what the last call left in warps has been read */
    if (lane == 0) warps[threadIdx.x / WARP] = x;
    __syncthreads();
    x = lane < (int)blockDim.x / WARP ? warps[lane] : Of::none();
    for (int apart = WARP / 2; apart > 0; apart /= 2) x = Of::join(x, __shfl_xor_sync(0xffffffffu, x, apart));
    return x;
}

static __device__ int64_t own_row()
{
    return (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
}

/* step(at, x[V]) for the packs of a row that are this thread's */
template <typename T, int V, typename Step> static __device__ void each(const T *row, int64_t n, Step step)
{
    for (int64_t i = threadIdx.x; i < n / V; i += blockDim.x) {
        pack<T, V> x = reinterpret_cast<const pack<T, V> *>(row)[i];
        step(i, x);
    }
}

template <typename T, int V> __global__ void sums_kernel(const T *x, float *sums, int64_t m, int64_t n)
{
    int64_t row = own_row();
    if (row >= m) return; /* a whole team */
    float sum = 0;
    each<T, V>(x + row * n, n, [&](int64_t, const pack<T, V> &p) {
        for (int v = 0; v < V; v++) sum += widen(p.v[v]);
    });
    sum = team<sum_of>(sum);
    if (threadIdx.x == 0) sums[row] = sum;
}

/* Three passes over a row: its maximum, the sum of exponentials, the result. The second and third find it
 * in the cache of the multiprocessor. */
template <typename T, int V> __global__ void softmax_kernel(const T *x, T *y, int64_t m, int64_t n)
{
    int64_t row = own_row();
    if (row >= m) return;
    const T *from = x + row * n;
    float most = -INFINITY;
    each<T, V>(from, n, [&](int64_t, const pack<T, V> &p) {
        for (int v = 0; v < V; v++) most = fmaxf(most, widen(p.v[v]));
    });
    most = team<most_of>(most);
    float sum = 0;
    each<T, V>(from, n, [&](int64_t, const pack<T, V> &p) {
        for (int v = 0; v < V; v++) sum += __expf(widen(p.v[v]) - most);
    });
    float share = 1 / team<sum_of>(sum);
    each<T, V>(from, n, [&](int64_t i, pack<T, V> p) {
        for (int v = 0; v < V; v++) p.v[v] = narrow<T>(__expf(widen(p.v[v]) - most) * share);
        reinterpret_cast<pack<T, V> *>(y + row * n)[i] = p;
    });
}

template <typename T> struct norm_arrays {
    const T *x, *scale, *shift;
    T *y;
};

template <typename T, int V> __global__ void norm_kernel(struct norm_arrays<T> of, int64_t m, int64_t n)
{
    int64_t row = own_row();
    if (row >= m) return;
    const T *from = of.x + row * n;
    float sum = 0;
    each<T, V>(from, n, [&](int64_t, const pack<T, V> &p) {
        for (int v = 0; v < V; v++) sum += widen(p.v[v]);
    });
    float mean = team<sum_of>(sum) / (float)n;
    float squares = 0;
    each<T, V>(from, n, [&](int64_t, const pack<T, V> &p) {
        for (int v = 0; v < V; v++) squares += (widen(p.v[v]) - mean) * (widen(p.v[v]) - mean);
    });
    float steep = rsqrtf(team<sum_of>(squares) / (float)n + (float)REFERENCE_NORM_EPSILON);
    each<T, V>(from, n, [&](int64_t i, pack<T, V> p) {
        pack<T, V> scale = reinterpret_cast<const pack<T, V> *>(of.scale)[i];
        pack<T, V> shift = reinterpret_cast<const pack<T, V> *>(of.shift)[i];
        for (int v = 0; v < V; v++)
            p.v[v] = narrow<T>((widen(p.v[v]) - mean) * steep * widen(scale.v[v]) + widen(shift.v[v]));
        reinterpret_cast<pack<T, V> *>(of.y + row * n)[i] = p;
    });
}

/* A row of up to 1024 numbers is a warp's; longer ones are a block's, of at most one pack per thread. */
static dim3 team_of(struct rows rows)
{
    int64_t packs = rows.n * (int64_t)number_B(rows.number) / 16;
    if (rows.n <= 1024) return dim3(WARP, ROWS_PER_BLOCK);
    if (packs <= BLOCK) return dim3(BLOCK, 1);
    return packs <= 2 * BLOCK ? dim3(2 * BLOCK, 1) : dim3(BLOCK_MAX, 1);
}

/* Rows whose length is no multiple of 16 bytes do not start at one: number by number. */
#define WITH_ROWS(kernel, rows, stream, ...)                                                           \
    do {                                                                                               \
        dim3 block_ = team_of(rows);                                                                   \
        unsigned grid_ = blocks_of((rows).m, (int)block_.y);                                           \
        if ((rows).n % (16 / (int64_t)sizeof(TYPE)) == 0)                                              \
            CUDA_LAUNCH((kernel<TYPE, 16 / sizeof(TYPE)>), grid_, block_, stream, __VA_ARGS__);        \
        else                                                                                           \
            CUDA_LAUNCH((kernel<TYPE, 1>), grid_, block_, stream, __VA_ARGS__);                        \
    } while (0)

template <typename TYPE>
static void launch_sums(struct rows rows, const void *x, float *sums, cudaStream_t stream)
{
    WITH_ROWS(sums_kernel, rows, stream, static_cast<const TYPE *>(x), sums, rows.m, rows.n);
}

template <typename TYPE>
static void launch_softmax(struct rows rows, const void *x, void *y, cudaStream_t stream)
{
    WITH_ROWS(softmax_kernel, rows, stream, static_cast<const TYPE *>(x), static_cast<TYPE *>(y), rows.m,
              rows.n);
}

template <typename TYPE>
static void launch_norm(struct rows rows, const struct operands *operands, cudaStream_t stream)
{
    struct norm_arrays<TYPE> of = {
        reinterpret_cast<const TYPE *>(operands->part[0]), reinterpret_cast<const TYPE *>(operands->part[2]),
        reinterpret_cast<const TYPE *>(operands->part[3]), reinterpret_cast<TYPE *>(operands->part[1])};
    WITH_ROWS(norm_kernel, rows, stream, of, rows.m, rows.n);
}

cudaError_t math_sums(struct rows rows, const void *x, float *sums, cudaStream_t stream)
{
#define SUMS(T) launch_sums<T>(rows, x, sums, stream)
    WITH_NUMBER(rows.number, SUMS)
#undef SUMS
    return cudaGetLastError();
}

cudaError_t math_softmax(struct rows rows, const void *x, void *y, cudaStream_t stream)
{
#define SOFTMAX(T) launch_softmax<T>(rows, x, y, stream)
    WITH_NUMBER(rows.number, SOFTMAX)
#undef SOFTMAX
    return cudaGetLastError();
}

cudaError_t math_layer_norm(struct rows rows, const struct operands *operands, cudaStream_t stream)
{
#define NORM(T) launch_norm<T>(rows, operands, stream)
    WITH_NUMBER(rows.number, NORM)
#undef NORM
    return cudaGetLastError();
}

/* reference of a product */

struct product_shape {
    int64_t m, n, k;
    bool a_transposed, b_transposed;
};

/* block p computes place p */
template <typename T>
__global__ void product_at_kernel(struct product_shape of, const T *a, const T *b, struct places places)
{
    __shared__ struct gemm_sum part[BLOCK];
    int64_t at = places.at[blockIdx.x];
    int64_t matrix = at / (of.m * of.n), i = at / of.n % of.m, j = at % of.n;
    a += matrix * of.m * of.k;
    b += matrix * of.k * of.n;
    struct gemm_sum own = {0, 0};
    for (int64_t p = threadIdx.x; p < of.k; p += blockDim.x) {
        double left = (double)widen(a[of.a_transposed ? p * of.m + i : i * of.k + p]);
        double right = (double)widen(b[of.b_transposed ? j * of.k + p : p * of.n + j]);
        own.value += left * right;
        own.magnitude += fabs(left * right);
    }
    part[threadIdx.x] = own;
    for (int half_way = BLOCK / 2; half_way > 0; half_way /= 2) {
        __syncthreads();
        if ((int)threadIdx.x >= half_way) continue;
        part[threadIdx.x].value += part[threadIdx.x + half_way].value;
        part[threadIdx.x].magnitude += part[threadIdx.x + half_way].magnitude;
    }
    if (threadIdx.x == 0) places.sums[blockIdx.x] = part[0];
}

cudaError_t math_product_at(const struct calib_case *c, const struct operands *operands, struct places places,
                            cudaStream_t stream)
{
    struct product_shape of = {c->m, c->n, c->k, c->layout[0] == 't', c->layout[1] == 't'};
    enum number number = NUMBER_FP32;
    if (!number_of(c->dtype, &number)) return cudaErrorInvalidValue;
#define AT(T)                                                                                          \
    CUDA_LAUNCH(product_at_kernel<T>, (unsigned)places.n, BLOCK, stream, of,                           \
                reinterpret_cast<const T *>(operands->part[0]),                                        \
                reinterpret_cast<const T *>(operands->part[1]), places)
    WITH_NUMBER(number, AT)
#undef AT
    return cudaGetLastError();
}
