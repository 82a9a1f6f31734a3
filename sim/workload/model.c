#include "workload/model.h"

#include "base/must.h"
#include "workload/cnn.h"
#include "workload/detection.h"
#include "workload/diffusion.h"
#include "workload/efficientnet.h"
#include "workload/recurrent.h"
#include "workload/segmentation.h"
#include "workload/sequence.h"
#include "workload/speech.h"
#include "workload/transformer.h"
#include "workload/unet.h"

#include <ctype.h>
#include <string.h>

/* Parameter counts: torchvision's table of pre-trained weights (num_params) and, for transformers,
 * HuggingFace's model.num_parameters() with tied heads. Multiply-adds: the same table (GFLOPS there
 * are multiply-adds) and, for ResNet v1, table 1 of He et al. 2016. Where a network is published as
 * a training script alone, the count is the sum over the script's layers, added up apart from the
 * builder. A count that ends in zeros was published rounded. */
#define TORCHVISION      "torchvision, models/resnet.py and table of pre-trained weights"
#define TIMM             "huggingface/pytorch-image-models, results/benchmark-infer-*.csv"
#define NVIDIA_DLE(path) "NVIDIA/DeepLearningExamples, " path
#define STABLE_2         "stabilityai/stable-diffusion-2-base, unet; parameters as HuggingFace diffusers"
#define EFFICIENTNET     "torchvision, models/efficientnet.py and table of pre-trained weights"
#define HE_2016          "He et al., Deep residual learning for image recognition, 2016, table 1"
#define VIT              "Dosovitskiy et al., ViT, 2021, table 1; parameters as torchvision and timm"
#define BERT             "Devlin et al., BERT, 2019; parameters as HuggingFace BertForPreTraining"
#define GPT2             "Radford et al., 2019; parameters as HuggingFace GPT2LMHeadModel"
#define ROBERTA          "Liu et al., RoBERTa, 2019; parameters as HuggingFace RobertaForMaskedLM"
#define ELECTRA          "Clark et al., ELECTRA, 2020; parameters of both networks, their table once"
#define ESM2             "Lin et al., 2023 (ESM-2); parameters as HuggingFace EsmForMaskedLM"
#define BART             "Lewis et al., BART, 2020; parameters as HuggingFace"
#define T5                                                                                         \
    "Raffel et al., T5, 2020; parameters as HuggingFace; 512 and 128 tokens as Megatron-LM "       \
    "trains it"
#define MT5       "Xue et al., mT5, 2021; parameters as HuggingFace"
#define MT5_TIED  "Xue et al., mT5, 2021, with tied tables as NVIDIA NeMo trains it"
#define GPT3      "Brown et al., GPT-3, 2020, table 2.1"
#define OPT       "Zhang et al., OPT, 2022; parameters as HuggingFace"
#define BLOOM     "BigScience, BLOOM, 2022; parameters as HuggingFace"
#define NEOX      "Black et al., GPT-NeoX-20B, 2022"
#define PYTHIA    "Biderman et al., Pythia, 2023, table 1"
#define FALCON    "Almazrouei et al., Falcon, 2023; parameters as HuggingFace"
#define MPT       "MosaicML, MPT, 2023; parameters as HuggingFace"
#define GLM       "Zeng et al., GLM-130B, 2022"
#define NEMOTRON4 "Parmar et al., Nemotron-4 15B, 2024, table 1"
#define LLAMA     "Touvron et al., LLaMA, 2023; parameters as HuggingFace"
#define LLAMA2    "Touvron et al., Llama 2, 2023; parameters as HuggingFace"
#define LLAMA3    "Llama Team, The Llama 3 herd of models, 2024; parameters as HuggingFace"
#define MIXTRAL   "Jiang et al., Mixtral of experts, 2024; parameters as HuggingFace"
#define GPT_OSS   "OpenAI, gpt-oss model card, 2025, table 1"
#define QWEN2     "Qwen Team, Qwen2.5, 2024; parameters as HuggingFace"
#define QWEN3     "Qwen Team, Qwen3, 2025; parameters as HuggingFace"
#define DEEPSEEK                                                                                   \
    "DeepSeek-AI, DeepSeek-V2, 2024, and DeepSeek-V3, 2024; config.json; no multi-token "          \
    "prediction"

/* families of transformers, see enum text_style */
enum {
    BERT_STYLE =
        TEXT_ENCODER | TEXT_TIED | TEXT_BIASES | TEXT_NORM_BIASES | TEXT_DROPOUT | TEXT_APART,
    GPT_STYLE = TEXT_TIED | TEXT_BIASES | TEXT_NORM_BIASES | TEXT_DROPOUT,
    ESM_STYLE =
        TEXT_ENCODER | TEXT_TIED | TEXT_BIASES | TEXT_NORM_BIASES | TEXT_ROTARY | TEXT_APART,
    BART_STYLE = GPT_STYLE | TEXT_ENCODER_DECODER | TEXT_APART,
    T5_STYLE = TEXT_ENCODER_DECODER | TEXT_TIED | TEXT_DROPOUT,
    MT5_STYLE = TEXT_ENCODER_DECODER | TEXT_GATED | TEXT_DROPOUT,
    VIT_STYLE = TEXT_ENCODER | TEXT_IMAGES | TEXT_BIASES | TEXT_NORM_BIASES,
    NEOX_STYLE = TEXT_BIASES | TEXT_NORM_BIASES | TEXT_ROTARY,
    FALCON_STYLE = TEXT_TIED | TEXT_NORM_BIASES | TEXT_ROTARY,
    GLM_STYLE = TEXT_GATED | TEXT_ROTARY | TEXT_BIASES | TEXT_NORM_BIASES | TEXT_TIED,
    NEMOTRON_STYLE = TEXT_NORM_BIASES | TEXT_ROTARY,
    LLAMA_STYLE = TEXT_GATED | TEXT_ROTARY,
    QWEN2_STYLE = LLAMA_STYLE | TEXT_QKV_BIASES,
    QWEN3_STYLE = LLAMA_STYLE | TEXT_QK_NORM,
};
enum { LONG = 1 << 20 }; /* positions without a table: as many tokens as a scenario may ask for */

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
    {"efficientnet-b0", efficientnet_classifier, {EFFICIENTNET_B0, 224}, 5288548, 0.386, 0, 0, EFFICIENTNET},
    {"efficientnet-b4", efficientnet_classifier, {EFFICIENTNET_B4, 380}, 19341616, 4.394, 0, 0, EFFICIENTNET},
    {"efficientnet-widese-b0", efficientnet_classifier, {EFFICIENTNET_B0, 224, 1}, 8423848, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Classification/ConvNets/efficientnet")},
    {"efficientnet-widese-b4", efficientnet_classifier, {EFFICIENTNET_B4, 380, 1}, 34927246, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Classification/ConvNets/efficientnet")},
    {"efficientnet-v2-s", efficientnet_classifier, {EFFICIENTNET_V2_S, 300}, 21458488, 0.0, 0, 0, EFFICIENTNET},
    {"efficientdet-d0", efficientnet_detector, {0}, 3880067, 2.5, 0, 0, "Tan et al., EfficientDet, 2020, table 2; parameters as rwightman/efficientdet-pytorch"},
    {"vgg16", cnn_vgg16, {0}, 138357544, 15.47, 0, 0, "Simonyan & Zisserman, 2015; torchvision, models/vgg.py"},
    {"alexnet", cnn_alexnet, {0}, 61100840, 0.714, 0, 0, "Krizhevsky, 2014; torchvision, models/alexnet.py"},
    {"inception-v3", cnn_inception_v3, {0}, 23834568, 5.713, 0, 0, "Szegedy et al., 2016; torchvision, models/inception.py with aux_logits=False"},
    {"inception-v3-aux", cnn_inception_v3, {1}, 27161264, 0.0, 0, 0, "Szegedy et al., 2016; torchvision, models/inception.py"},
    /* blocks, hidden, heads, heads of keys and values, their size, MLP, vocabulary, positions, style,
       experts, of them per token, their MLP, shared MLP, dense blocks, rank of queries, of keys and
       values, rotated part of a head, window, target */
    {"vit-s-16", transformer, {12, 384, 6, 0, 0, 0, 768, 0, VIT_STYLE}, 22050664, 4.61, 197, 197, VIT},
    {"vit-b-16", transformer, {12, 768, 12, 0, 0, 0, 768, 0, VIT_STYLE}, 86567656, 17.56, 197, 197, VIT},
    {"vit-b-32", transformer, {12, 768, 12, 0, 0, 0, 3072, 0, VIT_STYLE}, 88224232, 4.41, 50, 50, VIT},
    {"vit-l-16", transformer, {24, 1024, 16, 0, 0, 0, 768, 0, VIT_STYLE}, 304326632, 61.55, 197, 197, VIT},
    {"vit-l-32", transformer, {24, 1024, 16, 0, 0, 0, 3072, 0, VIT_STYLE}, 306535400, 15.38, 50, 50, VIT},
    {"vit-h-14", transformer, {32, 1280, 16, 0, 0, 0, 588, 0, VIT_STYLE}, 632045800, 167.29, 257, 257, VIT},
    {"bert-base", transformer, {12, 768, 12, 0, 0, 0, 30522, 514, BERT_STYLE}, 110106428, 0.0, 128, 512, BERT},
    {"bert-large", transformer, {24, 1024, 16, 0, 0, 0, 30522, 514, BERT_STYLE}, 336226108, 0.0, 128, 512, BERT},
    {"biobert-base", transformer, {12, 768, 12, 0, 0, 0, 28996, 514, BERT_STYLE}, 108932934, 0.0, 128, 512, "Lee et al., BioBERT, 2019: BERT base with the cased vocabulary"},
    {"roberta-base", transformer, {12, 768, 12, 0, 0, 0, 50265, 515, BERT_STYLE}, 124700000, 0.0, 512, 512, ROBERTA},
    {"roberta-large", transformer, {24, 1024, 16, 0, 0, 0, 50265, 515, BERT_STYLE}, 355400000, 0.0, 512, 512, ROBERTA},
    {"electra-base", transformer, {12, 768, 12, 0, 0, 0, 30522, 514, BERT_STYLE, [TEXT_GENERATOR] = 256}, 119200000, 0.0, 128, 512, ELECTRA},
    {"electra-large", transformer, {24, 1024, 16, 0, 0, 0, 30522, 514, BERT_STYLE, [TEXT_GENERATOR] = 256}, 354400000, 0.0, 128, 512, ELECTRA},
    {"esm2-150m", transformer, {30, 640, 20, 0, 0, 0, 33, 0, ESM_STYLE}, 148100000, 0.0, 1024, LONG, ESM2},
    {"esm2-650m", transformer, {33, 1280, 20, 0, 0, 0, 33, 0, ESM_STYLE}, 652400000, 0.0, 1024, LONG, ESM2},
    {"esm2-3b", transformer, {36, 2560, 40, 0, 0, 0, 33, 0, ESM_STYLE}, 2840000000, 0.0, 1024, LONG, ESM2},
    {"bart-base", transformer, {12, 768, 12, 0, 0, 0, 50265, 1026, BART_STYLE}, 139400000, 0.0, 1024, 1024, BART},
    {"bart-large", transformer, {24, 1024, 16, 0, 0, 0, 50265, 1026, BART_STYLE}, 406300000, 0.0, 1024, 1024, BART},
    {"t5-small", transformer, {12, 512, 8, 0, 64, 2048, 32128, 0, T5_STYLE, [TEXT_TARGET] = 25}, 60510000, 0.0, 512, LONG, T5},
    {"t5-base", transformer, {24, 768, 12, 0, 64, 3072, 32128, 0, T5_STYLE, [TEXT_TARGET] = 25}, 222900000, 0.0, 512, LONG, T5},
    {"t5-large", transformer, {48, 1024, 16, 0, 64, 4096, 32128, 0, T5_STYLE, [TEXT_TARGET] = 25}, 737700000, 0.0, 512, LONG, T5},
    {"t5-3b", transformer, {48, 1024, 32, 0, 128, 16384, 32128, 0, T5_STYLE, [TEXT_TARGET] = 25}, 2852000000, 0.0, 512, LONG, T5},
    {"t5-11b", transformer, {48, 1024, 128, 0, 128, 65536, 32128, 0, T5_STYLE, [TEXT_TARGET] = 25}, 11310000000, 0.0, 512, LONG, T5},
    {"mt5-170m", transformer, {16, 512, 6, 0, 64, 1024, 250112, 0, T5_STYLE | TEXT_GATED, [TEXT_TARGET] = 25}, 172000000, 0.0, 512, LONG, MT5_TIED},
    {"mt5-390m", transformer, {24, 768, 12, 0, 64, 2048, 250112, 0, T5_STYLE | TEXT_GATED, [TEXT_TARGET] = 25}, 390000000, 0.0, 512, LONG, MT5_TIED},
    {"mt5-small", transformer, {16, 512, 6, 0, 64, 1024, 250112, 0, MT5_STYLE, [TEXT_TARGET] = 25}, 300200000, 0.0, 512, LONG, MT5},
    {"mt5-base", transformer, {24, 768, 12, 0, 64, 2048, 250112, 0, MT5_STYLE, [TEXT_TARGET] = 25}, 582400000, 0.0, 512, LONG, MT5},
    {"mt5-large", transformer, {48, 1024, 16, 0, 64, 2816, 250112, 0, MT5_STYLE, [TEXT_TARGET] = 25}, 1230000000, 0.0, 512, LONG, MT5},
    {"mt5-xl", transformer, {48, 2048, 32, 0, 64, 5120, 250112, 0, MT5_STYLE, [TEXT_TARGET] = 25}, 3743000000, 0.0, 512, LONG, MT5},
    {"gpt2", transformer, {12, 768, 12, 0, 0, 0, 50257, 1024, GPT_STYLE}, 124439808, 0.0, 1024, 1024, GPT2},
    {"gpt2-medium", transformer, {24, 1024, 16, 0, 0, 0, 50257, 1024, GPT_STYLE}, 354823168, 0.0, 1024, 1024, GPT2},
    {"gpt2-large", transformer, {36, 1280, 20, 0, 0, 0, 50257, 1024, GPT_STYLE}, 774030080, 0.0, 1024, 1024, GPT2},
    {"gpt2-xl", transformer, {48, 1600, 25, 0, 0, 0, 50257, 1024, GPT_STYLE}, 1557611200, 0.0, 1024, 1024, GPT2},
    {"gpt3-1.3b", transformer, {24, 2048, 16, 0, 0, 0, 50257, 2048, GPT_STYLE}, 1300000000, 0.0, 2048, LONG, GPT3},
    {"gpt3-2.7b", transformer, {32, 2560, 32, 0, 0, 0, 50257, 2048, GPT_STYLE}, 2700000000, 0.0, 2048, LONG, GPT3},
    {"gpt3-6.7b", transformer, {32, 4096, 32, 0, 0, 0, 50257, 2048, GPT_STYLE}, 6700000000, 0.0, 2048, LONG, GPT3},
    {"gpt3-13b", transformer, {40, 5120, 40, 0, 0, 0, 50257, 2048, GPT_STYLE}, 13000000000, 0.0, 2048, LONG, GPT3},
    {"gpt3-175b", transformer, {96, 12288, 96, 0, 0, 0, 50257, 2048, GPT_STYLE}, 175000000000, 0.0, 2048, LONG, GPT3},
    {"opt-125m", transformer, {12, 768, 12, 0, 0, 0, 50272, 2050, GPT_STYLE}, 125239296, 0.0, 2048, 2048, OPT},
    {"opt-1.3b", transformer, {24, 2048, 32, 0, 0, 0, 50272, 2050, GPT_STYLE}, 1315758080, 0.0, 2048, 2048, OPT},
    {"opt-2.7b", transformer, {32, 2560, 32, 0, 0, 0, 50272, 2050, GPT_STYLE}, 2651596800, 0.0, 2048, 2048, OPT},
    {"opt-6.7b", transformer, {32, 4096, 32, 0, 0, 0, 50272, 2050, GPT_STYLE}, 6658473984, 0.0, 2048, 2048, OPT},
    {"opt-13b", transformer, {40, 5120, 40, 0, 0, 0, 50272, 2050, GPT_STYLE}, 12853473280, 0.0, 2048, 2048, OPT},
    {"opt-30b", transformer, {48, 7168, 56, 0, 0, 0, 50272, 2050, GPT_STYLE}, 29974540288, 0.0, 2048, 2048, OPT},
    {"opt-66b", transformer, {64, 9216, 72, 0, 0, 0, 50272, 2050, GPT_STYLE}, 66000000000, 0.0, 2048, 2048, OPT},
    {"opt-175b", transformer, {96, 12288, 96, 0, 0, 0, 50272, 2050, GPT_STYLE}, 175000000000, 0.0, 2048, 2048, OPT},
    {"bloom-7b1", transformer, {30, 4096, 32, 0, 0, 0, 250880, 0, GPT_STYLE}, 7069000000, 0.0, 2048, LONG, BLOOM},
    {"bloom-176b", transformer, {70, 14336, 112, 0, 0, 0, 250880, 0, GPT_STYLE}, 176200000000, 0.0, 2048, LONG, BLOOM},
    {"gpt-neox-20b", transformer, {44, 6144, 64, 0, 0, 0, 50432, 0, NEOX_STYLE}, 20554567680, 0.0, 2048, LONG, NEOX},
    {"pythia-1.4b", transformer, {24, 2048, 16, 0, 0, 0, 50304, 0, NEOX_STYLE}, 1414647808, 0.0, 2048, LONG, PYTHIA},
    {"pythia-2.8b", transformer, {32, 2560, 32, 0, 0, 0, 50304, 0, NEOX_STYLE}, 2775208960, 0.0, 2048, LONG, PYTHIA},
    {"pythia-6.9b", transformer, {32, 4096, 32, 0, 0, 0, 50432, 0, NEOX_STYLE}, 6857302016, 0.0, 2048, LONG, PYTHIA},
    {"pythia-12b", transformer, {36, 5120, 40, 0, 0, 0, 50688, 0, NEOX_STYLE}, 11846072320, 0.0, 2048, LONG, PYTHIA},
    {"falcon-7b", transformer, {32, 4544, 71, 1, 64, 0, 65024, 0, FALCON_STYLE}, 6922000000, 0.0, 2048, LONG, FALCON},
    {"falcon-40b", transformer, {60, 8192, 128, 8, 64, 0, 65024, 0, FALCON_STYLE}, 41300000000, 0.0, 2048, LONG, FALCON},
    {"mpt-7b", transformer, {32, 4096, 32, 0, 0, 0, 50432, 0, TEXT_TIED}, 6649286656, 0.0, 2048, LONG, MPT},
    {"mpt-30b", transformer, {48, 7168, 64, 0, 0, 0, 50432, 0, TEXT_TIED}, 29960000000, 0.0, 2048, LONG, MPT},
    {"glm-130b", transformer, {70, 12288, 96, 0, 0, 32768, 150528, 0, GLM_STYLE}, 130000000000, 0.0, 2048, LONG, GLM},
    {"nemotron4-15b", transformer, {32, 6144, 48, 8, 0, 24576, 256000, 0, NEMOTRON_STYLE}, 15600000000, 0.0, 4096, LONG, NEMOTRON4},
    {"nemotron4-340b", transformer, {96, 18432, 96, 8, 0, 73728, 256000, 0, NEMOTRON_STYLE}, 341000000000, 0.0, 4096, LONG, "Adler et al., Nemotron-4 340B, 2024, table 1"},
    {"llama-7b", transformer, {32, 4096, 32, 0, 0, 11008, 32000, 0, LLAMA_STYLE}, 6738415616, 0.0, 2048, LONG, LLAMA},
    {"llama-13b", transformer, {40, 5120, 40, 0, 0, 13824, 32000, 0, LLAMA_STYLE}, 13015864320, 0.0, 2048, LONG, LLAMA},
    {"llama-30b", transformer, {60, 6656, 52, 0, 0, 17920, 32000, 0, LLAMA_STYLE}, 32528943616, 0.0, 2048, LONG, LLAMA},
    {"llama-65b", transformer, {80, 8192, 64, 0, 0, 22016, 32000, 0, LLAMA_STYLE}, 65285660672, 0.0, 2048, LONG, LLAMA},
    {"llama2-7b", transformer, {32, 4096, 32, 0, 0, 11008, 32000, 0, LLAMA_STYLE}, 6738415616, 0.0, 4096, LONG, LLAMA2},
    {"llama2-13b", transformer, {40, 5120, 40, 0, 0, 13824, 32000, 0, LLAMA_STYLE}, 13015864320, 0.0, 4096, LONG, LLAMA2},
    {"llama2-70b", transformer, {80, 8192, 64, 8, 0, 28672, 32000, 0, LLAMA_STYLE}, 68976648192, 0.0, 4096, LONG, LLAMA2},
    {"llama3-8b", transformer, {32, 4096, 32, 8, 0, 14336, 128256, 0, LLAMA_STYLE}, 8030261248, 0.0, 8192, LONG, LLAMA3},
    {"llama3-70b", transformer, {80, 8192, 64, 8, 0, 28672, 128256, 0, LLAMA_STYLE}, 70553706496, 0.0, 8192, LONG, LLAMA3},
    {"llama3.1-405b", transformer, {126, 16384, 128, 8, 0, 53248, 128256, 0, LLAMA_STYLE}, 405853388800, 0.0, 8192, LONG, LLAMA3},
    {"llama3.2-1b", transformer, {16, 2048, 32, 8, 0, 8192, 128256, 0, LLAMA_STYLE | TEXT_TIED}, 1235814400, 0.0, 8192, LONG, LLAMA3},
    {"llama3.2-3b", transformer, {28, 3072, 24, 8, 0, 8192, 128256, 0, LLAMA_STYLE | TEXT_TIED}, 3212749824, 0.0, 8192, LONG, LLAMA3},
    {"llama4-scout", transformer, {48, 5120, 40, 8, 0, 16384, 202048, 0, LLAMA_STYLE, 16, 1, 8192, 8192}, 107800000000, 0.0, 8192, LONG, "config.json of Llama-4-Scout-17B-16E, its text model"},
    {"tinyllama-1.1b", transformer, {22, 2048, 32, 4, 0, 5632, 32000, 0, LLAMA_STYLE}, 1100048384, 0.0, 2048, LONG, "Zhang et al., TinyLlama, 2024; config.json"},
    {"mistral-7b", transformer, {32, 4096, 32, 8, 0, 14336, 32000, 0, LLAMA_STYLE}, 7241732096, 0.0, 4096, LONG, "Jiang et al., Mistral 7B, 2023; parameters as HuggingFace"},
    {"mixtral-8x7b", transformer, {32, 4096, 32, 8, 0, 14336, 32000, 0, LLAMA_STYLE, 8, 2}, 46702792704, 0.0, 4096, LONG, MIXTRAL},
    {"mixtral-8x22b", transformer, {56, 6144, 48, 8, 0, 16384, 32768, 0, LLAMA_STYLE, 8, 2}, 140630071296, 0.0, 4096, LONG, MIXTRAL},
    {"dbrx", transformer, {40, 6144, 48, 8, 0, 10752, 100352, 0, LLAMA_STYLE, 16, 4}, 131600000000, 0.0, 4096, LONG, "config.json of dbrx-base"},
    {"grok1-314b", transformer, {64, 6144, 48, 8, 128, 32768, 131072, 0, LLAMA_STYLE | TEXT_TIED, 8, 2}, 314000000000, 0.0, 8192, LONG, "xAI, grok-1, run.py"},
    {"gpt-oss-20b", transformer, {24, 2880, 64, 8, 64, 2880, 201088, 0, LLAMA_STYLE | TEXT_BIASES, 32, 4, [TEXT_WINDOW] = 128}, 20910000000, 0.0, 4096, LONG, GPT_OSS},
    {"gpt-oss-120b", transformer, {36, 2880, 64, 8, 64, 2880, 201088, 0, LLAMA_STYLE | TEXT_BIASES, 128, 4, [TEXT_WINDOW] = 128}, 116800000000, 0.0, 4096, LONG, GPT_OSS},
    {"qwen2.5-0.5b", transformer, {24, 896, 14, 2, 0, 4864, 151936, 0, QWEN2_STYLE | TEXT_TIED}, 494032768, 0.0, 4096, LONG, QWEN2},
    {"qwen2.5-1.5b", transformer, {28, 1536, 12, 2, 0, 8960, 151936, 0, QWEN2_STYLE | TEXT_TIED}, 1543714304, 0.0, 4096, LONG, QWEN2},
    {"qwen2.5-3b", transformer, {36, 2048, 16, 2, 0, 11008, 151936, 0, QWEN2_STYLE | TEXT_TIED}, 3085938688, 0.0, 4096, LONG, QWEN2},
    {"qwen2.5-7b", transformer, {28, 3584, 28, 4, 0, 18944, 152064, 0, QWEN2_STYLE}, 7615616512, 0.0, 4096, LONG, QWEN2},
    {"qwen2.5-14b", transformer, {48, 5120, 40, 8, 0, 13824, 152064, 0, QWEN2_STYLE}, 14770033664, 0.0, 4096, LONG, QWEN2},
    {"qwen2.5-32b", transformer, {64, 5120, 40, 8, 0, 27648, 152064, 0, QWEN2_STYLE}, 32763876352, 0.0, 4096, LONG, QWEN2},
    {"qwen2.5-72b", transformer, {80, 8192, 64, 8, 0, 29568, 152064, 0, QWEN2_STYLE}, 72706203648, 0.0, 4096, LONG, QWEN2},
    {"qwen3-0.6b", transformer, {28, 1024, 16, 8, 128, 3072, 151936, 0, QWEN3_STYLE | TEXT_TIED}, 596049920, 0.0, 4096, LONG, QWEN3},
    {"qwen3-1.7b", transformer, {28, 2048, 16, 8, 128, 6144, 151936, 0, QWEN3_STYLE | TEXT_TIED}, 1720574976, 0.0, 4096, LONG, QWEN3},
    {"qwen3-4b", transformer, {36, 2560, 32, 8, 128, 9728, 151936, 0, QWEN3_STYLE | TEXT_TIED}, 4022468096, 0.0, 4096, LONG, QWEN3},
    {"qwen3-8b", transformer, {36, 4096, 32, 8, 128, 12288, 151936, 0, QWEN3_STYLE}, 8190735360, 0.0, 4096, LONG, QWEN3},
    {"qwen3-14b", transformer, {40, 5120, 40, 8, 128, 17408, 151936, 0, QWEN3_STYLE}, 14768307200, 0.0, 4096, LONG, QWEN3},
    {"qwen3-32b", transformer, {64, 5120, 64, 8, 128, 25600, 151936, 0, QWEN3_STYLE}, 32762123264, 0.0, 4096, LONG, QWEN3},
    {"qwen3-30b-a3b", transformer, {48, 2048, 32, 4, 128, 6144, 151936, 0, QWEN3_STYLE, 128, 8, 768}, 30532122624, 0.0, 4096, LONG, QWEN3},
    {"qwen3-235b-a22b", transformer, {94, 4096, 64, 4, 128, 12288, 151936, 0, QWEN3_STYLE, 128, 8, 1536}, 235093634560, 0.0, 4096, LONG, QWEN3},
    {"deepseek-v2-lite", transformer, {27, 2048, 16, 0, 128, 10944, 102400, 0, LLAMA_STYLE, 64, 6, 1408, 2816, 1, 0, 512, 64}, 15706484224, 0.0, 4096, LONG, DEEPSEEK},
    {"deepseek-v2-236b", transformer, {60, 5120, 128, 0, 128, 12288, 102400, 0, LLAMA_STYLE, 160, 6, 1536, 3072, 1, 1536, 512, 64}, 235741434880, 0.0, 4096, LONG, DEEPSEEK},
    {"deepseek-v3-671b", transformer, {61, 7168, 128, 0, 128, 18432, 129280, 0, LLAMA_STYLE, 256, 8, 2048, 2048, 3, 1536, 512, 64}, 671026404352, 0.0, 4096, LONG, DEEPSEEK},
    {"kimi-k2-1t", transformer, {61, 7168, 64, 0, 128, 18432, 163840, 0, LLAMA_STYLE, 384, 8, 2048, 2048, 1, 1536, 512, 64}, 1000000000000, 0.0, 4096, LONG, "Kimi Team, Kimi K2, 2025; config.json"},
    {"transformer-xl-base", sequence_transformer_xl, {16, 512, 8, 2048, 1}, 191950298, 0.0, 192, 4096, NVIDIA_DLE("PyTorch/LanguageModeling/Transformer-XL, wt103_base.yaml")},
    {"transformer-xl-large", sequence_transformer_xl, {18, 1024, 16, 4096, 4}, 285167482, 0.0, 384, 4096, NVIDIA_DLE("PyTorch/LanguageModeling/Transformer-XL, wt103_large.yaml")},
    {"transformer-big", sequence_translator, {6, 1024, 16, 4096, 33708, 29}, 210874368, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Translation/Transformer, WMT14 English-German")},
    {"ssd300-r50", detection_ssd300, {0}, 22894902, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Detection/SSD")},
    {"ssd320-r50-fpn", detection_ssd_fpn, {0}, 33432186, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Detection/SSD")},
    {"maskrcnn-r50-fpn", detection_mask_rcnn, {0}, 44178993, 0.0, 0, 0, "torchvision, maskrcnn_resnet50_fpn: 44401393 less frozen stem and first stage, 222400"},
    {"stable-diffusion-2-base", diffusion_stable_2, {512, 1}, 865910724, 0.0, 0, 0, STABLE_2},
    {"stable-diffusion-2-base-latents-256", diffusion_stable_2, {256, 0}, 865910724, 0.0, 0, 0, STABLE_2},
    {"stable-diffusion-2-base-latents-512", diffusion_stable_2, {512, 0}, 865910724, 0.0, 0, 0, STABLE_2},
    {"gnmt-v2", recurrent_gnmt, {4, 1024, 32320, 26}, 160671297, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Translation/GNMT")},
    {"deeplabv3+", segmentation_deeplab, {0}, 26714851, 0.0, 0, 0, "PaddlePaddle/PaddleSeg, benchmark/deeplabv3p.yml (ResNet-50 vd)"},
    {"hrnet-w18", segmentation_hrnet, {18}, 9640849, 0.0, 0, 0, "PaddlePaddle/PaddleSeg, benchmark/hrnet.yml"},
    {"jasper", speech_jasper, {0}, 333000000, 0.0, 0, 0, "Li et al., Jasper, 2019, table 5 (10x5 dense residual)"},
    {"quartznet", speech_quartznet, {0}, 18900000, 0.0, 0, 0, "Kriman et al., QuartzNet, 2020, table 1 (15x5)"},
    {"fastpitch", speech_fastpitch, {0}, 46266339, 0.0, 0, 0, NVIDIA_DLE("PyTorch/SpeechSynthesis/FastPitch 1.1")},
    {"nnunet-2d", unet_build, {UNET_NNUNET_2D}, 20613092, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Segmentation/nnUNet, task 01 in two dimensions")},
    {"nnunet-3d", unet_build, {UNET_NNUNET_3D}, 31192868, 0.0, 0, 0, NVIDIA_DLE("PyTorch/Segmentation/nnUNet, task 01 in three dimensions")},
    {"unet3d", unet_build, {UNET_3D}, 31196196, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/UNet_3D_Medical")},
    {"unet-medical", unet_build, {UNET_MEDICAL}, 34512258, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/UNet_Medical")},
    {"unet-industrial", unet_build, {UNET_INDUSTRIAL}, 1850305, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/UNet_Industrial, tinyUNet")},
    {"vnet", unet_vnet, {0}, 3599747, 0.0, 0, 0, NVIDIA_DLE("TensorFlow/Segmentation/VNet")},
};
/* clang-format on */
const int n_model_kinds = (int)(sizeof model_kinds / sizeof *model_kinds);

static const struct {
    const char *name, *known;
} other_names[] = {
    {"llama3.1-8b", "llama3-8b"},
    {"llama3.1-70b", "llama3-70b"},
    {"llama3.3-70b", "llama3-70b"},
    {"llama3-405b", "llama3.1-405b"},
    {"gpt-neox", "gpt-neox-20b"},
    {"mixtral", "mixtral-8x7b"},
    {"deepseek-v3", "deepseek-v3-671b"},
    {"deepseek-v2", "deepseek-v2-236b"},
    {"kimi-k2", "kimi-k2-1t"},
    {"grok-1", "grok1-314b"},
    {"bloom", "bloom-176b"},
    {"tinyllama", "tinyllama-1.1b"},
    {"gpt3", "gpt3-175b"},
    {"inception3", "inception-v3"},
    {"vit-small-patch16-224", "vit-s-16"},
    {"vit-base-patch16-224", "vit-b-16"},
    {"vit-base-patch32-224", "vit-b-32"},
    {"vit-large-patch16-224", "vit-l-16"},
    {"vit-huge-patch14-224", "vit-h-14"},
    {"deit-small-patch16-224", "vit-s-16"},
    {"deit-base-patch16-224", "vit-b-16"},
    {"vit-b", "vit-b-16"},
    {"vit-l", "vit-l-16"},
    {"vit-h", "vit-h-14"},
};

/* next_of — the next sign of a name in small letters; "-" and "_" count between digits only, where
 * they part two numbers. */
static int next_of(const char **at, int before)
{
    bool parted = false;
    for (; **at == '-' || **at == '_'; (*at)++) parted = true;
    int sign = tolower((unsigned char)**at);
    if (parted && isdigit(before) && isdigit(sign)) return '-';
    if (sign != 0) (*at)++;
    return sign;
}

/* Names are written with and without "-" and "_", and in capitals. */
static bool same_name(const char *a, const char *b)
{
    int sign = '-';
    do {
        int before = sign;
        sign = next_of(&a, before);
        if (next_of(&b, before) != sign) return false;
    } while (sign != 0);
    return true;
}

const struct model_kind *model_find(const char *name)
{
    for (int i = 0; i < n_model_kinds; i++) {
        if (strcmp(model_kinds[i].name, name) == 0) return &model_kinds[i];
    }
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++) {
        if (same_name(other_names[i].name, name)) name = other_names[i].known;
    }
    for (int i = 0; i < n_model_kinds; i++) {
        if (same_name(model_kinds[i].name, name)) return &model_kinds[i];
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
