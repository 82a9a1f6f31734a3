/* U-Nets: an encoder that halves the image again and again, a decoder that doubles it and reads the
 * encoder's outputs beside its own. For images and for volumes. Sizes of images and volumes are
 * those of the published training scripts (NVIDIA/DeepLearningExamples).
 *
 *   image --A--------------> A' --> scores      A = two convolutions
 *          \ down          / up
 *           B-----------> B'                    B reads half the image
 *            \ down     / up
 *             bottom --               */
#ifndef WORKLOAD_UNET_H
#define WORKLOAD_UNET_H

#include "workload/model.h"

/* sizes: the row of the table of U-Nets (enum unet_name) */
enum unet_name { UNET_NNUNET_2D, UNET_NNUNET_3D, UNET_3D, UNET_MEDICAL, UNET_INDUSTRIAL };
struct model *unet_build(const struct model_kind *kind, int seq_len, struct arena *perm);

/* unet_vnet — residual blocks in place of plain ones. Source: Milletari et al., V-Net, 2016. */
struct model *unet_vnet(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
