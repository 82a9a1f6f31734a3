#include "collectives/library.h"

#include "test.h"

static const struct coll_hops equal[4] = {
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
    {{1e-6, 1e-9}, {1e-6, 1e-9}},
};

static struct lib_choice row(const char *name, const char *protocol)
{
    return (struct lib_choice){.kind = COLL_ALLREDUCE,
                               .algo = coll_find(COLL_ALLREDUCE, name),
                               .protocol = protocol,
                               .max_B = INFINITY};
}

static struct coll_req of_size(double size_B)
{
    return (struct coll_req){.kind = COLL_ALLREDUCE,
                             .n_ranks = 16,
                             .ranks_per_node = 1,
                             .n_channels = 1,
                             .n_servers = 1,
                             .root = -1,
                             .size_B = size_B,
                             .chunk_B = 1e5};
}

/* n = 16: ring 30 alpha + 1.875 S beta, doubling 4 alpha + 4 S beta: equal at 26 us / 2.125 ns
 * = 12,235 B. */
static void fastest_changes_where_the_closed_forms_cross(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "tcp"), row("recursive-doubling", "tcp")};
    struct library lib = {.choices = rows, .n_choices = 2, .selection = "fastest"};
    struct coll_req below = of_size(12234), above = of_size(12237);
    assert_int_equal(library_choose(&lib, &below, equal, 16, NULL, NULL), 1);
    assert_int_equal(library_choose(&lib, &above, equal, 16, NULL, NULL), 0);
    rows[1].base_latency_s = 30e-6; /* now never ahead */
    assert_int_equal(library_choose(&lib, &below, equal, 16, NULL, NULL), 0);
}

static void earlier_row_wins_a_tie(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "LL"), row("ring", "Simple")};
    struct library lib = {.choices = rows, .n_choices = 2, .selection = "fastest"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    struct coll_hops hops[2] = {equal[0], equal[1]};
    hops[1].inter.beta_s_per_B = 0.9e-9; /* a row's own hops count */
    assert_int_equal(library_choose(&lib, &req, hops, 16, NULL, NULL), 1);
}

static void first_takes_the_first_row_allowed(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("recursive-doubling", "tcp"), row("ring", "tcp"),
                                row("halving-doubling", "tcp")};
    rows[0].max_B = 2048;
    rows[1].min_nodes = 32;
    struct library lib = {.choices = rows, .n_choices = 3, .selection = "first"};
    struct coll_req small = of_size(2048), large = of_size(2049);
    assert_int_equal(library_choose(&lib, &small, equal, 16, NULL, NULL), 0);
    assert_int_equal(library_choose(&lib, &large, equal, 16, NULL, NULL), 2);
    assert_int_equal(library_choose(&lib, &large, equal, 32, NULL, NULL), 1);
}

static void forced_names_leave_only_their_rows(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("ring", "LL"), row("ring", "Simple"), row("tree", "LL")};
    struct library lib = {.choices = rows, .n_choices = 3, .selection = "fastest"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "tree", NULL), 2);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, "Simple"), 1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "ring", "Simple"), 1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "tree", "Simple"), -1);
    assert_int_equal(library_choose(&lib, &req, equal, 16, "direct", NULL), -1);
}

static void nothing_fits_outside_kind_size_nodes_and_algorithm(void **state)
{
    (void)state;
    struct lib_choice rows[] = {row("parameter-server", "tcp")};
    struct library lib = {.choices = rows, .n_choices = 1, .selection = "fastest"};
    struct coll_req req = of_size(1e6);
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    req.n_servers = 0; /* the algorithm cannot run */
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    req = of_size(1e6);
    req.kind = COLL_REDUCE;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    req = of_size(1e6);
    rows[0].max_nodes = 15;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
    rows[0].max_nodes = 16;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), 0);
    rows[0].min_B = 1e6 + 1;
    assert_int_equal(library_choose(&lib, &req, equal, 16, NULL, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fastest_changes_where_the_closed_forms_cross),
        cmocka_unit_test(earlier_row_wins_a_tie),
        cmocka_unit_test(first_takes_the_first_row_allowed),
        cmocka_unit_test(forced_names_leave_only_their_rows),
        cmocka_unit_test(nothing_fits_outside_kind_size_nodes_and_algorithm),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
