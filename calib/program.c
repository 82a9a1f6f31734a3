#include "calib/program.h"

#include "base/sink.h"
#include "calib/benchmarks.h"
#include "calib/harness.h"
#include "calib/interrupt.h"
#include "calib/options.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef DPSIM_VERSION
#define DPSIM_VERSION "0.1"
#endif

enum { MOST_HEADS = 32 };

/* what a quick run measures is small: its largest product takes some 10 ms of a core */
static const double QUICK_FLOP = 5e8;
static const double QUICK_B = 64.0 * 1024 * 1024;
/* what is measured is on disk so often, should the machine go down */
static const double KEEP_S = 30;
/* a shell's exit status of what a signal ended is this and the signal */
enum { SIGNALLED = 128 };

static const struct calib_backend *backend_find(const struct calib_backend *const *backends,
                                                const char *name)
{
    while (*backends && strcmp((*backends)->name, name) != 0) backends++;
    return *backends;
}

static int no_backend(const char *name)
{
    if (strcmp(name, "cuda") == 0) {
        fputs("dpsim-calib: no GPU can be measured: this program was built without CUDA (--backend "
              "cpu "
              "measures the CPU)\n",
              stderr);
        return CALIB_WORLD;
    }
    fprintf(stderr, "dpsim-calib: unknown backend '%s' (wanted cuda, cpu or fake)\n", name);
    return CALIB_USAGE;
}

static int list_benchmarks(struct arena *perm)
{
    struct sink sink = sink_open(NULL, perm);
    for (int b = 0; b < n_calib_benchmarks; b++) {
        const struct calib_benchmark *benchmark = &calib_benchmarks[b];
        const struct raw_benchmark *raw = raw_find(benchmark->name);
        fprintf(sink.out, "%-24s%-12s%s; %s\n", benchmark->name,
                raw ? raw_class_names[raw->class] : "", raw ? raw->summary : "", benchmark->sizes);
    }
    sink_close(&sink);
    return CALIB_FINE;
}

static int say(void (*page)(FILE *out), struct arena *perm)
{
    struct sink sink = sink_open(NULL, perm);
    page(sink.out);
    sink_close(&sink);
    return CALIB_FINE;
}

static void version(FILE *out)
{
    fputs("dpsim-calib " DPSIM_VERSION "\n", out);
}

/* lines of the head; those without a value are left out */
struct heads {
    struct raw_head items[MOST_HEADS];
    int n;
};

static void head_text(struct heads *heads, const char *key, const char *value)
{
    if (value[0]) heads->items[heads->n++] = (struct raw_head){key, value};
}

static void head_number(struct heads *heads, const char *key, double value, struct arena *perm)
{
    if (value > 0) head_text(heads, key, arena_text(perm, "%.9g", value));
}

static const char *today(struct arena *perm)
{
    time_t now = time(NULL);
    struct tm parts;
    char text[32] = "";
    if (gmtime_r(&now, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return arena_text(perm, "%s", text);
}

/* what a run is, for the head of its file */
struct run {
    const struct calib_backend *backend;
    const struct calib_machine *machine;
    const struct calib_options *options;
    struct arena *perm;
    bool ends; /* no case comes after this */
};

static void head_machine(struct heads *heads, const struct calib_machine *machine,
                         struct arena *perm)
{
    head_text(heads, "device", machine->device);
    head_number(heads, "n_devices", machine->n_devices, perm);
    head_text(heads, "driver", machine->driver);
    head_text(heads, "libraries", machine->libraries);
    head_text(heads, "cpu", machine->cpu);
    head_number(heads, "threads", machine->n_threads, perm);
    head_number(heads, "clock_Hz", machine->clock_Hz, perm);
    head_number(heads, "memory_clock_Hz", machine->memory_clock_Hz, perm);
    head_number(heads, "memory_B", machine->memory_B, perm);
    head_number(heads, "power_W", machine->power_W, perm);
    head_text(heads, "timed_by", machine->clock);
    head_number(heads, "tick_s", machine->tick_s, perm);
}

/* Why there are fewer cases than were to be, when that is not for the device. */
static const char *interruption(const struct run *run, const struct harness_result *result,
                                struct arena *perm)
{
    int n_come_to = result->n - result->counts[CASE_LEFT_OUT];
    if (n_come_to == result->n) return "";
    const char *by = !run->ends               ? "as it stood"
                     : result->is_interrupted ? "by a signal"
                                              : "by the budget";
    return arena_text(perm, "%s, after %d of %d cases", by, n_come_to, result->n);
}

static struct heads heads_of(const struct run *run, const struct harness_result *result,
                             struct arena *perm)
{
    const struct calib_options *options = run->options;
    struct heads heads = {0};
    head_text(&heads, "program", "dpsim-calib " DPSIM_VERSION);
    head_text(&heads, "backend", run->backend->name);
    head_machine(&heads, run->machine, perm);
    head_text(&heads, "date", today(perm));
    head_text(&heads, "quick", options->quick ? "yes" : "no");
    head_number(&heads, "seed", options->seed, perm);
    head_number(&heads, "budget_s", options->budget_s, perm);
    head_number(&heads, "precision", options->precision, perm);
    head_text(&heads, "interrupted", interruption(run, result, perm));
    for (int s = CASE_WIDE; s < N_CASE_STATUS; s++) {
        static const char *const keys[N_CASE_STATUS] = {[CASE_WIDE] = "wide_intervals",
                                                        [CASE_LEFT_OUT] = "left_out",
                                                        [CASE_UNSUPPORTED] = "unsupported",
                                                        [CASE_WRONG] = "wrong",
                                                        [CASE_FAILED] = "failed"};
        head_text(&heads, keys[s], arena_text(perm, "%d cases", result->counts[s]));
    }
    return heads;
}

static void write_raw(const struct run *run, const struct harness_result *result)
{
    struct arena scratch = *run->perm;
    struct heads heads = heads_of(run, result, &scratch);
    struct sink sink = sink_open(run->options->out, &scratch);
    raw_write_head(sink.out, heads.items, heads.n);
    for (int i = 0; i < result->n; i++) {
        const struct harness_case *done = &result->cases[i];
        if (done->status == CASE_FINE || done->status == CASE_WIDE) {
            raw_write_row(sink.out, &done->row);
        }
    }
    sink_close(&sink);
}

static void keep(const struct harness_result *result, void *closure)
{
    write_raw(closure, result);
}

/* A file that is there can be replaced while it is measured; what only flows, once. */
static bool can_be_kept(const char *out)
{
    struct stat status;
    if (strcmp(out, "-") == 0) return false;
    return stat(out, &status) != 0 || S_ISREG(status.st_mode);
}

static double least_of(double a, double b)
{
    if (a > 0 && b > 0) return fmin(a, b);
    return a > 0 ? a : b;
}

static struct calib_request request_of(const struct calib_options *options,
                                       const struct calib_machine *machine)
{
    /* where the device is large a quick run spans its whole range: only small ones say how much is much */
    bool is_small = options->quick && machine->most_flop > 0;
    return (struct calib_request){
        .only = options->only,
        .dtype = options->dtype,
        .quick = options->quick,
        .most_flop = is_small ? least_of(QUICK_FLOP, machine->most_flop) : machine->most_flop,
        .most_B = is_small ? least_of(QUICK_B, machine->most_B) : machine->most_B,
        .n_devices = machine->n_devices,
    };
}

static struct harness_options harness_options_of(const struct calib_options *options)
{
    return (struct harness_options){
        .budget_s = options->budget_s,
        .precision = options->precision,
        .batch_s = options->quick ? 1e-4 : 1e-3,
        .warm_s = options->quick ? 1e-3 : 0.05,
        .least_samples = options->quick ? 9 : 20,
        .seed = (uint64_t)options->seed,
        .progress = isatty(STDERR_FILENO) ? stderr : NULL,
        .messages = stderr,
    };
}

static int status_of(const struct harness_result *result)
{
    if (result->counts[CASE_FAILED] > 0) return CALIB_WORLD;
    if (result->counts[CASE_WRONG] > 0) return CALIB_WRONG;
    if (result->is_interrupted) return SIGNALLED + interrupt_signal();
    if (harness_measured(result) > 0) return CALIB_FINE;
    fputs("dpsim-calib: nothing was measured\n", stderr);
    return CALIB_WORLD;
}

/* After the device is open. */
static int measure_all(struct run *run)
{
    struct calib_request request = request_of(run->options, run->machine);
    struct calib_cases cases = benchmark_cases(&request, run->perm);
    struct harness_options how = harness_options_of(run->options);
    how.keep = can_be_kept(run->options->out) ? keep : NULL;
    how.keep_s = KEEP_S;
    how.keep_closure = run;
    how.interrupt = interrupt_signal;
    interrupt_catch();
    struct harness_result result =
        harness_run(run->backend, run->machine->tick_s, cases.cases, cases.n, &how, run->perm);
    run->ends = true;
    write_raw(run, &result);
    interrupt_forget();
    harness_report(&result, &how, *run->perm);
    if (cases.n_larger > 0) {
        fprintf(stderr, "dpsim-calib: %d left out: larger than is worth its time here\n",
                cases.n_larger);
    }
    return status_of(&result);
}

static int measure(const struct calib_backend *const *backends, struct calib_options *options,
                   struct arena *perm)
{
    const struct calib_backend *backend = backend_find(backends, options->backend);
    if (!backend) return no_backend(options->backend);
    if (!(options->budget_s > 0)) options->budget_s = options->quick ? 60 : 3600;
    if (!(options->precision > 0)) options->precision = options->quick ? 0.02 : 0.01;
    sink_try(options->out, *perm); /* not after an hour */
    struct calib_machine machine = {.n_threads = (int)options->threads};
    char why[256] = "";
    if (!backend->open(&machine, (uint64_t)options->seed, why, sizeof why)) {
        fprintf(stderr, "dpsim-calib: %s cannot be measured: %s\n", backend->name, why);
        return CALIB_WORLD;
    }
    struct run run = {backend, &machine, options, perm, false};
    int status = measure_all(&run);
    backend->close();
    return status;
}

int calib_program(const struct calib_backend *const *backends, int argc, char *const *argv,
                  struct arena *perm)
{
    struct calib_options options;
    const char *message = NULL;
    if (!calib_options_parse(argc, argv, &options, &message, perm)) {
        fprintf(stderr, "dpsim-calib: %s (dpsim-calib --help)\n", message);
        return CALIB_USAGE;
    }
    if (options.help) return say(calib_options_help, perm);
    if (options.version) return say(version, perm);
    if (options.markdown) return say(raw_markdown, perm);
    if (options.list) return list_benchmarks(perm);
    return measure(backends, &options, perm);
}
