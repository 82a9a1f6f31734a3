#include "net/node.h"

#include "base/must.h"
#include "net/fabric.h"

#include <math.h>

void node_check(const struct node_spec *node, int n_nodes, struct diag *diag,
                struct diag_place place)
{
    int min_nics = n_nodes > 1 ? 1 : 0;
    fabric_range("GPUs per node", node->gpus_per_node, 1, NODE_MAX_GPUS, diag, place);
    fabric_range("NICs per node", node->nics_per_node, min_nics, NODE_MAX_NICS, diag, place);
    fabric_range("sockets", node->sockets, 1, NODE_MAX_SOCKETS, diag, place);
    fabric_range("GPUs per PCIe switch", node->gpus_per_pcie_switch, 1, NODE_MAX_GPUS, diag, place);
    fabric_check_link("PCIe", node->pcie_Bps, node->pcie_latency_s, diag, place);
    if (node->scaleup != SCALEUP_NONE) {
        fabric_check_link("scale-up", node->scaleup_Bps, node->scaleup_latency_s, diag, place);
    }
    if (node->sockets > 1) {
        fabric_check_link("inter-socket", node->socket_Bps, node->socket_latency_s, diag, place);
    }
    if (n_nodes > 1) {
        fabric_check_link("NIC", node->nic_Bps, node->nic_latency_s, diag, place);
    }
}

/* the first of n things that socket s of n_sockets holds, spread in order */
static int socket_first(int s, int n, int n_sockets)
{
    return (s * n + n_sockets - 1) / n_sockets;
}

/* The GPUs of each socket fill its switches in order, so no switch belongs to two sockets. */
static void place_gpus(const struct node_spec *node, struct node_layout *layout)
{
    int n = node->gpus_per_node;
    int per_switch = node->gpus_per_pcie_switch;
    for (int s = 0; s < node->sockets; s++) {
        int first = socket_first(s, n, node->sockets);
        int end = socket_first(s + 1, n, node->sockets);
        for (int g = first; g < end; g++) {
            bool opens = per_switch > 1 && (g - first) % per_switch == 0;
            if (opens) layout->switch_socket[layout->n_pcie_switches++] = s;
            layout->gpus[g] = (struct node_slot){
                .cable = g,
                .pcie_switch = per_switch > 1 ? layout->n_pcie_switches - 1 : -1,
                .socket = s,
            };
        }
    }
}

/* NICs of a socket are spread in order over its switches, if it has any. */
static void place_nics(const struct node_spec *node, struct node_layout *layout)
{
    int n = node->nics_per_node;
    int first_switch = 0;
    for (int s = 0; s < node->sockets; s++) {
        int end_switch = first_switch;
        while (end_switch < layout->n_pcie_switches && layout->switch_socket[end_switch] == s) {
            end_switch++;
        }
        int first = socket_first(s, n, node->sockets);
        int end = socket_first(s + 1, n, node->sockets);
        int n_switches = end_switch - first_switch;
        for (int k = first; k < end; k++) {
            int turn = (k - first) * n_switches / (end - first);
            layout->nics[k] = (struct node_slot){
                .cable = layout->first_nic_cable + k,
                .pcie_switch = n_switches > 0 ? first_switch + turn : -1,
                .socket = s,
            };
        }
        first_switch = end_switch;
    }
}

static bool same_switch(struct node_slot a, struct node_slot b)
{
    return a.pcie_switch >= 0 && a.pcie_switch == b.pcie_switch;
}

static bool same_socket(struct node_slot a, struct node_slot b)
{
    return a.socket == b.socket;
}

/* The NICs near to a GPU are shared out in order among the GPUs that have them near: GPU number
 * `turn` of `of` takes NIC turn * n / of. -1 when no NIC is near. */
static int near_nic(const struct node_spec *node, const struct node_layout *layout, int gpu,
                    bool (*near)(struct node_slot, struct node_slot))
{
    int turn = 0;
    int of = 0;
    for (int g = 0; g < node->gpus_per_node; g++) {
        bool shares = g == gpu || near(layout->gpus[g], layout->gpus[gpu]);
        of += shares;
        turn += shares && g < gpu;
    }
    int n = 0;
    for (int k = 0; k < node->nics_per_node; k++) n += near(layout->nics[k], layout->gpus[gpu]);
    if (n == 0) return -1;
    int wanted = turn * n / of;
    int k = 0;
    while (!near(layout->nics[k], layout->gpus[gpu]) || wanted-- > 0) k++;
    return k;
}

static void find_nearest_nics(const struct node_spec *node, struct node_layout *layout)
{
    int n_nics = node->nics_per_node;
    for (int g = 0; g < node->gpus_per_node; g++) {
        int nic = near_nic(node, layout, g, same_switch);
        if (nic < 0) nic = near_nic(node, layout, g, same_socket);
        if (nic < 0 && n_nics > 0) nic = (int)((int64_t)g * n_nics / node->gpus_per_node);
        layout->nic_of_gpu[g] = nic;
    }
    for (int s = 0; s < node->sockets; s++) {
        int nic = n_nics == 0 ? -1 : socket_first(s, n_nics, node->sockets);
        /* a socket without NICs uses the last one of the sockets before it */
        if (nic >= n_nics || (nic >= 0 && layout->nics[nic].socket != s)) nic--;
        layout->nic_of_socket[s] = nic;
    }
}

/* The GPU on the NIC's socket whose nearest NIC comes last before it, or is it. */
static int owner_of_nic(const struct node_spec *node, const struct node_layout *layout, int nic)
{
    int owner = -1;
    for (int g = 0; g < node->gpus_per_node; g++) {
        if (!same_socket(layout->gpus[g], layout->nics[nic])) continue;
        int nearest = layout->nic_of_gpu[g];
        if (nearest <= nic && (owner < 0 || nearest > layout->nic_of_gpu[owner])) owner = g;
    }
    return owner;
}

static int n_socket_cables(const struct node_spec *node)
{
    return node->sockets < 3 ? node->sockets - 1 : node->sockets;
}

static int n_memories(const struct node_spec *node)
{
    return node->memory_Bps > 0 ? node->sockets : 0;
}

struct node_layout *node_layout(const struct node_spec *node, struct arena *perm)
{
    struct node_layout *layout = arena_new(perm, struct node_layout, 1);
    int n_gpus = node->gpus_per_node;
    int n_nics = node->nics_per_node;
    bool scaleup = node->scaleup != SCALEUP_NONE;
    layout->gpus = arena_new(perm, struct node_slot, n_gpus);
    layout->nics = arena_new(perm, struct node_slot, n_nics);
    layout->switch_socket = arena_new(perm, int, n_gpus);
    layout->nic_of_gpu = arena_new(perm, int, n_gpus);
    layout->nic_of_socket = arena_new(perm, int, node->sockets);
    layout->gpu_of_nic = arena_new(perm, int, n_nics);
    place_gpus(node, layout);

    layout->first_switch = n_gpus;
    layout->first_host = layout->first_switch + layout->n_pcie_switches;
    layout->first_nic = layout->first_host + node->sockets;
    layout->nvswitch = layout->first_nic + n_nics;
    layout->first_memory = layout->nvswitch + scaleup;
    layout->n_vertices = layout->first_memory + n_memories(node);

    layout->first_switch_cable = n_gpus;
    layout->first_nic_cable = layout->first_switch_cable + layout->n_pcie_switches;
    layout->first_socket_cable = layout->first_nic_cable + n_nics;
    layout->first_scaleup_cable = layout->first_socket_cable + n_socket_cables(node);
    layout->first_memory_cable = layout->first_scaleup_cable + (scaleup ? n_gpus : 0);
    layout->n_cables = layout->first_memory_cable + n_memories(node);
    place_nics(node, layout);
    find_nearest_nics(node, layout);
    for (int k = 0; k < n_nics; k++) layout->gpu_of_nic[k] = owner_of_nic(node, layout, k);
    return layout;
}

static void add_vertices(struct topo *topo, int node, struct arena *perm)
{
    const struct node_spec *spec = &topo->node;
    for (int g = 0; g < spec->gpus_per_node; g++) {
        topo_add_vertex(topo, (struct vertex){VERTEX_GPU, node * spec->gpus_per_node + g, node},
                        perm);
    }
    for (int w = 0; w < topo->layout->n_pcie_switches; w++) {
        topo_add_vertex(topo, (struct vertex){VERTEX_PCIE_SWITCH, w, node}, perm);
    }
    for (int s = 0; s < spec->sockets; s++) {
        topo_add_vertex(topo, (struct vertex){VERTEX_HOST, s, node}, perm);
    }
    for (int k = 0; k < spec->nics_per_node; k++) {
        topo_add_vertex(topo, (struct vertex){VERTEX_NIC, k, node}, perm);
    }
    if (spec->scaleup != SCALEUP_NONE) {
        topo_add_vertex(topo, (struct vertex){VERTEX_NVSWITCH, 0, node}, perm);
    }
    for (int s = 0; s < n_memories(spec); s++) {
        topo_add_vertex(topo, (struct vertex){VERTEX_MEMORY, s, node}, perm);
    }
}

static void add_pcie(struct topo *topo, int src, int dst, struct arena *perm)
{
    struct link cable = {.src = src,
                         .dst = dst,
                         .tier = TIER_PCIE,
                         .capacity_Bps = topo->node.pcie_Bps,
                         .latency_s = topo->node.pcie_latency_s};
    topo_add_cable(topo, cable, perm);
}

/* What is staged is written once and read once, and both take of the one rate: half each way. */
static void add_memories(struct topo *topo, int first, struct arena *perm)
{
    const struct node_layout *layout = topo->layout;
    for (int s = 0; s < n_memories(&topo->node); s++) {
        struct link cable = {.src = first + layout->first_host + s,
                             .dst = first + layout->first_memory + s,
                             .tier = TIER_HOST,
                             .capacity_Bps = topo->node.memory_Bps / 2};
        topo_add_cable(topo, cable, perm);
    }
}

/* In the order of the layout's cable numbers. */
static void add_cables(struct topo *topo, int first, struct arena *perm)
{
    const struct node_spec *spec = &topo->node;
    const struct node_layout *layout = topo->layout;
    int n = spec->gpus_per_node;
    int host = first + layout->first_host;
    int pcie_switch = first + layout->first_switch;
    for (int g = 0; g < n; g++) {
        struct node_slot slot = layout->gpus[g];
        int up = slot.pcie_switch < 0 ? host + slot.socket : pcie_switch + slot.pcie_switch;
        add_pcie(topo, first + g, up, perm);
    }
    for (int w = 0; w < layout->n_pcie_switches; w++) {
        add_pcie(topo, pcie_switch + w, host + layout->switch_socket[w], perm);
    }
    for (int k = 0; k < spec->nics_per_node; k++) {
        struct node_slot slot = layout->nics[k];
        int up = slot.pcie_switch < 0 ? host + slot.socket : pcie_switch + slot.pcie_switch;
        add_pcie(topo, first + layout->first_nic + k, up, perm);
    }
    for (int s = 0; s < n_socket_cables(spec); s++) {
        struct link cable = {.src = host + s, .dst = host + (s + 1) % spec->sockets, TIER_HOST};
        cable.capacity_Bps = spec->socket_Bps;
        cable.latency_s = spec->socket_latency_s;
        topo_add_cable(topo, cable, perm);
    }
    for (int g = 0; g < n && spec->scaleup != SCALEUP_NONE; g++) {
        struct link cable = {.src = first + g, .dst = first + layout->nvswitch, TIER_SCALEUP};
        cable.capacity_Bps = spec->scaleup_Bps;
        cable.latency_s = spec->scaleup_latency_s;
        topo_add_cable(topo, cable, perm);
    }
    add_memories(topo, first, perm);
}

void node_build(struct topo *topo, int node, struct arena *perm)
{
    int first = topo->n_vertices;
    must(first == node * topo->layout->n_vertices);
    must(topo->n_links == node * 2 * topo->layout->n_cables);
    add_vertices(topo, node, perm);
    add_cables(topo, first, perm);
}

/* where something is plugged in; a host is its own end: no cable leads up */
static struct node_slot slot_of(const struct topo *topo, struct node_end end)
{
    if (end.kind == VERTEX_GPU) return topo->layout->gpus[end.index];
    if (end.kind == VERTEX_NIC) return topo->layout->nics[end.index];
    must(end.kind == VERTEX_HOST);
    return (struct node_slot){.cable = -1, .pcie_switch = -1, .socket = end.index};
}

/* Round the ring of sockets by the shorter way, upwards when both are equal. */
static int cross_sockets(const struct topo *topo, int src, int dst, int first_link, int *links)
{
    int n = topo->node.sockets;
    int up = (dst - src + n) % n;
    bool upwards = n == 2 ? dst > src : 2 * up <= n;
    int length = 0;
    for (int s = src; s != dst; length++) {
        int cable = upwards ? s : (s + n - 1) % n;
        links[length] = first_link + 2 * (topo->layout->first_socket_cable + cable) + !upwards;
        s = upwards ? (s + 1) % n : (s + n - 1) % n;
    }
    return length;
}

/* Must data between these ends be laid down in host memory on its way? */
static bool is_staged(const struct topo *topo, struct node_end src, struct node_end dst)
{
    bool to_nic = src.kind == VERTEX_NIC || dst.kind == VERTEX_NIC;
    return to_nic ? !topo->node.gpudirect : !topo->node.p2p;
}

/* Into the memory of the socket and out again. */
static int lay_down(const struct topo *topo, int socket, int first_link, int *links)
{
    if (n_memories(&topo->node) == 0) return 0;
    links[0] = first_link + 2 * (topo->layout->first_memory_cable + socket);
    links[1] = links[0] + 1;
    return 2;
}

/* relay_of — the GPU by which a GPU and a card behind another switch reach each other: the card's own,
 * over the scale-up network; -1 when there is none or no need. Libraries go there rather than through
 * the host: NCCL's PXN (from 2.12), or rings that enter and leave a server by GPUs next to the card. */
static int relay_of(const struct topo *topo, struct node_end gpu, struct node_end nic)
{
    if (gpu.kind == VERTEX_NIC && nic.kind == VERTEX_GPU) return relay_of(topo, nic, gpu);
    if (gpu.kind != VERTEX_GPU || nic.kind != VERTEX_NIC) return -1;
    if (topo->node.scaleup == SCALEUP_NONE || !topo->node.gpudirect) return -1;
    if (same_switch(slot_of(topo, gpu), slot_of(topo, nic))) return -1;
    int own = topo->layout->gpu_of_nic[nic.index];
    if (own < 0 || own == gpu.index) return -1;
    return same_switch(topo->layout->gpus[own], slot_of(topo, nic)) ? own : -1;
}

int node_route(const struct topo *topo, int node, struct node_end src, struct node_end dst,
               int *links)
{
    int relay = relay_of(topo, src, dst);
    if (relay >= 0) {
        struct node_end between = {VERTEX_GPU, relay};
        int n = node_route(topo, node, src, between, links);
        return n + node_route(topo, node, between, dst, links + n);
    }
    const struct node_layout *layout = topo->layout;
    if (src.kind == dst.kind && src.index == dst.index) return 0;
    int first = node * topo->links_per_node;
    if (src.kind == VERTEX_GPU && dst.kind == VERTEX_GPU && topo->node.scaleup != SCALEUP_NONE) {
        links[0] = first + 2 * (layout->first_scaleup_cable + src.index);
        links[1] = first + 2 * (layout->first_scaleup_cable + dst.index) + 1;
        return 2;
    }
    struct node_slot from = slot_of(topo, src);
    struct node_slot to = slot_of(topo, dst);
    bool over_host = !same_switch(from, to) || is_staged(topo, src, dst);
    int n = 0;
    if (from.cable >= 0) links[n++] = first + 2 * from.cable;
    if (over_host) {
        int cable = layout->first_switch_cable;
        if (from.pcie_switch >= 0) links[n++] = first + 2 * (cable + from.pcie_switch);
        if (is_staged(topo, src, dst)) n += lay_down(topo, from.socket, first, links + n);
        n += cross_sockets(topo, from.socket, to.socket, first, links + n);
        if (to.pcie_switch >= 0) links[n++] = first + 2 * (cable + to.pcie_switch) + 1;
    }
    if (to.cable >= 0) links[n++] = first + 2 * to.cable + 1;
    return n;
}

/* Halved between the sockets when there are two or more; else what half of the GPUs can send. */
double node_bisection_Bps(const struct topo *topo)
{
    const struct node_spec *spec = &topo->node;
    int half = topo->n_gpus / 2;
    if (spec->scaleup != SCALEUP_NONE) return half * spec->scaleup_Bps;
    double bisection_Bps = half * spec->pcie_Bps;
    int used_switches = 0;
    int used_sockets = 0;
    for (int g = 0; g < topo->n_gpus; g++) {
        struct node_slot slot = topo->layout->gpus[g];
        if (slot.pcie_switch + 1 > used_switches) used_switches = slot.pcie_switch + 1;
        if (slot.socket + 1 > used_sockets) used_sockets = slot.socket + 1;
    }
    if (used_switches > 1) {
        int half_switches = used_switches / 2;
        bisection_Bps = fmin(bisection_Bps, half_switches * spec->pcie_Bps);
    }
    if (used_sockets > 1) {
        bisection_Bps = fmin(bisection_Bps, (spec->sockets > 2 ? 2 : 1) * spec->socket_Bps);
    }
    return bisection_Bps;
}
