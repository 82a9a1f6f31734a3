#include "net/fluid.h"

#include "test.h"

/* Hand-derived cases. */

static struct activity_spec flow(const struct load *loads, int n_loads, double work, int32_t tag)
{
    return (struct activity_spec){.loads = loads,
                                  .n_loads = n_loads,
                                  .work = work,
                                  .cap = HUGE_VAL,
                                  .weight = 1.0,
                                  .tag = tag};
}

/* Run to the next end and return its time; the tag of the first that ended. */
static double next(struct fluid *fluid, int32_t *tag)
{
    double time_s = fluid_next_end_s(fluid);
    fluid_advance(fluid, time_s);
    assert_true(fluid_take_ended(fluid, tag));
    return time_s;
}

static double run_out(struct fluid *fluid)
{
    double now_s = 0.0;
    int32_t tag;
    while (fluid_next_end_s(fluid) < HUGE_VAL) {
        now_s = fluid_next_end_s(fluid);
        fluid_advance(fluid, now_s);
        while (fluid_take_ended(fluid, &tag)) continue;
    }
    return now_s;
}

/* Capacity 10: both have 5 until the short one (20) ends at 4; the long one (50) has 30 left and
 * goes on with 10: 3 more. */
static void two_flows_share_a_link_and_the_longer_takes_over(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){10.0}, 1, &scratch);
    const struct load link = {0, 1.0};
    int a = fluid_add(fluid, flow(&link, 1, 20.0, 1));
    int b = fluid_add(fluid, flow(&link, 1, 50.0, 2));
    assert_close(fluid_rate(fluid, a), 5.0, 1e-15);
    assert_close(fluid_rate(fluid, b), 5.0, 1e-15);
    int32_t tag;
    assert_close(next(fluid, &tag), 4.0, 1e-15);
    assert_int_equal(tag, 1);
    assert_false(fluid_take_ended(fluid, &tag));
    assert_close(fluid_rate(fluid, b), 10.0, 1e-15);
    assert_close(next(fluid, &tag), 7.0, 1e-15);
    assert_int_equal(tag, 2);
    assert_true(isinf(fluid_next_end_s(fluid)));
}

/* Links of capacity 1, 2, 3 in a row: one flow over all, one on each. Link 0 fills at 1/2: long and
 * first; then link 1 has 3/2 for its own, link 2 5/2. */
static void parking_lot_gives_the_long_flow_its_smallest_share(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){1.0, 2.0, 3.0}, 3, &scratch);
    const struct load links[] = {{0, 1.0}, {1, 1.0}, {2, 1.0}};
    const double want[] = {0.5, 1.5, 2.5};
    int over_all = fluid_add(fluid, flow(links, 3, 1e3, 9));
    for (int l = 0; l < 3; l++) {
        int one = fluid_add(fluid, flow(&links[l], 1, 1e3, l));
        assert_close(fluid_rate(fluid, one), want[l], 1e-15);
        assert_int_equal(fluid_bottleneck(fluid, one), l);
    }
    assert_close(fluid_rate(fluid, over_all), 0.5, 1e-15);
    assert_int_equal(fluid_bottleneck(fluid, over_all), 0);
}

/* Weights 1 and 3 on capacity 8: 2 and 6. */
static void weights_divide_a_link_in_proportion(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){8.0}, 1, &scratch);
    const struct load link = {0, 1.0};
    struct activity_spec heavy = flow(&link, 1, 100.0, 1);
    heavy.weight = 3.0;
    int light = fluid_add(fluid, flow(&link, 1, 100.0, 0));
    int other = fluid_add(fluid, heavy);
    assert_close(fluid_rate(fluid, light), 2.0, 1e-15);
    assert_close(fluid_rate(fluid, other), 6.0, 1e-15);
}

/* A bundle with 3 flows on link 0 (12) and 1 on link 1 (100), and a lone flow on each. Per-flow
 * level on link 0: 12 / (3 + 1) = 3; link 1 has 97 left for its lone flow. */
static void bundle_loads_a_link_once_per_flow_of_it(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){12.0, 100.0}, 2, &scratch);
    const struct load bundle[] = {{0, 3.0}, {1, 1.0}};
    const struct load alone[] = {{0, 1.0}, {1, 1.0}};
    int three = fluid_add(fluid, flow(bundle, 2, 30.0, 0));
    int beside = fluid_add(fluid, flow(&alone[0], 1, 1e3, 1));
    int far = fluid_add(fluid, flow(&alone[1], 1, 1e3, 2));
    assert_close(fluid_rate(fluid, three), 3.0, 1e-15);
    assert_close(fluid_rate(fluid, beside), 3.0, 1e-15);
    assert_close(fluid_rate(fluid, far), 97.0, 1e-15);
    int32_t tag;
    assert_close(next(fluid, &tag), 10.0, 1e-15); /* 30 per flow at 3 */
    assert_int_equal(tag, 0);
}

/* Capacity 10, three flows, one capped at 2: the others have 4. When one ends, 8 and 2. */
static void what_a_cap_leaves_goes_to_the_others(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){10.0}, 1, &scratch);
    const struct load link = {0, 1.0};
    struct activity_spec capped = flow(&link, 1, 100.0, 0);
    capped.cap = 2.0;
    int slow = fluid_add(fluid, capped);
    int a = fluid_add(fluid, flow(&link, 1, 4.0, 1));
    int b = fluid_add(fluid, flow(&link, 1, 100.0, 2));
    assert_close(fluid_rate(fluid, slow), 2.0, 1e-15);
    assert_close(fluid_rate(fluid, a), 4.0, 1e-15);
    assert_int_equal(fluid_bottleneck(fluid, slow), -1);
    int32_t tag;
    assert_close(next(fluid, &tag), 1.0, 1e-15);
    assert_close(fluid_rate(fluid, b), 8.0, 1e-15);
    assert_close(fluid_rate(fluid, slow), 2.0, 1e-15);
}

/* Four flows with caps of 3 on capacity 8 have 2 each; two left have 3, their cap. */
static void shared_flows_rise_to_their_caps_when_others_end(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){8.0}, 1, &scratch);
    const struct load link = {0, 1.0};
    int ids[4];
    for (int i = 0; i < 4; i++) {
        struct activity_spec spec = flow(&link, 1, i < 2 ? 2.0 : 8.0, i);
        spec.cap = 3.0;
        ids[i] = fluid_add(fluid, spec);
    }
    assert_close(fluid_rate(fluid, ids[3]), 2.0, 1e-15);
    int32_t tag;
    assert_close(next(fluid, &tag), 1.0, 1e-15); /* both of work 2 */
    assert_int_equal(tag, 0);
    assert_true(fluid_take_ended(fluid, &tag));
    assert_int_equal(tag, 1);
    assert_close(fluid_rate(fluid, ids[3]), 3.0, 1e-15);
    assert_int_equal(fluid_bottleneck(fluid, ids[3]), -1);
    assert_close(next(fluid, &tag), 3.0, 1e-15); /* 6 left at 3 */
}

static void activity_without_loads_runs_at_its_cap(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){8.0}, 1, &scratch);
    struct activity_spec spec = flow(NULL, 0, 6.0, 5);
    spec.cap = 1.5;
    int id = fluid_add(fluid, spec);
    assert_close(fluid_rate(fluid, id), 1.5, 1e-15);
    assert_int_equal(fluid_bottleneck(fluid, id), -1);
    int32_t tag;
    assert_close(next(fluid, &tag), 4.0, 1e-15);
    assert_int_equal(tag, 5);
}

/* 60 at rate 10 for 2 s, at 4 for 5 s, then 20 left at 20: ends at 8. */
static void capacity_changes_from_the_moment_it_is_set(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){10.0}, 1, &scratch);
    const struct load link = {0, 1.0};
    fluid_add(fluid, flow(&link, 1, 60.0, 0));
    fluid_advance(fluid, 2.0);
    fluid_set_capacity(fluid, 0, 4.0);
    assert_close(fluid_next_end_s(fluid), 12.0, 1e-15);
    fluid_advance(fluid, 7.0);
    fluid_set_capacity(fluid, 0, 20.0);
    int32_t tag;
    assert_close(next(fluid, &tag), 8.0, 1e-15);
}

/* Nothing is free to rise, each flow is at its cap of 5; then both links drop, far apart. */
static void links_that_drop_together_hold_each_its_own(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){20.0, 20.0}, 2, &scratch);
    const struct load loads[] = {{0, 1.0}, {1, 1.0}};
    int id[4];
    for (int i = 0; i < 4; i++) {
        struct activity_spec spec = flow(&loads[i / 2], 1, 1e6, i);
        spec.cap = 5.0;
        id[i] = fluid_add(fluid, spec);
        assert_close(fluid_rate(fluid, id[i]), 5.0, 1e-15);
    }
    fluid_set_capacity(fluid, 0, 8.0);
    fluid_set_capacity(fluid, 1, 0.02);
    for (int i = 0; i < 4; i++) assert_close(fluid_rate(fluid, id[i]), i < 2 ? 4.0 : 0.01, 1e-15);
}

/* k senders of S into one receiver of capacity C take k S / C, the serial time. */
static void incast_takes_as_long_as_one_after_the_other(void **state)
{
    for (int k = 1; k <= 300; k += 23) {
        struct arena scratch = *(struct arena *)*state;
        double *capacity = arena_new(&scratch, double, k + 1);
        struct load *loads = arena_new(&scratch, struct load, 2 * k);
        for (int l = 0; l <= k; l++) capacity[l] = 50e9;
        struct fluid *fluid = fluid_new(capacity, k + 1, &scratch);
        for (int i = 0; i < k; i++) {
            loads[2 * i] = (struct load){i + 1, 1.0};
            loads[2 * i + 1] = (struct load){0, 1.0};
            fluid_add(fluid, flow(&loads[2 * i], 2, 1e8, i));
        }
        assert_close(run_out(fluid), k * 1e8 / 50e9, 1e-12);
    }
}

/* Each end starts the next at once on the same link: n works of W take n W / C, and 100,000 of them
 * in a row do not drift. */
static void chain_without_latency_does_not_drift(void **state)
{
    enum { N = 100000 };
    struct arena scratch = *(struct arena *)*state;
    struct fluid *fluid = fluid_new((double[]){3.0, 7.0}, 2, &scratch);
    const struct load links[] = {{0, 1.0}, {1, 1.0}};
    fluid_add(fluid, flow(links, 2, 1.0, 0)); /* two chains share link 0 */
    fluid_add(fluid, flow(links, 1, 1.0, 1));
    int32_t tag;
    double now_s = 0.0;
    for (int i = 0; i < N; i++) {
        now_s = next(fluid, &tag);
        fluid_add(fluid, flow(links, tag == 0 ? 2 : 1, 1.0, tag));
        if (fluid_take_ended(fluid, &tag)) {
            fluid_add(fluid, flow(links, tag == 0 ? 2 : 1, 1.0, tag));
        }
    }
    assert_close(now_s, N / 1.5, 1e-9); /* both end together, every 1 / (3 / 2) */
}

static void equal_ends_are_one_event_in_the_order_of_adding(void **state)
{
    enum { N = 64 };
    struct arena scratch = *(struct arena *)*state;
    double capacity[N];
    struct load loads[N];
    for (int i = 0; i < N; i++) {
        capacity[i] = 1.0 + i;
        loads[i] = (struct load){i, 1.0};
    }
    struct fluid *fluid = fluid_new(capacity, N, &scratch);
    for (int i = 0; i < N; i++) {
        int l = i * 37 % N; /* work is a tenth of a third of the rate: ends differ by ulps */
        fluid_add(fluid, flow(&loads[l], 1, capacity[l] / 3.0 * 0.1, i));
    }
    fluid_advance(fluid, fluid_next_end_s(fluid));
    int32_t tag;
    for (int i = 0; i < N; i++) {
        assert_true(fluid_take_ended(fluid, &tag));
        assert_int_equal(tag, i);
    }
    assert_false(fluid_take_ended(fluid, &tag));
}

/* A start and an end far away must not re-rate: the stats count. */
static void flows_that_share_nothing_are_not_rated_again(void **state)
{
    enum { N = 100 };
    struct arena scratch = *(struct arena *)*state;
    double capacity[N];
    struct load loads[N];
    for (int i = 0; i < N; i++) {
        capacity[i] = 10.0;
        loads[i] = (struct load){i, 1.0};
    }
    struct fluid *fluid = fluid_new(capacity, N, &scratch);
    for (int i = 0; i < N; i++) {
        fluid_add(fluid, flow(&loads[i], 1, 100.0, i));
        fluid_add(fluid, flow(&loads[i], 1, 100.0 + i, N + i));
    }
    fluid_next_end_s(fluid);
    int64_t before = fluid_stats(fluid).n_rated;
    fluid_add(fluid, flow(&loads[3], 1, 1.0, 500));
    fluid_next_end_s(fluid);
    assert_int_equal(fluid_stats(fluid).n_rated - before, 3); /* the three on link 3 */
}

/* Random networks. */

enum { MAX_LINKS = 40, MAX_FLOWS = 120, MAX_PATH = 7, N_NETS = 60 };

struct net {
    int n_links, n_flows;
    double capacity[MAX_LINKS];
    struct activity_spec specs[MAX_FLOWS];
    struct load loads[MAX_FLOWS][MAX_PATH];
    double start_s[MAX_FLOWS]; /* not falling */
};

/* xorshift64*, Marsaglia 2003 and Vigna 2016; in [0, 1) */
static double draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * 2685821657736338717ULL >> 11) / 9007199254740992.0;
}

static int pick(uint64_t *state, int n)
{
    return (int)(draw(state) * n);
}

static int draw_path(struct load *loads, int n_links, bool plain, uint64_t *seed)
{
    int n = 1 + pick(seed, MAX_PATH < n_links ? MAX_PATH : n_links);
    int first = pick(seed, n_links);
    for (int k = 0; k < n; k++) { /* links first, first + 1, ... in a circle: no repeats */
        loads[k].resource = (first + k) % n_links;
        loads[k].n = plain ? 1.0 : 1.0 + pick(seed, 3);
    }
    return n;
}

/* Odd turns: all capacities and sizes equal, so that levels and ends tie. */
static struct net *draw_net(uint64_t turn, struct arena *perm)
{
    struct net *net = arena_new(perm, struct net, 1);
    uint64_t seed = turn * 7919 + 1;
    bool plain = turn % 2 == 1;
    net->n_links = 1 + pick(&seed, MAX_LINKS);
    net->n_flows = 1 + pick(&seed, MAX_FLOWS);
    for (int l = 0; l < net->n_links; l++)
        net->capacity[l] = plain ? 10.0 : 1.0 + 9.0 * draw(&seed);
    double now_s = 0.0;
    for (int i = 0; i < net->n_flows; i++) {
        struct activity_spec *spec = &net->specs[i];
        *spec = flow(net->loads[i], 0, plain ? 10.0 : 1.0 + 20.0 * draw(&seed), i);
        spec->n_loads = draw_path(net->loads[i], net->n_links, plain, &seed);
        if (pick(&seed, 4) == 0) spec->cap = plain ? 2.0 : 0.1 + 3.0 * draw(&seed);
        if (!plain) spec->weight = 0.5 + draw(&seed);
        if (pick(&seed, 2) == 0) now_s += plain ? 0.25 : 0.5 * draw(&seed);
        net->start_s[i] = now_s;
    }
    return net;
}

/* Each flow over one to four ways that share it equally: on every link of them a part of it, as when its
 * packets are sprayed. */
static struct net *sprayed(struct net *net)
{
    for (int i = 0; i < net->n_flows; i++) {
        double n_ways = 1.0 + i % 4;
        for (int k = 0; k < net->specs[i].n_loads; k++) net->loads[i][k].n /= n_ways;
    }
    return net;
}

/* The reference: progressive filling, all over again, by the book. Each round finds the lowest level
 * at which a link fills or a cap is reached and freezes what it holds. */
static double lowest_level(const struct net *net, const bool *active, const double *rate,
                           bool *full)
{
    double lowest = HUGE_VAL;
    double level[MAX_LINKS];
    for (int l = 0; l < net->n_links; l++) {
        double left = net->capacity[l];
        double rising = 0.0;
        for (int i = 0; i < net->n_flows; i++) {
            for (int k = 0; active[i] && k < net->specs[i].n_loads; k++) {
                if (net->loads[i][k].resource != l) continue;
                left -= rate[i] > 0.0 ? rate[i] * net->loads[i][k].n : 0.0;
                rising += rate[i] > 0.0 ? 0.0 : net->specs[i].weight * net->loads[i][k].n;
            }
        }
        level[l] = rising > 0.0 ? left / rising : HUGE_VAL;
        lowest = fmin(lowest, level[l]);
    }
    for (int i = 0; i < net->n_flows; i++) {
        if (!active[i] || rate[i] > 0.0) continue;
        lowest = fmin(lowest, net->specs[i].cap / net->specs[i].weight);
    }
    for (int l = 0; l < net->n_links; l++) full[l] = level[l] <= lowest * (1.0 + 1e-13);
    return lowest;
}

static void reference_rates(const struct net *net, const bool *active, double *rate)
{
    bool full[MAX_LINKS];
    for (int i = 0; i < net->n_flows; i++) rate[i] = 0.0;
    for (;;) {
        double level = lowest_level(net, active, rate, full);
        if (isinf(level)) return;
        for (int i = 0; i < net->n_flows; i++) {
            if (!active[i] || rate[i] > 0.0) continue;
            bool held = net->specs[i].cap <= level * net->specs[i].weight * (1.0 + 1e-13);
            for (int k = 0; k < net->specs[i].n_loads; k++) held |= full[net->loads[i][k].resource];
            if (held) rate[i] = -level * net->specs[i].weight; /* not seen before the next round */
        }
        for (int i = 0; i < net->n_flows; i++) rate[i] = fabs(rate[i]);
    }
}

static double link_load(const struct net *net, const double *rate, int link)
{
    double load = 0.0;
    for (int i = 0; i < net->n_flows; i++) {
        for (int k = 0; k < net->specs[i].n_loads; k++) {
            if (net->loads[i][k].resource == link) load += rate[i] * net->loads[i][k].n;
        }
    }
    return load;
}

static void assert_fits(const struct net *net, const double *rate)
{
    for (int l = 0; l < net->n_links; l++) {
        assert_true(link_load(net, rate, l) <= net->capacity[l] * (1.0 + 1e-9));
    }
}

/* max-min: at its cap, or on a full link where no other has a higher level */
static void assert_max_min(const struct net *net, const double *rate, int i)
{
    const struct activity_spec *spec = &net->specs[i];
    bool held = rate[i] >= spec->cap * (1.0 - 1e-9);
    for (int k = 0; k < spec->n_loads && !held; k++) {
        int l = net->loads[i][k].resource;
        held = link_load(net, rate, l) >= net->capacity[l] * (1.0 - 1e-9);
        for (int j = 0; j < net->n_flows && held; j++) {
            for (int m = 0; m < net->specs[j].n_loads; m++) {
                double level = rate[j] / net->specs[j].weight;
                bool higher = level > rate[i] / spec->weight * (1.0 + 1e-9);
                if (net->loads[j][m].resource == l && higher) held = false;
            }
        }
    }
    assert_true(held);
}

struct play {
    double end_s[MAX_FLOWS];
    double done[MAX_FLOWS]; /* integral of the rate */
    int n_ended, n_started;
    double now_s;
    int ids[MAX_FLOWS];
    bool active[MAX_FLOWS];
};

static void step(const struct net *net, struct fluid *fluid, struct play *play)
{
    bool starts = play->n_started < net->n_flows;
    double until_s = fluid_next_end_s(fluid);
    if (starts) until_s = fmin(until_s, net->start_s[play->n_started]);
    for (int i = 0; i < net->n_flows; i++) {
        if (!play->active[i]) continue;
        play->done[i] += fluid_rate(fluid, play->ids[i]) * (until_s - play->now_s);
    }
    fluid_advance(fluid, until_s);
    play->now_s = until_s;
    int32_t tag;
    for (; fluid_take_ended(fluid, &tag); play->n_ended++) {
        assert_true(play->active[tag]);
        play->active[tag] = false;
        play->end_s[tag] = until_s;
    }
    for (int i = play->n_started; i < net->n_flows && net->start_s[i] <= until_s; i++) {
        play->ids[i] = fluid_add(fluid, net->specs[i]);
        play->active[i] = true;
        play->n_started++;
    }
}

static void current_rates(const struct net *net, struct fluid *fluid, const struct play *play,
                          double *rate)
{
    for (int i = 0; i < net->n_flows; i++) {
        rate[i] = play->active[i] ? fluid_rate(fluid, play->ids[i]) : 0.0;
    }
}

static void play_out(const struct net *net, struct play *play, struct arena scratch)
{
    *play = (struct play){.n_ended = 0};
    struct fluid *fluid = fluid_new(net->capacity, net->n_links, &scratch);
    while (play->n_ended < net->n_flows) step(net, fluid, play);
    assert_true(isinf(fluid_next_end_s(fluid)));
}

/* Work done and left are what it was to do. */
static void put_back(const struct net *net, struct fluid *fluid, struct play *play, int i)
{
    struct activity_spec spec = net->specs[i];
    spec.work = fluid_remove(fluid, play->ids[i]);
    assert_close(spec.work + play->done[i], net->specs[i].work, 1e-9);
    play->ids[i] = fluid_add(fluid, spec);
}

/* After each step one of the flows under way is taken out and put back on its own loads: rates are those
 * of filling all over again, and each does its work. */
static void flows_taken_out_and_put_back_go_on(void **state)
{
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct net *net = draw_net(turn + 4000, &scratch);
        struct fluid *fluid = fluid_new(net->capacity, net->n_links, &scratch);
        struct play play = {.n_ended = 0}, whole;
        uint64_t seed = turn + 1;
        while (play.n_ended < net->n_flows) {
            step(net, fluid, &play);
            int i = pick(&seed, net->n_flows);
            bool some_left = play.active[i] && play.done[i] < net->specs[i].work * (1 - 1e-9);
            if (some_left) put_back(net, fluid, &play, i);
            double got[MAX_FLOWS];
            double want[MAX_FLOWS];
            current_rates(net, fluid, &play, got);
            reference_rates(net, play.active, want);
            for (int f = 0; f < net->n_flows; f++) assert_close(got[f], want[f], 1e-9);
        }
        play_out(net, &whole, scratch);
        for (int f = 0; f < net->n_flows; f++) assert_close(play.end_s[f], whole.end_s[f], 1e-9);
    }
}

static void assert_refilled(struct net *net, uint64_t turn, struct arena scratch)
{
    struct fluid *fluid = fluid_new(net->capacity, net->n_links, &scratch);
    struct play play = {.n_ended = 0};
    uint64_t seed = turn + 1;
    while (play.n_ended < net->n_flows) {
        step(net, fluid, &play);
        if (pick(&seed, 6) == 0) { /* a link degrades or comes back */
            int l = pick(&seed, net->n_links);
            net->capacity[l] *= pick(&seed, 2) ? 0.5 : 2.0;
            fluid_set_capacity(fluid, l, net->capacity[l]);
        }
        double got[MAX_FLOWS];
        double want[MAX_FLOWS];
        current_rates(net, fluid, &play, got);
        reference_rates(net, play.active, want);
        for (int i = 0; i < net->n_flows; i++) assert_close(got[i], want[i], 1e-9);
    }
}

static void rates_are_those_of_filling_all_over_again(void **state)
{
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct net *net = draw_net(turn, &scratch);
        if (turn % 2 == 0) sprayed(net);
        assert_refilled(net, turn, scratch);
    }
}

/* All flows of a moment added to a new network at once. */
static void fresh_rates(const struct net *net, const bool *active, double *rate,
                        struct arena scratch)
{
    int ids[MAX_FLOWS];
    struct fluid *fresh = fluid_new(net->capacity, net->n_links, &scratch);
    for (int i = 0; i < net->n_flows; i++)
        if (active[i]) ids[i] = fluid_add(fresh, net->specs[i]);
    for (int i = 0; i < net->n_flows; i++) rate[i] = active[i] ? fluid_rate(fresh, ids[i]) : 0.0;
}

static void solving_on_is_solving_anew(void **state)
{
    double got[MAX_FLOWS];
    double want[MAX_FLOWS];
    for (uint64_t turn = 0; turn < N_NETS / 4; turn++) {
        struct arena scratch = *(struct arena *)*state;
        const struct net *net = sprayed(draw_net(turn + 5000, &scratch));
        struct fluid *fluid = fluid_new(net->capacity, net->n_links, &scratch);
        struct play play = {.n_ended = 0};
        while (play.n_ended < net->n_flows) {
            step(net, fluid, &play);
            current_rates(net, fluid, &play, got);
            fresh_rates(net, play.active, want, scratch);
            for (int i = 0; i < net->n_flows; i++) assert_close(got[i], want[i], 1e-12);
        }
    }
}

/* Links numbered from the other end, flows added last first and their links told last first: names and
 * orders are of no account. */
static struct net *relabelled(const struct net *net, struct arena *perm)
{
    struct net *other = arena_new(perm, struct net, 1);
    *other = *net;
    for (int l = 0; l < net->n_links; l++) other->capacity[l] = net->capacity[net->n_links - 1 - l];
    for (int i = 0; i < net->n_flows; i++) {
        int from = net->n_flows - 1 - i;
        int n = net->specs[from].n_loads;
        other->specs[i] = net->specs[from];
        other->specs[i].loads = other->loads[i];
        for (int k = 0; k < n; k++) {
            struct load load = net->loads[from][n - 1 - k];
            other->loads[i][k] = (struct load){net->n_links - 1 - load.resource, load.n};
        }
    }
    return other;
}

static void names_of_links_and_orders_of_flows_change_no_rate(void **state)
{
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        const struct net *nets[2];
        struct fluid *fluids[2];
        int ids[2][MAX_FLOWS];
        nets[0] = sprayed(draw_net(turn + 6000, &scratch));
        nets[1] = relabelled(nets[0], &scratch);
        int n = nets[0]->n_flows;
        for (int side = 0; side < 2; side++) {
            fluids[side] = fluid_new(nets[side]->capacity, nets[side]->n_links, &scratch);
            for (int i = 0; i < n; i++)
                ids[side][i] = fluid_add(fluids[side], nets[side]->specs[i]);
        }
        for (int i = 0; i < n; i++)
            assert_close(fluid_rate(fluids[1], ids[1][n - 1 - i]), fluid_rate(fluids[0], ids[0][i]),
                         1e-12);
    }
}

/* In this net a group that is raised twice in one solve has members with caps between. */
static void group_raised_twice_stops_at_its_caps(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct net *net = draw_net(171, &scratch);
    assert_refilled(net, 171, scratch);
}

static void rates_fit_the_links_and_are_max_min(void **state)
{
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct net *net = draw_net(turn + 1000, &scratch);
        if (turn % 3 == 0) sprayed(net);
        struct fluid *fluid = fluid_new(net->capacity, net->n_links, &scratch);
        struct play play = {.n_ended = 0};
        for (int n = 0; play.n_ended < net->n_flows; n++) {
            step(net, fluid, &play);
            if (n % 8 != 0) continue;
            double rate[MAX_FLOWS];
            current_rates(net, fluid, &play, rate);
            assert_fits(net, rate);
            for (int i = 0; i < net->n_flows; i++) {
                if (play.active[i]) assert_max_min(net, rate, i);
            }
        }
    }
}

static void every_activity_does_its_work_and_no_more(void **state)
{
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct net *net = draw_net(turn + 2000, &scratch);
        if (turn % 3 == 0) sprayed(net);
        struct play play;
        play_out(net, &play, scratch);
        for (int i = 0; i < net->n_flows; i++) {
            assert_close(play.done[i], net->specs[i].work, 1e-9);
        }
    }
}

static void two_runs_are_equal_bit_for_bit(void **state)
{
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        const struct net *net = draw_net(turn + 3000, &scratch);
        struct play one;
        struct play two;
        play_out(net, &one, scratch);
        play_out(net, &two, scratch);
        assert_memory_equal(one.end_s, two.end_s, sizeof one.end_s);
    }
}

static void k_times_the_capacity_takes_a_kth_of_the_time(void **state)
{
    const double k = 3.7;
    for (uint64_t turn = 0; turn < N_NETS; turn++) {
        struct arena scratch = *(struct arena *)*state;
        struct net *net = draw_net(turn + 4000, &scratch);
        struct play slow;
        struct play fast;
        play_out(net, &slow, scratch);
        for (int l = 0; l < net->n_links; l++) net->capacity[l] *= k;
        for (int i = 0; i < net->n_flows; i++) {
            if (net->specs[i].cap < HUGE_VAL) net->specs[i].cap *= k;
            net->start_s[i] /= k;
        }
        play_out(net, &fast, scratch);
        for (int i = 0; i < net->n_flows; i++) assert_close(fast.end_s[i] * k, slow.end_s[i], 1e-9);
    }
}

/* Each end starts another of random size on the same path, 20,000 times; shares tie and untie. */
static void long_run_neither_drifts_nor_hangs(void **state)
{
    struct arena scratch = *(struct arena *)*state;
    struct net *net = draw_net(77, &scratch);
    struct fluid *fluid = fluid_new(net->capacity, net->n_links, &scratch);
    struct play play = {.n_ended = 0};
    uint64_t seed = 5;
    for (int i = 0; i < net->n_flows; i++) {
        play.ids[i] = fluid_add(fluid, net->specs[i]);
        play.active[i] = true;
    }
    double now_s = 0.0;
    int32_t tag;
    for (int n = 0; n < 20000; n++) {
        double time_s = fluid_next_end_s(fluid);
        assert_true(time_s >= now_s && time_s < HUGE_VAL);
        now_s = time_s;
        fluid_advance(fluid, now_s);
        while (fluid_take_ended(fluid, &tag)) {
            net->specs[tag].work = draw(&seed) < 0.5 ? 10.0 : 1.0 + 20.0 * draw(&seed);
            play.ids[tag] = fluid_add(fluid, net->specs[tag]);
        }
    }
    double got[MAX_FLOWS];
    double want[MAX_FLOWS];
    current_rates(net, fluid, &play, got);
    reference_rates(net, play.active, want);
    for (int i = 0; i < net->n_flows; i++) assert_close(got[i], want[i], 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_flows_share_a_link_and_the_longer_takes_over),
        cmocka_unit_test(parking_lot_gives_the_long_flow_its_smallest_share),
        cmocka_unit_test(weights_divide_a_link_in_proportion),
        cmocka_unit_test(bundle_loads_a_link_once_per_flow_of_it),
        cmocka_unit_test(what_a_cap_leaves_goes_to_the_others),
        cmocka_unit_test(shared_flows_rise_to_their_caps_when_others_end),
        cmocka_unit_test(activity_without_loads_runs_at_its_cap),
        cmocka_unit_test(capacity_changes_from_the_moment_it_is_set),
        cmocka_unit_test(links_that_drop_together_hold_each_its_own),
        cmocka_unit_test(incast_takes_as_long_as_one_after_the_other),
        cmocka_unit_test(chain_without_latency_does_not_drift),
        cmocka_unit_test(equal_ends_are_one_event_in_the_order_of_adding),
        cmocka_unit_test(flows_that_share_nothing_are_not_rated_again),
        cmocka_unit_test(rates_are_those_of_filling_all_over_again),
        cmocka_unit_test(solving_on_is_solving_anew),
        cmocka_unit_test(names_of_links_and_orders_of_flows_change_no_rate),
        cmocka_unit_test(flows_taken_out_and_put_back_go_on),
        cmocka_unit_test(group_raised_twice_stops_at_its_caps),
        cmocka_unit_test(rates_fit_the_links_and_are_max_min),
        cmocka_unit_test(every_activity_does_its_work_and_no_more),
        cmocka_unit_test(two_runs_are_equal_bit_for_bit),
        cmocka_unit_test(k_times_the_capacity_takes_a_kth_of_the_time),
        cmocka_unit_test(long_run_neither_drifts_nor_hangs),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
