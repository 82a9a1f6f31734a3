#include "study/lines.h"

#include "base/must.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_IN_PIECE = 4, N_LINE = 2 };

static const double LEAST_S =
    1e-12; /* alpha and beta stay above it: they are fitted as logarithms */
static const double MOST_S = 1e4;

static double predict_line(const struct solve *solve, const struct calibrate_row *row)
{
    return solve->alpha_s + solve->beta_s * row->size;
}

static int compare_sizes(const void *left, const void *right)
{
    const struct calibrate_row *a = *(struct calibrate_row *const *)left;
    const struct calibrate_row *b = *(struct calibrate_row *const *)right;
    return (a->size > b->size) - (a->size < b->size);
}

/* octaves of size, as texts that sort */
static const char *octave(const struct calibrate_row *row, struct arena *perm)
{
    return arena_text(perm, "%04d", 100 + (int)floor(log2(fmax(row->size, 1.0))));
}

static bool has_one_size(struct calibrate_row *const *rows, int n)
{
    return rows[n - 1]->size <= rows[0]->size;
}

/* fit_piece — rows sorted by size. With one size there is no slope: all is alpha... of launches, all is
 * beta, as a launch is what is wanted. */
static bool fit_piece(struct solve *solve, struct calibrate_row **rows, int n, const char *what,
                      struct arena *perm, struct diag *diag)
{
    double least_s = rows[0]->measured_s, most_s = rows[n - 1]->measured_s;
    double span = fmax(rows[n - 1]->size - rows[0]->size, 1.0);
    double slope = fmax((most_s - least_s) / span, least_s / fmax(rows[n - 1]->size, 1.0) / 1e3);
    *solve = (struct solve){.rows = rows, .n_rows = n, .predict = predict_line, .huber = 2.0};
    solve_add(solve, (struct solve_constant){{.key = "alpha", .dim = DIM_TIME, .value = least_s},
                                             LEAST_S,
                                             MOST_S,
                                             offsetof(struct solve, alpha_s)});
    solve_add(solve, (struct solve_constant){{.key = "beta", .dim = DIM_NUMBER, .value = slope},
                                             LEAST_S * 1e-6,
                                             MOST_S,
                                             offsetof(struct solve, beta_s)});
    return solve_fit(solve, what, perm, diag);
}

/* best_break — index of the first row of the second piece, or n. */
static int best_break(struct calibrate_row **rows, int n, double one, struct arena scratch)
{
    struct diag ignored = {.perm = &scratch};
    double best = INFINITY;
    int at = n;
    for (int b = LEAST_IN_PIECE; b <= n - LEAST_IN_PIECE; b++) {
        if (rows[b]->size <= rows[b - 1]->size) continue;
        struct arena work = scratch;
        struct solve low, high;
        ignored.n_messages = 0;
        if (!fit_piece(&low, rows, b, "", &work, &ignored)) continue;
        if (!fit_piece(&high, rows + b, n - b, "", &work, &ignored)) continue;
        double two = solve_loss(&low, work) + solve_loss(&high, work);
        if (two < best) {
            best = two;
            at = b;
        }
    }
    struct solve_gain gain = {.loss_before = one,
                              .loss_after = best,
                              .n_rows = n,
                              .n_free = n - 2 * N_LINE - 1,
                              .n_more = N_LINE + 1};
    return isfinite(best) && solve_worth(&gain) ? at : n;
}

static void add_constants(struct calibrate_part *part, const struct solve *solve,
                          const char *suffix, struct arena *perm)
{
    for (int c = 0; c < solve->n_constants; c++) {
        struct calibrate_constant *constant = &part->constants[part->n_constants++];
        *constant = solve->constants[c].constant;
        constant->key = arena_text(perm, "%s%s", constant->key, suffix);
    }
}

/* block diagonal: the pieces share no row */
static void add_covariance(struct calibrate_part *part, const struct solve *solve, int from)
{
    int n = part->n_constants;
    for (int a = 0; a < solve->n_constants; a++) {
        for (int b = 0; b < solve->n_constants; b++)
            part->covariance[(from + a) * n + from + b] =
                solve->covariance[a * solve->n_constants + b];
    }
}

static void take_pieces(struct calibrate_part *part, const struct solve *low,
                        const struct solve *high, struct arena *perm)
{
    part->constants = arena_new(perm, struct calibrate_constant, 2 * N_LINE + 1);
    add_constants(part, low, "", perm);
    if (high) {
        double from_B = high->rows[0]->size;
        part->constants[part->n_constants++] =
            (struct calibrate_constant){.key = "second_from", .dim = DIM_SIZE, .value = from_B};
        add_constants(part, high, "_second", perm);
    }
    part->covariance = arena_new(perm, double, (int64_t)part->n_constants * part->n_constants);
    add_covariance(part, low, 0);
    if (high) add_covariance(part, high, N_LINE + 1);
    part->chi2 = high ? (low->chi2 + high->chi2) / 2.0 : low->chi2;
    part->measured.fit_sd = high ? fmax(low->fit_sd, high->fit_sd) : low->fit_sd;
    part->problem = low->problem ? low->problem : high ? high->problem : NULL;
}

static const char *series_name(const struct raw_row *row, struct arena *perm)
{
    return row->n_ranks > 1 ? arena_text(perm, "%s on %d", row->benchmark, row->n_ranks)
                            : row->benchmark;
}

struct calibrate_part *lines_part(struct calibrate_row **rows, int n, enum measured_kind kind,
                                  struct arena *perm, struct diag *diag)
{
    must(n > 0);
    qsort(rows, (size_t)n, sizeof(struct calibrate_row *), compare_sizes);
    solve_group(rows, n, octave, perm);
    struct calibrate_part *part = arena_new(perm, struct calibrate_part, 1);
    part->name = series_name(rows[0]->row, perm);
    part->rows = rows;
    part->n_rows = n;
    part->measured.part = measured_part_names[kind];
    struct solve one, high;
    if (has_one_size(rows, n)) {
        diag_error(diag,
                   (struct diag_place){.file = rows[0]->raw->file, .line = rows[0]->row->line},
                   "all rows of %s are of one size (wanted several, for a line)", part->name);
        return NULL;
    }
    if (!fit_piece(&one, rows, n, part->name, perm, diag)) return NULL;
    int at = best_break(rows, n, solve_loss(&one, *perm), *perm);
    bool two = at < n;
    if (two) {
        bool fine = fit_piece(&one, rows, at, part->name, perm, diag) &&
                    fit_piece(&high, rows + at, n - at, part->name, perm, diag);
        must(fine);
    } else {
        fit_piece(&one, rows, n, part->name, perm, diag);
    }
    take_pieces(part, &one, two ? &high : NULL, perm);
    return part;
}
