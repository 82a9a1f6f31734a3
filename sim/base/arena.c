#include "base/arena.h"

#include "base/must.h"

#include <sanitizer/asan_interface.h> /* its macros do nothing without AddressSanitizer */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN_B ((size_t)16)
#define LINE_B  ((size_t)64)

/* less is not worth starting with */
static const size_t RESERVE_LEAST_B = (size_t)64 << 20;

/* the asan build sets 16, so that a write past the end of an array cannot reach the next one */
#ifndef ARENA_REDZONE_B
#define ARENA_REDZONE_B 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* Red zones lie wherever a scratch copy has been, and mappings to come may get the same addresses.
 * Writing the shadow of a whole reservation takes seconds; a page of shadow that is dropped reads as
 * zero, which is "unpoisoned", at no cost. */
static void unpoison(char *base, char *end)
{
    size_t scale, offset;
    __asan_get_shadow_mapping(&scale, &offset);
    uintptr_t covered_B = (uintptr_t)sysconf(_SC_PAGESIZE) << scale; /* by a page of shadow */
    uintptr_t first = ((uintptr_t)base + covered_B - 1) / covered_B * covered_B;
    uintptr_t last = (uintptr_t)end / covered_B * covered_B;
    if (first >= last) {
        ASAN_UNPOISON_MEMORY_REGION(base, (size_t)(end - base));
        return;
    }
    ASAN_UNPOISON_MEMORY_REGION(base, first - (uintptr_t)base);
    ASAN_UNPOISON_MEMORY_REGION(end - ((uintptr_t)end - last), (uintptr_t)end - last);
    int dropped =
        madvise((void *)((first >> scale) + offset), (last - first) >> scale, MADV_DONTNEED);
    must(dropped == 0);
}
#else
static void unpoison(const char *base, const char *end)
{
    (void)base;
    (void)end;
}
#endif

static void *reserve(size_t reserve_B)
{
    return mmap(NULL, reserve_B, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

struct arena *arena_open(size_t reserve_B)
{
    must(sizeof(struct arena) <= ALIGN_B && reserve_B >= ALIGN_B && reserve_B % ALIGN_B == 0);
    struct arena *arena = reserve(reserve_B);
    while (arena == MAP_FAILED && reserve_B > RESERVE_LEAST_B) {
        reserve_B = reserve_B / 2 / ALIGN_B * ALIGN_B;
        arena = reserve(reserve_B);
    }
    if (arena == MAP_FAILED) die("no address space for %zu bytes of memory", reserve_B);
    arena->at = (char *)arena + ALIGN_B;
    arena->end = (char *)arena + reserve_B;
    return arena;
}

void arena_close(struct arena *arena)
{
    char *base = (char *)arena;
    char *end = arena->end;
    unpoison(base, end);
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
    return at;
}

void *arena_alloc_lines(struct arena *arena, int64_t n, size_t size_B)
{
    size_t skew_B = (uintptr_t)arena->at % LINE_B;
    if (skew_B > 0 && (size_t)(arena->end - arena->at) >= LINE_B) arena->at += LINE_B - skew_B;
    return arena_alloc(arena, n, size_B);
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

struct arena arena_upper_half(const struct arena *arena)
{
    size_t half_B = (size_t)(arena->end - arena->at) / 2 / 16 * 16;
    return (struct arena){arena->at + half_B, arena->end};
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
