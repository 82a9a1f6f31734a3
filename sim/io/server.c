#include "io/server.h"

#include "base/json.h"

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
static int n_cards(const struct server *server, double *rate_Bps)
{
    bool any_near = false;
    *rate_Bps = 0;
    for (int c = 0; c < server->n_nics; c++) any_near |= server->nics[c].near;
    for (int c = 0; c < server->n_nics; c++) {
        if (server->nics[c].near == any_near && server->nics[c].rate_Bps > *rate_Bps)
            *rate_Bps = server->nics[c].rate_Bps;
    }
    int n = 0;
    for (int c = 0; c < server->n_nics; c++)
        n += server->nics[c].near == any_near && server->nics[c].rate_Bps >= *rate_Bps;
    return n;
}

static int fewest_links(const struct server *server)
{
    int least = SERVER_MAX_LINKS;
    for (int g = 0; g < server->n_gpus; g++) {
        if (server->gpus[g].n_links < least) least = server->gpus[g].n_links;
    }
    return server->n_gpus > 1 ? least : 0;
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
    int sm = server->n_gpus > 0 ? server->gpus[0].sm : 0;
    if (links == 0) {
        fputs("  \"scaleup\": \"none\",\n", out);
        return;
    }
    fprintf(out, "  \"scaleup\": \"%s\",\n", server->through_switch ? "switch" : "mesh");
    if (!base || sm > 0)
        fprintf(out, "  \"scaleup_bandwidth\": \"%gGB/s\",\n", 1e-9 * links * server_link_Bps(sm));
}

static void print_sources(const struct server *server, const char *base, double nic_Bps, FILE *out)
{
    int links = fewest_links(server);
    int sm = server->n_gpus > 0 ? server->gpus[0].sm : 0;
    int g = generation_of(sm);
    fprintf(out, "  \"sources\": {\n");
    if (links > 0 && (!base || sm > 0))
        fprintf(out, "    \"scaleup_bandwidth\": \"%d links of %g GB/s, %s%s\",\n", links,
                1e-9 * server_link_Bps(sm), generations[g].name,
                sm > 0 ? ""
                       : " assumed: the picture does not say which GPUs these are (NVLink 5 has "
                         "50 GB/s)");
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
    int nics = n_cards(server, &nic_Bps);
    fputs("{\n  \"kind\": \"node\",\n", out);
    print_text(out, "name", name);
    if (base) print_text(out, "base", base);
    fprintf(out, "  \"source\": \"%s\",\n", server->source);
    fprintf(out, "  \"gpus\": %d,\n  \"nics\": %d,\n  \"sockets\": %d,\n", server->n_gpus, nics,
            n_sockets(server));
    fprintf(out, "  \"gpus_per_pcie_switch\": %d,\n", per_switch(server));
    print_links(server, base, out);
    if (server->pcie_Bps > 0)
        fprintf(out, "  \"pcie_bandwidth\": \"%.4gGB/s\",\n", 1e-9 * server->pcie_Bps);
    print_sources(server, base, nic_Bps, out);
}
