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
 * socket, SYS crosses sockets. Older drivers name cards mlx5_0 in the head itself.
 * Source: the legend that the command prints. */
#include "io/measured_formats.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 8, N_PARTS_MAX = SERVER_MAX_GPUS + SERVER_MAX_NICS };

/* the state is larger than a format's own memory: it is kept apart */
struct matrix {
    char names[N_PARTS_MAX][16];
    int n; /* of the head: GPUs first */
    int n_gpus;
    bool done[N_PARTS_MAX];
    char cells[N_PARTS_MAX][N_PARTS_MAX][CELL_MAX];
    int numa[N_PARTS_MAX]; /* -1 = not told */
    int numa_column;       /* of the affinity, after the parts; -1 = none */
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
    matrix->numa_column = -1;
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
    }
}

static int part_of(const struct matrix *matrix, const char *name)
{
    for (int p = 0; p < matrix->n; p++) {
        if (!strcmp(matrix->names[p], name)) return p;
    }
    return -1;
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
    int numa = matrix->numa_column >= 0 ? 1 + matrix->n + matrix->numa_column : n;
    matrix->numa[row] =
        numa < n && isdigit((unsigned char)words[numa][0]) ? reading_count(words[numa]) : -1;
    matrix->done[row] = true;
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
    bool head = matrix->n == 0 && nvidia_topo_claims(line);
    int n = plain_words(line, words);
    if (n == 0) return;
    if (head)
        read_head(matrix, words, n);
    else if (matrix->n > 0 && (is_gpu(words[0]) || is_card(words[0])) && n > 2)
        read_cells(reading, matrix, words, n);
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

static bool same_socket(const struct matrix *matrix, int a, int b)
{
    if (matrix->numa[a] >= 0 && matrix->numa[b] >= 0) return matrix->numa[a] == matrix->numa[b];
    return strcmp(matrix->cells[a][b], "SYS") != 0;
}

static int links_of(const char *cell)
{
    int links = !strncmp(cell, "NV", 2) ? reading_count(cell + 2) : 0;
    return links <= SERVER_MAX_LINKS ? links : 0;
}

static void fill_gpu(const struct matrix *matrix, int g, struct server *server)
{
    struct server_gpu *gpu = &server->gpus[g];
    *gpu = (struct server_gpu){.socket = g, .pcie_switch = -1};
    for (int other = 0; other < matrix->n_gpus; other++) {
        int links = links_of(matrix->cells[g][other]);
        if (other == g) continue;
        /* through a switch each pair is told to have all links of a GPU */
        server->through_switch |= gpu->n_links > 0 && gpu->n_links + links > SERVER_MAX_LINKS;
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
        if (nic.socket < 0 && cell[0] && strcmp(cell, "SYS") != 0)
            nic.socket = server->gpus[g].socket;
    }
    server->nics[server->n_nics++] = nic;
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
    if (server->through_switch) {
        for (int g = 0; g < server->n_gpus; g++)
            server->gpus[g].n_links = links_of(matrix->cells[g][g == 0 ? 1 : 0]);
    }
    reading->server = server;
}
