/* A result made by hand, for tests of what is printed: 16 GPUs on two nodes, a step of 100 ms of which
 * 30 forward, 50 backward, 5 optimizer, 10 exposed communication and 5 launch; one all-reduce. */
#ifndef TESTS_OUT_SAMPLE_H
#define TESTS_OUT_SAMPLE_H

#include "base/diag.h"
#include "base/json.h"
#include "predict.h"
#include "test.h"

enum { SAMPLE_ITERATIONS = 4, SAMPLE_OPS = 2 };

static inline struct job *sample_job(struct arena *perm)
{
    static const char *const streams[] = {"compute", "gradients"};
    struct program *program = arena_new(perm, struct program, 1);
    *program = (struct program){.ops = arena_new(perm, struct op, SAMPLE_OPS),
                                .n_ops = SAMPLE_OPS,
                                .n_streams = 2,
                                .stream_names = streams};
    program->ops[0] = (struct op){.kind = OP_KERNEL, .part = PART_BACKWARD, .name = "conv \"1\""};
    program->ops[1] = (struct op){.kind = OP_COLLECTIVE,
                                  .part = PART_COMMUNICATION,
                                  .stream = 1,
                                  .name = "bucket 0",
                                  .coll = COLL_ALLREDUCE,
                                  .size_B = 1e8};
    struct job *job = arena_new(perm, struct job, 1);
    *job = (struct job){.n_ranks = 16,
                        .programs = program,
                        .n_programs = 1,
                        .n_iterations = SAMPLE_ITERATIONS,
                        .samples_per_iteration = 1024,
                        .sample = "image"};
    return job;
}

static inline struct inputs *sample_inputs(struct arena *perm)
{
    static const struct train_spec train = {
        .strategy = "ddp", .batch_per_gpu = 64, .grad_accumulation = 1};
    struct inputs *in = arena_new(perm, struct inputs, 1);
    struct model *model = arena_new(perm, struct model, 1);
    *model = (struct model){.name = "resnet50", .sample = "image", .tokens_per_sample = 1};
    *in = (struct inputs){
        .scenario = "sample, \"quoted\"",
        .model = model,
        .gpu = {.name = "V100", .memory_B = 16e9},
        .node = {.gpus_per_node = 8, .nics_per_node = 1, .sockets = 1, .nic_Bps = 12.5e9},
        .fabric = {.kind = "fat-tree"},
        .library = {.name = "nccl"},
        .train = train,
        .n_gpus = 16,
        .fidelity = FIDELITY_FLUID,
        .job = sample_job(perm),
    };
    return in;
}

/* Each class runs both ops in each iteration: the kernel for 80 ms, the collective joined at 20 ms,
 * begun at 30 ms, done at 90 ms. */
static inline struct run *sample_run(int n_classes, struct arena *perm)
{
    struct run *run = arena_new(perm, struct run, 1);
    run->spans = arena_new(perm, struct span, n_classes * SAMPLE_ITERATIONS * SAMPLE_OPS);
    for (int i = 0; i < SAMPLE_ITERATIONS; i++) {
        for (int c = 0; c < n_classes; c++) {
            double at_s = 0.1 * i;
            run->spans[run->n_spans++] = (struct span){c, 0, i, at_s, at_s, at_s + 0.08};
            run->spans[run->n_spans++] =
                (struct span){c, 1, i, at_s + 0.02, at_s + 0.03, at_s + 0.09};
        }
    }
    return run;
}

static inline struct plan *sample_plan(const struct inputs *in, int n_classes, struct arena *perm)
{
    static const int coll_of[SAMPLE_OPS] = {-1, 0};
    struct plan *plan = arena_new(perm, struct plan, 1);
    *plan = (struct plan){.in = in,
                          .classes = arena_new(perm, struct plan_class, n_classes),
                          .n_classes = n_classes,
                          .colls = arena_new(perm, struct plan_coll, 1),
                          .n_colls = 1};
    plan->colls[0] = (struct plan_coll){.protocol = "Simple", .req = {.n_ranks = 16}};
    for (int c = 0; c < n_classes; c++)
        plan->classes[c] = (struct plan_class){.n_ranks = 1, .rep = c, .coll = coll_of};
    return plan;
}

static inline struct result *sample_result(int n_classes, struct arena *perm)
{
    static const char *const warnings[] = {"a warning"};
    struct inputs *in = sample_inputs(perm);
    struct result *result = arena_new(perm, struct result, 1);
    *result = (struct result){
        .in = in,
        .iteration_s = 0.1,
        .interval_s = {0.09, 0.12},
        .share_s = {[SHARE_FORWARD] = 0.03,
                    [SHARE_BACKWARD] = 0.05,
                    [SHARE_OPTIMIZER] = 0.005,
                    [SHARE_EXPOSED] = 0.01,
                    [SHARE_LAUNCH] = 0.005},
        .compute_s = 0.085,
        .communication_s = 0.06,
        .exposed_communication_s = 0.01,
        .throughput = 10240,
        .one_gpu_s = 0.085,
        .scaling_efficiency = 0.85,
        .bytes_sent_B = 1.875e8,
        .memory_B = 8e9,
        .fits = true,
        .mfu = 0.4,
        .limit_kind = "nic",
        .limit_name = "node 0 nic 0 -> leaf 0",
        .gain_if_doubled = 0.05,
        .gains = {{"compute", 0.4}, {"nic", 0.05}},
        .n_gains = 2,
        .n_classes = n_classes,
        .n_events = 12345678901,
        .warnings = warnings,
        .n_warnings = 1,
        .plan = sample_plan(in, n_classes, perm),
        .run = sample_run(n_classes, perm),
    };
    return result;
}

/* what a function writes, as text */
#define PRINTED(text, size, call)                                                                  \
    do {                                                                                           \
        FILE *printed_out = open_memstream(&(text), &(size));                                      \
        assert_non_null(printed_out);                                                              \
        FILE *out = printed_out;                                                                   \
        call;                                                                                      \
        fclose(printed_out);                                                                       \
    } while (0)

static inline const struct json_node *parse(const char *text, size_t size, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct json *json = json_read_text("printed", text, size, perm, &diag);
    diag_print(&diag, stderr);
    assert_non_null(json);
    return json_root(json);
}

#endif
