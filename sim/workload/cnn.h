/* Image classifiers as torchvision registers them: ResNet, VGG-16, AlexNet, Inception-v3.
 *
 * What each layer keeps for backward, as PyTorch does: batch norm its input, ReLU (in place) its
 * output, pooling its output and an 8-byte index per element; a convolution's input is kept already
 * by what made it, so only the image is counted there. */
#ifndef WORKLOAD_CNN_H
#define WORKLOAD_CNN_H

#include "workload/model.h"

/* sizes: blocks in the four stages; 1 = bottleneck blocks (0 = basic); 1 = stride in the 3x3
 * convolution (v1.5), 0 = in the first 1x1 (v1); groups of the 3x3 convolutions (ResNeXt), 0 = 1;
 * 1 = with squeeze and excitation */
struct model *cnn_resnet(const struct model_kind *kind, int seq_len, struct arena *perm);
struct model *cnn_vgg16(const struct model_kind *kind, int seq_len, struct arena *perm);
struct model *cnn_alexnet(const struct model_kind *kind, int seq_len, struct arena *perm);
/* sizes: 1 = with the auxiliary head */
struct model *cnn_inception_v3(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
