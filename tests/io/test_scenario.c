/* Scenarios: every error a user can make has its message and builds nothing; what loads is as
 * written. */
#include "../test.h"

#include "io/keys.h"
#include "io/scenario.h"
#include "net/fabric.h"
#include "predict.h"
#include "workload/step.h"

#include <dirent.h>

enum { MAX_FILES = 256 };

static const struct scenario_options plain = {.profile_dir = "scenarios"};

static struct inputs *load_text(const char *text, const struct scenario_options *options,
                                struct field_log *log, struct arena *perm, struct diag *diag)
{
    *diag = (struct diag){.perm = perm};
    return scenario_load_text("here.json", text, strlen(text), options, log, perm, diag);
}

/* must_load — a text that is valid. */
static struct inputs *must_load(const char *text, struct arena *perm)
{
    struct diag diag;
    struct inputs *in = load_text(text, &plain, NULL, perm, &diag);
    if (!in) diag_print(&diag, stderr);
    assert_non_null(in);
    return in;
}

static const char *printed(const struct diag *diag, struct arena *perm)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    diag_print(diag, out);
    fclose(out);
    const char *kept = arena_text(perm, "%s", text);
    free(text);
    return kept;
}

static const char *read_text(const char *file, struct arena *perm)
{
    FILE *in = fopen(file, "r");
    if (!in) fail_msg("%s is missing", file);
    char *text = arena_new(perm, char, 65536);
    size_t n = fread(text, 1, 65535, in);
    fclose(in);
    text[n] = '\0';
    return text;
}

static int list(const char *folder, const char **files, struct arena *perm)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0) continue;
        assert_true(n < MAX_FILES);
        files[n++] = arena_text(perm, "%s/%s", folder, entry->d_name);
    }
    closedir(dir);
    return n;
}

static void each_broken_scenario_says_exactly_what_is_wrong(void **state)
{
    const char *files[MAX_FILES];
    int n = list("tests/io/bad", files, *state);
    int n_wrong = 0;
    assert_true(n >= 25);
    for (int i = 0; i < n; i++) {
        struct diag diag = {.perm = *state};
        struct inputs *in = scenario_load(files[i], &plain, NULL, *state, &diag);
        const char *got = printed(&diag, *state);
        int stem = (int)(strrchr(files[i], '.') - files[i]);
        const char *want = read_text(arena_text(*state, "%.*s.expect", stem, files[i]), *state);
        if (!in && !strcmp(got, want)) continue;
        print_error("%s:%s\n--- wanted\n%s--- got\n%s", files[i], in ? " loads" : "", want, got);
        n_wrong++;
    }
    assert_int_equal(n_wrong, 0);
}

static void every_shipped_scenario_loads_and_asks_a_question(void **state)
{
    const char *files[MAX_FILES];
    int n = list("scenarios", files, *state);
    assert_true(n >= 8);
    for (int i = 0; i < n; i++) {
        struct diag diag = {.perm = *state};
        struct field_log log = {0};
        struct inputs *in = scenario_load(files[i], &plain, &log, *state, &diag);
        if (!in) diag_print(&diag, stderr);
        assert_non_null(in);
        bool asks = strstr(files[i], "minimal.json") != NULL;
        for (int u = 0; u < log.n_uses; u++) {
            asks = asks || (!strcmp(log.uses[u].key, "question") && !log.uses[u].from_default);
        }
        if (!asks) fail_msg("%s has no question", files[i]);
    }
}

#define FIVE                                                                                       \
    "\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"gpu\": \"v100-sxm2-16\", \"n_gpus\": 32"
#define WITH(more) "{" FIVE ", " more "}"

static void five_lines_are_enough(void **state)
{
    const char *text = read_text("scenarios/minimal.json", *state);
    int n_lines = 0;
    for (const char *at = text; *at; at++) n_lines += *at == '\n';
    assert_int_equal(n_lines, 5);
    struct inputs *in = must_load(text, *state);
    assert_int_equal(in->n_gpus, 32);
    assert_int_equal(in->train.n_nodes, 4); /* 32 / 8 of a DGX-1 */
    assert_string_equal(in->train.strategy, "ddp");
    assert_string_equal(in->library.name, "nccl-2.18");
    assert_int_equal(in->fidelity, FIDELITY_FLUID);
    assert_true(in->fold);
    assert_int_equal(in->topo->n_gpus, 32);
    assert_non_null(in->job);
    assert_int_equal(in->job->n_ranks, 32);
}

static void sets_change_what_is_written(void **state)
{
    const char *const sets[] = {"/n_gpus=64", "/fabric={\"kind\": \"switch\"}", "/nic=eth-10g",
                                "/run/fidelity=message"};
    const struct scenario_options options = {.sets = sets, .n_sets = 4, .profile_dir = "scenarios"};
    struct diag diag;
    struct inputs *in = load_text(WITH("\"run\": {\"fold\": true}"), &options, NULL, *state, &diag);
    if (!in) diag_print(&diag, stderr);
    assert_non_null(in);
    assert_int_equal(in->n_gpus, 64);
    assert_string_equal(in->fabric.kind, "switch");
    assert_close(in->node.nic_Bps, 1.25e9, 1e-12); /* 10 Gb/s */
    assert_false(in->node.gpudirect);              /* TCP goes through the host */
    assert_int_equal(in->fidelity, FIDELITY_MESSAGE);
    assert_false(in->fold); /* messages need every rank */
}

static void a_set_within_a_name_keeps_the_rest_of_what_is_named(void **state)
{
    const char *const sets[] = {"/nic=eth-25g",
                                "/nic/latency=9us",
                                "/model/sequence_length=0",
                                "/strategy/bucket_cap=3MiB",
                                "/fabric/oversubscription=4",
                                "/run/fidelity=estimate"};
    const struct scenario_options options = {.sets = sets, .n_sets = 6, .profile_dir = "scenarios"};
    struct diag diag;
    struct inputs *in = load_text("{" FIVE "}", &options, NULL, *state, &diag);
    if (!in) diag_print(&diag, stderr);
    assert_non_null(in);
    assert_close(in->node.nic_Bps, 3.125e9, 1e-12); /* 25 Gb/s, as the profile has it */
    assert_close(in->topo->node.nic_latency_s, 9e-6, 1e-12);
    assert_string_equal(in->model->name, "resnet50");
    assert_close(in->fabric.oversubscription, 4, 0);
    assert_int_equal(in->fidelity, FIDELITY_ESTIMATE); /* and "run" was not there at all */
}

static void a_bad_set_is_reported(void **state)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"n_gpus=64", "(wanted /POINTER=VALUE"},
        {"/n_gpus", "(wanted /POINTER=VALUE"},
        {"/no/such/parent=1", "/no"},
        {"/n_gpus/x=1", "there is no \"x\" in a number"},
        {"/n_gpus=many", "/n_gpus"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct scenario_options options = {
            .sets = &cases[i].set, .n_sets = 1, .profile_dir = "scenarios"};
        struct diag diag;
        assert_null(load_text("{" FIVE "}", &options, NULL, *state, &diag));
        assert_non_null(strstr(printed(&diag, *state), cases[i].message));
    }
}

static void fidelity_may_be_forced(void **state)
{
    const struct scenario_options options = {.fidelity = "estimate", .profile_dir = "scenarios"};
    const struct scenario_options wrong = {.fidelity = "estimat", .profile_dir = "scenarios"};
    struct diag diag;
    struct inputs *in = load_text("{" FIVE "}", &options, NULL, *state, &diag);
    assert_non_null(in);
    assert_int_equal(in->fidelity, FIDELITY_ESTIMATE);
    assert_null(load_text("{" FIVE "}", &wrong, NULL, *state, &diag));
    assert_non_null(strstr(diag.messages[0], "did you mean \"estimate\"?"));
}

static void a_measured_throughput_gives_the_step_of_one_gpu(void **state)
{
    struct inputs *in = must_load(
        WITH("\"grad_accumulation\": 2, \"measured\": {\"one_gpu_throughput\": 320}"), *state);
    assert_close(in->train.one_gpu_s, 64 * 2 / 320.0, 1e-12);
    assert_close(in->spread_compute.faster, 0.146, 1e-12); /* the defaults of measured/spread_* */
    assert_close(in->spread_compute.slower, 0.255, 1e-12);
    assert_close(must_load("{" FIVE "}", *state)->train.one_gpu_s, 0, 0);
}

static double kernels_s(const struct inputs *in)
{
    double sum_s = 0;
    for (int i = 0; i < in->job->programs[0].n_ops; i++) {
        const struct op *op = &in->job->programs[0].ops[i];
        if (op->kind == OP_KERNEL) sum_s += op->work_s;
    }
    return sum_s;
}

#define ALONE(more)                                                                                \
    "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"gpu\": \"v100-sxm2-16\", \"n_gpus\": "     \
    "1" more "}"

static void a_measurement_with_other_micro_batches_is_carried_over(void **state)
{
    /* By the profile a step of one GPU is A m + o. Measured with A = 4 it takes s times that; with
     * A = 1 it then takes s (m + o). Both sums are those of the profile's own jobs. */
    double one_s = kernels_s(must_load(ALONE(""), *state));
    double four_s = kernels_s(must_load(ALONE(", \"grad_accumulation\": 4"), *state));
    struct inputs *in = must_load(ALONE(", \"measured\": {\"one_gpu_throughput\": 200, "
                                        "\"grad_accumulation\": 4}"),
                                  *state);
    assert_close(in->train.one_gpu_s, 64 * 4 / 200.0 * one_s / four_s, 1e-9);
    assert_close(kernels_s(in), in->train.one_gpu_s, 1e-9);
    assert_true(four_s < 4 * one_s); /* the optimizer runs once */
}

static const struct lib_choice *row_of(const struct inputs *in, const char *algo,
                                       const char *protocol)
{
    for (int i = 0; i < in->library.n_choices; i++) {
        const struct lib_choice *row = &in->library.choices[i];
        if (row->kind != COLL_ALLREDUCE || strcmp(row->algo->name, algo) != 0) continue;
        if (!strcmp(row->protocol, protocol)) return row;
    }
    fail_msg("no row %s %s", algo, protocol);
    return NULL;
}

static void hardware_efficiency_multiplies_the_rows(void **state)
{
    /* NCCL ring Simple is 1 and 14 us; the server reaches 0.9 of NVLink, 10 GbE TCP 0.5 (both set
     * here) and 20 us in the hosts */
    struct inputs *in = must_load(
        WITH(
            "\"node\": {\"base\": \"dgx-1v\", \"scaleup_efficiency\": 0.9}, "
            "\"nic\": {\"bandwidth\": \"10Gbps\", \"efficiency\": 0.5, \"host_latency\": \"20us\", "
            "\"rdma\": false}"),
        *state);
    const struct lib_choice *ring = row_of(in, "ring", "Simple");
    assert_close(ring->efficiency_scaleup, 0.9, 1e-12);
    assert_close(ring->efficiency_net, 0.5, 1e-12);
    assert_close(ring->net_latency_s, 34e-6, 1e-12);
    in = must_load(WITH("\"library\": \"ideal\", \"nic\": \"eth-10g\""), *state);
    ring = row_of(in, "ring", "ideal");
    assert_close(ring->efficiency_scaleup, 1, 0);
    assert_close(ring->efficiency_net, 1, 0);
    assert_close(ring->net_latency_s, 0, 0);
}

/* links whose capacity differs between two loads, each by the factor */
static const struct library *with_library(const char *keys, struct arena *perm)
{
    return &must_load(arena_text(perm, WITH("\"library\": {\"base\": \"nccl-2.21.5\"%s}"), keys),
                      perm)
                ->library;
}

static void who_drives_the_gpus_decides_what_the_host_pays(void **state)
{
    const struct library *one = with_library("", *state);
    assert_true(one->issue_s > 0 && one->issue_per_rank_s > 0);
    const struct library *each = with_library(", \"process_per\": \"gpu\"", *state);
    assert_close(each->issue_s, one->issue_s, 0);
    assert_close(each->issue_per_rank_s, 0, 0);
    const struct library *graph = with_library(", \"graph_launch\": true", *state);
    assert_close(graph->issue_s + graph->issue_per_rank_s, 0, 0);
}

/* NCCL's buffers are 4 MiB; a card's window counts where it is less. */
static void of_two_windows_the_smaller_one_counts(void **state)
{
    assert_close(with_library("", *state)->choices[0].net.window_B, 4194304, 0);
    assert_close(with_library(", \"window\": \"0B\"", *state)->choices[0].net.window_B, 0, 0);
    struct inputs *in =
        must_load(WITH("\"library\": \"nccl-2.18\", \"nic\": {\"base\": \"eth-25g\", "
                       "\"window\": \"1MiB\", \"connection_bandwidth\": \"10Gbps\"}"),
                  *state);
    assert_close(in->library.choices[0].net.window_B, 1048576, 0);
    assert_close(in->library.choices[0].net.connection_Bps, 1.25e9, 0);
}

static int count_degraded(const struct topo *topo, const struct topo *sound, double factor)
{
    int n = 0;
    assert_int_equal(topo->n_links, sound->n_links);
    for (int l = 0; l < topo->n_links; l++) {
        double part = topo->links[l].capacity_Bps / sound->links[l].capacity_Bps;
        if (part > 1 - 1e-12) continue;
        assert_close(part, factor, 1e-12);
        n++;
    }
    return n;
}

static void degraded_links_lose_capacity_and_no_others(void **state)
{
    const struct topo *sound = must_load("{" FIVE "}", *state)->topo;
    static const struct {
        const char *text;
        int n_links;
    } cases[] = {
        {WITH("\"degraded\": [{\"link\": \"node 3 nic 0 -> leaf 0\", \"factor\": 0.5}]"), 1},
        {WITH("\"degraded\": [{\"link\": \"node 3 nic 0 <-> leaf 0\", \"factor\": 0.5}]"), 2},
        {WITH("\"degraded\": [{\"link\": \"node 2 nic * -> leaf 0\", \"factor\": 0.5}]"), 4},
        {WITH("\"degraded\": [{\"link\": \"node * nic 1 <-> leaf *\", \"factor\": 0.5}]"), 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct topo *topo = must_load(cases[i].text, *state)->topo;
        assert_int_equal(count_degraded(topo, sound, 0.5), cases[i].n_links);
    }
}

static void placements_are_permutations(void **state)
{
    static const char *const texts[] = {"{" FIVE "}", WITH("\"placement\": \"spread\""),
                                        WITH("\"placement\": \"random\""),
                                        WITH("\"placement\": \"random\", \"run\": {\"seed\": 7}")};
    struct inputs *in[4];
    for (int i = 0; i < 4; i++) {
        int seen[32] = {0};
        in[i] = must_load(texts[i], *state);
        for (int r = 0; r < 32; r++) seen[in[i]->gpu_of[r]]++;
        for (int g = 0; g < 32; g++) assert_int_equal(seen[g], 1);
    }
    assert_int_equal(in[0]->gpu_of[5], 5);
    assert_int_equal(in[1]->gpu_of[1], 8);  /* the next node of 8 GPUs */
    assert_int_equal(in[1]->gpu_of[6], 17); /* node 6 mod 4 = 2, its second GPU */
    assert_memory_not_equal(in[2]->gpu_of, in[3]->gpu_of, 32 * sizeof(int));
    assert_memory_equal(in[2]->gpu_of, must_load(texts[2], *state)->gpu_of, 32 * sizeof(int));
}

static void slow_gpus_are_kept(void **state)
{
    struct inputs *in = must_load(WITH("\"slow_gpus\": [{\"gpu\": 3, \"factor\": 1.5}]"), *state);
    assert_int_equal(in->n_slow, 1);
    assert_int_equal(in->slow[0].gpu, 3);
    assert_close(in->slow[0].factor, 1.5, 0);
}

static void one_server_needs_no_network(void **state)
{
    struct inputs *in = must_load("{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"gpu\": "
                                  "\"v100-sxm2-16\", \"n_gpus\": 4, \"node\": {\"gpus\": 8}}",
                                  *state);
    assert_int_equal(in->train.n_nodes, 1);
    assert_int_equal(in->topo->n_ports, 0);
}

static void the_log_tells_defaults_from_what_was_written(void **state)
{
    struct field_log log = {0};
    struct diag diag;
    assert_non_null(load_text(WITH("\"strategy\": \"horovod\""), &plain, &log, *state, &diag));
    int n_seen = 0;
    for (int i = 0; i < log.n_uses; i++) {
        const struct field_use *use = &log.uses[i];
        if (!strcmp(use->object, "strategy") && !strcmp(use->key, "kind")) {
            n_seen++;
            assert_string_equal(use->value, "horovod");
            assert_false(use->from_default);
        }
        if (!strcmp(use->key, "fusion")) {
            n_seen++;
            assert_string_equal(use->value, "128MiB");
            assert_true(use->from_default);
        }
    }
    assert_int_equal(n_seen, 2);
}

static void deep_nesting_is_refused(void **state)
{
    enum { DEPTH = 100000 };
    char *text = arena_new(*state, char, 2 * DEPTH + 1);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    struct diag diag;
    assert_null(load_text(text, &plain, NULL, *state, &diag));
    assert_int_equal(diag.n_messages, 1);
}

static void a_file_of_17_MB_is_refused(void **state)
{
    char name[] = "/tmp/dpsim-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    for (int i = 0; i < 17 << 20; i++) fputc(' ', out);
    fputs("{}", out);
    fclose(out);
    struct diag diag = {.perm = *state};
    assert_null(scenario_load(name, &plain, NULL, *state, &diag));
    remove(name);
    assert_int_equal(diag.n_messages, 1);
    assert_non_null(strstr(diag.messages[0], name));
}

static void a_missing_file_is_reported(void **state)
{
    struct diag diag = {.perm = *state};
    assert_null(scenario_load("no/such.json", &plain, NULL, *state, &diag));
    assert_int_equal(diag.n_messages, 1);
    assert_non_null(strstr(diag.messages[0], "no/such.json"));
}

static const char *captured(void (*write)(FILE *), struct arena *perm)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    write(out);
    fclose(out);
    const char *kept = arena_text(perm, "%s", text);
    free(text);
    return kept;
}

static void the_schema_has_every_key_that_shipped_scenarios_use(void **state)
{
    const char *text = captured(scenario_schema, *state);
    struct diag diag = {.perm = *state};
    struct json *schema = json_read_text("schema", text, strlen(text), *state, &diag);
    if (!schema) diag_print(&diag, stderr);
    assert_non_null(schema);
    const struct json_node *known = json_get(json_root(schema), "properties");
    const char *files[MAX_FILES];
    int n = list("scenarios", files, *state);
    for (int i = 0; i < n; i++) {
        struct json *json = json_read_file(files[i], *state, &diag);
        assert_non_null(json);
        for (int k = 0; k < json_size(json_root(json)); k++) {
            const char *key = json_key(json_at(json_root(json), k));
            if (!json_get(known, key)) fail_msg("%s: \"%s\" is not in the schema", files[i], key);
        }
        json_close(json);
    }
    /* model, gpu, batch_per_gpu, n_gpus: what five_lines_are_enough gives besides the fabric */
    const struct json_node *one_job = json_at(json_get(json_root(schema), "anyOf"), 1);
    assert_int_equal(json_size(json_get(one_job, "required")), 4);
    json_close(schema);
}

static void the_reference_has_a_row_for_every_key(void **state)
{
    const char *text = captured(scenario_reference, *state);
    for (int i = 0; i < n_top_fields; i++) {
        assert_non_null(strstr(text, arena_text(*state, "| `%s` |", top_fields[i].key)));
    }
    for (int p = 0; p < N_KEYS_PARTS; p++) {
        for (int i = 0; i < key_parts[p].n_fields; i++) {
            const char *row = arena_text(*state, "| `%s` |", key_parts[p].fields[i].key);
            assert_non_null(strstr(text, row));
        }
    }
    for (int p = 0; p < N_PROFILE_KINDS; p++) {
        for (int i = 0; i < profile_kinds[p].n_fields; i++) {
            const char *row = arena_text(*state, "| `%s` |", profile_kinds[p].fields[i].key);
            assert_non_null(strstr(text, row));
        }
    }
}

static void names_of_precisions_are_in_the_order_of_the_enum(void **state)
{
    (void)state;
    for (int t = 0; t < N_DTYPES; t++) assert_string_equal(precision_names[t], dtype_names[t]);
    assert_null(precision_names[N_DTYPES]);
    assert_null(fidelity_choices[N_FIDELITIES]);
    for (int i = 0; i < n_top_fields; i++) {
        if (strcmp(top_fields[i].key, "optimizer") != 0) continue;
        int n = 0;
        while (top_fields[i].choices[n])
            assert_non_null(optimizer_find(top_fields[i].choices[n++]));
        assert_int_equal(n, n_optimizers);
    }
    assert_string_equal(fidelity_choices[FIDELITY_MESSAGE], "message");
}

/* GPUs that sit in servers of 4, 6 and 8: 240 fill all of these. */
static void every_known_system_runs_by_its_name(void **state)
{
    const char *files[MAX_FILES];
    int n = list("scenarios/fabrics", files, *state);
    assert_true(n >= 10);
    for (int i = 0; i < n; i++) {
        const char *stem = strrchr(files[i], '/') + 1;
        struct inputs *in = must_load(
            arena_text(*state,
                       "{\"model\": \"resnet50\", \"gpu\": \"a100-sxm-80\", \"batch_per_gpu\": 8, "
                       "\"n_gpus\": 240, \"fabric\": \"%.*s\"}",
                       (int)strlen(stem) - 5, stem),
            *state);
        assert_non_null(in->topo->fabric);
        assert_true(in->topo->n_ports == in->topo->n_nodes * in->node.nics_per_node);
    }
}

/* Leaves, spines and cores of scalable units of 32 systems: NVIDIA DGX SuperPOD reference architecture. */
static void a_superpod_has_the_switches_that_its_makers_count(void **state)
{
    static const struct {
        int systems, leaves, spines, cores;
    } pods[] = {{64, 16, 8, 0},      {128, 32, 16, 0},      {256, 64, 32, 0},
                {512, 128, 128, 64}, {1024, 256, 256, 128}, {2048, 512, 512, 256}};
    for (size_t i = 0; i < sizeof pods / sizeof pods[0]; i++) {
        struct arena scratch = *(struct arena *)*state;
        struct inputs *in = must_load(
            arena_text(&scratch,
                       "{\"model\": \"resnet50\", \"gpu\": \"h100-sxm-80\", \"batch_per_gpu\": 8, "
                       "\"n_gpus\": %d, \"fabric\": \"dgx-h100-superpod\"}",
                       8 * pods[i].systems),
            &scratch);
        int stages[N_STAGES] = {0};
        for (int v = in->topo->fabric->first_vertex; v < in->topo->n_vertices; v++)
            stages[in->topo->vertices[v].owner]++;
        assert_int_equal(stages[STAGE_LEAF], pods[i].leaves);
        assert_int_equal(stages[STAGE_SPINE], pods[i].spines);
        assert_int_equal(stages[STAGE_CORE], pods[i].cores);
    }
}

/* A system's fabric brings its server and card; what the scenario names goes before. */
static void a_system_brings_its_usual_server(void **state)
{
    struct inputs *in = must_load("{\"model\": \"resnet50\", \"gpu\": \"v100-sxm2-16\", "
                                  "\"batch_per_gpu\": 8, \"n_gpus\": 36, \"fabric\": \"summit\"}",
                                  *state);
    assert_int_equal(in->node.gpus_per_node, 6);
    assert_int_equal(in->node.nics_per_node, 2);
    in = must_load("{\"model\": \"resnet50\", \"gpu\": \"v100-sxm2-16\", \"batch_per_gpu\": 8, "
                   "\"n_gpus\": 32, \"fabric\": {\"base\": \"summit\", \"levels\": 2}, "
                   "\"node\": \"dgx-1v\"}",
                   *state);
    assert_int_equal(in->node.gpus_per_node, 8);
    assert_int_equal(in->fabric.levels, 2);
    assert_int_equal(in->fabric.radix, 36);
}

/* A card without a rate is no card, a server without GPUs no server, a library without choices none: each
 * means the usual one, changed. */
#define SERVER_OF(gpu, n)                                                                          \
    "{\"model\": \"resnet50\", \"batch_per_gpu\": 8, \"n_gpus\": " #n ", \"gpu\": \"" gpu "\""

/* MI300X have no NVSwitch and GeForce 40 no peer access; AMD's port of NCCL runs on its GPUs alone, and
 * a parameter server needs neither. */
static void a_gpu_brings_the_server_and_library_that_it_has(void **state)
{
    struct inputs *in = must_load(SERVER_OF("mi300x", 8) "}", *state);
    assert_int_equal(in->topo->node.scaleup, SCALEUP_MESH);
    assert_string_equal(in->library.name, "rccl");
    in = must_load(SERVER_OF("mi300x", 8) ", \"strategy\": \"parameter-server\"}", *state);
    assert_string_equal(in->library.name, "grpc");
    in = must_load(SERVER_OF("mi300x", 8) ", \"library\": \"nccl-2.18\"}", *state);
    assert_string_equal(in->library.name, "nccl-2.18");
    in = must_load(SERVER_OF("rtx4090", 8) "}", *state);
    assert_false(in->topo->node.p2p);
    assert_string_equal(in->library.name, "nccl-2.18");
    in = must_load(SERVER_OF("gb10", 2) "}", *state);
    assert_int_equal(in->topo->n_nodes, 2);
}

/* An MI300X has one link of 64 GB/s to each other: 2 of 8 have one, 4 of 8 three, all 8 seven. */
static void some_gpus_of_a_mesh_have_the_links_between_them(void **state)
{
    assert_close(must_load(SERVER_OF("mi300x", 2) "}", *state)->topo->node.scaleup_Bps, 64e9, 1);
    assert_close(must_load(SERVER_OF("mi300x", 4) "}", *state)->topo->node.scaleup_Bps, 192e9, 1);
    assert_close(must_load(SERVER_OF("mi300x", 8) "}", *state)->topo->node.scaleup_Bps, 448e9, 1);
    /* a switch gives each GPU its full rate whoever takes part */
    assert_close(must_load(SERVER_OF("h100-sxm-80", 2) "}", *state)->topo->node.scaleup_Bps, 450e9,
                 1);
}

static void an_object_that_cannot_stand_alone_changes_the_usual_one(void **state)
{
    struct inputs *in = must_load("{\"model\": \"resnet50\", \"batch_per_gpu\": 8, "
                                  "\"n_gpus\": 32, \"gpu\": \"h100-sxm-80\", "
                                  "\"node\": {\"scaleup_bandwidth\": \"300GB/s\"}, "
                                  "\"nic\": {\"latency\": \"2us\"}, "
                                  "\"library\": {\"channels\": 3}}",
                                  *state);
    assert_int_equal(in->node.gpus_per_node, 8); /* dgx-h100 */
    assert_close(in->node.scaleup_Bps, 300e9, 1e-12);
    assert_close(in->node.nic_Bps, 50e9, 1e-12); /* ib-ndr */
    assert_close(in->node.nic_latency_s, 2e-6, 1e-12);
    assert_int_equal(in->library.n_channels, 3);
    assert_true(in->library.n_choices > 0);
}

static void a_family_s_name_takes_a_stated_member(void **state)
{
    struct inputs *in = must_load("{\"model\": \"resnet50\", \"batch_per_gpu\": 8, "
                                  "\"n_gpus\": 8, \"gpu\": \"h100-sxm-80\", \"library\": "
                                  "\"NCCL\", \"framework\": {\"base\": \"pytorch\"}}",
                                  *state);
    assert_string_equal(in->library.name, "nccl-2.18");
    assert_string_equal(in->gpu.framework.name, "pytorch-eager");
}

static void a_strategy_by_another_s_word_says_what_to_write(void **state)
{
    static const struct {
        const char *word, *wanted;
    } cases[] = {
        {"fsdp", "called \"fsdp\" (wanted {\"kind\": \"parallel\", \"zero_stage\": 3}, with "
                 "\"framework\": \"fsdp\" beside it)"},
        {"ZeRO-2", "(wanted {\"kind\": \"parallel\", \"zero_stage\": 2})"},
        {"dp", "(wanted \"ddp\")"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag;
        const char *text = arena_text(*state,
                                      "{\"model\": \"resnet50\", \"batch_per_gpu\": 8, "
                                      "\"n_gpus\": 8, \"gpu\": \"h100-sxm-80\", "
                                      "\"strategy\": \"%s\"}",
                                      cases[i].word);
        assert_null(load_text(text, &plain, NULL, *state, &diag));
        assert_int_equal(diag.n_messages, 1);
        assert_non_null(strstr(diag.messages[0], cases[i].wanted));
    }
}

static void a_key_of_another_tool_is_named_as_it_is_called_here(void **state)
{
    struct diag diag;
    assert_null(load_text("{\"model\": \"resnet50\", \"gpu\": \"h100-sxm-80\", \"n_gpus\": 8, "
                          "\"batch_per_gpu\": 8, \"dtype\": \"bf16\"}",
                          &plain, NULL, *state, &diag));
    assert_int_equal(diag.n_messages, 1);
    assert_non_null(strstr(diag.messages[0], "unknown key \"dtype\" (wanted \"precision\")"));
}

/* The algorithm that a library takes for 4 GiB on so many servers of 8. */
static const char *taken(const char *parts, int n_servers, struct arena *perm)
{
    const struct inputs *in =
        must_load(arena_text(perm,
                             "{\"model\": \"alexnet\", \"batch_per_gpu\": 1, \"n_gpus\": %d, %s, "
                             "\"run\": {\"fidelity\": \"estimate\"}}",
                             8 * n_servers, parts),
                  perm);
    in = inputs_collective(in, COLL_ALLREDUCE, 4294967296.0, NULL, NULL, perm);
    return predict_collective(in, perm).plan->colls[0].algo->name;
}

/* NVIDIA/nccl issue 1221, 2.19: switches that sum help on one and two servers, no longer on more; 2.17
 * has nothing of the kind. SHARP is used where the fabric has it; without NVLS it gains where cards, not
 * links between GPUs, hold a ring back. */
static void switches_that_sum_are_used_where_the_library_gains_by_them(void **state)
{
    static const char h100[] = "\"gpu\": \"h100-sxm-80\", \"library\": \"nccl-2.18\"";
    static const char old[] = "\"gpu\": \"h100-sxm-80\", \"library\": \"nccl-2.12\"";
    static const char h100_sums[] = "\"gpu\": \"h100-sxm-80\", \"library\": \"nccl-2.18\", "
                                    "\"fabric\": {\"sums\": true}";
    static const char a100_sums[] = "\"gpu\": \"a100-sxm-80\", \"library\": \"nccl-2.12\", "
                                    "\"fabric\": {\"sums\": true}";
    assert_string_equal(taken(h100, 1, *state), "nvls");
    assert_string_equal(taken(h100, 2, *state), "nvls-tree");
    assert_string_equal(taken(h100, 4, *state), "ring");
    assert_string_equal(taken(old, 2, *state), "ring");
    assert_string_equal(taken(h100_sums, 4, *state), "nvls-collnet");
    assert_string_equal(taken(a100_sums, 4, *state), "collnet-direct");
}

/* With trees each of two servers sends its sum once and not almost twice; who sets NCCL up for TCPX bars
 * them between servers, not within. */
static void a_card_whose_maker_bars_trees_leaves_rings(void **state)
{
#define TCPX(rings_only)                                                                           \
    "\"gpu\": \"h100-sxm-80\", \"library\": \"nccl-2.12\", \"nic\": {\"base\": \"tcpx-200\", "     \
    "\"rings_only\": " rings_only "}"
    assert_string_equal(taken(TCPX("false"), 2, *state), "tree");
    assert_string_equal(taken(TCPX("true"), 2, *state), "ring");
    assert_string_equal(taken("\"gpu\": \"h100-sxm-80\", \"nic\": \"tcpx-200\"", 1, *state),
                        "nvls");
}

static bool plain_attention(const char *model, struct arena *perm)
{
    return must_load(arena_text(perm,
                                "{\"gpu\": \"v100-sxm2-16\", \"batch_per_gpu\": 1, \"n_gpus\": 1, "
                                "\"model\": %s}",
                                model),
                     perm)
        ->plain_attention;
}

static void attention_is_plain_where_nobody_says_how_it_is(void **state)
{
    assert_true(plain_attention("\"gpt2\"", *state));
    assert_true(plain_attention("{\"name\": \"gpt2\", \"blocks\": 6}", *state));
    assert_false(plain_attention("{\"name\": \"gpt2\", \"fused_attention\": false}", *state));
    assert_false(plain_attention("{\"name\": \"gpt2\", \"fused_attention\": true}", *state));
    assert_false(plain_attention("\"resnet50\"", *state));
}

static bool plain_precision(const char *rest, struct arena *perm)
{
    return must_load(arena_text(perm,
                                "{\"gpu\": \"v100-sxm2-16\", \"batch_per_gpu\": 1, \"n_gpus\": 1, "
                                "%s}",
                                rest),
                     perm)
        ->plain_precision;
}

static void precision_is_plain_where_nobody_says_it_nor_the_speed(void **state)
{
    assert_true(plain_precision("\"model\": \"gpt2\"", *state));
    assert_false(plain_precision("\"model\": \"gpt2\", \"precision\": \"fp32\"", *state));
    assert_false(
        plain_precision("\"model\": \"gpt2\", \"measured\": {\"one_gpu_throughput\": 10}", *state));
    assert_false(plain_precision("\"model\": \"resnet50\"", *state));
}

static void forced_names_are_spelled_as_the_library_does(void **state)
{
    const struct inputs *in =
        must_load("{\"gpu\": \"v100-sxm2-16\", \"batch_per_gpu\": 1, \"n_gpus\": 8, \"model\": "
                  "\"resnet50\", \"strategy\": {\"kind\": \"ddp\", \"algorithm\": \"Ring\", "
                  "\"protocol\": \"ll128\"}}",
                  *state);
    assert_string_equal(in->train.algorithm, "ring");
    assert_string_equal(in->train.protocol, "LL128");
}

/* Decoders of LLaMA's kind fuse it: as with the key, and unlike with false, where scores are kept. */
static void attention_is_fused_in_decoders_of_2023_and_later(void **state)
{
    static const char *const models[] = {"\"llama2-7b\"",
                                         "{\"name\": \"llama2-7b\", \"fused_attention\": true}",
                                         "{\"name\": \"llama2-7b\", \"fused_attention\": false}"};
    double kept[3];
    for (int i = 0; i < 3; i++) {
        const char *text =
            arena_text(*state,
                       "{\"gpu\": \"a100-sxm-80\", \"batch_per_gpu\": 1, \"n_gpus\": 1, "
                       "\"model\": %s}",
                       models[i]);
        kept[i] = model_kept_elements(must_load(text, *state)->model);
    }
    assert_close(kept[0], kept[1], 0.0);
    assert_true(kept[2] > 1.2 * kept[0]);
    assert_false(plain_attention("\"llama2-7b\"", *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_scenario_says_exactly_what_is_wrong),
        cmocka_unit_test(every_shipped_scenario_loads_and_asks_a_question),
        cmocka_unit_test(five_lines_are_enough),
        cmocka_unit_test(sets_change_what_is_written),
        cmocka_unit_test(a_set_within_a_name_keeps_the_rest_of_what_is_named),
        cmocka_unit_test(a_bad_set_is_reported),
        cmocka_unit_test(fidelity_may_be_forced),
        cmocka_unit_test(a_measured_throughput_gives_the_step_of_one_gpu),
        cmocka_unit_test(a_measurement_with_other_micro_batches_is_carried_over),
        cmocka_unit_test(hardware_efficiency_multiplies_the_rows),
        cmocka_unit_test(who_drives_the_gpus_decides_what_the_host_pays),
        cmocka_unit_test(of_two_windows_the_smaller_one_counts),
        cmocka_unit_test(switches_that_sum_are_used_where_the_library_gains_by_them),
        cmocka_unit_test(a_card_whose_maker_bars_trees_leaves_rings),
        cmocka_unit_test(degraded_links_lose_capacity_and_no_others),
        cmocka_unit_test(placements_are_permutations),
        cmocka_unit_test(slow_gpus_are_kept),
        cmocka_unit_test(one_server_needs_no_network),
        cmocka_unit_test(the_log_tells_defaults_from_what_was_written),
        cmocka_unit_test(attention_is_plain_where_nobody_says_how_it_is),
        cmocka_unit_test(attention_is_fused_in_decoders_of_2023_and_later),
        cmocka_unit_test(precision_is_plain_where_nobody_says_it_nor_the_speed),
        cmocka_unit_test(forced_names_are_spelled_as_the_library_does),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_file_of_17_MB_is_refused),
        cmocka_unit_test(a_missing_file_is_reported),
        cmocka_unit_test(the_schema_has_every_key_that_shipped_scenarios_use),
        cmocka_unit_test(the_reference_has_a_row_for_every_key),
        cmocka_unit_test(names_of_precisions_are_in_the_order_of_the_enum),
        cmocka_unit_test(every_known_system_runs_by_its_name),
        cmocka_unit_test(a_superpod_has_the_switches_that_its_makers_count),
        cmocka_unit_test(a_system_brings_its_usual_server),
        cmocka_unit_test(a_gpu_brings_the_server_and_library_that_it_has),
        cmocka_unit_test(some_gpus_of_a_mesh_have_the_links_between_them),
        cmocka_unit_test(an_object_that_cannot_stand_alone_changes_the_usual_one),
        cmocka_unit_test(a_family_s_name_takes_a_stated_member),
        cmocka_unit_test(a_key_of_another_tool_is_named_as_it_is_called_here),
        cmocka_unit_test(a_strategy_by_another_s_word_says_what_to_write),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
