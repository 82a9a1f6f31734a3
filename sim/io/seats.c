#include "io/seats.h"

#include "base/file.h"
#include "base/rng.h"
#include "io/keys.h"
#include "io/profile.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_B = 64 << 20 };

static struct diag_place place_of(const struct seating *seating, const struct json_node *node)
{
    return json_place(seating->json, node ? node : seating->owner, seating->perm);
}

/* Fisher-Yates. */
static void shuffle(int *a, int n, struct rng *rng)
{
    for (int i = n - 1; i > 0; i--) {
        int j = rng_integer(rng, i + 1);
        int kept = a[i];
        a[i] = a[j];
        a[j] = kept;
    }
}

static const char *stream_of(const struct seating *seating)
{
    if (seating->job == 0) return "placement";
    return arena_text(seating->perm, "placement of job %d", seating->job);
}

/* Free GPUs in order, or those of equal slot of all servers before the next slot. */
static int list_free(const struct seating *seating, bool spread, int *gpus)
{
    const struct topo *topo = seating->topo;
    int n = 0, per_node = topo->node.gpus_per_node;
    int n_places = topo->n_nodes * per_node;
    for (int i = 0; i < n_places; i++) {
        int gpu = spread ? i % topo->n_nodes * per_node + i / topo->n_nodes : i;
        if (gpu < topo->n_gpus && !seating->taken[gpu]) gpus[n++] = gpu;
    }
    return n;
}

static void seat_by_name(const struct seating *seating, const char *name, int *gpu_of)
{
    int *gpus = arena_new(seating->perm, int, seating->topo->n_gpus);
    int n = list_free(seating, !strcmp(name, "spread"), gpus);
    if (!strcmp(name, "random"))
        shuffle(gpus, n, rng_open(seating->seed, stream_of(seating), seating->perm));
    if (n < seating->n_ranks) {
        diag_error(seating->diag, place_of(seating, seating->node),
                   "%d ranks, but %d of %d GPUs are free", seating->n_ranks, n,
                   seating->topo->n_gpus);
        return;
    }
    memcpy(gpu_of, gpus, (size_t)seating->n_ranks * sizeof *gpu_of);
    for (int i = 0; i < N_PLACEMENTS; i++) {
        if (!strcmp(name, placement_names[i])) return;
    }
    profile_unknown(seating->diag, place_of(seating, seating->node), "placement", name,
                    placement_names, N_PLACEMENTS, seating->perm);
}

/* Give a GPU to one rank; false, and a message, when another has it. */
static bool take(const struct seating *seating, int gpu, bool *used, struct diag_place place)
{
    if (seating->taken[gpu]) {
        diag_error(seating->diag, place, "GPU %d is another job's", gpu);
        return false;
    }
    if (used[gpu]) {
        diag_error(seating->diag, place, "GPU %d is given to two ranks", gpu);
        return false;
    }
    used[gpu] = true;
    return true;
}

/* Element r is the GPU of rank r; each GPU once. */
static void seat_by_list(const struct seating *seating, const struct json_node *list, int *gpu_of)
{
    int n = seating->n_ranks, n_gpus = seating->topo->n_gpus;
    if (json_size(list) != n) {
        diag_error(seating->diag, place_of(seating, list), "%d GPU numbers for %d ranks",
                   json_size(list), n);
        return;
    }
    bool *used = arena_new(seating->perm, bool, n_gpus);
    for (int r = 0; r < n; r++) {
        const struct json_node *at = json_at(list, r);
        double x = json_kind(at) == JSON_NUMBER ? json_number(at) : -1;
        if (!(x >= 0 && x < n_gpus) || x > (double)(int)x) {
            diag_error(seating->diag, place_of(seating, at), "not a GPU number (0 to %d)",
                       n_gpus - 1);
            return;
        }
        gpu_of[r] = (int)x;
        if (!take(seating, gpu_of[r], used, place_of(seating, at))) return;
    }
}

/* ---- rank files ---- */

/* A number below `limit` after blanks, -1 when there is none; moves *at behind it. */
static int read_below(const char **at, int limit)
{
    char *end;
    while (**at == ' ' || **at == '\t') (*at)++;
    if (**at < '0' || **at > '9') return -1;
    long number = strtol(*at, &end, 10);
    *at = end;
    return number < limit ? (int)number : -1;
}

static bool at_end(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r') at++;
    return *at == '\0' || *at == '#';
}

/* The GPU that "GPU" or "NODE:SLOT" names, -1 when it is none. */
static int read_gpu(const struct topo *topo, const char *at)
{
    int most = topo->n_gpus > topo->n_nodes ? topo->n_gpus : topo->n_nodes;
    int number = read_below(&at, most);
    if (number >= 0 && *at == ':') {
        at++;
        int slot = read_below(&at, topo->node.gpus_per_node);
        number =
            slot < 0 || number >= topo->n_nodes ? -1 : number * topo->node.gpus_per_node + slot;
    }
    return at_end(at) && number < topo->n_gpus ? number : -1;
}

struct rank_file {
    const struct seating *seating;
    int *gpu_of;
    bool *used, *seated;
    int n_seated;
};

static bool read_line(struct rank_file *file, const char *line, struct diag_place place)
{
    const struct seating *seating = file->seating;
    if (at_end(line)) return true;
    int rank = read_below(&line, seating->n_ranks);
    if (rank < 0) {
        diag_error(seating->diag, place,
                   "not a rank (0 to %d; wanted \"RANK GPU\" or \"RANK "
                   "NODE:SLOT\")",
                   seating->n_ranks - 1);
        return false;
    }
    int gpu = read_gpu(seating->topo, line);
    if (gpu < 0) {
        diag_error(
            seating->diag, place, "no such GPU (0 to %d, or NODE:SLOT of %d nodes with %d slots)",
            seating->topo->n_gpus - 1, seating->topo->n_nodes, seating->topo->node.gpus_per_node);
        return false;
    }
    if (file->seated[rank]) {
        diag_error(seating->diag, place, "rank %d stands here a second time", rank);
        return false;
    }
    file->seated[rank] = true;
    file->gpu_of[rank] = gpu;
    file->n_seated++;
    return take(seating, gpu, file->used, place);
}

static void seat_by_file(const struct seating *seating, const struct json_node *node, int *gpu_of)
{
    const char *path = profile_path(json_file(seating->json), json_text(node), seating->perm);
    size_t length;
    const char *text = file_read(path, MAX_FILE_B, &length, seating->perm, seating->diag);
    if (!text) return;
    struct rank_file file = {.seating = seating,
                             .used = arena_new(seating->perm, bool, seating->topo->n_gpus),
                             .seated = arena_new(seating->perm, bool, seating->n_ranks)};
    file.gpu_of = gpu_of;
    struct diag_place place = {.file = path, .line = 1};
    for (const char *at = text; *at; place.line++) {
        int n = (int)strcspn(at, "\n");
        if (!read_line(&file, arena_text(seating->perm, "%.*s", n, at), place)) return;
        at += n + (at[n] == '\n');
    }
    int missing = 0;
    while (missing < seating->n_ranks && file.seated[missing]) missing++;
    if (missing == seating->n_ranks) return;
    diag_error(seating->diag, (struct diag_place){.file = path},
               "rank %d is missing (%d of %d ranks are there)", missing, file.n_seated,
               seating->n_ranks);
}

const int *seats_load(const struct seating *seating)
{
    const struct json_node *node = seating->node;
    int *gpu_of = arena_new(seating->perm, int, seating->n_ranks);
    int before = seating->diag->n_messages;
    bool object = node && json_kind(node) == JSON_OBJECT && json_size(node) == 1;
    const struct json_node *ranks = object ? json_get(node, "ranks") : NULL;
    const struct json_node *file = object ? json_get(node, "file") : NULL;
    if (!node || json_kind(node) == JSON_TEXT)
        seat_by_name(seating, node ? json_text(node) : "packed", gpu_of);
    else if (ranks && json_kind(ranks) == JSON_LIST)
        seat_by_list(seating, ranks, gpu_of);
    else if (file && json_kind(file) == JSON_TEXT)
        seat_by_file(seating, file, gpu_of);
    else
        diag_error(seating->diag, place_of(seating, node),
                   "not a placement (packed, spread, random, {\"ranks\": [..]} or {\"file\": ..})");
    for (int r = 0; seating->diag->n_messages == before && r < seating->n_ranks; r++)
        seating->taken[gpu_of[r]] = true;
    return gpu_of;
}
