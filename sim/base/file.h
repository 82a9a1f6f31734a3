/* A whole file in memory, up to a size: what the readers of JSON and CSV start from. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/arena.h"
#include "base/diag.h"

/* file_read — the bytes of a file, ended by an extra NUL; out: length. A file that cannot be read,
 * or is larger than max_B (found before it is read, where the system knows its size), is reported;
 * then NULL. */
const char *file_read(const char *file, size_t max_B, size_t *length, struct arena *perm,
                      struct diag *diag);

/* file_skip_mark — the text without a UTF-8 byte order mark; length is made to fit. */
const char *file_skip_mark(const char *text, size_t *length);

#endif
