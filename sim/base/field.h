/* A loader is a table: each row is one key of an object, with its dimension, its place in a struct,
 * its range, its default and a line of help. Schema, docs and messages are printed from the same
 * rows. FIELD checks at compile time that the member has the type that the row stores. */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include "base/json.h"
#include "base/units.h"

#include <stddef.h>

enum field_type { FIELD_REAL, FIELD_INT, FIELD_TEXT, FIELD_BOOL, FIELD_CHOICE };

struct field {
    const char *key;
    enum field_type type;
    enum dim dim; /* of a FIELD_REAL: bare numbers only for DIM_NUMBER, DIM_COUNT, DIM_FRACTION */
    size_t offset;
    double min, max;      /* allowed range, SI */
    const char *fallback; /* default as the user would write it; NULL = required */
    const char *help;
    const char *const *choices; /* FIELD_CHOICE: ends with NULL; stored as const char * */
};

#define FIELD_OFFSET(type, member, wanted)                                                         \
    (offsetof(type, member) + _Generic(((type *)0)->member, wanted : (size_t)0))
#define FIELD_REAL_AT(type, member) FIELD_OFFSET(type, member, double)
#define FIELD_INT_AT(type, member)  FIELD_OFFSET(type, member, int)
#define FIELD_TEXT_AT(type, member) FIELD_OFFSET(type, member, const char *)
#define FIELD_BOOL_AT(type, member) FIELD_OFFSET(type, member, bool)

/* what a key ended up as, for --explain */
struct field_use {
    const char *object, *key, *value; /* value as text */
    const char *means;                /* what it stands for, where the help says so; else NULL */
    bool from_default;
};
struct field_log {
    struct field_use *uses;
    int n_uses, cap_uses;
};

/* field_load — fill *out from an object. `extra` names keys that the caller reads itself (ends with
 * NULL). Unknown keys, missing required ones, wrong types, units and ranges are reported with their
 * place and the nearest known key. `node` NULL: all defaults (required ones are reported at
 * `parent`). log may be NULL. Texts are copied to perm. */
void field_load(const struct field *fields, int n_fields, const char *const *extra,
                const struct json *json, const struct json_node *node, void *out,
                const char *object, struct field_log *log, struct arena *perm, struct diag *diag);

/* field_schema — the rows as JSON schema properties ("key": {...}, separated by commas), appended to
 * out. field_markdown: as rows | key | what | default | range | help | of a table. */
void field_schema(FILE *out, const struct field *fields, int n_fields);
void field_markdown(FILE *out, const struct field *fields, int n_fields);

/* field_meaning — "as the profile says" for the value "-1" under the help "...; -1 = as the profile
 * says; ..."; NULL when the value stands for itself. */
const char *field_meaning(const char *help, const char *value, struct arena *perm);

#endif
