/* nccl-tests' text. Three eras, told apart by the names in their heads alone:
 *
 *   2017            #  bytes  N  type  op           time algbw busbw res     time algbw busbw res
 *   2.9             #  size  count  type  redop     time algbw busbw error   time ...
 *   2.13 and later  #  size  count  type  redop root   time algbw busbw #wrong   time ...
 *                   with -T a last column timestamp, with per-iteration times i_min .. i_cv% in each block
 *
 * One block of columns or two: out of place, then in place. Bytes, elements, us and GB/s. Pages eat the
 * "#" of heads and comments, and who quotes a table may cut its second block.
 *
 * Until 2.8 all-gather and reduce-scatter print as algbw what each rank gets from the others, (n - 1) / n
 * of size / time, and the same as busbw.
 * Source: github.com/NVIDIA/nccl-tests, src/common.cu and src/util.cu of these versions. */
#include "io/measured_formats.h"

#include "collectives/coll.h"
#include "io/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum role {
    ROLE_SIZE,
    ROLE_COUNT,
    ROLE_TYPE,
    ROLE_OP,
    ROLE_ROOT,
    ROLE_TIME,
    ROLE_ALGBW,
    ROLE_BUSBW,
    ROLE_WRONG,
    ROLE_ERROR,
    ROLE_OTHER
};
enum { N_BLOCKS = 2, HOST_MAX = 64, N_HOSTS_MAX = 8192 };

/* Before 2.13 the largest difference was printed instead of a count: sums of floats in another order differ by
 * 1e-7. Source: NVIDIA/nccl-tests, deltaMaxValue of half, the coarsest type that old versions check. */
static const double ERROR_MOST = 1e-2;

/* rounding of what is printed with two decimals, and of times with three digits */
static const double BANDWIDTH_ROUND = 0.011, BANDWIDTH_SLACK = 0.03;

/* what a section, one run of a program, has told so far */
struct nccl {
    enum role roles[READING_COLUMNS];
    int n_columns;  /* 0: no head yet */
    int n_trailing; /* columns after the blocks */
    const char *collective, *foreign;
    int first_row; /* of the section */
    int n_iterations, n_gpus_told, n_ranks, group;
    int n_gpus; /* of a thread; 0: not told */
    const char **hosts;
    int n_hosts;
    bool too_many_hosts;
    struct nccl_ratio ratio;
    double bus_sum, average;
    int n_bus;
    bool op_told, sums, rooted;
    bool shares; /* algbw is what each rank gets from the others */
};

/* --- names that several formats share ------------------------------------------------------------- */

static const struct {
    const char *part, *collective;
} programs[] = {
    {"all_reduce", "all_reduce"},
    {"allreduce", "all_reduce"},
    {"reduce_scatter", "reduce_scatter"},
    {"reducescatter", "reduce_scatter"},
    {"all_gather", "all_gather"},
    {"allgather", "all_gather"},
    {"alltoall", "all_to_all"},
    {"all_to_all", "all_to_all"},
    {"broadcast", "broadcast"},
    {"sendrecv", "send_recv"},
    {"reduce_perf", "reduce"},
};

const char *nccl_collective(const char *name)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strstr(name, programs[i].part)) return programs[i].collective;
    }
    return NULL;
}

/* nccl-tests has programs of collectives that are not predicted */
static const char *foreign_of(const char *line)
{
    static const char *const foreign[] = {"gather_perf", "scatter_perf", "hypercube_perf"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (!nccl_collective(line) && strstr(line, foreign[i])) return foreign[i];
    }
    return NULL;
}

const char *nccl_type(const char *name)
{
    static const struct {
        const char *theirs, *ours;
    } types[] = {{"float", "fp32"},  {"half", "fp16"},    {"bfloat16", "bf16"},
                 {"double", "fp64"}, {"f8e4m3", "fp8"},   {"fp8_e4m3", "fp8"},
                 {"f8e5m2", "fp8"},  {"fp8_e5m2", "fp8"}, {"int8", "int8"},
                 {"uint8", "uint8"}, {"int32", "int32"},  {"uint32", "uint32"},
                 {"int64", "int64"}, {"uint64", "uint64"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(types[i].theirs, name)) return types[i].ours;
    }
    return "";
}

/* ways_of — of a rank's port: busbw / algbw is 2 (n - 1) / n, (n - 1) / n, or 1 whatever n is (0 ways),
 * see row_bus_factor. */
static int ways_of(const char *collective)
{
    if (!strcmp(collective, "all_reduce")) return 2;
    return !strcmp(collective, "reduce_scatter") || !strcmp(collective, "all_gather") ||
           !strcmp(collective, "all_to_all");
}

int nccl_ranks(const char *collective, double factor)
{
    int ways = ways_of(collective);
    if (ways == 0) return 0;
    double share = factor / ways;
    if (!(share > 0.4 && share < 0.9)) return 0; /* more ranks than ten are lost in the rounding */
    return (int)lround(1 / (1 - share));
}

void nccl_ratio_add(const struct reading *reading, struct nccl_ratio *ratio, double algbw,
                    double busbw)
{
    if (algbw > ratio->algbw) *ratio = (struct nccl_ratio){algbw, busbw / algbw, reading->line};
}

static void add_note(struct reading *reading, const char *text)
{
    reading->note = reading->note ? arena_text(reading->perm, "%s; %s", reading->note, text) : text;
}

void nccl_check_ranks(struct reading *reading, const struct nccl_ratio *ratio,
                      const char *collective, int n_ranks)
{
    int ways = ways_of(collective);
    if (ways == 0 || n_ranks < 1 || ratio->algbw <= 0) return;
    double wanted = ways * (n_ranks - 1.0) / n_ranks;
    double rounding = BANDWIDTH_ROUND * (1 + ratio->factor) / ratio->algbw;
    if (fabs(ratio->factor - wanted) <= rounding) return;
    double left = 1 - ratio->factor / ways; /* 1 / n */
    const char *says = left > 0.0 && left < 1.0
                           ? arena_text(reading->perm, "says %ld ranks", lround(1 / left))
                           : "no number of ranks gives";
    add_note(reading,
             arena_text(reading->perm,
                        "line %d: busbw is %.4g times algbw, which %s; %s %d, which gives %.4g "
                        "(--ranks says how many took part)",
                        ratio->line, ratio->factor, says,
                        reading->options->n_ranks > 0 ? "--ranks is" : "the head names", n_ranks,
                        wanted));
}

/* --- the head -------------------------------------------------------------------------------------- */

static enum role role_of(const char *name)
{
    static const struct {
        const char *name;
        enum role role;
    } names[] = {{"size", ROLE_SIZE},    {"bytes", ROLE_SIZE},  {"count", ROLE_COUNT},
                 {"N", ROLE_COUNT},      {"type", ROLE_TYPE},   {"redop", ROLE_OP},
                 {"op", ROLE_OP},        {"root", ROLE_ROOT},   {"time", ROLE_TIME},
                 {"cputime", ROLE_TIME}, {"algbw", ROLE_ALGBW}, {"busbw", ROLE_BUSBW},
                 {"#wrong", ROLE_WRONG}, {"error", ROLE_ERROR}, {"res", ROLE_ERROR}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i].name, name)) return names[i].role;
    }
    return ROLE_OTHER;
}

static const char *after_mark(const char *line)
{
    line += line[0] == '#';
    while (*line == ' ' || *line == '\t') line++;
    return line;
}

/* is_head — also of one whose "#" a page has eaten: then it begins with the first column's name. */
static bool is_head(const char *line)
{
    const char *name = after_mark(line);
    bool begins = !strncmp(name, "size ", 5) || !strncmp(name, "bytes ", 6);
    return (line[0] == '#' || begins) && strstr(line, "time ") && strstr(line, "algbw") &&
           strstr(line, "busbw") && (strstr(line, "size") || strstr(line, "bytes"));
}

/* is_bare — a comment of these tests whose "#" a page has eaten. */
static bool is_bare(const char *line)
{
    static const char *const begins[] = {"nThread ", "Avg bus", "Out of bounds", "(B)"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (!strncmp(line, begins[i], strlen(begins[i]))) return true;
    }
    return is_head(line) || (!strncmp(line, "Rank ", 5) && strstr(line, " device "));
}

static void read_head(struct nccl *nccl, char *line)
{
    char *words[READING_COLUMNS];
    int n = reading_words(line + (line[0] == '#'), words);
    nccl->n_columns = n;
    nccl->n_trailing = 0;
    for (int c = 0; c < n; c++) {
        nccl->roles[c] = role_of(words[c]);
        nccl->n_trailing += !strcmp(words[c], "timestamp");
    }
}

/* the line below: "(B) (elements) (us) (GB/s) (GB/s) (us) ..." */
static void check_units(struct reading *reading, char *line)
{
    static const char *const known[] = {"(B)", "(elements)", "(us)", "(GB/s)", "(%)"};
    char *words[READING_COLUMNS];
    int n = reading_words(line + (line[0] == '#'), words);
    for (int i = 0; i < n; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(words[i], known[k]) != 0) k++;
        if (k == sizeof known / sizeof *known && words[i][0] == '(')
            reading_error(reading, "unit %.20s in the head (known: (B), (elements), (us), (GB/s))",
                          words[i]);
    }
}

/* --- what comments tell ----------------------------------------------------------------------------- */

static int number_after(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    return at ? reading_count(at + strlen(word)) : 0;
}

static void note_host(struct reading *reading, struct nccl *nccl, const char *host)
{
    if (nccl->too_many_hosts) return;
    for (int h = nccl->n_hosts - 1; h >= 0; h--) {
        if (!strcmp(nccl->hosts[h], host)) return;
    }
    if (!nccl->hosts) nccl->hosts = arena_new(reading->perm, const char *, N_HOSTS_MAX);
    nccl->too_many_hosts = nccl->n_hosts == N_HOSTS_MAX;
    if (!nccl->too_many_hosts) nccl->hosts[nccl->n_hosts++] = arena_text(reading->perm, "%s", host);
}

/* "#  Rank  0 Group  0 Pid  12345 on   node-1 device  0 [0x07] NVIDIA H100 80GB HBM3"; ranks of other
 * groups than the first belong to other communicators. */
static bool read_rank(struct reading *reading, struct nccl *nccl, const char *line)
{
    const char *on = strstr(line, " on ");
    const char *device = strstr(line, " device ");
    const char *name = strstr(line, "Rank ");
    if (!name || !on || !device) return false;
    int rank = reading_count(name + 5);
    int group = strstr(line, " Group ") ? reading_count(strstr(line, " Group ") + 7) : 0;
    if (nccl->n_ranks == 0) nccl->group = group;
    /* a rank that was told already is that of another process, which talks about itself */
    if (group != nccl->group || rank < nccl->n_ranks) return true;
    nccl->n_ranks = rank + 1;
    on += strspn(on + 4, " ") + 4;
    if (on < device) {
        char host[HOST_MAX];
        snprintf(host, sizeof host, "%.*s", (int)strcspn(on, " "), on);
        note_host(reading, nccl, host);
    }
    const char *close = strchr(device, ']');
    if (close && close[1] == ' ') reading_head(reading, "device", close + 2);
    return true;
}

static void close_section(struct reading *reading, struct nccl *nccl);

static void open_section(struct reading *reading, struct nccl *nccl)
{
    close_section(reading, nccl);
    const char *collective = nccl->collective;
    const char *foreign = nccl->foreign;
    bool named = nccl->first_row == reading->n_rows; /* the name stood right before */
    *nccl = (struct nccl){.first_row = reading->n_rows,
                          .collective = named ? collective : NULL,
                          .foreign = named ? foreign : NULL};
}

static void read_comment(struct reading *reading, struct nccl *nccl, char *line)
{
    if (read_rank(reading, nccl, line)) return;
    if (is_head(line)) {
        read_head(nccl, line);
    } else if (nccl->n_columns > 0 && strstr(line, "(B)")) {
        check_units(reading, line);
    } else if (strstr(line, "Collective test starting:")) {
        open_section(reading, nccl);
        nccl->collective = nccl_collective(line);
        nccl->foreign = foreign_of(line);
    } else if (strstr(line, "nThread ")) {
        open_section(reading, nccl);
        nccl->n_iterations = number_after(line, " iters: ");
        if (strstr(line, " warmup iters: "))
            nccl->n_iterations = number_after(strstr(line, " warmup iters: ") + 15, " iters: ");
        nccl->n_gpus = number_after(line, "nGpus ");
        double told = (double)number_after(line, "nThread ") * nccl->n_gpus;
        nccl->n_gpus_told = told <= READING_COUNT ? (int)told : 0;
    } else if (strstr(line, "Avg bus bandwidth")) {
        char *words[READING_COLUMNS];
        char *colon = strchr(line, ':');
        if (colon && reading_words(colon + 1, words) > 0) reading_number(words[0], &nccl->average);
    } else if (strstr(line, "nccl-tests version")) {
        reading_head(reading, "tool", line + strspn(line, "# "));
    }
}

/* --- rows ------------------------------------------------------------------------------------------ */

/* columns_of — a row of so many words: all of its head, or those of the first block alone. */
static int columns_of(const struct nccl *nccl, int n_words)
{
    int n_times = 0;
    for (int c = 0; c < nccl->n_columns; c++) {
        n_times += nccl->roles[c] == ROLE_TIME;
        if (n_times == N_BLOCKS && c == n_words) return c;
    }
    return nccl->n_columns;
}

/* Texts that a version leaves empty make a row shorter than its head; a time at its end is two words. */
static int shift_of(const struct nccl *nccl, int n_words)
{
    if (columns_of(nccl, n_words) < nccl->n_columns) return 0;
    int lacking = nccl->n_columns - n_words - nccl->n_trailing;
    int n_texts = 0;
    for (int c = 0; c < nccl->n_columns; c++)
        n_texts += nccl->roles[c] == ROLE_OP || nccl->roles[c] == ROLE_ROOT;
    if (n_words == nccl->n_columns + nccl->n_trailing) return 0;
    return nccl->n_trailing == 0 && lacking > 0 && lacking <= n_texts ? lacking : -1;
}

struct nccl_block {
    double time_us, algbw, busbw, n_wrong;
    bool good;
};

static bool near(double printed, double value)
{
    return fabs(value - printed) <= BANDWIDTH_ROUND + BANDWIDTH_SLACK * printed;
}

/* is_share — algbw is (n - 1) / n of size / time for some n, and busbw is the same. */
static bool is_share(double algbw, const struct nccl_block *block)
{
    double left = 1 - block->algbw / algbw; /* 1 / n */
    if (!near(block->algbw, block->busbw) || !(left > 0 && left < 0.6)) return false;
    double n_ranks = fmax(2, round(1 / left));
    return near(block->algbw, algbw * (1 - 1 / n_ranks));
}

static bool may_share(const struct nccl *nccl)
{
    const char *named = nccl->collective;
    return !named || !strcmp(named, "all_gather") || !strcmp(named, "reduce_scatter");
}

/* algorithm_bandwidth — of size and time in GB/s (B/us); -1 where what is printed is neither it nor the
 * share of it that old versions print. */
static double algorithm_bandwidth(struct nccl *nccl, double size_B, const struct nccl_block *block)
{
    double algbw = 1e-3 * size_B / block->time_us;
    if (near(block->algbw, algbw)) return block->algbw;
    bool old = may_share(nccl) && is_share(algbw, block);
    nccl->shares |= old;
    return old ? algbw : -1;
}

static void keep_block(struct reading *reading, struct nccl *nccl, struct raw_row *row,
                       const struct nccl_block *block)
{
    nccl->bus_sum += block->busbw;
    nccl->n_bus++;
    double algbw =
        block->time_us > 0 ? algorithm_bandwidth(nccl, row->size_B, block) : block->algbw;
    if (!(row->size_B > 0)) {
        reading_skip(reading, "rows of size 0");
    } else if (block->n_wrong > 0) {
        reading_skip(reading, "rows with wrong results");
    } else if (block->time_us > 0 && algbw < 0) {
        reading_skip(reading, "rows whose size, time and algbw disagree: wrong units?");
    } else {
        row->time_s = 1e-6 * block->time_us;
        reading_row(reading, row);
        nccl_ratio_add(reading, &nccl->ratio, algbw, block->busbw);
    }
}

static void take_word(struct nccl *nccl, enum role role, const char *word, struct raw_row *row)
{
    if (role == ROLE_SIZE && !reading_number(word, &row->size_B)) row->size_B = -1;
    if (role == ROLE_TYPE) row->dtype = nccl_type(word);
    if (role == ROLE_OP) {
        nccl->op_told = true;
        nccl->sums = strcmp(word, "none") != 0;
    }
    if (role == ROLE_ROOT) nccl->rooted = word[0] != '-';
}

static void take_number(struct nccl_block *block, enum role role, const char *word)
{
    double value = 0;
    bool good = reading_number(word, &value);
    if (role >= ROLE_WRONG && !good) return; /* "N/A": nothing was checked */
    if (!good) block->good = false;
    if (role == ROLE_TIME) block->time_us = value;
    if (role == ROLE_ALGBW) block->algbw = value;
    if (role == ROLE_BUSBW) block->busbw = value;
    if (role == ROLE_WRONG || (role == ROLE_ERROR && value > ERROR_MOST)) block->n_wrong = value;
}

struct row_words {
    char *const *words;
    int n, shift;
};

/* take_words — n_words by the columns of the head, of which `shift` texts are lacking; returns the
 * blocks. */
static int take_words(struct nccl *nccl, struct row_words from, struct raw_row *row,
                      struct nccl_block *blocks)
{
    int n_blocks = 0;
    char *const *words = from.words;
    int shift = from.shift;
    int n_columns = columns_of(nccl, from.n);
    if (n_columns == nccl->n_columns) n_columns -= nccl->n_trailing;
    for (int c = 0; c < n_columns; c++) {
        enum role role = nccl->roles[c];
        bool text = role == ROLE_OP || role == ROLE_ROOT;
        if (shift > 0 && text) {
            shift--;
            continue;
        }
        if (role == ROLE_TIME && n_blocks <= N_BLOCKS) blocks[n_blocks++].good = true;
        if (role >= ROLE_TIME && role <= ROLE_ERROR && n_blocks > 0)
            take_number(&blocks[n_blocks - 1], role, *words);
        else
            take_word(nccl, role, *words, row);
        words++;
    }
    return n_blocks < N_BLOCKS ? n_blocks : N_BLOCKS;
}

/* What is always in a row: size, count and type before the blocks of time, two bandwidths and errors. */
enum { N_FRONT = 3, N_BLOCK = 4, N_TEXTS = 2, BARE_B = 256 };

/* n_texts_of — the texts between type and blocks of a row that stands there without a head, as where only the
 * table was copied; -1: it is no such row. Its first two words and all of its blocks must be numbers. */
static int n_texts_of(char *const *words, int n_words)
{
    int n_blocks = n_words >= N_FRONT + N_BLOCKS * N_BLOCK ? N_BLOCKS : 1;
    int n_texts = n_words - N_FRONT - n_blocks * N_BLOCK;
    double value = 0;
    if (n_texts < 0 || n_texts > N_TEXTS || !nccl_type(words[2])[0]) return -1;
    for (int w = 0; w < n_words; w++) {
        bool number = w < 2 || w >= N_FRONT + n_texts;
        bool wrong = number && w > 2 && (w - N_FRONT - n_texts) % N_BLOCK == N_BLOCK - 1;
        if (number && !wrong && !reading_number(words[w], &value)) return -1;
    }
    return n_texts;
}

static bool is_bare_row(const char *line)
{
    char copy[BARE_B];
    char *words[READING_COLUMNS];
    if (strlen(line) >= sizeof copy) return false;
    memcpy(copy, line, strlen(line) + 1);
    return n_texts_of(words, reading_words(copy, words)) >= 0;
}

/* take_head — of a row without one: the columns of its length. */
static bool take_head(struct nccl *nccl, char *const *words, int n_words)
{
    static const enum role front[] = {ROLE_SIZE, ROLE_COUNT, ROLE_TYPE};
    static const enum role block[] = {ROLE_TIME, ROLE_ALGBW, ROLE_BUSBW, ROLE_ERROR};
    int n_texts = n_texts_of(words, n_words);
    if (n_texts < 0) return false;
    double root = 0;
    for (int c = 0; c < n_words; c++) {
        int text = c - N_FRONT;
        if (text < 0)
            nccl->roles[c] = front[c];
        else if (text < n_texts)
            nccl->roles[c] = reading_number(words[c], &root) ? ROLE_ROOT : ROLE_OP;
        else
            nccl->roles[c] = block[(text - n_texts) % N_BLOCK];
    }
    nccl->n_columns = n_words;
    return true;
}

/* without_tags — launchers that mark each piece of output put "[0]" into the middle of a row. */
static void without_tags(char *line)
{
    for (char *at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
        char *end = at + 1;
        while (*end >= '0' && *end <= '9') end++;
        if (end > at + 1 && *end == ']') memset(at, ' ', (size_t)(end - at) + 1);
    }
}

static void read_row(struct reading *reading, struct nccl *nccl, char *line)
{
    char *words[READING_COLUMNS];
    without_tags(line);
    int n_words = reading_words(line, words);
    if (nccl->n_columns == 0 && !take_head(nccl, words, n_words)) {
        reading_skip(reading, "rows before any head");
        return;
    }
    int shift = shift_of(nccl, n_words);
    if (shift < 0) {
        reading_skip(reading, "rows with fewer or more columns than their head");
        return;
    }
    struct raw_row row = {.benchmark = "",
                          .dtype = "",
                          .layout = "",
                          .note = "",
                          .check = -1,
                          .repeats = nccl->n_iterations};
    struct nccl_block blocks[N_BLOCKS + 1] = {{0}};
    int n_blocks = take_words(nccl, (struct row_words){words, n_words, shift}, &row, blocks);
    for (int b = 0; b < n_blocks; b++) {
        row.note = b > 0 ? "in place" : "";
        if (blocks[b].good && row.size_B >= 0)
            keep_block(reading, nccl, &row, &blocks[b]);
        else
            reading_skip(reading, "rows with something that is no usable number");
    }
}

/* --- sections --------------------------------------------------------------------------------------- */

/* guess — the collective of a section that does not say: bus over algorithm bandwidth and the columns
 * of operation and root tell most apart. */
static const char *guess(const struct nccl *nccl)
{
    if (nccl->ratio.algbw <= 0) return NULL;
    double rounding = fmin(0.01, 2 * BANDWIDTH_ROUND / nccl->ratio.algbw);
    bool shared = nccl->ratio.factor < 1 - rounding; /* (n - 1) / n */
    bool twice = nccl->ratio.factor > 1 + rounding;  /* 2 (n - 1) / n of three ranks and more */
    if (nccl->sums)
        return twice          ? "all_reduce"
               : shared       ? "reduce_scatter"
               : nccl->rooted ? "reduce"
                              : "all_reduce";
    if (!shared) return nccl->rooted ? "broadcast" : "send_recv";
    if (nccl->shares) return "all_gather"; /* of this era's tests the only one that has shares */
    return NULL;                           /* all_gather and all_to_all look alike */
}

static void check_average(struct reading *reading, const struct nccl *nccl)
{
    if (nccl->n_bus == 0 || nccl->average <= 0) return;
    double own = nccl->bus_sum / nccl->n_bus;
    if (fabs(own - nccl->average) <= BANDWIDTH_ROUND + BANDWIDTH_SLACK * own) return;
    add_note(reading, arena_text(reading->perm,
                                 "line %d: the file's average bus bandwidth is %.4g GB/s, that of "
                                 "its rows %.4g: rows are missing or changed",
                                 reading->line, nccl->average, own));
}

/* contradicts — a name that sums on rows that say they sum nothing, or the other way round: of another run. */
static bool contradicts(const struct nccl *nccl, const char *collective)
{
    return nccl->op_told && nccl->sums != (strstr(collective, "reduce") != NULL);
}

static const char *collective_of(struct reading *reading, const struct nccl *nccl)
{
    if (reading->options->collective) return reading->options->collective;
    const char *collective = nccl->collective;
    if (!collective) collective = nccl_collective(reading->file);
    if (!collective) return guess(nccl);
    if (!contradicts(nccl, collective)) return collective;
    add_note(reading, arena_text(reading->perm,
                                 "line %d: is called %s, but its rows %s: taken as what they say",
                                 reading->line, collective, nccl->sums ? "sum" : "sum nothing"));
    return guess(nccl);
}

/* ranks_of — by the command line, the list of ranks, the bandwidths, or the first comment; 0 = not told:
 * with one GPU a process the comment does not say how many processes there are. */
static int ranks_of(const struct reading *reading, const struct nccl *nccl, const char *collective)
{
    if (reading->options->n_ranks > 0) return reading->options->n_ranks;
    if (nccl->n_ranks > 0) return nccl->n_ranks;
    int told = nccl_ranks(collective, nccl->ratio.factor);
    if (told > 0) return told;
    return nccl->n_gpus_told > 1 ? nccl->n_gpus_told : 0;
}

static int per_node_of(const struct reading *reading, const struct nccl *nccl, int n_ranks)
{
    if (reading->options->ranks_per_node > 0) return reading->options->ranks_per_node;
    int n_hosts = nccl->too_many_hosts ? 0 : nccl->n_hosts;
    if (n_hosts == 0) return nccl->n_gpus_told == n_ranks ? n_ranks : 0; /* one process */
    return n_ranks % n_hosts == 0 ? n_ranks / n_hosts : 0;
}

/* tell_drivers — one thread issues to all GPUs of its server, or each has a thread or process. */
static void tell_drivers(struct reading *reading, const struct nccl *nccl, int per_node)
{
    if (per_node < 2 || nccl->n_gpus == 0) return;
    if (nccl->n_gpus == 1) reading_head(reading, "process_per", "gpu");
    if (nccl->n_gpus == per_node) reading_head(reading, "process_per", "server");
}

static void close_section(struct reading *reading, struct nccl *nccl)
{
    if (reading->n_rows == nccl->first_row) return;
    const char *collective = collective_of(reading, nccl);
    if (!collective && nccl->foreign) {
        reading_error(reading, "is of %s, whose collective is not predicted", nccl->foreign);
        return;
    }
    if (!collective) {
        reading_error(reading, "does not say which collective it measures (--op NAME does)%s",
                      nccl->ratio.algbw > 0 ? ": all_gather and all_to_all look alike" : "");
        return;
    }
    int n_ranks = ranks_of(reading, nccl, collective);
    int per_node = per_node_of(reading, nccl, n_ranks);
    for (int r = nccl->first_row; r < reading->n_rows; r++) {
        reading->rows[r].benchmark = collective;
        reading->rows[r].n_ranks = n_ranks;
        reading->rows[r].ranks_per_node = per_node;
    }
    tell_drivers(reading, nccl, per_node);
    check_average(reading, nccl);
    nccl_check_ranks(reading, &nccl->ratio, collective, n_ranks);
}

bool nccl_text_claims(const char *line)
{
    while (*line == ' ' || *line == '\t') line++;
    if (is_head(line)) return true;
    if (!strncmp(after_mark(line), "nThread ", 8) && strstr(line, " nGpus ")) return true;
    if (strstr(line, "Collective test starting:") || strstr(line, "nccl-tests version"))
        return true;
    if (line[0] == '#' && strstr(line, "Rank ") && strstr(line, " device ")) return true;
    return (strstr(line, "_perf ") && nccl_collective(line)) || is_bare_row(line);
}

static void tell_version(struct reading *reading, bool amd, const char *version)
{
    reading_head(reading, "library",
                 arena_text(reading->perm, "%s-%s", amd ? "rccl" : "nccl", version));
    if (!amd) reading_head(reading, "nccl", version);
}

/* NCCL's own number of its version, 22602 of 2.26.2, and 2708 before 2.9. Source: NVIDIA/nccl, src/nccl.h.in */
static void tell_code(struct reading *reading, int code)
{
    enum { LONG_FROM = 10000 };
    int major = code / (code < LONG_FROM ? 1000 : LONG_FROM);
    int minor = code / 100 % (code < LONG_FROM ? 10 : 100);
    if (code > 0)
        tell_version(reading, false,
                     arena_text(reading->perm, "%d.%d.%d", major, minor, code % 100));
}

/* tell_library — "NCCL version 2.27.3+cuda12.9", "RCCL version : 2.27.7-HEAD", "nccl-library=22907". */
static void tell_library(struct reading *reading, const char *line)
{
    tell_code(reading, number_after(line, "nccl-library="));
    const char *at = strstr(line, "CCL version ");
    if (!at || at == line || !strchr("NR", at[-1])) return;
    const char *version = strchr(at, ' ') + strlen(" version");
    version += strspn(version, " :");
    int length = (int)strspn(version, "0123456789.");
    if (length > 0)
        tell_version(reading, at[-1] == 'R', arena_text(reading->perm, "%.*s", length, version));
}

void nccl_text_line(struct reading *reading, char *line)
{
    tell_library(reading, line);
    struct nccl *nccl = reading->state;
    while (*line == ' ' || *line == '\t') line++;
    if (line[0] == '#' || is_bare(line)) { /* 2017 had no "#" before some */
        read_comment(reading, nccl, line);
    } else if (line[0] >= '0' && line[0] <= '9') {
        read_row(reading, nccl, line);
    } else if (strstr(line, "NCCL version ")) {
        return; /* told */
    } else if (strstr(line, "NCCL INFO") || strstr(line, "NCCL WARN")) {
        reading_skip(reading, "lines of NCCL_DEBUG");
    } else if (strstr(line, "_perf") && nccl_collective(line)) {
        open_section(reading, nccl);
        nccl->collective = nccl_collective(line);
    } else if (line[0] != '\0' && line[0] != '\r') {
        reading_skip(reading, "lines that are neither comment nor row");
    }
}

void nccl_text_end(struct reading *reading)
{
    close_section(reading, reading->state);
}
