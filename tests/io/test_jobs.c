/* Jobs that share a network, from scenario texts: servers of 8 V100 with one card of 25 Gb/s. */
#include "jobs.h"

#include "io/scenario.h"
#include "test.h"

#include <string.h>

#define CLUSTER(n, more)                                                                           \
    "{\"gpu\": \"v100-sxm2-16\", \"n_gpus\": " #n ", \"nics_per_node\": 1, \"nic\": \"roce-25\", " \
    "\"jitter\": 0, \"memory_contention\": 0, " more "}"
#define TREE(ratio)                                                                                \
    "\"fabric\": {\"kind\": \"fat-tree\", \"levels\": 2, \"hosts_per_leaf\": 4, "                  \
    "\"oversubscription\": " #ratio "}, "
#define JOB(more) "{\"model\": \"bert-large\", \"batch_per_gpu\": 4, " more "}"

static struct inputs *loaded(const char *text, const char *fidelity, bool fold, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const struct scenario_options options = {.profile_dir = "scenarios", .fidelity = fidelity};
    struct inputs *in = scenario_load_text("test", text, strlen(text), &options, NULL, perm, &diag);
    diag_print(&diag, stderr);
    assert_non_null(in);
    in->fold = in->fold && fold;
    return in;
}

static double slowdown(const struct result *result, int job)
{
    return result->jobs[job].together_s / result->jobs[job].alone_s;
}

/* each on its own leaf */
static const char apart[] =
    CLUSTER(64, TREE(4) "\"jobs\": [" JOB("\"n_gpus\": 32") ", " JOB("\"n_gpus\": 32") "]");

/* Two jobs on every second server each: ring hops of both cross between the leaves. Four cards a leaf, one
 * uplink of a card's rate: a ring of 4 servers in the order 0 4 1 5 (by first ranks) sends two flows
 * up from each leaf, both jobs four. */
#define SEATS_A                                                                                    \
    "[0,1,2,3,4,5,6,7,32,33,34,35,36,37,38,39,8,9,10,11,12,13,14,15,40,41,42,43,44,45,46,47]"
#define SEATS_B                                                                                    \
    "[16,17,18,19,20,21,22,23,48,49,50,51,52,53,54,55,24,25,26,27,28,29,30,31,56,57,58,59,60,61,"  \
    "62,63]"
static const char crossed[] =
    CLUSTER(64, TREE(4) "\"jobs\": [" JOB("\"n_gpus\": 32, \"placement\": {\"ranks\": " SEATS_A
                                          "}") ", " JOB("\"n_gpus\": 32, \"placement\": {"
                                                        "\"ranks\": " SEATS_B "}") "]");

/* The usual framework, changed, is that of the job. */
static void a_job_may_change_the_framework_that_it_has_anyway(void **state)
{
    struct inputs *in = loaded(CLUSTER(64, "\"jobs\": [" JOB("\"n_gpus\": 32") ", " JOB(
                                               "\"n_gpus\": 32, \"framework\": {\"base\": "
                                               "\"usual\", \"issue\": \"1ms\"}") "]"),
                               NULL, true, *state);
    assert_close(in->jobs[0]->gpu.issue_s, 6e-6, 1e-12); /* pytorch-eager */
    assert_close(in->jobs[1]->gpu.issue_s, 1e-3, 1e-12);
    assert_string_equal(in->jobs[1]->gpu.framework.name, "pytorch-eager");
}

static void jobs_on_leaves_of_their_own_do_not_feel_each_other(void **state)
{
    struct arena *perm = *state;
    struct result *result = predict(loaded(apart, NULL, true, perm), perm);
    assert_int_equal(result->n_jobs, 2);
    for (int i = 0; i < 2; i++) assert_close(slowdown(result, i), 1, 1e-9);
    assert_close(result->jobs[0].alone_s, result->jobs[1].alone_s, 1e-12);
}

/* Compute is a small part of the step, so both take nearly twice as long, and equally long. */
static void jobs_that_cross_halve_each_others_rate(void **state)
{
    struct arena *perm = *state;
    struct result *result = predict(loaded(crossed, NULL, true, perm), perm);
    for (int i = 0; i < 2; i++)
        assert_true(slowdown(result, i) > 1.85 && slowdown(result, i) < 2 + 1e-9);
    assert_close(slowdown(result, 0), slowdown(result, 1), 1e-9);
}

static void folded_and_unfolded_jobs_take_the_same(void **state)
{
    const char *const texts[] = {apart, crossed};
    for (int t = 0; t < 2; t++) {
        struct arena scratch = **(struct arena **)state;
        struct result *folded = predict(loaded(texts[t], NULL, true, &scratch), &scratch);
        struct result *whole = predict(loaded(texts[t], NULL, false, &scratch), &scratch);
        assert_true(folded->n_classes < whole->n_classes);
        for (int i = 0; i < 2; i++)
            assert_close(folded->jobs[i].together_s, whole->jobs[i].together_s, 1e-9);
    }
}

/* Named in the other order, on the same servers. */
static void the_order_of_jobs_does_not_matter(void **state)
{
    static const char turned[] =
        CLUSTER(64, TREE(4) "\"jobs\": [" JOB("\"n_gpus\": 32, \"placement\": {\"ranks\": " SEATS_B
                                              "}") ", " JOB("\"n_gpus\": 32, \"placement\": {"
                                                            "\"ranks\": " SEATS_A "}") "]");
    struct arena *perm = *state;
    struct result *result = predict(loaded(crossed, NULL, true, perm), perm);
    struct result *other = predict(loaded(turned, NULL, true, perm), perm);
    for (int i = 0; i < 2; i++)
        assert_close(result->jobs[i].together_s, other->jobs[1 - i].together_s, 1e-9);
}

/* A long step beside a short one: each is averaged over the time in which both run. */
static void steps_of_unequal_length_are_averaged_over_common_time(void **state)
{
    static const char text[] = CLUSTER(
        64, TREE(1) "\"jobs\": [{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"n_gpus\": 16, "
                    "\"name\": \"short\"}, " JOB("\"n_gpus\": 48, \"name\": \"long\"") "]");
    struct arena *perm = *state;
    struct result *result = predict(loaded(text, NULL, true, perm), perm);
    assert_true(result->jobs[1].alone_s > 3 * result->jobs[0].alone_s);
    assert_string_equal(result->jobs[0].alone->in->scenario, "short");
    for (int i = 0; i < 2; i++) assert_close(slowdown(result, i), 1, 1e-9); /* no shared link */
}

/* The common time of a short and a long step begins when both have made their first, whichever is named first. */
static void the_order_of_unequal_jobs_does_not_matter(void **state)
{
#define SHORT                                                                                      \
    "{\"model\": \"resnet50\", \"batch_per_gpu\": 16, \"n_gpus\": 32, "                            \
    "\"placement\": {\"ranks\": " SEATS_A "}}"
#define LONG JOB("\"n_gpus\": 32, \"placement\": {\"ranks\": " SEATS_B "}")
    struct arena *perm = *state;
    struct result *one = predict(
        loaded(CLUSTER(64, TREE(4) "\"jobs\": [" SHORT ", " LONG "]"), NULL, true, perm), perm);
    struct result *other = predict(
        loaded(CLUSTER(64, TREE(4) "\"jobs\": [" LONG ", " SHORT "]"), NULL, true, perm), perm);
    assert_true(one->jobs[1].alone_s > 2 * one->jobs[0].alone_s && slowdown(one, 0) > 1.2);
    for (int i = 0; i < 2; i++)
        assert_close(one->jobs[i].together_s, other->jobs[1 - i].together_s, 1e-9);
}

/* What a step does is the same beside others: only its time grows, and all of that is waiting for the network. */
static void what_others_cost_a_job_is_exposed_communication(void **state)
{
    struct arena *perm = *state;
    const struct job_result *job = &predict(loaded(crossed, NULL, true, perm), perm)->jobs[0];
    const struct result *alone = job->alone, *own = job_result_together(job, perm);
    double more_s = job->together_s - job->alone_s, shares_s = 0;
    assert_close(own->iteration_s, job->together_s, 1e-12);
    assert_close(own->throughput * own->iteration_s, alone->throughput * job->alone_s, 1e-9);
    assert_close(own->mfu * own->iteration_s, alone->mfu * job->alone_s, 1e-9);
    assert_close(own->scaling_efficiency * own->iteration_s,
                 alone->scaling_efficiency * job->alone_s, 1e-9);
    for (int side = 0; side < 2; side++)
        assert_close(own->interval_s[side] / own->iteration_s,
                     alone->interval_s[side] / job->alone_s, 1e-9);
    for (int s = 0; s < N_SHARES; s++) shares_s += own->share_s[s];
    assert_close(shares_s, job->together_s, 1e-9);
    assert_close(own->exposed_communication_s, alone->exposed_communication_s + more_s, 1e-9);
    assert_close(own->communication_s, alone->communication_s + more_s, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_may_change_the_framework_that_it_has_anyway),
        cmocka_unit_test(jobs_on_leaves_of_their_own_do_not_feel_each_other),
        cmocka_unit_test(jobs_that_cross_halve_each_others_rate),
        cmocka_unit_test(folded_and_unfolded_jobs_take_the_same),
        cmocka_unit_test(the_order_of_jobs_does_not_matter),
        cmocka_unit_test(what_others_cost_a_job_is_exposed_communication),
        cmocka_unit_test(the_order_of_unequal_jobs_does_not_matter),
        cmocka_unit_test(steps_of_unequal_length_are_averaged_over_common_time),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
