/* Files that people have: output of nccl-tests, OSU micro-benchmarks and perftest, logs of training, the
 * topology of a server. One row per format; the command, its help, the docs and the tests read the
 * table. Which format a file has is found from its text, whatever stands before; columns are found by
 * their names in the head, never by place. What comes out is raw rows (base/raw.h) or the picture of a
 * server; what could not be used is counted by reason. */
#ifndef IO_MEASURED_H
#define IO_MEASURED_H

#include "io/reading.h"

/* measured_format — a format read line by line has claims, line and end; one read as a whole has opens and
 * whole. */
struct measured_format {
    const char *name, *help;
    bool (*opens)(const char *text,
                  size_t length); /* could this be the beginning of such a file? */
    void (*whole)(struct reading *reading, const char *text, size_t length);
    bool (*claims)(const char *line); /* a line that only this format has */
    void (*line)(struct reading *reading, char *line);
    void (*end)(struct reading *reading);
    /* a format whose lines say more where both stand in one log: from its first line on, it is the file's */
    const char *gives_way_to;
};
extern const struct measured_format measured_formats[];
extern const int n_measured_formats;

struct measured {
    const struct measured_format *format;
    struct raw raw;              /* its benchmarks are names of raw_benchmarks */
    const struct server *server; /* of a topology, else NULL */
    int n_lines;
    const struct reading_skip *skips;
    int n_skips;
    const char *note; /* NULL = none */
};

/* measured_read — as: a format's name, NULL = find out. NULL after an error. A file of no known
 * format, or with nothing to use, is an error. */
struct measured *measured_read(const char *file, const char *as,
                               const struct reading_options *options, struct arena *perm,
                               struct diag *diag);
struct measured *measured_read_text(const char *name, const char *text, size_t length,
                                    const char *as, struct arena *perm, struct diag *diag);

#endif
