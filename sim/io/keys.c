#include "io/keys.h"

#include "io/rows.h"

#include <limits.h>

const char *const precision_names[] = {"fp32", "tf32",  "fp16",  "bf16",
                                       "fp8",  "mxfp8", "nvfp4", NULL};
static const char *const optimizer_names[] = {"sgd", "momentum", "adam", "lamb", NULL};
static const char *const gradient_names[] = {"fp32", "fp16", "bf16", NULL};
const char *const fidelity_choices[] = {"estimate", "fluid", "message", NULL};
const char *const recompute_names[] = {"none", "selective", "half", "full", NULL};
const char *const text_kind_names[] = {"own",        "decoder",         "encoder",
                                       "classifier", "encoder-decoder", NULL};
const char *const placement_names[N_PLACEMENTS] = {"packed", "spread", "random"};

/* clang-format off */
const struct field top_fields[] = {
    TEXT("name", struct top_keys, name, "", "name in reports; the file's when not given"),
    TEXT("question", struct top_keys, question, "", "what the scenario is to answer; printed with the result"),
    REAL("batch_per_gpu", DIM_NUMBER, struct top_keys, batch, 1e-3, 1e9, NULL, "samples per GPU and micro-batch; parallel: per replica of the model"),
    INT("n_gpus", struct top_keys, n_gpus, 1, MAX_GPUS, NULL, "GPUs of the job; whole servers when more than one"),
    CHOICE("precision", struct top_keys, precision, precision_names, "fp32", "of arithmetic"),
    CHOICE("optimizer", struct top_keys, optimizer, optimizer_names, "momentum", "its state and memory traffic per parameter"),
    INT("grad_accumulation", struct top_keys, grad_accumulation, 1, 1000000, "1", "micro-batches per step"),
    INT("nics_per_node", struct top_keys, nics_per_node, 0, 1024, "0", "network cards used per server; 0 = as the node profile says"),
    REAL("input_time", DIM_TIME, struct top_keys, input_s, 0, 1e4, "0s", "host time per step to feed the batch"),
    REAL("memory_contention", DIM_NUMBER, struct top_keys, contention, -1, 100, "-1", "bytes of GPU memory traffic per byte that a GPU sends; slows kernels meanwhile; -1 = as the library's profile says"),
    REAL("jitter", DIM_NUMBER, struct top_keys, jitter, -1, 1, "-1", "relative standard deviation of the time to compute a step, between ranks and steps; -1 = as the GPU's profile says"),
};
const int n_top_fields = N_OF(top_fields);
static const struct field model_fields[] = {
    TEXT("name", struct model_keys, name, "", "of a built-in model; of the report when layers is given"),
    TEXT("layers", struct model_keys, layers, "", "CSV file of layers instead of a built-in model"),
    INT("sequence_length", struct model_keys, sequence_length, 0, 1 << 20, "0", "tokens per sample; 0 = the model's own"),
    CHOICE("kind", struct model_keys, kind, text_kind_names, "own", "a transformer by its numbers; own: as the named model, a decoder without one. Numbers and features given change the named model; without a known name blocks, hidden, vocabulary and sequence_length are needed"),
    INT("blocks", struct model_keys, sizes[TEXT_BLOCKS], 0, 1000, "0", "transformer blocks, of encoder and decoder together; 0 = the model's own"),
    INT("hidden", struct model_keys, sizes[TEXT_HIDDEN], 0, 200000, "0", "width; 0 = the model's own"),
    INT("heads", struct model_keys, sizes[TEXT_HEADS], 0, 4096, "0", "attention heads; 0 = the model's own, else of 128 each, of 64 below a width of 2048"),
    INT("kv_heads", struct model_keys, sizes[TEXT_KV_HEADS], 0, 4096, "0", "heads of keys and values; 0 = the model's own, else as heads"),
    INT("head_size", struct model_keys, sizes[TEXT_HEAD_SIZE], 0, 8192, "0", "width of a head; 0 = the model's own, else hidden / heads"),
    INT("ffn", struct model_keys, sizes[TEXT_FFN], 0, 1000000, "0", "inner width of the MLP; 0 = the model's own, else 4 x hidden"),
    INT("vocabulary", struct model_keys, sizes[TEXT_VOCABULARY], 0, 10000000, "0", "words; 0 = the model's own"),
    INT("positions", struct model_keys, sizes[TEXT_POSITIONS], 0, 1 << 20, "0", "rows of learned tables of positions and token types; 0 = the model's own, else none"),
    INT("experts", struct model_keys, sizes[TEXT_EXPERTS], 0, 10000, "0", "experts of a mixture; 0 = the model's own, else a dense MLP"),
    INT("experts_per_token", struct model_keys, sizes[TEXT_EXPERTS_PER_TOKEN], 0, 1000, "0", "of them chosen for each position; 0 = the model's own, else 1"),
    INT("expert_ffn", struct model_keys, sizes[TEXT_EXPERT_FFN], 0, 1000000, "0", "inner width of an expert; 0 = the model's own, else as ffn"),
    INT("shared_ffn", struct model_keys, sizes[TEXT_SHARED_FFN], 0, 1000000, "0", "inner width of experts that see all positions; 0 = the model's own, else none"),
    INT("dense_blocks", struct model_keys, sizes[TEXT_DENSE_BLOCKS], 0, 1000, "0", "first blocks without experts; 0 = the model's own"),
    INT("target", struct model_keys, sizes[TEXT_TARGET], 0, 1000, "0", "encoder-decoder: decoder positions per 100 of the encoder; 0 = the model's own, else 100"),
    INT("window", struct model_keys, sizes[TEXT_WINDOW], 0, 1 << 20, "0", "positions that every second block attends to; 0 = the model's own, else all"),
    INT("adapter_rank", struct model_keys, sizes[TEXT_ADAPTER_RANK], 0, 4096, "0", "of low-rank adapters at the attention's products, the only parameters trained; 0 = all are"),
    BOOL("gated", struct model_keys, gated, "false", "MLP of three products (SwiGLU); features of the named model stay"),
    BOOL("tied_embeddings", struct model_keys, tied, "false", "the head is the table of words"),
    BOOL("rotary", struct model_keys, rotary, "false", "queries and keys are rotated"),
    BOOL("biases", struct model_keys, biases, "false", "products have biases"),
    BOOL("qkv_biases", struct model_keys, qkv_biases, "false", "products to query, key and value have biases"),
    BOOL("norm_biases", struct model_keys, norm_biases, "false", "LayerNorm instead of RMSNorm"),
    BOOL("qk_norm", struct model_keys, qk_norm, "false", "queries and keys are normalised per head"),
    BOOL("dropout", struct model_keys, dropout, "false", "dropout behind attention and MLP"),
    BOOL("fused_attention", struct model_keys, fused_attention, "false", "attention in one kernel that moves nothing of size s^2 (FlashAttention); not given: true in decoders that are gated and rotary, as LLaMA and those after it"),
};
static const struct field strategy_fields[] = {
    TEXT("kind", struct strategy_keys, kind, "ddp", "one of the strategies"),
    REAL("bucket_cap", DIM_SIZE, struct strategy_keys, bucket_cap_B, 1, 1e15, "25MiB", "ddp: a bucket is sent once it holds this much"),
    REAL("first_bucket", DIM_SIZE, struct strategy_keys, first_bucket_B, 1, 1e15, "1MiB", "ddp: the same for the first bucket"),
    REAL("fusion", DIM_SIZE, struct strategy_keys, fusion_B, 1, 1e15, "128MiB", "horovod: size of the fusion buffer"),
    REAL("cycle", DIM_TIME, struct strategy_keys, cycle_s, 0, 10, "1ms", "horovod: time between looks at what is ready"),
    INT("servers", struct strategy_keys, servers, 0, MAX_GPUS, "0", "parameter-server: how many; 0 = one per server machine"),
    INT("tensor_parallel", struct strategy_keys, tensor, 1, MAX_GPUS, "1", "parallel: GPUs that divide each layer"),
    INT("pipeline_parallel", struct strategy_keys, pipeline, 1, MAX_GPUS, "1", "parallel: stages that the blocks are cut into"),
    INT("virtual_stages", struct strategy_keys, virtual_stages, 1, 1000, "1", "parallel: chunks of the model per stage (interleaved schedule)"),
    INT("blocks_per_virtual_stage", struct strategy_keys, chunk_blocks, 0, MAX_GPUS, "0", "parallel: the same by the most blocks that a chunk has, where virtual_stages is 1; 0 = one chunk"),
    INT("context_parallel", struct strategy_keys, context, 1, MAX_GPUS, "1", "parallel: GPUs that divide each sequence"),
    INT("expert_parallel", struct strategy_keys, experts, 1, MAX_GPUS, "1", "parallel: GPUs that divide the experts of a mixture"),
    BOOL("sequence_parallel", struct strategy_keys, sequence, "false", "parallel: tensor ranks divide norms and dropout by tokens"),
    BOOL("tensor_overlap", struct strategy_keys, tensor_overlap, "false", "parallel: with sequence_parallel, gathers and scatters of tensor ranks travel beside the products that use them"),
    INT("zero_stage", struct strategy_keys, zero_stage, 0, 3, "0", "parallel: what the GPUs with the same parameters divide: 1 optimizer state, 2 gradients as well, 3 parameters as well (FSDP)"),
    INT("shard_ranks", struct strategy_keys, shard_ranks, 0, MAX_GPUS, "0", "parallel: over how many of these GPUs (fewer than all is HSDP); 0 = all"),
    CHOICE("recompute", struct strategy_keys, recompute, recompute_names, "none", "parallel: what backward computes once more: selective is the core of attention, half every second product or block, full all blocks"),
    BOOL("overlap", struct strategy_keys, overlap, "true", "gradients are sent while backward runs; parallel: parameters are fetched ahead, too"),
    CHOICE("gradient_precision", struct strategy_keys, gradient_precision, gradient_names, "fp32", "of gradients on the wire"),
    TEXT("algorithm", struct strategy_keys, algorithm, "", "forced collective algorithm; the library chooses when not given"),
    TEXT("protocol", struct strategy_keys, protocol, "", "forced protocol; the library chooses when not given"),
};
static const struct field measured_fields[] = {
    REAL("one_gpu_throughput", DIM_NUMBER, struct measured_keys, one_gpu_throughput, 0, 1e12, "0", "samples per second of one GPU alone at this batch; kernel times are scaled to it; 0 = not known"),
    REAL("one_gpu_time", DIM_TIME, struct measured_keys, one_gpu_s, 0, 1e6, "0s", "the same as the time of a step; 0 = not known"),
    INT("grad_accumulation", struct measured_keys, grad_accumulation, 0, 1000000, "0", "micro-batches per step of the measured run; 0 = as this one has"),
    REAL("spread_faster", DIM_NUMBER, struct measured_keys, spread.faster, 0, 10, "0.146", "of ln(measured / predicted step time) without network, how far below 0 nine in ten unseen steps reach at most; the default is the 5th percentile over published series that start at one GPU, each source counting once, on their half a"),
    REAL("spread_slower", DIM_NUMBER, struct measured_keys, spread.slower, 0, 10, "0.255", "the same above 0; the default is the 95th percentile of the same"),
    TEXT("source", struct measured_keys, source, "", "where it was published"),
};
static const struct field run_fields[] = {
    CHOICE("fidelity", struct run_keys, fidelity, fidelity_choices, "fluid", "estimate: closed forms; fluid: shared links; message: every message"),
    INT("iterations", struct run_keys, iterations, 2, 1000, "4", "steps simulated; the time of one is taken between the last two"),
    BOOL("fold", struct run_keys, fold, "true", "simulate one of each class of equal ranks"),
    INT("class_limit", struct run_keys, class_limit, 0, INT_MAX, "4096", "classes of ranks and groups beyond which they are merged, at the pace of the slowest group; 0 = never"),
    INT("seed", struct run_keys, seed, 0, INT_MAX, "1", "of random placement"),
};
static const struct field degraded_fields[] = {
    TEXT("link", struct degraded_keys, link, NULL, "name of a link, \"A -> B\", or of both directions, \"A <-> B\"; * stands for any text"),
    REAL("factor", DIM_FRACTION, struct degraded_keys, factor, 1e-6, 1, "1", "what is left of its capacity"),
    REAL("bandwidth", DIM_RATE, struct degraded_keys, bandwidth_Bps, 0, 1e18, "0GB/s", "its capacity, before the factor; 0 = as it is"),
    REAL("latency", DIM_TIME, struct degraded_keys, latency_s, 0, 10, "0s", "of the link; 0 = as it is"),
    BOOL("failed", struct degraded_keys, failed, "false", "it carries nothing, and routes avoid it; a network that is cut is an error"),
    REAL("at", DIM_TIME, struct degraded_keys, at_s, 0, 1e9, "0s", "moment of the run from which on this holds; a failed link named again without failed is back"),
    REAL("detection", DIM_TIME, struct degraded_keys, detection_s, 0, 1e6, "100ms", "failed, at: until then flows on the link stand still, then all go by the new routes. No measured number: switches mend their own groups of ports in milliseconds, a subnet manager takes seconds"),
};
static const struct field slow_fields[] = {
    INT("gpu", struct slow_gpu, gpu, 0, MAX_GPUS - 1, NULL, "GPU number, from 0"),
    REAL("factor", DIM_NUMBER, struct slow_gpu, factor, 1e-3, 1e6, NULL, "its kernels take this many times as long"),
};

static const struct field adjust_fields[] = {
    REAL("compute", DIM_NUMBER, struct adjust, compute, 0.01, 100, "1", "kernels take so many times as long"),
    REAL("latency", DIM_NUMBER, struct adjust, latency, 0.01, 100, "1", "what the library takes for each collective, hop and peer, times this"),
    REAL("scaleup_rate", DIM_NUMBER, struct adjust, scaleup_rate, 0.01, 100, "1", "what links inside servers carry, times this; line rates stay the limit"),
    REAL("network_rate", DIM_NUMBER, struct adjust, network_rate, 0.01, 100, "1", "the same between servers"),
    REAL("overhead", DIM_TIME, struct adjust, overhead_s, 0, 1e4, "0s", "of each step, at its end"),
    REAL("spread", DIM_FRACTION, struct adjust, spread, 0, 1, "0", "relative standard deviation of what is then predicted; 0 = as the profiles say"),
    TEXT("source", struct adjust, source, "", "what it was fitted to, and how well"),
};

/* in struct top_keys */
static const struct field job_fields[] = {
    TEXT("name", struct top_keys, name, "", "name in reports; its number when not given"),
    INT("n_gpus", struct top_keys, n_gpus, 1, MAX_GPUS, NULL, "GPUs of the job, of those of the scenario"),
    REAL("batch_per_gpu", DIM_NUMBER, struct top_keys, batch, 1e-3, 1e9, NULL, "samples per GPU and micro-batch; parallel: per replica of the model"),
    CHOICE("precision", struct top_keys, precision, precision_names, "fp32", "of arithmetic"),
    CHOICE("optimizer", struct top_keys, optimizer, optimizer_names, "momentum", "its state and memory traffic per parameter"),
    INT("grad_accumulation", struct top_keys, grad_accumulation, 1, 1000000, "1", "micro-batches per step"),
    REAL("input_time", DIM_TIME, struct top_keys, input_s, 0, 1e4, "0s", "host time per step to feed the batch"),
};

const struct part key_parts[N_KEYS_PARTS] = {
    [KEYS_MODEL] = {"model", "name", "What is trained.", model_fields, N_OF(model_fields), false, false},
    [KEYS_STRATEGY] = {"strategy", "kind", "How gradients are exchanged.", strategy_fields, N_OF(strategy_fields), false, false},
    [KEYS_MEASURED] = {"measured", NULL, "A published measurement of one GPU, to predict scaling alone.", measured_fields, N_OF(measured_fields), false, false},
    [KEYS_RUN] = {"run", NULL, "How to simulate.", run_fields, N_OF(run_fields), false, false},
    [KEYS_DEGRADED] = {"degraded", NULL, "Links that are slower than they should be, or fail.", degraded_fields, N_OF(degraded_fields), true, false},
    [KEYS_SLOW] = {"slow_gpus", NULL, "GPUs that are slower than the others.", slow_fields, N_OF(slow_fields), true, false},
    [KEYS_JOBS] = {"jobs", NULL, "Several jobs that share the network, instead of the one of the scenario: each with its `model`, `strategy`, `framework` and `placement` (by default the next free GPUs) beside these keys. What each takes alone and beside the others is reported.", job_fields, N_OF(job_fields), true, true},
    [KEYS_ADJUST] = {"adjust", NULL, "What measurements of this very cluster made of the model's constants; `dpsim fit --against` writes it.", adjust_fields, N_OF(adjust_fields), false, false},
};
/* clang-format on */

const char *const top_other_keys[] = {"model",     "gpu",       "node",     "nic",      "fabric",
                                      "library",   "framework", "strategy", "measured", "run",
                                      "degraded",  "slow_gpus", "jobs",     "prices",   "adjust",
                                      "placement", "tuner",     "$comment", NULL};
