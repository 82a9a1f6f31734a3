/* How long hybrid jobs take: pipelines against their closed forms, and the three fidelities. */
#include "ideal.h"

#include "estimate.h"
#include "workload/builder.h"
#include "workload/parallel.h"

static const double HIDDEN = 1024, ROWS = 512;

/* Kernels without start-up costs, so that work is what counts. */
static struct gpu plain_gpu(void)
{
    return (struct gpu){.name = "plain",
                        .peak_flops = {1e14, 1e14, 1e14, 1e14, 1e14},
                        .matrix_frac = {1, 1, 1, 1, 1},
                        .vector_flops = 1e13,
                        .hbm_Bps = 1e12,
                        .hbm_frac = 1,
                        .memory_B = 1e12};
}

static void add_product(struct builder *builder, int block, enum layer_split split)
{
    double elements = ROWS * HIDDEN;
    builder_layer(builder, (struct layer){.name = "product",
                                          .kind = LAYER_LINEAR,
                                          .split = split,
                                          .block = block,
                                          .m = ROWS,
                                          .n = HIDDEN,
                                          .k = HIDDEN,
                                          .n_products = 1,
                                          .flop = 2 * ROWS * HIDDEN * HIDDEN,
                                          .read_elements = elements,
                                          .written_elements = elements,
                                          .kept_elements = elements,
                                          .n_kernels = 1});
    builder_tensor(builder, "weight", (int64_t)(HIDDEN * HIDDEN));
}

/* n equal blocks of two products, nothing before or behind them */
static struct model *equal_blocks(int n, struct arena *perm)
{
    struct builder builder = builder_open("equal", "sample", "made up", perm);
    for (int b = 0; b < n; b++) {
        add_product(&builder, b, SPLIT_COLUMN);
        add_product(&builder, b, SPLIT_ROW);
    }
    builder.model->n_blocks = n;
    return builder.model;
}

static struct train_spec spec_of(int n_ranks, struct split split, int n_micro_batches)
{
    return (struct train_spec){.strategy = "parallel",
                               .n_ranks = n_ranks,
                               .batch_per_gpu = 4,
                               .grad_accumulation = n_micro_batches,
                               .dtype = DTYPE_BF16,
                               .gradient_B = 4,
                               .optimizer = "adam",
                               .overlap = true,
                               .n_iterations = 3,
                               .split = split};
}

static struct inputs *inputs_of(const struct train_spec *spec, const struct model *model,
                                double link_Bps, struct arena *perm)
{
    struct node_spec node = ideal_node;
    struct gpu *gpu = arena_new(perm, struct gpu, 1);
    *gpu = plain_gpu();
    node.nic_Bps = node.pcie_Bps = node.socket_Bps = link_Bps;
    struct topo *topo = build_topo(&node, &one_switch, spec->n_ranks, perm);
    struct job *job = strategy_find(spec->strategy)->build(spec, model, gpu, perm);
    struct inputs *in = build_inputs(topo, job, perm);
    in->gpu = *gpu;
    in->library.rendezvous = true;
    return in;
}

static double estimated_s(const struct inputs *in, struct arena scratch)
{
    const struct run *run = estimate_run(plan_build(in, &scratch), &scratch);
    assert_null(run->stuck);
    return run->iteration_s;
}

static double fluid_s(const struct inputs *in, struct arena scratch)
{
    const struct run *run = engine_run(plan_build(in, &scratch), &scale_none, &scratch);
    assert_null(run->stuck);
    return run->iteration_s;
}

static double message_s(const struct inputs *base, struct arena scratch)
{
    struct inputs in = *base;
    in.fold = false;
    const struct run *run = engine_message(plan_build(&in, &scratch), &scratch);
    assert_null(run->stuck);
    return run->iteration_s;
}

/* what the kernels of a program take */
static double work_s(const struct program *program, enum op_part part)
{
    double sum_s = 0;
    for (int i = 0; i < program->n_ops; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_KERNEL && op->part == part) sum_s += op->work_s;
    }
    return sum_s;
}

/* Narayanan et al., SC 2021, sec. 2.2: the bubble is (p - 1) / (v m) of the work m (F + B). Links are as
 * good as infinite, latencies 1 us of 10 ms. */
static void the_bubble_is_that_of_the_paper(void **state)
{
    static const struct {
        int p, v, m;
    } cases[] = {{1, 1, 7}, {2, 1, 1}, {4, 1, 4}, {4, 1, 16},
                 {8, 1, 3}, {2, 2, 4}, {4, 2, 8}, {4, 4, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena scratch = *(struct arena *)*state;
        struct split split = split_none;
        split.pipeline = cases[i].p;
        split.virtual_stages = cases[i].v;
        struct train_spec spec = spec_of(cases[i].p, split, cases[i].m);
        struct inputs *in = inputs_of(&spec, equal_blocks(16, &scratch), 1e18, &scratch);
        const struct program *program = &in->job->programs[0];
        double busy_s = work_s(program, PART_FORWARD) + work_s(program, PART_BACKWARD);
        double bubble = (cases[i].p - 1.0) / (cases[i].v * cases[i].m);
        double wanted_s = busy_s * (1 + bubble) + work_s(program, PART_OPTIMIZER);
        assert_close(estimated_s(in, scratch), wanted_s, 0.02);
        assert_close(fluid_s(in, scratch), wanted_s, 0.02);
    }
}

/* Micro-batches that do not come out even end, too, and take no less than their work. */
static void any_number_of_micro_batches_comes_to_an_end(void **state)
{
    for (int m = 1; m <= 11; m++) {
        for (int p = 2; p <= 5; p++) {
            struct arena scratch = *(struct arena *)*state;
            struct split split = split_none;
            split.pipeline = p;
            split.virtual_stages = 3;
            struct train_spec spec = spec_of(p, split, m);
            struct inputs *in = inputs_of(&spec, equal_blocks(15, &scratch), 1e18, &scratch);
            double busy_s = work_s(&in->job->programs[0], PART_FORWARD) +
                            work_s(&in->job->programs[0], PART_BACKWARD);
            assert_true(estimated_s(in, scratch) > busy_s);
        }
    }
}

/* One at a time, so that nothing shares a link: then the finer models find what the estimate does. */
static void the_fidelities_agree_where_nothing_is_shared(void **state)
{
    struct split tensor = split_none, zero = split_none, gathered = split_none;
    tensor.tensor = 4;
    tensor.sequence = true;
    tensor.recompute = RECOMPUTE_FULL;
    zero.zero_stage = 1;
    gathered.zero_stage = 3;
    struct split splits[] = {tensor, zero, gathered, split_none};
    for (int i = 0; i < 4; i++) {
        for (int overlap = 0; overlap < 2; overlap++) {
            struct arena scratch = *(struct arena *)*state;
            struct train_spec spec = spec_of(4, splits[i], 3);
            spec.overlap = overlap;
            struct inputs *in = inputs_of(&spec, equal_blocks(6, &scratch), 10 * GB, &scratch);
            double estimate_s = estimated_s(in, scratch);
            assert_close(fluid_s(in, scratch), estimate_s, 1e-9);
            assert_close(message_s(in, scratch), estimate_s, 1e-9);
        }
    }
}

/* Streams of a pipeline of tensor groups share cards, which the estimate does not see: with links fast
 * enough that communication is a tenth of the step, that is a few per cent. */
static void hybrids_run_in_every_fidelity(void **state)
{
    struct split split = split_none;
    split.tensor = 2;
    split.pipeline = 2;
    split.virtual_stages = 2;
    split.zero_stage = 1;
    struct train_spec spec = spec_of(8, split, 4);
    struct inputs *in = inputs_of(&spec, equal_blocks(8, *state), 500 * GB, *state);
    double estimate_s = estimated_s(in, *(struct arena *)*state);
    assert_close(fluid_s(in, *(struct arena *)*state), estimate_s, 0.03);
    assert_close(message_s(in, *(struct arena *)*state), estimate_s, 0.03);
}

/* Sums over tensor ranks stand in the way: per block and micro-batch 4 all-reduces of 4 x 512 x 1024
 * elements of 2 bytes over two cards of 10 GB/s, by a ring S / B + 2 alpha each: 423.4 us. */
static void tensor_sums_take_what_a_ring_does(void **state)
{
    struct split split = split_none;
    split.tensor = 2;
    struct train_spec spec = spec_of(2, split, 3);
    struct inputs *in = inputs_of(&spec, equal_blocks(6, *state), 10 * GB, *state);
    const struct program *program = &in->job->programs[0];
    double busy_s = work_s(program, PART_FORWARD) + work_s(program, PART_BACKWARD) +
                    work_s(program, PART_OPTIMIZER);
    /* a block has one row layer, summed forward, and one column layer, summed backward */
    double sum_s = 4.0 * 512 * 1024 * 2 / (10 * GB) + 2 * 2 * US;
    assert_close(estimated_s(in, *(struct arena *)*state), busy_s + 3 * 6 * 2 * sum_s, 1e-9);
}

/* Kernels here are all products. Gathers and scatters of 4 x 512 x 1024 elements of 2 bytes over two
 * cards, half of them at a card's rate and one alpha each, hide behind them or hide them: per pass and
 * block one of each. */
static void sums_beside_products_hide_the_smaller(void **state)
{
    struct split split = split_none;
    split.tensor = 2;
    split.sequence = split.tensor_overlap = true;
    struct train_spec spec = spec_of(2, split, 3);
    static const double link_GBps[] = {10, 1000};
    for (int i = 0; i < 2; i++) {
        struct inputs *in = inputs_of(&spec, equal_blocks(6, *state), link_GBps[i] * GB, *state);
        const struct program *program = &in->job->programs[0];
        double pass_s = work_s(program, PART_FORWARD) + work_s(program, PART_BACKWARD);
        double sum_s = 4.0 * 512 * 1024 * 2 / 2 / (link_GBps[i] * GB) + 2 * US;
        double sums_s = 3 * 2 * 6 * 2 * sum_s;
        assert_true(i == 0 ? sums_s > 2 * pass_s : sums_s < pass_s / 2);
        double want_s = work_s(program, PART_OPTIMIZER) + (i == 0 ? sums_s : pass_s);
        assert_close(estimated_s(in, *(struct arena *)*state), want_s, 1e-9);
    }
}

/* With slow links stage 3 takes as long as its bytes: 3 Psi (n - 1) / n of gathers (2 bytes) twice and
 * gradients (4 bytes) once; with fast ones as its kernels. Fetching ahead hides the smaller of both. */
static void fetching_ahead_hides_the_smaller(void **state)
{
    struct split split = split_none;
    split.zero_stage = 3;
    struct train_spec spec = spec_of(4, split, 1);
    const struct model *model = equal_blocks(16, *state);
    double psi = (double)model_n_parameters(model);
    struct inputs *slow = inputs_of(&spec, model, 0.1 * GB, *state);
    double wire_s = psi * (2 + 2 + 4) * 3 / 4 / (0.1 * GB);
    double slow_s = estimated_s(slow, *(struct arena *)*state);
    assert_true(slow_s >= wire_s && slow_s < wire_s * 1.1);
    struct inputs *fast = inputs_of(&spec, model, 1e18, *state);
    const struct program *program = &fast->job->programs[0];
    double busy_s = work_s(program, PART_FORWARD) + work_s(program, PART_BACKWARD) +
                    work_s(program, PART_OPTIMIZER);
    assert_close(estimated_s(fast, *(struct arena *)*state), busy_s, 0.03);
}

/* Nothing divided: as ddp with a bucket per block, but for its copies into and out of buckets. */
static void with_nothing_divided_it_is_ddp(void **state)
{
    struct train_spec spec = spec_of(4, split_none, 1);
    const struct model *model = equal_blocks(16, *state);
    double parallel_s =
        estimated_s(inputs_of(&spec, model, 10 * GB, *state), *(struct arena *)*state);
    spec.strategy = "ddp";
    spec.bucket_cap_B = spec.first_bucket_B = 2 * HIDDEN * HIDDEN * 4;
    struct inputs *ddp = inputs_of(&spec, model, 10 * GB, *state);
    double ddp_s = estimated_s(ddp, *(struct arena *)*state);
    assert_true(ddp_s >= parallel_s);
    assert_close(ddp_s, parallel_s, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bubble_is_that_of_the_paper),
        cmocka_unit_test(any_number_of_micro_batches_comes_to_an_end),
        cmocka_unit_test(the_fidelities_agree_where_nothing_is_shared),
        cmocka_unit_test(hybrids_run_in_every_fidelity),
        cmocka_unit_test(tensor_sums_take_what_a_ring_does),
        cmocka_unit_test(sums_beside_products_hide_the_smaller),
        cmocka_unit_test(fetching_ahead_hides_the_smaller),
        cmocka_unit_test(with_nothing_divided_it_is_ddp),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
