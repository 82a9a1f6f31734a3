#include "base/rng.h"

#include "base/must.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

struct rng {
    gsl_rng gsl; /* its state lies in the arena, so there is nothing to free */
};

/* All bits of (seed, purpose) reach the 32 that mt19937 is seeded with.
 * Sources: FNV-1a (Fowler, Noll & Vo); the finaliser of splitmix64 (Steele, Lea & Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t seed, const char *purpose)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ seed;
    for (const char *c = purpose; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}

struct rng *rng_open(uint64_t seed, const char *purpose, struct arena *perm)
{
    struct rng *rng = arena_new(perm, struct rng, 1);
    rng->gsl.type = gsl_rng_mt19937;
    rng->gsl.state = arena_alloc(perm, 1, gsl_rng_mt19937->size);
    gsl_rng_set(&rng->gsl, (unsigned long)(mix(seed, purpose) & UINT32_MAX));
    return rng;
}

double rng_uniform(struct rng *rng)
{
    return gsl_rng_uniform(&rng->gsl);
}

double rng_normal(struct rng *rng, double mean, double sd)
{
    must(sd >= 0);
    return mean + gsl_ran_gaussian_ziggurat(&rng->gsl, sd);
}

double rng_lognormal(struct rng *rng, double median, double sd_log)
{
    must(median > 0);
    return median * exp(rng_normal(rng, 0, sd_log));
}

double rng_exponential(struct rng *rng, double mean)
{
    must(mean > 0);
    return gsl_ran_exponential(&rng->gsl, mean);
}

int rng_integer(struct rng *rng, int n)
{
    must(n > 0);
    return (int)gsl_rng_uniform_int(&rng->gsl, (unsigned long)n);
}
