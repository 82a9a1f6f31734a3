#include "cluster.h"

#include "engine.h"
#include "estimate.h"
#include "fold.h"
#include "interval.h"
#include "net/fabric.h"
#include "net/routing.h"
#include "net/shapes.h"
#include "workload/merge.h"

#include <string.h>

/* ---- the proof job: 64 ranks, TP 2 x PP 2 x DP 16 ---- */

enum { TP, FORTH, BACK, DP, N_COMMS };

static void add_after(struct program *program, struct op op, int on, struct arena *perm)
{
    int at = program_add_op(program, op, perm);
    if (on >= 0) program_add_dep(program, at, on, 0, perm);
}

static struct op kernel(double work_s)
{
    return (struct op){.kind = OP_KERNEL, .part = PART_FORWARD, .name = "kernel", .work_s = work_s};
}

/* forward, all-reduce inside the pair, activations on; gradients back, backward, all-reduce; then the
 * gradients of the stage over all replicas in two buckets, the first under the backward pass; the last
 * by a tree, in which places differ, or by a ring, in which they do not */
static struct job *proof_job(const char *last_bucket, struct arena *perm)
{
    struct job *job = new_job((struct mesh){3, {2, 2, 16}, {"tp", "pp", "dp"}}, N_COMMS, perm);
    job->role_axis = 1;
    job->n_programs = 2;
    job->comms[TP] = (struct comm){.name = "tp", .from = -1, .to = -1};
    job->comms[FORTH] =
        (struct comm){.name = "forth", .first_axis = 1, .last_axis = 1, .from = 0, .to = 1};
    job->comms[BACK] =
        (struct comm){.name = "back", .first_axis = 1, .last_axis = 1, .from = 1, .to = 0};
    job->comms[DP] =
        (struct comm){.name = "dp", .first_axis = 2, .last_axis = 2, .from = -1, .to = -1};
    struct op exchange = coll_op(TP, COLL_ALLREDUCE, 3e6, "ring");
    struct op forth = coll_op(FORTH, COLL_SENDRECV, 5e6, NULL);
    struct op back = coll_op(BACK, COLL_SENDRECV, 5e6, NULL);
    for (int p = 0; p < 2; p++) {
        struct program *program = &job->programs[p];
        int first = p == 1; /* stage 1 begins with what stage 0 sends */
        if (p == 1) add_after(program, forth, -1, perm);
        add_after(program, kernel(1e-3 * (p + 1)), p == 1 ? 0 : -1, perm);
        add_after(program, exchange, first, perm);
        if (p == 0) add_after(program, forth, 1, perm);
        if (p == 0) add_after(program, back, 2, perm);
        int head = program->n_ops - 1;
        add_after(program, kernel(2e-3 * (p + 1)), head, perm);
        add_after(program, coll_op(DP, COLL_ALLREDUCE, 40e6, "ring"), head, perm);
        add_after(program, exchange, head + 1, perm);
        if (p == 1) add_after(program, back, head + 3, perm);
        add_after(program, coll_op(DP, COLL_ALLREDUCE, 16e6, last_bucket), head + 3, perm);
    }
    job_check(job, *perm);
    return job;
}

/* four GPUs and two NICs per server */
static const struct node_spec quad_node = {.gpus_per_node = 4,
                                           .nics_per_node = 2,
                                           .sockets = 2,
                                           .gpus_per_pcie_switch = 2,
                                           .scaleup = SCALEUP_SWITCH,
                                           .scaleup_Bps = 150 * GB,
                                           .scaleup_latency_s = 0.5 * US,
                                           .pcie_Bps = 25 * GB,
                                           .pcie_latency_s = 0.3 * US,
                                           .socket_Bps = 20 * GB,
                                           .nic_Bps = 12.5 * GB,
                                           .nic_latency_s = 1 * US,
                                           .gpudirect = true,
                                           .p2p = true};

static const struct fabric_spec tree_ecmp = {.kind = "fat-tree",
                                             .levels = 2,
                                             .ports_per_leaf = 8,
                                             .oversubscription = 2,
                                             .core_oversubscription = 1,
                                             .link_latency_s = 0.7 * US,
                                             .routing = "ecmp",
                                             .wiring = "packed",
                                             .seed = 7};

/* groups of 4 routers of 3 ports: 64 ports fill five groups and a third of the sixth, 32 ports two
 * groups and two thirds of the third */
static const struct fabric_spec ragged_dragonfly = {.kind = "dragonfly",
                                                    .ports_per_router = 3,
                                                    .routers_per_group = 4,
                                                    .global_per_router = 2,
                                                    .link_latency_s = 0.5 * US,
                                                    .global_latency_s = 1.5 * US,
                                                    .routing = "minimal",
                                                    .wiring = "packed",
                                                    .oversubscription = 1};

/* an even ring, so that opposite places go both ways round, and sides that the ports do not fill */
static const struct fabric_spec ragged_torus = {.kind = "torus",
                                                .ports_per_router = 3,
                                                .n_dimensions = 2,
                                                .side = {4, 6},
                                                .link_latency_s = 0.5 * US,
                                                .routing = "static",
                                                .wiring = "packed",
                                                .oversubscription = 1};

struct proof {
    const char *name;
    const struct node_spec *node;
    const struct fabric_spec *fabric;
    bool slow_link, slow_gpu, shuffled, memory, rings;
    bool eager; /* steps hide latencies of each other */
};

static const struct proof proofs[] = {
    {.name = "switch, rings", .node = &single_node, .fabric = &one_switch, .rings = true},
    {.name = "switch", .node = &single_node, .fabric = &one_switch},
    {.name = "fat-tree", .node = &single_node, .fabric = &tree_two_to_one},
    {.name = "fat-tree, slow link",
     .node = &single_node,
     .fabric = &tree_two_to_one,
     .slow_link = true},
    {.name = "dragonfly", .node = &single_node, .fabric = &ragged_dragonfly},
    {.name = "dragonfly, slow link",
     .node = &single_node,
     .fabric = &ragged_dragonfly,
     .slow_link = true},
    {.name = "torus, slow link", .node = &single_node, .fabric = &ragged_torus, .slow_link = true},
    {.name = "quads, torus", .node = &quad_node, .fabric = &ragged_torus},
    {.name = "quads, fat-tree", .node = &quad_node, .fabric = &tree_two_to_one},
    {.name = "quads, slow link", .node = &quad_node, .fabric = &tree_two_to_one, .slow_link = true},
    {.name = "quads, dragonfly, slow link",
     .node = &quad_node,
     .fabric = &ragged_dragonfly,
     .slow_link = true},
    {.name = "quads, slow gpu", .node = &quad_node, .fabric = &tree_two_to_one, .slow_gpu = true},
    {.name = "quads, memory", .node = &quad_node, .fabric = &tree_two_to_one, .memory = true},
    {.name = "hashed", .node = &quad_node, .fabric = &tree_ecmp, .slow_link = true},
    {.name = "quads, eager", .node = &quad_node, .fabric = &tree_two_to_one, .eager = true},
    {.name = "quads, dragonfly, eager",
     .node = &quad_node,
     .fabric = &ragged_dragonfly,
     .eager = true},
    {.name = "shuffled", .node = &quad_node, .fabric = &tree_ecmp, .shuffled = true},
};
enum { N_PROOFS = sizeof proofs / sizeof proofs[0] };

/* Half the rate on the link in the middle of the way from the first GPU to the last. */
static void slow_middle_link(struct topo *topo)
{
    int links[ROUTE_MAX];
    int n = topo_route(topo, (struct endpoint){VERTEX_GPU, 0},
                       (struct endpoint){VERTEX_GPU, topo->n_gpus - 1}, -1, 0, links);
    topo->links[links[n / 2]].capacity_Bps *= 0.5;
}

/* 37 has no factor in common with 64, so this is a permutation. */
static int *shuffled_places(int n, struct arena *perm)
{
    int *gpu_of = arena_new(perm, int, n);
    for (int r = 0; r < n; r++) gpu_of[r] = (37 * r + 11) % n;
    return gpu_of;
}

static struct inputs *proof_inputs(const struct proof *proof, struct arena *perm)
{
    static const struct slow_gpu slow = {13, 1.25};
    struct topo *topo = build_topo(proof->node, proof->fabric, 64, perm);
    if (proof->slow_link) slow_middle_link(topo);
    struct inputs *in = build_inputs(topo, proof_job(proof->rings ? "ring" : "tree", perm), perm);
    if (proof->slow_gpu) {
        in->slow = &slow;
        in->n_slow = 1;
    }
    if (proof->shuffled) in->gpu_of = shuffled_places(64, perm);
    if (proof->memory) {
        in->hbm_per_comm_B = 2;
        in->gpu.hbm_Bps = 30 * GB; /* so little that it holds the flows back */
        in->gpu.hbm_frac = 0.9;
    }
    in->library.rendezvous = !proof->eager;
    return in;
}

/* ---- the partition is equitable: counted from the flows, without the solver or the refinement ---- */

/* Equal values (row[i], n_columns wide) wherever classes are equal. */
static void assert_equal_in_classes(const int32_t *class_of, int n, const double *rows,
                                    int n_columns, const char *what)
{
    for (int i = 0; i < n; i++) {
        if (class_of[i] < 0) continue;
        int j = 0;
        while (class_of[j] != class_of[i]) j++;
        for (int c = 0; c < n_columns; c++) {
            double a = rows[(int64_t)i * n_columns + c];
            double b = rows[(int64_t)j * n_columns + c];
            if (fabs(a - b) > 1e-12 * fabs(b)) print_error("%s %d and %d\n", what, i, j);
            assert_close(a, b, 1e-12);
        }
    }
}

static void check_bundle(const struct layout *layout, const struct fold *fold,
                         const struct laid *laid, int b, struct arena scratch)
{
    int n_links = layout->in->topo->n_links;
    const struct pattern *pattern = laid->pattern;
    double *on_link = arena_new(&scratch, double, (int64_t)n_links * fold->n_group_classes);
    double *of_group =
        arena_new(&scratch, double, (int64_t)layout->n_groups * fold->n_link_classes);
    for (int turn = 0; turn < pattern->n_groups; turn++) {
        int group = laid->groups[turn];
        int64_t cell = (int64_t)turn * pattern->n_bundles + b;
        for (int64_t t = pattern->first[cell]; t < pattern->first[cell + 1]; t++) {
            int link = pattern->tallies[t].thing;
            if (link >= n_links) continue;
            double n = pattern->tallies[t].n_flows;
            on_link[(int64_t)link * fold->n_group_classes + fold->group_class[group]] += n;
            of_group[(int64_t)group * fold->n_link_classes + fold->link_class[link]] += n;
        }
    }
    assert_equal_in_classes(fold->link_class, n_links, on_link, fold->n_group_classes, "links");
    assert_equal_in_classes(fold->group_class, layout->n_groups, of_group, fold->n_link_classes,
                            "groups");
}

static void check_members(const struct layout *layout, const struct fold *fold,
                          struct arena scratch)
{
    const struct job *job = layout->in->job;
    double *group_of = arena_new(&scratch, double, job->n_ranks * job->n_comms);
    double *members = arena_new(&scratch, double, layout->n_groups * fold->n_rank_classes);
    for (int r = 0; r < job->n_ranks; r++) {
        for (int c = 0; c < job->n_comms; c++) {
            int g = layout->first_group[c] + job_group(job, c, r);
            group_of[r * job->n_comms + c] = fold->group_class[g];
            members[g * fold->n_rank_classes + fold->rank_class[r]]++;
        }
    }
    assert_equal_in_classes(fold->rank_class, job->n_ranks, group_of, job->n_comms, "ranks");
    assert_equal_in_classes(fold->group_class, layout->n_groups, members, fold->n_rank_classes,
                            "groups");
}

static void check_seeds(const struct layout *layout, const struct fold *fold, struct arena scratch)
{
    const struct inputs *in = layout->in;
    double *link = arena_new(&scratch, double, 2 * in->topo->n_links);
    double *rank = arena_new(&scratch, double, 2 * in->job->n_ranks);
    for (int l = 0; l < in->topo->n_links; l++) {
        link[2 * l] = in->topo->links[l].capacity_Bps;
        link[2 * l + 1] = in->topo->links[l].tier;
    }
    for (int r = 0; r < in->job->n_ranks; r++) {
        rank[2 * r] = fold_slowdown(in, r);
        rank[2 * r + 1] = job_role(in->job, r);
    }
    assert_equal_in_classes(fold->link_class, in->topo->n_links, link, 2, "links");
    assert_equal_in_classes(fold->rank_class, in->job->n_ranks, rank, 2, "ranks");
}

static void classes_are_an_equitable_partition(void **state)
{
    for (int i = 0; i < N_PROOFS; i++) {
        struct arena perm = *(struct arena *)*state;
        struct inputs *in = proof_inputs(&proofs[i], &perm);
        const struct layout *layout = layout_build(in, &perm);
        const struct fold *fold = fold_layout(layout, true, &perm);
        print_message("%-28s %2d classes of ranks, %3d of groups, %3d of links\n", proofs[i].name,
                      fold->n_rank_classes, fold->n_group_classes, fold->n_link_classes);
        check_seeds(layout, fold, perm);
        check_members(layout, fold, perm);
        for (int l = 0; l < layout->n_laid; l++) {
            for (int b = 0; b < layout->laid[l].pattern->n_bundles; b++) {
                check_bundle(layout, fold, &layout->laid[l], b, perm);
            }
        }
    }
}

/* Rings on one switch: all replicas are alike, and both halves of a pair; stages differ. */
static void on_a_switch_only_stages_differ(void **state)
{
    struct inputs *in = proof_inputs(&proofs[0], *state);
    struct plan *plan = plan_build(in, *state);
    assert_int_equal(plan->n_classes, 2);
    assert_int_equal(plan->n_groups,
                     2 + 1 + 1 + 2); /* pairs by stage, forth, back, replicas by stage */
}

/* Rings on one switch, the NIC of rank 0 slow. Rank 0 is odd, then those it meets: its pair partner 1,
 * rank 2 on the next stage (3 is odd through 1), and the other 15 of its group of replicas; the
 * 15 of the group of 1, of 2 and of 3 are told apart by their stage and by whom they are paired with. */
static void one_slow_nic_is_told_apart_by_distance(void **state)
{
    struct inputs *in = proof_inputs(&proofs[0], *state);
    set_link(in->topo, "node 0 nic 0 -> switch", 0.5);
    struct plan *plan = plan_build(in, *state);
    assert_int_equal(plan->n_classes, 8);
    const int sizes[8] = {1, 1, 1, 1, 15, 15, 15, 15}; /* classes by first rank: 0 .. 7 */
    for (int c = 0; c < 8; c++) assert_int_equal(plan->classes[c].n_ranks, sizes[c]);
}

/* ---- folded = unfolded ---- */

/* end_s of each op of each iteration of a class, [class][op * n_iterations + iteration] */
static double *ends_of(const struct plan *plan, const struct run *run, int n_ops,
                       struct arena *perm)
{
    int n_iterations = plan->in->job->n_iterations;
    double *ends = arena_new(perm, double, (int64_t)plan->n_classes *n_ops *n_iterations);
    for (int64_t s = 0; s < run->n_spans; s++) {
        const struct span *span = &run->spans[s];
        ends[((int64_t)span->rank_class * n_ops + span->op) * n_iterations + span->iteration] =
            span->end_s;
    }
    return ends;
}

static void assert_same_ends(struct inputs *in, struct arena perm)
{
    int n_ops = in->job->programs[0].n_ops;
    assert_int_equal(in->job->programs[1].n_ops, n_ops);
    in->fold = true;
    struct plan *folded = plan_build(in, &perm);
    struct run *run = engine_run(folded, &scale_none, &perm);
    assert_null(run->stuck);
    in->fold = false;
    struct plan *flat = plan_build(in, &perm);
    struct run *flat_run = engine_run(flat, &scale_none, &perm);
    assert_null(flat_run->stuck);
    in->fold = true;
    assert_int_equal(flat->n_classes, 64);
    assert_close(run->iteration_s, flat_run->iteration_s, 1e-9);
    const struct fold *fold = fold_layout(layout_build(in, &perm), true, &perm);
    double *ends = ends_of(folded, run, n_ops, &perm);
    double *flat_ends = ends_of(flat, flat_run, n_ops, &perm);
    int n = n_ops * in->job->n_iterations;
    for (int c = 0; c < 64; c++) {
        int rank = flat->classes[c].rep;
        for (int i = 0; i < n; i++) {
            assert_true(flat_ends[(int64_t)c * n + i] > 0);
            assert_close(ends[(int64_t)fold->rank_class[rank] * n + i],
                         flat_ends[(int64_t)c * n + i], 1e-9);
        }
    }
}

/* Every op of every rank, in all iterations. */
static void folded_runs_equal_unfolded_ones(void **state)
{
    for (int i = 0; i < N_PROOFS; i++) {
        struct arena perm = *(struct arena *)*state;
        print_message("%s\n", proofs[i].name);
        assert_same_ends(proof_inputs(&proofs[i], &perm), perm);
    }
}

/* what is said of a run without playing its flows */
struct said {
    double estimate_s, quicker_s; /* as it is, and with links between servers twice as fast */
    struct interval interval;     /* of the fluid run */
};

static struct said say(struct inputs *in, bool fold, struct arena perm)
{
    struct scale fast = scale_none;
    fast.tier[TIER_NIC] = fast.tier[TIER_FABRIC] = fast.tier[TIER_GLOBAL] = 2;
    in->fold = fold;
    in->fidelity = FIDELITY_FLUID;
    const struct plan *plan = plan_build(in, &perm);
    struct said said = {.interval =
                            interval_step(plan, engine_run(plan, &scale_none, &perm), perm)};
    in->fidelity = FIDELITY_ESTIMATE;
    plan = plan_build(in, &perm);
    said.estimate_s = estimate_run(plan, &perm)->end_s;
    said.quicker_s = estimate_period(plan, &fast, perm).end_s;
    return said;
}

/* Sixteen groups that do the same at one time hold each other up in an estimate, played one by one or
 * not; and many small groups weigh in an interval as many, not as their one class. */
static void folded_estimates_and_intervals_equal_unfolded_ones(void **state)
{
    for (int i = 0; i < N_PROOFS; i++) {
        struct arena perm = *(struct arena *)*state;
        struct inputs *in = proof_inputs(&proofs[i], &perm);
        in->spread_compute = (struct sides){0.05, 0.08};
        for (int size = 0; size < LIB_N_SIZES; size++) {
            in->library.spread[LIB_INSIDE][size] = (struct sides){0.1 * (size + 1), 0.2};
            in->library.spread[LIB_BETWEEN][size] = (struct sides){0.3, 0.6 / (size + 1)};
        }
        struct said folded = say(in, true, perm), flat = say(in, false, perm);
        assert_close(folded.estimate_s, flat.estimate_s, 1e-9);
        assert_close(folded.quicker_s, flat.quicker_s, 1e-9);
        assert_true(proofs[i].memory || folded.quicker_s < folded.estimate_s);
        assert_close(folded.interval.low_s, flat.interval.low_s, 1e-8);
        assert_close(folded.interval.high_s, flat.interval.high_s, 1e-8);
    }
}

/* A slow link must show: half the rate on a link that a ring of all replicas crosses. */
static void the_slow_link_slows_the_run(void **state)
{
    double iteration_s[2];
    for (int i = 0; i < 2; i++) {
        struct arena perm = *(struct arena *)*state;
        struct plan *plan = plan_build(proof_inputs(&proofs[2 + i], &perm), &perm);
        iteration_s[i] = engine_run(plan, &scale_none, &perm)->iteration_s;
    }
    assert_true(iteration_s[1] > 1.01 * iteration_s[0]);
}

/* ---- every algorithm on every kind of network ---- */

static const struct fabric_spec ragged_hyperx = {.kind = "hyperx",
                                                 .ports_per_router = 3,
                                                 .n_dimensions = 2,
                                                 .side = {3, 3},
                                                 .link_latency_s = 0.5 * US,
                                                 .routing = "static",
                                                 .wiring = "packed",
                                                 .oversubscription = 1};
static const struct fabric_spec *const kinds[] = {
    &one_switch, &tree_two_to_one, &tree_ecmp, &ragged_dragonfly, &ragged_torus, &ragged_hyperx};

/* Kinds made of parts, groups under spines, and a ring of switches from a file: numbers that ports do not
 * fill. Those with cards in several planes take servers of two cards. */
static const struct {
    const char *kind, *part;
    bool quads;
    int ports_per_leaf, planes, sites, gateways, p, a, h, qps;
} shapes[] = {
    {.kind = "dragonfly-plus", .p = 2, .a = 2, .h = 2},
    {.kind = "cascade", .p = 1, .a = 6},
    {.kind = "rail-only", .quads = true, .ports_per_leaf = 4},
    {.kind = "multi-plane", .quads = true, .ports_per_leaf = 2, .planes = 2},
    {.kind = "multi-plane", .part = "dragonfly", .quads = true, .p = 1, .a = 2, .h = 1},
    {.kind = "multi-site", .ports_per_leaf = 3, .sites = 2, .gateways = 2},
    {.kind = "multi-site", .part = "torus", .p = 2, .sites = 3, .gateways = 1},
    {.kind = "dragonfly", .p = 2, .a = 3, .h = 1, .qps = 3},
    {.kind = "fat-tree", .ports_per_leaf = 3, .qps = 2},
    {.kind = "graph"},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static struct fabric_spec shape_spec(int s, const char *routing, int n_ports, struct arena *perm)
{
    struct fabric_spec spec = {.kind = shapes[s].kind,
                               .part = shapes[s].part ? shapes[s].part : "fat-tree",
                               .ports_per_leaf = shapes[s].ports_per_leaf,
                               .planes = shapes[s].planes,
                               .sites = shapes[s].sites,
                               .gateways = shapes[s].gateways,
                               .ports_per_router = shapes[s].p,
                               .routers_per_group = shapes[s].a,
                               .global_per_router = shapes[s].h,
                               .qps = shapes[s].qps,
                               .oversubscription = 1,
                               .core_oversubscription = 1,
                               .link_latency_s = 0.5 * US,
                               .global_latency_s = 1.5 * US,
                               .routing = routing,
                               .wiring = "packed",
                               .seed = 3};
    if (strcmp(spec.kind, "graph") == 0) spec.graph = ring_graph(5, n_ports, perm);
    return spec;
}

/* Two groups of n / 2 ranks side by side, so that there is something to fold, for one collective. */
static void assert_folds(struct topo *topo, const struct coll_algo *algo, bool slow,
                         struct arena perm)
{
    int n = topo->n_gpus;
    if (slow) slow_middle_link(topo);
    struct job *job = new_job((struct mesh){2, {2, n / 2}, {"side", "dp"}}, 1, &perm);
    job->comms[0] =
        (struct comm){.name = "dp", .first_axis = 1, .last_axis = 1, .from = -1, .to = -1};
    program_add_op(&job->programs[0], coll_op(0, algo->kind, 3e6, algo->name), &perm);
    job->n_iterations = 2;
    struct inputs *in = build_inputs(topo, job, &perm);
    double end_s[2];
    for (int fold = 0; fold < 2; fold++) {
        in->fold = fold;
        end_s[fold] = engine_run(plan_build(in, &perm), &scale_none, &perm)->end_s;
    }
    if (fabs(end_s[1] / end_s[0] - 1.0) > 1e-9)
        print_error("%s %s, %s %s, %d ranks%s\n", topo->fabric_spec.kind, topo->fabric_spec.routing,
                    coll_kind_names[algo->kind], algo->name, n, slow ? ", slow link" : "");
    assert_close(end_s[1], end_s[0], 1e-9);
}

static void every_algorithm_folds_on_every_fabric(void **state)
{
    static const int sizes[] = {6, 14, 24};
    for (size_t f = 0; f < sizeof kinds / sizeof kinds[0]; f++) {
        for (int a = 0; a < n_coll_algos; a++) {
            if (coll_algos[a].servers || coll_algos[a].kind == COLL_SENDRECV) continue;
            for (int i = 0; i < 6; i++) {
                struct arena perm = **(struct arena **)state;
                struct topo *topo = build_topo(&single_node, kinds[f], sizes[i / 2], &perm);
                assert_folds(topo, &coll_algos[a], i % 2, perm);
            }
        }
    }
}

/* Graphs and fabrics of parts have no detours; the others take every routing. */
static void every_algorithm_folds_under_every_routing(void **state)
{
    for (int i = 0; i < N_SHAPES * n_routings * n_coll_algos; i++) {
        int s = i % N_SHAPES, r = i / N_SHAPES % n_routings, a = i / N_SHAPES / n_routings;
        if (coll_algos[a].servers || coll_algos[a].kind == COLL_SENDRECV) continue;
        if (routings[r].detours && !fabric_find(shapes[s].kind)->group) continue;
        struct arena perm = **(struct arena **)state;
        const struct node_spec *node = shapes[s].quads ? &quad_node : &single_node;
        int n = shapes[s].quads ? 20 : 14, n_nics = n / node->gpus_per_node * node->nics_per_node;
        struct fabric_spec spec = shape_spec(s, routings[r].name, n_nics, &perm);
        assert_folds(build_topo(node, &spec, n, &perm), &coll_algos[a], i % 3 == 0, perm);
    }
}

/* ---- merged ---- */

static double iteration_of(struct inputs *in, int class_limit, struct arena perm)
{
    in->class_limit = class_limit;
    const struct run *run = engine_run(plan_build(in, &perm), &scale_none, &perm);
    assert_null(run->stuck);
    return run->iteration_s;
}

/* Where all links of a tier carry the same, the network splits nothing and merging changes nothing. */
static void merging_is_exact_where_links_are_alike(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct inputs *in = proof_inputs(&proofs[0], &perm);
    const struct plan *merged;
    in->class_limit = 1;
    merged = plan_build(in, &perm);
    assert_int_equal(merged->n_classes, 2);
    assert_close(iteration_of(in, 1, perm), iteration_of(in, 0, perm), 1e-9);
}

/* Classes are then those of the programs, whatever the network: two stages. Slowest groups stand for
 * all, and sums over bundles that do not meet on every link are kept link by link: the step takes
 * about as long as the exact one, which here waits for the slowest as well. */
static void merged_runs_are_near_exact_ones(void **state)
{
    for (int i = 0; i < N_PROOFS; i++) {
        if (proofs[i].slow_gpu) continue; /* splits classes by itself */
        struct arena perm = *(struct arena *)*state;
        struct inputs *in = proof_inputs(&proofs[i], &perm);
        double exact_s = iteration_of(in, 0, perm);
        double merged_s = iteration_of(in, 1, perm);
        print_message("%-28s exact %.6f ms, merged %+.2f %%\n", proofs[i].name, 1e3 * exact_s,
                      100.0 * (merged_s / exact_s - 1.0));
        const struct plan *plan = plan_build(in, &perm);
        assert_int_equal(plan->n_classes, 2);
        assert_close(merged_s, exact_s, 0.1);
    }
}

/* Sixteen pairs of stages, all rings of replicas at once, on hashed ways: equal flows that start
 * together fill the busiest link first, and its rate, capacity / flows, is that of the slowest. */
static void merged_rings_end_with_the_slowest(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct topo *topo = build_topo(&quad_node, &tree_ecmp, 64, &perm);
    struct job *job = new_job((struct mesh){2, {8, 8}, {"tp", "dp"}}, 1, &perm);
    job->comms[0] =
        (struct comm){.name = "dp", .first_axis = 1, .last_axis = 1, .from = -1, .to = -1};
    program_add_op(&job->programs[0], coll_op(0, COLL_ALLREDUCE, 40e6, "ring"), &perm);
    job->n_iterations = 1;
    struct inputs *in = build_inputs(topo, job, &perm);
    double end_s[2];
    for (int limit = 0; limit < 2; limit++) {
        in->class_limit = limit;
        const struct plan *plan = plan_build(in, &perm);
        end_s[limit] = engine_run(plan, &scale_none, &perm)->end_s;
        if (limit == 0) assert_true(plan->n_groups > 1);
        if (limit == 1) assert_int_equal(plan->n_groups, 1);
        if (limit == 1) assert_non_null(strstr(plan->warnings[0], "little symmetry"));
    }
    assert_close(end_s[1], end_s[0], 1e-9);
}

/* Half of the variance is drawn anew in each of 4 micro-batches: sqrt(1/2 + 1/8) of the jitter of one. */
static void many_micro_batches_jitter_less_than_one(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct job *job = new_job((struct mesh){1, {8}, {"dp"}}, 1, &perm);
    struct inputs *in = build_inputs(build_topo(&quad_node, &tree_ecmp, 8, &perm), job, &perm);
    in->jitter = 0.02;
    in->train.grad_accumulation = 1;
    double one = fold_lag(in) - 1.0;
    in->train.grad_accumulation = 4;
    assert_true(one > 0.02); /* of 8 ranks the slowest is 1.43 deviations behind */
    assert_close((fold_lag(in) - 1.0) / one, sqrt(0.625), 1e-9);
}

/* Side by side as alone: each has its own micro-batches. */
static void jobs_jitter_by_their_own_micro_batches(void **state)
{
    struct arena perm = *(struct arena *)*state;
    struct topo *topo = build_topo(&quad_node, &tree_ecmp, 16, &perm);
    struct inputs *in[3]; /* two jobs, and both together */
    for (int i = 0; i < 3; i++) {
        struct job *job = new_job((struct mesh){1, {8}, {"dp"}}, 1, &perm);
        in[i] = build_inputs(topo, job, &perm);
        in[i]->jitter = 0.02;
        in[i]->train.grad_accumulation = i == 1 ? 16 : 1;
    }
    const struct job *parts[] = {in[0]->job, in[1]->job};
    const struct inputs *jobs[] = {in[0], in[1]};
    in[2]->job = job_merge(parts, 2, (int[]){4, 4}, &perm);
    in[2]->jobs = jobs;
    in[2]->n_jobs = 2;
    in[2]->gpu_of = shuffled_places(16, &perm);
    assert_true(fold_slowdown(in[0], 0) > fold_slowdown(in[1], 0) + 1e-3);
    for (int r = 0; r < 16; r++)
        assert_close(fold_slowdown(in[2], r), fold_slowdown(in[r / 8], r % 8), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_an_equitable_partition),
        cmocka_unit_test(on_a_switch_only_stages_differ),
        cmocka_unit_test(one_slow_nic_is_told_apart_by_distance),
        cmocka_unit_test(folded_runs_equal_unfolded_ones),
        cmocka_unit_test(folded_estimates_and_intervals_equal_unfolded_ones),
        cmocka_unit_test(the_slow_link_slows_the_run),
        cmocka_unit_test(every_algorithm_folds_on_every_fabric),
        cmocka_unit_test(every_algorithm_folds_under_every_routing),
        cmocka_unit_test(merging_is_exact_where_links_are_alike),
        cmocka_unit_test(merged_runs_are_near_exact_ones),
        cmocka_unit_test(merged_rings_end_with_the_slowest),
        cmocka_unit_test(many_micro_batches_jitter_less_than_one),
        cmocka_unit_test(jobs_jitter_by_their_own_micro_batches),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
