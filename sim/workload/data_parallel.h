/* The strategies of synchronous data parallelism, one file each; rows of `strategies`. */
#ifndef WORKLOAD_DATA_PARALLEL_H
#define WORKLOAD_DATA_PARALLEL_H

#include "workload/strategy.h"

struct job *ddp_build(const struct train_spec *spec, const struct model *model,
                      const struct gpu *gpu, struct arena *perm);
struct job *horovod_build(const struct train_spec *spec, const struct model *model,
                          const struct gpu *gpu, struct arena *perm);
struct job *server_build(const struct train_spec *spec, const struct model *model,
                         const struct gpu *gpu, struct arena *perm);
struct job *local_build(const struct train_spec *spec, const struct model *model,
                        const struct gpu *gpu, struct arena *perm);

#endif
