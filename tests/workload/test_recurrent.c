#include "workload/recurrent.h"

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

/* The state's product runs once per position, 26 times one row by 1024 x 4096; the inputs' product
 * is one of 26 rows. */
static void states_come_one_after_the_other(void **state)
{
    const struct model *model = rig_model("gnmt-v2", *state);
    const struct layer *steps = layer_named(model, "encoder.2.state");
    const struct layer *input = layer_named(model, "encoder.2.input");
    assert_close(steps->n_products, 26.0, 0.0);
    assert_close(steps->m, 1.0, 0.0);
    assert_int_equal(steps->n_kernels, 26);
    assert_close(input->m, 26.0, 0.0);
    assert_int_equal(input->n_kernels, 1);
    assert_close(steps->flop, input->flop, 0.0);
}

/* The second layer reads both directions of the first; all decoder layers but the first read the
 * context beside the layer below. */
static void layers_read_both_ways_and_the_context(void **state)
{
    const struct model *model = rig_model("gnmt-v2", *state);
    assert_close(layer_named(model, "encoder.1.input")->k, 2048.0, 0.0);
    assert_close(layer_named(model, "decoder.0.input")->k, 1024.0, 0.0);
    assert_close(layer_named(model, "decoder.3.input")->k, 2048.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_come_one_after_the_other),
        cmocka_unit_test(layers_read_both_ways_and_the_context),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
