/* Errors in what the user gave us. Readers report here, yield a harmless default and go on; the
 * loader asks diag_ok() once at its end. Messages are kept in order; after DIAG_MAX they are
 * only counted. Nothing is printed before diag_print(). */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

enum { DIAG_MAX = 20 };

struct diag {
    struct arena *perm; /* keeps the messages */
    const char *messages[DIAG_MAX];
    int n_messages; /* may exceed DIAG_MAX: the rest was counted only */
};

/* where an error stands; line and column count from 1, 0 = not known; pointer may be NULL */
struct diag_place {
    const char *file;
    int line, column;
    const char *pointer; /* JSON pointer or column name */
};

/* diag_error — record one message: "file:line:col: /pointer: text (wanted)". */
void diag_error(struct diag *diag, struct diag_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool diag_ok(const struct diag *diag);

/* diag_quiet_since — no message since there were so many. */
bool diag_quiet_since(const struct diag *diag, int n_messages);
void diag_print(const struct diag *diag, FILE *out);

/* diag_begins — is `word`, of two letters or more, the begin of the candidate? Case does not count. */
bool diag_begins(const char *word, const char *candidate);

/* diag_nearest — the candidate with one slip of the finger at most, else the first that begins with `word`,
 * else the one with the smallest edit distance (of equals the longer than `word`, then the first), NULL when
 * none is close enough to be likely. candidates[n] may hold no NULL. */
const char *diag_nearest(const char *word, const char *const *candidates, int n);

#endif
