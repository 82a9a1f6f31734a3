/* No exchange at all: one GPU, or GPUs that train apart: what perfect scaling would be. */
#include "workload/data_parallel.h"
#include "workload/step.h"

struct job *local_build(const struct train_spec *spec, const struct model *model,
                        const struct gpu *gpu, struct arena *perm)
{
    struct step step = step_open(spec, model, gpu, NULL, 0, perm);
    return step_close(&step, NULL, 0, 0.0);
}
