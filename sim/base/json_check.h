/* The grammar of RFC 8259 to the letter, with the place of the first fault. cJSON builds the
 * values; it neither says where a fault is nor minds control bytes as blanks, "01", "1e999", NULs
 * or text after the document, and it cuts numbers at 63 characters. */
#ifndef BASE_JSON_CHECK_H
#define BASE_JSON_CHECK_H

#include <stddef.h>

enum { JSON_NUMBER_MAX = 60 /* characters; cJSON copies at most 63 */ };

struct json_fault {
    const char *what; /* NULL: none */
    const char *at;
};

/* json_check — the first fault in all[length]; nesting up to `depth` lists and objects. O(length). */
struct json_fault json_check(const char *all, size_t length, int depth);

#endif
