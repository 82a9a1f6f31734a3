/* Characters of text that came from outside: what is no UTF-8 may not go into JSON. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* utf8_length — bytes of the character at `at`, 1 to 4; 0 = what stands there before `end` is no
 * UTF-8. at < end. Source: The Unicode Standard 15, table 3-7 (well-formed byte sequences). */
size_t utf8_length(const char *at, const char *end);

#endif
