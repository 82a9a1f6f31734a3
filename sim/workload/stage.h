/* The program of one pipeline stage, op by op: its turns (schedule.h), in each the kernels of a chunk
 * and what its ranks exchange on the way, what it receives and sends, and the update.
 *
 *   layers    [F kernels][sums over tensor ranks][send]     one op each for all blocks of a chunk
 *
 * Kernels of a pass and its exchanges follow each other op by op although they alternate block by
 * block: nothing overlaps, so the sum is the same. Rings do overlap: the core of attention and the
 * ring go side by side; with tensor_overlap gathers and scatters and the products that use them do
 * (source: NVIDIA TransformerEngine, userbuffers; Wang et al., Overlap communication with dependent
 * computation via decomposition, ASPLOS 2023). Where gradients or parameters travel meanwhile, a pass is cut into units of
 * blocks (shard.h).
 *
 * A stage waits for its own sends, as Megatron-LM's 1F1B does; with virtual stages sends and
 * receives are posted ahead and only data is waited for (its overlap_p2p_communication).
 * Equal micro-batches of one stage, between the first and the last, are one op each of their
 * forwards and backwards.
 * Where issuing a pass takes the host longer than the pass takes the GPU, the host sets the pace. */
#ifndef WORKLOAD_STAGE_H
#define WORKLOAD_STAGE_H

#include "workload/piece.h"
#include "workload/schedule.h"
#include "workload/step.h"

enum parallel_comm {
    COMM_TENSOR,
    COMM_CONTEXT,
    COMM_EXPERTS,
    COMM_SAME,        /* ranks with the same parameters */
    COMM_SHARDS,      /* of them, those that divide the state */
    COMM_COPIES,      /* of them, those with the same shard */
    COMM_EXPERT_SAME, /* ranks with the same experts */
    COMM_TIED,        /* first and last stage: a word table that both use */
    COMM_FIRST_PAIR /* forward from stage i to the next: this + i; backward from stage i to the one
                       before: this + n_stages + i */
};

enum parallel_stream {
    STREAM_LAYERS = STREAM_FIRST_OF_STRATEGY,
    STREAM_RING,
    STREAM_FORWARD_IN,
    STREAM_FORWARD_OUT,
    STREAM_BACKWARD_IN,
    STREAM_BACKWARD_OUT,
    STREAM_GRADIENTS,
    STREAM_COPIES,
    N_PARALLEL_STREAMS
};

/* what all stages share */
struct parallel {
    const struct train_spec *spec;
    const struct gpu *gpu;
    struct arena *perm;
    struct pipeline pipeline;
    const struct piece *pieces; /* see pieces_of_model */
    int n_pieces;
    double border_B, scale;              /* scale: of kernel times */
    double tied_parameters;              /* of a word table on the last stage as well; 0 = none */
    int n_same, n_shards, n_expert_same; /* members of these communicators */
};

/* a virtual stage */
struct chunk {
    struct piece whole;
    struct piece *units; /* [n_units] */
    int n_units;
    int *gather; /* [n_units] what brings their parameters at the start of a step; -1 = nothing */
};

enum { MAX_WAITS = 16 };
struct waits {
    int ops[MAX_WAITS], n;
};
struct stage {
    const struct parallel *parallel;
    struct program *program;
    struct chunk *chunks; /* [n_chunks] */
    int number;
    struct waits waits; /* for what the next op on the path of data waits */
    bool issues;        /* the host is slower than the GPU: it has ops of its own */
    bool host_runs;     /* and has one already */
    bool fresh; /* the next transfer of parameters has to wait for the update of the step before */
    int update_deps[MAX_WAITS], n_update_deps; /* deps on the update of the step before, not yet
                                                  known */
    int last_unit[2];                          /* the last op of the two units before, -1 = none */
    int last_gradients, last_copies;           /* of these streams, -1 = none */
    struct {
        const struct piece *unit;
        int after;
    } late; /* a reduction held back behind the next gather; unit NULL = none */
};

/* stage_add — op waits for all that stage->waits names; stage_wait adds to it, stage_wait_only
 * replaces it. stage_add_update_dep: the op added last waits for the update of the step before. */
int stage_add(struct stage *stage, struct op op);
void stage_wait(struct stage *stage, int op);
void stage_wait_only(struct stage *stage, int op);
void stage_add_update_dep(struct stage *stage);

/* a collective of n equal parts */
struct transfer {
    const char *name;
    int stream, comm;
    enum coll_kind kind;
    double size_B; /* each */
    int n;
};
struct op stage_transfer(const struct parallel *parallel, const struct transfer *transfer);

void stage_build(const struct parallel *parallel, int number, struct program *program);

#endif
