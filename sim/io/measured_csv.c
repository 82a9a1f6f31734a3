/* CSV: raw rows (base/raw.h), and times of training steps under any header whose name says that it is a
 * time and its unit: step_time_ms, "iteration time (s)", elapsed_us. Optional columns: gpus (n_gpus,
 * world_size) and batch (global_batch, global_batch_size). */
#include "io/measured_formats.h"

#include "base/table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *end;
    double unit_s;
} time_units[] = {{"_us", 1e-6},  {"_ms", 1e-3}, {"_s", 1},   {"(us)", 1e-6},
                  {"(ms)", 1e-3}, {"(s)", 1},    {"_sec", 1}, {"_seconds", 1}};

/* unit of a column of times; 0 = it is none */
static double time_unit_s(const char *name)
{
    size_t length = strlen(name);
    if (!strcasestr(name, "time") && !strcasestr(name, "elapsed") && !strcasestr(name, "duration"))
        return 0;
    for (size_t u = 0; u < sizeof time_units / sizeof *time_units; u++) {
        size_t n = strlen(time_units[u].end);
        if (length > n && !strcasecmp(name + length - n, time_units[u].end))
            return time_units[u].unit_s;
    }
    return 0;
}

static const char *first_line(const char *text, size_t length, char *line, size_t room)
{
    const char *end = memchr(text, '\n', length);
    size_t n = end ? (size_t)(end - text) : length;
    if (n >= room) n = room - 1;
    memcpy(line, text, n);
    line[n] = '\0';
    return line;
}

/* --- steps ------------------------------------------------------------------------------------------ */

bool step_csv_opens(const char *text, size_t length)
{
    char line[1024];
    first_line(text, length, line, sizeof line);
    if (line[0] == '#' || strstr(line, "gpu_key") || strstr(line, "collective")) return false;
    char *rest = line;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        name += strspn(name, " \t\"\xef\xbb\xbf");
        name[strcspn(name, "\"\r")] = '\0';
        if (time_unit_s(name) > 0) return true;
    }
    return false;
}

static int either_column(const struct table *table, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        int column = table_column(table, names[i]);
        if (column >= 0) return column;
    }
    return -1;
}

static int time_column(const struct table *table, double *unit_s)
{
    for (int c = 0; c < table->n_columns; c++) {
        *unit_s = time_unit_s(table->columns[c]);
        if (*unit_s > 0) return c;
    }
    return -1;
}

static double count_in(const struct table *table, int row, int column, double fallback)
{
    double value = 0;
    bool good = reading_number(table_cell(table, row, column), &value);
    return good && value >= 1 && value < 1e9 ? value : fallback;
}

static void read_steps(struct reading *reading, const struct table *table)
{
    static const char *const gpus[] = {"gpus", "n_gpus", "world_size", NULL};
    static const char *const batches[] = {"batch", "global_batch", "global_batch_size", NULL};
    double unit_s = 0;
    int time = time_column(table, &unit_s);
    int ranks = either_column(table, gpus);
    int batch = either_column(table, batches);
    if (time < 0) {
        reading_error(reading, "has no column of times with their unit, such as step_time_ms");
        return;
    }
    for (int r = 0; r < table->n_rows; r++) {
        double value = 0;
        reading->line = table->lines[r];
        if (!reading_number(table_cell(table, r, time), &value)) {
            reading_skip(reading, "rows with something that is no usable number");
            continue;
        }
        struct raw_row row = {.benchmark = "step",
                              .dtype = "",
                              .layout = "",
                              .note = "",
                              .batch = (int64_t)count_in(table, r, batch, reading->options->batch),
                              .n_ranks = (int)count_in(table, r, ranks, reading->options->n_ranks),
                              .ranks_per_node = reading->options->ranks_per_node,
                              .time_s = unit_s * value,
                              .repeats = 1,
                              .check = -1};
        reading_row(reading, &row);
    }
}

void step_csv_whole(struct reading *reading, const char *text, size_t length)
{
    const struct table *table =
        table_read_text(reading->file, text, length, reading->perm, reading->diag);
    reading->line = 1;
    if (table) read_steps(reading, table);
}

/* --- raw rows --------------------------------------------------------------------------------------- */

bool raw_csv_opens(const char *text, size_t length)
{
    char line[1024];
    first_line(text, length, line, sizeof line);
    return !strncmp(line, "# raw:", 6);
}

void raw_csv_whole(struct reading *reading, const char *text, size_t length)
{
    const struct raw *raw =
        raw_read_text(reading->file, text, length, reading->perm, reading->diag);
    if (!raw) return;
    for (int h = 0; h < raw->n_heads; h++)
        reading_head(reading, raw->heads[h].key, raw->heads[h].value);
    for (int r = 0; r < raw->n_rows; r++) {
        reading->line = raw->rows[r].line;
        reading_row(reading, &raw->rows[r]);
    }
}
