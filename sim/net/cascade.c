/* Cascade: a dragonfly whose groups are themselves grids. The routers of a group stand in `chassis` rows of
 * equal length; a row is fully meshed, and so are the routers at the same place of all rows. Between
 * two groups there is one cable.
 *
 *   a group of 2 chassis x 4:   r0 = r1 = r2 = r3     (= all of a row joined, | all of a column)
 *                               |    |    |    |
 *                               r4 = r5 = r6 = r7
 *
 * The cable from group i to group j is on router j of group i and router i of group j, as many groups as
 * a group has routers at most. Minimal routing: along the row to the gateway's column, along the column to
 * the gateway, the cable between the groups, along the row to the destination's column, along
 * its column. Ports fill the routers in order.
 *
 * Sources: Faanes et al., Cray Cascade: a scalable HPC system based on a dragonfly network, SC 2012,
 * sec. III; one cable of each kind and the gateways' places as in SimGrid's dragonfly zone, which
 * printed the times that tests compare with. */
#include "net/fabric.h"

#include <stdio.h>

enum { MAX_PART = 65536 };

struct cascade {
    int p, rows, columns, g;
    int first_row_link, first_column_link, first_global;
    double bisection_Bps;
};

static struct cascade cascade_shape(const struct fabric_spec *spec)
{
    return (struct cascade){.p = spec->ports_per_router,
                            .rows = spec->n_chassis,
                            .columns = spec->routers_per_group / spec->n_chassis,
                            .g = spec->n_groups};
}

static bool check_ranges(const struct fabric_spec *spec, struct diag *diag, struct diag_place place)
{
    bool ok = fabric_range("ports per router", spec->ports_per_router, 0, MAX_PART, diag, place);
    ok &= fabric_range("routers per group", spec->routers_per_group, 0, MAX_PART, diag, place);
    ok &= fabric_range("chassis", spec->n_chassis, 0, MAX_PART, diag, place);
    return fabric_range("groups", spec->n_groups, 0, MAX_PART, diag, place) && ok;
}

/* Numbers not given: a machine of 6 chassis of 16 routers with 4 ports, as the XC series has. */
static void fill(struct fabric_spec *spec, int n_ports)
{
    if (spec->ports_per_router == 0) spec->ports_per_router = 4;
    if (spec->n_chassis == 0) spec->n_chassis = spec->routers_per_group == 0 ? 6 : 1;
    if (spec->routers_per_group == 0) spec->routers_per_group = 16 * spec->n_chassis;
    int64_t group = (int64_t)spec->ports_per_router * spec->routers_per_group;
    if (spec->n_groups == 0) spec->n_groups = (int)((n_ports + group - 1) / group);
}

void cascade_check(struct fabric_spec *spec, int n_ports, struct diag *diag,
                   struct diag_place place)
{
    if (!check_ranges(spec, diag, place)) return;
    fill(spec, n_ports);
    if (spec->routers_per_group % spec->n_chassis != 0) {
        diag_error(diag, place, "%d routers per group do not fill %d chassis evenly",
                   spec->routers_per_group, spec->n_chassis);
    }
    if (spec->n_groups > spec->routers_per_group) {
        diag_error(diag, place, "%d groups, but %d routers per group have a gateway each",
                   spec->n_groups, spec->routers_per_group);
    }
    fabric_groups_hold(spec, n_ports, diag, place);
}

static int64_t pairs(int64_t n)
{
    return n * (n - 1) / 2;
}

struct fabric_size cascade_size(const struct fabric_spec *spec, int n_ports)
{
    struct cascade shape = cascade_shape(spec);
    int64_t g = shape.g;
    int64_t of_group = shape.rows * pairs(shape.columns) + shape.columns * pairs(shape.rows);
    return (struct fabric_size){.n_switches = g * spec->routers_per_group,
                                .n_cables = n_ports + g * of_group + pairs(g)};
}

static void add_local(struct topo *topo, struct cascade *shape, int first, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct link cable = {
        .tier = TIER_FABRIC, .capacity_Bps = spec->link_Bps, .latency_s = spec->link_latency_s};
    shape->first_row_link = topo->n_links;
    for (int row = 0; row < shape->g * shape->rows; row++) {
        cable.src = first + row * shape->columns;
        fabric_add_mesh(topo, shape->columns, 1, cable, perm);
    }
    shape->first_column_link = topo->n_links;
    for (int column = 0; column < shape->g * shape->columns; column++) {
        int group = column / shape->columns;
        cable.src = first + group * shape->rows * shape->columns + column % shape->columns;
        fabric_add_mesh(topo, shape->rows, shape->columns, cable, perm);
    }
}

static void add_global(struct topo *topo, struct cascade *shape, int first, struct arena *perm)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    struct link cable = {
        .tier = TIER_GLOBAL, .capacity_Bps = spec->global_Bps, .latency_s = spec->global_latency_s};
    int a = shape->rows * shape->columns;
    shape->first_global = topo->n_links;
    for (int i = 0; i < shape->g; i++) {
        for (int j = i + 1; j < shape->g; j++) {
            cable.src = first + i * a + j;
            cable.dst = first + j * a + i;
            topo_add_cable(topo, cable, perm);
        }
    }
}

void cascade_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    struct cascade *shape = arena_new(perm, struct cascade, 1);
    *shape = cascade_shape(&topo->fabric_spec);
    topo->fabric->own = shape;
    int first = fabric_add_switches(topo, shape->g * shape->rows * shape->columns, 0, perm);
    for (int port = 0; port < n_ports; port++)
        fabric_add_port(topo, port_vertex[port], first + port / shape->p, perm);
    add_local(topo, shape, first, perm);
    add_global(topo, shape, first, perm);
    shape->bisection_Bps =
        fabric_group_cut_Bps(topo, shape->p, shape->rows * shape->columns, *perm);
}

/* Within a group: along the row, then along the column. */
static int add_hops(const struct cascade *shape, int group, int src, int dst, int *links)
{
    int n = 0, columns = shape->columns, rows = shape->rows;
    int row = src / columns, from = src % columns, column = dst % columns;
    if (from != column) {
        int first = shape->first_row_link + 2 * (group * rows + row) * (int)pairs(columns);
        links[n++] = fabric_mesh_link(first, columns, from, column);
    }
    if (row != dst / columns) {
        int first = shape->first_column_link + 2 * (group * columns + column) * (int)pairs(rows);
        links[n++] = fabric_mesh_link(first, rows, row, dst / columns);
    }
    return n;
}

int cascade_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    const struct cascade *shape = topo->fabric->own;
    int a = shape->rows * shape->columns;
    int at = src / shape->p % a, to = dst / shape->p % a;
    int i = src / shape->p / a, j = dst / shape->p / a;
    int n = 0;
    (void)key; /* one cable of each kind: there is nothing to choose */
    links[n++] = fabric_port_up(topo, src);
    if (i != j) {
        n += add_hops(shape, i, at, j, links + n);
        links[n++] = fabric_mesh_link(shape->first_global, shape->g, i, j);
        at = i;
    }
    n += add_hops(shape, j, at, to, links + n);
    links[n++] = fabric_port_down(topo, dst);
    return n;
}

int cascade_group(const struct topo *topo, int at)
{
    const struct cascade *shape = topo->fabric->own;
    return at / (shape->rows * shape->columns);
}

double cascade_bisection_Bps(const struct topo *topo)
{
    const struct cascade *shape = topo->fabric->own;
    return shape->bisection_Bps;
}

void cascade_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    const struct cascade *shape = topo->fabric->own;
    int a = shape->rows * shape->columns;
    int router = vertex.index % a;
    snprintf(text, (size_t)size, "router %d.%d.%d", vertex.index / a, router / shape->columns,
             router % shape->columns);
}
