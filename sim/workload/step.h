/* The skeleton that all data-parallel strategies share: input, forward and backward of each
 * micro-batch, optimizer. A strategy opens a step, adds its communication, closes the step.
 *
 * Streams: the host issues the kernels of a layer (issue_s each), the layer's kernels start when
 * they are issued and the stream is free; the input pipeline prepares the next batch while this one
 * is computed, one batch ahead. The host may run ahead by one step (a training loop that logs the
 * loss reads the one of the step before).
 *
 * spec->one_gpu_s > 0: the kernel times of forward, backward and optimizer are scaled by one factor
 * so that a step of one GPU takes exactly that long; host ops are left out, since launch is inside
 * the measured time. Input stays on its own stream.
 *
 * Memory held all the time, per parameter: 4 B weight (fp32; the master copy in mixed precision), 2
 * B more for the half copy when arithmetic is 16 bits (1 B when 8), gradient_B for the gradient,
 * and the optimizer's state: momentum 4 B, Adam and LAMB 8 B. Source: Rajbhandari et al., ZeRO,
 * 2020, sec. 3.1 (2 + 2 + K, K = 12 for mixed-precision Adam). */
#ifndef WORKLOAD_STEP_H
#define WORKLOAD_STEP_H

#include "workload/strategy.h"

enum { STREAM_HOST, STREAM_COMPUTE, STREAM_INPUT, STREAM_FIRST_OF_STRATEGY };

struct step {
    const struct train_spec *spec;
    const struct model *model;
    const struct gpu *gpu;
    struct arena *perm;
    struct job *job;
    struct program *program;
    double scale;             /* of kernel times */
    const int *backward_op;   /* [n_layers] its kernel in the last micro-batch */
    const double *backward_s; /* [n_layers] when its gradients are ready, from the start of the last
                                 backward, with the kernels back to back */
};

/* step_open — everything up to the end of backward. The strategy's own streams are named by
 * `streams`[n_streams]; they are numbered from STREAM_FIRST_OF_STRATEGY. */
struct step step_open(const struct train_spec *spec, const struct model *model,
                      const struct gpu *gpu, const char *const *streams, int n_streams,
                      struct arena *perm);

/* step_communicates — false for one rank: then a strategy adds nothing. */
static inline bool step_communicates(const struct step *step)
{
    return step->spec->n_ranks > 1;
}

/* step_comm — the communicator of all ranks (and servers); to be called once by a strategy that
 * communicates. Returns its number. */
int step_comm(struct step *step, int n_servers);

/* a gradient all-reduce: it waits for the backward kernel of `layer` (the last to run of those
 * whose gradients it carries), or for the whole of backward when spec->overlap is false */
struct reduction {
    const char *name, *algorithm;
    int stream, comm, root;
    int layer;
    double size_B;
    int after; /* one more op it waits for, -1 = none */
};
int step_reduce(struct step *step, const struct reduction *reduction);

/* step_last_backward — the kernel that a reduction of gradients down to `layer` has to wait for. */
int step_last_backward(const struct step *step, int layer);

/* step_copy — n_kernels that copy size_B on a stream, after op `after` (-1 = none). Returns the
 * op. */
struct copy {
    const char *name;
    int stream, n_kernels, after;
    double size_B;
};
int step_copy(struct step *step, const struct copy *copy);

/* step_pack — the backward kernel of `layer` also copies its n_tensors gradients, size_B in all,
 * into a buffer: the copies stand right behind it on the compute stream. */
void step_pack(struct step *step, int layer, double size_B, int n_tensors);

/* step_close — the optimizer, after all ops in after[n_after]; returns the finished job. buffers_B
 * is what the strategy holds on top of the model's state. */
struct job *step_close(struct step *step, const int *after, int n_after, double buffers_B);

/* What every strategy shares, whether or not it uses the skeleton above.
 *
 * step_scale — factor on kernel times that makes the step of one GPU last spec->one_gpu_s.
 * step_update — the optimizer on n_parameters.
 * step_state — bytes held per parameter: `copy` is what kernels and gathers of parameters read
 * where it is not the master weight itself (0).
 * step_held — the same by what it is held for. step_sum_B — all of it. */
struct state_bytes {
    double weight, copy, gradient, optimizer;
};
double step_scale(const struct train_spec *spec, const struct model *model, const struct gpu *gpu);
struct kernel_time step_update(const struct train_spec *spec, const struct gpu *gpu,
                               double n_parameters);
struct state_bytes step_state(const struct train_spec *spec);
struct held step_held(const struct state_bytes *state);
double step_sum_B(const struct held *held);

/* what an optimizer costs per parameter */
struct optimizer {
    const char *name;
    double state_B; /* kept */
    double moved_B; /* read and written by the update, fp32 gradient and weight included */
    const char *source;
};
extern const struct optimizer optimizers[];
extern const int n_optimizers;
const struct optimizer *optimizer_find(const char *name);

#endif
