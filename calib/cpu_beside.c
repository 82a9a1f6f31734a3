/* A product slowed by copies that go on beside it, and a copy slowed by products: what runs beside has a
 * thread of its own and never stops before what is timed. */
#include "calib/cpu.h"

#include "base/must.h"
#include "calib/wall.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct side {
    const struct calib_case *c;
    void (*piece)(const struct calib_case *c);
    atomic_bool stops, runs;
};

static struct {
    float *from, *to;
} copied;

static void *keep_on(void *closure)
{
    struct side *side = closure;
    while (!atomic_load(&side->stops)) {
        side->piece(side->c);
        atomic_store(&side->runs, true);
    }
    return NULL;
}

static void copy_once(const struct calib_case *c)
{
    memcpy(copied.to, copied.from, (size_t)c->size_B);
}

static void product_once(const struct calib_case *c)
{
    cpu_product->run(c, 1);
}

static void prepare(const struct calib_case *c)
{
    cpu_product->prepare(c);
    copied.from = cpu_random((int64_t)c->size_B / (int64_t)sizeof(float));
    copied.to = cpu_buffer(c->size_B);
}

static void run_products(const struct calib_case *c, int n)
{
    for (int i = 0; i < n; i++) product_once(c);
}

static void run_copies(const struct calib_case *c, int n)
{
    for (int i = 0; i < n; i++) copy_once(c);
}

/* n runs of one kind while the other goes on; by the clock that the same work has alone. */
static double timed_beside(const struct calib_case *c, int n, bool products)
{
    struct side side = {.c = c, .piece = products ? copy_once : product_once};
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep_on, &side) != 0) die("cannot start a thread");
    /* what is beside has come to work, and its data are as warm as they will be */
    while (!atomic_load(&side.runs)) {
    }
    double (*clock_s)(void) = cpu.n_threads > 1 ? wall_s : wall_thread_s;
    double begin_s = clock_s();
    (products ? run_products : run_copies)(c, n);
    double spent_s = clock_s() - begin_s;
    atomic_store(&side.stops, true);
    pthread_join(thread, NULL);
    return spent_s;
}

static double time_products(const struct calib_case *c, int n)
{
    return timed_beside(c, n, true);
}

static double time_copies(const struct calib_case *c, int n)
{
    return timed_beside(c, n, false);
}

static double check_product(const struct calib_case *c)
{
    return cpu_product->check(c);
}

static double check_copy(const struct calib_case *c)
{
    return memcmp(copied.from, copied.to, (size_t)c->size_B) == 0 ? 0 : (double)INFINITY;
}

const struct cpu_benchmark cpu_beside[] = {
    {"gemm_during_copy", " fp32 fp64 ", false, prepare, run_products, check_product, NULL, 1,
     time_products, NULL},
    {"copy_during_gemm", " fp32 fp64 ", false, prepare, run_copies, check_copy, NULL, 1,
     time_copies, NULL},
};
const int n_cpu_beside = sizeof cpu_beside / sizeof cpu_beside[0];
