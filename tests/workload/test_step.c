#include "workload/step.h"

#include "rig.h"
#include "test.h"

static const struct program *one_gpu_program(struct train_spec spec, struct arena *perm)
{
    spec.n_ranks = 1;
    struct gpu gpu = rig_gpu();
    return rig_job(&spec, rig_model("resnet50", perm), &gpu, perm)->programs;
}

/* What is measured comes back, for any model, way of training, accumulation: kernels sum to it. */
static void one_gpu_time_is_exact(void **state)
{
    for (int s = 0; s < n_strategies; s++) {
        for (int accumulation = 1; accumulation <= 3; accumulation++) {
            struct train_spec spec = rig_spec(strategies[s].name);
            spec.grad_accumulation = accumulation;
            spec.one_gpu_s = 0.3217;
            const struct program *program = one_gpu_program(spec, *state);
            assert_close(rig_sum_s(program, OP_KERNEL), 0.3217, 1e-12);
            assert_close(rig_sum_s(program, OP_HOST), 0.0, 0.0);
        }
    }
}

/* Two micro-batches are two forwards and backwards, but one optimizer: T2 - T1 = T1 - optimizer. */
static void accumulation_repeats_all_but_the_optimizer(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    const struct program *once = one_gpu_program(spec, *state);
    double once_s = rig_sum_s(once, OP_KERNEL);
    double optimizer_s = once->ops[once->n_ops - 1].work_s;
    spec.grad_accumulation = 2;
    double twice_s = rig_sum_s(one_gpu_program(spec, *state), OP_KERNEL);
    assert_int_equal(once->ops[once->n_ops - 1].part, PART_OPTIMIZER);
    assert_close(twice_s, 2 * once_s - optimizer_s, 1e-12);
}

/* One issue time per kernel: forward n, backward 2 n, one for the optimizer. */
static void host_issues_every_kernel(void **state)
{
    struct model *model = rig_model("resnet50", *state);
    int n_kernels = 1;
    for (int l = 0; l < model->n_layers; l++) n_kernels += 3 * model->layers[l].n_kernels;
    const struct program *program = one_gpu_program(rig_spec("ddp"), *state);
    assert_close(rig_sum_s(program, OP_HOST), n_kernels * 5e-6, 1e-12);
}

/* The first kernel waits for this step's batch; the next batch is started when the kernel has
 * run. */
static void input_is_one_batch_ahead(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    spec.input_s = 0.01;
    for (int measured = 0; measured < 2; measured++) {
        spec.one_gpu_s = measured ? 0.2 : 0.0;
        const struct program *program = one_gpu_program(spec, *state);
        int first = 0;
        while (program->ops[first].kind != OP_KERNEL) first++;
        const struct op *input = &program->ops[0];
        const struct op *kernel = &program->ops[first];
        assert_int_equal(input->part, PART_INPUT);
        assert_close(input->work_s, 0.01, 0);
        struct dep next_batch = program->deps[input->first_dep];
        assert_int_equal(next_batch.op, first);
        assert_int_equal(next_batch.distance, 1);
        struct dep batch = program->deps[kernel->first_dep + kernel->n_deps - 1];
        assert_int_equal(batch.op, 0);
        assert_int_equal(batch.distance, 0);
    }
}

/* ResNet-50, 25,557,032 parameters, one GPU. fp32, momentum: 4 + 4 + 4 B; Adam: 4 + 4 + 8; 16 bits
 * with fp32 gradients: 2 more; with 16-bit gradients: 4 + 2 + 2 + 8 = the 16 B of ZeRO's table. */
static void state_is_what_the_frameworks_hold(void **state)
{
    static const struct {
        const char *optimizer;
        enum dtype dtype;
        double gradient_B, wanted_B;
    } cases[] = {{"sgd", DTYPE_FP32, 4, 8},   {"momentum", DTYPE_FP32, 4, 12},
                 {"adam", DTYPE_FP32, 4, 16}, {"adam", DTYPE_FP16, 4, 18},
                 {"adam", DTYPE_BF16, 2, 16}, {"lamb", DTYPE_TF32, 4, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_spec spec = rig_spec("ddp");
        spec.optimizer = cases[i].optimizer;
        spec.dtype = cases[i].dtype;
        spec.gradient_B = cases[i].gradient_B;
        const struct program *program = one_gpu_program(spec, *state);
        assert_close(program->static_B, 25557032.0 * cases[i].wanted_B, 1e-12);
        double kernels_read_B = dtype_B(spec.dtype) < 4 ? dtype_B(spec.dtype) : 4;
        assert_close(program->held.weights_B, 25557032.0 * kernels_read_B, 1e-12);
        assert_close(program->held.gradients_B, 25557032.0 * cases[i].gradient_B, 1e-12);
        assert_close(step_sum_B(&program->held), program->static_B, 1e-12);
    }
}

/* All that forward keeps, and nothing else: 20.4 million elements an image for ResNet-50. */
static void activations_are_kept_from_forward_to_backward(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    const struct program *program = one_gpu_program(spec, *state);
    double kept_B = 0.0;
    double freed_B = 0.0;
    for (int i = 0; i < program->n_ops; i++) {
        if (program->ops[i].part == PART_FORWARD) kept_B += program->ops[i].alloc_B;
        if (program->ops[i].part == PART_BACKWARD) freed_B += program->ops[i].free_B;
    }
    double wanted_B = 4 * spec.batch_per_gpu * model_kept_elements(rig_model("resnet50", *state));
    assert_close(kept_B, wanted_B, 1e-12);
    assert_close(freed_B, wanted_B, 1e-12);
}

static void job_counts_samples_and_flop_of_all_ranks(void **state)
{
    struct train_spec spec = rig_spec("horovod");
    spec.grad_accumulation = 3;
    struct gpu gpu = rig_gpu();
    struct model *model = rig_model("bert-base", *state);
    const struct job *job = rig_job(&spec, model, &gpu, *state);
    assert_close(job->samples_per_iteration, 8 * 16 * 3, 0);
    assert_close(job->flop_per_iteration, 384 * 3 * model_flop_per_sample(model), 1e-12);
    assert_string_equal(job->sample, "sequence");
}

/* the host's last op of a step (the optimizer's launch) waits for the update of the step before */
static void host_runs_one_step_ahead(void **state)
{
    const struct program *program = one_gpu_program(rig_spec("local"), *state);
    int update = program->n_ops - 1;
    const struct op *launch = &program->ops[update - 1];
    assert_int_equal(launch->kind, OP_HOST);
    assert_int_equal(launch->n_deps, 1);
    assert_int_equal(program->deps[launch->first_dep].op, update);
    assert_int_equal(program->deps[launch->first_dep].distance, 1);
}

/* Earlier micro-batches are one op of forwards and one of backwards (and one for the host), whatever
 * their number: 1,000 micro-batches have as many ops as 2. */
static void micro_batches_cost_no_more_ops(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    struct gpu gpu = rig_gpu();
    const struct model *model = rig_model("resnet18", *state);
    spec.grad_accumulation = 2;
    const struct job *two = rig_job(&spec, model, &gpu, *state);
    spec.grad_accumulation = 1000;
    const struct job *thousand = rig_job(&spec, model, &gpu, *state);
    assert_int_equal(thousand->programs[0].n_ops, two->programs[0].n_ops);
    job_check(thousand, *(struct arena *)*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gpu_time_is_exact),
        cmocka_unit_test(accumulation_repeats_all_but_the_optimizer),
        cmocka_unit_test(micro_batches_cost_no_more_ops),
        cmocka_unit_test(host_issues_every_kernel),
        cmocka_unit_test(input_is_one_batch_ahead),
        cmocka_unit_test(state_is_what_the_frameworks_hold),
        cmocka_unit_test(activations_are_kept_from_forward_to_backward),
        cmocka_unit_test(job_counts_samples_and_flop_of_all_ranks),
        cmocka_unit_test(host_runs_one_step_ahead),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
