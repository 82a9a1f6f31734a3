#include "io/graph_draft.h"

#include "base/must.h"
#include "base/units.h"
#include "net/topo.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, NAME_MAX_B = 60 };

/* ---- vertices by id ---- */

/* Source: Fowler, Noll & Vo, FNV-1a, 1991. */
static uint32_t hash_of(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static int bucket_of(const struct graph_draft *draft, const char *id)
{
    int mask = draft->n_buckets - 1;
    int b = (int)(hash_of(id) & (uint32_t)mask);
    while (draft->buckets[b] != 0 && strcmp(draft->vertices[draft->buckets[b] - 1].id, id) != 0)
        b = (b + 1) & mask;
    return b;
}

/* Twice as many buckets as vertices at least. */
static void grow(struct graph_draft *draft)
{
    int room = draft->cap_vertices > 0 ? 2 * draft->cap_vertices : FIRST_ROOM;
    draft->vertices =
        arena_grow(draft->perm, struct draft_vertex, draft->vertices, draft->n_vertices, room);
    draft->cap_vertices = room;
    draft->n_buckets = 2 * room;
    draft->buckets = arena_new(draft->perm, int32_t, draft->n_buckets);
    for (int v = 0; v < draft->n_vertices; v++)
        draft->buckets[bucket_of(draft, draft->vertices[v].id)] = v + 1;
}

int graph_draft_find(const struct graph_draft *draft, const char *id)
{
    return draft->n_buckets == 0 ? -1 : draft->buckets[bucket_of(draft, id)] - 1;
}

int graph_draft_vertex(struct graph_draft *draft, const char *id, struct diag_place place,
                       bool *made)
{
    int found = graph_draft_find(draft, id);
    *made = found < 0;
    if (found >= 0) return found;
    if (draft->n_vertices == GRAPH_MAX_VERTICES) {
        diag_error(draft->diag, place, "more than %d vertices", (int)GRAPH_MAX_VERTICES);
        return -1;
    }
    if (draft->n_vertices == draft->cap_vertices) grow(draft);
    int v = draft->n_vertices++;
    draft->vertices[v] = (struct draft_vertex){.id = id, .node = -1, .nic = -1, .place = place};
    draft->buckets[bucket_of(draft, id)] = v + 1;
    return v;
}

static const char *name_of(const struct graph_draft *draft, int vertex)
{
    const struct draft_vertex *v = &draft->vertices[vertex];
    return v->name ? v->name : v->id;
}

/* ---- links ---- */

bool graph_draft_link(struct graph_draft *draft, struct draft_link link, struct diag_place place)
{
    if (link.src == link.dst) {
        diag_error(draft->diag, place, "a link from \"%s\" to itself",
                   draft->vertices[link.src].id);
        return false;
    }
    if (draft->n_links == GRAPH_MAX_CABLES) {
        diag_error(draft->diag, place, "more than %d links", (int)GRAPH_MAX_CABLES);
        return false;
    }
    if (draft->n_links == draft->cap_links) {
        draft->cap_links = draft->cap_links > 0 ? 2 * draft->cap_links : FIRST_ROOM;
        draft->links = arena_grow(draft->perm, struct draft_link, draft->links, draft->n_links,
                                  draft->cap_links);
    }
    link.line = place.line;
    draft->links[draft->n_links++] = link;
    return true;
}

/* what fabric_check_link asks of all links */
struct limits {
    const char *what;
    double min, max;
};

static bool in_range(struct graph_draft *draft, const char *text, double value,
                     struct limits limits, struct diag_place place)
{
    if (value >= limits.min && value <= limits.max) return true;
    diag_error(draft->diag, place, "%s \"%s\" is out of range (%g to %g, SI)", limits.what, text,
               limits.min, limits.max);
    return false;
}

bool graph_draft_rate(struct graph_draft *draft, const char *text, struct diag_place place,
                      struct graph_way *way)
{
    double rate_Bps;
    if (!unit_parse(text, DIM_RATE, &rate_Bps)) {
        diag_error(draft->diag, place, "\"%s\" is not %s", text, unit_wanted(DIM_RATE));
        return false;
    }
    if (!in_range(draft, text, rate_Bps, (struct limits){"rate", 1e-3, 1e18}, place)) return false;
    way->rate_Bps = rate_Bps;
    return true;
}

bool graph_draft_latency(struct graph_draft *draft, const char *text, struct diag_place place,
                         struct graph_way *way)
{
    double latency_s;
    if (!unit_parse(text, DIM_TIME, &latency_s)) {
        diag_error(draft->diag, place, "\"%s\" is not %s", text, unit_wanted(DIM_TIME));
        return false;
    }
    if (!in_range(draft, text, latency_s, (struct limits){"latency", 0, 1e6}, place)) return false;
    way->latency_s = latency_s;
    return true;
}

/* ---- what the vertices are ---- */

enum role { ROLE_SWITCH, ROLE_CARD, ROLE_INSIDE };

struct part {
    enum role role;
    int index; /* among its like */
};

/* Step over a word and a whole number behind it of at most eight digits; false when they are not there. */
static bool take_number(const char **at, const char *word, int *number)
{
    size_t n = strlen(word);
    const char *digit = *at + n;
    if (strncmp(*at, word, n) != 0) return false;
    for (*number = 0; *digit >= '0' && *digit <= '9' && digit - *at < (ptrdiff_t)n + 8; digit++)
        *number = 10 * *number + (*digit - '0');
    if (digit == *at + n) return false;
    *at = digit;
    return true;
}

static bool is_inside(const char *name)
{
    static const char *const parts[] = {" host ", " pcie "};
    int number;
    if (take_number(&name, "gpu ", &number)) return *name == '\0';
    if (!take_number(&name, "node ", &number)) return false;
    if (strcmp(name, " nvswitch") == 0) return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (take_number(&name, parts[i], &number)) return *name == '\0';
    }
    return false;
}

/* Sets the numbers of a card whose name says them. */
static enum role role_of(const struct graph_draft *draft, struct draft_vertex *vertex, int v)
{
    int node, nic;
    const char *name = name_of(draft, v), *at = name;
    if (vertex->node < 0 && take_number(&at, "node ", &node) && take_number(&at, " nic ", &nic) &&
        *at == '\0') {
        vertex->node = node;
        vertex->nic = nic;
    }
    if (vertex->node >= 0) {
        if (vertex->nic < 0) vertex->nic = 0;
        return ROLE_CARD;
    }
    return is_inside(name) ? ROLE_INSIDE : ROLE_SWITCH;
}

static bool is_name(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == '"' || name[i] == '\\') return false;
    }
    return n > 0 && n <= NAME_MAX_B && !strstr(name, " -> ") && !strstr(name, " <-> ") &&
           !strstr(name, " #");
}

struct sorted_name {
    const char *name;
    int32_t vertex;
};

static int by_name(const void *left, const void *right)
{
    const struct sorted_name *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

/* Kept, not scratch: an error is written where scratch would be. */
static void check_names(struct graph_draft *draft)
{
    int n = draft->n_vertices;
    struct sorted_name *names = arena_new(draft->perm, struct sorted_name, n);
    for (int v = 0; v < n; v++) {
        names[v] = (struct sorted_name){name_of(draft, v), v};
        if (is_name(names[v].name)) continue;
        diag_error(draft->diag, draft->vertices[v].place,
                   "\"%.80s\" is no name (1 to %d letters, no \" -> \" or \" #\")", names[v].name,
                   (int)NAME_MAX_B);
    }
    if (n > 0) qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 1; i < n; i++) {
        if (strcmp(names[i].name, names[i - 1].name) != 0) continue;
        diag_error(draft->diag, draft->vertices[names[i].vertex].place,
                   "a second vertex is called \"%s\" (the first in line %d)", names[i].name,
                   draft->vertices[names[i - 1].vertex].place.line);
    }
}

static int count_parts(struct graph_draft *draft, struct part *parts, int *n_cards)
{
    int n_switches = 0;
    *n_cards = 0;
    for (int v = 0; v < draft->n_vertices; v++) {
        enum role role = role_of(draft, &draft->vertices[v], v);
        int index = role == ROLE_SWITCH ? n_switches++ : role == ROLE_CARD ? (*n_cards)++ : 0;
        parts[v] = (struct part){role, index};
    }
    return n_switches;
}

/* ---- cables ---- */

/* a link from the lower to the higher end, to be sorted */
struct tie {
    int32_t a, b, order;
    bool backwards;
};

static int by_ends(const void *left, const void *right)
{
    const struct tie *a = left, *b = right;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    if (a->b != b->b) return a->b < b->b ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static struct diag_place line_of(const struct graph_draft *draft, const struct tie *tie)
{
    return (struct diag_place){.file = draft->file, .line = draft->links[tie->order].line};
}

/* where links end up: switches first, then cards */
static int number_of(const struct part *part, int n_switches)
{
    return part->role == ROLE_CARD ? n_switches + part->index : part->index;
}

static int list_ties(struct graph_draft *draft, const struct part *parts, int n_switches,
                     struct tie *ties)
{
    int n = 0;
    for (int l = 0; l < draft->n_links; l++) {
        const struct part *src = &parts[draft->links[l].src], *dst = &parts[draft->links[l].dst];
        if (src->role == ROLE_INSIDE || dst->role == ROLE_INSIDE) continue;
        if (src->role == ROLE_CARD && dst->role == ROLE_CARD) {
            diag_error(draft->diag,
                       (struct diag_place){.file = draft->file, .line = draft->links[l].line},
                       "a link joins two cards, \"%s\" and \"%s\" (one end is a switch)",
                       name_of(draft, draft->links[l].src), name_of(draft, draft->links[l].dst));
            continue;
        }
        int a = number_of(src, n_switches), b = number_of(dst, n_switches);
        ties[n++] = a < b ? (struct tie){a, b, l, false} : (struct tie){b, a, l, true};
    }
    if (n > 0) qsort(ties, (size_t)n, sizeof *ties, by_ends);
    return n;
}

static struct graph_cable cable_of(const struct graph_draft *draft, const struct tie *there,
                                   const struct tie *back)
{
    const struct draft_link *link = &draft->links[there->order];
    struct graph_cable cable = {.a = there->a, .b = there->b, .global = link->global};
    cable.ways[there->backwards] = link->way;
    cable.ways[!there->backwards] = draft->links[back->order].way;
    return cable;
}

/* Links one way are paired with those back, the first with the first; the cables of equal ends. */
static int pair_up(struct graph_draft *draft, const struct tie *ties, int n,
                   struct graph_cable *cables)
{
    int n_cables = 0, back = 0;
    for (int i = 0; i < n; i++) {
        const struct draft_link *link = &draft->links[ties[i].order];
        if (!link->one_way) {
            cables[n_cables++] = cable_of(draft, &ties[i], &ties[i]);
            continue;
        }
        if (ties[i].backwards) continue;
        while (back < n && !(draft->links[ties[back].order].one_way && ties[back].backwards))
            back++;
        if (back == n) {
            diag_error(draft->diag, line_of(draft, &ties[i]),
                       "a link one way without one back (links are full duplex)");
            return n_cables;
        }
        cables[n_cables++] = cable_of(draft, &ties[i], &ties[back++]);
    }
    for (; back < n; back++) {
        if (!draft->links[ties[back].order].one_way || !ties[back].backwards) continue;
        diag_error(draft->diag, line_of(draft, &ties[back]),
                   "a link one way without one back (links are full duplex)");
        return n_cables;
    }
    return n_cables;
}

static int list_cables(struct graph_draft *draft, const struct part *parts, int n_switches,
                       struct graph_cable *cables)
{
    struct tie *ties = arena_new(draft->perm, struct tie, draft->n_links); /* errors, as above */
    int n = list_ties(draft, parts, n_switches, ties), n_cables = 0;
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && ties[end].a == ties[i].a && ties[end].b == ties[i].b;) end++;
        n_cables += pair_up(draft, ties + i, end - i, cables + n_cables);
    }
    return n_cables;
}

/* The cables at cards become theirs; returns how many others there are, moved to the front. */
static int plug_in(struct graph_draft *draft, struct graph_cable *cables, int n, int n_switches,
                   struct graph_host *hosts)
{
    int n_left = 0;
    for (int c = 0; c < n; c++) {
        struct graph_cable cable = cables[c];
        if (cable.b < n_switches) {
            cables[n_left++] = cable;
            continue;
        }
        struct graph_host *host = &hosts[cable.b - n_switches];
        if (host->at >= 0)
            diag_error(draft->diag, (struct diag_place){.file = draft->file},
                       "\"node %d nic %d\" has two cables (a card with two ports is two cards)",
                       host->node, host->nic);
        host->at = cable.a;
        host->ways[0] = cable.ways[1];
        host->ways[1] = cable.ways[0];
    }
    return n_left;
}

static int by_card(const void *left, const void *right)
{
    const struct graph_host *a = left, *b = right;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return (a->nic > b->nic) - (a->nic < b->nic);
}

static void check_hosts(struct graph_draft *draft, struct graph_host *hosts, int n)
{
    struct diag_place whole = {.file = draft->file};
    if (n > 0) qsort(hosts, (size_t)n, sizeof *hosts, by_card);
    for (int h = 0; h < n; h++) {
        const struct graph_host *host = &hosts[h];
        if (host->at < 0)
            diag_error(draft->diag, whole, "\"node %d nic %d\" has no cable", host->node,
                       host->nic);
        if (h > 0 && by_card(host, host - 1) == 0)
            diag_error(draft->diag, whole, "two vertices are node %d nic %d", host->node,
                       host->nic);
    }
}

static void fill_vertices(struct graph_draft *draft, const struct part *parts, const char **names,
                          int8_t *stages, struct graph_host *hosts)
{
    for (int v = 0; v < draft->n_vertices; v++) {
        const struct draft_vertex *vertex = &draft->vertices[v];
        if (parts[v].role == ROLE_SWITCH) {
            names[parts[v].index] = name_of(draft, v);
            stages[parts[v].index] = (int8_t)vertex->stage;
        } else if (parts[v].role == ROLE_CARD) {
            hosts[parts[v].index] =
                (struct graph_host){.node = vertex->node, .nic = vertex->nic, .at = -1};
        }
    }
}

const struct net_graph *graph_draft_finish(struct graph_draft *draft)
{
    struct arena *perm = draft->perm;
    int before = draft->diag->n_messages;
    check_names(draft);
    struct part *parts = arena_new(perm, struct part, draft->n_vertices);
    int n_cards, n_switches = count_parts(draft, parts, &n_cards);
    if (n_switches > GRAPH_MAX_SWITCHES)
        diag_error(draft->diag, (struct diag_place){.file = draft->file},
                   "%d switches (at most %d)", n_switches, (int)GRAPH_MAX_SWITCHES);
    const char **names = arena_new(perm, const char *, n_switches);
    int8_t *stages = arena_new(perm, int8_t, n_switches);
    struct graph_host *hosts = arena_new(perm, struct graph_host, n_cards);
    struct graph_cable *cables = arena_new(perm, struct graph_cable, draft->n_links);
    fill_vertices(draft, parts, names, stages, hosts);
    int n_cables = list_cables(draft, parts, n_switches, cables);
    n_cables = plug_in(draft, cables, n_cables, n_switches, hosts);
    check_hosts(draft, hosts, n_cards);
    if (draft->diag->n_messages != before) return NULL;
    struct net_graph *net = arena_new(perm, struct net_graph, 1);
    *net = (struct net_graph){draft->file, names,    stages, n_switches,
                              cables,      n_cables, hosts,  n_cards};
    return net;
}
