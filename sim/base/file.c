#include "base/file.h"

#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void too_large(const char *file, size_t max_B, struct diag *diag)
{
    char most[32];
    unit_print((double)max_B, DIM_SIZE, most, sizeof most);
    diag_error(diag, (struct diag_place){.file = file}, "is larger than %s", most);
}

/* Pipes do not know their size, so the buffer doubles until the end or the limit. */
static char *read_stream(FILE *in, size_t room_B, size_t max_B, size_t *length, struct arena *perm)
{
    size_t capacity = room_B + 1;
    char *text = arena_alloc(perm, (int64_t)capacity, 1);
    size_t n = 0;
    for (size_t got; (got = fread(text + n, 1, capacity - 1 - n, in)) > 0;) {
        n += got;
        if (n > max_B) break;
        if (n == capacity - 1) {
            text = arena_grow(perm, char, text, (int64_t)n, (int64_t)(2 * capacity));
            capacity *= 2;
        }
    }
    text[n] = '\0';
    *length = n;
    return text;
}

const char *file_read(const char *file, size_t max_B, size_t *length, struct arena *perm,
                      struct diag *diag)
{
    struct diag_place place = {.file = file};
    FILE *in = fopen(file, "rb");
    if (!in) {
        diag_error(diag, place, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    struct stat about = {0};
    bool sized = fstat(fileno(in), &about) == 0 && S_ISREG(about.st_mode);
    const char *text = NULL;
    if (sized && (uint64_t)about.st_size > max_B) {
        too_large(file, max_B, diag);
    } else {
        text = read_stream(in, sized ? (size_t)about.st_size + 1 : 4096, max_B, length, perm);
    }
    if (ferror(in)) {
        diag_error(diag, place, "cannot be read: %s", strerror(errno));
        text = NULL;
    }
    if (text && *length > max_B) {
        too_large(file, max_B, diag);
        text = NULL;
    }
    fclose(in);
    return text;
}

const char *file_skip_mark(const char *text, size_t *length)
{
    if (*length < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0) return text;
    *length -= 3;
    return text + 3;
}
