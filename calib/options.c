#include "calib/options.h"

#include "base/diag.h"
#include "base/raw.h"
#include "base/units.h"
#include "calib/benchmarks.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_NAMES };

struct option {
    const char *name;
    enum option_kind kind;
    size_t offset;
    const char *value; /* its name in help */
    double min, max;   /* of a number */
    const char *help;
};

#define AT(member) offsetof(struct calib_options, member)
static const struct option rows[] = {
    {"--backend", OPTION_TEXT, AT(backend), "NAME", 0, 0,
     "what to measure: cuda (default), cpu, fake"},
    {"--out", OPTION_TEXT, AT(out), "FILE", 0, 0,
     "raw measurements go there (default: standard output)"},
    {"--only", OPTION_NAMES, AT(only), "NAME...", 0, 0, "these benchmarks, up to the next option"},
    {"--dtype", OPTION_TEXT, AT(dtype), "TYPE", 0, 0, "only this type of elements"},
    {"--quick", OPTION_FLAG, AT(quick), NULL, 0, 0,
     "fewer sizes over the same range, within a minute"},
    {"--budget", OPTION_NUMBER, AT(budget_s), "SECONDS", 1e-3, 1e7,
     "for everything (default: 3600; quick: 60)"},
    {"--precision", OPTION_NUMBER, AT(precision), "SHARE", 1e-6, 1,
     "half width of the 95 % interval that is narrow enough (default: 0.01; quick: 0.02)"},
    {"--threads", OPTION_NUMBER, AT(threads), "N", 1, 1024,
     "of the CPU (default: one per processor)"},
    {"--seed", OPTION_NUMBER, AT(seed), "N", 0, 1e15,
     "of data and of the order of cases (default: 1)"},
    {"--list", OPTION_FLAG, AT(list), NULL, 0, 0, "the benchmarks, measure nothing"},
    {"--markdown", OPTION_FLAG, AT(markdown), NULL, 0, 0,
     "the form of the raw file as tables, for docs"},
    {"--help", OPTION_FLAG, AT(help), NULL, 0, 0, "this page"},
    {"--version", OPTION_FLAG, AT(version), NULL, 0, 0, "the version"},
};
#undef AT
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const struct option *find(const char *name)
{
    for (int r = 0; r < N_ROWS; r++) {
        if (strcmp(rows[r].name, name) == 0) return &rows[r];
    }
    return NULL;
}

static const char *unknown(const char *what, const char *word, const char *const *names, int n,
                           struct arena *perm)
{
    const char *near = diag_nearest(word, names, n);
    return near ? arena_text(perm, "unknown %s '%s'; did you mean '%s'?", what, word, near)
                : arena_text(perm, "unknown %s '%s'", what, word);
}

static const char *unknown_option(const char *word, struct arena *perm)
{
    const char *names[N_ROWS];
    for (int r = 0; r < N_ROWS; r++) names[r] = rows[r].name;
    return unknown("option", word, names, N_ROWS, perm);
}

static const char *unknown_benchmark(const char *word, struct arena *perm)
{
    const char **names = arena_new(perm, const char *, n_calib_benchmarks);
    for (int b = 0; b < n_calib_benchmarks; b++) names[b] = calib_benchmarks[b].name;
    return unknown("benchmark", word, names, n_calib_benchmarks, perm);
}

/* NULL, or what is wrong with the number */
static const char *take_number(const struct option *row, const char *text, void *at,
                               struct arena *perm)
{
    const char *end = NULL;
    double value = 0;
    if (!unit_number(text, &end, &value) || *end || value < row->min || value > row->max) {
        return arena_text(perm, "%s '%s' is no number from %g to %g", row->name, text, row->min,
                          row->max);
    }
    memcpy(at, &value, sizeof value);
    return NULL;
}

/* Names up to the next option. out: how many; NULL, or what is wrong */
static const char *take_names(int argc, char *const *argv, struct calib_options *options, int *n,
                              struct arena *perm)
{
    if (!options->only) options->only = arena_new(perm, const char *, argc + 1);
    for (*n = 0; *n < argc && strncmp(argv[*n], "--", 2) != 0; ++*n) {
        if (!benchmark_find(argv[*n])) return unknown_benchmark(argv[*n], perm);
        options->only[options->n_only++] = argv[*n];
    }
    return *n > 0 ? NULL : "--only needs the name of a benchmark";
}

/* One option with what belongs to it. out: words that it took; NULL, or what is wrong */
static const char *take(int argc, char *const *argv, struct calib_options *options, int *n,
                        struct arena *perm)
{
    const struct option *row = find(argv[0]);
    *n = 1;
    if (!row) return unknown_option(argv[0], perm);
    void *at = (char *)options + row->offset;
    if (row->kind == OPTION_FLAG) {
        memcpy(at, &(bool){true}, sizeof(bool));
        return NULL;
    }
    if (argc < 2) return arena_text(perm, "%s needs %s", row->name, row->value);
    *n = 2;
    if (row->kind == OPTION_NUMBER) return take_number(row, argv[1], at, perm);
    if (row->kind == OPTION_TEXT) {
        memcpy(at, &argv[1], sizeof(char *));
        return NULL;
    }
    int n_names = 0;
    const char *message = take_names(argc - 1, argv + 1, options, &n_names, perm);
    *n = 1 + n_names;
    return message;
}

static bool is_whole(double value)
{
    return !(value > floor(value));
}

static const char *fault(const struct calib_options *options, struct arena *perm)
{
    if (!is_whole(options->seed)) return "--seed wants a whole number";
    if (!is_whole(options->threads)) return "--threads wants a whole number";
    int n = 0;
    while (raw_dtypes[n]) n++;
    if (!options->dtype) return NULL;
    for (int d = 0; d < n; d++) {
        if (strcmp(raw_dtypes[d], options->dtype) == 0) return NULL;
    }
    return unknown("type", options->dtype, raw_dtypes, n, perm);
}

bool calib_options_parse(int argc, char *const *argv, struct calib_options *options,
                         const char **message, struct arena *perm)
{
    *options = (struct calib_options){.backend = "cuda", .out = "-", .seed = 1};
    int taken = 0;
    for (int a = 1; a < argc; a += taken) {
        *message = take(argc - a, argv + a, options, &taken, perm);
        if (*message) return false;
    }
    *message = fault(options, perm);
    return !*message;
}

void calib_options_help(FILE *out)
{
    fputs(
        "dpsim-calib [OPTION...]\n"
        "Measures a machine: how long products, kernels, copies, launches and collectives of many\n"
        "sizes take, as raw measurements that `dpsim fit` makes a profile of.\n\n",
        out);
    for (int r = 0; r < N_ROWS; r++) {
        int width = fprintf(out, "  %s%s%s", rows[r].name, rows[r].value ? " " : "",
                            rows[r].value ? rows[r].value : "");
        fprintf(out, "%*s%s\n", width < 24 ? 24 - width : 2, "", rows[r].help);
    }
    fputs("\nExit status: 0 measured; 1 a result was wrong (its case is left out of the file); 2 "
          "there "
          "is no such\ndevice, it failed, or the file cannot be written; 64 the command line; 130 "
          "and 143 a "
          "signal came, and\nwhat was measured before it is in the file (a second signal ends at "
          "once).\n",
          out);
}
