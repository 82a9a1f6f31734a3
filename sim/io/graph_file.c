#include "io/graph_file.h"

#include "base/file.h"
#include "io/dot.h"
#include "io/graph_draft.h"
#include "io/rows.h"
#include "net/topo.h"

#include <string.h>

enum { MAX_FILE_B = 128 << 20, MAX_COUNT = 4096 };

struct vertex_keys {
    const char *name;
    int stage, node, nic;
};
struct link_keys {
    const char *from, *to, *rate, *latency, *tier;
    int count;
    bool one_way;
};

static const char *const tiers[] = {"fabric", "global", NULL};

/* clang-format off */
static const struct field vertex_fields[] = {
    TEXT("name", struct vertex_keys, name, NULL, "what links call it"),
    INT("stage", struct vertex_keys, stage, 0, N_STAGES - 1, "0", "of a switch: 0 leaf, 1 spine, 2 core, 3 gateway"),
    INT("node", struct vertex_keys, node, -1, TOPO_MAX_GPUS, "-1", "it is a card of that server"),
    INT("nic", struct vertex_keys, nic, -1, TOPO_MAX_GPUS, "-1", "and which one"),
};
static const struct field link_fields[] = {
    TEXT("from", struct link_keys, from, NULL, "a vertex"),
    TEXT("to", struct link_keys, to, NULL, "a vertex"),
    TEXT("rate", struct link_keys, rate, "", "of each direction"),
    TEXT("latency", struct link_keys, latency, "", "a switch included"),
    CHOICE("tier", struct link_keys, tier, tiers, "fabric", "global: between groups or sites"),
    INT("count", struct link_keys, count, 0, MAX_COUNT, "1", "equal cables side by side"),
    BOOL("one_way", struct link_keys, one_way, "false", "only this direction; another link is the way back"),
};
/* clang-format on */

struct source {
    struct graph_draft *draft;
    const struct json *json;
};

static struct diag_place place_of(const struct source *source, const struct json_node *node)
{
    return json_place(source->json, node, source->draft->perm);
}

static bool read_vertex(const struct source *source, const struct json_node *node)
{
    struct graph_draft *draft = source->draft;
    struct vertex_keys keys = {.node = -1, .nic = -1};
    int before = draft->diag->n_messages;
    if (json_kind(node) == JSON_TEXT)
        keys.name = arena_text(draft->perm, "%s", json_text(node));
    else
        field_load(vertex_fields, N_OF(vertex_fields), NULL, source->json, node, &keys, "vertex",
                   NULL, draft->perm, draft->diag);
    if (draft->diag->n_messages != before) return true;
    bool made;
    int v = graph_draft_vertex(draft, keys.name, place_of(source, node), &made);
    if (v < 0) return false;
    if (!made)
        diag_error(draft->diag, place_of(source, node), "a second vertex is called \"%s\"",
                   keys.name);
    draft->vertices[v].stage = keys.stage;
    draft->vertices[v].node = keys.node;
    draft->vertices[v].nic = keys.nic;
    return true;
}

static int find_end(const struct source *source, const struct json_node *node, const char *key,
                    const char *name)
{
    int v = graph_draft_find(source->draft, name);
    if (v < 0)
        diag_error(source->draft->diag, place_of(source, json_get(node, key)),
                   "no vertex is called \"%s\"", name);
    return v;
}

static bool read_link(const struct source *source, const struct json_node *node)
{
    struct graph_draft *draft = source->draft;
    struct link_keys keys = {.count = 1};
    int before = draft->diag->n_messages;
    field_load(link_fields, N_OF(link_fields), NULL, source->json, node, &keys, "link", NULL,
               draft->perm, draft->diag);
    if (draft->diag->n_messages != before) return true;
    struct draft_link link = {.way = {.latency_s = -1},
                              .src = find_end(source, node, "from", keys.from),
                              .dst = find_end(source, node, "to", keys.to),
                              .one_way = keys.one_way,
                              .global = strcmp(keys.tier, "global") == 0};
    if (keys.rate[0])
        graph_draft_rate(draft, keys.rate, place_of(source, json_get(node, "rate")), &link.way);
    if (keys.latency[0])
        graph_draft_latency(draft, keys.latency, place_of(source, json_get(node, "latency")),
                            &link.way);
    for (int i = 0; i < keys.count && draft->diag->n_messages == before; i++) {
        if (!graph_draft_link(draft, link, place_of(source, node))) return false;
    }
    return true;
}

/* read_list — each element of a member that is a list, until one says that there are too many. */
static void read_list(const struct source *source, const struct json_node *root, const char *key,
                      bool (*read)(const struct source *, const struct json_node *))
{
    const struct json_node *list = json_get(root, key);
    if (!list || json_kind(list) != JSON_LIST) {
        diag_error(source->draft->diag, place_of(source, list ? list : root),
                   "\"%s\" is wanted, a list", key);
        return;
    }
    for (int i = 0; i < json_size(list); i++) {
        if (!read(source, json_at(list, i))) return;
    }
}

static void read_json(struct graph_draft *draft, const char *text, size_t length)
{
    static const char *const known[] = {"vertices", "links", "$comment", NULL};
    struct json *json = json_read_text(draft->file, text, length, draft->perm, draft->diag);
    if (!json) return;
    struct source source = {draft, json};
    const struct json_node *root = json_root(json);
    field_load(NULL, 0, known, json, root, NULL, "graph", NULL, draft->perm, draft->diag);
    if (json_kind(root) == JSON_OBJECT) {
        read_list(&source, root, "vertices", read_vertex);
        read_list(&source, root, "links", read_link);
    }
    json_close(json);
}

static bool is_dot(const char *file)
{
    const char *dot = strrchr(file, '.');
    return dot && (strcmp(dot, ".dot") == 0 || strcmp(dot, ".gv") == 0);
}

const struct net_graph *graph_file_read_text(const char *file, const char *text, size_t length,
                                             struct arena *perm, struct diag *diag)
{
    struct graph_draft draft = {.file = file, .perm = perm, .diag = diag};
    int before = diag->n_messages;
    if (is_dot(file))
        dot_read(&draft, text, length);
    else
        read_json(&draft, text, length);
    return diag_quiet_since(diag, before) ? graph_draft_finish(&draft) : NULL;
}

const struct net_graph *graph_file_read(const char *file, struct arena *perm, struct diag *diag)
{
    size_t length = 0;
    const char *text = file_read(file, MAX_FILE_B, &length, perm, diag);
    if (!text) return NULL;
    text = file_skip_mark(text, &length);
    return graph_file_read_text(file, text, length, perm, diag);
}
