#include "workload/kernel.h"

#include "rig.h"
#include "test.h"
#include "workload/brick.h"
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

/* Frozen weights: the weight gradient's product falls away. */
static void frozen_weights_have_no_gradient(void **state)
{
    struct gpu gpu = rig_gpu();
    struct model *model = one_layer(LAYER_LINEAR, false, *state);
    struct kernel_time forward = kernel_forward(&gpu, model, 0, 100, DTYPE_FP32);
    model->layers[0].frozen_elements = 1000;
    model->layers[0].n_tensors = 0;
    model->n_tensors = 0;
    struct kernel_time backward = kernel_backward(&gpu, model, 0, 100, DTYPE_FP32);
    assert_close(backward.time_s, forward.time_s, 1e-12);
    model->layers[0].kind = LAYER_EMBEDDING;
    assert_close(kernel_backward(&gpu, model, 0, 100, DTYPE_FP32).time_s, 0, 0);
}

/* a linear layer of 1 sample = 10 rows of 20 inputs to 30 outputs */
static struct model *one_product(enum layer_kind kind, struct arena *perm)
{
    struct builder b = builder_open("one", "row", "made up", perm);
    builder_layer(&b, (struct layer){.name = "layer",
                                     .kind = kind,
                                     .m = 10,
                                     .n = 30,
                                     .k = 20,
                                     .n_products = 1,
                                     .flop = 2.0 * 10 * 20 * 30,
                                     .read_elements = 200,
                                     .written_elements = 300,
                                     .n_kernels = 1});
    builder_tensor(&b, "weight", 600);
    return b.model;
}

/* Edge of 5, batch 100: m = 1000. Forward: 2 (1000 + 5) (30 + 5) 20 FLOP at 8e12; operands 100 x 200
 * + 600 elements x 4 B and results 100 x 300 x 4 B at 0.8e12 B/s; floor 2 us. */
static void a_product_computes_its_edges_and_writes_its_result_last(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.tile_edge = 5;
    struct kernel_time t =
        kernel_forward(&gpu, one_product(LAYER_LINEAR, *state), 0, 100, DTYPE_FP32);
    double operands_s = hypot(2.0 * 1005 * 35 * 20 / 8e12, 82400 / 0.8e12);
    assert_close(t.time_s, operands_s + 120e3 / 0.8e12 + 2e-6, 1e-12);
    assert_close(t.hbm_B, 82400 + 120e3, 1e-12);
}

/* Backward: the input's gradient is 1000 x 20 summed over 30, from 100 x 300 + 600 elements into
 * 100 x 200; the weight's 20 x 30 summed over 1000, from 100 x (300 + 200) into 600. */
static void backward_products_have_their_own_shapes(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.tile_edge = 5;
    struct kernel_time t =
        kernel_backward(&gpu, one_product(LAYER_LINEAR, *state), 0, 100, DTYPE_FP32);
    double input_s = hypot(2.0 * 1005 * 25 * 30 / 8e12, 4 * 30600 / 0.8e12) + 4 * 20e3 / 0.8e12;
    double weight_s = hypot(2.0 * 35 * 25 * 1000 / 8e12, 4 * 50e3 / 0.8e12) + 4 * 600 / 0.8e12;
    assert_close(t.time_s, input_s + weight_s + 4e-6, 1e-12);
}

/* Attention has a product for each sample, so each pays its edges: batch 100 is 100 products. */
static void samples_make_products_longer_or_more(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.tile_edge = 1e4; /* edges are all that counts */
    struct model *linear = one_product(LAYER_LINEAR, *state);
    struct model *attention = one_product(LAYER_ATTENTION, *state);
    double linear_s = kernel_forward(&gpu, linear, 0, 100, DTYPE_FP32).time_s;
    double attention_s = kernel_forward(&gpu, attention, 0, 100, DTYPE_FP32).time_s;
    assert_true(attention_s > 50 * linear_s);
}

/* Longer in any direction, more of them or wider elements: never faster. */
static void no_dimension_makes_a_product_faster(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.tile_edge = 40;
    struct model *model = one_product(LAYER_LINEAR, *state);
    struct layer *l = &model->layers[0];
    double *const grown[] = {&l->m, &l->n, &l->k, &l->n_products};
    for (double size = 1; size < 1e5; size *= 3.1) {
        for (int d = 0; d < 4; d++) {
            l->m = l->n = l->k = size;
            l->n_products = 1;
            double forward_s = 0, backward_s = 0;
            for (double factor = 0.01; factor < 100; factor *= 1.3) {
                *grown[d] = size * factor;
                l->read_elements = l->n_products * l->m * l->k;
                l->written_elements = l->n_products * l->m * l->n;
                double next_s = kernel_forward(&gpu, model, 0, 3, DTYPE_FP16).time_s;
                assert_true(next_s > forward_s);
                forward_s = next_s;
                next_s = kernel_backward(&gpu, model, 0, 3, DTYPE_FP16).time_s;
                assert_true(next_s > backward_s);
                backward_s = next_s;
            }
        }
    }
}

/* 8 bits: operands of one byte, results of two, peak 200; 20,000 inputs are cast, 2 B read and two
 * orders of 1 B written, by a kernel that starts as with 1e5 B more; attention at 16 bits, peak 100. */
static void only_linear_layers_are_narrower_than_16_bits(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.kernel_floor_s = 0;
    struct model *linear = one_product(LAYER_LINEAR, *state);
    struct kernel_time t = kernel_forward(&gpu, linear, 0, 100, DTYPE_FP8);
    assert_close(t.hbm_B, 20600 + 2 * 30e3 + 4 * 20e3, 1e-12);
    assert_close(t.time_s, hypot(12e5 / 160e12, 20600 / 0.8e12) + 60e3 / 0.8e12 + 180e3 / 0.8e12,
                 1e-12);
    struct model *attention = one_product(LAYER_ATTENTION, *state);
    assert_close(kernel_forward(&gpu, attention, 0, 7, DTYPE_FP8).time_s,
                 kernel_forward(&gpu, attention, 0, 7, DTYPE_BF16).time_s, 1e-12);
}

/* Backward casts the 30,000 elements of the output's gradient: 4 B each, 7 B with three quarters more,
 * none where layers before make them. */
static void casts_read_and_write_what_the_framework_says(void **state)
{
    struct gpu gpu = rig_gpu();
    struct model *linear = one_product(LAYER_LINEAR, *state);
    static const double extra[] = {-1.0, 0.0, 0.75};
    double hbm_B[3];
    for (int i = 0; i < 3; i++) {
        gpu.framework.cast_extra = extra[i];
        hbm_B[i] = kernel_backward(&gpu, linear, 0, 100, DTYPE_FP8).hbm_B;
    }
    assert_close(hbm_B[1] - hbm_B[0], 4 * 30e3, 1e-12);
    assert_close(hbm_B[2] - hbm_B[0], 7 * 30e3, 1e-12);
}

/* One kernel for all of attention reaches a share of its own of the peak of 100; the vendor's another,
 * where the framework has it; separate products what products do. */
static void fused_attention_has_its_own_rate(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.kernel_floor_s = gpu.product_floor_s = 0;
    gpu.hbm_Bps = 1e18;
    gpu.attention_frac = 0.2;
    gpu.vendor_attention_frac = 0.4;
    struct model *attention = one_product(LAYER_ATTENTION, *state);
    double flop = 100 * 2.0 * 10 * 20 * 30;
    assert_close(kernel_forward(&gpu, attention, 0, 100, DTYPE_BF16).time_s, flop / 80e12, 1e-3);
    attention->layers[0].fused = true;
    assert_close(kernel_forward(&gpu, attention, 0, 100, DTYPE_BF16).time_s, flop / 20e12, 1e-3);
    gpu.framework.vendor_attention = true;
    assert_close(kernel_forward(&gpu, attention, 0, 100, DTYPE_BF16).time_s, flop / 40e12, 1e-3);
}

/* Half of the traffic of a normalisation, nothing of a product's; a convolution at 0.5 of 0.4. */
static void a_framework_saves_traffic_and_loses_convolutions(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.conv_frac[DTYPE_FP16] = 0.4;
    struct gpu driven = gpu;
    driven.framework = (struct framework){.saved_frac = 0.5, .half_lost_frac = 0.5};
    struct model *norm = one_layer(LAYER_NORM, true, *state);
    struct model *linear = one_product(LAYER_LINEAR, *state);
    struct model *conv = one_product(LAYER_CONV, *state);
    assert_close(kernel_forward(&driven, norm, 0, 100, DTYPE_FP16).hbm_B,
                 0.5 * kernel_forward(&gpu, norm, 0, 100, DTYPE_FP16).hbm_B, 1e-12);
    assert_close(kernel_forward(&driven, linear, 0, 1e4, DTYPE_FP16).time_s,
                 kernel_forward(&gpu, linear, 0, 1e4, DTYPE_FP16).time_s, 1e-12);
    double rest_s = 2e-6 + 6e6 / 0.8e12; /* floor and result */
    double arithmetic_s = 2.0 * 1e5 * 20 * 30 / (100e12 * 0.4);
    double operands_s = (2e6 + 600) * 2 / 0.8e12;
    assert_close(kernel_forward(&gpu, conv, 0, 1e4, DTYPE_FP16).time_s,
                 hypot(arithmetic_s, operands_s) + rest_s, 1e-12);
    assert_close(kernel_forward(&driven, conv, 0, 1e4, DTYPE_FP16).time_s,
                 hypot(2 * arithmetic_s, operands_s) + rest_s, 1e-12);
}

/* a convolution by 3 x 3 of 32 x 32 pixels and 8 channels, behind a layer that lets gradients pass */
static struct model *short_convolution(struct arena *perm)
{
    struct builder b = builder_open("conv", "image", "made up", perm);
    struct shape image = shape_image(8, 32, 32);
    brick_act(&b, "act", image);
    brick_conv(&b, "conv", image, 8, window_square(3, 1, 1));
    return b.model;
}

/* Bound by arithmetic (memory without limit): of 36 multiplications 16 are left, in fp32 alone. */
static void transforms_save_multiplications_in_fp32(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.hbm_Bps = 1e30;
    gpu.kernel_floor_s = 0;
    struct gpu driven = gpu;
    driven.framework.winograd = 2.25;
    struct model *conv = short_convolution(*state);
    assert_close(kernel_forward(&driven, conv, 1, 10, DTYPE_FP32).time_s,
                 kernel_forward(&gpu, conv, 1, 10, DTYPE_FP32).time_s / 2.25, 1e-9);
    assert_close(kernel_backward(&driven, conv, 1, 10, DTYPE_FP32).time_s,
                 kernel_backward(&gpu, conv, 1, 10, DTYPE_FP32).time_s / 2.25, 1e-9);
    assert_close(kernel_forward(&driven, conv, 1, 10, DTYPE_FP16).time_s,
                 kernel_forward(&gpu, conv, 1, 10, DTYPE_FP16).time_s, 1e-9);
}

/* 8 x 32 x 32 elements in and out of 10 images and 8 x 8 x 9 weights, 2 bytes, read and written once
 * more; what has no matrix units to please is left as it is. */
static void channels_first_are_transposed_for_matrix_units(void **state)
{
    struct gpu gpu = rig_gpu();
    struct gpu driven = gpu;
    driven.framework.half_transposed_frac = 1.0;
    struct model *conv = short_convolution(*state);
    double more_B = kernel_forward(&driven, conv, 1, 10, DTYPE_FP16).hbm_B -
                    kernel_forward(&gpu, conv, 1, 10, DTYPE_FP16).hbm_B;
    assert_close(more_B, 2 * (10 * 2 * 8192 + 576) * 2.0, 1e-9);
    assert_close(kernel_forward(&driven, conv, 1, 10, DTYPE_FP32).hbm_B,
                 kernel_forward(&gpu, conv, 1, 10, DTYPE_FP32).hbm_B, 1e-9);
}

/* Forward and the input's gradient are products of 1,024 x 8 by a sum of 72, to which a wave adds its
 * elements; the weight's gradient is divided along its sum and loses none. */
static void part_of_a_wave_computes_nothing(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.hbm_Bps = 1e30;
    gpu.kernel_floor_s = 0;
    struct gpu waves = gpu;
    waves.conv_wave = 8192;
    struct model *conv = short_convolution(*state);
    double product_s = 2.0 * 1024 * 8 * 72 / 8e12;
    assert_close(kernel_forward(&gpu, conv, 1, 1, DTYPE_FP32).time_s, product_s, 1e-9);
    assert_close(kernel_forward(&waves, conv, 1, 1, DTYPE_FP32).time_s, 2 * product_s, 1e-9);
    assert_close(kernel_backward(&waves, conv, 1, 1, DTYPE_FP32).time_s, 3 * product_s, 1e-9);
}

/* One product where the convolution sees the image, two where it sees a layer. */
static void an_image_has_no_gradient(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.hbm_Bps = 1e30;
    gpu.kernel_floor_s = 0;
    struct builder b = builder_open("conv", "image", "made up", *state);
    brick_conv(&b, "conv", shape_image(8, 32, 32), 8, window_square(3, 1, 1));
    double product_s = 2.0 * 1024 * 8 * 72 / 8e12;
    assert_close(kernel_backward(&gpu, b.model, 0, 1, DTYPE_FP32).time_s, product_s, 1e-9);
    assert_close(kernel_backward(&gpu, short_convolution(*state), 1, 1, DTYPE_FP32).time_s,
                 2 * product_s, 1e-9);
}

/* 8 channels of 1,024 pixels by 9 points each, at a sixteenth of 10 TFLOP/s, in any type. */
static void a_convolution_of_each_channel_alone_runs_on_vector_units(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.hbm_Bps = 1e30;
    gpu.kernel_floor_s = 0;
    gpu.vector_flops = 10e12;
    gpu.framework.depthwise_frac = 1.0 / 16.0;
    struct builder b = builder_open("conv", "image", "made up", *state);
    brick_conv(&b, "conv", shape_image(8, 32, 32), 8, window_grouped(window_square(3, 1, 1), 8));
    double product_s = 2.0 * 8 * 1024 * 9 / (10e12 / 16.0);
    assert_close(kernel_forward(&gpu, b.model, 0, 1, DTYPE_FP32).time_s, product_s, 1e-9);
    assert_close(kernel_forward(&gpu, b.model, 0, 1, DTYPE_FP16).time_s, product_s, 1e-9);
}

/* A marked layer moves 4 bytes where another moves 2, under a framework that keeps such layers wide. */
static void a_wide_layer_of_images_stays_in_32_bits(void **state)
{
    struct gpu gpu = rig_gpu();
    gpu.framework.wide_text = true;
    struct builder b = builder_open("norm", "image", "made up", *state);
    brick_act(&b, "narrow", shape_image(8, 32, 32));
    brick_act(&b, "wide", shape_image(8, 32, 32));
    brick_wide(&b);
    assert_close(kernel_forward(&gpu, b.model, 0, 1, DTYPE_FP16).hbm_B, 2 * 8192 * 2.0, 1e-12);
    assert_close(kernel_forward(&gpu, b.model, 1, 1, DTYPE_FP16).hbm_B, 2 * 8192 * 4.0, 1e-12);
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

/* A frozen network in front of the trained one runs forward and is done: its backward takes no time,
 * its parameters are no tensors and it keeps nothing. */
static void what_runs_forward_only_has_no_backward(void **state)
{
    struct arena *perm = *state;
    struct builder b = builder_open("m", "image", "made up", perm);
    b.forward_only = true;
    brick_linear(&b, "frozen", 1.0, 1000, 1000);
    b.forward_only = false;
    brick_linear(&b, "trained", 1.0, 1000, 1000);
    struct gpu gpu = rig_gpu();
    assert_int_equal(model_n_parameters(b.model), 1000 * 1000);
    assert_close(b.model->layers[0].frozen_elements, 1e6, 0.0);
    assert_close(kernel_backward(&gpu, b.model, 0, 8.0, DTYPE_FP16).time_s, 0.0, 0.0);
    assert_true(kernel_backward(&gpu, b.model, 1, 8.0, DTYPE_FP16).time_s > 0.0);
    assert_close(kernel_forward(&gpu, b.model, 0, 8.0, DTYPE_FP16).time_s,
                 kernel_forward(&gpu, b.model, 1, 8.0, DTYPE_FP16).time_s, 1e-12);
}

/* 2 x 1e3 x 1e3 x 1e3 FLOP at 8 TFLOP/s = 250 us, operands 2e6 x 4 B at 0.8 TB/s = 10 us: hypot 250.2 us;
 * result 5 us; floor 2 us. With half of the memory's rate for products operands take 20 us and the result
 * 10 us; a step of 10 ns adds 10 ns x 1000 / (1 + 1000 / 1024) = 5.06 us. */
static void a_product_alone_is_what_its_formula_says(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    struct kernel_shape shape = {1e3, 1e3, 1e3, 1, PRODUCT_NN, 0};
    double plain_s = hypot(250e-6, 10e-6) + 5e-6 + 2e-6;
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s, plain_s, 1e-12);
    gpu.product_memory = 0.5;
    gpu.product_step_s = 10e-9;
    double slow_s = hypot(250e-6, 20e-6) + 10e-6 + 2e-6 + 10e-6 / (1.0 + 1000.0 / 1024.0);
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s, slow_s, 1e-12);
}

/* As above, but operands that are transposed are computed at 0.8 of the rate and moved at half of the
 * memory's: 312.5 us, 20 us, 10 us, 2 us. */
static void a_product_takes_its_layout(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    gpu.layout_rate[PRODUCT_NT] = 0.8;
    gpu.layout_memory[PRODUCT_NT] = 0.5;
    struct kernel_shape shape = {1e3, 1e3, 1e3, 1, PRODUCT_NT, 0};
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s,
                 hypot(312.5e-6, 20e-6) + 10e-6 + 2e-6, 1e-12);
    shape.layout = PRODUCT_TN;
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s,
                 hypot(250e-6, 10e-6) + 5e-6 + 2e-6, 1e-12);
}

/* 1000 x 1000 outputs of 1000 by layers: forward is nt, the input's gradient nn, the weight's tn. With all
 * of the time in arithmetic (250 us each) twice the rate of one layout halves its product alone. */
static void a_layers_products_have_their_layouts(void **state)
{
    struct builder b = builder_open("m", "image", "made up", *state);
    brick_linear(&b, "layer", 1.0, 1000, 1000);
    struct gpu gpu = rig_gpu();
    gpu.hbm_Bps *= 1e6;
    double forward_s = kernel_forward(&gpu, b.model, 0, 1e3, DTYPE_FP32).time_s;
    double backward_s = kernel_backward(&gpu, b.model, 0, 1e3, DTYPE_FP32).time_s;
    gpu.layout_rate[PRODUCT_NT] = 2.0;
    assert_close(kernel_forward(&gpu, b.model, 0, 1e3, DTYPE_FP32).time_s, forward_s - 125e-6,
                 1e-4);
    assert_close(kernel_backward(&gpu, b.model, 0, 1e3, DTYPE_FP32).time_s, backward_s, 1e-12);
    gpu.layout_rate[PRODUCT_TN] = 2.0;
    assert_close(kernel_backward(&gpu, b.model, 0, 1e3, DTYPE_FP32).time_s, backward_s - 125e-6,
                 1e-4);
}

/* 64 multiprocessors. 8192 x 2048 is 512 tiles of 256 x 128: 8 waves, all full, and nothing smaller loads
 * less; 2 x 8192 x 2048 x 4096 FLOP at 8 TFLOP/s = 17.18 ms. One row more is 64 of the smallest tiles,
 * 32 x 32, in a row: a wave of its own, the least that can be added. */
static void tiles_go_to_multiprocessors_in_waves(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    gpu.hbm_Bps *= 1e6;
    gpu.multiprocessors = 64;
    gpu.tile_load = 1e-6;
    struct kernel_shape shape = {8192, 2048, 4096, 1, PRODUCT_NN, 0};
    double full_s = 2.0 * 8192 * 2048 * 4096 / 8e12;
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s, full_s + 2e-6, 1e-5);
    shape.m = 8193;
    double wave_s = 2.0 * 64 * 32 * 32 * 4096 / 8e12;
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s, full_s + wave_s + 2e-6, 1e-5);
    shape = (struct kernel_shape){32, 32, 8192, 1, PRODUCT_NN, 0}; /* 64 parts of 128, a wave */
    assert_close(kernel_product(&gpu, &shape, DTYPE_FP32).time_s,
                 2.0 * 64 * 32 * 32 * 128 / 8e12 + 2e-6, 1e-5);
}

/* 64 multiprocessors; 2048 x 8192 in 16 tiles of 128 along the short side and 32 of 256 across it: a wave
 * is 4 columns, so there are 8 passes, and each but the first reads 2048 rows of 4096 x 4 B again, 14336 of
 * 16 KiB in all. 16 MiB of cache hold half of the 2048 rows, 32 MiB all. Other cuts have as many passes or more.
 * Along the long side a pass would have 8192 rows. */
static void waves_read_again_what_the_cache_does_not_hold(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    gpu.multiprocessors = 64;
    gpu.tile_load = 1e-6;
    const struct kernel_shape shapes[] = {{2048, 8192, 4096, 1, PRODUCT_NN, 0},
                                          {8192, 2048, 4096, 1, PRODUCT_NN, 0}};
    for (int s = 0; s < 2; s++) {
        gpu.product_reread = 0.0;
        double once_s = kernel_product(&gpu, &shapes[s], DTYPE_FP32).time_s;
        gpu.product_reread = 0.5;
        for (int half = 0; half <= 2; half++) {
            gpu.cache_B = 16.0 * 1024 * 1024 * half;
            double again_B = 14336.0 * 16384 * (2 - half) / 2.0;
            double again_s = kernel_product(&gpu, &shapes[s], DTYPE_FP32).time_s - once_s;
            assert_close(again_s + 1.0, 0.5 * again_B / 0.8e12 + 1.0, 1e-9);
        }
    }
}

/* 2 multiprocessors and a column of 4 tiles of 256: 2 waves, so the other side's 128 rows are read twice, and
 * those along it once. Across, 4 passes of a column of one tile, two in a wave: its 128 rows once more too. */
static void a_column_longer_than_a_wave_reads_the_other_side_again(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    gpu.multiprocessors = 2;
    gpu.tile_load = 1e-6;
    struct kernel_shape shape = {1024, 128, 4096, 1, PRODUCT_NN, 0};
    double once_s = kernel_product(&gpu, &shape, DTYPE_FP32).time_s;
    gpu.product_reread = 1.0;
    double again_s = kernel_product(&gpu, &shape, DTYPE_FP32).time_s - once_s;
    assert_close(again_s + 1.0, 128.0 * 16384 / 0.8e12 + 1.0, 1e-9);
}

/* A result of 1024 x 2048 that is added to a sum in fp32 is read and written, 8 B each instead of the
 * 2 B of fp16: 6 B more of each at the memory's rate. */
static void a_product_that_is_added_to_a_sum_moves_it_twice(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    struct kernel_shape shape = {1024, 2048, 64, 1, PRODUCT_TN, 0};
    struct kernel_time anew = kernel_product(&gpu, &shape, DTYPE_FP16);
    shape.result_B = 8;
    struct kernel_time added = kernel_product(&gpu, &shape, DTYPE_FP16);
    assert_close(added.hbm_B - anew.hbm_B, 6.0 * 1024 * 2048, 1e-12);
    assert_close(added.time_s - anew.time_s, 6.0 * 1024 * 2048 / (gpu.hbm_Bps * gpu.hbm_frac),
                 1e-9);
}

static void no_bigger_product_is_faster_on(const struct gpu *gpu)
{
    for (double m = 1; m < 2e4; m *= 3) {
        for (double n = 1; n < 2e4; n *= 3) {
            double before[3] = {0, 0, 0};
            for (double k = 1; k < 2e4; k *= 1.2) {
                struct kernel_shape shapes[] = {{m, n, k, 1, PRODUCT_NT, 0},
                                                {k, m, n, 1, PRODUCT_NT, 0},
                                                {m, k, n, 1, PRODUCT_NT, 0}};
                for (int s = 0; s < 3; s++) {
                    double time_s = kernel_product(gpu, &shapes[s], DTYPE_FP16).time_s;
                    assert_true(time_s >= before[s]);
                    before[s] = time_s;
                }
            }
        }
    }
}

/* Sides from 1 to 20,000 in steps of a fifth, one lengthened at a time; all terms at work, by an edge and
 * by tiles. */
static void a_bigger_product_is_never_faster(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    gpu.tile_edge = 40.0;
    gpu.product_floor_s = 5e-6;
    gpu.product_memory = 0.4;
    gpu.product_step_s = 20e-9;
    gpu.layout_rate[PRODUCT_NT] = 1.1;
    gpu.layout_memory[PRODUCT_NT] = 0.6;
    no_bigger_product_is_faster_on(&gpu);
    gpu.multiprocessors = 80;
    for (double load = 0.5; load < 200; load *= 5) {
        gpu.tile_load = load;
        gpu.product_reread = 0.0;
        no_bigger_product_is_faster_on(&gpu);
        gpu.product_reread = load / 10.0;
        gpu.cache_B = 4e6;
        no_bigger_product_is_faster_on(&gpu);
    }
}

/* Fused: 2 products of 2 x 128 x 128 x 64 FLOP by 12 heads. Unfused: its three parts. */
static void attention_alone_is_its_parts(void **state)
{
    (void)state;
    struct gpu gpu = rig_gpu();
    gpu.attention_frac = 0.4;
    struct kernel_shape shape = {128, 128, 64, 12, PRODUCT_NT, 0};
    struct kernel_shape values = {128, 64, 128, 12, PRODUCT_NN, 0};
    double arithmetic_s = 2.0 * 2.0 * 128 * 128 * 64 * 12 / 40e12;
    double read_s = 12.0 * 3 * 128 * 64 * 2 / 0.8e12, written_s = 12.0 * 128 * 64 * 2 / 0.8e12;
    assert_close(kernel_attention(&gpu, &shape, DTYPE_FP16, true).time_s,
                 hypot(arithmetic_s, read_s) + written_s + 2e-6, 1e-12);
    double parts_s = kernel_product(&gpu, &shape, DTYPE_FP16).time_s +
                     kernel_product(&gpu, &values, DTYPE_FP16).time_s +
                     kernel_stream(&gpu, 2.0 * 12 * 128 * 128 * 2).time_s;
    assert_close(kernel_attention(&gpu, &shape, DTYPE_FP16, false).time_s, parts_s, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unfused_layer_adds_arithmetic_and_memory),
        cmocka_unit_test(fused_layer_takes_the_longer),
        cmocka_unit_test(backward_of_a_product_is_two_products),
        cmocka_unit_test(frozen_weights_have_no_gradient),
        cmocka_unit_test(a_product_computes_its_edges_and_writes_its_result_last),
        cmocka_unit_test(backward_products_have_their_own_shapes),
        cmocka_unit_test(samples_make_products_longer_or_more),
        cmocka_unit_test(no_dimension_makes_a_product_faster),
        cmocka_unit_test(only_linear_layers_are_narrower_than_16_bits),
        cmocka_unit_test(casts_read_and_write_what_the_framework_says),
        cmocka_unit_test(fused_attention_has_its_own_rate),
        cmocka_unit_test(a_framework_saves_traffic_and_loses_convolutions),
        cmocka_unit_test(transforms_save_multiplications_in_fp32),
        cmocka_unit_test(channels_first_are_transposed_for_matrix_units),
        cmocka_unit_test(part_of_a_wave_computes_nothing),
        cmocka_unit_test(an_image_has_no_gradient),
        cmocka_unit_test(a_convolution_of_each_channel_alone_runs_on_vector_units),
        cmocka_unit_test(a_wide_layer_of_images_stays_in_32_bits),
        cmocka_unit_test(half_precision_moves_half_the_bytes),
        cmocka_unit_test(look_up_reads_rows_and_writes_the_table),
        cmocka_unit_test(more_samples_never_take_less_time),
        cmocka_unit_test(resnet50_has_the_right_order_of_magnitude),
        cmocka_unit_test(an_image_is_cheaper_in_a_bigger_batch),
        cmocka_unit_test(optimizer_is_bound_by_memory),
        cmocka_unit_test(a_product_alone_is_what_its_formula_says),
        cmocka_unit_test(a_product_takes_its_layout),
        cmocka_unit_test(a_layers_products_have_their_layouts),
        cmocka_unit_test(tiles_go_to_multiprocessors_in_waves),
        cmocka_unit_test(waves_read_again_what_the_cache_does_not_hold),
        cmocka_unit_test(a_column_longer_than_a_wave_reads_the_other_side_again),
        cmocka_unit_test(a_product_that_is_added_to_a_sum_moves_it_twice),
        cmocka_unit_test(a_bigger_product_is_never_faster),
        cmocka_unit_test(attention_alone_is_its_parts),
        cmocka_unit_test(copy_reads_and_writes),
        cmocka_unit_test(what_runs_forward_only_has_no_backward),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
