#include "study/splice.h"

#include <stdlib.h>
#include <string.h>

/* what replaces text[from .. to - 1] */
struct patch {
    int64_t from_B, to_B;
    const char *text;
};

static int compare_patches(const void *left, const void *right)
{
    const struct patch *a = left;
    const struct patch *b = right;
    return (a->from_B > b->from_B) - (a->from_B < b->from_B);
}

/* quoted — a value as JSON: a bare number stays one. */
static const char *quoted(const char *value, struct arena *perm)
{
    const char *end = NULL;
    double number = 0;
    bool bare = unit_number(value, &end, &number) && *end == '\0';
    return arena_text(perm, bare ? "%s" : "\"%s\"", value);
}

static struct patch patch_of(const struct json *json, const struct profile_edit *edit,
                             struct arena *perm)
{
    const struct json_node *node = json_find(json_root(json), edit->pointer, *perm);
    const char *value = quoted(edit->value, perm);
    if (node) {
        struct json_span span = json_span(json, node);
        return (struct patch){span.from_B, span.to_B, value};
    }
    const char *key = strrchr(edit->pointer, '/') + 1;
    int64_t first_B = json_first_member_B(json);
    return (struct patch){first_B, first_B, arena_text(perm, "\"%s\": %s,\n  ", key, value)};
}

const char *splice_profile(const struct free_set *set, const char *profile, const char *dir,
                           const char **file, struct arena *perm, struct diag *diag)
{
    const char *path = free_file(dir, profile, perm);
    const struct json *json = json_read_file(path, perm, diag);
    if (!json) return NULL;
    struct patch *patches = arena_new(perm, struct patch, set->edits.n);
    int n = 0;
    for (int i = 0; i < set->edits.n; i++) {
        if (!strcmp(set->edits.edits[i].profile, profile))
            patches[n++] = patch_of(json, &set->edits.edits[i], perm);
    }
    qsort(patches, (size_t)n, sizeof *patches, compare_patches);
    const char *source = json_source(json);
    const char *text = "";
    int64_t at_B = 0;
    for (int i = 0; i < n; i++) {
        text = arena_text(perm, "%s%.*s%s", text, (int)(patches[i].from_B - at_B), source + at_B,
                          patches[i].text);
        at_B = patches[i].to_B;
    }
    *file = path + strlen(dir) + 1;
    return arena_text(perm, "%s%s", text, source + at_B);
}
