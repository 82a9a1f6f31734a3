/* The picture of a server as other tools draw it (nvidia-smi topo -m, NCCL's topology file), and the node
 * profile that it makes. What a picture does not say is left to the profile's base or defaults. */
#ifndef IO_SERVER_H
#define IO_SERVER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* no GPU has more than 18 NVLinks (H100, B200; NVIDIA's data sheets) */
enum { SERVER_MAX_GPUS = 128, SERVER_MAX_NICS = 128, SERVER_MAX_LINKS = 18 };

struct server_gpu {
    int socket;      /* its NUMA node; -1 = not told */
    int pcie_switch; /* GPUs with equal numbers share one; -1 = on the host bridge, or not told */
    int n_links;     /* NVLinks in all */
    int sm;          /* compute capability, 90 = 9.0; 0 = not told */
};

struct server_nic {
    const char *name; /* "mlx5_0" */
    double rate_Bps;  /* 0 = not told */
    int socket;       /* -1 = not told */
    bool near;        /* under a PCIe switch with a GPU, or it is not known */
};

struct server {
    const char *source; /* "nvidia-smi topo -m" */
    struct server_gpu gpus[SERVER_MAX_GPUS];
    int n_gpus;
    struct server_nic nics[SERVER_MAX_NICS];
    int n_nics;
    bool through_switch; /* NVLinks go to a switch, not from GPU to GPU */
    double pcie_Bps;     /* of a GPU's slot; 0 = not told */
};

/* server_link_Bps — one NVLink, one direction, of GPUs of that compute capability (0: not told). */
double server_link_Bps(int sm);

/* server_profile — the profile as JSON. base: a node profile for what the picture does not say; NULL =
 * none. */
void server_profile(const struct server *server, const char *name, const char *base, FILE *out);

#endif
