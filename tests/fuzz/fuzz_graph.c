/* Any bytes are read as a network, as DOT or (when they begin with a brace) as JSON: what is accepted is
 * whole, and as many servers as it has hosts for can be built on it and reach each other. */
#include "base/must.h"
#include "io/graph_file.h"
#include "net/topo.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct net_graph *net)
{
    for (int c = 0; c < net->n_cables; c++) {
        const struct graph_cable *cable = &net->cables[c];
        must(cable->a >= 0 && cable->a < cable->b && cable->b < net->n_switches);
        must(c == 0 || cable->a > cable[-1].a ||
             (cable->a == cable[-1].a && cable->b >= cable[-1].b));
    }
    for (int h = 0; h < net->n_hosts; h++) {
        must(net->hosts[h].at >= 0 && net->hosts[h].at < net->n_switches);
    }
}

/* servers 0, 1, ... that have a card 0 */
static int count_servers(const struct net_graph *net)
{
    int n = 0;
    for (int h = 0; h < net->n_hosts; h++) n += net->hosts[h].node == n && net->hosts[h].nic == 0;
    return n < 16 ? n : 16;
}

static void build(const struct net_graph *net, struct arena *perm)
{
    const struct node_spec node = {.gpus_per_node = 1,
                                   .nics_per_node = 1,
                                   .sockets = 1,
                                   .gpus_per_pcie_switch = 1,
                                   .pcie_Bps = 1e9,
                                   .nic_Bps = 1e9,
                                   .gpudirect = true};
    const struct fabric_spec fabric = {.kind = "graph", .graph = net};
    struct diag diag = {.perm = perm};
    int n = count_servers(net), links[ROUTE_MAX];
    if (n < 2) return;
    struct topo *topo =
        topo_build(&node, &fabric, n, perm, &diag, (struct diag_place){.file = "fuzz"});
    if (!diag_ok(&diag)) return;
    for (int dst = 1; dst < n; dst++) {
        int length = topo_route(topo, (struct endpoint){VERTEX_GPU, 0},
                                (struct endpoint){VERTEX_GPU, dst}, -1, 0, links);
        must(length > 0 && length <= ROUTE_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *perm = arena_open((size_t)8 << 30);
    struct diag diag = {.perm = perm};
    const char *file = size > 0 && data[0] == '{' ? "fuzz.json" : "fuzz.dot";
    char *text = arena_new(perm, char, (int64_t)size + 1); /* readers want a zero behind it */
    for (size_t i = 0; i < size; i++) text[i] = (char)data[i];
    const struct net_graph *net = graph_file_read_text(file, text, size, perm, &diag);
    must((net != NULL) == diag_ok(&diag));
    if (net) {
        check(net);
        build(net, perm);
    }
    arena_close(perm);
    return 0;
}
