/* Fitted constants put into the text of a profile's file: values are replaced where they stand, keys
 * that the file leaves to its base are added first; all else stays as it was written. */
#ifndef STUDY_SPLICE_H
#define STUDY_SPLICE_H

#include "study/free.h"

/* splice_profile — the new text of a profile that the set edits; *file: its place below dir. */
const char *splice_profile(const struct free_set *set, const char *profile, const char *dir,
                           const char **file, struct arena *perm, struct diag *diag);

#endif
