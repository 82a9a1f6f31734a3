/* Ranks, programs, volumes and memory of hybrid jobs; how long they take stands in tests/sim. */
#include "rig.h"
#include "test.h"

#include "base/rng.h"
#include "workload/parallel.h"
#include "workload/stage.h"

static struct train_spec spec_of(int n_ranks, int tensor, int pipeline, int n_micro_batches)
{
    struct train_spec spec = rig_spec("parallel");
    spec.n_ranks = n_ranks;
    spec.batch_per_gpu = 1.0;
    spec.grad_accumulation = n_micro_batches;
    spec.dtype = DTYPE_BF16;
    spec.gradient_B = 2.0;
    spec.optimizer = "adam";
    spec.split.tensor = tensor;
    spec.split.pipeline = pipeline;
    return spec;
}

static struct job *job_of(const struct train_spec *spec, const char *name, struct arena *perm)
{
    struct gpu gpu = rig_gpu();
    return rig_job(spec, rig_model(name, perm), &gpu, perm);
}

/* sent_B — what a rank of a program sends over one communicator in a step. */
static double sent_B(const struct job *job, int program, int comm)
{
    double sum_B = 0.0;
    for (int i = 0; i < job->programs[program].n_ops; i++) {
        const struct op *op = &job->programs[program].ops[i];
        if (op->kind != OP_COLLECTIVE || op->comm != comm) continue;
        sum_B += op_times(op) * coll_bytes_sent_B(op->coll, job_group_size(job, comm), op->size_B);
    }
    return sum_B;
}

/* a combination that need not go with anything */
static struct train_spec random_spec(struct rng *rng)
{
    static const int counts[] = {1, 2, 4, 6};
    struct train_spec spec = spec_of(48, 1, 1, 1 + rng_integer(rng, 9));
    spec.overlap = rng_integer(rng, 2);
    spec.split = (struct split){.tensor = counts[rng_integer(rng, 3)],
                                .pipeline = counts[rng_integer(rng, 4)],
                                .virtual_stages = 1 + rng_integer(rng, 2),
                                .context = counts[rng_integer(rng, 2)],
                                .experts = rng_integer(rng, 2) ? 8 : 1,
                                .sequence = rng_integer(rng, 2),
                                .zero_stage = rng_integer(rng, 4),
                                .shard_ranks = counts[rng_integer(rng, 4)] - 1,
                                .recompute = (enum recompute)rng_integer(rng, 3),
                                .tensor_overlap = rng_integer(rng, 2),
                                .chunk_blocks = rng_integer(rng, 4)};
    return spec;
}

/* Whatever is combined, the job keeps the rules of programs. */
static void every_combination_is_sound(void **state)
{
    static const char *const names[] = {"gpt2", "resnet18", "mixtral-8x7b"};
    struct rng *rng = rng_open(5, "hybrid", *state);
    struct gpu gpu = rig_gpu();
    int n_jobs = 0;
    for (int i = 0; i < 3000; i++) {
        struct arena perm = *(struct arena *)*state;
        const char *key;
        struct train_spec spec = random_spec(rng);
        const struct model *model = rig_model(names[i % 3], &perm);
        if (parallel_refusal(&spec, model, &key, &perm)) continue;
        struct job *job = rig_job(&spec, model, &gpu, &perm);
        const struct split *split = &spec.split;
        double replicas = 48.0 / (split->tensor * split->pipeline * split->context);
        job_check(job, perm);
        assert_close(job->samples_per_iteration, replicas * spec.grad_accumulation, 1e-12);
        n_jobs++;
    }
    assert_in_range(n_jobs, 200, 3000);
}

/* TP 2, CP 2, EP 8, PP 3 of 48 ranks: 16 of a stage are 2 tensor x 2 context x 4 replicas. Rank 5 =
 * 1 + 2 (0 + 2 x 1): its tensor group is 4, 5; its context group 5, 7; its experts' 0 .. 7; it holds
 * the same parameters as the odd ranks to 15 and the same experts as rank 13. */
static void ranks_stand_as_in_megatron(void **state)
{
    struct train_spec spec = spec_of(48, 2, 3, 3);
    spec.split.context = 2;
    spec.split.experts = 8;
    struct job *job = job_of(&spec, "mixtral-8x7b", *state);
    static const struct {
        int comm, n, first, second;
    } cases[] = {{COMM_TENSOR, 2, 4, 5},
                 {COMM_CONTEXT, 2, 5, 7},
                 {COMM_EXPERTS, 8, 0, 1},
                 {COMM_SAME, 8, 1, 3},
                 {COMM_EXPERT_SAME, 2, 5, 13}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int group = job_group(job, cases[i].comm, 5);
        assert_int_equal(job_group_size(job, cases[i].comm), cases[i].n);
        assert_int_equal(job_member(job, cases[i].comm, group, 0), cases[i].first);
        assert_int_equal(job_member(job, cases[i].comm, group, 1), cases[i].second);
    }
    assert_int_equal(job_role(job, 5), 0);
    assert_int_equal(job_role(job, 47), 2);
}

/* 12 blocks on 2 stages: chunks of at most 2 blocks are three of a stage; of at most 4, two of 3 blocks,
 * as 4 does not divide the 6 of a stage; of at most 100, one. */
static void chunks_are_told_by_their_blocks(void **state)
{
    static const struct {
        int chunk_blocks, virtual_stages;
    } cases[] = {{2, 3}, {4, 2}, {100, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_spec by_blocks = spec_of(2, 1, 2, 4), by_number = by_blocks;
        by_blocks.split.chunk_blocks = cases[i].chunk_blocks;
        by_number.split.virtual_stages = cases[i].virtual_stages;
        struct job *a = job_of(&by_blocks, "gpt2", *state);
        struct job *b = job_of(&by_number, "gpt2", *state);
        assert_int_equal(a->programs[0].n_ops, b->programs[0].n_ops);
        assert_close(sent_B(a, 0, COMM_FIRST_PAIR), sent_B(b, 0, COMM_FIRST_PAIR), 1e-12);
    }
}

/* Rajbhandari et al., SC 2020, sec. 7: 2 Psi for data parallelism and stages 1 and 2, 3 Psi for stage 3,
 * each (n - 1) / n; elements of 2 bytes. HSDP in groups of 4 of 16: stage 3 inside, and an all-reduce of
 * a quarter over the 4 copies. */
static void zero_sends_what_the_paper_counts(void **state)
{
    struct train_spec spec = spec_of(16, 1, 1, 1);
    const struct model *model = rig_model("gpt2", *state);
    double psi_B = 2.0 * (double)model_n_parameters(model);
    static const double volumes[] = {2.0, 2.0, 2.0, 3.0};
    for (int stage = 0; stage < 4; stage++) {
        for (int overlap = 0; overlap < 2; overlap++) {
            spec.split.zero_stage = stage;
            spec.overlap = overlap;
            struct job *job = job_of(&spec, "gpt2", *state);
            int comm = stage == 0 ? COMM_SAME : COMM_SHARDS;
            assert_close(sent_B(job, 0, comm), volumes[stage] * psi_B * 15 / 16, 1e-9);
        }
    }
    spec.split.shard_ranks = 4;
    struct job *job = job_of(&spec, "gpt2", *state);
    assert_close(sent_B(job, 0, COMM_SHARDS), 3 * psi_B * 3 / 4, 1e-9);
    assert_close(sent_B(job, 0, COMM_COPIES), 2 * psi_B / 4 * 3 / 4, 1e-9);
}

/* Stage 3 gathers in every micro-batch, stage 1 once a step. */
static void micro_batches_gather_again_only_in_stage_3(void **state)
{
    struct train_spec spec = spec_of(8, 1, 1, 5);
    double psi_B = 2.0 * (double)model_n_parameters(rig_model("gpt2", *state));
    spec.split.zero_stage = 1;
    assert_close(sent_B(job_of(&spec, "gpt2", *state), 0, COMM_SHARDS), 2 * psi_B * 7 / 8, 1e-9);
    spec.split.zero_stage = 3;
    assert_close(sent_B(job_of(&spec, "gpt2", *state), 0, COMM_SHARDS), 5 * 3 * psi_B * 7 / 8,
                 1e-9);
}

/* Narayanan et al., SC 2021, sec. 3.2: 8 b s h (t - 1) / t elements per block and micro-batch, here 12
 * blocks, 3 micro-batches and 4 ranks, besides the embedding (one sum forward) and the head (one
 * backward); fully recomputed blocks once more half of it. */
static void tensor_ranks_send_what_the_paper_counts(void **state)
{
    struct train_spec spec = spec_of(4, 4, 1, 3);
    double sum_B = 2.0 * 2.0 * 1024 * 768 * 3 / 4; /* an all-reduce of b s h */
    assert_close(sent_B(job_of(&spec, "gpt2", *state), 0, COMM_TENSOR), 3 * (12 * 4 + 2) * sum_B,
                 1e-9);
    spec.split.recompute = RECOMPUTE_FULL;
    assert_close(sent_B(job_of(&spec, "gpt2", *state), 0, COMM_TENSOR), 3 * (12 * 6 + 2) * sum_B,
                 1e-9);
}

/* Rajbhandari et al., sec. 3.1 and 5: 16 Psi; 4 Psi + 12 Psi / n; 2 Psi + 14 Psi / n; 16 Psi / n, and
 * the gathered units (the largest is the table of words with the positions: 39.4 M) on top. */
static void state_is_divided_as_the_paper_counts(void **state)
{
    struct train_spec spec = spec_of(8, 1, 1, 1);
    double psi = (double)model_n_parameters(rig_model("gpt2", *state));
    double gathered_B = (50257.0 + 1024.0) * 768 * (2 * 2 + 2);
    const double wanted_B[] = {16 * psi, 4 * psi + 12 * psi / 8, 2 * psi + 14 * psi / 8,
                               16 * psi / 8 + gathered_B};
    for (int stage = 0; stage < 4; stage++) {
        spec.split.zero_stage = stage;
        const struct program *program = &job_of(&spec, "gpt2", *state)->programs[0];
        assert_close(program->static_B, wanted_B[stage], 1e-9);
        /* weights are divided in stage 3, gradients from 2 on, moments and master weights from 1 on */
        assert_close(program->held.weights_B, 2 * psi / (stage == 3 ? 8 : 1), 1e-9);
        assert_close(program->held.gradients_B, 2 * psi / (stage >= 2 ? 8 : 1), 1e-9);
        assert_close(program->held.optimizer_B, 12 * psi / (stage >= 1 ? 8 : 1), 1e-9);
    }
}

/* 8 micro-batches on 2 stages of 4 replicas: what stage 2 of ZeRO sends in a step is what stage 1 does,
 * not eight times the gradients, and its gradients are held whole; on one stage it still sends them in
 * each. */
static void gradients_under_a_pipeline_travel_once(void **state)
{
    struct train_spec spec = spec_of(8, 1, 2, 8);
    double sent[2], held[2];
    for (int stage = 1; stage <= 2; stage++) {
        spec.split.zero_stage = stage;
        struct job *job = job_of(&spec, "gpt2", *state);
        sent[stage - 1] = sent_B(job, 0, COMM_SHARDS);
        held[stage - 1] = job->programs[0].held.gradients_B;
    }
    assert_true(sent[0] > 0.0);
    assert_close(sent[1], sent[0], 1e-12);
    assert_close(held[1], held[0], 1e-12);
    struct train_spec flat = spec_of(4, 1, 1, 8);
    flat.split.zero_stage = 1;
    double once_B = sent_B(job_of(&flat, "gpt2", *state), 0, COMM_SHARDS);
    flat.split.zero_stage = 2; /* one gather and eight reductions of as much, not one of each */
    assert_close(sent_B(job_of(&flat, "gpt2", *state), 0, COMM_SHARDS), 4.5 * once_B, 1e-9);
}

/* 12 blocks over 5 stages: 2 or 3 each; every parameter on some stage, the tied table on two. */
static void blocks_that_do_not_divide_are_spread(void **state)
{
    struct train_spec spec = spec_of(5, 1, 5, 2);
    const struct model *model = rig_model("gpt2", *state);
    struct job *job = job_of(&spec, "gpt2", *state);
    double sum_B = 0.0;
    for (int s = 0; s < 5; s++) sum_B += job->programs[s].static_B;
    double psi = (double)model_n_parameters(model) + 50257.0 * 768;
    assert_close(sum_B, 16 * psi, 1e-9);
    for (int s = 1; s < 4; s++) {
        double blocks = job->programs[s].static_B / 16 / 7087872; /* 12 h^2 + 13 h */
        assert_true(fabs(blocks - 2) < 1e-9 || fabs(blocks - 3) < 1e-9);
    }
}

/* 12 blocks in 4 chunks on each of 2 stages: each stage has 6, besides 50257 words of 768, and the first
 * 1024 positions, the last a norm of 2 x 768. Dealt over the 8 chunks as they follow each other, 1, 2, 1,
 * 2 ..., the second stage would have 8. Chunks of at most 2 blocks on 5 stages: the longest has 3, which
 * 2 does not divide, and three chunks of one block on each were 15 of 12: two. */
static void chunks_that_do_not_divide_burden_no_stage(void **state)
{
    struct train_spec spec = spec_of(2, 1, 2, 4);
    spec.split.virtual_stages = 4;
    struct job *job = job_of(&spec, "gpt2", *state);
    double first = job->programs[0].static_B / 16 - (50257.0 + 1024) * 768;
    double last = job->programs[1].static_B / 16 - (50257.0 + 2) * 768;
    assert_close(first / 7087872, 6.0, 1e-9);
    assert_close(last / 7087872, 6.0, 1e-9);
    struct train_spec by_blocks = spec_of(5, 1, 5, 5), by_number = by_blocks;
    by_blocks.split.chunk_blocks = 2;
    by_number.split.virtual_stages = 2;
    assert_int_equal(job_of(&by_blocks, "gpt2", *state)->programs[0].n_ops,
                     job_of(&by_number, "gpt2", *state)->programs[0].n_ops);
}

static void what_does_not_divide_is_refused(void **state)
{
    static const struct {
        const char *model;
        int n_ranks;
        struct split split;
        const char *key, *why;
    } cases[] = {
        {"gpt2",
         12,
         {8, 1, 1, 1, 1, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "tensor_parallel",
         "12 GPUs are no multiple of the 8"},
        {"gpt2",
         16,
         {8, 1, 1, 1, 1, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "tensor_parallel",
         "8 does not divide the 12 attention heads"},
        {"gpt2",
         32,
         {1, 16, 1, 1, 1, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "pipeline_parallel",
         "16 stages of 1, but gpt2 has 12 blocks"},
        {"gpt2",
         8,
         {1, 1, 2, 1, 1, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "virtual_stages",
         "needs pipeline_parallel"},
        {"gpt2",
         8,
         {1, 1, 1, 1, 8, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "expert_parallel",
         "gpt2 has no experts"},
        {"gpt2",
         8,
         {1, 1, 1, 1, 1, false, 3, 3, RECOMPUTE_NONE, false, 0},
         "shard_ranks",
         "3 does not divide the 8 ranks"},
        {"mixtral-8x7b",
         48,
         {1, 1, 1, 1, 16, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "expert_parallel",
         "16 does not divide the 8 experts"},
        {"mixtral-8x7b",
         48,
         {1, 1, 1, 6, 4, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "expert_parallel",
         "groups of 4 and of 6 neighbouring ranks cross"},
        {"resnet50",
         8,
         {2, 1, 1, 1, 1, false, 0, 0, RECOMPUTE_NONE, false, 0},
         "tensor_parallel",
         "resnet50 is not made of equal blocks"},
        {"resnet50", 8, {1, 1, 1, 1, 1, false, 3, 0, RECOMPUTE_NONE, false, 0}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_spec spec = spec_of(cases[i].n_ranks, 1, 1, 1);
        spec.split = cases[i].split;
        const char *key = NULL;
        const char *why = parallel_refusal(&spec, rig_model(cases[i].model, *state), &key, *state);
        if (!cases[i].why) {
            assert_null(why);
            continue;
        }
        assert_non_null(why);
        assert_string_equal(key, cases[i].key);
        assert_non_null(strstr(why, cases[i].why));
    }
}

/* 4 stages of 2 in 16,384 micro-batches are 131,072 pieces; with one micro-batch more they are too many. */
static void a_schedule_of_too_many_pieces_is_refused(void **state)
{
    const struct model *model = rig_model("gpt2", *state);
    const char *key = NULL;
    struct train_spec spec = spec_of(8, 1, 1, 16384);
    spec.split.pipeline = 4;
    spec.split.virtual_stages = 2;
    assert_null(parallel_refusal(&spec, model, &key, *state));
    spec.grad_accumulation++;
    assert_non_null(parallel_refusal(&spec, model, &key, *state));
    assert_string_equal(key, "pipeline_parallel");
    spec.split.pipeline = spec.split.virtual_stages = 1; /* no pipeline: micro-batches are alike */
    assert_null(parallel_refusal(&spec, model, &key, *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_is_sound),
        cmocka_unit_test(a_schedule_of_too_many_pieces_is_refused),
        cmocka_unit_test(ranks_stand_as_in_megatron),
        cmocka_unit_test(chunks_are_told_by_their_blocks),
        cmocka_unit_test(zero_sends_what_the_paper_counts),
        cmocka_unit_test(micro_batches_gather_again_only_in_stage_3),
        cmocka_unit_test(tensor_ranks_send_what_the_paper_counts),
        cmocka_unit_test(state_is_divided_as_the_paper_counts),
        cmocka_unit_test(gradients_under_a_pipeline_travel_once),
        cmocka_unit_test(blocks_that_do_not_divide_are_spread),
        cmocka_unit_test(chunks_that_do_not_divide_burden_no_stage),
        cmocka_unit_test(what_does_not_divide_is_refused),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
