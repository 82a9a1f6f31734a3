/* dpsim topo: what the network of a scenario is. */
#include "out/commands.h"

#include "base/sink.h"
#include "base/units.h"
#include "net/fabric.h"
#include "net/survey.h"
#include "out/load.h"
#include "out/topo_plot.h"
#include "out/writer.h"

#include <string.h>

enum { KINDS_MAX = 64, NAME_SIZE = 128 };

static const char *const stage_names[] = {"leaves or routers", "spines", "cores", "gateways"};

/* links that are alike: same tier, rate and latency */
struct link_kind {
    struct link like;
    int n, first;
};

static bool same(double a, double b)
{
    return !(a < b) && !(b < a);
}

static bool alike(const struct link *a, const struct link *b)
{
    return a->tier == b->tier && same(a->capacity_Bps, b->capacity_Bps) &&
           same(a->latency_s, b->latency_s);
}

/* A network has few kinds; what goes beyond KINDS_MAX (every link degraded differently) joins the last. */
static int list_kinds(const struct topo *topo, struct link_kind *kinds)
{
    int n = 0;
    for (int l = 0; l < topo->n_links; l++) {
        int k = 0;
        while (k < n && !alike(&kinds[k].like, &topo->links[l])) k++;
        if (k == KINDS_MAX) k = KINDS_MAX - 1;
        if (k == n) kinds[n++] = (struct link_kind){.like = topo->links[l], .first = l};
        kinds[k].n++;
    }
    return n;
}

/* Network cables are known by their bits, what is inside a server by its bytes. */
static void print_rate(const struct link *link, char *text, int size)
{
    if (link->tier == TIER_NIC || link->tier == TIER_FABRIC || link->tier == TIER_GLOBAL)
        unit_print(link->capacity_Bps, DIM_RATE, text, size);
    else
        snprintf(text, (size_t)size, "%.4g GB/s", 1e-9 * link->capacity_Bps);
}

static void print_kinds(FILE *out, const struct topo *topo, const struct link_kind *kinds, int n)
{
    char rate[32], latency[32], name[NAME_SIZE];
    fprintf(out, "\nlinks (one direction each)\n  %-9s %8s  %10s  %9s  %s\n", "tier", "count",
            "rate", "latency", "such as");
    for (int k = 0; k < n; k++) {
        print_rate(&kinds[k].like, rate, sizeof rate);
        unit_print(kinds[k].like.latency_s, DIM_TIME, latency, sizeof latency);
        topo_link_name(topo, kinds[k].first, name, sizeof name);
        fprintf(out, "  %-9s %8d  %10s  %9s  %s\n", tier_names[kinds[k].like.tier], kinds[k].n,
                rate, latency, name);
    }
}

static void print_switches(FILE *out, const struct topo_summary *summary)
{
    fprintf(out, "switches        %d", summary->n_switches);
    const char *before = " (";
    for (size_t s = 0; s < sizeof stage_names / sizeof stage_names[0]; s++) {
        if (summary->n_stage_switches[s] == 0) continue;
        fprintf(out, "%s%d %s", before, summary->n_stage_switches[s], stage_names[s]);
        before = ", ";
    }
    if (summary->n_switches > 0) fprintf(out, "; at most %d cables each)", summary->radix);
    fputc('\n', out);
}

/* what the network costs and draws, as far as the prices say */
struct bill {
    double switches, cables, power_W;
};

static struct bill reckon(const struct inputs *in, const struct topo_summary *summary,
                          const struct survey *survey)
{
    const struct prices *prices = &in->prices;
    const int *cables = survey->n_cables;
    double ports = cables[TIER_NIC] + 2.0 * cables[TIER_FABRIC] + 2.0 * cables[TIER_GLOBAL];
    double all = cables[TIER_NIC] + cables[TIER_FABRIC] + cables[TIER_GLOBAL];
    return (struct bill){
        .switches = summary->n_switches * prices->switch_cost + ports * prices->port_cost,
        .cables = cables[TIER_NIC] * prices->nic_cable_cost +
                  cables[TIER_FABRIC] * prices->fabric_cable_cost +
                  cables[TIER_GLOBAL] * prices->global_cable_cost,
        .power_W =
            summary->n_switches * prices->switch_W + ports * prices->port_W + all * prices->cable_W,
    };
}

/* How many servers a leaf of a fat-tree serves, by the cards that they have in its plane; 0: no fat-tree. */
static double servers_of_leaf(const struct topo *topo)
{
    const struct fabric_spec *spec = &topo->fabric_spec;
    const char *kind = topo->fabric->kind->whole ? spec->part : spec->kind;
    if (strcmp(kind, "fat-tree") != 0 || spec->ports_per_leaf == 0) return 0;
    if (strcmp(spec->wiring, "rail") == 0) return spec->ports_per_leaf;
    return (double)spec->ports_per_leaf * topo->fabric->n_planes / spec->nics_per_node;
}

static void print_leaf(FILE *out, const struct topo *topo)
{
    double servers = servers_of_leaf(topo);
    if (servers <= 0) return;
    bool rail = strcmp(topo->fabric_spec.wiring, "rail") == 0;
    fprintf(out, "leaf            up to %d cards, %s of %.3g server%s\n",
            topo->fabric_spec.ports_per_leaf, rail ? "one each" : "those", servers,
            servers > 1 ? "s" : "");
}

/* Levels of which links lead up or out: capacity down over capacity up. */
static void print_levels(FILE *out, const struct survey *survey)
{
    const char *before = "levels          ";
    for (int s = 0; s < N_STAGES; s++) {
        const struct survey_level *level = &survey->levels[s];
        if (level->down_Bps <= 0 || level->up_Bps <= 0) continue;
        fprintf(out, "%s%.3g:1 at the %s", before, level->down_Bps / level->up_Bps, stage_names[s]);
        before = ", ";
    }
    const struct survey_level *leaf = &survey->levels[STAGE_LEAF];
    const struct survey_level *spine = &survey->levels[STAGE_SPINE];
    double global_Bps = leaf->global_Bps + spine->global_Bps;
    if (global_Bps > 0 && leaf->down_Bps > 0) {
        fprintf(out, "%s%.3g:1 from cards to links between groups", before,
                leaf->down_Bps / global_Bps);
        before = ", ";
    }
    if (before[0] == ',') fputc('\n', out);
}

static void print_survey(FILE *out, const struct survey *survey)
{
    const int *cables = survey->n_cables;
    print_levels(out, survey);
    if (survey->shortest_ways > 0) {
        fprintf(out, "ways            %.6g shortest of %d links", survey->shortest_ways,
                survey->shortest_links);
        if (survey->disjoint_ways > 0)
            fprintf(out, ", %d without a common link", survey->disjoint_ways);
        fputs(", from the first server's switch to the last's\n", out);
    }
    fprintf(out, "cables          %d to cards, %d between switches", cables[TIER_NIC],
            cables[TIER_FABRIC]);
    if (cables[TIER_GLOBAL] > 0) fprintf(out, ", %d between groups", cables[TIER_GLOBAL]);
    fputc('\n', out);
}

/* A cost without a currency would be read as the reader's own. */
static const char *currency_of(const struct prices *prices)
{
    return prices->currency[0] ? prices->currency : "of a currency that the prices do not say";
}

static void print_bill(FILE *out, const struct inputs *in, struct bill bill)
{
    char power[32];
    double cost = bill.switches + bill.cables;
    if (cost > 0)
        fprintf(out,
                "cost            %.0f %s: switches %.0f, cables %.0f; %.0f a GPU (prices: %s)\n",
                cost, currency_of(&in->prices), bill.switches, bill.cables, cost / in->n_gpus,
                in->prices.name);
    if (bill.power_W <= 0) return;
    unit_print(bill.power_W, DIM_POWER, power, sizeof power);
    fprintf(out, "power           %s; %.3g W a GPU\n", power, bill.power_W / in->n_gpus);
}

static void json_survey(struct writer *writer, const struct survey *survey)
{
    writer_integer(writer, "shortest_ways_links", survey->shortest_links);
    writer_number(writer, "shortest_ways", survey->shortest_ways);
    writer_integer(writer, "disjoint_ways", survey->disjoint_ways);
    writer_integer(writer, "cables_nic", survey->n_cables[TIER_NIC]);
    writer_integer(writer, "cables_fabric", survey->n_cables[TIER_FABRIC]);
    writer_integer(writer, "cables_global", survey->n_cables[TIER_GLOBAL]);
    writer_list(writer, "levels");
    for (int s = 0; s < N_STAGES; s++) {
        const struct survey_level *level = &survey->levels[s];
        if (level->down_Bps + level->up_Bps + level->global_Bps <= 0) continue;
        writer_flat_object(writer, NULL);
        writer_text(writer, "switches", stage_names[s]);
        writer_number(writer, "down_Bps", level->down_Bps);
        writer_number(writer, "up_Bps", level->up_Bps);
        writer_number(writer, "global_Bps", level->global_Bps);
        writer_end(writer);
    }
    writer_end(writer);
}

static void json_bill(struct writer *writer, const struct inputs *in, struct bill bill)
{
    if (!in->prices.name) return;
    writer_text(writer, "prices", in->prices.name);
    writer_text(writer, "currency", in->prices.currency);
    writer_number(writer, "cost_switches", bill.switches);
    writer_number(writer, "cost_cables", bill.cables);
    writer_number(writer, "power_W", bill.power_W);
}

static void print_text(FILE *out, const struct inputs *in, const struct topo_summary *summary,
                       const struct survey *survey)
{
    char text[32];
    struct link_kind kinds[KINDS_MAX];
    int n_kinds = list_kinds(in->topo, kinds);
    const char *sampled = summary->sampled ? " (over a sample of the pairs)" : "";
    fprintf(out, "%s: %s\n\n", in->scenario,
            in->topo->n_nodes > 1 ? in->fabric.kind : "one node, no fabric");
    fprintf(out, "GPUs            %d in %d node%s, %d NICs on the fabric\n", summary->n_gpus,
            summary->n_nodes, summary->n_nodes == 1 ? "" : "s", summary->n_nics);
    print_switches(out, summary);
    unit_print(summary->bisection_Bps, DIM_RATE, text, sizeof text);
    fprintf(out, "bisection       %s in each direction\n", text);
    fprintf(out, "oversubscribed  %.3g:1\n", summary->oversubscription);
    fprintf(out, "diameter        %d links%s\n", summary->diameter_hops, sampled);
    unit_print(summary->max_latency_s, DIM_TIME, text, sizeof text);
    fprintf(out, "longest latency %s, links only%s\n", text, sampled);
    if (in->topo->fabric) {
        print_leaf(out, in->topo);
        print_survey(out, survey);
    }
    print_bill(out, in, reckon(in, summary, survey));
    print_kinds(out, in->topo, kinds, n_kinds);
}

static void json_kinds(struct writer *writer, const struct topo *topo)
{
    struct link_kind kinds[KINDS_MAX];
    int n = list_kinds(topo, kinds);
    char name[NAME_SIZE];
    writer_list(writer, "links");
    for (int k = 0; k < n; k++) {
        topo_link_name(topo, kinds[k].first, name, sizeof name);
        writer_flat_object(writer, NULL);
        writer_text(writer, "tier", tier_names[kinds[k].like.tier]);
        writer_integer(writer, "count", kinds[k].n);
        writer_number(writer, "capacity_Bps", kinds[k].like.capacity_Bps);
        writer_number(writer, "latency_s", kinds[k].like.latency_s);
        writer_text(writer, "example", name);
        writer_end(writer);
    }
    writer_end(writer);
}

static void print_json(FILE *out, const struct inputs *in, const struct topo_summary *summary,
                       const struct survey *survey)
{
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_text(&writer, "scenario", in->scenario);
    writer_text(&writer, "fabric", in->topo->n_nodes > 1 ? in->fabric.kind : NULL);
    writer_integer(&writer, "n_gpus", summary->n_gpus);
    writer_integer(&writer, "n_nodes", summary->n_nodes);
    writer_integer(&writer, "n_nics", summary->n_nics);
    writer_integer(&writer, "n_switches", summary->n_switches);
    if (in->topo->fabric && servers_of_leaf(in->topo) > 0)
        writer_number(&writer, "servers_per_leaf", servers_of_leaf(in->topo));
    writer_integer(&writer, "n_links", in->topo->n_links);
    writer_number(&writer, "bisection_Bps", summary->bisection_Bps);
    writer_number(&writer, "oversubscription", summary->oversubscription);
    writer_integer(&writer, "diameter_hops", summary->diameter_hops);
    writer_number(&writer, "max_latency_s", summary->max_latency_s);
    writer_bool(&writer, "sampled", summary->sampled);
    json_survey(&writer, survey);
    json_bill(&writer, in, reckon(in, summary, survey));
    json_kinds(&writer, in->topo);
    writer_end(&writer);
}

static void write_dot(const struct options *options, const struct inputs *in, struct arena *perm)
{
    struct sink sink = sink_open(options->dot, perm);
    topo_write_dot(in->topo, sink.out);
    sink_close(&sink);
}

/* Whether there is a picture to draw: there is a fabric, and it is not too large. */
static bool draw(const struct options *options, const struct inputs *in, struct arena *perm)
{
    const struct topo *topo = in->topo;
    if (!topo->fabric || topo->n_links - topo->fabric->first_link > TOPO_PLOT_MAX_LINKS) {
        fprintf(stderr, "dpsim: --plot draws a network of at most %d links between servers\n",
                (int)TOPO_PLOT_MAX_LINKS);
        return false;
    }
    const char *title =
        arena_text(perm, "%s: %s, %d servers", in->scenario, in->fabric.kind, topo->n_nodes);
    topo_plot_draw(options->plot, topo, title, perm);
    return true;
}

int topo_command(const struct options *options, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct loaded loaded = load_network(options, perm, &diag);
    if (!diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    if (options->dot) write_dot(options, loaded.inputs, perm);
    if (options->dot && strcmp(options->dot, "-") == 0) return EXIT_FINE;
    if (options->plot && !draw(options, loaded.inputs, perm)) return EXIT_INPUT;
    struct topo_summary summary = topo_summarise(loaded.inputs->topo);
    struct survey survey = survey_network(loaded.inputs->topo, *perm);
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        print_json(sink.out, loaded.inputs, &summary, &survey);
    else
        print_text(sink.out, loaded.inputs, &summary, &survey);
    sink_close(&sink);
    return EXIT_FINE;
}
