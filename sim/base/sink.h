/* Where output goes. A file is written under a temporary name beside its place and renamed when all
 * of it is on disk, so a failure leaves what was there before. The world's failures (full disk, no
 * such directory) end the program with status 2 and its reason. */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

struct sink {
    FILE *out;
    const char *path; /* "-" = standard output */
    const char *temp; /* NULL when written in place: standard output, devices, pipes */
};

/* sink_open — path "-" or NULL is standard output. */
struct sink sink_open(const char *path, struct arena *perm);

/* sink_try — die now if a file of this name cannot be made; nothing is changed. Standard output, devices and
 * pipes are believed. */
void sink_try(const char *path, struct arena scratch);

/* sink_would_replace — writing to `path` would replace `file`: both name the same one. */
bool sink_would_replace(const char *path, const char *file);

/* sink_close — all on its way, or die. */
void sink_close(struct sink *sink);

#endif
