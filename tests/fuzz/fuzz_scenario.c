/* Any bytes are loaded as a scenario: never a crash, never a hang; what loads is complete, what does
 * not has a message. */
#include "base/must.h"
#include "io/scenario.h"

#include <stdint.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The replay runs in the root of the source tree, the fuzzer in its build folder. */
static const char *profile_dir(void)
{
    return access("scenarios/hardware", R_OK) == 0 ? "scenarios" : "../../scenarios";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *perm = arena_open((size_t)8 << 30);
    struct diag diag = {.perm = perm};
    struct field_log log = {0};
    const struct scenario_options options = {.profile_dir = profile_dir()};
    const struct inputs *in =
        scenario_load_text("fuzz", (const char *)data, size, &options, &log, perm, &diag);
    must((in != NULL) == diag_ok(&diag));
    if (in) {
        must(in->model && in->topo && in->job && in->gpu_of && in->library.n_choices > 0);
        for (int r = 0; r < in->n_gpus; r++) must(in->gpu_of[r] >= 0 && in->gpu_of[r] < in->n_gpus);
    }
    arena_close(perm);
    return 0;
}
