/* Short forms of the rows of field tables: key, dimension, struct and member, range, default, help.
 * A default of NULL makes the key required. */
#ifndef IO_ROWS_H
#define IO_ROWS_H

#include "base/field.h"

#define REAL(k, d, owner, member, lo, hi, def, text)                                               \
    {                                                                                              \
        .key = k, .type = FIELD_REAL, .dim = d, .offset = FIELD_REAL_AT(owner, member), .min = lo, \
        .max = hi, .fallback = def, .help = text                                                   \
    }
#define INT(k, owner, member, lo, hi, def, text)                                                   \
    {                                                                                              \
        .key = k, .type = FIELD_INT, .dim = DIM_COUNT, .offset = FIELD_INT_AT(owner, member),      \
        .min = lo, .max = hi, .fallback = def, .help = text                                        \
    }
#define TEXT(k, owner, member, def, text)                                                          \
    {                                                                                              \
        .key = k, .type = FIELD_TEXT, .offset = FIELD_TEXT_AT(owner, member), .fallback = def,     \
        .help = text                                                                               \
    }
#define BOOL(k, owner, member, def, text)                                                          \
    {                                                                                              \
        .key = k, .type = FIELD_BOOL, .offset = FIELD_BOOL_AT(owner, member), .fallback = def,     \
        .help = text                                                                               \
    }
#define CHOICE(k, owner, member, names, def, text)                                                 \
    {                                                                                              \
        .key = k, .type = FIELD_CHOICE, .offset = FIELD_TEXT_AT(owner, member), .fallback = def,   \
        .help = text, .choices = names                                                             \
    }

#define N_OF(rows) ((int)(sizeof(rows) / sizeof *(rows)))

#endif
