#include "base/json_check.h"

#include "base/units.h"
#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

struct cursor {
    const char *at, *end;
    int depth; /* levels left */
    struct json_fault fault;
};

static bool value(struct cursor *cursor);

/* false, so that a rule can end with `return fault(...)`; the first fault stays */
static bool fault(struct cursor *cursor, const char *at, const char *what)
{
    if (!cursor->fault.what) cursor->fault = (struct json_fault){what, at};
    return false;
}

static void blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != '\0' && strchr(" \t\r\n", *cursor->at)) {
        cursor->at++;
    }
}

static bool accept(struct cursor *cursor, char c)
{
    bool there = cursor->at < cursor->end && *cursor->at == c;
    cursor->at += there;
    return there;
}

static bool expect(struct cursor *cursor, char c, const char *wanted)
{
    return accept(cursor, c) || fault(cursor, cursor->at, wanted);
}

static bool word(struct cursor *cursor, const char *name)
{
    size_t n = strlen(name);
    bool there = (size_t)(cursor->end - cursor->at) >= n && memcmp(cursor->at, name, n) == 0;
    if (!there) return fault(cursor, cursor->at, "is no JSON value (text stands in double quotes)");
    cursor->at += n;
    return true;
}

static int digits(struct cursor *cursor)
{
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && isdigit((unsigned char)*cursor->at)) cursor->at++;
    return (int)(cursor->at - begin);
}

/* [-] (0 | 1-9 digits) [. digits] [e [+-] digits] */
static bool number(struct cursor *cursor)
{
    const char *begin = cursor->at;
    (void)accept(cursor, '-');
    const char *whole = cursor->at;
    int n_whole = digits(cursor);
    if (n_whole == 0) return fault(cursor, begin, "a number needs a digit here");
    if (*whole == '0' && n_whole > 1) return fault(cursor, begin, "a number may not begin with 0");
    if (accept(cursor, '.') && digits(cursor) == 0) {
        return fault(cursor, begin, "a number needs a digit after the point");
    }
    if (accept(cursor, 'e') || accept(cursor, 'E')) {
        if (!accept(cursor, '+')) (void)accept(cursor, '-');
        if (digits(cursor) == 0) return fault(cursor, begin, "a number needs a digit after the e");
    }
    if (cursor->at - begin > JSON_NUMBER_MAX) {
        return fault(cursor, begin, "a number has more than 60 characters");
    }
    char copy[JSON_NUMBER_MAX + 1] = {0};
    memcpy(copy, begin, (size_t)(cursor->at - begin));
    const char *end = NULL;
    double ignored = 0;
    return unit_number(copy, &end, &ignored) || fault(cursor, begin, "a number is too large");
}

/* after the backslash; NULs would end the text early in C */
static bool escape(struct cursor *cursor)
{
    const char *begin = cursor->at - 1;
    if (cursor->at == cursor->end) return true; /* the missing quote is the fault */
    char c = *cursor->at++;
    if (c != '\0' && strchr("\"\\/bfnrt", c)) return true;
    if (c != 'u') return fault(cursor, begin, "unknown escape in a text");
    for (int i = 0; i < 4; i++) {
        if (cursor->at == cursor->end || !isxdigit((unsigned char)*cursor->at++)) {
            return fault(cursor, begin, "\\u needs four hexadecimal digits");
        }
    }
    return memcmp(cursor->at - 4, "0000", 4) != 0 || fault(cursor, begin, "NUL in a text");
}

static bool text(struct cursor *cursor, const char *wanted)
{
    const char *begin = cursor->at;
    if (!expect(cursor, '"', wanted)) return false;
    while (cursor->at < cursor->end) {
        size_t n = utf8_length(cursor->at, cursor->end);
        if (n == 0) return fault(cursor, cursor->at, "a text holds bytes that are no UTF-8");
        unsigned char c = (unsigned char)*cursor->at;
        cursor->at += n;
        if (c == '"') return true;
        if (c < 0x20) {
            return fault(cursor, cursor->at - 1, "a text holds a control byte or a line end");
        }
        if (c == '\\' && !escape(cursor)) return false;
    }
    return fault(cursor, begin, "a text has no closing quote");
}

static bool member(struct cursor *cursor)
{
    blanks(cursor);
    if (!text(cursor, "wanted a key in double quotes")) return false;
    blanks(cursor);
    return expect(cursor, ':', "wanted ':' after a key") && value(cursor);
}

static bool list_or_object(struct cursor *cursor, char close, bool (*part)(struct cursor *))
{
    if (cursor->depth-- == 0) return fault(cursor, cursor->at - 1, "is nested too deeply");
    blanks(cursor);
    bool done = accept(cursor, close);
    while (!done) {
        if (!part(cursor)) return false;
        blanks(cursor);
        done = accept(cursor, close);
        if (!done &&
            !expect(cursor, ',', close == ']' ? "wanted ',' or ']'" : "wanted ',' or '}'")) {
            return false;
        }
    }
    cursor->depth++;
    return true;
}

static bool value(struct cursor *cursor)
{
    blanks(cursor);
    if (cursor->at == cursor->end) return fault(cursor, cursor->at, "wanted a value");
    char c = *cursor->at;
    if (accept(cursor, '{')) return list_or_object(cursor, '}', member);
    if (accept(cursor, '[')) return list_or_object(cursor, ']', value);
    if (c == '"') return text(cursor, "wanted a text");
    if (c == '-' || isdigit((unsigned char)c)) return number(cursor);
    if (c == 't') return word(cursor, "true");
    if (c == 'f') return word(cursor, "false");
    if (c == 'n') return word(cursor, "null");
    if (c == ',' || c == ']' || c == '}') return fault(cursor, cursor->at, "wanted a value");
    if (c == '\0') return fault(cursor, cursor->at, "a NUL byte");
    return word(cursor, "true"); /* not there: reports what is wrong */
}

struct json_fault json_check(const char *all, size_t length, int depth)
{
    struct cursor cursor = {.at = all, .end = all + length, .depth = depth};
    if (value(&cursor)) {
        blanks(&cursor);
        if (cursor.at < cursor.end) fault(&cursor, cursor.at, "text after the end of the document");
    }
    return cursor.fault;
}
