#include "out/writer.h"

#include "base/json.h"
#include "base/must.h"

#include <math.h>
#include <string.h>

static void begin_value(struct writer *writer, const char *key)
{
    if (writer->depth > 0) {
        bool *used = &writer->used[writer->depth - 1];
        bool flat = writer->flat[writer->depth - 1];
        if (*used) fputs(flat ? ", " : ",", writer->out);
        if (!flat) fprintf(writer->out, "\n%*s", 2 * writer->depth, "");
        *used = true;
    }
    if (key) {
        json_write_text(writer->out, key);
        fputs(": ", writer->out);
    }
}

static void begin(struct writer *writer, const char *key, const char *brackets, bool flat)
{
    begin_value(writer, key);
    must(writer->depth < WRITER_DEPTH);
    bool inherited = writer->depth > 0 && writer->flat[writer->depth - 1];
    writer->used[writer->depth] = false;
    writer->flat[writer->depth] = flat || inherited;
    writer->close[writer->depth++] = brackets[1];
    fputc(brackets[0], writer->out);
}

void writer_object(struct writer *writer, const char *key)
{
    begin(writer, key, "{}", false);
}

void writer_list(struct writer *writer, const char *key)
{
    begin(writer, key, "[]", false);
}

void writer_flat_list(struct writer *writer, const char *key)
{
    begin(writer, key, "[]", true);
}

void writer_flat_object(struct writer *writer, const char *key)
{
    begin(writer, key, "{}", true);
}

void writer_end(struct writer *writer)
{
    must(writer->depth > 0);
    bool used = writer->used[--writer->depth];
    if (used && !writer->flat[writer->depth]) fprintf(writer->out, "\n%*s", 2 * writer->depth, "");
    fputc(writer->close[writer->depth], writer->out);
    if (writer->depth == 0) fputc('\n', writer->out);
}

void writer_number(struct writer *writer, const char *key, double value)
{
    begin_value(writer, key);
    if (isfinite(value))
        fprintf(writer->out, "%.9g", value);
    else
        fputs("null", writer->out);
}

void writer_fixed(struct writer *writer, const char *key, double value, int decimals)
{
    begin_value(writer, key);
    if (isfinite(value))
        fprintf(writer->out, "%.*f", decimals, value);
    else
        fputs("null", writer->out);
}

void writer_integer(struct writer *writer, const char *key, int64_t value)
{
    begin_value(writer, key);
    fprintf(writer->out, "%lld", (long long)value);
}

void writer_bool(struct writer *writer, const char *key, bool value)
{
    begin_value(writer, key);
    fputs(value ? "true" : "false", writer->out);
}

void writer_text(struct writer *writer, const char *key, const char *value)
{
    begin_value(writer, key);
    if (value)
        json_write_text(writer->out, value);
    else
        fputs("null", writer->out);
}

void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"') fputc('"', out);
        fputc(*c, out);
    }
    fputc('"', out);
}
