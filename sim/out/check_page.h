/* Scores of a table for a person: the same tables as text and as Markdown. */
#ifndef OUT_CHECK_PAGE_H
#define OUT_CHECK_PAGE_H

#include "study/check.h"

#include <stdio.h>

/* check_page_print — Markdown has every group and reason, text the worst. */
void check_page_print(FILE *out, bool markdown, const struct check *check, struct arena scratch);

#endif
