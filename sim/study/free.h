/* The free constants of a fit, as data: which numbers of which profiles may move, and how far.
 *
 *   {"constants": [
 *      {"profile": "ib-hdr", "pointer": "/efficiency", "lower": 0.8, "upper": 1},
 *      {"profile": ["nccl-2.18", "nccl-2.23"],
 *       "pointer": "/choices/algorithm=ring,protocol=Simple/net_latency",
 *       "lower": "4us", "upper": "40us", "scale": "log"}]}
 *
 * profile  a shipped profile by name, or several that share the value
 * pointer  JSON pointer in its file, or several; a part "key=text,..." stands for every element of a
 *          list whose members are so (a member that is a list: holds it). A pointer may name a key
 *          that the file leaves to its base or to the default.
 * lower, upper   bounds, with the same unit; between them the search is linear or ("scale": "log")
 *          logarithmic
 * start    where the search starts; default: what the first of the profiles (or its base) says */
#ifndef STUDY_FREE_H
#define STUDY_FREE_H

#include "io/profile.h"

enum { FREE_TEXT_MAX = 48 };

struct free_constant {
    const char *name; /* "ib-hdr /efficiency" */
    const char *unit; /* of the numbers here: "us"; "" = none */
    double lower, upper, start;
    bool log;
    int first_edit, n_edits;  /* of its set */
    char text[FREE_TEXT_MAX]; /* the value as it is tried now */
};

struct free_set {
    const char *file;
    struct free_constant *constants;
    int n;
    struct profile_edits edits; /* value NULL: what the profile says */
};

/* free_read — NULL after an error. dir: of shipped profiles. */
struct free_set *free_read(const char *file, const char *dir, struct arena *perm,
                           struct diag *diag);

/* free_put — constant k at x in [0, 1] between its bounds; free_value: the number that it is then. */
void free_put(struct free_set *set, int k, double x);
double free_value(const struct free_constant *constant, double x);
double free_place(const struct free_constant *constant, double value); /* the other way */

/* free_file — of a shipped profile by name, NULL if there is none. */
const char *free_file(const char *dir, const char *profile, struct arena *perm);

#endif
