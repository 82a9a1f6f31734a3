#include "base/field.h"

#include "base/must.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* what the loading of one key of one object needs to know */
struct loading {
    const struct json *json;
    void *out;
    const char *object;
    struct field_log *log;
    struct arena *perm;
    struct diag *diag;
};

static bool takes_bare_numbers(enum dim dim)
{
    return dim == DIM_NUMBER || dim == DIM_COUNT || dim == DIM_FRACTION;
}

static int n_choices(const struct field *field)
{
    int n = 0;
    while (field->choices[n]) n++;
    return n;
}

static const char *choices_text(const struct field *field, struct arena *perm)
{
    const char *text = "one of";
    for (int i = 0; field->choices[i]; i++) {
        text = arena_text(perm, "%s%s \"%s\"", text, i == 0 ? "" : ",", field->choices[i]);
    }
    return text;
}

static const char *wanted(const struct field *field, struct arena *perm)
{
    switch (field->type) {
    case FIELD_REAL:
        return unit_wanted(field->dim);
    case FIELD_INT:
        return "a whole number";
    case FIELD_TEXT:
        return "a text";
    case FIELD_BOOL:
        return "true or false";
    case FIELD_CHOICE:
        return choices_text(field, perm);
    }
    must_not_reach("a field type");
}

static enum dim number_dim(const struct field *field)
{
    return field->type == FIELD_INT ? DIM_COUNT : field->dim;
}

static void *member_of(void *out, const struct field *field)
{
    return (char *)out + field->offset;
}

static int whole_within(double value)
{
    return value <= INT_MIN ? INT_MIN : value >= INT_MAX ? INT_MAX : (int)value;
}

static void store_number(const struct field *field, double value, void *out)
{
    if (field->type == FIELD_INT) {
        *(int *)member_of(out, field) = whole_within(value);
    } else {
        *(double *)member_of(out, field) = value;
    }
}

static const char *choice_named(const struct field *field, const char *name)
{
    for (int i = 0; field->choices[i]; i++) {
        if (strcmp(field->choices[i], name) == 0) return field->choices[i];
    }
    return NULL;
}

/* The fallback is read as a user's value would be; one that cannot be read is our bug. Without one
 * the harmless value is the least allowed, "", false or the first choice. */
static void store_fallback(const struct field *field, void *out)
{
    const char *fallback = field->fallback;
    double number = isfinite(field->min) ? field->min : 0.0;
    switch (field->type) {
    case FIELD_REAL:
    case FIELD_INT:
        must(!fallback || unit_parse(fallback, number_dim(field), &number));
        store_number(field, number, out);
        return;
    case FIELD_TEXT:
        *(const char **)member_of(out, field) = fallback ? fallback : "";
        return;
    case FIELD_BOOL:
        must(!fallback || strcmp(fallback, "true") == 0 || strcmp(fallback, "false") == 0);
        *(bool *)member_of(out, field) = fallback && fallback[0] == 't';
        return;
    case FIELD_CHOICE:
        *(const char **)member_of(out, field) =
            fallback ? choice_named(field, fallback) : field->choices[0];
        must(*(const char **)member_of(out, field));
        return;
    }
}

static const char *limit_text(double limit, const struct field *field, struct arena *perm)
{
    char text[32];
    unit_print(limit, number_dim(field), text, sizeof text);
    return arena_text(perm, "%s", text);
}

static const char *number_text(double value, struct arena *perm)
{
    const char *text = "";
    for (int n_digits = 6; n_digits <= 17; n_digits++) {
        text = arena_text(perm, "%.*g", n_digits, value);
        const char *end = NULL;
        double back = 0;
        if (unit_number(text, &end, &back) && !(back < value) && !(back > value)) break;
    }
    return text;
}

/* the value as the user wrote it, for messages and the log */
static const char *as_written(const struct json_node *node, struct arena *perm)
{
    switch (json_kind(node)) {
    case JSON_TEXT:
        return arena_text(perm, "%s", json_text(node));
    case JSON_NUMBER:
        return number_text(json_number(node), perm);
    case JSON_BOOL:
        return json_bool(node) ? "true" : "false";
    case JSON_NULL:
    case JSON_LIST:
    case JSON_OBJECT:
        return json_kind_name(json_kind(node));
    }
    must_not_reach("a kind of value");
}

const char *field_meaning(const char *help, const char *value, struct arena *perm)
{
    const char *end;
    double number;
    double stands;
    if (!unit_number(value, &end, &number)) return NULL;
    for (const char *part = help; part; part = strchr(part, ';')) {
        part += strspn(part, "; ");
        if (!unit_number(part, &end, &stands) || strncmp(end, " = ", 3) != 0) continue;
        if (stands < number || stands > number) continue;
        return arena_text(perm, "%.*s", (int)strcspn(end + 3, ";"), end + 3);
    }
    return NULL;
}

static void log_use(const struct loading *loading, const struct field *field, const char *value,
                    bool from_default)
{
    struct field_log *log = loading->log;
    if (!log) return;
    if (log->n_uses == log->cap_uses) {
        log->cap_uses = 2 * log->cap_uses + 32;
        log->uses =
            arena_grow(loading->perm, struct field_use, log->uses, log->n_uses, log->cap_uses);
    }
    log->uses[log->n_uses++] =
        (struct field_use){loading->object, field->key, value,
                           field_meaning(field->help, value, loading->perm), from_default};
}

static void report_kind(const struct loading *loading, const struct field *field,
                        const struct json_node *node)
{
    diag_error(loading->diag, json_place(loading->json, node, loading->perm), "is %s (wanted %s)",
               json_kind_name(json_kind(node)), wanted(field, loading->perm));
}

static void report_value(const struct loading *loading, const struct field *field,
                         const struct json_node *node)
{
    diag_error(loading->diag, json_place(loading->json, node, loading->perm),
               "\"%s\" cannot be read (wanted %s)", as_written(node, loading->perm),
               wanted(field, loading->perm));
}

static bool within(const struct loading *loading, const struct field *field,
                   const struct json_node *node, double value)
{
    bool low = value < field->min;
    if (!low && !(value > field->max)) return true;
    const char *limit = limit_text(low ? field->min : field->max, field, loading->perm);
    diag_error(loading->diag, json_place(loading->json, node, loading->perm), "%s is %s %s (%s)",
               as_written(node, loading->perm), low ? "below the minimum" : "above the maximum",
               limit, field->help);
    return false;
}

static bool load_number(const struct loading *loading, const struct field *field,
                        const struct json_node *node)
{
    bool bare = takes_bare_numbers(number_dim(field));
    if (json_kind(node) != (bare ? JSON_NUMBER : JSON_TEXT)) {
        report_kind(loading, field, node);
        return false;
    }
    double value = 0;
    bool readable = true;
    if (bare) {
        value = json_number(node);
        readable = field->type != FIELD_INT || fabs(value - rint(value)) <= 0;
    } else {
        readable = unit_parse(json_text(node), field->dim, &value);
    }
    if (!readable) {
        report_value(loading, field, node);
        return false;
    }
    if (!within(loading, field, node, value)) return false;
    store_number(field, value, loading->out);
    return true;
}

static bool load_choice(const struct loading *loading, const struct field *field,
                        const struct json_node *node)
{
    const char *name = json_text(node);
    const char *choice = choice_named(field, name);
    if (choice) {
        *(const char **)member_of(loading->out, field) = choice;
        return true;
    }
    const char *near = diag_nearest(name, field->choices, n_choices(field));
    struct diag_place place = json_place(loading->json, node, loading->perm);
    if (near) {
        diag_error(loading->diag, place, "unknown value \"%s\" (did you mean \"%s\"?)", name, near);
    } else {
        diag_error(loading->diag, place, "unknown value \"%s\" (wanted %s)", name,
                   choices_text(field, loading->perm));
    }
    return false;
}

/* false when the value is not usable, which has been reported */
static bool load_value(const struct loading *loading, const struct field *field,
                       const struct json_node *node)
{
    if (field->type == FIELD_REAL || field->type == FIELD_INT) {
        return load_number(loading, field, node);
    }
    if (json_kind(node) != (field->type == FIELD_BOOL ? JSON_BOOL : JSON_TEXT)) {
        report_kind(loading, field, node);
        return false;
    }
    if (field->type == FIELD_CHOICE) return load_choice(loading, field, node);
    void *member = member_of(loading->out, field);
    if (field->type == FIELD_BOOL) {
        *(bool *)member = json_bool(node);
    } else {
        *(const char **)member = arena_text(loading->perm, "%s", json_text(node));
    }
    return true;
}

static void load_field(const struct loading *loading, const struct field *field,
                       const struct json_node *object)
{
    const struct json_node *node = object ? json_get(object, field->key) : NULL;
    if (node && load_value(loading, field, node)) {
        log_use(loading, field, as_written(node, loading->perm), false);
        return;
    }
    store_fallback(field, loading->out);
    if (node) return;
    if (field->fallback) {
        log_use(loading, field, field->fallback, true);
        return;
    }
    struct diag_place place = {.file = json_file(loading->json), .pointer = loading->object};
    if (object) place = json_place(loading->json, object, loading->perm);
    diag_error(loading->diag, place, "missing key \"%s\" (%s)", field->key, field->help);
}

static int count_extra(const char *const *extra)
{
    int n = 0;
    while (extra && extra[n]) n++;
    return n;
}

/* the rows' keys, then the caller's own */
static const char **known_keys(const struct field *fields, int n_fields, const char *const *extra,
                               int *n_known, struct arena *perm)
{
    int n_extra = count_extra(extra);
    *n_known = n_fields + n_extra;
    const char **known = arena_new(perm, const char *, *n_known);
    for (int i = 0; i < n_fields; i++) known[i] = fields[i].key;
    for (int i = 0; i < n_extra; i++) known[n_fields + i] = extra[i];
    return known;
}

static void report_unknown(const struct loading *loading, const struct json_node *object,
                           const char *const *known, int n_known)
{
    for (int i = 0; i < json_size(object); i++) {
        const struct json_node *member = json_at(object, i);
        const char *key = json_key(member);
        int k = 0;
        while (k < n_known && strcmp(known[k], key) != 0) k++;
        if (k < n_known) continue;
        struct diag_place place = json_key_place(loading->json, member, loading->perm);
        const char *near = diag_nearest(key, known, n_known);
        const char *hint = near ? arena_text(loading->perm, " (did you mean \"%s\"?)", near) : "";
        diag_error(loading->diag, place, "unknown key \"%s\"%s", key, hint);
    }
}

/* Callers name each argument once, in one call per object.
 * NOLINTNEXTLINE(readability-function-size) */
void field_load(const struct field *fields, int n_fields, const char *const *extra,
                const struct json *json, const struct json_node *node, void *out,
                const char *object, struct field_log *log, struct arena *perm, struct diag *diag)
{
    const struct loading loading = {json, out, object, log, perm, diag};
    if (node && json_kind(node) != JSON_OBJECT) {
        diag_error(diag, json_place(json, node, perm), "is %s (wanted an object)",
                   json_kind_name(json_kind(node)));
        for (int i = 0; i < n_fields; i++) store_fallback(&fields[i], out);
        return;
    }
    for (int i = 0; i < n_fields; i++) load_field(&loading, &fields[i], node);
    if (!node) return;
    int n_known = 0;
    const char **known = known_keys(fields, n_fields, extra, &n_known, perm);
    report_unknown(&loading, node, known, n_known);
}

static const char *schema_type(const struct field *field)
{
    switch (field->type) {
    case FIELD_REAL:
        return takes_bare_numbers(field->dim) ? "number" : "string";
    case FIELD_INT:
        return "integer";
    case FIELD_BOOL:
        return "boolean";
    case FIELD_TEXT:
    case FIELD_CHOICE:
        return "string";
    }
    must_not_reach("a field type");
}

static void schema_limits(FILE *out, const struct field *field)
{
    if (strcmp(schema_type(field), "string") == 0) return;
    if (field->type == FIELD_BOOL) return;
    if (isfinite(field->min)) fprintf(out, ", \"minimum\": %.17g", field->min);
    if (isfinite(field->max)) fprintf(out, ", \"maximum\": %.17g", field->max);
}

static void schema_choices(FILE *out, const struct field *field)
{
    if (field->type != FIELD_CHOICE) return;
    fputs(", \"enum\": [", out);
    for (int i = 0; field->choices[i]; i++) {
        if (i > 0) fputs(", ", out);
        json_write_text(out, field->choices[i]);
    }
    fputc(']', out);
}

static void schema_default(FILE *out, const struct field *field)
{
    if (!field->fallback) return;
    fputs(", \"default\": ", out);
    if (strcmp(schema_type(field), "string") == 0) {
        json_write_text(out, field->fallback);
    } else {
        fputs(field->fallback, out);
    }
}

void field_schema(FILE *out, const struct field *fields, int n_fields)
{
    for (int i = 0; i < n_fields; i++) {
        const struct field *field = &fields[i];
        fputs(i == 0 ? "" : ",\n", out);
        json_write_text(out, field->key);
        fprintf(out, ": {\"type\": \"%s\", \"description\": ", schema_type(field));
        json_write_text(out, field->help);
        schema_choices(out, field);
        schema_limits(out, field);
        schema_default(out, field);
        fputc('}', out);
    }
}

static void markdown_row(FILE *out, const struct field *field, struct arena *perm)
{
    bool ranged = field->type == FIELD_REAL || field->type == FIELD_INT;
    fprintf(out, "| `%s` | %s | %s |", field->key, wanted(field, perm),
            field->fallback ? arena_text(perm, "`%s`", field->fallback) : "required");
    if (ranged) {
        fprintf(out, " %s to %s |", limit_text(field->min, field, perm),
                limit_text(field->max, field, perm));
    } else {
        fputs(" |", out);
    }
    fprintf(out, " %s |\n", field->help);
}

void field_markdown(FILE *out, const struct field *fields, int n_fields)
{
    struct arena *scratch = arena_open((size_t)1 << 20);
    for (int i = 0; i < n_fields; i++) markdown_row(out, &fields[i], scratch);
    arena_close(scratch);
}
