#include "base/arena.h"

#include "base/must.h"

#include <sanitizer/asan_interface.h> /* its macros do nothing without AddressSanitizer */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN_B ((size_t)16)

/* the asan build sets 16, so that a write past the end of an array cannot reach the next one */
#ifndef ARENA_REDZONE_B
#define ARENA_REDZONE_B 0
#endif

/* The highest top that any copy of the arena had, kept past `end`, where all copies find it: as far
 * as there may be red zones. */
static char **highest_top(const struct arena *arena)
{
    return (char **)(void *)arena->end;
}

struct arena *arena_open(size_t reserve_B)
{
    struct arena *arena = mmap(NULL, reserve_B, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) die("no address space for %zu bytes of memory", reserve_B);
    must(sizeof *arena <= ALIGN_B && reserve_B >= 2 * ALIGN_B && reserve_B % ALIGN_B == 0);
    arena->at = (char *)arena + ALIGN_B;
    arena->end = (char *)arena + reserve_B - ALIGN_B;
    return arena;
}

void arena_close(struct arena *arena)
{
    char *base = (char *)arena;
    char *end = arena->end + ALIGN_B;
    char *top = *highest_top(arena);
    if (top) ASAN_UNPOISON_MEMORY_REGION(base, (size_t)(top - base));
    munmap(base, (size_t)(end - base));
}

/* A scratch copy may have left red zones above the top: what is handed out is unpoisoned first. */
void *arena_alloc(struct arena *arena, int64_t n, size_t size_B)
{
    const size_t slack_B = ALIGN_B + ARENA_REDZONE_B;
    must(n >= 0 && size_B > 0);
    size_t left_B = (size_t)(arena->end - arena->at);
    if (left_B < slack_B || (uint64_t)n > (left_B - slack_B) / size_B) {
        die("out of memory: %lld objects of %zu bytes wanted, %zu bytes left", (long long)n, size_B,
            left_B);
    }
    char *at = arena->at;
    size_t used_B = (size_t)n * size_B;
    size_t step_B = (used_B + slack_B - 1) / ALIGN_B * ALIGN_B;
    ASAN_UNPOISON_MEMORY_REGION(at, used_B);
    memset(at, 0, used_B);
    ASAN_POISON_MEMORY_REGION(at + used_B, step_B - used_B);
    arena->at = at + step_B;
    if (ARENA_REDZONE_B > 0 && arena->at > *highest_top(arena)) *highest_top(arena) = arena->at;
    return at;
}

void *arena_grow_bytes(struct arena *arena, const void *old, int64_t n, int64_t capacity,
                       size_t size_B)
{
    must(n <= capacity);
    char *grown = arena_alloc(arena, capacity, size_B);
    if (n > 0) memcpy(grown, old, (size_t)n * size_B);
    return grown;
}

char *arena_text(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vtext(arena, format, args);
    va_end(args);
    return text;
}

char *arena_vtext(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    must(length >= 0);
    char *text = arena_alloc(arena, length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}
