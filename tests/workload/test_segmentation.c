#include "workload/segmentation.h"

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

/* DeepLab's last stage stays at an eighth of 512 x 1024 and spreads its windows instead. */
static void deeplab_stays_at_an_eighth(void **state)
{
    const struct model *model = rig_model("deeplabv3+", *state);
    assert_close(layer_named(model, "backbone.layer4.2.conv2")->m, 64.0 * 128, 0.0);
    assert_close(layer_named(model, "classifier")->m, 128.0 * 256, 0.0);
}

/* HRNet keeps its finest branch of 18 channels at a quarter to the end; the coarsest has 144 at a
 * thirty-second. The head reads all: 18 + 36 + 72 + 144. */
static void hrnet_keeps_its_finest_branch(void **state)
{
    const struct model *model = rig_model("hrnet-w18", *state);
    assert_close(layer_named(model, "stage4.2.branch0.3.conv2")->m, 128.0 * 256, 0.0);
    assert_close(layer_named(model, "stage4.2.branch3.3.conv2")->m, 16.0 * 32, 0.0);
    assert_close(layer_named(model, "head.mix")->k, 270.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deeplab_stays_at_an_eighth),
        cmocka_unit_test(hrnet_keeps_its_finest_branch),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
