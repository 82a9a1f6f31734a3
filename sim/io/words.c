#include "io/words.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* A family stands for the member that scenarios take without the key, where it is one of them. */
static const struct {
    const char *kind, *word, *profile;
} profiles[] = {
    {"library", "nccl", "nccl-2.18"},
    {"library", "openmpi", "open-mpi"},
    {"library", "ompi", "open-mpi"},
    {"library", "mpi", "open-mpi"},
    {"library", "mvapich", "mpich"},
    {"library", "intel-mpi", "mpich"},
    {"framework", "pytorch", "pytorch-eager"},
    {"framework", "torch", "pytorch-eager"},
    {"framework", "pytorch-ddp", "pytorch-eager"},
    {"framework", "pytorch-fsdp", "fsdp"},
    {"framework", "torchtitan", "fsdp"},
    {"framework", "megatron", "megatron-core"},
    {"framework", "nemo", "megatron-core"},
    {"framework", "deepspeed", "megatron-deepspeed"},
    {"framework", "tensorflow", "tf2-ngc"},
    {"framework", "tf2", "tf2-ngc"},
    {"framework", "tf1", "tf1-ngc"},
};

#define ZERO_3  "{\"kind\": \"parallel\", \"zero_stage\": 3}"
#define FSDP    ZERO_3 ", with \"framework\": \"fsdp\" beside it"
#define ZERO    "{\"kind\": \"parallel\", \"zero_stage\": 1}, 2 or 3"
#define TENSOR  "{\"kind\": \"parallel\", \"tensor_parallel\": 8}"
#define STAGES  "{\"kind\": \"parallel\", \"pipeline_parallel\": 4}"
#define CONTEXT "{\"kind\": \"parallel\", \"context_parallel\": 2}"
#define EXPERTS "{\"kind\": \"parallel\", \"expert_parallel\": 8}"
#define ALL_THREE                                                                                  \
    "{\"kind\": \"parallel\", \"tensor_parallel\": 8, \"pipeline_parallel\": 4, \"zero_stage\": "  \
    "1}"

struct hint {
    const char *word, *instead;
};

static const struct hint strategy_words[] = {
    {"fsdp", FSDP},
    {"fsdp2", FSDP},
    {"fully-sharded-data-parallel", FSDP},
    {"hsdp", "{\"kind\": \"parallel\", \"zero_stage\": 3, \"shard_ranks\": 8}"},
    {"zero", ZERO},
    {"zero1", "{\"kind\": \"parallel\", \"zero_stage\": 1}"},
    {"zero2", "{\"kind\": \"parallel\", \"zero_stage\": 2}"},
    {"zero3", ZERO_3},
    {"distributed-optimizer", "{\"kind\": \"parallel\", \"zero_stage\": 1}"},
    {"deepspeed", ZERO ", with \"framework\": \"deepspeed\" beside it"},
    {"megatron", ALL_THREE},
    {"megatron-lm", ALL_THREE},
    {"megatron-core", ALL_THREE},
    {"nemo", ALL_THREE},
    {"3d", ALL_THREE},
    {"3d-parallel", ALL_THREE},
    {"model-parallel", TENSOR},
    {"tensor", TENSOR},
    {"tensor-parallel", TENSOR},
    {"tp", TENSOR},
    {"pipeline", STAGES},
    {"pipeline-parallel", STAGES},
    {"pp", STAGES},
    {"gpipe", STAGES},
    {"1f1b", STAGES},
    {"context", CONTEXT},
    {"context-parallel", CONTEXT},
    {"cp", CONTEXT},
    {"ring-attention", CONTEXT},
    {"sequence-parallel",
     "{\"kind\": \"parallel\", \"tensor_parallel\": 8, \"sequence_parallel\": true}"},
    {"expert", EXPERTS},
    {"experts", EXPERTS},
    {"expert-parallel", EXPERTS},
    {"ep", EXPERTS},
    {"moe", EXPERTS},
    {"dp", "\"ddp\""},
    {"data", "\"ddp\""},
    {"data-parallel", "\"ddp\""},
    {"distributed-data-parallel", "\"ddp\""},
    {"all-reduce", "\"ddp\""},
    {"pytorch", "\"ddp\""},
    {"ps", "\"parameter-server\""},
    {"none", "\"local\""},
    {"single", "\"local\""},
};

#define BATCH    "\"batch_per_gpu\": samples of one GPU and micro-batch"
#define COUNT    "\"n_gpus\": all GPUs of all servers"
#define LENGTH   "\"model\": {\"name\": ..., \"sequence_length\": ...}"
#define DIVISION "\"strategy\": {\"kind\": \"parallel\", ...}"
#define RUN      "\"run\": {...}"

static const struct hint key_words[] = {
    {"batch", BATCH},
    {"batch-size", BATCH},
    {"micro-batch", BATCH},
    {"micro-batch-size", BATCH},
    {"mbs", BATCH},
    {"global-batch", BATCH ", of which there are n_gpus times grad_accumulation"},
    {"global-batch-size", BATCH ", of which there are n_gpus times grad_accumulation"},
    {"gpus", COUNT},
    {"num-gpus", COUNT},
    {"ranks", COUNT},
    {"world-size", COUNT},
    {"nodes", COUNT},
    {"n-nodes", COUNT},
    {"num-nodes", COUNT},
    {"gpus-per-node", "\"node\": {\"gpus\": ...}"},
    {"nics", "\"nics_per_node\""},
    {"dtype", "\"precision\""},
    {"amp", "\"precision\""},
    {"network", "\"fabric\""},
    {"topology", "\"fabric\""},
    {"interconnect", "\"fabric\""},
    {"bandwidth", "\"nic\": {\"bandwidth\": ...}"},
    {"parallelism", "\"strategy\""},
    {"tensor-parallel", DIVISION},
    {"tp", DIVISION},
    {"pipeline-parallel", DIVISION},
    {"pp", DIVISION},
    {"context-parallel", DIVISION},
    {"expert-parallel", DIVISION},
    {"zero-stage", DIVISION},
    {"recompute", DIVISION},
    {"sequence-length", LENGTH},
    {"seq-len", LENGTH},
    {"layers", "\"model\": {\"layers\": ...}"},
    {"nccl", "\"library\""},
    {"accumulation", "\"grad_accumulation\""},
    {"gradient-accumulation-steps", "\"grad_accumulation\""},
    {"fidelity", RUN},
    {"iterations", RUN},
    {"seed", RUN},
};

static const char *next_letter(const char *text)
{
    while (*text && !isalnum((unsigned char)*text)) text++;
    return text;
}

bool words_alike(const char *a, const char *b)
{
    for (;;) {
        a = next_letter(a);
        b = next_letter(b);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
        a++;
        b++;
    }
}

const char *words_profile(const char *kind, const char *name)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        if (strcmp(profiles[i].kind, kind) == 0 && words_alike(profiles[i].word, name))
            return profiles[i].profile;
    }
    return NULL;
}

static const char *find(const struct hint *hints, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (words_alike(hints[i].word, name)) return hints[i].instead;
    }
    return NULL;
}

const char *words_key(const char *name)
{
    return find(key_words, sizeof key_words / sizeof *key_words, name);
}

const char *words_strategy(const char *name)
{
    return find(strategy_words, sizeof strategy_words / sizeof *strategy_words, name);
}
