#include "io/calibration.h"

#include "io/rows.h"

#define MOST 1e30 /* an upper bound that only keeps nonsense out */
#define WIDE 100  /* relative errors beyond it say nothing */

static const char *const unit_names[] = {"FLOP", "B", "kernels", NULL};

/* clang-format off */
const struct field calibration_fields[] = {
    TEXT("device", struct measured, device, "", "the machine that was measured"),
    TEXT("date", struct measured, date, "", "when"),
};
const int n_calibration_fields = N_OF(calibration_fields);

const struct field calibration_part_fields[] = {
    CHOICE("part", struct measured_part, part, measured_part_names, NULL, "what was measured"),
    TEXT("dtype", struct measured_part, dtype, "", "its type; empty = all types"),
    CHOICE("unit", struct measured_part, unit, unit_names, "B", "of least and most"),
    REAL("least", DIM_NUMBER, struct measured_part, least, 0, MOST, "0", "smallest size measured; `run` warns below it"),
    REAL("most", DIM_NUMBER, struct measured_part, most, 0, MOST, "0", "largest size measured; `run` warns above it"),
    INT("rows", struct measured_part, n_rows, 0, 1 << 30, "0", "measurements used"),
    INT("groups", struct measured_part, n_groups, 0, 1 << 30, "0", "shapes or series, each left out once"),
    REAL("fit_sd", DIM_NUMBER, struct measured_part, fit_sd, 0, WIDE, "0", "relative standard deviation of a prediction, from the covariance of the constants"),
    REAL("left_out_sd", DIM_NUMBER, struct measured_part, left_out_sd, 0, WIDE, "0", "root mean square of the relative error of shapes that were left out of the fit"),
    REAL("left_out_median", DIM_NUMBER, struct measured_part, left_out_median, 0, WIDE, "0", "median of their absolute error"),
    REAL("left_out_p90", DIM_NUMBER, struct measured_part, left_out_p90, 0, WIDE, "0", "90th percentile of their absolute error"),
    REAL("left_out_bias", DIM_NUMBER, struct measured_part, left_out_bias, -WIDE, WIDE, "0", "median of their error, above 0 where times are predicted too long"),
};
const int n_calibration_part_fields = N_OF(calibration_part_fields);
/* clang-format on */

static const char *const extra[] = {"files", "parts", NULL};
static const char *const part_extra[] = {"series", "constants", "covariance", "worst", NULL};

static void read_part(const struct json *json, const struct json_node *node,
                      struct measured_part *out, struct arena *perm, struct diag *diag)
{
    *out = (struct measured_part){0};
    field_load(calibration_part_fields, n_calibration_part_fields, part_extra, json, node, out,
               "calibration part", NULL, perm, diag);
    if (out->most < out->least) {
        diag_error(diag, json_place(json, node, perm), "\"most\" is below \"least\"");
    }
}

const struct measured *calibration_read(const struct json *json, const struct json_node *node,
                                        struct arena *perm, struct diag *diag)
{
    struct measured *measured = arena_new(perm, struct measured, 1);
    *measured = (struct measured){0};
    field_load(calibration_fields, n_calibration_fields, extra, json, node, measured, "calibration",
               NULL, perm, diag);
    const struct json_node *parts = json_kind(node) == JSON_OBJECT ? json_get(node, "parts") : NULL;
    if (!parts) return measured;
    if (json_kind(parts) != JSON_LIST) {
        diag_error(diag, json_place(json, parts, perm), "is %s (wanted a list of parts)",
                   json_kind_name(json_kind(parts)));
        return measured;
    }
    int n = json_size(parts);
    struct measured_part *rows = arena_new(perm, struct measured_part, n);
    for (int i = 0; i < n; i++) read_part(json, json_at(parts, i), &rows[i], perm, diag);
    measured->parts = rows;
    measured->n_parts = n;
    return measured;
}
