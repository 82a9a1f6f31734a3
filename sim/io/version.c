#include "io/version.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARTS = 4, LARGEST_PART = 1000000 };

/* a name cut before "-" and a version of up to four numbers */
struct version {
    size_t stem; /* letters before the "-" */
    bool given;
    long parts[N_PARTS]; /* what is not said is 0 */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_parts(const char *text, long *parts)
{
    for (int i = 0; i < N_PARTS; i++) {
        if (!is_digit(*text)) return false;
        char *end;
        parts[i] = strtol(text, &end, 10);
        if (parts[i] > LARGEST_PART) return false;
        if (*end == '\0') return true;
        if (*end != '.') return false;
        text = end + 1;
    }
    return false;
}

static struct version version_of(const char *name)
{
    struct version version = {.stem = strlen(name)};
    const char *dash = strrchr(name, '-');
    if (!dash || !read_parts(dash + 1, version.parts)) return version;
    version.given = true;
    version.stem = (size_t)(dash - name);
    return version;
}

static int compare(const long *a, const long *b)
{
    for (int i = 0; i < N_PARTS; i++) {
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

const char *version_nearest(const char *name, const char *const *known, int n_known)
{
    struct version wanted = version_of(name);
    const char *best = NULL;
    struct version best_version = {0};
    if (!wanted.given) return NULL;
    for (int i = 0; i < n_known; i++) {
        struct version version = version_of(known[i]);
        if (version.stem != wanted.stem || strncmp(known[i], name, wanted.stem) != 0) continue;
        if (version.given && compare(version.parts, wanted.parts) > 0) continue;
        if (best && (!version.given || compare(version.parts, best_version.parts) < 0)) continue;
        best = known[i];
        best_version = version;
    }
    return best;
}
