/* Random numbers as named streams: each purpose ("jitter", "placement") draws from its own, so a new
 * draw in one place shifts no other, and equal seeds give equal runs. GSL's mt19937 underneath
 * (Matsumoto & Nishimura, ACM TOMACS 8(1), 1998). */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/arena.h"

#include <stdint.h>

struct rng;

/* rng_open — the stream of a purpose under a seed. */
struct rng *rng_open(uint64_t seed, const char *purpose, struct arena *perm);

/* rng_uniform — in [0, 1). */
double rng_uniform(struct rng *rng);

/* rng_normal — mean and standard deviation, sd >= 0. */
double rng_normal(struct rng *rng, double mean, double sd);

/* rng_lognormal — exp of a normal: its median is `median` (> 0), sd_log >= 0. */
double rng_lognormal(struct rng *rng, double median, double sd_log);

/* rng_exponential — mean > 0. */
double rng_exponential(struct rng *rng, double mean);

/* rng_integer — each of 0 .. n - 1 equally likely; n > 0. */
int rng_integer(struct rng *rng, int n);

#endif
