/* Scenario and profile files to inputs: every user error is found here, with file, line and JSON
 * pointer; what comes out is valid, so the run cannot fail. */
#ifndef IO_SCENARIO_H
#define IO_SCENARIO_H

#include "base/field.h"
#include "inputs.h"
#include "io/profile.h"
#include "io/schema.h"

struct scenario_options {
    const char *const *sets; /* "/pointer=value", applied in order before loading */
    int n_sets;
    const char *fidelity; /* overrides the scenario's; NULL = as written */
    const char *
        profile_dir; /* where shipped profiles live: scenarios/ of the source tree or the installed share */
    const struct profile_edits *edits; /* of shipped profiles; NULL = none */
    bool tuner;                        /* read the library's own estimate, too */
    bool no_step; /* nothing is trained: model and batch may be missing, and then there is no job */
};

/* scenario_load — NULL when diag got an error. log (may be NULL) collects every value used and whether
 * it was a default. */
struct inputs *scenario_load(const char *file, const struct scenario_options *options,
                             struct field_log *log, struct arena *perm, struct diag *diag);
struct inputs *scenario_load_text(const char *name, const char *text, size_t length,
                                  const struct scenario_options *options, struct field_log *log,
                                  struct arena *perm, struct diag *diag);

#endif
