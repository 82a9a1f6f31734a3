#include "net/fabric.h"
#include "net/shapes.h"

/* one port on each switch unless p says otherwise */
static struct fabric_spec grid_of(const char *kind, const char *sides, int p)
{
    struct fabric_spec fabric = fabric_of(kind);
    assert_true(grid_read_sides(sides, &fabric));
    fabric.ports_per_router = p;
    return fabric;
}

static int n_fabric_links(const struct topo *topo, int src, int dst)
{
    int links[ROUTE_MAX];
    return topo->fabric->kind->route(topo, src, dst, 0, links) - 2; /* without the two cables */
}

/* Cables: a torus has one per switch and dimension, a mesh d - 1 on each of its lines, a hyperx
 * d (d - 1) / 2. 4 x 3 x 2: lines of 4: 6, of 3: 8, of 2: 12; a ring of two has one cable. */
static void cables_are_those_of_the_lines(void **state)
{
    static const struct {
        const char *kind;
        int n_cables;
    } rows[] = {{"torus", 6 * 4 + 8 * 3 + 12},
                {"mesh", 6 * 3 + 8 * 2 + 12},
                {"hyperx", 6 * 6 + 8 * 3 + 12}};
    for (int i = 0; i < 3; i++) {
        struct topo *topo = built(one_gpu_node(), grid_of(rows[i].kind, "4x3x2", 1), 24, *state);
        assert_int_equal(topo->fabric->n_switches, 24);
        assert_int_equal(topo_summarise(topo).n_links[TIER_FABRIC], 2 * rows[i].n_cables);
    }
}

/* The way between two places: along each dimension the distance round the ring, along the row, or one.
 * Every pair of 5 x 4 x 2. */
static void routes_are_as_short_as_can_be(void **state)
{
    static const int side[] = {5, 4, 2};
    struct topo *torus = built(one_gpu_node(), grid_of("torus", "5x4x2", 1), 40, *state);
    struct topo *mesh = built(one_gpu_node(), grid_of("mesh", "5x4x2", 1), 40, *state);
    struct topo *hyperx = built(one_gpu_node(), grid_of("hyperx", "5x4x2", 1), 40, *state);
    for (int src = 0; src < 40; src++) {
        for (int dst = 0; dst < 40; dst++) {
            int ring = 0, row = 0, all = 0;
            if (src == dst) continue;
            for (int k = 0, stride = 1; k < 3; stride *= side[k++]) {
                int far = abs(src / stride % side[k] - dst / stride % side[k]);
                row += far;
                ring += far <= side[k] - far ? far : side[k] - far;
                all += far > 0;
            }
            assert_int_equal(n_fabric_links(torus, src, dst), ring);
            assert_int_equal(n_fabric_links(mesh, src, dst), row);
            assert_int_equal(n_fabric_links(hyperx, src, dst), all);
        }
    }
}

/* Round a ring of 8, half of the sources send to the place opposite up and half down: each of the 16
 * links carries 8 sources x 4 links / 16 = 2 of them. */
static void opposite_places_share_both_ways_round(void **state)
{
    struct topo *topo = built(one_gpu_node(), grid_of("torus", "8", 1), 8, *state);
    int *n_flows = arena_new((struct arena *)*state, int, topo->n_links);
    for (int src = 0; src < 8; src++) {
        int links[ROUTE_MAX];
        int n = topo->fabric->kind->route(topo, src, (src + 4) % 8, 0, links);
        for (int i = 1; i < n - 1; i++) n_flows[links[i]]++;
    }
    for (int l = 0; l < topo->n_links; l++) {
        if (topo->links[l].tier == TIER_FABRIC) assert_int_equal(n_flows[l], 2);
    }
}

/* Halves of 4 x 4 x 4 along the last dimension: 16 lines are cut, a ring twice, a row once, a full mesh of
 * 4 at 2 x 2 cables; cables of 12.5 GB/s, 32 ports of 12.5 GB/s on each side. */
static void the_bisection_is_that_of_the_lines_cut(void **state)
{
    static const struct {
        const char *kind;
        double n_cut;
    } rows[] = {{"torus", 32}, {"mesh", 16}, {"hyperx", 32 /* of 64: the ports have no more */}};
    for (int i = 0; i < 3; i++) {
        struct topo *topo = built(one_gpu_node(), grid_of(rows[i].kind, "4x4x4", 1), 64, *state);
        assert_close(topo->fabric->kind->bisection_Bps(topo), rows[i].n_cut * 12.5e9, 1e-12);
    }
}

/* 100 ports. Torus: 5 x 5 x 4. Hyperx: 5 ports on 5 x 5 switches (5^3 >= 100 > 4^3). Full mesh: 10 on 10. */
static void shapes_not_given_are_chosen_to_fit(void **state)
{
    assert_int_equal(built(one_gpu_node(), fabric_of("torus"), 100, *state)->fabric->n_switches,
                     100);
    assert_int_equal(built(one_gpu_node(), fabric_of("hyperx"), 100, *state)->fabric->n_switches,
                     25);
    struct topo *mesh = built(one_gpu_node(), fabric_of("full-mesh"), 100, *state);
    assert_int_equal(mesh->fabric->n_switches, 10);
    assert_int_equal(mesh->fabric->radix, 10 + 9);
}

static void impossible_grids_are_refused_with_the_number(void **state)
{
    struct node_spec node = one_gpu_node();
    assert_refused(node, grid_of("torus", "4x4", 1), 17, *state,
                   "16 switches with 1 ports hold 16 ports: 17 are wanted");
    assert_refused(node, grid_of("full-mesh", "4x4", 1), 16, *state, "a full mesh of 2 dimensions");
    assert_refused(node, grid_of("mesh", "500", 1), 500, *state,
                   "links of the longest way through the grid is 499");
}

static void shapes_are_numbers_with_an_x_between(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "x",     "4x",   "4 x4",          "-4", "4x0",
                                      "4x4y", "65537", "4xx4", "1x1x1x1x1x1x1", "4.5"};
    struct fabric_spec spec = {.kind = "torus"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(grid_read_sides(bad[i], &spec));
    }
    assert_true(grid_read_sides("2x3x65536", &spec));
    assert_int_equal(spec.n_dimensions, 3);
    assert_int_equal(spec.side[2], 65536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cables_are_those_of_the_lines),
        cmocka_unit_test(routes_are_as_short_as_can_be),
        cmocka_unit_test(opposite_places_share_both_ways_round),
        cmocka_unit_test(the_bisection_is_that_of_the_lines_cut),
        cmocka_unit_test(shapes_not_given_are_chosen_to_fit),
        cmocka_unit_test(impossible_grids_are_refused_with_the_number),
        cmocka_unit_test(shapes_are_numbers_with_an_x_between),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
