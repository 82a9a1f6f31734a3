/* The three fidelities held against each other, against closed forms and against what no schedule can
 * beat: every registered algorithm on every fabric. */
#include "ideal.h"

#include "bound.h"
#include "net/fabric.h"

#include <string.h>

static const struct {
    const char *name;
    const struct fabric_spec *spec;
    bool full; /* never in the way of flows that leave their NICs one by one */
} fabrics[] = {
    {"switch", &one_switch, true},
    {"fat-tree of 2 levels", &ideal_tree2, true},
    {"fat-tree of 3 levels", &ideal_tree3, true},
    {"2:1", &halved_tree2, false},
    {"dragonfly", &ideal_dragonfly, false},
    {"torus", &ideal_torus, false},
    {"cascade", &ideal_cascade, false},
    {"hyperx", &ideal_hyperx, false},
    {"dragonfly-plus", &ideal_dragonfly_plus, false},
    {"rail-only", &ideal_rails, true},
    {"two sites", &two_sites, false},
    {"fat-tree, sprayed", &sprayed_tree3, true},
    {"fat-tree, hashed", &hashed_tree2, false},
    {"dragonfly, all detours", &detours_dragonfly, false},
    {"dragonfly, adaptive", &adaptive_dragonfly, false},
};
enum { N_FABRICS = sizeof fabrics / sizeof fabrics[0] };

static const struct {
    int n_gpus, n_nics;
} servers[] = {{1, 1}, {2, 1}, {4, 2}, {8, 8}};
enum { N_SERVERS = sizeof servers / sizeof servers[0] };

static const int node_counts[] = {1, 2, 3, 5, 7, 8, 9, 16, 33};
enum { N_COUNTS = sizeof node_counts / sizeof node_counts[0], MANY_RANKS = 36 };

struct setting {
    const struct coll_algo *algo;
    int fabric, server, count;
    double size_B;
};

static int ranks_of(const struct setting *at)
{
    return node_counts[at->count] * servers[at->server].n_gpus;
}

static struct inputs *inputs_of(const struct setting *at, struct arena *perm)
{
    int m = servers[at->server].n_gpus;
    struct node_spec node = m == 1 ? ideal_node : ideal_server(m, servers[at->server].n_nics);
    struct op op = coll_op(0, at->algo->kind, at->size_B, at->algo->name);
    struct inputs *in = alone(&node, fabrics[at->fabric].spec, ranks_of(at), op, perm);
    if (at->algo->servers) in->job->comms[0].n_servers = node_counts[at->count];
    return in;
}

typedef void check(const struct setting *at, struct arena scratch);

/* The next of all combinations; false after the last. */
static bool next_setting(struct setting *at)
{
    if (++at->count < N_COUNTS) return true;
    at->count = 0;
    if (++at->server < N_SERVERS) return true;
    at->server = 0;
    if (++at->fabric < N_FABRICS) return true;
    at->fabric = 0;
    return ++at->algo < coll_algos + n_coll_algos;
}

static bool is_pair(const struct coll_algo *algo)
{
    return algo->kind == COLL_SENDRECV && strcmp(algo->name, "direct") == 0;
}

/* Sums in the fabric go by many small messages, all under way at once: on many servers a tenth will do, or ten
 * settings take as long as all others together. */
static double size_of(const struct setting *at)
{
    bool many = node_counts[at->count] > 16 && bound_help(at->algo) == HELP_FABRIC;
    return many ? 1e5 : 1e6;
}

static void for_each_setting(check *one, struct arena *perm)
{
    struct setting at = {.algo = coll_algos};
    do {
        int most = is_pair(at.algo) ? 2 : MANY_RANKS;
        at.size_B = size_of(&at);
        if (ranks_of(&at) <= most) one(&at, *perm);
    } while (next_setting(&at));
}

static void say(const struct setting *at, struct three times)
{
    print_error("%s %s, %s, %d ranks, %d a server: estimate %.9g, fluid %.9g, message %.9g us\n",
                at->algo->name, coll_kind_names[at->algo->kind], fabrics[at->fabric].name,
                ranks_of(at), servers[at->server].n_gpus, times.estimate_s * 1e6,
                times.fluid_s * 1e6, times.message_s * 1e6);
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * b;
}

static bool is_pipelined(const struct coll_algo *algo)
{
    if (strcmp(algo->name, "tree") == 0) return true;
    bool rooted = algo->kind == COLL_BROADCAST || algo->kind == COLL_REDUCE;
    return rooted && strcmp(algo->name, "ring") == 0;
}

/* All ranks do the same in each step, with equal messages: then lock step is no assumption. Where some
 * pairs meet on a link and some do not, pairs of a doubling that are done go on to the next step, which
 * lock step does not let them. */
static bool is_synchronous(const struct setting *at)
{
    static const char *const doubling[] = {"recursive-doubling", "halving-doubling",
                                           "recursive-halving"};
    static const char *const others[] = {"ring", "direct", "hierarchical"};
    int n = ranks_of(at);
    bool halves = at->algo->kind == COLL_ALLGATHER || at->algo->kind == COLL_REDUCE_SCATTER;
    bool two_level = halves && strcmp(at->algo->name, "hierarchical") == 0;
    if (is_pipelined(at->algo) || two_level) return false;
    for (int i = 0; i < 3; i++) {
        if (strcmp(at->algo->name, others[i]) == 0) return true;
        if (strcmp(at->algo->name, doubling[i]) == 0) {
            return (n & (n - 1)) == 0 && fabrics[at->fabric].full;
        }
    }
    return false;
}

static void check_synchronous(const struct setting *at, struct arena scratch)
{
    if (!is_synchronous(at)) return;
    struct three times = run_three(inputs_of(at, &scratch), scratch);
    bool same =
        close_to(times.message_s, times.fluid_s) && close_to(times.estimate_s, times.fluid_s);
    if (!same) say(at, times);
    assert_true(same);
}

static void synchronous_plans_take_the_same_in_all_fidelities(void **state)
{
    for_each_setting(check_synchronous, *state);
}

/* The library's channels together carry less than one card: each node has them as a port. */
static void check_channels(const struct setting *at, struct arena scratch)
{
    bool some = node_counts[at->count] <= 3 || node_counts[at->count] == 8;
    if (!is_synchronous(at) || !fabrics[at->fabric].full || !some) return;
    struct inputs *in = inputs_of(at, &scratch);
    for (int c = 0; c < in->library.n_choices; c++) in->library.choices[c].channel_cap_Bps = 2 * GB;
    in->library.n_channels = 4;
    struct three times = run_three(in, scratch);
    bool same =
        close_to(times.message_s, times.fluid_s) && close_to(times.estimate_s, times.fluid_s);
    if (!same) say(at, times);
    assert_true(same);
}

static void channels_limit_in_all_fidelities_alike(void **state)
{
    for_each_setting(check_channels, *state);
}

/* Connections carry less than a card, too: what leaves a server has them as a port, what stays inside not. */
static void check_connections(const struct setting *at, struct arena scratch)
{
    bool some = node_counts[at->count] == 2 || node_counts[at->count] == 8;
    if (!is_synchronous(at) || !fabrics[at->fabric].full || !some) return;
    struct inputs *in = inputs_of(at, &scratch);
    struct three free = run_three(in, scratch);
    for (int c = 0; c < in->library.n_choices; c++)
        in->library.choices[c].net.connection_Bps = 0.5 * GB;
    struct three times = run_three(in, scratch);
    bool same =
        close_to(times.message_s, times.fluid_s) && close_to(times.estimate_s, times.fluid_s);
    if (!same) say(at, times);
    assert_true(same);
    assert_true(times.fluid_s > free.fluid_s || at->algo->kind == COLL_ALLTOALL);
}

static void connections_limit_in_all_fidelities_alike(void **state)
{
    for_each_setting(check_connections, *state);
}

/* The estimate is the algorithm's closed form where the fabric is never in the way. */
static void check_closed_form(const struct setting *at, struct arena scratch)
{
    if (!fabrics[at->fabric].full || at->algo->servers) return;
    if (at->fabric > 0 && !is_synchronous(at)) return; /* routes chosen by destination may meet */
    struct inputs *in = inputs_of(at, &scratch);
    const struct plan *plan = plan_build(in, &scratch);
    const struct coll_req *req = &plan->colls[0].req;
    if (!at->algo->fits(req)) return;
    bool leaves = req->n_ranks > req->ranks_per_node;
    double spared = at->algo->wire_frac && req->ranks_per_node > 1 ? at->algo->wire_frac(req) : 1;
    double net_spared = at->algo->net_wire_frac && leaves ? at->algo->net_wire_frac(req) : 1;
    struct affine inside = {2 * US, spared / (100 * GB)};
    struct coll_hops hops = {inside, {2 * US, net_spared / (10 * GB * req->n_channels)}};
    double want_s = at->algo->cost_s(req, hops);
    if (want_s > 0) assert_close(plan->colls[0].estimate_s, want_s, 1e-9);
}

static void estimate_is_the_closed_form_on_a_full_fabric(void **state)
{
    for_each_setting(check_closed_form, *state);
}

/* 1e-9 for rounding. */
static void check_bound(const struct setting *at, struct arena scratch)
{
    struct inputs *in = inputs_of(at, &scratch);
    struct three times = run_three(in, scratch);
    double bound_s =
        bound_collective_s(in, at->algo->kind, at->size_B, bound_help(at->algo), scratch);
    double least_s = fmin(times.estimate_s, fmin(times.fluid_s, times.message_s));
    if (ranks_of(at) > 1) assert_true(bound_s > 0);
    if (ranks_of(at) == 1) bound_s = 0;
    if (least_s < bound_s * (1 - 1e-9)) say(at, times);
    assert_true(least_s >= bound_s * (1 - 1e-9));
}

static void nothing_is_faster_than_the_cuts_allow(void **state)
{
    for_each_setting(check_bound, *state);
}

/* Lock step says when the last chunk has gone all the way if every hop takes a chunk's time; messages
 * are done before or after by no more than a hop's time on each hop there is. */
static void check_pipelined(const struct setting *at, struct arena scratch)
{
    if (!is_pipelined(at->algo) || !fabrics[at->fabric].full || ranks_of(at) == 1) return;
    struct inputs *in = inputs_of(at, &scratch);
    struct three times = run_three(in, scratch);
    const struct plan_coll *coll = &plan_build(in, &scratch)->colls[0];
    struct coll_phase phase;
    struct coll_bundle bundle;
    assert_true(coll->algo->phase(&coll->req, 0, &phase));
    coll->algo->bundle(&coll->req, 0, 0, &bundle);
    double chunks = ceil(bundle.bytes / coll->req.chunk_B);
    double chunk_B = bundle.bytes / chunks * phase.n_bundles; /* of all streams */
    double depth = phase.steps + 1 - chunks;
    double slowest_Bps = node_counts[at->count] == 1 ? 100 * GB : 10 * GB * coll->req.n_channels;
    double most_s = depth * (2 * US + chunk_B / slowest_Bps) * (1 + 1e-9);
    bool close = fabs(times.message_s - times.estimate_s) <= most_s &&
                 fabs(times.fluid_s - times.estimate_s) <= most_s;
    if (!close) say(at, times);
    assert_true(close);
}

static void pipelined_plans_differ_by_less_than_a_chunk_per_hop(void **state)
{
    for_each_setting(check_pipelined, *state);
}

/* Without latency the rest is made of chunks alone: it must go as they go. */
static void the_difference_goes_with_the_chunk(void **state)
{
    const struct coll_algo *pipelined[] = {coll_find(COLL_ALLREDUCE, "tree"),
                                           coll_find(COLL_BROADCAST, "ring"),
                                           coll_find(COLL_REDUCE, "ring")};
    struct node_spec node = ideal_node;
    node.nic_latency_s = 0;
    for (int a = 0; a < 3; a++) {
        for (int chunks = 8; chunks <= 512; chunks *= 8) {
            struct arena scratch = *(struct arena *)*state;
            struct op op = coll_op(0, pipelined[a]->kind, 1e6, pipelined[a]->name);
            struct inputs *in = alone(&node, &one_switch, 9, op, &scratch);
            in->library.chunk_B = 1e6 / chunks;
            struct three times = run_three(in, scratch);
            /* 9 ranks: no more than 8 hops each way */
            double rest = fabs(times.message_s / times.fluid_s - 1);
            assert_true(rest <= 16.0 / chunks);
            assert_close(times.fluid_s, times.estimate_s, 1e-9);
        }
    }
}

/* ---- scaling and symmetry ---- */

static void scale_links(struct topo *topo, double rate, double latency)
{
    for (int l = 0; l < topo->n_links; l++) {
        topo->links[l].capacity_Bps *= rate;
        topo->links[l].latency_s *= latency;
    }
}

static void check_rates(const struct setting *at, struct arena scratch)
{
    bool some = node_counts[at->count] == 3 || node_counts[at->count] == 8;
    if (!some || servers[at->server].n_gpus == 8 || fabrics[at->fabric].full) return;
    struct inputs *in = inputs_of(at, &scratch);
    struct three slow = run_three(in, scratch);
    scale_links(in->topo, 2, 1);
    struct three fast = run_three(in, scratch);
    assert_true(fast.estimate_s <= slow.estimate_s);
    assert_true(fast.fluid_s <= slow.fluid_s);
    assert_true(fast.message_s <= slow.message_s);
    scale_links(in->topo, 1, 0);
    struct three once = run_three(in, scratch);
    scale_links(in->topo, 3, 1);
    struct three thrice = run_three(in, scratch);
    assert_close(once.estimate_s, 3 * thrice.estimate_s, 1e-9);
    assert_close(once.fluid_s, 3 * thrice.fluid_s, 1e-9);
    assert_close(once.message_s, 3 * thrice.message_s, 1e-9);
}

static void faster_links_never_slow_and_without_latency_divide_the_time(void **state)
{
    for_each_setting(check_rates, *state);
}

/* Ranks handed out to GPUs in another order: one switch, so all places are alike. A sendrecv and the
 * root of a broadcast move with their ranks. */
static void check_relabelled(const struct setting *at, struct arena scratch)
{
    int n = ranks_of(at);
    if (at->fabric != 0 || servers[at->server].n_gpus > 1 || n < 2) return;
    struct inputs *in = inputs_of(at, &scratch);
    struct three before = run_three(in, scratch);
    int *gpu_of = arena_new(&scratch, int, n);
    for (int r = 0; r < n; r++)
        gpu_of[r] = (n == 2 ? 1 - r : (2 * r + 1) % n); /* n odd: a permutation */
    if (n % 2 == 0) {
        for (int r = 0; r < n; r++) gpu_of[r] = n - 1 - r;
    }
    in->gpu_of = gpu_of;
    struct three after = run_three(in, scratch);
    bool same = close_to(after.estimate_s, before.estimate_s) &&
                close_to(after.fluid_s, before.fluid_s) &&
                close_to(after.message_s, before.message_s);
    if (!same) say(at, after);
    assert_true(same);
}

static void places_on_a_switch_are_alike(void **state)
{
    for_each_setting(check_relabelled, *state);
}

/* Fabrics that look the same from every switch: cubes, planes, trees of full leaves, a mesh of all, and groups
 * joined round about. Every rank moves to the next switch, leaf or group; routes by destination move along,
 * spread ones anyway. */
static const struct {
    struct fabric_spec spec;
    int n, by;
} round_about[] = {
    {{.kind = "torus", .ports_per_router = 2, .n_dimensions = 2, .side = {3, 5}}, 30, 6},
    {{.kind = "hyperx", .ports_per_router = 1, .n_dimensions = 2, .side = {4, 3}}, 12, 4},
    {{.kind = "full-mesh", .ports_per_router = 3, .n_dimensions = 1, .side = {5}}, 15, 3},
    {{.kind = "fat-tree", .ports_per_leaf = 4, .oversubscription = 2}, 20, 4},
    {{.kind = "fat-tree", .ports_per_leaf = 4, .oversubscription = 4}, 20, 4},
    {{.kind = "fat-tree", .ports_per_leaf = 2, .leaves_per_pod = 3, .n_pods = 3, .levels = 3},
     18,
     6},
    {{.kind = "dragonfly", .ports_per_router = 2, .routers_per_group = 2, .global_per_router = 1},
     12,
     4},
};
enum { N_ROUND = sizeof round_about / sizeof round_about[0] };

static void assert_moved(int i, const char *routing, const struct coll_algo *algo,
                         struct arena scratch)
{
    struct fabric_spec spec = round_about[i].spec;
    int n = round_about[i].n;
    spec.routing = routing;
    if (spec.oversubscription < 1) spec.oversubscription = 1;
    spec.core_oversubscription = 1;
    struct inputs *in =
        alone(&ideal_node, &spec, n, coll_op(0, algo->kind, 1e6, algo->name), &scratch);
    struct three before = run_three(in, scratch);
    int *gpu_of = arena_new(&scratch, int, n);
    for (int r = 0; r < n; r++) gpu_of[r] = (r + round_about[i].by) % n;
    in->gpu_of = gpu_of;
    struct three after = run_three(in, scratch);
    bool same = close_to(after.estimate_s, before.estimate_s) &&
                close_to(after.fluid_s, before.fluid_s) &&
                close_to(after.message_s, before.message_s);
    if (!same)
        print_error("%s %s over %s %s: fluid %.9g, %.9g us, message %.9g, %.9g us\n", algo->name,
                    coll_kind_names[algo->kind], routing, spec.kind, before.fluid_s * 1e6,
                    after.fluid_s * 1e6, before.message_s * 1e6, after.message_s * 1e6);
    assert_true(same);
}

static void switches_of_a_symmetric_fabric_are_alike(void **state)
{
    static const char *const by[] = {"static", "spray", "valiant-spray", "ugal"};
    for (int i = 0; i < N_ROUND; i++) {
        for (int r = 0; r < 4; r++) {
            if (r >= 2 && !fabric_find(round_about[i].spec.kind)->group) continue;
            for (int a = 0; a < n_coll_algos; a++) {
                if (coll_algos[a].servers || is_pair(&coll_algos[a])) continue;
                assert_moved(i, by[r], &coll_algos[a], **(struct arena **)state);
            }
        }
    }
}

/* Sixteen hosts on leaves of four with 4 / k ways up. In order a ring leaves each leaf once, whatever k; dealt
 * out over the leaves all four of a leaf send to the next, k on each way up (d-mod-k: neighbouring hosts take
 * neighbouring ways), and the ring takes k times as long. */
static void assert_ring_order(const char *routing, int k, bool dealt, struct arena scratch)
{
    struct fabric_spec spec = {.kind = "fat-tree",
                               .ports_per_leaf = 4,
                               .oversubscription = k,
                               .core_oversubscription = 1,
                               .routing = routing};
    struct node_spec node = ideal_node;
    node.nic_latency_s = 0;
    struct op op = coll_op(0, COLL_ALLREDUCE, 16e6, "ring");
    struct inputs *in = alone(&node, &spec, 16, op, &scratch);
    int *gpu_of = arena_new(&scratch, int, 16);
    for (int r = 0; r < 16; r++) gpu_of[r] = dealt ? r % 4 * 4 + r / 4 : r;
    in->gpu_of = gpu_of;
    double alone_s = 2 * 15.0 / 16 * 16e6 / (10 * GB);
    struct three times = run_three(in, scratch);
    double want_s = dealt ? k * alone_s : alone_s;
    assert_close(times.estimate_s, want_s, 1e-9);
    assert_close(times.fluid_s, want_s, 1e-9);
    assert_close(times.message_s, want_s, 1e-9);
}

static void a_ring_in_bad_order_feels_the_oversubscription(void **state)
{
    for (int k = 1; k <= 4; k *= 2) {
        for (int dealt = 0; dealt < 2; dealt++) {
            assert_ring_order("static", k, dealt, **(struct arena **)state);
            assert_ring_order("spray", k, dealt, **(struct arena **)state);
        }
    }
}

/* Sixteen hosts in order on leaves of four with four ways up. A quarter of what leaves a leaf goes by a cable: at
 * half its rate it carries that and more, at an eighth half of it. */
static void a_slow_cable_holds_back_the_part_that_goes_by_it(void **state)
{
    struct fabric_spec spec = {.kind = "fat-tree",
                               .ports_per_leaf = 4,
                               .oversubscription = 1,
                               .core_oversubscription = 1,
                               .routing = "spray"};
    struct node_spec node = ideal_node;
    node.nic_latency_s = 0;
    double alone_s = 2 * 15.0 / 16 * 16e6 / (10 * GB);
    for (int slow = 1; slow <= 8; slow *= 2) {
        struct arena scratch = **(struct arena **)state;
        struct op op = coll_op(0, COLL_ALLREDUCE, 16e6, "ring");
        struct inputs *in = alone(&node, &spec, 16, op, &scratch);
        in->library.rendezvous = false;
        for (int spine = 0; spine < 4; spine++) {
            char name[TOPO_NAME_MAX];
            snprintf(name, sizeof name, "leaf 0 -> spine %d", spine);
            int link = topo_find_link(in->topo, name);
            assert_true(link >= 0);
            if (spine == 0) in->topo->links[link].capacity_Bps /= slow;
        }
        struct three times = run_three(in, scratch);
        double want_s = slow == 8 ? 2 * alone_s : alone_s;
        assert_close(times.estimate_s, want_s, 1e-3);
        assert_close(times.fluid_s, want_s, 1e-3);
        assert_close(times.message_s, want_s, 1e-3);
    }
}

static void assert_same_runs(const struct run *a, const struct run *b)
{
    assert_int_equal(a->n_events, b->n_events);
    assert_int_equal(a->n_spans, b->n_spans);
    assert_memory_equal(a->spans, b->spans, (size_t)a->n_spans * sizeof *a->spans);
}

/* Same inputs, other addresses. */
static void check_again(const struct setting *at, struct arena scratch)
{
    if (node_counts[at->count] != 7) return;
    struct inputs *in = inputs_of(at, &scratch);
    const struct run *fluid = engine_run(plan_build(in, &scratch), &scale_none, &scratch);
    in->fold = false;
    const struct run *message = engine_message(plan_build(in, &scratch), &scratch);
    arena_new(&scratch, char, 12345);
    in->fold = true;
    assert_same_runs(fluid, engine_run(plan_build(in, &scratch), &scale_none, &scratch));
    in->fold = false;
    assert_same_runs(message, engine_message(plan_build(in, &scratch), &scratch));
}

static void runs_repeat_bit_for_bit(void **state)
{
    for_each_setting(check_again, *state);
}

/* ---- SimGrid ---- */

/* 50 GB/s and 500 ns a cable */
static const struct node_spec golden_node = {.gpus_per_node = 1,
                                             .nics_per_node = 1,
                                             .sockets = 1,
                                             .gpus_per_pcie_switch = 1,
                                             .pcie_Bps = FAST,
                                             .socket_Bps = FAST,
                                             .nic_Bps = 50 * GB,
                                             .nic_latency_s = 0.5 * US,
                                             .gpudirect = true,
                                             .p2p = true};

/* Milliseconds simulated with SimGrid 3.32 S4U, network/model:CM02 without cross-traffic and TCP
 * window; chunk = floor(S / N); fat-trees of hosts x leaves x pods. */
static const struct golden {
    int n, hosts, leaves, pods;
    double size_B, star_ms, tree_ms;
} goldens[] = {
    {8, 2, 2, 2, 1e6, 0.049000, 0.077000},     {8, 2, 2, 2, 1e8, 3.514000, 3.542000},
    {8, 2, 2, 2, 1e9, 35.014000, 35.042000},   {64, 4, 4, 4, 1e6, 0.165375, 0.417375},
    {64, 4, 4, 4, 1e8, 4.063500, 4.315500},    {64, 4, 4, 4, 1e9, 39.501000, 39.753000},
    {256, 8, 8, 4, 1e6, 0.549841, 1.569841},   {256, 8, 8, 4, 1e8, 4.494375, 5.514375},
    {256, 8, 8, 4, 1e9, 40.353750, 41.373750},
};

/* Neighbours share no link, so T = 2 (N - 1) (cables of the longest way x 500 ns + chunk / B). */
static void assert_golden(const struct golden *golden, const struct fabric_spec *fabric, int cables,
                          double ms, struct arena scratch)
{
    int n = golden->n;
    double chunk_B = floor(golden->size_B / n);
    struct op op = coll_op(0, COLL_ALLREDUCE, n * chunk_B, "ring");
    struct inputs *in = alone(&golden_node, fabric, n, op, &scratch);
    struct three times = run_three(in, scratch);
    double want_s = 2.0 * (n - 1) * (cables * 0.5 * US + chunk_B / (50 * GB));
    assert_close(times.message_s, want_s, 1e-9);
    assert_close(times.fluid_s, want_s, 1e-9);
    assert_close(times.estimate_s, want_s, 1e-9);
    assert_true(fabs(1e3 * times.message_s - ms) <= 0.5000001e-6); /* all printed digits */
}

static void rings_take_what_simgrid_gives(void **state)
{
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        const struct golden *golden = &goldens[i];
        struct fabric_spec tree = {.kind = "fat-tree",
                                   .levels = 3,
                                   .ports_per_leaf = golden->hosts,
                                   .leaves_per_pod = golden->leaves,
                                   .n_pods = golden->pods,
                                   .oversubscription = 1,
                                   .core_oversubscription = 1,
                                   .link_latency_s = 0.5 * US};
        assert_golden(golden, &one_switch, 2, golden->star_ms, **(struct arena **)state);
        assert_golden(golden, &tree, 6, golden->tree_ms, **(struct arena **)state);
    }
}

/* Few lanes stand for 32 channels of 8 slots each, 256 chunks of 4 kB in a hop's 2 us: more than a link of 100 GB/s
 * takes. With eight slots a lane it would pass 16 GB/s for each lane. */
static void a_lane_has_the_slots_of_the_channels_that_it_stands_for(void **state)
{
    struct arena scratch = **(struct arena **)state;
    struct node_spec node = golden_node;
    node.gpus_per_node = 4;
    node.scaleup = SCALEUP_SWITCH;
    node.scaleup_Bps = 100 * GB;
    node.scaleup_latency_s = 1 * US;
    struct inputs *in = alone(&node, NULL, 4, coll_op(0, COLL_BROADCAST, 64e6, "ring"), &scratch);
    in->library.rendezvous = false;
    in->library.n_channels = 32;
    in->library.chunk_B = 4e3;
    struct three times = run_three(in, scratch);
    assert_close(times.message_s, times.fluid_s, 0.02);
}

/* ---- long ways ---- */

/* Servers of four GPUs in a pipeline over ways of `latency_s`, with 4 MB under way on each of 2 channels:
 * 8 MB in a round trip, far below the cards' rate on long ways. */
static struct inputs *far_apart(const struct coll_algo *algo, double latency_s, struct arena *perm)
{
    struct node_spec node = ideal_server(4, 1);
    node.nic_latency_s = latency_s;
    struct op op = coll_op(0, algo->kind, 64e6, algo->name);
    struct inputs *in = alone(&node, &one_switch, 16, op, perm);
    in->library.rendezvous = false;
    in->library.n_channels = 2;
    in->library.chunk_B = 64e3;
    for (int c = 0; c < in->library.n_choices; c++) in->library.choices[c].net.window_B = 4e6;
    return in;
}

/* Messages and lock step wait for the same credits, so they differ by no more than a hop's time on each hop:
 * 2 times 3 hops inside and 2 between at most. */
static void credits_of_long_ways_count_in_all_fidelities(void **state)
{
    const struct coll_algo *pipelined[] = {
        coll_find(COLL_ALLREDUCE, "tree"), coll_find(COLL_BROADCAST, "ring"),
        coll_find(COLL_REDUCE, "ring"), coll_find(COLL_ALLREDUCE, "collnet-chain"),
        coll_find(COLL_ALLREDUCE, "collnet-direct")};
    for (int a = 0; a < 5; a++) {
        for (double latency_s = 10 * US; latency_s < 0.1; latency_s *= 10) {
            struct arena scratch = **(struct arena **)state;
            struct inputs *in = far_apart(pipelined[a], latency_s, &scratch);
            struct three times = run_three(in, scratch);
            const struct plan_coll *coll = &plan_build(in, &scratch)->colls[0];
            double hop_s = coll->hops.inter.alpha_s + 64e3 * coll->hops.inter.beta_s_per_B;
            double window_Bps = 8e6 / (2 * coll->hops.inter.alpha_s);
            if (latency_s > 0.5e-3)
                assert_close(1 / coll->hops.inter.beta_s_per_B, window_Bps, 1e-9);
            bool close = fabs(times.message_s - times.fluid_s) <= 8 * hop_s;
            if (!close)
                print_error("%s, %g s: fluid %.9g, message %.9g s\n", pipelined[a]->name, latency_s,
                            times.fluid_s, times.message_s);
            assert_true(close);
            assert_close(times.estimate_s, times.fluid_s, 1e-9);
        }
    }
}

/* 4 x 4 x 4 servers of one GPU and six cards of 50 GB/s, cables of 500 ns, one more to and from the card:
 * six parts of S, two along each axis at any time, one each way round. T = 18 (3 cables) and
 * 2 63/64 S over 300 GB/s: all the server's cards without a pause. */
static void rings_along_the_axes_of_a_torus_keep_all_cables_busy(void **state)
{
    struct arena scratch = **(struct arena **)state;
    struct node_spec node = golden_node;
    node.nics_per_node = 6;
    node.pcie_Bps = 1000 * GB;
    const struct fabric_spec torus = {.kind = "torus",
                                      .n_dimensions = 3,
                                      .side = {4, 4, 4},
                                      .oversubscription = 1,
                                      .core_oversubscription = 1,
                                      .link_latency_s = 0.5 * US};
    struct inputs *in =
        alone(&node, &torus, 64, coll_op(0, COLL_ALLREDUCE, 64e6, "torus"), &scratch);
    struct three times = run_three(in, scratch);
    double want_s = 18 * 3 * 0.5 * US + 2 * 63e6 / (300 * GB);
    assert_close(times.message_s, want_s, 1e-9);
    assert_close(times.fluid_s, want_s, 1e-9);
    assert_close(times.estimate_s, want_s, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synchronous_plans_take_the_same_in_all_fidelities),
        cmocka_unit_test(channels_limit_in_all_fidelities_alike),
        cmocka_unit_test(connections_limit_in_all_fidelities_alike),
        cmocka_unit_test(estimate_is_the_closed_form_on_a_full_fabric),
        cmocka_unit_test(nothing_is_faster_than_the_cuts_allow),
        cmocka_unit_test(pipelined_plans_differ_by_less_than_a_chunk_per_hop),
        cmocka_unit_test(the_difference_goes_with_the_chunk),
        cmocka_unit_test(faster_links_never_slow_and_without_latency_divide_the_time),
        cmocka_unit_test(places_on_a_switch_are_alike),
        cmocka_unit_test(switches_of_a_symmetric_fabric_are_alike),
        cmocka_unit_test(a_ring_in_bad_order_feels_the_oversubscription),
        cmocka_unit_test(a_slow_cable_holds_back_the_part_that_goes_by_it),
        cmocka_unit_test(runs_repeat_bit_for_bit),
        cmocka_unit_test(rings_take_what_simgrid_gives),
        cmocka_unit_test(a_lane_has_the_slots_of_the_channels_that_it_stands_for),
        cmocka_unit_test(credits_of_long_ways_count_in_all_fidelities),
        cmocka_unit_test(rings_along_the_axes_of_a_torus_keep_all_cables_busy),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
