#include "workload/kernel.h"

#include "rig.h"
#include "test.h"
#include "workload/builder.h"

/* one layer of 1e6 FLOP, 300 + 100 elements a sample, 1,000 parameters */
static struct model *one_layer(enum layer_kind kind, bool fused, struct arena *perm)
{
    struct builder b = builder_open("one", "image", "made up", perm);
    builder_layer(&b, (struct layer){.name = "layer",
                                     .kind = kind,
                                     .flop = 1e6,
                                     .read_elements = 300,
                                     .written_elements = 100,
                                     .n_kernels = 1,
                                     .fused = fused});
    builder_tensor(&b, "weight", 1000);
    return b.model;
}

/* rig: 10 TFLOP/s x 0.8, half 1e8 FLOP; 0.8 TB/s, half 1e5 B; floor 2 us.
 * batch 100: 1e8 FLOP at half of 8e12 = 25 us; (40,000 + 1,000) x 4 B = 164 kB: 264 kB / 0.8e12 =
 * 0.33 us. */
static void unfused_layer_adds_arithmetic_and_memory(void **state)
{
    struct gpu gpu = rig_gpu();
    struct kernel_time t =
        kernel_forward(&gpu, one_layer(LAYER_LINEAR, false, *state), 0, 100, DTYPE_FP32);
    assert_close(t.time_s, 25e-6 + 0.33e-6 + 2e-6, 1e-12);
    assert_close(t.hbm_B, 164e3, 1e-12);
}

static void fused_layer_takes_the_longer(void **state)
{
    struct gpu gpu = rig_gpu();
    struct kernel_time t =
        kernel_forward(&gpu, one_layer(LAYER_LINEAR, true, *state), 0, 100, DTYPE_FP32);
    assert_close(t.time_s, 25e-6 + 2e-6, 1e-12);
}

/* Two products: twice the FLOP, two starts, two floors; traffic 2 x (40,000 + 1,000) elements. */
static void backward_of_a_product_is_two_products(void **state)
{
    struct gpu gpu = rig_gpu();
    struct model *model = one_layer(LAYER_LINEAR, false, *state);
    struct kernel_time forward = kernel_forward(&gpu, model, 0, 100, DTYPE_FP32);
    struct kernel_time backward = kernel_backward(&gpu, model, 0, 100, DTYPE_FP32);
    assert_close(backward.time_s, 2 * forward.time_s, 1e-12);
    assert_close(backward.hbm_B, 2 * forward.hbm_B, 1e-12);
}

/* Half the bytes, ten times the peak. */
static void half_precision_moves_half_the_bytes(void **state)
{
    struct gpu gpu = rig_gpu();
    struct model *model = one_layer(LAYER_LINEAR, false, *state);
    struct kernel_time half = kernel_forward(&gpu, model, 0, 100, DTYPE_FP16);
    assert_close(half.hbm_B, 82e3, 1e-12);
    assert_close(half.time_s, 2.5e-6 + 182e3 / 0.8e12 + 2e-6, 1e-12);
}

/* A look-up does not read its whole table; its gradient is dense. */
static void look_up_reads_rows_and_writes_the_table(void **state)
{
    struct gpu gpu = rig_gpu();
    struct model *model = one_layer(LAYER_EMBEDDING, true, *state);
    assert_close(kernel_forward(&gpu, model, 0, 1, DTYPE_FP32).hbm_B, 4 * 400, 1e-12);
    assert_close(kernel_backward(&gpu, model, 0, 1, DTYPE_FP32).hbm_B, 4 * (600 + 100 + 1000),
                 1e-12);
}

/* Every layer of every model: more samples never take less time, in either direction and any
 * type. */
static void more_samples_never_take_less_time(void **state)
{
    struct gpu gpu = rig_gpu();
    for (int k = 0; k < n_model_kinds; k++) {
        struct model *model = model_kinds[k].build(&model_kinds[k], 0, *state);
        for (int l = 0; l < model->n_layers; l++) {
            double forward_s = 0.0;
            double backward_s = 0.0;
            for (double batch = 0.25; batch < 1e4; batch *= 1.7) {
                enum dtype dtype = (enum dtype)(l % N_DTYPES);
                double next_s = kernel_forward(&gpu, model, l, batch, dtype).time_s;
                assert_true(next_s >= forward_s);
                forward_s = next_s;
                next_s = kernel_backward(&gpu, model, l, batch, dtype).time_s;
                assert_true(next_s >= backward_s);
                backward_s = next_s;
            }
        }
    }
}

static double per_image_s(double batch, struct arena *perm)
{
    struct gpu gpu = rig_gpu();
    struct model *model = rig_model("resnet50", perm);
    double sum_s = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        sum_s += kernel_forward(&gpu, model, l, batch, DTYPE_FP32).time_s;
        sum_s += kernel_backward(&gpu, model, l, batch, DTYPE_FP32).time_s;
    }
    return sum_s / batch;
}

/* A GPU of 10 TFLOP/s and 1 TB/s, about a P100 (9.3 TFLOP/s, 0.73 TB/s), trains ResNet-50 in fp32
 * at 219 images/s, batch 64 (TensorFlow benchmarks, 2017): the model should say 100 to 450
 * untuned. */
static void resnet50_has_the_right_order_of_magnitude(void **state)
{
    double images_per_s = 1.0 / per_image_s(64, *state);
    assert_true(images_per_s > 100.0 && images_per_s < 450.0);
}

/* Start-up costs are shared by more samples. */
static void an_image_is_cheaper_in_a_bigger_batch(void **state)
{
    for (double batch = 1; batch < 1000; batch *= 2) {
        assert_true(per_image_s(2 * batch, *state) < per_image_s(batch, *state));
    }
}

/* 1e6 parameters x 20 B = 20 MB, + 0.1 MB half size, at 0.8 TB/s: 25.125 us + 2 us. */
static void optimizer_is_bound_by_memory(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    struct kernel_time t = kernel_optimizer(&gpu, 1e6, 20);
    assert_close(t.time_s, 27.125e-6, 1e-12);
    assert_close(t.hbm_B, 20e6, 1e-12);
}

/* in and out: 2 x 4 MB; three kernels have three starts */
static void copy_reads_and_writes(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    struct kernel_time t = kernel_copy(&gpu, 4e6, 3);
    assert_close(t.time_s, (8e6 + 3e5) / 0.8e12 + 6e-6, 1e-12);
    assert_close(t.hbm_B, 8e6, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unfused_layer_adds_arithmetic_and_memory),
        cmocka_unit_test(fused_layer_takes_the_longer),
        cmocka_unit_test(backward_of_a_product_is_two_products),
        cmocka_unit_test(half_precision_moves_half_the_bytes),
        cmocka_unit_test(look_up_reads_rows_and_writes_the_table),
        cmocka_unit_test(more_samples_never_take_less_time),
        cmocka_unit_test(resnet50_has_the_right_order_of_magnitude),
        cmocka_unit_test(an_image_is_cheaper_in_a_bigger_batch),
        cmocka_unit_test(optimizer_is_bound_by_memory),
        cmocka_unit_test(copy_reads_and_writes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
