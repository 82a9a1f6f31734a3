/* Raw measurements (raw.h) to the constants of a GPU's profile, with their errors. The formulas are
 * those of kernel.h themselves: a benchmark's row is predicted as the kernel that it is, and the
 * constants in it are moved until ln(predicted / measured) is least, in units of its standard
 * deviation (the measured interval and a floor for what the formula leaves out).
 *
 * What is fitted, in this order; later steps see what earlier ones came to:
 *   launch    line alpha + n beta through n launches: kernel_floor from graphs, else streams; issue
 *   memory    memory_reach, memory_half from copies, elementwise kernels, updates
 *   row       nothing: softmax, layer norm and reductions are judged by the memory curve
 *   product   reach of each type; product_floor, which all types share; tile_edge, or where the GPU's
 *             multiprocessors are known and it does better, tile_load; product_memory, product_step,
 *             factors of layouts, a burst and product_reread where they are worth their constants
 *             (solve_worth). The burst is what short runs save before a limit of power takes the clock
 *             down; no profile has it
 *   attention reach_attention from fused kernels; unfused ones are judged by their parts
 *   host, network  lines alpha + size beta for each kind of copy, link and collective, in two pieces
 *             where the data say so (lines.h)
 *
 * Left-out errors: rows are grouped by shape (products: by m, n, k in any order, in all types and
 * layouts; others: by octave of size), groups are dealt to folds, and each fold is predicted by
 * constants fitted to the others. */
#ifndef STUDY_CALIBRATE_H
#define STUDY_CALIBRATE_H

#include "base/diag.h"
#include "base/raw.h"
#include "base/units.h"
#include "workload/measured.h"

struct calibrate_row {
    const struct raw *raw;
    const struct raw_row *row;
    double size; /* FLOP of products and attention, bytes or kernels elsewhere */
    double measured_s;
    double sd; /* relative, of what is measured and modelled */
    int group;
    double fitted_s, left_out_s; /* predicted with all rows, and without its own group */
};

struct calibrate_constant {
    const char *key; /* of a profile; a line's constants have names of their own */
    enum dim dim;
    double value, before; /* SI; before: the base's, 0 = none */
    double relative_sd;   /* standard error; 0 where it stands at a bound */
    bool at_bound;
    bool in_profile; /* a key of the GPU's profile */
};

struct calibrate_error {
    double median, p90, bias, rms; /* of |ln(predicted / measured)|; bias: median with its sign */
};

struct calibrate_part {
    const char *name;              /* "product bf16", "host_to_device" */
    struct measured_part measured; /* for the profile */
    struct calibrate_row **rows;
    int n_rows;
    struct calibrate_error fitted, left_out;
    int n_odd;   /* of products: rows that contradict others (contradict.h) */
    int n_clean; /* shapes without such rows */
    struct calibrate_error left_out_clean; /* left out, in those shapes alone */
    struct calibrate_constant *constants;
    int n_constants;
    double *covariance;  /* [n_constants ^ 2] of logarithms */
    double chi2;         /* weighted, per degree of freedom */
    const char *problem; /* NULL = none; else the end of a sentence about the fit */
    bool in_profile;
};

enum { CALIBRATE_MAX_RESET = 16 };

struct calibration {
    struct gpu gpu; /* the base with what was fitted */
    const char *device, *date;
    const struct raw *const *raws;
    int n_raws;
    struct calibrate_part *parts;
    int n_parts;
    struct calibrate_constant launch[2]; /* kernel_floor and issue, where launches were measured */
    int n_launch;
    struct calibrate_constant
        reset[CALIBRATE_MAX_RESET]; /* the base has them, the data do not want them */
    int n_reset;
    const char **notes; /* what stays as in the base, what was left out */
    int n_notes;
    bool based;
};

/* how it is done; all zero = as usual */
struct calibrate_options {
    int n_folds;       /* for left-out errors; 0 = 10. 2: halves, each predicted from the other */
    const char *dtype; /* of products and attention only this type; NULL = all */
};

/* calibrate — base: the profile to start from; its peaks and nominal bandwidth stay. `based` false: there
 * is none (base holds defaults), and peaks come from what was reached. NULL after an error (too few rows of a kind). */
struct calibrate_input {
    const struct raw *const *raws;
    int n_raws;
    const struct gpu *base;
    bool based;
    struct calibrate_options options;
};
struct calibration *calibrate(const struct calibrate_input *input, struct arena *perm,
                              struct diag *diag);

/* calibrate_errors — of n rows, fitted or left out. */
struct calibrate_error calibrate_errors(struct calibrate_row *const *rows, int n, bool left_out,
                                        struct arena scratch);

/* calibrate_note — appended to calibration->notes. */
void calibrate_note(struct calibration *calibration, struct arena *perm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
