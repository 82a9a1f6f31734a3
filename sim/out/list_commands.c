/* The commands that list what there is: models, profiles, schema, help. */
#include "out/commands.h"

#include "base/sink.h"
#include "io/profile.h"
#include "out/load.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

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
    fprintf(sink.out, "%-16s %14s  %s\n", "model", "parameters", "source");
    for (const struct model_kind *kind = model_kinds; kind < model_kinds + n_model_kinds; kind++)
        fprintf(sink.out, "%-20s %14lld  %s\n", kind->name, (long long)kind->n_parameters,
                kind->source);
    sink_close(&sink);
    return EXIT_FINE;
}

static int is_json(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && dot != entry->d_name && strcmp(dot, ".json") == 0;
}

static void list_folder(FILE *out, const char *dir, const char *folder, struct arena scratch)
{
    struct dirent **entries = NULL;
    int n = scandir(arena_text(&scratch, "%s/%s", dir, folder), &entries, is_json, alphasort);
    fprintf(out, "%s\n", folder);
    for (int i = 0; i < n; i++) {
        fprintf(out, "  %.*s\n", (int)strlen(entries[i]->d_name) - (int)strlen(".json"),
                entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static bool listed_before(int kind)
{
    for (int k = 0; k < kind; k++) {
        if (strcmp(profile_kinds[k].folder, profile_kinds[kind].folder) == 0) return true;
    }
    return false;
}

int profiles_command(const struct options *options, struct arena *perm)
{
    (void)options;
    const char *dir = load_profile_dir(perm);
    struct sink sink = sink_open(NULL, perm);
    fprintf(sink.out, "profiles in %s\n", dir);
    for (int k = 0; k < N_PROFILE_KINDS; k++) {
        if (!listed_before(k)) list_folder(sink.out, dir, profile_kinds[k].folder, *perm);
    }
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
