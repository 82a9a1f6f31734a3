#include "io/dot.h"

#include "base/units.h"
#include "net/topo.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 64, MAX_COUNT = 4096, TOKEN_MAX_B = 4096 };

enum token_kind { TOKEN_END, TOKEN_ID, TOKEN_MARK, TOKEN_EDGE };

struct token {
    enum token_kind kind;
    char mark;        /* of a TOKEN_MARK */
    bool directed;    /* of a TOKEN_EDGE */
    bool quoted;      /* a TOKEN_ID that is no keyword */
    const char *text; /* of a TOKEN_ID */
    struct diag_place place;
};

/* what attributes say, of edges and vertices alike */
struct attributes {
    struct graph_way way;
    const char *name, *label;
    bool both, global;
    int count, stage, node, nic;
};

struct reader {
    struct graph_draft *draft;
    const char *at, *end, *line_start;
    int line;
    struct token token; /* the next one */
    bool digraph, failed;
    int depth;
    struct attributes edge[MAX_DEPTH], vertex[MAX_DEPTH]; /* defaults at each depth */
};

static const struct attributes none = {.way = {.latency_s = -1}, .count = 1, .node = -1, .nic = -1};

/* ---- tokens ---- */

static struct diag_place here(const struct reader *reader)
{
    return (struct diag_place){.file = reader->draft->file,
                               .line = reader->line,
                               .column = (int)(reader->at - reader->line_start) + 1};
}

static void fail(struct reader *reader, struct diag_place place, const char *what)
{
    if (!reader->failed) diag_error(reader->draft->diag, place, "%s", what);
    reader->failed = true;
}

static void step(struct reader *reader)
{
    if (*reader->at++ != '\n') return;
    reader->line++;
    reader->line_start = reader->at;
}

static bool starts(const struct reader *reader, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(reader->end - reader->at) >= n && memcmp(reader->at, text, n) == 0;
}

static void skip_line(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\n') reader->at++;
}

static void skip_comment(struct reader *reader)
{
    struct diag_place place = here(reader);
    while (reader->at < reader->end && !starts(reader, "*/")) step(reader);
    if (reader->at == reader->end)
        fail(reader, place, "a comment that does not end");
    else
        reader->at += 2;
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && !reader->failed) {
        if (isspace((unsigned char)*reader->at))
            step(reader);
        else if (starts(reader, "//") || (*reader->at == '#' && reader->at == reader->line_start))
            skip_line(reader);
        else if (starts(reader, "/*"))
            skip_comment(reader);
        else
            return;
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

static void read_quoted(struct reader *reader)
{
    char text[TOKEN_MAX_B];
    size_t n = 0;
    struct diag_place place = here(reader);
    reader->at++;
    while (reader->at < reader->end && *reader->at != '"') {
        if (starts(reader, "\\\"")) reader->at++;
        if (n + 1 >= sizeof text || *reader->at == '\0') {
            fail(reader, place, *reader->at ? "a text of more than 4095 bytes" : "a zero byte");
            return;
        }
        text[n++] = *reader->at;
        step(reader);
    }
    if (reader->at == reader->end) {
        fail(reader, place, "a text that does not end (wanted \")");
        return;
    }
    reader->at++;
    reader->token.kind = TOKEN_ID;
    reader->token.quoted = true;
    reader->token.text = arena_text(reader->draft->perm, "%.*s", (int)n, text);
}

static void read_word(struct reader *reader)
{
    const char *start = reader->at;
    if (*reader->at == '-') reader->at++;
    while (reader->at < reader->end && is_word(*reader->at)) reader->at++;
    if (reader->at - start >= TOKEN_MAX_B) {
        fail(reader, here(reader), "a word of more than 4095 bytes");
        return;
    }
    reader->token.kind = TOKEN_ID;
    reader->token.text = arena_text(reader->draft->perm, "%.*s", (int)(reader->at - start), start);
}

static void advance(struct reader *reader)
{
    skip_blanks(reader);
    reader->token = (struct token){.kind = TOKEN_END, .place = here(reader)};
    if (reader->failed || reader->at >= reader->end) return;
    char c = *reader->at;
    if (starts(reader, "->") || starts(reader, "--")) {
        reader->token.kind = TOKEN_EDGE;
        reader->token.directed = reader->at[1] == '>';
        reader->at += 2;
    } else if (c == '"') {
        read_quoted(reader);
    } else if (is_word(c) || c == '-') {
        read_word(reader);
    } else if (strchr("{}[]=;,", c) && c != '\0') {
        reader->token.kind = TOKEN_MARK;
        reader->token.mark = c;
        reader->at++;
    } else {
        fail(reader, reader->token.place,
             "not understood here (a name, {, }, [, ], =, ;, -> or -- is wanted)");
    }
}

static bool is_mark(const struct reader *reader, char mark)
{
    return reader->token.kind == TOKEN_MARK && reader->token.mark == mark;
}

static bool is_keyword(const struct reader *reader, const char *word)
{
    return reader->token.kind == TOKEN_ID && !reader->token.quoted &&
           strcasecmp(reader->token.text, word) == 0;
}

static bool take_mark(struct reader *reader, char mark)
{
    if (!is_mark(reader, mark)) return false;
    advance(reader);
    return true;
}

/* The text of a name, NULL (reported) when something else stands there. */
static const char *take_id(struct reader *reader, const char *wanted)
{
    if (reader->token.kind != TOKEN_ID) {
        fail(reader, reader->token.place, wanted);
        return NULL;
    }
    const char *text = reader->token.text;
    advance(reader);
    return text;
}

/* ---- attributes ---- */

static bool take_count(struct reader *reader, const char *text, int max, struct diag_place place,
                       int *count)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 0 || value > max) {
        diag_error(reader->draft->diag, place, "\"%s\" is no whole number from 0 to %d", text, max);
        return false;
    }
    *count = (int)value;
    return true;
}

static void set_attribute(struct reader *reader, const char *key, const char *value,
                          struct diag_place place, struct attributes *out)
{
    struct graph_draft *draft = reader->draft;
    if (strcmp(key, "rate") == 0)
        graph_draft_rate(draft, value, place, &out->way);
    else if (strcmp(key, "latency") == 0)
        graph_draft_latency(draft, value, place, &out->way);
    else if (strcmp(key, "name") == 0)
        out->name = value;
    else if (strcmp(key, "label") == 0)
        out->label = value;
    else if (strcmp(key, "dir") == 0)
        out->both = strcmp(value, "both") == 0;
    else if (strcmp(key, "tier") == 0)
        out->global = strcmp(value, "global") == 0;
    else if (strcmp(key, "count") == 0)
        take_count(reader, value, MAX_COUNT, place, &out->count);
    else if (strcmp(key, "stage") == 0)
        take_count(reader, value, N_STAGES - 1, place, &out->stage);
    else if (strcmp(key, "node") == 0)
        take_count(reader, value, TOPO_MAX_GPUS, place, &out->node);
    else if (strcmp(key, "nic") == 0)
        take_count(reader, value, TOPO_MAX_GPUS, place, &out->nic);
}

static void read_attribute(struct reader *reader, struct attributes *out)
{
    const char *key = take_id(reader, "the name of an attribute or ] is wanted");
    if (key && !is_mark(reader, '='))
        fail(reader, reader->token.place, "= is wanted behind an attribute's name");
    if (!key || reader->failed) return;
    advance(reader);
    struct diag_place place = reader->token.place;
    const char *value = take_id(reader, "an attribute's value is wanted");
    if (value) set_attribute(reader, key, value, place, out);
    if (!take_mark(reader, ',')) take_mark(reader, ';');
}

/* [key=value, ...] [...], if they are there */
static void read_attributes(struct reader *reader, struct attributes *out)
{
    while (take_mark(reader, '[')) {
        while (!reader->failed && !take_mark(reader, ']')) read_attribute(reader, out);
    }
}

/* ---- statements ---- */

static int take_vertex(struct reader *reader)
{
    struct diag_place place = reader->token.place;
    const char *id = take_id(reader, "the name of a vertex is wanted");
    bool made = false;
    if (!id) return -1;
    int v = graph_draft_vertex(reader->draft, id, place, &made);
    if (v < 0) reader->failed = true;
    if (made) reader->draft->vertices[v].stage = reader->vertex[reader->depth].stage;
    return v;
}

/* label "400 Gbps" says the rate where nothing else does; other labels are for people */
static void rate_by_label(struct attributes *attributes)
{
    double rate_Bps;
    bool says = attributes->way.rate_Bps <= 0 && attributes->label &&
                unit_parse(attributes->label, DIM_RATE, &rate_Bps);
    if (says && rate_Bps >= 1e-3 && rate_Bps <= 1e18) attributes->way.rate_Bps = rate_Bps;
}

static void add_edge(struct reader *reader, int src, int dst, const struct attributes *attributes,
                     bool directed, struct diag_place place)
{
    struct draft_link link = {.src = src,
                              .dst = dst,
                              .way = attributes->way,
                              .one_way = directed && !attributes->both,
                              .global = attributes->global};
    for (int i = 0; i < attributes->count; i++) {
        if (graph_draft_link(reader->draft, link, place)) continue;
        reader->failed = true;
        return;
    }
}

/* -> b: the vertex that an edge leads to, -1 (reported) when there is none. */
static int take_end(struct reader *reader)
{
    if (reader->token.directed != reader->digraph)
        fail(reader, reader->token.place,
             reader->digraph ? "-> is wanted in a digraph" : "-- is wanted in a graph");
    if (reader->failed) return -1;
    advance(reader);
    if (is_mark(reader, '{') || is_keyword(reader, "subgraph")) {
        fail(reader, reader->token.place, "an edge to a subgraph (wanted: to a vertex)");
        return -1;
    }
    return take_vertex(reader);
}

/* a -> b -> c [attributes]: the attributes count for all of the chain, so its ends are kept. */
static void read_edges(struct reader *reader, int first, struct diag_place place)
{
    int n = 1, room = 2;
    int *ends = arena_new(reader->draft->perm, int, room);
    bool directed = reader->token.directed;
    ends[0] = first;
    while (!reader->failed && reader->token.kind == TOKEN_EDGE) {
        if (n == room) {
            room *= 2;
            ends = arena_grow(reader->draft->perm, int, ends, n, room);
        }
        ends[n] = take_end(reader);
        if (ends[n++] < 0) return;
    }
    struct attributes attributes = reader->edge[reader->depth];
    read_attributes(reader, &attributes);
    rate_by_label(&attributes);
    for (int i = 1; i < n && !reader->failed; i++)
        add_edge(reader, ends[i - 1], ends[i], &attributes, directed, place);
}

static void read_vertex(struct reader *reader, int v)
{
    struct draft_vertex *vertex = &reader->draft->vertices[v];
    struct attributes attributes = none;
    attributes.stage = vertex->stage;
    read_attributes(reader, &attributes);
    vertex->stage = attributes.stage;
    if (attributes.label) vertex->name = attributes.label;
    if (attributes.name) vertex->name = attributes.name;
    if (attributes.node >= 0) vertex->node = attributes.node;
    if (attributes.nic >= 0) vertex->nic = attributes.nic;
}

static void open_block(struct reader *reader)
{
    if (reader->depth + 1 == MAX_DEPTH) {
        fail(reader, reader->token.place, "blocks within blocks, more than 63 deep");
        return;
    }
    reader->depth++;
    reader->edge[reader->depth] = reader->edge[reader->depth - 1];
    reader->vertex[reader->depth] = reader->vertex[reader->depth - 1];
    advance(reader);
}

static void read_subgraph(struct reader *reader)
{
    if (is_keyword(reader, "subgraph")) {
        advance(reader);
        if (reader->token.kind == TOKEN_ID) advance(reader);
    }
    if (is_mark(reader, '{'))
        open_block(reader);
    else
        fail(reader, reader->token.place, "{ is wanted");
}

/* "a = b" sets an attribute of the graph: a is no vertex. */
static bool skip_assignment(struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && isspace((unsigned char)*at)) at++;
    if (reader->token.kind != TOKEN_ID || at == reader->end || *at != '=') return false;
    advance(reader);
    advance(reader);
    take_id(reader, "a value is wanted behind =");
    return true;
}

static void read_edges_or_vertex(struct reader *reader)
{
    struct diag_place place = reader->token.place;
    int v = take_vertex(reader);
    if (v < 0) return;
    if (reader->token.kind == TOKEN_EDGE)
        read_edges(reader, v, place);
    else
        read_vertex(reader, v);
}

static void read_statement(struct reader *reader)
{
    struct attributes ignored = none;
    if (is_mark(reader, '{') || is_keyword(reader, "subgraph")) {
        read_subgraph(reader);
    } else if (is_keyword(reader, "graph")) {
        advance(reader);
        read_attributes(reader, &ignored);
    } else if (is_keyword(reader, "node")) {
        advance(reader);
        read_attributes(reader, &reader->vertex[reader->depth]);
    } else if (is_keyword(reader, "edge")) {
        advance(reader);
        read_attributes(reader, &reader->edge[reader->depth]);
    } else if (!skip_assignment(reader)) {
        read_edges_or_vertex(reader);
    }
}

static void read_block(struct reader *reader)
{
    while (!reader->failed && reader->depth > 0) {
        if (reader->token.kind == TOKEN_END) {
            fail(reader, reader->token.place, "the file ends inside a graph (wanted })");
        } else if (is_mark(reader, '}')) {
            reader->depth--;
            advance(reader);
        } else if (!take_mark(reader, ';') && !take_mark(reader, ',')) {
            read_statement(reader);
        }
    }
}

void dot_read(struct graph_draft *draft, const char *text, size_t length)
{
    struct reader *reader = arena_new(draft->perm, struct reader, 1);
    reader->draft = draft;
    reader->at = reader->line_start = text;
    reader->end = text + length;
    reader->line = 1;
    reader->edge[0] = reader->vertex[0] = none;
    advance(reader);
    if (is_keyword(reader, "strict")) advance(reader);
    reader->digraph = is_keyword(reader, "digraph");
    if (!reader->digraph && !is_keyword(reader, "graph")) {
        fail(reader, reader->token.place, "no graph (wanted: graph or digraph)");
        return;
    }
    advance(reader);
    if (reader->token.kind == TOKEN_ID) advance(reader);
    if (is_mark(reader, '{'))
        open_block(reader);
    else
        fail(reader, reader->token.place, "{ is wanted");
    read_block(reader);
    if (!reader->failed && reader->token.kind != TOKEN_END)
        fail(reader, reader->token.place, "text after the graph");
}
