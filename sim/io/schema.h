/* The schema and the reference of scenario files, printed from the tables that the loader reads. */
#ifndef IO_SCHEMA_H
#define IO_SCHEMA_H

#include <stdio.h>

/* scenario_schema — JSON schema (draft 2020-12) of a scenario file. */
void scenario_schema(FILE *out);

/* scenario_reference — the same as Markdown for docs/scenario.md. */
void scenario_reference(FILE *out);

#endif
