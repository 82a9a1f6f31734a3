/* Residual networks without their head: what classifiers, detectors and segmenters share. */
#ifndef WORKLOAD_RESNET_H
#define WORKLOAD_RESNET_H

#include "workload/brick.h"

struct resnet {
    const char *prefix; /* of the names: "" or "backbone." */
    int n_blocks[4];    /* in the four stages */
    bool bottleneck;    /* 1x1 - 3x3 - 1x1 in place of 3x3 - 3x3 */
    bool stride_in_3x3; /* "v1.5"; else in the first 1x1 of a stage */
    bool squeezes;      /* squeeze and excitation behind each block's convolutions */
    bool deep_stem;     /* three 3x3 convolutions in place of the 7x7 ("vd") */
    bool fixed_norm;    /* batch norm is a scale and a shift that are not trained */
    int groups;         /* of the 3x3 convolutions; more than 1 = ResNeXt with 4 channels each */
    int strides[4];     /* of the stages; 0 = 1, 2, 2, 2. A stage that should have halved the
                            image and keeps its size dilates its convolutions instead */
    int dilations[4];   /* 0 = 1 */
};

/* resnet_stem — convolutions and pooling: a quarter of the image. */
struct shape resnet_stem(struct builder *b, const struct resnet *net, struct shape image);

/* resnet_stage — the blocks of one of the four stages. */
struct shape resnet_stage(struct builder *b, const struct resnet *net, int stage, struct shape in);

/* squeeze_excite — the channels of s scaled by what a two-layer network makes of their means.
 * Source: Hu et al., Squeeze-and-excitation networks, 2018, sec. 3. */
void squeeze_excite(struct builder *b, const char *name, struct shape s, int squeezed);

#endif
