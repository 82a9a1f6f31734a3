/* A small writer of JSON: keeps commas, indentation and brackets right, so that commands only name
 * what they print. Numbers are %.9g; what JSON has no number for (infinity, not a number) is null. */
#ifndef OUT_WRITER_H
#define OUT_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WRITER_DEPTH = 16 };

struct writer {
    FILE *out;
    int depth;
    bool flat[WRITER_DEPTH];  /* the list or object is on one line */
    bool used[WRITER_DEPTH];  /* it has a member already */
    char close[WRITER_DEPTH]; /* its closing bracket */
};

/* key: of a member of an object; NULL in a list or at the top */
void writer_object(struct writer *writer, const char *key);
void writer_list(struct writer *writer, const char *key);
void writer_flat_list(struct writer *writer, const char *key); /* on one line */
void writer_flat_object(struct writer *writer, const char *key);
void writer_end(struct writer *writer); /* the innermost object or list; the last ends the line */

void writer_number(struct writer *writer, const char *key, double value);
void writer_fixed(struct writer *writer, const char *key, double value, int decimals);
void writer_integer(struct writer *writer, const char *key, int64_t value);
void writer_bool(struct writer *writer, const char *key, bool value);
void writer_text(struct writer *writer, const char *key, const char *value); /* NULL: null */

/* csv_text — a cell: quoted when it holds a comma, quote or line end. */
void csv_text(FILE *out, const char *text);

#endif
