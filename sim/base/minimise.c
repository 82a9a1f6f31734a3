#include "base/minimise.h"

#include "base/must.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* outside of [0, 1] the value is that of the nearest point within, and more with the distance */
static const double OUTSIDE = 10;
static const double GROWTH = 2;

static double within(double x)
{
    return fmin(fmax(x, 0), 1);
}

static double evaluate(struct minimise *search, const double *x)
{
    search->n_evaluations++;
    return search->value(search->context, x);
}

/* climb_down — steps of x[k] in one direction while they help; false when the first does not. */
static bool climb_down(struct minimise *search, double *x, int k, double step, double *best)
{
    double before = *best;
    while (search->n_evaluations < search->max_evaluations) {
        double kept = x[k];
        x[k] = within(kept + step);
        bool moved = fabs(x[k] - kept) > 0;
        double value = moved ? evaluate(search, x) : *best;
        if (value >= *best) {
            x[k] = kept;
            break;
        }
        *best = value;
        step *= GROWTH;
    }
    return *best < before;
}

double minimise_compass(struct minimise *search, double *x, struct arena *perm)
{
    double *direction = arena_new(perm, double, search->n);
    for (int k = 0; k < search->n; k++) direction[k] = 1;
    double best = evaluate(search, x);
    double step = search->first_step;
    while (step >= search->last_step && search->n_evaluations < search->max_evaluations) {
        double before = best;
        for (int k = 0; k < search->n; k++) {
            if (climb_down(search, x, k, direction[k] * step, &best)) continue;
            if (climb_down(search, x, k, -direction[k] * step, &best)) direction[k] = -direction[k];
        }
        if (best >= before) step /= 2;
    }
    return best;
}

struct boxed {
    struct minimise *search;
    double *x; /* [n] the point within */
};

static double boxed_value(const gsl_vector *point, void *context)
{
    const struct boxed *boxed = context;
    double outside = 0;
    for (int k = 0; k < boxed->search->n; k++) {
        double x = gsl_vector_get(point, (size_t)k);
        boxed->x[k] = within(x);
        outside += fabs(x - boxed->x[k]);
    }
    return evaluate(boxed->search, boxed->x) + OUTSIDE * outside;
}

static double run_simplex(struct minimise *search, gsl_multimin_fminimizer *simplex, double *x)
{
    while (search->n_evaluations < search->max_evaluations) {
        if (gsl_multimin_fminimizer_iterate(simplex) != GSL_SUCCESS) break;
        if (gsl_multimin_fminimizer_size(simplex) < search->last_step) break;
    }
    for (int k = 0; k < search->n; k++) x[k] = within(gsl_vector_get(simplex->x, (size_t)k));
    return simplex->fval;
}

double minimise_simplex(struct minimise *search, double *x, struct arena *perm)
{
    struct boxed boxed = {search, arena_new(perm, double, search->n)};
    gsl_multimin_function function = {boxed_value, (size_t)search->n, &boxed};
    gsl_vector *start = gsl_vector_alloc((size_t)search->n);
    gsl_vector *steps = gsl_vector_alloc((size_t)search->n);
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, (size_t)search->n);
    must(start && steps && simplex);
    for (int k = 0; k < search->n; k++) {
        gsl_vector_set(start, (size_t)k, x[k]);
        /* towards the inside, so that the first simplex lies in the box */
        gsl_vector_set(steps, (size_t)k, x[k] > 0.5 ? -search->first_step : search->first_step);
    }
    double value = evaluate(search, x);
    gsl_multimin_fminimizer_set(simplex, &function, start, steps);
    double *best = arena_new(perm, double, search->n);
    if (run_simplex(search, simplex, best) < value) {
        memcpy(x, best, (size_t)search->n * sizeof *x);
        value = evaluate(search, x);
    }
    gsl_multimin_fminimizer_free(simplex);
    gsl_vector_free(steps);
    gsl_vector_free(start);
    return value;
}
