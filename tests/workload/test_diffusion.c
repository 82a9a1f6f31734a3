#include "workload/diffusion.h"

#include "rig.h"
#include "test.h"

/* HuggingFace: the text half of OpenCLIP ViT-H without its last layer has 340387840 parameters, the
 * image encoder of the autoencoder 34163592 and its last 1x1 convolution 72; none is trained. */
static void encoders_run_forward_only(void **state)
{
    const struct model *model = rig_model("stable-diffusion-2-base", *state);
    double frozen = 0.0;
    for (int l = 0; l < model->n_layers; l++) frozen += model->layers[l].frozen_elements;
    assert_close(frozen, 340387840.0 + 34163592.0 + 72.0, 0.0);
}

/* Four times the points cost four times as much in convolutions, more in attention to oneself. */
static void larger_images_cost_more_than_their_points(void **state)
{
    double small = model_flop_per_sample(rig_model("stable-diffusion-2-base-latents-256", *state));
    double large = model_flop_per_sample(rig_model("stable-diffusion-2-base-latents-512", *state));
    assert_true(large > 4.0 * small && large < 16.0 * small);
}

/* Every skip that goes down comes up: the last block of the decoder reads 320 + 320 channels. */
static void skips_are_all_used(void **state)
{
    const struct model *model = rig_model("stable-diffusion-2-base-latents-512", *state);
    double k = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        if (strcmp(model->layers[l].name, "up.0.2.conv1") == 0) k = model->layers[l].k;
    }
    assert_close(k, 640.0 * 9, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoders_run_forward_only),
        cmocka_unit_test(larger_images_cost_more_than_their_points),
        cmocka_unit_test(skips_are_all_used),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
