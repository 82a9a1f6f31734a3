#include "out/options.h"

#include "base/diag.h"
#include "base/must.h"

#include <string.h>

const struct command_row command_rows[N_COMMANDS] = {
    [COMMAND_RUN] =
        {.name = "run",
         .operands = "SCENARIO...",
         .min_operands = 0,
         .max_operands = 1 << 20,
         .summary = "predict a training step: how long, where the time goes, what limits it",
         .about =
             "Prints a page per scenario and, for several scenarios, a table that compares them.\n"
             "With --list, scenarios are rows of a CSV file with the columns `scenario` (a file) "
             "and,\n"
             "optionally, `set` (/pointer=value, several separated by ';'), in that order after "
             "SCENARIO...\n"},
    [COMMAND_COLLECTIVE] =
        {.name = "collective",
         .operands = "SCENARIO",
         .min_operands = 1,
         .max_operands = 1,
         .summary = "what nccl-tests would print on this cluster, size by size",
         .about = "Columns are those of nccl-tests (time in us, algbw and busbw in GB/s), then the "
                  "algorithm\n"
                  "and protocol that the library takes and the least time that the links allow.\n"
                  "Sizes are bytes (8), nccl-tests' short forms (8M = 8 MiB) or text with a unit "
                  "(1GiB).\n"},
    [COMMAND_CHECK] =
        {.name = "check",
         .operands = "[FILE...]",
         .max_operands = 1 << 20,
         .summary = "predicted against measured: tables of published runs, or files of your own",
         .about =
             "The table is CSV with a header row, of collectives (collective, gpu_key, "
             "size_bytes,\n"
             "time_us ...) or of training steps (model, gpu_key, iter_time_s ...). Each row "
             "is mapped "
             "to a\n"
             "cluster by its key columns and the rules in rows/ beside the profiles; what "
             "cannot be "
             "mapped\n"
             "is counted with its reason. The error is predicted / measured - 1, of times.\n"
             "With FILEs and --against SCENARIO, measurements of one's own are judged: the exit "
             "status is 1\n"
             "when a series is off by more than the tolerance, and what to look at first is "
             "said.\n"},
    [COMMAND_FIT] =
        {.name = "fit",
         .operands = "RAW...",
         .min_operands = 1,
         .max_operands = 1 << 20,
         .summary = "raw measurements to a GPU profile: constants, their errors, left-out errors",
         .about = "RAW is what dpsim-calib writes or `dpsim import` makes, or a table of products "
                  "with the\n"
                  "columns gpu, precision, m, n, k and tflops (then with --device). With --out the "
                  "profile is\n"
                  "written; a scenario reads it as \"gpu\": \"path/file.json\". Errors are of "
                  "ln(predicted /\n"
                  "measured); left out: of shapes that had no part in the fit.\n"
                  "With --link, messages become a network card, \"nic\": \"path/file.json\".\n"
                  "With --against SCENARIO, RAW is any file that `dpsim import` reads, and what is "
                  "fitted are the\n"
                  "few constants of that cluster: compute, latency, rates, a fixed time per step. "
                  "--out then\n"
                  "writes the scenario with them, for `dpsim run`.\n"},
    [COMMAND_IMPORT] =
        {.name = "import",
         .operands = "FILE...",
         .min_operands = 1,
         .max_operands = 1 << 20,
         .summary = "measurements of other tools to raw rows, a server's topology to its profile",
         .about = "Reads output of nccl-tests (text and JSON), OSU micro-benchmarks and perftest, "
                  "logs of\n"
                  "Megatron-LM and DeepSpeed, CSV of step times, nvidia-smi topo -m and NCCL's "
                  "topology file.\n"
                  "The format is found from the text; which one was taken, and what was left out "
                  "and why,\n"
                  "goes to standard error.\n"},
    [COMMAND_TOPO] = {.name = "topo",
                      .operands = "SCENARIO",
                      .min_operands = 1,
                      .max_operands = 1,
                      .summary = "what the network is: counts, bisection, diameter, links",
                      .about = "The drawing of --dot is for Graphviz: dot -Tsvg FILE.\n"},
    [COMMAND_SCHEMA] = {.name = "schema",
                        .operands = "",
                        .summary =
                            "the JSON schema of scenario files, from the loader's own tables",
                        .about = ""},
    [COMMAND_MODELS] = {.name = "models",
                        .operands = "",
                        .summary = "built-in models with their parameter counts",
                        .about = ""},
    [COMMAND_PROFILES] =
        {.name = "profiles",
         .operands = "",
         .summary = "shipped profiles of hardware, links and libraries",
         .about = "They are looked for in $DPSIM_PROFILES, else where dpsim is installed, else in\n"
                  "scenarios/ near the program, else in ./scenarios.\n"},
    [COMMAND_HELP] = {.name = "help",
                      .operands = "[COMMAND]",
                      .max_operands = 1,
                      .summary = "this page, or that of one command",
                      .about = ""},
};

#define FOR(command)     (1U << (command))
#define FOR_ALL          ((1U << N_COMMANDS) - 1U)
#define FOR_LOADERS      (FOR(COMMAND_RUN) | FOR(COMMAND_COLLECTIVE) | FOR(COMMAND_TOPO))
#define FOR_AGAINST      (FOR(COMMAND_CHECK) | FOR(COMMAND_FIT))
#define FOR_READERS      (FOR_AGAINST | FOR(COMMAND_IMPORT) | FOR(COMMAND_COLLECTIVE))
#define FLAG(member)     offsetof(struct options, member), OPTION_FLAG
#define TEXT(member)     offsetof(struct options, member), OPTION_TEXT
#define REPEATED(member) offsetof(struct options, member), OPTION_REPEATED

const struct option_row option_rows[] = {
    {"--json", NULL, FLAG(json), FOR_LOADERS | FOR(COMMAND_CHECK) | FOR(COMMAND_FIT), NULL, NULL,
     "print JSON"},
    {"--csv", NULL, FLAG(csv), FOR(COMMAND_RUN) | FOR(COMMAND_COLLECTIVE), NULL, NULL,
     "print CSV with a header row"},
    {"--set", NULL, REPEATED(sets), FOR_LOADERS | FOR_AGAINST, "/POINTER=VALUE", NULL,
     "change the scenario before it is loaded; may be repeated"},
    {"--fidelity", NULL, TEXT(fidelity), FOR(COMMAND_RUN) | FOR(COMMAND_COLLECTIVE) | FOR_AGAINST,
     "NAME", "estimate|fluid|message", "estimate (default of check), fluid (default) or message"},
    {"--explain", NULL, FLAG(explain), FOR(COMMAND_RUN), NULL, NULL,
     "list every value used and which ones are defaults"},
    {"--trace", NULL, TEXT(trace), FOR(COMMAND_RUN), "FILE", NULL,
     "write a timeline for ui.perfetto.dev (one scenario; - = standard output)"},
    {"--list", NULL, TEXT(list), FOR(COMMAND_RUN), "FILE", NULL,
     "read more scenarios from the rows of a CSV file"},
    {"--begin", "-b", TEXT(begin), FOR(COMMAND_COLLECTIVE), "SIZE", NULL, "first size (default 8)"},
    {"--end", "-e", TEXT(end), FOR(COMMAND_COLLECTIVE), "SIZE", NULL, "last size (default 1GiB)"},
    {"--factor", "-f", TEXT(factor), FOR(COMMAND_COLLECTIVE), "NUMBER", NULL,
     "from one size to the next (default 2)"},
    {"--as", NULL, TEXT(as), FOR_READERS, "FORMAT", NULL,
     "the format, when it is not to be found from the text"},
    {"--ranks", NULL, TEXT(ranks), FOR_READERS, "N", NULL,
     "GPUs or processes that took part, where the file does not say"},
    {"--ranks-per-node", NULL, TEXT(ranks_per_node), FOR_READERS, "N", NULL,
     "of them on each server"},
    {"--batch", NULL, TEXT(batch), FOR_READERS, "N", NULL,
     "samples of one step of the whole job, where the file does not say"},
    {"--op", NULL, TEXT(op), FOR_READERS, "NAME", NULL,
     "all_reduce (default), reduce_scatter, all_gather, broadcast, reduce, all_to_all, sendrecv"},
    {"--algorithm", NULL, TEXT(algorithm), FOR(COMMAND_COLLECTIVE), "NAME", NULL,
     "force an algorithm (ring, tree, ...)"},
    {"--protocol", NULL, TEXT(protocol), FOR(COMMAND_COLLECTIVE), "NAME", NULL,
     "force a protocol (Simple, LL, LL128, ...)"},
    {"--as-tuner", NULL, FLAG(as_tuner), FOR(COMMAND_COLLECTIVE), NULL, NULL,
     "what the library itself reckons, by algorithm and protocol, beside the prediction"},
    {"--table", NULL, TEXT(table), FOR(COMMAND_CHECK), "FILE", NULL,
     "the table of published runs (without --against)"},
    {"--out", NULL, TEXT(out), FOR(COMMAND_CHECK) | FOR(COMMAND_FIT) | FOR(COMMAND_IMPORT), "FILE",
     NULL,
     "check: write its rows with predicted and error appended (CSV); fit: write the profile "
     "(JSON); import: the rows or profile"},
    {"--name", NULL, TEXT(name), FOR(COMMAND_FIT), "NAME", NULL,
     "name of the profile (default: the device that was measured)"},
    {"--link", NULL, FLAG(link), FOR(COMMAND_FIT), NULL, NULL,
     "fit a network card to messages (ping_pong, socket, message_stream), not a GPU"},
    {"--base", NULL, TEXT(base), FOR(COMMAND_FIT) | FOR(COMMAND_IMPORT), "PROFILE", NULL,
     "a shipped GPU (with --link: card; of import: server) or a file: what is not measured, and "
     "nominal peaks, stay as there"},
    {"--device", NULL, TEXT(device), FOR(COMMAND_FIT), "NAME", NULL,
     "of a table of products: rows with this in the column gpu"},
    {"--dtype", NULL, TEXT(dtype), FOR(COMMAND_FIT) | FOR(COMMAND_IMPORT), "TYPE", NULL,
     "fit: products and attention of this type alone (default: all types share edge and floor); "
     "import: type of products where the file does not say"},
    {"--folds", NULL, TEXT(folds), FOR(COMMAND_FIT), "N", NULL,
     "parts of the shapes for left-out errors (default 10; 2 = halves)"},
    {"--against", NULL, REPEATED(against), FOR_AGAINST, "SCENARIO", NULL,
     "the cluster that was measured; once, or once for each file"},
    {"--tolerance", NULL, TEXT(tolerance), FOR(COMMAND_CHECK), "SHARE", NULL,
     "with --against: largest median error of a series (default 10%)"},
    {"--junit", NULL, TEXT(junit), FOR(COMMAND_CHECK), "FILE", NULL,
     "with --against: write the verdicts as JUnit XML"},
    {"--compare", NULL, TEXT(compare), FOR(COMMAND_COLLECTIVE), "FILE", NULL,
     "put what was measured (see import) beside what is predicted"},
    {"--report", NULL, TEXT(report), FOR(COMMAND_CHECK), "FILE", NULL,
     "write all scores as Markdown"},
    {"--plot", NULL, TEXT(plot), FOR(COMMAND_CHECK) | FOR(COMMAND_TOPO), "FILE", NULL,
     "draw predicted against measured; topo: the network (PNG; needs gnuplot)"},
    {"--fit-on", NULL, TEXT(fit_on), FOR(COMMAND_CHECK), "PART", NULL,
     "fit free constants on half a or b, on all, or on N folds; judge on the rest"},
    {"--free", NULL, TEXT(free), FOR(COMMAND_CHECK), "FILE", NULL,
     "the free constants (default: rows/free-FORM.json beside the profiles)"},
    {"--write", NULL, TEXT(write), FOR(COMMAND_CHECK), "DIR", NULL,
     "write the fitted profiles below this folder"},
    {"--tries", NULL, TEXT(tries), FOR(COMMAND_CHECK), "N", NULL,
     "most evaluations of one fit (default 2000)"},
    {"--dot", NULL, TEXT(dot), FOR(COMMAND_TOPO), "FILE", NULL,
     "draw the network for Graphviz (- = standard output)"},
    {"--markdown", NULL, FLAG(markdown), FOR(COMMAND_SCHEMA), NULL, NULL,
     "print a reference of all keys as Markdown"},
    {"--help", "-h", FLAG(help), FOR_ALL, NULL, NULL, "print help"},
    {"--version", NULL, FLAG(version), FOR_ALL, NULL, NULL, "print the version"},
};
const int n_option_rows = sizeof option_rows / sizeof option_rows[0];

int options_command(const char *name)
{
    for (int c = 0; c < N_COMMANDS; c++) {
        if (strcmp(command_rows[c].name, name) == 0) return c;
    }
    return -1;
}

const char *options_unknown_command(const char *name, struct arena *perm)
{
    const char *names[N_COMMANDS];
    for (int c = 0; c < N_COMMANDS; c++) names[c] = command_rows[c].name;
    const char *near = diag_nearest(name, names, N_COMMANDS);
    return near ? arena_text(perm, "unknown command '%s'; did you mean '%s'?", name, near)
                : arena_text(perm, "unknown command '%s'; 'dpsim help' lists them", name);
}

static bool takes(enum command command, const struct option_row *row)
{
    return (row->commands & FOR(command)) != 0;
}

/* `word` may end in "=value" */
static const struct option_row *find_option(const char *word, size_t length)
{
    for (const struct option_row *row = option_rows; row < option_rows + n_option_rows; row++) {
        if (strlen(row->name) == length && strncmp(row->name, word, length) == 0) return row;
        if (row->other && strlen(row->other) == length && strncmp(row->other, word, length) == 0)
            return row;
    }
    return NULL;
}

static const char *unknown_option(enum command command, const char *word, struct arena *perm)
{
    const char **names = arena_new(perm, const char *, n_option_rows);
    int n = 0;
    for (const struct option_row *row = option_rows; row < option_rows + n_option_rows; row++) {
        if (takes(command, row)) names[n++] = row->name;
    }
    const char *near = diag_nearest(word, names, n);
    const char *name = command_rows[command].name;
    return near ? arena_text(perm, "unknown option '%s' of 'dpsim %s'; did you mean '%s'?", word,
                             name, near)
                : arena_text(perm, "unknown option '%s'; 'dpsim help %s' lists them", word, name);
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        if (length > 0 && strncmp(at, value, length) == 0 &&
            (at[length] == '|' || at[length] == '\0'))
            return true;
    }
    return false;
}

static const char *store(struct options *options, const struct option_row *row, const char *value,
                         struct arena *perm)
{
    char *member = (char *)options + row->offset;
    if (row->choices && !is_choice(row->choices, value))
        return arena_text(perm, "%s: '%s' is not one of %s", row->name, value, row->choices);
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)(void *)member = true;
        break;
    case OPTION_TEXT:
        *(const char **)(void *)member = value;
        break;
    case OPTION_REPEATED: {
        struct text_list *list = (void *)member;
        list->items[list->n++] = value;
        break;
    }
    }
    return NULL;
}

/* One option at argv[*i]; its value is the part after '=' of a long one, or the next word. */
static const char *parse_option(int argc, char *const *argv, int *i, struct options *options,
                                struct arena *perm)
{
    const char *word = argv[*i];
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);
    const struct option_row *row = find_option(word, length);
    if (!row)
        return unknown_option(options->command, arena_text(perm, "%.*s", (int)length, word), perm);
    if (!takes(options->command, row))
        return arena_text(perm, "'dpsim %s' takes no %s; 'dpsim help %s' lists its options",
                          command_rows[options->command].name, row->name,
                          command_rows[options->command].name);
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (row->kind == OPTION_FLAG) {
        if (value) return arena_text(perm, "%s takes no value", row->name);
        return store(options, row, "", perm);
    }
    if (!value && *i + 1 < argc) value = argv[++*i];
    if (!value)
        return arena_text(perm, "%s needs a value: %s %s", row->name, row->name, row->value);
    return store(options, row, value, perm);
}

static const char *check_counts(const struct options *options, struct arena *perm)
{
    const struct command_row *row = &command_rows[options->command];
    int n = options->operands.n;
    if (n > row->max_operands)
        return row->max_operands == 0
                   ? arena_text(perm, "'dpsim %s' takes no file: '%s'", row->name,
                                options->operands.items[0])
                   : arena_text(perm, "'dpsim %s' takes one: %s; found '%s' besides", row->name,
                                row->operands, options->operands.items[row->max_operands]);
    if (n < row->min_operands || (options->command == COMMAND_RUN && n == 0 && !options->list))
        return arena_text(perm, "'dpsim %s' needs a %s: dpsim %s %s", row->name,
                          options->command == COMMAND_FIT ? "file of measurements"
                                                          : "scenario file",
                          row->name, row->operands);
    if (options->json && options->csv) return "--json and --csv exclude each other";
    if (options->trace && (n > 1 || options->list)) return "--trace takes one scenario";
    return NULL;
}

static const char *parse_words(int argc, char *const *argv, struct options *options,
                               struct arena *perm)
{
    bool only_operands = false;
    for (int i = 2; i < argc; i++) {
        const char *word = argv[i];
        const char *wrong = NULL;
        if (only_operands || word[0] != '-' || word[1] == '\0')
            options->operands.items[options->operands.n++] = word;
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else
            wrong = parse_option(argc, argv, &i, options, perm);
        if (wrong) return wrong;
    }
    if (options->help || options->version) return NULL;
    return check_counts(options, perm);
}

bool options_parse(int argc, char *const *argv, struct options *options, const char **message,
                   struct arena *perm)
{
    *options = (struct options){.command = COMMAND_HELP};
    options->operands.items = arena_new(perm, const char *, argc + 1);
    options->sets.items = arena_new(perm, const char *, argc + 1);
    options->against.items = arena_new(perm, const char *, argc + 1);
    *message = NULL;
    if (argc < 2) {
        *message = "what should it do? 'dpsim help' lists the commands";
        return false;
    }
    if (argv[1][0] == '-') {
        int i = 1;
        *message = parse_option(argc, argv, &i, options, perm);
        return *message == NULL;
    }
    int command = options_command(argv[1]);
    if (command < 0) {
        *message = options_unknown_command(argv[1], perm);
        return false;
    }
    options->command = (enum command)command;
    *message = parse_words(argc, argv, options, perm);
    return *message == NULL;
}

static void print_option(const struct option_row *row, FILE *out)
{
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s%s", row->other ? row->other : "", row->other ? ", " : "",
             row->name, row->value ? " " : "", row->value ? row->value : "");
    fprintf(out, "  %-24s  %s\n", left, row->help);
}

static void print_overview(FILE *out)
{
    fputs(
        "dpsim predicts how long a data-parallel training step takes on a GPU cluster, and why.\n\n"
        "usage: dpsim COMMAND [OPTION...] [FILE...]\n\ncommands:\n",
        out);
    for (int c = 0; c < N_COMMANDS; c++)
        fprintf(out, "  %-12s%s\n", command_rows[c].name, command_rows[c].summary);
    fputs("\n'dpsim help COMMAND' lists the options of a command. Start with:\n"
          "  dpsim run scenarios/resnet50-25gbe.json\n\n"
          "exit status: 0 fine; 1 the input is wrong; 2 the system failed; 64 usage\n",
          out);
}

void options_help(enum command command, FILE *out)
{
    if (command == COMMAND_HELP) {
        print_overview(out);
        return;
    }
    const struct command_row *row = &command_rows[command];
    fprintf(out, "dpsim %s: %s\n\nusage: dpsim %s [OPTION...]%s%s\n", row->name, row->summary,
            row->name, row->operands[0] ? " " : "", row->operands);
    if (row->about[0]) fprintf(out, "\n%s", row->about);
    fputs("\noptions:\n", out);
    for (int i = 0; i < n_option_rows; i++) {
        if (takes(command, &option_rows[i])) print_option(&option_rows[i], out);
    }
}
