/* Logs of Megatron-LM and what grew from it:
 *
 *   using world size: 16, data-parallel size: 2, ...
 *    [2024-04-06 02:59:36] iteration  43/ 100 | consumed samples: 5504 | elapsed time per iteration (ms):
 *    5444.9 | throughput per GPU ... | global batch size: 128 | ...          (one line)
 *
 * Some print the time in seconds; the unit stands in the name. Source: github.com/NVIDIA/Megatron-LM,
 * megatron/training/training.py. */
#include "io/measured_formats.h"

#include <stdlib.h>
#include <string.h>

static const char TIME_NAME[] = "elapsed time per iteration";

struct megatron {
    int n_ranks;
};

/* the number after "NAME:", up to the next bar */
static bool value_of(const char *line, const char *name, double *value)
{
    char word[64];
    const char *at = strstr(line, name);
    if (!at) return false;
    at += strlen(name);
    at += strspn(at, " :");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " |,\r\t"), at);
    return reading_number(word, value);
}

static void read_step(struct reading *reading, const struct megatron *log, const char *line)
{
    const char *time = strstr(line, TIME_NAME) + strlen(TIME_NAME);
    double unit_s = !strncmp(time, " (ms):", 6) ? 1e-3 : !strncmp(time, " (s):", 5) ? 1 : 0;
    double value = 0;
    double batch = 0;
    double iteration = 0;
    if (unit_s <= 0) {
        reading_skip(reading, "steps whose time is in neither (ms) nor (s)");
        return;
    }
    if (!value_of(strchr(time, ')'), ")", &value)) {
        reading_skip(reading, "steps whose time is no usable number");
        return;
    }
    value_of(line, "global batch size:", &batch);
    value_of(line, "iteration ", &iteration);
    bool whole = batch >= 1 && batch < 1e12;
    struct raw_row row = {.benchmark = "step",
                          .dtype = "",
                          .layout = "",
                          .note = "",
                          .batch = whole ? (int64_t)batch : 0,
                          .n_ranks = reading->options->n_ranks > 0 ? reading->options->n_ranks
                                                                   : log->n_ranks,
                          .ranks_per_node = reading->options->ranks_per_node,
                          .time_s = unit_s * value,
                          .repeats = 1,
                          .check = -1};
    reading_row(reading, &row);
}

bool megatron_claims(const char *line)
{
    return strstr(line, TIME_NAME) || strstr(line, "using world size:");
}

void megatron_line(struct reading *reading, char *line)
{
    struct megatron *log = reading->state;
    double n = 0;
    if (strstr(line, TIME_NAME))
        read_step(reading, log, line);
    else if ((value_of(line, "using world size:", &n) || value_of(line, "> world size:", &n)) &&
             n >= 1 && n < 1e9)
        log->n_ranks = (int)n;
    else if (strstr(line, "iteration ") && strchr(line, '|'))
        reading_skip(reading, "lines of a step without its time: cut off?");
}

void megatron_end(struct reading *reading)
{
    (void)reading;
}
