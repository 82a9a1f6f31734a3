#include "base/must.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *file, int line, const char *cond)
{
    fprintf(stderr, "BUG %s:%d: %s\n", file, line, cond);
    abort();
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("dpsim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}
