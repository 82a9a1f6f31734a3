/* What GPT's blocks keep and exchange, against the formulas of the papers. */
#include "rig.h"
#include "test.h"

#include "workload/divide.h"
#include "workload/piece.h"

/* GPT-2 small: s = 1024, h = 768, a = 12, 12 blocks; b = 2, in 16 bits */
static const double S = 1024.0, H = 768.0, A = 12.0, B = 2.0;

static struct train_spec spec_of(int tensor, bool sequence, enum recompute recompute)
{
    struct train_spec spec = rig_spec("parallel");
    spec.batch_per_gpu = B;
    spec.dtype = DTYPE_BF16;
    spec.split.tensor = tensor;
    spec.split.sequence = sequence;
    spec.split.recompute = recompute;
    return spec;
}

static const struct piece *pieces_of(const struct train_spec *spec, const char *name,
                                     struct arena *perm)
{
    struct gpu gpu = rig_gpu();
    const struct model *own = divide_model(rig_model(name, perm), &spec->split, perm);
    int n;
    return pieces_of_model(spec, own, &gpu, 1.0, &n, perm);
}

/* Korthikanti et al., MLSys 2023, table 2; sbh (34 + 5 a s / h) and what divides it. */
static void a_block_keeps_what_the_paper_counts(void **state)
{
    double sbh = S * B * H, square = 5.0 * A * S / H;
    const struct {
        int t;
        bool sequence;
        enum recompute recompute;
        double wanted_B;
    } cases[] = {
        {1, false, RECOMPUTE_NONE, sbh * (34 + square)},
        {4, false, RECOMPUTE_NONE, sbh * (10 + 24.0 / 4 + square / 4)},
        {4, true, RECOMPUTE_NONE, sbh / 4 * (34 + square)},
        {4, false, RECOMPUTE_SELECTIVE, sbh * (10 + 24.0 / 4)},
        {4, true, RECOMPUTE_SELECTIVE, sbh * 34 / 4},
        {4, false, RECOMPUTE_FULL, sbh * 2},
        {4, true, RECOMPUTE_FULL, sbh * 2 / 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_spec spec = spec_of(cases[i].t, cases[i].sequence, cases[i].recompute);
        const struct piece *block = &pieces_of(&spec, "gpt2", *state)[3];
        assert_close(block->kept_B, cases[i].wanted_B, 1e-12);
    }
}

/* A context rank has its share of the tokens, and so of all that is kept. */
static void context_ranks_keep_their_share(void **state)
{
    struct train_spec whole = spec_of(1, false, RECOMPUTE_NONE), quarter = whole;
    quarter.split.context = 4;
    double kept_B = pieces_of(&whole, "gpt2", *state)[3].kept_B;
    assert_close(pieces_of(&quarter, "gpt2", *state)[3].kept_B, kept_B / 4, 1e-12);
}

/* Shoeybi et al., 2019: two sums of b s h elements forward and two backward, once more forward where
 * the block is computed once more. */
static void tensor_ranks_sum_twice_each_way(void **state)
{
    struct train_spec spec = spec_of(2, false, RECOMPUTE_NONE);
    const struct piece *block = &pieces_of(&spec, "gpt2", *state)[3];
    assert_int_equal(block->forward.exchange[EXCHANGE_REDUCE].n, 2);
    assert_int_equal(block->backward.exchange[EXCHANGE_REDUCE].n, 2);
    assert_close(block->forward.exchange[EXCHANGE_REDUCE].size_B, 2.0 * B * S * H, 0);
    assert_close(block->backward.exchange[EXCHANGE_REDUCE].size_B, 2.0 * B * S * H, 0);
    spec.split.recompute = RECOMPUTE_FULL;
    block = &pieces_of(&spec, "gpt2", *state)[3];
    assert_int_equal(block->backward.exchange[EXCHANGE_REDUCE].n, 4);
}

/* Every second product or block once more: half the time of forward, half of what its ranks sum, and the
 * mean of all and of a block's input kept. */
static void half_a_block_is_the_mean_of_none_and_all(void **state)
{
    struct piece blocks[3];
    static const enum recompute modes[] = {RECOMPUTE_NONE, RECOMPUTE_HALF, RECOMPUTE_FULL};
    for (int i = 0; i < 3; i++) {
        struct train_spec spec = spec_of(2, false, modes[i]);
        blocks[i] = pieces_of(&spec, "gpt2", *state)[3];
    }
    const struct direction *none = &blocks[0].backward, *half = &blocks[1].backward,
                           *full = &blocks[2].backward;
    assert_close(half->kernel_s, (none->kernel_s + full->kernel_s) / 2, 1e-12);
    assert_close(half->core_s, (none->core_s + full->core_s) / 2, 1e-12);
    const struct exchange *sums = &half->exchange[EXCHANGE_REDUCE];
    assert_close(sums->n * sums->size_B, 3 * full->exchange[EXCHANGE_REDUCE].size_B, 1e-12);
    assert_close(blocks[1].kept_B, (blocks[0].kept_B + blocks[2].kept_B) / 2, 1e-12);
}

/* An all-reduce is a reduce-scatter and an all-gather: as many bytes with a divided sequence. */
static void a_divided_sequence_gathers_and_scatters_instead(void **state)
{
    struct train_spec spec = spec_of(2, true, RECOMPUTE_NONE);
    const struct piece *block = &pieces_of(&spec, "gpt2", *state)[3];
    const struct exchange *both[] = {block->forward.exchange, block->backward.exchange};
    for (int d = 0; d < 2; d++) {
        assert_int_equal(both[d][EXCHANGE_REDUCE].n, 0);
        assert_int_equal(both[d][EXCHANGE_GATHER].n, 2);
        assert_int_equal(both[d][EXCHANGE_SCATTER].n, 2);
        assert_close(both[d][EXCHANGE_GATHER].size_B, 2.0 * B * S * H, 0);
        assert_close(both[d][EXCHANGE_SCATTER].size_B, 2.0 * B * S * H, 0);
    }
}

/* Keys and values of all 4 ranks go round, 2 b s h elements in all, backward with their gradients.
 * Llama 3 8B has 8 heads of 128 for them, of 32 heads. */
static void keys_and_values_go_round(void **state)
{
    struct train_spec spec = spec_of(1, false, RECOMPUTE_NONE);
    spec.split.context = 4;
    const struct piece *block = &pieces_of(&spec, "gpt2", *state)[3];
    assert_int_equal(block->forward.exchange[EXCHANGE_RING].n, 1);
    assert_int_equal(block->backward.exchange[EXCHANGE_RING].n, 2);
    assert_close(block->forward.exchange[EXCHANGE_RING].size_B, 2.0 * 2 * B * S * H, 1e-12);
    block = &pieces_of(&spec, "llama3-8b", *state)[3];
    assert_close(block->forward.exchange[EXCHANGE_RING].size_B, 2.0 * 2 * B * 8192 * 1024, 1e-12);
}

/* Mixtral: 2 of 8 experts for each token, of width 4096; 4096 tokens a sample. Each way twice 2 b s h
 * elements, whatever the number of ranks; tensor ranks have a share of the tokens. */
static void tokens_are_routed_there_and_back(void **state)
{
    struct train_spec spec = spec_of(1, false, RECOMPUTE_NONE);
    spec.split.experts = 8;
    const struct piece *block = &pieces_of(&spec, "mixtral-8x7b", *state)[3];
    double routed_B = 2.0 * B * 4096 * 2 * 4096;
    assert_int_equal(block->forward.exchange[EXCHANGE_ROUTE].n, 2);
    assert_int_equal(block->backward.exchange[EXCHANGE_ROUTE].n, 2);
    assert_close(block->forward.exchange[EXCHANGE_ROUTE].size_B, routed_B, 1e-12);
    assert_close(block->n_expert_parameters, 3.0 * 4096 * 14336, 1e-12); /* one of the eight */
    spec.split.tensor = 2;
    spec.split.sequence = true;
    block = &pieces_of(&spec, "mixtral-8x7b", *state)[3];
    assert_close(block->forward.exchange[EXCHANGE_ROUTE].size_B, routed_B / 2, 1e-12);
}

/* All that a rank holds and computes, summed over the tensor ranks, is the model again, but for what
 * is not divided. */
static void ranks_together_are_the_model(void **state)
{
    static const char *const names[] = {"gpt2", "bert-large", "llama3-8b", "mixtral-8x7b"};
    for (int i = 0; i < 4; i++) {
        struct arena perm = *(struct arena *)*state;
        const struct model *model = rig_model(names[i], &perm);
        struct split split = split_none;
        split.tensor = 4;
        split.sequence = true;
        const struct model *own = divide_model(model, &split, &perm);
        double n = (double)model_n_parameters(model), n_own = (double)model_n_parameters(own);
        assert_true(n_own >= n / 4 && n_own < n / 4 * 1.03); /* BERT's small head is not divided */
        assert_close(model_kept_elements(own), model_kept_elements(model) / 4, 0.01);
        double flop = model_flop_per_sample(model);
        assert_true(model_flop_per_sample(own) >= flop / 4 * (1 - 1e-12));
        assert_true(model_flop_per_sample(own) < flop / 4 * 1.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_keeps_what_the_paper_counts),
        cmocka_unit_test(context_ranks_keep_their_share),
        cmocka_unit_test(tensor_ranks_sum_twice_each_way),
        cmocka_unit_test(half_a_block_is_the_mean_of_none_and_all),
        cmocka_unit_test(a_divided_sequence_gathers_and_scatters_instead),
        cmocka_unit_test(keys_and_values_go_round),
        cmocka_unit_test(tokens_are_routed_there_and_back),
        cmocka_unit_test(ranks_together_are_the_model),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
