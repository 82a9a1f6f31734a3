/* Runs that were not measured but predicted, with constants that are known: what a fit must find again. */
#ifndef TESTS_STUDY_AGAINST_H
#define TESTS_STUDY_AGAINST_H

#include "study/against_fit.h"
#include "test.h"

static const struct scenario_options against_options = {.profile_dir = "scenarios"};

/* open_rows — raw rows against the scenario. */
static inline struct against *open_rows(const char *rows, struct arena *perm, struct diag *diag)
{
    const char *text =
        arena_text(perm, "# raw: 1\nbenchmark,batch,size_B,n_ranks,time_s,note\n%s", rows);
    *diag = (struct diag){.perm = perm};
    struct measured *measured = measured_read_text("rows", text, strlen(text), NULL, perm, diag);
    assert_non_null(measured);
    const char *scenario = "tests/study/against.json";
    struct against_files files = {
        .measured = &measured, .n_measured = 1, .scenarios = &scenario, .n_scenarios = 1};
    struct against *against = against_open(&files, &against_options, perm, diag);
    return against;
}

#endif
