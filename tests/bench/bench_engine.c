/* Rates of the event queue and of the fluid solver on one core, with checks of the results but none
 * of the times. Peak memory is that of the process so far. */
#include "../net/fat_tree.h"
#include "bench.h"

#include "base/arena.h"

#include <stdlib.h>

/* xorshift64*, Marsaglia 2003 and Vigna 2016; in (0, 1) */
static double draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((double)(*state * 2685821657736338717ULL >> 12) + 0.5) / 4503599627370496.0;
}

/* The hold model: as many events leave as come, exponential steps. */
static void hold(int n_pending, struct arena scratch)
{
    enum { N_DELTAS = 1 << 16, N_HOLDS = 4000000 };
    double *delta_s = arena_new(&scratch, double, N_DELTAS);
    uint64_t seed = 88172645463325252ULL;
    for (int i = 0; i < N_DELTAS; i++) delta_s[i] = -log(draw(&seed));
    struct evq *queue = evq_new(&scratch, n_pending);
    for (int i = 0; i < n_pending; i++) evq_push(queue, delta_s[i % N_DELTAS], 0, i);
    for (int i = 0; i < n_pending; i++) { /* let the times spread */
        struct event event = evq_pop(queue);
        evq_push(queue, event.time_s + delta_s[(i * 7) % N_DELTAS], 0, event.id);
    }
    double last_s = 0.0;
    double begin_s = clock_s();
    for (int i = 0; i < N_HOLDS; i++) {
        struct event event = evq_pop(queue);
        must(event.time_s >= last_s);
        last_s = event.time_s;
        evq_push(queue, event.time_s + delta_s[i % N_DELTAS], 0, event.id);
    }
    double took_s = clock_s() - begin_s;
    char what[64];
    char more[64];
    snprintf(what, sizeof what, "event queue, %d pending", n_pending);
    snprintf(more, sizeof more, "%.1f M events/s", N_HOLDS / took_s / 1e6);
    report(what, took_s, more);
}

static void full_solve(struct arena scratch)
{
    const struct golden *golden = &goldens[N_GOLDENS - 1];
    const struct path *paths = read_flows(golden, &scratch);
    double best_s = HUGE_VAL;
    for (int turn = 0; turn < 5; turn++) {
        struct arena again = scratch;
        struct fluid *fluid = fat_tree_fluid(50e9, &again);
        for (int i = 0; i < golden->n_flows; i++) add_flow(fluid, &paths[i], i);
        double begin_s = clock_s();
        must(fluid_next_end_s(fluid) > 0.0);
        best_s = fmin(best_s, clock_s() - begin_s);
    }
    report("full solve of 16384 flows", best_s, "best of 5");
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Flows that come one at a time to 10,000 others of a 1,024-host fat-tree, each solved on its own. */
static void arrivals(struct arena scratch)
{
    enum { N_BEFORE = 10000, N_COME = 1000 };
    const struct path *paths = read_flows(&goldens[N_GOLDENS - 1], &scratch);
    struct fluid *fluid = fat_tree_fluid(50e9, &scratch);
    double *took_s = arena_new(&scratch, double, N_COME);
    for (int i = 0; i < N_BEFORE; i++) add_flow(fluid, &paths[i], i);
    must(fluid_next_end_s(fluid) > 0.0);
    struct fluid_stats before = fluid_stats(fluid);
    double begin_s = clock_s();
    for (int i = 0; i < N_COME; i++) {
        double from_s = clock_s();
        add_flow(fluid, &paths[N_BEFORE + i], N_BEFORE + i);
        must(fluid_next_end_s(fluid) > 0.0);
        took_s[i] = clock_s() - from_s;
    }
    double all_s = clock_s() - begin_s;
    qsort(took_s, N_COME, sizeof *took_s, by_value);
    char more[96];
    snprintf(more, sizeof more, "median %.3f ms, worst %.3f ms, %.0f rates each",
             1e3 * took_s[N_COME / 2], 1e3 * took_s[N_COME - 1],
             (double)(fluid_stats(fluid).n_rated - before.n_rated) / N_COME);
    report("1,000 arrivals among 10,000 flows", all_s, more);
}

static void golden_drain(const struct golden *golden, struct arena scratch)
{
    const struct path *paths = read_flows(golden, &scratch);
    struct fluid *fluid = fat_tree_fluid(50e9, &scratch);
    double begin_s = clock_s();
    double end_ms = 1e3 * drain(fluid, paths, golden->n_flows, &scratch);
    double took_s = clock_s() - begin_s;
    struct fluid_stats stats = fluid_stats(fluid);
    char what[64];
    char more[96];
    snprintf(what, sizeof what, "drain %s: %.6f ms (%+.1e)", golden->file, end_ms,
             end_ms / golden->end_ms - 1.0);
    snprintf(more, sizeof more, "%lld solves, %.2f M rates", (long long)stats.n_solves,
             (double)stats.n_rated / 1e6);
    report(what, took_s, more);
    must(fabs(end_ms - golden->end_ms) < 0.5000001e-6); /* all printed digits */
}

/* Ring all-reduce message by message: each step every rank sends one chunk to its right, on links that
 * nobody else uses; a step is the latency, then the chunk.
 * T = 2 (n - 1) (alpha + chunk / B). Source: Patarasuk & Yuan, JPDC 69(2), 2009. */
static void ring(int n_ranks, struct arena scratch)
{
    const double alpha_s = 1e-6;
    const double chunk_B = 97656.0;
    double *capacity = arena_new(&scratch, double, 2 * n_ranks);
    struct load *loads = arena_new(&scratch, struct load, 2 * n_ranks);
    for (int r = 0; r < n_ranks; r++) {
        capacity[2 * r] = capacity[2 * r + 1] = 50e9;
        loads[2 * r] = (struct load){.resource = 2 * r, .n = 1.0};
        loads[2 * r + 1] = (struct load){.resource = 2 * ((r + 1) % n_ranks) + 1, .n = 1.0};
    }
    struct fluid *fluid = fluid_new(capacity, 2 * n_ranks, &scratch);
    int n_steps = 2 * (n_ranks - 1);
    double now_s = 0.0;
    int64_t n_messages = 0;
    double begin_s = clock_s();
    for (int step = 0; step < n_steps; step++) {
        now_s += alpha_s;
        fluid_advance(fluid, now_s);
        for (int r = 0; r < n_ranks; r++) {
            fluid_add(fluid, (struct activity_spec){.loads = &loads[2 * r],
                                                    .n_loads = 2,
                                                    .work = chunk_B,
                                                    .cap = HUGE_VAL,
                                                    .weight = 1.0,
                                                    .tag = r});
        }
        int32_t tag;
        for (int left = n_ranks; left > 0;) {
            now_s = fluid_next_end_s(fluid);
            fluid_advance(fluid, now_s);
            for (; fluid_take_ended(fluid, &tag); n_messages++) left--;
        }
    }
    double took_s = clock_s() - begin_s;
    double want_s = n_steps * (alpha_s + chunk_B / 50e9);
    must(fabs(now_s / want_s - 1.0) < 1e-9);
    char what[64];
    char more[64];
    snprintf(what, sizeof what, "ring of %d, every message a flow", n_ranks);
    snprintf(more, sizeof more, "%.1f M messages/s", (double)n_messages / took_s / 1e6);
    report(what, took_s, more);
}

int main(void)
{
    struct arena *perm = arena_open((size_t)8 << 30);
    hold(1000, *perm);
    hold(100000, *perm);
    hold(1000000, *perm);
    ring(1024, *perm);
    full_solve(*perm);
    arrivals(*perm);
    for (int i = 0; i < N_GOLDENS; i++) golden_drain(&goldens[i], *perm);
    arena_close(perm);
    return 0;
}
