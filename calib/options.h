/* The command line of dpsim-calib as a table, which parsing and help read. */
#ifndef CALIB_OPTIONS_H
#define CALIB_OPTIONS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct calib_options {
    const char *backend, *out, *dtype;
    const char **only; /* names of benchmarks, ends with NULL; NULL = all */
    int n_only;
    bool quick, list, markdown, help, version;
    double budget_s, precision; /* 0 = the default of the kind of run */
    double seed, threads;
};

/* calib_options_parse — false after a usage error; message says what was wrong and what was meant. */
bool calib_options_parse(int argc, char *const *argv, struct calib_options *options,
                         const char **message, struct arena *perm);
void calib_options_help(FILE *out);

#endif
