/* Messages and collectives between processes. Rank 0 runs the harness; what it does, the others are told
 * in small broadcasts and do too. Between them they sleep, so that they do not take processors from
 * benchmarks without ranks. */
#include "calib/cpu.h"

#include <stdio.h>

#ifdef CALIB_MPI
#include "calib/interrupt.h"
#include "calib/wall.h"

#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum order_kind { ORDER_PREPARE, ORDER_RUN, ORDER_CHECK, ORDER_RELEASE, ORDER_LEAVE };
struct order {
    enum order_kind kind;
    int benchmark; /* row of cpu_mpi */
    int n_ranks, n_runs;
    double size_B;
};

/* nanoseconds between two looks for an order: short against a batch, long against the look */
static const long NAP_NS = 200000;

static struct {
    int rank, n;
    MPI_Comm all, some; /* of all processes; of the ranks of the case, MPI_COMM_NULL elsewhere */
    struct order order; /* ORDER_PREPARE of the case */
    int per_node;       /* of the case's ranks, on the first one's machine */
    struct arena *memory, before;
    float *x, *y;
} ranks;

/* Elements of one rank's part (is_shared), or of a message. */
static int length(bool is_shared)
{
    double n = ranks.order.size_B / sizeof(float);
    return (int)(is_shared ? n / ranks.order.n_ranks : n);
}

static void ping_pong(int n)
{
    int size_B = (int)ranks.order.size_B;
    int me = 0;
    MPI_Comm_rank(ranks.some, &me);
    for (int i = 0; i < n; i++) {
        if (me == 0) {
            MPI_Send(ranks.x, size_B, MPI_BYTE, 1, 0, ranks.some);
            MPI_Recv(ranks.y, size_B, MPI_BYTE, 1, 0, ranks.some, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(ranks.y, size_B, MPI_BYTE, 0, 0, ranks.some, MPI_STATUS_IGNORE);
            MPI_Send(ranks.y, size_B, MPI_BYTE, 0, 0, ranks.some);
        }
    }
}

static void send_recv(int n)
{
    int me = 0;
    MPI_Comm_rank(ranks.some, &me);
    int next = (me + 1) % ranks.order.n_ranks;
    int last = (me + ranks.order.n_ranks - 1) % ranks.order.n_ranks;
    for (int i = 0; i < n; i++) {
        MPI_Sendrecv(ranks.x, length(false), MPI_FLOAT, next, 0, ranks.y, length(false), MPI_FLOAT,
                     last, 0, ranks.some, MPI_STATUS_IGNORE);
    }
}

static void all_reduce(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Allreduce(ranks.x, ranks.y, length(false), MPI_FLOAT, MPI_SUM, ranks.some);
}

static void all_gather(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Allgather(ranks.x, length(true), MPI_FLOAT, ranks.y, length(true), MPI_FLOAT,
                      ranks.some);
}

static void reduce_scatter(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Reduce_scatter_block(ranks.x, ranks.y, length(true), MPI_FLOAT, MPI_SUM, ranks.some);
}

static void broadcast(int n)
{
    for (int i = 0; i < n; i++) MPI_Bcast(ranks.y, length(false), MPI_FLOAT, 0, ranks.some);
}

static void reduce(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Reduce(ranks.x, ranks.y, length(false), MPI_FLOAT, MPI_SUM, 0, ranks.some);
}

static void all_to_all(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Alltoall(ranks.x, length(true), MPI_FLOAT, ranks.y, length(true), MPI_FLOAT,
                     ranks.some);
}

/* What rank r sends at place i: whole numbers, so that sums of few ranks are exact. */
static double sent(int r, int64_t i)
{
    return (double)(r + 1) * (double)(i % 251);
}

static double summed(int64_t i)
{
    double n = ranks.order.n_ranks;
    return n * (n + 1) / 2 * (double)(i % 251);
}

/* What rank r is to have at place i after a run. */
static double want_pong(int r, int64_t i)
{
    (void)r;
    return sent(0, i);
}

static double want_last(int r, int64_t i)
{
    return sent((r + ranks.order.n_ranks - 1) % ranks.order.n_ranks, i);
}

static double want_sum(int r, int64_t i)
{
    (void)r;
    return summed(i);
}

static double want_parts(int r, int64_t i)
{
    (void)r;
    return sent((int)(i / length(true)), i % length(true));
}

static double want_own_sum(int r, int64_t i)
{
    return summed((int64_t)r * length(true) + i);
}

static double want_turned(int r, int64_t i)
{
    return sent((int)(i / length(true)), (int64_t)r * length(true) + i % length(true));
}

/* Which places of y are compared: whole messages, whole parts, a part; at the root or everywhere. */
enum got { GOT_WHOLE, GOT_PARTS, GOT_PART };
static const struct {
    void (*run)(int n);
    double (*want)(int r, int64_t i);
    enum got got;
    bool at_root;
} kinds[] = {
    {ping_pong, want_pong, GOT_WHOLE, false},
    {send_recv, want_last, GOT_WHOLE, false},
    {all_reduce, want_sum, GOT_WHOLE, false},
    {all_gather, want_parts, GOT_PARTS, false},
    {reduce_scatter, want_own_sum, GOT_PART, false},
    {broadcast, want_pong, GOT_WHOLE, false},
    {reduce, want_sum, GOT_WHOLE, true},
    {all_to_all, want_turned, GOT_PARTS, false},
};
enum { PING_PONG = 0 };

/* The first n ranks; of a pair the first and the last, which are on two machines where there are two. */
static void choose_ranks(void)
{
    const struct order *order = &ranks.order;
    bool is_pair = order->benchmark == PING_PONG;
    bool takes_part =
        is_pair ? ranks.rank == 0 || ranks.rank == ranks.n - 1 : ranks.rank < order->n_ranks;
    MPI_Comm_split(ranks.all, takes_part ? 0 : MPI_UNDEFINED, ranks.rank, &ranks.some);
    if (!takes_part) return;
    MPI_Comm node;
    MPI_Comm_split_type(ranks.some, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks.per_node);
    MPI_Comm_free(&node);
}

static void do_prepare(void)
{
    choose_ranks();
    ranks.before = *ranks.memory;
    if (ranks.some == MPI_COMM_NULL) return;
    int me = 0;
    MPI_Comm_rank(ranks.some, &me);
    int64_t n = (int64_t)(ranks.order.size_B / sizeof(float)) + 1;
    ranks.x = arena_new(ranks.memory, float, n);
    ranks.y = arena_new(ranks.memory, float, n);
    for (int64_t i = 0; i < n; i++) ranks.x[i] = (float)sent(me, i);
    /* nothing but a run makes it right; but what a root sends lies there */
    bool is_root = kinds[ranks.order.benchmark].run == broadcast && me == 0;
    for (int64_t i = 0; i < n; i++) ranks.y[i] = is_root ? ranks.x[i] : -1;
}

/* The slowest rank's seconds of n runs, after all have come; at rank 0. */
static double do_run(int n)
{
    double slowest_s = 0;
    if (ranks.some == MPI_COMM_NULL) return slowest_s;
    MPI_Barrier(ranks.some);
    double begin_s = wall_s();
    kinds[ranks.order.benchmark].run(n);
    double spent_s = wall_s() - begin_s;
    MPI_Reduce(&spent_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, ranks.some);
    return slowest_s;
}

static int64_t n_got(enum got got)
{
    if (got == GOT_WHOLE) return length(false);
    return got == GOT_PART ? length(true) : (int64_t)length(true) * ranks.order.n_ranks;
}

/* The worst over ranks, at rank 0. Sums of n numbers round n times. */
static double do_check(void)
{
    double all_worst = 0;
    if (ranks.some == MPI_COMM_NULL) return all_worst;
    int me = 0;
    MPI_Comm_rank(ranks.some, &me);
    double worst = 0;
    int64_t n = kinds[ranks.order.benchmark].at_root && me > 0
                    ? 0
                    : n_got(kinds[ranks.order.benchmark].got);
    for (int64_t i = 0; i < n; i++) {
        double want = kinds[ranks.order.benchmark].want(me, i);
        double allowed = want * (double)FLT_EPSILON * ranks.order.n_ranks;
        worst = cpu_worse(worst, (double)ranks.y[i], want, allowed);
    }
    MPI_Reduce(&worst, &all_worst, 1, MPI_DOUBLE, MPI_MAX, 0, ranks.some);
    return all_worst;
}

static void do_release(void)
{
    if (ranks.some != MPI_COMM_NULL) MPI_Comm_free(&ranks.some);
    *ranks.memory = ranks.before;
}

static void tell(enum order_kind kind, int n_runs)
{
    struct order order = ranks.order;
    order.kind = kind;
    order.n_runs = n_runs;
    MPI_Request request;
    MPI_Ibcast(&order, sizeof order, MPI_BYTE, 0, ranks.all, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static struct order hear(void)
{
    struct order order;
    MPI_Request request;
    int is_there = 0;
    MPI_Ibcast(&order, sizeof order, MPI_BYTE, 0, ranks.all, &request);
    for (;;) {
        MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
        if (is_there) break;
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    /* it has come: this only says that the request is over */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return order;
}

/* What every rank but 0 does until the end. Signals come to all ranks; the first gives rank 0 its time
 * to write. */
static _Noreturn void serve(void)
{
    interrupt_catch();
    for (;;) {
        struct order order = hear();
        if (order.kind == ORDER_LEAVE) break;
        if (order.kind == ORDER_PREPARE) {
            ranks.order = order;
            do_prepare();
        }
        if (order.kind == ORDER_RUN) do_run(order.n_runs);
        if (order.kind == ORDER_CHECK) do_check();
        if (order.kind == ORDER_RELEASE) do_release();
    }
    MPI_Finalize();
    exit(0);
}

/* Open MPI and Slurm's PMIx; MPICH and its kin */
static bool was_started_by_mpirun(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

/* address space, committed when touched */
static const size_t RESERVE_B = (size_t)16 << 30;

struct mpi_ranks mpi_join(void)
{
    struct mpi_ranks joined = {.n = 1};
    if (!was_started_by_mpirun()) return joined;
    int is_there = 0;
    MPI_Initialized(&is_there);
    if (!is_there) MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &ranks.all);
    MPI_Comm_rank(ranks.all, &ranks.rank);
    MPI_Comm_size(ranks.all, &ranks.n);
    ranks.memory = arena_open(RESERVE_B);
    ranks.some = MPI_COMM_NULL;
    if (ranks.rank > 0) serve();
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    MPI_Get_library_version(version, &n);
    snprintf(joined.library, sizeof joined.library, "%.*s", (int)strcspn(version, ",\n"), version);
    joined.n = ranks.n;
    return joined;
}

void mpi_leave(void)
{
    if (ranks.n == 0) return;
    tell(ORDER_LEAVE, 0);
    MPI_Comm_free(&ranks.all);
    MPI_Finalize();
    arena_close(ranks.memory);
    ranks.n = 0;
}

int mpi_ranks_per_node(const struct calib_case *c)
{
    if (ranks.n < 2 || ranks.some == MPI_COMM_NULL) return c->n_ranks;
    return ranks.per_node;
}

static bool supports(const struct calib_case *c, char *why, size_t size)
{
    no_fault(why, size);
    if (ranks.n < 2) {
        snprintf(why, size, "messages between processes take two or more: mpirun -n 2 dpsim-calib");
        return false;
    }
    if (c->n_ranks > ranks.n) {
        snprintf(why, size, "%d ranks are fewer than the case wants", ranks.n);
        return false;
    }
    if (strcmp(c->benchmark, "ping_pong") != 0 && c->size_B < (double)sizeof(float) * c->n_ranks) {
        snprintf(why, size, "fewer elements than ranks");
        return false;
    }
    return true;
}

static int row_of(const struct calib_case *c)
{
    int row = 0;
    while (strcmp(cpu_mpi[row].name, c->benchmark) != 0) row++;
    return row;
}

static void prepare(const struct calib_case *c)
{
    ranks.order =
        (struct order){.benchmark = row_of(c), .n_ranks = c->n_ranks, .size_B = c->size_B};
    tell(ORDER_PREPARE, 0);
    do_prepare();
}

static double timed(const struct calib_case *c, int n)
{
    (void)c;
    tell(ORDER_RUN, n);
    return do_run(n);
}

static void run(const struct calib_case *c, int n)
{
    timed(c, n);
}

static double check(const struct calib_case *c)
{
    (void)c;
    tell(ORDER_CHECK, 0);
    return do_check();
}

static void release(const struct calib_case *c)
{
    (void)c;
    tell(ORDER_RELEASE, 0);
    do_release();
}

#define ROW(name, dtypes, share)                                                                   \
    {                                                                                              \
        name, dtypes, true, prepare, run, check, release, share, timed, supports                   \
    }

#else

struct mpi_ranks mpi_join(void)
{
    return (struct mpi_ranks){.n = 1};
}

void mpi_leave(void)
{
}

int mpi_ranks_per_node(const struct calib_case *c)
{
    return c->n_ranks;
}

static bool supports(const struct calib_case *c, char *why, size_t size)
{
    (void)c;
    snprintf(why, size, "this program was built without MPI");
    return false;
}

/* nothing is supported, so nothing is called */
#define ROW(name, dtypes, share)                                                                   \
    {                                                                                              \
        name, dtypes, true, NULL, NULL, NULL, NULL, share, NULL, supports                          \
    }

#endif

const struct cpu_benchmark cpu_mpi[] = {
    /* in the order of kinds */
    ROW("ping_pong", "", 0.5),          ROW("send_recv", " fp32 ", 1),
    ROW("all_reduce", " fp32 ", 1),     ROW("all_gather", " fp32 ", 1),
    ROW("reduce_scatter", " fp32 ", 1), ROW("broadcast", " fp32 ", 1),
    ROW("reduce", " fp32 ", 1),         ROW("all_to_all", " fp32 ", 1),
};
const int n_cpu_mpi = sizeof cpu_mpi / sizeof cpu_mpi[0];
