/* alpha + beta * x as a value: costs of a message of x bytes compose, and where one choice
 * overtakes another is computed, not typed in. */
#ifndef BASE_AFFINE_H
#define BASE_AFFINE_H

struct affine {
    double alpha_s;      /* >= 0 */
    double beta_s_per_B; /* >= 0 */
};

static inline double affine_at(struct affine f, double x_B)
{
    return f.alpha_s + f.beta_s_per_B * x_B;
}

static inline struct affine affine_add(struct affine f, struct affine g)
{
    return (struct affine){f.alpha_s + g.alpha_s, f.beta_s_per_B + g.beta_s_per_B};
}

static inline struct affine affine_scale(struct affine f, double k)
{
    return (struct affine){k * f.alpha_s, k * f.beta_s_per_B};
}

#endif
