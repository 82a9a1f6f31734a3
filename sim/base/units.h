/* Text with a unit to SI and back: "400Gbps" is bits (5e10 B/s), "50GB/s" is bytes, "25MiB",
 * "1.2us". One table of units, which the loader, the messages and the docs read. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdbool.h>

enum dim {
    DIM_NUMBER,
    DIM_COUNT,
    DIM_FRACTION,
    DIM_TIME,
    DIM_SIZE,
    DIM_RATE,
    DIM_FLOP,
    DIM_FLOPS,
    DIM_POWER,
    N_DIMS
};

struct unit {
    enum dim dim;
    const char *name;
    double factor; /* SI value of one */
};
extern const struct unit units[];
extern const int n_units;

/* unit_wanted — "a rate such as 400Gbps or 50GB/s", for messages. */
const char *unit_wanted(enum dim dim);

/* unit_parse — "1.2us" as seconds when dim is DIM_TIME. Returns false (and leaves *value) unless the
 * whole text is a finite number followed by a unit of dim; blanks between them are allowed. */
bool unit_parse(const char *text, enum dim dim, double *value);

/* unit_number — the decimal number that text begins with ("1.5", "-2e-3"; no blanks, hexadecimal, inf
 * or nan); *end: what follows it. Returns false when there is none or it is not finite. */
bool unit_number(const char *text, const char **end, double *value);

/* unit_print — the shortest readable form, "1.20 us", "25 MiB", "391 Gbps", three significant digits; whole
 * numbers without decimals; zero is "0". */
void unit_print(double value, enum dim dim, char *text, int size);

#endif
