#include "study/free.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BASES = 16 };

struct reader {
    const char *dir;
    const struct json *json;
    struct free_set *set;
    int n_edits_max;
    struct arena *perm;
    struct diag *diag;
};

double free_value(const struct free_constant *constant, double x)
{
    if (!constant->log) return constant->lower + x * (constant->upper - constant->lower);
    return constant->lower * pow(constant->upper / constant->lower, x);
}

double free_place(const struct free_constant *constant, double value)
{
    double kept = fmin(fmax(value, constant->lower), constant->upper);
    if (!constant->log) return (kept - constant->lower) / (constant->upper - constant->lower);
    return log(kept / constant->lower) / log(constant->upper / constant->lower);
}

void free_put(struct free_set *set, int k, double x)
{
    struct free_constant *constant = &set->constants[k];
    snprintf(constant->text, sizeof constant->text, "%.4g%s", free_value(constant, x),
             constant->unit);
}

const char *free_file(const char *dir, const char *profile, struct arena *perm)
{
    for (int k = 0; k < N_PROFILE_KINDS; k++) {
        const char *file = arena_text(perm, "%s/%s/%s.json", dir, profile_kinds[k].folder, profile);
        if (access(file, R_OK) == 0) return file;
    }
    return NULL;
}

static void report(const struct reader *reader, const struct json_node *node, const char *what,
                   const char *which)
{
    diag_error(reader->diag, json_place(reader->json, node, reader->perm), "%s%s%s%s", what,
               which[0] ? " \"" : "", which, which[0] ? "\"" : "");
}

/* --- the value that a profile has now ------------------------------------------------------------- */

/* number_in — a value in a unit; false when it is none of that kind. */
static bool number_in(const struct json_node *node, const char *unit, double *value)
{
    if (json_kind(node) == JSON_NUMBER) {
        *value = json_number(node);
        return unit[0] == '\0';
    }
    if (json_kind(node) != JSON_TEXT) return false;
    for (int u = 0; u < n_units; u++) {
        double si = 0;
        if (strcmp(units[u].name, unit) != 0 || !unit_parse(json_text(node), units[u].dim, &si))
            continue;
        *value = si / units[u].factor;
        return true;
    }
    return false;
}

/* value_of — at a pointer in a profile or, if it does not say, in its base; false when nobody says. */
static bool value_of(const struct reader *reader, const char *profile, const char *pointer,
                     const char *unit, double *value)
{
    struct arena scratch = *reader->perm;
    struct diag ignored = {.perm = &scratch};
    for (int depth = 0; depth < MAX_BASES; depth++) {
        const char *file = free_file(reader->dir, profile, &scratch);
        const struct json *json = file ? json_read_file(file, &scratch, &ignored) : NULL;
        if (!json) return false;
        const struct json_node *node = json_find(json_root(json), pointer, scratch);
        if (node) return number_in(node, unit, value);
        const struct json_node *base = json_get(json_root(json), "base");
        if (!base || json_kind(base) != JSON_TEXT) return false;
        profile = json_text(base);
    }
    return false;
}

/* --- pointers ------------------------------------------------------------------------------------- */

static bool member_holds(const struct json_node *element, const char *key, const char *text)
{
    const struct json_node *member = json_get(element, key);
    if (!member) return false;
    if (json_kind(member) == JSON_TEXT) return !strcmp(json_text(member), text);
    for (int i = 0; json_kind(member) == JSON_LIST && i < json_size(member); i++) {
        const struct json_node *item = json_at(member, i);
        if (json_kind(item) == JSON_TEXT && !strcmp(json_text(item), text)) return true;
    }
    return false;
}

/* is_such — an element of a list against "key=text,key=text" of this length. */
static bool is_such(const struct json_node *element, const char *wanted, size_t length,
                    struct arena scratch)
{
    const char *end = wanted + length;
    while (wanted < end) {
        size_t n = strcspn(wanted, ",/");
        const char *equals = memchr(wanted, '=', n);
        if (!equals || json_kind(element) != JSON_OBJECT) return false;
        const char *key = arena_text(&scratch, "%.*s", (int)(equals - wanted), wanted);
        const char *text =
            arena_text(&scratch, "%.*s", (int)(n - (size_t)(equals - wanted) - 1), equals + 1);
        if (!member_holds(element, key, text)) return false;
        wanted += n + (wanted[n] == ',');
    }
    return true;
}

static void add_edit(struct reader *reader, const char *profile, const char *pointer)
{
    struct profile_edits *edits = &reader->set->edits;
    if (edits->n == reader->n_edits_max) {
        int wanted = 2 * edits->n + 16;
        edits->edits =
            arena_grow(reader->perm, struct profile_edit, edits->edits, edits->n, wanted);
        reader->n_edits_max = wanted;
    }
    edits->edits[edits->n++] = (struct profile_edit){profile, pointer, NULL};
}

/* expand — a pointer's concrete forms below `node`, `done` being what is above it; returns how many. */
static int expand(struct reader *reader, const char *profile, const struct json_node *node,
                  const char *done, const char *rest)
{
    const char *end = rest[0] ? strchr(rest + 1, '/') : NULL;
    size_t length = rest[0] ? (end ? (size_t)(end - rest) : strlen(rest)) : 0;
    bool such = length > 0 && json_kind(node) == JSON_LIST && memchr(rest, '=', length);
    if (!such) {
        const char *here = arena_text(reader->perm, "%s%.*s", done, (int)length, rest);
        if (!end) {
            add_edit(reader, profile, here);
            return 1;
        }
        const struct json_node *next =
            json_find(node, arena_text(reader->perm, "%.*s", (int)length, rest), *reader->perm);
        return next ? expand(reader, profile, next, here, end) : 0;
    }
    int n = 0;
    for (int i = 0; i < json_size(node); i++) {
        if (!is_such(json_at(node, i), rest + 1, length - 1, *reader->perm)) continue;
        const char *here = arena_text(reader->perm, "%s/%d", done, i);
        if (end) n += expand(reader, profile, json_at(node, i), here, end);
    }
    return n;
}

static void expand_in(struct reader *reader, const struct json_node *where, const char *profile,
                      const struct json_node *pointer)
{
    const char *file = free_file(reader->dir, profile, reader->perm);
    if (!file) {
        report(reader, where, "no such profile", profile);
        return;
    }
    const struct json *json = json_read_file(file, reader->perm, reader->diag);
    if (!json) return;
    const char *text = json_text(pointer);
    if (text[0] != '/' || expand(reader, profile, json_root(json), "", text) == 0)
        report(reader, pointer, "leads nowhere in", profile);
}

/* texts — a text or a list of texts; each is visited. */
static bool are_texts(const struct reader *reader, const struct json_node *entry, const char *key)
{
    const struct json_node *node = json_get(entry, key);
    bool good = node && (json_kind(node) == JSON_TEXT || json_kind(node) == JSON_LIST);
    for (int i = 0; good && json_kind(node) == JSON_LIST && i < json_size(node); i++)
        good = json_kind(json_at(node, i)) == JSON_TEXT;
    if (!good) report(reader, node ? node : entry, "wants a text or a list of texts:", key);
    return good;
}

static const struct json_node *text_at(const struct json_node *node, int i)
{
    if (json_kind(node) == JSON_LIST) return i < json_size(node) ? json_at(node, i) : NULL;
    return i == 0 ? node : NULL;
}

/* --- one entry ------------------------------------------------------------------------------------ */

/* bound — a number with or without a unit, which must be `unit` if that is given. */
static bool bound(const struct reader *reader, const struct json_node *entry, const char *key,
                  const char **unit, double *value)
{
    const struct json_node *node = json_get(entry, key);
    const char *end = "";
    bool good = node && json_kind(node) == JSON_NUMBER;
    if (good) *value = json_number(node);
    if (node && json_kind(node) == JSON_TEXT) good = unit_number(json_text(node), &end, value);
    while (good && *end == ' ') end++;
    if (good && (!*unit || !strcmp(*unit, end))) {
        *unit = arena_text(reader->perm, "%s", end);
        return true;
    }
    report(reader, node ? node : entry,
           "wants numbers with equal units for lower, upper and start:", key);
    return false;
}

static bool check_keys(const struct reader *reader, const struct json_node *entry)
{
    static const char *const known[] = {"profile", "pointer", "lower",   "upper",
                                        "scale",   "start",   "$comment"};
    if (json_kind(entry) != JSON_OBJECT) {
        report(reader, entry, "is no object", "");
        return false;
    }
    bool good = true;
    for (int i = 0; i < json_size(entry); i++) {
        const char *key = json_key(json_at(entry, i));
        int k = 0;
        while (k < 7 && strcmp(known[k], key) != 0) k++;
        if (k < 7) continue;
        report(reader, json_at(entry, i), "unknown key", key);
        good = false;
    }
    return good;
}

static void read_scale(const struct reader *reader, const struct json_node *entry,
                       struct free_constant *constant)
{
    const struct json_node *scale = json_get(entry, "scale");
    const char *name = scale && json_kind(scale) == JSON_TEXT ? json_text(scale) : "linear";
    constant->log = !strcmp(name, "log");
    if (strcmp(name, "log") != 0 && strcmp(name, "linear") != 0)
        report(reader, scale, "is neither log nor linear:", name);
    if (!(constant->lower < constant->upper) || (constant->log && !(constant->lower > 0)))
        report(reader, entry, "wants lower < upper, and 0 < lower for a log scale", "");
}

static void find_start(const struct reader *reader, const struct json_node *entry,
                       struct free_constant *constant)
{
    const struct profile_edit *edit = &reader->set->edits.edits[constant->first_edit];
    if (json_get(entry, "start")) {
        bound(reader, entry, "start", &constant->unit, &constant->start);
        return;
    }
    if (value_of(reader, edit->profile, edit->pointer, constant->unit, &constant->start)) return;
    report(reader, entry, "wants a start in the unit of its bounds, as there is none in",
           edit->profile);
}

static void read_entry(struct reader *reader, const struct json_node *entry)
{
    struct free_constant *constant = &reader->set->constants[reader->set->n++];
    int n_before = reader->diag->n_messages;
    *constant = (struct free_constant){.first_edit = reader->set->edits.n};
    if (!check_keys(reader, entry) || !are_texts(reader, entry, "profile") ||
        !are_texts(reader, entry, "pointer") ||
        !bound(reader, entry, "lower", &constant->unit, &constant->lower) ||
        !bound(reader, entry, "upper", &constant->unit, &constant->upper))
        return;
    const struct json_node *profiles = json_get(entry, "profile");
    const struct json_node *pointers = json_get(entry, "pointer");
    const char *names = "";
    for (int i = 0; text_at(profiles, i); i++) {
        const char *profile = arena_text(reader->perm, "%s", json_text(text_at(profiles, i)));
        names = arena_text(reader->perm, "%s%s%s", names, i > 0 ? "," : "", profile);
        for (int p = 0; text_at(pointers, p); p++)
            expand_in(reader, text_at(profiles, i), profile, text_at(pointers, p));
    }
    constant->n_edits = reader->set->edits.n - constant->first_edit;
    const char *first = text_at(pointers, 0) ? json_text(text_at(pointers, 0)) : "";
    constant->name = arena_text(reader->perm, "%s %s", names, first);
    read_scale(reader, entry, constant);
    if (reader->diag->n_messages == n_before) find_start(reader, entry, constant);
}

/* the edits say what the constants' texts say */
static void join_texts(struct free_set *set)
{
    for (int k = 0; k < set->n; k++) {
        const struct free_constant *constant = &set->constants[k];
        for (int i = 0; i < constant->n_edits; i++)
            set->edits.edits[constant->first_edit + i].value = constant->text;
        free_put(set, k, free_place(constant, constant->start));
    }
}

struct free_set *free_read(const char *file, const char *dir, struct arena *perm, struct diag *diag)
{
    int n_before = diag->n_messages;
    struct json *json = json_read_file(file, perm, diag);
    if (!json) return NULL;
    struct free_set *set = arena_new(perm, struct free_set, 1);
    struct reader reader = {.dir = dir, .json = json, .set = set, .perm = perm, .diag = diag};
    const struct json_node *root = json_root(json);
    const struct json_node *list =
        json_kind(root) == JSON_OBJECT ? json_get(root, "constants") : NULL;
    set->file = arena_text(perm, "%s", file);
    if (!list || json_kind(list) != JSON_LIST || json_size(list) == 0) {
        report(&reader, root, "wants a list of constants", "");
        return NULL;
    }
    set->constants = arena_new(perm, struct free_constant, json_size(list));
    for (int i = 0; i < json_size(list); i++) read_entry(&reader, json_at(list, i));
    if (diag->n_messages > n_before) return NULL;
    join_texts(set);
    set->edits.read = arena_new(perm, bool, set->edits.n);
    return set;
}
