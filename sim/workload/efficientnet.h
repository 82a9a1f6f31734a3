/* EfficientNets and the detector EfficientDet: inverted bottlenecks with squeeze and excitation. */
#ifndef WORKLOAD_EFFICIENTNET_H
#define WORKLOAD_EFFICIENTNET_H

#include "workload/model.h"

/* sizes: the row of the table of networks (enum efficientnet_name); pixels along a side; 1 = squeezes
 * to a quarter of the widened channels ("widese"), 0 = of the block's own.
 * Source: Tan & Le, EfficientNet, 2019, and EfficientNetV2, 2021; torchvision,
 * models/efficientnet.py. */
enum efficientnet_name { EFFICIENTNET_B0, EFFICIENTNET_B4, EFFICIENTNET_V2_S };
struct model *efficientnet_classifier(const struct model_kind *kind, int seq_len,
                                      struct arena *perm);

/* EfficientDet-D0 on images of 512 x 512. Source: Tan et al., EfficientDet, 2020, table 1. */
struct model *efficientnet_detector(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
