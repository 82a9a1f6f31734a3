#include "calib/fake.h"

#include "base/must.h"
#include "base/rng.h"
#include "calib/benchmarks.h"

#include <math.h>
#include <stdio.h>

/* of the order of a large GPU of 2024 */
const struct fake_law fake_usual = {
    .floor_s = 5e-6,
    .rate_flops = 5e14,
    .bandwidth_Bps = 3e12,
    .noise = 0.01,
    .outlier_share = 0.02,
    .outlier_factor = 5,
    .tick_s = 1e-9,
    .check = 0.1,
};

static struct fake_law law;
static struct arena *memory;
static struct rng *rng;
static double now;
static int n_runs;

void fake_set(const struct fake_law *wanted)
{
    law = wanted ? *wanted : fake_usual;
    n_runs = 0;
    now = 0;
}

int fake_runs(void)
{
    return n_runs;
}

double fake_time_s(const struct calib_case *c)
{
    return law.floor_s + benchmark_flop(c) / law.rate_flops +
           benchmark_bytes(c) / law.bandwidth_Bps;
}

static bool fake_open(struct calib_machine *machine, uint64_t seed, char *why, size_t size)
{
    no_fault(why, size);
    if (!(law.floor_s > 0)) fake_set(NULL);
    memory = arena_open((size_t)1 << 20);
    rng = rng_open(seed, "fake clock", memory);
    *machine =
        (struct calib_machine){.device = "fake: time = floor + FLOP / rate + bytes / bandwidth",
                               .clock = "what the law says, with noise",
                               .n_devices = 4,
                               .tick_s = law.tick_s};
    return true;
}

static bool fake_supports(const struct calib_case *c, char *why, size_t size)
{
    (void)c;
    no_fault(why, size);
    return true;
}

static double fake_run(const struct calib_case *c, int n, char *why, size_t size)
{
    n_runs++;
    if (law.fails_after > 0 && n_runs > law.fails_after) {
        snprintf(why, size, "the device is lost");
        return -1;
    }
    double time_s = n * rng_lognormal(rng, fake_time_s(c), law.noise);
    if (rng_uniform(rng) < law.outlier_share) time_s *= law.outlier_factor;
    now += time_s;
    return law.tick_s > 0 ? law.tick_s * floor(time_s / law.tick_s) : time_s;
}

static double fake_check(const struct calib_case *c, char *why, size_t size)
{
    (void)c;
    no_fault(why, size);
    return law.check;
}

static void fake_release(const struct calib_case *c)
{
    (void)c;
}

static void fake_close(void)
{
    arena_close(memory);
}

static double fake_now_s(void)
{
    return now;
}

const struct calib_backend calib_fake = {
    .name = "fake",
    .summary = "a clock that obeys a known law, to try the harness and the fit",
    .open = fake_open,
    .supports = fake_supports,
    .prepare = fake_supports,
    .run = fake_run,
    .check = fake_check,
    .release = fake_release,
    .close = fake_close,
    .now_s = fake_now_s,
};
