/* TensorFlow 1.x parameter servers (variable_update=parameter_server): variable i lives whole on
 * server i mod k, in the order in which variables are made. Its gradient is pushed when backward
 * has made it, summed when all workers have pushed, and the new value is pulled before the next
 * step.
 *
 *   compute     B4 B3 B2 B1                 optimizer  F1 ...
 *   server 0       [ 4 ]   [ 2 ]            transfers of different servers go side by side and
 *   server 1          [ 3 ]   [   1   ]     share the workers' NICs; those of one queue up
 *
 * A server's transfers alternate between push and pull, so its card is used one way at a time: as in
 * TensorFlow, where a barrier between steps keeps all pulls behind all pushes.
 * Gradients of one layer on one server travel together (they are ready together). The update
 * itself is left on the GPU, so that the step's work is the same under every strategy.
 * The next step starts when everything has been pulled: TensorFlow lets its first layers start
 * earlier. The GPUs of a machine are one worker, whose gradients are added up before they are
 * pushed ("local-parameter-server"); a strategy may force "parameter-server", in which every GPU
 * talks to the servers itself.
 * Source: Abadi et al., TensorFlow, OSDI 2016, sec. 3.3 and 4.4; tf.train.replica_device_setter
 * (round robin). */
#include "base/must.h"
#include "workload/data_parallel.h"
#include "workload/step.h"

enum { STREAM_SERVERS = STREAM_FIRST_OF_STRATEGY };

static const char *const *name_servers(int n_servers, struct arena *perm)
{
    const char **names = arena_new(perm, const char *, n_servers);
    for (int s = 0; s < n_servers; s++) names[s] = arena_text(perm, "server %d", s);
    return names;
}

/* gradient_B_on — what a layer has on a server. */
static double gradient_B_on(const struct step *step, int layer, int server, int n_servers)
{
    const struct layer *l = &step->model->layers[layer];
    double sum_B = 0.0;
    for (int t = l->first_tensor; t < l->first_tensor + l->n_tensors; t++) {
        if (t % n_servers != server) continue;
        sum_B += step->spec->gradient_B * (double)step->model->tensors[t].n_elements;
    }
    return sum_B;
}

static int n_on_servers(const struct layer *layer, int n_servers)
{
    return layer->n_tensors < n_servers ? layer->n_tensors : n_servers;
}

/* exchange_layer — one collective per server that holds something of the layer; its tensors follow
 * each other, so these are the servers from that of the first on. Returns how many. */
static int exchange_layer(struct step *step, int layer, int comm, int *ops)
{
    const struct layer *l = &step->model->layers[layer];
    int n_servers = step->job->comms[comm].n_servers;
    int n = n_on_servers(l, n_servers);
    for (int i = 0; i < n; i++) {
        int server = (l->first_tensor + i) % n_servers;
        ops[i] = step_reduce(
            step, &(struct reduction){.name = l->name,
                                      .algorithm = step->spec->algorithm ? step->spec->algorithm
                                                                         : "local-parameter-server",
                                      .stream = STREAM_SERVERS + server,
                                      .comm = comm,
                                      .root = server,
                                      .layer = layer,
                                      .size_B = gradient_B_on(step, layer, server, n_servers),
                                      .after = -1});
    }
    return n;
}

struct job *server_build(const struct train_spec *spec, const struct model *model,
                         const struct gpu *gpu, struct arena *perm)
{
    int n_servers = spec->n_servers > 0 ? spec->n_servers : spec->n_nodes;
    must(n_servers >= 1);
    const char *const *names = name_servers(n_servers, perm);
    struct step step = step_open(spec, model, gpu, names, n_servers, perm);
    if (!step_communicates(&step)) return step_close(&step, NULL, 0, 0.0);
    int comm = step_comm(&step, n_servers);
    int *ops = arena_new(perm, int, model->n_tensors);
    int n_ops = 0;
    for (int l = model->n_layers - 1; l >= 0; l--) {
        n_ops += exchange_layer(&step, l, comm, ops + n_ops);
    }
    return step_close(&step, ops, n_ops, 0.0);
}
