#include "workload/strategy.h"

#include "workload/data_parallel.h"
#include "workload/parallel.h"

#include <string.h>

const struct split split_none = {
    .tensor = 1, .pipeline = 1, .virtual_stages = 1, .context = 1, .experts = 1};

const struct strategy strategies[] = {
    {"ddp", ddp_build,
     "PyTorch DistributedDataParallel: gradients in buckets, reduced during backward",
     "Li et al., PyTorch Distributed, VLDB 2020"},
    {"horovod", horovod_build, "Horovod: what is ready at each cycle, fused into a buffer",
     "Sergeev & Del Balso, Horovod, 2018"},
    {"parameter-server", server_build,
     "TensorFlow 1.x: each variable whole on one server, pushed and pulled",
     "Abadi et al., TensorFlow, OSDI 2016"},
    {"parallel", parallel_build,
     "Megatron-LM, DeepSpeed, FSDP: tensor, pipeline, context and expert parallelism, ZeRO, "
     "recomputation",
     "Narayanan et al., SC 2021; Rajbhandari et al., ZeRO, SC 2020; Korthikanti et al., MLSys "
     "2023"},
    {"local", local_build, "no exchange: what perfect scaling would be", "by definition"},
};
const int n_strategies = (int)(sizeof strategies / sizeof *strategies);

const struct strategy *strategy_find(const char *name)
{
    for (int i = 0; i < n_strategies; i++) {
        if (strcmp(strategies[i].name, name) == 0) return &strategies[i];
    }
    return NULL;
}
