/* Logs of DeepSpeed:
 *
 *   [INFO] [config.py:968:print]   train_batch_size ............. 32
 *   [INFO] [timer.py:264:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=62.0,
 *   CurrSamplesPerSec=61.9, MemAllocated=...                                 (one line)
 *   time (ms) | fwd: 62.04 | bwd: 79.90 | bwd_inner: 79.81 | bwd_allreduce: 0.05 | step: 5.10
 *
 * Where wall clocks are printed a step is forward, backward and update; else it is the batch over the
 * rate. Lines "fwd_microstep" are of micro-batches and left out. Source: github.com/deepspeedai/DeepSpeed,
 * deepspeed/utils/timer.py and runtime/engine.py. */
#include "io/measured_formats.h"

#include <stdlib.h>
#include <string.h>

struct deepspeed {
    double batch; /* 0 = not told */
    int n_ranks;
    int n_timed; /* rows from wall clocks */
};

static bool value_of(const char *line, const char *name, double *value)
{
    char word[64];
    const char *at = strstr(line, name);
    if (!at) return false;
    at += strlen(name);
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at + strspn(at, " ."), " |,\r\t"),
             at + strspn(at, " ."));
    return reading_number(word, value);
}

static void keep(struct reading *reading, const struct deepspeed *log, double time_s,
                 const char *note)
{
    const struct reading_options *options = reading->options;
    struct raw_row row = {.benchmark = "step",
                          .dtype = "",
                          .layout = "",
                          .note = note,
                          .batch = (int64_t)log->batch,
                          .n_ranks = options->n_ranks > 0 ? options->n_ranks : log->n_ranks,
                          .ranks_per_node = options->ranks_per_node,
                          .time_s = time_s,
                          .repeats = 1,
                          .check = -1};
    reading_row(reading, &row);
}

static void read_clocks(struct reading *reading, struct deepspeed *log, const char *line)
{
    double forward = 0;
    double backward = 0;
    double update = 0;
    if (strstr(line, "_microstep:")) {
        reading_skip(reading, "lines of micro-batches");
        return;
    }
    bool told = (value_of(line, "| fwd:", &forward) || value_of(line, "| forward:", &forward)) &&
                (value_of(line, "| bwd:", &backward) || value_of(line, "| backward:", &backward)) &&
                value_of(line, "| step:", &update);
    if (!told) {
        reading_skip(reading, "clocks without all of fwd, bwd and step");
        return;
    }
    keep(reading, log, 1e-3 * (forward + backward + update), "clocks");
    log->n_timed++;
}

static void read_rate(struct reading *reading, const struct deepspeed *log, const char *line)
{
    double rate = 0;
    if (!value_of(line, "CurrSamplesPerSec=", &rate) && !value_of(line, " SamplesPerSec=", &rate) &&
        !value_of(line, "RunningAvgSamplesPerSec=", &rate))
        reading_skip(reading, "rates that are no usable number");
    else if (log->batch <= 0)
        reading_skip(reading, "rates of an unknown batch (--batch N tells)");
    else
        keep(reading, log, rate > 0 ? log->batch / rate : 0, "rate");
}

bool deepspeed_claims(const char *line)
{
    return strstr(line, "SamplesPerSec=") || strstr(line, "train_batch_size ...") ||
           !strncmp(line + strspn(line, " "), "time (ms) | ", 12) || strstr(line, "] time (ms) | ");
}

void deepspeed_line(struct reading *reading, char *line)
{
    struct deepspeed *log = reading->state;
    double value = 0;
    if (log->batch <= 0) log->batch = reading->options->batch;
    if (strstr(line, "SamplesPerSec="))
        read_rate(reading, log, line);
    else if (strstr(line, "time (ms) | "))
        read_clocks(reading, log, line);
    else if (value_of(line, " train_batch_size ...", &value) && value >= 1 && value < 1e12)
        log->batch = value;
    else if (value_of(line, " world_size ...", &value) && value >= 1 && value < 1e9)
        log->n_ranks = (int)value;
}

/* deepspeed_end — a step that has both is one step: its clocks count. */
void deepspeed_end(struct reading *reading)
{
    const struct deepspeed *log = reading->state;
    int n = 0;
    for (int r = 0; log->n_timed > 0 && r < reading->n_rows; r++) {
        reading->line = reading->rows[r].line;
        if (!strcmp(reading->rows[r].note, "rate"))
            reading_skip(reading, "rates beside clocks");
        else
            reading->rows[n++] = reading->rows[r];
    }
    if (log->n_timed > 0) reading->n_rows = n;
}
