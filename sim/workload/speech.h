/* Speech: recognition by convolutions over time (Jasper, QuartzNet) and synthesis (FastPitch). */
#ifndef WORKLOAD_SPEECH_H
#define WORKLOAD_SPEECH_H

#include "workload/model.h"

/* A sample is an utterance of LibriSpeech of 16.7 s, to which the training scripts pad batches: 64
 * features in 1680 frames of 10 ms (a multiple of 16). */
struct model *speech_jasper(const struct model_kind *kind, int seq_len, struct arena *perm);
struct model *speech_quartznet(const struct model_kind *kind, int seq_len, struct arena *perm);

/* A sample is a clip of LJSpeech padded to the longest: 10.1 s, 870 frames of 256 / 22050 s, and as
 * many characters for its length as the mean clip has (99.9 in 6.57 s). */
struct model *speech_fastpitch(const struct model_kind *kind, int seq_len, struct arena *perm);

#endif
