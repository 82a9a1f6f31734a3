/* A fitted GPU as a profile: the constants that were fitted, each with its source, and how well they
 * fit under "calibration". What was not measured is the base's. */
#ifndef OUT_FIT_PROFILE_H
#define OUT_FIT_PROFILE_H

#include "study/calibrate.h"
#include "study/card.h"

struct fit_profile {
    const char *name; /* "" = the device's */
    const char *base; /* as given; NULL = none */
};
void fit_profile_write(FILE *out, const struct fit_profile *profile, const struct calibration *fit,
                       struct arena scratch);

/* fit_card_write — the same of a network card, which was fitted to messages. */
void fit_card_write(FILE *out, const struct fit_profile *profile, const struct card *card,
                    const struct calibration *fit, struct arena scratch);

#endif
