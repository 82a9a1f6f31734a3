/* Any bytes are read as JSON: each node of what is accepted has a place inside the text, a pointer
 * that leads back to it, and survives being set through that pointer. */
#include "base/json.h"
#include "base/must.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_node *follow(const struct json_node *node, const char *pointer)
{
    /* list indices only, which need no unescaping; keys are covered by the unit tests */
    while (node && *pointer == '/' && json_kind(node) == JSON_LIST) {
        char *end = NULL;
        long i = strtol(pointer + 1, &end, 10);
        node = i < json_size(node) ? json_at(node, (int)i) : NULL;
        pointer = end;
    }
    return *pointer == '\0' ? node : NULL;
}

static void visit(struct json *json, const struct json_node *node, bool lists_only, int *budget,
                  struct arena *perm)
{
    if ((*budget)-- <= 0) return;
    struct diag_place place = json_place(json, node, perm);
    must(place.line >= 1 && place.column >= 1);
    must(!lists_only || follow(json_root(json), place.pointer) == node);
    lists_only = lists_only && json_kind(node) == JSON_LIST;
    for (int i = 0; i < json_size(node); i++) {
        visit(json, json_at(node, i), lists_only, budget, perm);
        must(json_kind(node) != JSON_OBJECT || json_get(node, json_key(json_at(node, i))));
    }
}

static void set_first_leaf(struct json *json, struct arena *perm)
{
    const struct json_node *node = json_root(json);
    while (json_size(node) > 0) node = json_at(node, 0);
    struct diag_place place = json_place(json, node, perm);
    struct diag diag = {.perm = perm};
    json_set(json, place.pointer, "{\"x\": [1]}", &diag);
    must(diag_ok(&diag));
    must(json_kind(node) == JSON_OBJECT && json_size(node) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *perm = arena_open((size_t)64 << 20);
    struct diag diag = {.perm = perm};
    struct json *json = json_read_text("fuzz", (const char *)data, size, perm, &diag);
    must((json != NULL) == diag_ok(&diag));
    if (json) {
        int budget = 200;
        visit(json, json_root(json), true, &budget, perm);
        set_first_leaf(json, perm);
    }
    arena_close(perm);
    return 0;
}
