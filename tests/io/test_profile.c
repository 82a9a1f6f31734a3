/* Profiles: what is shipped is complete and says where each number is from; references by name, by
 * path and by base come to the same. */
#include "../test.h"

#include "base/table.h"
#include "io/profile.h"
#include "workload/builder.h"

#include <dirent.h>
#include <limits.h>

enum { MAX_FILES = 256 };

/* files of scenarios/FOLDER, in the order of the directory (tests do not depend on it) */
static int list(const char *folder, const char **files, struct arena *perm)
{
    DIR *dir = opendir(arena_text(perm, "scenarios/%s", folder));
    assert_non_null(dir);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".json")) continue;
        assert_true(n < MAX_FILES);
        files[n++] = arena_text(perm, "scenarios/%s/%s", folder, entry->d_name);
    }
    closedir(dir);
    assert_true(n > 0);
    return n;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void fail_with(const struct diag *diag, const char *what)
{
    diag_print(diag, stderr);
    fail_msg("%s", what);
}

static struct json *open_json(const char *file, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct json *json = json_read_file(file, perm, &diag);
    if (!json) fail_with(&diag, file);
    return json;
}

static const struct profile_kind *kind_of(const struct json_node *root, const char *file)
{
    if (strstr(file, "/fabrics/")) return &profile_kinds[PROFILE_FABRIC];
    const struct json_node *kind = json_get(root, "kind");
    assert_non_null(kind);
    for (int i = 0; i < N_PROFILE_KINDS; i++) {
        if (!strcmp(profile_kinds[i].name, json_text(kind))) return &profile_kinds[i];
    }
    fail_msg("unknown kind %s", json_text(kind));
    return NULL;
}

static bool is_number(const struct field *fields, int n, const char *key)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(fields[i].key, key) != 0) continue;
        return fields[i].type == FIELD_REAL || fields[i].type == FIELD_INT;
    }
    return false;
}

static void need_source(const char *file, const struct json_node *sources, const char *key)
{
    const struct json_node *source = json_get(sources, key);
    if (source && json_kind(source) == JSON_TEXT && strlen(json_text(source)) > 3) return;
    fail_msg("%s: \"%s\" has no source", file, key);
}

/* list: "choices" or "changes" */
static void check_row_sources(const char *file, const struct json_node *root, const char *list,
                              struct arena *perm)
{
    const struct json_node *rows = json_get(root, list);
    for (int r = 0; rows && r < json_size(rows); r++) {
        const struct json_node *row = json_at(rows, r);
        for (int i = 0; i < json_size(row); i++) {
            const char *key = json_key(json_at(row, i));
            if (!is_number(profile_choice_fields, n_profile_choice_fields, key)) continue;
            need_source(file, json_get(root, "sources"), arena_text(perm, "%s/%s", list, key));
        }
    }
}

static void check_sources(const char *file, struct arena *perm)
{
    struct json *json = open_json(file, perm);
    const struct json_node *root = json_root(json);
    const struct profile_kind *kind = kind_of(root, file);
    const struct json_node *sources = json_get(root, "sources");
    assert_non_null(sources);
    for (int i = 0; i < json_size(root); i++) {
        const char *key = json_key(json_at(root, i));
        if (is_number(kind->fields, kind->n_fields, key)) need_source(file, sources, key);
    }
    check_row_sources(file, root, "choices", perm);
    check_row_sources(file, root, "changes", perm);
    json_close(json);
}

static void every_shipped_number_has_a_source(void **state)
{
    static const char *const folders[] = {"hardware",   "links",   "libraries",
                                          "frameworks", "fabrics", "prices"};
    for (int f = 0; f < 6; f++) {
        const char *files[MAX_FILES];
        int n = list(folders[f], files, *state);
        for (int i = 0; i < n; i++) check_sources(files[i], *state);
    }
}

static struct profile_ref named(const struct json *json, const char *name)
{
    return (struct profile_ref){json, NULL, name};
}

static void read_any(const struct profile_reader *reader, const struct profile_kind *kind,
                     struct profile_ref ref, const char **name)
{
    struct gpu_profile gpu;
    struct node_profile node;
    struct nic_profile nic;
    struct library_profile library;
    struct framework framework;
    struct fabric_profile fabric;
    struct prices_profile prices;
    if (kind == &profile_kinds[PROFILE_FRAMEWORK]) {
        profile_read_framework(reader, ref, &framework);
        *name = framework.name;
    } else if (kind == &profile_kinds[PROFILE_GPU]) {
        profile_read_gpu(reader, ref, &gpu);
        *name = gpu.gpu.name;
    } else if (kind == &profile_kinds[PROFILE_NODE]) {
        profile_read_node(reader, ref, &node);
        *name = node.name;
    } else if (kind == &profile_kinds[PROFILE_PRICES]) {
        profile_read_prices(reader, ref, &prices);
        *name = prices.name;
    } else if (kind == &profile_kinds[PROFILE_FABRIC]) {
        profile_read_fabric(reader, ref, &fabric);
        *name = fabric.name;
    } else if (kind == &profile_kinds[PROFILE_NIC]) {
        profile_read_nic(reader, ref, &nic);
        *name = nic.name;
    } else {
        profile_read_library(reader, ref, &library);
        *name = library.library.name;
    }
}

static void every_shipped_profile_loads_and_is_called_as_its_file(void **state)
{
    static const char *const folders[] = {"hardware", "links", "libraries", "frameworks",
                                          "fabrics"};
    for (int f = 0; f < 5; f++) {
        const char *files[MAX_FILES];
        int n = list(folders[f], files, *state);
        for (int i = 0; i < n; i++) {
            struct diag diag = {.perm = *state};
            struct profile_reader reader = {.dir = "scenarios", .perm = *state, .diag = &diag};
            struct json *json = open_json(files[i], *state);
            const char *stem = strrchr(files[i], '/') + 1;
            const char *want = arena_text(*state, "%.*s", (int)strlen(stem) - 5, stem);
            const char *name = "";
            read_any(&reader, kind_of(json_root(json), files[i]), named(json, want), &name);
            if (!diag_ok(&diag)) fail_with(&diag, files[i]);
            assert_string_equal(name, want);
            json_close(json);
        }
    }
}

/* a document with one key, "it", to refer from */
static struct profile_ref ref_in(const char *text, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct json *json = json_read_text("tests/io/bad/here.json", text, strlen(text), perm, &diag);
    if (!json) fail_with(&diag, text);
    return (struct profile_ref){json, json_get(json_root(json), "it"), NULL};
}

static void a100_peaks_are_those_of_the_data_sheet(void **state)
{
    /* NVIDIA A100 data sheet: 19.5 / 156 / 312 TFLOP/s dense, 80 GB at 2039 GB/s (SXM) */
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {.dir = "scenarios", .perm = *state, .diag = &diag};
    struct gpu_profile gpu;
    profile_read_gpu(&reader, ref_in("{\"it\": \"a100-sxm-80\"}", *state), &gpu);
    assert_true(diag_ok(&diag));
    assert_close(gpu.gpu.peak_flops[DTYPE_FP32], 19.5e12, 1e-12);
    assert_close(gpu.gpu.peak_flops[DTYPE_TF32], 156e12, 1e-12);
    assert_close(gpu.gpu.peak_flops[DTYPE_BF16], 312e12, 1e-12);
    assert_close(gpu.gpu.peak_flops[DTYPE_FP8], 0, 0);
    assert_close(gpu.gpu.memory_B, 80e9, 1e-12);
    assert_close(gpu.gpu.hbm_Bps, 2039e9, 1e-12);
    assert_string_equal(gpu.node, "dgx-a100");
}

static void a_base_keeps_what_is_not_changed(void **state)
{
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {.dir = "scenarios", .perm = *state, .diag = &diag};
    struct node_profile plain;
    struct node_profile changed;
    profile_read_node(&reader, ref_in("{\"it\": \"dgx-1v\"}", *state), &plain);
    profile_read_node(
        &reader,
        ref_in("{\"it\": {\"base\": {\"base\": \"dgx-1v\", \"nics\": 2}, \"gpus\": 4}}", *state),
        &changed);
    assert_true(diag_ok(&diag));
    assert_int_equal(changed.spec.gpus_per_node, 4);
    assert_int_equal(changed.spec.nics_per_node, 2);
    assert_close(changed.spec.scaleup_Bps, plain.spec.scaleup_Bps, 0);
    assert_close(changed.scaleup_efficiency, plain.scaleup_efficiency, 0);
    assert_int_equal(changed.spec.scaleup, SCALEUP_MESH);
    assert_string_equal(changed.nic, "ib-edr");
}

static void a_key_that_no_base_has_is_still_unknown(void **state)
{
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {.dir = "scenarios", .perm = *state, .diag = &diag};
    struct nic_profile nic;
    profile_read_nic(
        &reader, ref_in("{\"it\": {\"base\": \"ib-edr\", \"bandwith\": \"1GB/s\"}}", *state), &nic);
    assert_int_equal(diag.n_messages, 1);
    assert_non_null(strstr(diag.messages[0], "bandwith"));
    assert_non_null(strstr(diag.messages[0], "did you mean \"bandwidth\"?"));
}

static void a_path_is_relative_to_the_file_that_says_it(void **state)
{
    /* the document stands in tests/io/bad */
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {.dir = "no-such-folder", .perm = *state, .diag = &diag};
    struct nic_profile nic;
    profile_read_nic(&reader, ref_in("{\"it\": \"../../../scenarios/links/ib-hdr.json\"}", *state),
                     &nic);
    assert_true(diag_ok(&diag));
    assert_close(nic.bandwidth_Bps, 25e9, 1e-12); /* HDR: 200 Gb/s */
    assert_string_equal(profile_path("a/b/c.json", "d/e.json", *state), "a/b/d/e.json");
    assert_string_equal(profile_path("a/b/c.json", "/d.json", *state), "/d.json");
    assert_string_equal(profile_path("c.json", "d.json", *state), "d.json");
}

static void zero_means_no_limit_in_a_choice(void **state)
{
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {.dir = "scenarios", .perm = *state, .diag = &diag};
    struct library_profile profile;
    profile_read_library(&reader,
                         ref_in("{\"it\": {\"choices\": [{\"collectives\": [\"all_reduce\", "
                                "\"reduce\"], \"algorithm\": \"ring\", \"max_size\": \"8KiB\"}, "
                                "{\"collectives\": [\"all_reduce\"], \"algorithm\": \"tree\"}]}}",
                                *state),
                         &profile);
    assert_true(diag_ok(&diag));
    const struct library *library = &profile.library;
    assert_int_equal(library->n_choices, 3);
    assert_int_equal(library->choices[0].kind, COLL_ALLREDUCE);
    assert_int_equal(library->choices[1].kind, COLL_REDUCE);
    assert_close(library->choices[1].max_B, 8192, 0);
    assert_true(isinf(library->choices[2].max_B));
    assert_true(isinf(library->choices[2].channel_cap_Bps));
    assert_int_equal(library->choices[2].max_nodes, INT_MAX);
    assert_string_equal(library->choices[2].algo->name, "tree");
}

/* shares_of — of a tree whose tuner_shares are that text; false after an error. */
static bool shares_of(const char *text, struct lib_tuner *out, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct profile_reader reader = {.dir = "scenarios", .perm = perm, .diag = &diag};
    struct library_profile profile;
    profile_read_library(
        &reader,
        ref_in(arena_text(perm,
                          "{\"it\": {\"choices\": [{\"collectives\": [\"all_reduce\"], "
                          "\"algorithm\": \"tree\", \"tuner_shares\": \"%s\"}]}}",
                          text),
               perm),
        &profile);
    if (diag_ok(&diag)) *out = profile.library.choices[0].tuner;
    return diag_ok(&diag);
}

static void shares_of_a_tuner_are_numbers_with_blanks_between(void **state)
{
    struct lib_tuner tuner = {0};
    assert_true(shares_of("1 .9 0.5", &tuner, *state));
    assert_int_equal(tuner.n_shares, 3);
    assert_close(tuner.share[1], 0.9, 1e-12);
    assert_true(shares_of("", &tuner, *state));
    assert_int_equal(tuner.n_shares, 0);
    assert_false(shares_of("1 0", &tuner, *state));
    assert_false(shares_of("1.5", &tuner, *state));
    assert_false(shares_of("1, .9", &tuner, *state));
}

/* A change reaches the choices it names, and only the keys it gives. */
static void changes_reach_the_choices_they_name(void **state)
{
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {"scenarios", NULL, *state, &diag, NULL};
    struct library_profile profile;
    const char *text =
        "{\"it\": {\"base\": {\"channels\": 2, \"choices\": ["
        "{\"collectives\": [\"all_reduce\", \"all_gather\"], \"algorithm\": \"ring\","
        " \"base_latency\": \"1us\", \"net_latency\": \"2us\"},"
        "{\"collectives\": [\"all_reduce\"], \"algorithm\": \"tree\"}]},"
        "\"changes\": [{\"collectives\": [\"all_gather\"], \"algorithm\": \"ring\","
        " \"base_latency\": \"3us\", \"tuner_net_latency\": \"4us\"}]}}";
    profile_read_library(&reader, ref_in(text, *state), &profile);
    assert_true(diag_ok(&diag));
    const struct lib_choice *rows = profile.library.choices;
    assert_int_equal(profile.library.n_choices, 3);
    assert_close(rows[0].base_latency_s, 1e-6, 1e-12);
    assert_close(rows[1].base_latency_s, 3e-6, 1e-12);
    assert_close(rows[1].net_latency_s, 2e-6, 1e-12);
    assert_false(rows[0].has_tuner);
    assert_true(rows[1].has_tuner);
    assert_close(rows[1].tuner.net_latency_s, 4e-6, 1e-12);
    assert_close(rows[1].tuner.base_latency_s, 3e-6, 1e-12); /* not said: as it is */
    assert_int_equal(profile.library.n_channels, 2);
}

static void a_change_of_nothing_is_an_error(void **state)
{
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {"scenarios", NULL, *state, &diag, NULL};
    struct library_profile profile;
    const char *text =
        "{\"it\": {\"base\": \"nccl-2.18\", \"changes\": [{\"algorithm\": \"direct\","
        " \"protocol\": \"LL128\", \"base_latency\": \"3us\"}]}}";
    profile_read_library(&reader, ref_in(text, *state), &profile);
    assert_false(diag_ok(&diag));
}

static void nccl_rows_are_those_of_its_tuner(void **state)
{
    /* NCCL 2.18.3 tuning.cc: ring Simple 8.4 us + NVLink 3.4 us, NET 14 us; tree LL 6.8 us + 0.6, 5 us */
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {.dir = "scenarios", .perm = *state, .diag = &diag};
    struct library_profile profile;
    profile_read_library(&reader, ref_in("{\"it\": \"nccl-2.18\"}", *state), &profile);
    assert_true(diag_ok(&diag));
    int n_found = 0;
    for (int i = 0; i < profile.library.n_choices; i++) {
        const struct lib_choice *row = &profile.library.choices[i];
        if (row->kind != COLL_ALLREDUCE) continue;
        bool ring = !strcmp(row->algo->name, "ring") && !strcmp(row->protocol, "Simple");
        bool tree = !strcmp(row->algo->name, "tree") && !strcmp(row->protocol, "LL");
        if (!ring && !tree) continue;
        n_found++;
        assert_close(row->tuner.base_latency_s, ring ? 8.4e-6 : 6.8e-6, 1e-12);
        assert_close(row->tuner.scaleup_latency_s, ring ? 3.4e-6 : 0.6e-6, 1e-12);
        assert_close(row->tuner.net_latency_s, ring ? 14e-6 : 5e-6, 1e-12);
    }
    assert_int_equal(n_found, 2);
}

/* one product of m x k by k x n, as a layer of weights with one sample */
static double product_s(const struct gpu *gpu, const double *mnk, enum dtype dtype,
                        struct arena scratch)
{
    double m = mnk[0], n = mnk[1], k = mnk[2];
    struct builder b = builder_open("product", "row", "made up", &scratch);
    builder_layer(&b, (struct layer){.name = "product",
                                     .kind = LAYER_LINEAR,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .n_products = 1,
                                     .flop = 2 * m * n * k,
                                     .read_elements = m * k,
                                     .written_elements = m * n,
                                     .n_kernels = 1});
    builder_tensor(&b, "weight", (int64_t)(n * k));
    return kernel_forward(gpu, b.model, 0, 1, dtype).time_s;
}

/* errors_of — of the shapes that the profile was not fitted on (half b), ascending. */
static int errors_of(const struct table *table, const char *name, enum dtype dtype, double *error,
                     struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct profile_reader reader = {"scenarios", NULL, perm, &diag, NULL};
    struct json *json = open_json("scenarios/minimal.json", perm);
    struct gpu_profile gpu;
    profile_read_gpu(&reader, named(json, name), &gpu);
    json_close(json);
    gpu.gpu.sustained_frac = 1; /* benchmarks are short */
    int n = 0;
    for (int r = 0; r < table->n_rows; r++) {
        if (strcmp(table_cell(table, r, 2), name) != 0 || *table_cell(table, r, 8) != 'b') continue;
        if (strcmp(table_cell(table, r, 3), dtype_names[dtype]) != 0) continue;
        double x[4];
        for (int c = 0; c < 4; c++) x[c] = strtod(table_cell(table, r, 4 + c), NULL);
        double measured_s = 2 * x[0] * x[1] * x[2] / (x[3] * 1e12);
        error[n++] = fabs(product_s(&gpu.gpu, x, dtype, *perm) / measured_s - 1);
    }
    qsort(error, (size_t)n, sizeof *error, ascending);
    return n;
}

/* What the fits came to, and a little: no later change may lose it unseen. The 90th percentiles hold
 * small and thin products; B200's holds shapes that differ by 1.6x between layouts of equal m, n, k. */
static void products_take_what_was_measured_on_shapes_not_fitted(void **state)
{
    static const struct {
        const char *gpu;
        enum dtype dtype;
        double median, p90;
    } cases[] = {
        {"a100-pcie-80", DTYPE_BF16, 0.03, 0.12},  {"b200-sxm-180", DTYPE_BF16, 0.065, 0.30},
        {"v100-sxm2-16", DTYPE_FP16, 0.065, 0.36}, {"v100-sxm2-16", DTYPE_FP32, 0.05, 0.25},
        {"t4", DTYPE_FP16, 0.065, 0.19},           {"t4", DTYPE_FP32, 0.095, 0.25}};
    struct diag diag = {.perm = *state};
    struct table *table = table_read("tests/published/gemm.csv", *state, &diag);
    assert_non_null(table);
    double *error = arena_new(*state, double, table->n_rows);
    for (int i = 0; i < 6; i++) {
        int n = errors_of(table, cases[i].gpu, cases[i].dtype, error, *state);
        assert_true(n > 50);
        assert_true(error[n / 2] < cases[i].median);
        assert_true(error[n * 9 / 10] < cases[i].p90);
    }
}

/* Squares that others than the profiles' sources measured: xytpai/gpuk README (8192), the table "by torch"
 * of busy_pytorch_blas.py (8000), li-mu/transformers-benchmarks README (largest of up to 8192). GeForce
 * cards sum in fp32 at half the rate of their matrix units, which power does not hold down. */
static void consumer_cards_take_what_others_measured(void **state)
{
    static const struct {
        const char *gpu;
        enum dtype dtype;
        double side, tflops;
    } cases[] = {{"rtx4090", DTYPE_FP16, 8192, 163.5},
                 {"rtx3090ti", DTYPE_FP16, 8192, 81},
                 {"rtx2080ti", DTYPE_FP16, 8000, 44.9},
                 {"rtx2080ti", DTYPE_FP32, 8000, 11.4}};
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {"scenarios", NULL, *state, &diag, NULL};
    struct json *json = open_json("scenarios/minimal.json", *state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu_profile gpu;
        profile_read_gpu(&reader, named(json, cases[i].gpu), &gpu);
        gpu.gpu.sustained_frac = 1;
        double mnk[] = {cases[i].side, cases[i].side, cases[i].side};
        double measured_s = 2 * mnk[0] * mnk[1] * mnk[2] / (cases[i].tflops * 1e12);
        assert_close(product_s(&gpu.gpu, mnk, cases[i].dtype, **(struct arena **)state), measured_s,
                     0.08);
    }
    json_close(json);
}

/* The best shapes of a B300 come to 0.786 of its peak, those of a GB200 to 0.729 (MAMF, stas00/ml-engineering):
 * a product of the same peak takes 0.93 of the time. */
static void a_gb300_is_held_down_less_than_a_gb200(void **state)
{
    static const char *const names[] = {"gb300", "gb200"};
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {"scenarios", NULL, *state, &diag, NULL};
    struct json *json = open_json("scenarios/minimal.json", *state);
    double time_s[2], mnk[] = {16384, 16384, 16384};
    for (int i = 0; i < 2; i++) {
        struct gpu_profile gpu;
        profile_read_gpu(&reader, named(json, names[i]), &gpu);
        time_s[i] = product_s(&gpu.gpu, mnk, DTYPE_BF16, **(struct arena **)state);
    }
    assert_close(time_s[0] / time_s[1], 0.729 / 0.786, 0.02);
    json_close(json);
}

/* A scenario without a framework has the GPU's own numbers; a framework changes what it says. */
static void frameworks_are_profiles_with_bases(void **state)
{
    struct diag diag = {.perm = *state};
    struct profile_reader reader = {"scenarios", NULL, *state, &diag, NULL};
    const char *text = "{\"base\": \"mlperf\", \"issue\": \"7us\"}";
    struct json *json = json_read_text("own", text, strlen(text), *state, &diag);
    struct framework own, mlperf;
    profile_read_framework(&reader, (struct profile_ref){json, json_root(json), NULL}, &own);
    profile_read_framework(&reader, named(json, "mlperf"), &mlperf);
    assert_true(diag_ok(&diag));
    assert_close(own.issue_s, 7e-6, 1e-12);
    assert_true(mlperf.issue_s < own.issue_s && mlperf.saved_frac > 0);
    assert_close(own.saved_frac, mlperf.saved_frac, 1e-12);
    json_close(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_number_has_a_source),
        cmocka_unit_test(every_shipped_profile_loads_and_is_called_as_its_file),
        cmocka_unit_test(a100_peaks_are_those_of_the_data_sheet),
        cmocka_unit_test(a_base_keeps_what_is_not_changed),
        cmocka_unit_test(a_key_that_no_base_has_is_still_unknown),
        cmocka_unit_test(a_path_is_relative_to_the_file_that_says_it),
        cmocka_unit_test(zero_means_no_limit_in_a_choice),
        cmocka_unit_test(shares_of_a_tuner_are_numbers_with_blanks_between),
        cmocka_unit_test(changes_reach_the_choices_they_name),
        cmocka_unit_test(a_change_of_nothing_is_an_error),
        cmocka_unit_test(nccl_rows_are_those_of_its_tuner),
        cmocka_unit_test(products_take_what_was_measured_on_shapes_not_fitted),
        cmocka_unit_test(consumer_cards_take_what_others_measured),
        cmocka_unit_test(a_gb300_is_held_down_less_than_a_gb200),
        cmocka_unit_test(frameworks_are_profiles_with_bases),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
