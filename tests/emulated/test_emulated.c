/* A small real cluster: programs that talk over TCP between Linux network namespaces, whose links were
 * shaped to tens of Mbit/s; predicted with nothing fitted. Tables beside this file: contention.csv
 * (socket programs), openmpi.csv (Open MPI 4.1.4, eager for all sizes), ddp.csv (PyTorch 1.13 DDP over
 * Gloo, backward emulated by a sleep per layer). Every row of contention.csv is met but one, which shows
 * what fluid flows cannot do: a straggler with halving-doubling, where order in a queue decides.
 *
 * A segment of 1448 bytes costs 1538 on the wire, and a pure ACK of two segments 90. Where data goes one
 * way, or ACKs ride on data of the same two hosts, the goodput of a link is 1448 / 1538; where data
 * shares it with ACKs of others, 2896 / (2 x 1538 + 90). The shapers' token buckets hide latency from
 * 64 KB up: none is modelled. */
#include "../sim/ideal.h"

#include "base/table.h"
#include "io/scenario.h"

#include <string.h>

#define ONE_WAY   (1448.0 / 1538)
#define WITH_ACKS (2896.0 / (2 * 1538 + 90))

enum { MAX_HOSTS = 16, MAX_FLOWS = 64, MAX_LINKS = 512 };

struct hosts {
    int n;
    int host[MAX_HOSTS];
};

static struct table *read_table(const char *file, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct table *table = table_read(file, perm, &diag);
    diag_print(&diag, stderr);
    assert_true(diag_ok(&diag));
    assert_true(table->n_rows > 0);
    return table;
}

static const char *text(const struct table *table, int row, const char *column)
{
    assert_true(table_column(table, column) >= 0);
    return table_cell(table, row, table_column(table, column));
}

static double number(const struct table *table, int row, const char *column)
{
    char *end;
    const char *cell = text(table, row, column);
    double value = strtod(cell, &end);
    assert_true(end != cell && *end == 0);
    return value;
}

/* numbers separated by blanks */
static int list_numbers(const char *list, double *out, int most)
{
    int n = 0;
    char *end;
    for (double value = strtod(list, &end); end != list; value = strtod(list, &end)) {
        assert_true(n < most);
        out[n++] = value;
        list = end;
    }
    return n;
}

static struct hosts hosts_of(const struct table *table, int row)
{
    double list[MAX_HOSTS];
    struct hosts hosts = {.n = list_numbers(text(table, row, "hosts"), list, MAX_HOSTS)};
    for (int i = 0; i < hosts.n; i++) hosts.host[i] = (int)list[i];
    return hosts;
}

static bool in_order(const struct hosts *hosts)
{
    for (int i = 1; i < hosts->n; i++) {
        if (hosts->host[i] < hosts->host[i - 1]) return false;
    }
    return true;
}

/* what goes from host to host, of which job of its case */
struct flows {
    int n;
    struct flow {
        int src, dst, job;
        double bytes;
        int after; /* 1 + the flow that has to end before this one starts; 0 = none */
    } flow[MAX_FLOWS];
};

static void add_flow(struct flows *flows, struct flow flow)
{
    assert_true(flows->n < MAX_FLOWS);
    flows->flow[flows->n++] = flow;
}

static void add_ring(struct flows *flows, const struct hosts *hosts, double bytes, int job)
{
    int n = hosts->n;
    for (int i = 0; i < n; i++) {
        add_flow(flows, (struct flow){hosts->host[i], hosts->host[(i + 1) % n], job,
                                      2.0 * (n - 1) / n * bytes, 0});
    }
}

/* A host that has all sends to its children in the binomial tree, all at once: host i, reached by flow
 * i, to i + 2^k for all 2^k below the lowest bit of i. */
static void add_broadcast(struct flows *flows, const struct hosts *hosts, double bytes, int job)
{
    for (int i = 1; i < hosts->n; i++) {
        int parent = i & (i - 1);
        add_flow(flows, (struct flow){hosts->host[parent], hosts->host[i], job, bytes, parent});
    }
}

/* ---- the clusters ---- */

struct rates {
    double host_mbit, up_mbit, global_mbit; /* on the wire */
};

static double Bps(double mbit)
{
    return mbit * 1e6 / 8;
}

static const struct {
    const char *name;
    int n_hosts;
    struct fabric_spec spec;
} clusters[] = {
    {"star8", 8, {.kind = "switch", .oversubscription = 1}},
    {"star8_h3_half", 8, {.kind = "switch", .oversubscription = 1}},
    {"leafspine2x4x2",
     8,
     {.kind = "fat-tree", .levels = 2, .ports_per_leaf = 4, .oversubscription = 2}},
    {"leafspine4x2x2",
     8,
     {.kind = "fat-tree", .levels = 2, .ports_per_leaf = 2, .oversubscription = 1}},
    {"dragonfly3x2x2",
     12,
     {.kind = "dragonfly",
      .ports_per_router = 2,
      .routers_per_group = 2,
      .global_per_router = 1,
      .n_groups = 3,
      .oversubscription = 1}},
};

static struct topo *hashed_topo(const char *name, struct rates rates, int seed, struct arena *perm)
{
    size_t c = 0;
    while (strcmp(clusters[c].name, name) != 0) c++;
    assert_true(c < sizeof clusters / sizeof clusters[0]);
    struct node_spec node = ideal_node;
    node.nic_Bps = Bps(rates.host_mbit);
    node.nic_latency_s = 0;
    struct fabric_spec fabric = clusters[c].spec;
    fabric.core_oversubscription = 1;
    fabric.oversubscription *= rates.host_mbit / rates.up_mbit; /* as many uplinks, but slower */
    bool dragonfly = strcmp(fabric.kind, "dragonfly") == 0;
    fabric.link_Bps = Bps(dragonfly ? rates.host_mbit : rates.up_mbit);
    fabric.global_Bps = Bps(rates.global_mbit);
    fabric.routing = seed >= 0 ? "ecmp" : "static";
    fabric.seed = (uint64_t)seed;
    struct topo *topo = build_topo(&node, &fabric, clusters[c].n_hosts, perm);
    if (strstr(name, "h3_half")) {
        set_link(topo, "node 3 nic 0 -> switch", 0.5);
        set_link(topo, "switch -> node 3 nic 0", 0.5);
    }
    return topo;
}

static struct topo *topo_of(const char *name, struct rates rates, struct arena *perm)
{
    return hashed_topo(name, rates, -1, perm);
}

/* Does the same job send the other way too? */
static bool returns(const struct flows *flows, const struct flow *flow)
{
    for (const struct flow *f = flows->flow; f < flows->flow + flows->n; f++) {
        if (f->src == flow->dst && f->dst == flow->src && f->job == flow->job) return true;
    }
    return false;
}

/* Does the job receive before it sends? Then data and ACKs do not meet. */
static bool takes_turns(const struct flows *flows, int job)
{
    for (const struct flow *f = flows->flow; f < flows->flow + flows->n; f++)
        if (f->job == job && f->after > 0) return true;
    return false;
}

static void mark(const struct topo *topo, int src, int dst, bool *crossed)
{
    int links[ROUTE_MAX];
    int n = topo_route(topo, (struct endpoint){VERTEX_GPU, src}, (struct endpoint){VERTEX_GPU, dst},
                       -1, 0, links);
    for (int l = 0; l < n; l++) crossed[links[l]] = true;
}

/* From wire rates to goodput: ACKs take the way back, unless data goes that way too and carries them. */
static void take_overheads(struct topo *topo, const struct flows *flows)
{
    bool data[MAX_LINKS] = {false}, acks[MAX_LINKS] = {false};
    assert_true(topo->n_links <= MAX_LINKS);
    for (int f = 0; f < flows->n; f++) {
        const struct flow *flow = &flows->flow[f];
        mark(topo, flow->src, flow->dst, data);
        if (!returns(flows, flow) && !takes_turns(flows, flow->job))
            mark(topo, flow->dst, flow->src, acks);
    }
    for (int l = 0; l < topo->n_links; l++) {
        topo->links[l].capacity_Bps *= data[l] && acks[l] ? WITH_ACKS : ONE_WAY;
    }
}

/* ---- one collective over hosts in order ---- */

struct question {
    const struct library *library; /* NULL: every algorithm at no cost of its own */
    const char *topology;
    struct rates rates;
    enum coll_kind kind;
    const char *algorithm;
    double size_B;
    struct hosts hosts;
};

static struct inputs *inputs_of(const struct question *q, struct arena *perm)
{
    struct topo *topo = topo_of(q->topology, q->rates, perm);
    struct flows flows = {0}; /* partners of the other algorithms swap data, or it goes one way */
    if (strcmp(q->algorithm, "ring") == 0) add_ring(&flows, &q->hosts, q->size_B, 0);
    take_overheads(topo, &flows);
    struct op op = coll_op(0, q->kind, q->size_B, q->algorithm);
    struct job *job = lone_job(q->hosts.n, op, perm);
    job->comms[0].n_servers = strcmp(q->algorithm, "parameter-server") == 0;
    job->n_iterations = 1;
    struct inputs *in = build_inputs(topo, job, perm);
    in->gpu_of = q->hosts.host;
    in->library.rendezvous = true;
    if (q->library) in->library = *q->library;
    return in;
}

static const struct plan *plan_of(const struct question *q, struct arena *perm)
{
    return plan_build(inputs_of(q, perm), perm);
}

static double ask_s(const struct question *q, enum fidelity fidelity, struct arena scratch)
{
    struct inputs *in = inputs_of(q, &scratch);
    in->fold = fidelity == FIDELITY_FLUID;
    const struct plan *plan = plan_build(in, &scratch);
    if (fidelity == FIDELITY_MESSAGE) return engine_message(plan, &scratch)->end_s;
    return engine_run(plan, &scale_none, &scratch)->end_s;
}

/* within `tolerance` of the measured time, in both fidelities */
static void assert_measured(const struct question *q, double measured_s, double tolerance,
                            struct arena scratch)
{
    double fluid_s = ask_s(q, FIDELITY_FLUID, scratch);
    double message_s = ask_s(q, FIDELITY_MESSAGE, scratch);
    print_message(
        "%-16s %-20s n %2d, %8.0f B: measured %9.3f ms, fluid %+5.1f %%, message %+5.1f %%\n",
        q->topology, q->algorithm, q->hosts.n, q->size_B, 1e3 * measured_s,
        100 * (fluid_s / measured_s - 1), 100 * (message_s / measured_s - 1));
    assert_close(fluid_s, measured_s, tolerance);
    assert_close(message_s, measured_s, tolerance);
}

/* ---- Open MPI ---- */

/* coll_tuned_allreduce_algorithm: 3 recursive doubling, 4 ring, 6 Rabenseifner. */
static const char *openmpi_algorithm(const char *number)
{
    if (number[0] == '3') return "recursive-doubling";
    return number[0] == '4' ? "ring" : "halving-doubling";
}

/* A library's profile as the loader makes it, on a card of line rate without latency. */
static const struct library *library_of(const char *name, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct scenario_options options = {.profile_dir = "scenarios"};
    const char *text = arena_text(
        perm,
        "{\"model\": \"alexnet\", \"batch_per_gpu\": 1, \"gpu\": \"a100-sxm-80\", \"n_gpus\": 2, "
        "\"node\": {\"base\": \"pcie4-8gpu\", \"gpus\": 1, \"pcie_efficiency\": 1}, "
        "\"nic\": {\"bandwidth\": \"50Mbps\", \"latency\": \"0us\", \"efficiency\": 1}, "
        "\"fabric\": {\"kind\": \"switch\"}, \"library\": \"%s\"}",
        name);
    const struct inputs *in =
        scenario_load_text("here.json", text, strlen(text), &options, NULL, perm, &diag);
    diag_print(&diag, stderr);
    assert_non_null(in);
    return &in->library;
}

/* The algorithms were forced, each by its number; the rows are those of the profile. */
static void open_mpi_is_met_within_3_percent(void **state)
{
    const struct library *library = library_of("open-mpi", *state);
    struct table *table = read_table("tests/emulated/openmpi.csv", *state);
    int n_asked = 0;
    for (int row = 0; row < table->n_rows; row++) {
        struct question q = {.library = library,
                             .topology = text(table, row, "topology"),
                             .kind = COLL_ALLREDUCE,
                             .algorithm = openmpi_algorithm(text(table, row, "alg")),
                             .size_B = number(table, row, "bytes"),
                             .hosts = hosts_of(table, row)};
        if (!in_order(&q.hosts)) continue; /* rings here go in the order of the GPUs */
        double rate = number(table, row, "rate_mbit");
        q.rates = (struct rates){rate, rate, rate};
        assert_measured(&q, number(table, row, "median_us") * US, 0.03, **(struct arena **)state);
        n_asked++;
    }
    assert_int_equal(n_asked, 61);
}

/* ---- socket programs: jobs of one case run side by side, each a set of flows ---- */

/* A ring may go through the hosts in any order. */
static void add_job(struct flows *flows, const struct table *table, int row, int job)
{
    struct hosts hosts = hosts_of(table, row);
    const char *op = text(table, row, "op");
    double bytes = number(table, row, "bytes");
    if (strcmp(op, "ring") == 0) add_ring(flows, &hosts, bytes, job);
    if (strcmp(op, "bcast") == 0) add_broadcast(flows, &hosts, bytes, job);
    for (int i = 1; strcmp(op, "incast") == 0 && i < hosts.n; i++) {
        add_flow(flows, (struct flow){hosts.host[i], hosts.host[0], job, bytes, 0});
    }
    for (int i = 0; strcmp(op, "flow") == 0 && i < hosts.n; i += 2) {
        add_flow(flows, (struct flow){hosts.host[i], hosts.host[i + 1], job, bytes, 0});
    }
}

/* A program for each host, a communicator and a stream for each flow. */
static struct job *flows_job(const struct flows *flows, int n_hosts, struct arena *perm)
{
    struct job *job = new_job((struct mesh){1, {n_hosts}, {"hosts"}}, flows->n, perm);
    job->programs = arena_new(perm, struct program, n_hosts);
    job->n_programs = n_hosts;
    job->role_axis = 0;
    job->n_iterations = 1;
    for (int h = 0; h < n_hosts; h++) job->programs[h].n_streams = flows->n;
    int received[MAX_FLOWS];
    for (int f = 0; f < flows->n; f++) {
        const struct flow *flow = &flows->flow[f];
        struct program *sender = &job->programs[flow->src];
        struct op op = coll_op(f, COLL_SENDRECV, flow->bytes, NULL);
        op.stream = f;
        job->comms[f] = (struct comm){.name = "flow", .from = flow->src, .to = flow->dst};
        int sent = program_add_op(sender, op, perm);
        if (flow->after > 0) program_add_dep(sender, sent, received[flow->after - 1], 0, perm);
        received[f] = program_add_op(&job->programs[flow->dst], op, perm);
    }
    job_check(job, *perm);
    return job;
}

/* when the last flow of each job ends */
static void play_flows(const struct flows *flows, struct topo *topo, double *end_s,
                       struct arena scratch)
{
    struct job *job = flows_job(flows, topo->n_gpus, &scratch);
    const struct plan *plan = plan_build(build_inputs(topo, job, &scratch), &scratch);
    const struct run *run = engine_run(plan, &scale_none, &scratch);
    assert_null(run->stuck);
    for (int64_t s = 0; s < run->n_spans; s++) {
        const struct span *span = &run->spans[s];
        const struct plan_class *class = &plan->classes[span->rank_class];
        int f = job->programs[class->program].ops[span->op].comm;
        end_s[flows->flow[f].job] = fmax(end_s[flows->flow[f].job], span->end_s);
    }
}

static bool same_case(const struct table *table, int a, int b)
{
    return strcmp(text(table, a, "case"), text(table, b, "case")) == 0 &&
           strcmp(text(table, a, "up_mbit"), text(table, b, "up_mbit")) == 0;
}

static struct rates rates_of(const struct table *table, int row)
{
    return (struct rates){number(table, row, "rate_mbit"), number(table, row, "up_mbit"),
                          number(table, row, "glob_mbit")};
}

static bool is_hashed(const struct table *table, int row)
{
    return strcmp(text(table, row, "route"), "ecmp") == 0;
}

static bool is_flows(const struct table *table, int row)
{
    static const char *const ops[] = {"ring", "incast", "flow", "bcast"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text(table, row, "op"), ops[i]) == 0) return true;
    }
    return false;
}

static void check_case(const struct table *table, int first, int end, struct arena scratch)
{
    struct flows flows = {0};
    double end_s[8] = {0};
    for (int row = first; row < end; row++) add_job(&flows, table, row, row - first);
    struct topo *topo = topo_of(text(table, first, "topology"), rates_of(table, first), &scratch);
    take_overheads(topo, &flows);
    play_flows(&flows, topo, end_s, scratch);
    for (int row = first; row < end; row++) {
        double measured_s = number(table, row, "median_us") * US;
        print_message("%-26s job %d: measured %9.3f ms, predicted %+5.1f %%\n",
                      text(table, row, "case"), row - first, 1e3 * measured_s,
                      100 * (end_s[row - first] / measured_s - 1));
        assert_close(end_s[row - first], measured_s, 0.03);
    }
}

static void sharing_and_placement_are_met_within_3_percent(void **state)
{
    struct table *table = read_table("tests/emulated/contention.csv", *state);
    int n_cases = 0;
    for (int row = 0; row < table->n_rows;) {
        int end = row + 1;
        while (end < table->n_rows && same_case(table, row, end)) end++;
        if (is_flows(table, row) && !is_hashed(table, row)) {
            check_case(table, row, end, **(struct arena **)state);
            n_cases++;
        }
        row = end;
    }
    assert_int_equal(n_cases, 34);
}

static const struct {
    const char *op, *algorithm;
    enum coll_kind kind;
    double tolerance;
} patterns[] = {
    {"ring", "ring", COLL_ALLREDUCE, 0.03},
    {"ps", "parameter-server", COLL_ALLREDUCE, 0.03},
    {"rhd", "halving-doubling", COLL_ALLREDUCE, 0.05},
    {"a2a", "direct", COLL_ALLTOALL, 0.08},
};
enum { N_PATTERNS = sizeof patterns / sizeof patterns[0], RHD = 2 };

static bool is_straggler_halving(const struct table *table, int row)
{
    return strcmp(text(table, row, "case"), "straggler_rhd8") == 0;
}

/* The program swaps the largest halves with the farthest of the list, the algorithm here with the
 * nearest: bits of the places turned round. */
static void turn_round(struct hosts *hosts)
{
    struct hosts list = *hosts;
    for (int i = 0; i < list.n; i++) {
        int turned = 0;
        for (int bit = 1, other = list.n / 2; bit < list.n; bit *= 2, other /= 2)
            if (i & bit) turned |= other;
        hosts->host[i] = list.host[turned];
    }
}

static struct question question_of(const struct table *table, int row, int p)
{
    struct question q = {.topology = text(table, row, "topology"),
                         .rates = rates_of(table, row),
                         .kind = patterns[p].kind,
                         .algorithm = patterns[p].algorithm,
                         .size_B = number(table, row, "bytes"),
                         .hosts = hosts_of(table, row)};
    if (strcmp(patterns[p].op, "rhd") == 0) turn_round(&q.hosts);
    return q;
}

static void collectives_are_met_within_what_tcp_allows(void **state)
{
    struct table *table = read_table("tests/emulated/contention.csv", *state);
    int n_asked = 0;
    for (int row = 0; row < table->n_rows; row++) {
        size_t p = 0;
        while (p < N_PATTERNS && strcmp(patterns[p].op, text(table, row, "op")) != 0) p++;
        bool lone = (row == 0 || !same_case(table, row - 1, row)) &&
                    (row + 1 == table->n_rows || !same_case(table, row, row + 1));
        if (p == N_PATTERNS || !lone || is_hashed(table, row)) continue;
        if (is_straggler_halving(table, row)) continue;
        struct question q = question_of(table, row, (int)p);
        assert_measured(&q, number(table, row, "median_us") * US, patterns[p].tolerance,
                        **(struct arena **)state);
        n_asked++;
    }
    assert_int_equal(n_asked, 23);
}

/* The one case where order in a queue decides: early halves wait first in line at the slow port, where
 * single messages share it with late ones (too slow) and bundles in lock step have no late ones (too
 * fast). The plan says so. */
static void a_straggler_with_halving_doubling_is_beyond_fluid_flows(void **state)
{
    struct table *table = read_table("tests/emulated/contention.csv", *state);
    int row = 0;
    while (!is_straggler_halving(table, row)) row++;
    struct question q = question_of(table, row, RHD);
    double measured_s = number(table, row, "median_us") * US;
    struct arena scratch = **(struct arena **)state;
    double fluid_s = ask_s(&q, FIDELITY_FLUID, scratch);
    double message_s = ask_s(&q, FIDELITY_MESSAGE, scratch);
    print_message("%-26s job 0: measured %9.3f ms, predicted %+5.1f %%, message %+5.1f %%, warned "
                  "of\n",
                  "straggler_rhd8", 1e3 * measured_s, 100 * (fluid_s / measured_s - 1),
                  100 * (message_s / measured_s - 1));
    assert_true(fluid_s < 0.95 * measured_s);
    assert_true(message_s > 1.2 * measured_s);
    const struct plan *plan = plan_of(&q, &scratch);
    assert_int_equal(plan->n_warnings, 1);
    assert_non_null(strstr(plan->warnings[0], "order in queues"));
}

/* ---- hashed routes ---- */

enum { MAX_SEEDS = 48 };

/* What the case may take: by all collisions that many seeds of the hash draw. ACKs of a ring meet its
 * data everywhere; those of flows that go one way come back alone. */
static int outcomes(const struct table *table, int row, double *end_s, struct arena perm)
{
    for (int seed = 0; seed < MAX_SEEDS; seed++) {
        struct arena scratch = perm;
        struct flows flows = {0};
        add_job(&flows, table, row, 0);
        bool ring = strcmp(text(table, row, "op"), "ring") == 0;
        struct topo *topo =
            hashed_topo(text(table, row, "topology"), rates_of(table, row), seed, &scratch);
        for (int l = 0; l < topo->n_links; l++)
            topo->links[l].capacity_Bps *= ring ? WITH_ACKS : ONE_WAY;
        end_s[seed] = 0;
        play_flows(&flows, topo, &end_s[seed], scratch);
    }
    return MAX_SEEDS;
}

/* The kernel drew its hash anew for every connection and try, so a row is one of the outcomes. */
static void hashed_routes_end_as_one_of_the_collisions(void **state)
{
    struct table *table = read_table("tests/emulated/contention.csv", *state);
    int n_rows = 0;
    for (int row = 0; row < table->n_rows; row++) {
        if (!is_hashed(table, row)) continue;
        double end_s[MAX_SEEDS], measured_s = number(table, row, "median_us") * US;
        int n = outcomes(table, row, end_s, **(struct arena **)state);
        double nearest_s = end_s[0];
        for (int i = 1; i < n; i++)
            if (fabs(end_s[i] - measured_s) < fabs(nearest_s - measured_s)) nearest_s = end_s[i];
        print_message("%-26s job 0: measured %9.3f ms, predicted %+5.1f %%, nearest collision\n",
                      text(table, row, "case"), 1e3 * measured_s,
                      100 * (nearest_s / measured_s - 1));
        assert_close(nearest_s, measured_s, 0.03);
        n_rows++;
    }
    assert_int_equal(n_rows, 12);
}

/* ---- DDP ---- */

/* Seven linear layers of 512: the last one's gradient is 20,520 bytes, the others' 1,050,624. Backward
 * is the same sleep for each, so a bucket is ready when its share of the layers is through. */
static struct job *ddp_job(const struct table *table, int row, struct arena *perm)
{
    struct job *job = new_job((struct mesh){1, {(int)number(table, row, "n")}, {"dp"}}, 1, perm);
    struct program *program = &job->programs[0];
    struct op kernel = {.kind = OP_KERNEL, .part = PART_FORWARD, .name = "forward"};
    double bucket_B[16];
    int n_buckets = list_numbers(text(table, row, "bucket_bytes"), bucket_B, 16);
    job->comms[0] = (struct comm){.name = "dp", .from = -1, .to = -1};
    kernel.work_s = number(table, row, "fwd_ms") * 1e-3;
    program_add_op(program, kernel, perm);
    kernel.work_s = number(table, row, "bwd_local_ms") * 1e-3 / 7;
    double left_B = bucket_B[0];
    int last = 0;
    for (int layer = 0, b = 0; layer < 7; layer++) {
        int back = program_add_op(program, kernel, perm);
        left_B -= layer == 0 ? 20520 : 1050624;
        if (left_B > 0.5) continue;
        last = program_add_op(program, coll_op(0, COLL_ALLREDUCE, bucket_B[b], "ring"), perm);
        program_add_dep(program, last, back, 0, perm);
        left_B = ++b < n_buckets ? bucket_B[b] : 0;
    }
    kernel.work_s = number(table, row, "step_ms") * 1e-3;
    program_add_dep(program, program_add_op(program, kernel, perm), last, 0, perm);
    return job;
}

static void ddp_iterations_are_met_within_5_percent(void **state)
{
    struct table *table = read_table("tests/emulated/ddp.csv", *state);
    for (int row = 0; row < table->n_rows; row++) {
        struct arena scratch = **(struct arena **)state;
        double rate = number(table, row, "rate_mbit");
        struct topo *topo = topo_of("star8", (struct rates){rate, rate, rate}, &scratch);
        struct hosts hosts = {(int)number(table, row, "n"), {0, 1, 2, 3, 4, 5, 6, 7}};
        struct flows flows = {0};
        add_ring(&flows, &hosts, 1, 0);
        take_overheads(topo, &flows);
        struct inputs *in = build_inputs(topo, ddp_job(table, row, &scratch), &scratch);
        double got_s = engine_run(plan_build(in, &scratch), &scale_none, &scratch)->iteration_s;
        double measured_s = number(table, row, "iter_ms") * 1e-3;
        print_message("DDP n %s, %s ms a layer, %4s MB: measured %8.2f ms, predicted %+5.1f %%\n",
                      text(table, row, "n"), text(table, row, "pad_ms"),
                      text(table, row, "bucket_mb"), 1e3 * measured_s,
                      100 * (got_s / measured_s - 1));
        bool little_compute = number(table, row, "pad_ms") < 40; /* hand-over shows more */
        assert_close(got_s, measured_s, little_compute ? 0.06 : 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_mpi_is_met_within_3_percent),
        cmocka_unit_test(sharing_and_placement_are_met_within_3_percent),
        cmocka_unit_test(collectives_are_met_within_what_tcp_allows),
        cmocka_unit_test(a_straggler_with_halving_doubling_is_beyond_fluid_flows),
        cmocka_unit_test(hashed_routes_end_as_one_of_the_collisions),
        cmocka_unit_test(ddp_iterations_are_met_within_5_percent),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
