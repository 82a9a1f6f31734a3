/* Properties that every model keeps under every strategy. */
#include "rig.h"
#include "test.h"

/* the settings that a property is tried with */
static struct train_spec variant(const char *strategy, int i)
{
    struct train_spec spec = rig_spec(strategy);
    spec.grad_accumulation = 1 + i % 2;
    spec.overlap = i % 3 != 0;
    spec.gradient_B = i % 2 ? 2 : 4;
    spec.dtype = (enum dtype)(i % N_DTYPES);
    spec.one_gpu_s = i % 4 == 1 ? 0.5 : 0.0;
    spec.input_s = i % 4 == 2 ? 0.05 : 0.0;
    spec.n_servers = i;
    return spec;
}
enum { N_VARIANTS = 6 };

static bool exchanges(const char *strategy)
{
    return strcmp(strategy, "local") != 0;
}

/* a property of one job; `spec` is what it was built from */
typedef void property(const struct train_spec *spec, const struct model *model,
                      const struct job *job, struct arena scratch);

static void try_everywhere(property *holds, int n_ranks, struct arena scratch)
{
    struct gpu gpu = rig_gpu();
    for (int k = 0; k < n_model_kinds; k++) {
        struct arena perm = scratch;
        const struct model *model = model_kinds[k].build(&model_kinds[k], 0, &perm);
        for (int i = 0; i < n_strategies * N_VARIANTS; i++) {
            struct arena per_job = perm;
            struct train_spec spec = variant(strategies[i / N_VARIANTS].name, i % N_VARIANTS);
            spec.n_ranks = n_ranks;
            const struct job *job = rig_job(&spec, model, &gpu, &per_job);
            holds(&spec, model, job, per_job);
        }
    }
}

static void is_sound(const struct train_spec *spec, const struct model *model,
                     const struct job *job, struct arena scratch)
{
    (void)model;
    job_check(job, scratch);
    assert_int_equal(job->n_ranks, spec->n_ranks);
}

static void conserves(const struct train_spec *spec, const struct model *model,
                      const struct job *job, struct arena scratch)
{
    (void)scratch;
    double wanted_B = spec->gradient_B * (double)model_n_parameters(model);
    if (!exchanges(spec->strategy)) wanted_B = 0.0;
    assert_close(rig_collective_B(job->programs), wanted_B, 0);
}

static void is_silent(const struct train_spec *spec, const struct model *model,
                      const struct job *job, struct arena scratch)
{
    (void)spec;
    (void)model;
    (void)scratch;
    assert_int_equal(rig_n_collectives(job->programs), 0);
    assert_int_equal(job->n_comms, 0);
}

static void every_job_is_sound(void **state)
{
    struct arena *perm = *state;
    try_everywhere(is_sound, 8, *perm);
}

/* what all collectives of a step carry together is the gradient, whatever the cutting */
static void every_gradient_is_reduced_once(void **state)
{
    struct arena *perm = *state;
    try_everywhere(conserves, 8, *perm);
}

static void one_rank_communicates_nothing(void **state)
{
    struct arena *perm = *state;
    try_everywhere(is_silent, 1, *perm);
}

/* 200 million fp32 parameters are 0.8 GB of gradient; 8 GPUs send 2 (n - 1) / n of it: 1.4 GB
 * each */
static void two_hundred_million_parameters(void **state)
{
    struct arena *perm = *state;
    struct layer layer = {
        .name = "all", .kind = LAYER_LINEAR, .flop = 1e9, .n_tensors = 2, .n_kernels = 1};
    struct tensor tensors[] = {{"weight", 199999000, 0}, {"bias", 1000, 0}};
    struct model model = {.name = "200M",
                          .source = "made up",
                          .sample = "sample",
                          .tokens_per_sample = 1,
                          .layers = &layer,
                          .n_layers = 1,
                          .tensors = tensors,
                          .n_tensors = 2};
    struct gpu gpu = rig_gpu();
    for (int s = 0; s < n_strategies; s++) {
        if (!exchanges(strategies[s].name)) continue;
        struct train_spec spec = rig_spec(strategies[s].name);
        const struct job *job = rig_job(&spec, &model, &gpu, perm);
        double size_B = rig_collective_B(job->programs);
        assert_close(size_B, 0.8e9, 0);
        int n = job_group_size(job, 0);
        assert_close(size_B * 2 * (n - 1) / n, 1.4e9, 1e-12);
    }
}

static void rows_are_complete_and_found_by_name(void **state)
{
    (void)state;
    for (int s = 0; s < n_strategies; s++) {
        assert_ptr_equal(strategy_find(strategies[s].name), &strategies[s]);
        assert_non_null(strategies[s].build);
        assert_true(strlen(strategies[s].summary) > 0 && strlen(strategies[s].source) > 0);
    }
    assert_null(strategy_find("fsdp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_sound),
        cmocka_unit_test(every_gradient_is_reduced_once),
        cmocka_unit_test(one_rank_communicates_nothing),
        cmocka_unit_test(two_hundred_million_parameters),
        cmocka_unit_test(rows_are_complete_and_found_by_name),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
