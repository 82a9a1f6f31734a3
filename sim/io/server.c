#include "io/server.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

/* NVLink by generation, one link, one direction. Source: NVIDIA's data sheets and white papers of P100
 * (4 links, 80 GB/s), V100 (6, 150), A100 (12, 300), H100 (18, 450) and B200 (18, 900). */
static const struct {
    int sm; /* from this compute capability on */
    double Bps;
    const char *name;
} generations[] = {{100, 50e9, "NVLink 5"},
                   {90, 25e9, "NVLink 4"},
                   {80, 25e9, "NVLink 3"},
                   {70, 25e9, "NVLink 2"},
                   {60, 20e9, "NVLink 1"}};
enum { N_GENERATIONS = sizeof generations / sizeof generations[0], NOT_TOLD = 1 };

/* a picture without compute capabilities is of generations 2 to 4, unless it has a base */
static int generation_of(int sm)
{
    int g = 0;
    while (g < N_GENERATIONS - 1 && generations[g].sm > sm) g++;
    return sm > 0 ? g : NOT_TOLD;
}

double server_link_Bps(int sm)
{
    return generations[generation_of(sm)].Bps;
}

/* Infinity Fabric between GPUs (xGMI), one link, one direction. Source: AMD's data sheets: MI350X 153.6 GB/s
 * both ways, MI300X 128, MI250X 100, MI100 and MI60 92. RCCL calls gfx90a 910. */
static const struct {
    const char *gcn;
    double Bps;
    const char *name;
} fabrics[] = {{"950", 76.8e9, "xGMI of MI350"}, {"942", 64e9, "xGMI of MI300"},
               {"941", 64e9, "xGMI of MI300"},   {"940", 64e9, "xGMI of MI300"},
               {"90a", 50e9, "xGMI of MI200"},   {"910", 50e9, "xGMI of MI200"},
               {"908", 46e9, "xGMI of MI100"},   {"906", 46e9, "xGMI of MI60"}};

struct server_link server_xgmi(const char *gcn)
{
    if (!strncmp(gcn, "gfx", 3)) gcn += 3;
    for (size_t f = 0; f < sizeof fabrics / sizeof *fabrics; f++) {
        if (!strncmp(gcn, fabrics[f].gcn, strlen(fabrics[f].gcn)))
            return (struct server_link){fabrics[f].Bps, fabrics[f].name, false};
    }
    return (struct server_link){50e9, "xGMI of MI200", true};
}

static struct server_link link_of(const struct server *server)
{
    int sm = server->n_gpus > 0 ? server->gpus[0].sm : 0;
    if (server->link.Bps > 0) return server->link;
    return (struct server_link){server_link_Bps(sm), generations[generation_of(sm)].name, sm == 0};
}

int server_socket(int numa, int n_numa)
{
    return n_numa > 4 ? numa / ((n_numa + 1) / 2) : numa;
}

void server_join(int *group, int n, int a, int b)
{
    int from = group[b];
    for (int i = 0; i < n; i++) {
        if (group[i] == from) group[i] = group[a];
    }
}

static int n_sockets(const struct server *server)
{
    int n = 0;
    for (int g = 0; g < server->n_gpus; g++) {
        int before = 0;
        while (before < g && server->gpus[before].socket != server->gpus[g].socket) before++;
        n += before == g;
    }
    return n < 1 ? 1 : n > 8 ? 8 : n; /* as many as a profile may have */
}

/* per_switch — GPUs of the fullest PCIe switch; 1: all hang on the host bridge. */
static int per_switch(const struct server *server)
{
    int most = 1;
    for (int g = 0; g < server->n_gpus; g++) {
        int n = 0;
        for (int other = 0; other < server->n_gpus; other++)
            n += server->gpus[g].pcie_switch >= 0 &&
                 server->gpus[other].pcie_switch == server->gpus[g].pcie_switch;
        if (n > most) most = n;
    }
    return most > 64 ? 64 : most;
}

/* cards near GPUs carry their traffic; where none is near all do. Of those, the fastest. */
static int n_cards(const struct server *server, double *rate_Bps, const struct server_nic **fastest)
{
    bool any_near = false;
    *rate_Bps = 0;
    *fastest = NULL;
    for (int c = 0; c < server->n_nics; c++) any_near |= server->nics[c].near;
    for (int c = 0; c < server->n_nics; c++) {
        const struct server_nic *nic = &server->nics[c];
        if (nic->near != any_near || nic->rate_Bps <= *rate_Bps) continue;
        *rate_Bps = nic->rate_Bps;
        *fastest = nic;
    }
    int n = 0;
    for (int c = 0; c < server->n_nics; c++)
        n += server->nics[c].near == any_near && server->nics[c].rate_Bps >= *rate_Bps;
    return n;
}

/* shipped cards by what NCCL calls them, their PCI class and rate. InfiniBand by generation (QDR to XDR); names
 * that begin with mlx, bnxt or roce are RDMA over Ethernet, others sockets; AWS calls its EFA rdmap, HPE its
 * Slingshot cxi. EFA of 100 Gb/s is of several generations, which a name does not tell. */
static const struct {
    const char *begins;
    bool infiniband;
    double Gbps;
    const char *card;
} cards[] = {{"", true, 32, "ib-qdr"},         {"", true, 40, "ib-qdr"},
             {"", true, 56, "ib-fdr"},         {"", true, 100, "ib-edr"},
             {"", true, 200, "ib-hdr"},        {"", true, 400, "ib-ndr"},
             {"", true, 800, "ib-xdr"},        {"mlx", false, 25, "roce-25"},
             {"mlx", false, 40, "roce-40"},    {"mlx", false, 100, "roce-100"},
             {"mlx", false, 200, "roce-200"},  {"mlx", false, 400, "roce-400"},
             {"mlx", false, 800, "roce-800"},  {"bnxt", false, 100, "roce-100"},
             {"bnxt", false, 200, "roce-200"}, {"bnxt", false, 400, "roce-400"},
             {"roce", false, 100, "roce-100"}, {"roce", false, 200, "roce-200"},
             {"roce", false, 400, "roce-400"}, {"rdmap", false, 200, "efa-200"},
             {"rdmap", false, 400, "efa-400"}, {"cxi", false, 200, "slingshot-200"},
             {"e", false, 1, "eth-1g"},        {"e", false, 10, "eth-10g"},
             {"e", false, 25, "eth-25g"},      {"e", false, 40, "eth-40g"},
             {"e", false, 100, "eth-100g"}};

static const char *card_of(const struct server_nic *nic)
{
    for (size_t c = 0; nic && c < sizeof cards / sizeof *cards; c++) {
        if (nic->infiniband == cards[c].infiniband &&
            fabs(8e-9 * nic->rate_Bps - cards[c].Gbps) < 1e-6 * cards[c].Gbps &&
            !strncmp(nic->name, cards[c].begins, strlen(cards[c].begins)))
            return cards[c].card;
    }
    return NULL;
}

/* the GPU with the fewest links, or with the most */
static int gpu_with(const struct server *server, bool most)
{
    int found = 0;
    for (int g = 1; g < server->n_gpus; g++) {
        int more = server->gpus[g].n_links - server->gpus[found].n_links;
        if (most ? more > 0 : more < 0) found = g;
    }
    return found;
}

/* links that serve a ring over all GPUs */
static int fewest_links(const struct server *server)
{
    if (server->n_gpus < 2 || server->apart) return 0;
    return server->gpus[gpu_with(server, false)].n_links;
}

/* --- the profile ---------------------------------------------------------------------------------- */

static void print_text(FILE *out, const char *key, const char *value)
{
    fprintf(out, "  \"%s\": ", key);
    json_write_text(out, value);
    fputs(",\n", out);
}

static void print_links(const struct server *server, const char *base, FILE *out)
{
    int links = fewest_links(server);
    struct server_link link = link_of(server);
    if (server->links_untold && base) return;
    if (links == 0) {
        fputs("  \"scaleup\": \"none\",\n", out);
        return;
    }
    fprintf(out, "  \"scaleup\": \"%s\",\n", server->through_switch ? "switch" : "mesh");
    if (!base || !link.assumed)
        fprintf(out, "  \"scaleup_bandwidth\": \"%gGB/s\",\n", 1e-9 * links * link.Bps);
}

static void print_sources(const struct server *server, const char *base, double nic_Bps, FILE *out)
{
    int links = fewest_links(server);
    struct server_link link = link_of(server);
    fprintf(out, "  \"sources\": {\n");
    if (links > 0 && (!base || !link.assumed))
        fprintf(out, "    \"scaleup_bandwidth\": \"%d links of %g GB/s, %s%s\",\n", links,
                1e-9 * link.Bps, link.name,
                link.assumed ? " assumed: the picture does not say which GPUs these are" : "");
    if (server->pcie_Bps > 0)
        fprintf(out, "    \"pcie_bandwidth\": \"rate and width of the GPU's slot\",\n");
    if (nic_Bps > 0)
        fprintf(out,
                "    \"nics\": \"cards of %g Gb/s that share a switch with GPUs, else all\",\n",
                8e-9 * nic_Bps);
    else
        fprintf(out, "    \"nics\": \"cards that share a switch with GPUs, else all\",\n");
    fprintf(out, "    \"gpus\": \"%s\"\n  }\n}\n", server->source);
}

void server_profile(const struct server *server, const char *name, const char *base, FILE *out)
{
    double nic_Bps = 0;
    const struct server_nic *fastest = NULL;
    int nics = n_cards(server, &nic_Bps, &fastest);
    const char *card = card_of(fastest);
    fputs("{\n  \"kind\": \"node\",\n", out);
    print_text(out, "name", name);
    if (base) print_text(out, "base", base);
    fprintf(out, "  \"source\": \"%s\",\n", server->source);
    fprintf(out, "  \"gpus\": %d,\n", server->n_gpus);
    if (server->n_nics > 0 || !base) fprintf(out, "  \"nics\": %d,\n", nics);
    if (card) fprintf(out, "  \"nic\": \"%s\",\n", card);
    fprintf(out, "  \"sockets\": %d,\n", n_sockets(server));
    fprintf(out, "  \"gpus_per_pcie_switch\": %d,\n", per_switch(server));
    print_links(server, base, out);
    if (server->pcie_Bps > 0)
        fprintf(out, "  \"pcie_bandwidth\": \"%.4gGB/s\",\n", 1e-9 * server->pcie_Bps);
    print_sources(server, base, nic_Bps, out);
}

/* --- what to know of it --------------------------------------------------------------------------- */

static void note_links(const struct server *server, const char *file, const char *base, FILE *out)
{
    int least = gpu_with(server, false);
    int most = gpu_with(server, true);
    int n_least = server->gpus[least].n_links;
    int n_most = server->gpus[most].n_links;
    struct server_link link = link_of(server);
    if (server->links_untold)
        fprintf(out, "%s: GPUs are told by their PCI class, links between them are not: %s\n", file,
                base ? "those of the base stay" : "the profile has none (--base NODE has some)");
    else if (n_most > 0 && n_least == 0)
        fprintf(out, "%s: GPU %d has no link to others, GPU %d has %d: the profile has none\n",
                file, least, most, n_most);
    else if (server->apart)
        fprintf(out,
                "%s: links join some GPUs, but not all: a ring over all leaves them, so the "
                "profile has "
                "none\n",
                file);
    else if (n_most > n_least)
        fprintf(out, "%s: GPU %d has %d links, GPU %d has %d: the fewest count\n", file, least,
                n_least, most, n_most);
    if (fewest_links(server) > 0 && link.assumed && !base)
        fprintf(out,
                "%s: which GPUs these are is not told: links of %g GB/s (%s) are assumed "
                "(--base NODE knows)\n",
                file, 1e-9 * link.Bps, link.name);
}

void server_notes(const struct server *server, const char *file, const char *base, FILE *out)
{
    double nic_Bps = 0;
    const struct server_nic *fastest = NULL;
    n_cards(server, &nic_Bps, &fastest);
    if (fastest && !card_of(fastest))
        fprintf(
            out,
            "%s: no shipped card is known to be %s of %g Gb/s: \"nic\" of a scenario says which\n",
            file, fastest->name[0] ? fastest->name : "one", 8e-9 * nic_Bps);
    if (server->n_gpus > 1) note_links(server, file, base, out);
    if (server->n_nics == 0)
        fprintf(out, "%s: no network cards in the picture: %s\n", file,
                base ? "those of the base stay" : "the profile has none");
    if (n_sockets(server) > 2)
        fprintf(out, "%s: %d NUMA nodes are taken for as many sockets\n", file, n_sockets(server));
}
