#include "workload/model.h"

#include "base/must.h"
#include "workload/cnn.h"
#include "workload/transformer.h"
#include "workload/unet.h"

#include <string.h>

/* Parameter counts: torchvision's table of pre-trained weights (num_params) and, for transformers,
 * HuggingFace's model.num_parameters() with tied heads. Multiply-adds: the same table (GFLOPS there
 * are multiply-adds) and, for ResNet v1, table 1 of He et al. 2016. Where a network is published as
 * a training script alone, the count is the sum over the script's layers, added up apart from the
 * builder. A count that ends in zeros was published rounded. */
#define TORCHVISION      "torchvision, models/resnet.py and table of pre-trained weights"
#define TIMM             "huggingface/pytorch-image-models, results/benchmark-infer-*.csv"
#define NVIDIA_DLE(path) "NVIDIA/DeepLearningExamples, " path
#define HE_2016          "He et al., Deep residual learning for image recognition, 2016, table 1"
#define BERT             "Devlin et al., BERT, 2019; parameters as HuggingFace BertForPreTraining"
#define GPT2             "Radford et al., 2019; parameters as HuggingFace GPT2LMHeadModel"

/* clang-format off */
const struct model_kind model_kinds[] = {
    {"resnet18", cnn_resnet, {2, 2, 2, 2, 0, 0}, 11689512, 1.814, 0, 0, TORCHVISION},
    {"resnet34", cnn_resnet, {3, 4, 6, 3, 0, 0}, 21797672, 3.664, 0, 0, TORCHVISION},
    {"resnet50", cnn_resnet, {3, 4, 6, 3, 1, 0}, 25557032, 3.8, 0, 0, HE_2016},
    {"resnet101", cnn_resnet, {3, 4, 23, 3, 1, 0}, 44549160, 7.6, 0, 0, HE_2016},
    {"resnet152", cnn_resnet, {3, 8, 36, 3, 1, 0}, 60192808, 11.3, 0, 0, HE_2016},
    {"resnet50-v1.5", cnn_resnet, {3, 4, 6, 3, 1, 1}, 25557032, 4.089, 0, 0, TORCHVISION},
    {"resnet101-v1.5", cnn_resnet, {3, 4, 23, 3, 1, 1}, 44549160, 7.801, 0, 0, TORCHVISION},
    {"resnet152-v1.5", cnn_resnet, {3, 8, 36, 3, 1, 1}, 60192808, 11.514, 0, 0, TORCHVISION},
    {"resnext101-32x4d", cnn_resnet, {3, 4, 23, 3, 1, 1, 32}, 44177704, 8.01, 0, 0, TIMM},
    {"se-resnext101-32x4d", cnn_resnet, {3, 4, 23, 3, 1, 1, 32, 1}, 48955416, 8.02, 0, 0, TIMM},
    {"vgg16", cnn_vgg16, {0}, 138357544, 15.47, 0, 0, "Simonyan & Zisserman, 2015; torchvision, models/vgg.py"},
    {"alexnet", cnn_alexnet, {0}, 61100840, 0.714, 0, 0, "Krizhevsky, 2014; torchvision, models/alexnet.py"},
    {"inception-v3", cnn_inception_v3, {0}, 23834568, 5.713, 0, 0, "Szegedy et al., 2016; torchvision, models/inception.py with aux_logits=False"},
    {"inception-v3-aux", cnn_inception_v3, {1}, 27161264, 0.0, 0, 0, "Szegedy et al., 2016; torchvision, models/inception.py"},
    {"bert-base", transformer_bert, {12, 768, 12, 30522}, 110106428, 0.0, 128, 512, BERT},
    {"bert-large", transformer_bert, {24, 1024, 16, 30522}, 336226108, 0.0, 128, 512, BERT},
    {"gpt2", transformer_gpt2, {12, 768, 12, 50257}, 124439808, 0.0, 1024, 1024, GPT2},
    {"gpt2-medium", transformer_gpt2, {24, 1024, 16, 50257}, 354823168, 0.0, 1024, 1024, GPT2},
    {"gpt2-large", transformer_gpt2, {36, 1280, 20, 50257}, 774030080, 0.0, 1024, 1024, GPT2},
    {"gpt2-xl", transformer_gpt2, {48, 1600, 25, 50257}, 1557611200, 0.0, 1024, 1024, GPT2},
    {"nnunet-2d", unet_build, {UNET_NNUNET_2D}, 20613092, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Segmentation/nnUNet, task 01 in two dimensions")},
    {"nnunet-3d", unet_build, {UNET_NNUNET_3D}, 31192868, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Segmentation/nnUNet, task 01 in three dimensions")},
    {"unet3d", unet_build, {UNET_3D}, 31196196, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/UNet_3D_Medical")},
    {"unet-medical", unet_build, {UNET_MEDICAL}, 34512258, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/UNet_Medical")},
    {"unet-industrial", unet_build, {UNET_INDUSTRIAL}, 1850305, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/UNet_Industrial, tinyUNet")},
    {"vnet", unet_vnet, {0}, 3599747, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/VNet")},
};
/* clang-format on */
const int n_model_kinds = (int)(sizeof model_kinds / sizeof *model_kinds);

const struct model_kind *model_find(const char *name)
{
    for (int i = 0; i < n_model_kinds; i++) {
        if (strcmp(model_kinds[i].name, name) == 0) return &model_kinds[i];
    }
    return NULL;
}

int64_t model_n_parameters(const struct model *model)
{
    int64_t sum = 0;
    for (int i = 0; i < model->n_tensors; i++) sum += model->tensors[i].n_elements;
    return sum;
}

bool layer_is_matrix(enum layer_kind kind)
{
    return kind == LAYER_CONV || kind == LAYER_LINEAR || kind == LAYER_ATTENTION;
}

double model_flop_per_sample(const struct model *model)
{
    double sum = 0.0;
    for (int i = 0; i < model->n_layers; i++) {
        if (layer_is_matrix(model->layers[i].kind)) sum += model->layers[i].flop;
    }
    return sum;
}

double model_kept_elements(const struct model *model)
{
    double sum = 0.0;
    for (int i = 0; i < model->n_layers; i++) sum += model->layers[i].kept_elements;
    return sum;
}

static void check_layer(const struct model *model, int l)
{
    const struct layer *layer = &model->layers[l];
    must(layer->flop >= 0.0 && layer->kept_elements >= 0.0 && layer->n_kernels >= 0);
    must(layer->read_elements >= 0.0 && layer->written_elements >= 0.0);
    must(layer->first_tensor >= 0 && layer->first_tensor + layer->n_tensors <= model->n_tensors);
    for (int t = 0; t < layer->n_tensors; t++) {
        must(model->tensors[layer->first_tensor + t].layer == l);
    }
}

void model_check(const struct model *model)
{
    int n_owned = 0;
    must(model->n_layers >= 1 && model->n_tensors >= 1 && model->tokens_per_sample > 0.0);
    for (int l = 0; l < model->n_layers; l++) {
        check_layer(model, l);
        n_owned += model->layers[l].n_tensors;
    }
    must(n_owned == model->n_tensors);
}
