/* How far what is measured lies from what was predicted, as logarithms of times: nine in ten of those
 * that a prediction has not seen lie between predicted * exp(-faster) and predicted * exp(slower). Two
 * sides, because what a model leaves out makes steps slower more often than faster. */
#ifndef BASE_SIDES_H
#define BASE_SIDES_H

#include <math.h>

struct sides {
    double faster, slower; /* >= 0 */
};

/* sides_join — of independent causes: the squares add, on each side alone. */
static inline struct sides sides_join(struct sides a, struct sides b)
{
    return (struct sides){hypot(a.faster, b.faster), hypot(a.slower, b.slower)};
}

/* sides_scale — of a time that a cause moves by `share` of its logarithm only. */
static inline struct sides sides_scale(struct sides a, double share)
{
    return (struct sides){share * a.faster, share * a.slower};
}

/* sides_of_normal — of a normal error of standard deviation sd: nine in ten lie within 1.645 sd. */
static inline struct sides sides_of_normal(double sd)
{
    static const double z_90 = 1.6448536269514722;
    return (struct sides){z_90 * sd, z_90 * sd};
}

#endif
