/* Collectives by NCCL: one process, one communicator over the first n_ranks GPUs of the server. Sizes
 * count as in nccl-tests (raw_benchmarks says of what), and as there the buffers stay the same from run to
 * run. Without NCCL at build time the table is empty. */
#include "calib/cuda.h"

#ifdef CALIB_NCCL

#include "calib/cuda_beside.h"
#include "calib/cuda_check.h"
#include "calib/cuda_product.h"

#include <math.h>
#include <nccl.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 16 };

#define TRY_NCCL(job, call)                                                                            \
    do {                                                                                               \
        ncclResult_t status_ = (call);                                                                 \
        if (status_ != ncclSuccess) return job_fails(job, "%s: %s", #call, ncclGetErrorString(status_)); \
    } while (0)

struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    unsigned char *send, *recv;
};
static struct {
    struct rank rank[RANKS_MAX];
    int n_ranks;
} group;

/* numbers of a case: of a buffer, and of one rank's part of it */
struct extent {
    enum number number;
    ncclDataType_t type;
    size_t whole, part;
};

static struct extent extent_of(const struct calib_case *c)
{
    struct extent extent = {NUMBER_FP32, ncclFloat, 0, 0};
    if (!number_of(c->dtype, &extent.number)) extent.number = NUMBER_FP32;
    if (extent.number == NUMBER_FP16) extent.type = ncclHalf;
    if (extent.number == NUMBER_BF16) extent.type = ncclBfloat16;
    extent.whole = (size_t)(c->size_B / number_B(extent.number));
    extent.part = extent.whole / (size_t)c->n_ranks;
    return extent;
}

/* Where a collective puts what: block p of rank r's result is block `block` of rank `from`'s operand, or
 * the sum of that block over all ranks. */
struct origin {
    int from, block;
};
struct operation {
    const char *name;
    ncclResult_t (*send)(int rank, const struct extent *extent);
    bool sums, rooted;    /* rooted: only rank 0 has a result */
    bool parts_of_result; /* the result is n_ranks parts; else one block, whole or a part: */
    bool part_alone;
    struct origin (*origin)(int rank, int part, int n);
};

static unsigned char *part_at(unsigned char *buffer, int part, const struct extent *extent)
{
    return buffer + (size_t)part * extent->part * (size_t)number_B(extent->number);
}

static ncclResult_t send_all_reduce(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    return ncclAllReduce(rank->send, rank->recv, e->whole, e->type, ncclSum, rank->comm, rank->stream);
}

static ncclResult_t send_all_gather(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    return ncclAllGather(rank->send, rank->recv, e->part, e->type, rank->comm, rank->stream);
}

static ncclResult_t send_reduce_scatter(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    return ncclReduceScatter(rank->send, rank->recv, e->part, e->type, ncclSum, rank->comm, rank->stream);
}

static ncclResult_t send_broadcast(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    return ncclBroadcast(rank->send, rank->recv, e->whole, e->type, 0, rank->comm, rank->stream);
}

static ncclResult_t send_reduce(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    return ncclReduce(rank->send, rank->recv, e->whole, e->type, ncclSum, 0, rank->comm, rank->stream);
}

static ncclResult_t send_gather(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    ncclResult_t status = ncclSend(rank->send, e->part, e->type, 0, rank->comm, rank->stream);
    for (int peer = 0; r == 0 && peer < group.n_ranks && status == ncclSuccess; peer++)
        status = ncclRecv(part_at(rank->recv, peer, e), e->part, e->type, peer, rank->comm, rank->stream);
    return status;
}

static ncclResult_t send_scatter(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    ncclResult_t status = ncclRecv(rank->recv, e->part, e->type, 0, rank->comm, rank->stream);
    for (int peer = 0; r == 0 && peer < group.n_ranks && status == ncclSuccess; peer++)
        status = ncclSend(part_at(rank->send, peer, e), e->part, e->type, peer, rank->comm, rank->stream);
    return status;
}

static ncclResult_t send_all_to_all(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    ncclResult_t status = ncclSuccess;
    for (int peer = 0; peer < group.n_ranks && status == ncclSuccess; peer++) {
        status = ncclSend(part_at(rank->send, peer, e), e->part, e->type, peer, rank->comm, rank->stream);
        if (status == ncclSuccess)
            status = ncclRecv(part_at(rank->recv, peer, e), e->part, e->type, peer, rank->comm, rank->stream);
    }
    return status;
}

static ncclResult_t send_to_next(int r, const struct extent *e)
{
    struct rank *rank = &group.rank[r];
    int next = (r + 1) % group.n_ranks;
    int previous = (r + group.n_ranks - 1) % group.n_ranks;
    ncclResult_t status = ncclSend(rank->send, e->whole, e->type, next, rank->comm, rank->stream);
    if (status != ncclSuccess) return status;
    return ncclRecv(rank->recv, e->whole, e->type, previous, rank->comm, rank->stream);
}

static struct origin of_root(int, int, int)
{
    return {0, 0};
}
static struct origin of_part(int, int part, int)
{
    return {part, 0};
}
static struct origin of_own_block(int rank, int, int)
{
    return {0, rank};
}
static struct origin of_part_own_block(int rank, int part, int)
{
    return {part, rank};
}
static struct origin of_previous(int rank, int, int n)
{
    return {(rank + n - 1) % n, 0};
}

static const struct operation operations[] = {
    {"all_reduce", send_all_reduce, true, false, false, false, of_root},
    {"all_gather", send_all_gather, false, false, true, true, of_part},
    {"reduce_scatter", send_reduce_scatter, true, false, false, true, of_own_block},
    {"broadcast", send_broadcast, false, false, false, false, of_root},
    {"reduce", send_reduce, true, true, false, false, of_root},
    {"gather", send_gather, false, true, true, true, of_part},
    {"scatter", send_scatter, false, false, false, true, of_own_block},
    {"all_to_all", send_all_to_all, false, false, true, true, of_part_own_block},
    {"send_recv", send_to_next, false, false, false, false, of_previous},
};

/* the all-reduce beside a product is the first */
static const struct operation *operation_of(const struct calib_case *c)
{
    for (const struct operation &operation : operations)
        if (strcmp(operation.name, c->benchmark) == 0) return &operation;
    return &operations[0];
}

static bool fits_device(const struct job *job, int device, double bytes)
{
    size_t free_B = 0, total_B = 0;
    TRY_CUDA(job, cudaSetDevice(device));
    cudaError_t status = cudaMemGetInfo(&free_B, &total_B);
    TRY_CUDA(job, cudaSetDevice(0));
    TRY_CUDA(job, status);
    /* NCCL itself takes some hundred megabytes for channels */
    if (bytes + 2e9 <= (double)free_B) return true;
    return job_fails(job, "needs %.3g GB on device %d, %.3g GB are free", bytes * 1e-9, device, (double)free_B * 1e-9);
}

static bool takes_ranks(const struct job *job)
{
    const struct calib_case *c = job->c;
    if (c->n_ranks < 2) return job_fails(job, "a collective needs two GPUs");
    if (c->n_ranks > gpu.n_devices || c->n_ranks > RANKS_MAX)
        return job_fails(job, "there are %d GPUs (of at most %d)", gpu.n_devices, (int)RANKS_MAX);
    enum number number = NUMBER_FP32;
    if (c->dtype[0] && (!number_of(c->dtype, &number) || number == NUMBER_FP8))
        return job_fails(job, "not a type of collectives here");
    if (extent_of(c).part < 1) return job_fails(job, "less than one number for each rank");
    for (int r = 0; r < c->n_ranks; r++)
        if (!fits_device(job, r, 2 * c->size_B)) return false;
    return true;
}

static bool takes_product_and_ranks(const struct job *job)
{
    return takes_ranks(job) && product_supported(job);
}

/* communicators: kept until another number of ranks is asked for, for making them takes seconds */

static void close_rank(struct rank *rank)
{
    if (rank->comm) ncclCommDestroy(rank->comm);
    if (rank->start) cudaEventDestroy(rank->start);
    if (rank->stop) cudaEventDestroy(rank->stop);
    if (rank->stream) cudaStreamDestroy(rank->stream);
    *rank = {};
}

void cuda_collectives_close(void)
{
    for (int r = 0; r < group.n_ranks; r++) {
        cudaSetDevice(r);
        close_rank(&group.rank[r]);
    }
    if (group.n_ranks > 0) cudaSetDevice(0);
    group.n_ranks = 0;
}

static bool open_rank(const struct job *job, int r)
{
    struct rank *rank = &group.rank[r];
    TRY_CUDA(job, cudaSetDevice(r));
    TRY_CUDA(job, cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking));
    TRY_CUDA(job, cudaEventCreate(&rank->start));
    TRY_CUDA(job, cudaEventCreate(&rank->stop));
    return true;
}

static bool open_ranks(const struct job *job, int n)
{
    if (group.n_ranks == n) return true;
    cuda_collectives_close();
    ncclComm_t comms[RANKS_MAX] = {};
    TRY_NCCL(job, ncclCommInitAll(comms, n, NULL));
    group.n_ranks = n;
    for (int r = 0; r < n; r++) group.rank[r].comm = comms[r];
    bool opened = true;
    for (int r = 0; r < n; r++) opened = opened && open_rank(job, r);
    cudaSetDevice(0);
    if (!opened) cuda_collectives_close();
    return opened;
}

static bool prepare_rank(const struct job *job, int r)
{
    struct rank *rank = &group.rank[r];
    struct extent extent = extent_of(job->c);
    struct fill fill = {NULL, (int64_t)extent.whole, extent.number, gpu.seed + 1000003u * (uint64_t)(r + 1), -1.0f};
    TRY_CUDA(job, cudaSetDevice(r));
    TRY_CUDA(job, cudaMalloc(&rank->send, (size_t)job->c->size_B));
    TRY_CUDA(job, cudaMalloc(&rank->recv, (size_t)job->c->size_B));
    fill.numbers = rank->send;
    TRY_CUDA(job, math_fill(fill, rank->stream));
    TRY_CUDA(job, cudaStreamSynchronize(rank->stream));
    return true;
}

static bool prepare_ranks(const struct job *job)
{
    bool prepared = open_ranks(job, job->c->n_ranks);
    for (int r = 0; r < group.n_ranks; r++) prepared = prepared && prepare_rank(job, r);
    cudaSetDevice(0);
    return prepared;
}

static void release_ranks(void)
{
    for (int r = 0; r < group.n_ranks; r++) {
        cudaSetDevice(r);
        cudaStreamSynchronize(group.rank[r].stream);
        cudaFree(group.rank[r].send);
        cudaFree(group.rank[r].recv);
        group.rank[r].send = group.rank[r].recv = NULL;
    }
    cudaSetDevice(0);
}

/* one collective of all ranks: grouped, or the first rank's call would wait for the others' for ever */
static bool send_once(const struct job *job)
{
    const struct operation *operation = operation_of(job->c);
    struct extent extent = extent_of(job->c);
    ncclResult_t sent = ncclSuccess;
    TRY_NCCL(job, ncclGroupStart());
    for (int r = 0; r < group.n_ranks && sent == ncclSuccess; r++) sent = operation->send(r, &extent);
    ncclResult_t ended = ncclGroupEnd();
    TRY_NCCL(job, sent);
    TRY_NCCL(job, ended);
    return true;
}

static bool record_all(const struct job *job, bool start)
{
    for (int r = 0; r < group.n_ranks; r++) {
        struct rank *rank = &group.rank[r];
        TRY_CUDA(job, cudaSetDevice(r));
        TRY_CUDA(job, cudaEventRecord(start ? rank->start : rank->stop, rank->stream));
    }
    TRY_CUDA(job, cudaSetDevice(0));
    return true;
}

static bool hold_all(const struct job *job, int n)
{
    for (int r = 0; r < group.n_ranks; r++) {
        TRY_CUDA(job, cudaSetDevice(r));
        if (!gpu_hold(job, group.rank[r].stream, n)) return false;
    }
    TRY_CUDA(job, cudaSetDevice(0));
    return true;
}

static bool wait_all(const struct job *job)
{
    for (int r = 0; r < group.n_ranks; r++) TRY_CUDA(job, cudaStreamSynchronize(group.rank[r].stream));
    return true;
}

static bool longest_of_all(const struct job *job, double *time_s)
{
    for (int r = 0; r < group.n_ranks; r++) {
        float time_ms = 0;
        TRY_CUDA(job, cudaEventElapsedTime(&time_ms, group.rank[r].start, group.rank[r].stop));
        *time_s = fmax(*time_s, (double)time_ms * 1e-3);
    }
    return true;
}

/* A collective before the clocks start brings the ranks into step; the longest of their times counts. */
static double run_ranks(const struct job *job, int n)
{
    double time_s = 0;
    int64_t launches = (int64_t)(n + 1) * group.n_ranks;
    bool sent = hold_all(job, launches < INT32_MAX ? (int)launches : INT32_MAX) && send_once(job) &&
                record_all(job, true);
    for (int i = 0; i < n && sent; i++) sent = send_once(job);
    bool done = sent && record_all(job, false) && wait_all(job) && longest_of_all(job, &time_s);
    cudaSetDevice(0);
    return done ? time_s : -1;
}

/* checks: the first numbers of each block of a result */

static bool expected(const struct job *job, struct origin origin, int64_t length, std::vector<double> *want,
                     std::vector<double> *magnitude)
{
    const struct operation *operation = operation_of(job->c);
    struct extent extent = extent_of(job->c);
    int64_t from = origin.block * (int64_t)extent.part;
    want->assign((size_t)length, 0);
    magnitude->assign((size_t)length, 0);
    for (int r = 0; r < group.n_ranks; r++) {
        std::vector<double> x;
        if (!operation->sums && r != origin.from) continue;
        if (!check_fetch(job, {group.rank[r].send, extent.number, from, length}, &x)) return false;
        for (size_t i = 0; i < x.size(); i++) {
            (*want)[i] += x[i];
            (*magnitude)[i] += fabs(x[i]);
        }
    }
    return true;
}

static double check_block(const struct job *job, int r, int block)
{
    const struct operation *operation = operation_of(job->c);
    struct extent extent = extent_of(job->c);
    int64_t has = (int64_t)(operation->part_alone ? extent.part : extent.whole);
    int64_t length = has < 1024 ? has : 1024;
    int64_t from = operation->parts_of_result ? block * (int64_t)extent.part : 0;
    std::vector<double> got, want, magnitude;
    if (!expected(job, operation->origin(r, block, group.n_ranks), length, &want, &magnitude) ||
        !check_fetch(job, {group.rank[r].recv, extent.number, from, length}, &got))
        return NAN;
    double unit = extent.number == NUMBER_BF16 ? 0x1p-8 : extent.number == NUMBER_FP16 ? 0x1p-11 : 0x1p-24;
    double worst = 0;
    for (size_t i = 0; i < got.size(); i++) {
        double allowed = operation->sums ? unit * group.n_ranks * magnitude[i] + 0x1p-24 : 0x1p-100;
        worst = check_one(job, worst, {got[i], want[i], allowed, from + (int64_t)i});
    }
    return worst;
}

static double check_ranks(const struct job *job)
{
    const struct operation *operation = operation_of(job->c);
    int n_blocks = operation->parts_of_result ? group.n_ranks : 1;
    double worst = 0;
    if (!send_once(job) || !wait_all(job)) return NAN;
    for (int r = 0; r < (operation->rooted ? 1 : group.n_ranks); r++)
        for (int block = 0; block < n_blocks; block++) worst = reference_worse(worst, check_block(job, r, block));
    return worst;
}

/* a product on device 0 while all devices reduce */

static struct product product;

static bool prepare_both(const struct job *job)
{
    return product_plan(job, job->c, &product) && prepare_ranks(job);
}

static void release_both(void)
{
    product_free(&product);
    release_ranks();
}

static bool multiply(const struct job *job, const struct operands *operands, cudaStream_t stream)
{
    return product_run(job, &product, operands, stream);
}

static bool reduce_beside(const struct job *job, const struct operands *, cudaStream_t)
{
    return send_once(job);
}

static double run_product(const struct job *job, int n)
{
    double time_s = beside_timed(job, {multiply, reduce_beside, group.rank[0].stream}, n);
    return wait_all(job) ? time_s : -1;
}

#define COLLECTIVE(name) {name, takes_ranks, prepare_ranks, NULL, run_ranks, check_ranks, release_ranks}
static const struct cuda_benchmark rows[] = {
    COLLECTIVE("all_reduce"), COLLECTIVE("all_gather"), COLLECTIVE("reduce_scatter"),
    COLLECTIVE("broadcast"),  COLLECTIVE("reduce"),     COLLECTIVE("gather"),
    COLLECTIVE("scatter"),    COLLECTIVE("all_to_all"), COLLECTIVE("send_recv"),
    {"gemm_during_all_reduce", takes_product_and_ranks, prepare_both, NULL, run_product, NULL, release_both},
};
const struct cuda_benchmarks cuda_collectives = {rows, sizeof rows / sizeof rows[0]};

const char *cuda_collectives_version(void)
{
    static char text[32];
    int version = 0; /* 22809 = 2.28.9 */
    if (ncclGetVersion(&version) != ncclSuccess) return "";
    snprintf(text, sizeof text, " NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return text;
}

#else

const struct cuda_benchmarks cuda_collectives = {NULL, 0};

const char *cuda_collectives_version(void)
{
    return "";
}

void cuda_collectives_close(void) {}

#endif
