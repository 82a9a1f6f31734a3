#include "calib/benchmarks.h"

#include "base/must.h"
#include "base/raw.h"

#include <math.h>
#include <string.h>

/* products are measured in every type, everything else in those that training uses it in */
static const char *const product_types[] = {"fp32", "tf32", "bf16", "fp16", "fp8", "fp64", NULL};
static const char *const row_types[] = {"fp32", "bf16", "fp16", NULL};
static const char *const master_types[] = {"fp32", NULL};
static const char *const no_type[] = {"", NULL};

static const int64_t KIB = 1024;
static const int64_t MIB = 1048576;
static const int64_t GIB = 1073741824;

int dtype_size(const char *dtype)
{
    static const struct {
        const char *dtype;
        int size;
    } sizes[] = {{"fp64", 8}, {"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (strcmp(sizes[i].dtype, dtype) == 0) return sizes[i].size;
    }
    return 1;
}

static bool is_equal(const struct calib_case *a, const struct calib_case *b)
{
    return strcmp(a->benchmark, b->benchmark) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(a->layout, b->layout) == 0 && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->n_ranks == b->n_ranks && !(a->size_B < b->size_B) &&
           !(a->size_B > b->size_B);
}

/* True when the case is in the list afterwards. */
static bool add(struct calib_cases *cases, struct calib_case c)
{
    const struct calib_request *request = cases->request;
    bool larger = (request->most_flop > 0 && benchmark_flop(&c) > request->most_flop) ||
                  (request->most_B > 0 && benchmark_bytes(&c) > request->most_B);
    if (larger) {
        cases->n_larger++;
        return false;
    }
    for (int i = 0; i < cases->n; i++) {
        if (is_equal(&cases->cases[i], &c)) return true;
    }
    if (cases->n == cases->capacity) {
        cases->capacity = 2 * cases->capacity + 64;
        cases->cases =
            arena_grow(cases->perm, struct calib_case, cases->cases, cases->n, cases->capacity);
    }
    cases->cases[cases->n++] = c;
    return true;
}

static bool add_product(struct calib_cases *cases, const struct calib_case *of, const char *layout,
                        const int64_t mnk[3])
{
    struct calib_case c = *of;
    c.layout = layout;
    c.m = mnk[0];
    c.n = mnk[1];
    c.k = mnk[2];
    c.batch = 1;
    return add(cases, c);
}

/* Squares of 64 to 16384 by steps of 2 (quick) or of the square root of 2, in every layout. */
static void add_squares(struct calib_cases *cases, const struct calib_case *of)
{
    static const char *const layouts[] = {"nn", "nt", "tn"};
    int step = cases->request->quick ? 2 : 1;
    for (int i = 0; i <= 16; i += step) {
        int64_t side = 8 * (int64_t)lround(8 * exp2(i / 2.0));
        for (int l = 0; l < 3; l++)
            add_product(cases, of, layouts[l], (int64_t[]){side, side, side});
    }
}

/* The products of a linear layer: forward, gradient of its input, gradient of its weights. */
static void add_linear(struct calib_cases *cases, const struct calib_case *of,
                       const int64_t tokens_out_in[3])
{
    int64_t tokens = tokens_out_in[0];
    int64_t out = tokens_out_in[1];
    int64_t in = tokens_out_in[2];
    add_product(cases, of, "nt", (int64_t[]){tokens, out, in});
    add_product(cases, of, "nn", (int64_t[]){tokens, in, out});
    add_product(cases, of, "tn", (int64_t[]){out, in, tokens});
}

/* A transformer's layers (Vaswani et al. 2017): queries, keys and values; output; both of the MLP. */
static void add_transformer(struct calib_cases *cases, const struct calib_case *of)
{
    static const int64_t widths[] = {1024, 4096, 768, 2048, 5120, 8192};
    static const int64_t tokens[] = {2048, 512, 4096, 8192};
    int n_widths = cases->request->quick ? 2 : 6;
    int n_tokens = cases->request->quick ? 1 : 4;
    for (int w = 0; w < n_widths; w++) {
        int64_t h = widths[w];
        for (int t = 0; t < n_tokens; t++) {
            add_linear(cases, of, (int64_t[]){tokens[t], 3 * h, h});
            add_linear(cases, of, (int64_t[]){tokens[t], h, h});
            add_linear(cases, of, (int64_t[]){tokens[t], 4 * h, h});
            add_linear(cases, of, (int64_t[]){tokens[t], h, 4 * h});
        }
    }
}

/* ResNet-50's convolutions (He et al. 2016, table 1) as products of unrolled patches: pixels of the
 * output x filters x patch. */
static void add_convolutions(struct calib_cases *cases, const struct calib_case *of)
{
    static const struct {
        int64_t pixels, filters, patch;
    } layers[] = {
        {12544, 64, 147}, {3136, 64, 64},  {3136, 64, 576}, {3136, 256, 64},  {784, 128, 256},
        {784, 128, 1152}, {784, 512, 128}, {196, 256, 512}, {196, 256, 2304}, {196, 1024, 256},
        {49, 512, 1024},  {49, 512, 4608}, {49, 2048, 512},
    };
    static const int64_t images[] = {1, 32, 128};
    int step = cases->request->quick ? 3 : 1;
    for (size_t l = 0; l < sizeof layers / sizeof layers[0]; l += (size_t)step) {
        for (int i = 0; i < 3; i += step) {
            add_product(
                cases, of, "nn",
                (int64_t[]){images[i] * layers[l].pixels, layers[l].filters, layers[l].patch});
        }
    }
}

/* The i-th number of van der Corput's sequence in a base: digits of i mirrored at the point. */
static double mirrored(int i, int base)
{
    double value = 0;
    double digit = 1;
    for (; i > 0; i /= base) {
        digit /= base;
        value += digit * (i % base);
    }
    return value;
}

/* Shapes that fill the space of (log m, log n, log k) evenly, so that no side follows from another;
 * multiples of 8, as tensor cores want. Source: Halton, Numerische Mathematik 2, 1960. */
static void add_spread(struct calib_cases *cases, const struct calib_case *of)
{
    static const int bases[3] = {2, 3, 5};
    static const char *const layouts[] = {"nn", "nt", "tn"};
    enum { TRIED_PER_WANTED = 20 };
    const double least = 16;
    const double most = 16384;
    int wanted = cases->request->quick ? 30 : 150;
    for (int i = 1; wanted > 0 && i <= TRIED_PER_WANTED * 150; i++) {
        int64_t mnk[3];
        for (int d = 0; d < 3; d++) {
            double side = least * pow(most / least, mirrored(i, bases[d]));
            mnk[d] = 8 * (int64_t)lround(side / 8);
        }
        wanted -= add_product(cases, of, layouts[i % 3], mnk);
    }
}

static void gemm_cases(struct calib_cases *cases, const struct calib_case *of)
{
    add_squares(cases, of);
    add_transformer(cases, of);
    add_convolutions(cases, of);
    add_spread(cases, of);
}

static double product_flop(const struct calib_case *c)
{
    return 2.0 * (double)c->m * (double)c->n * (double)c->k * (double)(c->batch > 0 ? c->batch : 1);
}

/* two products; the softmax between them does not count, as everybody counts */
static double attention_flop(const struct calib_case *c)
{
    return 2 * product_flop(c);
}

static double no_flop(const struct calib_case *c)
{
    (void)c;
    return 0;
}

/* How often each element is read or written, and what a row costs beside it, in elements. */
static const struct {
    const char *name;
    double per_element, per_row, per_column, flop;
} row_traffic[] = {
    {"elementwise", 3, 0, 0, 3}, /* reads x and y, writes y */
    {"reduction", 1, 1, 0, 1},   /* a sum per row */
    {"softmax", 2, 0, 0, 4},     /* maximum, difference and exponential, sum, division */
    {"layer_norm", 2, 0, 2, 8},  /* mean, variance, scale, shift; scale and shift are read once */
    {"optimizer", 7, 0, 0,
     12}, /* reads weight, gradient, both moments; writes all but the gradient */
};

static double row_flop(const struct calib_case *c)
{
    for (size_t i = 0; i < sizeof row_traffic / sizeof row_traffic[0]; i++) {
        if (strcmp(row_traffic[i].name, c->benchmark) != 0) continue;
        return row_traffic[i].flop * (double)c->m * (double)c->n;
    }
    must_not_reach("a benchmark over rows without its traffic");
}

static double row_bytes(const struct calib_case *c)
{
    for (size_t i = 0; i < sizeof row_traffic / sizeof row_traffic[0]; i++) {
        if (strcmp(row_traffic[i].name, c->benchmark) != 0) continue;
        return dtype_size(c->dtype) *
               (row_traffic[i].per_element * (double)c->m * (double)c->n +
                row_traffic[i].per_row * (double)c->m + row_traffic[i].per_column * (double)c->n);
    }
    must_not_reach("a benchmark over rows without its traffic");
}

/* Rows of 256 to 65536 elements, from 16 Ki elements in all to 512 Mi. */
static void row_cases(struct calib_cases *cases, const struct calib_case *of)
{
    int64_t step = cases->request->quick ? 16 : 4;
    for (int64_t width = KIB; width <= 64 * KIB; width *= 8) {
        for (int64_t elements = 16 * KIB; elements <= 512 * MIB; elements *= step) {
            if (elements < width) continue;
            struct calib_case c = *of;
            c.m = elements / width;
            c.n = width;
            c.size_B = row_bytes(&c);
            add(cases, c);
        }
    }
}

static void optimizer_cases(struct calib_cases *cases, const struct calib_case *of)
{
    int64_t step = cases->request->quick ? 16 : 4;
    for (int64_t elements = 4 * KIB; elements <= 512 * MIB; elements *= step) {
        struct calib_case c = *of;
        c.m = 1;
        c.n = elements;
        c.size_B = row_bytes(&c);
        add(cases, c);
    }
}

/* One length of sequences: 16 heads of some width, 16 Ki tokens at most. */
static void add_attention(struct calib_cases *cases, const struct calib_case *of, int tokens,
                          int head)
{
    for (int batch = 1; batch * tokens <= 16384; batch *= 4) {
        struct calib_case c = *of;
        c.m = c.n = tokens;
        c.k = head;
        c.batch = (int64_t)16 * batch;
        add(cases, c);
    }
}

/* heads of 64 and 128 over sequences of 128 to 8192 */
static void attention_cases(struct calib_cases *cases, const struct calib_case *of)
{
    int step = cases->request->quick ? 4 : 2;
    for (int tokens = 128; tokens <= 8192; tokens *= step) {
        add_attention(cases, of, tokens, 64);
        add_attention(cases, of, tokens, 128);
    }
}

/* Sizes from least to most bytes by steps of 2, or quick 8. */
static void add_sizes(struct calib_cases *cases, const struct calib_case *of,
                      const int64_t range_B[2])
{
    int64_t step = cases->request->quick ? 8 : 2;
    for (int64_t size_B = range_B[0]; size_B <= range_B[1]; size_B *= step) {
        struct calib_case c = *of;
        c.size_B = (double)size_B;
        add(cases, c);
    }
}

static void memory_cases(struct calib_cases *cases, const struct calib_case *of)
{
    add_sizes(cases, of, (int64_t[]){4 * KIB, GIB});
}

/* a multiple of three arrays of doubles */
static void stream_cases(struct calib_cases *cases, const struct calib_case *of)
{
    add_sizes(cases, of, (int64_t[]){12 * KIB, 768 * MIB});
}

static void link_cases(struct calib_cases *cases, const struct calib_case *of)
{
    add_sizes(cases, of, (int64_t[]){64, GIB});
}

static void pair_cases(struct calib_cases *cases, const struct calib_case *of)
{
    struct calib_case c = *of;
    c.n_ranks = 2;
    add_sizes(cases, &c, (int64_t[]){1, 64 * MIB});
}

static void peer_cases(struct calib_cases *cases, const struct calib_case *of)
{
    struct calib_case c = *of;
    c.n_ranks = 2;
    if (cases->request->n_devices >= 2) link_cases(cases, &c);
}

/* on 2, 4, 8 ... devices and on all */
static void collective_cases(struct calib_cases *cases, const struct calib_case *of)
{
    int most = cases->request->n_devices;
    for (int n = 2; n <= most; n = n < most && 2 * n > most ? most : 2 * n) {
        struct calib_case c = *of;
        c.n_ranks = n;
        add_sizes(cases, &c, (int64_t[]){64, GIB});
    }
}

static void one_case(struct calib_cases *cases, const struct calib_case *of)
{
    add(cases, *of);
}

static void launch_cases(struct calib_cases *cases, const struct calib_case *of)
{
    int step = cases->request->quick ? 8 : 2;
    for (int n = 1; n <= 1024; n *= step) {
        struct calib_case c = *of;
        c.n = n;
        add(cases, c);
    }
}

/* A square product beside 1 to 256 MiB; false when it is larger than the limits. */
static bool add_beside(struct calib_cases *cases, const struct calib_case *of, int64_t side)
{
    bool is_there = false;
    for (int64_t size_B = MIB; size_B <= 256 * MIB; size_B *= 16) {
        struct calib_case c = *of;
        c.layout = "nn";
        c.m = c.n = c.k = side;
        c.batch = 1;
        c.size_B = (double)size_B;
        is_there = add(cases, c) || is_there;
    }
    return is_there;
}

/* products of 512 to 8192 beside copies or collectives that never end before them; quick: one of them,
 * large where it can be */
static void beside_cases(struct calib_cases *cases, const struct calib_case *of)
{
    static const int64_t sides[] = {4096, 512, 1024, 2048, 8192};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) {
        if (add_beside(cases, of, sides[s]) && cases->request->quick) return;
    }
}

static void beside_collective_cases(struct calib_cases *cases, const struct calib_case *of)
{
    struct calib_case c = *of;
    c.n_ranks = cases->request->n_devices;
    if (c.n_ranks >= 2) beside_cases(cases, &c);
}

static const char rows_sizes[] = "rows of 1 Ki, 8 Ki and 64 Ki, 16 Ki to 512 Mi elements";
static const char link_sizes[] = "64 B to 1 GiB";
static const char ranks_sizes[] = "64 B to 1 GiB on 2, 4, 8 ... and all devices";
static const char pair_sizes[] = "1 B to 64 MiB";

const struct calib_benchmark calib_benchmarks[] = {
    {"gemm", product_types, gemm_cases, product_flop,
     "squares, layers of transformers and of ResNet-50, shapes spread evenly over log m, n, k"},
    {"elementwise", row_types, row_cases, row_flop, rows_sizes},
    {"reduction", row_types, row_cases, row_flop, rows_sizes},
    {"softmax", row_types, row_cases, row_flop, rows_sizes},
    {"layer_norm", row_types, row_cases, row_flop, rows_sizes},
    {"attention", row_types, attention_cases, attention_flop,
     "128 to 8 Ki tokens, 16 heads of 64 and 128"},
    {"attention_fused", row_types, attention_cases, attention_flop,
     "128 to 8 Ki tokens, 16 heads of 64 and 128"},
    {"optimizer", master_types, optimizer_cases, row_flop, "4 Ki to 512 Mi parameters"},
    {"copy", no_type, memory_cases, no_flop, "4 KiB to 1 GiB"},
    {"stream", no_type, stream_cases, no_flop, "12 KiB to 768 MiB"},
    {"launch", no_type, one_case, no_flop, "one"},
    {"launch_stream", no_type, launch_cases, no_flop, "1 to 1024 launches"},
    {"launch_graph", no_type, launch_cases, no_flop, "1 to 1024 launches"},
    {"host_to_device", no_type, link_cases, no_flop, link_sizes},
    {"device_to_host", no_type, link_cases, no_flop, link_sizes},
    {"device_to_device", no_type, link_cases, no_flop, link_sizes},
    {"peer", no_type, peer_cases, no_flop, "64 B to 1 GiB between two devices"},
    {"socket", no_type, pair_cases, no_flop, pair_sizes},
    {"ping_pong", no_type, pair_cases, no_flop, pair_sizes},
    {"all_reduce", master_types, collective_cases, no_flop, ranks_sizes},
    {"all_gather", master_types, collective_cases, no_flop, ranks_sizes},
    {"reduce_scatter", master_types, collective_cases, no_flop, ranks_sizes},
    {"broadcast", master_types, collective_cases, no_flop, ranks_sizes},
    {"reduce", master_types, collective_cases, no_flop, ranks_sizes},
    {"all_to_all", master_types, collective_cases, no_flop, ranks_sizes},
    {"send_recv", master_types, collective_cases, no_flop, ranks_sizes},
    {"gemm_during_copy", product_types, beside_cases, product_flop,
     "512 to 8 Ki square beside copies of 1 to 256 MiB"},
    {"copy_during_gemm", product_types, beside_cases, product_flop,
     "512 to 8 Ki square beside copies of 1 to 256 MiB"},
    {"gemm_during_all_reduce", product_types, beside_collective_cases, product_flop,
     "512 to 8 Ki square beside all-reduces of 1 to 256 MiB"},
};
const int n_calib_benchmarks = sizeof calib_benchmarks / sizeof calib_benchmarks[0];

const struct calib_benchmark *benchmark_find(const char *name)
{
    for (int b = 0; b < n_calib_benchmarks; b++) {
        if (strcmp(calib_benchmarks[b].name, name) == 0) return &calib_benchmarks[b];
    }
    return NULL;
}

static bool is_wanted(const struct calib_request *request, const char *name)
{
    const char *const *only = request->only;
    while (only && *only && strcmp(*only, name) != 0) only++;
    return !only || *only;
}

struct calib_cases benchmark_cases(const struct calib_request *request, struct arena *perm)
{
    struct calib_cases cases = {.request = request, .perm = perm};
    for (const struct calib_benchmark *b = calib_benchmarks;
         b < calib_benchmarks + n_calib_benchmarks; b++) {
        if (!is_wanted(request, b->name)) continue;
        for (const char *const *dtype = b->dtypes; *dtype; dtype++) {
            if (request->dtype && **dtype && strcmp(request->dtype, *dtype) != 0) continue;
            struct calib_case of = {
                .benchmark = b->name, .dtype = *dtype, .layout = "", .n_ranks = 1};
            b->cases(&cases, &of);
        }
    }
    return cases;
}

double benchmark_flop(const struct calib_case *c)
{
    const struct calib_benchmark *benchmark = benchmark_find(c->benchmark);
    must(benchmark);
    return benchmark->flop(c);
}

double benchmark_bytes(const struct calib_case *c)
{
    const struct raw_benchmark *raw = raw_find(c->benchmark);
    must(raw);
    if (raw->sized != RAW_SIZE_MNK && raw->sized != RAW_SIZE_MNK_BYTES) {
        return c->size_B * (raw->moved > 0 ? raw->moved : 1);
    }
    double batch = (double)(c->batch > 0 ? c->batch : 1);
    double m = (double)c->m;
    double n = (double)c->n;
    double k = (double)c->k;
    return dtype_size(c->dtype) * batch * (m * k + k * n + m * n);
}

const char *benchmark_text(const struct calib_case *c, struct arena *perm)
{
    const char *text = arena_text(perm, "%s", c->benchmark);
    if (c->dtype[0]) text = arena_text(perm, "%s %s", text, c->dtype);
    if (c->layout[0]) text = arena_text(perm, "%s %s", text, c->layout);
    if (c->m > 0) text = arena_text(perm, "%s %lld x", text, (long long)c->m);
    if (c->n > 0) text = arena_text(perm, "%s %lld", text, (long long)c->n);
    if (c->k > 0) text = arena_text(perm, "%s x %lld", text, (long long)c->k);
    if (c->batch > 1) text = arena_text(perm, "%s, batch %lld", text, (long long)c->batch);
    if (c->size_B > 0) text = arena_text(perm, "%s, %.0f B", text, c->size_B);
    if (c->n_ranks > 1) text = arena_text(perm, "%s, %d ranks", text, c->n_ranks);
    return text;
}
