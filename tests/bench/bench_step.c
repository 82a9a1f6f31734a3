/* How long collectives and whole steps take to simulate, one core. Times and memory are shown, not
 * checked; results are. Peak memory is that of the process so far, so what needs least comes first. */
#include "../sim/cluster.h"
#include "bench.h"

#include "engine.h"
#include "estimate.h"
#include "io/scenario.h"
#include "predict.h"

/* ---- ring all-reduce, message by message ---- */

/* 500 ns and 50 GB/s a cable; what is inside the server takes no time */
static const struct node_spec golden_node = {.gpus_per_node = 1,
                                             .nics_per_node = 1,
                                             .sockets = 1,
                                             .gpus_per_pcie_switch = 1,
                                             .pcie_Bps = 1e15,
                                             .socket_Bps = 1e15,
                                             .nic_Bps = 50 * GB,
                                             .nic_latency_s = 0.5 * US,
                                             .gpudirect = true,
                                             .p2p = true};
static const struct fabric_spec golden_tree = {.kind = "fat-tree",
                                               .levels = 3,
                                               .ports_per_leaf = 8,
                                               .leaves_per_pod = 8,
                                               .n_pods = 16,
                                               .oversubscription = 1,
                                               .core_oversubscription = 1,
                                               .link_latency_s = 0.5 * US};

static struct inputs *ring_inputs(const struct fabric_spec *fabric, int n, double bytes,
                                  struct arena *perm)
{
    struct topo *topo = build_topo(&golden_node, fabric, n, perm);
    struct job *job = lone_job(n, coll_op(0, COLL_ALLREDUCE, n * floor(bytes / n), "ring"), perm);
    job->n_iterations = 1;
    struct inputs *in = build_inputs(topo, job, perm);
    in->library.rendezvous = true;
    return in;
}

/* Milliseconds that SimGrid 3.32 (S4U, network/model:CM02 without cross-traffic and TCP window) gives
 * for 1,024 ranks and 100 MB; its own time for it: 7.5 s on the star, 8.8 to 12.4 s on the tree. */
static void ring_by_messages(const char *what, const struct fabric_spec *fabric, double golden_ms,
                             struct arena scratch)
{
    struct inputs *in = ring_inputs(fabric, 1024, 1e8, &scratch);
    in->fold = false;
    double begin_s = clock_s();
    const struct plan *plan = plan_build(in, &scratch);
    double planned_s = clock_s();
    const struct run *run = engine_message(plan, &scratch);
    double took_s = clock_s() - planned_s;
    must(fabs(1e3 * run->end_s - golden_ms) <= 0.5000001e-6); /* all printed digits */
    char more[96];
    snprintf(more, sizeof more, "%.2f M sends/s, plan %.4f s, %.6f ms",
             2.0 * 1024 * 1023 / took_s / 1e6, planned_s - begin_s, 1e3 * run->end_s);
    report(what, took_s, more);
}

/* T = 2 (n - 1) (2 x 500 ns + S / n / B) on a star. Source: Patarasuk & Yuan, JPDC 69(2), 2009. */
static void folded_ring(int n, struct arena scratch)
{
    struct inputs *in = ring_inputs(&one_switch, n, 1e8, &scratch);
    double begin_s = clock_s();
    const struct plan *plan = plan_build(in, &scratch);
    const struct run *run = engine_run(plan, &scale_none, &scratch);
    double took_s = clock_s() - begin_s;
    must(fabs(run->end_s / (2.0 * (n - 1) * (1e-6 + floor(1e8 / n) / 50e9)) - 1.0) < 1e-9);
    char more[96];
    snprintf(more, sizeof more, "plan and run, %d classes", plan->n_classes);
    report("folded ring, 16,384 ranks", took_s, more);
}

/* ---- a training step, from the text of a scenario ---- */

static const char *const resnet_text =
    "{\"name\": \"resnet50-%d\", \"model\": \"resnet50\", \"batch_per_gpu\": 64,"
    " \"gpu\": \"v100-sxm2-16\", \"n_gpus\": %d, \"fabric\": {\"kind\": \"%s\"}}";

static struct inputs *load(const char *text, struct arena *perm)
{
    struct scenario_options options = {.profile_dir = "scenarios"};
    struct diag diag = {.perm = perm};
    struct inputs *in =
        scenario_load_text("bench", text, strlen(text), &options, NULL, perm, &diag);
    diag_print(&diag, stderr);
    must(in);
    return in;
}

static void step(int n_gpus, const char *fabric, struct arena scratch)
{
    char text[512], what[64], more[96];
    snprintf(text, sizeof text, resnet_text, n_gpus, n_gpus, fabric);
    double begin_s = clock_s();
    const struct inputs *in = load(text, &scratch);
    double loaded_s = clock_s();
    const struct plan *plan = plan_build(in, &scratch);
    double planned_s = clock_s();
    const struct run *run = engine_run(plan, &scale_none, &scratch);
    double end_s = clock_s();
    snprintf(what, sizeof what, "ResNet-50 DDP, %d GPUs, %s", n_gpus, fabric);
    snprintf(more, sizeof more, "load %.4f s, plan %.4f s, run %.4f s; %d classes, step %.2f ms",
             loaded_s - begin_s, planned_s - loaded_s, end_s - planned_s, plan->n_classes,
             1e3 * run->iteration_s);
    report(what, end_s - begin_s, more);
    begin_s = clock_s();
    must(predict(in, &scratch)->iteration_s > 0.0);
    report("  prediction with what-ifs and interval", clock_s() - begin_s, "");
}

/* The same with and without jitter between ranks, which a class's pace stands for. */
static void jittered_step(int n_gpus, struct arena scratch)
{
    char text[512], what[64], more[96];
    double took_s[2];
    snprintf(text, sizeof text, resnet_text, n_gpus, n_gpus, "fat-tree");
    for (int with = 0; with < 2; with++) {
        struct arena again = scratch;
        struct inputs *in = load(text, &again);
        in->jitter = with ? 0.05 : 0.0;
        double begin_s = clock_s();
        must(engine_run(plan_build(in, &again), &scale_none, &again)->iteration_s > 0.0);
        took_s[with] = clock_s() - begin_s;
    }
    snprintf(what, sizeof what, "  its plan and run with jitter, %d GPUs", n_gpus);
    snprintf(more, sizeof more, "%.2f times as long as without", took_s[1] / took_s[0]);
    report(what, took_s[1], more);
}

/* 500 micro-batches through 16 stages by closed forms, what-ifs by closed forms as well. */
static void long_pipeline(struct arena scratch)
{
    static const char text[] =
        "{\"name\": \"long\", \"model\": \"gpt3-175b\", \"batch_per_gpu\": 1,"
        " \"grad_accumulation\": 500, \"gpu\": \"h100-sxm-80\", \"n_gpus\": 1024,"
        " \"fabric\": {\"kind\": \"fat-tree\"},"
        " \"strategy\": {\"kind\": \"parallel\", \"tensor_parallel\": 8, \"pipeline_parallel\": "
        "16}}";
    struct inputs *in = load(text, &scratch);
    in->fidelity = FIDELITY_ESTIMATE;
    double begin_s = clock_s();
    must(predict(in, &scratch)->iteration_s > 0.0);
    report("175B, 500 micro-batches, estimate, what-ifs", clock_s() - begin_s, "");
}

/* 175 billion parameters on 16,384 GPUs: tensor 8, pipeline 16, data 128; a step of 16 micro-batches. */
static const char *const gpt_text =
    "{\"name\": \"gpt\", \"model\": \"gpt3-175b\", \"batch_per_gpu\": 1, \"grad_accumulation\": 16,"
    " \"gpu\": \"h100-sxm-80\", \"n_gpus\": 16384, \"fabric\": {\"kind\": \"%s\", \"routing\": "
    "\"%s\"},"
    " \"strategy\": {\"kind\": \"parallel\", \"tensor_parallel\": 8, \"pipeline_parallel\": 16}}";

static void big_step(const char *fabric, const char *routing, struct arena scratch)
{
    char text[512], what[64], more[96];
    snprintf(text, sizeof text, gpt_text, fabric, routing);
    double begin_s = clock_s();
    const struct inputs *in = load(text, &scratch);
    const struct plan *plan = plan_build(in, &scratch);
    double planned_s = clock_s();
    const struct run *run = engine_run(plan, &scale_none, &scratch);
    double end_s = clock_s();
    snprintf(what, sizeof what, "175B, 16384 GPUs, %s, %s", fabric, routing);
    snprintf(more, sizeof more, "load, plan %.3f s, run %.3f s (%d steps); %d classes, step %.3f s",
             planned_s - begin_s, end_s - planned_s, in->job->n_iterations, plan->n_classes,
             run->iteration_s);
    report(what, end_s - begin_s, more);
    begin_s = clock_s();
    must(predict(in, &scratch)->iteration_s > 0.0);
    report("  prediction with what-ifs and interval", clock_s() - begin_s, "");
}

/* A plan by closed forms: walked anew, laid anew, and timed again on clusters that all differ in the speed
 * of their GPUs, their latencies and the rates of their cards and switches. */
static void estimates(struct arena scratch)
{
    enum { N_PLANS = 200, N_CLUSTERS = 20000 };
    char text[512], more[128];
    snprintf(text, sizeof text, resnet_text, 256, 256, "fat-tree");
    struct inputs *in = load(text, &scratch);
    in->fidelity = FIDELITY_ESTIMATE;
    const struct plan *plan = plan_build(in, &scratch);
    double begin_s = clock_s();
    for (int i = 0; i < N_PLANS; i++) {
        struct arena again = scratch;
        must(estimate_run(plan, &again)->iteration_s > 0.0);
    }
    double whole_s = clock_s() - begin_s;
    begin_s = clock_s();
    for (int i = 0; i < N_PLANS; i++) {
        struct arena again = scratch;
        must(plan_build(in, &again)->n_classes > 0);
    }
    double plan_s = clock_s() - begin_s;
    begin_s = clock_s();
    const struct estimate *estimate = estimate_open(plan, &scratch);
    for (int i = 0; i < N_CLUSTERS; i++) {
        struct scale scale = scale_none;
        scale.kernel = 1.0 + 1e-2 * (i % 100);
        int latency = i / 100 % 10;
        scale.latency = 1.0 + 1e-1 * latency;
        int rate = i / 1000;
        scale.tier[TIER_NIC] = scale.tier[TIER_FABRIC] = 1.0 + 1e-1 * rate;
        must(estimate_again(estimate, &scale, scratch) > 0.0);
    }
    double again_s = clock_s() - begin_s;
    snprintf(more, sizeof more, "%.0f clusters/s, %.0f runs with spans/s, %.0f plans laid/s",
             N_CLUSTERS / again_s, N_PLANS / whole_s, N_PLANS / plan_s);
    report("estimate, ResNet-50 DDP, 256 GPUs", whole_s + plan_s + again_s, more);
}

/* A search over strategies, sizes of clusters and batches: from the text of each to its period. */
static void search(struct arena scratch)
{
    static const char *const kinds[] = {"ddp", "horovod", "parallel", "local"};
    enum { N_SIZES = 6, N_BATCHES = 8, N_PLANS = 4 * N_SIZES * N_BATCHES };
    char text[512], more[96];
    double begin_s = clock_s();
    for (int i = 0; i < N_PLANS; i++) {
        struct arena again = scratch;
        snprintf(text, sizeof text,
                 "{\"name\": \"r\", \"model\": \"resnet50\", \"batch_per_gpu\": %d,"
                 " \"gpu\": \"v100-sxm2-16\", \"n_gpus\": %d,"
                 " \"strategy\": {\"kind\": \"%s\"}}",
                 16 * (1 + i % N_BATCHES), 8 << i / N_BATCHES % N_SIZES,
                 kinds[i / (N_BATCHES * N_SIZES)]);
        const struct plan *plan = plan_build(load(text, &again), &again);
        must(estimate_period(plan, &scale_none, again).iteration_s > 0.0);
    }
    double took_s = clock_s() - begin_s;
    snprintf(more, sizeof more, "%d plans, %.0f/s, text and all", N_PLANS, N_PLANS / took_s);
    report("estimate, search of strategies and sizes", took_s, more);
}

int main(void)
{
    struct arena *perm = arena_open((size_t)8 << 30);
    folded_ring(16384, *perm);
    ring_by_messages("ring by messages, 1,024 ranks, star", &one_switch, 6.042084, *perm);
    ring_by_messages("ring by messages, 1,024 ranks, fat-tree", &golden_tree, 10.134084, *perm);
    static const char *const fabrics[] = {"switch", "fat-tree", "dragonfly"};
    for (int f = 0; f < 3; f++) {
        step(256, fabrics[f], *perm);
        step(16384, fabrics[f], *perm);
    }
    jittered_step(256, *perm);
    jittered_step(16384, *perm);
    estimates(*perm);
    search(*perm);
    long_pipeline(*perm);
    big_step("fat-tree", "static", *perm);
    big_step("dragonfly", "minimal", *perm);
    big_step("fat-tree", "ecmp", *perm);
    big_step("fat-tree", "spray", *perm);
    big_step("dragonfly", "ugal", *perm);
    arena_close(perm);
    return 0;
}
