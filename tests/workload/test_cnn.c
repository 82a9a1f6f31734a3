#include "workload/cnn.h"

#include "rig.h"
#include "test.h"

static const struct layer *layer_named(const struct model *model, const char *name)
{
    for (int l = 0; l < model->n_layers; l++) {
        if (strcmp(model->layers[l].name, name) == 0) return &model->layers[l];
    }
    fail_msg("no layer %s in %s", name, model->name);
    return NULL;
}

/* conv1: 7x7 over 3 channels to 64 at 112 x 112: 2 * 64 * 147 * 112^2 FLOP. */
static void first_convolution_of_resnet_by_hand(void **state)
{
    const struct layer *conv = layer_named(rig_model("resnet50", *state), "conv1");
    assert_close(conv->flop, 2.0 * 64 * 147 * 112 * 112, 0.0);
    assert_close(conv->read_elements, 3.0 * 224 * 224, 0.0);
    assert_close(conv->written_elements, 64.0 * 112 * 112, 0.0);
}

/* As a product: 112^2 output pixels by 64 channels, each a sum over a 7x7 window of 3 channels. */
static void convolution_is_a_product_of_pixels_and_windows(void **state)
{
    const struct layer *conv = layer_named(rig_model("resnet50", *state), "conv1");
    assert_close(conv->m, 112.0 * 112, 0.0);
    assert_close(conv->n, 64.0, 0.0);
    assert_close(conv->k, 3.0 * 49, 0.0);
    assert_close(conv->n_products, 1.0, 0.0);
}

/* Every matrix layer of every model says what product it is: 2 m n k per product is its FLOP. */
static void products_make_the_flop(void **state)
{
    for (int i = 0; i < n_model_kinds; i++) {
        const struct model *model = model_kinds[i].build(&model_kinds[i], 0, *state);
        for (int l = 0; l < model->n_layers; l++) {
            const struct layer *layer = &model->layers[l];
            double flop = 2.0 * layer->m * layer->n * layer->k * layer->n_products;
            if (layer_is_matrix(layer->kind)) assert_close(flop, layer->flop, 1e-12);
        }
    }
}

/* v1 halves the image in the first 1x1 of a stage, v1.5 in the 3x3 behind it: the 3x3 costs the
 * same (its output is the small image in both), the 1x1 before it four times as much. */
static void version_moves_the_stride(void **state)
{
    const struct model *v1 = rig_model("resnet50", *state);
    const struct model *v15 = rig_model("resnet50-v1.5", *state);
    assert_close(layer_named(v15, "layer2.0.conv1")->flop,
                 4.0 * layer_named(v1, "layer2.0.conv1")->flop, 0.0);
    assert_close(layer_named(v15, "layer2.0.conv2")->flop, layer_named(v1, "layer2.0.conv2")->flop,
                 0.0);
    assert_int_equal(v1->n_tensors, v15->n_tensors);
    for (int t = 0; t < v1->n_tensors; t++) {
        assert_int_equal(v1->tensors[t].n_elements, v15->tensors[t].n_elements);
        assert_string_equal(v1->tensors[t].name, v15->tensors[t].name);
    }
}

/* torchvision's resnet50.named_parameters(): 161 tensors; conv1.weight, bn1.weight, bn1.bias,
 * layer1.0.conv1.weight first, fc.weight and fc.bias last; the shortcut behind its block's own. */
static void tensors_stand_in_registration_order(void **state)
{
    const struct model *model = rig_model("resnet50-v1.5", *state);
    assert_int_equal(model->n_tensors, 161);
    static const char *const first[] = {"conv1.weight", "bn1.weight", "bn1.bias",
                                        "layer1.0.conv1.weight"};
    for (int t = 0; t < 4; t++) assert_string_equal(model->tensors[t].name, first[t]);
    assert_string_equal(model->tensors[12].name, "layer1.0.downsample.0.weight");
    assert_string_equal(model->tensors[159].name, "fc.weight");
    assert_string_equal(model->tensors[160].name, "fc.bias");
    assert_int_equal(model->tensors[159].n_elements, 2048 * 1000);
}

/* The width of what enters the classifier: 512 x 7 x 7 (VGG), 256 x 6 x 6 (AlexNet), 2048
 * (Inception). */
static void images_shrink_to_the_published_size(void **state)
{
    assert_close(layer_named(rig_model("vgg16", *state), "classifier.0")->read_elements, 25088, 0);
    assert_close(layer_named(rig_model("alexnet", *state), "classifier.1")->read_elements, 9216, 0);
    assert_close(layer_named(rig_model("inception-v3", *state), "fc")->read_elements, 2048, 0);
}

/* Inception's grid: 35 x 35 x 288, 17 x 17 x 768, 8 x 8 x 2048 (Szegedy et al., table 1). The copy
 * of a reducing block holds its convolutions only: 480 = 768 - 288 channels. */
static void inception_blocks_have_the_published_grid(void **state)
{
    const struct model *model = rig_model("inception-v3", *state);
    assert_close(layer_named(model, "Mixed_5d.cat")->written_elements, 288.0 * 35 * 35, 0);
    assert_close(layer_named(model, "Mixed_6a.cat")->written_elements, 480.0 * 17 * 17, 0);
    assert_close(layer_named(model, "Mixed_6e.cat")->written_elements, 768.0 * 17 * 17, 0);
    assert_close(layer_named(model, "Mixed_7c.cat")->written_elements, 2048.0 * 8 * 8, 0);
}

/* VGG-16 keeps: image, one ReLU output per convolution, output and index (2 words) of each pooling,
 * ReLU output, dropout output and mask of two wide layers, two rows of the loss. */
static void vgg_keeps_what_pytorch_keeps(void **state)
{
    double s = 224.0 * 224.0;
    double relu =
        2 * 64 * s + 2 * 128 * s / 4 + 3 * 256 * s / 16 + 3 * 512 * s / 64 + 3 * 512 * s / 256;
    double pool = 3 * (64 * s / 4 + 128 * s / 16 + 256 * s / 64 + 512 * s / 256 + 512 * s / 1024);
    double wanted = 3 * s + relu + pool + 2 * 4096 * 2.25 + 2000;
    assert_close(model_kept_elements(rig_model("vgg16", *state)), wanted, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_convolution_of_resnet_by_hand),
        cmocka_unit_test(convolution_is_a_product_of_pixels_and_windows),
        cmocka_unit_test(products_make_the_flop),
        cmocka_unit_test(version_moves_the_stride),
        cmocka_unit_test(tensors_stand_in_registration_order),
        cmocka_unit_test(images_shrink_to_the_published_size),
        cmocka_unit_test(inception_blocks_have_the_published_grid),
        cmocka_unit_test(vgg_keeps_what_pytorch_keeps),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
