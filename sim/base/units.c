#include "base/units.h"

#include "base/must.h"

#include <ctype.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "b" is a bit and "B" a byte; k, M, G, T are powers of 1000 (KB too), Ki, Mi, Gi, Ti of 1024.
 * Source: IEC 80000-13:2008. */
#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define TIB (1024.0 * GIB)
#define BIT (1.0 / 8.0)

const struct unit units[] = {
    {DIM_NUMBER, "", 1},
    {DIM_COUNT, "", 1},
    {DIM_FRACTION, "", 1},
    {DIM_TIME, "ns", 1e-9},
    {DIM_TIME, "us", 1e-6},
    {DIM_TIME, "\xc2\xb5s", 1e-6}, /* micro sign */
    {DIM_TIME, "\xce\xbcs", 1e-6}, /* Greek mu */
    {DIM_TIME, "ms", 1e-3},
    {DIM_TIME, "s", 1},
    {DIM_TIME, "min", 60},
    {DIM_TIME, "h", 3600},
    {DIM_TIME, "d", 86400},
    {DIM_SIZE, "B", 1},
    {DIM_SIZE, "kB", 1e3},
    {DIM_SIZE, "KB", 1e3},
    {DIM_SIZE, "KiB", KIB},
    {DIM_SIZE, "MB", 1e6},
    {DIM_SIZE, "MiB", MIB},
    {DIM_SIZE, "GB", 1e9},
    {DIM_SIZE, "GiB", GIB},
    {DIM_SIZE, "TB", 1e12},
    {DIM_SIZE, "TiB", TIB},
    {DIM_RATE, "bps", BIT},
    {DIM_RATE, "kbps", 1e3 * BIT},
    {DIM_RATE, "Kbps", 1e3 * BIT},
    {DIM_RATE, "Mbps", 1e6 * BIT},
    {DIM_RATE, "Gbps", 1e9 * BIT},
    {DIM_RATE, "Tbps", 1e12 * BIT},
    {DIM_RATE, "b/s", BIT},
    {DIM_RATE, "kb/s", 1e3 * BIT},
    {DIM_RATE, "Kb/s", 1e3 * BIT},
    {DIM_RATE, "Mb/s", 1e6 * BIT},
    {DIM_RATE, "Gb/s", 1e9 * BIT},
    {DIM_RATE, "Tb/s", 1e12 * BIT},
    {DIM_RATE, "Mbit/s", 1e6 * BIT},
    {DIM_RATE, "Gbit/s", 1e9 * BIT},
    {DIM_RATE, "B/s", 1},
    {DIM_RATE, "kB/s", 1e3},
    {DIM_RATE, "KB/s", 1e3},
    {DIM_RATE, "KiB/s", KIB},
    {DIM_RATE, "MB/s", 1e6},
    {DIM_RATE, "MiB/s", MIB},
    {DIM_RATE, "GB/s", 1e9},
    {DIM_RATE, "GiB/s", GIB},
    {DIM_RATE, "TB/s", 1e12},
    {DIM_RATE, "TiB/s", TIB},
    {DIM_FLOP, "FLOP", 1},
    {DIM_FLOP, "MFLOP", 1e6},
    {DIM_FLOP, "GFLOP", 1e9},
    {DIM_FLOP, "TFLOP", 1e12},
    {DIM_FLOP, "PFLOP", 1e15},
    {DIM_FLOP, "EFLOP", 1e18},
    {DIM_FLOPS, "FLOPS", 1},
    {DIM_FLOPS, "MFLOPS", 1e6},
    {DIM_FLOPS, "GFLOPS", 1e9},
    {DIM_FLOPS, "TFLOPS", 1e12},
    {DIM_FLOPS, "PFLOPS", 1e15},
    {DIM_FLOPS, "EFLOPS", 1e18},
    {DIM_FLOPS, "FLOP/s", 1},
    {DIM_FLOPS, "MFLOP/s", 1e6},
    {DIM_FLOPS, "GFLOP/s", 1e9},
    {DIM_FLOPS, "TFLOP/s", 1e12},
    {DIM_FLOPS, "PFLOP/s", 1e15},
    {DIM_FLOPS, "EFLOP/s", 1e18},
    {DIM_POWER, "W", 1},
    {DIM_POWER, "kW", 1e3},
    {DIM_POWER, "MW", 1e6},
};
const int n_units = sizeof units / sizeof units[0];

/* what a dimension is called in messages, and the units that unit_print chooses from, ascending */
static const struct {
    const char *wanted;
    const char *printed[8];
} dims[N_DIMS] = {
    [DIM_NUMBER] = {"a number", {""}},
    [DIM_COUNT] = {"a count", {""}},
    [DIM_FRACTION] = {"a fraction such as 0.5", {""}},
    [DIM_TIME] = {"a time such as 1.2us or 30s", {"ns", "us", "ms", "s", "min", "h", "d"}},
    [DIM_SIZE] = {"a size such as 25MiB or 80GB", {"B", "KiB", "MiB", "GiB", "TiB"}},
    [DIM_RATE] = {"a rate such as 400Gbps or 50GB/s", {"bps", "kbps", "Mbps", "Gbps", "Tbps"}},
    [DIM_FLOP] = {"a number of operations such as 8.2GFLOP",
                  {"FLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"}},
    [DIM_FLOPS] = {"a speed such as 312TFLOPS",
                   {"FLOPS", "MFLOPS", "GFLOPS", "TFLOPS", "PFLOPS", "EFLOPS"}},
    [DIM_POWER] = {"a power such as 700W", {"W", "kW", "MW"}},
};

const char *unit_wanted(enum dim dim)
{
    return dims[dim].wanted;
}

static const struct unit *unit_find(const char *name, enum dim dim)
{
    for (const struct unit *unit = units; unit < units + n_units; unit++) {
        if (unit->dim == dim && strcmp(unit->name, name) == 0) return unit;
    }
    return NULL;
}

static const char *skip_digits(const char *c, int *n)
{
    for (; isdigit((unsigned char)*c); c++) ++*n;
    return c;
}

/* strtod also takes blanks, hexadecimal, inf and nan: the end of a decimal number is found first. */
static const char *number_end(const char *text)
{
    int n_digits = 0;
    const char *c = text + (*text == '-' || *text == '+');
    c = skip_digits(c, &n_digits);
    if (*c == '.') c = skip_digits(c + 1, &n_digits);
    if (n_digits == 0) return text;
    if (*c == 'e' || *c == 'E') {
        int n_exponent = 0;
        const char *end = skip_digits(c + 1 + (c[1] == '-' || c[1] == '+'), &n_exponent);
        if (n_exponent > 0) c = end;
    }
    return c;
}

/* Out-of-range input must be a message, not a trap: strtod runs with the traps held, and the product
 * is formed only when it is finite. */
static bool read_scaled(const char *text, const char *end, double factor, double *value)
{
    fenv_t before;
    feholdexcept(&before);
    char *stop = NULL;
    double number = strtod(text, &stop);
    fesetenv(&before);
    if (end == text || stop != end || !isfinite(number)) return false;
    if (factor > 1 && fabs(number) > DBL_MAX / factor) return false;
    *value = number * factor;
    return true;
}

bool unit_number(const char *text, const char **end, double *value)
{
    *end = number_end(text);
    return read_scaled(text, *end, 1.0, value);
}

bool unit_parse(const char *text, enum dim dim, double *value)
{
    const char *end = number_end(text);
    const char *name = end;
    while (*name == ' ' && name[1] != '\0') name++;
    const struct unit *unit = unit_find(name, dim);
    return unit && read_scaled(text, end, unit->factor, value);
}

/* whole numbers plainly, others with three significant digits; powers of ten only when huge */
static void print_scaled(double scaled, const char *name, char *text, int size)
{
    double size_of = fabs(scaled);
    int n_decimals = size_of < 9.995 ? 2 : size_of < 99.95 ? 1 : 0;
    bool whole = fabs(scaled - rint(scaled)) <= 1e-9 * size_of;
    const char *blank = name[0] == '\0' ? "" : " ";
    if (size_of >= 1e6 || (!whole && size_of < 0.9995)) {
        snprintf(text, (size_t)size, "%.3g%s%s", scaled, blank, name);
    } else {
        snprintf(text, (size_t)size, "%.*f%s%s", whole ? 0 : n_decimals, scaled, blank, name);
    }
}

void unit_print(double value, enum dim dim, char *text, int size)
{
    if (!isfinite(value)) {
        snprintf(text, (size_t)size, "%g", value);
        return;
    }
    const struct unit *chosen = unit_find(dims[dim].printed[0], dim);
    for (int i = 1; i < 8 && dims[dim].printed[i]; i++) {
        const struct unit *unit = unit_find(dims[dim].printed[i], dim);
        must(unit);
        /* what rounds to 1000 of one unit is shown as 1 of the next */
        if (fabs(value) >= 0.9995 * unit->factor) chosen = unit;
    }
    must(chosen);
    bool zero = fpclassify(value) == FP_ZERO;
    print_scaled(zero ? 0.0 : value / chosen->factor, zero ? "" : chosen->name, text, size);
}
