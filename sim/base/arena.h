/* The one memory idiom. main opens an arena per run and closes it at the end; nobody else
 * frees. A function that takes `struct arena *perm` may keep what it allocates; one that takes
 * `struct arena scratch` (by value) may not: the caller's copy still points to the old top, so
 * all of it is released on return.
 *
 * Under AddressSanitizer each allocation is followed by poisoned bytes, since an overrun inside
 * one mapping is silent otherwise. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct arena {
    char *at;  /* first free byte */
    char *end; /* one past the last reserved byte */
};

/* arena_open — reserve address space; pages are committed when first touched. Where the system does
 * not give that much (ulimit -v), half, a quarter and so on; dies (exit 2) when even 64 MiB are too
 * much. */
struct arena *arena_open(size_t reserve_B);

/* arena_close — give everything back. */
void arena_close(struct arena *arena);

/* arena_alloc — n objects of size_B bytes, zeroed, aligned to 16. Dies when the reserve is used
 * up or n * size_B overflows. n may be 0 (the result must not be read then). */
void *arena_alloc(struct arena *arena, int64_t n, size_t size_B);

/* arena_new — n zeroed objects of a type: double *x = arena_new(perm, double, n); */
#define arena_new(arena, type, n) ((type *)arena_alloc((arena), (n), sizeof(type)))

/* arena_new_lines — the same, beginning at a cache line, for objects of the size of one. */
#define arena_new_lines(arena, type, n) ((type *)arena_alloc_lines((arena), (n), sizeof(type)))
void *arena_alloc_lines(struct arena *arena, int64_t n, size_t size_B);

/* arena_grow — the first n objects of `old` copied into a new array for `capacity` objects;
 * the old array stays where it is (an arena does not free). */
#define arena_grow(arena, type, old, n, capacity)                                                  \
    ((type *)arena_grow_bytes((arena), (old), (n), (capacity), sizeof(type)))
void *arena_grow_bytes(struct arena *arena, const void *old, int64_t n, int64_t capacity,
                       size_t size_B);

/* arena_upper_half — the upper half of what is left, for what is not kept while the lower goes on growing. */
struct arena arena_upper_half(const struct arena *arena);

/* arena_text — a formatted, terminated copy of a text; arena_vtext from an argument list. */
char *arena_text(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vtext(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
