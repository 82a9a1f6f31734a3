#include "workload/program.h"

#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* tp varies fastest: rank = tp + T (pp + P dp) */
static struct job *mesh_job(int tp, int pp, int dp, struct arena *perm)
{
    struct job *job = arena_new(perm, struct job, 1);
    *job = (struct job){.name = "mesh",
                        .mesh = {3, {tp, pp, dp}, {"tp", "pp", "dp"}},
                        .n_ranks = tp * pp * dp,
                        .role_axis = 1,
                        .programs = arena_new(perm, struct program, pp),
                        .n_programs = pp,
                        .comms = arena_new(perm, struct comm, 16),
                        .n_iterations = 1,
                        .samples_per_iteration = 1};
    static const char *const streams[] = {"compute", "communication"};
    for (int p = 0; p < pp; p++) {
        job->programs[p].n_streams = 2;
        job->programs[p].stream_names = streams;
    }
    static const int spans[][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {0, 2}};
    for (int i = 0; i < 6; i++) {
        job->comms[job->n_comms++] = (struct comm){"line", spans[i][0], spans[i][1], -1, -1, 0};
    }
    for (int p = 0; p + 1 < pp; p++) {
        job->comms[job->n_comms++] = (struct comm){"neighbours", 1, 1, p, p + 1, 0};
    }
    return job;
}

/* Every rank is in exactly one group of a line communicator, and member and group are inverse. */
static void check_groups(const struct job *job, int comm, struct arena scratch)
{
    bool *seen = arena_new(&scratch, bool, job->n_ranks);
    int n_in = 0;
    for (int g = 0; g < job_n_groups(job, comm); g++) {
        for (int i = 0; i < job_group_size(job, comm); i++) {
            int rank = job_member(job, comm, g, i);
            assert_in_range(rank, 0, job->n_ranks - 1);
            assert_false(seen[rank]);
            assert_int_equal(job_group(job, comm, rank), g);
            seen[rank] = true;
            n_in++;
        }
    }
    for (int rank = 0; rank < job->n_ranks; rank++) {
        assert_int_equal(seen[rank], job_group(job, comm, rank) >= 0);
    }
    if (job->comms[comm].from < 0) assert_int_equal(n_in, job->n_ranks);
}

static void groups_partition_the_ranks(void **state)
{
    struct arena *perm = *state;
    static const int shapes[][3] = {{2, 2, 16}, {1, 1, 1}, {3, 5, 7},
                                    {1, 4, 3},  {8, 2, 1}, {5, 3, 2}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct job *job = mesh_job(shapes[s][0], shapes[s][1], shapes[s][2], perm);
        job_check(job, *perm);
        for (int c = 0; c < job->n_comms; c++) check_groups(job, c, *perm);
    }
}

/* TP2 x PP2 x DP16: rank 13 = 1 + 2 (0 + 2 x 3): tp 1, pp 0, dp 3. */
static void a_rank_stands_where_the_formula_says(void **state)
{
    struct job *job = mesh_job(2, 2, 16, *state);
    assert_int_equal(job_role(job, 13), 0);
    assert_int_equal(job_role(job, 15), 1);
    int tp = job_group(job, 0, 13);
    assert_int_equal(job_member(job, 0, tp, 0), 12);
    assert_int_equal(job_member(job, 0, tp, 1), 13);
    int pp = job_group(job, 1, 13);
    assert_int_equal(job_member(job, 1, pp, 0), 13);
    assert_int_equal(job_member(job, 1, pp, 1), 15);
    int dp = job_group(job, 2, 13);
    for (int i = 0; i < 16; i++) assert_int_equal(job_member(job, 2, dp, i), 1 + 4 * i);
    int tp_pp = job_group(job, 3, 13); /* two neighbouring axes: the four ranks 12 .. 15 */
    for (int i = 0; i < 4; i++) assert_int_equal(job_member(job, 3, tp_pp, i), 12 + i);
    assert_int_equal(job_n_groups(job, 5), 1);
}

/* places 1 and 2 of a pipeline of four: ranks at places 0 and 3 are in no group */
static void pipeline_neighbours_leave_out_the_others(void **state)
{
    struct job *job = mesh_job(2, 4, 3, *state);
    int comm = 7;
    assert_int_equal(job->comms[comm].from, 1);
    assert_int_equal(job_group_size(job, comm), 2);
    assert_int_equal(job_n_groups(job, comm), 6);
    for (int rank = 0; rank < job->n_ranks; rank++) {
        int place = job_role(job, rank);
        bool in = job_group(job, comm, rank) >= 0;
        assert_int_equal(in, place == 1 || place == 2);
    }
}

static struct op kernel_op(int stream)
{
    return (struct op){.kind = OP_KERNEL, .name = "k", .stream = stream, .work_s = 1, .root = -1};
}

static struct op collective_op(int comm, double size_B)
{
    return (struct op){.kind = OP_COLLECTIVE,
                       .part = PART_COMMUNICATION,
                       .name = "c",
                       .stream = 1,
                       .comm = comm,
                       .size_B = size_B,
                       .root = -1};
}

static void ops_and_deps_keep_their_order_while_growing(void **state)
{
    struct arena *perm = *state;
    struct job *job = mesh_job(1, 1, 2, perm);
    struct program *program = &job->programs[0];
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(program_add_op(program, kernel_op(i % 2), perm), i);
        for (int d = 1; d <= 3 && d <= i; d++) program_add_dep(program, i, i - d, d % 2, perm);
    }
    for (int i = 3; i < 1000; i++) {
        assert_int_equal(program->ops[i].n_deps, 3);
        for (int d = 0; d < 3; d++) {
            struct dep dep = program->deps[program->ops[i].first_dep + d];
            assert_int_equal(dep.op, i - d - 1);
            assert_int_equal(dep.distance, (d + 1) % 2);
        }
    }
    job_check(job, *perm);
}

/* crashes — job_check aborts on this job; tried in a child process, whose message is not shown. */
static bool crashes(const struct job *job, struct arena *perm)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        job_check(job, *perm);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* two ops of different streams that wait for each other; one iteration apart they may */
static void circles_are_found(void **state)
{
    struct arena *perm = *state;
    for (int distance = 0; distance < 2; distance++) {
        struct job *job = mesh_job(1, 1, 2, perm);
        struct program *program = &job->programs[0];
        program_add_op(program, kernel_op(0), perm);
        program_add_dep(program, 0, 1, distance, perm);
        program_add_op(program, kernel_op(1), perm);
        program_add_dep(program, 1, 0, 0, perm);
        assert_int_equal(crashes(job, perm), distance == 0);
    }
}

/* the order of a stream is a dependency too: 0 waits for 1, which stands behind it */
static void waiting_for_a_later_op_of_the_stream_is_a_circle(void **state)
{
    struct arena *perm = *state;
    struct job *job = mesh_job(1, 1, 2, perm);
    program_add_op(&job->programs[0], kernel_op(0), perm);
    program_add_dep(&job->programs[0], 0, 1, 0, perm);
    program_add_op(&job->programs[0], kernel_op(0), perm);
    assert_true(crashes(job, perm));
}

/* communicator 1 joins the two stages: both must call equal collectives in equal order */
static void members_must_call_the_same_collectives(void **state)
{
    struct arena *perm = *state;
    static const double sizes_B[][2] = {{8, 8}, {8, 9}, {8, 0}};
    for (int i = 0; i < 3; i++) {
        struct job *job = mesh_job(1, 2, 2, perm);
        for (int p = 0; p < 2; p++) {
            if (sizes_B[i][p] <= 0.0) continue;
            program_add_op(&job->programs[p], collective_op(1, sizes_B[i][p]), perm);
        }
        assert_int_equal(crashes(job, perm), i > 0);
    }
}

static void memory_that_is_never_freed_is_found(void **state)
{
    struct arena *perm = *state;
    struct job *job = mesh_job(1, 1, 2, perm);
    struct op op = kernel_op(0);
    op.alloc_B = 10;
    op.free_B = 9;
    program_add_op(&job->programs[0], op, perm);
    assert_true(crashes(job, perm));
}

static void a_mesh_of_the_wrong_size_is_found(void **state)
{
    struct job *job = mesh_job(2, 2, 2, *state);
    job->n_ranks = 9;
    assert_true(crashes(job, *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_partition_the_ranks),
        cmocka_unit_test(a_rank_stands_where_the_formula_says),
        cmocka_unit_test(pipeline_neighbours_leave_out_the_others),
        cmocka_unit_test(ops_and_deps_keep_their_order_while_growing),
        cmocka_unit_test(circles_are_found),
        cmocka_unit_test(waiting_for_a_later_op_of_the_stream_is_a_circle),
        cmocka_unit_test(members_must_call_the_same_collectives),
        cmocka_unit_test(memory_that_is_never_freed_is_found),
        cmocka_unit_test(a_mesh_of_the_wrong_size_is_found),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
