#include "net/symmetry.h"

#include "test.h"

#include <stdbool.h>

struct graph {
    int n;
    int64_t n_edges;
    int64_t *seed;
    struct sym_edge *edges;
    int32_t *class_of;
    int n_classes;
};

static struct graph graph_new(int n, int64_t max_edges, struct arena *perm)
{
    struct graph graph = {.n = n};
    graph.seed = arena_new(perm, int64_t, n);
    graph.edges = arena_new(perm, struct sym_edge, max_edges);
    graph.class_of = arena_new(perm, int32_t, n);
    return graph;
}

static void join(struct graph *graph, int u, int v, int label, int weight)
{
    graph->edges[graph->n_edges++] = (struct sym_edge){u, v, label, weight};
}

static int compare_edges(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

/* The sorted (class, label, weight) of the edges at v: what equitable means, without hashes. */
static int edges_at(const struct graph *graph, int v, int32_t (*at)[3])
{
    int n = 0;
    for (int64_t e = 0; e < graph->n_edges; e++) {
        struct sym_edge edge = graph->edges[e];
        if (edge.u != v && edge.v != v) continue;
        int other = edge.u == v ? edge.v : edge.u;
        at[n][0] = graph->class_of[other];
        at[n][1] = edge.label;
        at[n++][2] = edge.weight;
    }
    qsort(at, (size_t)n, sizeof at[0], compare_edges);
    return n;
}

/* Compare each vertex with the first of its class. For small graphs. */
static void assert_equitable(const struct graph *graph, struct arena scratch)
{
    int32_t(*mine)[3] = arena_alloc(&scratch, graph->n_edges + 1, sizeof *mine);
    int32_t(*first)[3] = arena_alloc(&scratch, graph->n_edges + 1, sizeof *first);
    int n_seen = 0;
    for (int v = 0; v < graph->n; v++) {
        int class = graph->class_of[v];
        assert_in_range(class, 0, n_seen); /* numbered by first appearance */
        int rep = 0;
        while (graph->class_of[rep] != class) rep++;
        n_seen += rep == v;
        assert_int_equal(graph->seed[v], graph->seed[rep]);
        int n = edges_at(graph, v, mine);
        assert_int_equal(n, edges_at(graph, rep, first));
        assert_memory_equal(mine, first, (size_t)n * sizeof *mine);
    }
    assert_int_equal(n_seen, graph->n_classes);
}

/* Refine until nothing changes by comparing all pairs of vertices: slow, and without a trick. */
static int refine_slowly(const struct graph *graph, int32_t *class_of, struct arena scratch)
{
    struct graph g = *graph;
    g.class_of = class_of;
    int32_t(*mine)[3] = arena_alloc(&scratch, g.n_edges + 1, sizeof *mine);
    int32_t(*theirs)[3] = arena_alloc(&scratch, g.n_edges + 1, sizeof *theirs);
    int32_t *next = arena_new(&scratch, int32_t, g.n);
    int n_before = 0;
    for (int v = 0; v < g.n; v++) class_of[v] = 0;
    for (;;) {
        int n = 0;
        for (int v = 0; v < g.n; v++) {
            int n_mine = edges_at(&g, v, mine);
            next[v] = -1;
            for (int u = 0; u < v && next[v] < 0; u++) {
                bool same = g.seed[u] == g.seed[v] && class_of[u] == class_of[v];
                if (!same || edges_at(&g, u, theirs) != n_mine) continue;
                if (memcmp(mine, theirs, (size_t)n_mine * sizeof *mine) == 0) next[v] = next[u];
            }
            if (next[v] < 0) next[v] = n++;
        }
        memcpy(class_of, next, (size_t)g.n * sizeof *next);
        if (n == n_before) return n;
        n_before = n;
    }
}

static void refine(struct graph *graph, struct arena scratch)
{
    graph->n_classes = symmetry_refine(graph->seed, graph->n, graph->edges, graph->n_edges,
                                       graph->class_of, scratch);
}

static struct graph ring(int n, struct arena *perm)
{
    struct graph graph = graph_new(n, n, perm);
    for (int v = 0; v < n; v++) join(&graph, v, (v + 1) % n, 0, 1);
    return graph;
}

static void a_ring_is_one_class(void **state)
{
    for (int n = 3; n < 20; n++) {
        struct graph graph = ring(n, *state);
        refine(&graph, *(struct arena *)*state);
        assert_int_equal(graph.n_classes, 1);
    }
}

/* A path of n vertices folds in the middle: ceil(n / 2) classes. */
static void a_path_folds_in_the_middle(void **state)
{
    for (int n = 1; n < 40; n++) {
        struct graph graph = graph_new(n, n, *state);
        for (int v = 0; v + 1 < n; v++) join(&graph, v, v + 1, 0, 1);
        refine(&graph, *(struct arena *)*state);
        assert_int_equal(graph.n_classes, (n + 1) / 2);
        for (int v = 0; v < n; v++) {
            assert_int_equal(graph.class_of[v], v < n - 1 - v ? v : n - 1 - v);
        }
    }
}

/* Edge (0, 1) of 12 is odd: vertices 0 and 1 are alike, then 11 and 2, ...: six classes by distance. */
static void one_odd_weight_splits_a_ring_by_distance(void **state)
{
    struct graph graph = ring(12, *state);
    graph.edges[0].weight = 7;
    refine(&graph, *(struct arena *)*state);
    static const int32_t want[] = {0, 0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1};
    assert_memory_equal(graph.class_of, want, sizeof want);
    graph.edges[0].weight = 1;
    graph.edges[0].label = 7;
    refine(&graph, *(struct arena *)*state);
    assert_memory_equal(graph.class_of, want, sizeof want);
    assert_equitable(&graph, *(struct arena *)*state);
}

/* Ring and two triangles are both 2-regular: colour refinement cannot tell them apart, and need not. */
static void regular_graphs_stay_whole(void **state)
{
    struct graph graph = graph_new(12, 12, *state);
    for (int v = 0; v < 6; v++) join(&graph, v, (v + 1) % 6, 0, 1);
    for (int v = 0; v < 6; v++) join(&graph, 6 + v, 6 + v / 3 * 3 + (v + 1) % 3, 0, 1);
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 1);
}

/* A hub with 4 hubs with 5 leaves each: three classes; one leaf less: its hub, its leaves differ. */
static void a_star_of_stars_has_a_class_per_depth(void **state)
{
    struct graph graph = graph_new(25, 24, *state);
    for (int hub = 1; hub <= 4; hub++) join(&graph, 0, hub, 0, 1);
    for (int leaf = 5; leaf < 25; leaf++) join(&graph, 1 + (leaf - 5) / 5, leaf, 0, 1);
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 3);
    graph.n = 24;
    graph.n_edges = 23;
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 5);
    assert_equitable(&graph, *(struct arena *)*state);
}

static void seeds_are_never_merged(void **state)
{
    struct graph graph = ring(9, *state);
    graph.seed[0] = graph.seed[3] = graph.seed[6] = INT64_MIN;
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 2);
    for (int v = 0; v < 9; v++) assert_int_equal(graph.class_of[v], v % 3 != 0);
    graph = graph_new(5, 1, *state); /* no edges: the seeds are all there is */
    for (int v = 0; v < 5; v++) graph.seed[v] = v % 2;
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 2);
}

static void several_edges_between_two_vertices_count(void **state)
{
    struct graph graph = graph_new(4, 8, *state);
    join(&graph, 0, 1, 0, 1);
    join(&graph, 0, 1, 0, 1);
    join(&graph, 2, 3, 0, 1);
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 2);
    join(&graph, 3, 2, 0, 1); /* the order of the ends does not matter */
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 1);
    join(&graph, 0, 0, 0, 1); /* nor does a loop break anything */
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 3);
}

/* a deterministic stream for the random graphs: Marsaglia, Xorshift RNGs, 2003 */
static uint32_t draw(uint32_t *x, uint32_t below)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x % below;
}

static struct graph random_graph(uint32_t *x, struct arena *perm)
{
    int n = 2 + (int)draw(x, 20);
    int n_edges = (int)draw(x, (uint32_t)(2 * n));
    struct graph graph = graph_new(n, n_edges, perm);
    for (int e = 0; e < n_edges; e++) {
        int u = (int)draw(x, (uint32_t)n);
        int v = (int)draw(x, (uint32_t)n);
        join(&graph, u, v, (int)draw(x, 2), (int)draw(x, 2));
    }
    for (int v = 0; v < n; v++) graph.seed[v] = draw(x, 6) == 0;
    return graph;
}

static void random_graphs_get_the_coarsest_equitable_partition(void **state)
{
    uint32_t x = 2463534242u;
    for (int turn = 0; turn < 400; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct graph graph = random_graph(&x, &scratch);
        int32_t *slow = arena_new(&scratch, int32_t, graph.n);
        refine(&graph, scratch);
        assert_equitable(&graph, scratch);
        int n = refine_slowly(&graph, slow, scratch);
        if (n != graph.n_classes) print_error("turn %d\n", turn);
        assert_int_equal(graph.n_classes, n);
        assert_memory_equal(graph.class_of, slow, (size_t)graph.n * sizeof *slow);
    }
}

/* The same graph with vertices renamed by a permutation and edges in another order. */
static void renaming_vertices_changes_only_names(void **state)
{
    uint32_t x = 88675123u;
    for (int turn = 0; turn < 100; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct graph graph = random_graph(&x, &scratch);
        struct graph other = graph_new(graph.n, graph.n_edges, &scratch);
        int *to = arena_new(&scratch, int, graph.n);
        for (int v = 0; v < graph.n; v++) {
            int swap = (int)draw(&x, (uint32_t)v + 1);
            to[v] = to[swap];
            to[swap] = v;
        }
        for (int v = 0; v < graph.n; v++) other.seed[to[v]] = graph.seed[v];
        for (int64_t e = graph.n_edges - 1; e >= 0; e--) {
            struct sym_edge edge = graph.edges[e];
            join(&other, to[edge.v], to[edge.u], edge.label, edge.weight);
        }
        refine(&graph, scratch);
        refine(&other, scratch);
        assert_int_equal(graph.n_classes, other.n_classes);
        for (int u = 0; u < graph.n; u++) {
            for (int v = 0; v < u; v++) {
                bool same = graph.class_of[u] == graph.class_of[v];
                assert_int_equal(other.class_of[to[u]] == other.class_of[to[v]], same);
            }
        }
    }
}

/* A ring of 200,000 with one odd vertex takes 100,000 rounds: only the front may be worked on. */
static void a_long_ring_is_refined_in_linear_time(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    int n = 200000;
    struct graph graph = ring(n, &scratch);
    graph.seed[0] = 1;
    refine(&graph, scratch);
    assert_int_equal(graph.n_classes, n / 2 + 1);
}

static void nothing_has_no_classes(void **state)
{
    struct graph graph = graph_new(0, 0, *state);
    refine(&graph, *(struct arena *)*state);
    assert_int_equal(graph.n_classes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_is_one_class),
        cmocka_unit_test(a_path_folds_in_the_middle),
        cmocka_unit_test(one_odd_weight_splits_a_ring_by_distance),
        cmocka_unit_test(regular_graphs_stay_whole),
        cmocka_unit_test(a_star_of_stars_has_a_class_per_depth),
        cmocka_unit_test(seeds_are_never_merged),
        cmocka_unit_test(several_edges_between_two_vertices_count),
        cmocka_unit_test(random_graphs_get_the_coarsest_equitable_partition),
        cmocka_unit_test(renaming_vertices_changes_only_names),
        cmocka_unit_test(a_long_ring_is_refined_in_linear_time),
        cmocka_unit_test(nothing_has_no_classes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
