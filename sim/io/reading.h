/* What the readers of other tools' output share: the lines of a file one by one, however many there are,
 * and the one way to hand on what was found. A reader turns lines into raw rows (base/raw.h), keys of the
 * head, or the picture of a server; what it cannot use it counts by reason, so that nothing goes by
 * silently. Only what makes the whole file useless is an error. */
#ifndef IO_READING_H
#define IO_READING_H

#include "base/raw.h"
#include "io/server.h"

#include <stdio.h>

enum {
    READING_LINE_B = 1 << 20,   /* longer lines are left out, and counted */
    READING_TEXT_B = 64 << 20,  /* most of a format that is read as a whole */
    READING_ROWS = 1 << 20,     /* rows kept; more are counted */
    READING_SKIPS = 24,         /* reasons told apart */
    READING_HEADS = 16,         /* keys of the head */
    READING_COLUMNS = 48,       /* words of a line that are told apart */
    READING_COUNT = 1 << 24,    /* most GPUs, cards, links */
    READING_STATE_B = 16 << 10, /* a format's own memory */
};

/* what was left out, and where first */
struct reading_skip {
    const char *what; /* "rows without a positive time" */
    int64_t n;
    int first_line;
};

/* what the command line says that the file may not */
struct reading_options {
    const char *collective;      /* NULL: as the file says */
    const char *dtype;           /* of products; NULL: likewise */
    int n_ranks, ranks_per_node; /* 0: likewise */
    double batch;                /* samples of a step, all GPUs; 0: likewise */
};

struct reading {
    const char *file;
    const struct reading_options *options;
    struct arena *perm;
    struct diag *diag;
    int line; /* at hand, from 1; those of a whole text: of the first line */
    struct raw_row *rows;
    int n_rows, capacity;
    struct raw_head heads[READING_HEADS];
    int n_heads;
    struct reading_skip skips[READING_SKIPS];
    int n_skips;
    const char *note;      /* about the whole, NULL = none */
    struct server *server; /* of a topology, else NULL */
    void *state;           /* of the format's reader, zeroed */
};

/* reading_row — keep a row: its line is the one at hand, its texts must live as long as perm. Times and
 * sizes out of bounds (READING_TIME, READING_SIZE in reading.c) are skipped. */
void reading_row(struct reading *reading, const struct raw_row *row);
/* reading_skip — the line at hand is left out. `what`: a text that lives as long as the program. */
void reading_skip(struct reading *reading, const char *what);
void reading_head(struct reading *reading, const char *key, const char *value); /* later: ignored */
void reading_error(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* reading_words — cut a line at blanks into at most READING_COLUMNS words; returns how many there are. */
int reading_words(char *line, char **words);
/* reading_fields — the same, cut where two blanks or a tab follow each other, for names with blanks. */
int reading_fields(char *line, char **fields);
/* reading_number — a whole word as a number; false: it is none (nan, inf, 12x) or beyond all that is
 * measured (1e308). What is smaller than all that is measured is 0. */
bool reading_number(const char *word, double *value);
/* reading_count — the whole number that a text begins with, blanks before it left out; 0 when it is none,
 * is 0 or more than READING_COUNT. */
int reading_count(const char *text);
/* reading_plain — the line after what launchers put before it: "[1,0]<stdout>:", "3: ", "[3] ", a time. */
char *reading_plain(char *line);

/* --- lines ------------------------------------------------------------------------------------ */

struct lines {
    FILE *in; /* NULL: all is in the buffer */
    char *buffer;
    size_t at, end, room;
    bool ended; /* nothing more to read */
    int number; /* of the last line */
};

/* lines_open — NULL after an error. file "-": standard input. */
struct lines *lines_open(const char *file, struct arena *perm, struct diag *diag);
struct lines *lines_open_text(const char *text, size_t length, struct arena *perm);
void lines_close(struct lines *lines);

enum line_state { LINE_GOOD, LINE_LONG, LINE_BINARY, LINE_END };
/* lines_next — the next line, ended by NUL instead of its line end; it may be changed. */
enum line_state lines_next(struct lines *lines, char **line);

/* lines_peek — the beginning of what is left, up to READING_LINE_B bytes. */
const char *lines_peek(struct lines *lines, size_t *length);
/* lines_rest — all that is left, ended by an extra NUL; NULL when that is more than READING_TEXT_B. */
const char *lines_rest(struct lines *lines, size_t *length, struct arena *perm);

#endif
