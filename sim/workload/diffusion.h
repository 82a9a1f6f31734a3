/* Latent diffusion: a U-Net with attention learns to take noise off the latent image that a frozen
 * encoder makes, guided by text that a frozen encoder reads. */
#ifndef WORKLOAD_DIFFUSION_H
#define WORKLOAD_DIFFUSION_H

#include "workload/model.h"

/* sizes: pixels along a side of the image; 1 = the two encoders run in every step (0 = their outputs
 * are read from disk).
 * Source: Rombach et al., High-resolution image synthesis with latent diffusion models, 2022;
 * widths as config.json of stabilityai/stable-diffusion-2-base. */
struct model *diffusion_stable_2(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
