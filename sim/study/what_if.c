#include "study/what_if.h"

#include "base/stats.h"
#include "bound.h"

#include <math.h>
#include <string.h>

/* Series of healthy clusters keep within these at large sizes (scenarios/rows/collectives.json, limits of
 * the suspicions); of what is off, by ratio, a suspicion has to explain half. */
const double what_if_slow = 1.3, what_if_fast = 0.75;
static const double EXPLAINS_FRAC = 0.5;

static const double LARGE_B = 8e6; /* from here on bandwidth tells, as there */

/* Between neighbouring sizes no link makes bandwidth fall so far; a change of algorithm does less, too. */
static const double COLLAPSE = 4, COLLAPSE_FROM_B = 1e6;

enum { MAX_SETS = 2 };

struct what_if {
    const char *name;
    const char *sets[MAX_SETS]; /* %g: that share of the rate of a card, in Gb/s */
    double rate_frac;
    bool (*fits)(const struct node_spec *node, bool between_nodes);
};

static bool has_cards(const struct node_spec *node, bool between_nodes)
{
    return between_nodes && node->nics_per_node > 1;
}

static bool has_network(const struct node_spec *node, bool between_nodes)
{
    (void)node;
    return between_nodes;
}

static bool has_gpudirect(const struct node_spec *node, bool between_nodes)
{
    return between_nodes && node->gpudirect;
}

static bool has_cards_and_gpudirect(const struct node_spec *node, bool between_nodes)
{
    return has_cards(node, between_nodes) && node->gpudirect;
}

static bool has_peers(const struct node_spec *node, bool between_nodes)
{
    (void)between_nodes;
    return node->gpus_per_node > 1;
}

static const struct what_if what_ifs[] = {
    {"one network card in use instead of all", {"/nics_per_node=1"}, 1, has_cards},
    {"no GPUDirect: cards reach GPUs through host memory",
     {"/node/gpudirect=false"},
     1,
     has_gpudirect},
    {"one network card in use, and no GPUDirect",
     {"/nics_per_node=1", "/node/gpudirect=false"},
     1,
     has_cards_and_gpudirect},
    {"TCP sockets instead of the card's own transport",
     {"/nic={\"base\": \"eth-100g\", \"bandwidth\": \"%gGbps\"}"},
     1,
     has_network},
    {"a card at half its rate: a slot of 8 lanes, or one port of two",
     {"/nic/bandwidth=\"%gGbps\""},
     0.5,
     has_network},
    {"GPUs go through host memory: no peer access, links between them unused",
     {"/node/p2p=false", "/node/scaleup=\"none\""},
     1,
     has_peers},
};

/* misfit — median of |ln(measured / predicted)| over the large sizes, over all where there are none. */
static double misfit(const struct against_point *points, int n, const double *predicted_s,
                     struct arena scratch)
{
    double *x = arena_new(&scratch, double, n);
    int n_in = 0;
    for (int pass = 0; pass < 2 && n_in == 0; pass++) {
        for (int i = 0; i < n; i++) {
            if (pass == 0 && points[i].size_B < LARGE_B) continue;
            x[n_in++] = fabs(log(points[i].measured_s / predicted_s[i]));
        }
    }
    return stats_median(x, n_in, scratch);
}

static bool try(const struct against *against, int group, const struct what_if *what,
                double *predicted_s, struct arena *scratch)
{
    static const double BITS_PER_GB = 8e-9;
    const struct topo *topo = against_inputs(against, group)->topo;
    const char *sets[MAX_SETS] = {NULL};
    int n = 0;
    if (!what->fits(&topo->node, topo->n_nodes > 1)) return false;
    double rate = topo->node.nic_Bps * BITS_PER_GB * what->rate_frac;
    for (; n < MAX_SETS && what->sets[n]; n++) {
        const char *mark = strstr(what->sets[n], "%g");
        sets[n] = mark ? arena_text(scratch, "%.*s%g%s", (int)(mark - what->sets[n]), what->sets[n],
                                    rate, mark + 2)
                       : what->sets[n];
    }
    return against_as_if(against, group, sets, n, predicted_s, *scratch);
}

/* collapses — from one size to the next the time grows far more than it is predicted to. */
static bool collapses(const struct against_point *points, int n)
{
    for (int i = 1; i < n; i++) {
        double growth = points[i].measured_s / points[i - 1].measured_s;
        double predicted = points[i].predicted_s / points[i - 1].predicted_s;
        if (points[i - 1].size_B >= COLLAPSE_FROM_B && growth > COLLAPSE * predicted) return true;
    }
    return false;
}

/* beats_links — no schedule of any algorithm of the library could be so fast on the scenario's links. */
static bool beats_links(const struct inputs *in, const struct against_point *point,
                        struct arena scratch)
{
    double least_s = bound_collective_s(in, point->kind, point->size_B, HELP_NONE, scratch);
    for (int c = 0; c < in->library.n_choices; c++) {
        const struct lib_choice *choice = &in->library.choices[c];
        if (choice->kind != point->kind) continue;
        enum help help = bound_help(choice->algo);
        least_s = fmin(least_s, bound_collective_s(in, point->kind, point->size_B, help, scratch));
    }
    return point->measured_s < least_s;
}

/* too_fast — what the scenario lacks where times are shorter than its links allow. */
static const char *too_fast(const struct topo *topo)
{
    if (topo->n_nodes > 1)
        return "faster than the scenario's links can be: it has too few cards or too slow ones, or "
               "fewer ranks took part";
    return "faster than the scenario's links can be: GPUs read each other (\"p2p\") or have links "
           "that it lacks (NVLink bridges: \"scaleup\"), or fewer ranks took part";
}

/* unexplained — inside one server no card, transport or fabric is to blame. */
static const char *unexplained(const struct topo *topo)
{
    if (topo->n_nodes > 1 || topo->node.scaleup != SCALEUP_NONE) return "";
    return topo->node.p2p
               ? "one server's PCIe: slots of fewer lanes or an older generation, switches that "
                 "GPUs share, ACS or an IOMMU in the way"
               : "what goes through host memory: buffers on the far socket (NPS of AMD's "
                 "processors), a virtual machine or container, slots of fewer lanes";
}

const char *what_if_suspicion(const struct against *against, int group, struct arena scratch)
{
    const struct against_group *of = &against->groups[group];
    const struct against_point *points = &against->points[of->first];
    double *predicted_s = arena_new(&scratch, double, of->n);
    for (int i = 0; i < of->n; i++) predicted_s[i] = points[i].predicted_s;
    double off = misfit(points, of->n, predicted_s, scratch);
    double best = (1 - EXPLAINS_FRAC) * off;
    const char *name = "";
    const struct against_point *last = &points[of->n - 1];
    if (last->step) return name;
    if (beats_links(against_inputs(against, group), last, scratch))
        return too_fast(against_inputs(against, group)->topo);
    if (off < log(what_if_slow) || last->measured_s < last->predicted_s) return name;
    if (collapses(points, of->n))
        return "bandwidth collapses from one size to the next: congestion, lost packets, pause "
               "frames "
               "(PFC) or routing; the topology does not explain it";
    for (size_t w = 0; w < sizeof what_ifs / sizeof *what_ifs; w++) {
        struct arena work = scratch;
        if (!try(against, group, &what_ifs[w], predicted_s, &work)) continue;
        double left = misfit(points, of->n, predicted_s, scratch);
        if (left >= best) continue;
        best = left;
        name = what_ifs[w].name;
    }
    return name[0] ? name : unexplained(against_inputs(against, group)->topo);
}

struct what_if_pace what_if_pace(const struct against *against, int group, struct arena scratch)
{
    const struct against_group *of = &against->groups[group];
    const struct against_point *points = &against->points[of->first];
    double *ratios = arena_new(&scratch, double, of->n);
    struct what_if_pace pace = {.large = points[of->n - 1].size_B >= LARGE_B};
    int n = 0;
    for (int i = 0; i < of->n; i++) {
        if (pace.large && points[i].size_B < LARGE_B) continue;
        ratios[n++] = points[i].measured_s / points[i].predicted_s;
    }
    pace.ratio = stats_median(ratios, n, scratch);
    pace.verdict = pace.ratio > what_if_slow   ? "slower than they should"
                   : pace.ratio < what_if_fast ? "faster than they should"
                                               : "as they should";
    return pace;
}
