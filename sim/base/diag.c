#include "base/diag.h"

#include <ctype.h>
#include <string.h>

/* A message is a line for a person: what a hostile file puts in it must not fill the screen or
 * steer the terminal. */
enum { MESSAGE_MAX = 600, WORD_MAX = 48 };

static void make_harmless(char *text)
{
    size_t length = strlen(text);
    if (length > MESSAGE_MAX) memcpy(text + MESSAGE_MAX - 3, "...", 4);
    for (char *c = text; *c != '\0'; c++) {
        if (iscntrl((unsigned char)*c)) *c = '?';
    }
}

static const char *place_text(struct diag_place place, struct arena *perm)
{
    const char *text = place.file ? arena_text(perm, "%s:", place.file) : "";
    if (place.file && place.line > 0) text = arena_text(perm, "%s%d:", text, place.line);
    if (place.file && place.line > 0 && place.column > 0) {
        text = arena_text(perm, "%s%d:", text, place.column);
    }
    if (place.file) text = arena_text(perm, "%s ", text);
    bool has_pointer = place.pointer && place.pointer[0] != '\0';
    return has_pointer ? arena_text(perm, "%s%s: ", text, place.pointer) : text;
}

void diag_error(struct diag *diag, struct diag_place place, const char *format, ...)
{
    if (diag->n_messages++ >= DIAG_MAX) return;
    va_list args;
    va_start(args, format);
    char *what = arena_vtext(diag->perm, format, args);
    va_end(args);
    char *message = arena_text(diag->perm, "%s%s", place_text(place, diag->perm), what);
    make_harmless(message);
    diag->messages[diag->n_messages - 1] = message;
}

bool diag_ok(const struct diag *diag)
{
    return diag->n_messages == 0;
}

bool diag_quiet_since(const struct diag *diag, int n_messages)
{
    return diag->n_messages <= n_messages;
}

void diag_print(const struct diag *diag, FILE *out)
{
    for (int i = 0; i < diag->n_messages && i < DIAG_MAX; i++) {
        fprintf(out, "%s\n", diag->messages[i]);
    }
    if (diag->n_messages > DIAG_MAX) fprintf(out, "... and %d more\n", diag->n_messages - DIAG_MAX);
}

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, changes and swaps of neighbours each cost 1; case costs nothing.
 * Source: optimal string alignment, Damerau, CACM 7(3), 1964. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 1];
    int *above2 = rows[0];
    int *above = rows[1];
    int *row = rows[2];
    int n_b = (int)strlen(b);
    for (int j = 0; j <= n_b; j++) row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int *spare = above2;
        above2 = above;
        above = row;
        row = spare;
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            int change = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            row[j] = least(above[j] + 1, row[j - 1] + 1, change);
            bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                           same_letter(a[i - 2], b[j - 1]);
            if (swapped && above2[j - 2] + 1 < row[j]) row[j] = above2[j - 2] + 1;
        }
    }
    return row[n_b];
}

bool diag_begins(const char *word, const char *candidate)
{
    size_t length = strlen(word);
    return length >= 2 && strncasecmp(candidate, word, length) == 0;
}

/* Of equal distances the longer name is nearer: one half remembered has rather lost letters than won some. */
static int half_slips(int distance, size_t length, const char *candidate)
{
    return 2 * distance - (strlen(candidate) > length);
}

/* One slip in three letters is a typing error; more is another word. */
const char *diag_nearest(const char *word, const char *const *candidates, int n)
{
    size_t length = strlen(word);
    if (length > WORD_MAX) return NULL;
    const char *nearest = NULL;
    int best = 2 * ((int)(length + 2) / 3) + 1;
    for (int i = 0; i < n && !nearest; i++) {
        if (!diag_begins(word, candidates[i])) continue;
        nearest = candidates[i];
        best = 3; /* one slip is nearer */
    }
    for (int i = 0; i < n; i++) {
        if (strlen(candidates[i]) > WORD_MAX) continue;
        int distance = edit_distance(word, candidates[i]);
        int slips = half_slips(distance, length, candidates[i]);
        if (slips < best && distance < (int)length) {
            best = slips;
            nearest = candidates[i];
        }
    }
    return nearest;
}
