#include "base/json.h"

#include "base/file.h"
#include "base/json_check.h"
#include "base/must.h"
#include "base/units.h"
#include "base/utf8.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { NOWHERE = -1 }; /* offset of what --set put in */

struct json_node {
    enum json_kind kind;
    double number;
    bool truth;
    const char *text;
    struct json_node **parts; /* [n_parts] members or elements */
    int n_parts, cap_parts;
    struct json_node *parent;       /* NULL: the root */
    const char *key;                /* "" in a list */
    int64_t offset_B, key_offset_B; /* in the document's text */
};

struct json {
    const char *file, *text;
    struct json_node *root;
    struct arena *perm;
};

/* Walks the text in step with cJSON's tree, which keeps its order, to note where each value stands.
 * The text has passed json_check. */
struct builder {
    const char *begin, *at;
    bool placed;
    struct arena *perm;
};

static void skip_blanks(struct builder *builder)
{
    while (*builder->at == ' ' || *builder->at == '\t' || *builder->at == '\r' ||
           *builder->at == '\n') {
        builder->at++;
    }
}

/* past a comma or colon with the blanks around it, where there is one */
static void skip_mark(struct builder *builder)
{
    skip_blanks(builder);
    if (*builder->at == ',' || *builder->at == ':') builder->at++;
    skip_blanks(builder);
}

/* past a number, true, false or null */
static void skip_word(struct builder *builder)
{
    while (*builder->at != '\0' && !strchr(",]} \t\r\n", *builder->at)) builder->at++;
}

static void skip_text(struct builder *builder)
{
    builder->at++;
    while (*builder->at != '"') builder->at += *builder->at == '\\' ? 2 : 1;
    builder->at++;
}

static int64_t here(const struct builder *builder)
{
    return builder->placed ? builder->at - builder->begin : NOWHERE;
}

static enum json_kind kind_of(const cJSON *item)
{
    if (cJSON_IsObject(item)) return JSON_OBJECT;
    if (cJSON_IsArray(item)) return JSON_LIST;
    if (cJSON_IsString(item)) return JSON_TEXT;
    if (cJSON_IsNumber(item)) return JSON_NUMBER;
    return cJSON_IsBool(item) ? JSON_BOOL : JSON_NULL;
}

static void build(struct builder *builder, const cJSON *item, struct json_node *node);

static void build_parts(struct builder *builder, const cJSON *item, struct json_node *node)
{
    node->n_parts = node->cap_parts = cJSON_GetArraySize(item);
    node->parts = arena_new(builder->perm, struct json_node *, node->n_parts);
    struct json_node *parts = arena_new(builder->perm, struct json_node, node->n_parts);
    builder->at++; /* opening bracket */
    int i = 0;
    for (const cJSON *part = item->child; part; part = part->next, i++) {
        node->parts[i] = &parts[i];
        parts[i].parent = node;
        skip_mark(builder);
        parts[i].key = "";
        parts[i].key_offset_B = here(builder);
        if (node->kind == JSON_OBJECT) {
            parts[i].key = arena_text(builder->perm, "%s", part->string);
            skip_text(builder);
            skip_mark(builder);
        }
        build(builder, part, &parts[i]);
    }
    skip_blanks(builder);
    builder->at++; /* closing bracket */
}

/* fills in the value; parent, key and key offset are the caller's */
static void build(struct builder *builder, const cJSON *item, struct json_node *node)
{
    node->kind = kind_of(item);
    node->offset_B = here(builder);
    if (node->kind == JSON_OBJECT || node->kind == JSON_LIST) {
        build_parts(builder, item, node);
    } else if (node->kind == JSON_TEXT) {
        node->text = arena_text(builder->perm, "%s", item->valuestring);
        skip_text(builder);
    } else {
        node->number = node->kind == JSON_NUMBER ? item->valuedouble : 0.0;
        node->truth = cJSON_IsTrue(item);
        skip_word(builder);
    }
}

static struct diag_place place_at(const char *file, const char *text, int64_t offset_B)
{
    struct diag_place place = {.file = file, .line = 1, .column = 1};
    for (const char *c = text; c < text + offset_B; c++) {
        bool inside_character = ((unsigned char)*c & 0xc0) == 0x80; /* UTF-8 */
        if (!inside_character) place.column++;
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return place;
}

/* The value of a whole text, NULL (reported) if it is none. cJSON is left to find what the grammar
 * does not say: halves of surrogate pairs. */
static struct json_node *read_value(const char *file, const char *text, size_t length, bool placed,
                                    struct arena *perm, struct diag *diag)
{
    struct json_fault fault = json_check(text, length, JSON_DEPTH);
    const char *end = text;
    cJSON *tree = fault.what ? NULL : cJSON_ParseWithLengthOpts(text, length, &end, false);
    if (!fault.what && !tree) {
        fault = (struct json_fault){"a \\u escape is no character", end};
    }
    if (fault.what) {
        diag_error(diag, place_at(file, text, fault.at - text), "%s", fault.what);
        return NULL;
    }
    struct json_node *root = arena_new(perm, struct json_node, 1);
    struct builder builder = {.begin = text, .at = text, .placed = placed, .perm = perm};
    root->key = "";
    skip_blanks(&builder);
    root->key_offset_B = here(&builder);
    build(&builder, tree, root);
    cJSON_Delete(tree);
    return root;
}

static int by_key_then_place(const void *left, const void *right)
{
    const struct json_node *a = *(const struct json_node *const *)left;
    const struct json_node *b = *(const struct json_node *const *)right;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order
                      : (a->key_offset_B > b->key_offset_B) - (a->key_offset_B < b->key_offset_B);
}

static void report_duplicates(const struct json *json, const struct json_node *node,
                              struct diag *diag)
{
    int n = node->n_parts;
    for (int i = 0; i < n; i++) report_duplicates(json, node->parts[i], diag);
    if (node->kind != JSON_OBJECT || n < 2) return;
    struct json_node **sorted = arena_new(json->perm, struct json_node *, n);
    memcpy(sorted, node->parts, (size_t)n * sizeof(struct json_node *));
    qsort(sorted, (size_t)n, sizeof(struct json_node *), by_key_then_place);
    for (int i = 1; i < n; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) != 0) continue;
        struct diag_place place = json_key_place(json, sorted[i], json->perm);
        diag_error(diag, place, "the key \"%s\" stands here a second time", sorted[i]->key);
    }
}

struct json *json_read_text(const char *file, const char *text, size_t length, struct arena *perm,
                            struct diag *diag)
{
    text = file_skip_mark(text, &length);
    struct json *json = arena_new(perm, struct json, 1);
    /* a copy, since the caller's text may go away and the walks need the NUL at its end */
    char *copy = arena_new(perm, char, (int64_t)length + 1);
    memcpy(copy, text, length);
    *json = (struct json){.file = arena_text(perm, "%s", file), .text = copy, .perm = perm};
    json->root = read_value(json->file, copy, length, true, perm, diag);
    if (!json->root) return NULL;
    int n_before = diag->n_messages;
    report_duplicates(json, json->root, diag);
    return diag->n_messages == n_before ? json : NULL;
}

struct json *json_read_file(const char *file, struct arena *perm, struct diag *diag)
{
    size_t length = 0;
    const char *text = file_read(file, JSON_MAX_B, &length, perm, diag);
    return text ? json_read_text(file, text, length, perm, diag) : NULL;
}

void json_close(struct json *json)
{
    json->root = NULL;
}

const struct json_node *json_root(const struct json *json)
{
    must(json->root);
    return json->root;
}

const char *json_file(const struct json *json)
{
    return json->file;
}

enum json_kind json_kind(const struct json_node *node)
{
    return node->kind;
}

const char *json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",   [JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
        [JSON_TEXT] = "a text", [JSON_LIST] = "a list",        [JSON_OBJECT] = "an object",
    };
    return names[kind];
}

double json_number(const struct json_node *node)
{
    must(node->kind == JSON_NUMBER);
    return node->number;
}

bool json_bool(const struct json_node *node)
{
    must(node->kind == JSON_BOOL);
    return node->truth;
}

const char *json_text(const struct json_node *node)
{
    must(node->kind == JSON_TEXT);
    return node->text;
}

int json_size(const struct json_node *node)
{
    return node->n_parts;
}

const struct json_node *json_at(const struct json_node *node, int i)
{
    must(i >= 0 && i < node->n_parts);
    return node->parts[i];
}

const char *json_key(const struct json_node *node)
{
    return node->key;
}

static int find_member(const struct json_node *object, const char *key)
{
    for (int i = 0; object->kind == JSON_OBJECT && i < object->n_parts; i++) {
        if (strcmp(object->parts[i]->key, key) == 0) return i;
    }
    return -1;
}

const struct json_node *json_get(const struct json_node *object, const char *key)
{
    int i = find_member(object, key);
    return i < 0 ? NULL : object->parts[i];
}

/* the next reference token of a pointer, unescaped (RFC 6901); *at moves past it */
static const char *next_token(const char **at, struct arena *perm)
{
    const char *begin = *at + 1; /* past '/' */
    size_t n = strcspn(begin, "/");
    char *token = arena_text(perm, "%.*s", (int)n, begin);
    char *to = token;
    for (const char *from = token; *from != '\0'; from++) {
        bool escaped = from[0] == '~' && (from[1] == '0' || from[1] == '1');
        *to++ = !escaped ? *from : *++from == '0' ? '~' : '/';
    }
    *to = '\0';
    *at = begin + n;
    return token;
}

/* where a token leads: an existing part, n_parts for a new one, -1 when it leads nowhere */
static int part_index(const struct json_node *node, const char *token)
{
    int i = find_member(node, token);
    if (node->kind == JSON_OBJECT) return i < 0 ? node->n_parts : i;
    if (node->kind != JSON_LIST) return -1;
    if (strcmp(token, "-") == 0) return node->n_parts;
    const char *end = NULL;
    double index = 0;
    bool plain = token[0] >= '0' && token[0] <= '9' && unit_number(token, &end, &index);
    bool whole = plain && *end == '\0' && strspn(token, "0123456789") == strlen(token);
    return whole && index <= node->n_parts ? (int)index : -1;
}

const struct json_node *json_find(const struct json_node *node, const char *pointer,
                                  struct arena scratch)
{
    for (const char *at = pointer; node && *at != '\0';) {
        const char *token = next_token(&at, &scratch);
        int i = part_index(node, token);
        node = i >= 0 && i < node->n_parts ? node->parts[i] : NULL;
    }
    return node;
}

struct json_span json_span(const struct json *json, const struct json_node *node)
{
    must(node->kind != JSON_LIST && node->kind != JSON_OBJECT && node->offset_B != NOWHERE);
    struct builder walk = {.begin = json->text, .at = json->text + node->offset_B};
    if (node->kind == JSON_TEXT) {
        skip_text(&walk);
    } else {
        skip_word(&walk);
    }
    return (struct json_span){node->offset_B, walk.at - json->text};
}

int64_t json_first_member_B(const struct json *json)
{
    return json->root->n_parts > 0 ? json->root->parts[0]->key_offset_B : NOWHERE;
}

const char *json_source(const struct json *json)
{
    return json->text;
}

static struct json_node *add_part(struct json_node *node, const char *key, struct arena *perm)
{
    if (node->n_parts == node->cap_parts) {
        node->cap_parts = 2 * node->cap_parts + 4;
        node->parts =
            arena_grow(perm, struct json_node *, node->parts, node->n_parts, node->cap_parts);
    }
    struct json_node *part = arena_new(perm, struct json_node, 1);
    part->parent = node;
    part->key = node->kind == JSON_OBJECT ? key : "";
    part->key_offset_B = NOWHERE;
    node->parts[node->n_parts++] = part;
    return part;
}

/* -> NULL: the node has no such part, nor can it get one; `around`: it is to be an object around another */
static struct json_node *find_or_add_part(struct json_node *node, const char *token, bool around,
                                          struct arena *perm)
{
    int i = part_index(node, token);
    if (i >= 0 && i < node->n_parts) return node->parts[i];
    if (i < 0 || (around && node->kind != JSON_OBJECT)) return NULL;
    struct json_node *part = add_part(node, token, perm);
    if (around) part->kind = JSON_OBJECT;
    part->offset_B = NOWHERE;
    return part;
}

/* the node at a pointer, added with the objects around it where they are new; NULL (reported) where what is there
 * has no such part */
static struct json_node *find_or_add(struct json *json, const char *pointer, struct diag *diag)
{
    struct diag_place place = {.file = "--set", .pointer = pointer};
    struct json_node *node = json->root;
    if (pointer[0] != '\0' && pointer[0] != '/') {
        diag_error(diag, place, "wanted a JSON pointer such as /key/0/key");
        return NULL;
    }
    for (const char *at = pointer; *at != '\0';) {
        const char *token = next_token(&at, json->perm);
        struct json_node *part = find_or_add_part(node, token, *at != '\0', json->perm);
        if (!part) {
            diag_error(diag, place, "there is no \"%s\" in %s %s", token,
                       json_kind_name(node->kind), node->parent ? "there" : "at the top");
            return NULL;
        }
        node = part;
    }
    return node;
}

static struct json_node *value_or_text(const char *text, struct arena *perm)
{
    struct diag ignored = {.perm = perm};
    struct json_node *node = read_value("--set", text, strlen(text), false, perm, &ignored);
    if (node) return node;
    node = arena_new(perm, struct json_node, 1);
    node->kind = JSON_TEXT;
    node->text = arena_text(perm, "%s", text);
    return node;
}

void json_set(struct json *json, const char *pointer, const char *text, struct diag *diag)
{
    const struct json_node *value = value_or_text(text, json->perm);
    struct json_node *node = find_or_add(json, pointer, diag);
    if (!node) return;
    struct json_node old = *node;
    *node = *value;
    node->parent = old.parent;
    node->key = old.key;
    node->offset_B = node->key_offset_B = NOWHERE;
    for (int i = 0; i < node->n_parts; i++) node->parts[i]->parent = node;
}

static const char *escaped_token(const char *key, struct arena *perm)
{
    char *token = arena_new(perm, char, 2 * (int64_t)strlen(key) + 1);
    char *to = token;
    for (const char *c = key; *c != '\0'; c++) {
        bool special = *c == '~' || *c == '/';
        *to++ = special ? '~' : *c;
        if (special) *to++ = *c == '~' ? '0' : '1';
    }
    return token;
}

static const char *pointer_to(const struct json_node *node, struct arena *perm)
{
    const struct json_node *parent = node->parent;
    if (!parent) return "";
    const char *above = pointer_to(parent, perm);
    if (parent->kind == JSON_OBJECT) {
        return arena_text(perm, "%s/%s", above, escaped_token(node->key, perm));
    }
    int i = 0;
    while (parent->parts[i] != node) i++;
    return arena_text(perm, "%s/%d", above, i);
}

static struct diag_place place_of(const struct json *json, const struct json_node *node,
                                  int64_t offset_B, struct arena *perm)
{
    struct diag_place place = {.file = "--set"};
    if (offset_B != NOWHERE) place = place_at(json->file, json->text, offset_B);
    place.pointer = pointer_to(node, perm);
    return place;
}

struct diag_place json_place(const struct json *json, const struct json_node *node,
                             struct arena *perm)
{
    return place_of(json, node, node->offset_B, perm);
}

struct diag_place json_key_place(const struct json *json, const struct json_node *node,
                                 struct arena *perm)
{
    return place_of(json, node, node->key_offset_B, perm);
}

void json_write_text(FILE *out, const char *text)
{
    const char *end = text + strlen(text);
    fputc('"', out);
    for (const char *c = text; c < end;) {
        size_t n = utf8_length(c, end);
        if (*c == '"' || *c == '\\') fputc('\\', out);
        if (n == 0) {
            fputs("\\ufffd", out); /* the character that stands for what is none */
        } else if ((unsigned char)*c < 0x20) {
            fprintf(out, "\\u%04x", (unsigned)*c);
        } else {
            fwrite(c, 1, n, out);
        }
        c += n > 0 ? n : 1;
    }
    fputc('"', out);
}
