/* Switches at the points of a grid of any number of dimensions, `ports_per_router` ports on each; they
 * differ in who is joined along a dimension.
 *
 *   torus   a ring           mesh   a row            hyperx, full-mesh   everybody with everybody
 *   o--o--o--o               o--o--o--o              o--o--o--o   and the four further pairs
 *   +--------+
 *
 * Switch c = (c_0, c_1, ...) has the number c_0 + d_0 (c_1 + d_1 (c_2 + ...)). A ring of two has one cable,
 * not two. A full mesh is a hyperx of one dimension.
 *
 * Routing: dimension by dimension, the lowest first, each the shortest way; half way round an even ring
 * those that start at an even place go up, the others down. By hash: which dimension is first, and
 * which way round when both are as long.
 *
 * Numbers not given: torus and mesh have one port per switch and nearly equal sides of three
 * dimensions; hyperx has s ports on s x s switches, the full mesh s ports on s switches.
 * Sources: torus and mesh: Dally & Towles, Principles and practices of interconnection networks,
 * 2004, ch. 5 and 8 (dimension-order routing); hyperx: Ahn, Binkert, Davis, McLaren & Schreiber,
 * HyperX: topology, routing, and packaging of efficient large-scale networks, SC 2009. */
#include "net/fabric.h"

#include "base/must.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 65536, ENDS = 12 /* links of a route outside the grid */ };

enum join { JOIN_ROW, JOIN_RING, JOIN_ALL };

struct grid {
    enum join join;
    int n_dims, side[FABRIC_MAX_DIMENSIONS];
    int stride[FABRIC_MAX_DIMENSIONS]; /* between neighbours along a dimension */
    int n_switches, p;
    const int *up; /* rows and rings: [n_dims * n_switches] link to the next one up */
    int first_link[FABRIC_MAX_DIMENSIONS]; /* JOIN_ALL: of a dimension */
    double bisection_Bps;
};

static enum join join_of(const struct fabric_spec *spec)
{
    if (strcmp(spec->kind, "torus") == 0) return JOIN_RING;
    return strcmp(spec->kind, "mesh") == 0 ? JOIN_ROW : JOIN_ALL;
}

/* cables along one line of `side` switches */
static int64_t line_cables(enum join join, int64_t side)
{
    if (join == JOIN_ALL) return side * (side - 1) / 2;
    return join == JOIN_RING && side > 2 ? side : side - 1;
}

/* the most links a route takes along such a line */
static int line_length(enum join join, int side)
{
    if (join == JOIN_ALL) return side > 1;
    return join == JOIN_RING ? side / 2 : side - 1;
}

bool grid_read_sides(const char *text, struct fabric_spec *spec)
{
    spec->n_dimensions = 0;
    for (const char *at = text; spec->n_dimensions < FABRIC_MAX_DIMENSIONS;) {
        char *end;
        bool digit = at[0] >= '0' && at[0] <= '9';
        long value = strtol(at, &end, 10);
        if (!digit || value < 1 || value > MAX_SIDE) return false;
        spec->side[spec->n_dimensions++] = (int)value;
        if (*end == '\0') return true;
        if (*end != 'x') return false;
        at = end + 1;
    }
    return false;
}

static int ceil_div(int64_t a, int64_t b)
{
    return (int)((a + b - 1) / b);
}

/* the least s with s^power >= n */
static int ceil_root(int64_t n, int power)
{
    int s = 1;
    while (pow(s, power) < (double)n) s++;
    return s;
}

/* Sides for n_ports where none are given, and the ports of a switch. */
static void choose_sides(struct fabric_spec *spec, int n_ports)
{
    int *p = &spec->ports_per_router;
    if (join_of(spec) != JOIN_ALL) {
        if (*p == 0) *p = 1;
        int n = ceil_div(n_ports, *p);
        spec->n_dimensions = 3;
        spec->side[0] = ceil_root(n, 3);
        spec->side[1] = ceil_root(ceil_div(n, spec->side[0]), 2);
        spec->side[2] = ceil_div(n, (int64_t)spec->side[0] * spec->side[1]);
        return;
    }
    spec->n_dimensions = strcmp(spec->kind, "full-mesh") == 0 ? 1 : 2;
    int s = *p > 0 ? ceil_root(ceil_div(n_ports, *p), spec->n_dimensions)
                   : ceil_root(n_ports, spec->n_dimensions + 1);
    if (*p == 0) *p = s;
    for (int k = 0; k < spec->n_dimensions; k++) spec->side[k] = s;
}

static int64_t count_switches(const struct fabric_spec *spec)
{
    int64_t n = 1;
    for (int k = 0; k < spec->n_dimensions && n <= TOPO_MAX_LINKS; k++) n *= spec->side[k];
    return n;
}

void grid_check(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place)
{
    if (!fabric_range("ports per router", spec->ports_per_router, 0, MAX_SIDE, diag, place)) return;
    if (spec->n_dimensions == 0) choose_sides(spec, n_ports);
    if (strcmp(spec->kind, "full-mesh") == 0 && spec->n_dimensions > 1) {
        diag_error(diag, place, "a full mesh of %d dimensions (it has 1; \"hyperx\" has more)",
                   spec->n_dimensions);
        return;
    }
    int64_t n = count_switches(spec);
    if (spec->ports_per_router == 0) spec->ports_per_router = ceil_div(n_ports, n);
    int length = 0;
    for (int k = 0; k < spec->n_dimensions; k++)
        length += line_length(join_of(spec), spec->side[k]);
    fabric_range("links of the longest way through the grid", length, 0, ROUTE_MAX - ENDS, diag,
                 place);
    int64_t held = n * spec->ports_per_router;
    if (held >= n_ports) return;
    diag_error(diag, place, "%lld switches with %d ports hold %lld ports: %d are wanted",
               (long long)n, spec->ports_per_router, (long long)held, n_ports);
}

struct fabric_size grid_size(const struct fabric_spec *spec, int n_ports)
{
    int64_t n = count_switches(spec);
    struct fabric_size size = {.n_switches = n, .n_cables = n_ports};
    for (int k = 0; k < spec->n_dimensions && n <= TOPO_MAX_LINKS; k++) {
        size.n_cables += n / spec->side[k] * line_cables(join_of(spec), spec->side[k]);
    }
    return size;
}

static int place_along(const struct grid *grid, int at, int k)
{
    return at / grid->stride[k] % grid->side[k];
}

/* the switch that differs from `at` in dimension k alone */
static int moved(const struct grid *grid, int at, int k, int place)
{
    return at + (place - place_along(grid, at, k)) * grid->stride[k];
}

/* From each switch a cable to the next one up, the ends of a ring joined; out: up. */
static void add_steps(struct topo *topo, const struct grid *grid, int k, int *up, struct link cable,
                      struct arena *perm)
{
    int first = topo->fabric->first_vertex, side = grid->side[k];
    for (int at = 0; at < grid->n_switches; at++) {
        int c = place_along(grid, at, k);
        bool closes = grid->join == JOIN_RING && side > 2 && c == side - 1;
        if (c == side - 1 && !closes) continue;
        cable.src = first + at;
        cable.dst = first + moved(grid, at, k, closes ? 0 : c + 1);
        up[k * grid->n_switches + at] = topo_add_cable(topo, cable, perm);
    }
}

/* Each line fully meshed. */
static void add_meshes(struct topo *topo, const struct grid *grid, int k, struct link cable,
                       struct arena *perm)
{
    int side = grid->side[k], stride = grid->stride[k];
    for (int line = 0; line < grid->n_switches / side; line++) {
        int start = line / stride * stride * side + line % stride;
        cable.src = topo->fabric->first_vertex + start;
        fabric_add_mesh(topo, side, stride, cable, perm);
    }
}

static struct grid grid_shape(const struct fabric_spec *spec)
{
    struct grid grid = {
        .join = join_of(spec), .p = spec->ports_per_router, .n_dims = spec->n_dimensions};
    grid.n_switches = 1;
    for (int k = 0; k < grid.n_dims; k++) {
        grid.side[k] = spec->side[k];
        grid.stride[k] = grid.n_switches;
        grid.n_switches *= spec->side[k];
    }
    return grid;
}

void grid_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct grid *grid = arena_new(perm, struct grid, 1);
    *grid = grid_shape(spec);
    topo->fabric->own = grid;
    int first = fabric_add_switches(topo, grid->n_switches, 0, perm);
    for (int port = 0; port < n_ports; port++)
        fabric_add_port(topo, port_vertex[port], first + port / grid->p, perm);
    int64_t n_up = grid->join == JOIN_ALL ? 0 : (int64_t)grid->n_dims * grid->n_switches;
    int *up = arena_new(perm, int, n_up);
    struct link cable = {
        .tier = TIER_FABRIC, .capacity_Bps = spec->link_Bps, .latency_s = spec->link_latency_s};
    grid->up = up;
    for (int k = 0; k < grid->n_dims; k++) {
        grid->first_link[k] = topo->n_links;
        if (grid->join == JOIN_ALL)
            add_meshes(topo, grid, k, cable, perm);
        else
            add_steps(topo, grid, k, up, cable, perm);
    }
    grid->bisection_Bps = fabric_majority_cut_Bps(topo, grid->p, 1, *perm);
}

/* the direct link along a line of which all are joined */
static int pair_link(const struct grid *grid, int at, int k, int to_place)
{
    int side = grid->side[k], stride = grid->stride[k];
    int line = at / (stride * side) * stride + at % stride;
    int first = grid->first_link[k] + line * side * (side - 1);
    return fabric_mesh_link(first, side, place_along(grid, at, k), to_place);
}

/* which way from place c to e: 1 up, -1 down */
static int direction(const struct grid *grid, int k, int c, int e, bool odd)
{
    int side = grid->side[k];
    if (grid->join == JOIN_ROW || side == 2) return e > c ? 1 : -1;
    int distance_up = (e - c + side) % side;
    if (2 * distance_up == side) return odd ? -1 : 1;
    return 2 * distance_up < side ? 1 : -1;
}

/* Links along dimension k from *at to the place of `to`; moves *at. */
static int add_steps_of_route(const struct grid *grid, int k, int *at, int to_place, int way,
                              int *links)
{
    int n = 0, side = grid->side[k];
    const int *up = grid->up + (ptrdiff_t)k * grid->n_switches;
    while (place_along(grid, *at, k) != to_place) {
        int next = moved(grid, *at, k, (place_along(grid, *at, k) + way + side) % side);
        links[n++] = way > 0 ? up[*at] : up[next] + 1;
        *at = next;
    }
    return n;
}

int grid_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct grid *grid = topo->fabric->own;
    int at = src / grid->p, to = dst / grid->p, n = 0;
    uint64_t hash = topo->fabric->ecmp ? fabric_hash(topo, src, dst, key, 0) : 0;
    int first = (int)(hash % (uint64_t)grid->n_dims);
    links[n++] = fabric_port_up(topo, src);
    for (int i = 0; i < grid->n_dims; i++) {
        int k = (first + i) % grid->n_dims;
        int c = place_along(grid, at, k), e = place_along(grid, to, k);
        if (c == e) continue;
        if (grid->join == JOIN_ALL) {
            links[n++] = pair_link(grid, at, k, e);
            at = moved(grid, at, k, e);
        } else {
            bool odd = topo->fabric->ecmp ? (hash >> (8 + k) & 1) != 0 : c % 2 == 1;
            n += add_steps_of_route(grid, k, &at, e, direction(grid, k, c, e, odd), links + n);
        }
    }
    links[n++] = fabric_port_down(topo, dst);
    return n;
}

/* Each switch of a grid is a group of its own. */
int grid_group(const struct topo *topo, int at)
{
    (void)topo;
    return at;
}

double grid_bisection_Bps(const struct topo *topo)
{
    const struct grid *grid = topo->fabric->own;
    return grid->bisection_Bps;
}

void grid_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    const struct grid *grid = topo->fabric->own;
    int n = snprintf(text, (size_t)size, "switch ");
    for (int k = 0; k < grid->n_dims && n < size; k++) {
        n += snprintf(text + n, (size_t)(size - n), k ? ".%d" : "%d",
                      place_along(grid, vertex.index, k));
    }
}
