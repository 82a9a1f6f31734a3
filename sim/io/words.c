#include "io/words.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A family stands for the member that scenarios take without the key, where it is one of them. GPUs are
 * called what their driver calls them, as nvidia-smi and nccl-tests print it, without the maker: "NVIDIA
 * H100 80GB HBM3". Names that mean several cards ("H100") are left to the reader. */
static const struct {
    const char *kind, *word, *profile;
} profiles[] = {
    {"library", "nccl", "nccl-2.18"},
    {"library", "openmpi", "open-mpi"},
    {"library", "ompi", "open-mpi"},
    {"library", "mpi", "open-mpi"},
    {"library", "mvapich", "mpich"},
    {"library", "intel-mpi", "mpich"},
    {"gpu", "a100-sxm4-40gb", "a100-sxm-40"},
    {"gpu", "a100-sxm4-80gb", "a100-sxm-80"},
    {"gpu", "a100-sxm-64gb", "a100-sxm-80"},
    {"gpu", "a100-pcie-40gb", "a100-pcie-40"},
    {"gpu", "a100-80gb-pcie", "a100-pcie-80"},
    {"gpu", "a800-sxm4-80gb", "a800-sxm-80"},
    {"gpu", "a800-80gb-pcie", "a800-pcie-80"},
    {"gpu", "h100-80gb-hbm3", "h100-sxm-80"},
    {"gpu", "h100-pcie", "h100-pcie-80"},
    {"gpu", "h100-nvl", "h100-nvl-94"},
    {"gpu", "h200", "h200-sxm-141"},
    {"gpu", "h20", "h20-sxm-96"},
    {"gpu", "h800", "h800-sxm-80"},
    {"gpu", "b200", "b200-sxm-180"},
    {"gpu", "gh200-480gb", "gh200"},
    {"gpu", "gh200-120gb", "gh200"},
    {"gpu", "p100-sxm2-16gb", "p100-sxm-16"},
    {"gpu", "p100-pcie-16gb", "p100-pcie-16"},
    {"gpu", "v100-sxm2-16gb", "v100-sxm2-16"},
    {"gpu", "v100-sxm2-32gb", "v100-sxm2-32"},
    {"gpu", "v100-sxm3-32gb", "v100-sxm3-32"},
    {"gpu", "v100-pcie-16gb", "v100-pcie-16"},
    {"gpu", "v100-pcie-32gb", "v100-pcie-32"},
    {"gpu", "rtx-a6000", "a6000"},
    {"gpu", "mi250x-mi250", "mi250x"},
    {"gpu", "mi300x-vf", "mi300x"},
    {"gpu", "ai-pro-r9700", "r9700"},
    {"gpu", "rtx-pro-6000-blackwell-server-edition", "rtxpro6000"},
    {"gpu", "rtx-pro-6000-blackwell-workstation-edition", "rtxpro6000"},
    {"nic", "gbe", "eth-1g"},
    {"nic", "1gbe", "eth-1g"},
    {"nic", "10gbe", "eth-10g"},
    {"nic", "25gbe", "eth-25g"},
    {"nic", "40gbe", "eth-40g"},
    {"nic", "100gbe", "eth-100g"},
    {"gpu", "a100-sxm-80gb", "a100-sxm-80"},
    {"gpu", "h100-sxm5-80gb", "h100-sxm-80"},
    {"gpu", "h100-sxm", "h100-sxm-80"},
    {"gpu", "h100-sxm5", "h100-sxm-80"},
    {"gpu", "b300-sxm6-ac", "b300-sxm-288"},
    {"gpu", "b300", "b300-sxm-288"},
    {"gpu", "gh200-144g-hbm3e", "gh200-144"},
    {"nic", "qdr", "ib-qdr"},
    {"nic", "fdr", "ib-fdr"},
    {"nic", "edr", "ib-edr"},
    {"nic", "hdr", "ib-hdr"},
    {"nic", "ndr", "ib-ndr"},
    {"nic", "xdr", "ib-xdr"},
    {"nic", "slingshot", "slingshot-200"},
    {"nic", "slingshot-11", "slingshot-200"},
    {"nic", "cxi", "slingshot-200"},
    {"nic", "omni-path", "omnipath-100"},
    {"nic", "opa", "omnipath-100"},
    {"nic", "tcpx", "tcpx-200"},
    {"nic", "tcpxo", "tcpxo-200"},
    {"nic", "fastrak", "tcpxo-200"},
    {"library", "cray-mpich", "mpich"},
    {"library", "mvapich2", "mpich"},
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

/* Makers and lines of products, which drivers print and profiles leave out. */
static bool is_maker(const char *word, size_t n)
{
    static const char *const makers[] = {"nvidia",     "amd",      "tesla",  "geforce",
                                         "quadro",     "instinct", "radeon", "infiniband",
                                         "generation", "version"};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strlen(makers[i]) == n && strncasecmp(makers[i], word, n) == 0) return true;
    }
    return false;
}

/* "NVIDIA GeForce RTX 4090" is "RTX-4090", "NCCL version 2.21.5+cuda12.4" "nccl-2.21.5": small letters and
 * dashes, so that versions are found. */
const char *words_short(const char *name, struct arena *perm)
{
    char *out = arena_text(perm, "%s", name);
    char *to = out;
    for (const char *at = name; *at && *at != '+';) {
        size_t n = strcspn(at, " +");
        if (n > 0 && !is_maker(at, n)) {
            if (to > out) *to++ = '-';
            for (size_t i = 0; i < n; i++) *to++ = (char)tolower((unsigned char)at[i]);
        }
        at += n;
        at += strspn(at, " ");
    }
    *to = '\0';
    return out;
}

const char *words_known(const char *name, const char *const *known, int n_known)
{
    for (int i = 0; name[0] && i < n_known; i++) {
        if (words_alike(name, known[i])) return known[i];
    }
    return NULL;
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
