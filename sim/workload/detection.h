/* Detectors of objects in images: SSD and Mask R-CNN on a ResNet-50. Sizes of images and numbers of
 * classes are COCO's as the published training scripts have them. */
#ifndef WORKLOAD_DETECTION_H
#define WORKLOAD_DETECTION_H

#include "workload/model.h"

/* 300 x 300, six scales. Source: Liu et al., SSD, 2016, with the backbone cut after its third stage
 * as MLPerf and NVIDIA's script have it. */
struct model *detection_ssd300(const struct model_kind *kind, int seq_len, struct arena *perm);

/* 320 x 320, feature pyramid, heads shared by five scales. Source: Lin et al., Feature pyramid
 * networks, 2017; ssd_resnet50_v1_fpn of TensorFlow's object detection API. */
struct model *detection_ssd_fpn(const struct model_kind *kind, int seq_len, struct arena *perm);

/* 800 x 1344 (shorter side 800, longer 1333 at most, padded to a multiple of 32); 512 sampled
 * regions of which a quarter has masks. Batch norm is frozen and so are stem and first stage.
 * Source: He et al., Mask R-CNN, 2017; torchvision, models/detection. */
struct model *detection_mask_rcnn(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
