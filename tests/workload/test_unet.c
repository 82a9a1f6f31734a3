#include "workload/unet.h"

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

/* Ronneberger et al., fig. 1: 572 -> 568, 280, 136, 64, 28 on the way down and 388 at the end. */
static void unpadded_images_shrink_as_in_the_figure(void **state)
{
    const struct model *model = rig_model("unet-medical", *state);
    static const int sides[] = {568, 280, 136, 64, 28};
    for (int i = 0; i < 5; i++) {
        const char *name = arena_text(*state, "down%d.conv2", i);
        assert_close(layer_named(model, name)->m, (double)sides[i] * sides[i], 0.0);
    }
    assert_close(layer_named(model, "out")->m, 388.0 * 388, 0.0);
}

/* Five halvings of 128^3 leave 4^3; the decoder reads its own 32 channels beside the skip's 32. */
static void volumes_are_halved_five_times_and_come_back(void **state)
{
    const struct model *model = rig_model("nnunet-3d", *state);
    assert_close(layer_named(model, "down5.conv2")->m, 64.0, 0.0);
    assert_close(layer_named(model, "up0.conv1")->k, 64.0 * 27, 0.0);
    assert_close(layer_named(model, "up0.conv2")->m, 128.0 * 128 * 128, 0.0);
}

/* V-Net's blocks: 16, 32, 64, 128 channels down; up again twice what the skip has. */
static void vnet_doubles_its_channels_with_each_halving(void **state)
{
    const struct model *model = rig_model("vnet", *state);
    assert_close(layer_named(model, "down3.conv0")->n, 128.0, 0.0);
    assert_close(layer_named(model, "down3.conv0")->m, 64.0, 0.0);
    assert_close(layer_named(model, "up2.conv0")->n, 128.0, 0.0);
    assert_close(layer_named(model, "up1.conv0")->n, 64.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpadded_images_shrink_as_in_the_figure),
        cmocka_unit_test(volumes_are_halved_five_times_and_come_back),
        cmocka_unit_test(vnet_doubles_its_channels_with_each_halving),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
