/* Segmenters of street scenes: DeepLabV3+ and HRNet, on crops of 1024 x 512 and 19 classes, as
 * PaddleSeg's benchmark has them for Cityscapes. */
#ifndef WORKLOAD_SEGMENTATION_H
#define WORKLOAD_SEGMENTATION_H

#include "workload/model.h"

/* ResNet-50 that stays at an eighth of the image. Source: Chen et al., Encoder-decoder with atrous
 * separable convolution, 2018. */
struct model *segmentation_deeplab(const struct model_kind *kind, int seq_len, struct arena *perm);

/* sizes: channels of the finest of four branches that run side by side and exchange.
 * Source: Wang et al., Deep high-resolution representation learning, 2020. */
struct model *segmentation_hrnet(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
