/* Logs of programs that train, a line for each step or every few:
 *
 *   nanoGPT      iter 20: loss 9.2, time 251.34ms, mfu 41.20%
 *   its kin      step    20 | loss: 9.2 | dt: 251.34ms | tok/sec: 2086031.50
 *   llm.c        step   20/100 | loss 9.2 (+nanz)| norm 2.1 (+nanz)| lr 1.0e-05 | 251.34 ms | 55.1% bf16 MFU | 2086031 tok/s
 *   NeMo         ... global_batch_size: 256 | global_step: 20 | ... | train_step_timing in s: 3.13 | ...
 *   torchtitan   Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1
 *                Trainer is initialized with local batch size 8, global batch size 64, ... sequence length 2048, ...
 *                step: 20  loss: 9.2  grad_norm: 1.1  memory: 40.10GiB(42.10%)  tps: 7,250  tflops: 420.10  mfu: 42.47%
 *   Trainer      {'train_runtime': 100.0, 'train_samples_per_second': 80.0, 'train_steps_per_second': 2.5, ...}
 *
 * torchtitan's tokens per second (wps in older ones) are those of the job over its GPUs, so a step's time follows
 * from batch and sequence. Hugging Face's Trainer gives means of the whole run.
 * Source: github.com/karpathy/nanoGPT train.py; github.com/karpathy/llm.c train_gpt2.cu; github.com/NVIDIA/NeMo;
 * github.com/pytorch/torchtitan components/metrics.py; github.com/huggingface/transformers trainer_utils.py. */
#include "io/measured_formats.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const char NEMO[] = "train_step_timing in s";
static const char TITAN_HEAD[] = "Trainer is initialized with local batch size";
static const char TITAN_MESH[] = "Building ";
static const char LLM_HEAD[] = "total_batch_size=";

struct trainer {
    double batch, sequence; /* 0 = not told */
    double n_ranks;
    int64_t last_step; /* of torchtitan, which prints it on each rank */
};

/* the last place where a line says `mark`: progress bars write over themselves */
static const char *last_of(const char *line, const char *mark)
{
    const char *found = NULL;
    for (const char *at = line; (at = strstr(at, mark)) != NULL; at++) found = at;
    return found;
}

/* the number after a mark and what stands between ("': 12", "=12"), commas between thousands left out; what
 * follows it is in *rest */
static bool number_after(const char *at, const char *mark, double *value, const char **rest)
{
    char word[48];
    size_t n = 0;
    if (!at || !(at = strstr(at, mark))) return false;
    at += strlen(mark);
    at += strspn(at, "\"': =");
    for (; *at && n + 1 < sizeof word && strchr("0123456789.,eE+-", *at); at++) {
        if (*at == ',' && !isdigit((unsigned char)at[1])) break;
        if (*at != ',') word[n++] = *at;
    }
    word[n] = '\0';
    if (rest) *rest = at;
    return reading_number(word, value);
}

static double told(const char *line, const char *mark, double before)
{
    double value = 0;
    return number_after(line, mark, &value, NULL) && value >= 1 && value < 1e12 ? value : before;
}

static void keep(struct reading *reading, double time_s, const struct trainer *log, double batch)
{
    const struct reading_options *options = reading->options;
    double samples = batch > 0 ? batch : log->batch > 0 ? log->batch : options->batch;
    struct raw_row row = {.benchmark = "step",
                          .dtype = "",
                          .layout = "",
                          .note = "",
                          .batch = samples >= 1 && samples < 1e12 ? (int64_t)samples : 0,
                          .n_ranks = options->n_ranks > 0 ? options->n_ranks
                                     : log->n_ranks < 1e9 ? (int)log->n_ranks
                                                          : 0,
                          .ranks_per_node = options->ranks_per_node,
                          .time_s = time_s,
                          .repeats = 1,
                          .check = -1};
    reading_row(reading, &row);
}

/* --- heads ------------------------------------------------------------------------------------------ */

/* a number in brackets for each way to divide the job: "['dp_shard', 'tp'], [4, 2]" */
static double product_of_last_list(const char *line)
{
    const char *at = strrchr(line, '[');
    double product = 1;
    double value = 0;
    while (at && (at = strpbrk(at, "0123456789")) != NULL) {
        if (!number_after(at, "", &value, &at)) return 0;
        product *= value;
    }
    return product;
}

static void read_mesh(struct trainer *log, const char *line)
{
    static const char *const ways[] = {"pp=", "dp_replicate=", "dp_shard=", "cp=", " tp="};
    double product = 1;
    if (strstr(line, "], [")) {
        product = product_of_last_list(line);
    } else {
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) product *= told(line, ways[w], 1);
    }
    if (product >= 1 && product < 1e9) log->n_ranks = product;
}

static bool read_head(struct trainer *log, const char *line)
{
    if (strstr(line, TITAN_MESH) && strstr(line, "device mesh with")) {
        read_mesh(log, line);
    } else if (strstr(line, TITAN_HEAD)) {
        log->batch = told(line, "global batch size", log->batch);
        log->sequence = told(line, "sequence length", log->sequence);
    } else if (strstr(line, LLM_HEAD) && strstr(line, "num_processes=")) {
        log->n_ranks = told(line, "num_processes=", log->n_ranks);
        log->sequence = told(line, "seq_len T=", log->sequence);
        if (log->sequence > 0) log->batch = told(line, LLM_HEAD, 0) / log->sequence;
    } else {
        return false;
    }
    return true;
}

/* --- steps ------------------------------------------------------------------------------------------ */

static bool is_titan(const char *line)
{
    return strstr(line, "step:") && strstr(line, "loss:") &&
           (strstr(line, " tps: ") || strstr(line, " wps: "));
}

static void read_titan(struct reading *reading, struct trainer *log, const char *line)
{
    double rate = 0;
    double number = 0;
    double n_ranks = reading->options->n_ranks > 0 ? reading->options->n_ranks : log->n_ranks;
    bool good =
        number_after(line, strstr(line, " tps: ") ? " tps: " : " wps: ", &rate, NULL) && rate > 0;
    int64_t step = number_after(line, "step:", &number, NULL) && number >= 1 ? (int64_t)number : 0;
    if (!good)
        reading_skip(reading, "steps whose rate is no usable number");
    else if (step > 0 && step == log->last_step)
        reading_skip(reading, "lines of a step that another rank has printed");
    else if (log->batch <= 0 || log->sequence <= 0)
        reading_skip(reading, "rates of tokens before the log tells batch and sequence length");
    else if (n_ranks < 1)
        reading_skip(reading, "rates of tokens for an unknown number of GPUs (--ranks N tells)");
    else
        keep(reading, log->batch * log->sequence / (rate * n_ranks), log, 0);
    log->last_step = step;
}

static void read_whole_run(struct reading *reading, const struct trainer *log, const char *line)
{
    double steps = 0;
    double samples = 0;
    if (number_after(line, "train_steps_per_second", &steps, NULL) && steps > 0 &&
        number_after(line, "train_samples_per_second", &samples, NULL))
        keep(reading, 1 / steps, log, round(samples / steps)); /* both have three digits */
    else
        reading_skip(reading, "summaries of a run without steps and samples per second");
}

/* the time of a step and its unit: "12.3ms", "12.3 ms", "1.2s" */
static bool time_at(const char *at, const char *mark, double *time_s)
{
    const char *unit = NULL;
    double value = 0;
    if (!number_after(at, mark, &value, &unit)) return false;
    unit += strspn(unit, " ");
    double unit_s = !strncmp(unit, "ms", 2) ? 1e-3 : unit[0] == 's' ? 1 : 0;
    *time_s = unit_s * value;
    return unit_s > 0;
}

/* llm.c's time has no name: it stands before its share of the peak */
static bool llm_time(const char *line, double *time_s)
{
    const char *end = strstr(line, " ms | ");
    if (!end || !strstr(end, " tok/s")) return false;
    while (end > line && end[-1] != ' ' && end[-1] != '|') end--;
    return time_at(end, "", time_s);
}

static bool has_time(const char *line, double *time_s)
{
    if (strstr(line, "iter ") && strstr(line, "loss") && time_at(line, ", time ", time_s))
        return true;
    if (strstr(line, "loss") && time_at(line, "| dt:", time_s)) return true;
    return strstr(line, "step ") && strstr(line, "loss") && llm_time(line, time_s);
}

bool trainer_claims(const char *line)
{
    struct trainer nothing = {0};
    double time_s = 0;
    return is_titan(line) || read_head(&nothing, line) || strstr(line, NEMO) ||
           has_time(line, &time_s) ||
           (strstr(line, "train_runtime") && strstr(line, "train_samples_per_second"));
}

void trainer_line(struct reading *reading, char *line)
{
    struct trainer *log = reading->state;
    double time_s = 0;
    if (read_head(log, line)) return;
    if (is_titan(line)) {
        read_titan(reading, log, line);
    } else if (strstr(line, NEMO)) {
        if (number_after(last_of(line, NEMO), NEMO, &time_s, NULL))
            keep(reading, time_s, log, told(line, "global_batch_size", 0));
        else
            reading_skip(reading, "steps whose time is no usable number");
    } else if (strstr(line, "train_runtime")) {
        read_whole_run(reading, log, line);
    } else if (has_time(line, &time_s)) {
        keep(reading, time_s, log, 0);
    } else if (strstr(line, "iter ") && strstr(line, ", time ")) {
        reading_skip(reading, "steps whose time is no number of ms or s");
    }
}

void trainer_end(struct reading *reading)
{
    (void)reading;
}
