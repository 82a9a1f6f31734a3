#include "out/topo_plot.h"

#include "net/fabric.h"
#include "out/gnuplot.h"

#include <math.h>

enum { SIDE = 900, N_KINDS = 3 };

struct point {
    double x, y;
};

/* of the vertices of the fabric, then of the servers */
struct places {
    const struct topo *topo;
    struct point *switches, *servers;
    int n_of_stage[N_STAGES];
    bool layers;
};

static const struct {
    enum tier tier;
    const char *colour, *name;
} kinds[N_KINDS] = {{TIER_NIC, "#c8c8c8", "network card"},
                    {TIER_FABRIC, "#0060a8", "between switches"},
                    {TIER_GLOBAL, "#d1495b", "between groups or sites"}};

static int stage_of(const struct topo *topo, int s)
{
    return topo->vertices[topo->fabric->first_vertex + s].owner % N_STAGES;
}

static struct point on_circle(double part, double radius)
{
    const double TURN = 6.283185307179586;
    double x = radius * sin(TURN * part);
    double y = radius * cos(TURN * part);
    return (struct point){x, y};
}

static void place_switches(struct places *places)
{
    const struct topo *topo = places->topo;
    int n = topo->fabric->n_switches, met[N_STAGES] = {0};
    for (int s = 0; s < n; s++) places->n_of_stage[stage_of(topo, s)]++;
    places->layers = n == 1 || places->n_of_stage[STAGE_SPINE] > 0;
    for (int s = 0; s < n; s++) {
        int stage = stage_of(topo, s), place = met[stage]++;
        double part = (place + 0.5) / places->n_of_stage[stage];
        if (places->layers)
            places->switches[s] = (struct point){part, 1 + stage};
        else
            places->switches[s] = on_circle(part, stage == STAGE_GATEWAY ? 0.3 : 1);
    }
}

static void place_servers(struct places *places)
{
    int n = places->topo->n_nodes;
    for (int node = 0; node < n; node++) {
        double part = (node + 0.5) / n;
        places->servers[node] = places->layers ? (struct point){part, 0} : on_circle(part, 1.25);
    }
}

static struct point place_of(const struct places *places, int vertex)
{
    const struct topo *topo = places->topo;
    int s = vertex - topo->fabric->first_vertex;
    if (s >= 0) return places->switches[s];
    return places->servers[topo->vertices[vertex].owner];
}

/* One segment for each cable: the first of its two links. */
static bool write_lines(FILE *script, const struct places *places, int kind)
{
    const struct topo *topo = places->topo;
    bool any = false;
    fprintf(script, "$lines%d << end\n", kind);
    for (int l = topo->fabric->first_link; l < topo->n_links; l += 2) {
        const struct link *link = &topo->links[l];
        if (link->tier != kinds[kind].tier) continue;
        struct point a = place_of(places, link->src), b = place_of(places, link->dst);
        fprintf(script, "%.4f %.4f\n%.4f %.4f\n\n", a.x, a.y, b.x, b.y);
        any = true;
    }
    if (!any) fputs("NaN NaN\n", script); /* gnuplot wants a point */
    fputs("end\n", script);
    return any;
}

static void write_points(FILE *script, const char *name, const struct point *points, int n)
{
    fprintf(script, "$%s << end\n", name);
    for (int i = 0; i < n; i++) fprintf(script, "%.4f %.4f\n", points[i].x, points[i].y);
    fputs("end\n", script);
}

static void write_looks(FILE *script, const struct places *places, const char *title)
{
    fputs("set title ", script);
    gnuplot_text(script, title);
    fputs(" noenhanced font \"DejaVu Sans Bold,12\"\n"
          "unset border\nunset tics\nset key below noenhanced\nset offsets 0.02, 0.02, 0.1, 0.1\n",
          script);
    if (!places->layers) fputs("set size ratio -1\n", script);
}

void topo_plot_draw(const char *path, const struct topo *topo, const char *title,
                    struct arena *perm)
{
    struct places places = {.topo = topo,
                            .switches = arena_new(perm, struct point, topo->fabric->n_switches),
                            .servers = arena_new(perm, struct point, topo->n_nodes)};
    place_switches(&places);
    place_servers(&places);
    struct gnuplot plot = gnuplot_open(SIDE, SIDE);
    bool any[N_KINDS];
    write_looks(plot.script, &places, title);
    for (int k = 0; k < N_KINDS; k++) any[k] = write_lines(plot.script, &places, k);
    write_points(plot.script, "switches", places.switches, topo->fabric->n_switches);
    write_points(plot.script, "servers", places.servers, topo->n_nodes);
    fputs("plot ", plot.script);
    for (int k = 0; k < N_KINDS; k++) {
        if (!any[k]) continue;
        fprintf(plot.script, "$lines%d with lines linewidth 0.6 linecolor rgb '%s' title '%s', ", k,
                kinds[k].colour, kinds[k].name);
    }
    fputs("$switches with points pointtype 5 pointsize 0.9 linecolor rgb '#222222' title 'switch', "
          "$servers with points pointtype 7 pointsize 0.6 linecolor rgb '#2a9d8f' title 'server'\n",
          plot.script);
    gnuplot_draw(&plot, path, perm);
}
