#include "io/links.h"

#include "io/keys.h"
#include "net/fabric.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a change that comes in the course of the run */
struct change {
    struct link_event event;
    double noticed_s; /* when routes take it into account */
    int number;       /* as read: ties keep that order */
};

struct links {
    const struct link_reader *reader;
    struct inputs *in;
    struct change *changes;
    int n, capacity;
};

static struct diag_place place_of(const struct links *links, const struct json_node *node)
{
    return json_place(links->reader->json, node, links->reader->perm);
}

static void add_change(struct links *links, int link, const struct degraded_keys *keys)
{
    const struct link *now = &links->in->topo->links[link];
    double capacity_Bps = keys->bandwidth_Bps > 0 ? keys->bandwidth_Bps : now->capacity_Bps;
    if (links->n == links->capacity) {
        links->capacity = 2 * links->capacity + 16;
        links->changes = arena_grow(links->reader->perm, struct change, links->changes, links->n,
                                    links->capacity);
    }
    links->changes[links->n] = (struct change){
        {keys->at_s, link, capacity_Bps * keys->factor, keys->failed},
        keys->at_s + keys->detection_s,
        links->n,
    };
    links->n++;
}

static void change_link(struct links *links, int number, const struct degraded_keys *keys)
{
    struct link *link = &links->in->topo->links[number];
    if (keys->at_s > 0) {
        add_change(links, number, keys);
        return;
    }
    if (keys->bandwidth_Bps > 0) link->capacity_Bps = keys->bandwidth_Bps;
    if (keys->latency_s > 0) link->latency_s = keys->latency_s;
    link->capacity_Bps *= keys->factor;
    link->failed |= keys->failed;
}

/* The links of a name or pattern; returns how many. */
static int change_named(struct links *links, const char *pattern, const struct degraded_keys *keys)
{
    const struct topo *topo = links->in->topo;
    if (!strpbrk(pattern, "*?[")) {
        int link = topo_find_link(topo, pattern);
        if (link >= 0) change_link(links, link, keys);
        return link >= 0;
    }
    int n = 0;
    for (int l = 0; l < topo->n_links; l++) {
        char name[TOPO_NAME_MAX];
        topo_link_name(topo, l, name, sizeof name);
        if (fnmatch(pattern, name, 0) != 0) continue;
        change_link(links, l, keys);
        n++;
    }
    return n;
}

/* The first link of each kind between servers, for who does not know how links are called here. */
static const char *link_examples(const struct topo *topo, struct arena *perm)
{
    const char *all = "";
    for (int tier = 0; tier < N_TIERS; tier++) {
        int l = topo->fabric ? topo->fabric->first_link : 0;
        while (l < topo->n_links && (int)topo->links[l].tier != tier) l++;
        if (l == topo->n_links) continue;
        char name[TOPO_NAME_MAX];
        topo_link_name(topo, l, name, sizeof name);
        all = arena_text(perm, "%s%s\"%s\"", all, *all ? ", " : "", name);
    }
    return all;
}

static void unknown_link(const struct links *links, const struct json_node *node, const char *name)
{
    struct arena *perm = links->reader->perm;
    const struct topo *topo = links->in->topo;
    int n = topo->n_links < 20000 ? topo->n_links : 20000; /* enough to find a slip of the finger */
    const char **names = arena_new(perm, const char *, n);
    for (int l = 0; l < n; l++) {
        char text[TOPO_NAME_MAX];
        topo_link_name(topo, l, text, sizeof text);
        names[l] = arena_text(perm, "%s", text);
    }
    const char *near = diag_nearest(name, names, n);
    const char *such = near ? arena_text(perm, "\"%s\"", near) : link_examples(topo, perm);
    diag_error(links->reader->diag, place_of(links, node), "no link is called \"%s\" (such as %s)",
               name, such);
}

/* "A <-> B" and "A <-> B #2" are both directions of a cable. */
static void change_both(struct links *links, const struct json_node *node,
                        const struct degraded_keys *keys)
{
    const char *name = keys->link;
    const char *arrow = strstr(name, " <-> ");
    const char *far = arrow + strlen(" <-> ");
    const char *number = strstr(far, " #");
    if (!number) number = far + strlen(far);
    int near_length = (int)(arrow - name);
    int far_length = (int)(number - far);
    struct arena *perm = links->reader->perm;
    const char *there = arena_text(perm, "%.*s -> %s", near_length, name, far);
    const char *back =
        arena_text(perm, "%.*s -> %.*s%s", far_length, far, near_length, name, number);
    if (change_named(links, there, keys) == 0) unknown_link(links, node, there);
    if (change_named(links, back, keys) == 0) unknown_link(links, node, back);
}

static bool changes_nothing(const struct degraded_keys *keys)
{
    bool same = keys->factor >= 1 && keys->bandwidth_Bps <= 0 && keys->latency_s <= 0;
    return same && !keys->failed && keys->at_s <= 0;
}

static void load_one(struct links *links, const struct json_node *node)
{
    const struct link_reader *reader = links->reader;
    const struct part *part = &key_parts[KEYS_DEGRADED];
    struct degraded_keys keys = {.link = ""};
    int before = reader->diag->n_messages;
    field_load(part->fields, part->n_fields, NULL, reader->json, node, &keys, part->key,
               reader->log, reader->perm, reader->diag);
    if (reader->diag->n_messages > before) return;
    if (changes_nothing(&keys)) {
        diag_error(reader->diag, place_of(links, node),
                   "nothing is changed (wanted factor, bandwidth, latency or failed)");
    } else if (keys.at_s > 0 && keys.latency_s > 0) {
        diag_error(reader->diag, place_of(links, json_get(node, "latency")),
                   "latencies hold for the whole run (leave out latency or at)");
    } else if (strstr(keys.link, " <-> ")) {
        change_both(links, json_get(node, "link"), &keys);
    } else if (change_named(links, keys.link, &keys) == 0) {
        unknown_link(links, json_get(node, "link"), keys.link);
    }
}

static int by_time(const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;
    if (a->event.at_s < b->event.at_s) return -1;
    if (a->event.at_s > b->event.at_s) return 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void list_events(struct links *links)
{
    struct link_event *events = arena_new(links->reader->perm, struct link_event, links->n);
    qsort(links->changes, (size_t)links->n, sizeof *links->changes, by_time);
    for (int i = 0; i < links->n; i++) events[i] = links->changes[i].event;
    links->in->events = events;
    links->in->n_events = links->n;
}

/* The network as routes see it at a moment: links fail and come back when that is noticed. */
static struct topo *topo_at(const struct links *links, double time_s)
{
    struct arena *perm = links->reader->perm;
    struct topo *topo = arena_new(perm, struct topo, 1);
    *topo = *links->in->topo;
    topo->links = arena_new(perm, struct link, topo->n_links);
    memcpy(topo->links, links->in->topo->links, (size_t)topo->n_links * sizeof *topo->links);
    for (int i = 0; i < links->n; i++) {
        const struct change *change = &links->changes[i];
        if (change->noticed_s <= time_s)
            topo->links[change->event.link].failed = change->event.failed;
    }
    return topo;
}

static bool same_routes(const struct topo *a, const struct topo *b)
{
    for (int l = 0; l < a->n_links; l++)
        if (a->links[l].failed != b->links[l].failed) return false;
    return true;
}

static double next_noticed_s(const struct links *links, double after_s)
{
    double next_s = HUGE_VAL;
    for (int i = 0; i < links->n; i++) {
        double noticed_s = links->changes[i].noticed_s;
        if (noticed_s > after_s) next_s = fmin(next_s, noticed_s);
    }
    return next_s;
}

static void list_epochs(const struct links *links, struct diag_place place)
{
    const struct link_reader *reader = links->reader;
    struct route_epoch *epochs = arena_new(reader->perm, struct route_epoch, links->n);
    const struct topo *before = links->in->topo;
    int n = 0;
    double at_s = next_noticed_s(links, 0);
    while (!isinf(at_s) && diag_ok(reader->diag)) {
        struct topo *topo = topo_at(links, at_s);
        if (!same_routes(before, topo)) {
            topo_reroute(topo, reader->perm, reader->diag, place);
            epochs[n++] = (struct route_epoch){at_s, topo};
            before = topo;
        }
        at_s = next_noticed_s(links, at_s);
    }
    links->in->epochs = epochs;
    links->in->n_epochs = n;
}

void links_load(const struct link_reader *reader, const struct json_node *list, struct inputs *in)
{
    struct links links = {.reader = reader, .in = in};
    for (int i = 0; i < json_size(list); i++) load_one(&links, json_at(list, i));
    if (!diag_ok(reader->diag)) return;
    struct diag_place place = place_of(&links, list);
    topo_reroute(in->topo, reader->perm, reader->diag, place);
    if (!diag_ok(reader->diag) || links.n == 0) return;
    list_events(&links);
    list_epochs(&links, place);
}
