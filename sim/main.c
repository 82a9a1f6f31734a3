/* dpsim: command line to command. */
#include "base/sink.h"
#include "out/commands.h"

#include <signal.h>

#ifndef DPSIM_VERSION
#define DPSIM_VERSION "0.1"
#endif

/* address space, committed when touched */
static const size_t RESERVE_B = (size_t)64 << 30;

static command_function *const functions[N_COMMANDS] = {
    [COMMAND_RUN] = run_command,           [COMMAND_COLLECTIVE] = collective_command,
    [COMMAND_CHECK] = check_command,       [COMMAND_FIT] = fit_command,
    [COMMAND_IMPORT] = import_command,     [COMMAND_TOPO] = topo_command,
    [COMMAND_SCHEMA] = schema_command,     [COMMAND_MODELS] = models_command,
    [COMMAND_PROFILES] = profiles_command, [COMMAND_HELP] = help_command,
};

static int print_version(struct arena *perm)
{
    struct sink sink = sink_open(NULL, perm);
    fputs("dpsim " DPSIM_VERSION "\n", sink.out);
    sink_close(&sink);
    return EXIT_FINE;
}

static int print_help(enum command command, struct arena *perm)
{
    struct sink sink = sink_open(NULL, perm);
    options_help(command, sink.out);
    sink_close(&sink);
    return EXIT_FINE;
}

static int obey(int argc, char **argv, struct arena *perm)
{
    struct options options;
    const char *message;
    if (!options_parse(argc, argv, &options, &message, perm)) {
        fprintf(stderr, "dpsim: %s\n", message);
        return EXIT_USAGE;
    }
    if (options.version) return print_version(perm);
    if (options.help) return print_help(options.command, perm);
    return functions[options.command](&options, perm);
}

int main(int argc, char **argv)
{
    /* a file that grows past its limit is then an error of writing, and its temporary goes */
    signal(SIGXFSZ, SIG_IGN);
    struct arena *perm = arena_open(RESERVE_B);
    int status = obey(argc, argv, perm);
    arena_close(perm);
    return status;
}
