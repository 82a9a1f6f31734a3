#include "io/measured.h"

#include "io/measured_formats.h"
#include "test.h"

#define FIXTURES "tests/io/fixtures/"

static const struct measured *read_fixture(const char *name, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct measured *measured =
        measured_read(arena_text(perm, FIXTURES "%s", name), NULL, NULL, perm, &diag);
    if (!measured) diag_print(&diag, stderr);
    assert_non_null(measured);
    return measured;
}

static const struct measured *read_text(const char *text, const char *as, struct diag *diag,
                                        struct arena *perm)
{
    *diag = (struct diag){.perm = perm};
    return measured_read_text("text", text, strlen(text), as, perm, diag);
}

static int64_t n_skipped(const struct measured *measured, const char *what)
{
    for (int s = 0; s < measured->n_skips; s++) {
        if (strstr(measured->skips[s].what, what)) return measured->skips[s].n;
    }
    return 0;
}

static void assert_row(const struct measured *measured, int r, const char *benchmark, double size_B,
                       double time_s)
{
    assert_in_range(r, 0, measured->raw.n_rows - 1);
    const struct raw_row *row = &measured->raw.rows[r];
    assert_string_equal(row->benchmark, benchmark);
    assert_close(row->size_B, size_B, 1e-12);
    assert_close(row->time_s, time_s, 1e-8);
}

/* What stands in the fixtures; times in us there, so 11184.8 is 0.0111848 s. */
static void columns_of_nccl_tests_are_found_by_name_in_every_era(void **state)
{
    static const struct {
        const char *name, *benchmark, *dtype, *device;
        int n_ranks, per_node, n_rows;
        double size_B, time_s; /* of the last row */
    } cases[] = {
        {"nccl-2017.txt", "all_reduce", "fp32", "GeForce GTX TITAN X", 4, 4, 2, 33554432, 5010e-6},
        {"nccl-2.9-broadcast.txt", "broadcast", "fp32", "Tesla V100-SXM2-32GB", 2, 2, 2, 8388608,
         401e-6},
        {"nccl-2.13.txt", "all_reduce", "fp32", "NVIDIA H100 80GB HBM3", 4, 2, 6, 1073741824,
         11300e-6},
        {"nccl-2026.txt", "all_to_all", "fp32", "NVIDIA GB200", 2, 2, 2, 1048576, 12.6e-6},
        {"nccl.json", "all_gather", "bf16", "NVIDIA H100 80GB HBM3", 2, 1, 2, 2097152, 90e-6},
        {"rccl.txt", "all_reduce", "fp32", "AMD Instinct MI300X", 8, 8, 2, 8388608, 94.94e-6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct measured *measured = read_fixture(cases[i].name, *state);
        assert_int_equal(measured->raw.n_rows, cases[i].n_rows);
        assert_row(measured, cases[i].n_rows - 1, cases[i].benchmark, cases[i].size_B,
                   cases[i].time_s);
        const struct raw_row *row = &measured->raw.rows[cases[i].n_rows - 1];
        assert_string_equal(row->dtype, cases[i].dtype);
        assert_string_equal(row->note, "in place");
        assert_int_equal(row->n_ranks, cases[i].n_ranks);
        assert_int_equal(row->ranks_per_node, cases[i].per_node);
        assert_int_equal(row->repeats, 20);
        assert_string_equal(raw_value(&measured->raw, "device"), cases[i].device);
    }
}

static void lines_of_debugging_and_empty_sizes_are_counted(void **state)
{
    const struct measured *measured = read_fixture("nccl-2.13.txt", *state);
    assert_int_equal(n_skipped(measured, "NCCL_DEBUG"), 2);
    assert_int_equal(n_skipped(measured, "size 0"), 2);
    assert_null(measured->note);
}

/* 2 (n - 1) / n = 1.5 says n = 4, (n - 1) / n = 0.75 likewise; without a name or a count of ranks, that
 * and the operation tell reduce_scatter from all_reduce. */
static void a_table_alone_tells_its_collective_and_ranks(void **state)
{
    static const char head[] = "# size count type redop root time algbw busbw #wrong\n";
    struct diag diag;
    const struct measured *sum =
        read_text(arena_text(*state, "%s 1000000 250000 float sum -1 100.0 10.00 15.00 0\n", head),
                  NULL, &diag, *state);
    assert_non_null(sum);
    assert_row(sum, 0, "all_reduce", 1e6, 1e-4);
    assert_int_equal(sum->raw.rows[0].n_ranks, 4);
    const struct measured *part =
        read_text(arena_text(*state, "%s 1000000 62500 float sum -1 100.0 10.00 7.50 0\n", head),
                  NULL, &diag, *state);
    assert_non_null(part);
    assert_row(part, 0, "reduce_scatter", 1e6, 1e-4);
    assert_int_equal(part->raw.rows[0].n_ranks, 4);
    /* all_gather and all_to_all look alike */
    assert_null(
        read_text(arena_text(*state, "%s 1000000 62500 float none -1 100.0 10.00 7.50 0\n", head),
                  NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "does not say which collective"));
}

/* busbw / algbw = 1.5 says 4 ranks; a log that lists two, as one that was cut, gives 1. Two decimals of 0.02
 * GB/s say nothing. */
static void a_list_of_ranks_that_the_bandwidths_contradict_is_noted_with_its_line(void **state)
{
    static const char head[] = "# nThread 1 nGpus 1 iters: 20\n"
                               "#  Rank  0 Pid  1 on  a device  0 [0x07] H100\n"
                               "#  Rank  1 Pid  2 on  a device  1 [0x0f] H100\n"
                               "# size count type redop root time algbw busbw #wrong\n";
    static const struct {
        const char *row, *note;
    } cases[] = {{"1000000 250000 float sum -1 100.0 10.00 15.00 0",
                  "line 5: busbw is 1.5 times algbw, which says 4 ranks; the head names 2, which "
                  "gives 1 "},
                 {"1000000 250000 float sum -1 100.0 10.00 10.00 0", NULL},
                 {"1000000 250000 float sum -1 100.0 10.00 25.00 0", "no number of ranks gives"},
                 {"1000 250 float sum -1 50.0 0.02 0.03 0", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag;
        const char *text = arena_text(*state, "%s %s\n", head, cases[i].row);
        const struct measured *measured = read_text(text, NULL, &diag, *state);
        assert_non_null(measured);
        assert_int_equal(measured->raw.rows[0].n_ranks, 2);
        if (!cases[i].note)
            assert_null(measured->note);
        else if (!measured->note || !strstr(measured->note, cases[i].note))
            fail_msg("%s: %s", cases[i].row, measured->note ? measured->note : "no note");
    }
}

static void the_list_of_devices_is_checked_likewise(void **state)
{
    static const char text[] =
        "{\"args\": [\"all_gather_perf\"], \"config\": {\"devices\": [{\"hostname\": \"a\"}, "
        "{\"hostname\": \"a\"}]},\n\"results\": [{\"size\": 1000000, \"type\": \"float\", "
        "\"out_of_place\": {\"time\": 100, \"alg_bw\": 10, \"bus_bw\": 7.5, \"nwrong\": 0}}]}";
    struct diag diag;
    const struct measured *measured = read_text(text, "nccl-tests-json", &diag, *state);
    assert_non_null(measured);
    assert_non_null(measured->note);
    assert_non_null(
        strstr(measured->note, "line 2: busbw is 0.75 times algbw, which says 4 ranks"));
}

static void rows_that_contradict_themselves_are_left_out(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("# all_reduce_perf \n"
                  "# size count type redop root time algbw busbw #wrong\n"
                  " 1000000 250000 float sum -1 100.0 10.00 15.00 0\n"
                  " 1000000 250000 float sum -1 0.1 10.00 15.00 0\n" /* ms for us */
                  " 1000000 250000 float sum -1 100.0 10.00 15.00 7\n"
                  " 1000000 250000 float sum -1 nan 10.00 15.00 0\n"
                  " 1000000 250000 float sum -1 1e308 10.00 15.00 0\n"
                  " 1000000 250000 float sum -1 -5 10.00 15.00 0\n"
                  " 1000000 250000 float sum -1 100\n"
                  "# Avg bus bandwidth    : 99\n",
                  NULL, &diag, *state);
    assert_non_null(measured);
    assert_int_equal(measured->raw.n_rows, 1);
    assert_int_equal(n_skipped(measured, "disagree"), 1);
    assert_int_equal(n_skipped(measured, "wrong results"), 1);
    assert_int_equal(n_skipped(measured, "no usable number"), 2);
    assert_int_equal(n_skipped(measured, "without a positive time"), 1);
    assert_int_equal(n_skipped(measured, "fewer or more columns"), 1);
    assert_non_null(strstr(measured->note, "rows are missing"));
}

static void a_unit_that_is_not_known_is_an_error_with_its_line(void **state)
{
    struct diag diag;
    assert_null(read_text("# all_reduce_perf \n"
                          "# size count type redop root time algbw busbw #wrong\n"
                          "#  (B) (elements) (ms) (GB/s) (GB/s)\n"
                          " 1000000 250000 float sum -1 100.0 10.00 15.00 0\n",
                          NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:3: unit (ms) in the head"));
    assert_null(read_text(
        " #bytes     #iterations    BW peak[KB/sec]    BW average[KB/sec]   MsgRate[Mpps]\n"
        " 65536 5000 391.62 391.57 0.7\n",
        NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:1: unit of average[KB/sec]"));
    assert_null(read_text("# OSU MPI Latency Test v7.3\n# Size          Latency (ms)\n8 1.0\n",
                          NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:2: no column of known name"));
}

static void two_eras_in_one_file_each_keep_their_columns(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("# nThread 1 nGpus 2 minBytes 8\n"
                  "# size count type redop time algbw busbw error\n"
                  " 1000000 250000 float sum 100.0 10.00 10.00 0e+00\n"
                  "# Collective test starting: reduce_scatter_perf\n"
                  "# nThread 1 nGpus 4 minBytes 8\n"
                  "# size count type redop root time algbw busbw #wrong\n"
                  " 2000000 250000 half sum -1 100.0 20.00 15.00 0\n",
                  NULL, &diag, *state);
    assert_non_null(measured);
    assert_int_equal(measured->raw.n_rows, 2);
    assert_row(measured, 0, "all_reduce", 1e6, 1e-4);
    assert_row(measured, 1, "reduce_scatter", 2e6, 1e-4);
    assert_int_equal(measured->raw.rows[0].n_ranks, 2);
    assert_int_equal(measured->raw.rows[1].n_ranks, 4);
}

/* 65536 B at 12000 MB/s of 10^6 is 5.4613 us; both ways count twice. */
static void tests_of_osu_are_told_apart_by_their_titles(void **state)
{
    const struct measured *osu = read_fixture("osu.txt", *state);
    assert_string_equal(osu->format->name, "osu");
    assert_int_equal(osu->raw.n_rows, 7);
    assert_row(osu, 2, "reduce", 1024, 55.48e-6);
    assert_row(osu, 3, "ping_pong", 8, 1.07e-6);
    assert_row(osu, 5, "message_stream", 65536, 65536 / 12e9);
    assert_row(osu, 6, "message_both_ways", 65536, 65536 / 12e9);
    assert_int_equal(osu->raw.rows[2].repeats, 1000);
}

/* OSU counts what goes to one of 4, raw rows the whole; without the number of ranks nobody knows. */
static void sizes_per_rank_become_whole_sizes(void **state)
{
    static const char text[] = "# OSU MPI Allgather Latency Test v7.3\n"
                               "# Size       Avg Latency(us)\n"
                               "1024                  10.0\n"
                               "# OSU MPI Gatherv Latency Test v7.3\n"
                               "# Size       Avg Latency(us)\n"
                               "16                     3.0\n";
    struct diag diag;
    assert_null(read_text(text, NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "--ranks N tells"));
    char *file = arena_text(*state, "%s", "/tmp/dpsim-osu-XXXXXX");
    int number = mkstemp(file);
    FILE *out = fdopen(number, "w");
    fputs(text, out);
    fclose(out);
    struct reading_options four = {.n_ranks = 4};
    diag = (struct diag){.perm = *state};
    const struct measured *measured = measured_read(file, NULL, &four, *state, &diag);
    remove(file);
    assert_non_null(measured);
    assert_row(measured, 0, "all_gather", 4096, 10e-6);
    assert_row(measured, 1, "gather", 64, 3e-6);
}

/* Gb/s is 10^9 bits, MB/s of this tool 2^20 bytes: 65536 B at 391.57 Gb/s take 1.33894 us, at 11700 MB/s
 * 5.34188 us. */
/* a test of a kind that is not read, with a head of its own, leaves the others of the file as they are */
static void tests_of_other_kinds_are_counted_beside_those_that_are_read(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("# OSU MPI Multiple Bandwidth / Message Rate Test v7.1\n# [ pairs: 1 ] [ window "
                  "size: 64 ]\n"
                  "# Size                  MB/s        Messages/s\n1   8.0   8000000.0\n"
                  "# OSU MPI_Put latency Test v5.8\n# Size          Latency (us)\n1     2.0\n"
                  "# OSU MPI_Get Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1     2.0\n"
                  "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n8     2.5\n",
                  NULL, &diag, *state);
    assert_int_equal(measured->raw.n_rows, 1);
    assert_row(measured, 0, "ping_pong", 8, 2.5e-6);
    assert_int_equal(n_skipped(measured, "kinds that are not read"), 3);
    assert_int_equal(n_skipped(measured, "rows of tests that are not read"), 3);
}

static void atomic_operations_are_no_messages(void **state)
{
    struct diag diag;
    assert_null(read_text("  Atomic FETCH_AND_ADD BW Test\n"
                          " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
                          " 8 1000 1.7 1.6 0.2\n",
                          NULL, &diag, *state));
    assert_string_equal(diag.messages[0],
                        "text:3: nothing to use in this perftest file: 1 rows of atomic "
                        "operations, which are no messages");
}

static void the_unit_of_perftest_is_read_from_its_head(void **state)
{
    const struct measured *measured = read_fixture("perftest.txt", *state);
    assert_int_equal(measured->raw.n_rows, 5);
    assert_row(measured, 0, "message_stream", 65536, 65536 * 8 / 391.57e9);
    assert_row(measured, 1, "message_stream", 65536, 65536 / (11700 * 1048576.0));
    assert_row(measured, 2, "ping_pong", 2, 1.47e-6);
    assert_row(measured, 3, "ping_pong", 2, 2.5e-6);
    assert_string_equal(measured->raw.rows[3].note, "read: there and back");
    assert_row(measured, 4, "message_both_ways", 1048576, 2 * 1048576 * 8 / 700e9);
    assert_string_equal(raw_value(&measured->raw, "nic"), "mlx5_0");
}

static void logs_of_training_give_one_row_per_step(void **state)
{
    const struct measured *megatron = read_fixture("megatron.txt", *state);
    assert_int_equal(megatron->raw.n_rows, 2);
    assert_close(megatron->raw.rows[1].time_s, 5.5338, 1e-12);
    assert_int_equal(megatron->raw.rows[1].batch, 128);
    assert_int_equal(megatron->raw.rows[1].n_ranks, 16);
    assert_int_equal(n_skipped(megatron, "cut off"), 1);
    const struct measured *rates = read_fixture("deepspeed.txt", *state);
    assert_close(rates->raw.rows[1].time_s, 32 / 80.0, 1e-12); /* the current rate, not the mean */
    assert_int_equal(rates->raw.rows[1].n_ranks, 8);
    const struct measured *clocks = read_fixture("deepspeed-clocks.txt", *state);
    assert_int_equal(clocks->raw.n_rows, 1);
    assert_close(clocks->raw.rows[0].time_s, 1e-3 * (62.04 + 79.90 + 5.10), 1e-12);
    const struct measured *table = read_fixture("steps.csv", *state);
    assert_int_equal(table->raw.n_rows, 2);
    assert_close(table->raw.rows[0].time_s, 0.9005, 1e-12);
    assert_int_equal(table->raw.rows[0].batch, 256);
}

/* 64 samples of 2,048 tokens on 8 GPUs at 16,384 tokens/s each: 1 s; what a second rank prints is left out */
static void rates_of_torchtitan_become_times(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("[rank0]:[titan] 2030-01-01 00:00:00,000 - root - INFO - Building 2-D device "
                  "mesh with ['dp_shard', 'tp'], "
                  "[4, 2]\n"
                  "[titan] Trainer is initialized with local batch size 16, global batch size 64, "
                  "gradient accumulation "
                  "steps 1, sequence length 2048, total steps 10 (warmup 2)\n"
                  "[titan] step:  1  loss:  8.0  memory:  1.2GiB(0.8%)  tps: 16,384  tflops: 0.4  "
                  "mfu: 0.04%\n"
                  "[titan] step:  1  loss:  8.0  memory:  1.2GiB(0.8%)  tps: 16,384  tflops: 0.4  "
                  "mfu: 0.04%\n"
                  "[titan] step:  2  loss:  8.0  memory:  1.2GiB(0.8%)  wps: 8,192  mfu: 0.04%\n",
                  NULL, &diag, *state);
    assert_string_equal(measured->format->name, "trainer");
    assert_int_equal(measured->raw.n_rows, 2);
    assert_int_equal(measured->raw.rows[0].n_ranks, 8);
    assert_int_equal(measured->raw.rows[0].batch, 64);
    assert_close(measured->raw.rows[0].time_s, 1.0, 1e-12);
    assert_close(measured->raw.rows[1].time_s, 2.0, 1e-12);
    assert_int_equal(n_skipped(measured, "another rank"), 1);
}

static void a_rate_of_tokens_alone_is_no_time(void **state)
{
    struct diag diag;
    assert_null(read_text("step: 1 loss: 8.0 tps: 100\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:1: nothing to use"));
    assert_non_null(strstr(diag.messages[0], "before the log tells batch"));
    assert_null(read_text(
        "Trainer is initialized with local batch size 1, global batch size 4, sequence length 8\n"
        "step: 1 loss: 8.0 tps: 100\n",
        NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "--ranks N tells"));
}

/* world sizes of torchtitan's newer head: 2 x 4 x 2 = 16, expert parallelism lies across them */
static void a_mesh_told_by_name_counts_its_gpus(void **state)
{
    struct diag diag;
    const struct measured *measured = read_text(
        "Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, "
        "ep=4\n"
        "Trainer is initialized with local batch size 1, global batch size 4, sequence length 160\n"
        "step: 3 loss: 8.0 tps: 10 mfu: 1%\n",
        NULL, &diag, *state);
    assert_int_equal(measured->raw.rows[0].n_ranks, 16);
    assert_close(measured->raw.rows[0].time_s, 4.0, 1e-12);
}

static void times_of_other_trainers_are_read_with_their_unit(void **state)
{
    static const struct {
        const char *line;
        double time_s;
        int64_t batch;
    } cases[] = {
        {"iter 10: loss 3.1, time 135.26ms, mfu 24.47%\n", 0.13526, 0},
        {"step    10 | loss: 3.1 | lr: 1e-4 | dt: 250.50ms | tok/sec: 2000.00\n", 0.2505, 0},
        {"step   1/10 | loss 11.0 (+nanz)| norm 22.1 (+nanz)| lr 8.57e-07 | 2575.63 ms | 39.0% "
         "bf16 MFU | 203557 tok/s\n",
         2.57563, 0},
        {"Training epoch 0, iteration 1/9 | lr: 4e-06 | global_batch_size: 8 | train_step_timing "
         "in s: 2.505\n",
         2.505, 8},
        {"Epoch 0: 99% [train_step_timing in s=9.9]\rEpoch 0: 100% [global_step=99.0, "
         "train_step_timing in s=3.130]\n",
         3.13, 0},
        {"{'train_runtime': 40.0, 'train_samples_per_second': 19.992, 'train_steps_per_second': "
         "2.5, "
         "'epoch': 3.0}\n",
         0.4, 8},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct diag diag;
        const struct measured *measured = read_text(cases[c].line, NULL, &diag, *state);
        assert_non_null(measured);
        assert_string_equal(measured->format->name, "trainer");
        assert_close(measured->raw.rows[0].time_s, cases[c].time_s, 1e-12);
        assert_int_equal(measured->raw.rows[0].batch, cases[c].batch);
    }
}

static void a_log_of_both_is_megatrons(void **state)
{
    struct diag diag;
    const struct measured *measured = read_text(
        "[INFO] [timer.py:260:stop] epoch=0, CurrSamplesPerSec=61.3, MemAllocated=6.0GB\n"
        " iteration 2/ 9 | elapsed time per iteration (ms): 500.0 | global batch size: 32 |\n",
        NULL, &diag, *state);
    assert_string_equal(measured->format->name, "megatron");
    assert_int_equal(measured->raw.n_rows, 1);
    assert_int_equal(measured->raw.rows[0].batch, 32);
}

/* 2 x 1000^3 in 100 us are 20 TFLOP/s; a table of products is none of steps */
static void tables_of_products_are_read_by_their_columns(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("M,N,K,dtype,Time (ms),TFLOPs,layout\n1000,1000,1000,torch.bfloat16,0.1,20.0,NT\n"
                  "1000,1000,1000,half,0.1,40,nn\n1000,1000,0,half,0.1,,\n10,10,10,int4,1,,\n"
                  "1000,2000,1000,fp8,,40,\n",
                  NULL, &diag, *state);
    assert_string_equal(measured->format->name, "products");
    assert_int_equal(measured->raw.n_rows, 2);
    assert_string_equal(measured->raw.rows[0].dtype, "bf16");
    assert_string_equal(measured->raw.rows[0].layout, "nt");
    assert_close(measured->raw.rows[0].time_s, 1e-4, 1e-12);
    assert_close(measured->raw.rows[1].time_s, 1e-4, 1e-12);
    assert_int_equal(measured->raw.rows[1].line, 6);
    assert_int_equal(n_skipped(measured, "contradict"), 1);
    assert_int_equal(n_skipped(measured, "whole numbers"), 1);
    assert_int_equal(n_skipped(measured, "type that is not known"), 1);
}

static void products_of_several_gpus_or_without_a_unit_are_refused(void **state)
{
    struct diag diag;
    assert_null(read_text("gpu,precision,m,n,k,tflops\na,fp16,1,2,3,4\nb,fp16,1,2,3,4\n", NULL,
                          &diag, *state));
    assert_string_equal(diag.messages[0],
                        "text:3: is another GPU (b) than the rows before (a): a profile is of one");
    assert_null(read_text("m,n,k,time\n1,2,3,4\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:1: has no column of times with their unit"));
}

static void a_time_in_seconds_is_read_as_such(void **state)
{
    struct diag diag;
    const struct measured *measured = read_text(
        " iteration 12/ 100 | elapsed time per iteration (s): 105.1 | global batch size: 2048 |\n"
        " iteration 13/ 100 | elapsed time per iteration (h): 1 | global batch size: 2048 |\n",
        NULL, &diag, *state);
    assert_non_null(measured);
    assert_close(measured->raw.rows[0].time_s, 105.1, 1e-12);
    assert_int_equal(n_skipped(measured, "neither (ms) nor (s)"), 1);
}

/* 4 GPUs with all 18 links to a switch; mlx5_0 and mlx5_2 share switches with GPUs, mlx5_1 does not. */
static void a_matrix_of_links_becomes_a_server(void **state)
{
    const struct server *server = read_fixture("topo.txt", *state)->server;
    assert_non_null(server);
    assert_int_equal(server->n_gpus, 4);
    assert_int_equal(server->n_nics, 3);
    assert_true(server->through_switch);
    assert_int_equal(server->gpus[3].n_links, 18);
    assert_int_equal(server->gpus[0].pcie_switch, server->gpus[1].pcie_switch);
    assert_int_not_equal(server->gpus[0].pcie_switch, server->gpus[2].pcie_switch);
    assert_int_not_equal(server->gpus[0].socket, server->gpus[2].socket);
    assert_string_equal(server->nics[2].name, "mlx5_2");
    assert_true(server->nics[0].near && !server->nics[1].near && server->nics[2].near);
}

/* 32 GT/s of 128b/130b on 16 lanes: 63.015 GB/s. */
/* what threads and pages make of a table: no "#" left, quoted, task numbers of srun before it */
static void tables_read_as_pages_and_threads_show_them(void **state)
{
    static const char *const texts[] = {
        "all_reduce_perf -g 2\n nThread 1 nGpus 2 minBytes 8\n Using devices\n"
        "  Rank  0 Group  0 Pid 1 on a device  0 [0x01] NVIDIA L4\n"
        "  Rank  1 Group  0 Pid 1 on a device  1 [0x02] NVIDIA L4\n"
        "   size  count  type  redop  root  time  algbw  busbw #wrong\n"
        "    (B) (elements)                 (us) (GB/s) (GB/s)\n"
        " 1000000 250000 float sum -1 100.0 10.00 10.00 0\n Avg bus bandwidth : 10\n",
        "> # nThread 1 nGpus 2 minBytes 8\n"
        "> #  Rank  0 Group  0 Pid 1 on a device  0 [0x01] NVIDIA L4\n"
        "> #  Rank  1 Group  0 Pid 1 on a device  1 [0x02] NVIDIA L4\n"
        "> # size count type redop root time algbw busbw #wrong\n"
        ">  1000000 250000 float sum -1 100.0 10.00 10.00 0\n",
        " 0: # nThread 1 nGpus 2 minBytes 8\n"
        " 0: #  Rank  0 Group  0 Pid 1 on a device  0 [0x01] NVIDIA L4\n"
        " 0: #  Rank  1 Group  0 Pid 1 on a device  1 [0x02] NVIDIA L4\n"
        " 0: # size count type redop root time algbw busbw #wrong\n"
        " 0:  1000000 250000 float sum -1 100.0 10.00 10.00 0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct diag diag;
        const struct measured *measured = read_text(texts[i], NULL, &diag, *state);
        assert_non_null(measured);
        assert_int_equal(measured->raw.n_rows, 1);
        assert_string_equal(measured->raw.rows[0].benchmark, "all_reduce");
        assert_int_equal(measured->raw.rows[0].n_ranks, 2);
        assert_int_equal(measured->raw.rows[0].ranks_per_node, 2);
        assert_close(measured->raw.rows[0].time_s, 100e-6, 1e-12);
    }
}

static const char *head_of(const struct measured *measured, const char *key)
{
    assert_non_null(measured);
    for (int h = 0; h < measured->raw.n_heads; h++) {
        if (!strcmp(measured->raw.heads[h].key, key)) return measured->raw.heads[h].value;
    }
    return "";
}

/* one process with -g 2, two with -g 1 on one server, two on two servers, where nobody issues for another */
static void the_head_tells_who_drives_the_gpus(void **state)
{
#define RANK(n, on) "#  Rank  " #n " Group  0 Pid 7 on " on " device  0 [0x01] NVIDIA L4\n"
    static const struct {
        int n_gpus;
        const char *second, *per;
    } cases[] = {{2, "a", "server"}, {1, "a", "gpu"}, {1, "b", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag;
        const char *text =
            arena_text(*state,
                       "# nThread 1 nGpus %d minBytes 8\n" RANK(0, "a")
                           RANK(1, "%s") "# size count type redop root time algbw busbw #wrong\n"
                                         "1000000 250000 float sum -1 100.0 10.00 10.00 0\n",
                       cases[i].n_gpus, cases[i].second);
        assert_string_equal(head_of(read_text(text, NULL, &diag, *state), "process_per"),
                            cases[i].per);
    }
}

static void the_library_is_told_with_its_version(void **state)
{
    static const char *const says[][2] = {
        {"NCCL version 2.27.3+cuda12.9", "nccl-2.27.3"},
        {"n1:7:7 [0] NCCL INFO NCCL version 2.22.3+cuda12.2", "nccl-2.22.3"},
        {"RCCL version : 2.27.7-HEAD:0d2c4fd", "rccl-2.27.7"},
        {"# nccl-tests version 2.18.2 nccl-headers=22907 nccl-library=22907", "nccl-2.29.7"},
        {"the NCCL version matters", ""},
    };
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct diag diag;
        const char *text = arena_text(*state,
                                      "# nThread 1 nGpus 2 minBytes 8\n%s\n"
                                      "# size count type redop root time algbw busbw #wrong\n"
                                      "1000000 250000 float sum -1 100.0 10.00 10.00 0\n",
                                      says[i][0]);
        assert_string_equal(head_of(read_text(text, NULL, &diag, *state), "library"), says[i][1]);
    }
}

/* A head of two blocks, rows of the first alone: 8 MB in 1 ms are 8 GB/s of algorithm bandwidth. */
static void a_row_may_end_after_its_first_block(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("# size count type redop time algbw busbw error time algbw busbw error\n"
                  "8000000 2000000 float sum 1000.0 8.00 12.00 N/A\n",
                  NULL, &diag, *state);
    assert_non_null(measured);
    assert_int_equal(measured->raw.n_rows, 1);
    assert_int_equal(measured->raw.rows[0].n_ranks, 4); /* 12 = 8 * 2 * 3 / 4 */
}

/* nccl-tests 2.0: of 12 MB in 1 ms, 12 GB/s, each of three ranks gets 2/3 from the others. A time that
 * gives half of it for no number of ranks is still an error of units. */
static void all_gathers_of_old_versions_print_shares(void **state)
{
    struct diag diag;
    const struct measured *measured = read_text("# size count type time algbw busbw error\n"
                                                "12000000 1000000 float 1000.0 8.00 8.00 0e+00\n",
                                                NULL, &diag, *state);
    assert_non_null(measured);
    assert_string_equal(measured->raw.rows[0].benchmark, "all_gather");
    assert_int_equal(measured->raw.rows[0].n_ranks, 3);
    assert_null(read_text("# size count type time algbw busbw error\n"
                          "12000000 1000000 float 1000.0 3.00 3.00 0e+00\n",
                          NULL, &diag, *state));
}

static void the_topology_file_of_nccl_becomes_a_server(void **state)
{
    const struct server *server = read_fixture("topo.xml", *state)->server;
    assert_non_null(server);
    assert_int_equal(server->n_gpus, 2);
    assert_true(server->through_switch);
    assert_int_equal(server->gpus[0].n_links, 18);
    assert_int_equal(server->gpus[0].sm, 90);
    assert_close(server->pcie_Bps, 32e9 / 8 * 16 * 128 / 130, 1e-12);
    assert_close(server->nics[0].rate_Bps, 50e9, 1e-12);
    assert_true(server->nics[0].infiniband);
    assert_true(server->nics[0].near && !server->nics[1].near);
}

/* drivers until 2017 say SOC where later ones say SYS */
static void sockets_of_old_drivers_are_told_apart(void **state)
{
    struct diag diag;
    const struct server *server = read_text("\tGPU0\tGPU1\tGPU2\tmlx4_0\n"
                                            "GPU0\t X \tPHB\tSOC\tSOC\n"
                                            "GPU1\tPHB\t X \tSOC\tSOC\n"
                                            "GPU2\tSOC\tSOC\t X \tPIX\n",
                                            NULL, &diag, *state)
                                      ->server;
    assert_int_equal(server->gpus[0].socket, server->gpus[1].socket);
    assert_int_not_equal(server->gpus[0].socket, server->gpus[2].socket);
    assert_int_equal(server->nics[0].socket, server->gpus[2].socket);
}

/* NVLinks hide where GPUs are, and drivers until 2020 name no NUMA nodes: their CPUs tell */
static void gpus_of_the_same_cpus_share_a_socket(void **state)
{
    struct diag diag;
    const struct server *server = read_text("\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
                                            "GPU0\t X \tNV6\tNV6\t0-23\n"
                                            "GPU1\tNV6\t X \tNV6\t0-23\n"
                                            "GPU2\tNV6\tNV6\t X \t24-47\n",
                                            NULL, &diag, *state)
                                      ->server;
    assert_int_equal(server->gpus[0].socket, server->gpus[1].socket);
    assert_int_not_equal(server->gpus[0].socket, server->gpus[2].socket);
}

/* NUMA nodes 1, 3, 5 and 7 of eight are two of each of two sockets */
static void many_numa_nodes_are_parts_of_two_sockets(void **state)
{
    struct diag diag;
    const struct server *server =
        read_text("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
                  "GPU0\t X \tSYS\tSYS\tSYS\t24-31\t3\n"
                  "GPU1\tSYS\t X \tSYS\tSYS\t8-15\t1\n"
                  "GPU2\tSYS\tSYS\t X \tSYS\t56-63\t7\n"
                  "GPU3\tSYS\tSYS\tSYS\t X \t40-47\t5\n",
                  NULL, &diag, *state)
            ->server;
    assert_int_equal(server->gpus[0].socket, server->gpus[1].socket);
    assert_int_equal(server->gpus[2].socket, server->gpus[3].socket);
    assert_int_not_equal(server->gpus[0].socket, server->gpus[2].socket);
}

static void bridges_between_pairs_do_not_join_all(void **state)
{
    struct diag diag;
    const struct server *server = read_text("\tGPU0\tGPU1\tGPU2\tGPU3\n"
                                            "GPU0\t X \tNV4\tPHB\tPHB\n"
                                            "GPU1\tNV4\t X \tPHB\tPHB\n"
                                            "GPU2\tPHB\tPHB\t X \tNV4\n"
                                            "GPU3\tPHB\tPHB\tNV4\t X \n",
                                            NULL, &diag, *state)
                                      ->server;
    assert_true(server->apart);
    assert_int_equal(server->gpus[3].n_links, 4);
    server = read_text("<system><cpu>"
                       "<pci busid=\"a\"><gpu sm=\"80\"><nvlink target=\"B\" count=\"12\" "
                       "tclass=\"0x0302\"/></gpu></pci>"
                       "<pci busid=\"b\"><gpu sm=\"80\"><nvlink target=\"a\" count=\"12\" "
                       "tclass=\"0x0302\"/></gpu></pci>"
                       "<pci busid=\"c\"><gpu sm=\"80\"/></pci></cpu></system>",
                       NULL, &diag, *state)
                 ->server;
    assert_true(server->apart);
    assert_int_equal(server->gpus[1].n_links, 12);
}

static void what_follows_the_first_matrix_is_counted_and_does_not_change_it(void **state)
{
    struct diag diag;
    const struct measured *measured =
        read_text("\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV2\tPIX\nGPU1\tNV2\t X \tSYS\n"
                  "NIC0\tPIX\tSYS\t X \nNIC Legend:\n  NIC0: mlx5_7\n"
                  " \tGPU0\tGPU1\t\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n",
                  NULL, &diag, *state);
    assert_int_equal(n_skipped(measured, "further matrix"), 2);
    assert_int_equal(measured->server->gpus[0].n_links, 2);
    assert_string_equal(measured->server->nics[0].name, "mlx5_7");
}

static void rocm_smi_tells_links_and_numa_nodes(void **state)
{
    struct diag diag;
    const struct server *server =
        read_text("===== Weight between two GPUs =====\n"
                  "       GPU0         GPU1\nGPU0   0            15\nGPU1   15           0\n"
                  "===== Link Type between two GPUs =====\n"
                  "       GPU0         GPU1\nGPU0   0            XGMI\nGPU1   XGMI         0\n"
                  "===== Numa Nodes =====\n"
                  "GPU[0]\t\t: (Topology) Numa Node: 0\nGPU[1]\t\t: (Topology) Numa Node: 1\n",
                  NULL, &diag, *state)
            ->server;
    assert_int_equal(server->n_gpus, 2);
    assert_int_equal(server->gpus[1].n_links, 1);
    assert_int_equal(server->gpus[1].socket, 1);
    assert_true(server->link.assumed && !server->apart && !server->through_switch);
    assert_null(read_text("== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 XGMI\n", NULL,
                          &diag, *state));
    assert_string_equal(diag.messages[0], "text:3: has no row of GPU1 under Link Type: cut off?");
}

/* All are XGMI, but of a chain of three the ends are two links apart: 30 is twice 15. */
static void pairs_that_are_joined_by_way_of_others_have_no_link(void **state)
{
    struct diag diag;
    const struct server *server =
        read_text("===== Weight between two GPUs =====\n GPU0 GPU1 GPU2\n"
                  "GPU0 0 15 30\nGPU1 15 0 15\nGPU2 30 15 0\n"
                  "===== Link Type between two GPUs =====\n GPU0 GPU1 GPU2\n"
                  "GPU0 0 XGMI XGMI\nGPU1 XGMI 0 XGMI\nGPU2 XGMI XGMI 0\n",
                  NULL, &diag, *state)
            ->server;
    assert_int_equal(server->gpus[0].n_links, 1);
    assert_int_equal(server->gpus[1].n_links, 2);
    assert_int_equal(server->gpus[2].n_links, 1);
    assert_false(server->apart);
}

/* RCCL gives AMD's GPUs an sm as well: it is no compute capability. MI300X: 64 GB/s each link. */
static void links_of_amd_are_read_from_the_file_of_rccl(void **state)
{
    struct diag diag;
    const struct server *server =
        read_text(
            "<!-- made by hand: <nvlink> is not an element here -->\n<system version=\"2\"><cpu>\n"
            "<pci busid=\"1\"><gpu sm=\"90\" gcn=\"gfx942\"><xgmi target=\"2\" count=\"1\" "
            "tclass=\"0x120000\"/></gpu></pci>\n"
            "<pci busid=\"2\"><gpu sm=\"90\" gcn=\"gfx942\"><xgmi target=\"1\" count=\"1\" "
            "tclass=\"0x120000\"/></gpu></pci></cpu></system>\n",
            NULL, &diag, *state)
            ->server;
    assert_int_equal(server->gpus[0].n_links, 1);
    assert_int_equal(server->gpus[0].sm, 0);
    assert_close(server->link.Bps, 64e9, 0);
    assert_false(server->apart);
}

static void devices_without_names_are_told_by_their_class(void **state)
{
    struct diag diag;
    const struct server *server =
        read_text("<system><cpu numaid=\"0\"><pci class=\"0x060400\">"
                  "<pci class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>"
                  "<pci class=\"0x020700\"/></pci></cpu></system>",
                  NULL, &diag, *state)
            ->server;
    assert_int_equal(server->n_gpus, 1);
    assert_int_equal(server->n_nics, 1);
    assert_true(server->nics[0].near && server->links_untold);
    assert_close(server->pcie_Bps, 16e9 / 8 * 16 * 128 / 130, 1e-12);
}

/* a link to a CPU of IBM (class 0x068001) serves no collective, one to a switch (0x068000) does; NVLink 6 has 36 */
static void links_are_counted_by_what_they_lead_to(void **state)
{
    struct diag diag;
    const struct server *server =
        read_text("<system><cpu><pci busid=\"1\"><gpu sm=\"70\"><nvlink target=\"2\" count=\"3\" "
                  "tclass=\"0x0302\"/><nvlink target=\"9\" count=\"3\" tclass=\"0x068001\"/></gpu>"
                  "</pci><pci busid=\"2\"><gpu sm=\"70\"/></pci></cpu></system>",
                  NULL, &diag, *state)
            ->server;
    assert_int_equal(server->gpus[0].n_links, 3);
    assert_false(server->through_switch);
    server = read_text("<system><cpu><pci busid=\"1\"><gpu sm=\"107\"><nvlink target=\"f\" "
                       "count=\"36\" tclass=\"0x068000\"/></gpu></pci></cpu></system>",
                       NULL, &diag, *state)
                 ->server;
    assert_int_equal(server->gpus[0].n_links, 36);
}

static void other_xml_is_refused_by_its_first_element(void **state)
{
    struct diag diag;
    assert_null(read_text("<graphs version=\"1\">\n</graphs>\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:1: the first element is <graphs>"));
    assert_null(read_text("<?xml version=\"1.0\"?>\n<topology/>\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "text:2: the first element is <topology"));
    assert_null(read_text("<!-- cut\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "a comment that does not end"));
}

static void cut_off_pictures_are_errors_with_their_line(void **state)
{
    struct diag diag;
    assert_null(read_text("<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"1\"", NULL,
                          &diag, *state));
    assert_string_equal(diag.messages[0], "text:3: a tag that does not end: cut off?");
    assert_null(read_text("<system version=\"1\">\n<cpu numaid=\"0\">\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "still open"));
    assert_null(read_text("<system>\n</cpu>\n", NULL, &diag, *state));
    assert_string_equal(diag.messages[0], "text:2: closes an element that is not open");
    assert_null(
        read_text("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-3\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "has no row of GPU1"));
}

static void what_launchers_put_before_lines_is_left_out(void **state)
{
    static const char *const befores[] = {
        "", "[1,0]<stdout>:", "[1,12]<stderr>: ", "0: ", "13: ", "2024-05-01T12:00:00.123Z "};
    for (size_t i = 0; i < sizeof befores / sizeof *befores; i++) {
        struct diag diag;
        const char *before = befores[i];
        const struct measured *measured = read_text(
            arena_text(*state,
                       "%s# OSU MPI Latency Test v7.3\n%s# Size          Latency (us)\n%s8  1.5\n",
                       before, before, before),
            NULL, &diag, *state);
        assert_non_null(measured);
        assert_row(measured, 0, "ping_pong", 8, 1.5e-6);
    }
}

/* Pasted into Markdown, tagged by srun and torchrun, and with tags in the middle of rows that came in pieces. */
static void a_table_is_read_however_it_was_pasted(void **state)
{
    static const char *const forms[] = {
        "    #  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
        "    2000000  500000  float  sum  -1  100.0  20.00  30.00  0\n",
        " 0: #  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
        " 0:  2000000  500000  float  sum  -1  100.0  20.00  30.00  N/A\n",
        "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
        "[0]   2000000  500000  float  sum  -1[0]   100.0  20.00  30.00  0\n",
        "  2000000  500000  float  sum  -1  100.0  20.00  30.00  0\n",
        "  2000000  500000  float  sum  100.0  20.00  30.00  2e-07\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct diag diag;
        const struct measured *measured = read_text(forms[i], NULL, &diag, *state);
        assert_non_null(measured);
        assert_int_equal(measured->raw.n_rows, 1);
        assert_row(measured, 0, "all_reduce", 2e6, 100e-6);
        assert_int_equal(measured->raw.rows[0].n_ranks, 4); /* 1.5 = 2 (n - 1) / n */
    }
}

/* The largest difference that old versions print is no count: sums of floats in another order differ. */
static void rounding_is_no_wrong_result(void **state)
{
    struct diag diag;
    const char *head = "# all_reduce_perf \n# size count type redop time algbw busbw error\n";
    const struct measured *measured =
        read_text(arena_text(*state,
                             "%s 2000000 500000 float sum 100.0 20.00 30.00 5e-07\n"
                             "4000000 1000000 float sum 200.0 20.00 30.00 3e+01\n",
                             head),
                  NULL, &diag, *state);
    assert_non_null(measured);
    assert_int_equal(measured->raw.n_rows, 1);
    assert_int_equal(n_skipped(measured, "wrong results"), 1);
}

/* What was typed above a table of another run: rows that sum nothing are of no all-reduce. 0.992 of 128 ranks is
 * (n - 1) / n, not 1. */
static void a_name_that_the_rows_contradict_is_not_taken(void **state)
{
    struct diag diag;
    const char *head = "mpirun ./all_reduce_perf -b 2M\n#  size  count  type  redop  root  time  "
                       "algbw  busbw  #wrong\n";
    const char *rows = " 2000000  500000  float  none  -1  100.0  20.00  18.75  0\n";
    assert_null(read_text(arena_text(*state, "%s%s", head, rows), NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "all_gather and all_to_all look alike"));
    rows = " 8589934592 2147483648 float none -1 95018 90.40 89.69 0\n";
    assert_null(read_text(rows, NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "all_gather and all_to_all look alike"));
    rows = "# Collective test starting: gather_perf\n# nThread 1 nGpus 1 minBytes 8\n"
           " 2000000  500000  float  none  0  100.0  20.00  10.00  0\n";
    assert_null(read_text(rows, NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "gather_perf, whose collective is not predicted"));
}

static void the_version_of_the_library_is_kept(void **state)
{
    static const struct {
        const char *line, *version;
    } lines[] = {{"NCCL version 2.26.2+cuda12.8", "2.26.2"},
                 {"# nccl-tests version 2.17.8 nccl-headers=22907 nccl-library=22907", "2.29.7"},
                 {"# nccl-tests version 2.0.0 nccl-headers=2708 nccl-library=2708", "2.7.8"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct diag diag;
        const char *text =
            arena_text(*state, "%s\n  2000000  500000  float  sum  -1  100.0  20.00  30.00  0\n",
                       lines[i].line);
        const struct measured *measured = read_text(text, "nccl-tests", &diag, *state);
        assert_non_null(measured);
        const char *version = "";
        for (int h = 0; h < measured->raw.n_heads; h++) {
            if (!strcmp(measured->raw.heads[h].key, "nccl")) version = measured->raw.heads[h].value;
        }
        assert_string_equal(version, lines[i].version);
    }
}

static void hostile_bytes_are_counted_or_refused(void **state)
{
    struct diag diag;
    static const char binary[] =
        "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n8 1.5\n"
        "\0\1\2 8 9\n8 2.5";
    diag = (struct diag){.perm = *state};
    const struct measured *measured =
        measured_read_text("text", binary, sizeof binary - 1, NULL, *state, &diag);
    assert_non_null(measured);
    assert_int_equal(measured->raw.n_rows, 2); /* the last line has no end */
    assert_int_equal(n_skipped(measured, "no text"), 1);
    assert_null(read_text("\x7f\x45\x4c\x46 garbage\n", NULL, &diag, *state));
    assert_non_null(strstr(diag.messages[0], "no known format"));
    assert_null(read_text("", NULL, &diag, *state));
    assert_null(read_text("x\n", "osuu", &diag, *state));
    assert_string_equal(diag.messages[0], "text: no format \"osuu\" (did you mean \"osu\"?)");
    assert_null(read_text("x\n", "osu", &diag, *state));
    assert_non_null(strstr(diag.messages[0], "nothing to use in this osu file"));
}

/* A line longer than what is kept of one is counted, and the next one is read whole. */
static void lines_without_end_are_left_out(void **state)
{
    struct diag diag;
    const int n = 2 * READING_LINE_B;
    char *junk = arena_new(*state, char, n + 1);
    memset(junk, 'x', (size_t)n);
    char *file = arena_text(*state, "%s", "/tmp/dpsim-long-XXXXXX");
    FILE *out = fdopen(mkstemp(file), "w");
    fprintf(out, "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n%s\n8 1.5\n", junk);
    fclose(out);
    diag = (struct diag){.perm = *state};
    const struct measured *measured = measured_read(file, NULL, NULL, *state, &diag);
    remove(file);
    assert_non_null(measured);
    assert_int_equal(measured->raw.n_rows, 1);
    assert_int_equal(measured->raw.rows[0].line, 4);
    assert_int_equal(n_skipped(measured, "longer than 1 MiB"), 1);
}

static void a_folder_and_a_missing_file_are_errors(void **state)
{
    struct diag diag = {.perm = *state};
    assert_null(measured_read("/nowhere", NULL, NULL, *state, &diag));
    assert_null(measured_read("/tmp", NULL, NULL, *state, &diag));
    assert_false(diag_ok(&diag));
}

/* What is imported is raw rows, so importing it again gives the same rows. */
static void raw_rows_are_read_as_they_were_written(void **state)
{
    const struct measured *measured = read_fixture("nccl-2.13.txt", *state);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    raw_write_head(out, measured->raw.heads, measured->raw.n_heads);
    for (int r = 0; r < measured->raw.n_rows; r++) raw_write_row(out, &measured->raw.rows[r]);
    fclose(out);
    struct diag diag;
    const struct measured *again = read_text(text, NULL, &diag, *state);
    free(text);
    assert_non_null(again);
    assert_string_equal(again->format->name, "raw");
    assert_int_equal(again->raw.n_rows, measured->raw.n_rows);
    for (int r = 0; r < again->raw.n_rows; r++)
        assert_row(again, r, measured->raw.rows[r].benchmark, measured->raw.rows[r].size_B,
                   measured->raw.rows[r].time_s);
}

static void every_format_has_a_reader_and_a_name_of_its_own(void **state)
{
    (void)state;
    for (int f = 0; f < n_measured_formats; f++) {
        const struct measured_format *format = &measured_formats[f];
        bool whole = format->opens && format->whole;
        bool lines = format->claims && format->line && format->end;
        assert_true(whole != lines);
        assert_true(strlen(format->help) > 10);
        for (int g = 0; g < f; g++) assert_string_not_equal(format->name, measured_formats[g].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_read_as_pages_and_threads_show_them),
        cmocka_unit_test(the_head_tells_who_drives_the_gpus),
        cmocka_unit_test(the_library_is_told_with_its_version),
        cmocka_unit_test(a_row_may_end_after_its_first_block),
        cmocka_unit_test(all_gathers_of_old_versions_print_shares),
        cmocka_unit_test(columns_of_nccl_tests_are_found_by_name_in_every_era),
        cmocka_unit_test(lines_of_debugging_and_empty_sizes_are_counted),
        cmocka_unit_test(a_table_alone_tells_its_collective_and_ranks),
        cmocka_unit_test(a_list_of_ranks_that_the_bandwidths_contradict_is_noted_with_its_line),
        cmocka_unit_test(the_list_of_devices_is_checked_likewise),
        cmocka_unit_test(rows_that_contradict_themselves_are_left_out),
        cmocka_unit_test(a_unit_that_is_not_known_is_an_error_with_its_line),
        cmocka_unit_test(two_eras_in_one_file_each_keep_their_columns),
        cmocka_unit_test(tests_of_osu_are_told_apart_by_their_titles),
        cmocka_unit_test(sizes_per_rank_become_whole_sizes),
        cmocka_unit_test(tests_of_other_kinds_are_counted_beside_those_that_are_read),
        cmocka_unit_test(atomic_operations_are_no_messages),
        cmocka_unit_test(the_unit_of_perftest_is_read_from_its_head),
        cmocka_unit_test(logs_of_training_give_one_row_per_step),
        cmocka_unit_test(rates_of_torchtitan_become_times),
        cmocka_unit_test(a_rate_of_tokens_alone_is_no_time),
        cmocka_unit_test(a_mesh_told_by_name_counts_its_gpus),
        cmocka_unit_test(times_of_other_trainers_are_read_with_their_unit),
        cmocka_unit_test(a_log_of_both_is_megatrons),
        cmocka_unit_test(tables_of_products_are_read_by_their_columns),
        cmocka_unit_test(products_of_several_gpus_or_without_a_unit_are_refused),
        cmocka_unit_test(a_time_in_seconds_is_read_as_such),
        cmocka_unit_test(a_matrix_of_links_becomes_a_server),
        cmocka_unit_test(the_topology_file_of_nccl_becomes_a_server),
        cmocka_unit_test(sockets_of_old_drivers_are_told_apart),
        cmocka_unit_test(gpus_of_the_same_cpus_share_a_socket),
        cmocka_unit_test(many_numa_nodes_are_parts_of_two_sockets),
        cmocka_unit_test(bridges_between_pairs_do_not_join_all),
        cmocka_unit_test(what_follows_the_first_matrix_is_counted_and_does_not_change_it),
        cmocka_unit_test(rocm_smi_tells_links_and_numa_nodes),
        cmocka_unit_test(pairs_that_are_joined_by_way_of_others_have_no_link),
        cmocka_unit_test(links_of_amd_are_read_from_the_file_of_rccl),
        cmocka_unit_test(devices_without_names_are_told_by_their_class),
        cmocka_unit_test(links_are_counted_by_what_they_lead_to),
        cmocka_unit_test(other_xml_is_refused_by_its_first_element),
        cmocka_unit_test(cut_off_pictures_are_errors_with_their_line),
        cmocka_unit_test(what_launchers_put_before_lines_is_left_out),
        cmocka_unit_test(a_table_is_read_however_it_was_pasted),
        cmocka_unit_test(rounding_is_no_wrong_result),
        cmocka_unit_test(a_name_that_the_rows_contradict_is_not_taken),
        cmocka_unit_test(the_version_of_the_library_is_kept),
        cmocka_unit_test(hostile_bytes_are_counted_or_refused),
        cmocka_unit_test(lines_without_end_are_left_out),
        cmocka_unit_test(a_folder_and_a_missing_file_are_errors),
        cmocka_unit_test(raw_rows_are_read_as_they_were_written),
        cmocka_unit_test(every_format_has_a_reader_and_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
