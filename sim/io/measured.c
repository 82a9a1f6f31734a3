#include "io/measured_formats.h"

#include <string.h>

#define LINES(stem) .claims = stem##_claims, .line = stem##_line, .end = stem##_end
#define WHOLE(stem) .opens = stem##_opens, .whole = stem##_whole

const struct measured_format measured_formats[] = {
    {"raw", "raw rows of dpsim-calib and of this command", WHOLE(raw_csv)},
    {"nccl-tests-json", "output of nccl-tests with -J", WHOLE(nccl_json)},
    {"nccl-topology", "what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads (XML)",
     WHOLE(nccl_topo)},
    {"products", "CSV of matrix products: columns m, n, k and a time or a rate", WHOLE(products)},
    {"steps", "CSV with one row per training step: a column of times, its unit in its name",
     WHOLE(step_csv)},
    {"nccl-tests", "text of nccl-tests and rccl-tests, of all versions", LINES(nccl_text)},
    {"osu", "text of OSU micro-benchmarks: collectives, latency, bw, bibw", LINES(osu)},
    {"perftest", "text of ib_write_bw, ib_read_lat and the like", LINES(perftest)},
    {"nvidia-topo", "nvidia-smi topo -m", LINES(nvidia_topo)},
    {"rocm-topo", "rocm-smi --showtopo", LINES(rocm_topo)},
    {"megatron", "log of Megatron-LM and its relatives", LINES(megatron)},
    {"deepspeed", "log of DeepSpeed", LINES(deepspeed), .gives_way_to = "megatron"},
    {"trainer", "log of torchtitan, NeMo, nanoGPT, llm.c or the Trainer of Hugging Face",
     LINES(trainer)},
};
const int n_measured_formats = sizeof measured_formats / sizeof measured_formats[0];

static const struct measured_format *named(const char *name, const char *file, struct arena *perm,
                                           struct diag *diag)
{
    const char *names[sizeof measured_formats / sizeof measured_formats[0]];
    const char *list = "";
    for (int f = 0; f < n_measured_formats; f++) {
        names[f] = measured_formats[f].name;
        if (!strcmp(name, names[f])) return &measured_formats[f];
        list = arena_text(perm, "%s%s%s", list, f > 0 ? ", " : "", names[f]);
    }
    const char *near = diag_nearest(name, names, n_measured_formats);
    if (near)
        diag_error(diag, (struct diag_place){.file = file},
                   "no format \"%s\" (did you mean \"%s\"?)", name, near);
    else
        diag_error(diag, (struct diag_place){.file = file}, "no format \"%s\" (known: %s)", name,
                   list);
    return NULL;
}

static const struct measured_format *whole_format(struct lines *lines)
{
    size_t length = 0;
    const char *text = lines_peek(lines, &length);
    for (int f = 0; f < n_measured_formats; f++) {
        if (measured_formats[f].opens && measured_formats[f].opens(text, length))
            return &measured_formats[f];
    }
    return NULL;
}

static const struct measured_format *claimant(const char *line)
{
    for (int f = 0; f < n_measured_formats; f++) {
        if (measured_formats[f].claims && measured_formats[f].claims(line))
            return &measured_formats[f];
    }
    return NULL;
}

static void take_whole(struct reading *reading, const struct measured_format *format,
                       struct lines *lines)
{
    size_t length = 0;
    const char *text = lines_rest(lines, &length, reading->perm);
    if (text) {
        format->whole(reading, text, length);
        return;
    }
    diag_error(reading->diag, (struct diag_place){.file = reading->file},
               "is larger than %d MiB, the most that is read of %s", READING_TEXT_B >> 20,
               format->name);
}

/* given_way — the format from this line on: what was read so far said less, and is left out. */
static const struct measured_format *
given_way(struct reading *reading, const struct measured_format *format, const char *line)
{
    const struct measured_format *other = measured_formats;
    if (!format->gives_way_to) return format;
    while (strcmp(other->name, format->gives_way_to) != 0) other++;
    if (!other->claims(line)) return format;
    for (int r = 0; r < reading->n_rows; r++)
        reading_skip(reading, "rows beside those of another log");
    reading->n_rows = 0;
    memset(reading->state, 0, READING_STATE_B);
    return other;
}

static const char *why_left_out(enum line_state state)
{
    return state == LINE_LONG     ? "lines longer than 1 MiB"
           : state == LINE_BINARY ? "lines with bytes that are no text"
                                  : NULL;
}

/* take_lines — from the first line that a format claims; what stands before is not its. */
static const struct measured_format *
take_lines(struct reading *reading, const struct measured_format *as, struct lines *lines)
{
    const struct measured_format *format = as;
    char *line = NULL;
    for (enum line_state state; (state = lines_next(lines, &line)) != LINE_END;) {
        reading->line = lines->number;
        const char *why = why_left_out(state);
        if (why) {
            reading_skip(reading, why);
            continue;
        }
        char *plain = reading_plain(line);
        if (!as) format = format ? given_way(reading, format, plain) : claimant(plain);
        if (format) format->line(reading, plain);
    }
    if (format) format->end(reading);
    return format;
}

static void report_nothing(const struct reading *reading, const struct measured_format *format)
{
    struct diag_place place = {.file = reading->file};
    if (!format) {
        diag_error(reading->diag, place, "no known format (--as NAME says which it is)");
    } else if (reading->n_skips > 0) {
        place.line = reading->skips[0].first_line;
        diag_error(reading->diag, place, "nothing to use in this %s file: %lld %s", format->name,
                   (long long)reading->skips[0].n, reading->skips[0].what);
    } else {
        diag_error(reading->diag, place, "nothing to use in this %s file", format->name);
    }
}

static struct measured *read_all(struct reading *reading, struct lines *lines, const char *as)
{
    int n_before = reading->diag->n_messages;
    const struct measured_format *format =
        as ? named(as, reading->file, reading->perm, reading->diag) : whole_format(lines);
    if (as && !format) return NULL;
    if (format && format->whole)
        take_whole(reading, format, lines);
    else
        format = take_lines(reading, format, lines);
    if (reading->diag->n_messages > n_before) return NULL;
    if (!format || (reading->n_rows == 0 && !reading->server)) {
        report_nothing(reading, format);
        return NULL;
    }
    reading_head(reading, "source", format->name);
    struct measured *out = arena_new(reading->perm, struct measured, 1);
    struct raw_head *heads = arena_new(reading->perm, struct raw_head, reading->n_heads);
    memcpy(heads, reading->heads, (size_t)reading->n_heads * sizeof *heads);
    *out = (struct measured){
        .format = format,
        .raw = {reading->file, heads, reading->n_heads, reading->rows, reading->n_rows},
        .server = reading->server,
        .n_lines = lines->number,
        .skips = reading->skips,
        .n_skips = reading->n_skips,
        .note = reading->note};
    return out;
}

static struct reading *open_reading(const char *file, const struct reading_options *options,
                                    struct arena *perm, struct diag *diag)
{
    static const struct reading_options nothing = {0};
    struct reading *reading = arena_new(perm, struct reading, 1);
    reading->file = file;
    reading->options = options ? options : &nothing;
    reading->perm = perm;
    reading->diag = diag;
    reading->state = arena_alloc(perm, READING_STATE_B, 1);
    return reading;
}

struct measured *measured_read(const char *file, const char *as,
                               const struct reading_options *options, struct arena *perm,
                               struct diag *diag)
{
    struct lines *lines = lines_open(file, perm, diag);
    if (!lines) return NULL;
    struct reading *reading = open_reading(file, options, perm, diag);
    struct measured *measured = read_all(reading, lines, as);
    if (ferror(lines->in)) {
        diag_error(diag, (struct diag_place){.file = file}, "cannot be read to its end");
        measured = NULL;
    }
    lines_close(lines);
    return measured;
}

struct measured *measured_read_text(const char *name, const char *text, size_t length,
                                    const char *as, struct arena *perm, struct diag *diag)
{
    struct lines *lines = lines_open_text(text, length, perm);
    return read_all(open_reading(name, NULL, perm, diag), lines, as);
}
