#include "base/utf8.h"

/* First bytes, and what the second may be: it keeps out long forms of short characters, surrogates
 * and what lies beyond U+10FFFF. All later bytes are 0x80 to 0xbf. */
static const struct {
    unsigned char first, last, low, high;
    size_t length;
} forms[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

size_t utf8_length(const char *at, const char *end)
{
    unsigned char first = (unsigned char)at[0];
    int f = 0;
    while (f < N_FORMS && !(first >= forms[f].first && first <= forms[f].last)) f++;
    if (f == N_FORMS || (size_t)(end - at) < forms[f].length) return 0;
    for (size_t i = 1; i < forms[f].length; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c < (i == 1 ? forms[f].low : 0x80) || c > (i == 1 ? forms[f].high : 0xbf)) return 0;
    }
    return forms[f].length;
}
