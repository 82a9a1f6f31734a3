/* Results for scripts: one table of columns says what is printed, in JSON and in CSV. Names are a
 * promise: add, do not rename. */
#ifndef OUT_RESULT_JSON_H
#define OUT_RESULT_JSON_H

#include "out/writer.h"
#include "predict.h"

/* result_json — one object; key as for writer_object. */
void result_json(struct writer *writer, const char *key, const struct result *result);

/* result_csv_header, result_csv_row — the same values as flat columns; a row for each of several jobs. */
void result_csv_header(FILE *out);
void result_csv_row(FILE *out, const struct result *result, struct arena scratch);

/* result_unit — "images/s". */
void result_unit(const struct result *result, char *text, int size);

#endif
