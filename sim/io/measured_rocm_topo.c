/* rocm-smi --showtopo: matrices of weights, hops and kinds of links between GPUs, and their NUMA nodes:
 *
 *   =============== Link Type between two GPUs ===============
 *          GPU0         GPU1
 *   GPU0   0            XGMI
 *   GPU1   XGMI         0
 *   ======================= Numa Nodes =======================
 *   GPU[0]          : (Topology) Numa Node: 0
 *
 * XGMI is a link of Infinity Fabric, each pair's counted as one; a pair of twice a link's weight is joined by way of
 * others (dies of MI250X: 15 by one link, 30 and 45 by more). Network cards are not in it, nor which GPUs these are.
 * Source: the headings that the command prints; AMD SMI library, amdsmi_topo_get_link_weight. */
#include "io/measured_formats.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

struct rocm {
    bool in_types, in_weights; /* which matrix */
    unsigned char far[SERVER_MAX_GPUS]
                     [SERVER_MAX_GPUS / CHAR_BIT]; /* pairs joined by way of others */
    int n_gpus;
    bool done[SERVER_MAX_GPUS];
    int n_links[SERVER_MAX_GPUS], group[SERVER_MAX_GPUS];
    int numa[SERVER_MAX_GPUS]; /* from 1; 0 = not told */
    int n_numa;
};

/* n of "GPU3", "GPU[3]" or "GPU 3", from 0; -1: it is none */
static int gpu_number(const char *word)
{
    if (strncmp(word, "GPU", 3) != 0) return -1;
    word += 3;
    if (*word == '[' || *word == ' ') word++;
    if (!isdigit((unsigned char)*word)) return -1;
    int number = reading_count(word);
    return number < SERVER_MAX_GPUS ? number : -1;
}

static void read_head(struct rocm *rocm, int n)
{
    rocm->n_gpus = n;
    for (int g = 0; g < n; g++) rocm->group[g] = g;
}

/* far_bit — of a pair in `far`. */
static unsigned char far_bit(int other)
{
    return (unsigned char)(1u << (other % CHAR_BIT));
}

/* read_weights — the nearest others of a GPU are a link away. */
static void read_weights(struct rocm *rocm, char *const *words, int n)
{
    int row = gpu_number(words[0]);
    int n_others = n - 1 < SERVER_MAX_GPUS ? n - 1 : SERVER_MAX_GPUS;
    int least = 0;
    for (int other = 0; row >= 0 && other < n_others; other++) {
        int weight = reading_count(words[1 + other]);
        if (weight > 0 && (least == 0 || weight < least)) least = weight;
    }
    for (int other = 0; least > 0 && other < n_others; other++) {
        if (reading_count(words[1 + other]) / 2 >= least)
            rocm->far[row][other / CHAR_BIT] |= far_bit(other);
    }
}

static void read_types(struct reading *reading, struct rocm *rocm, char *const *words, int n)
{
    int row = gpu_number(words[0]);
    if (n - 1 < rocm->n_gpus || row < 0 || row >= rocm->n_gpus) {
        reading_skip(reading, "rows with fewer cells than their head");
        return;
    }
    rocm->n_links[row] = 0;
    for (int other = 0; other < rocm->n_gpus; other++) {
        bool far = rocm->far[row][other / CHAR_BIT] & far_bit(other);
        if (far || strcmp(words[1 + other], "XGMI") != 0) continue;
        rocm->n_links[row]++;
        server_join(rocm->group, rocm->n_gpus, row, other);
    }
    rocm->done[row] = true;
}

static void read_numa(struct rocm *rocm, const char *line, const char *value)
{
    int gpu = gpu_number(line);
    if (gpu < 0 || !isdigit((unsigned char)*value)) return;
    rocm->numa[gpu] = 1 + reading_count(value);
    if (rocm->numa[gpu] > rocm->n_numa) rocm->n_numa = rocm->numa[gpu];
}

bool rocm_topo_claims(const char *line)
{
    return line[0] == '=' && strstr(line, " between two GPUs ");
}

void rocm_topo_line(struct reading *reading, char *line)
{
    static const char numa_name[] = "(Topology) Numa Node: ";
    struct rocm *rocm = reading->state;
    char *words[READING_COLUMNS];
    const char *numa = strstr(line, numa_name);
    if (numa) {
        read_numa(rocm, line, numa + strlen(numa_name));
    } else if (line[0] == '=') {
        rocm->in_types = strstr(line, "Link Type") != NULL;
        rocm->in_weights = strstr(line, "Weight ") != NULL;
    } else if (rocm->in_weights) {
        int n = reading_words(line, words);
        if (n > 1 && gpu_number(words[1]) < 0) read_weights(rocm, words, n);
    } else if (rocm->in_types) {
        int n = reading_words(line, words);
        if (n > 1 && gpu_number(words[1]) >= 0)
            read_head(rocm, n < SERVER_MAX_GPUS ? n : SERVER_MAX_GPUS);
        else if (n > 1 && gpu_number(words[0]) >= 0)
            read_types(reading, rocm, words, n);
    }
}

void rocm_topo_end(struct reading *reading)
{
    const struct rocm *rocm = reading->state;
    struct server *server = arena_new(reading->perm, struct server, 1);
    server->source = "rocm-smi --showtopo";
    server->n_gpus = rocm->n_gpus;
    server->link = server_xgmi("");
    bool any = false;
    bool alone = false;
    for (int g = 0; g < rocm->n_gpus; g++) {
        if (!rocm->done[g]) {
            reading_error(reading, "has no row of GPU%d under Link Type: cut off?", g);
            return;
        }
        int numa = rocm->numa[g] > 0 ? server_socket(rocm->numa[g] - 1, rocm->n_numa) : -1;
        server->gpus[g] =
            (struct server_gpu){.socket = numa, .pcie_switch = -1, .n_links = rocm->n_links[g]};
        any |= rocm->n_links[g] > 0;
        alone |= rocm->group[g] != rocm->group[0];
    }
    server->apart = any && alone;
    if (rocm->n_gpus > 0) reading->server = server;
}
