/* The picture of a server as other tools draw it (nvidia-smi topo -m, NCCL's topology file), and the node
 * profile that it makes. What a picture does not say is left to the profile's base or defaults. */
#ifndef IO_SERVER_H
#define IO_SERVER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* no GPU has more than 36 links (NVLink 6, as NCCL counts them), nor more than 18 of them to other GPUs
 * without a switch between (H100; NVIDIA's data sheets) */
enum {
    SERVER_MAX_GPUS = 128,
    SERVER_MAX_NICS = 128,
    SERVER_MAX_LINKS = 36,
    SERVER_DIRECT_LINKS = 18
};

struct server_gpu {
    int socket;      /* its NUMA node; -1 = not told */
    int pcie_switch; /* GPUs with equal numbers share one; -1 = on the host bridge, or not told */
    int n_links;     /* NVLinks or xGMI links in all */
    int sm;          /* compute capability, 90 = 9.0; 0 = not told */
};

struct server_nic {
    const char *name; /* "mlx5_0" */
    double rate_Bps;  /* 0 = not told */
    int socket;       /* -1 = not told */
    bool near;        /* under a PCIe switch with a GPU, or it is not known */
    bool infiniband;  /* by its PCI class; else Ethernet, or not told */
};

/* one link between GPUs, one direction */
struct server_link {
    double Bps;
    const char *name; /* "NVLink 4" */
    bool assumed;     /* the picture does not say which GPUs these are */
};

struct server {
    const char *source; /* "nvidia-smi topo -m" */
    struct server_gpu gpus[SERVER_MAX_GPUS];
    int n_gpus;
    struct server_nic nics[SERVER_MAX_NICS];
    int n_nics;
    bool through_switch;     /* links go to a switch, not from GPU to GPU */
    bool apart;              /* they join some GPUs, but not all */
    bool links_untold;       /* the picture is not one of links between GPUs */
    struct server_link link; /* Bps 0: NVLink, by compute capability */
    double pcie_Bps;         /* of a GPU's slot; 0 = not told */
};

/* server_link_Bps — one NVLink, one direction, of GPUs of that compute capability (0: not told). */
double server_link_Bps(int sm);

/* server_xgmi — a link of AMD's GPUs by architecture: "942", "gfx90a", "910"; "": not told. */
struct server_link server_xgmi(const char *gcn);

/* server_socket — of a NUMA node, where there are n of them in all. No server for GPUs has more than four
 * sockets; where there are more nodes they are parts of two (AMD's NPS2 and NPS4, Intel's SNC), numbered
 * one socket after the other. */
int server_socket(int numa, int n_numa);

/* server_join — a and b of n are joined: whoever was with b is with a. Each begins as group[i] = i. */
void server_join(int *group, int n, int a, int b);

/* server_profile — the profile as JSON. base: a node profile for what the picture does not say; NULL =
 * none. */
void server_profile(const struct server *server, const char *name, const char *base, FILE *out);

/* server_notes — what a reader of the profile should know: a line each, "FILE: ...". */
void server_notes(const struct server *server, const char *file, const char *base, FILE *out);

#endif
