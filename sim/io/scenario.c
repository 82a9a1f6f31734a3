#include "io/scenario.h"

#include "base/must.h"
#include "io/keys.h"
#include "io/layers.h"
#include "io/links.h"
#include "io/profile.h"
#include "io/seats.h"
#include "io/words.h"
#include "workload/merge.h"
#include "workload/parallel.h"

#include <string.h>
#include <sys/stat.h>

enum { MAX_NAMES = 512 };

/* what is taken with a strategy when the scenario does not say; the others' default comes last */
static const struct default_software {
    const char *strategy, *library, *framework;
} default_software[] = {
    {"parameter-server", "grpc", "tf1-2017"},
    {"horovod", "nccl-2.18", "tf1-ngc"},
    {"parallel", "nccl-2.18", "megatron-core"},
    {NULL, "nccl-2.18", "pytorch-eager"},
};

struct loader {
    struct json *json;
    const struct json_node *root;
    const struct scenario_options *options;
    struct field_log *log;
    struct arena *perm;
    struct diag *diag;
    struct inputs *in;
    struct top_keys top;
    uint64_t seed;             /* of placement */
    int measured_accumulation; /* micro-batches per step of the measured run */
};

static struct diag_place place(const struct loader *load, const struct json_node *node)
{
    return json_place(load->json, node ? node : load->root, load->perm);
}

static void wrong_kind(const struct loader *load, const struct json_node *node, const char *wanted)
{
    diag_error(load->diag, place(load, node), "is %s (wanted %s)", json_kind_name(json_kind(node)),
               wanted);
}

/* set_text — a bare text stands for an object in which only one key, text_means, is given. */
static void set_text(const struct loader *load, const struct part *part, const char *text,
                     void *out)
{
    const struct field *field = part->fields;
    while (strcmp(field->key, part->text_means) != 0) field++;
    *(const char **)(void *)((char *)out + field->offset) = text;
    for (int i = load->log ? load->log->n_uses - part->n_fields : 0;
         load->log && i < load->log->n_uses; i++) {
        struct field_use *use = &load->log->uses[i];
        if (strcmp(use->key, part->text_means) != 0) continue;
        use->value = text;
        use->from_default = false;
    }
}

/* load_part — one object of the scenario into *out. Returns its node, NULL when it is absent. */
static const struct json_node *load_part(const struct loader *load, const struct part *part,
                                         void *out)
{
    const struct json_node *node = json_get(load->root, part->key);
    bool text = node && json_kind(node) == JSON_TEXT && part->text_means;
    if (node && !text && json_kind(node) != JSON_OBJECT) {
        wrong_kind(load, node, part->text_means ? "a name or an object" : "an object");
        node = NULL;
    }
    field_load(part->fields, part->n_fields, NULL, load->json, text ? NULL : node, out, part->key,
               load->log, load->perm, load->diag);
    if (text) set_text(load, part, arena_text(load->perm, "%s", json_text(node)), out);
    return node;
}

/* load_element — one object of a list. */
static void load_element(const struct loader *load, const struct part *part,
                         const struct json_node *node, void *out)
{
    field_load(part->fields, part->n_fields, NULL, load->json, node, out, part->key, load->log,
               load->perm, load->diag);
}

static struct profile_reader reader_of(const struct loader *load)
{
    const char *dir = load->options->profile_dir ? load->options->profile_dir : "scenarios";
    return (struct profile_reader){dir, load->log, load->perm, load->diag, load->options->edits};
}

/* Changes of what a scenario does not name itself: the profile that it has without the key. */
static const char *const USUAL = "usual";

/* An object without a base that lacks what it cannot do without means changes, too. */
static bool lacks(const struct json_node *own, const char *key)
{
    const struct profile_kind *kind = profile_kinds;
    while (strcmp(kind->name, key) != 0) kind++;
    if (kind == &profile_kinds[PROFILE_LIBRARY]) return !json_get(own, "choices");
    for (int f = 0; f < kind->n_fields; f++) {
        if (!kind->fields[f].fallback && !json_get(own, kind->fields[f].key)) return true;
    }
    return false;
}

static struct profile_ref ref_of(const struct loader *load, const char *key, const char *fallback)
{
    const struct json_node *own = json_get(load->root, key);
    const struct json_node *base = own ? json_get(own, "base") : NULL;
    bool is_usual = base && json_kind(base) == JSON_TEXT && strcmp(json_text(base), USUAL) == 0;
    is_usual = is_usual || (own && !base && json_kind(own) == JSON_OBJECT && lacks(own, key));
    if (is_usual && fallback && fallback[0])
        json_set(load->json, arena_text(load->perm, "%s/base", place(load, own).pointer), fallback,
                 load->diag);
    return (struct profile_ref){load->json, json_get(load->root, key), fallback};
}

/* --- model ------------------------------------------------------------------------------------ */

static bool takes_length(const struct loader *load, const struct json_node *node,
                         const struct model_kind *kind, int sequence_length)
{
    if (sequence_length <= kind->max_seq_len) return true;
    struct diag_place at = place(load, json_get(node, "sequence_length"));
    if (kind->max_seq_len == 0) {
        diag_error(load->diag, at, "%s is no sequence model (leave it out)", kind->name);
    } else {
        diag_error(load->diag, at, "%d is more than the %d tokens that %s takes", sequence_length,
                   kind->max_seq_len, kind->name);
    }
    return false;
}

static void unknown_model(const struct loader *load, const struct json_node *node, const char *name)
{
    const char *names[MAX_NAMES];
    int n = 0;
    while (n < n_model_kinds && n < MAX_NAMES) {
        names[n] = model_kinds[n].name;
        n++;
    }
    profile_unknown(load->diag, place(load, node), "model", name, names, n, load->perm);
}

/* features_of — the style that the keys ask for besides the model's own. */
static unsigned features_of(const struct model_keys *keys)
{
    static const unsigned of_kind[] = {0, 0, TEXT_ENCODER, TEXT_ENCODER | TEXT_CLASSIFIES,
                                       TEXT_ENCODER_DECODER};
    const struct {
        bool asked;
        unsigned style;
    } features[] = {
        {keys->gated, TEXT_GATED},
        {keys->tied, TEXT_TIED},
        {keys->rotary, TEXT_ROTARY},
        {keys->biases, TEXT_BIASES},
        {keys->qkv_biases, TEXT_QKV_BIASES},
        {keys->norm_biases, TEXT_NORM_BIASES},
        {keys->qk_norm, TEXT_QK_NORM},
        {keys->dropout, TEXT_DROPOUT},
        {keys->fused_attention, TEXT_FUSED_ATTENTION},
    };
    int kind = 0;
    while (strcmp(text_kind_names[kind], keys->kind) != 0) kind++;
    unsigned style = of_kind[kind];
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if (features[i].asked) style |= features[i].style;
    }
    return style;
}

static bool changes_numbers(const struct model_keys *keys)
{
    for (int i = 0; i < N_TEXT_SIZES; i++) {
        if (keys->sizes[i] > 0) return true;
    }
    return features_of(keys) != 0;
}

/* fits_together — what the builder needs of its sizes. */
static bool fits_together(const struct loader *load, const struct json_node *node,
                          const struct model_kind *kind, int sequence_length)
{
    const int *size = kind->sizes;
    const struct {
        const char *key, *why;
        bool wrong;
    } rules[] = {
        {"blocks", "is needed", size[TEXT_BLOCKS] == 0},
        {"hidden", "is needed", size[TEXT_HIDDEN] == 0},
        {"vocabulary", "is needed", size[TEXT_VOCABULARY] == 0},
        {"sequence_length", "is needed", sequence_length == 0 && kind->default_seq_len == 0},
        {"heads", "more than hidden", size[TEXT_HEADS] > size[TEXT_HIDDEN]},
        {"kv_heads", "more than heads",
         size[TEXT_HEADS] > 0 && size[TEXT_KV_HEADS] > size[TEXT_HEADS]},
        {"experts_per_token", "more than experts",
         size[TEXT_EXPERTS_PER_TOKEN] > size[TEXT_EXPERTS]},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].wrong) continue;
        diag_error(load->diag, place(load, node), "%s: %s (of a transformer by its numbers)",
                   rules[i].key, rules[i].why);
        return false;
    }
    return true;
}

/* numbered_kind — a transformer by its numbers: those of a known name, changed; or the keys alone. */
static const struct model_kind *numbered_kind(const struct loader *load,
                                              const struct model_kind *named,
                                              const struct model_keys *keys)
{
    struct model_kind *kind = arena_new(load->perm, struct model_kind, 1);
    *kind = named ? *named
                  : (struct model_kind){.name = keys->name[0] ? keys->name : "transformer",
                                        .build = transformer,
                                        .max_seq_len = 1 << 20,
                                        .source = "numbers of the scenario"};
    for (int i = 0; i < N_TEXT_SIZES; i++) {
        if (keys->sizes[i] > 0) kind->sizes[i] = keys->sizes[i];
    }
    kind->sizes[TEXT_STYLE] |= (int)features_of(keys);
    if (kind->sizes[TEXT_EXPERTS] > 0 && kind->sizes[TEXT_EXPERTS_PER_TOKEN] == 0)
        kind->sizes[TEXT_EXPERTS_PER_TOKEN] = 1;
    return kind;
}

/* fused_kind — decoders of LLaMA's kind, gated and rotated, are of 2023 and later, when one kernel for
 * attention had become usual: theirs is fused where the scenario does not say. */
static const struct model_kind *fused_kind(const struct loader *load, const struct json_node *node,
                                           const struct model_kind *kind)
{
    const unsigned asked = TEXT_GATED | TEXT_ROTARY, barred = TEXT_NORM_BIASES | TEXT_ENCODER;
    if (kind->build != transformer || json_get(node, "fused_attention")) return kind;
    if (((unsigned)kind->sizes[TEXT_STYLE] & (asked | barred)) != asked) return kind;
    struct model_kind *fused = arena_new(load->perm, struct model_kind, 1);
    *fused = *kind;
    fused->sizes[TEXT_STYLE] |= TEXT_FUSED_ATTENTION;
    return fused;
}

static void load_model_kind(const struct loader *load, const struct json_node *node,
                            const struct model_keys *keys)
{
    const struct model_kind *kind = model_find(keys->name);
    bool numbered = changes_numbers(keys) && (kind || keys->sizes[TEXT_HIDDEN] > 0);
    if (kind && numbered && kind->build != transformer) {
        diag_error(load->diag, place(load, node), "%s is no transformer: it has no such numbers",
                   kind->name);
        return;
    }
    if (numbered) kind = numbered_kind(load, kind, keys);
    if (!kind) {
        unknown_model(load, node, keys->name);
        return;
    }
    if (numbered && !fits_together(load, node, kind, keys->sequence_length)) return;
    if (!takes_length(load, node, kind, keys->sequence_length)) return;
    kind = fused_kind(load, node, kind);
    load->in->model = kind->build(kind, keys->sequence_length, load->perm);
    load->in->plain_attention = kind->build == transformer && !json_get(node, "fused_attention") &&
                                !(kind->sizes[TEXT_STYLE] & TEXT_FUSED_ATTENTION);
    load->in->plain_precision = kind->build == transformer && !json_get(load->root, "precision") &&
                                !json_get(load->root, "measured");
}

static void load_layers(const struct loader *load, const struct json_node *node,
                        const struct model_keys *keys)
{
    struct stat status;
    const char *file = profile_path(json_file(load->json), keys->layers, load->perm);
    if (stat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        diag_error(load->diag, place(load, json_get(node, "layers")),
                   "no such file: \"%s\" (a CSV file of layers)", file);
        return;
    }
    load->in->model = layers_read(file, load->perm, load->diag);
    if (load->in->model && keys->name[0]) load->in->model->name = keys->name;
}

static void load_model(const struct loader *load)
{
    struct model_keys keys = {.name = "", .layers = "", .kind = "own"};
    const struct json_node *node = load_part(load, &key_parts[KEYS_MODEL], &keys);
    if (!node) {
        if (!json_get(load->root, "model") && !load->options->no_step) {
            diag_error(load->diag, place(load, NULL),
                       "missing key \"model\" (a name or an object)");
        }
    } else if (keys.layers[0]) {
        load_layers(load, node, &keys);
    } else if (diag_ok(load->diag) || keys.name[0]) {
        load_model_kind(load, node, &keys);
    }
}

/* --- hardware ---------------------------------------------------------------------------------- */

static void check_precision(const struct loader *load, const struct gpu *gpu)
{
    enum dtype dtype = load->in->train.dtype;
    if (gpu->peak_flops[dtype] > 0) return;
    diag_error(load->diag, place(load, json_get(load->root, "precision")),
               "GPU \"%s\" has no %s arithmetic", gpu->name, dtype_names[dtype]);
}

static const struct default_software *software_of(const struct loader *load)
{
    const struct default_software *software = default_software;
    while (software->strategy && strcmp(software->strategy, load->in->train.strategy) != 0)
        software++;
    return software;
}

static bool read_framework(const struct loader *load)
{
    struct profile_reader reader = reader_of(load);
    int before = load->diag->n_messages;
    struct framework framework;
    profile_read_framework(&reader, ref_of(load, "framework", software_of(load)->framework),
                           &framework);
    load->in->gpu.framework = framework;
    load->in->gpu.issue_s = framework.issue_s;
    return load->diag->n_messages == before;
}

static bool read_gpu(const struct loader *load, struct gpu_profile *gpu)
{
    if (!json_get(load->root, "gpu")) {
        diag_error(load->diag, place(load, NULL), "missing key \"gpu\" (a name or an object)");
        return false;
    }
    struct profile_reader reader = reader_of(load);
    int before = load->diag->n_messages;
    profile_read_gpu(&reader, ref_of(load, "gpu", NULL), gpu);
    if (load->diag->n_messages > before) return false;
    load->in->gpu = gpu->gpu;
    load->in->spread_compute = gpu->spread;
    load->in->jitter = load->top.jitter >= 0 ? load->top.jitter : gpu->jitter;
    check_precision(load, &gpu->gpu);
    return read_framework(load);
}

struct hardware {
    struct gpu_profile gpu;
    struct node_profile node;
    struct nic_profile nic;
    struct fabric_profile fabric;
};

/* usual — of what a system and one of its parts usually come with, the system's; "" = neither says. */
static const char *usual(const char *of_fabric, const char *of_part)
{
    return of_fabric[0] ? of_fabric : of_part;
}

/* A mesh leads to each other GPU of the server alike: a job on some of them has the links between those. */
static void take_part_of_mesh(struct node_spec *spec, int n_gpus)
{
    if (spec->scaleup != SCALEUP_MESH || n_gpus >= spec->gpus_per_node || n_gpus < 2) return;
    spec->scaleup_Bps *= (n_gpus - 1.0) / (spec->gpus_per_node - 1.0);
}

static bool read_node(const struct loader *load, struct hardware *own)
{
    const struct gpu_profile *gpu = &own->gpu;
    struct node_profile *node = &own->node;
    const char *fallback = usual(own->fabric.node, gpu->node);
    if (!json_get(load->root, "node") && !fallback[0]) {
        diag_error(load->diag, place(load, NULL),
                   "missing key \"node\" (GPU \"%s\" has no usual server; wanted one, such as "
                   "\"pcie4-8gpu\" or {\"gpus\": 8})",
                   gpu->gpu.name);
        return false;
    }
    struct profile_reader reader = reader_of(load);
    int before = load->diag->n_messages;
    profile_read_node(&reader, ref_of(load, "node", fallback), node);
    if (load->diag->n_messages > before) return false;
    if (load->top.nics_per_node > 0) node->spec.nics_per_node = load->top.nics_per_node;
    take_part_of_mesh(&node->spec, load->top.n_gpus);
    return true;
}

static void check_counts(const struct loader *load, const struct node_profile *node)
{
    int n = load->top.n_gpus;
    int per_node = node->spec.gpus_per_node;
    if (n <= per_node) return;
    if (n % per_node != 0) {
        int fewer = per_node;
        while (n % fewer != 0) fewer--;
        const char *hint =
            fewer > 1 ? arena_text(load->perm,
                                   "; where each gives %d to the job: \"node\": {\"base\": ..., "
                                   "\"gpus\": %d}",
                                   fewer, fewer)
                      : "";
        diag_error(load->diag, place(load, json_get(load->root, "n_gpus")),
                   "%d is not a multiple of the %d GPUs of a node (%s)%s", n, per_node, node->name,
                   hint);
    }
    if (node->spec.nics_per_node == 0) {
        diag_error(load->diag, place(load, json_get(load->root, "node")),
                   "node \"%s\" has no network card, but %d GPUs need %d nodes", node->name, n,
                   (n + per_node - 1) / per_node);
    }
}

/* read_nic — the card's numbers into the server; a server that works alone may have none. */
static bool read_nic(const struct loader *load, struct hardware *own)
{
    struct node_profile *node = &own->node;
    struct nic_profile *nic = &own->nic;
    const char *fallback = usual(own->fabric.nic, node->nic);
    bool alone = load->top.n_gpus <= node->spec.gpus_per_node;
    *nic = (struct nic_profile){.name = "none", .efficiency = 1, .rdma = true};
    if (!json_get(load->root, "nic") && !fallback[0]) {
        if (!alone) {
            diag_error(load->diag, place(load, NULL),
                       "missing key \"nic\" (node \"%s\" has no usual one)", node->name);
            return false;
        }
        node->spec.nics_per_node = 0;
        return true;
    }
    struct profile_reader reader = reader_of(load);
    int before = load->diag->n_messages;
    profile_read_nic(&reader, ref_of(load, "nic", fallback), nic);
    node->spec.nic_Bps = nic->bandwidth_Bps;
    node->spec.nic_latency_s = nic->latency_s;
    node->spec.gpudirect = node->spec.gpudirect && nic->rdma;
    load->in->nic = nic->name;
    load->in->nic_measured = nic->measured;
    return load->diag->n_messages == before;
}

static void apply_network(struct lib_choice *choice, const struct hardware *hardware)
{
    const struct nic_profile *nic = &hardware->nic;
    bool spread = choice->kind == COLL_ALLTOALL && nic->alltoall_efficiency > 0;
    double efficiency = spread ? nic->alltoall_efficiency : nic->efficiency;
    choice->efficiency_net *= efficiency;
    choice->tuner.efficiency_net *= efficiency;
    choice->net_latency_s += nic->host_latency_s;
    choice->net.handshake_s = nic->handshake_s;
    choice->net.eager_B = nic->eager_B;
    choice->net.peer_s = nic->peer_s;
    choice->net.half_B = nic->half_B;
    choice->net.inject_B = nic->inject_B;
    choice->net.inject_s = nic->inject_s;
    if (nic->bandwidth_Bps <= 0 || strcmp(choice->algo->name, "tree") != 0) return;
    choice->net.pair_frac = hardware->gpu.tree_pair_Bps / nic->bandwidth_Bps;
    choice->net.more_frac = hardware->gpu.tree_Bps / nic->bandwidth_Bps;
}

/* limit_gpus — what the GPUs of a server send together, as a share of its cards. A ring between servers passes all
 * GPUs of each on its way: their kernels copy no faster than in a ring of one server, whatever part of it goes over
 * cards. */
static void limit_gpus(struct lib_choice *choice, const struct hardware *hardware)
{
    const struct node_spec *spec = &hardware->node.spec;
    double cards_Bps = spec->nics_per_node * spec->nic_Bps;
    if (spec->scaleup != SCALEUP_SWITCH || spec->gpus_per_node < 2 || cards_Bps <= 0) return;
    if (strcmp(choice->algo->name, "ring") == 0) {
        choice->net.unseen = true;
        choice->net.pair_frac = choice->efficiency_scaleup * spec->scaleup_Bps / cards_Bps;
        choice->net.more_frac = choice->net.pair_frac;
    } else if (strcmp(choice->algo->name, "nvls-tree") == 0) {
        choice->net.unseen = true;
        choice->net.pair_frac = hardware->gpu.switch_tree_pair_Bps / cards_Bps;
    }
}

/* apply_hardware — a library's rows are shares of what the hardware does. */
static void apply_hardware(struct library *library, const struct hardware *hardware)
{
    const struct node_profile *node = &hardware->node;
    for (int i = 0; i < library->n_choices; i++) {
        struct lib_choice *choice = &library->choices[i];
        bool in_switch = choice->algo->wire_frac && choice->kind != COLL_ALLGATHER;
        double scaleup_frac = in_switch ? node->sum_efficiency : node->scaleup_efficiency;
        choice->efficiency_scaleup *= scaleup_frac;
        choice->efficiency_pcie *= node->pcie_efficiency;
        choice->tuner.efficiency_scaleup *= scaleup_frac;
        choice->tuner.efficiency_pcie *= node->pcie_efficiency;
        apply_network(choice, hardware);
        limit_gpus(choice, hardware);
    }
}

static bool serves(const struct hardware *hardware, const struct lib_choice *choice)
{
    const struct node_profile *node = &hardware->node;
    bool linked = node->spec.scaleup != SCALEUP_NONE || node->spec.gpus_per_node == 1;
    bool sums = node->spec.scaleup == SCALEUP_SWITCH && node->scaleup_sums;
    if (choice->needs_scaleup && !linked) return false;
    if (choice->algo->wire_frac && !sums) return false;
    if (choice->algo->net_wire_frac && !hardware->fabric.sums) return false;
    return choice->offered;
}

/* kept_inside — what is used within a server only, as the card or how it is set up leaves it no way out. */
static bool kept_inside(const struct hardware *hardware, const struct lib_choice *choice)
{
    const struct nic_profile *nic = &hardware->nic;
    bool apart = hardware->node.spec.gpus_per_pcie_switch == 1 || !nic->in_order;
    bool is_ring = choice->kind != COLL_ALLREDUCE || strcmp(choice->algo->name, "ring") == 0;
    if (choice->needs_card && apart) return true;
    return nic->rings_only && !(is_ring && strcmp(choice->protocol, "Simple") == 0);
}

/* drop_rows — those that this server cannot serve; the others lose what it does not pay. */
static void drop_rows(struct library *library, const struct hardware *hardware)
{
    const struct node_profile *node = &hardware->node;
    int n = 0;
    for (int i = 0; i < library->n_choices; i++) {
        if (!serves(hardware, &library->choices[i])) continue;
        struct lib_choice *choice = &library->choices[n++];
        *choice = library->choices[i];
        if (kept_inside(hardware, choice)) choice->max_nodes = 1;
        /* copies within a GPU are over long before what PCIe brings */
        if (node->spec.scaleup == SCALEUP_NONE) choice->own_copy_Bps = 0;
    }
    library->n_choices = n;
}

/* The cluster as NCCL sees it: line rates, of which it takes shares of its own. */
static struct tuner_cluster seen_by_library(const struct loader *load,
                                            const struct hardware *hardware)
{
    const struct node_spec *spec = &hardware->node.spec;
    int n = load->top.n_gpus;
    bool alone = n <= spec->gpus_per_node;
    return (struct tuner_cluster){
        .n_nodes = alone ? 1 : n / spec->gpus_per_node,
        .ranks_per_node = alone ? n : spec->gpus_per_node,
        .capability = hardware->gpu.capability,
        .amd_cpu = strcmp(hardware->node.cpu, "amd") == 0,
        .scaleup_Bps = spec->scaleup == SCALEUP_NONE ? 0 : spec->scaleup_Bps,
        .nvswitch = hardware->node.scaleup_sums,
        .pcie_Bps = spec->pcie_Bps,
        .nics_per_node = spec->nics_per_node,
        .nic_Bps = spec->nic_Bps,
        .collnet = hardware->fabric.sums,
        .near_nics = spec->gpus_per_pcie_switch > 1 || spec->nics_per_node >= spec->gpus_per_node,
    };
}

/* read_tuner — the scenario's, else that of the library; only where it is asked for. */
static void read_tuner(const struct loader *load, const struct hardware *hardware,
                       const char *of_library)
{
    bool given = json_get(load->root, "tuner") != NULL;
    if (!given && !(load->options->tuner && of_library[0])) return;
    struct profile_reader reader = reader_of(load);
    struct tuner_profile *profile = arena_new(load->perm, struct tuner_profile, 1);
    profile_read_tuner(&reader, ref_of(load, "tuner", of_library), profile);
    load->in->own = (struct own_estimate){&profile->tuner, seen_by_library(load, hardware)};
}

/* Limits hold whatever the library's efficiency is; of two windows the smaller one. */
static void apply_windows(struct library_profile *profile, const struct nic_profile *nic)
{
    double window_B = nic->window_B > 0 ? nic->window_B : profile->window_B;
    if (profile->window_B > 0) window_B = fmin(window_B, profile->window_B);
    for (int i = 0; i < profile->library.n_choices; i++) {
        struct lib_net *net = &profile->library.choices[i].net;
        net->connection_Bps = nic->connection_Bps;
        net->rank_Bps = nic->rank_Bps;
        net->window_B = window_B;
    }
}

/* What the host pays from one collective to the next goes by who drives the GPUs. */
static void apply_drivers(struct library_profile *profile)
{
    if (profile->graph_launch) profile->library.issue_s = 0;
    if (profile->graph_launch || strcmp(profile->process_per, "gpu") == 0)
        profile->library.issue_per_rank_s = 0;
}

/* usual_library — that of the strategy; where it is NCCL, the GPU's maker may have a port of its own. */
static const char *usual_library(const struct loader *load, const struct gpu_profile *gpu)
{
    const char *of_strategy = software_of(load)->library;
    bool is_nccl = strncmp(of_strategy, "nccl", strlen("nccl")) == 0;
    return is_nccl && gpu->library[0] ? gpu->library : of_strategy;
}

static void read_library(const struct loader *load, const struct hardware *hardware)
{
    const struct node_profile *node = &hardware->node;
    struct profile_reader reader = reader_of(load);
    struct library_profile profile;
    const char *usual_one = usual_library(load, &hardware->gpu);
    profile_read_library(&reader, ref_of(load, "library", usual_one), &profile);
    if (profile.hardware_efficiency) apply_hardware(&profile.library, hardware);
    apply_windows(&profile, &hardware->nic);
    if (diag_ok(load->diag)) apply_drivers(&profile);
    drop_rows(&profile.library, hardware);
    if (node->spec.scaleup == SCALEUP_NONE && profile.pcie_channels > 0)
        profile.library.n_channels = profile.pcie_channels;
    adjust_library(&load->in->adjust, load->top.n_gpus > node->spec.gpus_per_node,
                   &profile.library);
    load->in->library = profile.library;
    read_tuner(load, hardware, profile.tuner);
    load->in->hbm_per_comm_B =
        load->top.contention >= 0 ? load->top.contention : profile.memory_traffic;
}

/* load_prices — where the scenario gives them; there are none else. */
static void load_prices(const struct loader *load)
{
    struct prices_profile profile;
    struct profile_reader reader = reader_of(load);
    if (!json_get(load->root, "prices")) return;
    profile_read_prices(&reader, ref_of(load, "prices", NULL), &profile);
    load->in->prices = profile.prices;
}

static void load_hardware(const struct loader *load)
{
    struct hardware own;
    struct profile_reader reader = reader_of(load);
    profile_read_fabric(&reader, ref_of(load, "fabric", "fat-tree"), &own.fabric);
    load->in->fabric = own.fabric.spec;
    if (!read_gpu(load, &own.gpu) || !read_node(load, &own)) return;
    check_counts(load, &own.node);
    if (!read_nic(load, &own)) return;
    load->in->node = own.node.spec;
    read_library(load, &own);
}

/* --- training ---------------------------------------------------------------------------------- */

static int index_of(const char *name, const char *const *names)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0) i++;
    return names[i] ? i : 0;
}

/* check_forced — a forced algorithm or protocol must be one that the library has, and is spelled as there. */
static void check_forced(const struct loader *load, const char *key, const char **forced)
{
    if (!*forced) return;
    const struct library *library = &load->in->library;
    const char *names[MAX_NAMES];
    int n = 0;
    for (int i = 0; i < library->n_choices && n < MAX_NAMES; i++) {
        const struct lib_choice *choice = &library->choices[i];
        const char *name = !strcmp(key, "algorithm") ? choice->algo->name : choice->protocol;
        if (words_alike(name, *forced)) {
            *forced = name;
            return;
        }
        int seen = 0;
        while (seen < n && strcmp(names[seen], name) != 0) seen++;
        if (seen == n) names[n++] = name;
    }
    if (n == 0) return; /* the library itself could not be read */
    const struct json_node *strategy = json_get(load->root, "strategy");
    profile_unknown(load->diag, place(load, json_get(strategy, key)),
                    arena_text(load->perm, "%s %s", library->name, key), *forced, names, n,
                    load->perm);
}

static void fill_strategy(struct train_spec *train, const struct strategy_keys *keys)
{
    train->strategy = keys->kind;
    train->bucket_cap_B = keys->bucket_cap_B;
    train->first_bucket_B = keys->first_bucket_B;
    train->fusion_B = keys->fusion_B;
    train->cycle_s = keys->cycle_s;
    train->n_servers = keys->servers;
    train->overlap = keys->overlap;
    train->gradient_B = !strcmp(keys->gradient_precision, "fp32") ? 4 : 2;
    train->split =
        (struct split){.tensor = keys->tensor,
                       .pipeline = keys->pipeline,
                       .virtual_stages = keys->virtual_stages,
                       .chunk_blocks = keys->chunk_blocks,
                       .context = keys->context,
                       .experts = keys->experts,
                       .sequence = keys->sequence && keys->tensor > 1,
                       .tensor_overlap = keys->tensor_overlap && keys->sequence && keys->tensor > 1,
                       .zero_stage = keys->zero_stage,
                       .shard_ranks = keys->shard_ranks,
                       .recompute = (enum recompute)index_of(keys->recompute, recompute_names)};
    train->algorithm = keys->algorithm[0] ? keys->algorithm : NULL;
    train->protocol = keys->protocol[0] ? keys->protocol : NULL;
}

/* check_undivided — the other strategies take each GPU to hold a whole model. */
static void check_undivided(const struct loader *load, const struct json_node *node)
{
    static const char *const keys[] = {"tensor_parallel",   "pipeline_parallel", "virtual_stages",
                                       "context_parallel",  "expert_parallel",   "zero_stage",
                                       "sequence_parallel", "shard_ranks",       "recompute"};
    const struct split *split = &load->in->train.split;
    const bool divided[] = {
        split->tensor > 1,  split->pipeline > 1,    split->virtual_stages > 1,
        split->context > 1, split->experts > 1,     split->zero_stage > 0,
        split->sequence,    split->shard_ranks > 0, split->recompute != RECOMPUTE_NONE};
    if (!strcmp(load->in->train.strategy, "parallel")) return;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (!divided[k]) continue;
        diag_error(load->diag, place(load, json_get(node, keys[k])),
                   "strategy \"%s\" does not divide the model (wanted kind \"parallel\")",
                   load->in->train.strategy);
    }
}

static void load_strategy(const struct loader *load)
{
    struct strategy_keys keys = {.kind = "ddp",
                                 .gradient_precision = "fp32",
                                 .algorithm = "",
                                 .protocol = "",
                                 .recompute = "none"};
    const struct json_node *node = load_part(load, &key_parts[KEYS_STRATEGY], &keys);
    fill_strategy(&load->in->train, &keys);
    check_undivided(load, node);
    if (strategy_find(keys.kind)) return;
    const char *instead = words_strategy(keys.kind);
    if (instead) {
        diag_error(load->diag, place(load, node), "no strategy is called \"%s\" (wanted %s)",
                   keys.kind, instead);
        return;
    }
    const char *names[MAX_NAMES];
    int n = 0;
    while (n < n_strategies && n < MAX_NAMES) {
        names[n] = strategies[n].name;
        n++;
    }
    profile_unknown(load->diag, place(load, node), "strategy", keys.kind, names, n, load->perm);
}

static void load_measured(struct loader *load)
{
    struct measured_keys keys = {0};
    const struct json_node *node = load_part(load, &key_parts[KEYS_MEASURED], &keys);
    if (!node) return;
    if (keys.one_gpu_throughput > 0 && keys.one_gpu_s > 0) {
        diag_error(load->diag, place(load, node),
                   "both one_gpu_throughput and one_gpu_time (one of them)");
    }
    int n_micro = keys.grad_accumulation;
    load->measured_accumulation = n_micro > 0 ? n_micro : load->top.grad_accumulation;
    load->in->train.one_gpu_s = keys.one_gpu_s;
    if (keys.one_gpu_throughput > 0) {
        load->in->train.one_gpu_s =
            load->top.batch * load->measured_accumulation / keys.one_gpu_throughput;
    }
    if (load->in->train.one_gpu_s > 0) load->in->spread_compute = keys.spread;
}

static void load_run(struct loader *load)
{
    struct run_keys keys = {.fidelity = "fluid"};
    load_part(load, &key_parts[KEYS_RUN], &keys);
    load->in->fidelity = (enum fidelity)index_of(keys.fidelity, fidelity_choices);
    load->in->fold = keys.fold && load->in->fidelity != FIDELITY_MESSAGE;
    load->in->class_limit = keys.class_limit;
    load->in->train.n_iterations = keys.iterations;
    load->seed = (uint64_t)keys.seed;
    const char *forced = load->options->fidelity;
    if (!forced) return;
    for (int i = 0; i < N_FIDELITIES; i++) {
        if (strcmp(forced, fidelity_choices[i]) != 0) continue;
        load->in->fidelity = (enum fidelity)i;
        load->in->fold = keys.fold && i != FIDELITY_MESSAGE;
        return;
    }
    profile_unknown(load->diag, (struct diag_place){.file = "--fidelity"}, "fidelity", forced,
                    fidelity_choices, N_FIDELITIES, load->perm);
}

static struct train_spec train_of(const struct top_keys *top)
{
    return (struct train_spec){
        .n_ranks = top->n_gpus,
        .batch_per_gpu = top->batch,
        .grad_accumulation = top->grad_accumulation,
        .dtype =
            top->precision ? (enum dtype)index_of(top->precision, precision_names) : DTYPE_FP32,
        .optimizer = top->optimizer,
        .input_s = top->input_s,
    };
}

/* With several jobs each has its own batch, and without a step there is none. */
static const struct field *fields_of_top(const struct loader *load)
{
    if (!json_get(load->root, "jobs") && !load->options->no_step) return top_fields;
    struct field *fields = arena_new(load->perm, struct field, n_top_fields);
    for (int i = 0; i < n_top_fields; i++) {
        fields[i] = top_fields[i];
        if (!strcmp(fields[i].key, "batch_per_gpu")) fields[i].fallback = "1";
    }
    return fields;
}

/* Keys that others read, and those of other tools: of these it is said what they are called here. */
static const char *const *with_foreign_keys(const struct loader *load)
{
    int n = 0, n_members = json_size(load->root);
    while (top_other_keys[n]) n++;
    const char **keys = arena_new(load->perm, const char *, n + n_members + 1);
    for (int i = 0; i < n; i++) keys[i] = top_other_keys[i];
    for (int i = 0; i < n_members; i++) {
        const struct json_node *member = json_at(load->root, i);
        const char *instead = words_key(json_key(member));
        if (!instead) continue;
        diag_error(load->diag, json_key_place(load->json, member, load->perm),
                   "unknown key \"%s\" (wanted %s)", json_key(member), instead);
        keys[n++] = json_key(member);
    }
    return keys;
}

static void load_top(struct loader *load)
{
    field_load(fields_of_top(load), n_top_fields, with_foreign_keys(load), load->json, load->root,
               &load->top, "scenario", load->log, load->perm, load->diag);
    struct inputs *in = load->in;
    const char *named = load->top.name;
    in->scenario = named && named[0] ? named : arena_text(load->perm, "%s", json_file(load->json));
    in->n_gpus = load->top.n_gpus;
    in->train = train_of(&load->top);
}

/* --- after the network is built ------------------------------------------------------------------ */

static bool list_of(const struct loader *load, const char *key, const struct json_node **list)
{
    *list = json_get(load->root, key);
    if (!*list) return false;
    if (json_kind(*list) == JSON_LIST) return true;
    wrong_kind(load, *list, "a list of objects");
    return false;
}

static void load_degraded(const struct loader *load)
{
    const struct json_node *list;
    if (!list_of(load, "degraded", &list)) return;
    const struct link_reader reader = {load->json, load->log, load->perm, load->diag};
    links_load(&reader, list, load->in);
}

static void load_slow_gpus(const struct loader *load)
{
    const struct json_node *list;
    if (!list_of(load, "slow_gpus", &list)) return;
    int n = json_size(list);
    struct slow_gpu *slow = arena_new(load->perm, struct slow_gpu, n);
    for (int i = 0; i < n; i++) {
        const struct json_node *node = json_at(list, i);
        load_element(load, &key_parts[KEYS_SLOW], node, &slow[i]);
        if (slow[i].gpu >= load->in->n_gpus) {
            diag_error(load->diag, place(load, json_get(node, "gpu")),
                       "GPU %d, but they are numbered 0 to %d", slow[i].gpu, load->in->n_gpus - 1);
        }
    }
    load->in->slow = slow;
    load->in->n_slow = n;
}

static void load_placement(const struct loader *load, int job, bool *taken)
{
    struct seating seating = {.json = load->json,
                              .node = json_get(load->root, "placement"),
                              .owner = load->root,
                              .topo = load->in->topo,
                              .n_ranks = load->in->train.n_ranks,
                              .seed = load->seed,
                              .job = job,
                              .perm = load->perm,
                              .diag = load->diag};
    seating.taken = taken;
    load->in->gpu_of = seats_load(&seating);
}

/* check_collective — the library must have a row for each collective of the job. Costs do not
 * matter for that, so hops are free. */
static void check_collective(const struct loader *load, const struct op *op,
                             const struct coll_hops *free_hops)
{
    const struct inputs *in = load->in;
    const struct comm *comm = &in->job->comms[op->comm];
    struct coll_req req = {.kind = op->coll,
                           .n_ranks = job_group_size(in->job, op->comm),
                           .ranks_per_node = 1,
                           .n_channels = 1,
                           .n_servers = comm->n_servers,
                           .root = op->root,
                           .size_B = op->size_B,
                           .chunk_B = in->library.chunk_B,
                           .rendezvous = in->library.rendezvous};
    if (req.n_ranks + req.n_servers < 2) return;
    int choice = library_choose(&in->library, &req, free_hops, in->train.n_nodes, op->algorithm,
                                op->protocol);
    if (choice >= 0) return;
    char size[32];
    unit_print(op->size_B, DIM_SIZE, size, sizeof size);
    diag_error(load->diag, place(load, json_get(load->root, "library")),
               "library \"%s\" cannot do this: %s%s%s of %s, %d ranks, %d parameter servers",
               in->library.name, op->algorithm ? op->algorithm : "", op->algorithm ? " " : "",
               coll_kind_names[op->coll], size, req.n_ranks, req.n_servers);
}

static void check_collectives(const struct loader *load)
{
    const struct job *job = load->in->job;
    const struct coll_hops *free_hops =
        arena_new(load->perm, struct coll_hops, load->in->library.n_choices);
    for (int p = 0; p < job->n_programs; p++) {
        for (int i = 0; i < job->programs[p].n_ops && diag_ok(load->diag); i++) {
            const struct op *op = &job->programs[p].ops[i];
            if (op->kind == OP_COLLECTIVE) check_collective(load, op, free_hops);
        }
    }
}

/* check_split — ranks, heads, blocks and experts must divide as the strategy wants. */
static bool check_split(const struct loader *load)
{
    const char *key = NULL;
    const struct inputs *in = load->in;
    if (strcmp(in->train.strategy, "parallel") != 0) return true;
    const char *why = parallel_refusal(&in->train, in->model, &key, load->perm);
    if (!why) return true;
    const struct json_node *strategy = json_get(load->root, "strategy");
    const struct json_node *at = json_get(strategy, key);
    diag_error(load->diag, place(load, at ? at : strategy), "%s: %s", key, why);
    return false;
}

/* kernels_s — kernel time of a step of one GPU alone, by the profile. */
static double kernels_s(const struct inputs *in, int grad_accumulation, struct arena scratch)
{
    struct train_spec alone = in->train;
    alone.n_ranks = 1;
    alone.n_nodes = 1;
    alone.n_servers = 1;
    alone.split = split_none;
    alone.one_gpu_s = 0;
    alone.grad_accumulation = grad_accumulation;
    const struct job *job =
        strategy_find(alone.strategy)->build(&alone, in->model, &in->gpu, &scratch);
    double sum_s = 0;
    for (int i = 0; i < job->programs[0].n_ops; i++) {
        const struct op *op = &job->programs[0].ops[i];
        if (op->kind == OP_KERNEL) sum_s += op->work_s;
    }
    return sum_s;
}

/* fit_measured — the measured step as it would be with this job's micro-batches. A step of n of
 * them takes n m + o, with m and o (optimizer) in the profile's relation: steps of one and two tell. */
static void fit_measured(const struct loader *load)
{
    struct train_spec *train = &load->in->train;
    if (train->one_gpu_s <= 0 || load->measured_accumulation == train->grad_accumulation) return;
    double one_s = kernels_s(load->in, 1, *load->perm);
    double micro_s = kernels_s(load->in, 2, *load->perm) - one_s;
    double optimizer_s = one_s - micro_s;
    train->one_gpu_s *= (train->grad_accumulation * micro_s + optimizer_s) /
                        (load->measured_accumulation * micro_s + optimizer_s);
}

static void build_job(const struct loader *load)
{
    struct inputs *in = load->in;
    if (!diag_ok(load->diag) || !check_split(load)) return;
    fit_measured(load);
    in->job = strategy_find(in->train.strategy)->build(&in->train, in->model, &in->gpu, load->perm);
    adjust_job(&in->adjust, in->job);
    check_collectives(load);
}

/* --- several jobs ------------------------------------------------------------------------------- */

static bool has_jobs(const struct loader *load)
{
    return json_get(load->root, "jobs") != NULL;
}

/* What belongs to a job stands in it. */
static void refuse_outside_jobs(const struct loader *load)
{
    static const char *const keys[] = {
        "model",     "strategy",  "batch_per_gpu", "precision",  "measured",
        "framework", "placement", "optimizer",     "input_time", "grad_accumulation"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const struct json_node *node = json_get(load->root, keys[k]);
        if (!node) continue;
        diag_error(load->diag, place(load, node), "%s belongs to each of \"jobs\"", keys[k]);
    }
}

static int count_nodes(const struct inputs *in, struct arena scratch)
{
    bool *seen = arena_new(&scratch, bool, in->topo->n_nodes);
    int n = 0;
    for (int r = 0; r < in->train.n_ranks; r++) {
        int node = topo_node_of(in->topo, in->gpu_of[r]);
        n += !seen[node];
        seen[node] = true;
    }
    return n;
}

/* One job, as it would be if it were alone on the network of the whole. */
static const struct inputs *load_job(const struct loader *whole, const struct json_node *node,
                                     int number, bool *taken)
{
    static const char *const other_keys[] = {"model", "strategy", "framework", "placement", NULL};
    const struct part *part = &key_parts[KEYS_JOBS];
    struct loader load = *whole;
    struct inputs *in = arena_new(whole->perm, struct inputs, 1);
    load.root = node;
    load.in = in;
    *in = *whole->in;
    field_load(part->fields, part->n_fields, other_keys, load.json, node, &load.top, part->key,
               load.log, load.perm, load.diag);
    if (!diag_ok(load.diag)) return in;
    const char *named = load.top.name;
    in->scenario = named[0] ? named : arena_text(load.perm, "job %d", number + 1);
    in->train = train_of(&load.top);
    in->train.n_iterations = whole->in->train.n_iterations;
    in->n_gpus = load.top.n_gpus;
    load_model(&load);
    load_strategy(&load);
    read_framework(&load);
    check_precision(&load, &in->gpu);
    check_forced(&load, "algorithm", &in->train.algorithm);
    check_forced(&load, "protocol", &in->train.protocol);
    load_placement(&load, number, taken);
    if (!diag_ok(load.diag)) return in;
    in->train.n_nodes = count_nodes(in, *load.perm);
    build_job(&load);
    return in;
}

/* All jobs as one: ranks follow each other. */
static void merge_jobs(struct inputs *in, const struct inputs *const *jobs, int n,
                       struct arena *perm)
{
    const struct job **parts = arena_new(perm, const struct job *, n);
    int *n_steps = arena_new(perm, int, n), n_ranks = 0;
    for (int i = 0; i < n; i++) {
        parts[i] = jobs[i]->job;
        n_steps[i] = jobs[i]->job->n_iterations;
        n_ranks += jobs[i]->train.n_ranks;
    }
    in->job = job_merge(parts, n, n_steps, perm);
    int *gpu_of = arena_new(perm, int, n_ranks), at = 0;
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < jobs[i]->train.n_ranks; r++) gpu_of[at++] = jobs[i]->gpu_of[r];
    }
    in->gpu_of = gpu_of;
    in->jobs = jobs;
    in->n_jobs = n;
}

static void build_jobs(const struct loader *load)
{
    const struct json_node *list;
    if (!list_of(load, "jobs", &list)) return;
    int n = json_size(list);
    if (n == 0) {
        diag_error(load->diag, place(load, list), "no job (an object each)");
        return;
    }
    const struct inputs **jobs = arena_new(load->perm, const struct inputs *, n);
    bool *taken = arena_new(load->perm, bool, load->in->topo->n_gpus);
    for (int i = 0; i < n; i++) jobs[i] = load_job(load, json_at(list, i), i, taken);
    if (diag_ok(load->diag)) merge_jobs(load->in, jobs, n, load->perm);
}

static void build(const struct loader *load)
{
    struct inputs *in = load->in;
    int per_node = in->node.gpus_per_node;
    in->train.n_nodes = (in->n_gpus + per_node - 1) / per_node;
    in->topo = topo_build(&in->node, &in->fabric, in->n_gpus, load->perm, load->diag,
                          place(load, json_get(load->root, "fabric")));
    if (!diag_ok(load->diag)) return;
    load_degraded(load);
    load_slow_gpus(load);
    if (has_jobs(load)) {
        build_jobs(load);
        return;
    }
    load_placement(load, 0, arena_new(load->perm, bool, in->topo->n_gpus));
    if (in->model) build_job(load);
}

/* adjust_spread — what was measured beside the scenario says how far off it is, in compute and network. */
static void adjust_spread(struct inputs *in)
{
    struct sides sides = sides_of_normal(in->adjust.spread);
    in->spread_compute = sides;
    for (int reach = 0; reach < LIB_N_REACHES; reach++) {
        for (int size = 0; size < LIB_N_SIZES; size++) in->library.spread[reach][size] = sides;
    }
}

static void load_all(struct loader *load)
{
    load_top(load);
    if (has_jobs(load)) {
        refuse_outside_jobs(load);
        load->in->train.strategy = "ddp";
    } else {
        load_model(load);
        load_strategy(load);
    }
    load->in->adjust = adjust_none;
    load_part(load, &key_parts[KEYS_ADJUST], &load->in->adjust);
    load_hardware(load);
    load_prices(load);
    load_measured(load);
    if (load->in->adjust.spread > 0) adjust_spread(load->in);
    load_run(load);
    check_forced(load, "algorithm", &load->in->train.algorithm);
    check_forced(load, "protocol", &load->in->train.protocol);
    if (diag_ok(load->diag)) build(load);
}

/* What "ib-ndr" in "nic": "ib-ndr" is short for, so that a key within can be set: an object with the name
 * under this key. NULL: nothing. */
static const char *key_of_name(const char *key)
{
    if (strcmp(key, "model") == 0) return "name";
    if (strcmp(key, "strategy") == 0) return "kind";
    for (int k = 0; k < N_PROFILE_KINDS; k++) {
        if (strcmp(key, profile_kinds[k].name) == 0) return "base";
    }
    return NULL;
}

/* open_name — before /nic/efficiency is set, "nic": "ib-ndr" becomes {"base": "ib-ndr"}, and a nic that
 * is not there {"base": "usual"}. */
static void open_name(struct json *json, const char *pointer, struct arena *perm, struct diag *diag)
{
    const char *deeper = strchr(pointer + 1, '/');
    if (!deeper) return;
    const char *key = arena_text(perm, "%.*s", (int)(deeper - pointer) - 1, pointer + 1);
    const struct json_node *named = json_get(json_root(json), key);
    const char *member = key_of_name(key);
    bool absent = !named && member && strcmp(member, "base") == 0;
    if (!absent && (!member || !named || json_kind(named) != JSON_TEXT)) return;
    const char *name = absent ? USUAL : json_text(named);
    json_set(json, arena_text(perm, "/%s", key), "{}", diag);
    json_set(json, arena_text(perm, "/%s/%s", key, member), name, diag);
}

static void apply_sets(struct json *json, const struct scenario_options *options,
                       struct arena *perm, struct diag *diag)
{
    for (int i = 0; i < options->n_sets; i++) {
        const char *set = options->sets[i];
        const char *equals = strchr(set, '=');
        if (set[0] != '/' || !equals) {
            diag_error(diag, (struct diag_place){.file = "--set"},
                       "\"%s\" (wanted /POINTER=VALUE, such as /n_gpus=64)", set);
            continue;
        }
        const char *pointer = arena_text(perm, "%.*s", (int)(equals - set), set);
        open_name(json, pointer, perm, diag);
        json_set(json, pointer, equals + 1, diag);
    }
}

static struct inputs *load_document(struct json *json, const struct scenario_options *options,
                                    struct field_log *log, struct arena *perm, struct diag *diag)
{
    if (!json) return NULL;
    apply_sets(json, options, perm, diag);
    struct loader load = {.json = json,
                          .root = json_root(json),
                          .options = options,
                          .log = log,
                          .perm = perm,
                          .diag = diag,
                          .in = arena_new(perm, struct inputs, 1)};
    if (json_kind(load.root) == JSON_OBJECT) {
        load_all(&load);
    } else {
        wrong_kind(&load, load.root, "a scenario: an object");
    }
    json_close(json);
    return diag_ok(diag) ? load.in : NULL;
}

struct inputs *scenario_load(const char *file, const struct scenario_options *options,
                             struct field_log *log, struct arena *perm, struct diag *diag)
{
    return load_document(json_read_file(file, perm, diag), options, log, perm, diag);
}

/* NOLINTNEXTLINE(readability-function-size): scenario_load with a text and its length for the file */
struct inputs *scenario_load_text(const char *name, const char *text, size_t length,
                                  const struct scenario_options *options, struct field_log *log,
                                  struct arena *perm, struct diag *diag)
{
    return load_document(json_read_text(name, text, length, perm, diag), options, log, perm, diag);
}
