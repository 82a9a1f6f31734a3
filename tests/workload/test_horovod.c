#include "rig.h"
#include "test.h"

#include "workload/builder.h"
#include "workload/step.h"

enum { STREAM_CYCLE = STREAM_FIRST_OF_STRATEGY, STREAM_FUSED };

/* Four layers of one tensor each; backward of a layer takes 2 ms (4e9 FLOP at 2e12 a second, which
 * has nothing but arithmetic). Sizes 1, 2, 3 and 4 million elements from the first layer on. */
static struct model *four_layers(struct arena *perm)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct builder b = builder_open("four", "image", "made up", perm);
    for (int l = 0; l < 4; l++) {
        builder_layer(&b, (struct layer){
                              .name = names[l], .kind = LAYER_LINEAR, .flop = 2e9, .n_kernels = 1});
        builder_tensor(&b, "weight", 1000000 * (l + 1));
    }
    return b.model;
}

static const struct program *four_program(struct train_spec spec, struct arena *perm)
{
    struct gpu gpu = {.peak_flops = {2e12},
                      .matrix_frac = {1},
                      .vector_flops = 1e12,
                      .hbm_Bps = 1e30,
                      .hbm_frac = 1};
    spec.batch_per_gpu = 1;
    return rig_job(&spec, four_layers(perm), &gpu, perm)->programs;
}

static struct train_spec spec_of(double cycle_s, double fusion_B)
{
    struct train_spec spec = rig_spec("horovod");
    spec.cycle_s = cycle_s;
    spec.fusion_B = fusion_B;
    return spec;
}

/* sizes of the collectives and lengths of the waits, in the order of the list */
static void assert_plan(const struct program *program, const double *sizes_B, int n_sizes,
                        const double *waits_s, int n_waits)
{
    int size = 0;
    int wait = 0;
    for (int i = 0; i < program->n_ops; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_COLLECTIVE) {
            assert_true(size < n_sizes);
            assert_close(op->size_B, sizes_B[size++], 0);
        }
        if (op->stream == STREAM_CYCLE) {
            assert_true(wait < n_waits);
            assert_close(op->work_s, waits_s[wait++], 1e-9);
        }
    }
    assert_int_equal(size, n_sizes);
    assert_int_equal(wait, n_waits);
}

/* Ready at 2 (d), 4 (c), 6 (b), 8 ms (a); ticks every 5 ms: the first sees d and c, 1 ms after c,
 * the second b and a, 2 ms after a. */
static void a_tick_takes_what_is_ready(void **state)
{
    static const double sizes_B[] = {28e6, 12e6};
    static const double waits_s[] = {1e-3, 2e-3};
    assert_plan(four_program(spec_of(5e-3, 64e6), *state), sizes_B, 2, waits_s, 2);
}

/* The buffer holds 20 MB: d (16) and c (12) of the first tick travel apart; b and a (8 + 4)
 * together. */
static void the_buffer_bounds_a_fusion(void **state)
{
    static const double sizes_B[] = {16e6, 12e6, 12e6};
    static const double waits_s[] = {1e-3, 2e-3};
    assert_plan(four_program(spec_of(5e-3, 20e6), *state), sizes_B, 3, waits_s, 2);
}

/* A cycle of 100 ms sees all at once, 92 ms late. A cycle of 0 sees each by itself, at once. */
static void long_and_no_cycles(void **state)
{
    static const double all_B[] = {40e6};
    static const double late_s[] = {92e-3};
    assert_plan(four_program(spec_of(0.1, 64e6), *state), all_B, 1, late_s, 1);
    static const double each_B[] = {16e6, 12e6, 8e6, 4e6};
    static const double none_s[] = {0, 0, 0, 0};
    assert_plan(four_program(spec_of(0, 64e6), *state), each_B, 4, none_s, 4);
}

/* Without overlap everything is ready at 8 ms: the tick of 10 ms. */
static void without_overlap_one_tick_sees_all(void **state)
{
    struct train_spec spec = spec_of(5e-3, 64e6);
    spec.overlap = false;
    static const double all_B[] = {40e6};
    static const double wait_s[] = {2e-3};
    assert_plan(four_program(spec, *state), all_B, 1, wait_s, 1);
}

/* The wait follows the backward kernel of the last gradient seen; a fusion of several is copied
 * into the buffer after it, reduced, copied out; a lone gradient is not copied. */
static void a_fusion_waits_copies_and_reduces(void **state)
{
    const struct program *program = four_program(spec_of(5e-3, 20e6), *state);
    int at = 0;
    while (program->ops[at].stream != STREAM_CYCLE) at++;
    const struct op *wait = &program->ops[at];
    assert_string_equal(program->ops[program->deps[wait->first_dep].op].name, "c");
    assert_int_equal(program->ops[at + 1].kind, OP_COLLECTIVE); /* d alone, then c alone */
    assert_int_equal(program->ops[at + 2].kind, OP_COLLECTIVE);
    static const enum op_kind kinds[] = {OP_HOST, OP_KERNEL, OP_COLLECTIVE, OP_KERNEL};
    for (int i = 0; i < 4; i++) {
        const struct op *op = &program->ops[at + 3 + i];
        assert_int_equal(op->kind, kinds[i]);
        assert_int_equal(op->stream, i == 0 ? STREAM_CYCLE : STREAM_FUSED);
        const struct dep *last = &program->deps[op->first_dep + op->n_deps - 1];
        if (i > 0) assert_int_equal(last->op, at + 2 + i);
    }
}

/* Tied or early-registered tensors go by when they are ready, not by registration: BERT's word bias
 * (registered ahead of the transform) is ready before it, its word table last of all. */
static void readiness_decides_not_registration(void **state)
{
    struct train_spec spec = spec_of(0, 64e6);
    struct gpu gpu = rig_gpu();
    const struct program *program =
        rig_job(&spec, rig_model("bert-base", *state), &gpu, *state)->programs;
    double last_B = 0.0;
    const char *second = NULL;
    int n = 0;
    for (int i = 0; i < program->n_ops; i++) {
        if (program->ops[i].kind != OP_COLLECTIVE) continue;
        if (n++ == 1) second = program->ops[i].name;
        last_B = program->ops[i].size_B;
    }
    assert_string_equal(second, "head.bias");
    assert_close(last_B, 4.0 * 768 * (512 + 2),
                 0); /* the word table, 93.8 MB, did not fit beside */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_takes_what_is_ready),
        cmocka_unit_test(the_buffer_bounds_a_fusion),
        cmocka_unit_test(long_and_no_cycles),
        cmocka_unit_test(without_overlap_one_tick_sees_all),
        cmocka_unit_test(a_fusion_waits_copies_and_reduces),
        cmocka_unit_test(readiness_decides_not_registration),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
