#include "io/row.h"

#include "test.h"

#define COLUMNS                                                                                    \
    "id,collective,gpu_key,intra_key,nic_key,fabric_key,gpus_per_node,nodes,nics_per_node,"        \
    "nic_gbps,library,lib_version,algo,proto,size_bytes,time_us\n"
#define TRAINING                                                                                   \
    "source,model,seq_len,gpu_key,intra_key,nic_key,nic_gbps_per_gpu,gpus,gpus_per_node,nodes,"    \
    "framework,precision_key,global_batch,micro_batch,grad_accum,tp,pp,cp,ep,zero_stage,"          \
    "recompute,shard_group,sync_key,tune_key,iter_time_s,throughput,throughput_unit\n"

static const struct scenario_options shipped = {.profile_dir = "scenarios"};

static struct row_reader *open_text(const char *text, struct diag *diag, struct arena *perm)
{
    *diag = (struct diag){.perm = perm};
    struct table *table = table_read_text("t.csv", text, strlen(text), perm, diag);
    return table ? row_open(table, &shipped, perm, diag) : NULL;
}

static struct row_job map_text(const char *text, struct arena *perm)
{
    struct diag diag;
    struct row_reader *reader = open_text(text, &diag, perm);
    assert_true(diag_ok(&diag));
    return row_map(reader, 0, perm);
}

/* 4 servers of 8 A100 with two cards of 200 Gb/s = 25 GB/s each; NVLink3: 12 x 25 GB/s. */
static void keys_become_a_cluster(void **state)
{
    struct row_job job =
        map_text(COLUMNS "s,reducescatter,a100-sxm-80,nvswitch2,ib,fat-tree,8,4,2,200,NCCL,"
                         "2.21.5,Ring,auto,1048576,100\n",
                 *state);
    assert_null(job.reason);
    assert_int_equal(job.inputs->n_gpus, 32);
    assert_int_equal(job.inputs->topo->n_nodes, 4);
    assert_int_equal(job.inputs->node.nics_per_node, 2);
    assert_close(job.inputs->node.nic_Bps, 25e9, 1e-12);
    assert_close(job.inputs->node.scaleup_Bps, 300e9, 1e-12);
    assert_string_equal(job.inputs->library.name, "nccl-2.21");
    assert_int_equal(job.kind, COLL_REDUCE_SCATTER);
    assert_string_equal(job.algorithm, "ring");
    assert_null(job.protocol);
}

/* MI350: 7 links of 76.8 GB/s; two MI300A: 2 of 64; a bridge of two A40: 4 of 14.06; RTX 20 pairs have none
 * and go over the host. */
static void links_between_gpus_go_by_the_gpu(void **state)
{
    static const struct {
        const char *keys;
        double scaleup_Bps;
    } cases[] = {
        {"mi355x,xgmi,none,none,8", 537.6e9},      {"mi300x,xgmi,none,none,8", 448e9},
        {"mi300a,xgmi,none,none,2", 128e9},        {"mi300a,xgmi,none,none,4", 384e9},
        {"a40,nvlink3-mesh,none,none,2", 56.25e9}, {"a100-sxm-80,nvlink3-mesh,none,none,4", 300e9},
        {"rtx2080ti,pcie-host,none,none,2", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct row_job job =
            map_text(arena_text(*state, COLUMNS "s,allreduce,%s,1,0,0,%s,,auto,auto,8,9\n",
                                cases[i].keys, cases[i].keys[0] == 'm' ? "RCCL" : "NCCL"),
                     *state);
        assert_null(job.reason);
        assert_close(job.inputs->node.scaleup_Bps, cases[i].scaleup_Bps, 1);
        assert_int_equal(job.inputs->node.p2p, cases[i].scaleup_Bps > 0);
    }
}

static void what_no_rule_knows_is_named(void **state)
{
    static const struct {
        const char *row, *reason;
    } cases[] = {
        {"s,allreduce,tpu-v9,nvswitch2,none,none,8,1,0,0,NCCL,,auto,auto,8,9\n",
         "gpu_key tpu-v9: no profile"},
        {"s,allreduce,a100-sxm-80,,none,none,8,1,0,0,NCCL,,auto,auto,8,9\n",
         "intra_key: not stated"},
        {"s,allreduce,cpu,none,none,none,8,1,0,0,NCCL,,auto,auto,8,9\n",
         "library NCCL: runs on GPUs only"},
        {"s,allreduce,a100-sxm-80,nvswitch2,none,none,8,1,0,0,HCCL,,auto,auto,8,9\n",
         "library HCCL: no profile"},
        {"s,allreduce,a100-sxm-80,nvswitch2,none,none,,1,0,0,NCCL,,auto,auto,8,9\n",
         "gpus_per_node: not stated"},
        {"s,gather,a100-sxm-80,nvswitch2,none,none,8,1,0,0,NCCL,,auto,auto,8,9\n",
         "collective gather: no such collective"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct row_job job = map_text(arena_text(*state, COLUMNS "%s", cases[i].row), *state);
        assert_null(job.inputs);
        assert_string_equal(job.reason, cases[i].reason);
    }
}

/* Kinds and rates that no profile is about take the nearest profile of the kind, and the row's rate. */
static void cards_of_any_rate_are_mapped(void **state)
{
    static const struct {
        const char *cards; /* nic_key, fabric_key, gpus_per_node, nodes, nics_per_node, nic_gbps */
        double nic_Bps;
        int nics;
        bool gpudirect;
    } cases[] = {
        {"ib,,8,4,8,800", 100e9, 8, true},
        {"roce,fat-tree,8,4,2,50", 6.25e9, 2, true},
        {"efa,,8,4,16,200", 25e9, 16, true},
        {"slingshot-tcp,dragonfly,4,2,4,200", 25e9, 4, false},
        {"tcp,,8,2,1,50", 6.25e9, 1, false},
        {"tcpx,,8,2,4,200", 25e9, 4, true},
        {"tcpxo,,8,2,8,200", 25e9, 8, true},
        {"omnipath,fat-tree,8,2,1,100", 12.5e9, 1, true},
        {"rdma,rail,8,2,8,400", 50e9, 8, true},
        {"ib,,8,2,0,", 25e9, 8, true},
        {"roce,none,8,2,4,1600", 200e9, 4, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *row = arena_text(
            *state, COLUMNS "s,allreduce,a100-sxm-80,nvswitch2,%s,NCCL,2.18,auto,auto,8,9\n",
            cases[i].cards);
        struct row_job job = map_text(row, *state);
        assert_non_null(job.inputs);
        assert_close(job.inputs->node.nic_Bps, cases[i].nic_Bps, 1e-12);
        assert_int_equal(job.inputs->node.nics_per_node, cases[i].nics);
        assert_int_equal(job.inputs->node.gpudirect, cases[i].gpudirect);
    }
}

static void what_the_library_lacks_is_a_reason(void **state)
{
    struct row_job job = map_text(COLUMNS "s,sendrecv,a100-sxm-80,nvswitch2,none,none,2,1,0,0,"
                                          "NCCL,2.18,auto,LL128,8,9\n",
                                  *state);
    assert_non_null(job.inputs);
    assert_string_equal(row_refusal(&job, 8, *state),
                        "library nccl-2.18: has no sendrecv LL128 for this shape");
    job.protocol = NULL;
    assert_null(row_refusal(&job, 8, *state));
    job = map_text(COLUMNS "s,alltoall,a100-sxm-80,nvswitch2,ib,fat-tree,8,257,8,200,NCCL,2.18,"
                           "auto,auto,8,9\n",
                   *state);
    assert_string_equal(row_refusal(&job, 8, *state),
                        "collective alltoall: on more than 2048 GPUs");
}

/* Only the name differs in rows 0 and 1, only a key in 2; rules could not tell 0 from 1. */
static void rows_are_compared_by_keys_alone(void **state)
{
    struct diag diag;
    struct row_reader *reader =
        open_text(COLUMNS "s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,8,9\n"
                          "t,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,16,10\n"
                          "s,allreduce,k80,pcie3,none,none,2,1,0,0,NCCL,,auto,auto,8,9\n",
                  &diag, *state);
    assert_int_equal(row_compare(reader, 0, 1), 0);
    assert_int_not_equal(row_compare(reader, 0, 2), 0);
}

/* 256 samples of 32 GPUs in micro-batches of 2: 4 of them a step. 50 Gb/s per GPU of 8 = 400 Gb/s
 * = 4 cards of 100. No time is stated: 256 x 128 tokens at 65,536 tokens/s take 0.5 s. */
static void batches_cards_and_times_follow_from_several_columns(void **state)
{
    struct diag diag;
    struct row_reader *reader = open_text(
        TRAINING "x,bert-base,128,v100-sxm2-16,nvlink2-mesh,ib,50,32,8,4,PyTorch DDP,fp16,256,2,,"
                 "1,1,,,0,,,allreduce,full,,65536,tokens/s\n",
        &diag, *state);
    struct row_job job = row_map(reader, 0, *state);
    assert_null(job.reason);
    assert_close(job.inputs->train.batch_per_gpu, 2, 0);
    assert_int_equal(job.inputs->train.grad_accumulation, 4);
    assert_int_equal(job.inputs->node.nics_per_node, 4);
    assert_close(job.inputs->node.nic_Bps, 12.5e9, 1e-12);
    assert_close(row_measured_s(reader, 0), 0.5, 1e-12);
}

/* A batch of 5120 tokens on 2 GPUs at 20480 words/s: 10240 / 20480 s. A segment of
 * Transformer-XL base is 192 tokens where the row does not say: 2 x 32 x 192 / 24576 s. */
static void units_of_throughput_become_samples_by_rule(void **state)
{
    struct diag diag;
    struct row_reader *reader = open_text(
        TRAINING
        "x,transformer-big,,v100-sxm2-16,nvlink2-mesh,none,,2,2,1,PyTorch DDP,fp16,,5120,"
        ",1,1,,,0,,,allreduce,full,,20480,words/s\n"
        "x,transformer-xl-base,,v100-sxm2-16,nvlink2-mesh,none,,2,2,1,PyTorch DDP,fp16,,32,"
        ",1,1,,,0,,,allreduce,full,,24576,tokens/s\n",
        &diag, *state);
    assert_close(row_measured_s(reader, 0), 0.5, 1e-12);
    assert_close(row_measured_s(reader, 1), 0.5, 1e-12);
    assert_null(row_map(reader, 0, *state).reason);
    assert_close(row_map(reader, 1, *state).inputs->model->tokens_per_sample, 192.0, 0.0);
}

static void columns_say_how_ranks_divide_the_model(void **state)
{
    struct row_job job = map_text(
        TRAINING "x,bert-base,128,v100-sxm2-16,nvlink2-mesh,none,,8,8,1,Megatron,fp16,64,8,1,"
                 "4,1,,,0,,,allreduce,full,1,,\n",
        *state);
    assert_null(job.reason);
    assert_string_equal(job.inputs->train.strategy, "parallel");
    assert_int_equal(job.inputs->train.split.tensor, 4);
    assert_int_equal(job.inputs->train.split.pipeline, 1);
}

static void broken_tables_say_where(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {COLUMNS "s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,8,9\n"
                 "s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,8,fast\n",
         "t.csv:3: time_us: \"fast\" is not a number"},
        {COLUMNS "\"a\nb\",allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,8,9\n"
                 "s,allreduce,k80,pcie3,none,none,4.5,1,0,0,NCCL,,auto,auto,8,9\n",
         "t.csv:4: gpus_per_node: 4.5 is not a whole number"},
        {COLUMNS "s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,8,1e-300\n",
         "t.csv:2: time_us: 1e-300 is neither 0 nor a size that can be measured"},
        {"collective,size_bytes\nallreduce,8\n", "t.csv: has no column \"gpu_key\""},
        {"a,b\n1,2\n", "t.csv: is no table of collectives"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diag diag;
        assert_null(open_text(cases[i].text, &diag, *state));
        assert_non_null(strstr(diag.messages[0], cases[i].message));
    }
}

/* 1 MB in 100 us is 10 GB/s, not 10,000. */
static void a_time_in_another_unit_is_found_by_the_bandwidth_beside_it(void **state)
{
    struct diag diag;
    const char *text = "algbw_GBps," COLUMNS
                       "10,s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,1000000,100\n"
                       "10,s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,1000000,0.1\n";
    assert_null(open_text(text, &diag, *state));
    assert_int_equal(diag.n_messages, 1);
    assert_non_null(strstr(diag.messages[0], "t.csv:3: algbw_GBps: 10, but"));
}

static void rules_are_read_with_the_same_care(void **state)
{
    struct diag diag = {.perm = *state};
    const struct scenario_options elsewhere = {.profile_dir = "tests/io/bad-rules"};
    const char *text = COLUMNS "s,allreduce,k80,pcie3,none,none,4,1,0,0,NCCL,,auto,auto,8,9\n";
    struct table *table = table_read_text("t.csv", text, strlen(text), *state, &diag);
    assert_null(row_open(table, &elsewhere, *state, &diag));
    assert_int_equal(diag.n_messages, 4);
    assert_non_null(strstr(diag.messages[0], "/parts/0/rules/0/when/id: is no key column"));
    assert_non_null(strstr(diag.messages[1], "/parts/0/rules/1/sett: unknown key"));
    assert_non_null(strstr(diag.messages[2], "/per_sample/words~1s: is no number above 0"));
    assert_non_null(strstr(diag.messages[3], "missing key \"lacks\""));
}

#define TRANSFORMER                                                                                \
    "model,layers,hidden,heads,kv_heads,ffn,vocab,seq_len,flash_attn,tune_key,gpu_key,gpus,"       \
    "gpus_per_node,nodes,intra_key,framework,precision_key,micro_batch,tp,pp,zero_stage,"          \
    "iter_time_s\n"
#define ONE_H100 ",h100-sxm-80,1,1,1,,PyTorch DDP,bf16,1,1,1,0,1\n"

static const struct model *model_of(const char *cells, struct arena *perm)
{
    struct row_job job = map_text(arena_text(perm, TRANSFORMER "%s" ONE_H100, cells), perm);
    if (job.reason) print_error("%s\n", job.reason);
    assert_null(job.reason);
    return job.inputs->model;
}

/* A name never seen, of a known family: 4 (4 h^2 + 3 h f) + 2 V h with norms of h; its head size is
 * 64 x 16 = 1024. Of an unknown family: no gate, biases of 9 h + f and LayerNorms. */
static void a_transformer_never_seen_is_built_from_its_numbers(void **state)
{
    int64_t h = 1024, f = 2816, v = 32000;
    assert_int_equal(
        model_n_parameters(model_of("llama-tiny,4,1024,16,,2816,32000,2048,,full", *state)),
        4 * (4 * h * h + 3 * h * f + 2 * h) + 2 * v * h + h);
    assert_int_equal(
        model_n_parameters(model_of("newcomer,4,1024,16,,2816,32000,2048,no,full", *state)),
        4 * (4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h) + 2 * v * h + 2 * h);
}

/* A known name gives what the row leaves empty, and its ending is left off; the row's own number of
 * layers holds. 12 of 80 blocks of Llama 3 70B (855,654,400 parameters each), 2 tables, a norm. */
static void a_known_name_gives_what_is_empty(void **state)
{
    assert_int_equal(model_n_parameters(model_of("llama2-7b-SFT,,,,,,,4096,,full", *state)),
                     6738415616);
    assert_int_equal(model_n_parameters(model_of("llama3-70b-proxy12L,12,,,,,,4096,,full", *state)),
                     12LL * 855654400 + 2LL * 128256 * 8192 + 8192);
}

/* flash_attn and tune_key come from columns of their own and join the model. */
static void columns_join_in_one_model(void **state)
{
    const struct model *model = model_of("llama2-7b-lora,,,,,,,4096,yes,lora", *state);
    assert_int_equal(model_n_parameters(model), 16LL * (4096 + 3 * 4096 + 4096 + 4096) * 32);
    int n_fused = 0;
    for (int l = 0; l < model->n_layers; l++) n_fused += model->layers[l].recomputed_flop > 0;
    assert_int_equal(n_fused, 32);
}

static void what_a_row_does_not_tell_is_a_reason(void **state)
{
    static const struct {
        const char *cells, *reason;
    } cases[] = {
        {"llama2-7b,,,,,,,,,full", "model llama2-7b: seq_len is not stated"},
        {"newcomer-8x7b,4,1024,16,,2816,32000,2048,,full",
         "model newcomer-8x7b: experts are not stated"},
        {"jamba-1.5,4,1024,16,,2816,32000,2048,,full",
         "model jamba-1.5: has layers that there is no model for"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct row_job job =
            map_text(arena_text(*state, TRANSFORMER "%s" ONE_H100, cases[i].cells), *state);
        assert_string_equal(job.reason, cases[i].reason);
    }
}

/* Who names no framework and divides tensors on GPUs of 2022 and later trains with Megatron-Core or what is
 * built as it: the sequence is divided, too, stages are interleaved, attention is the vendor's. */
static void a_job_that_divides_tensors_is_megatrons(void **state)
{
    struct row_job job = map_text(
        TRAINING "x,llama3.1-405b,8192,h100-sxm-80,nvswitch3,roce,400,8192,8,1024,,bf16,2048,1,32,"
                 "8,16,1,,,none,,,full,11.5,,\n",
        *state);
    assert_null(job.reason);
    assert_true(job.inputs->gpu.framework.vendor_attention);
    assert_true(job.inputs->train.split.sequence);
    assert_true(job.inputs->train.split.tensor_overlap);
    assert_int_equal(job.inputs->train.split.chunk_blocks, 2);
}

/* Tensors in channels last are transposed for no convolution. */
static void channels_last_is_told_by_the_framework(void **state)
{
    static const char *const names[] = {"PyTorch 1.12", "PyTorch 1.12 channels_last"};
    double transposed[2];
    for (int i = 0; i < 2; i++) {
        struct row_job job = map_text(
            arena_text(*state, TRAINING "x,resnet50,,rtx3090,,,,1,1,1,%s,fp16,,192,,,,,,,,,,,1,,\n",
                       names[i]),
            *state);
        assert_null(job.reason);
        transposed[i] = job.inputs->gpu.framework.half_transposed_frac;
    }
    assert_true(transposed[0] > 0.0);
    assert_close(transposed[1], 0.0, 0.0);
}

/* Selective recomputation came with sequence parallelism (Korthikanti et al., 2022). */
static void selective_recomputation_divides_the_sequence(void **state)
{
    static const struct {
        const char *recompute;
        bool sequence;
    } cases[] = {{"selective", true}, {"full", false}};
    for (int i = 0; i < 2; i++) {
        struct row_job job = map_text(
            arena_text(*state,
                       TRAINING "x,gpt3-175b,2048,a100-sxm-80,nvswitch2,ib,200,64,8,8,Megatron-LM,"
                                "fp16,64,1,64,8,8,1,,,%s,,,full,14,,\n",
                       cases[i].recompute),
            *state);
        assert_null(job.reason);
        assert_int_equal(job.inputs->train.split.sequence, cases[i].sequence);
    }
}

/* T5 1.1 XL has 2,849,757,184 parameters, XXL 11,135,332,352 (HuggingFace), small 76,961,152. */
static void sizes_of_t5_are_known_by_their_names(void **state)
{
    static const struct {
        const char *name;
        double n_parameters;
    } cases[] = {{"t5-v1.1-small", 76961152.0},
                 {"t5-v1_1-xl", 2849757184.0},
                 {"flan-t5-xxl", 11135332352.0}};
    for (int i = 0; i < 3; i++) {
        const struct model *model =
            model_of(arena_text(*state, "%s,,,,,,,512,,full", cases[i].name), *state);
        assert_close((double)model_n_parameters(model), cases[i].n_parameters, 0.01);
    }
}

static void more_gpus_than_the_servers_have_are_a_reason(void **state)
{
    static const char row[] = TRAINING "x,bert-base,128,v100-sxm2-16,nvlink2-mesh,ib,50,%d,8,4,"
                                       "PyTorch DDP,fp16,256,2,,1,1,,,0,,,allreduce,full,1,,\n";
    assert_null(map_text(arena_text(*state, row, 32), *state).reason);
    assert_string_equal(map_text(arena_text(*state, row, 64), *state).reason,
                        "gpus 64: are more than gpus_per_node times nodes");
}

/* Two racks of 72 are 144; 128 are 64 of each of two. */
static void racks_of_72_are_whole_where_64_of_each_do_not_come_out(void **state)
{
    static const char row[] = TRAINING "x,bert-base,128,gb200,nvl72,ib,400,%d,4,%d,PyTorch DDP,"
                                       "bf16,,2,1,1,1,,,0,,,allreduce,full,1,,\n";
    static const int gpus[] = {144, 128};
    static const int per_node[] = {72, 64};
    for (int i = 0; i < 2; i++) {
        struct row_job job = map_text(arena_text(*state, row, gpus[i], gpus[i] / 4), *state);
        assert_null(job.reason);
        assert_int_equal(job.inputs->topo->n_nodes, 2);
        assert_int_equal(job.inputs->n_gpus, 2 * per_node[i]);
    }
}

/* A table may count trays of 4 GPUs, or racks: 2 trays are one server with a card for each GPU, 18 a whole rack,
 * 32 are 64 GPUs of two racks. */
static void trays_of_a_rack_are_one_server(void **state)
{
    static const struct {
        int per_node, nodes, n_gpus, n_servers, n_cards;
    } cases[] = {{4, 2, 8, 1, 8},
                 {4, 18, 72, 1, 72},
                 {4, 36, 144, 2, 72},
                 {4, 32, 128, 2, 64},
                 {72, 2, 144, 2, 72}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct row_job job = map_text(
            arena_text(*state,
                       COLUMNS "s,allreduce,gb200,nvl72,ib,fat-tree,%d,%d,4,400,NCCL,2.26.2,auto,"
                               "auto,1048576,100\n",
                       cases[i].per_node, cases[i].nodes),
            *state);
        assert_null(job.reason);
        assert_int_equal(job.inputs->n_gpus, cases[i].n_gpus);
        assert_int_equal(job.inputs->topo->n_nodes, cases[i].n_servers);
        assert_int_equal(job.inputs->node.nics_per_node, cases[i].n_cards);
        assert_close(job.inputs->node.scaleup_Bps, 900e9, 1e-12);
    }
}

/* A value that no rule is about is a reason, never passed over. */
static void another_way_of_exchange_is_a_reason(void **state)
{
    struct row_job job =
        map_text(TRAINING "x,bert-base,128,rtx5090,pcie5,,,8,8,1,PyTorch DDP,bf16,,2,"
                          "1,1,1,,,0,,,gossip,full,1,,\n",
                 *state);
    assert_string_equal(job.reason, "sync_key gossip: not known how gradients are exchanged");
    job =
        map_text(TRAINING "x,bert-base,128,rtx5090,pcie5,,,8,8,1,PyTorch DDP,bf16,,2,1,1,1,,,0,,,,"
                          "full,1,,\n",
                 *state);
    assert_null(job.reason);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_become_a_cluster),
        cmocka_unit_test(links_between_gpus_go_by_the_gpu),
        cmocka_unit_test(what_no_rule_knows_is_named),
        cmocka_unit_test(cards_of_any_rate_are_mapped),
        cmocka_unit_test(what_the_library_lacks_is_a_reason),
        cmocka_unit_test(rows_are_compared_by_keys_alone),
        cmocka_unit_test(batches_cards_and_times_follow_from_several_columns),
        cmocka_unit_test(a_transformer_never_seen_is_built_from_its_numbers),
        cmocka_unit_test(a_known_name_gives_what_is_empty),
        cmocka_unit_test(columns_join_in_one_model),
        cmocka_unit_test(what_a_row_does_not_tell_is_a_reason),
        cmocka_unit_test(units_of_throughput_become_samples_by_rule),
        cmocka_unit_test(columns_say_how_ranks_divide_the_model),
        cmocka_unit_test(more_gpus_than_the_servers_have_are_a_reason),
        cmocka_unit_test(racks_of_72_are_whole_where_64_of_each_do_not_come_out),
        cmocka_unit_test(another_way_of_exchange_is_a_reason),
        cmocka_unit_test(a_job_that_divides_tensors_is_megatrons),
        cmocka_unit_test(channels_last_is_told_by_the_framework),
        cmocka_unit_test(selective_recomputation_divides_the_sequence),
        cmocka_unit_test(sizes_of_t5_are_known_by_their_names),
        cmocka_unit_test(trays_of_a_rack_are_one_server),
        cmocka_unit_test(broken_tables_say_where),
        cmocka_unit_test(a_time_in_another_unit_is_found_by_the_bandwidth_beside_it),
        cmocka_unit_test(rules_are_read_with_the_same_care),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
