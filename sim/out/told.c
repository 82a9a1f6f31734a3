#include "out/told.h"

#include "base/units.h"
#include "collectives/coll.h"
#include "io/words.h"

#include <string.h>

static const double COUNT_MAX = 1 << 24, BATCH_MAX = 1e12;

static const char *read_count(const char *name, const char *text, double most, double *value,
                              struct arena *perm)
{
    const char *end = NULL;
    *value = 0;
    if (!text) return NULL;
    if (unit_number(text, &end, value) && *end == '\0' && *value >= 1 && *value <= most)
        return NULL;
    return arena_text(perm, "%s: '%s' is not a whole number from 1 on", name, text);
}

/* benchmark_of — of raw rows, whatever the case and dashes of its name. */
static const struct raw_benchmark *benchmark_of(const char *name)
{
    for (int b = 0; b < n_raw_benchmarks; b++) {
        if (words_alike(name, raw_benchmarks[b].name)) return &raw_benchmarks[b];
    }
    return NULL;
}

const char *told_read(const struct options *options, struct reading_options *how,
                      struct arena *perm)
{
    double ranks = 0;
    double per_node = 0;
    *how = (struct reading_options){.collective = NULL};
    const char *wrong = read_count("--ranks", options->ranks, COUNT_MAX, &ranks, perm);
    if (!wrong)
        wrong = read_count("--ranks-per-node", options->ranks_per_node, COUNT_MAX, &per_node, perm);
    if (!wrong) wrong = read_count("--batch", options->batch, BATCH_MAX, &how->batch, perm);
    how->dtype = options->dtype;
    how->n_ranks = (int)ranks;
    how->ranks_per_node = (int)per_node;
    if (wrong || !options->op) return wrong;
    const struct raw_benchmark *benchmark = benchmark_of(options->op);
    if (!benchmark || benchmark->class != RAW_COLLECTIVE)
        return arena_text(perm, "--op: no collective '%s' in raw rows (such as all_reduce)",
                          options->op);
    how->collective = benchmark->name;
    return NULL;
}

/* what was measured, and with which library, as far as the file says */
static void print_heads(FILE *out, const struct raw *raw)
{
    for (int h = 0; h < raw->n_heads; h++) {
        const char *key = raw->heads[h].key;
        if (!strcmp(key, "device") || !strcmp(key, "library"))
            fprintf(out, ", %s", raw->heads[h].value);
    }
}

void told_print(FILE *out, const struct measured *measured)
{
    fprintf(out, "%s: %s, ", measured->raw.file, measured->format->name);
    if (measured->server)
        fprintf(out, "a server of %d GPUs and %d network cards\n", measured->server->n_gpus,
                measured->server->n_nics);
    else {
        fprintf(out, "%d rows", measured->raw.n_rows);
        print_heads(out, &measured->raw);
        fputc('\n', out);
    }
    for (int s = 0; s < measured->n_skips; s++)
        fprintf(out, "%s:%d: left out: %lld %s (first here)\n", measured->raw.file,
                measured->skips[s].first_line, (long long)measured->skips[s].n,
                measured->skips[s].what);
    if (measured->note) fprintf(out, "%s: %s\n", measured->raw.file, measured->note);
}
