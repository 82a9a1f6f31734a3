/* From the command line to loaded scenarios: where shipped profiles are, and a scenario with its
 * --set and --fidelity. */
#ifndef OUT_LOAD_H
#define OUT_LOAD_H

#include "io/scenario.h"
#include "out/options.h"

/* load_profile_dir — $DPSIM_PROFILES, else the installed share, else scenarios/ beside the program
 * or up to three folders above it (a build tree), else ./scenarios. */
const char *load_profile_dir(struct arena *perm);

struct loaded {
    struct inputs *inputs; /* NULL after an error */
    struct field_log log;
    const char *question; /* what the scenario asks, NULL when it does not say */
};

/* load_scenario — `extra` are more --set texts, applied before those of the command line. */
struct loaded load_scenario(const char *file, const struct text_list *extra,
                            const struct options *options, struct arena *perm, struct diag *diag);

/* load_network — the operand, for what trains nothing: model and batch may be missing. */
struct loaded load_network(const struct options *options, struct arena *perm, struct diag *diag);

#endif
