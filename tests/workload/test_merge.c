#include "workload/merge.h"

#include "test.h"

/* 2 x 3 ranks with a program per place along the first axis, and a line of 4 */
static struct job *small_job(int n_axes, int a, int b, bool roles, struct arena *perm)
{
    static const char *const streams[] = {"communication"};
    struct job *job = arena_new(perm, struct job, 1);
    *job = (struct job){.mesh = {n_axes, {a, b}, {"a", "b"}},
                        .n_ranks = n_axes == 2 ? a * b : a,
                        .role_axis = roles ? 0 : -1,
                        .n_programs = roles ? a : 1,
                        .n_comms = n_axes,
                        .n_iterations = 1,
                        .samples_per_iteration = 8,
                        .flop_per_iteration = 1e9};
    job->programs = arena_new(perm, struct program, job->n_programs);
    job->comms = arena_new(perm, struct comm, n_axes);
    for (int axis = 0; axis < n_axes; axis++)
        job->comms[axis] = (struct comm){
            .name = "axis", .first_axis = axis, .last_axis = axis, .from = -1, .to = -1};
    for (int p = 0; p < job->n_programs; p++) {
        job->programs[p] = (struct program){.n_streams = 1, .stream_names = streams};
        for (int c = 0; c < n_axes; c++)
            program_add_op(&job->programs[p],
                           (struct op){.kind = OP_COLLECTIVE,
                                       .name = "sum",
                                       .comm = c,
                                       .coll = COLL_ALLREDUCE,
                                       .size_B = 8,
                                       .root = -1},
                           perm);
    }
    job_check(job, *perm);
    return job;
}

/* Everything of a part is where it was, counted on from the parts before. */
static void assert_part_kept(const struct job *all, int i)
{
    const struct job_part *at = &all->parts[i];
    const struct job *part = at->job;
    for (int r = 0; r < part->n_ranks; r++) {
        int rank = at->first_rank + r;
        assert_ptr_equal(job_part_of(all, rank), part);
        assert_int_equal(job_role(all, rank), at->first_program + job_role(part, r));
        for (int c = 0; c < all->n_comms; c++) {
            bool own = c >= at->first_comm && c < at->first_comm + part->n_comms;
            int group = own ? job_group(part, c - at->first_comm, r) : -1;
            assert_int_equal(job_group(all, c, rank), group);
        }
    }
    for (int c = 0; c < part->n_comms; c++) {
        int comm = at->first_comm + c;
        assert_int_equal(job_n_groups(all, comm), job_n_groups(part, c));
        assert_int_equal(job_group_size(all, comm), job_group_size(part, c));
        assert_int_equal(job_joins_roles(all, comm), job_joins_roles(part, c));
        for (int g = 0; g < job_n_groups(part, c); g++)
            for (int m = 0; m < job_group_size(part, c); m++)
                assert_int_equal(job_member(all, comm, g, m),
                                 at->first_rank + job_member(part, c, g, m));
    }
}

static void parts_keep_their_ranks_programs_and_groups(void **state)
{
    struct arena *perm = *state;
    const struct job *parts[] = {small_job(1, 4, 1, false, perm), small_job(2, 2, 3, true, perm),
                                 small_job(1, 5, 1, false, perm)};
    const int n_iterations[] = {3, 7, 5};
    const struct job *all = job_merge(parts, 3, n_iterations, perm);
    assert_int_equal(all->n_ranks, 15);
    assert_int_equal(all->n_programs, 4);
    assert_int_equal(all->n_comms, 4);
    assert_int_equal(all->n_iterations, 7);
    assert_close(all->samples_per_iteration, 24, 1e-12);
    for (int i = 0; i < 3; i++) assert_part_kept(all, i);
}

static void parts_run_as_often_as_they_are_told(void **state)
{
    struct arena *perm = *state;
    const struct job *parts[] = {small_job(1, 4, 1, false, perm), small_job(2, 2, 3, true, perm)};
    const int n_iterations[] = {3, 7};
    const struct job *all = job_merge(parts, 2, n_iterations, perm);
    assert_int_equal(job_iterations(all, &all->programs[0]), 3);
    assert_int_equal(job_iterations(all, &all->programs[2]), 7);
    assert_int_equal(all->programs[2].ops[1].comm, 2);
    assert_int_equal(parts[1]->programs[1].ops[1].comm, 1); /* the part itself is as it was */
    assert_int_equal(job_iterations(parts[1], &parts[1]->programs[0]), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_keep_their_ranks_programs_and_groups),
        cmocka_unit_test(parts_run_as_often_as_they_are_told),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
