/* nvidia-smi topo -m: a matrix of GPUs and network cards, each cell how two of them are joined:
 *
 *           GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity
 *   GPU0     X    NV18  PXB   0-47          0
 *   GPU1    NV18   X    NODE  0-47          0
 *   NIC0    PXB   NODE   X
 *
 *   NIC Legend:
 *     NIC0: mlx5_0
 *
 * NV# counts NVLinks; PIX and PXB stay below PCIe switches; PHB passes a host bridge, NODE several of one
 * socket, SYS crosses sockets (SOC until 2017). Older drivers name cards mlx5_0 in the head itself and know
 * no NUMA nodes: there GPUs of the same CPUs share a socket. The first matrix counts: further ones are of other
 * servers, or of what peers may do (topo -p2p). Source: the legend that the command prints. */
#include "io/measured_formats.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 8, CPUS_MAX = 48, N_PARTS_MAX = SERVER_MAX_GPUS + SERVER_MAX_NICS };

/* the state is larger than a format's own memory: it is kept apart */
struct matrix {
    char names[N_PARTS_MAX][16];
    int n; /* of the head: GPUs first */
    int n_gpus;
    bool over; /* another head has begun */
    bool done[N_PARTS_MAX];
    char cpus[N_PARTS_MAX][CPUS_MAX]; /* "0-47"; "" = not told */
    char cells[N_PARTS_MAX][N_PARTS_MAX][CELL_MAX];
    int numa[N_PARTS_MAX]; /* -1 = not told */
    int n_numa;            /* nodes in all, as far as told */
    int numa_column;       /* of the affinity, after the parts; -1 = none */
    int cpu_column;
};

static bool is_gpu(const char *word)
{
    return !strncmp(word, "GPU", 3) && isdigit((unsigned char)word[3]);
}

static bool is_card(const char *word)
{
    return (!strncmp(word, "NIC", 3) && isdigit((unsigned char)word[3])) ||
           !strncmp(word, "mlx", 3) || !strncmp(word, "bnxt", 4) || !strncmp(word, "rdmap", 5);
}

/* the words of a line without the colours of terminals */
static int plain_words(char *line, char **words)
{
    char *to = line;
    for (const char *from = line; *from; from++) {
        if (*from == '\033') {
            while (*from && *from != 'm') from++;
            if (*from == '\0') break;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return reading_words(line, words);
}

static void read_head(struct matrix *matrix, char *const *words, int n)
{
    matrix->n = matrix->n_gpus = 0;
    matrix->numa_column = matrix->cpu_column = -1;
    int w = 0;
    for (; w < n && (is_gpu(words[w]) || is_card(words[w])); w++) {
        if (matrix->n == N_PARTS_MAX) return;
        snprintf(matrix->names[matrix->n++], sizeof matrix->names[0], "%.15s", words[w]);
        matrix->n_gpus += is_gpu(words[w]);
    }
    /* "CPU Affinity", "NUMA Affinity", "GPU NUMA ID": two words are one column, but the last */
    for (int column = 0; w + 1 < n; w += 2, column++) {
        if (!strcmp(words[w], "NUMA") && !strcmp(words[w + 1], "Affinity"))
            matrix->numa_column = column;
        if (!strcmp(words[w], "CPU") && !strcmp(words[w + 1], "Affinity"))
            matrix->cpu_column = column;
    }
}

static int part_of(const struct matrix *matrix, const char *name)
{
    for (int p = 0; p < matrix->n; p++) {
        if (!strcmp(matrix->names[p], name)) return p;
    }
    return -1;
}

/* the word in a column after the parts; "" where there is none */
static const char *after_parts(const struct matrix *matrix, int column, char *const *words, int n)
{
    int w = 1 + matrix->n + column;
    return column >= 0 && w < n && isdigit((unsigned char)words[w][0]) ? words[w] : "";
}

static void read_cells(struct reading *reading, struct matrix *matrix, char *const *words, int n)
{
    int row = part_of(matrix, words[0]);
    if (row < 0) {
        reading_skip(reading, "rows of something that the head does not name");
        return;
    }
    if (n - 1 < matrix->n) {
        reading_skip(reading, "rows with fewer cells than their head");
        return;
    }
    for (int p = 0; p < matrix->n; p++)
        snprintf(matrix->cells[row][p], CELL_MAX, "%.7s", words[1 + p]);
    const char *numa = after_parts(matrix, matrix->numa_column, words, n);
    matrix->numa[row] = numa[0] ? reading_count(numa) : -1;
    if (matrix->numa[row] >= matrix->n_numa) matrix->n_numa = matrix->numa[row] + 1;
    snprintf(matrix->cpus[row], CPUS_MAX, "%.47s",
             after_parts(matrix, matrix->cpu_column, words, n));
    matrix->done[row] = true;
}

static void read_row(struct reading *reading, struct matrix *matrix, char *const *words, int n)
{
    if (matrix->over)
        reading_skip(reading, "rows of a further matrix");
    else
        read_cells(reading, matrix, words, n);
}

bool nvidia_topo_claims(const char *line)
{
    const char *at = strstr(line, "GPU0");
    if (!at || strspn(line, " \t\033[0123456789;m") < (size_t)(at - line)) return false;
    return strstr(at, "CPU Affinity") || strstr(at, "GPU1") || strstr(at, "NIC0");
}

static struct matrix *matrix_of(struct reading *reading)
{
    struct matrix **kept = reading->state;
    if (!*kept) *kept = arena_new(reading->perm, struct matrix, 1);
    return *kept;
}

void nvidia_topo_line(struct reading *reading, char *line)
{
    char *words[READING_COLUMNS];
    struct matrix *matrix = matrix_of(reading);
    bool head = nvidia_topo_claims(line);
    int n = plain_words(line, words);
    if (n == 0) return;
    if (head && matrix->n == 0)
        read_head(matrix, words, n);
    else if (head)
        matrix->over = true;
    else if (matrix->n > 0 && (is_gpu(words[0]) || is_card(words[0])) && n > 2)
        read_row(reading, matrix, words, n);
    else if (n == 2 && !strncmp(words[0], "NIC", 3) && words[0][strlen(words[0]) - 1] == ':') {
        words[0][strlen(words[0]) - 1] = '\0';
        int part = part_of(matrix, words[0]);
        if (part >= 0) snprintf(matrix->names[part], sizeof matrix->names[0], "%.15s", words[1]);
    }
}

/* --- from cells to a server ------------------------------------------------------------------------ */

static bool below_switch(const char *cell)
{
    return !strcmp(cell, "PIX") || !strcmp(cell, "PXB");
}

/* two GPUs share a switch when the cell says so or, where NVLinks hide that, a card is below both's */
static bool share_switch(const struct matrix *matrix, int a, int b)
{
    if (below_switch(matrix->cells[a][b])) return true;
    if (strncmp(matrix->cells[a][b], "NV", 2) != 0) return false;
    for (int c = matrix->n_gpus; c < matrix->n; c++) {
        if (below_switch(matrix->cells[a][c]) && below_switch(matrix->cells[b][c])) return true;
    }
    return false;
}

static bool crosses_sockets(const char *cell)
{
    return !strcmp(cell, "SYS") || !strcmp(cell, "SOC");
}

static bool same_socket(const struct matrix *matrix, int a, int b)
{
    if (matrix->numa[a] >= 0 && matrix->numa[b] >= 0)
        return server_socket(matrix->numa[a], matrix->n_numa) ==
               server_socket(matrix->numa[b], matrix->n_numa);
    if (matrix->cpus[a][0] && matrix->cpus[b][0]) return !strcmp(matrix->cpus[a], matrix->cpus[b]);
    return !crosses_sockets(matrix->cells[a][b]);
}

static int links_of(const char *cell)
{
    int links = !strncmp(cell, "NV", 2) ? reading_count(cell + 2) : 0;
    return links <= SERVER_MAX_LINKS ? links : 0;
}

static int most_links(const struct matrix *matrix, int g)
{
    int most = 0;
    for (int other = 0; other < matrix->n_gpus; other++) {
        int links = links_of(matrix->cells[g][other]);
        if (links > most) most = links;
    }
    return most;
}

static void fill_gpu(const struct matrix *matrix, int g, struct server *server)
{
    struct server_gpu *gpu = &server->gpus[g];
    *gpu = (struct server_gpu){.socket = g, .pcie_switch = -1};
    for (int other = 0; other < matrix->n_gpus; other++) {
        int links = links_of(matrix->cells[g][other]);
        if (other == g) continue;
        /* through a switch each pair is told to have all links of a GPU */
        server->through_switch |= gpu->n_links > 0 && gpu->n_links + links > SERVER_DIRECT_LINKS;
        gpu->n_links += links;
        if (other < g && same_socket(matrix, g, other)) gpu->socket = server->gpus[other].socket;
        if (share_switch(matrix, g, other))
            gpu->pcie_switch = other < g ? server->gpus[other].pcie_switch : g;
    }
}

/* a card's socket is that of a GPU that it is not across a socket link from */
static void fill_nic(struct reading *reading, const struct matrix *matrix, int part,
                     struct server *server)
{
    struct server_nic nic = {.name = arena_text(reading->perm, "%s", matrix->names[part]),
                             .socket = -1};
    for (int g = 0; g < matrix->n_gpus; g++) {
        const char *cell = matrix->cells[g][part];
        nic.near |= below_switch(cell);
        if (nic.socket < 0 && cell[0] && !crosses_sockets(cell))
            nic.socket = server->gpus[g].socket;
    }
    server->nics[server->n_nics++] = nic;
}

/* links_apart — is there a GPU that NVLinks do not lead to? */
static bool links_apart(const struct matrix *matrix)
{
    int group[SERVER_MAX_GPUS] = {0};
    bool any = false;
    bool apart = false;
    for (int g = 0; g < matrix->n_gpus; g++) group[g] = g;
    for (int a = 0; a < matrix->n_gpus; a++) {
        for (int b = 0; b < matrix->n_gpus; b++) {
            if (a == b || links_of(matrix->cells[a][b]) == 0) continue;
            server_join(group, matrix->n_gpus, a, b);
            any = true;
        }
    }
    for (int g = 0; g < matrix->n_gpus; g++) apart |= group[g] != group[0];
    return any && apart;
}

void nvidia_topo_end(struct reading *reading)
{
    const struct matrix *matrix = matrix_of(reading);
    int n_nics = matrix->n - matrix->n_gpus;
    if (matrix->n_gpus == 0) return;
    for (int g = 0; g < matrix->n_gpus; g++) {
        if (matrix->done[g]) continue;
        reading_error(reading, "has no row of %s: cut off?", matrix->names[g]);
        return;
    }
    if (matrix->n_gpus > SERVER_MAX_GPUS || n_nics > SERVER_MAX_NICS) {
        reading_error(reading, "has more than %d GPUs or cards", SERVER_MAX_GPUS);
        return;
    }
    struct server *server = arena_new(reading->perm, struct server, 1);
    server->source = "nvidia-smi topo -m";
    server->n_gpus = matrix->n_gpus;
    for (int g = 0; g < matrix->n_gpus; g++) fill_gpu(matrix, g, server);
    for (int c = matrix->n_gpus; c < matrix->n; c++) fill_nic(reading, matrix, c, server);
    server->apart = links_apart(matrix);
    for (int g = 0; server->through_switch && g < server->n_gpus; g++)
        server->gpus[g].n_links = most_links(matrix, g);
    reading->server = server;
}
