#include "workload/merge.h"

#include "base/must.h"

#include <string.h>

/* A part's program, in which communicators have the numbers of the whole. */
static struct program moved(const struct program *program, int first_comm, int n_iterations,
                            struct arena *perm)
{
    struct program copy = *program;
    copy.n_iterations = n_iterations;
    copy.cap_ops = copy.n_ops;
    copy.ops = arena_new(perm, struct op, copy.n_ops);
    if (copy.n_ops > 0) memcpy(copy.ops, program->ops, (size_t)copy.n_ops * sizeof *copy.ops);
    for (int o = 0; o < copy.n_ops; o++) {
        if (copy.ops[o].kind == OP_COLLECTIVE) copy.ops[o].comm += first_comm;
    }
    return copy;
}

static void add_part(struct job *job, int i, int n_iterations, struct arena *perm)
{
    struct job_part *at = &job->parts[i];
    const struct job *part = at->job;
    must(part->n_parts == 0 && n_iterations >= 1);
    at->first_rank = job->n_ranks;
    at->first_program = job->n_programs;
    at->first_comm = job->n_comms;
    for (int p = 0; p < part->n_programs; p++)
        job->programs[job->n_programs++] =
            moved(&part->programs[p], at->first_comm, n_iterations, perm);
    for (int c = 0; c < part->n_comms; c++) job->comms[job->n_comms++] = part->comms[c];
    job->n_ranks += part->n_ranks;
    job->samples_per_iteration += part->samples_per_iteration;
    job->flop_per_iteration += part->flop_per_iteration;
    if (n_iterations > job->n_iterations) job->n_iterations = n_iterations;
}

struct job *job_merge(const struct job *const *parts, int n, const int *n_iterations,
                      struct arena *perm)
{
    struct job *job = arena_new(perm, struct job, 1);
    int n_programs = 0, n_comms = 0;
    for (int i = 0; i < n; i++) {
        n_programs += parts[i]->n_programs;
        n_comms += parts[i]->n_comms;
    }
    *job = (struct job){.name = "jobs side by side",
                        .role_axis = -1,
                        .programs = arena_new(perm, struct program, n_programs),
                        .comms = arena_new(perm, struct comm, n_comms),
                        .sample = parts[0]->sample,
                        .parts = arena_new(perm, struct job_part, n),
                        .n_parts = n};
    for (int i = 0; i < n; i++) {
        job->parts[i].job = parts[i];
        add_part(job, i, n_iterations[i], perm);
    }
    return job;
}
