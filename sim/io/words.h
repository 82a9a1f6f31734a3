/* Words that people bring along for what is called otherwise here: a family's name without a version, a
 * way to train by the name of a tool. Case and what is no letter or digit do not count ("ZeRO-3"). */
#ifndef IO_WORDS_H
#define IO_WORDS_H

#include "base/arena.h"

#include <stdbool.h>

/* words_profile — the shipped profile of a kind ("library") that a name without one stands for; NULL: none. */
const char *words_profile(const char *kind, const char *name);

/* words_short — a name as drivers and libraries print it, without its maker: "NVIDIA L40S" is "l40s". */
const char *words_short(const char *name, struct arena *perm);

/* words_known — the one of known names that is written alike; NULL: none. */
const char *words_known(const char *name, const char *const *known, int n_known);

/* words_strategy — what a scenario says instead of a strategy that there is not; NULL: nothing known. */
const char *words_strategy(const char *name);

/* words_key — what stands for a key of a scenario that there is not; NULL: nothing known. */
const char *words_key(const char *name);

/* words_alike — are they the same word? */
bool words_alike(const char *a, const char *b);

#endif
