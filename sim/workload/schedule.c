#include "workload/schedule.h"

#include "base/must.h"

/* How many micro-batches go through the chunks together from `first` on. */
static int group_size(const struct pipeline *pipeline, int first)
{
    int n = pipeline->n_micro_batches, p = pipeline->n_stages;
    if (pipeline->n_chunks == 1) return 1;
    if (n < p) return n;
    return first == 0 ? p + n % p : p;
}

static int n_ahead(const struct pipeline *pipeline, int stage)
{
    int behind = pipeline->n_stages - stage - 1;
    int n = behind;
    if (pipeline->n_chunks > 1) n = 2 * behind + (pipeline->n_chunks - 1) * group_size(pipeline, 0);
    int all = pipeline->n_micro_batches * pipeline->n_chunks;
    return n < all ? n : all;
}

/* walks through one direction's turns in order */
struct walk {
    int first, size; /* the present group */
    int at;          /* within it */
};

static struct turn take(const struct pipeline *pipeline, struct walk *walk, bool backward)
{
    if (walk->at == walk->size * pipeline->n_chunks) {
        walk->first += walk->size;
        walk->size = group_size(pipeline, walk->first);
        walk->at = 0;
    }
    int chunk = walk->at / walk->size;
    struct turn turn = {.backward = backward,
                        .micro_batch = walk->first + walk->at % walk->size,
                        .chunk = backward ? pipeline->n_chunks - 1 - chunk : chunk};
    walk->at++;
    return turn;
}

void schedule_turns(const struct pipeline *pipeline, int stage, struct turn *turns)
{
    must(stage >= 0 && stage < pipeline->n_stages);
    must(pipeline->n_micro_batches >= 1 && pipeline->n_chunks >= 1);
    int all = pipeline->n_micro_batches * pipeline->n_chunks;
    int ahead = n_ahead(pipeline, stage);
    struct walk forward = {.size = group_size(pipeline, 0)};
    struct walk backward = forward;
    int n = 0;
    for (int i = 0; i < ahead; i++) turns[n++] = take(pipeline, &forward, false);
    for (int i = 0; i < all; i++) {
        if (ahead + i < all) turns[n++] = take(pipeline, &forward, false);
        turns[n++] = take(pipeline, &backward, true);
    }
}
