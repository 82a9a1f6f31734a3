/* "calibration" of a GPU's profile: which machine was measured, and for each part how far its
 * constants are from what was measured. Written by `fit`, read into struct measured. */
#ifndef IO_CALIBRATION_H
#define IO_CALIBRATION_H

#include "base/field.h"
#include "workload/measured.h"

extern const struct field calibration_fields[], calibration_part_fields[];
extern const int n_calibration_fields, n_calibration_part_fields;

/* calibration_read — errors go to diag; the result is then not to be used. */
const struct measured *calibration_read(const struct json *json, const struct json_node *node,
                                        struct arena *perm, struct diag *diag);

#endif
