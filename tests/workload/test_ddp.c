#include "rig.h"
#include "test.h"

#include "workload/step.h"

static const double MIB = 1 << 20;

static double bucket_B(const struct model *model, const int *first_tensor, int b)
{
    double sum_B = 0.0;
    for (int t = first_tensor[b + 1]; t < first_tensor[b]; t++) {
        sum_B += 4.0 * (double)model->tensors[t].n_elements;
    }
    return sum_B;
}

/* ResNet-18: 2052000, 28852224, 15853824 at 25 MiB and 2052000, 38297600, 6408448 at 35 MiB, as
 * PyTorch itself reported them (pytorch issue 48880). */
static void resnet18_buckets_are_those_of_pytorch(void **state)
{
    static const double caps_MiB[] = {25, 35};
    static const double wanted_B[][3] = {{2052000, 28852224, 15853824},
                                         {2052000, 38297600, 6408448}};
    const struct model *model = rig_model("resnet18", *state);
    for (int i = 0; i < 2; i++) {
        int first[128];
        assert_int_equal(
            ddp_buckets(model, &(struct bucket_rule){4, MIB, caps_MiB[i] * MIB}, first), 3);
        for (int b = 0; b < 3; b++) assert_close(bucket_B(model, first, b), wanted_B[i][b], 0);
    }
}

/* Any model, any cap: every tensor in one bucket; all but the last have reached their limit, and
 * would not have without the tensor that came last. */
static void buckets_hold_every_tensor_once(void **state)
{
    static const double caps_MiB[] = {1e-6, 0.3, 1, 25, 35, 200, 1e9};
    for (int k = 0; k < n_model_kinds; k++) {
        const struct model *model = model_kinds[k].build(&model_kinds[k], 0, *state);
        int *first = arena_new((struct arena *)*state, int, model->n_tensors + 1);
        for (size_t c = 0; c < sizeof caps_MiB / sizeof *caps_MiB; c++) {
            double cap_B = caps_MiB[c] * MIB;
            int n = ddp_buckets(model, &(struct bucket_rule){4, MIB, cap_B}, first);
            double sum_B = 0.0;
            assert_int_equal(first[0], model->n_tensors);
            assert_int_equal(first[n], 0);
            for (int b = 0; b < n; b++) {
                double size_B = bucket_B(model, first, b);
                double limit_B = b == 0 ? MIB : cap_B;
                double last_B = 4.0 * (double)model->tensors[first[b + 1]].n_elements;
                assert_true(first[b + 1] < first[b]);
                assert_true(b == n - 1 || size_B >= limit_B);
                assert_true(size_B - last_B < limit_B);
                sum_B += size_B;
            }
            assert_close(sum_B, 4.0 * (double)model_n_parameters(model), 0);
        }
    }
}

static int nth_collective(const struct program *program, int n)
{
    for (int i = 0; i < program->n_ops; i++) {
        if (program->ops[i].kind == OP_COLLECTIVE && n-- == 0) return i;
    }
    fail();
    return -1;
}

static const struct op *waited_for(const struct program *program, int op)
{
    return &program->ops[program->deps[program->ops[op].first_dep].op];
}

/* ResNet-18 at 25 MiB: bucket 0 is the fc layer; 1 goes down to layer4.0.conv2 (weights of
 * layer4.0.bn2 and later fill it); 2 ends with the first convolution. */
static void a_bucket_waits_for_its_last_gradient(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    struct gpu gpu = rig_gpu();
    const struct model *model = rig_model("resnet18", *state);
    const struct program *program = rig_job(&spec, model, &gpu, *state)->programs;
    int first[128];
    int n = ddp_buckets(model, &(struct bucket_rule){4, MIB, 25 * MIB}, first);
    assert_int_equal(rig_n_collectives(program), n);
    for (int b = 0; b < n; b++) {
        int op = nth_collective(program, b);
        const char *layer = model->layers[model->tensors[first[b + 1]].layer].name;
        assert_close(program->ops[op].size_B, bucket_B(model, first, b), 0);
        assert_int_equal(waited_for(program, op)->part, PART_BACKWARD);
        assert_string_equal(waited_for(program, op)->name, layer);
    }
    assert_string_equal(waited_for(program, nth_collective(program, 0))->name, "fc");
    assert_string_equal(waited_for(program, nth_collective(program, 2))->name, "conv1");
}

static void without_overlap_all_wait_for_the_end_of_backward(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    spec.overlap = false;
    struct gpu gpu = rig_gpu();
    const struct program *program =
        rig_job(&spec, rig_model("resnet18", *state), &gpu, *state)->programs;
    for (int b = 0; b < 3; b++) {
        assert_string_equal(waited_for(program, nth_collective(program, b))->name, "conv1");
    }
}

/* no_sync: three micro-batches reduce as much as one, after the last one's backward */
static void accumulation_reduces_once(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    spec.grad_accumulation = 3;
    struct gpu gpu = rig_gpu();
    const struct model *model = rig_model("resnet18", *state);
    const struct program *program = rig_job(&spec, model, &gpu, *state)->programs;
    assert_close(rig_collective_B(program), 4 * 11689512.0, 0);
    int waits = program->deps[program->ops[nth_collective(program, 2)].first_dep].op;
    for (int i = waits + 1; i < program->n_ops; i++) {
        assert_int_not_equal(program->ops[i].part, PART_FORWARD);
        assert_int_not_equal(program->ops[i].part, PART_BACKWARD);
    }
}

/* Copies in and out move 4 B per parameter each way, twice; a second rank brings nothing else. */
static void buckets_cost_two_copies(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.kernel_floor_s = 0.0;
    gpu.hbm_half_B = 0.0;
    const struct model *model = rig_model("resnet18", *state);
    struct train_spec spec = rig_spec("ddp");
    double many_s = rig_sum_s(rig_job(&spec, model, &gpu, *state)->programs, OP_KERNEL);
    spec.n_ranks = 1;
    const struct job *alone = rig_job(&spec, model, &gpu, *state);
    double one_s = rig_sum_s(alone->programs, OP_KERNEL);
    assert_close(many_s - one_s, 2 * 8.0 * 11689512 / 0.8e12, 1e-9);
}

/* the optimizer waits for every bucket, the buckets share one stream in order */
static void optimizer_waits_for_all_buckets(void **state)
{
    struct train_spec spec = rig_spec("ddp");
    struct gpu gpu = rig_gpu();
    const struct program *program =
        rig_job(&spec, rig_model("resnet18", *state), &gpu, *state)->programs;
    const struct op *update = &program->ops[program->n_ops - 1];
    int n_buckets = 0;
    for (int d = 0; d < update->n_deps; d++) {
        const struct op *op = &program->ops[program->deps[update->first_dep + d].op];
        if (op->kind != OP_COLLECTIVE) continue;
        assert_int_equal(op->stream, STREAM_FIRST_OF_STRATEGY);
        n_buckets++;
    }
    assert_int_equal(n_buckets, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resnet18_buckets_are_those_of_pytorch),
        cmocka_unit_test(buckets_hold_every_tensor_once),
        cmocka_unit_test(a_bucket_waits_for_its_last_gradient),
        cmocka_unit_test(without_overlap_all_wait_for_the_end_of_backward),
        cmocka_unit_test(accumulation_reduces_once),
        cmocka_unit_test(buckets_cost_two_copies),
        cmocka_unit_test(optimizer_waits_for_all_buckets),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
