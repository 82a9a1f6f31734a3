/* Series of measured collectives that are not what their hardware gives, and why first: a series is off
 * when the median of measured over predicted time, over its large sizes (all sizes where there are
 * no large ones), is beyond limits that healthy series keep. Then everything that the rules' list of
 * suspicions names is tried, "what if only one card was used?", and the one that explains the times
 * best is the first suspicion, if it explains most of what is off. Rows that their own table marks as
 * suspect are judged like all others here; what the table says is only counted beside. */
#ifndef STUDY_SUSPICION_H
#define STUDY_SUSPICION_H

#include "study/rows.h"

/* suspicion_find — of a table of collectives; check->off is then told. Needs rows that are predicted. */
void suspicion_find(const struct study *study);

#endif
