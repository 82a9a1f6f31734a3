/* Scores of a table as JSON. */
#ifndef OUT_CHECK_JSON_H
#define OUT_CHECK_JSON_H

#include "study/check.h"

#include <stdio.h>

void check_json_print(FILE *out, const struct check *check);

#endif
