/* Disjoint ways: the largest flow where every link carries one unit, found by augmenting along shortest ways
 * (Menger 1927; Edmonds & Karp, JACM 19(2), 1972). */
#include "net/survey.h"

#include "net/fabric.h"

enum { MAX_LINKS_TRIED = 1 << 21 };

/* links between switches by the switch that they leave */
struct mesh {
    const struct topo *topo;
    int n, first_switch, first_link;
    int32_t *first, *links;
    int32_t *queue, *via, *level;
    double *ways;
    int8_t *room; /* of each of the fabric's links */
};

static int switch_at(const struct mesh *mesh, int vertex)
{
    int s = vertex - mesh->first_switch;
    return s >= 0 && s < mesh->n ? s : -1;
}

static bool is_between(const struct mesh *mesh, int link)
{
    const struct link *l = &mesh->topo->links[link];
    return !l->failed && switch_at(mesh, l->src) >= 0 && switch_at(mesh, l->dst) >= 0;
}

static struct mesh open_mesh(const struct topo *topo, struct arena *scratch)
{
    struct mesh mesh = {.topo = topo,
                        .n = topo->fabric->n_switches,
                        .first_switch = topo->fabric->first_vertex,
                        .first_link = topo->fabric->first_link};
    int n_links = topo->n_links - mesh.first_link;
    mesh.first = arena_new(scratch, int32_t, mesh.n + 2);
    mesh.links = arena_new(scratch, int32_t, n_links);
    mesh.queue = arena_new(scratch, int32_t, mesh.n);
    mesh.via = arena_new(scratch, int32_t, mesh.n);
    mesh.level = arena_new(scratch, int32_t, mesh.n);
    mesh.ways = arena_new(scratch, double, mesh.n);
    mesh.room = arena_new(scratch, int8_t, n_links);
    int32_t *at = mesh.first + 1; /* counts, then places, then ends: the next one's starts */
    for (int l = mesh.first_link; l < topo->n_links; l++) {
        if (is_between(&mesh, l)) at[1 + switch_at(&mesh, topo->links[l].src)]++;
    }
    for (int s = 0; s < mesh.n; s++) at[s + 1] += at[s];
    for (int l = mesh.first_link; l < topo->n_links; l++) {
        if (!is_between(&mesh, l)) continue;
        mesh.links[at[switch_at(&mesh, topo->links[l].src)]++] = l;
        mesh.room[l - mesh.first_link] = 1;
    }
    return mesh;
}

/* Over one link from a switch to the next; returns whether that was not met before. */
static bool spread(struct mesh *mesh, int s, int link)
{
    int next = switch_at(mesh, mesh->topo->links[link].dst);
    bool is_new = mesh->level[next] < 0;
    if (is_new) {
        mesh->level[next] = mesh->level[s] + 1;
        mesh->ways[next] = 0;
        mesh->via[next] = link;
    }
    if (mesh->level[next] == mesh->level[s] + 1) mesh->ways[next] += mesh->ways[s];
    return is_new;
}

/* Levels from one switch over links with room; each counts its shortest ways. Stops behind `to`. */
static bool flood(struct mesh *mesh, int from, int to)
{
    int tail = 0;
    for (int s = 0; s < mesh->n; s++) mesh->level[s] = -1;
    mesh->level[from] = 0;
    mesh->ways[from] = 1;
    mesh->queue[tail++] = from;
    for (int head = 0; head < tail; head++) {
        int s = mesh->queue[head];
        if (mesh->level[to] >= 0 && mesh->level[s] >= mesh->level[to]) return true;
        for (int i = mesh->first[s]; i < mesh->first[s + 1]; i++) {
            int link = mesh->links[i];
            if (mesh->room[link - mesh->first_link] > 0 && spread(mesh, s, link))
                mesh->queue[tail++] = switch_at(mesh, mesh->topo->links[link].dst);
        }
    }
    return mesh->level[to] >= 0;
}

static void take_way(struct mesh *mesh, int from, int to)
{
    for (int s = to; s != from;) {
        int number = mesh->via[s] - mesh->first_link;
        mesh->room[number]--;
        mesh->room[number ^ 1]++; /* a cable is two links with neighbouring numbers */
        s = switch_at(mesh, mesh->topo->links[mesh->via[s]].src);
    }
}

static void count_ways(const struct topo *topo, struct survey *survey, struct arena scratch)
{
    int a = topo->links[fabric_port_up(topo, topo_port(topo, 0, 0))].dst;
    int b = topo->links[fabric_port_up(topo, topo_port(topo, topo->n_nodes - 1, 0))].dst;
    if (a == b) return;
    struct mesh mesh = open_mesh(topo, &scratch);
    int from = switch_at(&mesh, a), to = switch_at(&mesh, b);
    if (!flood(&mesh, from, to)) return;
    survey->shortest_ways = mesh.ways[to];
    survey->shortest_links = mesh.level[to];
    survey->disjoint_ways = -1;
    if (topo->n_links > MAX_LINKS_TRIED) return;
    survey->disjoint_ways = 0;
    do {
        take_way(&mesh, from, to);
        survey->disjoint_ways++;
    } while (flood(&mesh, from, to));
}

static int stage_of(const struct topo *topo, int vertex)
{
    struct vertex v = topo->vertices[vertex];
    return v.kind == VERTEX_SWITCH ? v.owner % N_STAGES : -1; /* cards are below all */
}

static void count_levels(const struct topo *topo, struct survey *survey)
{
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) {
        const struct link *link = &topo->links[l];
        int from = stage_of(topo, link->src), to = stage_of(topo, link->dst);
        if (from < 0 || link->failed) continue;
        struct survey_level *level = &survey->levels[from];
        if (link->tier == TIER_GLOBAL) level->global_Bps += link->capacity_Bps;
        if (to < from)
            level->down_Bps += link->capacity_Bps;
        else if (to > from)
            level->up_Bps += link->capacity_Bps;
    }
}

struct survey survey_network(const struct topo *topo, struct arena scratch)
{
    struct survey survey = {.disjoint_ways = 0};
    if (!topo->fabric) return survey;
    for (int l = topo->fabric->first_link; l < topo->n_links; l += 2)
        survey.n_cables[topo->links[l].tier]++;
    count_levels(topo, &survey);
    count_ways(topo, &survey, scratch);
    return survey;
}
