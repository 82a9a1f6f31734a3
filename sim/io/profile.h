/* Profiles: what a GPU, a server, a network card, a communication library, a framework and the network
 * of a known system are like, as JSON in scenarios/{hardware,links,libraries,frameworks,fabrics,prices}. A reference to a profile is
 *   "name"             a shipped file: PROFILE_DIR/<folder of its kind>/name.json
 *   "path/file.json"   (has a / or ends in .json) a file, relative to the file that says so
 *   {...}              an object with the same keys; with "base": another reference, it only
 *                      changes the keys that it gives
 * Files may have a "base" too. Of a library's base, "changes" change single choices: each names the
 * algorithm (and collectives, and protocol, where not all are meant) and gives the keys that differ.
 * Each number of a shipped profile says where it is from under "sources", key by key. What was
 * measured on a GPU and how well its numbers fit stands under "calibration" (calibration.h) and is
 * found in gpu.measured; of a GPU with a base, the base's holds as long as it has none itself. The same of
 * a network card. */
#ifndef IO_PROFILE_H
#define IO_PROFILE_H

#include "base/field.h"
#include "collectives/library.h"
#include "inputs.h"
#include "io/tuner.h"
#include "net/topo.h"
#include "workload/kernel.h"

struct gpu_profile {
    struct gpu gpu;
    const char *node;               /* the server it usually sits in; "" = none */
    const char *library;            /* that it runs instead of NCCL; "" = it runs NCCL */
    double capability;              /* NVIDIA's compute capability, 0 = none */
    struct sides spread;            /* of a step's time without network */
    double jitter;                  /* see inputs.h */
    double tree_pair_Bps, tree_Bps; /* through one card, see pair_frac of lib_net; 0: no limit */
    double switch_tree_pair_Bps;    /* through all cards, in a tree of switches */
};

struct node_profile {
    const char *name, *source;
    struct node_spec spec; /* without NIC rates: they come from the NIC */
    const char *scaleup;   /* as written; spec.scaleup is made from it */
    const char *nic;       /* the NIC it usually has; "" = none */
    const char *cpu;       /* "intel" or "amd" */
    bool scaleup_sums;     /* the switch between GPUs reduces */
    double sum_efficiency;
    double scaleup_efficiency,
        pcie_efficiency; /* what a large transfer gets of the line rate, (0, 1] */
};

struct nic_profile {
    const char *name, *source;
    double bandwidth_Bps, latency_s;     /* of its port, per direction */
    double efficiency;                   /* what a large transfer gets of the line rate, (0, 1] */
    double host_latency_s;               /* per message, in the hosts at both ends together */
    double handshake_s, eager_B, peer_s; /* see lib_net */
    double inject_B, inject_s, half_B;   /* likewise */
    double connection_Bps, window_B;     /* likewise */
    double
        alltoall_efficiency; /* as efficiency, where each rank sends to all others at once; 0: the same */
    bool in_order;           /* a line of 128 B arrives as a whole */
    bool rings_only;         /* between servers, of protocol Simple */
    double rank_Bps;         /* most that one rank sends; 0: no limit */
    bool rdma;               /* can read GPU memory itself (if the server lets it) */
    const struct measured *measured; /* the messages it was fitted to; NULL = not known */
};

struct fabric_profile {
    const char *name, *source;
    struct fabric_spec spec;
    const char *dimensions;
    const char *file; /* of a graph */
    int seed;
    bool sums;              /* its switches reduce */
    const char *node, *nic; /* that usually join it; "" = none */
};

struct prices_profile {
    const char *name, *source;
    struct prices prices;
};

struct library_profile {
    struct library library;
    double window_B;          /* see lib_net; 0: no limit of the library's own */
    int pcie_channels;        /* 0: as library.n_channels */
    const char *process_per;  /* "server" or "gpu" */
    bool graph_launch;        /* the host does not issue collectives */
    bool hardware_efficiency; /* the server's and the card's own efficiencies multiply its rows */
    const char *faster[LIB_N_REACHES], *slower[LIB_N_REACHES]; /* library.spread as written */
    double memory_traffic;                                     /* see inputs.h, hbm_per_comm_B */
    double scaleup_wire_s, pcie_wire_s, net_wire_s;            /* of all choices, see library.h */
    const char *tuner; /* profile of its own estimate; "" = it makes none */
};

/* profile_kind — one row per kind of profile; loader, schema, docs and tests read it. */
struct profile_kind {
    const char *name;   /* the "kind" that its files state, and its key in a scenario */
    const char *folder; /* of shipped files */
    const char *help;
    const struct field *fields;
    int n_fields;
    bool own_kind; /* "kind" is a key of its own: its files do not state what they are */
};
enum {
    PROFILE_GPU,
    PROFILE_NODE,
    PROFILE_NIC,
    PROFILE_LIBRARY,
    PROFILE_FRAMEWORK,
    PROFILE_FABRIC,
    PROFILE_PRICES,
    PROFILE_TUNER,
    N_PROFILE_KINDS
};
extern const struct profile_kind profile_kinds[N_PROFILE_KINDS];

/* profile_list — the names that the key of a kind of profile takes, sorted; how many: its shipped files, all of
 * which are read, and for a fabric its kinds too.  out: names[PROFILE_MAX_KNOWN] */
enum { PROFILE_MAX_KNOWN = 512 };
int profile_list(const char *profile_dir, const struct profile_kind *kind, const char **names,
                 struct arena *perm);

/* keys of one element of a library's "choices", besides "collectives" */
extern const struct field profile_choice_fields[];
extern const int n_profile_choice_fields;

/* Values put into shipped profiles as they are read, in order, as --set does with scenarios: what a
 * fit tries. `read` tells which of them a load has met. */
struct profile_edit {
    const char *profile, *pointer; /* name of a shipped file; JSON pointer in it */
    const char *value;             /* NULL: as it is, only `read` is wanted */
};
struct profile_edits {
    struct profile_edit *edits;
    bool *read; /* [n] */
    int n;
};

struct profile_reader {
    const char *dir; /* of shipped profiles */
    struct field_log *log;
    struct arena *perm;
    struct diag *diag;
    const struct profile_edits *edits; /* NULL = none */
};

/* where a reference stands: a node of a document, or a name that is the default of a key (node
 * NULL; errors are then reported at the document's root) */
struct profile_ref {
    const struct json *json;
    const struct json_node *node;
    const char *name;
};

/* profile_read_* — errors go to the reader's diag; the result is then not to be used. */
void profile_read_gpu(const struct profile_reader *reader, struct profile_ref ref,
                      struct gpu_profile *out);
void profile_read_node(const struct profile_reader *reader, struct profile_ref ref,
                       struct node_profile *out);
void profile_read_nic(const struct profile_reader *reader, struct profile_ref ref,
                      struct nic_profile *out);
void profile_read_library(const struct profile_reader *reader, struct profile_ref ref,
                          struct library_profile *out);
void profile_read_framework(const struct profile_reader *reader, struct profile_ref ref,
                            struct framework *out);
void profile_read_prices(const struct profile_reader *reader, struct profile_ref ref,
                         struct prices_profile *out);
/* A fabric's reference may be the name of a fabric's kind, too: that fabric with all its defaults. */
void profile_read_fabric(const struct profile_reader *reader, struct profile_ref ref,
                         struct fabric_profile *out);

void profile_read_tuner(const struct profile_reader *reader, struct profile_ref ref,
                        struct tuner_profile *out);

/* profile_path — a path written in `file`, relative to that file. */
const char *profile_path(const char *file, const char *path, struct arena *perm);

/* profile_unknown — "unknown WHAT "name" (did you mean "x"?)" or, with nothing near, the known names. */
void profile_unknown(struct diag *diag, struct diag_place place, const char *what, const char *name,
                     const char *const *known, int n_known, struct arena *perm);

#endif
