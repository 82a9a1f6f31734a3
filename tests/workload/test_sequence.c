#include "workload/sequence.h"

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

/* A segment of 192 attends to itself and to the 192 before it, by content and by distance. */
static void a_segment_attends_to_the_one_before(void **state)
{
    const struct model *model = rig_model("transformer-xl-base", *state);
    assert_close(layer_named(model, "layers.0.qkv")->m, 384.0, 0.0);
    assert_close(layer_named(model, "layers.0.distance")->n, 384.0, 0.0);
    assert_close(layer_named(model, "layers.0.attention.scores")->m, 192.0, 0.0);
    assert_close(layer_named(model, "layers.0.fc1")->m, 192.0, 0.0);
}

/* Words that are rare have rows of a quarter of the width each group: 1024, 256, 64, 16. */
static void rare_words_have_narrow_rows(void **state)
{
    const struct model *model = rig_model("transformer-xl-large", *state);
    static const int64_t elements[] = {19997 * 1024, 20000 * 256, 160000 * 64, 67738 * 16};
    for (int g = 0; g < 4; g++) {
        const struct layer *table = layer_named(model, arena_text(*state, "embedding%d", g));
        assert_int_equal(model->tensors[table->first_tensor].n_elements, elements[g]);
    }
}

/* Vaswani et al., table 3: the big model has 213 million parameters with 37000 words; a token of
 * source and of target costs about two FLOP for each but those of the table, which is read once as
 * the head: 2 (210.9 M) less norms and biases, plus attention. */
static void a_token_costs_two_flop_per_parameter(void **state)
{
    const struct model *model = rig_model("transformer-big", *state);
    double n = (double)model_n_parameters(model);
    assert_close(model_flop_per_sample(model), 2.0 * n, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_attends_to_the_one_before),
        cmocka_unit_test(rare_words_have_narrow_rows),
        cmocka_unit_test(a_token_costs_two_flop_per_parameter),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
