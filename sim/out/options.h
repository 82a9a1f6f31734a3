/* The command line as two tables: commands and options. Parsing, help, the nearest-name hints and the
 * tests read the same rows. To add an option: a member of struct options and a row. */
#ifndef OUT_OPTIONS_H
#define OUT_OPTIONS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum command {
    COMMAND_RUN,
    COMMAND_COLLECTIVE,
    COMMAND_CHECK,
    COMMAND_FIT,
    COMMAND_IMPORT,
    COMMAND_TOPO,
    COMMAND_SCHEMA,
    COMMAND_MODELS,
    COMMAND_PROFILES,
    COMMAND_HELP,
    N_COMMANDS
};

/* what main returns; style: fine, the user's input is wrong or the answer is no, the world failed, usage */
enum exit_status { EXIT_FINE = 0, EXIT_INPUT = 1, EXIT_WORLD = 2, EXIT_USAGE = 64 };

struct text_list {
    const char **items;
    int n;
};

struct options {
    enum command command;
    struct text_list operands;
    struct text_list sets, against;
    bool json, csv, explain, markdown, help, version, as_tuner, link;
    const char *trace, *fidelity, *list, *dot;
    const char *begin, *end, *factor, *op, *algorithm, *protocol;
    const char *table, *out, *report;
    const char *fit_on, *free, *write, *tries, *plot;
    const char *name, *base, *device, *folds, *dtype;
    const char *as, *ranks, *ranks_per_node, *batch, *tolerance, *junit, *compare;
};

struct command_row {
    const char *name;
    const char *operands; /* for help: "SCENARIO..." */
    int min_operands, max_operands;
    const char *summary;
    const char *about; /* a paragraph for `help NAME`; lines end with \n */
};
extern const struct command_row command_rows[N_COMMANDS];

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_REPEATED };

struct option_row {
    const char *name;  /* "--json" */
    const char *other; /* a second spelling, "-b"; NULL if none */
    size_t offset;     /* in struct options: bool, const char *, struct text_list */
    enum option_kind kind;
    unsigned commands;   /* bit per command that takes it */
    const char *value;   /* name of the value for help; NULL for flags */
    const char *choices; /* allowed values, separated by '|'; NULL = any */
    const char *help;
};
extern const struct option_row option_rows[];
extern const int n_option_rows;

/* options_parse — argv to options. On a usage error it says what was wrong and what was meant, in
 * `message` (kept in perm), and returns false. */
bool options_parse(int argc, char *const *argv, struct options *options, const char **message,
                   struct arena *perm);

/* options_help — the page for one command (COMMAND_HELP: the overview). */
void options_help(enum command command, FILE *out);

/* options_command — by name, -1 when there is none. */
int options_command(const char *name);
/* options_unknown_command — "unknown command 'x'; did you mean 'y'?" */
const char *options_unknown_command(const char *name, struct arena *perm);

#endif
