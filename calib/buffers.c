#include "calib/buffers.h"

#include "calib/gemm_args.h"

#include <math.h>
#include <string.h>

/* Sets of a small case are many; more than this and filling them costs more than measuring. */
enum { SETS_MAX = 4096 };

/* Room that stays for workspaces of libraries and for the context's own growth */
static const double spare_B = 512e6;
static const double usable_frac = 0.95;

static void add(struct buffers *buffers, double bytes)
{
    double rounded = ceil(bytes / BUFFERS_ALIGN_B) * BUFFERS_ALIGN_B;
    buffers->part_B[buffers->n++] = rounded;
    buffers->set_B += rounded;
}

/* numbers of a case as double: products of sizes outgrow int64_t in hostile lists */
struct sizes {
    double m, n, k, batch, number_B, size_B;
};

static void add_product(struct buffers *buffers, const struct sizes *of)
{
    double result_B = fmax(of->number_B, 2); /* an fp8 product is stored as bf16 */
    add(buffers, of->batch * of->m * of->k * of->number_B);
    add(buffers, of->batch * of->k * of->n * of->number_B);
    add(buffers, of->batch * of->m * of->n * result_B);
}

static void add_twice(struct buffers *buffers, const struct sizes *of)
{
    add(buffers, of->size_B);
    add(buffers, of->size_B);
}

static void add_product_beside(struct buffers *buffers, const struct sizes *of)
{
    add_product(buffers, of);
    add_twice(buffers, of);
}

static void add_rows_twice(struct buffers *buffers, const struct sizes *of)
{
    add(buffers, of->m * of->n * of->number_B);
    add(buffers, of->m * of->n * of->number_B);
}

static void add_rows_and_sums(struct buffers *buffers, const struct sizes *of)
{
    add(buffers, of->m * of->n * of->number_B);
    add(buffers, of->m * sizeof(float));
}

static void add_normed_rows(struct buffers *buffers, const struct sizes *of)
{
    add_rows_twice(buffers, of);
    add(buffers, of->n * of->number_B);
    add(buffers, of->n * of->number_B);
}

static void add_heads(struct buffers *buffers, const struct sizes *of)
{
    add(buffers, of->batch * of->m * of->k * of->number_B);
    add(buffers, of->batch * of->n * of->k * of->number_B);
    add(buffers, of->batch * of->n * of->k * of->number_B);
    add(buffers, of->batch * of->m * of->k * of->number_B);
}

static void add_heads_and_scores(struct buffers *buffers, const struct sizes *of)
{
    add_heads(buffers, of);
    add(buffers, of->batch * of->m * of->n * of->number_B);
}

static void add_optimizer(struct buffers *buffers, const struct sizes *of)
{
    for (int state = 0; state < 3; state++) add(buffers, of->n * sizeof(float));
    add(buffers, of->n * of->number_B);
    add(buffers, of->n * of->number_B);
}

static void add_once(struct buffers *buffers, const struct sizes *of)
{
    add(buffers, of->size_B);
}

static void add_thirds(struct buffers *buffers, const struct sizes *of)
{
    for (int array = 0; array < 3; array++) add(buffers, of->size_B / 3);
}

static void add_none(struct buffers *buffers, const struct sizes *of)
{
    (void)buffers;
    (void)of;
}

static const struct {
    const char *benchmark;
    void (*add)(struct buffers *, const struct sizes *);
} rules[] = {
    {"gemm", add_product},
    {"gemm_during_copy", add_product_beside},
    {"copy_during_gemm", add_product_beside},
    {"gemm_during_all_reduce", add_product},
    {"elementwise", add_rows_twice},
    {"reduction", add_rows_and_sums},
    {"softmax", add_rows_twice},
    {"layer_norm", add_normed_rows},
    {"attention", add_heads_and_scores},
    {"attention_fused", add_heads},
    {"optimizer", add_optimizer},
    {"copy", add_twice},
    {"stream", add_thirds},
    {"device_to_device", add_twice},
    {"host_to_device", add_once},
    {"device_to_host", add_once},
    {"peer", add_once},
    {"launch", add_none},
    {"launch_stream", add_none},
    {"launch_graph", add_none},
    {"all_reduce", add_none},
    {"all_gather", add_none},
    {"reduce_scatter", add_none},
    {"broadcast", add_none},
    {"reduce", add_none},
    {"gather", add_none},
    {"scatter", add_none},
    {"all_to_all", add_none},
    {"send_recv", add_none},
};

bool buffers_of(const struct calib_case *c, struct buffers *buffers)
{
    *buffers = (struct buffers){0};
    const struct gemm_type *type = gemm_type_find(c->dtype);
    struct sizes sizes = {
        .m = (double)c->m,
        .n = (double)c->n,
        .k = (double)c->k,
        .batch = c->batch == 0 ? 1 : (double)c->batch,
        .number_B = type ? type->size_B : 0,
        .size_B = c->size_B,
    };
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        if (strcmp(rules[r].benchmark, c->benchmark) != 0) continue;
        rules[r].add(buffers, &sizes);
        for (int part = 0; part < buffers->n; part++)
            if (!(buffers->part_B[part] > 0)) return false;
        return true;
    }
    return false;
}

int buffers_sets(const struct buffers *buffers, struct buffers_room room)
{
    double usable_B = (room.free_B - spare_B) * usable_frac;
    if (!(buffers->set_B <= usable_B)) return 0;
    if (!(buffers->set_B > 0)) return 1;
    double wanted = fmax(1, ceil(2 * room.cache_B / buffers->set_B));
    return (int)fmin(fmin(wanted, floor(usable_B / buffers->set_B)), SETS_MAX);
}
