/* The commands behind the table of options.h: each reads what it needs, predicts, prints, and returns the
 * exit status. Nothing is printed to standard output before all of it is known to be right. */
#ifndef OUT_COMMANDS_H
#define OUT_COMMANDS_H

#include "out/options.h"

typedef int command_function(const struct options *options, struct arena *perm);

command_function run_command, collective_command, check_command, fit_command, import_command,
    topo_command, schema_command, models_command, profiles_command, help_command;

#endif
