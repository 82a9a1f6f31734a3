#include "calib/pool.h"

#include "test.h"

static void count(void *closure, int part, int n_parts)
{
    int *counts = closure;
    counts[part] += n_parts;
}

/* 3 threads, 1 + 100 posts: each part is done 101 times and told that there are 3 */
static void every_thread_does_its_part_of_every_post(void **state)
{
    struct pool *pool = pool_open(3, *state);
    int counts[3] = {0};
    pool_post(pool, count, counts, 1);
    pool_wait(pool);
    for (int p = 0; p < 3; p++) assert_int_equal(counts[p], 3);
    for (int i = 0; i < 20; i++) pool_post(pool, count, counts, 5);
    pool_wait(pool);
    for (int p = 0; p < 3; p++) assert_int_equal(counts[p], 303);
    pool_wait(pool);
    pool_close(pool);
}

static void a_pool_without_work_closes(void **state)
{
    pool_close(pool_open(2, *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_does_its_part_of_every_post),
        cmocka_unit_test(a_pool_without_work_closes),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
