#include "base/arena.h"

#include "base/must.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { REDZONE_B = 16 };
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
enum { REDZONE_B = 16 };
#define ARENA_POISONS
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define ARENA_POISONS
#endif
#ifndef ARENA_POISONS
enum { REDZONE_B = 0 };
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

enum { ALIGN_B = 16 };

struct arena *arena_open(size_t reserve_B)
{
    void *base = mmap(NULL, reserve_B, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) die("no address space for %zu bytes of memory", reserve_B);
    struct arena *arena = base;
    *arena = (struct arena){.at = (char *)base + ALIGN_B, .end = (char *)base + reserve_B};
    must(sizeof *arena <= ALIGN_B);
    return arena;
}

void arena_close(struct arena *arena)
{
    char *base = (char *)arena;
    size_t reserve_B = (size_t)(arena->end - base);
    ASAN_UNPOISON_MEMORY_REGION(base, reserve_B);
    munmap(base, reserve_B);
}

void *arena_alloc(struct arena *arena, int64_t n, size_t size_B)
{
    must(n >= 0 && size_B > 0);
    size_t left_B = (size_t)(arena->end - arena->at);
    if ((uint64_t)n > (left_B - 2 * ALIGN_B - REDZONE_B) / size_B || left_B < 64) {
        die("out of memory: %lld objects of %zu bytes wanted, %zu bytes left", (long long)n, size_B,
            left_B);
    }
    size_t bytes = (size_t)n * size_B;
    char *at = arena->at;
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    memset(at, 0, bytes);
    size_t step_B = (bytes + REDZONE_B + ALIGN_B - 1) / ALIGN_B * ALIGN_B;
    ASAN_POISON_MEMORY_REGION(at + bytes, step_B - bytes);
    arena->at = at + step_B;
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
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    must(length >= 0);
    char *text = arena_alloc(arena, length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
