/* The commands that list what there is: models, profiles, schema, help. */
#include "out/commands.h"

#include "base/sink.h"
#include "io/profile.h"
#include "out/load.h"

#include <stdio.h>

int schema_command(const struct options *options, struct arena *perm)
{
    struct sink sink = sink_open(NULL, perm);
    if (options->markdown)
        scenario_reference(sink.out);
    else
        scenario_schema(sink.out);
    sink_close(&sink);
    return EXIT_FINE;
}

int models_command(const struct options *options, struct arena *perm)
{
    (void)options;
    struct sink sink = sink_open(NULL, perm);
    fprintf(sink.out, "%-24s %14s  %s\n", "model", "parameters", "source");
    for (const struct model_kind *kind = model_kinds; kind < model_kinds + n_model_kinds; kind++)
        fprintf(sink.out, "%-24s %14lld  %s\n", kind->name, (long long)kind->n_parameters,
                kind->source);
    sink_close(&sink);
    return EXIT_FINE;
}

/* list_kind — a line per profile of a kind: what its key in a scenario may say. */
static void list_kind(FILE *out, const char *dir, const struct profile_kind *kind,
                      struct arena scratch)
{
    const char *names[PROFILE_MAX_KNOWN];
    int n = profile_list(dir, kind, names, &scratch);
    fprintf(out, "\n\"%s\": %s\n", kind->name, kind->help);
    for (int i = 0; i < n; i++) fprintf(out, "  %s\n", names[i]);
}

int profiles_command(const struct options *options, struct arena *perm)
{
    (void)options;
    const char *dir = load_profile_dir(perm);
    struct sink sink = sink_open(NULL, perm);
    fprintf(sink.out, "profiles in %s, by the key of a scenario that names them\n", dir);
    for (int k = 0; k < N_PROFILE_KINDS; k++) list_kind(sink.out, dir, &profile_kinds[k], *perm);
    sink_close(&sink);
    return EXIT_FINE;
}

int help_command(const struct options *options, struct arena *perm)
{
    int command = COMMAND_HELP;
    if (options->operands.n > 0) command = options_command(options->operands.items[0]);
    if (command < 0) {
        fprintf(stderr, "dpsim: %s\n", options_unknown_command(options->operands.items[0], perm));
        return EXIT_USAGE;
    }
    struct sink sink = sink_open(NULL, perm);
    options_help((enum command)command, sink.out);
    sink_close(&sink);
    return EXIT_FINE;
}
