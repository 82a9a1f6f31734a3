/* A GPU and a way of training that the suites of this floor share; no real product. */
#ifndef TESTS_WORKLOAD_RIG_H
#define TESTS_WORKLOAD_RIG_H

#include "base/must.h"
#include "workload/strategy.h"

static inline struct gpu rig_gpu(void)
{
    return (struct gpu){.name = "rig",
                        .source = "made up",
                        .peak_flops = {10e12, 50e12, 100e12, 100e12, 200e12, 200e12, 400e12},
                        .matrix_frac = {0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8},
                        .vector_flops = 10e12,
                        .half_flop = 1e8,
                        .hbm_Bps = 1e12,
                        .hbm_frac = 0.8,
                        .hbm_half_B = 1e5,
                        .memory_B = 32e9,
                        .kernel_floor_s = 2e-6,
                        .issue_s = 5e-6,
                        .power_W = 300.0};
}

static inline struct train_spec rig_spec(const char *strategy)
{
    return (struct train_spec){.strategy = strategy,
                               .n_ranks = 8,
                               .batch_per_gpu = 16.0,
                               .grad_accumulation = 1,
                               .dtype = DTYPE_FP32,
                               .gradient_B = 4.0,
                               .optimizer = "momentum",
                               .bucket_cap_B = 25.0 * (1 << 20),
                               .first_bucket_B = 1 << 20,
                               .fusion_B = 64.0 * (1 << 20),
                               .cycle_s = 5e-3,
                               .n_servers = 0,
                               .n_nodes = 2,
                               .overlap = true,
                               .n_iterations = 4,
                               .split = split_none};
}

static inline struct model *rig_model(const char *name, struct arena *perm)
{
    const struct model_kind *kind = model_find(name);
    must(kind);
    return kind->build(kind, 0, perm);
}

static inline struct job *rig_job(const struct train_spec *spec, const struct model *model,
                                  const struct gpu *gpu, struct arena *perm)
{
    const struct strategy *strategy = strategy_find(spec->strategy);
    must(strategy);
    return strategy->build(spec, model, gpu, perm);
}

/* rig_sum_s — all work of one kind of op in one iteration. */
static inline double rig_sum_s(const struct program *program, enum op_kind kind)
{
    double sum_s = 0.0;
    for (int i = 0; i < program->n_ops; i++) {
        if (program->ops[i].kind == kind) sum_s += program->ops[i].work_s;
    }
    return sum_s;
}

static inline double rig_collective_B(const struct program *program)
{
    double sum_B = 0.0;
    for (int i = 0; i < program->n_ops; i++) {
        if (program->ops[i].kind == OP_COLLECTIVE) sum_B += program->ops[i].size_B;
    }
    return sum_B;
}

static inline int rig_n_collectives(const struct program *program)
{
    int n = 0;
    for (int i = 0; i < program->n_ops; i++) n += program->ops[i].kind == OP_COLLECTIVE;
    return n;
}

#endif
