#include "workload/transformer.h"

#include "rig.h"
#include "test.h"

static double block_flop(const struct model *model, const char *prefix)
{
    double sum = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        bool inside = strncmp(layer->name, prefix, strlen(prefix)) == 0;
        if (inside && layer_is_matrix(layer->kind)) sum += layer->flop;
    }
    return sum;
}

static double block_kept(const struct model *model, const char *prefix)
{
    double sum = 0.0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        if (strncmp(layer->name, prefix, strlen(prefix)) == 0) sum += layer->kept_elements;
    }
    return sum;
}

/* a block, forward: 24 s h^2 (1 + s / 6h) FLOP and, in 16 bits, s h (34 + 5 a s / h) bytes
 * (Korthikanti et al. 2022, appendix A and eq. 1) */
static void assert_block(const struct model *model, const char *prefix, double s, double h,
                         double a)
{
    assert_close(block_flop(model, prefix), 24 * s * h * h * (1 + s / (6 * h)), 1e-12);
    assert_close(2 * block_kept(model, prefix), s * h * (34 + 5 * a * s / h), 1e-12);
}

static void blocks_follow_the_published_formulas(void **state)
{
    const struct model_kind *bert = model_find("bert-large");
    assert_block(bert->build(bert, 384, *state), "block.7.", 384, 1024, 16);
    const struct model_kind *gpt2 = model_find("gpt2-xl");
    assert_block(gpt2->build(gpt2, 0, *state), "block.47.", 1024, 1600, 25);
}

/* GPT-2 in all: L blocks and the word head 2 s h V. With both directions that is
 * 72 L s h^2 (1 + s / 6h + V / 12 L h). */
static void gpt2_flop_is_the_published_formula(void **state)
{
    double s = 1024, h = 768, l = 12, v = 50257;
    double wanted = 72 * l * s * h * h * (1 + s / (6 * h) + v / (12 * l * h));
    assert_close(3 * model_flop_per_sample(rig_model("gpt2", *state)), wanted, 1e-12);
}

/* the word head runs on 20 of 128 and 80 of 512 positions */
static void bert_predicts_masked_words_only(void **state)
{
    const struct model_kind *kind = model_find("bert-base");
    static const int lengths[] = {128, 512};
    static const double masked[] = {20, 80};
    for (int i = 0; i < 2; i++) {
        const struct model *model = kind->build(kind, lengths[i], *state);
        assert_close(block_flop(model, "head.words"), 2 * masked[i] * 768 * 30522, 0);
        assert_close(model->tokens_per_sample, lengths[i], 0);
        assert_int_equal(model_n_parameters(model), kind->n_parameters);
    }
}

/* HuggingFace: the word bias is registered before the transform that runs ahead of it; its gradient
 * is ready before the transform's all the same. */
static void word_bias_is_registered_early(void **state)
{
    const struct model *model = rig_model("bert-base", *state);
    int t = 0;
    while (strcmp(model->tensors[t].name, "head.bias") != 0) t++;
    assert_string_equal(model->tensors[t + 1].name, "head.transform.weight");
    assert_true(model->tensors[t].layer > model->tensors[t + 1].layer);
}

/* the word table is tied: it is the first tensor, and the head has no weight of its own */
static void word_table_is_shared(void **state)
{
    const struct model *model = rig_model("gpt2", *state);
    assert_int_equal(model->tensors[0].n_elements, 50257 * 768);
    assert_int_equal(model->tensors[0].layer, 0);
    for (int l = 0; l < model->n_layers; l++) {
        if (strcmp(model->layers[l].name, "head") == 0) {
            assert_int_equal(model->layers[l].n_tensors, 0);
        }
    }
}

/* Of a block, Megatron's cuts: QKV and the first product of the MLP by columns, the products behind
 * them by rows, what lies between by heads, the rest not (Shoeybi et al. 2019, sec. 3). */
static void a_block_is_cut_as_megatron_does(void **state)
{
    static const struct {
        const char *name;
        enum layer_split split;
    } cuts[] = {
        {"attention.norm", SPLIT_NONE},
        {"attention.qkv", SPLIT_COLUMN},
        {"attention.scores", SPLIT_HEADS},
        {"attention.softmax", SPLIT_HEADS},
        {"attention.context", SPLIT_HEADS},
        {"attention.output", SPLIT_ROW},
        {"attention.add", SPLIT_NONE},
        {"mlp.norm", SPLIT_NONE},
        {"mlp.up", SPLIT_COLUMN},
        {"mlp.act", SPLIT_HEADS},
        {"mlp.down", SPLIT_ROW},
        {"mlp.add", SPLIT_NONE},
    };
    const struct model *model = rig_model("gpt2", *state);
    int l = 0;
    while (model->layers[l].block < 0) l++;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++, l++) {
        assert_string_equal(model->layers[l].name + strlen("block.0."), cuts[i].name);
        assert_int_equal(model->layers[l].split, cuts[i].split);
    }
    assert_int_equal(model->layers[l].block, 1);
}

/* a kind like a known one with one more size or feature */
static const struct model *like(const char *name, enum text_size size, int value, unsigned style,
                                struct arena *perm)
{
    struct model_kind kind = *model_find(name);
    if (size < N_TEXT_SIZES) kind.sizes[size] = value;
    kind.sizes[TEXT_STYLE] |= (int)style;
    return kind.build(&kind, 0, perm);
}

/* Fused attention of a decoder does half of 4 s^2 h FLOP a block (causal) and keeps nothing of size
 * s^2: two numbers of 16 bits per row and head in place of softmax's 2.5 (dropout) a s^2. */
static void fused_attention_is_half_and_keeps_no_square(void **state)
{
    double s = 1024, h = 768, a = 12, l = 12;
    const struct model *plain = rig_model("gpt2", *state);
    const struct model *fused = like("gpt2", N_TEXT_SIZES, 0, TEXT_FUSED_ATTENTION, *state);
    double less = model_flop_per_sample(plain) - model_flop_per_sample(fused);
    assert_close(less, l * 2 * s * s * h, 1e-9);
    assert_close(model_kept_elements(plain) - model_kept_elements(fused),
                 l * a * (2.5 * s * s - 2 * s), 1e-9);
    assert_int_equal(model_n_parameters(fused), model_n_parameters(plain));
}

/* An encoder sees all positions: no half. */
static void an_encoder_has_no_mask(void **state)
{
    const struct model *fused = like("bert-base", N_TEXT_SIZES, 0, TEXT_FUSED_ATTENTION, *state);
    assert_close(model_flop_per_sample(fused),
                 model_flop_per_sample(rig_model("bert-base", *state)), 1e-12);
}

/* Llama 2 70B, forward of a token: 2 x (parameters without the look-up's table and the norms) and
 * 4 s h for the scores and context of each block. */
static void a_decoder_does_two_flop_per_parameter_and_token(void **state)
{
    double s = 4096, h = 8192, l = 80;
    const struct model *model = rig_model("llama2-70b", *state);
    double weights = 68976648192.0 - 32000 * h - (2 * l + 1) * h;
    assert_close(model_flop_per_sample(model), s * (2 * weights + 4 * s * h * l), 1e-12);
}

/* Mixtral 8x7B: two of eight experts see a token: 2 x 3 h f x 2 FLOP of the experts' 8 x 3 h f
 * parameters. */
static void experts_hold_more_than_they_compute(void **state)
{
    const struct model *model = rig_model("mixtral-8x7b", *state);
    double h = 4096, f = 14336, flop = 0, held = 0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        if (layer->block != 5 || layer->split != SPLIT_EXPERTS) continue;
        if (layer_is_matrix(layer->kind)) flop += layer->flop;
        for (int t = 0; t < layer->n_tensors; t++)
            held += (double)model->tensors[layer->first_tensor + t].n_elements;
    }
    assert_close(held, 8 * 3 * h * f, 0);
    assert_close(flop, 4096.0 * 2 * 2 * 3 * h * f, 1e-12);
    assert_int_equal(model->n_experts, 8);
    assert_int_equal(model->experts_per_token, 2);
}

/* Llama 2 70B with adapters of rank 16 at QKV (8192 -> 10240) and output (8192 -> 8192) of 80
 * blocks: 16 x (8192 + 10240 + 8192 + 8192) x 80 parameters are trained, all others frozen. */
static void adapters_alone_are_trained(void **state)
{
    const struct model *model = like("llama2-70b", TEXT_ADAPTER_RANK, 16, 0, *state);
    double frozen = 0;
    for (int l = 0; l < model->n_layers; l++) frozen += model->layers[l].frozen_elements;
    assert_int_equal(model_n_parameters(model), 16LL * (8192 + 10240 + 8192 + 8192) * 80);
    assert_close(frozen, 68976648192.0, 0);
    model_check(model);
}

/* T5: 128 tokens out for 512 in; the decoder half also looks at the encoder. */
static void a_decoder_may_be_shorter_than_its_encoder(void **state)
{
    const struct model *model = rig_model("t5-3b", *state);
    int n_cross = 0;
    for (int l = 0; l < model->n_layers; l++) {
        const struct layer *layer = &model->layers[l];
        if (!strstr(layer->name, ".cross.attention.scores")) continue;
        assert_close(layer->m, 128, 0);
        assert_close(layer->n, 512, 0);
        n_cross++;
    }
    assert_int_equal(n_cross, 24);
}

/* ELECTRA's generator is 256 wide: heads of 768 / 2 would leave it none, so it has one. */
static void a_generator_narrower_than_a_head_has_one(void **state)
{
    const struct model *model = like("electra-base", TEXT_HEADS, 2, 0, *state);
    model_check(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_follow_the_published_formulas),
        cmocka_unit_test(gpt2_flop_is_the_published_formula),
        cmocka_unit_test(bert_predicts_masked_words_only),
        cmocka_unit_test(word_bias_is_registered_early),
        cmocka_unit_test(word_table_is_shared),
        cmocka_unit_test(a_block_is_cut_as_megatron_does),
        cmocka_unit_test(fused_attention_is_half_and_keeps_no_square),
        cmocka_unit_test(an_encoder_has_no_mask),
        cmocka_unit_test(a_decoder_does_two_flop_per_parameter_and_token),
        cmocka_unit_test(experts_hold_more_than_they_compute),
        cmocka_unit_test(adapters_alone_are_trained),
        cmocka_unit_test(a_decoder_may_be_shorter_than_its_encoder),
        cmocka_unit_test(a_generator_narrower_than_a_head_has_one),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
