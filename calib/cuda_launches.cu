/* What it costs to launch: by the host's clock, from the first call to the end of the wait for the device,
 * for that is what a program feels. No pause lets the host get ahead here. */
#include "calib/cuda_math.h"

#include <time.h>

static cudaGraphExec_t graph;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool takes_count(const struct job *job)
{
    return (job->c->n >= 1 && job->c->n <= 1000000) || job_fails(job, "not a number of launches");
}

static bool launch_many(const struct job *job, int64_t n)
{
    for (int64_t i = 0; i < n; i++) TRY_CUDA(job, math_nothing(gpu.stream));
    return true;
}

static bool wait(const struct job *job)
{
    TRY_CUDA(job, cudaStreamSynchronize(gpu.stream));
    return true;
}

static double timed(const struct job *job, int n, bool (*once)(const struct job *job))
{
    if (!wait(job)) return -1;
    double start_s = now_s();
    for (int i = 0; i < n; i++)
        if (!once(job) || !wait(job)) return -1;
    return now_s() - start_s;
}

static bool one_launch(const struct job *job)
{
    return launch_many(job, 1);
}

static bool one_stream(const struct job *job)
{
    return launch_many(job, job->c->n);
}

static bool one_graph(const struct job *job)
{
    TRY_CUDA(job, cudaGraphLaunch(graph, gpu.stream));
    return true;
}

static double run_launch(const struct job *job, int n)
{
    return timed(job, n, one_launch);
}

static double run_stream(const struct job *job, int n)
{
    return timed(job, n, one_stream);
}

static double run_graph(const struct job *job, int n)
{
    return timed(job, n, one_graph);
}

/* A stream under capture records launches instead of doing them; they come one after the other. */
static bool prepare_graph(const struct job *job)
{
    cudaGraph_t recorded = NULL;
    TRY_CUDA(job, cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
    bool launched = launch_many(job, job->c->n);
    cudaError_t status = cudaStreamEndCapture(gpu.stream, &recorded);
    if (!launched) return false;
    TRY_CUDA(job, status);
    status = cudaGraphInstantiate(&graph, recorded, 0);
    cudaGraphDestroy(recorded);
    TRY_CUDA(job, status);
    TRY_CUDA(job, cudaGraphUpload(graph, gpu.stream));
    return wait(job);
}

static void release_graph(void)
{
    if (graph) cudaGraphExecDestroy(graph);
    graph = NULL;
}

static const struct cuda_benchmark rows[] = {
    {"launch", NULL, NULL, NULL, run_launch, NULL, NULL},
    {"launch_stream", takes_count, NULL, NULL, run_stream, NULL, NULL},
    {"launch_graph", takes_count, prepare_graph, NULL, run_graph, NULL, release_graph},
};
const struct cuda_benchmarks cuda_launches = {rows, sizeof rows / sizeof rows[0]};
