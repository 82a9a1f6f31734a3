#include "calib/cpu.h"

#include "base/must.h"
#include "calib/benchmarks.h"
#include "calib/wall.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct cpu cpu;

/* address space, committed when touched */
static const size_t RESERVE_B = (size_t)64 << 30;
/* a core of 2024 does some 1e11 FLOP/s: larger products take longer than a sample is worth; arrays well
 * beyond every cache */
static const double MOST_FLOP_PER_THREAD = 5e9;
static const double MOST_SIZE_B = 256.0 * 1024 * 1024;
/* buffers for a case, in multiples of the bytes that it moves; some hold copies for the check */
static const double MEMORY_PER_BYTE = 4;
enum { LINE_B = 64, MOST_THREADS = 1024 };

void *cpu_buffer(double size_B)
{
    char *at = arena_alloc(cpu.memory, (int64_t)size_B + LINE_B, 1);
    return at + (LINE_B - (uintptr_t)at % LINE_B) % LINE_B;
}

/* Marsaglia, Xorshift RNGs, J. Stat. Software 8(14), 2003: quick, and even enough for data */
static uint64_t draw(void)
{
    cpu.random ^= cpu.random << 13;
    cpu.random ^= cpu.random >> 7;
    cpu.random ^= cpu.random << 17;
    return cpu.random;
}

void cpu_fill(float *x, int64_t n)
{
    /* 24 bits are what a float in [-1, 1) can tell apart */
    for (int64_t i = 0; i < n; i++) x[i] = (float)(draw() >> 40) / 8388608.0F - 1;
}

float *cpu_random(int64_t n)
{
    float *x = cpu_buffer((double)n * sizeof *x);
    cpu_fill(x, n);
    return x;
}

/* The doubles stand in the order of their description.
 * NOLINTNEXTLINE(bugprone-easily-swappable-parameters) */
double cpu_worse(double worst, double got, double want, double allowed)
{
    if (!isfinite(got) || !isfinite(want)) return (double)INFINITY;
    double off = fabs(got - want);
    if (off <= 0) return worst;
    return allowed > 0 ? fmax(worst, off / allowed) : (double)INFINITY;
}

struct cpu_slice cpu_slice(int64_t n, int part, int n_parts)
{
    enum { GRAIN = 16 };
    int64_t grains = (n + GRAIN - 1) / GRAIN;
    int64_t to = GRAIN * (grains * (part + 1) / n_parts);
    return (struct cpu_slice){GRAIN * (grains * part / n_parts), to < n ? to : n};
}

void cpu_parallel(pool_work *work, const struct calib_case *c)
{
    struct calib_case copy = *c;
    if (cpu.n_threads == 1) {
        work(&copy, 0, 1);
        return;
    }
    pool_post(cpu.pool, work, &copy, 1);
    pool_wait(cpu.pool);
}

static const struct cpu_benchmark *find(const char *name)
{
    const struct {
        const struct cpu_benchmark *rows;
        int n;
    } lists[] = {{cpu_products, n_cpu_products},
                 {cpu_rows, n_cpu_rows},
                 {cpu_links, n_cpu_links},
                 {cpu_beside, n_cpu_beside},
                 {cpu_mpi, n_cpu_mpi}};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        for (int b = 0; b < lists[l].n; b++) {
            if (strcmp(lists[l].rows[b].name, name) == 0) return &lists[l].rows[b];
        }
    }
    return NULL;
}

/* The value of the first line of a file of /proc that begins with the key; "" without one. */
static void proc_line(const char *file, const char *key, char *text, size_t size)
{
    text[0] = '\0';
    FILE *in = fopen(file, "r");
    if (!in) return;
    char line[512];
    while (text[0] == '\0' && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    fclose(in);
}

static void describe(struct calib_machine *machine)
{
    proc_line("/proc/cpuinfo", "model name", machine->cpu, sizeof machine->cpu);
    snprintf(machine->device, sizeof machine->device, "%s",
             machine->cpu[0] ? machine->cpu : "unknown CPU");
    bool alone = cpu.n_threads == 1;
    snprintf(machine->clock, sizeof machine->clock, "%s",
             alone ? "processor time of the thread; wall clock for launches and links"
                   : "wall clock");
    machine->tick_s = fmax(wall_tick_s(wall_s), alone ? wall_tick_s(wall_thread_s) : 0);
    machine->n_threads = cpu.n_threads;
    machine->memory_B = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    machine->most_flop = MOST_FLOP_PER_THREAD * cpu.n_threads;
    machine->most_B = fmin(MOST_SIZE_B, machine->memory_B / (2 * MEMORY_PER_BYTE));
}

static void describe_libraries(struct calib_machine *machine, const struct mpi_ranks *ranks)
{
    char blas[CALIB_TEXT_MAX];
    cpu_blas_name(blas, sizeof blas);
    snprintf(machine->libraries, sizeof machine->libraries, "%.90s%s%.30s", blas,
             ranks->library[0] ? "; " : "", ranks->library);
    machine->n_devices = ranks->n;
}

static bool cpu_open(struct calib_machine *machine, uint64_t seed, char *why, size_t size)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = machine->n_threads > 0 ? machine->n_threads : (int)online;
    if (wanted < 1 || wanted > MOST_THREADS) {
        snprintf(why, size, "%d threads are wanted (1 to %d can be had)", wanted, MOST_THREADS);
        return false;
    }
    struct mpi_ranks ranks = mpi_join();
    cpu = (struct cpu){.n_threads = wanted, .memory = arena_open(RESERVE_B)};
    cpu.random = 0x9e3779b97f4a7c15U ^ seed; /* any number that spreads its bits */
    if (cpu.random == 0) cpu.random = 1;
    cpu.pool = pool_open(wanted, cpu.memory);
    cpu_blas_threads(wanted);
    *machine = (struct calib_machine){0};
    describe(machine);
    describe_libraries(machine, &ranks);
    return true;
}

static bool cpu_supports(const struct calib_case *c, char *why, size_t size)
{
    const struct cpu_benchmark *benchmark = find(c->benchmark);
    if (!benchmark) {
        snprintf(why, size, "%s is not measured on a CPU", c->benchmark);
        return false;
    }
    const char *dtypes = benchmark->dtypes;
    const char *found = strstr(dtypes, c->dtype);
    if (dtypes[0] && !found) {
        snprintf(why, size, "%s in %s is not measured on a CPU", c->benchmark, c->dtype);
        return false;
    }
    return !benchmark->supports || benchmark->supports(c, why, size);
}

/* buffers of the case are behind this, so that they all go at once */
static struct arena before;

static bool cpu_prepare(const struct calib_case *c, char *why, size_t size)
{
    no_fault(why, size);
    const struct cpu_benchmark *benchmark = find(c->benchmark);
    must(benchmark);
    before = *cpu.memory;
    benchmark->prepare(c);
    return true;
}

static double cpu_run(const struct calib_case *c, int n, char *why, size_t size)
{
    no_fault(why, size);
    const struct cpu_benchmark *benchmark = find(c->benchmark);
    must(benchmark);
    if (benchmark->timed) return benchmark->timed(c, n) * benchmark->share;
    double (*clock_s)(void) = benchmark->waits || cpu.n_threads > 1 ? wall_s : wall_thread_s;
    double begin_s = clock_s();
    benchmark->run(c, n);
    return (clock_s() - begin_s) * benchmark->share;
}

static double cpu_check(const struct calib_case *c, char *why, size_t size)
{
    no_fault(why, size);
    const struct cpu_benchmark *benchmark = find(c->benchmark);
    must(benchmark);
    benchmark->run(c, 1);
    return benchmark->check ? benchmark->check(c) : -1;
}

static void cpu_release(const struct calib_case *c)
{
    const struct cpu_benchmark *benchmark = find(c->benchmark);
    must(benchmark);
    if (benchmark->release) benchmark->release(c);
    *cpu.memory = before;
}

static void cpu_close(void)
{
    mpi_leave();
    pool_close(cpu.pool);
    arena_close(cpu.memory);
}

const struct calib_backend calib_cpu = {
    .name = "cpu",
    .summary = "this machine's processor: OpenBLAS, threads, memory, loopback",
    .open = cpu_open,
    .supports = cpu_supports,
    .prepare = cpu_prepare,
    .run = cpu_run,
    .check = cpu_check,
    .release = cpu_release,
    .close = cpu_close,
    .ranks_per_node = mpi_ranks_per_node,
};
