/* Runs that were not measured but predicted, with constants that are known: what a fit must find again. */
#ifndef TESTS_STUDY_AGAINST_H
#define TESTS_STUDY_AGAINST_H

#include "study/against_fit.h"
#include "test.h"

#define SCENARIO                                                                                   \
    "{\"model\": \"resnet50\", \"batch_per_gpu\": 64, \"n_gpus\": 16, \"gpu\": \"h100-sxm-80\", "  \
    "\"library\": \"nccl-2.23\", \"run\": {\"fidelity\": \"estimate\"}}"

static const struct scenario_options against_options = {.profile_dir = "scenarios"};

/* write_temporary — a file with this text; its name stays in perm. */
static inline const char *write_temporary(const char *text, struct arena *perm)
{
    char *file = arena_text(perm, "%s", "/tmp/dpsim-against-XXXXXX");
    FILE *out = fdopen(mkstemp(file), "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    return file;
}

/* open_rows — raw rows against the scenario. */
static inline struct against *open_rows(const char *rows, struct arena *perm, struct diag *diag)
{
    const char *text =
        arena_text(perm, "# raw: 1\nbenchmark,batch,size_B,n_ranks,time_s,note\n%s", rows);
    *diag = (struct diag){.perm = perm};
    struct measured *measured = measured_read_text("rows", text, strlen(text), NULL, perm, diag);
    assert_non_null(measured);
    const char *scenario = write_temporary(SCENARIO, perm);
    struct against_files files = {&measured, 1, &scenario, 1};
    struct against *against = against_open(&files, &against_options, perm, diag);
    return against;
}

#endif
