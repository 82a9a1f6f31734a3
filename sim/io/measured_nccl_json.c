/* nccl-tests' JSON, one object per run: config.devices[] name host and device of each rank, results[]
 * hold size, type and a block of numbers out of place and in place, in us and GB/s. With per-iteration
 * times, the block's _per_iter holds the median and all times.
 * Source: github.com/NVIDIA/nccl-tests, src/util.cu (JSON versions 1 and 2). */
#include "io/measured_formats.h"

#include "base/json.h"

#include <string.h>

struct run {
    const struct json *json;
    const char *collective;
    int n_ranks, per_node, n_iterations;
    struct nccl_ratio ratio;
};

bool nccl_json_opens(const char *text, size_t length)
{
    static const char blanks[] = " \t\r\n";
    size_t at = 0;
    while (at < length && strchr(blanks, text[at])) at++;
    if (at >= length || text[at++] != '{') return false;
    /* a Python dictionary in a log has no double quotes */
    while (at < length && strchr(blanks, text[at])) at++;
    return at < length && text[at] != '\'';
}

static const char *text_of(const struct json_node *node)
{
    return node && json_kind(node) == JSON_TEXT ? json_text(node) : "";
}

static double number_of(const struct json_node *object, const char *key)
{
    const struct json_node *node = json_get(object, key);
    return node && json_kind(node) == JSON_NUMBER ? json_number(node) : 0;
}

static bool is_kind(const struct json_node *node, enum json_kind kind)
{
    return node && json_kind(node) == kind;
}

/* --- who took part --------------------------------------------------------------------------------- */

static bool seen_before(const struct json_node *devices, int i)
{
    const char *host = text_of(json_get(json_at(devices, i), "hostname"));
    if (i > 0 && !strcmp(host, text_of(json_get(json_at(devices, i - 1), "hostname")))) return true;
    for (int k = 0; k < i; k++) {
        if (!strcmp(host, text_of(json_get(json_at(devices, k), "hostname")))) return true;
    }
    return false;
}

static void read_devices(struct reading *reading, const struct json_node *devices, struct run *run)
{
    enum { N_DEVICES_MAX = 8192 };
    int n_hosts = 0;
    int n = is_kind(devices, JSON_LIST) ? json_size(devices) : 0;
    if (n > N_DEVICES_MAX) {
        reading_skip(reading, "lists of more than 8192 devices");
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!is_kind(json_at(devices, i), JSON_OBJECT)) return;
        n_hosts += !seen_before(devices, i);
        reading_head(reading, "device", text_of(json_get(json_at(devices, i), "device_info")));
    }
    run->n_ranks = n;
    run->per_node = n_hosts > 0 && n % n_hosts == 0 ? n / n_hosts : 0;
}

static void read_collective(struct reading *reading, const struct json_node *root, struct run *run)
{
    const struct json_node *args = json_get(root, "args");
    run->collective = reading->options->collective;
    if (!run->collective && is_kind(args, JSON_LIST) && json_size(args) > 0)
        run->collective = nccl_collective(text_of(json_at(args, 0)));
    if (!run->collective) run->collective = nccl_collective(reading->file);
}

/* --- rows --------------------------------------------------------------------------------------------- */

static void read_block(struct reading *reading, struct run *run, const struct json_node *result,
                       const char *key, struct raw_row *row)
{
    const struct json_node *block = json_get(result, key);
    if (!is_kind(block, JSON_OBJECT)) return; /* null: not measured */
    double time_us = number_of(block, json_get(block, "time") ? "time" : "cpu_time");
    if (number_of(block, "nwrong") > 0) {
        reading_skip(reading, "rows with wrong results");
        return;
    }
    if (!(row->size_B > 0)) {
        reading_skip(reading, "rows of size 0");
        return;
    }
    nccl_ratio_add(reading, &run->ratio, number_of(block, "alg_bw"), number_of(block, "bus_bw"));
    row->time_s = 1e-6 * time_us;
    row->note = !strcmp(key, "in_place") ? "in place" : "";
    reading_row(reading, row);
}

static void read_result(struct reading *reading, struct run *run, const struct json_node *result)
{
    reading->line = json_place(run->json, result, reading->perm).line;
    if (!is_kind(result, JSON_OBJECT)) {
        reading_skip(reading, "results that are no objects");
        return;
    }
    int n_iterations = (int)number_of(result, "actual_iterations");
    struct raw_row row = {
        .benchmark = run->collective,
        .dtype = nccl_type(text_of(json_get(result, "type"))),
        .layout = "",
        .note = "",
        .size_B = number_of(result, "size"),
        .n_ranks = run->n_ranks,
        .ranks_per_node = run->per_node,
        .check = -1,
        .repeats = n_iterations > 0 ? n_iterations : run->n_iterations,
    };
    read_block(reading, run, result, "out_of_place", &row);
    read_block(reading, run, result, "in_place", &row);
}

static void read_run(struct reading *reading, const struct json *json)
{
    const struct json_node *root = json_root(json);
    const struct json_node *config = json_get(root, "config");
    const struct json_node *results = json_get(root, "results");
    if (!is_kind(results, JSON_LIST)) {
        reading_error(reading, "has no list \"results\", as nccl-tests writes it");
        return;
    }
    struct run run = {.json = json};
    read_collective(reading, root, &run);
    if (!run.collective) {
        reading_error(reading, "does not say which collective it measures (--op NAME does)");
        return;
    }
    const struct json_node *devices = json_get(root, "devices");
    if (is_kind(config, JSON_OBJECT)) {
        run.n_iterations = (int)number_of(config, "iterations");
        if (!devices) devices = json_get(config, "devices");
        run.n_ranks = (int)(number_of(config, "nthreads") * number_of(config, "ngpus"));
    }
    read_devices(reading, devices, &run);
    if (reading->options->n_ranks > 0) run.n_ranks = reading->options->n_ranks;
    if (reading->options->ranks_per_node > 0) run.per_node = reading->options->ranks_per_node;
    for (int i = 0; i < json_size(results); i++) read_result(reading, &run, json_at(results, i));
    nccl_check_ranks(reading, &run.ratio, run.collective, run.n_ranks);
}

void nccl_json_whole(struct reading *reading, const char *text, size_t length)
{
    const struct json *json =
        json_read_text(reading->file, text, length, reading->perm, reading->diag);
    reading->line = 1;
    if (!json) return;
    if (json_kind(json_root(json)) == JSON_OBJECT)
        read_run(reading, json);
    else
        reading_error(reading, "is no object of nccl-tests");
}
