/* The network of the golden drains: a 3-level fat-tree of 1,024 hosts (8 a leaf, 8 leaves a pod, 16
 * pods, full bisection), every link full duplex 50 GB/s and 500 ns, and its flows.
 *
 * Route of s -> d: p = d mod 8, q = (d div 8) mod 8; host up; if the leaves differ, leaf up-port p to
 * pod switch p; if the pods differ, its up-port q to core (p, q) and down to pod switch p of d's pod;
 * down to d's leaf; down to d. A flow waits its path latency (hops x 500 ns), then shares
 * max-min. Lines of tests/published/golden-flows/<flows>-<same|exp>.txt: source, destination, bytes.
 * The ends of the last flows, printed to 1e-6 ms, are those of SimGrid 3.32 (CM02, no cross traffic, no
 * TCP window) and of an independent C program, which agree in all digits. */
#ifndef TESTS_NET_FAT_TREE_H
#define TESTS_NET_FAT_TREE_H

#include "base/evq.h"
#include "base/must.h"
#include "net/fluid.h"

#include <math.h>
#include <stdio.h>

enum { N_HOSTS = 1024, N_LINKS = 6 * N_HOSTS, MAX_HOPS = 6 };

/* six kinds of 1,024 links, numbered by the lower end and its port */
enum { HOST_UP, HOST_DOWN, LEAF_UP, LEAF_DOWN, POD_UP, POD_DOWN };

struct golden {
    const char *file;
    int n_flows;
    double end_ms;
};

static const struct golden goldens[] = {
    {"1024-same.txt", 1024, 12.003000},   {"1024-exp.txt", 1024, 19.184022},
    {"4096-same.txt", 4096, 26.002000},   {"4096-exp.txt", 4096, 46.554620},
    {"16384-same.txt", 16384, 62.002001}, {"16384-exp.txt", 16384, 80.952615},
};
enum { N_GOLDENS = sizeof goldens / sizeof goldens[0] };

struct path {
    struct load loads[MAX_HOPS];
    int n;
    double size_B;
};

static inline void hop(struct path *path, int kind, int port)
{
    path->loads[path->n++] = (struct load){.resource = kind * N_HOSTS + port, .n = 1.0};
}

static inline struct path route(int src, int dst)
{
    struct path path = {.n = 0};
    int p = dst % 8;
    int q = dst / 8 % 8;
    int src_pod = src / 64;
    int dst_pod = dst / 64;
    hop(&path, HOST_UP, src);
    if (src / 8 != dst / 8) hop(&path, LEAF_UP, src / 8 * 8 + p);
    if (src_pod != dst_pod) {
        hop(&path, POD_UP, src_pod * 64 + p * 8 + q);
        hop(&path, POD_DOWN, dst_pod * 64 + p * 8 + q);
    }
    if (src / 8 != dst / 8) hop(&path, LEAF_DOWN, dst / 8 * 8 + p);
    hop(&path, HOST_DOWN, dst);
    return path;
}

static inline struct path *read_flows(const struct golden *golden, struct arena *perm)
{
    char name[128];
    snprintf(name, sizeof name, "tests/published/golden-flows/%s", golden->file);
    FILE *in = fopen(name, "r");
    if (!in) die("cannot read %s (run from the root of the source tree)", name);
    struct path *paths = arena_new(perm, struct path, golden->n_flows);
    for (int i = 0; i < golden->n_flows; i++) {
        int src;
        int dst;
        double size_B;
        must(fscanf(in, "%d %d %lf", &src, &dst, &size_B) == 3);
        paths[i] = route(src, dst);
        paths[i].size_B = size_B;
    }
    fclose(in);
    return paths;
}

static inline struct fluid *fat_tree_fluid(double capacity_Bps, struct arena *perm)
{
    double *capacity = arena_new(perm, double, N_LINKS);
    for (int l = 0; l < N_LINKS; l++) capacity[l] = capacity_Bps;
    return fluid_new(capacity, N_LINKS, perm);
}

static inline void add_flow(struct fluid *fluid, const struct path *path, int32_t tag)
{
    fluid_add(fluid, (struct activity_spec){.loads = path->loads,
                                            .n_loads = path->n,
                                            .work = path->size_B,
                                            .cap = HUGE_VAL,
                                            .weight = 1.0,
                                            .tag = tag});
}

/* drain — start every flow after its latency, run until all have ended; the last end in seconds. */
static inline double drain(struct fluid *fluid, const struct path *paths, int n_flows,
                           struct arena *perm)
{
    struct evq *starts = evq_new(perm, n_flows);
    for (int i = 0; i < n_flows; i++) evq_push(starts, paths[i].n * 500e-9, 0, i);
    double now_s = 0.0;
    int32_t tag;
    while (!evq_empty(starts) || fluid_next_end_s(fluid) < HUGE_VAL) {
        double start_s = evq_empty(starts) ? HUGE_VAL : evq_peek(starts).time_s;
        now_s = fmin(start_s, fluid_next_end_s(fluid));
        fluid_advance(fluid, now_s);
        while (fluid_take_ended(fluid, &tag)) n_flows--;
        while (!evq_empty(starts) && evq_peek(starts).time_s <= now_s) {
            int i = evq_pop(starts).id;
            add_flow(fluid, &paths[i], i);
        }
    }
    must(n_flows == 0);
    return now_s;
}

#endif
