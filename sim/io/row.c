#include "io/row.h"

#include "base/must.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* ALLTOALL_MAX: a plan holds the links of all pairs, some 250 bytes for each of n^2 pairs; beyond
 * this one row could take seconds and gigabytes */
enum { MAX_MEMBERS = 64, MAX_PATTERN = 512, ALLTOALL_MAX = 2048 };

/* Beyond these no size, count, time or rate of a table can lie; squares of all quotients stay finite. */
static const double SMALLEST = 1e-9, LARGEST = 1e18;
static const double US = 1e-6, GB = 1e9;
/* Bandwidth is printed to four digits of size / time; a wrong unit is off by a factor of 8 or more. */
static const double DISAGREES = 2;
static const double SMALL_CARD_GBPS = 100; /* cards slower than this per GPU are shared ones */

/* clang-format off */
static const char *const coll_keys[] = {
    "collective", "gpu_key", "intra_key", "nic_key", "fabric_key", "gpus_per_node", "nodes", "nics_per_node",
    "nic_gbps", "library", "lib_version", "algo", "proto", NULL};
static const char *const coll_needed[] = {"collective", "gpu_key", "size_bytes", "time_us", NULL};
static const char *const coll_counts[] = {"gpus_per_node", "nodes", "nics_per_node", NULL};
static const char *const coll_reals[] = {"nic_gbps", "size_bytes", "time_us", NULL};
static const char *const coll_classes[] = {"collective", "gpu_key", "intra_key", "nic_key", "fabric_key", NULL};
static const char *const train_keys[] = {
    "model", "params_b", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq_len", "flash_attn", "gpu_key",
    "intra_key", "nic_key", "fabric_key", "nic_gbps_per_gpu", "gpus", "gpus_per_node", "nodes", "framework",
    "precision_key", "global_batch", "micro_batch", "grad_accum", "tp", "pp", "vp", "cp", "ep", "dp", "zero_stage",
    "recompute", "shard_group", "overlap_key", "data_key", "sync_key", "tune_key", "throughput_unit", NULL};
static const char *const train_needed[] = {"model", "gpu_key", "gpus", NULL};
static const char *const train_counts[] = {
    "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq_len", "gpus", "gpus_per_node", "nodes", "grad_accum",
    "tp", "pp", NULL};
static const char *const train_reals[] = {
    "params_b", "nic_gbps_per_gpu", "global_batch", "micro_batch", "iter_time_s", "throughput", NULL};
static const char *const train_classes[] = {NULL};
/* clang-format on */

const struct row_form row_forms[N_ROW_FORMS] = {
    {"collectives", "id", coll_keys, coll_needed, coll_counts, coll_reals, coll_classes, true},
    {"training", "source", train_keys, train_needed, train_counts, train_reals, train_classes,
     false},
};

const char *row_cell(const struct row_reader *reader, int row, const char *column)
{
    return table_cell(reader->table, row, table_column(reader->table, column));
}

double row_number(const struct row_reader *reader, int row, const char *column)
{
    const char *end;
    double value = 0;
    return unit_number(row_cell(reader, row, column), &end, &value) ? value : 0;
}

/* --- what follows from several columns; 0 = cannot be told -------------------------------------- */

static double gpus_of_nodes(const struct row_reader *reader, int row)
{
    return row_number(reader, row, "gpus_per_node") * row_number(reader, row, "nodes");
}

/* replica_gpus — GPUs that share one replica of the model. */
static double replica_gpus(const struct row_reader *reader, int row)
{
    double product = 1;
    static const char *const columns[] = {"tp", "pp", "cp"};
    for (int i = 0; i < 3; i++) product *= fmax(row_number(reader, row, columns[i]), 1);
    return product;
}

static double replicas(const struct row_reader *reader, int row)
{
    return row_number(reader, row, "gpus") / replica_gpus(reader, row);
}

/* micro_batch — as stated, else 1 where a replica spans several GPUs: a model that needs them leaves
 * little room; 0 = not told. */
static double micro_batch(const struct row_reader *reader, int row)
{
    double stated = row_number(reader, row, "micro_batch");
    if (stated > 0) return stated;
    bool spans = replica_gpus(reader, row) > 1 && row_number(reader, row, "grad_accum") <= 0;
    return spans && row_number(reader, row, "global_batch") >= replicas(reader, row) ? 1 : 0;
}

/* accumulation — as stated, else what the batches say, else 1. */
static double accumulation(const struct row_reader *reader, int row)
{
    double stated = row_number(reader, row, "grad_accum");
    if (stated > 0) return stated;
    double at_once = micro_batch(reader, row) * replicas(reader, row);
    double global = row_number(reader, row, "global_batch");
    return at_once > 0 && global > at_once ? nearbyint(global / at_once) : 1;
}

static double samples(const struct row_reader *reader, int row)
{
    double micro = micro_batch(reader, row);
    double n = replicas(reader, row);
    if (micro > 0 || n <= 0) return micro;
    return row_number(reader, row, "global_batch") / (n * accumulation(reader, row));
}

/* A rate per GPU of at least 100 Gb/s is a card for each GPU. Less is a card shared by several: then
 * as many cards of up to 100 Gb/s as make the server's whole rate. */
static double nics(const struct row_reader *reader, int row)
{
    double each = row_number(reader, row, "nic_gbps_per_gpu");
    double gpus = row_number(reader, row, "gpus_per_node");
    return each >= SMALL_CARD_GBPS ? gpus : ceil(each * gpus / SMALL_CARD_GBPS);
}

static double nic_gbps(const struct row_reader *reader, int row)
{
    double cards = nics(reader, row);
    if (cards <= 0) return 0;
    return row_number(reader, row, "nic_gbps_per_gpu") * row_number(reader, row, "gpus_per_node") /
           cards;
}

static const struct {
    const char *name;
    bool collective;
    double (*value)(const struct row_reader *reader, int row);
    const char *lacks; /* the column to name when it cannot be told */
} derived[] = {
    {"gpus", true, gpus_of_nodes, "gpus_per_node"},
    {"accumulation", false, accumulation, "grad_accum"},
    {"samples", false, samples, "micro_batch"},
    {"nics", false, nics, "nic_gbps_per_gpu"},
    {"nic_gbps", false, nic_gbps, "nic_gbps_per_gpu"},
};
enum { N_DERIVED = sizeof derived / sizeof derived[0] };

static int find_derived(const struct row_reader *reader, const char *name)
{
    for (int i = 0; i < N_DERIVED; i++) {
        if (derived[i].collective == reader->form->collective && !strcmp(derived[i].name, name))
            return i;
    }
    return -1;
}

static bool is_key(const struct row_form *form, const char *name)
{
    int i = 0;
    while (form->keys[i] && strcmp(form->keys[i], name) != 0) i++;
    return form->keys[i] != NULL;
}

/* --- rules are checked when they are read ------------------------------------------------------- */

struct checker {
    const struct row_form *form;
    const struct json *json;
    struct arena *perm;
    struct diag *diag;
};

static void wrong(const struct checker *check, const struct json_node *node, const char *wanted)
{
    diag_error(check->diag, json_place(check->json, node, check->perm), "is %s (wanted %s)",
               json_kind_name(json_kind(node)), wanted);
}

static bool member_is(const struct checker *check, const struct json_node *object, const char *key,
                      enum json_kind kind)
{
    const struct json_node *node = json_get(object, key);
    if (node && json_kind(node) == kind) return true;
    if (node) {
        wrong(check, node, json_kind_name(kind));
    } else {
        diag_error(check->diag, json_place(check->json, object, check->perm),
                   "missing key \"%s\" (%s)", key, json_kind_name(kind));
    }
    return false;
}

static int find_kind(const char *name)
{
    int k = 0;
    while (k < N_COLL_KINDS && strcmp(coll_kind_names[k], name) != 0) k++;
    return k < N_COLL_KINDS ? k : -1;
}

static void check_when(const struct checker *check, const struct json_node *when)
{
    if (!when || json_kind(when) == JSON_TEXT) return;
    if (json_kind(when) != JSON_OBJECT) {
        wrong(check, when, "a pattern or an object of patterns");
        return;
    }
    for (int i = 0; i < json_size(when); i++) {
        const struct json_node *pattern = json_at(when, i);
        if (json_kind(pattern) != JSON_TEXT) wrong(check, pattern, "a pattern");
        if (is_key(check->form, json_key(pattern))) continue;
        diag_error(check->diag, json_key_place(check->json, pattern, check->perm),
                   "is no key column of %s", check->form->name);
    }
}

static void check_ask(const struct checker *check, const struct json_node *ask)
{
    const struct json_node *kind = ask ? json_get(ask, "collective") : NULL;
    for (int i = 0; ask && i < json_size(ask); i++) {
        if (json_kind(json_at(ask, i)) != JSON_TEXT) wrong(check, json_at(ask, i), "a name");
    }
    if (!kind || json_kind(kind) != JSON_TEXT || find_kind(json_text(kind)) >= 0) return;
    diag_error(check->diag, json_place(check->json, kind, check->perm), "unknown collective \"%s\"",
               json_text(kind));
}

static void check_per_sample(const struct checker *check, const struct json_node *counts)
{
    for (int i = 0; counts && i < json_size(counts); i++) {
        const struct json_node *unit = json_at(counts, i);
        if (json_kind(unit) == JSON_NUMBER && json_number(unit) > 0) continue;
        diag_error(check->diag, json_place(check->json, unit, check->perm),
                   "is no number above 0 (of them that make a sample)");
    }
}

static void check_rule(const struct checker *check, const struct json_node *rule)
{
    static const char *const known[] = {"when",     "set",        "ask", "reject",
                                        "$comment", "per_sample", "name"};
    static const enum json_kind kinds[] = {JSON_NULL, JSON_OBJECT, JSON_OBJECT, JSON_TEXT,
                                           JSON_TEXT, JSON_OBJECT, JSON_TEXT};
    enum { N_KNOWN = sizeof known / sizeof *known };
    if (json_kind(rule) != JSON_OBJECT) {
        wrong(check, rule, "a rule: an object");
        return;
    }
    for (int i = 0; i < json_size(rule); i++) {
        const struct json_node *member = json_at(rule, i);
        int k = 0;
        while (k < N_KNOWN && strcmp(known[k], json_key(member)) != 0) k++;
        if (k == N_KNOWN) {
            diag_error(check->diag, json_key_place(check->json, member, check->perm),
                       "unknown key (name, when, set, ask, reject, per_sample or $comment)");
        } else if (k > 0 && json_kind(member) != kinds[k]) {
            wrong(check, member, json_kind_name(kinds[k]));
            return;
        }
    }
    check_when(check, json_get(rule, "when"));
    check_ask(check, json_get(rule, "ask"));
    check_per_sample(check, json_get(rule, "per_sample"));
}

static void check_part(const struct checker *check, const struct json_node *part)
{
    if (json_kind(part) != JSON_OBJECT) {
        wrong(check, part, "an object with of, lacks and rules");
        return;
    }
    if (member_is(check, part, "of", JSON_TEXT) &&
        !is_key(check->form, json_text(json_get(part, "of")))) {
        diag_error(check->diag, json_place(check->json, json_get(part, "of"), check->perm),
                   "is no key column of %s", check->form->name);
    }
    member_is(check, part, "lacks", JSON_TEXT);
    if (!member_is(check, part, "rules", JSON_LIST)) return;
    const struct json_node *rules = json_get(part, "rules");
    for (int i = 0; i < json_size(rules); i++) check_rule(check, json_at(rules, i));
}

static void check_limit(const struct checker *check, const struct json_node *object,
                        const char *key)
{
    if (!member_is(check, object, key, JSON_NUMBER)) return;
    const struct json_node *node = json_get(object, key);
    if (!(json_number(node) > 0)) wrong(check, node, "a number above 0");
}

static void check_suspicions(const struct checker *check, const struct json_node *object)
{
    if (json_kind(object) != JSON_OBJECT) {
        wrong(check, object, "an object with slower, faster, large and list");
        return;
    }
    check_limit(check, object, "slower");
    check_limit(check, object, "faster");
    double large_B;
    if (member_is(check, object, "large", JSON_TEXT) &&
        !unit_parse(json_text(json_get(object, "large")), DIM_SIZE, &large_B))
        wrong(check, json_get(object, "large"), unit_wanted(DIM_SIZE));
    if (!member_is(check, object, "list", JSON_LIST)) return;
    const struct json_node *list = json_get(object, "list");
    for (int i = 0; i < json_size(list); i++) {
        const struct json_node *rule = json_at(list, i);
        check_rule(check, rule);
        if (json_kind(rule) != JSON_OBJECT) continue;
        member_is(check, rule, "name", JSON_TEXT);
        member_is(check, rule, "set", JSON_OBJECT);
        const struct json_node *when = json_get(rule, "when");
        if (when && json_kind(when) == JSON_TEXT) wrong(check, when, "an object of columns");
    }
}

static const struct json *read_rules(const struct row_reader *reader, struct arena *perm,
                                     struct diag *diag)
{
    const char *dir = reader->options->profile_dir ? reader->options->profile_dir : "scenarios";
    const char *file = arena_text(perm, "%s/rows/%s.json", dir, reader->form->name);
    const struct json *json = json_read_file(file, perm, diag);
    if (!json) return NULL;
    struct checker check = {reader->form, json, perm, diag};
    const struct json_node *root = json_root(json);
    if (json_kind(root) != JSON_OBJECT) {
        wrong(&check, root, "an object with scenario and parts");
        return NULL;
    }
    member_is(&check, root, "scenario", JSON_OBJECT);
    if (!member_is(&check, root, "parts", JSON_LIST)) return NULL;
    const struct json_node *parts = json_get(root, "parts");
    for (int i = 0; i < json_size(parts); i++) check_part(&check, json_at(parts, i));
    const struct json_node *suspicions = json_get(root, "suspicions");
    if (suspicions) check_suspicions(&check, suspicions);
    return json;
}

/* --- the table is checked before any row is used ------------------------------------------------ */

static const struct row_form *find_form(const struct table *table, struct diag *diag)
{
    for (int f = 0; f < N_ROW_FORMS; f++) {
        const char *telling = row_forms[f].collective ? "size_bytes" : "framework";
        if (table_column(table, telling) >= 0) return &row_forms[f];
    }
    if (table_column(table, "collective") >= 0 || table_column(table, "time_us") >= 0)
        return &row_forms[0];
    if (table_column(table, "model") >= 0) return &row_forms[1];
    diag_error(diag, (struct diag_place){.file = table->file},
               "is no table of collectives (size_bytes, time_us ...) nor of training "
               "(model, framework ...)");
    return NULL;
}

static void need_all(const struct table *table, const char *const *names, struct diag *diag)
{
    for (; *names; names++) table_need(table, *names, diag);
}

static void check_numbers(const struct table *table, const char *const *names, bool whole,
                          struct diag *diag)
{
    for (; *names; names++) {
        int column = table_column(table, *names);
        for (int row = 0; row < table->n_rows && column >= 0; row++) {
            double value = table_number(table, row, column, 0, LARGEST, 0, diag);
            bool tiny = value > 0 && value < SMALLEST;
            if (!tiny && (!whole || fabs(value - nearbyint(value)) <= 0)) continue;
            diag_error(diag,
                       (struct diag_place){
                           .file = table->file, .line = table->lines[row], .pointer = *names},
                       "%s is %s", table_cell(table, row, column),
                       tiny ? "neither 0 nor a size that can be measured" : "not a whole number");
        }
    }
}

double row_bus_factor(const char *collective, double n)
{
    bool halved = !strcmp(collective, "allgather") || !strcmp(collective, "reducescatter") ||
                  !strcmp(collective, "alltoall");
    if (!strcmp(collective, "allreduce") && n > 1) return 2 * (n - 1) / n;
    return halved && n > 1 ? (n - 1) / n : 1;
}

/* stated_rate — of a row by the column's own count: algorithm or bus bandwidth. */
static double stated_rate(const struct row_reader *reader, int row, bool bus)
{
    double time_s = row_number(reader, row, "time_us") * US;
    double ranks = row_number(reader, row, "gpus_per_node") * row_number(reader, row, "nodes");
    double rate = time_s > 0 ? row_number(reader, row, "size_bytes") / time_s / GB : 0;
    if (!bus) return rate;
    return ranks > 1 ? rate * row_bus_factor(row_cell(reader, row, "collective"), ranks) : 0;
}

/* check_rates — a time in another unit shows where the bandwidth stands beside it. */
static void check_rates(const struct row_reader *reader, const char *name, bool bus,
                        struct diag *diag)
{
    const struct table *table = reader->table;
    int column = table_column(table, name);
    for (int row = 0; row < table->n_rows && column >= 0; row++) {
        double stated = table_number(table, row, column, 0, LARGEST, 0, diag);
        double rate = stated_rate(reader, row, bus);
        if (stated <= 0 || rate <= 0) continue;
        if (rate < stated * DISAGREES && stated < rate * DISAGREES) continue;
        diag_error(
            diag,
            (struct diag_place){.file = table->file, .line = table->lines[row], .pointer = name},
            "%g, but size_bytes / time_us is %.4g GB/s%s (a wrong unit?)", stated, rate,
            bus ? " of bus bandwidth" : "");
    }
}

struct row_reader *row_open(const struct table *table, const struct scenario_options *options,
                            struct arena *perm, struct diag *diag)
{
    int n_before = diag->n_messages;
    struct row_reader *reader = arena_new(perm, struct row_reader, 1);
    *reader = (struct row_reader){
        .table = table, .form = find_form(table, diag), .options = options, .suspicion = -1};
    if (!reader->form) return NULL;
    need_all(table, reader->form->needed, diag);
    if (diag->n_messages > n_before) return NULL;
    while (reader->form->keys[reader->n_keys]) reader->n_keys++;
    reader->columns = arena_new(perm, int, reader->n_keys);
    for (int k = 0; k < reader->n_keys; k++)
        reader->columns[k] = table_column(table, reader->form->keys[k]);
    check_numbers(table, reader->form->counts, true, diag);
    check_numbers(table, reader->form->reals, false, diag);
    if (reader->form->collective) check_rates(reader, "algbw_GBps", false, diag);
    if (reader->form->collective && table_column(table, "algbw_GBps") < 0)
        check_rates(reader, "busbw_GBps", true, diag);
    reader->rules = read_rules(reader, perm, diag);
    return diag->n_messages > n_before ? NULL : reader;
}

int row_compare(const struct row_reader *reader, int a, int b)
{
    int order = 0;
    for (int k = 0; k < reader->n_keys && order == 0; k++) {
        int column = reader->columns[k];
        order = strcmp(table_cell(reader->table, a, column), table_cell(reader->table, b, column));
    }
    return order;
}

bool row_suspect(const struct row_reader *reader, int row)
{
    const char *note = strstr(row_cell(reader, row, "notes"), "suspect=");
    bool noted = note && note[strlen("suspect=")] != '0';
    return noted || row_cell(reader, row, "suspect")[0] != '\0';
}

/* --- rules that hold ------------------------------------------------------------------------------ */

static bool matches(const char *pattern, const char *cell)
{
    char one[MAX_PATTERN];
    while (true) {
        size_t n = strcspn(pattern, "|");
        snprintf(one, sizeof one, "%.*s", (int)n, pattern);
        if (fnmatch(one, cell, 0) == 0) return true;
        if (!pattern[n]) return false;
        pattern += n + 1;
    }
}

static bool holds(const struct row_reader *reader, int row, const struct json_node *part,
                  const struct json_node *rule)
{
    const struct json_node *when = json_get(rule, "when");
    if (!when) return true;
    if (json_kind(when) == JSON_TEXT) {
        const char *of = json_text(json_get(part, "of"));
        return matches(json_text(when), row_cell(reader, row, of));
    }
    for (int i = 0; i < json_size(when); i++) {
        const struct json_node *pattern = json_at(when, i);
        const char *cell = row_cell(reader, row, json_key(pattern));
        if (!matches(json_text(pattern), cell)) return false;
    }
    return true;
}

/* find_rule — the first of the part that holds for the row */
static const struct json_node *find_rule(const struct row_reader *reader, int row,
                                         const struct json_node *part)
{
    const struct json_node *rules = json_get(part, "rules");
    for (int i = 0; i < json_size(rules); i++) {
        if (holds(reader, row, part, json_at(rules, i))) return json_at(rules, i);
    }
    return NULL;
}

/* --- what was measured ---------------------------------------------------------------------------- */

/* per_sample — how many of the throughput's unit make a sample, as the rules for the row say; 0 =
 * they do not. */
static double per_sample(const struct row_reader *reader, int row, const char *unit)
{
    const struct json_node *parts = json_get(json_root(reader->rules), "parts");
    for (int i = 0; i < json_size(parts); i++) {
        const struct json_node *rule = find_rule(reader, row, json_at(parts, i));
        const struct json_node *counts = rule ? json_get(rule, "per_sample") : NULL;
        const struct json_node *number = counts ? json_get(counts, unit) : NULL;
        if (number) return json_number(number);
    }
    return 0;
}

/* samples_per_s — a throughput in samples; 0 when its unit is no count of samples. */
static double samples_per_s(const struct row_reader *reader, int row)
{
    static const char *const plain[] = {"images/s", "sequences/s", "samples/s"};
    const char *unit = row_cell(reader, row, "throughput_unit");
    double value = row_number(reader, row, "throughput");
    double seq_len = row_number(reader, row, "seq_len");
    double count = per_sample(reader, row, unit);
    if (count > 0) return value / count;
    for (int i = 0; i < 3; i++) {
        if (!strcmp(unit, plain[i])) return value;
    }
    if (seq_len <= 0) return 0;
    if (!strcmp(unit, "tokens/s")) return value / seq_len;
    if (!strcmp(unit, "tokens/s/gpu")) return value / seq_len * row_number(reader, row, "gpus");
    return 0;
}

double row_measured_s(const struct row_reader *reader, int row)
{
    if (reader->form->collective) return row_number(reader, row, "time_us") * US;
    double time_s = row_number(reader, row, "iter_time_s");
    if (time_s > 0) return time_s;
    double rate = samples_per_s(reader, row);
    double batch = replicas(reader, row) * samples(reader, row);
    return rate > 0 ? batch * accumulation(reader, row) / rate : 0;
}

/* --- a row becomes a scenario -------------------------------------------------------------------- */

struct members {
    const struct json_node *node[MAX_MEMBERS];
    int n;
};

struct mapper {
    const struct row_reader *reader;
    int row;
    struct arena *perm;
    struct members members; /* of the scenario, in order of rules */
    char *text;             /* the scenario as JSON */
    int length, capacity;
    struct row_job job;
};

static void refuse(struct mapper *map, const char *column, const char *why)
{
    const char *cell = row_cell(map->reader, map->row, column);
    if (map->job.reason) return;
    map->job.reason = cell[0] ? arena_text(map->perm, "%s %s: %s", column, cell, why)
                              : arena_text(map->perm, "%s: not stated", column);
}

static void add(struct mapper *map, const char *text, size_t n)
{
    int wanted = map->length + (int)n + 1;
    if (wanted > map->capacity) {
        int capacity = 2 * wanted;
        map->text = arena_grow(map->perm, char, map->text, map->length, capacity);
        map->capacity = capacity;
    }
    must(map->text);
    memcpy(map->text + map->length, text, n);
    map->length += (int)n;
}

static void add_text(struct mapper *map, const char *text)
{
    add(map, text, strlen(text));
}

static void add_escaped(struct mapper *map, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') add_text(map, "\\");
        if ((unsigned char)*text < ' ') {
            add_text(map, arena_text(map->perm, "\\u%04x", (unsigned)*text));
        } else {
            add(map, text, 1);
        }
    }
}

/* without_end — a text without the shortest end that a pattern matches. */
static const char *without_end(const char *text, const char *pattern, struct arena *perm)
{
    size_t n = strlen(text);
    for (size_t i = n; i > 0; i--) {
        if (fnmatch(pattern, text + i - 1, 0) == 0)
            return arena_text(perm, "%.*s", (int)(i - 1), text);
    }
    return text;
}

/* value_of — what stands for a column in braces: "column", "column|otherwise" or "column%end". */
static const char *value_of(struct mapper *map, const char *wanted)
{
    size_t n = strcspn(wanted, "|%");
    const char *name = arena_text(map->perm, "%.*s", (int)n, wanted);
    int i = find_derived(map->reader, name);
    if (i >= 0) {
        double value = derived[i].value(map->reader, map->row);
        if (value <= 0) refuse(map, derived[i].lacks, "cannot be told");
        return arena_text(map->perm, "%.12g", value);
    }
    const char *cell = row_cell(map->reader, map->row, name);
    if (wanted[n] == '|' && !cell[0]) return wanted + n + 1;
    if (!is_key(map->reader->form, name) || !cell[0]) refuse(map, name, "is no key column");
    return wanted[n] == '%' ? without_end(cell, wanted + n + 1, map->perm) : cell;
}

static bool is_bare(const char *text)
{
    size_t n = strlen(text);
    return n > 2 && text[0] == '{' && strchr(text, '}') == text + n - 1;
}

/* is_number — of the column that a bare text names */
static bool is_number(struct mapper *map, const char *text)
{
    const char *wanted = arena_text(map->perm, "%.*s", (int)strlen(text) - 2, text + 1);
    const char *end = NULL;
    double value;
    return unit_number(value_of(map, wanted), &end, &value) && *end == '\0';
}

/* add_template — a text with columns in braces; one that is a number as a whole becomes one. */
static void add_template(struct mapper *map, const char *text)
{
    bool bare = is_bare(text) && is_number(map, text);
    if (!bare) add_text(map, "\"");
    while (*text) {
        const char *close = *text == '{' ? strchr(text, '}') : NULL;
        if (close) {
            const char *wanted = arena_text(map->perm, "%.*s", (int)(close - text - 1), text + 1);
            add_escaped(map, value_of(map, wanted));
            text = close + 1;
        } else {
            add_escaped(map, (char[]){*text++, '\0'});
        }
    }
    if (!bare) add_text(map, "\"");
}

static void add_value(struct mapper *map, const struct json_node *node);

static void add_members(struct mapper *map, const struct json_node *node)
{
    bool list = json_kind(node) == JSON_LIST;
    add_text(map, list ? "[" : "{");
    for (int i = 0; i < json_size(node); i++) {
        const struct json_node *member = json_at(node, i);
        if (i > 0) add_text(map, ", ");
        if (!list) add_text(map, arena_text(map->perm, "\"%s\": ", json_key(member)));
        add_value(map, member);
    }
    add_text(map, list ? "]" : "}");
}

static void add_value(struct mapper *map, const struct json_node *node)
{
    switch (json_kind(node)) {
    case JSON_NULL:
        add_text(map, "null");
        break;
    case JSON_BOOL:
        add_text(map, json_bool(node) ? "true" : "false");
        break;
    case JSON_NUMBER:
        add_text(map, arena_text(map->perm, "%.17g", json_number(node)));
        break;
    case JSON_TEXT:
        add_template(map, json_text(node));
        break;
    case JSON_LIST:
    case JSON_OBJECT:
        add_members(map, node);
        break;
    }
}

/* take — the members of an object, if there is one, behind those that are there. */
static void take(struct members *members, const struct json_node *object)
{
    for (int i = 0; object && i < json_size(object); i++) {
        must(members->n < MAX_MEMBERS);
        members->node[members->n++] = json_at(object, i);
    }
}

/* find_member — the last of the first n members that has a key; -1: none. */
static int find_member(const struct members *members, int n, const char *key)
{
    int m = n - 1;
    while (m >= 0 && strcmp(json_key(members->node[m]), key) != 0) m--;
    return m;
}

static const char *asked(const struct json_node *ask, const char *key, const char *otherwise,
                         struct arena *perm)
{
    const struct json_node *node = ask ? json_get(ask, key) : NULL;
    return node ? arena_text(perm, "%s", json_text(node)) : otherwise;
}

static void use_rule(struct mapper *map, const struct json_node *part, const struct json_node *rule)
{
    const struct json_node *reject = json_get(rule, "reject");
    const struct json_node *ask = json_get(rule, "ask");
    if (reject) refuse(map, json_text(json_get(part, "of")), json_text(reject));
    take(&map->members, json_get(rule, "set"));
    const char *kind = asked(ask, "collective", NULL, map->perm);
    if (kind) map->job.kind = (enum coll_kind)find_kind(kind);
    map->job.algorithm = asked(ask, "algorithm", map->job.algorithm, map->perm);
    map->job.protocol = asked(ask, "protocol", map->job.protocol, map->perm);
}

static void use_part(struct mapper *map, const struct json_node *part)
{
    const struct json_node *rule = find_rule(map->reader, map->row, part);
    if (rule) {
        use_rule(map, part, rule);
    } else {
        refuse(map, json_text(json_get(part, "of")), json_text(json_get(part, "lacks")));
    }
}

/* joined — of members that share a key the last; where it is an object, `inner` gets the members of
 * all objects of that key and true is returned. */
static bool joined(const struct members *members, const char *key, const struct json_node **last,
                   struct members *inner)
{
    *last = members->node[find_member(members, members->n, key)];
    if (json_kind(*last) != JSON_OBJECT) return false;
    for (int m = 0; m < members->n; m++) {
        const struct json_node *node = members->node[m];
        if (json_kind(node) == JSON_OBJECT && !strcmp(json_key(node), key)) take(inner, node);
    }
    return true;
}

/* add_last — of members that share keys the last of each, in the order in which the keys came; of
 * objects that share a key the members likewise. */
static void add_last(struct mapper *map, const struct members *members)
{
    const char *separator = "";
    add_text(map, "{");
    for (int m = 0; m < members->n; m++) {
        const char *key = json_key(members->node[m]);
        const struct json_node *last = NULL;
        struct members inner = {.n = 0};
        if (find_member(members, m, key) >= 0) continue;
        add_text(map, arena_text(map->perm, "%s\"%s\": ", separator, key));
        separator = ", ";
        if (joined(members, key, &last, &inner)) {
            add_last(map, &inner);
        } else {
            add_value(map, last);
        }
    }
    add_text(map, "}");
}

/* load — what the loader refuses is a reason too: its first message, without the place. */
static void load(struct mapper *map)
{
    struct diag diag = {.perm = map->perm};
    struct scenario_options options = *map->reader->options;
    options.no_step = map->reader->form->collective;
    map->job.inputs =
        scenario_load_text("row", map->text, (size_t)map->length, &options, NULL, map->perm, &diag);
    if (map->job.inputs) return;
    const char *message = diag.messages[0];
    const char *pointer = strstr(message, ": /");
    map->job.reason = arena_text(map->perm, "scenario: %s", pointer ? pointer + 2 : message);
}

/* check_servers — a run cannot have used more GPUs than its servers have. */
static void check_servers(struct mapper *map)
{
    double all = gpus_of_nodes(map->reader, map->row); /* 0 = not told */
    if (all > 0 && row_number(map->reader, map->row, "gpus") > all)
        refuse(map, "gpus", "are more than gpus_per_node times nodes");
}

static const struct json_node *suspicions_of(const struct row_reader *reader)
{
    return json_get(json_root(reader->rules), "suspicions");
}

static const struct json_node *suspicion_at(const struct row_reader *reader, int suspicion)
{
    return json_at(json_get(suspicions_of(reader), "list"), suspicion);
}

int row_suspicions(const struct row_reader *reader)
{
    const struct json_node *suspicions = suspicions_of(reader);
    return suspicions ? json_size(json_get(suspicions, "list")) : 0;
}

const char *row_suspicion(const struct row_reader *reader, int suspicion)
{
    return json_text(json_get(suspicion_at(reader, suspicion), "name"));
}

struct row_limits row_limits(const struct row_reader *reader)
{
    const struct json_node *suspicions = suspicions_of(reader);
    struct row_limits limits = {0};
    if (!suspicions) return limits;
    limits.slower = json_number(json_get(suspicions, "slower"));
    limits.faster = json_number(json_get(suspicions, "faster"));
    must(unit_parse(json_text(json_get(suspicions, "large")), DIM_SIZE, &limits.large_B));
    return limits;
}

/* try_suspicion — what it sets comes last. */
static void try_suspicion(struct mapper *map)
{
    const struct json_node *rule = suspicion_at(map->reader, map->reader->suspicion);
    if (holds(map->reader, map->row, NULL, rule)) {
        take(&map->members, json_get(rule, "set"));
    } else {
        map->job.reason = "cannot be so here";
    }
}

struct row_job row_map(const struct row_reader *reader, int row, struct arena *perm)
{
    struct mapper map = {.reader = reader, .row = row, .perm = perm};
    if (!reader->form->collective) check_servers(&map);
    const struct json_node *root = json_root(reader->rules);
    const struct json_node *parts = json_get(root, "parts");
    take(&map.members, json_get(root, "scenario"));
    for (int i = 0; i < json_size(parts) && !map.job.reason; i++) use_part(&map, json_at(parts, i));
    if (!map.job.reason && reader->suspicion >= 0) try_suspicion(&map);
    if (map.job.reason) return map.job;
    add_last(&map, &map.members);
    if (!map.job.reason) load(&map);
    return map.job;
}

const char *row_refusal(const struct row_job *job, double size_B, struct arena *perm)
{
    const struct inputs *in = job->inputs;
    if (job->kind == COLL_ALLTOALL && in->n_gpus > ALLTOALL_MAX)
        return arena_text(perm, "collective alltoall: on more than %d GPUs", ALLTOALL_MAX);
    struct coll_req req = {.kind = job->kind,
                           .n_ranks = in->n_gpus,
                           .ranks_per_node = in->n_gpus / in->topo->n_nodes,
                           .n_channels = 1,
                           .n_servers = in->topo->n_nodes,
                           .root = job->kind == COLL_BROADCAST || job->kind == COLL_REDUCE ? 0 : -1,
                           .size_B = size_B,
                           .chunk_B = in->library.chunk_B,
                           .rendezvous = in->library.rendezvous};
    const struct coll_hops *free_hops = arena_new(perm, struct coll_hops, in->library.n_choices);
    if (library_choose(&in->library, &req, free_hops, in->topo->n_nodes, job->algorithm,
                       job->protocol) >= 0)
        return NULL;
    return arena_text(perm, "library %s: has no %s%s%s%s%s for this shape", in->library.name,
                      coll_kind_names[job->kind], job->algorithm ? " " : "",
                      job->algorithm ? job->algorithm : "", job->protocol ? " " : "",
                      job->protocol ? job->protocol : "");
}
