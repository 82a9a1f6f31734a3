/* Ways by load: what all flows together choose. */
#include "net/adaptive.h"

#include "net/fabric.h"
#include "net/shapes.h"

#include <math.h>
#include <string.h>

/* 9 groups of 4 routers of 2 hosts, a cable between any two groups */
static struct topo *dragonfly_of(int n_hosts, struct arena *perm)
{
    struct fabric_spec fabric = fabric_of("dragonfly");
    fabric.ports_per_router = fabric.global_per_router = 2;
    fabric.routers_per_group = 4;
    fabric.n_groups = 9;
    fabric.routing = "ugal";
    return built(one_gpu_node(), fabric, n_hosts, perm);
}

static struct topo *dragonfly72(struct arena *perm)
{
    return dragonfly_of(72, perm);
}

/* flows from each GPU to the one so many behind it, those of GPU `first` first, then down or up */
struct shift {
    int by, first, step;
};

static struct adaptive *offered(const struct topo *topo, struct shift shift, struct arena *perm)
{
    int n = topo->n_gpus;
    struct adaptive *adaptive = adaptive_new(topo, perm);
    for (int i = 0; i < n; i++) {
        int src = (shift.first + i * shift.step) % n;
        struct port_pair pair = {src, (src + shift.by) % n, 0};
        adaptive_add(adaptive, pair, perm);
    }
    adaptive_settle(adaptive, perm);
    return adaptive;
}

static void assert_same(struct division a, struct division b, int moved)
{
    double via[9] = {0};
    assert_close(a.direct, b.direct, 1e-9);
    assert_int_equal(a.n_detours, b.n_detours);
    for (int i = 0; i < a.n_detours; i++) via[(a.detours[i].group + moved) % 9] = a.detours[i].frac;
    for (int i = 0; i < b.n_detours; i++)
        assert_close(via[b.detours[i].group], b.detours[i].frac, 1e-9);
}

/* 35 has no factor in common with 72. */
static void the_order_of_flows_is_of_no_account(void **state)
{
    struct arena *perm = *state;
    const struct topo *topo = dragonfly72(perm);
    for (int by = 8; by < 72; by += 13) {
        const struct adaptive *up = offered(topo, (struct shift){by, 0, 1}, perm);
        const struct adaptive *mixed = offered(topo, (struct shift){by, 50, 35}, perm);
        for (int i = 0; i < 72; i++) {
            struct port_pair pair = {i, (i + by) % 72, 0};
            assert_same(adaptive_division(up, pair), adaptive_division(mixed, pair), 0);
        }
    }
}

/* All groups look alike, so flows of the next group go the same ways one group on. */
static void equal_flows_go_equal_ways(void **state)
{
    struct arena *perm = *state;
    const struct topo *topo = dragonfly72(perm);
    const struct adaptive *adaptive = offered(topo, (struct shift){8, 0, 1}, perm);
    bool some = false;
    for (int i = 0; i < 64; i++) {
        struct division here = adaptive_division(adaptive, (struct port_pair){i, (i + 8) % 72, 0});
        struct division next =
            adaptive_division(adaptive, (struct port_pair){i + 8, (i + 16) % 72, 0});
        assert_same(here, next, 1);
        some |= here.n_detours > 0;
    }
    assert_true(some);
}

/* Uniform traffic fills cables between groups as the ports allow (64 flows beside 71 of a port), so nobody
 * goes round; and one flow alone meets no queue but its own card's. */
static void flows_that_no_queue_meets_stay_on_shortest_ways(void **state)
{
    struct arena *perm = *state;
    const struct topo *topo = dragonfly72(perm);
    struct adaptive *all = adaptive_new(topo, perm), *one = adaptive_new(topo, perm);
    for (int i = 0; i < 72; i++)
        for (int j = 0; j < 72; j++)
            if (i != j) adaptive_add(all, (struct port_pair){i, j, 0}, perm);
    adaptive_add(one, (struct port_pair){3, 60, 0}, perm);
    adaptive_settle(all, perm);
    adaptive_settle(one, perm);
    for (int j = 1; j < 72; j++) {
        struct division division = adaptive_division(all, (struct port_pair){0, j, 0});
        assert_int_equal(division.n_detours, 0);
        assert_close(division.direct, 1, 1e-12);
    }
    assert_int_equal(adaptive_division(one, (struct port_pair){3, 60, 0}).n_detours, 0);
}

/* Two flows of one router to one group, whose cable carries as much as a card: half goes round. With a cable of
 * twice the rate none does. */
static void what_a_cable_cannot_carry_goes_round(void **state)
{
    for (int fast = 0; fast < 2; fast++) {
        struct arena *perm = *state;
        struct topo *topo = dragonfly72(perm);
        for (int l = 0; l < topo->n_links; l++)
            if (topo->links[l].tier >= TIER_FABRIC) topo->links[l].capacity_Bps *= 1 + fast;
        struct adaptive *adaptive = adaptive_new(topo, perm);
        for (int i = 0; i < 2; i++) adaptive_add(adaptive, (struct port_pair){i, 64 + i, 0}, perm);
        adaptive_settle(adaptive, perm);
        struct division division = adaptive_division(adaptive, (struct port_pair){0, 64, 0});
        assert_close(division.direct, fast ? 1 : 0.5, 1e-3);
        double sum = division.direct;
        for (int i = 0; i < division.n_detours; i++) sum += division.detours[i].frac;
        assert_close(sum, 1, 1e-12);
    }
}

/* Of nine groups the last has no hosts. It counts as cut off when nothing leads there, and when nothing leads
 * away; flows of each group to the next then go round by the others only. */
static void nobody_goes_round_by_a_group_that_is_cut_off(void **state)
{
    for (int away = 0; away < 2; away++) {
        struct arena *perm = *state;
        struct topo *topo = dragonfly_of(64, perm);
        for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
            const struct link *link = &topo->links[l];
            int end = (away ? link->src : link->dst) - topo->fabric->first_vertex;
            bool there = end >= 0 && topo->fabric->kind->group(topo, end) == 8;
            topo->links[l].failed = there && link->tier == TIER_GLOBAL;
        }
        struct diag diag = {.perm = perm};
        topo_reroute(topo, perm, &diag, (struct diag_place){.file = "test"});
        assert_true(diag_ok(&diag));
        const struct adaptive *adaptive = offered(topo, (struct shift){8, 0, 1}, perm);
        for (int i = 0; i < 64; i++) {
            struct division division =
                adaptive_division(adaptive, (struct port_pair){i, (i + 8) % 64, 0});
            assert_true(division.n_detours > 0);
            for (int d = 0; d < division.n_detours; d++)
                assert_int_not_equal(division.detours[d].group, 8);
        }
    }
}

/* Phases joined: of two switches as the first phase that has them says. */
static void of_joined_phases_the_first_counts(void **state)
{
    struct arena *perm = *state;
    const struct topo *topo = dragonfly72(perm);
    const struct adaptive *phases[] = {offered(topo, (struct shift){8, 0, 1}, perm),
                                       offered(topo, (struct shift){16, 0, 1}, perm)};
    struct port_pair near = {0, 8, 0}, far = {0, 16, 0};
    const struct adaptive *joined = adaptive_join(phases, 2, perm);
    assert_same(adaptive_division(joined, near), adaptive_division(phases[0], near), 0);
    assert_same(adaptive_division(joined, far), adaptive_division(phases[1], far), 0);
    assert_close(adaptive_division(joined, (struct port_pair){0, 40, 0}).direct, 1, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_flows_is_of_no_account),
        cmocka_unit_test(equal_flows_go_equal_ways),
        cmocka_unit_test(flows_that_no_queue_meets_stay_on_shortest_ways),
        cmocka_unit_test(what_a_cable_cannot_carry_goes_round),
        cmocka_unit_test(nobody_goes_round_by_a_group_that_is_cut_off),
        cmocka_unit_test(of_joined_phases_the_first_counts),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
