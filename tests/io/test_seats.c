#include "io/seats.h"

#include "io/scenario.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SCENARIO(placement)                                                                        \
    "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"gpu\": \"v100-sxm2-16\", \"n_gpus\": 32, " \
    "\"fabric\": \"fat-tree\", \"placement\": " placement "}"

static const int *seats_of(const char *text, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const struct scenario_options options = {.profile_dir = "scenarios"};
    struct inputs *in =
        scenario_load_text("build/test", text, strlen(text), &options, NULL, perm, &diag);
    diag_print(&diag, stderr);
    assert_non_null(in);
    return in->gpu_of;
}

/* 4 servers of 8: packed in order, spread over the servers first */
static void names_seat_ranks_in_order_or_over_the_servers(void **state)
{
    const int *packed = seats_of(SCENARIO("\"packed\""), *state);
    const int *spread = seats_of(SCENARIO("\"spread\""), *state);
    for (int r = 0; r < 32; r++) {
        assert_int_equal(packed[r], r);
        assert_int_equal(spread[r], r % 4 * 8 + r / 4);
    }
}

/* The file stands beside the scenario; ranks come in any order, by number or by node and slot. */
static void a_rank_file_says_where_each_rank_stands(void **state)
{
    FILE *file = fopen("build/test.ranks", "w");
    assert_non_null(file);
    fputs("# rank  place\r\n\n", file);
    for (int r = 31; r >= 0; r--) {
        if (r % 2)
            fprintf(file, " %d\t%d:%d  # odd\n", r, (31 - r) / 8, (31 - r) % 8);
        else
            fprintf(file, "%d %d\n", r, 31 - r);
    }
    fclose(file);
    const int *gpu_of = seats_of(SCENARIO("{\"file\": \"test.ranks\"}"), *state);
    for (int r = 0; r < 32; r++) assert_int_equal(gpu_of[r], 31 - r);
    remove("build/test.ranks");
}

/* Random seats of several jobs are drawn from what earlier ones left. */
static void jobs_take_gpus_that_are_free(void **state)
{
    static const char text[] =
        "{\"gpu\": \"v100-sxm2-16\", \"n_gpus\": 32, \"fabric\": \"fat-tree\", \"jobs\": ["
        "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"n_gpus\": 8, \"placement\": "
        "\"random\"},"
        "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"n_gpus\": 16, \"placement\": "
        "\"spread\"},"
        "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"n_gpus\": 8}]}";
    const int *gpu_of = seats_of(text, *state);
    int n_ranks[32] = {0};
    for (int r = 0; r < 32; r++) n_ranks[gpu_of[r]]++;
    for (int gpu = 0; gpu < 32; gpu++) assert_int_equal(n_ranks[gpu], 1);
    for (int r = 25; r < 32; r++) assert_true(gpu_of[r] > gpu_of[r - 1]); /* packed: in order */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_seat_ranks_in_order_or_over_the_servers),
        cmocka_unit_test(a_rank_file_says_where_each_rank_stands),
        cmocka_unit_test(jobs_take_gpus_that_are_free),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
