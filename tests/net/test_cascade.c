#include "base/evq.h"
#include "net/fabric.h"
#include "net/fluid.h"
#include "net/shapes.h"

#include <math.h>

/* one host per port: cables of 50 GB/s, 500 ns a link, nothing inside the host */
static struct topo *cascade(int groups, int chassis, int columns, int hosts, struct arena *perm)
{
    struct node_spec node = one_gpu_node();
    node.nic_Bps = 50e9;
    node.nic_latency_s = 0.5e-6;
    struct fabric_spec fabric = fabric_of("cascade");
    fabric.ports_per_router = hosts;
    fabric.routers_per_group = chassis * columns;
    fabric.n_chassis = chassis;
    fabric.n_groups = groups;
    fabric.global_latency_s = 0.5e-6;
    return built(node, fabric, groups * chassis * columns * hosts, perm);
}

/* Groups of 3 x 4 routers: 3 * 6 + 4 * 3 cables in each; 5 groups: 10 between them. */
static void the_cables_are_those_of_the_grids_and_of_the_pairs_of_groups(void **state)
{
    struct topo *topo = cascade(5, 3, 4, 2, *state);
    struct topo_summary summary = topo_summarise(topo);
    assert_int_equal(summary.n_switches, 60);
    assert_int_equal(summary.n_links[TIER_NIC], 2 * 120);
    assert_int_equal(summary.n_links[TIER_FABRIC], 2 * 5 * 30);
    assert_int_equal(summary.n_links[TIER_GLOBAL], 2 * 10);
    /* the port's two cables, row and column on both sides, one cable between groups */
    assert_int_equal(summary.diameter_hops, 2 + 2 + (2 + 2 + 1 + 2 + 2) - 2);
}

static void shapes_that_do_not_close_are_refused_with_the_number(void **state)
{
    struct fabric_spec fabric = fabric_of("cascade");
    fabric.ports_per_router = 2;
    fabric.routers_per_group = 10;
    fabric.n_chassis = 3;
    assert_refused(one_gpu_node(), fabric, 20, *state,
                   "10 routers per group do not fill 3 chassis");
    fabric.n_chassis = 2;
    fabric.n_groups = 11;
    assert_refused(one_gpu_node(), fabric, 20, *state, "11 groups, but 10 routers per group");
    fabric.n_groups = 2;
    assert_refused(one_gpu_node(), fabric, 41, *state, "hold 40 ports: 41 are wanted");
}

/* ---- SimGrid's ring ---- */

struct hop {
    struct load loads[8];
    int n, sent; /* steps that have ended */
    bool busy;
};

struct ring {
    struct fluid *fluid;
    struct evq *starts;
    struct hop *hops; /* from rank r to r + 1 */
    int n;
    double chunk_B;
};

/* done(r) = steps of which rank r's send and receive have both ended. A transfer starts when sender and
 * receiver are both there: each begins a step when it is done with the last. */
static int done(const struct ring *ring, int r)
{
    int sent = ring->hops[r].sent;
    int received = ring->hops[(r + ring->n - 1) % ring->n].sent;
    return sent < received ? sent : received;
}

static void try_start(struct ring *ring, int r, double now_s)
{
    struct hop *hop = &ring->hops[r];
    int step = hop->sent;
    if (hop->busy || step == 2 * (ring->n - 1)) return;
    if (done(ring, r) < step || done(ring, (r + 1) % ring->n) < step) return;
    hop->busy = true;
    evq_push(ring->starts, now_s + hop->n * 0.5e-6, 0, r);
}

static void end_hop(struct ring *ring, int r, double now_s)
{
    ring->hops[r].busy = false;
    ring->hops[r].sent++;
    for (int i = -2; i <= 2; i++) try_start(ring, (r + i + ring->n) % ring->n, now_s);
}

static double play(struct ring *ring)
{
    double now_s = 0;
    int32_t r;
    for (int i = 0; i < ring->n; i++) try_start(ring, i, 0);
    while (!evq_empty(ring->starts) || fluid_next_end_s(ring->fluid) < HUGE_VAL) {
        double start_s = evq_empty(ring->starts) ? HUGE_VAL : evq_peek(ring->starts).time_s;
        now_s = fmin(start_s, fluid_next_end_s(ring->fluid));
        fluid_advance(ring->fluid, now_s);
        while (fluid_take_ended(ring->fluid, &r)) end_hop(ring, r, now_s);
        while (!evq_empty(ring->starts) && evq_peek(ring->starts).time_s <= now_s) {
            const struct hop *hop = &ring->hops[evq_pop(ring->starts).id];
            fluid_add(ring->fluid, (struct activity_spec){.loads = hop->loads,
                                                          .n_loads = hop->n,
                                                          .work = ring->chunk_B,
                                                          .cap = INFINITY,
                                                          .weight = 1.0 / hop->n,
                                                          .tag = (int32_t)(hop - ring->hops)});
        }
    }
    return now_s;
}

static struct ring ring_on(const struct topo *topo, double size_B, struct arena *perm)
{
    struct ring ring = {.n = topo->n_ports, .chunk_B = floor(size_B / topo->n_ports)};
    double *capacity = arena_new(perm, double, topo->n_links);
    for (int l = 0; l < topo->n_links; l++) capacity[l] = topo->links[l].capacity_Bps;
    ring.fluid = fluid_new(capacity, topo->n_links, perm);
    ring.starts = evq_new(perm, ring.n);
    ring.hops = arena_new(perm, struct hop, ring.n);
    for (int r = 0; r < ring.n; r++) {
        int links[ROUTE_MAX];
        struct hop *hop = &ring.hops[r];
        hop->n = cascade_route(topo, r, (r + 1) % ring.n, 0, links);
        for (int i = 0; i < hop->n; i++) hop->loads[i] = (struct load){links[i], 1};
    }
    return ring;
}

/* Milliseconds simulated with SimGrid 3.32 S4U, network/model:CM02 without cross-traffic and TCP
 * window. CM02 gives flows shares of a link in inverse proportion to the latency of their paths, as TCP
 * does with round-trip times: weight 1 / links. Chunk = floor(S / N); groups x chassis x routers x hosts, one link of each colour.
 * SimGrid takes what is due within surf/precision of the present event as due now, 1e-9 s by default. In
 * all rows but the last this changes no digit. There, 64 chunks of 1.95312 us are 0.32 ns less than 250
 * latencies, so events that differ by these are one: SimGrid says 10.134070 ms with 1e-9, and the time
 * below with 1e-12. */
static void rings_take_what_simgrid_gives(void **state)
{
    static const struct {
        int groups, chassis, columns, hosts;
        double size_B, ms;
    } rows[] = {
        {2, 1, 2, 2, 1e6, 0.070000},   {2, 1, 2, 2, 1e8, 3.535000},   {2, 1, 2, 2, 1e9, 35.035000},
        {4, 2, 4, 2, 1e6, 0.419594},   {4, 2, 4, 2, 1e8, 8.082000},   {4, 2, 4, 2, 1e9, 78.955500},
        {8, 2, 8, 2, 1e6, 1.569841},   {8, 2, 8, 2, 1e8, 9.090480},   {8, 2, 8, 2, 1e9, 80.741492},
        {8, 4, 16, 2, 1e9, 46.098917}, {8, 4, 16, 2, 1e8, 10.134084},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena scratch = *(struct arena *)*state;
        struct topo *topo =
            cascade(rows[i].groups, rows[i].chassis, rows[i].columns, rows[i].hosts, &scratch);
        struct ring ring = ring_on(topo, rows[i].size_B, &scratch);
        double ms = 1e3 * play(&ring);
        print_message("%d ranks, %g MB: %.6f ms, SimGrid %.6f\n", ring.n, rows[i].size_B / 1e6, ms,
                      rows[i].ms);
        assert_true(fabs(ms - rows[i].ms) <= 0.5000001e-6); /* all printed digits */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cables_are_those_of_the_grids_and_of_the_pairs_of_groups),
        cmocka_unit_test(shapes_that_do_not_close_are_refused_with_the_number),
        cmocka_unit_test(rings_take_what_simgrid_gives),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
