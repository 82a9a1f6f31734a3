/* perftest:
 *
 *                       RDMA_Write BW Test
 *    #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 *    65536      5000             391.62             391.57             0.746864
 *
 * Its unit stands in the head's brackets: MB/sec and MiB/sec are both 2^20 bytes, Gb/sec (--report_gbits)
 * 10^9 bits. Latencies are of one way, but of a read there and back. A bidirectional test counts both
 * ways. Source: github.com/linux-rdma/perftest, src/perftest_parameters.h and .c. */
#include "io/measured_formats.h"

#include <stdlib.h>
#include <string.h>

enum role { ROLE_SIZE, ROLE_TIME, ROLE_TIME_AVERAGE, ROLE_BANDWIDTH, ROLE_ITERATIONS, ROLE_OTHER };

static const struct {
    const char *unit;
    double Bps;
} rates[] = {{"MB/sec", 0x1p20}, {"MiB/sec", 0x1p20}, {"Gb/sec", 1e9 / 8}};

struct perftest {
    bool both_ways, read, atomic;
    enum role roles[READING_COLUMNS];
    int n_columns;
    double unit_Bps;
};

static bool is_atomic(const char *name)
{
    return !strncmp(name, "Atomic ", 7);
}

static bool is_title(const char *line)
{
    const char *name = line + strspn(line, " \t");
    return (!strncmp(name, "RDMA_", 5) || !strncmp(name, "Send ", 5) || is_atomic(name)) &&
           (strstr(name, " BW Test") || strstr(name, " Latency Test"));
}

static bool is_head(const char *line)
{
    return line[strspn(line, " ")] == '#' && strstr(line, "#bytes") && strstr(line, "#iterations");
}

static enum role role_of(const char *name)
{
    if (!strcmp(name, "#bytes")) return ROLE_SIZE;
    if (!strcmp(name, "#iterations")) return ROLE_ITERATIONS;
    if (!strcmp(name, "t_typical[usec]")) return ROLE_TIME;
    if (!strcmp(name, "t_avg[usec]")) return ROLE_TIME_AVERAGE;
    if (!strncmp(name, "average[", 8)) return ROLE_BANDWIDTH;
    return ROLE_OTHER;
}

/* the first word of names that are two words: "BW average[MB/sec]", "99% percentile[usec]" */
static bool begins_name(const char *word)
{
    return !strcmp(word, "BW") || !strcmp(word, "tps") || word[strlen(word) - 1] == '%';
}

static double unit_of(const char *name)
{
    const char *open = strchr(name, '[');
    for (size_t r = 0; open && r < sizeof rates / sizeof *rates; r++) {
        size_t length = strlen(rates[r].unit);
        if (!strncmp(open + 1, rates[r].unit, length) && open[1 + length] == ']')
            return rates[r].Bps;
    }
    return 0;
}

static void read_head(struct reading *reading, struct perftest *test, char *line)
{
    char *words[READING_COLUMNS];
    int n = reading_words(line, words);
    bool measures = false;
    test->n_columns = 0;
    for (int w = 0; w < n; w++) {
        if (begins_name(words[w]) && w + 1 < n) w++;
        enum role role = role_of(words[w]);
        test->roles[test->n_columns++] = role;
        measures |= role == ROLE_TIME || role == ROLE_TIME_AVERAGE || role == ROLE_BANDWIDTH;
        if (role != ROLE_BANDWIDTH) continue;
        test->unit_Bps = unit_of(words[w]);
        if (test->unit_Bps > 0) continue;
        reading_error(reading, "unit of %.30s (known: MB/sec, MiB/sec, Gb/sec)", words[w]);
        test->unit_Bps = 1; /* the file is refused already */
    }
    if (!measures) reading_error(reading, "no column of an average rate or a typical time in usec");
}

/* note_number — a typical time counts before an average one. */
static void note_number(const struct perftest *test, enum role role, double value,
                        struct raw_row *row)
{
    double ways = test->both_ways ? 2 : 1;
    if (role == ROLE_SIZE) row->size_B = value;
    if (role == ROLE_ITERATIONS && value > 0 && value < 1e9) row->repeats = (int)value;
    if (role == ROLE_TIME) row->time_s = 1e-6 * value;
    if (role == ROLE_TIME_AVERAGE && row->time_s <= 0) row->time_s = 1e-6 * value;
    if (role == ROLE_BANDWIDTH && value > 0)
        row->time_s = ways * row->size_B / (value * test->unit_Bps);
}

static bool read_numbers(const struct perftest *test, char *const *words, struct raw_row *row)
{
    for (int c = 0; c < test->n_columns; c++) {
        double value = 0;
        if (test->roles[c] == ROLE_OTHER) continue;
        if (!reading_number(words[c], &value)) return false;
        note_number(test, test->roles[c], value, row);
    }
    return true;
}

static void read_row(struct reading *reading, const struct perftest *test, char *line)
{
    char *words[READING_COLUMNS];
    bool window = test->unit_Bps > 0;
    const char *stream = test->both_ways ? "message_both_ways" : "message_stream";
    struct raw_row row = {.benchmark = window ? stream : "ping_pong",
                          .dtype = "",
                          .layout = "",
                          .note = test->read && !window ? "read: there and back" : "",
                          .n_ranks = 2,
                          .ranks_per_node = 1,
                          .check = -1};
    if (test->atomic)
        reading_skip(reading, "rows of atomic operations, which are no messages");
    else if (test->n_columns == 0)
        reading_skip(reading, "rows before any head");
    else if (reading_words(line, words) != test->n_columns)
        reading_skip(reading, "rows with fewer or more columns than their head");
    else if (!read_numbers(test, words, &row))
        reading_skip(reading, "rows with something that is no usable number");
    else if (!(row.size_B > 0))
        reading_skip(reading, "rows of size 0");
    else
        reading_row(reading, &row);
}

bool perftest_claims(const char *line)
{
    return is_title(line) || is_head(line);
}

void perftest_line(struct reading *reading, char *line)
{
    struct perftest *test = reading->state;
    while (*line == ' ' || *line == '\t') line++;
    if (is_title(line)) {
        *test = (struct perftest){.both_ways = strstr(line, "Bidirectional") != NULL,
                                  .read = strstr(line, "RDMA_Read") != NULL,
                                  .atomic = is_atomic(line)};
        reading_head(reading, "tool", arena_text(reading->perm, "perftest, %s", line));
    } else if (is_head(line)) {
        test->unit_Bps = 0;
        read_head(reading, test, line);
    } else if (line[0] >= '0' && line[0] <= '9') {
        read_row(reading, test, line);
    } else if (strstr(line, "Device") && strchr(line, ':')) {
        const char *name = strrchr(line, ':') + 1;
        reading_head(reading, "nic", name + strspn(name, " \t"));
    }
}

void perftest_end(struct reading *reading)
{
    (void)reading;
}
