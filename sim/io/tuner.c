#include "io/tuner.h"

#include "io/rows.h"

#include <math.h>
#include <string.h>

#define LARGE 1e18 /* an upper bound that only keeps nonsense out */

/* texts of an element of "algorithms" and of "architectures" */
struct latency_texts {
    const char *algorithm, *base, *nvlink, *pcie, *net;
};
struct arch_texts {
    struct tuner_arch arch;
    const char *ring_ll128, *tree_ll128, *tree, *nvls_tree, *inner, *outer;
};

/* clang-format off */
const struct field tuner_fields[N_TUNER_FIELDS] = {
    TEXT("name", struct tuner_profile, tuner.name, "", "name in reports"),
    TEXT("version", struct tuner_profile, tuner.version, "", "of the library"),
    TEXT("source", struct tuner_profile, tuner.source, "", "where the profile is from"),
    REAL("ring_ll", DIM_FRACTION, struct tuner_profile, tuner.ring_ll_frac, 1e-3, 1, "0.5", "of the bus bandwidth that rings under LL use"),
    REAL("ring_ll_one", DIM_FRACTION, struct tuner_profile, tuner.ring_ll_one_frac, 1e-3, 1, "0.5", "the same on one node, of what is neither all-reduce nor reduce"),
    REAL("ring_ll128", DIM_FRACTION, struct tuner_profile, tuner.ring_ll128_frac, 1e-3, 1, "0.92", "the same under LL128"),
    REAL("tree", DIM_FRACTION, struct tuner_profile, tuner.tree_frac, 1e-3, 1, "0.92", "the same of trees"),
    REAL("tree_ll", DIM_FRACTION, struct tuner_profile, tuner.tree_ll_frac, 1e-3, 1, "0.263157894736842", "the same of trees under LL"),
    REAL("tree_ll128", DIM_FRACTION, struct tuner_profile, tuner.tree_ll128_frac, 1e-3, 1, "0.9375", "the same of trees under LL128, between nodes"),
    REAL("tree_ll128_one", DIM_FRACTION, struct tuner_profile, tuner.tree_ll128_one_frac, 1e-3, 1, "0.777777777777778", "the same on one node"),
    REAL("tree_pattern", DIM_FRACTION, struct tuner_profile, tuner.tree_pattern_frac, 1e-3, 1, "0.85", "of trees that are not balanced"),
    REAL("nvls_tree_share", DIM_FRACTION, struct tuner_profile, tuner.nvls_tree_frac, 0, 1, "0", "of a tree of switches over N nodes, times N / (2 (N - 1)); 0 = other rules"),
    REAL("pat", DIM_FRACTION, struct tuner_profile, tuner.pat_frac, 1e-3, 1, "0.75", "of the bus bandwidth that PAT uses"),
    REAL("ring_plateau", DIM_NUMBER, struct tuner_profile, tuner.ring_plateau, 1, 100, "1.4", "latency of a large all-reduce by ring between nodes, times so much"),
    REAL("nic_share", DIM_FRACTION, struct tuner_profile, tuner.nic_frac, 1e-3, 1, "0.96", "of the line rate of a network card"),
    REAL("pcie_share", DIM_FRACTION, struct tuner_profile, tuner.pcie_frac, 1e-3, 1, "0.762", "of the line rate of a PCIe slot"),
    TEXT("ll_max_two_nodes", struct tuner_profile, ll_max_two, "39GB/s 22.5GB/s", "most of LL on two nodes, by CPU: Intel or other, AMD"),
    TEXT("ll_max_more_nodes", struct tuner_profile, ll_max_more, "20.4GB/s 19GB/s", "the same on more"),
    TEXT("net_overhead", struct tuner_profile, net_overhead, "1us 2us", "least latency of a step of a ring between nodes, by CPU; three times that for Simple"),
    TEXT("tree_shares_LL", struct tuner_profile, tree_shares[TUNER_LL], "", "of the bandwidth of an all-reduce by tree, for buffers of 64 B, 128 B ...; beyond the list 1"),
    TEXT("tree_shares_LL128", struct tuner_profile, tree_shares[TUNER_LL128], "", "the same under LL128"),
    TEXT("tree_shares_Simple", struct tuner_profile, tree_shares[TUNER_SIMPLE], "", "the same under Simple"),
};

const struct field tuner_latency_fields[] = {
    CHOICE("algorithm", struct latency_texts, algorithm, tuner_algo_names, NULL, "whose latencies these are"),
    TEXT("base", struct latency_texts, base, "0us 0us 0us", "once, by protocol: LL, LL128, Simple"),
    TEXT("nvlink", struct latency_texts, nvlink, "0us 0us 0us", "of a hop over NVLink"),
    TEXT("pcie", struct latency_texts, pcie, "0us 0us 0us", "of a hop over PCIe"),
    TEXT("net", struct latency_texts, net, "0us 0us 0us", "of a hop between nodes"),
};
const int n_tuner_latency_fields = N_OF(tuner_latency_fields);

const struct field tuner_arch_fields[] = {
    TEXT("name", struct arch_texts, arch.name, "", "of the generation"),
    REAL("capability", DIM_NUMBER, struct arch_texts, arch.capability, 0, 100, NULL, "the first compute capability it is for"),
    REAL("ll_max", DIM_RATE, struct arch_texts, arch.ll_max_Bps, 1, LARGE, NULL, "most of LL on one node"),
    TEXT("ring_ll128", struct arch_texts, ring_ll128, "0GB/s 0GB/s 0GB/s", "most of one channel, by number of nodes: one, two, more; 0 = no limit"),
    TEXT("tree_ll128", struct arch_texts, tree_ll128, "0GB/s 0GB/s 0GB/s", "the same of trees under LL128"),
    TEXT("tree", struct arch_texts, tree, "0GB/s 0GB/s 0GB/s", "the same of trees"),
    TEXT("nvls_tree", struct arch_texts, nvls_tree, "0GB/s 0GB/s 0GB/s", "the same of trees of switches that sum"),
    REAL("nvls", DIM_FRACTION, struct arch_texts, arch.nvls_frac, 0, 1, "0", "of what the links carry, where the switch sums; 0 = it does not"),
    REAL("nvlink_line", DIM_RATE, struct arch_texts, arch.nvlink_line_Bps, 1, LARGE, "25GB/s", "line rate of one NVLink, one direction"),
    REAL("nvlink", DIM_RATE, struct arch_texts, arch.nvlink_Bps, 1, LARGE, "20GB/s", "what is taken for it"),
    TEXT("inner_speeds", struct arch_texts, inner, NULL, "speeds of a channel that are tried on one node, largest first"),
    TEXT("outer_speeds", struct arch_texts, outer, NULL, "the same on several"),
};
const int n_tuner_arch_fields = N_OF(tuner_arch_fields);
/* clang-format on */

/* where a text stands, for messages */
struct text_place {
    const struct json *json;
    const struct json_node *node;
    struct arena *perm;
    struct diag *diag;
};

enum { WORD_MAX = 32 };

/* read_words — values of a text of at least `least` and at most `most` of them; their number. */
static int read_words(struct text_place at, const char *text, enum dim dim, double *values,
                      const int bounds[2])
{
    int n = 0;
    bool right = true;
    for (const char *word = text + strspn(text, " "); *word && right; word += strspn(word, " ")) {
        char copy[WORD_MAX];
        size_t length = strcspn(word, " ");
        right = length < sizeof copy && n < bounds[1];
        if (!right) break;
        memcpy(copy, word, length);
        copy[length] = '\0';
        right = unit_parse(copy, dim, &values[n]) && values[n] >= 0;
        n++;
        word += length;
    }
    if (right && n >= bounds[0]) return n;
    diag_error(at.diag, json_place(at.json, at.node, at.perm),
               "\"%s\" is not %d to %d of %s, with a blank between", text, bounds[0], bounds[1],
               unit_wanted(dim));
    return 0;
}

static const int BY_PROTOCOL[2] = {N_TUNER_PROTOCOLS, N_TUNER_PROTOCOLS},
                 BY_NODES[2] = {N_TUNER_NODES, N_TUNER_NODES}, BY_CPU[2] = {2, 2},
                 GRID[2] = {1, TUNER_MAX_SPEEDS}, SIZES[2] = {0, TUNER_MAX_SIZES};

static void read_latency(struct text_place at, struct tuner *tuner)
{
    struct latency_texts texts = {.algorithm = ""};
    field_load(tuner_latency_fields, n_tuner_latency_fields, NULL, at.json, at.node, &texts,
               "tuner algorithm", NULL, at.perm, at.diag);
    int algo = 0;
    while (algo < N_TUNER_ALGOS && strcmp(tuner_algo_names[algo], texts.algorithm) != 0) algo++;
    if (algo == N_TUNER_ALGOS) return; /* said already */
    struct tuner_latency *out = &tuner->algos[algo];
    out->known = true;
    read_words(at, texts.base, DIM_TIME, out->base_s, BY_PROTOCOL);
    read_words(at, texts.nvlink, DIM_TIME, out->nvlink_s, BY_PROTOCOL);
    read_words(at, texts.pcie, DIM_TIME, out->pcie_s, BY_PROTOCOL);
    read_words(at, texts.net, DIM_TIME, out->net_s, BY_PROTOCOL);
}

static struct tuner_arch read_arch(struct text_place at)
{
    struct arch_texts texts = {0};
    field_load(tuner_arch_fields, n_tuner_arch_fields, NULL, at.json, at.node, &texts,
               "tuner architecture", NULL, at.perm, at.diag);
    struct tuner_arch arch = texts.arch;
    read_words(at, texts.ring_ll128, DIM_RATE, arch.ring_ll128_Bps, BY_NODES);
    read_words(at, texts.tree_ll128, DIM_RATE, arch.tree_ll128_Bps, BY_NODES);
    read_words(at, texts.tree, DIM_RATE, arch.tree_Bps, BY_NODES);
    read_words(at, texts.nvls_tree, DIM_RATE, arch.nvls_tree_Bps, BY_NODES);
    arch.n_inner = read_words(at, texts.inner, DIM_RATE, arch.inner_Bps, GRID);
    arch.n_outer = read_words(at, texts.outer, DIM_RATE, arch.outer_Bps, GRID);
    for (int s = 0; s < arch.n_inner; s++) arch.inner_Bps[s] = fmax(arch.inner_Bps[s], 1);
    for (int s = 0; s < arch.n_outer; s++) arch.outer_Bps[s] = fmax(arch.outer_Bps[s], 1);
    return arch;
}

/* list_of — NULL when it is not given or no list. */
static const struct json_node *list_of(struct text_place at, const char *key)
{
    const struct json_node *list = json_get(at.node, key);
    if (!list || json_kind(list) == JSON_LIST) return list;
    diag_error(at.diag, json_place(at.json, list, at.perm), "is %s (wanted a list)",
               json_kind_name(json_kind(list)));
    return NULL;
}

static void read_archs(struct text_place at, struct tuner *tuner)
{
    const struct json_node *list = list_of(at, "architectures");
    if (!list) return; /* the base's */
    tuner->n_archs = json_size(list);
    struct tuner_arch *archs = arena_new(at.perm, struct tuner_arch, tuner->n_archs);
    for (int a = 0; a < tuner->n_archs; a++) {
        struct text_place place = {at.json, json_at(list, a), at.perm, at.diag};
        archs[a] = read_arch(place);
        if (a > 0 && archs[a].capability <= archs[a - 1].capability)
            diag_error(at.diag, json_place(at.json, place.node, at.perm),
                       "generations want to stand by rising capability");
    }
    tuner->archs = archs;
}

/* read_pair — by CPU, into a row of two. */
static void read_pair(struct text_place at, const char *text, enum dim dim, double *out)
{
    double values[2];
    if (read_words(at, text, dim, values, BY_CPU) == 2) memcpy(out, values, sizeof values);
}

void tuner_read(const struct json *json, const struct json_node *node,
                struct tuner_profile *profile, struct arena *perm, struct diag *diag)
{
    struct text_place at = {json, node, perm, diag};
    if (!profile->net_overhead) return; /* its base could not be read */
    struct tuner *tuner = &profile->tuner;
    read_pair(at, profile->ll_max_two, DIM_RATE, tuner->ll_max_Bps[TUNER_TWO]);
    read_pair(at, profile->ll_max_more, DIM_RATE, tuner->ll_max_Bps[TUNER_MORE]);
    read_pair(at, profile->net_overhead, DIM_TIME, tuner->net_overhead_s);
    for (int p = 0; p < N_TUNER_PROTOCOLS; p++)
        tuner->n_tree_shares[p] =
            read_words(at, profile->tree_shares[p], DIM_NUMBER, tuner->tree_shares[p], SIZES);
    const struct json_node *algos = list_of(at, "algorithms");
    /* a list stands for all of its base's */
    for (int a = 0; algos && a < N_TUNER_ALGOS; a++) tuner->algos[a].known = false;
    for (int a = 0; algos && a < json_size(algos); a++)
        read_latency((struct text_place){json, json_at(algos, a), perm, diag}, tuner);
    read_archs(at, tuner);
}
