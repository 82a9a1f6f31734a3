/* How long folding and placing take for 16,384 ranks, one core. Times are shown, not checked. */
#include "../sim/cluster.h"
#include "bench.h"

static const struct fabric_spec big_tree = {.kind = "fat-tree",
                                            .levels = 3,
                                            .radix = 64,
                                            .oversubscription = 1,
                                            .core_oversubscription = 1,
                                            .routing = "static",
                                            .wiring = "packed"};
static const struct fabric_spec big_hashed_tree = {.kind = "fat-tree",
                                                   .levels = 3,
                                                   .radix = 64,
                                                   .oversubscription = 1,
                                                   .core_oversubscription = 1,
                                                   .routing = "ecmp",
                                                   .wiring = "packed"};
static const struct fabric_spec big_sprayed_tree = {.kind = "fat-tree",
                                                    .levels = 3,
                                                    .radix = 64,
                                                    .oversubscription = 1,
                                                    .core_oversubscription = 1,
                                                    .routing = "spray",
                                                    .wiring = "packed"};
static const struct fabric_spec big_dragonfly = {
    .kind = "dragonfly", .routing = "minimal", .wiring = "packed", .oversubscription = 1};

static void time_plan(const char *what, const struct inputs *in, struct arena scratch)
{
    double best_s = HUGE_VAL;
    const struct plan *plan = NULL;
    for (int turn = 0; turn < 3; turn++) {
        struct arena again = scratch;
        double begin_s = clock_s();
        plan = plan_build(in, &again);
        best_s = fmin(best_s, clock_s() - begin_s);
    }
    char more[96];
    snprintf(more, sizeof more, "%d classes of ranks, %d of groups, %d of links", plan->n_classes,
             plan->n_groups, plan->n_link_classes);
    report(what, best_s, more);
}

/* The network as well: built, all ways of an all-reduce laid, folded. */
static void from_nothing(const char *what, const struct fabric_spec *fabric, int n,
                         struct arena scratch)
{
    double begin_s = clock_s();
    struct topo *topo = build_topo(&octo_node, fabric, n, &scratch);
    double built_s = clock_s();
    struct job *job = lone_job(n, coll_op(0, COLL_ALLREDUCE, 1e9, "ring"), &scratch);
    const struct plan *plan = plan_build(build_inputs(topo, job, &scratch), &scratch);
    double end_s = clock_s();
    char more[96];
    snprintf(more, sizeof more, "build %.3f s, plan %.3f s; %d + %d classes, %d links",
             built_s - begin_s, end_s - built_s, plan->n_classes, plan->n_groups, topo->n_links);
    report(what, end_s - begin_s, more);
}

static void lone(const char *what, const struct fabric_spec *fabric, const char *algorithm,
                 struct arena scratch)
{
    struct topo *topo = build_topo(&octo_node, fabric, 16384, &scratch);
    struct job *job = lone_job(16384, coll_op(0, COLL_ALLREDUCE, 1e9, algorithm), &scratch);
    time_plan(what, build_inputs(topo, job, &scratch), scratch);
}

/* TP 8 inside the nodes, PP 16, DP 128; the stages' programs differ in name only. */
static void hybrid(const char *what, const struct fabric_spec *fabric, struct arena scratch)
{
    struct job *job = new_job((struct mesh){3, {8, 16, 128}, {"tp", "pp", "dp"}}, 17, &scratch);
    job->programs = arena_new(&scratch, struct program, 16);
    job->n_programs = 16;
    job->role_axis = 1;
    job->comms[15] = (struct comm){.name = "tp", .from = -1, .to = -1};
    job->comms[16] =
        (struct comm){.name = "dp", .first_axis = 2, .last_axis = 2, .from = -1, .to = -1};
    for (int p = 0; p < 16; p++) {
        struct program *program = &job->programs[p];
        program->n_streams = 2;
        program_add_op(program, coll_op(15, COLL_ALLREDUCE, 1e6, "ring"), &scratch);
        if (p > 0) program_add_op(program, coll_op(p - 1, COLL_SENDRECV, 1e6, NULL), &scratch);
        if (p < 15) program_add_op(program, coll_op(p, COLL_SENDRECV, 1e6, NULL), &scratch);
        program_add_op(program, coll_op(16, COLL_ALLREDUCE, 1e9, "ring"), &scratch);
        if (p == 15) break;
        job->comms[p] =
            (struct comm){.name = "pp", .first_axis = 1, .last_axis = 1, .from = p, .to = p + 1};
    }
    struct topo *topo = build_topo(&octo_node, fabric, 16384, &scratch);
    time_plan(what, build_inputs(topo, job, &scratch), scratch);
}

int main(void)
{
    struct arena *perm = arena_open((size_t)8 << 30);
    lone("plan, ring, 16,384 ranks, fat-tree", &big_tree, "ring", *perm);
    lone("plan, ring, 16,384 ranks, dragonfly", &big_dragonfly, "ring", *perm);
    lone("plan, tree, 16,384 ranks, fat-tree", &big_tree, "tree", *perm);
    hybrid("plan, TP 8 PP 16 DP 128, fat-tree", &big_tree, *perm);
    hybrid("plan, TP 8 PP 16 DP 128, hashed fat-tree", &big_hashed_tree, *perm);
    hybrid("plan, TP 8 PP 16 DP 128, sprayed fat-tree", &big_sprayed_tree, *perm);
    hybrid("plan, TP 8 PP 16 DP 128, dragonfly", &big_dragonfly, *perm);
    from_nothing("65,536 GPUs, fat-tree, all-reduce", &big_tree, 65536, *perm);
    from_nothing("65,536 GPUs, sprayed fat-tree, all-reduce", &big_sprayed_tree, 65536, *perm);
    from_nothing("65,536 GPUs, dragonfly, all-reduce", &big_dragonfly, 65536, *perm);
    arena_close(perm);
    return 0;
}
