/* What to measure, how often, and what to believe. For each case: the result is checked against a
 * reference; the device is warmed up; runs are put together in batches that are long against the
 * clock's resolution; batches are repeated until the 95 % interval of their median is narrow or the
 * case's share of the budget is out. Cases are measured in a random order (seeded), so that what
 * drifts in the machine does not look like an effect of size, and reported in the list's order. An
 * interrupt ends the run, not what was measured before it. */
#ifndef CALIB_HARNESS_H
#define CALIB_HARNESS_H

#include "base/raw.h"
#include "calib/backend.h"
#include "calib/sample.h"

struct harness_result;

struct harness_options {
    double budget_s;   /* for all cases together */
    double precision;  /* half width of the interval over the median that is narrow enough */
    double batch_s;    /* a batch lasts at least so long; also 1000 ticks of the clock */
    double warm_s;     /* runs before the first sample last at least so long together */
    int least_samples; /* before an interval is believed, >= SAMPLE_LEAST */
    uint64_t seed;
    FILE *progress;         /* a line that is written over and over; NULL = none */
    FILE *messages;         /* what went wrong or was left out */
    int (*interrupt)(void); /* not 0: end at the next batch; NULL: nothing interrupts */
    void (*keep)(const struct harness_result *result,
                 void *closure); /* what is measured so far; may be NULL */
    double keep_s;               /* between two calls of keep, by the wall clock */
    void *keep_closure;
};

enum case_status {
    CASE_FINE,     /* measured; its interval is narrow */
    CASE_WIDE,     /* measured; the budget was out before the interval was narrow */
    CASE_LEFT_OUT, /* the budget was out before it began, or an interrupt came before it was measured */
    CASE_UNSUPPORTED, /* this device cannot */
    CASE_WRONG,       /* the result differs from the reference: not measured */
    CASE_FAILED,      /* the device gave an error */
    N_CASE_STATUS
};

struct harness_case {
    enum case_status status;
    struct raw_row row; /* of CASE_FINE and CASE_WIDE */
    const char *why;    /* of the others */
};

struct harness_result {
    struct harness_case *cases; /* [n] in the order of the list */
    int n;
    int counts[N_CASE_STATUS];
    bool is_interrupted;
};

/* harness_run — every case of the list on an opened backend. tick_s: resolution of its clock. */
struct harness_result harness_run(const struct calib_backend *backend, double tick_s,
                                  const struct calib_case *cases, int n,
                                  const struct harness_options *options, struct arena *perm);

/* harness_measured — cases that have a time. */
int harness_measured(const struct harness_result *result);

/* harness_report — to options->messages: the counts, and each reason for leaving cases out once. */
void harness_report(const struct harness_result *result, const struct harness_options *options,
                    struct arena scratch);

#endif
