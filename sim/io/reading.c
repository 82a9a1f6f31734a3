#include "io/reading.h"

#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* what a measurement can be: a nanosecond to eleven days, up to a petabyte. What is outside is a slip of
 * units or no number at all. */
static const double TIME_MIN_S = 1e-9, TIME_MAX_S = 1e6, SIZE_MAX_B = 1e15;

/* bounds within which products and quotients of a few numbers stay finite */
static const double NUMBER_MIN = 1e-18, NUMBER_MAX = 1e18;

/* --- handing on ------------------------------------------------------------------------------- */

void reading_skip(struct reading *reading, const char *what)
{
    int i = 0;
    while (i < reading->n_skips && strcmp(reading->skips[i].what, what) != 0) i++;
    if (i == READING_SKIPS) i = READING_SKIPS - 1;
    if (i == reading->n_skips)
        reading->skips[reading->n_skips++] = (struct reading_skip){what, 0, reading->line};
    reading->skips[i].n++;
}

static bool is_possible(struct reading *reading, const struct raw_row *row)
{
    if (!(row->time_s > 0) || !isfinite(row->time_s))
        reading_skip(reading, "rows without a positive time");
    else if (row->time_s < TIME_MIN_S || row->time_s > TIME_MAX_S)
        reading_skip(reading, "rows with a time below 1 ns or above 10^6 s: wrong units?");
    else if (!(row->size_B >= 0 && row->size_B <= SIZE_MAX_B))
        reading_skip(reading, "rows with a size below 0 or above 1 PB: wrong units?");
    else if (reading->n_rows == READING_ROWS)
        reading_skip(reading, "rows beyond the first 1048576");
    else
        return true;
    return false;
}

void reading_row(struct reading *reading, const struct raw_row *row)
{
    if (!is_possible(reading, row)) return;
    if (reading->n_rows == reading->capacity) {
        int wanted = 2 * reading->capacity + 64;
        reading->rows =
            arena_grow(reading->perm, struct raw_row, reading->rows, reading->n_rows, wanted);
        reading->capacity = wanted;
    }
    struct raw_row *kept = &reading->rows[reading->n_rows++];
    *kept = *row;
    kept->line = reading->line;
}

void reading_head(struct reading *reading, const char *key, const char *value)
{
    if (value[0] == '\0') return;
    for (int i = 0; i < reading->n_heads; i++) {
        if (!strcmp(reading->heads[i].key, key)) return;
    }
    if (reading->n_heads == READING_HEADS) return;
    char *kept = arena_text(reading->perm, "%s", value);
    for (char *c = kept; *c; c++) {
        if (iscntrl((unsigned char)*c)) *c = ' ';
    }
    reading->heads[reading->n_heads++] = (struct raw_head){key, kept};
}

void reading_error(struct reading *reading, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *what = arena_vtext(reading->perm, format, args);
    va_end(args);
    diag_error(reading->diag, (struct diag_place){.file = reading->file, .line = reading->line},
               "%s", what);
}

/* --- words ------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int reading_words(char *line, char **words)
{
    int n = 0;
    while (n < READING_COLUMNS) {
        while (is_blank(*line)) line++;
        if (*line == '\0') break;
        words[n++] = line;
        while (*line && !is_blank(*line)) line++;
        if (*line == '\0') break;
        *line++ = '\0';
    }
    return n;
}

static bool ends_field(const char *at)
{
    return at[0] == '\0' || at[0] == '\t' || at[0] == '\r' ||
           (is_blank(at[0]) && is_blank(at[1])) || (is_blank(at[0]) && at[1] == '\0');
}

int reading_fields(char *line, char **fields)
{
    int n = 0;
    while (n < READING_COLUMNS) {
        while (is_blank(*line)) line++;
        if (*line == '\0') break;
        fields[n++] = line;
        while (!ends_field(line)) line++;
        if (*line == '\0') break;
        *line++ = '\0';
    }
    return n;
}

bool reading_number(const char *word, double *value)
{
    const char *end = NULL;
    if (!unit_number(word, &end, value) || *end != '\0' || fabs(*value) > NUMBER_MAX) return false;
    if (fabs(*value) < NUMBER_MIN) *value = 0;
    return true;
}

int reading_count(const char *text)
{
    errno = 0;
    long value = strtol(text, NULL, 10);
    return errno == 0 && value > 0 && value <= READING_COUNT ? (int)value : 0;
}

/* "2024-05-01T12:00:00.123Z " as containers put before each line */
static char *after_time(char *line)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    for (size_t i = 0; form[i]; i++) {
        bool digit = isdigit((unsigned char)line[i]) != 0;
        if (form[i] == 'd' ? !digit : line[i] != form[i]) return line;
    }
    char *blank = strchr(line, ' ');
    return blank ? blank + 1 : line;
}

/* "> > " of what is quoted in a thread */
static char *after_quotes(char *line)
{
    while (line[0] == '>' && (line[1] == ' ' || line[1] == '\0' || line[1] == '>'))
        line += 1 + (line[1] == ' ');
    return line;
}

/* after_rank — "3: " of srun, "[3] " of torchrun and of launchers that tag; the line itself without. */
static char *after_rank(char *line)
{
    char *at = line;
    while (is_blank(*at)) at++;
    bool boxed = *at == '[';
    char *digits = at + boxed;
    char *end = digits;
    while (isdigit((unsigned char)*end)) end++;
    if (end == digits || *end != (boxed ? ']' : ':') || !is_blank(end[1])) return line;
    return end + 2;
}

char *reading_plain(char *line)
{
    char *at = after_time(after_quotes(line));
    if (at[0] == '[') {
        char *tag = strstr(at, ">:");
        char *name = strstr(at, "]<std");
        if (name && tag && name < tag) return tag + 2 + (tag[2] == ' ');
    }
    return after_rank(at);
}

/* --- lines ------------------------------------------------------------------------------------- */

struct lines *lines_open(const char *file, struct arena *perm, struct diag *diag)
{
    FILE *in = strcmp(file, "-") != 0 ? fopen(file, "rb") : stdin;
    if (!in) {
        diag_error(diag, (struct diag_place){.file = file}, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    struct lines *lines = arena_new(perm, struct lines, 1);
    *lines = (struct lines){.in = in, .room = READING_LINE_B};
    lines->buffer = arena_alloc(perm, READING_LINE_B + 1, 1);
    return lines;
}

struct lines *lines_open_text(const char *text, size_t length, struct arena *perm)
{
    struct lines *lines = arena_new(perm, struct lines, 1);
    *lines = (struct lines){.room = length, .end = length, .ended = true};
    lines->buffer = arena_alloc(perm, (int64_t)length + 1, 1);
    memcpy(lines->buffer, text, length);
    return lines;
}

void lines_close(struct lines *lines)
{
    if (lines->in && lines->in != stdin) fclose(lines->in);
    lines->in = NULL;
}

static void fill(struct lines *lines)
{
    if (lines->ended) return;
    memmove(lines->buffer, lines->buffer + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    size_t got = fread(lines->buffer + lines->end, 1, lines->room - lines->end, lines->in);
    lines->end += got;
    if (lines->end < lines->room) lines->ended = true;
}

static char *find_end(const struct lines *lines)
{
    return memchr(lines->buffer + lines->at, '\n', lines->end - lines->at);
}

/* drop_line — the rest of a line that does not fit. */
static void drop_line(struct lines *lines)
{
    char *end = NULL;
    while (!(end = find_end(lines)) && !lines->ended) {
        lines->at = lines->end;
        fill(lines);
    }
    lines->at = end ? (size_t)(end - lines->buffer) + 1 : lines->end;
}

enum line_state lines_next(struct lines *lines, char **line)
{
    char *end = find_end(lines);
    if (!end) {
        fill(lines);
        end = find_end(lines);
    }
    if (lines->at == lines->end) return LINE_END;
    lines->number++;
    bool cut = !end && !lines->ended;
    char *start = lines->buffer + lines->at;
    if (cut || (end ? end : lines->buffer + lines->end) - start > READING_LINE_B) {
        drop_line(lines);
        return LINE_LONG;
    }
    if (!end) end = lines->buffer + lines->end;
    lines->at = (size_t)(end - lines->buffer) + (end < lines->buffer + lines->end);
    *end = '\0';
    *line = start;
    return memchr(start, '\0', (size_t)(end - start)) ? LINE_BINARY : LINE_GOOD;
}

const char *lines_peek(struct lines *lines, size_t *length)
{
    fill(lines);
    *length = lines->end - lines->at;
    return lines->buffer + lines->at;
}

const char *lines_rest(struct lines *lines, size_t *length, struct arena *perm)
{
    size_t n = lines->end - lines->at;
    if (n > READING_TEXT_B) return NULL;
    size_t room = 2 * n + READING_LINE_B;
    char *text = arena_alloc(perm, (int64_t)room + 1, 1);
    memcpy(text, lines->buffer + lines->at, n);
    lines->at = lines->end;
    while (!lines->ended) {
        size_t got = fread(text + n, 1, room - n, lines->in);
        n += got;
        lines->ended = n < room;
        if (n > READING_TEXT_B) return NULL;
        if (lines->ended) break;
        text = arena_grow(perm, char, text, (int64_t)n, 2 * (int64_t)room + 1);
        room *= 2;
    }
    text[n] = '\0';
    *length = n;
    return text;
}
