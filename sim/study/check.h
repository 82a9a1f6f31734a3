/* Predicted against measured: a whole table of published rows, scored by group beside what a simple
 * rule would have said and beside how far equal runs differ from each other. The error of a row is
 * predicted / measured - 1, both times; suspect rows are left out and counted, rows that cannot be
 * mapped are counted with their reason. Nothing is fitted but the baselines. */
#ifndef STUDY_CHECK_H
#define STUDY_CHECK_H

#include "io/row.h"

/* one row of the table, in its order */
struct check_row {
    bool suspect;
    const char *reason;      /* why it is not covered; NULL when it is or when it is suspect */
    double measured_s;       /* 0 = not told */
    double size_B;           /* of a collective, else 0 */
    double work_flop;        /* of a training step: model FLOPs of one GPU, else 0 */
    double samples;          /* of a training step of the whole job */
    double predicted_s;      /* of covered rows, as the next */
    double low_s, high_s;    /* 90 % */
    double bound_s;          /* of a collective: the least that its links allow, else 0 */
    const char *pool, *part; /* whose spread the interval is of: "all" and a GPU; reach and size
                                class, and a library */
    double error;
    double baseline_error; /* of the rule fitted to these rows; see baseline.h */
    double moved_error;    /* of the rule fitted to others; NAN = there are none */
    double equals_error; /* of the median of the other runs with equal keys and size; NAN = none */
};

struct check_score {
    const char *id;
    int n; /* covered rows; the rest is 0 without any */
    double median_abs, mean_abs, max_abs;
    double bias;                 /* median of the signed errors */
    double within_10, within_25; /* share of the rows with an error of at most 10 and 25 % */
    double coverage;             /* share of the rows measured within their 90 % intervals */
    double width;                /* median of half ln(high / low) */
    double
        interval_score; /* mean over rows of ln(high / low) + 2 / 0.1 of how far ln(measured) lies
                              outside: the least is best, coverage cannot be bought with width. Source:
                              Gneiting & Raftery, JASA 102, 2007, eq. 43 */
    double baseline_median_abs; /* of the baseline on the same rows */
    int n_moved;                /* rows that the moved baseline predicts; its error on them: */
    double moved_median_abs, own_median_abs_moved; /* and that of the prediction on these rows */
};

/* rows scored by the values of a column, in order of the values; or by bands of size */
struct check_scores {
    const char *by;
    struct check_score *scores;
    int n;
};

/* runs that differ in the number of GPUs only; see series.h */
struct check_series {
    const char *id;
    int n, gpus_from, gpus_to;
    double
        rank_correlation; /* of predicted and measured step times (Spearman); NAN: fewer than three
                              * runs, or all equal */
    double median_points,
        worst_points; /* predicted less measured scaling efficiency, in points: median
                                         * of sizes, and the worst with its sign */
};

struct check_scaling {
    struct check_series *series;
    int n_series, n_ranked; /* n_ranked: that have a rank correlation */
    int n;                  /* runs on more than the fewest GPUs of their series */
    double median_points, mean_points, max_points, bias_points; /* over these runs */
    double within_3;                                            /* share of them within 3 points */
    double median_rank_correlation;                             /* over series */
};

struct check_reason {
    const char *text;
    int n;
};

/* check_floor — how far runs with equal keys (and size) differ: the error of predicting each run by
 * the median of the others. */
struct check_floor {
    int n; /* rows that have such others */
    double median_abs, p90_abs;
};

/* how many series of a half have a median error of at most limit_frac at sizes of from_B and up, or
 * one no larger than that among runs with equal keys; see goals.h */
struct check_goal {
    const char *half;
    double from_B, limit_frac;
    int n, n_met; /* series with rows there; of these */
    int n_floor;  /* of those met: only by what equal runs differ */
};

/* what half a asks for; see spread.h */
struct check_spread {
    const char *pool, *part; /* part "": of a part without rows there */
    int n, n_groups;
    struct sides sides;
};

/* a series of collectives that is judged as a whole; see suspicion.h */
struct check_verdict {
    const char *id;
    bool suspect; /* its table says so of most of its rows */
    bool off;
    int n;             /* rows judged */
    double ratio;      /* median of measured / predicted */
    const char *first; /* suspicion; of a series that is not off NULL */
    double ratio_with; /* the same if the suspicion is right; NAN: there is nothing to try */
};
struct check_off {
    struct check_verdict *verdicts; /* those that are off come first, the worst of them first */
    int n, n_off;
    int n_suspect, n_suspect_off; /* of those that their tables mark */
    int n_others, n_others_off;   /* of the others */
    double slower, faster;        /* the limits */
};

struct check {
    const struct row_reader *reader;
    struct check_row *rows; /* [n_rows] */
    int n_rows, n_suspect, n_covered;
    struct check_reason *reasons; /* most rows first */
    int n_reasons;
    struct check_score overall;
    double median_of_groups, baseline_median_of_groups; /* a group counts once */
    int n_groups_better,
        n_groups_moved; /* groups with less error than the moved baseline, of those that it predicts */
    struct check_scores groups;   /* by series or source */
    struct check_scores kinds;    /* by collective, or GPU */
    struct check_scores halves;   /* of the groups, a and b; see groups.h */
    struct check_scores bands;    /* by size; none for training */
    struct check_scaling scaling; /* of training */
    struct check_floor floor;
    struct check_spread *spreads;
    int n_spreads;
    struct check_goal *goals; /* of collectives, half b after half a */
    int n_goals;
    struct check_fit *fit; /* NULL: nothing was fitted */
    struct check_off off;  /* of collectives */
};

/* a number of a profile that was fitted */
struct check_constant {
    const char *name, *unit;
    double lower, upper, before, after; /* in `unit` */
    double after_min, after_max;        /* over the folds, where there are several */
    int n_rows;                         /* covered rows that read the profile and were fitted on */
};

struct check_fit {
    const char *on;   /* the part it was fitted on: "a"; "4 folds" */
    const char *file; /* of the free constants */
    struct check_constant *constants;
    int n_constants, n_evaluations;
    double loss_before, loss_after; /* on what was fitted; the mean over folds */
    struct check_scores parts;      /* a before, a after, b before, b after */
};

/* check_table — predict and score every row. Baselines: for collectives alpha + S / bandwidth, both
 * fitted to the rows of each set of equal keys (to these very rows, so it is hard to beat); for
 * training one utilisation per GPU and precision, the median over sources, and ideal scaling. */
struct check *check_table(const struct row_reader *reader, struct arena *perm);

/* check_fitted — the same after constants of profiles were fitted to a part of the table (fit.h). NULL
 * after an error in the file of free constants; out: the constants as they were fitted last. */
struct fit_options;
struct free_set;
struct check *check_fitted(const struct row_reader *reader, const struct fit_options *options,
                           struct free_set **set, struct arena *perm, struct diag *diag);

#endif
