#include "workload/program.h"

#include "base/must.h"

#include <math.h>
#include <string.h>

int program_add_op(struct program *program, struct op op, struct arena *perm)
{
    if (program->n_ops == program->cap_ops) {
        program->cap_ops = program->cap_ops ? 2 * program->cap_ops : 64;
        program->ops = arena_grow(perm, struct op, program->ops, program->n_ops, program->cap_ops);
    }
    op.first_dep = program->n_deps;
    op.n_deps = 0;
    program->ops[program->n_ops] = op;
    return program->n_ops++;
}

void program_add_dep(struct program *program, int op, int on, int distance, struct arena *perm)
{
    /* dependencies of an op lie side by side, so only the last op can still get one */
    must(op == program->n_ops - 1 && on >= 0 && distance >= 0);
    if (program->n_deps == program->cap_deps) {
        program->cap_deps = program->cap_deps ? 2 * program->cap_deps : 64;
        program->deps =
            arena_grow(perm, struct dep, program->deps, program->n_deps, program->cap_deps);
    }
    program->deps[program->n_deps++] = (struct dep){on, distance};
    program->ops[op].n_deps++;
}

/* rank = low + below * (along + length * high): `along` is the place on the line that a
 * communicator spans, `low` and `high` together say which line. */
struct lines {
    int below, length;
};

static struct lines lines_of(const struct mesh *mesh, int first_axis, int last_axis)
{
    struct lines lines = {1, 1};
    for (int axis = 0; axis < first_axis; axis++) lines.below *= mesh->size[axis];
    for (int axis = first_axis; axis <= last_axis; axis++) lines.length *= mesh->size[axis];
    return lines;
}

static struct lines comm_lines(const struct job *job, int comm)
{
    return lines_of(&job->mesh, job->comms[comm].first_axis, job->comms[comm].last_axis);
}

static bool is_pair(const struct comm *comm)
{
    return comm->from >= 0;
}

/* The part of a merged job that holds a rank, or a communicator: the last that begins there or before. */
static const struct job_part *part_with_rank(const struct job *job, int rank)
{
    const struct job_part *part = &job->parts[job->n_parts - 1];
    while (part->first_rank > rank) part--;
    return part;
}

static const struct job_part *part_with_comm(const struct job *job, int comm)
{
    const struct job_part *part = &job->parts[job->n_parts - 1];
    while (part->first_comm > comm) part--;
    return part;
}

const struct job *job_part_of(const struct job *job, int rank)
{
    return job->n_parts == 0 ? job : part_with_rank(job, rank)->job;
}

bool job_joins_roles(const struct job *job, int comm)
{
    if (job->n_parts > 0) {
        const struct job_part *part = part_with_comm(job, comm);
        return job_joins_roles(part->job, comm - part->first_comm);
    }
    return job->comms[comm].first_axis <= job->role_axis &&
           job->role_axis <= job->comms[comm].last_axis;
}

int job_iterations(const struct job *job, const struct program *program)
{
    return program->n_iterations > 0 ? program->n_iterations : job->n_iterations;
}

static int lone_role(const struct job *job, int rank)
{
    if (job->role_axis < 0) return 0;
    struct lines lines = lines_of(&job->mesh, job->role_axis, job->role_axis);
    return rank / lines.below % lines.length;
}

int job_role(const struct job *job, int rank)
{
    if (job->n_parts == 0) return lone_role(job, rank);
    const struct job_part *part = part_with_rank(job, rank);
    return part->first_program + lone_role(part->job, rank - part->first_rank);
}

int job_n_groups(const struct job *job, int comm)
{
    if (job->n_parts > 0) {
        const struct job_part *part = part_with_comm(job, comm);
        return job_n_groups(part->job, comm - part->first_comm);
    }
    return job->n_ranks / comm_lines(job, comm).length;
}

int job_group_size(const struct job *job, int comm)
{
    if (job->n_parts > 0) {
        const struct job_part *part = part_with_comm(job, comm);
        return job_group_size(part->job, comm - part->first_comm);
    }
    return is_pair(&job->comms[comm]) ? 2 : comm_lines(job, comm).length;
}

static int lone_group(const struct job *job, int comm, int rank)
{
    const struct comm *c = &job->comms[comm];
    struct lines lines = comm_lines(job, comm);
    int along = rank / lines.below % lines.length;
    if (is_pair(c) && along != c->from && along != c->to) return -1;
    int low = rank % lines.below;
    int high = rank / (lines.below * lines.length);
    return low + lines.below * high;
}

int job_group(const struct job *job, int comm, int rank)
{
    if (job->n_parts == 0) return lone_group(job, comm, rank);
    const struct job_part *part = part_with_comm(job, comm);
    int local = rank - part->first_rank;
    if (local < 0 || local >= part->job->n_ranks) return -1;
    return lone_group(part->job, comm - part->first_comm, local);
}

static int lone_member(const struct job *job, int comm, int group, int i)
{
    const struct comm *c = &job->comms[comm];
    struct lines lines = comm_lines(job, comm);
    int along = i;
    if (is_pair(c)) along = i == 0 ? c->from : c->to;
    int low = group % lines.below;
    int high = group / lines.below;
    return low + lines.below * (along + lines.length * high);
}

int job_member(const struct job *job, int comm, int group, int i)
{
    if (job->n_parts == 0) return lone_member(job, comm, group, i);
    const struct job_part *part = part_with_comm(job, comm);
    return part->first_rank + lone_member(part->job, comm - part->first_comm, group, i);
}

static void check_mesh(const struct job *job)
{
    int64_t product = 1;
    must(job->mesh.n_axes >= 1 && job->mesh.n_axes <= MESH_MAX);
    for (int axis = 0; axis < job->mesh.n_axes; axis++) {
        must(job->mesh.size[axis] >= 1);
        product *= job->mesh.size[axis];
    }
    must(product == job->n_ranks);
    must(job->role_axis >= -1 && job->role_axis < job->mesh.n_axes);
    int n_roles = job->role_axis < 0 ? 1 : job->mesh.size[job->role_axis];
    must(job->n_programs == n_roles);
    must(job->n_iterations >= 1 && job->samples_per_iteration > 0.0);
    must(job->flop_per_iteration >= 0.0);
}

static void check_comm(const struct job *job, const struct comm *comm)
{
    must(comm->first_axis >= 0 && comm->first_axis <= comm->last_axis);
    must(comm->last_axis < job->mesh.n_axes && comm->n_servers >= 0);
    if (comm->from == -1 && comm->to == -1) return;
    int length = job->mesh.size[comm->first_axis];
    must(comm->first_axis == comm->last_axis && comm->from != comm->to);
    must(comm->from >= 0 && comm->from < length && comm->to >= 0 && comm->to < length);
}

static void check_op(const struct job *job, const struct program *program, const struct op *op)
{
    must(op->name && op->stream >= 0 && op->stream < program->n_streams);
    must(op->part < N_PARTS);
    must(isfinite(op->work_s) && op->work_s >= 0.0 && isfinite(op->hbm_B) && op->hbm_B >= 0.0);
    must(op->alloc_B >= 0.0 && op->free_B >= 0.0);
    must(op->first_dep >= 0 && op->n_deps >= 0 && op->first_dep + op->n_deps <= program->n_deps);
    if (op->kind != OP_COLLECTIVE) return;
    must(op->comm >= 0 && op->comm < job->n_comms && op->coll < N_COLL_KINDS);
    must(isfinite(op->size_B) && op->size_B > 0.0 && op->root >= -1 && op->repeats >= 0);
}

/* list_before — the op before each op on its stream, -1 for the first. */
static const int *list_before(const struct program *program, struct arena *perm)
{
    int *before = arena_new(perm, int, program->n_ops);
    int *last = arena_new(perm, int, program->n_streams);
    memset(last, -1, (size_t)program->n_streams * sizeof *last);
    for (int i = 0; i < program->n_ops; i++) {
        before[i] = last[program->ops[i].stream];
        last[program->ops[i].stream] = i;
    }
    return before;
}

static bool can_run(const struct program *program, int i, int before, const bool *done)
{
    const struct op *op = &program->ops[i];
    if (before >= 0 && !done[before]) return false;
    for (int d = op->first_dep; d < op->first_dep + op->n_deps; d++) {
        const struct dep *dep = &program->deps[d];
        if (dep->distance == 0 && !done[dep->op]) return false;
    }
    return true;
}

/* check_order — every op can run: an op waits for the one before on its stream and for its
 * dependencies of the same iteration (those of earlier iterations are behind it in time, so they
 * close no circle). Ops run as they become free; all must have run in the end. */
static void check_order(const struct program *program, struct arena scratch)
{
    int n_done = 0;
    bool *done = arena_new(&scratch, bool, program->n_ops);
    const int *before = list_before(program, &scratch);
    for (int n_new = 1; n_new > 0; n_done += n_new) {
        n_new = 0;
        for (int i = 0; i < program->n_ops; i++) {
            if (done[i] || !can_run(program, i, before[i], done)) continue;
            done[i] = true;
            n_new++;
        }
    }
    must(n_done == program->n_ops);
}

static void check_program(const struct job *job, const struct program *program,
                          struct arena scratch)
{
    double held_B = 0.0;
    double moved_B = 0.0;
    must(program->n_streams >= 1 && program->static_B >= 0.0);
    for (int i = 0; i < program->n_deps; i++) {
        must(program->deps[i].op >= 0 && program->deps[i].op < program->n_ops);
        must(program->deps[i].distance >= 0);
    }
    for (int i = 0; i < program->n_ops; i++) {
        check_op(job, program, &program->ops[i]);
        held_B += program->ops[i].alloc_B - program->ops[i].free_B;
        moved_B += program->ops[i].alloc_B;
    }
    /* what an iteration allocates it frees: memory does not grow from one to the next; the rest is
     * rounding of sums */
    must(fabs(held_B) <= 1e-9 * moved_B);
    check_order(program, scratch);
}

/* next_collective — the first op from i on that is a collective on comm, n_ops if none. */
static int next_collective(const struct program *program, int comm, int i)
{
    while (i < program->n_ops) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_COLLECTIVE && op->comm == comm) break;
        i++;
    }
    return i;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_same_collectives(const struct program *p, const struct program *q, int comm)
{
    int i = next_collective(p, comm, 0);
    int j = next_collective(q, comm, 0);
    while (i < p->n_ops && j < q->n_ops) {
        const struct op *a = &p->ops[i];
        const struct op *b = &q->ops[j];
        must(a->coll == b->coll && a->root == b->root && a->repeats == b->repeats);
        must(fabs(a->size_B - b->size_B) <= 0.0);
        must(same_text(a->algorithm, b->algorithm) && same_text(a->protocol, b->protocol));
        i = next_collective(p, comm, i + 1);
        j = next_collective(q, comm, j + 1);
    }
    must(i == p->n_ops && j == q->n_ops);
}

/* check_meetings — each pair of roles that meet is compared once; row n stands for ranks that are
 * in no group, whose programs must then have nothing on comm. */
static void check_meetings(const struct job *job, int comm, struct arena scratch)
{
    int n = job->n_programs;
    bool *seen = arena_new(&scratch, bool, (int64_t)n *(n + 1));
    for (int rank = 0; rank < job->n_ranks; rank++) {
        int role = job_role(job, rank);
        int group = job_group(job, comm, rank);
        int head = group < 0 ? n : job_role(job, job_member(job, comm, group, 0));
        if (seen[head * n + role]) continue;
        seen[head * n + role] = true;
        const struct program *program = &job->programs[role];
        if (group < 0) must(next_collective(program, comm, 0) == program->n_ops);
        if (group >= 0) check_same_collectives(&job->programs[head], program, comm);
    }
}

void job_check(const struct job *job, struct arena scratch)
{
    check_mesh(job);
    for (int c = 0; c < job->n_comms; c++) check_comm(job, &job->comms[c]);
    for (int p = 0; p < job->n_programs; p++) check_program(job, &job->programs[p], scratch);
    for (int c = 0; c < job->n_comms; c++) check_meetings(job, c, scratch);
}
