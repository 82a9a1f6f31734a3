/* dpsim collective: the table of nccl-tests, predicted. */
#include "out/commands.h"

#include "base/sink.h"
#include "base/trap.h"
#include "bound.h"
#include "io/words.h"
#include "out/against.h"
#include "out/load.h"
#include "out/progress.h"
#include "out/tuner_page.h"
#include "out/writer.h"
#include "predict.h"
#include "study/forced.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT_B = 4, SIZES_MAX = 10000 };

static const double FIRST_B = 8, LAST_B = 1024.0 * 1024 * 1024, LARGEST_B = 1e15;

/* what is asked on the command line */
struct sweep {
    double first_B, last_B, factor;
    enum coll_kind kind;
    struct forced forced;
};

struct line {
    double size_B, time_s, interval_s[2], algbw_Bps, busbw_Bps, bound_s;
    const char *algorithm, *protocol;
    struct tuner_choice own; /* what the library itself reckons; only with --as-tuner */
};

/* 8, 8K, 8M, 8G, 8T (powers of 1024, as nccl-tests reads them) */
static bool parse_short_size(const char *text, double *size_B)
{
    char *end;
    double value = strtod(text, &end);
    static const char suffixes[] = "KMGT";
    if (end == text || !isdigit((unsigned char)text[0])) return false;
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (*end && (!suffix || end[1] != '\0')) return false;
    *size_B = suffix ? ldexp(value, 10 * (int)(suffix - suffixes + 1)) : value;
    return true;
}

static const char *read_size(const char *name, const char *text, double *size_B, struct arena *perm)
{
    if (!text) return NULL;
    if (!parse_short_size(text, size_B) && !unit_parse(text, DIM_SIZE, size_B))
        return arena_text(perm, "%s: '%s' is not %s", name, text, unit_wanted(DIM_SIZE));
    if (!(*size_B >= 1 && *size_B <= LARGEST_B))
        return arena_text(perm, "%s: '%s' is out of range (1 byte to 1 PB)", name, text);
    return NULL;
}

static const char *read_kind(const char *text, enum coll_kind *kind, struct arena *perm)
{
    *kind = COLL_ALLREDUCE;
    if (!text) return NULL;
    /* all_reduce is also written all-reduce and AllReduce */
    for (int k = 0; k < N_COLL_KINDS; k++) {
        *kind = (enum coll_kind)k;
        if (words_alike(text, coll_kind_names[k])) return NULL;
    }
    const char *near = diag_nearest(text, coll_kind_names, N_COLL_KINDS);
    return near ? arena_text(perm, "--op: unknown collective '%s'; did you mean '%s'?", text, near)
                : arena_text(perm, "--op: unknown collective '%s'; a known one is '%s'", text,
                             coll_kind_names[0]);
}

static const char *read_factor(const char *text, double *factor, struct arena *perm)
{
    if (!text) return NULL;
    char *end;
    *factor = strtod(text, &end);
    if (end != text && *end == '\0' && *factor > 1 && *factor <= LARGEST_B) return NULL;
    return arena_text(perm, "--factor: '%s' is not a number above 1", text);
}

static const char *read_sweep(const struct options *options, struct sweep *sweep,
                              struct arena *perm)
{
    *sweep = (struct sweep){.first_B = FIRST_B,
                            .last_B = LAST_B,
                            .factor = 2,
                            .forced = {options->algorithm, options->protocol}};
    const char *wrong = read_kind(options->op, &sweep->kind, perm);
    if (!wrong) wrong = read_size("--begin", options->begin, &sweep->first_B, perm);
    if (!wrong) wrong = read_size("--end", options->end, &sweep->last_B, perm);
    if (!wrong) wrong = read_factor(options->factor, &sweep->factor, perm);
    if (!wrong && sweep->last_B < sweep->first_B) wrong = "--end is smaller than --begin";
    if (!wrong && log(sweep->last_B / sweep->first_B) / log(sweep->factor) > SIZES_MAX)
        wrong = arena_text(perm, "more than %d sizes", SIZES_MAX);
    return wrong;
}

/* What the library itself reckons, where that is asked for. */
static struct tuner_choice reckon(const struct inputs *in, const struct sweep *sweep, double size_B)
{
    const struct own_estimate *own = &in->own;
    if (!own->tuner) return (struct tuner_choice){.time_s = INFINITY};
    return tuner_choose(own->tuner, &own->cluster, sweep->kind, size_B, sweep->forced.algorithm,
                        sweep->forced.protocol);
}

static struct line measure(const struct inputs *base, const struct sweep *sweep, double size_B,
                           struct arena scratch)
{
    enum coll_kind kind = sweep->kind;
    const struct inputs *in = inputs_collective(base, kind, size_B, sweep->forced.algorithm,
                                                sweep->forced.protocol, &scratch);
    struct collective_time time = predict_collective(in, &scratch);
    const struct plan_coll *coll = time.plan->n_colls > 0 ? &time.plan->colls[0] : NULL;
    double algbw_Bps = size_B / time.time_s;
    return (struct line){
        .size_B = size_B,
        .time_s = time.time_s,
        .interval_s = {time.interval_s[0], time.interval_s[1]},
        .algbw_Bps = algbw_Bps,
        .busbw_Bps = algbw_Bps * coll_busbw_factor(kind, base->n_gpus),
        .bound_s =
            bound_collective_s(base, kind, size_B, bound_help(coll ? coll->algo : NULL), scratch),
        .algorithm = coll && coll->algo ? coll->algo->name : NULL,
        .protocol = coll ? coll->protocol : NULL,
        .own = reckon(base, sweep, size_B),
    };
}

static int count_sizes(const struct sweep *sweep)
{
    int n = 0;
    double size_B = sweep->first_B;
    while (size_B <= sweep->last_B) {
        size_B *= sweep->factor;
        n++;
    }
    return n;
}

static int measure_all(const struct inputs *base, const struct sweep *sweep, struct line *lines,
                       struct arena *perm)
{
    int n = 0, n_sizes = count_sizes(sweep);
    int before = trap_on();
    double size_B = sweep->first_B;
    while (size_B <= sweep->last_B) {
        progress_show("size", n, n_sizes);
        lines[n++] = measure(base, sweep, size_B, *perm);
        size_B *= sweep->factor;
    }
    progress_show("size", n_sizes, n_sizes);
    trap_restore(before);
    return n;
}

/* nccl-tests prints elements of what each rank holds: a part of the total for a gather */
static double count_of(enum coll_kind kind, double size_B, int n_ranks)
{
    bool parted = kind == COLL_ALLGATHER || kind == COLL_REDUCE_SCATTER || kind == COLL_ALLTOALL;
    return floor(size_B / FLOAT_B / (parted ? n_ranks : 1));
}

static void print_text(FILE *out, const struct inputs *base, const struct sweep *sweep,
                       const struct line *lines, int n)
{
    bool sums = sweep->kind == COLL_ALLREDUCE || sweep->kind == COLL_REDUCE_SCATTER ||
                sweep->kind == COLL_REDUCE;
    int root = sweep->kind == COLL_BROADCAST || sweep->kind == COLL_REDUCE ? 0 : -1;
    fprintf(out, "# %s: %s, %d GPUs, %s, %s (predicted, out of place)\n", base->scenario,
            coll_kind_names[sweep->kind], base->n_gpus, base->library.name,
            fidelity_names[base->fidelity]);
    fprintf(out, "# %11s %13s %8s %7s %6s %10s %8s %8s %7s %-14s %-9s %10s\n", "size", "count",
            "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "algorithm", "protocol",
            "bound");
    fprintf(out, "# %11s %13s %8s %7s %6s %10s %8s %8s %7s %-14s %-9s %10s\n", "(B)", "(elements)",
            "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "", "", "(us)");
    double sum_Bps = 0;
    for (int i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        fprintf(out, "  %11.0f %13.0f %8s %7s %6d %10.2f %8.2f %8.2f %7s %-14s %-9s %10.2f\n",
                line->size_B, count_of(sweep->kind, line->size_B, base->n_gpus), "float",
                sums ? "sum" : "none", root, 1e6 * line->time_s, 1e-9 * line->algbw_Bps,
                1e-9 * line->busbw_Bps, "N/A", line->algorithm ? line->algorithm : "-",
                line->protocol ? line->protocol : "-", 1e6 * line->bound_s);
        sum_Bps += line->busbw_Bps;
    }
    fprintf(out, "# Avg bus bandwidth    : %.6g \n", 1e-9 * sum_Bps / n);
}

static void print_own(FILE *out, const struct inputs *in, enum coll_kind kind,
                      const struct line *lines, int n, struct arena scratch)
{
    struct tuner_line *rows = arena_new(&scratch, struct tuner_line, n);
    for (int i = 0; i < n; i++)
        rows[i] = (struct tuner_line){lines[i].size_B, lines[i].time_s, lines[i].algorithm,
                                      lines[i].protocol, lines[i].own};
    tuner_page_print(out, in, kind, rows, n);
}

static void print_csv(FILE *out, const struct line *lines, int n, bool own)
{
    fprintf(out, "size_B,time_s,algbw_Bps,busbw_Bps,algorithm,protocol,bound_s,low_s,high_s%s\n",
            own ? ",tuner_algorithm,tuner_protocol,tuner_time_s" : "");
    for (int i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        fprintf(out, "%.9g,%.9g,%.9g,%.9g,%s,%s,%.9g,%.9g,%.9g", line->size_B, line->time_s,
                line->algbw_Bps, line->busbw_Bps, line->algorithm ? line->algorithm : "",
                line->protocol ? line->protocol : "", line->bound_s, line->interval_s[0],
                line->interval_s[1]);
        bool known = isfinite(line->own.time_s);
        if (own && known)
            fprintf(out, ",%s,%s,%.9g", tuner_algo_names[line->own.algo],
                    tuner_protocol_names[line->own.protocol], line->own.time_s);
        fputs(own && !known ? ",,,\n" : "\n", out);
    }
}

static void write_own(struct writer *writer, const struct inputs *in, enum coll_kind kind,
                      const struct line *line)
{
    const struct tuner_choice *own = &line->own;
    tuner_page_json(writer, &in->own, kind, line->size_B);
    if (!isfinite(own->time_s)) return;
    writer_text(writer, "tuner_algorithm", tuner_algo_names[own->algo]);
    writer_text(writer, "tuner_protocol", tuner_protocol_names[own->protocol]);
    writer_number(writer, "tuner_time_s", own->time_s);
}

static void print_json(FILE *out, const struct inputs *in, enum coll_kind kind,
                       const struct line *lines, int n)
{
    struct writer writer = {.out = out};
    writer_list(&writer, NULL);
    for (int i = 0; i < n; i++) {
        writer_flat_object(&writer, NULL);
        writer_number(&writer, "size_B", lines[i].size_B);
        writer_number(&writer, "time_s", lines[i].time_s);
        writer_number(&writer, "algbw_Bps", lines[i].algbw_Bps);
        writer_number(&writer, "busbw_Bps", lines[i].busbw_Bps);
        writer_text(&writer, "algorithm", lines[i].algorithm);
        writer_text(&writer, "protocol", lines[i].protocol);
        writer_number(&writer, "bound_s", lines[i].bound_s);
        writer_number(&writer, "low_s", lines[i].interval_s[0]);
        writer_number(&writer, "high_s", lines[i].interval_s[1]);
        if (in->own.tuner) write_own(&writer, in, kind, &lines[i]);
        writer_end(&writer);
    }
    writer_end(&writer);
}

int collective_command(const struct options *options, struct arena *perm)
{
    if (options->compare) return against_compare(options, perm);
    struct sweep sweep;
    const char *wrong = read_sweep(options, &sweep, perm);
    if (wrong) {
        fprintf(stderr, "dpsim: %s\n", wrong);
        return EXIT_USAGE;
    }
    struct diag diag = {.perm = perm};
    struct loaded loaded = load_network(options, perm, &diag);
    if (!diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    if (!forced_find(&loaded.inputs->library, sweep.kind, &sweep.forced))
        wrong = forced_lacking(&loaded.inputs->library, sweep.kind, &sweep.forced, perm);
    if (!wrong && loaded.inputs->n_gpus < 2) wrong = "a collective needs at least 2 GPUs";
    if (!wrong && options->as_tuner && !loaded.inputs->own.tuner)
        wrong = arena_text(perm, "library %s makes no estimate of its own (key \"tuner\")",
                           loaded.inputs->library.name);
    if (wrong) {
        fprintf(stderr, "%s: %s\n", options->operands.items[0], wrong);
        return EXIT_INPUT;
    }
    struct line *lines = arena_new(perm, struct line, SIZES_MAX + 2);
    int n = measure_all(loaded.inputs, &sweep, lines, perm);
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        print_json(sink.out, loaded.inputs, sweep.kind, lines, n);
    else if (options->csv)
        print_csv(sink.out, lines, n, options->as_tuner);
    else if (options->as_tuner)
        print_own(sink.out, loaded.inputs, sweep.kind, lines, n, *perm);
    else
        print_text(sink.out, loaded.inputs, &sweep, lines, n);
    sink_close(&sink);
    return EXIT_FINE;
}
