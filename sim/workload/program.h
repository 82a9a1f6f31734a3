/* The intermediate form: what every way of training compiles to. A job is a program per role
 * (pipeline stage, or one role for pure data parallelism), run for several iterations; ranks and
 * their groups come from a mesh. Nothing here knows the network.
 *
 * Ops of a stream run in order, one at a time (FIFO in list order). An op also waits for its
 * dependencies: op `dep.op` of the same rank, `dep.distance` iterations earlier (0 = this one).
 * Ranks meet in collectives only: the k-th op on communicator c of every member of a group is one
 * collective; kinds and sizes must match over the members (program_check). */
#ifndef WORKLOAD_PROGRAM_H
#define WORKLOAD_PROGRAM_H

#include "base/arena.h"
#include "collectives/coll.h"

#include <stdbool.h>
#include <stdint.h>

enum op_kind {
    OP_HOST,      /* CPU time: issue kernels, wait for a cycle */
    OP_KERNEL,    /* GPU time */
    OP_COLLECTIVE /* network; all_reduce ... sendrecv over a communicator */
};

/* what the time is for: the rows of the report */
enum op_part {
    PART_FORWARD,
    PART_BACKWARD,
    PART_OPTIMIZER,
    PART_LAUNCH,
    PART_COMMUNICATION,
    PART_INPUT,
    N_PARTS
};

struct op {
    enum op_kind kind;
    enum op_part part;
    int32_t stream;   /* 0 .. program.n_streams - 1 */
    const char *name; /* for the trace */
    double work_s;    /* host, kernel: time when alone on a GPU of speed 1, >= 0 */
    double hbm_B;     /* kernel: memory traffic, for contention with communication; >= 0 */
    int32_t comm;     /* collective: communicator */
    enum coll_kind coll;
    double size_B;
    int32_t repeats; /* collective: how often it runs again, back to back, under one start; >= 0 */
    int32_t root;    /* collective: see coll_req.root; -1 = none */
    const char *algorithm, *protocol; /* forced; NULL = the library chooses */
    double alloc_B, free_B;           /* memory allocated at its start, freed at its end */
    int32_t first_dep, n_deps;
};
struct dep {
    int32_t op, distance;
};

/* what a rank holds all the time; master weights count as the optimizer's where kernels read a copy,
 * gathered parameters as buffers */
struct held {
    double weights_B, gradients_B, optimizer_B, buffers_B;
};

struct program {
    struct op *ops;
    int n_ops, cap_ops;
    struct dep *deps;
    int n_deps, cap_deps;
    int n_streams;
    const char *const *stream_names; /* [n_streams], "host", "compute", "gradients", ... */
    int n_iterations; /* where it is not the job's: of a part of a merged job; else 0 */
    double static_B;  /* memory held all the time: weights, gradients, optimizer state */
    struct held held; /* that it is the sum of */
};

/* Groups of a communicator are the lines of a mesh along one axis: with axes of sizes n_0, n_1, ..
 * rank = i_0 + n_0 (i_1 + n_1 (i_2 + ...)). Axis 0 varies fastest. A communicator may span several
 * neighbouring axes (first .. last), or join only places a and b of its axis (pipeline
 * neighbours). */
enum { MESH_MAX = 7 };
struct mesh {
    int n_axes;
    int size[MESH_MAX];
    const char *name[MESH_MAX]; /* "tp", "pp", "dp" */
};
struct comm {
    const char *name;
    int first_axis, last_axis;
    int from, to;  /* -1, -1: the whole line; otherwise a group is the two places from, to of
                      first_axis */
    int n_servers; /* parameter servers joined to the group, on host memory of the first nodes;
                      0 = none */
};

struct job {
    const char *name;
    struct mesh mesh;
    int n_ranks;   /* product of mesh sizes */
    int role_axis; /* the axis whose index chooses the program; -1 = one program */
    struct program *programs;
    int n_programs;
    struct comm *comms;
    int n_comms;
    int n_iterations;             /* run this many; the period is taken between the last two */
    double samples_per_iteration; /* global batch */
    const char *sample;           /* unit of throughput */
    double flop_per_iteration;    /* model FLOPs of all ranks, forward and backward */
    struct job_part *parts;       /* of a job made of several (merge.h); its mesh is not used */
    int n_parts;
};

struct job_part {
    const struct job *job;
    int first_rank, first_program, first_comm;
};

/* op_times — how many collectives of its size the op stands for: alone on the network they take that
 * many times as long as one. */
static inline double op_times(const struct op *op)
{
    return 1.0 + op->repeats;
}

/* program_add_op — append an op, still without dependencies; returns its index. */
int program_add_op(struct program *program, struct op op, struct arena *perm);
/* program_add_dep — op (the last one added) waits for `on`, `distance` iterations earlier. */
void program_add_dep(struct program *program, int op, int on, int distance, struct arena *perm);

/* job_check — crash (must) when a job breaks the rules above: shapes, ranges, dependencies without
 * a circle, and equal sequences of collectives on each communicator for all members of a group.
 * Cost O(ops + deps + ranks * comms + programs^2 * ops). */
void job_check(const struct job *job, struct arena scratch);

/* job_role, job_group, job_group_size, job_member: where ranks stand. Groups of comm c are numbered
 * 0 .. job_n_groups - 1; members in order of the axis. job_group is -1 when the rank is in no group
 * of c. */
int job_role(const struct job *job, int rank);
/* job_part_of — the part that a rank belongs to, the job itself when it has none. */
const struct job *job_part_of(const struct job *job, int rank);
/* job_joins_roles — does the communicator join ranks of several programs? */
bool job_joins_roles(const struct job *job, int comm);
/* job_iterations — how often a program runs. */
int job_iterations(const struct job *job, const struct program *program);
int job_n_groups(const struct job *job, int comm);
int job_group_size(const struct job *job, int comm);
int job_group(const struct job *job, int comm, int rank);
int job_member(const struct job *job, int comm, int group, int i);

#endif
