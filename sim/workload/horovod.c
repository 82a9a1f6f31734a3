/* Horovod: a background thread wakes every cycle, takes the gradients that are ready, and reduces
 * them fused in buffers of at most fusion_B.
 *
 *   compute        B5 B4 B3 B2 B1
 *   cycle          |--wait-|--wait-|      each wait ends at the tick that sees the gradient
 *   communication           in [5 4] out  in [3 2 1] out
 *
 * Which tick sees a gradient depends on when it is ready, which is computed from the kernel times
 * alone, with ticks at whole cycles from the start of backward. In the program a wait is a host op
 * as long as from there to the tick, started by the backward kernel of the last gradient that the
 * tick sees: if kernels run late, the tick is late with them. A tick that sees several buffers'
 * worth sends them one after the other. A gradient larger than the buffer travels alone, uncopied,
 * as does one that is alone; others are copied into the buffer and out of it on the communication
 * stream. Fusion takes gradients in the order they became ready and does not look ahead.
 * Source: Sergeev & Del Balso, Horovod, 2018, sec. 4; horovod/common/operations.cc and
 * docs/tensor-fusion.rst (128 MiB, 1 ms). */
#include "workload/data_parallel.h"
#include "workload/step.h"

#include <math.h>

enum { STREAM_CYCLE = STREAM_FIRST_OF_STRATEGY, STREAM_FUSED };

/* the step while its gradients are sent */
struct horovod {
    struct step step;
    const int *order; /* [n_tensors] in the order they become ready */
    int comm, n_sent; /* collectives so far */
    int *last;        /* [n_tensors] the op that ends each of them */
};

static double ready_s(const struct horovod *h, int i)
{
    const struct step *step = &h->step;
    int layer = step->model->tensors[h->order[i]].layer;
    return step->backward_s[step->spec->overlap ? layer : 0];
}

static double size_B(const struct horovod *h, int i)
{
    const struct step *step = &h->step;
    return step->spec->gradient_B * (double)step->model->tensors[h->order[i]].n_elements;
}

/* tick_s — when the thread sees what is ready at time_s. A cycle of 0 looks all the time. */
static double tick_s(double time_s, double cycle_s)
{
    if (cycle_s <= 0.0) return time_s;
    return cycle_s * ceil(time_s / cycle_s);
}

/* list_order — by layer from the last to the first, as backward runs; counting sort. */
static const int *list_order(const struct model *model, struct arena *perm)
{
    int *at = arena_new(perm, int, model->n_layers + 1);
    int *order = arena_new(perm, int, model->n_tensors);
    for (int t = 0; t < model->n_tensors; t++) at[model->tensors[t].layer]++;
    int sum = 0;
    for (int l = model->n_layers - 1; l >= 0; l--) {
        int n = at[l];
        at[l] = sum;
        sum += n;
    }
    for (int t = 0; t < model->n_tensors; t++) order[at[model->tensors[t].layer]++] = t;
    return order;
}

static int layer_at(const struct horovod *h, int i)
{
    return h->step.model->tensors[h->order[i]].layer;
}

/* send_fused — gradients [first, end) of the order as one collective, once `wait` is over. */
static void send_fused(struct horovod *h, int first, int end, int wait)
{
    struct step *step = &h->step;
    double sum_B = 0.0;
    for (int i = first; i < end; i++) sum_B += size_B(h, i);
    bool fused = end - first > 1;
    const char *name = step->model->tensors[h->order[first]].name;
    if (fused) name = arena_text(step->perm, "fused %d", h->n_sent);
    struct copy copy = {name, STREAM_FUSED, end - first, wait, sum_B};
    int after = fused ? step_copy(step, &copy) : wait;
    int op = step_reduce(step, &(struct reduction){.name = name,
                                                   .stream = STREAM_FUSED,
                                                   .comm = h->comm,
                                                   .root = -1,
                                                   .layer = layer_at(h, end - 1),
                                                   .size_B = sum_B,
                                                   .after = after});
    copy.after = op;
    h->last[h->n_sent++] = fused ? step_copy(step, &copy) : op;
}

/* send_tick — all that one tick sees: gradients [first, end), cut where a buffer is full. */
static void send_tick(struct horovod *h, int first, int end)
{
    struct step *step = &h->step;
    int seen = layer_at(h, end - 1);
    double wait_s = tick_s(ready_s(h, end - 1), step->spec->cycle_s) - ready_s(h, end - 1);
    int wait = program_add_op(step->program,
                              (struct op){.kind = OP_HOST,
                                          .part = PART_COMMUNICATION,
                                          .stream = STREAM_CYCLE,
                                          .name = "cycle",
                                          .work_s = fmax(wait_s, 0.0),
                                          .root = -1},
                              step->perm);
    program_add_dep(step->program, wait, step_last_backward(step, seen), 0, step->perm);
    double held_B = size_B(h, first);
    int begin = first;
    for (int i = first + 1; i < end; i++) {
        if (held_B + size_B(h, i) > step->spec->fusion_B) {
            send_fused(h, begin, i, wait);
            begin = i;
            held_B = 0.0;
        }
        held_B += size_B(h, i);
    }
    send_fused(h, begin, end, wait);
}

struct job *horovod_build(const struct train_spec *spec, const struct model *model,
                          const struct gpu *gpu, struct arena *perm)
{
    static const char *const streams[] = {"cycle", "communication"};
    struct horovod h = {.step = step_open(spec, model, gpu, streams, 2, perm)};
    if (!step_communicates(&h.step)) return step_close(&h.step, NULL, 0, 0.0);
    h.comm = step_comm(&h.step, 0);
    h.order = list_order(model, perm);
    h.last = arena_new(perm, int, model->n_tensors);
    int first = 0;
    for (int i = 1; i <= model->n_tensors; i++) {
        /* ticks are whole cycles: two gradients of one tick have the same, bit for bit */
        bool same_tick = i < model->n_tensors && tick_s(ready_s(&h, i), spec->cycle_s) <=
                                                     tick_s(ready_s(&h, first), spec->cycle_s);
        if (same_tick) continue;
        send_tick(&h, first, i);
        first = i;
    }
    double gradients_B = spec->gradient_B * (double)model_n_parameters(model);
    return step_close(&h.step, h.last, h.n_sent, fmin(spec->fusion_B, gradients_B));
}
