#include "workload/speech.h"

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

/* Dense residuals: block i adds what i 1x1 convolutions make of all inputs so far: 55 in ten. */
static void jasper_blocks_read_all_blocks_before_them(void **state)
{
    const struct model *model = rig_model("jasper", *state);
    int n = 0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        n += layer->kind == LAYER_CONV && strstr(layer->name, ".res") != NULL;
    }
    assert_int_equal(n, 55);
}

/* 1680 frames of 10 ms, halved once: 840 columns of 29 scores. */
static void time_is_halved_once(void **state)
{
    assert_close(layer_named(rig_model("jasper", *state), "decoder")->m, 840.0, 0.0);
    assert_close(layer_named(rig_model("quartznet", *state), "decoder")->m, 840.0, 0.0);
}

/* QuartzNet's wide windows see one channel each: 512 products with windows of 75. */
static void quartznet_looks_at_channels_alone(void **state)
{
    const struct layer *depth = layer_named(rig_model("quartznet", *state), "block15.conv4.depth");
    assert_close(depth->n_products, 512.0, 0.0);
    assert_close(depth->k, 75.0, 0.0);
    assert_close(depth->n, 1.0, 0.0);
}

/* FastPitch's decoder works on frames, its encoder on symbols. */
static void fastpitch_encodes_symbols_and_decodes_frames(void **state)
{
    const struct model *model = rig_model("fastpitch", *state);
    assert_close(layer_named(model, "encoder.0.conv1")->m, 154.0, 0.0);
    assert_close(layer_named(model, "decoder.0.conv1")->m, 870.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jasper_blocks_read_all_blocks_before_them),
        cmocka_unit_test(time_is_halved_once),
        cmocka_unit_test(quartznet_looks_at_channels_alone),
        cmocka_unit_test(fastpitch_encodes_symbols_and_decodes_frames),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
