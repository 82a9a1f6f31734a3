/* A result as a page of text for a person, and several results as a table. Nothing in it depends on
 * the clock, so equal runs print equal bytes. */
#ifndef OUT_REPORT_H
#define OUT_REPORT_H

#include "base/field.h"
#include "predict.h"

/* report_page — question may be NULL. */
void report_page(FILE *out, const struct result *result, const char *question);

/* report_comparison — one line per result; relative to the first. */
void report_comparison(FILE *out, const struct result *const *results, int n);

/* report_values — every value the loader used; defaults are marked. */
void report_values(FILE *out, const struct field_log *log);

#endif
