#include "workload/efficientnet.h"

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

/* Block 2.0 of B0 widens 16 channels to 96; each channel is a product of its own with 3x3. It is
 * squeezed to a quarter of the 16, or of the 96 where squeezes are wide. */
static void blocks_widen_and_squeeze(void **state)
{
    const struct model *narrow = rig_model("efficientnet-b0", *state);
    const struct model *wide = rig_model("efficientnet-widese-b0", *state);
    const struct layer *depth = layer_named(narrow, "features.2.0.depth");
    assert_close(depth->n_products, 96.0, 0.0);
    assert_close(depth->k, 9.0, 0.0);
    assert_close(layer_named(narrow, "features.2.0.se.fc1")->n, 4.0, 0.0);
    assert_close(layer_named(wide, "features.2.0.se.fc1")->n, 24.0, 0.0);
}

/* The levels of a 512 x 512 image: 64, 32, 16, 8 and 4 along a side. */
static void detector_sees_five_levels(void **state)
{
    const struct model *model = rig_model("efficientdet-d0", *state);
    double points = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        if (strncmp(layer->name, "box.predict.point", 17) == 0) points += layer->m;
    }
    assert_close(points, 4096.0 + 1024 + 256 + 64 + 16, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_widen_and_squeeze),
        cmocka_unit_test(detector_sees_five_levels),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
