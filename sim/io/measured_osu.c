/* OSU micro-benchmarks:
 *
 *   # OSU MPI Allreduce Latency Test v7.3
 *   # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
 *   4                       5.32              4.95              5.71        1000
 *
 * Times in us, bandwidths in MB/s (10^6). Names of columns are at least two blanks apart. A bandwidth is
 * that of a window of messages under way at once; bi-directional ones count both ways.
 * All-gather, all-to-all, gather and scatter count what a rank sends to one other; raw rows, as nccl-tests, the
 * whole. Those with a v have equal parts here. One-sided operations (MPI_Put, MPI_Get) are no messages of two sides.
 * Source: OMB user guide and util/osu_util.c, mvapich.cse.ohio-state.edu/benchmarks. */
#include "io/measured_formats.h"

#include <stdlib.h>
#include <string.h>

enum role {
    ROLE_SIZE,
    ROLE_TIME,
    ROLE_LOW,
    ROLE_HIGH,
    ROLE_BANDWIDTH,
    ROLE_ITERATIONS,
    ROLE_OTHER
};

static const double MB = 1e6;

struct osu_test {
    const char *name, *benchmark;
    bool per_peer; /* its sizes are of one block of n */
    double ways;   /* directions that its bandwidth counts */
};
static const struct osu_test tests[] = {
    {"Allreduce Latency", "all_reduce", false, 1},
    {"Reduce_scatter Latency", "reduce_scatter", false, 1},
    {"Allgather Latency", "all_gather", true, 1},
    {"Allgatherv Latency", "all_gather", true, 1},
    {"Gather Latency", "gather", true, 1},
    {"Gatherv Latency", "gather", true, 1},
    {"Scatter Latency", "scatter", true, 1},
    {"Scatterv Latency", "scatter", true, 1},
    {"Broadcast Latency", "broadcast", false, 1},
    {"Bcast Latency", "broadcast", false, 1},
    {"Reduce Latency", "reduce", false, 1},
    {"All-to-All Personalized Exchange Latency", "all_to_all", true, 1},
    {"All-to-Allv Personalized Exchange Latency", "all_to_all", true, 1},
    {"Alltoall Latency", "all_to_all", true, 1},
    {"Bi-Directional Bandwidth", "message_both_ways", false, 2},
    {"Bandwidth", "message_stream", false, 1},
    {"Latency", "ping_pong", false, 1},
};

struct osu {
    const struct osu_test *test; /* NULL: none yet, or one that is not read */
    enum role roles[READING_COLUMNS];
    int n_columns;
};

/* the words between "OSU MPI" (or "OSU MPI-CUDA", "OSU NCCL") and "Test" */
static const struct osu_test *test_of(const char *line)
{
    const char *library = strstr(line, "OSU ") + 4; /* "MPI", "MPI-CUDA", "NCCL" */
    const char *name = strncmp(library, "MPI_", 4) != 0 ? strchr(library, ' ') : NULL;
    const char *end = name ? strstr(name, " Test") : NULL;
    for (size_t t = 0; end && t < sizeof tests / sizeof *tests; t++) {
        size_t length = strlen(tests[t].name);
        if ((size_t)(end - name - 1) == length && !strncmp(name + 1, tests[t].name, length))
            return &tests[t];
    }
    return NULL;
}

static enum role role_of(const char *name)
{
    static const struct {
        const char *name;
        enum role role;
    } names[] = {{"Size", ROLE_SIZE},
                 {"Latency (us)", ROLE_TIME},
                 {"Latency(us)", ROLE_TIME},
                 {"Avg Latency(us)", ROLE_TIME},
                 {"Avg Lat(us)", ROLE_TIME},
                 {"Min Latency(us)", ROLE_LOW},
                 {"Max Latency(us)", ROLE_HIGH},
                 {"Bandwidth (MB/s)", ROLE_BANDWIDTH},
                 {"Bandwidth(MB/s)", ROLE_BANDWIDTH},
                 {"Iterations", ROLE_ITERATIONS}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i].name, name)) return names[i].role;
    }
    return ROLE_OTHER;
}

static void read_head(struct reading *reading, struct osu *osu, char *line)
{
    char *fields[READING_COLUMNS];
    bool measures = false;
    osu->n_columns = reading_fields(line + 1, fields);
    for (int c = 0; c < osu->n_columns; c++) {
        osu->roles[c] = role_of(fields[c]);
        measures |= osu->roles[c] == ROLE_TIME || osu->roles[c] == ROLE_BANDWIDTH;
    }
    if (!measures)
        reading_error(reading, "no column of known name and unit in the head (Latency (us), "
                               "Avg Latency(us), Bandwidth (MB/s))");
}

static void read_comment(struct reading *reading, struct osu *osu, char *line)
{
    if (strstr(line, "OSU ") && strstr(line, " Test")) {
        osu->test = test_of(line);
        osu->n_columns = 0;
        reading_head(reading, "tool", line + strspn(line, "# "));
        if (!osu->test) reading_skip(reading, "tests of kinds that are not read");
    } else if (!strncmp(line, "# Size", 6) && osu->test) {
        read_head(reading, osu, line);
    }
}

static void note_number(const struct osu *osu, enum role role, double value, struct raw_row *row)
{
    if (role == ROLE_SIZE) row->size_B = value;
    if (role == ROLE_TIME) row->time_s = 1e-6 * value;
    if (role == ROLE_ITERATIONS && value > 0 && value < 1e9) row->repeats = (int)value;
    if (role == ROLE_BANDWIDTH && value > 0)
        row->time_s = osu->test->ways * row->size_B / (value * MB);
}

static bool read_numbers(const struct osu *osu, char *const *words, struct raw_row *row)
{
    for (int c = 0; c < osu->n_columns; c++) {
        double value = 0;
        if (osu->roles[c] == ROLE_OTHER) continue;
        if (!reading_number(words[c], &value)) return false;
        note_number(osu, osu->roles[c], value, row);
    }
    return true;
}

static void read_row(struct reading *reading, const struct osu *osu, char *line)
{
    char *words[READING_COLUMNS];
    const struct reading_options *options = reading->options;
    if (!osu->test || osu->n_columns == 0) {
        reading_skip(reading, "rows of tests that are not read");
        return;
    }
    bool pair = raw_find(osu->test->benchmark)->class == RAW_LINK;
    struct raw_row row = {.benchmark = osu->test->benchmark,
                          .dtype = "",
                          .layout = "",
                          .note = "",
                          .n_ranks = pair ? 2 : options->n_ranks,
                          .ranks_per_node = options->ranks_per_node,
                          .check = -1};
    if (reading_words(line, words) != osu->n_columns) {
        reading_skip(reading, "rows with fewer or more columns than their head");
    } else if (!read_numbers(osu, words, &row)) {
        reading_skip(reading, "rows with something that is no usable number");
    } else if (!(row.size_B > 0)) {
        reading_skip(reading, "rows of size 0");
    } else if (osu->test->per_peer && row.n_ranks == 0) {
        reading_skip(reading, "rows whose sizes are per rank, of unknown ranks (--ranks N tells)");
    } else {
        if (osu->test->per_peer) row.size_B *= row.n_ranks;
        reading_row(reading, &row);
    }
}

bool osu_claims(const char *line)
{
    return line[0] == '#' && strstr(line, "OSU ") && strstr(line, " Test");
}

void osu_line(struct reading *reading, char *line)
{
    struct osu *osu = reading->state;
    while (*line == ' ' || *line == '\t') line++;
    if (line[0] == '#')
        read_comment(reading, osu, line);
    else if (line[0] >= '0' && line[0] <= '9')
        read_row(reading, osu, line);
    else if (line[0] != '\0' && line[0] != '\r')
        reading_skip(reading, "lines that are neither comment nor row");
}

void osu_end(struct reading *reading)
{
    (void)reading;
}
