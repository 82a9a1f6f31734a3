/* What `dpsim fit` says: to a person, or as JSON. */
#ifndef OUT_FIT_PAGE_H
#define OUT_FIT_PAGE_H

#include "study/calibrate.h"
#include "study/card.h"

void fit_page_print(FILE *out, const struct calibration *fit, struct arena scratch);
/* fit_card_print — a card's constants, after the lines they are from. */
void fit_card_print(FILE *out, const struct card *card);
void fit_json_print(FILE *out, const struct calibration *fit, struct arena scratch);

/* fit_worst — index of the row with the largest left-out error but for `n_before`; -1 = no more. */
const char *fit_row_text(const struct calibrate_row *row, struct arena *perm);
int fit_worst(const struct calibrate_part *part, int n, int *worst);

#endif
