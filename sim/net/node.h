/* The inside of a server as a graph: which GPU and NIC is plugged in where, and the routes between
 * them. All nodes are alike, so one layout serves all.
 *
 *   8 GPUs, 4 NICs, 2 sockets, 2 GPUs per PCIe switch, scale-up switch:
 *
 *            +------------------- nvswitch -------------------+
 *            |     |     |     |         |     |     |     |     scale-up
 *          gpu0  gpu1  gpu2  gpu3      gpu4  gpu5  gpu6  gpu7
 *             \  /        \  /            \  /        \  /       pcie
 *      nic0--pcie0  nic1--pcie1    nic2--pcie2  nic3--pcie3
 *               \         /                \         /           pcie
 *                \       /                  \       /
 *                 host 0 ------------------- host 1              host (inter-socket)
 *
 *   gpus_per_pcie_switch = 1: GPUs and NICs hang on the host bridge itself:
 *
 *      gpu0  gpu1  nic0        gpu2  gpu3  nic1
 *         \   |    /              \   |    /
 *           host 0 ---------------- host 1
 *
 * More than two sockets form a ring. Every line is a cable: two links of the same rate. So GPUs
 * of one switch share its uplink, and all that crosses the sockets shares the socket link.
 *
 * Routes inside:
 *   gpu -> gpu    through the scale-up switch when there is one; else gpu0 -> pcie0 -> gpu1 under one
 *                 PCIe switch, gpu0 -> pcie0 -> host 0 -> pcie1 -> gpu2 in one socket,
 *                 ... -> host 0 -> host 1 -> ... across. Without p2p all go over the host.
 *   gpu -> nic    gpu0 -> pcie0 -> nic0 under one switch, else over the host as above; without
 *                 gpudirect always over the host.
 *   host -> nic   host 0 -> pcie0 -> nic0.
 * Source of the picture: NCCL's path types PIX (one switch), PHB (host bridge), SYS (across sockets),
 * as `nvidia-smi topo -m` prints them. */
#ifndef NET_NODE_H
#define NET_NODE_H

#include "net/topo.h"

enum { NODE_MAX_GPUS = 1024, NODE_MAX_NICS = 1024, NODE_MAX_SOCKETS = 8 };

/* where a GPU or NIC is plugged in */
struct node_slot {
    int cable;       /* number in the node; it leads up: its first link goes towards the host */
    int pcie_switch; /* -1: on the host bridge itself */
    int socket;
};

struct node_layout {
    struct node_slot *gpus, *nics; /* [gpus_per_node], [nics_per_node] */
    int *switch_socket;            /* [n_pcie_switches] */
    int n_pcie_switches;
    int *nic_of_gpu, *nic_of_socket; /* the nearest NIC; -1 when the node has none */
    int *
        gpu_of_nic; /* the GPU that uses a NIC besides its nearest one, or it is that; where there are
                        more NICs than GPUs each has several */
    /* vertices and cables of a node by kind, counted from the node's first */
    int first_switch, first_host, first_nic, nvswitch, first_memory, n_vertices;
    int first_switch_cable, first_nic_cable, first_socket_cable, first_scaleup_cable;
    int first_memory_cable, n_cables;
};

/* something inside a node: a GPU, NIC or host by its number in the node */
struct node_end {
    enum vertex_kind kind;
    int index;
};

/* node_check — report what is out of range. */
void node_check(const struct node_spec *node, int n_nodes, struct diag *diag,
                struct diag_place place);

struct node_layout *node_layout(const struct node_spec *node, struct arena *perm);

/* node_build — add the vertices and links of the next node. */
void node_build(struct topo *topo, int node, struct arena *perm);

/* node_route — as topo_route, between two ends in one node. */
int node_route(const struct topo *topo, int node, struct node_end src, struct node_end dst,
               int *links);

/* node_bisection_Bps — between the halves of a node's GPUs, when there is nothing else. */
double node_bisection_Bps(const struct topo *topo);

#endif
