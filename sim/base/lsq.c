#include "base/lsq.h"

#include "base/must.h"
#include "base/stats.h"

#include <fenv.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-10;
static const double DIFFERENCE = 1e-5; /* of a bound's width: a step that rounding does not blur */
static const double AT_BOUND = 2e-3;   /* of the width: nearer to a bound is at it */
/* eigenvalues below this share of the largest are directions in which the data say nothing */
static const double SINGULAR = 1e-12;
enum { ROUNDS = 12 }; /* of weights that hold odd residuals down */

struct solving {
    const struct lsq *lsq;
    double *x, *residual; /* scratch: [n], [n_residuals] */
    double *weight;       /* [n_residuals] square roots */
    int *free;            /* [n_free] numbers that move; the others stand at a bound in `at` */
    int n_free;
    double *at; /* [n] the best so far */
};

static double width(const struct lsq *lsq, int k)
{
    return lsq->upper[k] - lsq->lower[k];
}

/* z of the middle between the bounds: GSL's differences are shares of z, so it must not be near 0 */
static const double MIDDLE = 4.0;

static double inside(const struct lsq *lsq, int k, double z)
{
    return lsq->lower[k] + width(lsq, k) * (1.0 + sin(z - MIDDLE)) / 2.0;
}

/* A start at a bound would stay there, as the sine is flat; a start is moved in by a little. */
static double outside(const struct lsq *lsq, int k, double x)
{
    static const double EDGE = 0.98;
    double u = 2.0 * (x - lsq->lower[k]) / width(lsq, k) - 1.0;
    return MIDDLE + asin(fmin(fmax(u, -EDGE), EDGE));
}

/* place — z as numbers, with those at a bound */
static void place(const struct solving *s, const gsl_vector *z, double *x)
{
    memcpy(x, s->at, (size_t)s->lsq->n * sizeof *x);
    for (int f = 0; f < s->n_free; f++)
        x[s->free[f]] = inside(s->lsq, s->free[f], gsl_vector_get(z, (size_t)f));
}

static int evaluate(const gsl_vector *z, void *context, gsl_vector *f)
{
    struct solving *s = context;
    place(s, z, s->x);
    s->lsq->residuals(s->lsq->context, s->x, s->residual);
    for (int i = 0; i < s->lsq->n_residuals; i++) {
        double r = s->residual[i] * s->weight[i];
        if (!isfinite(r)) return GSL_EDOM;
        gsl_vector_set(f, (size_t)i, r);
    }
    return GSL_SUCCESS;
}

/* solve_once — from z, which is moved to the least found. */
static int solve_once(struct solving *s, gsl_vector *z, int max_iterations)
{
    gsl_multifit_nlinear_fdf problem = {
        .f = evaluate, .n = (size_t)s->lsq->n_residuals, .p = (size_t)s->n_free, .params = s};
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, problem.n, problem.p);
    must(work);
    int info = 0;
    int status = gsl_multifit_nlinear_init(z, &problem, work);
    if (status == GSL_SUCCESS) {
        /* where no parameter moves anything GSL takes the logarithm of 0 to find the rank */
        int traps = fedisableexcept(FE_DIVBYZERO | FE_INVALID);
        status = gsl_multifit_nlinear_driver((size_t)max_iterations, TOLERANCE, TOLERANCE, 0.0,
                                             NULL, NULL, &info, work);
        feclearexcept(FE_DIVBYZERO | FE_INVALID);
        feenableexcept(traps & (FE_DIVBYZERO | FE_INVALID));
        gsl_vector_memcpy(z, gsl_multifit_nlinear_position(work));
    }
    gsl_multifit_nlinear_free(work);
    /* no step that helps is left: as near as numbers allow */
    return status == GSL_ENOPROG ? GSL_SUCCESS : status;
}

/* reweight — by Huber's function of each residual; false when no weight moved by much. */
static bool reweight(struct solving *s, const gsl_vector *z)
{
    static const double MOVED = 1e-3;
    bool moved = false;
    place(s, z, s->x);
    s->lsq->residuals(s->lsq->context, s->x, s->residual);
    for (int i = 0; i < s->lsq->n_residuals; i++) {
        double size = fabs(s->residual[i]);
        double weight = size > s->lsq->huber ? sqrt(s->lsq->huber / size) : 1.0;
        moved = moved || fabs(weight - s->weight[i]) > MOVED;
        s->weight[i] = weight;
    }
    return moved;
}

static int solve_free(struct solving *s)
{
    if (s->n_free == 0) return GSL_SUCCESS;
    gsl_vector *z = gsl_vector_alloc((size_t)s->n_free);
    must(z);
    for (int f = 0; f < s->n_free; f++)
        gsl_vector_set(z, (size_t)f, outside(s->lsq, s->free[f], s->at[s->free[f]]));
    int status = solve_once(s, z, s->lsq->max_iterations);
    for (int round = 0; s->lsq->huber > 0.0 && round < ROUNDS && status == GSL_SUCCESS; round++) {
        if (!reweight(s, z)) break;
        status = solve_once(s, z, s->lsq->max_iterations);
    }
    place(s, z, s->x);
    memcpy(s->at, s->x, (size_t)s->lsq->n * sizeof *s->at);
    gsl_vector_free(z);
    return status;
}

/* hold — numbers that came to a bound are put on it and move no more; false when none did. */
static bool hold(struct solving *s, bool *at_bound)
{
    int n_free = 0;
    for (int f = 0; f < s->n_free; f++) {
        int k = s->free[f];
        double near = AT_BOUND * width(s->lsq, k);
        bool low = s->at[k] - s->lsq->lower[k] < near;
        at_bound[k] = low || s->lsq->upper[k] - s->at[k] < near;
        if (at_bound[k])
            s->at[k] = low ? s->lsq->lower[k] : s->lsq->upper[k];
        else
            s->free[n_free++] = k;
    }
    bool held = n_free < s->n_free;
    s->n_free = n_free;
    return held;
}

/* solve — near a bound the sine is flat and steps stall, so what comes there is held and the rest is
 * solved again. */
static const char *solve(struct solving *s, bool *at_bound)
{
    int status;
    do {
        status = solve_free(s);
    } while (hold(s, at_bound));
    if (status == GSL_SUCCESS) return NULL;
    return status == GSL_EMAXITER ? "did not converge" : gsl_strerror(status);
}

/* slopes — of the weighted residuals by x, in columns [n_residuals * n] */
static double *slopes(struct solving *s, const double *x, struct arena *perm)
{
    const struct lsq *lsq = s->lsq;
    double *slope = arena_new(perm, double, (size_t)lsq->n *(size_t)lsq->n_residuals);
    double *above = arena_new(perm, double, lsq->n_residuals);
    memcpy(s->x, x, (size_t)lsq->n * sizeof *x);
    for (int k = 0; k < lsq->n; k++) {
        double high = fmin(x[k] + DIFFERENCE * width(lsq, k), lsq->upper[k]);
        double low = fmax(x[k] - DIFFERENCE * width(lsq, k), lsq->lower[k]);
        s->x[k] = high;
        lsq->residuals(lsq->context, s->x, above);
        s->x[k] = low;
        lsq->residuals(lsq->context, s->x, s->residual);
        s->x[k] = x[k];
        for (int i = 0; i < lsq->n_residuals; i++)
            slope[k * lsq->n_residuals + i] =
                s->weight[i] * (above[i] - s->residual[i]) / (high - low);
    }
    return slope;
}

/* invert — of the normal matrix, scaled to ones on its diagonal, by eigenvalues: directions without
 * any curvature get that of the smallest that counts, so their errors are large, not infinite. */
static double invert(gsl_matrix *normal, const double *scale, gsl_matrix *inverse)
{
    size_t n = normal->size1;
    gsl_vector *values = gsl_vector_alloc(n);
    gsl_matrix *vectors = gsl_matrix_alloc(n, n);
    gsl_eigen_symmv_workspace *work = gsl_eigen_symmv_alloc(n);
    must(values && vectors && work);
    gsl_eigen_symmv(normal, values, vectors, work);
    double most = gsl_vector_max(values);
    double least = fmax(gsl_vector_min(values), most * SINGULAR);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            double sum = 0.0;
            for (size_t e = 0; e < n; e++)
                sum += gsl_matrix_get(vectors, a, e) * gsl_matrix_get(vectors, b, e) /
                       fmax(gsl_vector_get(values, e), most * SINGULAR);
            gsl_matrix_set(inverse, a, b, sum / (scale[a] * scale[b]));
        }
    }
    gsl_eigen_symmv_free(work);
    gsl_matrix_free(vectors);
    gsl_vector_free(values);
    return least > 0.0 ? most / least : 1.0 / SINGULAR;
}

struct normal {
    int *index; /* [n] of the numbers that are not at a bound */
    int n;
    double *scale;
};

static gsl_matrix *normal_matrix(const struct normal *free, const double *slope, int n_residuals)
{
    gsl_matrix *normal = gsl_matrix_alloc((size_t)free->n, (size_t)free->n);
    must(normal);
    for (int a = 0; a < free->n; a++) {
        for (int b = 0; b < free->n; b++) {
            const double *ja = slope + (ptrdiff_t)free->index[a] * n_residuals;
            const double *jb = slope + (ptrdiff_t)free->index[b] * n_residuals;
            double sum = 0.0;
            for (int i = 0; i < n_residuals; i++) sum += ja[i] * jb[i];
            gsl_matrix_set(normal, (size_t)a, (size_t)b, sum);
        }
    }
    for (int a = 0; a < free->n; a++) {
        double own = gsl_matrix_get(normal, (size_t)a, (size_t)a);
        free->scale[a] = own > 0.0 ? sqrt(own) : 1.0;
    }
    for (int a = 0; a < free->n; a++) {
        for (int b = 0; b < free->n; b++)
            *gsl_matrix_ptr(normal, (size_t)a, (size_t)b) /= free->scale[a] * free->scale[b];
    }
    return normal;
}

static void fill_covariance(struct solving *s, struct lsq_result *result, struct arena *perm)
{
    static const double CONFUSED = 1e10;
    const struct lsq *lsq = s->lsq;
    struct normal free = {arena_new(perm, int, lsq->n), 0, arena_new(perm, double, lsq->n)};
    for (int k = 0; k < lsq->n; k++) {
        if (!result->at_bound[k]) free.index[free.n++] = k;
    }
    if (free.n == 0) return;
    const double *slope = slopes(s, result->x, perm);
    gsl_matrix *normal = normal_matrix(&free, slope, lsq->n_residuals);
    gsl_matrix *inverse = gsl_matrix_alloc((size_t)free.n, (size_t)free.n);
    must(inverse);
    result->condition = invert(normal, free.scale, inverse);
    if (result->condition > CONFUSED && !result->problem)
        result->problem = "the measurements cannot tell its constants apart";
    double factor = fmax(result->chi2, 1.0);
    for (int a = 0; a < free.n; a++) {
        for (int b = 0; b < free.n; b++)
            result->covariance[free.index[a] * lsq->n + free.index[b]] =
                factor * gsl_matrix_get(inverse, (size_t)a, (size_t)b);
        int own = free.index[a] * (lsq->n + 1);
        result->sd[free.index[a]] = sqrt(fmax(result->covariance[own], 0.0));
    }
    gsl_matrix_free(inverse);
    gsl_matrix_free(normal);
}

/* fill_goodness — the variance of residuals, with those beyond `huber` held at it and made good for by
 * the share that was not.
 * Source: Huber & Ronchetti, Robust statistics, 2009, sec. 7.6, eq. (7.81). */
static void fill_goodness(struct solving *s, struct lsq_result *result)
{
    const struct lsq *lsq = s->lsq;
    lsq->residuals(lsq->context, result->x, s->residual);
    double sum = 0.0;
    int n_within = 0;
    for (int i = 0; i < lsq->n_residuals; i++) {
        double r = fabs(s->residual[i]);
        bool within = lsq->huber <= 0.0 || r <= lsq->huber;
        sum += within ? r * r : lsq->huber * lsq->huber;
        n_within += within;
        s->weight[i] = 1.0; /* from here on slopes are those of the residuals themselves */
    }
    int n_moving = 0;
    for (int k = 0; k < lsq->n; k++) n_moving += !result->at_bound[k];
    int n_free = lsq->n_residuals - n_moving;
    double share = n_within > 0 ? (double)n_within / lsq->n_residuals : 1.0 / lsq->n_residuals;
    double few = 1.0 + (double)n_moving / lsq->n_residuals * (1.0 - share) / share;
    result->n_free = n_free > 1 ? n_free : 1;
    result->chi2 = few * few * sum / result->n_free / (share * share);
}

struct lsq_result lsq_fit(const struct lsq *lsq, const double *x, struct arena *perm)
{
    must(lsq->n > 0 && lsq->n_residuals > lsq->n);
    gsl_set_error_handler_off();
    struct lsq_result result = {.x = arena_new(perm, double, lsq->n),
                                .sd = arena_new(perm, double, lsq->n),
                                .covariance =
                                    arena_new(perm, double, (size_t)lsq->n *(size_t)lsq->n),
                                .at_bound = arena_new(perm, bool, lsq->n)};
    struct solving s = {.lsq = lsq,
                        .x = arena_new(perm, double, lsq->n),
                        .residual = arena_new(perm, double, lsq->n_residuals),
                        .weight = arena_new(perm, double, lsq->n_residuals),
                        .free = arena_new(perm, int, lsq->n),
                        .n_free = lsq->n,
                        .at = result.x};
    for (int i = 0; i < lsq->n_residuals; i++) s.weight[i] = 1.0;
    for (int k = 0; k < lsq->n; k++) {
        s.free[k] = k;
        s.at[k] = x[k];
    }
    result.problem = solve(&s, result.at_bound);
    fill_goodness(&s, &result);
    fill_covariance(&s, &result, perm);
    return result;
}

double lsq_predicted_sd(const struct lsq_result *result, const double *gradient, int n)
{
    double sum = 0.0;
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++)
            sum += gradient[a] * gradient[b] * result->covariance[a * n + b];
    }
    return sqrt(fmax(sum, 0.0));
}

double lsq_f_tail(double f, int n_more, int n_free)
{
    return gsl_cdf_fdist_Q(f, (double)n_more, (double)n_free);
}
