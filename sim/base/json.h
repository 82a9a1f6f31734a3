/* JSON documents with positions: cJSON does the parsing, this adapter notes where each value stands.
 * It also refuses what cJSON lets by: text after the document, duplicate keys, numbers that
 * overflow, leading zeros, control bytes as blanks, NUL bytes, nesting deeper than JSON_DEPTH, files
 * larger than JSON_MAX_B. A byte order mark is accepted. Everything lives in the arena; parts are
 * reached in O(1), members by key in O(members). */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/arena.h"
#include "base/diag.h"

#include <stdbool.h>

enum { JSON_DEPTH = 64, JSON_MAX_B = 16 << 20 };

struct json;      /* a document */
struct json_node; /* a value in it */

/* json_read — parse a file (or text, named `file` in messages). NULL after an error; what can be
 * said is in diag. The document lives until json_close. */
struct json *json_read_file(const char *file, struct arena *perm, struct diag *diag);
struct json *json_read_text(const char *file, const char *text, size_t length, struct arena *perm,
                            struct diag *diag);
void json_close(struct json *json); /* nothing to free; a later json_root is a bug */

const struct json_node *json_root(const struct json *json);
const char *json_file(const struct json *json);

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };
enum json_kind json_kind(const struct json_node *node);
const char *json_kind_name(enum json_kind kind); /* "a number", "a list", ... */
double json_number(const struct json_node *node);
bool json_bool(const struct json_node *node);
const char *json_text(const struct json_node *node); /* owned by the document */

/* members of an object or elements of a list */
int json_size(const struct json_node *node);
const struct json_node *json_at(const struct json_node *node, int i);
const char *json_key(const struct json_node *node); /* of a member; "" in a list */
const struct json_node *json_get(const struct json_node *object,
                                 const char *key); /* case-sensitive; NULL if absent */

/* json_find — the value at a JSON pointer below a node, NULL if there is none. */
const struct json_node *json_find(const struct json_node *node, const char *pointer,
                                  struct arena scratch);

/* json_span — where a number, text or truth value stands in the document's text, and where the first
 * member of its root does, for a program that changes a file and leaves the rest as it was written.
 * The text is that of the file after its byte order mark. */
struct json_span {
    int64_t from_B, to_B;
};
struct json_span json_span(const struct json *json, const struct json_node *node);
int64_t json_first_member_B(const struct json *json); /* -1 when there is none */
const char *json_source(const struct json *json);

/* json_set — replace or add the value at a JSON pointer by `text`, which is JSON or, failing that, a
 * bare string ("--set /nic/bandwidth=25GB/s"). Objects around it that are not there are made. Errors (a
 * number, a text or a list has no such part) go to diag. In messages the file of
 * such a value is "--set". */
void json_set(struct json *json, const char *pointer, const char *text, struct diag *diag);

/* json_place — where a node stands, for diag_error. The pointer text is built in perm. */
struct diag_place json_place(const struct json *json, const struct json_node *node,
                             struct arena *perm);

/* json_key_place — the same, where its key stands (of a list element: the element). */
struct diag_place json_key_place(const struct json *json, const struct json_node *node,
                                 struct arena *perm);

/* json_write_text — append a quoted, escaped string to a stream. */
void json_write_text(FILE *out, const char *text);

#endif
