#include "calib/harness.h"

#include "base/must.h"
#include "base/rng.h"
#include "calib/benchmarks.h"
#include "calib/wall.h"

#include <math.h>
#include <string.h>

/* a batch is long against the clock: its resolution is then at most 0.1 % of it */
static const double TICKS_PER_BATCH = 1000;
enum { MOST_BATCH = 1 << 20, GROWTH = 10, WHY_MAX = 256 };
/* a share of samples set aside above which the row says that the machine was disturbed */
static const double MANY_OUTLIERS = 0.25;

struct harness {
    const struct calib_backend *backend;
    const struct harness_options *options;
    double tick_s, begin_s;
    double end_s;  /* of the case's share of the budget */
    double kept_s; /* when keep was called last */
    struct arena *perm;
    char why[WHY_MAX];
};

static double now_s(const struct harness *harness)
{
    return harness->backend->now_s ? harness->backend->now_s() : wall_s();
}

static double left_s(const struct harness *harness)
{
    return harness->options->budget_s - (now_s(harness) - harness->begin_s);
}

static bool is_interrupted(const struct harness *harness)
{
    return harness->options->interrupt && harness->options->interrupt() != 0;
}

static struct harness_case ends(struct harness *harness, enum case_status status)
{
    return (struct harness_case){.status = status,
                                 .why = arena_text(harness->perm, "%s", harness->why)};
}

/* Runs while warming up, with batches that grow until one is long enough.
 *   out: n of a batch, and seconds of one run; false after an error of the device */
static bool warm_up(struct harness *harness, const struct calib_case *c, int *n, double *one_s)
{
    const struct harness_options *options = harness->options;
    double wanted_s = fmax(options->batch_s, TICKS_PER_BATCH * harness->tick_s);
    double spent_s = 0;
    *n = 1;
    for (;;) {
        double t = harness->backend->run(c, *n, harness->why, sizeof harness->why);
        if (t < 0) return false;
        spent_s += t;
        *one_s = t / *n;
        bool is_long = t >= wanted_s || *n == MOST_BATCH;
        if ((is_long && spent_s >= options->warm_s) || is_interrupted(harness)) return true;
        if (is_long) continue;
        double ratio = t > 0 ? 1.2 * wanted_s / t : GROWTH;
        *n = (int)fmin(MOST_BATCH, ceil(*n * fmin(fmax(ratio, 1), GROWTH)));
    }
}

/* Samples until they are sure enough, or until the case's share of the budget is out.
 *   out: samples x[n] of one run; returns n, -1 after an error of the device; after an interrupt there
 *   may be too few */
static int take_samples(struct harness *harness, const struct calib_case *c, int batch, double *x)
{
    const struct harness_options *options = harness->options;
    int n = 0;
    while (n < SAMPLE_MOST && !is_interrupted(harness)) {
        double t = harness->backend->run(c, batch, harness->why, sizeof harness->why);
        if (t < 0) return -1;
        x[n++] = t / batch;
        if (n < SAMPLE_LEAST) continue;
        if (now_s(harness) >= harness->end_s) break;
        if (n < options->least_samples) continue;
        struct sample sample = sample_summarise(x, n, harness->tick_s / batch, *harness->perm);
        if (sample_width(&sample) <= options->precision) break;
    }
    return n;
}

static struct raw_row row_of(const struct harness *harness, const struct calib_case *c,
                             const struct sample *sample)
{
    int (*ranks_per_node)(const struct calib_case *) = harness->backend->ranks_per_node;
    int n = sample->n_kept + sample->n_outliers;
    bool is_disturbed = sample->n_outliers > MANY_OUTLIERS * n;
    return (struct raw_row){
        .benchmark = c->benchmark,
        .dtype = c->dtype,
        .layout = c->layout,
        .note = is_disturbed ? "disturbed: many outliers" : "",
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = c->batch,
        .size_B = c->size_B,
        .n_ranks = c->n_ranks,
        .ranks_per_node = ranks_per_node ? ranks_per_node(c) : c->n_ranks,
        .time_s = sample->median,
        .low_s = sample->low,
        .high_s = sample->high,
        .repeats = sample->n_kept,
        .outliers = sample->n_outliers,
    };
}

static struct harness_case interrupted(struct harness *harness)
{
    snprintf(harness->why, sizeof harness->why, "interrupted before it was measured");
    return ends(harness, CASE_LEFT_OUT);
}

/* A prepared case whose result is right: its check goes into the row. */
static struct harness_case time_case(struct harness *harness, const struct calib_case *c,
                                     double check)
{
    int batch = 1;
    double one_s = 0;
    if (!warm_up(harness, c, &batch, &one_s)) return ends(harness, CASE_FAILED);
    double *x = arena_new(harness->perm, double, SAMPLE_MOST);
    int n = take_samples(harness, c, batch, x);
    if (n < 0) return ends(harness, CASE_FAILED);
    if (n < SAMPLE_LEAST) return interrupted(harness);
    struct sample sample = sample_summarise(x, n, harness->tick_s / batch, *harness->perm);
    if (!(sample.median > 0)) {
        snprintf(harness->why, sizeof harness->why, "takes no time that the clock can see");
        return ends(harness, CASE_FAILED);
    }
    bool is_narrow = sample_width(&sample) <= harness->options->precision;
    struct harness_case done = {.status = is_narrow ? CASE_FINE : CASE_WIDE,
                                .row = row_of(harness, c, &sample)};
    done.row.check = check < 0 ? -1 : check;
    return done;
}

static struct harness_case check_and_time(struct harness *harness, const struct calib_case *c)
{
    if (!harness->backend->prepare(c, harness->why, sizeof harness->why)) {
        return ends(harness, CASE_FAILED);
    }
    double check = harness->backend->check(c, harness->why, sizeof harness->why);
    if (!isnan(check) && check < 1) return time_case(harness, c, check);
    const char *detail = harness->why[0] ? arena_text(harness->perm, ": %s", harness->why) : "";
    snprintf(harness->why, sizeof harness->why,
             "the result is wrong by %.3g times the rounding that is allowed%.100s", check, detail);
    return ends(harness, CASE_WRONG);
}

/* n_after: cases that the rest of the budget has to do for, this one included */
static struct harness_case measure(struct harness *harness, const struct calib_case *c, int n_after)
{
    harness->why[0] = '\0';
    if (!harness->backend->supports(c, harness->why, sizeof harness->why)) {
        return ends(harness, CASE_UNSUPPORTED);
    }
    if (is_interrupted(harness)) return interrupted(harness);
    double left = left_s(harness);
    if (left <= 0) {
        snprintf(harness->why, sizeof harness->why, "the budget was out");
        return ends(harness, CASE_LEFT_OUT);
    }
    struct arena before = *harness->perm;
    harness->end_s = now_s(harness) + left / n_after;
    struct harness_case done = check_and_time(harness, c);
    harness->backend->release(c);
    /* samples go; a reason, which was kept behind them, is copied back to their place */
    *harness->perm = before;
    if (done.why) done.why = arena_text(harness->perm, "%s", harness->why);
    return done;
}

static int *shuffled(int n, uint64_t seed, struct arena *perm)
{
    int *order = arena_new(perm, int, n);
    for (int i = 0; i < n; i++) order[i] = i;
    struct rng *rng = rng_open(seed, "order of cases", perm);
    for (int i = n - 1; i > 0; i--) {
        int other = rng_integer(rng, i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    return order;
}

/* Every case as one that was not come to yet. */
static struct harness_result none_yet(int n, struct arena *perm)
{
    struct harness_result result = {.cases = arena_new(perm, struct harness_case, n), .n = n};
    for (int i = 0; i < n; i++) {
        result.cases[i] = (struct harness_case){CASE_LEFT_OUT, .why = "not come to yet"};
    }
    result.counts[CASE_LEFT_OUT] = n;
    return result;
}

static void keep_now_and_then(struct harness *harness, const struct harness_result *result)
{
    const struct harness_options *options = harness->options;
    if (!options->keep || wall_s() - harness->kept_s < options->keep_s) return;
    options->keep(result, options->keep_closure);
    harness->kept_s = wall_s();
}

int harness_measured(const struct harness_result *result)
{
    return result->counts[CASE_FINE] + result->counts[CASE_WIDE];
}

static void say_progress(const struct harness *harness, const struct calib_case *c, int done, int n)
{
    FILE *out = harness->options->progress;
    if (!out) return;
    struct arena scratch = *harness->perm;
    fprintf(out, "\r\033[K%d of %d, %.0f s left: %s", done, n, fmax(0, left_s(harness)),
            benchmark_text(c, &scratch));
    fflush(out);
}

static void say_fault(const struct harness *harness, const struct calib_case *c,
                      const struct harness_case *done)
{
    if (done->status != CASE_WRONG && done->status != CASE_FAILED) return;
    struct arena scratch = *harness->perm;
    if (harness->options->progress) fputs("\r\033[K", harness->options->progress);
    fprintf(harness->options->messages, "dpsim-calib: %s: %s\n", benchmark_text(c, &scratch),
            done->why);
}

struct harness_result harness_run(const struct calib_backend *backend, double tick_s,
                                  const struct calib_case *cases, int n,
                                  const struct harness_options *options, struct arena *perm)
{
    must(options->least_samples >= SAMPLE_LEAST && options->least_samples <= SAMPLE_MOST);
    struct harness harness = {
        .backend = backend, .options = options, .tick_s = tick_s, .perm = perm};
    harness.begin_s = now_s(&harness);
    harness.kept_s = wall_s();
    struct harness_result result = none_yet(n, perm);
    const int *order = shuffled(n, options->seed, perm);
    for (int i = 0; i < n; i++) {
        const struct calib_case *c = &cases[order[i]];
        say_progress(&harness, c, i, n);
        struct harness_case done = measure(&harness, c, n - i);
        say_fault(&harness, c, &done);
        result.cases[order[i]] = done;
        result.counts[CASE_LEFT_OUT]--;
        result.counts[done.status]++;
        keep_now_and_then(&harness, &result);
    }
    result.is_interrupted = is_interrupted(&harness);
    if (options->progress) fputs("\r\033[K", options->progress);
    return result;
}

static bool is_new_reason(const struct harness_result *result, int i)
{
    const struct harness_case *cases = result->cases;
    for (int j = 0; j < i; j++) {
        if (cases[j].status == cases[i].status && strcmp(cases[j].why, cases[i].why) == 0)
            return false;
    }
    return true;
}

static int count_reason(const struct harness_result *result, int i)
{
    const struct harness_case *cases = result->cases;
    int n = 0;
    for (int j = i; j < result->n; j++) {
        n += cases[j].status == cases[i].status && strcmp(cases[j].why, cases[i].why) == 0;
    }
    return n;
}

void harness_report(const struct harness_result *result, const struct harness_options *options,
                    struct arena scratch)
{
    (void)scratch;
    FILE *out = options->messages;
    const int *counts = result->counts;
    fprintf(out, "dpsim-calib: %d measured, %d of them with an interval wider than %.3g %%\n",
            harness_measured(result), counts[CASE_WIDE], 100 * options->precision);
    for (int i = 0; i < result->n; i++) {
        enum case_status status = result->cases[i].status;
        if (status != CASE_UNSUPPORTED && status != CASE_LEFT_OUT) continue;
        if (!is_new_reason(result, i)) continue;
        fprintf(out, "dpsim-calib: %d left out: %s\n", count_reason(result, i),
                result->cases[i].why);
    }
    if (counts[CASE_WRONG] > 0) fprintf(out, "dpsim-calib: %d wrong\n", counts[CASE_WRONG]);
    if (counts[CASE_FAILED] > 0) fprintf(out, "dpsim-calib: %d failed\n", counts[CASE_FAILED]);
}
