#include "workload/model.h"

#include "test.h"
#include "workload/builder.h"

/* is_rounded — a count that was published with four digits or fewer ("340B", "60.51M") */
static bool is_rounded(int64_t n)
{
    int64_t unit = 1;
    while (n / unit >= 10000) unit *= 10;
    return n % unit == 0;
}

/* For every built-in model: the tensors sum to the published count (the sources stand in the
 * table), to 3 % where that is a round figure ("175B" is 174.6). */
static void parameters_are_the_published_ones(void **state)
{
    int n_exact = 0;
    for (int i = 0; i < n_model_kinds; i++) {
        const struct model_kind *kind = &model_kinds[i];
        int64_t n = model_n_parameters(kind->build(kind, 0, *state));
        bool rounded = is_rounded(kind->n_parameters);
        if (rounded) assert_close((double)n, (double)kind->n_parameters, 0.03);
        if (!rounded) assert_int_equal(n, kind->n_parameters);
        n_exact += !rounded;
    }
    assert_true(2 * n_exact > n_model_kinds);
}

/* The counts once more, so that a slip in the registry's own column shows. */
static void counts_known_by_heart(void **state)
{
    static const struct {
        const char *name;
        int64_t n;
    } known[] = {
        {"resnet18", 11689512},         {"resnet34", 21797672},    {"resnet50", 25557032},
        {"resnet50-v1.5", 25557032},    {"resnet101", 44549160},   {"resnet152", 60192808},
        {"vgg16", 138357544},           {"alexnet", 61100840},     {"inception-v3", 23834568},
        {"bert-base", 110106428},       {"bert-large", 336226108}, {"gpt2", 124439808},
        {"gpt2-medium", 354823168},     {"gpt2-large", 774030080}, {"gpt2-xl", 1557611200},
        {"inception-v3-aux", 27161264}, {"vit-b-16", 86567656},    {"vit-h-14", 632045800},
        {"vit-s-16", 22050664},         {"vit-l-32", 306535400},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct model_kind *kind = model_find(known[i].name);
        assert_non_null(kind);
        assert_int_equal(model_n_parameters(kind->build(kind, 0, *state)), known[i].n);
    }
}

/* Published multiply-adds are rounded to 3 or 4 digits (torchvision) or 2 (He et al.: 3.8 for
 * 3.858). */
static void multiply_adds_are_the_published_ones(void **state)
{
    int n_known = 0;
    for (int i = 0; i < n_model_kinds; i++) {
        const struct model_kind *kind = &model_kinds[i];
        if (kind->gmac <= 0.0) continue;
        double gmac = model_flop_per_sample(kind->build(kind, 0, *state)) / 2e9;
        assert_close(gmac, kind->gmac, 0.016);
        n_known++;
    }
    assert_int_equal(n_known, 22);
}

/* A layer's products, 2 m n k each, are all of its matrix FLOP; other layers have none. Every
 * transformer tells its products. */
static void products_are_the_matrix_flop(void **state)
{
    for (int i = 0; i < n_model_kinds; i++) {
        const struct model *model = model_kinds[i].build(&model_kinds[i], 0, *state);
        for (int l = 0; l < model->n_layers; l++) {
            const struct layer *layer = &model->layers[l];
            double flop = 2 * layer->m * layer->n * layer->k * layer->n_products;
            if (!layer_is_matrix(layer->kind)) assert_close(layer->n_products, 0, 0);
            if (layer->n_products > 0) assert_close(flop, layer->flop, 1e-12);
            if (model->n_blocks > 0 && layer_is_matrix(layer->kind))
                assert_true(layer->n_products > 0);
        }
    }
}

/* Blocks stand in order: -1 before the first, n_blocks behind the last. */
static void blocks_stand_in_order(void **state)
{
    for (int i = 0; i < n_model_kinds; i++) {
        const struct model *model = model_kinds[i].build(&model_kinds[i], 0, *state);
        if (model->n_blocks == 0) continue;
        assert_int_equal(model->layers[0].block, -1);
        for (int l = 1; l < model->n_layers; l++) {
            int step = model->layers[l].block - model->layers[l - 1].block;
            assert_true(step == 0 || step == 1);
        }
        assert_int_equal(model->layers[model->n_layers - 1].block, model->n_blocks);
    }
}

static void every_tensor_has_one_layer(void **state)
{
    for (int i = 0; i < n_model_kinds; i++) {
        model_check(model_kinds[i].build(&model_kinds[i], 0, *state));
    }
}

/* As hubs and papers write them; a sign that parts two numbers counts: 27b is not 2 of 7b. */
static void models_are_found_however_their_names_are_written(void **state)
{
    static const char *const cases[][2] = {
        {"bert_large", "bert-large"},
        {"Llama-2-7b", "llama2-7b"},
        {"inception_v3", "inception-v3"},
        {"Meta-free", NULL},
        {"llama-3.1-8B", "llama3-8b"},
        {"DeepSeek-V3", "deepseek-v3-671b"},
        {"resnet50_v1.5", "resnet50-v1.5"},
        {"llama-27b", NULL},
        {"qwen-38b", NULL},
        {"vit_base_patch16_224", "vit-b-16"},
        {"Qwen3_8B", "qwen3-8b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct model_kind *kind = model_find(cases[i][0]);
        if (!cases[i][1]) {
            assert_null(kind);
            continue;
        }
        assert_non_null(kind);
        assert_string_equal(kind->name, cases[i][1]);
    }
    for (int i = 0; i < n_model_kinds; i++) {
        assert_ptr_equal(model_find(model_kinds[i].name), &model_kinds[i]);
    }
    (void)state;
}

static void unknown_model_is_not_found(void **state)
{
    (void)state;
    assert_null(model_find("resnet"));
    assert_null(model_find(""));
}

/* A tensor registered before its layer (BERT's word bias) still belongs to that layer. */
static void early_tensor_is_claimed_by_its_layer(void **state)
{
    struct builder b = builder_open("m", "image", "made up", *state);
    int early = builder_early_tensor(&b, "late.bias", 7);
    builder_layer(&b, (struct layer){.name = "first", .kind = LAYER_LINEAR, .n_kernels = 1});
    builder_tensor(&b, "weight", 3);
    builder_layer(&b, (struct layer){.name = "late", .kind = LAYER_LINEAR, .n_kernels = 1});
    builder_claim(&b, early);
    model_check(b.model);
    assert_int_equal(b.model->tensors[0].layer, 1);
    assert_int_equal(b.model->layers[1].first_tensor, 0);
    assert_string_equal(b.model->tensors[1].name, "first.weight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_published_ones),
        cmocka_unit_test(counts_known_by_heart),
        cmocka_unit_test(multiply_adds_are_the_published_ones),
        cmocka_unit_test(products_are_the_matrix_flop),
        cmocka_unit_test(blocks_stand_in_order),
        cmocka_unit_test(every_tensor_has_one_layer),
        cmocka_unit_test(unknown_model_is_not_found),
        cmocka_unit_test(models_are_found_however_their_names_are_written),
        cmocka_unit_test(early_tensor_is_claimed_by_its_layer),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
